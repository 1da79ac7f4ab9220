"""Gemini CLI: one document, or lines that change it. A resumed session writes its history again under the same ids."""

import re

from facts import Facts, at, canonical, count_of, maps, moment, text_of

NAME = "gemini-cli"
AUTHORS = {"user": "user", "gemini": "assistant", "model": "assistant"}
EXIT = re.compile(r"^Exit Code: (\d+)$", re.M)


def mine(values):
    first = values[0] if values else None
    if isinstance(first, list):
        return isinstance(at(first, 0, "parts"), list) and "role" in first[0]
    head = isinstance(first, dict) and "sessionId" in first and (
        set(first) & {"projectHash", "parts", "kind", "startTime"} or any(at(v, "type") == "gemini" for v in values))
    return bool(head) or any(set(v) & {"$set", "$rewindTo"} for v in values[:50] if isinstance(v, dict))


def read(values):
    told = Teller()
    for value in values:
        for one in maps(value) if isinstance(value, list) else maps([value]):
            told.line(one)
    return told.finish()


class Teller:
    def __init__(self):
        self.facts = Facts()
        self.texts = set()  # (id, kind, text): what was told under this id
        self.answered = {}  # call id -> result, to tell each once
        self.called = set()
        self.tokens = {}  # id -> tokens of the last version of that message
        self.pictures = set()
        self.count = 0

    def line(self, value):
        if "$set" in value:
            change = value["$set"] or {}
            for message in maps(change.get("messages")):
                self.message(message)
            self.facts.mention(change.get("summary"))
        elif isinstance(value.get("messages"), list):
            for message in maps(value["messages"]):
                self.message(message)
        elif "type" in value or "parts" in value:
            self.message(value)

    def message(self, message):
        self.count += 1
        name, kind = message.get("id"), message.get("type") or message.get("role")
        time = moment(message.get("timestamp"))
        key = name if name is not None else self.count
        content = message.get("content", message.get("parts"))
        if isinstance(name, str):
            # Results told again in a message of their own are the results of the calls before it.
            again = kind == "user" and maps(content) and all(set(p) & {"functionResponse", "inlineData"} for p in maps(content)) \
                and any("functionResponse" in p for p in maps(content))
            if again and name not in self.facts.ids:
                self.facts.silent_ids[name] = time
            else:
                self.facts.ids[name] = self.facts.ids.get(name, ()) + (time,)
        if kind in ("info", "error", "warning"):
            for text in [content] if isinstance(content, str) else [text_of(p.get("text")) for p in maps(content)]:
                self.facts.mention(text)
            return
        author = AUTHORS.get(kind)
        if author is None:
            return
        if isinstance(content, str):
            self.say(key, author, content, time)
        for part in maps(content):
            self.part(key, author, part, time)
        for thought in maps(message.get("thoughts")):
            text = text_of(thought.get("description"))
            if (key, "thought", text) not in self.texts:
                self.texts.add((key, "thought", text))
                # A history written again holds heading and text as one.
                self.texts.add((key, "thought", f"**{text_of(thought.get('subject'))}** {text}"))
                self.texts.add((key, "thought", f"**{text_of(thought.get('subject'))}**\n{text}"))
                self.facts.think(text, moment(thought.get("timestamp")))
        for call in maps(message.get("toolCalls")):
            self.call(call, time)
        for usage in (message.get("tokens"), message.get("usageMetadata")):
            if isinstance(usage, dict):
                self.tokens[key] = usage

    def say(self, key, author, text, time):
        if text and (key, author, text) not in self.texts:
            self.texts.add((key, author, text))
            self.facts.say(author, text, time)

    def part(self, key, author, part, time):
        call = part.get("functionCall") or part.get("function_call")
        answer = part.get("functionResponse") or part.get("function_response")
        data = part.get("inlineData") or part.get("inline_data")
        if part.get("thought") is True:
            text = text_of(part.get("text"))
            if (key, "thought", text) not in self.texts:
                self.texts.add((key, "thought", text))
                self.facts.think(text, time)
        elif "text" in part:
            self.say(key, author, text_of(part["text"]), time)
        elif isinstance(call, dict):
            if call.get("id") is None or call["id"] not in self.called:
                self.called.add(call.get("id"))
                self.facts.call(call.get("id"), call.get("name"), call.get("args"), time)
        elif isinstance(answer, dict):
            self.result(answer.get("id"), answer.get("response"), None, time)
        elif isinstance(data, dict):
            self.show(key, data.get("data"))

    def show(self, key, data):
        if data and data not in self.pictures:
            self.pictures.add(data)
            self.facts.show(data)

    def call(self, call, time):
        name, when = call.get("id"), moment(call.get("timestamp"))
        if name not in self.called:
            self.called.add(name)
            self.facts.call(name, call.get("name"), call.get("args"), time)
        result = call.get("result")
        if isinstance(result, str):
            self.result(name, {"output": result}, call.get("status"), when)
        for part in [result] if isinstance(result, dict) else maps(result):
            if "functionResponse" in part:
                self.result(name, at(part, "functionResponse", "response"), call.get("status"), when)
            elif "inlineData" in part:
                self.show(name, at(part, "inlineData", "data"))
        if not result and call.get("status") in ("error", "cancelled") and name not in self.answered:
            self.result(name, {}, call.get("status"), when)

    def result(self, name, response, status, time):
        if name is not None and name in self.answered:
            return
        self.answered[name] = True
        response = response if isinstance(response, dict) else {"output": response}
        told = [response[key] for key in ("output", "error") if isinstance(response.get(key), str)]
        text = told[0] if len(told) == 1 else canonical(response) if response else ""
        error = {"success": False, "error": True}.get(status)
        if error is None and response.get("outcome") in ("success", "failure"):
            error = response["outcome"] == "failure"
        if error is None and "error" in response:
            error = True
        status = status or response.get("outcome")
        if isinstance(status, str):
            self.facts.outcomes.append((name, status))
        found = EXIT.search(text)
        self.facts.result(name, text, error, int(found[1]) if found else None, time)

    def finish(self):
        for usage in self.tokens.values():
            if "promptTokenCount" in usage:
                thoughts = count_of(usage.get("thoughtsTokenCount"))
                self.facts.spend(input=count_of(usage.get("promptTokenCount")), reasoning=thoughts,
                                 cached=count_of(usage.get("cachedContentTokenCount")),
                                 output=count_of(usage.get("candidatesTokenCount")) + thoughts)
                continue
            thoughts = count_of(usage.get("thoughts"))
            given = count_of(usage.get("input")) + count_of(usage.get("tool"))
            self.facts.spend(input=given, cached=count_of(usage.get("cached")), reasoning=thoughts,
                             output=count_of(usage.get("output")) + thoughts)
        return self.facts
