"""Kimi Code: `context.*` lines are the conversation; `turn.prompt` and `agent.message.appended` repeat it."""

import re

from agents.kimi import arguments, output, part, parts
from facts import Facts, at, count_of, maps, moment, text_of

NAME = "kimi-code"
EXIT = re.compile(r"Command failed with exit code: (\d+)")


def mine(values):
    return any(at(v, "type") in ("context.append_message", "context.append_loop_event", "profile.bind", "config.update")
               for v in values[:50])


def read(values):
    facts, steps, records = Facts(), [], []
    for value in values:
        kind, time = value.get("type"), moment(value.get("time"))
        if kind == "context.append_message" and isinstance(value.get("message"), dict):
            message(facts, value["message"], time)
        elif kind == "context.append_loop_event" and isinstance(value.get("event"), dict):
            loop(facts, value["event"], time)
            if isinstance(value["event"].get("usage"), dict):
                steps.append(value["event"]["usage"])
        elif kind == "usage.record" and isinstance(value.get("usage"), dict):
            records.append(value["usage"])
        elif kind == "profile.bind":
            facts.say("system", text_of(value.get("systemPrompt")), time)
        elif kind == "context.apply_compaction":
            facts.mention(text_of(value.get("contextSummary")) or text_of(value.get("summary")))
    # A step's end repeats the record of its call; a log with no records has only those.
    rest = list(records)
    for usage in steps:
        if usage in rest:
            rest.remove(usage)
        else:
            records.append(usage)
    for usage in records:
        cached, written = count_of(usage.get("inputCacheRead")), count_of(usage.get("inputCacheCreation"))
        facts.spend(input=count_of(usage.get("inputOther")) + cached + written, cached=cached, cache_write=written,
                    output=count_of(usage.get("output")))
    return facts


def message(facts, message, time):
    role = message.get("role")
    if isinstance(message.get("id"), str):
        facts.stamp(message["id"], time)
    if role == "tool":
        facts.result(message.get("toolCallId"), output(facts, message.get("content")), message.get("isError"), None, time)
        return
    parts(facts, role, message.get("content"), time)
    for call in maps(message.get("toolCalls")):
        facts.call(call.get("id"), call.get("name"), arguments(call.get("arguments")), time)


def loop(facts, event, time):
    kind = event.get("type")
    if kind in ("content.part", "tool.call", "step.begin") and isinstance(event.get("uuid"), str):
        facts.stamp(event["uuid"], time, event.get("stepUuid"))
    if kind == "content.part" and isinstance(event.get("part"), dict):
        part(facts, "assistant", event["part"], time)
    elif kind == "tool.call":
        facts.call(event.get("toolCallId"), event.get("name"), event.get("args"), time)
    elif kind == "tool.result":
        result = event.get("result") or {}
        # What the model reads: the output, then what the program says of it.
        text = output(facts, result.get("output")) + text_of(result.get("message")) + text_of(result.get("note"))
        found = EXIT.search(text)
        facts.result(event.get("toolCallId"), text, result.get("isError"), found and int(found[1]), time)
