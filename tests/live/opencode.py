#!/usr/bin/env python3
"""Drives a real `opencode serve` through the dialect `opencode-events`, offline, against the scripted model.

    cargo build -p interlingua --example agent_link
    python3 tests/live/opencode.py --opencode PATH --interlingua PATH --agent-link PATH [--keep FOLDER]

The test client knows only universal events: it prompts, answers permissions and questions, and interrupts. At the end the
texts, reasoning, calls and results in the universal stream are compared with the messages that the server itself stored.
"""
import argparse
import json
import os
import pathlib
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
WAIT = 60

SCRIPT = r"""
[side]
text = "The subagent looked around."

[[turn]]
reasoning = "I look at both files first."
text = "I look at the files."
calls = [
  { name = "bash", arguments = '{"command":"echo one; exit 3","description":"Fails"}' },
  { name = "read", arguments = '{"filePath":"missing.txt"}' },
]

[[turn]]
text = "The command and the file failed. ü €"

[[turn]]
calls = [{ name = "bash", arguments = '{"command":"touch granted.txt","description":"Makes a file"}' }]

[[turn]]
text = "The file was made."

[[turn]]
calls = [{ name = "bash", arguments = '{"command":"touch denied.txt","description":"Makes a file"}' }]

[[turn]]
text = "The file was not made."

[[turn]]
calls = [{ name = "question", arguments = '''{"questions":[
  {"question":"Which colour?","header":"Colour","options":[{"label":"Red","description":"the red one"},{"label":"Blue","description":"the blue one"}]},
  {"question":"Which sizes?","header":"Sizes","multiple":true,"options":[{"label":"S","description":"small"},{"label":"L","description":"large"}]}]}''' }]

[[turn]]
text = "Blue, in two sizes."

[[turn]]
calls = [{ name = "question", arguments = '''{"questions":[
  {"question":"Really?","header":"Sure","options":[{"label":"Yes","description":"go on"}]}]}''' }]

[[turn]]
calls = [
  { name = "task", arguments = '{"description":"Look around","prompt":"Look around.","subagent_type":"general"}' },
  { name = "todowrite", arguments = '{"todos":[{"content":"look","status":"completed","priority":"high"}]}' },
]

[[turn]]
text = "The subagent is done."

[[turn]]
calls = [{ name = "bash", arguments = '{"command":"touch edited.txt && sleep 60","description":"Sleeps"}' }]

[[turn]]
error = { class = "invalid_request", message = "the scripted failure" }
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(url, child):
    for _ in range(WAIT * 4):
        if child.poll() is not None:
            raise SystemExit(f"{url}: the server ended with {child.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.25)
    raise SystemExit(f"{url}: no answer")


class Client:
    """Speaks universal events with `agent_link`."""

    def __init__(self, command, trace):
        environment = os.environ | {"AGENT_LINK_TRACE": str(trace)}
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.events, self.queue, self.count = [], queue.Queue(), 0
        threading.Thread(target=self.pump, daemon=True).start()

    def pump(self):
        for line in self.child.stdout:
            event = json.loads(line)
            self.events.append(event)
            self.queue.put(event)
        self.queue.put(None)

    def say(self, kind, data):
        self.child.stdin.write(json.dumps({"type": kind, "data": data}).encode() + b"\n")
        self.child.stdin.flush()

    def prompt(self, text):
        self.count += 1
        item = {"item_id": f"c{self.count}", "kind": "message", "role": "user", "status": "completed",
                "content": [{"type": "text", "text": text}]}
        self.say("item.completed", {"item": item})

    def until(self, wanted):
        """The events up to the first of the wanted type."""
        seen, end = [], time.monotonic() + WAIT
        while True:
            event = self.queue.get(timeout=max(1, end - time.monotonic()))
            if event is None:
                raise SystemExit(f"the agent ended before `{wanted}`")
            seen.append(event)
            if event["type"] == wanted:
                return seen

    def turn(self):
        return self.until("turn.ended")


class Checks:
    def __init__(self):
        self.failed = 0

    def __call__(self, name, passed, detail=""):
        self.failed += not passed
        print(("ok    " if passed else "FAILED ") + name + (f": {detail}" if detail and not passed else ""))


def stop_of(events):
    return events[-1]["data"].get("metadata", {}).get("stop", {}).get("class")


def drive(client, check):
    client.say("session.started", {"metadata": {"cwd": client.cwd, "model": "fake-model", "provider": "fake", "title": "Live"}})
    client.prompt("Look at the files.")
    events = client.turn()
    check("a turn ends", stop_of(events) == "end_turn", stop_of(events))
    deltas = [event for event in events if event["type"] == "item.delta"]
    check("texts arrive in pieces", len(deltas) > 3, len(deltas))

    client.prompt("Make a file.")
    asked = client.until("permission.requested")[-1]["data"]
    check("a permission names its action", asked["action"] == "bash", asked)
    client.say("permission.resolved", {"permission_id": asked["permission_id"], "action": "bash", "status": "accept"})
    # An answer given twice must not reach the server.
    client.say("permission.resolved", {"permission_id": asked["permission_id"], "action": "bash", "status": "reject"})
    client.say("permission.resolved", {"permission_id": "per_unknown", "action": "bash", "status": "accept"})
    events = client.turn()
    check("a granted permission runs the command", (pathlib.Path(client.cwd) / "granted.txt").exists())
    check("the decision is told", [e["data"]["status"] for e in events if e["type"] == "permission.resolved"] == ["accept"])

    client.prompt("Make another file.")
    asked = client.until("permission.requested")[-1]["data"]
    client.say("permission.resolved", {"permission_id": asked["permission_id"], "action": "bash", "status": "reject",
                                       "metadata": {"answer": {"reject": "not this file"}}})
    events = client.turn()
    check("a denied permission runs nothing", not (pathlib.Path(client.cwd) / "denied.txt").exists())
    results = [e["data"]["item"] for e in events if e["type"] == "item.completed" and e["data"]["item"]["kind"] == "tool_result"]
    check("a denied call failed", [item["status"] for item in results] == ["failed"], results)

    client.prompt("Ask me.")
    asked = client.until("question.requested")[-1]["data"]
    texts = json.dumps(asked)
    check("all questions are visible", all(word in texts for word in ["Which colour?", "Which sizes?", "the blue one", "large"]), texts)
    client.say("question.resolved", asked | {"answers": [["Blue"], ["S", "L"]], "status": "answered"})
    events = client.turn()
    answered = [e["data"] for e in events if e["type"] == "question.resolved"]
    check("the answer is told once", len(answered) == 1 and '"Blue"' in json.dumps(answered), answered)

    client.prompt("Ask me again.")
    asked = client.until("question.requested")[-1]["data"]
    client.say("question.resolved", asked | {"status": "rejected"})
    events = client.turn()
    check("a declined question is told", [e["data"]["status"] for e in events if e["type"] == "question.resolved"] == ["rejected"])

    client.prompt("Use a subagent.")
    events = client.turn()
    check("a subagent's text is there", "The subagent looked around." in json.dumps(events))

    client.prompt("Sleep.")
    asked = client.until("permission.requested")[-1]["data"]
    client.say("permission.resolved", {"permission_id": asked["permission_id"], "action": "bash", "status": "accept_for_session"})
    client.until("permission.resolved")
    time.sleep(2)
    started = time.monotonic()
    client.say("turn.ended", {"metadata": {"stop": {"class": "cancelled"}}})
    events = client.turn()
    check("an interrupt ends the turn", stop_of(events) == "cancelled" and time.monotonic() - started < 20, stop_of(events))

    client.prompt("Fail.")
    events = client.turn()
    check("a failure is an error", "the scripted failure" in json.dumps([e for e in events if e["type"] == "error"]), stop_of(events))
    check("a failed turn ends", stop_of(events) == "error", stop_of(events))
    time.sleep(2)


def stored(base, session, cwd):
    query = urllib.parse.urlencode({"directory": cwd})
    def get(path):
        with urllib.request.urlopen(f"{base}{path}?{query}", timeout=30) as response:
            return json.load(response)
    sessions = [session] + [child["id"] for child in get(f"/session/{session}/children")]
    found = {"user": [], "text": [], "reasoning": [], "call": [], "result": []}
    for name in sessions:
        for message in get(f"/session/{name}/message"):
            for part in message["parts"]:
                if part["type"] == "text" and part["text"]:
                    found["user" if message["info"]["role"] == "user" else "text"].append(part["text"])
                elif part["type"] == "reasoning":
                    found["reasoning"].append(part["text"])
                elif part["type"] == "tool":
                    found["call"].append([part["callID"], part["tool"], part["state"]["input"]])
                    state = part["state"]
                    if state["status"] in ("completed", "error"):
                        found["result"].append([part["callID"], state.get("output", state.get("error"))])
    return found


def told(events):
    found = {"user": [], "text": [], "reasoning": [], "call": [], "result": []}
    for event in events:
        if event["type"] != "item.completed":
            continue
        item = event["data"]["item"]
        for part in item["content"]:
            if part["type"] == "text" and item["kind"] == "message":
                found["user" if item["role"] == "user" else "text"].append(part["text"])
            elif part["type"] == "reasoning":
                found["reasoning"].append(part["text"])
            elif part["type"] == "tool_call":
                found["call"].append([part["call_id"], part["name"], json.loads(part["arguments"])])
            elif part["type"] == "tool_result":
                found["result"].append([part["call_id"], part["output"]])
    return found


def compare(base, client, check):
    session = next(e["native_session_id"] for e in client.events if e["native_session_id"])
    theirs, ours = stored(base, session, client.cwd), told(client.events)
    for kind in theirs:
        one, two = sorted(map(json.dumps, theirs[kind])), sorted(map(json.dumps, ours[kind]))
        check(f"{kind}: {len(one)} stored, {len(two)} told", one == two and one, [one, two])
    types = [event["type"] for event in client.events]
    check("nothing is unparsed", "agent.unparsed" not in types)
    check("every turn begins and ends once", types.count("turn.started") == types.count("turn.ended") == 8,
          [types.count("turn.started"), types.count("turn.ended")])
    started = [e["data"]["item"]["item_id"] for e in client.events if e["type"] == "item.started"]
    completed = [e["data"]["item"]["item_id"] for e in client.events if e["type"] == "item.completed"]
    check("every item begins and ends once", sorted(started) == sorted(completed) and len(set(started)) == len(started),
          set(started) ^ set(completed))


def main():
    parser = argparse.ArgumentParser()
    for name in ("opencode", "interlingua", "agent-link"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--keep", help="a folder for the transcript and the events")
    options = parser.parse_args()
    check, children = Checks(), []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        project, home = folder / "project", folder / "home"
        project.mkdir(), home.mkdir()
        (folder / "script.toml").write_text(SCRIPT)
        model_port, port = free_port(), free_port()
        (project / "opencode.json").write_text(json.dumps({
            "model": "fake/fake-model", "small_model": "fake/fake-model", "share": "disabled", "autoupdate": False,
            "permission": {"bash": {"*": "allow", "touch *": "ask"}},
            "provider": {"fake": {
                "npm": "@ai-sdk/openai-compatible", "name": "Fake",
                "options": {"baseURL": f"http://127.0.0.1:{model_port}/v1", "apiKey": "test-key"},
                "models": {"fake-model": {"name": "Fake", "reasoning": True, "tool_call": True,
                                          "limit": {"context": 128000, "output": 8192},
                                          "cost": {"input": 1, "output": 2, "cache_read": 0.1}}}}}}))
        environment = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR")} | {"HOME": str(home)}
        try:
            children.append(subprocess.Popen(
                [options.interlingua, "mock", str(folder / "script.toml"), "--listen", f"127.0.0.1:{model_port}", "--quiet"]))
            wait_for(f"http://127.0.0.1:{model_port}/v1/models", children[-1])
            log = open(folder / "serve.log", "wb")
            children.append(subprocess.Popen(
                [options.opencode, "serve", "--hostname", "127.0.0.1", "--port", str(port)],
                cwd=project, env=environment, stdout=log, stderr=log))
            base = f"http://127.0.0.1:{port}"
            wait_for(f"{base}/doc", children[-1])
            trace = folder / "transcript"
            client = Client([options.agent_link, "opencode-events", "--", sys.executable, str(HERE / "opencode_http.py"), base, str(project)], trace)
            children.append(client.child)
            client.cwd = str(project)
            try:
                drive(client, check)
                client.child.stdin.close()
                client.child.wait(timeout=30)
                time.sleep(0.5)
                compare(base, client, check)
            finally:
                if options.keep:
                    keep = pathlib.Path(options.keep)
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / "transcript").write_bytes(trace.read_bytes())
                    (keep / "universal.jsonl").write_text("".join(json.dumps(e) + "\n" for e in client.events))
        finally:
            for child in reversed(children):
                child.kill()
                child.wait()
    print("all passed" if not check.failed else f"{check.failed} failed")
    return bool(check.failed)


if __name__ == "__main__":
    sys.exit(main())
