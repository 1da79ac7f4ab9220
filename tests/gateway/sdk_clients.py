"""The official packages behind one interface: `openai` (chat completions and responses), `anthropic` and `google-genai` for
Python here, and the same four for Node in `sdk.mjs`.

Requests are built once as JSON, because both languages accept the same members. Answers keep the object of the package,
which goes back unchanged in the next turn, and are judged by one view for both languages.
"""

import asyncio
import json
import os
import queue
import subprocess
import threading

os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
for name in [n for n in os.environ if n.startswith(("OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_"))]:
    del os.environ[name]

import anthropic  # noqa: E402
import httpx2  # noqa: E402
import openai  # noqa: E402
from google import genai  # noqa: E402
from google.genai import errors as genai_errors  # noqa: E402
from google.genai import types as genai_types  # noqa: E402
from pydantic import BaseModel  # noqa: E402

KINDS = ["chat", "responses", "messages", "gemini"]
# The dialect of each client.
DIALECT = {"chat": "openai-chat", "responses": "openai-responses", "messages": "anthropic", "gemini": "gemini"}
SECONDS = 30


class Report(BaseModel):
    """The type of a structured answer."""

    city: str
    degrees: int
    tags: list[str]


SCHEMA = {"type": "object", "additionalProperties": False, "required": ["city", "degrees", "tags"],
          "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}}
TOOL = ("weather", "Looks up the weather of a city.",
        {"type": "object", "additionalProperties": False, "required": ["city"], "properties": {"city": {"type": "string"}}})


class Failed(Exception):
    """The exception of a package: its class, the HTTP status and the message."""

    def __init__(self, kind, status, message):
        super().__init__(f"{kind} {status}: {message}")
        self.kind, self.status, self.message = kind, status, message


class Got:
    """An answer as the package shows it. `native` goes back in the next turn."""

    def __init__(self, kind, dump, native, helper=None, parsed=None):
        self.native, self.helper, self.parsed, self.dump = native, helper, parsed, dump
        view = {"chat": view_chat, "responses": view_responses, "messages": view_messages, "gemini": view_gemini}[kind]
        self.text, self.reasoning, self.calls, self.stop, self.usage, self.model = view(dump)


# ---- requests -------------------------------------------------------------------------------------------------------


def params(kind, model, talk, *, tools=False, schema=False, thinks=False):
    """The arguments of a package for a conversation: entries `system`, `user`, `image`, `native` and `results`."""
    return {"chat": chat_params, "responses": responses_params, "messages": messages_params, "gemini": gemini_params}[kind](model, talk, tools, schema, thinks)


def chat_params(model, talk, tools, schema, thinks):
    messages = []
    for kind, *values in talk:
        if kind in ("system", "user"):
            messages.append({"role": kind, "content": values[0]})
        elif kind == "image":
            text, mime, data = values
            picture = {"type": "image_url", "image_url": {"url": f"data:{mime};base64,{data}"}}
            messages.append({"role": "user", "content": [{"type": "text", "text": text}, picture]})
        elif kind == "native":
            messages.append(values[0].native)
        else:
            messages += [{"role": "tool", "tool_call_id": i, "content": text} for i, _, text in values[0]]
    made = {"model": model, "messages": messages, "max_completion_tokens": 4000}
    if tools:
        name, about, inner = TOOL
        made["tools"] = [{"type": "function", "function": {"name": name, "description": about, "parameters": inner}}]
    if schema:
        made["response_format"] = {"type": "json_schema", "json_schema": {"name": "Report", "schema": SCHEMA, "strict": True}}
    if thinks:
        made["reasoning_effort"] = "medium"
    return made


def responses_params(model, talk, tools, schema, thinks):
    items, made = [], {"model": model, "max_output_tokens": 4000}
    for kind, *values in talk:
        if kind == "system":
            made["instructions"] = values[0]
        elif kind == "user":
            items.append({"role": "user", "content": values[0]})
        elif kind == "image":
            text, mime, data = values
            picture = {"type": "input_image", "detail": "auto", "image_url": f"data:{mime};base64,{data}"}
            items.append({"role": "user", "content": [{"type": "input_text", "text": text}, picture]})
        elif kind == "native":
            items += values[0].native
        else:
            items += [{"type": "function_call_output", "call_id": i, "output": text} for i, _, text in values[0]]
    made["input"] = items
    if tools:
        name, about, inner = TOOL
        made["tools"] = [{"type": "function", "name": name, "description": about, "parameters": inner, "strict": True}]
    if schema:
        made["text"] = {"format": {"type": "json_schema", "name": "Report", "schema": SCHEMA, "strict": True}}
    if thinks:
        made |= {"reasoning": {"effort": "medium", "summary": "auto"}, "include": ["reasoning.encrypted_content"], "store": False}
    return made


def messages_params(model, talk, tools, schema, thinks):
    messages, made = [], {"model": model, "max_tokens": 4000}
    for kind, *values in talk:
        if kind == "system":
            made["system"] = values[0]
        elif kind == "user":
            messages.append({"role": "user", "content": values[0]})
        elif kind == "image":
            text, mime, data = values
            picture = {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}
            messages.append({"role": "user", "content": [{"type": "text", "text": text}, picture]})
        elif kind == "native":
            messages.append({"role": "assistant", "content": values[0].native})
        else:
            messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": i, "content": text} for i, _, text in values[0]]})
    made["messages"] = messages
    if tools:
        name, about, inner = TOOL
        made["tools"] = [{"name": name, "description": about, "input_schema": inner}]
    if schema:
        made["output_config"] = {"format": {"type": "json_schema", "schema": SCHEMA}}
    if thinks:
        made["thinking"] = {"type": "enabled", "budget_tokens": 2000}
    return made


def gemini_params(model, talk, tools, schema, thinks):
    contents, config = [], {"maxOutputTokens": 4000}
    for kind, *values in talk:
        if kind == "system":
            config["systemInstruction"] = values[0]
        elif kind == "user":
            contents.append({"role": "user", "parts": [{"text": values[0]}]})
        elif kind == "image":
            text, mime, data = values
            contents.append({"role": "user", "parts": [{"text": text}, {"inlineData": {"mimeType": mime, "data": data}}]})
        elif kind == "native":
            contents.append(values[0].native)
        else:
            contents.append({"role": "user", "parts": [{"functionResponse": {"id": i, "name": n, "response": {"output": text}}} for i, n, text in values[0]]})
    if tools:
        name, about, inner = TOOL
        config["tools"] = [{"functionDeclarations": [{"name": name, "description": about, "parametersJsonSchema": inner}]}]
    if schema:
        config |= {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}
    if thinks:
        config["thinkingConfig"] = {"includeThoughts": True}
    return {"model": model, "contents": contents, "config": config}


# ---- answers --------------------------------------------------------------------------------------------------------
# Usage is (all input, cached input, output with reasoning).


def view_chat(d):
    choice, u = d["choices"][0], d.get("usage") or {}
    m = choice["message"]
    calls = [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in m.get("tool_calls") or []]
    thought = m.get("reasoning_content") or m.get("reasoning_text") or m.get("reasoning") or ""
    usage = (u.get("prompt_tokens"), (u.get("prompt_tokens_details") or {}).get("cached_tokens"), u.get("completion_tokens"))
    return m.get("content") or "", thought, calls, {"tool_calls": "calls", "stop": "end"}.get(choice["finish_reason"]), usage, d["model"]


def view_responses(d):
    text, thought, calls, u = "", "", [], d.get("usage") or {}
    for item in d["output"]:
        if item["type"] == "message":
            text += "".join(p["text"] for p in item["content"])
        elif item["type"] == "reasoning":
            thought += "".join(p["text"] for p in item["summary"]) or "".join(p["text"] for p in item.get("content") or [])
        else:
            calls.append((item["call_id"], item["name"], json.loads(item["arguments"])))
    usage = (u.get("input_tokens"), (u.get("input_tokens_details") or {}).get("cached_tokens"), u.get("output_tokens"))
    stop = {"completed": "calls" if calls else "end"}.get(d["status"])
    return text, thought, calls, stop, usage, d["model"]


def view_messages(d):
    blocks, u = d["content"], d["usage"]
    text = "".join(b["text"] for b in blocks if b["type"] == "text")
    thought = "".join(b["thinking"] for b in blocks if b["type"] == "thinking")
    calls = [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
    cached = u.get("cache_read_input_tokens") or 0
    usage = (u["input_tokens"] + cached + (u.get("cache_creation_input_tokens") or 0), cached, u["output_tokens"])
    return text, thought, calls, {"tool_use": "calls", "end_turn": "end"}.get(d["stop_reason"]), usage, d["model"]


def view_gemini(d):
    candidate, u = d["candidates"][0], d.get("usageMetadata") or {}
    parts = (candidate.get("content") or {}).get("parts") or []
    text = "".join(p["text"] for p in parts if p.get("text") and not p.get("thought"))
    thought = "".join(p["text"] for p in parts if p.get("text") and p.get("thought"))
    calls = [(p["functionCall"].get("id"), p["functionCall"]["name"], p["functionCall"].get("args") or {}) for p in parts if p.get("functionCall")]
    stop = {"STOP": "calls" if calls else "end"}.get(candidate.get("finishReason"))
    usage = (u.get("promptTokenCount"), u.get("cachedContentTokenCount") or 0, (u.get("candidatesTokenCount") or 0) + (u.get("thoughtsTokenCount") or 0))
    return text, thought, calls, stop, usage, d.get("modelVersion")


# ---- Python ---------------------------------------------------------------------------------------------------------


class PythonClient:
    """A package for Python. `headers` are those of the last response."""

    language = "python"

    def __init__(self, kind, url, retries=0, strict=True):
        self.kind, self.url, self.retries, self.headers = kind, url, retries, {}
        self.http = httpx2.Client(event_hooks={"response": [self.keep]}, timeout=SECONDS)
        same = {"api_key": "of-the-client", "max_retries": retries, "timeout": SECONDS, "_strict_response_validation": strict}
        if kind == "messages":
            self.client = anthropic.Anthropic(base_url=url, http_client=self.http, **same)
        elif kind == "gemini":
            self.client = genai.Client(api_key="of-the-client", http_options=self.genai_options())
        else:
            self.client = openai.OpenAI(base_url=url + "/v1", http_client=self.http, **same)

    def genai_options(self):
        retry = genai_types.HttpRetryOptions(attempts=self.retries + 1, initial_delay=1, jitter=0)
        return genai_types.HttpOptions(base_url=self.url, timeout=SECONDS * 1000, retry_options=retry, httpx_client=self.http)

    def keep(self, response):
        self.headers = {k.lower(): v for k, v in response.headers.items()}

    def close(self):
        self.http.close()

    def call(self, function):
        try:
            return function()
        except (openai.APIStatusError, anthropic.APIStatusError) as error:
            raise Failed(type(error).__name__, error.status_code, error.message) from error
        except genai_errors.APIError as error:
            raise Failed(type(error).__name__, error.code, error.message) from error
        except (openai.OpenAIError, anthropic.AnthropicError, httpx2.HTTPError, genai_errors.UnknownApiResponseError) as error:
            raise Failed(type(error).__name__, None, str(error)) from error

    def got(self, answer, **more):
        if self.kind == "chat":
            return Got("chat", answer.to_dict(mode="json", warnings=False), answer.choices[0].message, answer.choices[0].message.content, **more)
        if self.kind == "responses":
            return Got("responses", answer.to_dict(mode="json", warnings=False), answer.output, answer.output_text, **more)
        if self.kind == "messages":
            return Got("messages", answer.to_dict(mode="json", warnings=False), answer.content, "".join(b.text for b in answer.content if b.type == "text"), **more)
        dump = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        text = "".join(p.text for p in answer.candidates[0].content.parts or [] if p.text and not p.thought)
        return Got("gemini", dump, answer.candidates[0].content, text, **more)

    def ask(self, made):
        c = self.client
        create = {"chat": lambda: c.chat.completions.create(**made), "responses": lambda: c.responses.create(**made),
                  "messages": lambda: c.messages.create(**made), "gemini": lambda: c.models.generate_content(**made)}[self.kind]
        return self.got(self.call(create))

    def ask_typed(self, made):
        """A structured answer by the package's own way from a class to a schema and back."""
        made, c = dict(made), self.client
        if self.kind == "chat":
            made.pop("response_format")
            answer = self.call(lambda: c.chat.completions.parse(response_format=Report, **made))
            return self.got(answer, parsed=answer.choices[0].message.parsed)
        if self.kind == "responses":
            made.pop("text")
            answer = self.call(lambda: c.responses.parse(text_format=Report, **made))
            return self.got(answer, parsed=answer.output_parsed)
        if self.kind == "messages":
            made.pop("output_config")
            answer = self.call(lambda: c.messages.parse(output_format=Report, **made))
            return self.got(answer, parsed=answer.parsed_output)
        config = {k: v for k, v in made["config"].items() if k != "responseJsonSchema"} | {"responseSchema": Report}
        answer = self.call(lambda: c.models.generate_content(model=made["model"], contents=made["contents"], config=config))
        return self.got(answer, parsed=answer.parsed)

    def ask_streamed(self, made):
        """The answer of the package's accumulator."""
        c = self.client
        if self.kind == "gemini":
            chunks = self.call(lambda: list(c.models.generate_content_stream(**made)))
            return self.got(joined(chunks))
        if self.kind == "chat":
            def accumulate():
                with c.chat.completions.stream(stream_options={"include_usage": True}, **made) as stream:
                    return stream.get_final_completion()
        elif self.kind == "responses":
            def accumulate():
                with c.responses.stream(**made) as stream:
                    return stream.get_final_response()
        else:
            def accumulate():
                with c.messages.stream(**made) as stream:
                    return stream.get_final_message()
        return self.got(self.call(accumulate))

    def read_stream(self, made):
        """(text so far, failure or `None`) of the plain stream, as a program without accumulator reads it."""
        c, text, failure = self.client, [], None

        def read():
            nonlocal failure
            if self.kind == "gemini":
                for chunk in c.models.generate_content_stream(**made):
                    text.append(chunk.text or "")
                return
            create = {"chat": lambda: c.chat.completions.create(stream=True, **made), "responses": lambda: c.responses.create(stream=True, **made),
                      "messages": lambda: c.messages.create(stream=True, **made)}[self.kind]
            for event in create():
                if self.kind == "chat":
                    text.extend(choice.delta.content or "" for choice in event.choices)
                elif self.kind == "messages" and event.type == "content_block_delta" and event.delta.type == "text_delta":
                    text.append(event.delta.text)
                elif self.kind == "responses" and event.type == "response.output_text.delta":
                    text.append(event.delta)
                elif self.kind == "responses" and event.type in ("response.failed", "error"):
                    failure = event.response.error.message if event.type == "response.failed" else event.message

        try:
            self.call(read)
        except Failed as error:
            failure = error.message or str(error)
        return "".join(text), failure

    def count(self, made):
        c = self.client
        if self.kind == "messages":
            return self.call(lambda: c.messages.count_tokens(model=made["model"], messages=made["messages"])).input_tokens
        if self.kind == "responses":
            return self.call(lambda: c.responses.input_tokens.count(model=made["model"], input=made["input"])).input_tokens
        return self.call(lambda: c.models.count_tokens(model=made["model"], contents=made["contents"])).total_tokens

    def compact(self, model, talk, more):
        """A compaction and the answer to the compacted conversation with one more message: the object, and the text."""
        made = self.call(lambda: self.client.responses.compact(model=model, input=talk))
        losses = self.headers.get("x-interlingua-losses"), self.headers.get("x-interlingua-emulated")
        items = [item.model_dump(exclude_unset=True, warnings=False) for item in made.output]
        asked = [*items, {"role": "user", "content": more}]
        answer = self.call(lambda: self.client.responses.create(model=model, input=asked))
        return made, losses, answer.output_text

    def models(self):
        listed = self.call(lambda: list(self.client.models.list()))
        return [model.name.removeprefix("models/") if self.kind == "gemini" else model.id for model in listed]

    def ask_async(self, made):
        """The whole and the streamed answer of the asynchronous client."""
        async def run():
            async with httpx2.AsyncClient(timeout=SECONDS) as http:
                same = {"api_key": "of-the-client", "max_retries": 0, "http_client": http, "_strict_response_validation": True}
                if self.kind == "messages":
                    c = anthropic.AsyncAnthropic(base_url=self.url, **same)
                    async with c.messages.stream(**made) as stream:
                        return await c.messages.create(**made), await stream.get_final_message()
                if self.kind == "gemini":
                    options = genai_types.HttpOptions(base_url=self.url, httpx_async_client=http)
                    c = genai.Client(api_key="of-the-client", http_options=options).aio
                    whole = await c.models.generate_content(**made)
                    return whole, joined([chunk async for chunk in await c.models.generate_content_stream(**made)])
                c = openai.AsyncOpenAI(base_url=self.url + "/v1", **same)
                if self.kind == "chat":
                    async with c.chat.completions.stream(stream_options={"include_usage": True}, **made) as stream:
                        return await c.chat.completions.create(**made), await stream.get_final_completion()
                async with c.responses.stream(**made) as stream:
                    return await c.responses.create(**made), await stream.get_final_response()

        whole, streamed = self.call(lambda: asyncio.run(run()))
        return self.got(whole), self.got(streamed)


def joined(chunks):
    """The chunks of a Gemini stream as one response, the way a program keeps a history."""
    first, parts = chunks[0], []
    for chunk in chunks:
        for candidate in chunk.candidates or []:
            parts += (candidate.content and candidate.content.parts) or []
            first.candidates[0].finish_reason = candidate.finish_reason or first.candidates[0].finish_reason
        first.usage_metadata = chunk.usage_metadata or first.usage_metadata
    # An empty part at the end only holds the finish reason.
    kept = [part for part in parts if part.text != "" or part.thought_signature or part.function_call]
    first.candidates[0].content = genai_types.Content(role="model", parts=kept)
    return first


# ---- Node -----------------------------------------------------------------------------------------------------------


class NodeWorker:
    """The process of `sdk.mjs`: one JSON request per line in, one JSON answer per line out, in any order."""

    def __init__(self, folder):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sdk.mjs")
        self.process = subprocess.Popen(["node", script, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock, self.waiting, self.next = threading.Lock(), {}, 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            answer = json.loads(line)
            with self.lock:
                self.waiting.pop(answer["id"]).put(answer)
        with self.lock:
            for waiting in self.waiting.values():
                waiting.put({"error": {"kind": "NodeExit", "status": None, "message": "the Node process ended"}, "headers": {}})

    def call(self, **request):
        answer = queue.Queue()
        with self.lock:
            self.next += 1
            self.waiting[self.next] = answer
            self.process.stdin.write(json.dumps({"id": self.next, **request}) + "\n")
            self.process.stdin.flush()
        return answer.get(timeout=2 * SECONDS)

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


class NodeClient:
    """A package for Node, with the interface of `PythonClient`."""

    language = "node"

    def __init__(self, worker, kind, url, retries=0):
        self.worker, self.kind, self.url, self.retries, self.headers = worker, kind, url, retries, {}

    def close(self):
        pass

    def call(self, do, made):
        answer = self.worker.call(kind=self.kind, url=self.url, retries=self.retries, do=do, params=made)
        self.headers = answer["headers"]
        if "error" in answer:
            error = answer["error"]
            raise Failed(error["kind"], error["status"], error["message"])
        return answer["value"]

    def got(self, value):
        native = {"$native": value["handle"]}
        return Got(self.kind, value["dump"], [native] if self.kind == "responses" else native, value["text"])

    def ask(self, made):
        return self.got(self.call("ask", made))

    def ask_typed(self, made):
        answer = self.ask(made)
        answer.parsed = Report.model_validate_json(answer.text)
        return answer

    def ask_streamed(self, made):
        return self.got(self.call("stream", made))

    def read_stream(self, made):
        value = self.call("read", made)
        return value["text"], value["failure"]

    def count(self, made):
        return self.call("count", made)

    def models(self):
        return self.call("models", {})
