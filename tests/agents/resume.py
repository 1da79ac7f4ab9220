#!/usr/bin/env python3
"""Whether the real programs resume what we write, and send all of it to the model.

Converts logs of Codex to Claude Code and resumes them in Claude Code, and the other way round, and both to Pi, Gemini CLI, Qwen
Code, OpenCode, Kimi CLI and Kimi Code (others.py); a scripted model on loopback answers, and keeps the request. The history in it must be whole and typed: calls as calls, with name and arguments,
results as results, with every part, texts from the right voice, counted against the source log with the readers of
sessions.py. The programs come from npm and PyPI (3 GB) into a folder that is kept.
"""

import argparse
import collections
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # leave the tree as it was

from carried import FIXTURES, INPUTS, OTHER, ROOT, UUID, convert, default_binary, find_logs, read, shown  # noqa: E402
from others import (  # noqa: E402
    ONE_AGENT, RESUME_OTHER, ROUTED, chat_document, chat_events, gemini_document, install_python, judge_other, without_left_behind,
    without_subagents)
from sessions import (  # noqa: E402
    CALL, KINDS, READ_LOG, REASONING, RESULT, TEXT, Said, brief, compare, lines_of, read_claude_request,
    read_codex_request)

PROMPT = "Interlingua asks: are you there?"
ANSWER = "Interlingua hears: here I am."
PATIENCE = 60  # seconds for one run: a small one takes three
ALL = 15 * 60  # seconds for everything

# name, package, what to run in its folder, the log it reads
Program = collections.namedtuple("Program", "name package command reads")
PROGRAMS = [
    Program("claude 2.1.325", "@anthropic-ai/claude-code@2.1.325", "claude", "claude-code"),
    Program("claude 2.1.197", "@anthropic-ai/claude-code@2.1.197", "claude", "claude-code"),
    Program("codex 0.166.0", "@openai/codex@0.166.0", "codex", "codex"),
    Program("pi 0.73.1", "@mariozechner/pi-coding-agent@0.73.1", "pi", "pi"),
    Program("gemini 0.61.0", "@google/gemini-cli@0.61.0", "gemini", "gemini-cli"),
    Program("qwen 0.24.4", "@qwen-code/qwen-code@0.24.4 node@22", "qwen", "qwen-code"),
    Program("opencode 1.18", "opencode-ai@1.18.33", "opencode", "opencode"),
    Program("kimi-cli 1.51", "pypi:kimi-cli==1.51.0", "kimi", "kimi-cli"),
    Program("kimi 2.1.0", "@moonshot-ai/kimi-code@2.1.0 node@22", "kimi", "kimi-code"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", type=pathlib.Path, help="logs, or folders of logs (default: ours)")
    parser.add_argument("--bin", default=default_binary(), type=pathlib.Path, help="the interlingua command")
    parser.add_argument("--tools", default=ROOT / "target/tools/agents", type=pathlib.Path, help="where the programs are kept")
    parser.add_argument("--only", default="", help="programs whose name has this text")
    parser.add_argument("--quick", action="store_true", help="one small log for each program")
    parser.add_argument("--self-check", action="store_true", help="break a converted log on purpose; every break must be seen")
    parser.add_argument("--keep", type=pathlib.Path, help="leave each request in this folder")
    options = parser.parse_args()
    programs = [program for program in PROGRAMS if options.only in program.name]
    paths = options.paths or ([INPUTS] if options.quick else [*FIXTURES, INPUTS])
    logs = list(find_logs(paths))
    if options.quick:
        logs = list({source: (path, source) for path, source in reversed(logs)}.values())
    for program in programs:
        install(program, options.tools)
    if options.self_check:
        sys.exit(self_check(programs, options))
    deadline = time.monotonic() + ALL
    print(f"{'':50} {'':14} " + " ".join(f"{kind:>11}" for kind in KINDS))
    runs = bad = 0
    for path, source in logs:
        for program in programs:
            if program.reads not in (OTHER[source], "pi", *RESUME_OTHER):
                continue
            runs += 1
            if time.monotonic() > deadline:
                print(f"{shown(path, 50):50} {program.name:14} FAILED: no time left")
                bad += 1
                continue
            bad += not report(path, source, program, options)
    print(f"{runs} runs, {bad} failed")
    sys.exit(1 if bad or not runs else 0)


def self_check(programs, options):
    """Whether faults in what the programs are given show in what they send; and a program that hangs."""
    unseen = 0
    for path, source in find_logs([INPUTS]):
        said, text = READ_LOG[source](read(path)), convert(options.bin, path, OTHER[source])
        lines = [json.loads(line) for line in text.splitlines()]
        for program in programs:
            if program.reads != OTHER[source]:
                continue
            before = None  # the faults that are there already
            for name, broken in (break_claude if program.reads == "claude-code" else break_codex)(lines):
                broken = "".join(json.dumps(line) + "\n" for line in broken)
                try:
                    _, faults, _ = judge(said, RESUME[program.reads](program, broken, options, 15), program)
                except Failed as failure:
                    faults = [str(failure)]
                before = len(faults) if before is None else before
                must_hang = name == BARE and "2.1.197" in program.name
                hangs = any("HANGS" in fault for fault in faults)
                seen = hangs if must_hang else not hangs and (len(faults) > before or name in (NOTHING, BARE))
                unseen += not seen
                print(f"{program.name:14} {name}: {'hangs' if hangs else f'{len(faults)} faults'}{'' if seen else ', NOT SEEN'}",
                      flush=True)
    return 1 if unseen else 0


NOTHING, BARE = "nothing broken", "no model named, on which 2.1.197 waits for ever"


def break_claude(lines):
    def without(test):
        kept, parents = [], {}
        for line in json.loads(json.dumps(lines)):
            line["parentUuid"] = parents.get(line["parentUuid"], line["parentUuid"])
            if test(json.dumps(line["message"])):
                parents[line["uuid"]] = line["parentUuid"]
            else:
                kept.append(line)
        return kept
    yield NOTHING, lines
    yield "a text dropped", without(lambda line: "Asked on the screen alone." in line)
    yield "a picture dropped", without(lambda line: "Only a picture" in line)
    yield "a call and its result dropped", without(lambda line: "call_patch" in line)
    unlinked = json.loads(json.dumps(lines))
    unlinked[len(lines) // 2]["parentUuid"] = None
    yield "the chain cut", unlinked
    bare = json.loads(json.dumps(lines))
    for line in bare:
        if line["type"] == "assistant":
            del line["message"]["model"]
    yield BARE, bare


def break_codex(lines):
    yield NOTHING, lines
    yield "a text dropped", [line for line in lines if "Go on, but otherwise." not in json.dumps(line)]
    yield "a call and its result dropped", [line for line in lines if "toolu_again" not in json.dumps(line)]
    untimed = json.loads(json.dumps(lines))
    next(line for line in untimed if line["payload"].get("type") == "function_call_output").pop("timestamp")
    yield "a time dropped", untimed


def report(path, source, program, options):
    """Resumes one log in one program and prints its line of the table. Whether all was well."""
    start = time.monotonic()
    name = f"{shown(path, 50):50} {program.name:14} "
    try:
        text = convert(options.bin, path, program.reads)
        resume = RESUME.get(program.reads, resume_other)
        requests = resume(program, text, options)
        log = read(path)
        said = READ_LOG[source](without_subagents(log) if program.reads in ONE_AGENT else log)
        said = on_the_chain(said, text) if program.reads == "pi" else said
        said = without_left_behind(said, text) if program.reads == "qwen-code" else said
    except (Failed, ValueError) as failure:
        print(f"{name}FAILED: {failure}")
        return False
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        (options.keep / f"{path.stem}.{program.name.replace(' ', '-')}.json").write_text(json.dumps(requests, indent=1))
    judged = judge_other if program.reads in RESUME_OTHER else judge
    compared, faults, notes = judged(said, requests, program)
    counts = " ".join(f"{compared.found[kind]:>5}/{compared.expected[kind]:<5}" for kind in KINDS)
    verdict = f"{len(faults)} FAULTS" if faults else "ok"
    print(f"{name}{counts} {time.monotonic() - start:3.0f}s {verdict}{''.join(f'; {note}' for note in notes)}")
    for fault in faults[:6]:
        print(f"    {fault}")
    return not faults


# ---- what was sent ---------------------------------------------------------------------------------------------------


def judge(said, requests, program):
    """(comparison with the first request, faults, notes)"""
    reads = program.reads
    read_request, refusal = (read_codex_request, refused_responses) if reads == "codex" else (read_claude_request, refused_messages)
    faults, notes = [], []
    wanted, left_out = as_sent(said, reads)
    notes += [f"{count} {kind} left out by the program" for kind, count in left_out.items()]
    first, _ = as_sent(read_request(requests[0]), reads)
    compared = compare(wanted, first)
    faults += [f"missing: {brief(key)}" for key in compared.missing]
    if compared.order:
        faults.append(f"order: {brief(compared.order[1], 60)} stands before {brief(compared.order[0], 60)}")
    # Programs add words of their own, and answers for calls that have none.
    open_calls = sum(thing.kind == CALL for thing in wanted.things) - sum(thing.kind == RESULT for thing in wanted.things)
    made_up = [key for key in compared.surplus if key[0] == RESULT]
    if made_up:
        notes.append(f"{len(made_up)} results made up by the program")
    if len(made_up) > max(open_calls, 0):
        faults += [f"surplus: {brief(key)}" for key in made_up]
    faults += [
        f"surplus: {brief(key)}" for key in compared.surplus
        if key[0] in (CALL, REASONING) or (key[0] == TEXT and key[1][0] == "assistant" and key[1][1] != FILLER)]
    if len(requests) > 1:
        # Reasoning that another provider signed, or nobody, is refused; the program asks again without it.
        last, _ = as_sent(read_request(requests[-1]), reads)
        for said_then in (wanted, last):
            said_then.things = [thing for thing in said_then.things if thing.kind != REASONING]
        faults += [f"missing when asked again: {brief(key)}" for key in compare(wanted, last).missing]
        notes.append("asked again without reasoning")
    faults += refusal(requests[-1])
    return compared, faults, notes


FILLER = "No response requested."  # what Claude Code puts between two messages of the user


def on_the_chain(said, text):
    """Without what Pi does not send, because it sends only what the last line of its file hangs on, and a summary in words of its
    own instead of all that came before it."""
    lines = list(lines_of(text))[1:]
    by_id, chain = {line["id"]: line for line in lines}, []
    dangling = [line["id"] for line in lines if line["parentId"] is not None and line["parentId"] not in by_id]
    if dangling or len(by_id) < len(lines):
        raise Failed(f"lines that hang on nothing: {dangling[:3]}; ids used twice: {len(lines) - len(by_id)}")
    at = lines[-1] if lines else None
    while at:
        chain.append(at["id"])
        at = by_id.get(at["parentId"]) if at["type"] != "compaction" else None
    hidden, calls, thoughts = collections.Counter(), set(), ""
    for line in lines:
        if line["id"] not in chain or line["type"] == "compaction":
            content = line.get("message", line).get("content") or []
            hidden.update(block["text"] for block in content if block["type"] == "text")
            hidden.update([line["summary"]] if "summary" in line else [])
            calls.update(block["id"] for block in content if block["type"] == "toolCall")
            thoughts += "".join(block["thinking"] for block in content if block["type"] == "thinking")
    sent = Said()
    for thing in said.things:
        if thing.kind == TEXT and hidden[thing.value[1]] > 0:
            hidden[thing.value[1]] -= 1
        elif not (thing.id in calls or thing.kind == REASONING and thing.value in thoughts):
            sent.things.append(thing)
    return sent


def as_pi_tells(said):
    """Pi tells another model what the last one thought as text, cut in its own way, and texts of a result as one."""
    told, words = Said(), []
    for thing in [*said.things, None]:
        if thing and (thing.kind == REASONING or thing.kind == TEXT and thing.value[0] == "assistant"):
            words.append((thing.value if thing.kind == REASONING else thing.value[1]).rstrip("\n"))
            continue
        told.text("assistant", "\n\n".join(words))
        words = []
        if thing and thing.kind == RESULT:
            texts = [text for kind, text in thing.value if kind == TEXT and text != ATTACHED]
            pictures = [part for part in thing.value if part[0] != TEXT]
            told.result(thing.id, [(TEXT, "\n".join(texts)), *pictures] if texts else pictures)
        elif thing:
            told.things.append(thing)
    return told


ATTACHED = "(see attached image)"  # what Pi says beside a picture that stands alone


def as_sent(said, reads):
    """What is the same when sent, in one form; and what Claude Code leaves out: calls without a result, and reasoning that
    nothing follows then."""
    claude = reads == "claude-code"
    if reads == "pi":
        said = as_pi_tells(said)
    answered = {thing.id for thing in said.things if thing.kind == RESULT}
    sent, left_out, waiting = Said(), collections.Counter(), []
    for thing in said.things:
        if claude and thing.kind == CALL and thing.id not in answered:
            left_out["calls without result"] += 1
            continue
        if claude and thing.kind == REASONING:
            waiting.append(thing)
            continue
        if thing.kind == CALL or (thing.kind == TEXT and thing.value[0] == "assistant"):
            sent.things += waiting
        elif waiting:
            left_out["reasoning"] += len(waiting)
        waiting = []
        if thing.kind == TEXT:
            role, text = thing.value
            # Claude Code ends a message of the user before another one, and knows no other voice there.
            sent.text("user" if reads != "codex" and role == "system" else role, text.rstrip("\n"))
        elif thing.kind == CALL:
            name, arguments = thing.value
            sent.call(thing.id, name, json.loads(arguments, object_hook=by_value))
        else:
            sent.things.append(thing)
    return sent, +left_out


def by_value(value):
    return float(value["number"]) if list(value) == ["number"] else value


def refused_messages(body):
    """For what the Messages API would refuse this request."""
    faults, ids, open_calls = [], set(), set()
    for number, message in enumerate(body["messages"]):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "system":
            continue
        answers = [block.get("tool_use_id") for block in blocks if block["type"] == "tool_result"]
        if set(answers) != open_calls or len(answers) != len(open_calls):
            faults.append(f"refused: message {number} answers {sorted(answers)}, asked was {sorted(open_calls)}")
        open_calls = set()
        for block in blocks:
            if block["type"] == "tool_use":
                if block["id"] in ids or not re.fullmatch(r"[A-Za-z0-9_-]+", block["id"]):
                    faults.append(f"refused: message {number} has the call id {block['id']!r}")
                if not isinstance(block["input"], dict) or not re.fullmatch(r"[A-Za-z0-9_-]{1,128}", block["name"]):
                    faults.append(f"refused: message {number} has a call of {block['name']!r}")
                ids.add(block["id"])
                open_calls.add(block["id"])
            if block["type"] == "text" and not block["text"].strip():
                faults.append(f"refused: message {number} has an empty text")
            if block["type"] == "thinking" and not block.get("signature"):
                faults.append(f"refused: message {number} has thinking without a signature")
    return faults


def refused_responses(body):
    """For what the Responses API would refuse this request."""
    calls, outputs = collections.Counter(), collections.Counter()
    for item in body["input"]:
        if item.get("type") in ("function_call", "custom_tool_call"):
            calls[item["type"] + "_output", item["call_id"]] += 1
        elif str(item.get("type")).endswith("_output"):
            outputs[item["type"], item["call_id"]] += 1
    if calls != outputs:
        return [f"refused: calls and results do not pair: {sorted((calls - outputs) + (outputs - calls))}"]
    return []


class Failed(Exception):
    pass


# ---- the programs ----------------------------------------------------------------------------------------------------


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
        return (folder / "installed").touch()
    (folder / "package.json").write_text("{}")
    done = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *program.package.split()], cwd=folder,
        capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"npm install {program.package} failed:\n{done.stderr}")
    (folder / "installed").touch()


def run(program, arguments, home, cwd, model, options, patience, answers=True, **more):
    """The requests of a program that runs with an empty home and nothing to reach but the model; ends it, and all it started, in time."""
    folder = folder_of(program, options.tools)
    programs = folder / ("venv/bin" if program.package.startswith("pypi:") else "node_modules/.bin")
    command = [programs / program.command if "venv" in programs.parts else (programs / program.command).resolve(), *arguments]
    proxy = f"http://127.0.0.1:{model.port}"  # whatever wants to go out is refused, and noted
    env = {
        "PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(home), "TMPDIR": str(home), "HTTPS_PROXY": proxy, "HTTP_PROXY": proxy,
        "NO_PROXY": "127.0.0.1,localhost", **more}
    with open(home / "stdout", "wb") as stdout, open(home / "stderr", "wb") as stderr:
        child = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True)
        try:
            code = child.wait(patience)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)  # the group is the child's own
            except ProcessLookupError:
                pass
            child.wait()
    out, err = ((home / name).read_text(errors="replace") for name in ("stdout", "stderr"))
    if code is None:
        asked = "after" if model.requests else "without"
        raise Failed(f"HANGS: no end after {patience} s, {asked} asking the model; stderr: {err[-200:]!r}")
    if code != 0 or answers and ANSWER not in out:
        raise Failed(f"exit code {code}; stdout: {out[-300:]!r}; stderr: {err[-300:]!r}")
    asked = [body for body in model.requests if PROMPT in json.dumps(body)]
    if not answers:
        return asked
    if program.reads in RESUME_OTHER:
        # What is asked without tools is a title, or which model is to answer.
        asked = [body for body in asked if body.get("tools")]
    if not 1 <= len(asked) <= 2:
        raise Failed(f"the model was asked {len(asked)} times, not once")
    if model.outside and program.reads not in RESUME_OTHER:
        raise Failed(f"wanted to reach {sorted(set(model.outside))}")
    return asked


def resume_claude(program, text, options, patience=PATIENCE):
    with tempfile.TemporaryDirectory(prefix="resume-") as folder, Model() as model:
        home, cwd = pathlib.Path(folder).resolve() / "home", pathlib.Path(folder).resolve() / "work"
        cwd.mkdir()
        # The folder of a project is named after the folder it is about.
        project = home / ".claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd))
        project.mkdir(parents=True)
        session = next((line["sessionId"] for line in lines_of(text) if UUID.fullmatch(str(line.get("sessionId")))),
                       "5e551011-0000-4000-8000-000000000000")
        (project / f"{session}.jsonl").write_text(text, encoding="utf-8")
        return run(
            program, ["--resume", session, "-p", PROMPT, "--output-format", "stream-json", "--verbose"], home, cwd, model,
            options, patience, ANTHROPIC_BASE_URL=f"http://127.0.0.1:{model.port}", ANTHROPIC_API_KEY="none", IS_SANDBOX="1",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_AUTOUPDATER="1", DISABLE_AUTO_COMPACT="1")


CODEX_CONFIG = """\
model_provider = "scripted"
check_for_update_on_startup = false
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
[analytics]
enabled = false
"""


def resume_codex(program, text, options, patience=PATIENCE):
    with tempfile.TemporaryDirectory(prefix="resume-") as folder, Model() as model:
        home, cwd = pathlib.Path(folder).resolve() / "home", pathlib.Path(folder).resolve() / "work"
        cwd.mkdir()
        day = home / ".codex/sessions/2026/11/01"
        day.mkdir(parents=True)
        (home / ".codex/config.toml").write_text(CODEX_CONFIG.format(port=model.port))
        session = next(lines_of(text))["payload"]["id"]
        (day / f"rollout-2026-11-01T00-00-00-{session}.jsonl").write_text(text, encoding="utf-8")
        return run(
            program,
            ["exec", "resume", session, "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
             "--disable", "plugins", PROMPT], home, cwd, model, options, patience, SCRIPTED_KEY="none")


def resume_pi(program, text, options, patience=PATIENCE):
    with tempfile.TemporaryDirectory(prefix="resume-") as folder, Model() as model:
        home, cwd = pathlib.Path(folder).resolve() / "home", pathlib.Path(folder).resolve() / "work"
        cwd.mkdir()
        (home / ".pi/agent").mkdir(parents=True)
        scripted = {"id": "scripted", "name": "scripted", "reasoning": False, "input": ["text", "image"], "contextWindow": 2000000,
                    "maxTokens": 8192, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
        provider = {"baseUrl": f"http://127.0.0.1:{model.port}", "api": "anthropic-messages", "apiKey": "none", "models": [scripted]}
        (home / ".pi/agent/models.json").write_text(json.dumps({"providers": {"scripted": provider}}))
        # Pi asks what to do about a session of a folder that is not there.
        head, _, rest = text.partition("\n")
        session = pathlib.Path(folder) / "session.jsonl"
        session.write_text(json.dumps({**json.loads(head), "cwd": str(cwd)}) + "\n" + rest, encoding="utf-8")
        return run(
            program, ["--offline", "--model", "scripted/scripted", "--mode", "json", "--session", str(session), "-p", PROMPT],
            home, cwd, model, options, patience)


def resume_other(program, text, options, patience=PATIENCE):
    with tempfile.TemporaryDirectory(prefix="resume-") as folder, Model() as model:
        home, cwd = pathlib.Path(folder).resolve() / "home", pathlib.Path(folder).resolve() / "work"
        home.mkdir()
        cwd.mkdir()

        def start(arguments, answers=True, **env):
            return run(program, arguments, home, cwd, model, options, patience, answers, **env)
        return RESUME_OTHER[program.reads](text, home, cwd, model.port, PROMPT, start)


RESUME = {"claude-code": resume_claude, "codex": resume_codex, "pi": resume_pi}


# ---- the model -------------------------------------------------------------------------------------------------------


UNSIGNED = "messages.1.content.0: Invalid `signature` in `thinking` block"


class Model:
    """A model on loopback that gives every request the same answer, and keeps the request. It refuses thinking that
    nobody signed, as the API does."""

    def __enter__(self):
        self.requests, self.outside = [], []
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.path.startswith("/v1/messages") and "count_tokens" not in self.path:
                    model.requests.append(json.loads(body))
                    unsigned = [fault for fault in refused_messages(model.requests[-1]) if "signature" in fault]
                    if unsigned:
                        error = {"type": "invalid_request_error", "message": UNSIGNED}
                        return self.answer(400, "application/json", json.dumps({"type": "error", "error": error}))
                    self.answer(200, "text/event-stream", messages_events(model.requests[-1].get("model")))
                elif self.path.startswith("/v1/responses"):
                    model.requests.append(json.loads(body))
                    self.answer(200, "text/event-stream", responses_events(model.requests[-1].get("model")))
                elif self.path.endswith("/chat/completions"):
                    model.requests.append(json.loads(body))
                    name, stream = model.requests[-1].get("model"), model.requests[-1].get("stream")
                    kind = "text/event-stream" if stream else "application/json"
                    self.answer(200, kind, (chat_events if stream else chat_document)(ANSWER, name))
                elif "enerateContent" in self.path:
                    model.requests.append(json.loads(body))
                    stream = ":stream" in self.path
                    document = gemini_document(ANSWER if stream else ROUTED)
                    kind = "text/event-stream" if stream else "application/json"
                    self.answer(200, kind, f"data: {document}\r\n\r\n" if stream else document)
                else:
                    self.answer(404, "application/json", "{}")

            def do_GET(self):
                self.answer(404, "application/json", "{}")

            def do_CONNECT(self):
                model.outside.append(self.path)
                self.answer(403, "text/plain", "")

            do_HEAD = do_GET

            def answer(self, status, kind, body):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("connection", "close")
                self.end_headers()
                self.wfile.write(body.encode())
                self.close_connection = True

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that hangs up early

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def events(*of):
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in of)


def messages_events(model):
    usage = {"input_tokens": 10, "output_tokens": 5}
    message = {"id": "msg_scripted", "type": "message", "role": "assistant", "model": model, "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": usage}
    return events(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"})


def responses_events(model):
    item = {"type": "message", "id": "msg_scripted", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": ANSWER, "annotations": []}]}
    response = {"id": "resp_scripted", "object": "response", "created_at": 1790000000, "model": model}
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15}
    return events(
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": item["id"], "delta": ANSWER},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**response, "status": "completed", "output": [item], "usage": usage}})


if __name__ == "__main__":
    main()
