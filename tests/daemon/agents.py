#!/usr/bin/env python3
"""Real agents behind the daemon, offline: a client that knows only HTTP and universal events drives them.

    client --HTTP--> `interlingua serve --agents` --> agent --> recorder --> `interlingua mock` (the script)

    python3 tests/daemon/agents.py                       # every agent
    python3 tests/daemon/agents.py --only claude,codex   # these agents
    python3 tests/daemon/agents.py --parts crash         # one part: skeleton, counted, requests, crash, shared or settings

The agents come from npm into `--tools` and stay there (3 GB).
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import secrets
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave the tree as it was
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "agents"), str(HERE.parent / "gateway")]

from cells import CELLS, script, turn  # noqa: E402
from client import (Daemon, Failed, Session, broken_rules, items, kill_agents, processes_of, skeleton,  # noqa: E402
                    started_then_completed)
from own_logs import OWN_LOGS, differences, of_events  # noqa: E402
from programs import PROGRAMS, folder_of, install  # noqa: E402
from recorder import Recorder  # noqa: E402

STORY = "there was a heron that waited and waited and waited. " * 12
SLOW = 250  # milliseconds before each piece of a text


class Stage:
    """A home, a project, the scripted model and the daemon of one agent."""

    def __init__(self, cell, binary, tools, folder, recorder):
        self.cell, self.binary, self.folder, self.recorder = cell, binary, folder, recorder
        self.home, self.project, self.model = folder / "home", folder / "project", None
        for each in (self.home, self.project):
            each.mkdir()
        subprocess.run(["git", "init", "--quiet"], cwd=self.project, check=True)
        program = {program.dialect: program for program in PROGRAMS}[cell.program]
        commands = folder_of(program, tools) / "node_modules/.bin"
        url, refuses = f"http://127.0.0.1:{recorder.port}", f"http://127.0.0.1:{recorder.port}"
        self.env = {
            "PATH": f"{commands}:{os.environ['PATH']}", "HOME": str(self.home), "TMPDIR": str(self.home), "TERM": "dumb", "LANG": "C.UTF-8",
            "HTTPS_PROXY": refuses, "HTTP_PROXY": refuses, "NO_PROXY": "127.0.0.1,localhost", **cell.prepare(self.home, self.project, url)}

    def play(self, text):
        """Starts the model with this script, in place of an earlier one."""
        self.close()
        (self.folder / "script.toml").write_text(text)
        self.model = subprocess.Popen(
            [self.binary, "mock", self.folder / "script.toml", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
        line = self.model.stderr.readline()
        port = re.search(r":(\d+)\s*$", line)
        if not port:
            raise Failed(f"the model did not start: {line}{self.model.stderr.read()}")
        self.recorder.backend_port = int(port.group(1))

    def close(self):
        if self.model:
            self.model.kill()
            self.model.wait()
            self.model.stderr.close()

    def daemon(self):
        return Daemon(self.binary, self.folder, self.env)

    def session(self, daemon, name, **settings):
        return Session(daemon, name, agent=self.cell.agent, directory=str(self.project), **{**self.cell.settings, **settings})

    def last_request(self):
        """The last request of the conversation, as text. Requests beside it have no tools."""
        bodies = [exchange.body for exchange in self.recorder.exchanges]
        bodies = [body for body in bodies if body.get("tools") or "input" in body]
        return json.dumps(bodies[-1]) if bodies else ""


class Checks:
    def __init__(self, name):
        self.name, self.failed, self.count = name, 0, 0

    def __call__(self, what, is_right, seen=""):
        self.count += 1
        if not is_right:
            self.failed += 1
            print(f"FAIL {self.name}: {what}\n     {str(seen)[:1500]}", flush=True)

    def rules(self, events):
        for rule in broken_rules(events):
            self(f"rule: {rule}", False)
        self("the events keep the rules", True)


def stop_of(ended):
    return ended["data"]["metadata"]["stop"]["class"]


def judge_record(stage, session, check):
    path = stage.folder / "record.jsonl"
    path.write_bytes(session.record())
    done = subprocess.run([stage.binary, "check", path], capture_output=True, text=True)
    output = done.stdout + done.stderr
    # The scripted model counts the turns in the request: after a crash it gives an id a second time, and the agent keeps it.
    errors = re.findall(r"error: .*", output)
    repeated = [re.search(r"duplicate-id\): `(.*)`", error) for error in errors]
    of_model = bool(errors) and all(found and re.fullmatch(r"msg_[0-9a-f]{32}0{8}", found.group(1)) for found in repeated)
    check("`check` accepts the record", done.returncode == 0 or of_model, output)


def judge_log(stage, session, check):
    """Compares the events with the log that the agent left on disk."""
    read = OWN_LOGS[stage.cell.agent]
    ours, theirs = of_events(session.events()), read(stage.home, session.info()["nativeSessionId"])
    found = differences(ours, theirs)
    counts = {kind: len(each) for kind, each in theirs.items()}
    check(f"the agent's own log says the same ({counts})", not found and counts["user"] and counts["assistant"], found)
    return counts


def judge_no_orphans(daemon, stage, check):
    """Ends the daemon by SIGTERM."""
    code, seconds = daemon.stop()
    check("SIGTERM ends the daemon in 5 s with the code 0", code == 0 and seconds < 5, (code, seconds))
    end = time.monotonic() + 3
    while (left := processes_of(stage.home)) and time.monotonic() < end:
        time.sleep(0.1)
    check("no process of the agent is left", not left, left)


def run_skeleton(stage, check):
    """One turn with a call, one turn without, and the end."""
    mark = f"mark-{secrets.token_hex(8)}"
    (stage.project / "left.txt").write_text(mark + "\n")
    # Qwen Code loses the output of quicker commands on a busy machine.
    command = "cat left.txt" + (" && sleep 1" if stage.cell.agent == "qwen" else "")
    stage.play(script(turn("I look.", [stage.cell.shell(command)]), turn("The file says it."), turn("Nothing else.")))
    with stage.daemon() as daemon:
        listed = {agent["id"]: agent for agent in daemon.expect(200, "GET", "/agents")["agents"]}
        check("the agent is installed", listed[stage.cell.agent]["installed"], listed[stage.cell.agent])
        package = next(program.package for program in PROGRAMS if program.dialect == stage.cell.program)
        check("its version is that of the package", f"@{listed[stage.cell.agent]['version']}" in package, listed[stage.cell.agent])
        session = stage.session(daemon, "skeleton")
        session.say("Look at the file.")
        _, ended = session.turn()
        events = session.events()
        first = ["turn.started", ("user", "Look at the file."), ("assistant", "I look."), "tool_call", "tool_result",
                 ("assistant", "The file says it."), "turn.ended"]
        check("the first turn has the skeleton", skeleton(events) == first, skeleton(events))
        check("the turn ends by itself", stop_of(ended) == "end_turn", ended)
        check("the assistant's message starts, grows and ends", started_then_completed(events, "assistant"))
        results = [part for item in items(events) for part in item["content"] if part["type"] == "tool_result"]
        check("the result holds the text of the file", any(mark in json.dumps(part) for part in results) or stage.cell.agent == "gemini", results)
        usual = [event for event in events if event["source"] == "agent" and event["raw"] is None]
        check("events of the agent have its line", len(usual) < len(events) // 2, usual[:2])
        streamed = session.streamed_turn("And now?")
        second = ["turn.started", ("user", "And now?"), ("assistant", "Nothing else."), "turn.ended"]
        check("the second turn has the skeleton", skeleton(streamed) == second, skeleton(streamed))
        check("the stream of a turn begins with its start", streamed[0]["type"] == "turn.started", streamed[0])
        judge_record(stage, session, check)
        judge_log(stage, session, check)
        session.terminate()
        session.terminate()
        events = session.events()
        check("the session ended once, by the daemon", events[-1]["type"] == "session.ended"
              and events[-1]["data"]["reason"] == "terminated" and events[-1]["data"]["terminated_by"] == "daemon", events[-1])
        status, text = daemon.call("POST", f"{session.path}/messages", {"message": "Still there?"})
        check("an ended session takes no message", status == 409, (status, text))
        check.rules(events)
        judge_no_orphans(daemon, stage, check)


def run_counted(stage, check):
    """Reasoning, two calls at once, a call that fails, and a turn without calls: the events say what the agent's own log says."""
    (stage.project / "left.txt").write_text("The heron waits.\n")
    pause = " && sleep 1" if stage.cell.agent == "qwen" else ""
    calls = [stage.cell.shell(command) for command in (f"cat left.txt{pause}", f"ls{pause}")]
    stage.play(script(
        turn("I look.", calls, reasoning="The file is near."), turn("And now one that fails.", [stage.cell.shell(f"ls missing{pause}")]),
        turn("It is not there.", reasoning="That was expected."), turn("Nothing else.")))
    with stage.daemon() as daemon:
        session = stage.session(daemon, "counted")
        session.say("Look at the files.")
        session.turn()
        session.say("And now?")
        session.turn()
        counts = judge_log(stage, session, check)
        expected = {"user": 2, "assistant": 4, "reasoning": 2, "calls": 3, "results": 3}
        check("the log has all of the run", counts == expected, counts)
        check.rules(session.events())


def run_requests(stage, check):
    """Permissions and a question: once, for the session, rejected; answered."""
    touch = lambda name: turn("I touch it.", [stage.cell.shell(f"touch {name}.txt")])
    stage.play(script(
        touch("once"), turn("Once."), touch("always"), touch("always"), turn("Always."), turn("I make it.", [stage.cell.shell("mkdir never.txt")]), turn("It was denied."),
        turn("I ask.", [stage.cell.ask]), turn("You said it."), turn("The end.")))
    there = lambda name: (stage.project / f"{name}.txt").exists()
    with stage.daemon() as daemon:
        session = stage.session(daemon, "requests")
        session.say("Touch once.")
        asked, _ = session.turn("once")
        check("a permission is asked, and the command runs", len(asked) == 1 and there("once"), asked)
        session.say("Touch always.")
        asked, _ = session.turn("always")
        check("a command that is allowed for the session is asked once", len(asked) == 1 and there("always"), asked)
        session.say("Touch never.")
        asked, ended = session.turn("reject")
        check("a rejected command does not run", len(asked) == 1 and not there("never"), asked)
        results = [item for item in items(session.events()) if item["kind"] == "tool_result"]
        check("a rejected call failed", results[-1]["status"] == "failed", results[-1])
        if ("assistant", "It was denied.") not in skeleton(session.events()):
            # OpenCode ends the turn with the rejection.
            session.say("Go on.")
            _, ended = session.turn()
        check("the session goes on after a rejection", ("assistant", "It was denied.") in skeleton(session.events()), ended)
        session.say("Ask me.")
        question = session.wait("question.requested")
        prompts = [prompt["text"] for prompt in question["data"]["prompts"]]
        check("all prompts of the question arrive", prompts == ["Which bird?", "Which size?"], question)
        pending = daemon.expect(200, "GET", f"{session.path}/pending")["events"]
        check("the question waits", [event["type"] for event in pending] == ["question.requested"], pending)
        session.answer(question, [["Egret"], ["Small"]])
        asked, ended = session.turn()
        check("a question is no permission as well", not asked, asked)
        request = stage.last_request()
        check("the answers reach the model", "Egret" in request and "Small" in request and stop_of(ended) == "end_turn", request[-1500:])
        events = session.events()
        replies = [event["data"]["status"] for event in events if event["type"] == "permission.resolved"]
        check("the decisions are told", replies == ["accept", "accept_for_session", "reject"], replies)
        judge_record(stage, session, check)
        judge_log(stage, session, check)
        check.rules(events)


def run_crash(stage, check):
    """The agent is killed in a turn, then the daemon; each time the next message goes on with the agent's own session."""
    # The model names its messages by their texts, so each story is another one.
    slow = lambda: script(turn("The first answer."), turn(f"Once, on day {secrets.randbelow(10**9)}: {STORY}", delay=SLOW))
    story = lambda data: "Once" in data["delta"] or "heron" in data["delta"]
    stage.play(slow())
    with stage.daemon() as daemon:
        session = stage.session(daemon, "crash")
        session.say("Remember the word larch.")
        session.turn()
        session.say("Tell a story.")
        session.wait("item.delta", where=story)
        check("the agent was killed", kill_agents(daemon, stage.home) > 0)
        ended = session.wait("turn.ended")
        check("the turn of a killed agent ends as an error", stop_of(ended) == "error", ended)
        goes_on(stage, session, "After the crash?", check)
        native = session.info()["nativeSessionId"]
        stage.play(slow())
        session.say("Another story.")
        session.wait("item.delta", where=story)
        before = session.events()
        daemon.kill()
        end = time.monotonic() + 10
        while (left := processes_of(stage.home)) and time.monotonic() < end:
            time.sleep(0.1)
        check("the agent ends with a killed daemon", not left, left)
        kill_agents(daemon, stage.home)
        daemon.start()
        events = session.events()
        check("no event is lost", events[: len(before)] == before, (len(events), len(before)))
        check("the open turn is closed as an error", events[-1]["type"] == "turn.ended" and stop_of(events[-1]) == "error", events[-1])
        session.seen = events[-1]["sequence"]
        goes_on(stage, session, "After the restart?", check)
        check("it is the same session of the agent", session.info()["nativeSessionId"] == native, session.info())
        judge_record(stage, session, check)
        stage.play(slow())
        session.say("The last story.")
        session.wait("item.delta", where=story)
        judge_no_orphans(daemon, stage, check)
        daemon.start()
        events = session.events()
        check("SIGTERM closes the turn as an error", events[-1]["type"] == "turn.ended" and stop_of(events[-1]) == "error", events[-1])
        check.rules(events)


def goes_on(stage, session, text, check):
    if stage.cell.agent == "gemini":
        # Gemini CLI names its log by the minute, and empties the log of the same minute when it loads the session.
        time.sleep(61 - time.time() % 60)
    answer = f"Still here. {text}"
    stage.play(script(turn(answer)))
    session.say(text)
    _, ended = session.turn()
    said = [part for part in skeleton(session.events()) if part[0] == "assistant"]
    check(f"the session goes on: {text}", stop_of(ended) == "end_turn" and said[-1:] == [("assistant", answer)], (ended, said[-2:]))
    request = stage.last_request()
    check("the agent has its history", all(word in request for word in ("Remember the word larch.", text)), request[-1500:])
    prompts = [said for said in skeleton(session.events()) if said == ("user", text)]
    check("the prompt is told once", len(prompts) == 1, prompts)


def groups_of(daemon, stage):
    """The process groups of the agents."""
    found = set()
    for pid in processes_of(stage.home):
        with contextlib.suppress(ProcessLookupError):
            found.add(os.getpgid(pid))
    return found - {os.getpgid(daemon.process.pid)}


def run_shared(stage, check):
    """Sessions at one process: they do not mix, one that ends disturbs no other, and all go on after the death of the process."""
    began = lambda data: "Once" in data["delta"] or "heron" in data["delta"]
    # The story must not end before the process is killed, and a second server starts slowly on a busy machine.
    stage.play(script(turn(f"Once: {STORY * 8}", delay=SLOW)))
    with stage.daemon() as daemon:
        listed = {agent["id"]: agent for agent in daemon.expect(200, "GET", "/agents")["agents"]}
        check("the agent tells that its process is shared", listed[stage.cell.agent]["capabilities"]["sharedProcess"])
        names = ["one", "two", "three"]
        one, two, three = sessions = [stage.session(daemon, name) for name in names]
        for name, session in zip(names, sessions):
            session.say(f"Remember the word larch. I am {name}.")
        for session in sessions:
            session.wait("item.delta", where=began)
        # Two processes of Codex that make the same home at once disturb each other.
        own = stage.session(daemon, "own", env={"SESSION_MARK": "own"})
        own.say("I am own.")
        own.wait("item.delta", where=began)
        check("three sessions share a process, and a session with its own variables has another", len(groups_of(daemon, stage)) == 2,
              processes_of(stage.home))
        own.terminate()
        one.terminate()
        check("a terminated session has ended", one.events()[-1]["type"] == "session.ended", one.events()[-1])
        for session in (two, three):
            session.wait("item.delta", where=began)
        end = time.monotonic() + 5
        while len(groups_of(daemon, stage)) > 1 and time.monotonic() < end:
            time.sleep(0.1)
        check("only the process of the ended session has ended", len(groups_of(daemon, stage)) == 1, processes_of(stage.home))
        check("the shared process was killed", kill_agents(daemon, stage.home) > 0)
        for session in (two, three):
            ended = session.wait("turn.ended")
            check("the turn of a session at a killed process ends as an error", stop_of(ended) == "error", ended)
        for name, session in (("two", two), ("three", three)):
            goes_on(stage, session, f"Are you {name}?", check)
        check("the sessions share a process again", len(groups_of(daemon, stage)) == 1, processes_of(stage.home))
        for name, session in zip(names, sessions):
            prompts = [text for role, text in (part for part in skeleton(session.events()) if isinstance(part, tuple)) if role == "user"]
            check("a session has only its own prompts", prompts and all(name in prompt for prompt in prompts), prompts)
            check.rules(session.events())
        judge_no_orphans(daemon, stage, check)


def mcp(log):
    return {"birds": {"command": sys.executable, "args": [str(HERE / "mcp_server.py")], "env": {"BIRD_LOG": str(log)}}}


NO_MCP = ("opencode", "copilot", "pi")
REFUSED = {
    "claude": [{"permissionMode": "dream"}],
    "codex": [{"agentMode": "dream"}],
    "opencode": [{"permissionMode": "bypass"}, {"model": "no-provider"}],
    "gemini": [{"variant": "high"}],
    "copilot": [{"permissionMode": "acceptEdits"}, {"variant": "high"}],
    "kimi": [{"permissionMode": "acceptEdits"}],
    "qwen": [{"variant": "high"}],
    "pi": [{"permissionMode": "bypass"}, {"agentMode": "plan"}],
}


def run_settings(stage, check):
    """MCP servers, the plan mode and an effort reach the agent, or the session is refused."""
    agent = stage.cell.agent
    stage.play(script(turn("Yes.")))
    with stage.daemon() as daemon:
        wrong = [*REFUSED[agent], {"mcp": {"birds": {}}}, *([{"mcp": mcp("log")}] if agent in NO_MCP else [])]
        for number, settings in enumerate(wrong):
            body = {"agent": agent, "directory": str(stage.project), **settings}
            status, text = daemon.call("POST", f"/sessions/wrong{number}", body)
            check(f"refused: {settings}", status == 400, (status, text))
            check("a refused session is not there", daemon.call("GET", f"/sessions/wrong{number}")[0] == 404)
        if agent not in NO_MCP:
            # Some agents hide tools of others in the plan mode, and Qwen Code starts the servers beside the first
            # turn.
            log = stage.folder / "mcp.log"
            session = stage.session(daemon, "servers", mcp=mcp(log))
            session.say("Are you there?")
            session.turn()
            asked = log.read_text().split() if log.exists() else []
            check("the agent starts the MCP server and asks for its tools", "tools/list" in asked, asked)
            offered = any("heron_count" in json.dumps(exchange.body) for exchange in stage.recorder.exchanges)
            check("the tool of the MCP server reaches the model", offered or agent == "qwen")
        settings = {} if agent == "pi" else {"agentMode": "plan"}
        settings |= {"codex": {"variant": "low"}, "opencode": {"variant": "deep"}, "kimi": {"variant": "off"}, "claude": {"variant": "low"}}.get(agent, {})
        session = stage.session(daemon, "settings", **settings)
        session.say("Are you there?")
        _, ended = session.turn()
        events = session.events()
        check("the turn ends by itself", stop_of(ended) == "end_turn", ended)
        check("the agent takes the settings", not [event for event in events if event["type"] == "error"],
              [event for event in events if event["type"] == "error"])
        request = stage.last_request()
        body = json.loads(request)
        if agent == "codex":
            check("the effort reaches the model", body["reasoning"]["effort"] == "low", body["reasoning"])
            check("the sandbox is that of the plan mode", "read-only" in request, request[:1500])
        elif agent == "claude":
            check("the effort reaches the model", "low" in json.dumps(body["output_config"]), body["output_config"])
        elif agent == "opencode":
            check("the variant reaches the model", body.get("reasoning_effort") == "high", [key for key in body])
            check("the mode reaches the agent", "plan mode" in request.lower(), request[:1500])
        check.rules(events)


PARTS = {"skeleton": run_skeleton, "counted": run_counted, "requests": run_requests, "crash": run_crash, "shared": run_shared, "settings": run_settings}


def run_amp(options):
    """Amp, whose loop runs on its vendor's server, as a program that replays a fixture."""
    check, began = Checks("amp replayed"), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="daemon-agents-", ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder).resolve()
        (folder / "bin").mkdir()
        (folder / "bin/amp").symlink_to(HERE / "fake_amp.py")
        env = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder), "LANG": "C.UTF-8"}
        try:
            with Daemon(options.bin.resolve(), folder, env) as daemon:
                drive_amp(daemon, folder, check)
        except (Failed, OSError, KeyError, IndexError) as error:
            check(f"{type(error).__name__}: {error}", False)
    print(f"{'amp':9} {'replayed':9} {'FAILED' if check.failed else 'ok':6} {check.count} checks, {time.monotonic() - began:.1f} s", flush=True)
    return check.failed


def drive_amp(daemon, folder, check):
    for settings in ({"model": "fast"}, {"variant": "high"}, {"mcp": mcp("log")}, {"permissionMode": "plan"}):
        status, text = daemon.call("POST", "/sessions/wrong", {"agent": "amp", **settings})
        check(f"refused: {settings}", status == 400, (status, text))
    session = Session(daemon, "amp", agent="amp", directory=str(folder), permissionMode="bypass")
    for prompt in ("Fix the typo.", "Fix it again."):
        events = session.streamed_turn(prompt)
        said = ["turn.started", ("user", prompt), ("assistant", "I look at the notes."), "tool_call", "tool_call", "tool_result",
                "tool_result", ("assistant", "The command failed."), "tool_call", "tool_call", "tool_result", "tool_result",
                ("assistant", "The typo is fixed."), "turn.ended"]
        check("the turn has the skeleton", skeleton(events) == said, skeleton(events))
        check("the turn ends by itself", stop_of(events[-1]) == "end_turn", events[-1])
    session.say("Now crash.")
    ended = session.wait("turn.ended")
    check("a crash ends the turn as an error", stop_of(ended) == "error", ended)
    events = session.streamed_turn("And once more.")
    check("the next message goes on", stop_of(events[-1]) == "end_turn", events[-1])
    session.say("Now wait.")
    session.wait("item.completed", where=lambda data: data["item"].get("role") == "assistant")
    began = time.monotonic()
    daemon.expect(204, "POST", f"{session.path}/interrupt")
    ended = session.wait("turn.ended")
    check("an interrupt ends the turn as cancelled", stop_of(ended) == "cancelled", ended)
    check("an interrupt waits for nothing that Amp cannot do", time.monotonic() - began < 3, time.monotonic() - began)
    events = session.streamed_turn("Go on.")
    check("the message after an interrupt goes on", stop_of(events[-1]) == "end_turn", events[-1])
    native = session.info()["nativeSessionId"]
    starts = [json.loads(line) for line in (folder / "amp-starts.jsonl").read_text().splitlines()]
    usual = ["--execute", "--stream-json", "--stream-json-thinking", "--stream-json-input", "--dangerously-allow-all"]
    resumed = ["threads", "continue", native, *usual]
    check("the arguments: once new, then with the thread", starts == [usual, resumed, resumed], starts)
    session.terminate()
    check.rules(session.events())


def run(name, part, options):
    cell, check, began = CELLS[name], Checks(f"{name} {part}"), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="daemon-agents-", ignore_cleanup_errors=True) as folder, Recorder(9) as recorder:
        stage = Stage(cell, options.bin.resolve(), options.tools, pathlib.Path(folder).resolve(), recorder)
        try:
            PARTS[part](stage, check)
        except (Failed, OSError, KeyError, IndexError, subprocess.TimeoutExpired) as error:
            check(f"{type(error).__name__}: {error}", False)
        finally:
            stage.close()
            for pid in processes_of(stage.home):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)  # the home is this run's own
            if recorder.outside:
                print(f"     {name} wanted to reach {sorted(set(recorder.outside))}")
            if options.keep:
                keep(options.keep / f"{name}-{part}", stage)
    print(f"{name:9} {part:9} {'FAILED' if check.failed else 'ok':6} {check.count} checks, {time.monotonic() - began:.1f} s", flush=True)
    return check.failed


def keep(folder, stage):
    """Keeps the store and the requests."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in stage.folder.glob("daemon.db*"):
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "requests.jsonl").write_text("".join(json.dumps(exchange.body) + "\n" for exchange in stage.recorder.exchanges))


def main():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=target / "release/interlingua")
    parser.add_argument("--tools", type=pathlib.Path, default=target / "tools/agents", help="where the agents are installed")
    parser.add_argument("--only", default=",".join([*CELLS, "amp"]), help="names of agents, with commas")
    parser.add_argument("--parts", default=",".join(PARTS), help="parts of the suite, with commas")
    parser.add_argument("--keep", type=pathlib.Path, help="leave stores and requests in this folder")
    options = parser.parse_args()
    if not options.bin.is_file():
        sys.exit(f"{options.bin}: not found; `cargo build --release --package interlingua-cli` makes it")
    names, parts = options.only.split(","), options.parts.split(",")
    if unknown := [name for name in names if name not in [*CELLS, "amp"]] + [part for part in parts if part not in PARTS]:
        sys.exit(f"unknown: {', '.join(unknown)}; there are {', '.join([*CELLS, 'amp', *PARTS])}")
    programs = {program.dialect: program for program in PROGRAMS}
    failed = 0
    for name in names:
        if name == "amp":
            failed += run_amp(options)
            continue
        install(programs[CELLS[name].program], options.tools)
        for part in parts:
            # Requests and a shared process are judged with the agents that have drivers of their own.
            if part in ("skeleton", "counted", "crash", "settings") or part == "requests" and CELLS[name].ask or part == "shared" and CELLS[name].is_shared:
                failed += run(name, part, options)
    print(f"{failed or 'no'} checks failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
