"""Claude Code: one JSON object a line, a tree by `uuid` and `parentUuid`, one line per content block of an answer."""

import re

from facts import Facts, at, canonical, count_of, maps, moment, text_of

NAME = "claude-code"
EXIT = re.compile(r"Exit code (\d+)(?:\n|$)")


def mine(values):
    return any(
        isinstance(at(v, "message"), dict) and v.get("type") in ("user", "assistant") and "parts" not in v["message"]
        or at(v, "type") in ("queue-operation", "file-history-snapshot", "agent-name", "custom-title", "api-request-shape")
        or {"agentType", "toolUseId"} <= set(v)
        for v in values[:50] if isinstance(v, dict) and "session_id" not in v)  # what the program prints has that


def read(values):
    facts, answers, seen = Facts(), {}, set()
    for value in values:
        line(facts, value, answers, seen)
    for usage in answers.values():
        cached, written = count_of(usage.get("cache_read_input_tokens")), count_of(usage.get("cache_creation_input_tokens"))
        facts.spend(input=count_of(usage.get("input_tokens")) + cached + written, cached=cached, cache_write=written,
                    output=count_of(usage.get("output_tokens")))
        for advice in maps(usage.get("iterations")):
            if advice.get("type") == "advisor_message":
                cached, written = (count_of(advice.get(f"cache_{way}_input_tokens")) for way in ("read", "creation"))
                facts.spend(input=count_of(advice.get("input_tokens")) + cached + written, cached=cached, cache_write=written,
                            output=count_of(advice.get("output_tokens")))
    return facts


def line(facts, value, answers, seen):
    kind, time = value.get("type"), moment(value.get("timestamp"))
    name = value.get("uuid")
    if isinstance(name, str):
        facts.stamp(name, time, value.get("parentUuid"))
    if kind == "custom-title":
        seen.add(kind)
        facts.mention(value.get("customTitle"))
    elif kind in ("summary", "ai-title") and "custom-title" not in seen:  # what a person calls it stays
        facts.mention(value.get("summary") or value.get("aiTitle"))
    if kind == "system":
        facts.mention(value.get("content"))
    if kind == "attachment":
        attachment = value.get("attachment") or {}
        if attachment.get("type") == "queued_command":
            words(facts, "user", attachment.get("prompt"), time)
        return
    if kind == "progress" and at(value, "data", "type") == "agent_progress":
        # A sub-agent's message in a line of its parent; it may stand in a line of its own, too.
        told = at(value, "data", "message")
        if not isinstance(told, dict) or told.get("uuid") in seen:
            return
        if isinstance(told.get("uuid"), str):
            seen.add(told["uuid"])
        facts.silent_ids[told.get("uuid")] = moment(told.get("timestamp"))
        kind, value = told.get("type"), told
    if kind not in ("user", "assistant") or not isinstance(value.get("message"), dict):
        return
    message = value["message"]
    same = (message["id"], canonical(message.get("content"))) if isinstance(message.get("id"), str) else None
    if same and same in seen and "uuid" not in value:
        return
    seen.add(same)
    words(facts, kind, message.get("content"), time)
    # Every line of an answer repeats its usage so far: the last one counts. What a fork copied its parent has counted.
    if isinstance(message.get("usage"), dict) and "forkedFrom" not in value:
        answers[message.get("id") or value.get("uuid")] = message["usage"]


def words(facts, author, content, time):
    if isinstance(content, str):
        facts.say(author, content, time)
    for block in maps(content):
        kind = block.get("type")
        if kind == "text":
            facts.say(author, text_of(block.get("text")), time)
        elif kind == "thinking":
            facts.think(text_of(block.get("thinking")), time)
        elif kind in ("tool_use", "server_tool_use"):
            facts.call(block.get("id"), block.get("name"), block.get("input"), time)
        elif kind == "tool_result":
            output = block.get("content")
            text = output if isinstance(output, str) else "".join(text_of(b.get("text")) for b in maps(output))
            code = EXIT.match(text) if block.get("is_error") is True else None
            facts.result(block.get("tool_use_id"), text, block.get("is_error"), code and int(code[1]), time)
            for part in maps(output):
                picture(facts, part)
        else:
            picture(facts, block)


def picture(facts, block):
    if block.get("type") in ("image", "document"):
        facts.show(at(block, "source", "data") or at(block, "source", "url"))
