"""Amp: one document per thread. Results are blocks of the user's messages."""

from facts import Facts, at, canonical, count_of, maps, moment, text_of

NAME = "amp"


def mine(values):
    return len(values) > 0 and isinstance(at(values[0], "messages"), list) and text_of(at(values[0], "id")).startswith("T-")


def read(values):
    facts = Facts()
    for thread in values:
        for message in maps(at(thread, "messages")):
            one(facts, message)
        # The ledger repeats what messages used; titles and the like are told by it alone.
        billed = {message.get("messageId") for message in maps(at(thread, "messages")) if message.get("usage")}
        for event in maps(at(thread, "usageLedger", "events")):
            if event.get("toMessageId") not in billed:
                facts.spend(input=count_of(at(event, "tokens", "input")), output=count_of(at(event, "tokens", "output")))
        facts.mention(at(thread, "title"))
    return facts


def one(facts, message):
    author, usage = message.get("role"), message.get("usage") or {}
    time = moment(at(message, "meta", "sentAt")) or moment(usage.get("timestamp"))
    if "messageId" in message:
        facts.stamp(str(message["messageId"]), time)
    for block in maps(message.get("content")):
        kind = block.get("type")
        if kind == "summary":
            # It stands for what was said before, in place of the user.
            facts.say("user", text_of(at(block, "summary", "summary")), time)
        elif kind == "thinking":
            facts.think(text_of(block.get("thinking")), time)
        elif kind == "tool_use":
            facts.call(block.get("id"), block.get("name"), block.get("input"), time)
        elif kind == "tool_result":
            run(facts, block, time)
        elif kind == "image":
            facts.show(at(block, "source", "data") or at(block, "source", "url"))
        else:  # words, in a block that is known or not
            facts.say(author, text_of(block.get("text")), time)
    facts.mention(at(message, "state", "error", "message"))
    if usage:
        cached, written = count_of(usage.get("cacheReadInputTokens")), count_of(usage.get("cacheCreationInputTokens"))
        facts.spend(input=count_of(usage.get("inputTokens")) + cached + written, cached=cached, cache_write=written,
                    output=count_of(usage.get("outputTokens")))


def run(facts, block, time):
    done = block.get("run") or {}
    result = done.get("result")
    # A shell that returned something else than 0 is `done`: only the exit code tells.
    code = at(result, "exitCode")
    error = {"done": False, "error": True}.get(done.get("status"))
    if at(result, "isImage"):
        facts.show(text_of(at(result, "content")))
        text = None
    elif isinstance(result, str):
        text = result
    elif isinstance(at(result, "output"), str):
        text = result["output"]
    elif isinstance(at(result, "content"), str):
        text = result["content"]
    elif isinstance(at(result, "diff"), str):
        facts.mention(result["diff"])
        text = None
    elif result is not None:
        text = canonical(result)
    else:
        # A tool that never ran: the program says why, and the user may.
        text = text_of(at(done, "error", "message")) or text_of(done.get("reason"))
        facts.mention(at(block, "userInput", "feedback"))
    if done.get("status") not in ("done", "error", "in-progress", None):
        facts.outcomes.append((block.get("toolUseID"), done["status"]))
    facts.result(block.get("toolUseID"), text, error, code, time)
