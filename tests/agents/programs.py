"""The agent programs: how each is installed, given a converted session, resumed in it, and asked one question.

A converted session is placed as it is; only what a user would do is done: the file gets the name that the program expects, and
Kimi CLI and Kimi Code get the index entry without which they do not find a session. Programs run with an empty home; their traffic
goes to the scripted model on loopback, and a proxy refuses everything else.
"""

import collections
import hashlib
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

from model import ANSWER, PROMPT, Model
from sessions import lines_of

PATIENCE = 120  # seconds for one run; a small one takes three
SOME_SESSION = "5e551011-0000-4000-8000-000000000000"  # for programs whose files do not hold the id of the session


class Failed(Exception):
    """The program did not resume the session."""


# The dialect of its log, the packages, the command, and the function that places and resumes a session.
Program = collections.namedtuple("Program", "dialect package command resume")


# The requests that hold the question, the hosts that the program wanted to reach, and the files that it moved results to.
Resumed = collections.namedtuple("Resumed", "requests outside files")


# ---- installing ------------------------------------------------------------------------------------------------------


def folder_of(program, tools):
    return tools / re.sub(r"[^A-Za-z0-9.]+", "-", program.package).strip("-")


def install(program, tools):
    """Each version has a folder of its own. What is there is not fetched again."""
    folder = folder_of(program, tools)
    if (folder / "installed").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    print(f"installing {program.package}", flush=True)
    if program.package.startswith("pypi:"):
        install_python(program.package.removeprefix("pypi:"), folder)
    else:
        (folder / "package.json").write_text("{}")
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *program.package.split()], cwd=folder,
            capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            sys.exit(f"npm install {program.package} failed:\n{done.stderr}")
    (folder / "installed").touch()


def install_python(package, folder):
    """A package of PyPI in an environment of its own; Kimi CLI needs Python 3.12, and not the first of them."""
    # pyenv's own commands run the version that is chosen for the folder, so its installations are tried by their paths.
    of_pyenv = sorted(pathlib.Path.home().glob(".pyenv/versions/3.1*/bin/python3"), reverse=True)
    for python in (sys.executable, "python3.13", "python3.14", "python3.12", *of_pyenv):
        try:
            version = subprocess.run([python, "-c", "import sys; print(sys.version_info >= (3, 12))"], capture_output=True, text=True)
        except OSError:
            continue
        if version.stdout.strip() == "True":
            subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
            subprocess.run([folder / "venv/bin/pip", "install", "--quiet", package], check=True, timeout=600)
            return
    sys.exit(f"{package} needs Python 3.12")


# ---- running ---------------------------------------------------------------------------------------------------------


class Run:
    """One converted session in one program: an empty home, the project folder, and the model."""

    def __init__(self, program, tools, home, cwd, model, carry=None):
        self.carry = carry
        self.home, self.cwd, self.model, self.files = home, cwd, model, {}
        self.port = model.port
        folder = folder_of(program, tools)
        self.is_python = program.package.startswith("pypi:")
        self.programs = folder / ("venv/bin" if self.is_python else "node_modules/.bin")
        command = self.programs / program.command
        self.command = command if self.is_python else command.resolve()

    def place(self, path, text, session):
        """Puts the session at its path; the id of the session. `interlingua continue` finds a path and an id of its own."""
        if self.carry is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return session, path
        return self.carry(self.home, self.cwd)

    def environment(self, more):
        proxy = f"http://127.0.0.1:{self.port}"
        return {
            "PATH": f"{self.programs}:{os.environ['PATH']}", "HOME": str(self.home), "TMPDIR": str(self.home), "HTTPS_PROXY": proxy,
            "HTTP_PROXY": proxy, "NO_PROXY": "127.0.0.1,localhost", "TERM": "dumb", "LANG": "C.UTF-8", **more}

    def start(self, arguments, answers=True, cwd=None, **more):
        """Runs the program with those arguments; ends it, and all it started, in time."""
        env = self.environment(more)
        with open(self.home / "stdout", "wb") as stdout, open(self.home / "stderr", "wb") as stderr:
            child = subprocess.Popen(
                [self.command, *arguments], cwd=cwd or self.cwd, env=env, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                start_new_session=True)
            try:
                code = child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                try:
                    os.killpg(child.pid, signal.SIGKILL)  # the group is the child's own
                except ProcessLookupError:
                    pass
                child.wait()
        out, err = ((self.home / name).read_text(errors="replace") for name in ("stdout", "stderr"))
        if code is None:
            asked = "after" if self.model.requests else "without"
            raise Failed(f"no end after {PATIENCE} s, {asked} asking the model; stderr: {err[-200:]!r}")
        if code != 0 or answers and ANSWER not in out:
            raise Failed(f"exit code {code}; stdout: {out[-200:]!r}; stderr: {err[-300:]!r}")

    def ask_in_terminal(self, arguments, **more):
        """Runs the program in a terminal, types the question, and ends the program, and all it started, after its request."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.cwd)
            os.execve(self.command, [str(self.command), *arguments], self.environment({"TERM": "xterm-256color", **more}))
        seen, begin, typed = b"", time.monotonic(), 0
        try:
            while not self.asked() and time.monotonic() < begin + PATIENCE:
                if select.select([terminal], [], [], 0.2)[0]:
                    try:
                        seen += os.read(terminal, 65536)
                    except OSError:  # the program has ended
                        break
                # The screen is drawn after some seconds; the end of the line is typed until the program takes it.
                if time.monotonic() > begin + 6 + 3 * typed:
                    os.write(terminal, b"\r" if typed else PROMPT.encode())
                    typed += 1
        finally:
            os.close(terminal)
            self.end_all()
            os.waitpid(child, 0)
        if not self.asked():
            raise Failed(f"the model was not asked; screen: {seen[-300:]!r}")

    def end_all(self):
        """Ends every process with this home folder: a program may leave others behind."""
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if f"HOME={self.home}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    os.kill(int(folder.name), signal.SIGKILL)
            except (OSError, ProcessLookupError):
                continue

    def asked(self):
        """The requests that hold the question. A request without tools asks for a title, or which model is to answer."""
        return [body for body in self.model.requests
                if PROMPT in json.dumps(body) and (body.get("tools") or "input" in body)]


def resume(program, text, cwd, tools, carry=None):
    """The requests that a program sends for the question, after it was given the converted session `text`, or the session that
    `carry` puts into the home."""
    with tempfile.TemporaryDirectory(prefix="resume-") as folder, Model() as model:
        home = pathlib.Path(folder).resolve() / "home"
        home.mkdir()
        run = Run(program, tools, home, cwd, model, carry)
        program.resume(run, text)
        asked = run.asked()
        if not 1 <= len(asked) <= 3:
            raise Failed(f"the model was asked {len(asked)} times")
        return Resumed(asked, sorted(set(model.outside)), run.files)


def slug(cwd):
    return re.sub(r"[^A-Za-z0-9]", "-", str(cwd))


def first_value(text, *path):
    """The first text below `path` in any line of the file."""
    for line in lines_of(text):
        for step in path:
            line = line.get(step) if isinstance(line, dict) else None
        if isinstance(line, str):
            return line
    return None


def resume_claude(run, text):
    session = first_value(text, "sessionId") or SOME_SESSION
    session, _ = run.place(run.home / ".claude/projects" / slug(run.cwd) / f"{session}.jsonl", text, session)
    run.start(
        ["--resume", session, "-p", PROMPT, "--output-format", "stream-json", "--verbose"],
        ANTHROPIC_BASE_URL=f"http://127.0.0.1:{run.port}", ANTHROPIC_API_KEY="none", IS_SANDBOX="1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_AUTOUPDATER="1", DISABLE_AUTO_COMPACT="1")


CODEX_CONFIG = """\
model_provider = "{provider}"
openai_base_url = "http://127.0.0.1:{port}/v1"
check_for_update_on_startup = false
[model_providers.{custom}]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
[analytics]
enabled = false
"""


def resume_codex(run, text):
    (run.home / ".codex").mkdir(parents=True)
    # Codex resumes a session of its own only with the provider that it was held with.
    provider = first_value(text, "payload", "model_provider") or "scripted"
    custom = "scripted" if provider == "openai" else provider
    (run.home / ".codex/config.toml").write_text(CODEX_CONFIG.format(port=run.port, provider=provider, custom=custom))
    session = first_value(text, "payload", "id") or SOME_SESSION
    day = run.home / ".codex/sessions/2026/11/01"
    session, _ = run.place(day / f"rollout-2026-11-01T00-00-00-{session}.jsonl", text, session)
    run.start(
        ["exec", "resume", session, "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
         "-c", "model_context_window=2000000", "--disable", "plugins", PROMPT], SCRIPTED_KEY="none", CODEX_API_KEY="none")


def resume_gemini(run, text):
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
                "general": {"sessionRetention": {"enabled": False}, "enableAutoUpdate": False}}
    (run.home / ".gemini").mkdir()
    (run.home / ".gemini/settings.json").write_text(json.dumps(settings))
    _, session = run.place(run.home / "session.jsonl", text, None)
    run.start(
        ["-o", "stream-json", "--yolo", "--skip-trust", "--session-file", str(session), "-p", PROMPT],
        GEMINI_API_KEY="none", GOOGLE_GEMINI_BASE_URL=f"http://127.0.0.1:{run.port}")
    run.files = {str(file): file.read_text(errors="replace") for file in run.home.glob(".gemini/tmp/*/tool-outputs/**/*.txt")}


def resume_qwen(run, text):
    # Qwen Code takes a session only in the folder that its lines name. Where the source named none, that is `/`.
    cwd = pathlib.Path(first_value(text, "cwd") or "/")
    session = first_value(text, "sessionId") or SOME_SESSION
    cwd = cwd if run.carry is None else run.cwd
    (run.home / ".qwen").mkdir(parents=True)
    # A long history would be compressed first.
    (run.home / ".qwen/settings.json").write_text(json.dumps({"model": {"generationConfig": {"contextWindowSize": 2000000}}}))
    session, _ = run.place(run.home / ".qwen/projects" / slug(cwd) / "chats" / f"{session}.jsonl", text, session)
    run.start(
        ["--auth-type", "openai", "--yolo", "--output-format", "stream-json", "--resume", session, PROMPT], cwd=cwd,
        OPENAI_API_KEY="none", OPENAI_BASE_URL=f"http://127.0.0.1:{run.port}/v1", OPENAI_MODEL="scripted")


def resume_opencode(run, text):
    models = {"scripted": {"name": "scripted", "reasoning": True, "tool_call": True, "attachment": True,
                           "modalities": {"input": ["text", "image"], "output": ["text"]},
                           "limit": {"context": 2000000, "output": 8192}}}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": models,
                "options": {"baseURL": f"http://127.0.0.1:{run.port}/v1", "apiKey": "none"}}
    (run.cwd / "opencode.json").write_text(json.dumps({
        "model": "scripted/scripted", "small_model": "scripted/scripted", "share": "disabled", "autoupdate": False,
        "provider": {"scripted": provider}}))
    session, file = run.place(run.home / "session.json", text, text and json.loads(text)["info"]["id"])
    run.start(["import", str(file)], answers=False)
    # Without a model it goes on with that of the history, whose provider is not here.
    run.start(["run", "-s", session, "-m", "scripted/scripted", "--format", "json", PROMPT])


KIMI_CONFIG = """\
default_model = "scripted"
[providers.scripted]
type = "kimi"
base_url = "http://127.0.0.1:{port}/v1"
api_key = "none"
[models.scripted]
provider = "scripted"
model = "scripted"
max_context_size = 2000000
"""


def resume_kimi_cli(run, text, name="context.jsonl"):
    config = run.home / "config.toml"
    config.write_text(KIMI_CONFIG.format(port=run.port))
    folder = run.home / ".kimi/sessions" / hashlib.md5(str(run.cwd).encode()).hexdigest() / SOME_SESSION
    session, _ = run.place(folder / name, text, SOME_SESSION)
    if run.carry is None:
        entry = {"path": str(run.cwd), "kaos": "local", "last_session_id": session}
        (run.home / ".kimi/kimi.json").write_text(json.dumps({"work_dirs": [entry]}))
    run.start(["--config-file", str(config), "--print", "--output-format", "stream-json", "-S", session, "-p", PROMPT])


def resume_kimi_wire(run, text):
    resume_kimi_cli(run, text, "wire.jsonl")


def resume_kimi_code(run, text):
    env = {"KIMI_MODEL_NAME": "scripted", "KIMI_MODEL_API_KEY": "none", "KIMI_MODEL_PROVIDER_TYPE": "openai",
           "KIMI_MODEL_MAX_CONTEXT_SIZE": "2000000",
           "KIMI_MODEL_BASE_URL": f"http://127.0.0.1:{run.port}/v1", "KIMI_CODE_NO_AUTO_UPDATE": "1"}
    session, digest = f"session_{SOME_SESSION}", hashlib.sha256(str(run.cwd).encode()).hexdigest()[:12]
    folder = run.home / ".kimi-code/sessions" / f"wd_{run.cwd.name}_{digest}" / session
    agent = folder / "agents/main"
    session, _ = run.place(agent / "wire.jsonl", text, session)
    if run.carry is None:
        (folder / "state.json").write_text(json.dumps({
            "id": session, "version": 2, "cwd": str(run.cwd), "archived": False, "custom": {}, "isCustomTitle": False,
            "agents": {"main": {"homedir": str(agent), "type": "main"}}, "createdAt": 1790000000000, "updatedAt": 1790000000000}))
    run.start(["-S", session, "-m", "__kimi_env_model__", "-p", PROMPT, "--output-format", "stream-json"], **env)


def resume_pi(run, text):
    (run.home / ".pi/agent").mkdir(parents=True)
    scripted = {"id": "scripted", "name": "scripted", "reasoning": False, "input": ["text", "image"], "contextWindow": 2000000,
                "maxTokens": 8192, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
    provider = {"baseUrl": f"http://127.0.0.1:{run.port}", "api": "anthropic-messages", "apiKey": "none", "models": [scripted]}
    (run.home / ".pi/agent/models.json").write_text(json.dumps({"providers": {"scripted": provider}}))
    _, session = run.place(run.home / "session.jsonl", text, None)
    run.start(["--offline", "--model", "scripted/scripted", "--mode", "json", "--session", str(session), "-p", PROMPT])


def resume_copilot(run, text):
    session = first_value(text, "data", "sessionId") or SOME_SESSION
    session, _ = run.place(run.home / ".copilot/session-state" / session / "events.jsonl", text, session)
    run.start(
        [f"--resume={session}", "-p", PROMPT, "--allow-all", "--output-format", "json"],
        COPILOT_PROVIDER_BASE_URL=f"http://127.0.0.1:{run.port}/v1", COPILOT_PROVIDER_API_KEY="none", COPILOT_MODEL="scripted",
        COPILOT_OFFLINE="true", COPILOT_AUTO_UPDATE="false", COPILOT_PROVIDER_MAX_PROMPT_TOKENS="2000000")


def resume_droid(run, text):
    settings = {"customModels": [{
        "model": "scripted", "id": "custom:scripted-0", "index": 0, "displayName": "scripted", "provider": "anthropic",
        "baseUrl": f"http://127.0.0.1:{run.port}", "apiKey": "none", "maxOutputTokens": 8192, "maxContextLimit": 2000000}]}
    (run.home / ".factory").mkdir()
    (run.home / ".factory/settings.json").write_text(json.dumps(settings))
    session = first_value(text, "id") or SOME_SESSION
    folder = (first_value(text, "cwd") or str(run.cwd)).replace("/", "-")
    session, _ = run.place(run.home / ".factory/sessions" / folder / f"{session}.jsonl", text, session)
    # Droid asks its server for the session first, and takes the answer 404 for "only here".
    run.start(["exec", "-m", "custom:scripted-0", "-s", session, "-o", "json", PROMPT], FACTORY_API_KEY="fk-none",
              FACTORY_API_BASE_URL=f"http://127.0.0.1:{run.port}")


def resume_goose(run, text):
    env = {"GOOSE_PROVIDER": "anthropic", "GOOSE_MODEL": "claude-sonnet-4-5", "ANTHROPIC_HOST": f"http://127.0.0.1:{run.port}",
           "ANTHROPIC_API_KEY": "none", "GOOSE_DISABLE_KEYRING": "1", "GOOSE_CONTEXT_LIMIT": "2000000"}
    name, file = run.place(run.home / "session.json", text, text and json.loads(text)["name"])
    run.start(["session", "import", str(file)], answers=False, **env)
    run.start(["run", "--no-profile", "--resume", "--name", name, "-t", PROMPT], **env)


def resume_cline(run, text):
    session = text and json.loads(text)["sessionId"]
    settings = {"provider": "anthropic", "apiKey": "none", "model": "claude-sonnet-4-5", "baseUrl": f"http://127.0.0.1:{run.port}/v1"}
    providers = {"anthropic": {"settings": settings, "updatedAt": "2026-11-19T20:57:52.343Z", "tokenSource": "manual"}}
    file = run.home / ".cline/data/settings/providers.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"version": 1, "lastUsedProvider": "anthropic", "modes": {}, "providers": providers}))
    folder = run.home / ".cline/data/sessions" / session
    session, _ = run.place(folder / f"{session}.messages.json", text, session)
    if run.carry is None:
        (folder / f"{session}.json").write_text(json.dumps({
            "version": 1, "session_id": session, "source": "cli", "pid": 0, "started_at": "2026-11-19T20:57:52.534Z", "status": "completed",
            "interactive": True, "provider": "cline", "model": "unknown", "cwd": str(run.cwd), "workspace_root": str(run.cwd),
            "enable_tools": True, "enable_spawn": True, "enable_teams": True, "messages_path": str(folder / f"{session}.messages.json")}))
    # Cline takes a question for a session only in a terminal.
    run.ask_in_terminal(["--id", session])


# Amp and Cursor are missing: the loop of both runs on their vendor's server.
PROGRAMS = [
    Program("claude-code", "@anthropic-ai/claude-code@2.1.325", "claude", resume_claude),
    Program("codex", "@openai/codex@0.166.0", "codex", resume_codex),
    Program("gemini-cli", "@google/gemini-cli@0.61.0", "gemini", resume_gemini),
    Program("qwen-code", "@qwen-code/qwen-code@0.24.4 node@22", "qwen", resume_qwen),
    Program("opencode", "opencode-ai@1.18.33", "opencode", resume_opencode),
    Program("kimi-cli", "pypi:kimi-cli==1.51.0", "kimi", resume_kimi_cli),
    Program("kimi-code", "@moonshot-ai/kimi-code@2.1.0 node@22", "kimi", resume_kimi_code),
    Program("pi", "@mariozechner/pi-coding-agent@0.73.1", "pi", resume_pi),
    Program("copilot-cli", "@github/copilot@1.0.102", "copilot", resume_copilot),
    Program("droid", "droid@0.215.0", "droid", resume_droid),
    Program("goose", "@aaif/goose@0.20.1", "goose", resume_goose),
    Program("cline", "cline@3.0.65", "cline", resume_cline),
]
