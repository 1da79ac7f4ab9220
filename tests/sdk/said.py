"""What a request, an answer or a stream of a model API says, read without any of our code.

Each reader gives a list of facts: a kind (`text`, `call`, `temperature`, …), a value in words that all dialects share, and the
paths that it stands at, written as reports write them (`/messages[]/content`).
"""

import json
import re
from collections import defaultdict, namedtuple

Fact = namedtuple("Fact", "kind value paths")
STOPS = {
    "stop": "end", "end_turn": "end", "STOP": "end", "completed": "end", "stop_sequence": "end", "eos": "end", "tool_calls": "call", "function_call": "call",
    "tool_use": "call", "length": "limit", "max_tokens": "limit", "MAX_TOKENS": "limit", "max_output_tokens": "limit", "model_context_window_exceeded": "limit",
    "content_filter": "filter", "refusal": "filter", "SAFETY": "filter", "RECITATION": "filter", "PROHIBITED_CONTENT": "filter", "BLOCKLIST": "filter",
}


class Node:
    """A value and the path that it stands at."""

    def __init__(self, value, path=""):
        self.value, self.path = value, path

    def at(self, *names):
        """The first of these members that is there; Gemini's clients write them with underscores too."""
        for name in names:
            for spelled in (name, re.sub("([A-Z])", lambda m: "_" + m[1].lower(), name)):
                if isinstance(self.value, dict) and self.value.get(spelled) is not None:
                    return Node(self.value[spelled], f"{self.path}/{spelled}")
        return Node(None, f"{self.path}/{names[0]}")

    def each(self):
        """The elements of a list; whatever else stands where one may be is its only element."""
        if isinstance(self.value, list):
            return [Node(value, self.path + "[]") for value in self.value]
        return [] if self.value is None else [self]

    def __bool__(self):
        return self.value is not None


def parsed(value):
    if isinstance(value, str):
        try:
            return json.loads(value) if value.strip() else {}
        except ValueError:
            return value
    return {} if value is None else value


def standard(base64):
    plain = base64.rstrip("=").replace("-", "+").replace("_", "/")
    return plain + "=" * (-len(plain) % 4)


class Reader:
    """Facts of one body. `choice` is the alternative that is being read, where an answer has several."""

    def __init__(self, of_answer):
        self.of_answer = of_answer
        self.facts, self.choice, self.refused, self.asked = [], 0, False, False
        self.joined, self.calls = defaultdict(lambda: ["", set()]), {}

    def add(self, kind, node, value=None):
        value = node.value if value is None else value
        if value not in (None, "", [], {}):
            self.facts.append(Fact(kind, value, (node.path,)))

    def join(self, kind, node):
        """A piece of a text: the pieces of one answer count as one."""
        if isinstance(node.value, str) and node.value:
            whole = self.joined[kind, self.choice]
            whole[0] += node.value
            whole[1].add(node.path)

    def text(self, node):
        (self.join if self.of_answer else self.add)("text", node)

    def thought(self, node):
        (self.join if self.of_answer else self.add)("thought", node)

    def call(self, ident, name, arguments, index=None):
        """A call or a piece of one. An id that changes at the same index begins another."""
        key = (self.choice, len(self.calls) if index is None else index)
        if key in self.calls and ident.value and name.value and self.calls[key]["id"] not in (None, ident.value):
            key = (*key, ident.value)
        call = self.calls.setdefault(key, {"id": None, "name": "", "arguments": "", "choice": self.choice, "paths": set()})
        call["id"] = call["id"] or ident.value or None
        call["name"] += name.value or ""
        call["arguments"] = call["arguments"] + (arguments.value or "") if isinstance(arguments.value, (str, type(None))) else arguments.value
        call["paths"] |= {ident.path, name.path, arguments.path}

    def media(self, node):
        """Bytes or an address. Bytes are in either alphabet of base64."""
        if isinstance(node.value, str):
            is_address = "://" in node.value[:16]
            self.add("media", node, node.value if is_address else standard(node.value.split(";base64,")[-1]))

    def done(self):
        for (kind, choice), (text, paths) in self.joined.items():
            self.facts.append(Fact(kind, (choice, text), tuple(paths)))
        for call in self.calls.values():
            self.facts.append(Fact("call", (call["choice"], call["id"], call["name"], parsed(call["arguments"])), tuple(call["paths"])))
        return self.facts

    def result(self, ident, name, content):
        """The text or the object that a tool gave back; its pictures and files are facts of their own."""
        value = parsed(content.value)
        if isinstance(content.value, list):
            value = [part.at("text").value or "" for part in content.each()]
            for part in content.each():
                if not part.at("text") and isinstance(part.value, dict):
                    self.part(part)
        self.facts.append(Fact("result", (ident.value, name.value, value), (content.path,)))

    def stop(self, node):
        word = STOPS.get(node.value, node.value)
        word = "filter" if self.refused and word == "end" else word
        has_calls = self.asked or any(c["choice"] == self.choice for c in self.calls.values())
        if node.value not in (None, "FINISH_REASON_UNSPECIFIED"):
            self.facts.append(Fact("stop", (self.choice, "call" if has_calls and word == "end" else word), (node.path,)))

    def error(self, body):
        error = body.at("error")
        if error:
            message = error.at("message") if isinstance(error.value, dict) else error
            self.facts.append(Fact("error", message.value or "", (message.path, error.path)))
        return bool(error)

    def schema(self, kind, node, schema):
        self.add(kind, node, tuple(sorted((schema.at("properties").value or {}))) or ("object",))

    def tool(self, node, name, schema):
        properties = schema.at("properties").value
        self.facts.append(Fact("tool", (name.value, tuple(sorted(properties if isinstance(properties, dict) else ()))), (node.path, name.path)))

    def chosen(self, node, word, name):
        """Which call the model must make; that it may choose is what all APIs do unasked."""
        word = {"required": "any", "auto": None, "validated": None}.get(word, word)
        if node and word:
            self.add("choice", node, name if name else word)

    def settings(self, body, spelled):
        for kind, names in spelled.items():
            node = body
            for name in names.split("."):
                node = node.at(*name.split("|"))
            if kind == "stops":
                for stop in node.each():
                    self.add(kind, stop)
            else:
                self.add(kind, node)

    def count(self, kind, *nodes):
        if any(nodes):
            self.facts.append(Fact(kind, sum(n.value or 0 for n in nodes), tuple(n.path for n in nodes)))


class Anthropic(Reader):
    def part(self, part):
        kind, source = part.at("type").value, part.at("source")
        if isinstance(part.value, str) or kind == "text":
            self.text(part if kind is None else part.at("text"))
        elif kind == "thinking":
            self.thought(part.at("thinking"))
            self.add("state", part.at("signature"))
        elif kind == "redacted_thinking":
            self.add("state", part.at("data"))
        elif kind == "tool_use":
            self.call(part.at("id"), part.at("name"), part.at("input"))
        elif kind == "tool_result":
            self.result(part.at("tool_use_id"), Node(None), part.at("content"))
        elif kind in ("image", "document"):
            (self.text if source.at("type").value == "text" else self.media)(source.at("data", "url"))
            for inner in source.at("content").each():
                self.part(inner)

    def request(self, body):
        for part in body.at("system").each() + [p for m in body.at("messages").each() for p in m.at("content").each()]:
            self.part(part)
        for tool in body.at("tools").each():
            if tool.at("type").value in (None, "custom"):
                self.tool(tool, tool.at("name"), tool.at("input_schema"))
        self.settings(body, {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "limit": "max_tokens", "stops": "stop_sequences"})
        choice = body.at("tool_choice")
        self.chosen(choice, choice.at("type").value, choice.at("name").value)
        form = body.at("output_config").at("format") or body.at("output_format")
        if form:
            self.schema("format", form, form.at("schema"))

    def usage(self, node):
        self.count("in", node.at("input_tokens"), node.at("cache_read_input_tokens"), node.at("cache_creation_input_tokens"))
        self.count("out", node.at("output_tokens"))

    def response(self, body):
        if self.error(body):
            return
        for part in body.at("content").each():
            self.part(part)
        self.stop(body.at("stop_reason"))
        self.usage(body.at("usage"))

    def stream(self, events):
        usage, stop = {}, None
        for event in map(Node, events):
            kind, delta = event.at("type").value, event.at("delta")
            index = event.at("index").value
            if kind == "content_block_start":
                block = event.at("content_block")
                if block.at("type").value == "tool_use":
                    given = block.at("input")
                    self.call(block.at("id"), block.at("name"), given if given.value else Node(None, given.path), index)
                else:
                    self.part(block)
            elif kind == "content_block_delta":
                self.text(delta.at("text"))
                self.thought(delta.at("thinking"))
                self.add("state", delta.at("signature"))
                if (self.choice, index) in self.calls:
                    self.call(Node(None), Node(None), delta.at("partial_json"), index)
            elif kind in ("message_start", "message_delta"):
                node = event.at("usage") or event.at("message").at("usage")
                usage |= {k: v for k, v in (node.value or {}).items() if v is not None}
                stop = delta.at("stop_reason") or stop
            elif kind == "error":
                self.error(event)
        if stop:
            self.stop(stop)
        self.usage(Node(usage, "/usage"))


class Chat(Reader):
    def part(self, part):
        kind = part.at("type").value
        if isinstance(part.value, str) or kind in ("text", "refusal"):
            self.text(part if kind is None else part.at(kind))
        elif kind == "thinking":
            for thought in part.at("thinking").each():
                self.thought(thought.at("text"))
        elif kind == "image_url":
            self.media(part.at("image_url").at("url") or part.at("image_url"))
        else:
            self.media(part.at("input_audio").at("data"))
            self.media(part.at("file").at("file_data"))

    def message(self, message, stream=False):
        for part in message.at("content").each():
            self.part(part)
        self.text(message.at("refusal"))
        self.refused |= bool(message.at("refusal").value)
        self.thought(message.at("reasoning_content", "reasoning", "reasoning_text"))
        for detail in message.at("reasoning_details").each():
            self.add("state", detail.at("signature", "data"))
        for number, call in enumerate(message.at("tool_calls").each()):
            body = call.at("function", "custom")
            index = call.at("index").value
            index = (number if index is None else index) if stream else None
            given = body.at("arguments", "input")
            free = call.at("custom") and not stream
            self.call(call.at("id"), body.at("name"), Node({"input": given.value}, given.path) if free else given, index)
        call = message.at("function_call")
        if call.at("name", "arguments"):
            self.call(Node(None), call.at("name"), call.at("arguments"), "function" if stream else None)

    def request(self, body):
        for message in body.at("messages").each():
            if message.at("role").value in ("tool", "function"):
                self.result(message.at("tool_call_id"), message.at("name"), message.at("content"))
            else:
                self.message(message)
        for tool in body.at("tools").each():
            if tool.at("function"):
                self.tool(tool, tool.at("function").at("name"), tool.at("function").at("parameters"))
        for tool in body.at("functions").each():
            self.tool(tool, tool.at("name"), tool.at("parameters"))
        self.settings(body, {"temperature": "temperature", "top_p": "top_p", "limit": "max_completion_tokens|max_tokens", "stops": "stop", "seed": "seed", "n": "n",
                             "presence": "presence_penalty", "frequency": "frequency_penalty"})
        choice = body.at("tool_choice", "function_call")
        word = choice.value if isinstance(choice.value, str) else choice.at("allowed_tools").at("mode").value or choice.at("type").value or "function"
        self.chosen(choice, word, choice.at("function").at("name").value or choice.at("name").value)
        form = body.at("response_format")
        if form.at("type").value in ("json_schema", "json_object"):
            self.schema("format", form, form.at("json_schema").at("schema"))

    def usage(self, body):
        usage = body.at("usage") or body.at("x_groq").at("usage")
        self.count("in", usage.at("prompt_tokens"))
        self.count("out", usage.at("completion_tokens"))

    def response(self, body):
        if self.error(body):
            return
        for choice in body.at("choices").each():
            self.choice, self.refused = choice.at("index").value or 0, False
            self.message(choice.at("message"))
            self.stop(choice.at("finish_reason"))
        self.usage(body)

    def stream(self, events):
        stops, usage = {}, Node(None)
        for event in map(Node, events):
            self.error(event)
            for choice in event.at("choices").each():
                self.choice = choice.at("index").value or 0
                self.message(choice.at("delta", "message"), stream=True)
                if choice.at("finish_reason"):
                    stops[self.choice] = choice.at("finish_reason")
            usage = event if event.at("usage") or event.at("x_groq").at("usage") else usage
        for self.choice, stop in stops.items():
            self.stop(stop)
        self.usage(usage)


class Responses(Reader):
    def part(self, part):
        kind = part.at("type").value
        self.refused |= kind == "refusal"
        if isinstance(part.value, str):
            self.text(part)
        else:
            self.text(part.at("text", "refusal"))
            for name in ("image_url", "file_data", "file_url"):
                self.media(part.at(name))

    def item(self, item):
        kind = "message" if isinstance(item.value, str) else item.at("type").value or "message"
        if kind == "message":
            for part in [item] if isinstance(item.value, str) else item.at("content").each():
                self.part(part)
        elif kind == "reasoning":
            for part in item.at("summary").each() + item.at("content").each():
                self.thought(part.at("text"))
            self.add("state", item.at("encrypted_content"))
        elif kind in ("function_call", "custom_tool_call"):
            free = item.at("input")
            given = Node({"input": free.value}, free.path) if free else item.at("arguments")
            self.call(item.at("call_id"), item.at("name"), given)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self.result(item.at("call_id"), Node(None), item.at("output"))
        # Hosted tools that the client must carry out.
        self.asked |= kind in ("apply_patch_call", "shell_call", "local_shell_call", "computer_call") or item.at("execution").value == "client"

    def request(self, body):
        for item in body.at("instructions").each() + body.at("input").each():
            self.item(item)
        for tool in body.at("tools").each():
            if tool.at("type").value == "function":
                self.tool(tool, tool.at("name"), tool.at("parameters"))
        self.settings(body, {"temperature": "temperature", "top_p": "top_p", "limit": "max_output_tokens"})
        choice = body.at("tool_choice")
        word = choice.value if isinstance(choice.value, str) else choice.at("mode").value or choice.at("type").value
        self.chosen(choice, word, choice.at("name").value)
        form = body.at("text").at("format")
        if form.at("type").value in ("json_schema", "json_object"):
            self.schema("format", form, form.at("schema"))

    def response(self, body):
        if self.error(body):
            return
        for item in body.at("output").each():
            self.item(item)
        why = body.at("incomplete_details").at("reason")
        if why or body.at("status").value == "completed":
            self.stop(why or body.at("status"))
        self.count("in", body.at("usage").at("input_tokens"))
        self.count("out", body.at("usage").at("output_tokens"))

    def stream(self, events):
        items, last = {}, Node({}, "/response")
        for event in map(Node, events):
            kind = event.at("type").value
            if kind == "response.output_item.done":
                items[event.at("output_index").value] = event.at("item").value
            elif kind in ("response.completed", "response.incomplete", "response.failed"):
                last = event.at("response")
            elif kind == "error":
                self.error(event if event.at("error") else Node({"error": event.value}))
        # The items that were sent one by one count: state in the last event is written anew.
        output = [items[i] for i in sorted(items)] or last.value.get("output")
        self.response(Node({**last.value, "output": output}, last.path))


class Gemini(Reader):
    def part(self, part):
        if isinstance(part.value, str):
            return self.text(part)
        (self.thought if part.at("thought").value else self.text)(part.at("text"))
        self.add("state", part.at("thoughtSignature"))
        self.media(part.at("inlineData").at("data"))
        self.media(part.at("fileData").at("fileUri"))
        call, result = part.at("functionCall"), part.at("functionResponse")
        if call:
            self.call(call.at("id"), call.at("name"), call.at("args"))
        if result:
            self.result(result.at("id"), result.at("name"), result.at("response"))

    def request(self, body):
        body = body.at("generateContentRequest") or body
        for content in body.at("systemInstruction").each() + body.at("contents").each():
            for part in content.at("parts").each() or [content]:
                self.part(part)
        for tool in [f for group in body.at("tools").each() for f in group.at("functionDeclarations").each()]:
            self.tool(tool, tool.at("name"), tool.at("parameters", "parametersJsonSchema"))
        made = body.at("generationConfig")
        self.settings(made, {"temperature": "temperature", "top_p": "topP", "top_k": "topK", "limit": "maxOutputTokens", "stops": "stopSequences", "seed": "seed",
                             "n": "candidateCount", "presence": "presencePenalty", "frequency": "frequencyPenalty"})
        choice = body.at("toolConfig").at("functionCallingConfig")
        names = choice.at("allowedFunctionNames").value or [None]
        self.chosen(choice, (choice.at("mode").value or "").lower(), names[0] if len(names) == 1 else None)
        schema = made.at("responseSchema", "responseJsonSchema")
        if schema or made.at("responseMimeType").value == "application/json":
            self.schema("format", schema or made.at("responseMimeType"), schema)

    def response(self, body):
        self.stream([body.value], body.path)

    def stream(self, events, path=""):
        stops, usage = {}, {}
        for event in [Node(e, path) for e in events]:
            self.error(event)
            for number, candidate in enumerate(event.at("candidates").each()):
                index = candidate.at("index").value
                self.choice = number if index is None else index
                for part in candidate.at("content").at("parts").each():
                    self.part(part)
                stops[self.choice] = candidate.at("finishReason") or stops.get(self.choice, Node(None))
            usage |= event.at("usageMetadata").value or {}
        for self.choice, stop in stops.items():
            self.stop(stop)
        usage = Node(usage, f"{path}/usageMetadata")
        self.count("in", usage.at("promptTokenCount"), usage.at("toolUsePromptTokenCount"))
        self.count("out", usage.at("candidatesTokenCount"), usage.at("thoughtsTokenCount"))


READERS = {"anthropic": Anthropic, "openai-chat": Chat, "kimi": Chat, "copilot": Chat, "openai-responses": Responses, "gemini": Gemini}


def events_of(text):
    """The data of a stream: server-sent events, or Gemini's array."""
    if text.lstrip().startswith("["):
        return json.loads(text)
    blocks = ("\n".join(line[5:].lstrip(" ") for line in block.splitlines() if line.startswith("data:")) for block in re.split(r"\r?\n\r?\n", text))
    return [json.loads(data) for data in blocks if data.strip() and data.strip() != "[DONE]"]


def facts(dialect, role, text):
    reader = READERS[dialect](of_answer=role in ("response", "stream"))
    body = Node(events_of(text) if role == "stream" else json.loads(text))
    if role == "counted":
        reader.count("count", body.at("input_tokens", "totalTokens", "total_tokens") or body.at("data").at("total_tokens"))
    elif role == "models":
        for model in body.at("data", "models").each():
            reader.add("model", model.at("id", "name"), str(model.at("id", "name").value).removeprefix("models/"))
    elif role == "stream":
        reader.stream(body.value)
    else:
        (reader.request if role in ("request", "count") else reader.response)(body)
    return reader.done()
