"""The database of Cursor's editor, as the document that the converter makes of a session: bubbles of a composer."""

from facts import Facts, at, canonical, count_of, maps, moment, parse, text_of

NAME = "cursor-db"
RESTORED = False  # the converter reads these sessions and does not write them


def mine(values):
    return len(values) > 0 and isinstance(at(values[0], "composer"), dict) and isinstance(at(values[0], "bubbles"), list)


def read(values):
    facts = Facts()
    for session in values:
        facts.mention(at(session, "composer", "name"))
        for bubble in maps(at(session, "bubbles")):
            one(facts, bubble)
    return facts


def one(facts, bubble):
    author = {1: "user", 2: "assistant"}.get(bubble.get("type"))
    time = moment(bubble.get("createdAt"))
    if author is None:
        facts.silent_ids[bubble.get("bubbleId")] = time  # a bubble of a type that no version is known to have
        return
    facts.stamp(bubble.get("bubbleId"), time)
    facts.think(text_of(at(bubble, "thinking", "text")), time)
    facts.say(author, text_of(bubble.get("text")), time)
    tool = bubble.get("toolFormerData")
    if isinstance(tool, dict) and isinstance(tool.get("name"), str):
        used(facts, tool, time)
    tokens = bubble.get("tokenCount") or {}
    if tokens.get("inputTokens") or tokens.get("outputTokens"):
        facts.spend(input=count_of(tokens.get("inputTokens")), output=count_of(tokens.get("outputTokens")))


def used(facts, tool, time):
    given = tool.get("rawArgs") or tool.get("params")
    if isinstance(given, str):
        try:
            given = parse(given)
        except ValueError:
            pass  # a text that was cut off
    facts.call(tool.get("toolCallId"), tool["name"], given, time)
    status, values = tool.get("status"), [value for value in (tool.get("result"), tool.get("error")) if value]
    if values or status in ("completed", "error", "cancelled"):
        text = "".join(value if isinstance(value, str) else canonical(value) for value in values)
        facts.result(tool.get("toolCallId"), text, status == "error" if status else None, None, time)
        if status in ("completed", "error", "cancelled"):
            facts.outcomes.append((tool.get("toolCallId"), status))
