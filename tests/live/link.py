"""A client that knows only universal events: it starts the example `agent_link` with a running agent."""

import json
import os
import queue
import subprocess
import threading
import time


class Link:
    """A running agent behind `agent_link`."""

    def __init__(self, program, dialect, command, env=None, cwd=None, patience=60):
        if env is not None and "AGENT_LINK_TRACE" in os.environ:
            env = {**env, "AGENT_LINK_TRACE": os.environ["AGENT_LINK_TRACE"]}
        self.process = subprocess.Popen(
            [program, dialect, "--", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=cwd
        )
        self.events, self.lines, self.patience, self.prompts = [], queue.Queue(), patience, 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def send(self, kind, data):
        self.process.stdin.write(json.dumps({"type": kind, "data": data}).encode() + b"\n")
        self.process.stdin.flush()

    def open(self, **settings):
        self.send("session.started", {"metadata": settings})

    def prompt(self, text):
        self.prompts += 1
        item = {"item_id": f"p{self.prompts}", "kind": "message", "role": "user", "status": "completed"}
        self.send("item.completed", {"item": {**item, "content": [{"type": "text", "text": text}]}})

    def decide(self, permission, status):
        self.send("permission.resolved", {**permission, "status": status})

    def answer(self, question, answers):
        self.send("question.resolved", {**question, "answers": answers, "response": None, "status": "answered"})

    def decline(self, question):
        self.send("question.resolved", {**question, "status": "rejected"})

    def interrupt(self):
        self.send("turn.ended", {"metadata": {"stop": {"class": "cancelled"}}})

    def await_event(self, *kinds, where=lambda data: True):
        """The next event of one of these types."""
        end = time.monotonic() + self.patience
        while True:
            try:
                event = self.lines.get(timeout=max(0.1, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {kinds} in time; last: {self.events[-3:]}") from None
            if event is None:
                raise AssertionError(f"the agent ended before {kinds}")
            self.events.append(event)
            if event["type"] in kinds and where(event["data"]):
                return event["data"]

    def close(self):
        """Ends the client's input and reads the rest. Returns the exit code."""
        self.process.stdin.close()
        end = time.monotonic() + self.patience
        while (event := self.lines.get(timeout=max(0.1, end - time.monotonic()))) is not None:
            self.events.append(event)
        return self.process.wait(self.patience)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()


def texts(events, role, kind="text"):
    """The complete texts of messages."""
    items = [event["data"]["item"] for event in events if event["type"] == "item.completed"]
    parts = [part for item in items if item["kind"] == "message" and item.get("role") == role for part in item["content"]]
    return [part["text"] for part in parts if part["type"] == kind]


def faults(events):
    """Broken rules of the universal stream that every agent must keep."""
    found, open_items, calls, said, turns, asked = [], {}, set(), {}, 0, set()
    for event in events:
        kind, data = event["type"], event["data"]
        if kind == "agent.unparsed":
            found.append(f"unparsed: {data}")
        elif kind == "turn.started":
            turns += 1
            if turns > 1:
                found.append("a turn started within a turn")
        elif kind == "turn.ended":
            turns -= 1
            if turns < 0:
                found.append("a turn ended that had not started")
        elif kind.endswith(".requested"):
            asked.add((kind.split(".")[0], data.get("permission_id", data.get("question_id"))))
        elif kind.endswith(".resolved"):
            name = (kind.split(".")[0], data.get("permission_id", data.get("question_id")))
            if name not in asked:
                found.append(f"resolved twice or never asked: {name}")
            asked.discard(name)
        elif kind == "item.delta":
            if data["item_id"] not in open_items:
                found.append(f"a delta of {data['item_id']}, which is not open")
            said.setdefault((data["item_id"], data["part"]), []).append(data["delta"])
        elif kind == "item.started":
            open_items[data["item"]["item_id"]] = data["item"]
        elif kind == "item.completed":
            item = data["item"]
            if open_items.pop(item["item_id"], None) is None:
                found.append(f"{item['item_id']} ended and had not started")
            for number, part in enumerate(item["content"]):
                if part["type"] == "tool_call":
                    calls.add(part["call_id"])
                if part["type"] == "tool_result" and part["call_id"] not in calls:
                    found.append(f"a result without a call: {part['call_id']}")
                pieces = said.get((item["item_id"], number))
                whole = part.get("text", part.get("output", part.get("arguments")))
                if pieces and "".join(pieces) != whole:
                    found.append(f"the deltas of {item['item_id']} differ from {whole!r}")
    return found + [f"never ended: {name}" for name in open_items] + [f"never resolved: {name}" for name in asked]
