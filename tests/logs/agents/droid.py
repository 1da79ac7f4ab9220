"""Droid: a `session_start` line, then messages with blocks of Anthropic's API, and lines about turns and compactions."""

from facts import Facts, at, maps, moment, text_of

NAME = "droid"


def mine(values):
    return len(values) > 0 and at(values[0], "type") == "session_start" and "cwd" in values[0]


def read(values):
    facts = Facts()
    for value in values:
        kind, time = value.get("type"), moment(value.get("timestamp"))
        if kind == "session_start":
            facts.mention(value.get("title"))
            continue
        if isinstance(value.get("id"), str):
            facts.stamp(value["id"], time, value.get("parentId"))
        if kind == "message" and isinstance(value.get("message"), dict):
            content(facts, value["message"].get("role"), value["message"].get("content"), time)
        elif kind == "compaction_state":
            facts.say("user", text_of(value.get("summaryText")), time)
    return facts


def content(facts, author, value, time):
    if isinstance(value, str):
        facts.say(author, value, time)
    for part in maps(value):
        kind = part.get("type")
        if kind == "thinking":
            facts.think(text_of(part.get("thinking")), time)
        elif kind == "tool_use":
            facts.call(part.get("id"), part.get("name"), part.get("input"), time)
        elif kind == "tool_result":
            given = part.get("content")
            text = given if isinstance(given, str) else "".join(text_of(piece.get("text")) for piece in maps(given))
            facts.result(part.get("tool_use_id"), text, part.get("is_error"), None, time)
            for piece in maps(given):
                facts.show(at(piece, "source", "data"))
        elif kind == "image":
            facts.show(at(part, "source", "data"))
        else:
            facts.say(author, text_of(part.get("text")), time)
