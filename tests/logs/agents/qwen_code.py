"""Qwen Code: Claude's envelope (`uuid`, `parentUuid`) around Gemini's parts. Telemetry repeats tokens and is not counted."""

import re

from facts import Facts, at, canonical, count_of, maps, moment, text_of

NAME = "qwen-code"
EXIT = re.compile(r"^Exit Code: (\d+)$", re.M)


def mine(values):
    return any(isinstance(at(v, "message", "parts"), list) and "uuid" in v or at(v, "subtype") == "ui_telemetry"
               for v in values[:50])


def read(values):
    facts = Facts()
    for value in values:
        kind, time = value.get("type"), moment(value.get("timestamp"))
        if isinstance(value.get("uuid"), str):
            facts.stamp(value["uuid"], time, value.get("parentUuid"))
        parts = maps(at(value, "message", "parts"))
        if kind in ("user", "assistant"):
            for part in parts:
                one(facts, kind, part, time)
        elif kind == "tool_result":
            result(facts, parts, value.get("toolCallResult") or {}, time)
        elif kind == "system" and value.get("subtype") == "custom_title":
            facts.mention(at(value, "systemPayload", "customTitle"))
        elif kind == "system" and value.get("subtype") == "slash_command" and at(value, "systemPayload", "phase") == "invocation":
            facts.say("user", text_of(at(value, "systemPayload", "rawCommand")), time)
        usage = value.get("usageMetadata")
        if kind == "assistant" and isinstance(usage, dict):
            given, thought = count_of(usage.get("promptTokenCount")), count_of(usage.get("thoughtsTokenCount"))
            answer = count_of(usage.get("candidatesTokenCount"))
            # Thoughts are part of the answer with some providers, beside it with others: the total shows which.
            if usage.get("totalTokenCount") == given + answer + thought:
                answer += thought
            facts.spend(input=given, cached=count_of(usage.get("cachedContentTokenCount")), output=answer, reasoning=thought)
    return facts


def one(facts, author, part, time):
    if part.get("thought") is True:
        facts.think(text_of(part.get("text")), time)
    elif "text" in part:
        facts.say(author, text_of(part["text"]), time)
    elif isinstance(part.get("functionCall"), dict):
        call = part["functionCall"]
        facts.call(call.get("id"), call.get("name"), call.get("args"), time)
    elif isinstance(part.get("inlineData"), dict):
        facts.show(part["inlineData"].get("data"))
    elif isinstance(part.get("fileData"), dict):
        facts.show(part["fileData"].get("fileUri"))


def result(facts, parts, state, time):
    for part in parts:
        answer = part.get("functionResponse")
        if isinstance(answer, dict):
            response = answer.get("response") or {}
            text = response.get("output", response.get("error"))
            if not isinstance(text, str):
                text = canonical(response)
            error = {"success": False, "error": True}.get(state.get("status"))
            found = EXIT.search(text)
            if isinstance(state.get("status"), str):
                facts.outcomes.append((answer.get("id"), state["status"]))
            facts.result(answer.get("id"), text, error, found and int(found[1]), time)
            for nested in maps(answer.get("parts")):
                one(facts, "user", nested, time)
        else:
            one(facts, "user", part, time)
