"""Cline: one document per session with messages of blocks. Results are blocks of the user's messages."""

from facts import Facts, at, canonical, count_of, maps, moment, text_of

NAME = "cline"


def mine(values):
    return len(values) > 0 and isinstance(at(values[0], "messages"), list) and isinstance(at(values[0], "origin"), dict)


def read(values):
    facts = Facts()
    for session in values:
        for message in maps(at(session, "messages")):
            one(facts, message)
        facts.mention(at(session, "system_prompt"))
    return facts


def one(facts, message):
    author, time = message.get("role"), moment(message.get("ts"))
    content = message.get("content")
    is_error = at(message, "metadata", "displayRole") == "error"
    is_shown = author in ("user", "assistant") and not is_error
    if isinstance(message.get("id"), str):
        # A line for the screen, and a line of a role that no version is known to have, keep their ids in the line.
        (facts.ids if is_shown else facts.silent_ids)[message["id"]] = time
    if is_error:
        facts.mention(content)
    if not is_shown:
        return
    if isinstance(content, str):
        facts.say(author, content, time)
    for block in maps(content):
        kind = block.get("type")
        if kind == "thinking":
            facts.think(text_of(block.get("thinking")), time)
        elif kind == "tool_use":
            facts.call(block.get("id"), block.get("name"), block.get("input"), time)
        elif kind == "tool_result":
            result(facts, block, time)
        elif kind == "image":
            facts.show(block.get("data"))
        elif kind == "media":
            continue  # the record keeps this block verbatim and does not show its picture (README of the dialect)
        elif kind == "file":
            facts.say(author, text_of(block.get("content")), time)
        else:
            facts.say(author, text_of(block.get("text")), time)
    used = message.get("metrics")
    if isinstance(used, dict):
        # The count of input tokens includes the tokens of the cache: the cost is right only that way.
        facts.spend(input=count_of(used.get("inputTokens")), cached=count_of(used.get("cacheReadTokens")),
                    cache_write=count_of(used.get("cacheWriteTokens")), output=count_of(used.get("outputTokens")))


def result(facts, block, time):
    content, parts = block.get("content"), list(maps(block.get("content")))
    # `is_error` tells of a tool that could not run; the tool tells of each thing that it was asked for.
    if parts and all(part.get("success") is False for part in parts):
        facts.outcomes.append((block.get("tool_use_id"), "failed"))
    if isinstance(content, str):
        text = content
    elif parts and all(part.get("type") == "text" for part in parts):
        text = "".join(text_of(part.get("text")) for part in parts)
    else:
        text = canonical(content)
    facts.result(block.get("tool_use_id"), text, block.get("is_error"), None, time)
