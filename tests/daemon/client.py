"""The daemon as a process, and a client of its HTTP API that knows only universal events."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "live"))

from link import faults, texts  # noqa: E402, F401

PATIENCE = 90  # seconds for one turn; most take five
ENVELOPE = ["event_id", "sequence", "time", "session_id", "native_session_id", "synthetic", "source", "type", "data", "raw"]


class Failed(Exception):
    """The daemon, or an agent, did something else than the check demands."""


class Daemon:
    """`interlingua serve --agents`."""

    def __init__(self, binary, folder, env, arguments=()):
        self.command = [binary, "serve", "--agents", "--store", folder / "daemon.db", "--listen", "127.0.0.1:0", *arguments]
        self.folder, self.env = folder, env

    def start(self):
        self.process = subprocess.Popen(
            [str(part) for part in self.command], cwd=self.folder, env=self.env, stderr=subprocess.PIPE, text=True, start_new_session=True)
        line = self.process.stderr.readline()
        port = re.search(r":(\d+)\s*$", line)
        if not port:
            raise Failed(f"the daemon did not start: {line}{self.process.stderr.read()}")
        self.base = f"http://127.0.0.1:{port.group(1)}/v1"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def stop(self):
        """Ends the daemon by SIGTERM. Returns the exit code and the seconds."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20), time.monotonic() - began

    def kill(self):
        self.process.kill()
        self.process.wait()

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def expect(self, status, method, path, body=None):
        seen, text = self.call(method, path, body)
        if seen != status:
            raise Failed(f"{method} {path}: {seen}, not {status}: {text.decode(errors='replace')[:400]}")
        return json.loads(text) if text else None


class Session:
    """A session of the daemon."""

    def __init__(self, daemon, name, **settings):
        self.daemon, self.path, self.seen = daemon, f"/sessions/{name}", 0
        daemon.expect(200, "POST", self.path, settings)

    def say(self, text):
        self.daemon.expect(204, "POST", f"{self.path}/messages", {"message": text})

    def events(self):
        return self.daemon.expect(200, "GET", f"{self.path}/events?include_raw=true")["events"]

    def wait(self, *kinds, where=lambda data: True):
        """The next event of one of these types."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            events = self.daemon.expect(200, "GET", f"{self.path}/events?offset={self.seen}")["events"]
            for event in events:
                self.seen = event["sequence"]
                if event["type"] in kinds and where(event["data"]):
                    return event
            time.sleep(0.05)
        tail = [(event["type"], json.dumps(event["data"])[:200]) for event in self.events()[-4:]]
        raise Failed(f"no {' or '.join(kinds)} in time; last: {tail}")

    def decide(self, request, reply):
        self.daemon.expect(204, "POST", f"{self.path}/permissions/{request['data']['permission_id']}/reply", {"reply": reply})

    def answer(self, request, answers):
        self.daemon.expect(204, "POST", f"{self.path}/questions/{request['data']['question_id']}/reply", {"answers": answers})

    def turn(self, reply="once"):
        """Answers every permission of the turn. Returns the requests and the end of the turn."""
        asked = []
        while (event := self.wait("permission.requested", "turn.ended"))["type"] != "turn.ended":
            asked.append(event)
            self.decide(event, reply)
        return asked, event

    def streamed_turn(self, text):
        """The events of a turn from the response to the message. Permissions are answered from here."""
        body = json.dumps({"message": text}).encode()
        request = urllib.request.Request(
            f"{self.daemon.base}{self.path}/messages/stream", body, {"content-type": "application/json"})
        events = []
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            for line in response:
                if line.startswith(b"data: "):
                    events.append(json.loads(line[6:]))
                    if events[-1]["type"] == "permission.requested":
                        self.decide(events[-1], "once")
        self.seen = events[-1]["sequence"]
        return events

    def terminate(self):
        self.daemon.expect(204, "POST", f"{self.path}/terminate")

    def info(self):
        return self.daemon.expect(200, "GET", self.path)

    def record(self):
        status, text = self.daemon.call("GET", f"{self.path}/record")
        if status != 200:
            raise Failed(f"no record: {status} {text[:300]}")
        return text


def broken_rules(events):
    """Broken rules that the events of every session must keep, from the first to the last."""
    found = faults(events)
    for number, event in enumerate(events, 1):
        if list(event) != ENVELOPE:
            found.append(f"the envelope has {list(event)}")
        if event["sequence"] != number:
            found.append(f"event {number} has the sequence {event['sequence']}")
        if event["synthetic"] and event["source"] != "daemon":
            found.append(f"event {number} is synthetic, but not of the daemon")
    if not events or events[0]["type"] != "session.started":
        found.append("the first event is not session.started")
    if [event["type"] for event in events].count("session.started") > 1:
        found.append("session.started is not the only one")
    if len({event["event_id"] for event in events}) != len(events):
        found.append("an event_id is there twice")
    times = [event["time"] for event in events]
    if times != sorted(times):
        found.append("the times go back")
    ends = [number for number, event in enumerate(events) if event["type"] == "session.ended"]
    if ends and ends != [len(events) - 1]:
        found.append("events follow session.ended")
    open_turn = None
    for event in events:
        if event["type"] == "turn.started":
            open_turn = event["data"]["turn_id"]
        elif event["type"] == "turn.ended" and event["data"]["turn_id"] != open_turn:
            found.append(f"the turn {open_turn} ended as {event['data']['turn_id']}")
    return found


def items(events):
    """The completed items."""
    return [event["data"]["item"] for event in events if event["type"] == "item.completed"]


def skeleton(events):
    """A turn without ids and times: what each of its items says, in the order of their starts. Notices and reasoning are left out."""
    whole, said = {item["item_id"]: item for item in items(events)}, []
    for event in events:
        if event["type"] in ("turn.started", "turn.ended", "session.ended"):
            said.append(event["type"])
        elif event["type"] == "item.started":
            item = whole.get(event["data"]["item"]["item_id"], event["data"]["item"])
            for part in item["content"]:
                if part["type"] == "text" and item["kind"] == "message":
                    said.append((item["role"], part["text"]))
                elif part["type"] in ("tool_call", "tool_result"):
                    said.append(part["type"])
    return said


def started_then_completed(events, role):
    """Whether a message of this role started, grew, and ended."""
    for event in events:
        if event["type"] == "item.completed" and event["data"]["item"].get("role") == role and event["data"]["item"]["kind"] == "message":
            name = event["data"]["item"]["item_id"]
            kinds = [each["type"] for each in events
                     if each["data"].get("item_id", each["data"].get("item", {}).get("item_id")) == name]
            return kinds[0] == "item.started" and kinds[-1] == "item.completed" and "item.delta" in kinds[1:-1]
    return False


def processes_of(home):
    """The processes whose home is this folder, by id: the command line of each."""
    found, mark = {}, f"HOME={home}".encode()
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0") and (entry / "cmdline").read_bytes():
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:120]
            except OSError:
                pass  # it has ended
    return found


def kill_agents(daemon, home):
    """Kills the agents of the daemon, as a crash does. Returns how many there were."""
    victims = [pid for pid in processes_of(home) if pid != daemon.process.pid]
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return len(victims)
