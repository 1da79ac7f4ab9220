"""Cursor: `{role, message}` a line. Calls have no ids, results and times are not written."""

from facts import Facts, at, maps, text_of

NAME = "cursor"


def mine(values):
    return any(at(v, "role") in ("user", "assistant") and isinstance(at(v, "message", "content"), (list, str))
               and "uuid" not in v for v in values[:50])


def read(values):
    facts = Facts()
    for value in values:
        if value.get("role") not in ("user", "assistant"):
            facts.mention(text_of(value.get("error")))
            continue
        facts.say(value["role"], text_of(at(value, "message", "content")))
        for block in maps(at(value, "message", "content")):
            if block.get("type") == "tool_use":
                facts.call(block.get("id"), block.get("name"), block.get("input"))
            elif block.get("type") == "thinking":
                facts.think(text_of(block.get("thinking")))
            else:  # words, in a block that is known or not
                facts.say(value["role"], text_of(block.get("text")))
    return facts
