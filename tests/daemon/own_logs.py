"""The texts, calls, results and reasoning in the own logs of the agents, read with the standard library alone."""

import json
import sqlite3


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def empty():
    return {"user": [], "assistant": [], "reasoning": [], "calls": [], "results": []}


def add(said, kind, text):
    if text:
        said[kind].append(text)


def claude(home, native):
    said = empty()
    (path,) = home.glob(f".claude/projects/*/{native}.jsonl")
    for line in lines(path):
        if line.get("type") not in ("user", "assistant") or line.get("isMeta") or line.get("isSidechain"):
            continue
        content = line["message"]["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "text":
                said[line["type"]].append(block["text"])
            elif block["type"] == "thinking":
                add(said, "reasoning", block["thinking"])
            elif block["type"] == "tool_use":
                said["calls"].append(block["id"])
            elif block["type"] == "tool_result":
                said["results"].append(block["tool_use_id"])
    return said


def codex(home, native):
    said = empty()
    (path,) = home.glob(f".codex/sessions/**/rollout-*-{native}.jsonl")
    for line in lines(path):
        item = line["payload"]
        if line["type"] != "response_item":
            continue
        if item["type"] == "message" and item["role"] in said:
            said[item["role"]] += [part["text"] for part in item["content"]]
        elif item["type"] == "reasoning":
            for part in [*item.get("summary", []), *(item.get("content") or [])]:
                add(said, "reasoning", part["text"])
        elif item["type"] == "function_call":
            said["calls"].append(item["call_id"])
        elif item["type"] == "function_call_output":
            said["results"].append(item["call_id"])
    # The first message of the user is the description of the machine.
    said["user"] = [text for text in said["user"] if not text.startswith("<environment_context>")]
    return said


def opencode(home, native):
    said = empty()
    with sqlite3.connect(home / ".local/share/opencode/opencode.db") as db:
        rows = db.execute(
            "select message.data, part.data from part join message on message.id = part.message_id"
            " where part.session_id = ? order by message.time_created, message.id, part.id", [native]).fetchall()
    for message, part in ((json.loads(message), json.loads(part)) for message, part in rows):
        if part["type"] == "text" and part["text"]:
            said[message["role"]].append(part["text"])
        elif part["type"] == "reasoning":
            add(said, "reasoning", part["text"])
        elif part["type"] == "tool":
            said["calls"].append(part["callID"])
            if part["state"]["status"] in ("completed", "error"):
                said["results"].append(part["callID"])
    return said


def gemini(home, native):
    """Lines of Gemini CLI: a message is written again when it grows, and a resume writes all messages again."""
    said, messages = empty(), {}
    for path in sorted(home.glob(".gemini/tmp/*/chats/session-*.jsonl")):
        if lines(path)[0]["sessionId"] != native:
            continue
        for line in lines(path):
            whole = line.get("$set", {}).get("messages", [])
            if whole:
                messages = {}
            for message in whole or ([line] if "id" in line else []):
                messages[message["id"]] = message
    for message in messages.values():
        content = message["content"]
        for part in [{"text": content}] if isinstance(content, str) else content:
            text = part.get("text", "")
            if not text.startswith("<session_context>"):
                add(said, {"gemini": "assistant", "user": "user"}.get(message["type"], "user"), text)
        for thought in message.get("thoughts", []):
            # Over ACP, a thought without a subject has an empty one.
            said["reasoning"].append(f"**{thought['subject']}**\n{thought['description']}")
        for call in message.get("toolCalls", []):
            said["calls"].append(call["id"])
            if call["status"] in ("success", "error", "cancelled"):
                said["results"].append(call["id"])
    return said


def qwen(home, native):
    said = empty()
    (path,) = home.glob(f".qwen/projects/*/chats/{native}.jsonl")
    for line in lines(path):
        if line["type"] not in ("user", "assistant", "tool_result"):
            continue
        for part in line["message"]["parts"]:
            if "text" in part:
                add(said, "reasoning" if part.get("thought") else line["type"], part["text"])
            elif "functionCall" in part:
                said["calls"].append(part["functionCall"]["id"])
            elif "functionResponse" in part:
                said["results"].append(part["functionResponse"]["id"])
    return said


def copilot(home, native):
    said = empty()
    for line in lines(home / ".copilot/session-state" / native / "events.jsonl"):
        data = line["data"]
        if line["type"] == "user.message":
            add(said, "user", data["content"])
        elif line["type"] == "assistant.message":
            add(said, "reasoning", data.get("reasoningText"))
            add(said, "assistant", data["content"])
            said["calls"] += [call["toolCallId"] for call in data.get("toolRequests", [])]
        elif line["type"] == "tool.execution_complete":
            said["results"].append(data["toolCallId"])
    return said


def kimi(home, native):
    """Kimi Code names a call over ACP by its turn and its id."""
    said, turns = empty(), {}
    (path,) = home.glob(f".kimi-code/sessions/*/*{native}*/agents/main/wire.jsonl")
    for line in lines(path):
        message = line.get("message", {})
        if line["type"] == "context.append_message" and message.get("origin", {}).get("kind") == "user":
            for part in message["content"]:
                add(said, "user", part.get("text"))
        elif line["type"] == "context.append_loop_event":
            event = line["event"]
            if event["type"] == "content.part":
                part = event["part"]
                add(said, "reasoning" if part["type"] == "think" else "assistant", part.get("think") or part.get("text"))
            elif event["type"] == "tool.call":
                turns[event["toolCallId"]] = event["turnId"]
                said["calls"].append(f"{event['turnId']}:{event['toolCallId']}")
            elif event["type"] == "tool.result":
                said["results"].append(f"{turns[event['toolCallId']]}:{event['toolCallId']}")
    return said


def pi(home, native):
    said = empty()
    (path,) = home.glob(f".pi/agent/sessions/*/*{native}.jsonl")
    for line in lines(path):
        if line["type"] != "message":
            continue
        message = line["message"]
        if message["role"] == "toolResult":
            said["results"].append(message["toolCallId"])
            continue
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if block["type"] == "text":
                add(said, message["role"], block["text"])
            elif block["type"] == "thinking":
                add(said, "reasoning", block["thinking"])
            elif block["type"] == "toolCall":
                said["calls"].append(block["id"])
    return said


OWN_LOGS = {"claude": claude, "codex": codex, "opencode": opencode, "gemini": gemini, "qwen": qwen, "copilot": copilot,
            "kimi": kimi, "pi": pi}


def of_events(events):
    """The same of universal events. The call behind a question is told as a question."""
    said = empty()
    for event in events:
        if event["type"] == "item.completed":
            item = event["data"]["item"]
            for part in item["content"]:
                if part["type"] == "text" and item["kind"] == "message" and item["role"] in ("user", "assistant"):
                    said[item["role"]].append(part["text"])
                elif part["type"] == "reasoning":
                    add(said, "reasoning", part["text"])
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
    for kind in ("user", "assistant", "reasoning", "calls", "results"):
        one, two = list(ours[kind]), list(theirs[kind])
        if kind in ("calls", "results"):
            one += [name for name in asked if name not in one]
            one, two = sorted(one), sorted(two)
        if one != two:
            found.append(f"{kind}: the events have {one}, the log has {two}")
    return found
