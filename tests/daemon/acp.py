#!/usr/bin/env python3
"""Agents as editors get them: the official client of the Agent Client Protocol drives `interlingua acp AGENT`.

    cargo build -p interlingua-cli
    python3 tests/daemon/acp.py                 # the mock agent, Claude Code and Codex
    python3 tests/daemon/acp.py --only mock     # needs no agent

The client is the Python package `agent-client-protocol`, installed into a folder of its own below `--tools`; the agents come
from npm into the same folder. The model is `interlingua mock` with a script; each agent gets an empty home.
"""

import argparse
import asyncio
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import venv

sys.dont_write_bytecode = True  # leave the tree as it was
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# The package of the client has the name of this file.
sys.path[:] = [folder for folder in sys.path if pathlib.Path(folder or ".").resolve() != HERE]
SDK = "agent-client-protocol==0.12.1"
PATIENCE = 90  # seconds for one turn
STORY = "there was a heron that waited and waited and waited. " * 12
PROGRAMS = {"claude": ("claude-code", "claude"), "codex": ("codex", "codex")}


# ---- the client's package ----------------------------------------------------------------------------------------------


def install_sdk(tools):
    """Installs the client once, and makes it importable."""
    folder = tools / SDK.replace("==", "-")
    if not (folder / "installed").exists():
        print(f"installing {SDK}", flush=True)
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin/pip", "install", "--quiet", SDK], check=True)
        (folder / "installed").touch()
    if pathlib.Path(sys.prefix).resolve() != folder.resolve():
        os.execv(folder / "bin/python", [str(folder / "bin/python"), *sys.argv])


# ---- the model ---------------------------------------------------------------------------------------------------------


def turn(text=None, calls=(), delay=0):
    lines = ["[[turn]]"] + ([f"text = {json.dumps(text)}"] if text else [])
    made = [f"{{ name = {json.dumps(name)}, arguments = {json.dumps(json.dumps(arguments))} }}" for name, arguments in calls]
    return "\n".join(lines + [f"calls = [{', '.join(made)}]", f"delay-ms = {delay}"]) + "\n"


def script(agent):
    """The turns of the model: an allowed command, a rejected command, a question of Claude Code, a story, two short answers."""
    run = (lambda command: ("Bash", {"command": command, "description": "Runs"})) if agent == "claude" \
        else (lambda command: ("exec_command", {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "Runs"}))
    turns = [turn("I run a command.", [run("echo one > one.txt")]), turn("It ran."),
             turn(None, [run("touch never.txt")]), turn("It was denied.")]
    if agent == "claude":
        options = [{"label": "Heron", "description": "It waits."}, {"label": "Egret", "description": "It is white."}]
        question = {"question": "Which bird?", "header": "Bird", "multiSelect": False, "options": options}
        turns += [turn(None, [("AskUserQuestion", {"questions": [question]})]), turn("An answer came.")]
    return "\n".join([*turns, turn(STORY, delay=60), turn("I go on."), turn("I am back.")]) + '\n[side]\ntext = "A title"\n'


class Model:
    """`interlingua mock` with a script."""

    def __init__(self, program, text, folder):
        path = folder / "script.toml"
        path.write_text(text)
        self.process = subprocess.Popen(
            [program, "mock", str(path), "--listen", "127.0.0.1:0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)\s*$", self.process.stderr.readline()).group(1))

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


def environment(agent, home, port, tools):
    """Places the settings of an agent in its home. Returns the environment."""
    refuses = "http://127.0.0.1:9"
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home), "TERM": "dumb", "LANG": "C.UTF-8",
           "HTTPS_PROXY": refuses, "HTTP_PROXY": refuses, "NO_PROXY": "127.0.0.1,localhost"}
    if agent in PROGRAMS:
        sys.path.insert(0, str(ROOT / "tests/agents"))
        from programs import PROGRAMS as known, folder_of, install
        program = next(program for program in known if program.dialect == PROGRAMS[agent][0])
        install(program, tools)
        env["PATH"] = f"{folder_of(program, tools) / 'node_modules/.bin'}:{env['PATH']}"
    if agent == "claude":
        env |= {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_AUTH_TOKEN": "none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    if agent == "codex":
        (home / ".codex").mkdir()
        (home / ".codex/config.toml").write_text(
            'model_provider = "demo"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n'
            f'[model_providers.demo]\nname = "demo"\nbase_url = "http://127.0.0.1:{port}/v1"\n'
            'env_key = "DEMO_KEY"\nwire_api = "responses"\n')
        env["DEMO_KEY"] = "none"
    return env


# ---- the editor --------------------------------------------------------------------------------------------------------


class Editor:
    """The client's side: keeps updates, and answers requests as it is told."""

    def __init__(self):
        self.updates, self.permissions, self.forms = [], [], []
        self.option, self.form, self.begun = "allow_once", None, asyncio.Event()

    async def session_update(self, session_id, update, **_):
        self.updates.append((session_id, update))
        if update.session_update == "agent_message_chunk":
            self.begun.set()

    async def request_permission(self, session_id, tool_call, options, **_):
        from acp import schema
        self.permissions.append((session_id, tool_call, options))
        if self.option == "wait":
            await asyncio.sleep(PATIENCE)
        chosen = next(option.option_id for option in options if option.kind == self.option)
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen))

    async def create_elicitation(self, *_, **form):
        from acp import schema
        self.forms.append(form)
        return schema.AcceptElicitationResponse(action="accept", content=self.form)

    def on_connect(self, conn):
        pass

    def take(self):
        taken, self.updates = self.updates, []
        self.begun.clear()
        return [update for _, update in taken]


def said(updates, kind="agent_message_chunk"):
    return "".join(update.content.text for update in updates if update.session_update == kind)


def results(updates):
    return [update.status for update in updates if update.session_update == "tool_call_update" and update.status]


class Checks:
    def __init__(self, name):
        self.name, self.failed, self.count = name, 0, 0

    def __call__(self, what, is_right, seen=""):
        self.count += 1
        self.failed += not is_right
        print(f"{'ok  ' if is_right else 'FAIL'} {self.name}: {what}" + ("" if is_right else f"\n     {str(seen)[:1500]}"), flush=True)


# ---- one agent ---------------------------------------------------------------------------------------------------------


class Stage:
    def __init__(self, agent, options, folder):
        self.agent, self.folder, self.program = agent, folder, str(options.interlingua)
        self.home, self.project = folder / "home", folder / "project"
        for each in (self.home, self.project):
            each.mkdir()
        subprocess.run(["git", "init", "--quiet"], cwd=self.project, check=True)
        self.model = None if agent == "mock" else Model(self.program, script(agent), folder)
        self.env = environment(agent, self.home, self.model and self.model.port, options.tools)

    def connect(self, editor):
        import acp
        model = ["--model", "scripted"] if self.agent == "codex" else []
        arguments = ["acp", self.agent, *model, "--sessions", str(self.folder / "sessions")]
        return acp.spawn_agent_process(
            editor, self.program, *arguments, env=self.env, cwd=self.project, use_unstable_protocol=True,
            transport_kwargs={"stderr": None, "shutdown_timeout": 10.0, "limit": 16 << 20})

    def processes(self):
        """The processes with the home of this stage."""
        found, mark = [], f"HOME={self.home}\0".encode()
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in path.read_bytes() + b"\0":
                    found.append((path.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                pass
        return found


async def prompt(conn, session, text):
    import acp
    return await asyncio.wait_for(conn.prompt(session_id=session, prompt=[acp.text_block(text)]), PATIENCE)


async def begin(conn):
    from acp import schema
    forms = schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities())
    return await conn.initialize(1, client_capabilities=schema.ClientCapabilities(elicitation=forms))


async def first_connection(stage, check):
    import acp
    editor, words = Editor(), WORDS[stage.agent]
    async with stage.connect(editor) as (conn, process):
        begun = await begin(conn)
        check("the version is 1", begun.protocol_version == 1 and begun.agent_capabilities.load_session, begun)
        opened = await conn.new_session(cwd=str(stage.project))
        session = opened.session_id
        modes = [mode.id for mode in opened.modes.available_modes]
        check("modes are offered", opened.modes.current_mode_id == "default" and "plan" in modes, opened)

        ended = await prompt(conn, session, words["allow"])
        updates = editor.take()
        check("an allowed command ends the turn", ended.stop_reason == "end_turn", ended)
        check("one permission is asked", len(editor.permissions) == 1, editor.permissions)
        check("the command has a result", results(updates) == ["completed"], updates)
        check("the texts come", words["after"] in said(updates), said(updates))
        if stage.model:
            check("the allowed command ran", (stage.project / "one.txt").exists(), os.listdir(stage.project))

        editor.option = "reject_once"
        ended = await prompt(conn, session, words["reject"])
        updates = editor.take()
        check("a rejected command has a failed result", results(updates) == ["failed"], updates)
        check("a rejected command did not run", not (stage.project / "never.txt").exists(), os.listdir(stage.project))
        if stage.model and "It was denied." not in said(updates):
            # Some agents end the turn with the refusal.
            ended = await prompt(conn, session, "Go on.")
            updates = editor.take()
        check("the session goes on after a rejection", words["denied"] in said(updates), (ended, said(updates)))

        if "ask" in words:
            editor.form = {"q0": words["choice"]}
            ended = await prompt(conn, session, words["ask"])
            updates = editor.take()
            seen = json.dumps([update.model_dump(mode="json") for update in updates])
            check("the question is one form", len(editor.forms) == 1 and len(editor.permissions) == 2, editor.forms)
            check("the answer reaches the agent", words["choice"] in seen and ended.stop_reason == "end_turn", seen)

        running = asyncio.ensure_future(prompt(conn, session, words["story"]))
        await asyncio.wait_for(editor.begun.wait(), PATIENCE)
        await conn.cancel(session_id=session)
        ended = await running
        updates = editor.take()
        check("a cancelled prompt answers cancelled", ended.stop_reason == "cancelled", ended)
        check("the story was cut", said(updates).count("heron") < 12 and "I waited" not in said(updates), said(updates))
        ended = await prompt(conn, session, words["next"])
        check("the session goes on after a cancel", ended.stop_reason == "end_turn", ended)
        check("the next answer comes", words["next answer"] in said(editor.take()), "")

        try:
            await conn.ext_method("interlingua/none", {})
            check("an unknown method is refused", False)
        except acp.RequestError as error:
            check("an unknown method is refused", error.code == -32601, error)
    check("the command ends with its input", process.returncode == 0, process.returncode)
    return session


async def second_connection(stage, session, check):
    editor, words = Editor(), WORDS[stage.agent]
    async with stage.connect(editor) as (conn, process):
        await begin(conn)
        loaded = await conn.load_session(cwd=str(stage.project), session_id=session)
        updates = editor.take()
        check("a loaded session repeats its messages",
              words["allow"] in said(updates, "user_message_chunk") and words["after"] in said(updates), said(updates))
        check("a loaded session has modes", loaded.modes.current_mode_id == "default", loaded)
        ended = await prompt(conn, session, words["back"])
        check("a loaded session goes on", ended.stop_reason == "end_turn" and words["back answer"] in said(editor.take()), ended)
        other = (await conn.new_session(cwd=str(stage.project))).session_id
        both = await asyncio.gather(prompt(conn, session, words["back"]), prompt(conn, other, words["back"]))
        check("two sessions run at once", [ended.stop_reason for ended in both] == ["end_turn"] * 2, both)
        check("the updates name both sessions", {id for id, _ in editor.updates} == {session, other}, editor.updates)
    check("the second command ends with its input", process.returncode == 0, process.returncode)


WORDS = {
    "mock": {"allow": "permission one.txt", "after": "After the permission.", "reject": "permission never.txt", "denied": "After the permission.",
             "ask": "question", "choice": "Green", "story": "slow 20000", "next": "I go on.", "next answer": "I go on.",
             "back": "I am back.", "back answer": "I am back."},
    "claude": {"allow": "Run it.", "after": "It ran.", "reject": "Touch a file.", "denied": "It was denied.", "ask": "Ask me.",
               "choice": "Egret", "story": "Tell a story.", "next": "Go on.", "next answer": "I go on.", "back": "Are you back?",
               "back answer": "I am back."},
    # Codex forgets a text that was interrupted, so the script repeats its turn.
    "codex": {"allow": "Run it.", "after": "It ran.", "reject": "Touch a file.", "denied": "It was denied.", "story": "Tell a story.",
              "next": "Go on.", "next answer": STORY.strip(), "back": "Are you back?", "back answer": "I go on."},
}


def drive(agent, options, check):
    with tempfile.TemporaryDirectory(prefix="editor-", ignore_cleanup_errors=True) as folder:
        stage = Stage(agent, options, pathlib.Path(folder))
        try:
            session = asyncio.run(first_connection(stage, check))
            asyncio.run(second_connection(stage, session, check))
            end = time.monotonic() + 3
            while (left := stage.processes()) and time.monotonic() < end:
                time.sleep(0.1)
            check("no process is left", not left, left)
        except Exception as error:  # noqa: BLE001  a broken connection is a failed check
            check("the connection holds", False, repr(error))
        finally:
            if stage.model:
                stage.model.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=lambda text: pathlib.Path(text).absolute(), default=ROOT / "target/tools/agents")
    parser.add_argument("--bin", dest="interlingua", type=pathlib.Path, default=ROOT / "target/debug/interlingua")
    parser.add_argument("--only", default=",".join(WORDS))
    options = parser.parse_args()
    options.interlingua = options.interlingua.resolve()
    options.tools.mkdir(parents=True, exist_ok=True)
    install_sdk(options.tools)
    failed = 0
    for agent in options.only.split(","):
        check = Checks(agent)
        drive(agent, options, check)
        failed += check.failed
        print(f"{agent}: {check.count} checks, {check.failed} failed", flush=True)
    sys.exit(f"{failed} checks failed" if failed else 0)


if __name__ == "__main__":
    main()
