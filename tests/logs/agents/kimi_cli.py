"""Kimi CLI: `wire.jsonl` (what happened, with times) and `context.jsonl` (what the model saw)."""

import re

from agents.kimi import arguments, output, part, parts
from facts import Facts, at, count_of, maps, seconds, text_of

NAME = "kimi-cli"
EXIT = re.compile(r"exit code: (\d+)")


def mine(values):
    if len(values) > 0 and at(values[0], "role") == "assistant":
        return False  # what it prints has no messages of the user
    return any(isinstance(at(v, "message", "payload"), dict) and "timestamp" in v
               or at(v, "role") in ("_checkpoint", "_system_prompt", "_usage") or thinks(v) for v in values[:50])


def thinks(value):
    """Whether a message has a thought as only Kimi writes it."""
    return at(value, "role") == "assistant" and any(at(part, "type") == "think" for part in maps(at(value, "content")))


def read(values):
    reader = Reader()
    for value in values:
        if "role" in value:
            reader.context(value)
        elif isinstance(value.get("message"), dict):
            reader.wire(value["message"], seconds(value.get("timestamp")), None)
    return reader.finish()


class Reader:
    def __init__(self):
        self.facts = Facts()
        self.calls = []  # [id, name, text of the arguments, time, how many things came before it]
        self.latest = {}  # agent -> its latest call: a piece of arguments has no id

    def wire(self, message, time, agent):
        facts, kind, payload = self.facts, message.get("type"), message.get("payload") or {}
        if kind in ("TurnBegin", "SteerInput"):
            parts(facts, "user", payload.get("user_input"), time)
        elif kind == "ContentPart":
            part(facts, "assistant", payload, time)
        elif kind == "ToolCall":
            call = [payload.get("id"), at(payload, "function", "name"), at(payload, "function", "arguments"), time,
                    len(facts.order)]
            self.calls.append(call)
            self.latest[agent] = call
        elif kind == "ToolCallPart" and agent in self.latest:
            self.latest[agent][2] = text_of(self.latest[agent][2]) + text_of(payload.get("arguments_part"))
        elif kind == "ToolResult":
            told = payload.get("return_value") or {}
            text = output(facts, told.get("output")) + text_of(told.get("message"))
            found = EXIT.search(text_of(told.get("message")))
            facts.result(payload.get("tool_call_id"), text, told.get("is_error"), found and int(found[1]), time)
        elif kind == "StatusUpdate" and isinstance(payload.get("token_usage"), dict):
            self.spend(payload["token_usage"])
        elif kind == "SubagentEvent" and isinstance(payload.get("event"), dict):
            name = payload.get("agent_id") or payload.get("parent_tool_call_id") or payload.get("task_tool_call_id")
            self.wire(payload["event"], time, name)
        elif kind == "Notification":
            facts.mention(payload.get("body"))

    def spend(self, usage):
        cached, written = count_of(usage.get("input_cache_read")), count_of(usage.get("input_cache_creation"))
        self.facts.spend(input=count_of(usage.get("input_other")) + cached + written, cached=cached, cache_write=written,
                         output=count_of(usage.get("output")))

    def context(self, message):
        facts, role, content = self.facts, message.get("role"), message.get("content")
        if role in ("user", "assistant"):
            parts(facts, role, content, None)
        elif role in ("system", "_system_prompt"):
            parts(facts, "system", content, None)
        elif role == "tool":
            text = output(facts, content)
            failed = True if text.startswith("<system>ERROR") else None  # a text tells of failure only
            found = EXIT.search(text) if failed else None
            facts.result(message.get("tool_call_id"), text, failed, found and int(found[1]))
        for call in maps(message.get("tool_calls")):
            self.calls.append([call.get("id"), at(call, "function", "name"), at(call, "function", "arguments"), None,
                               len(facts.order)])

    def finish(self):
        order = self.facts.order
        for placed, (name, tool, text, time, before) in enumerate(self.calls):
            self.facts.call(name, tool, arguments(text), time)
            order.insert(before + placed, order.pop())
        return self.facts
