"""Goose: one document per session, or a head line and lines of messages. Results are blocks of the user's messages."""

from facts import Facts, at, count_of, maps, moment, text_of

NAME = "goose"


def mine(values):
    return any(isinstance(at(value, "working_dir"), str) for value in values[:1])


def read(values):
    facts = Facts()
    messages = values[1:]
    if isinstance(at(values[0], "conversation"), list):
        messages = values[0]["conversation"]
    else:
        head = values[0]
        spend(facts, head, "accumulated_input_tokens", "accumulated_output_tokens", "accumulated_cache_read_tokens",
              "accumulated_cache_write_tokens")
    for message in maps(messages):
        one(facts, message)
    return facts


def spend(facts, used, *names):
    # The count of input tokens includes the tokens of the cache: the cost is right only that way.
    fresh, output, cached, written = (count_of(used.get(name)) for name in names)
    facts.spend(input=fresh, output=output, cached=cached, cache_write=written)


SHOWN = ("systemNotification", "actionRequired", "toolConfirmationRequest")


def one(facts, message):
    author, time, content = message.get("role"), moment(message.get("created")), list(maps(message.get("content")))
    is_said = author in ("user", "assistant")
    if isinstance(message.get("id"), str):
        (facts.ids if is_said else facts.silent_ids)[message["id"]] = time
    if not is_said:
        return
    if content and all(block.get("type") in SHOWN for block in content):
        facts.mention(content[0].get("msg"))
        return
    for block in content:
        kind = block.get("type")
        if kind == "thinking":
            facts.think(text_of(block.get("thinking")), time)
        elif kind == "reasoning":
            facts.think(text_of(block.get("text")), time)
        elif kind in ("toolRequest", "frontendToolRequest"):
            call = at(block, "toolCall", "value")
            if isinstance(call, dict):  # a call that could not be parsed has no name
                facts.call(block.get("id"), call.get("name"), call.get("arguments"), time)
        elif kind == "toolResponse":
            result(facts, block, time)
        elif kind == "image":
            facts.show(block.get("data"))
        elif kind == "text":
            facts.say(author, text_of(block.get("text")), time)
    used = at(message, "metadata", "usage")
    if isinstance(used, dict):
        spend(facts, used, "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")


def result(facts, block, time):
    outcome = block.get("toolResult") or {}
    if outcome.get("status") == "error":
        facts.result(block.get("id"), outcome.get("error"), True, None, time)
        return
    value = outcome.get("value")
    if value is None:
        return
    is_list = isinstance(value, list)
    texts = []
    for part in maps(value if is_list else value.get("content")):
        if part.get("type") == "image":
            facts.show(part.get("data"))
        texts.append(text_of(part.get("text")) or text_of(at(part, "resource", "text")) or "")
    error = None if is_list else value.get("isError")
    facts.result(block.get("id"), "".join(texts), error, at(value, "structuredContent", "exit_code"), time)
