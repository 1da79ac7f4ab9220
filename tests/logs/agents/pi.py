"""Pi: a header line, then a tree of entries; version 1 has neither ids nor parents."""

from facts import Facts, at, count_of, maps, moment, text_of

NAME = "pi"


def mine(values):
    # What it prints begins like its log.
    prints = any(at(value, "type") == "agent_start" for value in values[:5])
    return len(values) > 0 and at(values[0], "type") == "session" and "cwd" in values[0] and not prints


def read(values):
    facts = Facts()
    for value in values:
        kind, time = value.get("type"), moment(value.get("timestamp"))
        if kind == "session":
            continue
        if isinstance(value.get("id"), str):
            facts.stamp(value["id"], time, value.get("parentId"))
        if kind == "message" and isinstance(value.get("message"), dict):
            message(facts, value["message"], time)
        elif kind in ("compaction", "branch_summary"):
            facts.say("user", text_of(value.get("summary")), time)
        elif kind == "custom_message":
            content(facts, "user", value.get("content"), time)
        elif kind == "session_info":
            facts.mention(value.get("name"))
        if kind == "usage" and isinstance(value.get("usage"), dict):
            spend(facts, value["usage"])
    return facts


def message(facts, message, time):
    role = message.get("role")
    if role in ("user", "assistant", "system"):
        content(facts, role, message.get("content"), time)
        facts.mention(message.get("errorMessage"))
    elif role == "toolResult":
        text = "".join(text_of(part.get("text")) for part in maps(message.get("content")))
        facts.result(message.get("toolCallId"), text, message.get("isError"), at(message, "details", "exitCode"), time)
        for part in maps(message.get("content")):
            if part.get("type") == "image":
                facts.show(part.get("data"))
    elif role == "bashExecution":
        facts.say("user", text_of(message.get("command")), time)
        facts.say("user", text_of(message.get("output")), time)
    elif role in ("custom", "hookMessage"):
        content(facts, "user", message.get("content"), time)
    elif role in ("branchSummary", "compactionSummary"):
        facts.say("user", text_of(message.get("summary")), time)
    if isinstance(message.get("usage"), dict):
        spend(facts, message["usage"])


def content(facts, author, value, time):
    if isinstance(value, str):
        facts.say(author, value, time)
    for part in maps(value):
        kind = part.get("type")
        if kind == "thinking" and part.get("redacted") is not True:  # else its text is a placeholder of Pi's
            facts.think(text_of(part.get("thinking")), time)
        elif kind == "toolCall":
            facts.call(part.get("id"), part.get("name"), part.get("arguments"), time)
        elif kind == "image":
            facts.show(part.get("data"))
        elif kind != "thinking":  # words, in a block that is known or not
            facts.say(author, text_of(part.get("text")), time)


def spend(facts, usage):
    cached, written = count_of(usage.get("cacheRead")), count_of(usage.get("cacheWrite"))
    facts.spend(input=count_of(usage.get("input")) + cached + written, cached=cached, cache_write=written,
                output=count_of(usage.get("output")), reasoning=count_of(usage.get("reasoning")))
