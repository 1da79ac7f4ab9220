"""What the own logs of Claude Code, Codex and OpenCode say, read with the standard library alone."""

import json
import sqlite3


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def claude(home, native):
    said = {"user": [], "assistant": [], "calls": [], "results": []}
    (path,) = home.glob(f".claude/projects/*/{native}.jsonl")
    for line in lines(path):
        if line.get("type") not in ("user", "assistant") or line.get("isMeta") or line.get("isSidechain"):
            continue
        content = line["message"]["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "text":
                said[line["type"]].append(block["text"])
            elif block["type"] == "tool_use":
                said["calls"].append(block["id"])
            elif block["type"] == "tool_result":
                said["results"].append(block["tool_use_id"])
    return said


def codex(home, native):
    said = {"user": [], "assistant": [], "calls": [], "results": []}
    (path,) = home.glob(f".codex/sessions/**/rollout-*-{native}.jsonl")
    for line in lines(path):
        item = line["payload"]
        if line["type"] != "response_item":
            continue
        if item["type"] == "message" and item["role"] in said:
            said[item["role"]] += [part["text"] for part in item["content"]]
        elif item["type"] == "function_call":
            said["calls"].append(item["call_id"])
        elif item["type"] == "function_call_output":
            said["results"].append(item["call_id"])
    # The first message of the user is the description of the machine.
    said["user"] = [text for text in said["user"] if not text.startswith("<environment_context>")]
    return said


def opencode(home, native):
    said = {"user": [], "assistant": [], "calls": [], "results": []}
    with sqlite3.connect(home / ".local/share/opencode/opencode.db") as db:
        rows = db.execute(
            "select message.data, part.data from part join message on message.id = part.message_id"
            " where part.session_id = ? order by message.time_created, message.id, part.id", [native]).fetchall()
    for message, part in ((json.loads(message), json.loads(part)) for message, part in rows):
        if part["type"] == "text" and part["text"]:
            said[message["role"]].append(part["text"])
        elif part["type"] == "tool":
            said["calls"].append(part["callID"])
            if part["state"]["status"] in ("completed", "error"):
                said["results"].append(part["callID"])
    return said


OWN_LOGS = {"claude": claude, "codex": codex, "opencode": opencode}


def of_events(events):
    """The same of universal events. The call behind a question is told as a question."""
    said = {"user": [], "assistant": [], "calls": [], "results": []}
    for event in events:
        if event["type"] == "item.completed":
            item = event["data"]["item"]
            for part in item["content"]:
                if part["type"] == "text" and item["kind"] == "message" and item["role"] in ("user", "assistant"):
                    said[item["role"]].append(part["text"])
                elif part["type"] == "tool_call":
                    said["calls"].append(part["call_id"])
                elif part["type"] == "tool_result":
                    said["results"].append(part["call_id"])
        elif event["type"] == "question.requested":
            said.setdefault("asked", []).append(event["data"].get("call_id"))
    return said


def differences(ours, theirs):
    """How the log differs from the events."""
    found = []
    asked = ours.get("asked", [])
    for kind in ("user", "assistant", "calls", "results"):
        one, two = list(ours[kind]), list(theirs[kind])
        if kind in ("calls", "results"):
            one += [name for name in asked if name not in one]
            one, two = sorted(one), sorted(two)
        if one != two:
            found.append(f"{kind}: the events have {one}, the log has {two}")
    return found
