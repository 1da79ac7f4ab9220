"""Model vendors on loopback: bodies and streams written here by hand, without code of Interlingua, and the requests that
the vendors received.

One server plays all six APIs. The first segment of a path is the dialect, and the model name of a request selects the
replies, so that cases run in parallel. `facts` parses a received request to one list that is the same for every dialect.
"""

import base64
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIALECTS = ["anthropic", "openai-chat", "openai-responses", "gemini", "kimi", "copilot"]
# A real model name of each vendor: capabilities depend on the name.
MODELS = {"anthropic": "claude-sonnet-4-5", "openai-chat": "gpt-5.2", "openai-responses": "gpt-5.5", "gemini": "gemini-3-pro",
          "kimi": "kimi-k2.6", "copilot": "gpt-4.1-copilot"}
SECONDS = 30
# The stream is sent in pieces of this size, so that events and characters are cut.
PIECE = 61


# ---- answers of the vendors -----------------------------------------------------------------------------------------


class Answer:
    """One turn of a model, before any dialect."""

    def __init__(self, text="", *, reasoning="", signature="", calls=(), stop="end"):
        self.text, self.reasoning, self.signature, self.calls, self.stop = text, reasoning, signature, list(calls), stop
        # Uncached input, cached input, output with reasoning, reasoning.
        self.usage = (90, 30, 25, 10 if reasoning else 0)


def body(dialect, model, answer):
    """The whole response of a vendor."""
    made = WHOLE[dialect](model, answer)
    return json.dumps(made, ensure_ascii=False).encode()


def stream(dialect, model, answer):
    """The events of a vendor's stream, without and with the terminal part: (content, terminal)."""
    content, terminal = STREAMS[dialect](model, answer)
    return b"".join(content), b"".join(terminal)


def anthropic_blocks(answer):
    blocks = []
    if answer.reasoning:
        blocks.append({"type": "thinking", "thinking": answer.reasoning, "signature": answer.signature})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    blocks += [{"type": "tool_use", "id": i, "name": n, "input": a} for i, n, a in answer.calls]
    return blocks


def anthropic_usage(answer):
    uncached, cached, output, _ = answer.usage
    return {"input_tokens": uncached, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0, "output_tokens": output}


def anthropic_whole(model, answer):
    return {"id": "msg_01Vendor", "type": "message", "role": "assistant", "model": model, "content": anthropic_blocks(answer),
            "stop_reason": "tool_use" if answer.calls else "end_turn", "stop_sequence": None, "usage": anthropic_usage(answer)}


def event(kind, **members):
    data = json.dumps({"type": kind, **members}, ensure_ascii=False)
    return f"event: {kind}\ndata: {data}\n\n".encode()


def anthropic_stream(model, answer):
    start = {**anthropic_whole(model, Answer()), "stop_reason": None}
    start["usage"] = {**anthropic_usage(answer), "output_tokens": 1}
    out = [event("message_start", message=start), event("ping")]
    for index, block in enumerate(anthropic_blocks(answer)):
        def delta(**members):
            return event("content_block_delta", index=index, delta=members)

        if block["type"] == "thinking":
            out.append(event("content_block_start", index=index, content_block={"type": "thinking", "thinking": "", "signature": ""}))
            out += [delta(type="thinking_delta", thinking=piece) for piece in halves(block["thinking"])]
            out.append(delta(type="signature_delta", signature=block["signature"]))
        elif block["type"] == "text":
            out.append(event("content_block_start", index=index, content_block={"type": "text", "text": ""}))
            out += [delta(type="text_delta", text=piece) for piece in halves(block["text"])]
        else:
            out.append(event("content_block_start", index=index, content_block={**block, "input": {}}))
            out += [delta(type="input_json_delta", partial_json=piece) for piece in ["", *halves(compact(block["input"]))]]
        out.append(event("content_block_stop", index=index))
    stop = {"stop_reason": "tool_use" if answer.calls else "end_turn", "stop_sequence": None}
    return out, [event("message_delta", delta=stop, usage={"output_tokens": answer.usage[2]}), event("message_stop")]


def halves(text):
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def chat_usage(answer):
    uncached, cached, output, reasoning = answer.usage
    return {"prompt_tokens": uncached + cached, "completion_tokens": output, "total_tokens": uncached + cached + output,
            "prompt_tokens_details": {"cached_tokens": cached}, "completion_tokens_details": {"reasoning_tokens": reasoning}}


def chat_reasoning(flavour, answer):
    """The reasoning of a message: OpenAI has none, servers behind its dialect have `reasoning_details`."""
    if not answer.reasoning:
        return {}
    if flavour == "kimi":
        return {"reasoning_content": answer.reasoning}
    if flavour == "copilot":
        return {"reasoning_text": answer.reasoning, "reasoning_opaque": answer.signature}
    detail = {"type": "reasoning.text", "text": answer.reasoning, "signature": answer.signature, "format": "anthropic-claude-v1", "index": 0}
    return {"reasoning": answer.reasoning, "reasoning_details": [detail]}


def chat_whole(flavour):
    def whole(model, answer):
        calls = [{"id": i, "type": "function", "function": {"name": n, "arguments": compact(a)}} for i, n, a in answer.calls]
        message = {"role": "assistant", "content": answer.text or None, **chat_reasoning(flavour, answer), **({"tool_calls": calls} if calls else {})}
        if flavour == "openai-chat":
            message |= {"refusal": None, "annotations": []}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls" if calls else "stop"}
        usage = chat_usage(answer)
        if flavour == "kimi":
            usage["cached_tokens"] = answer.usage[1]
        return {"id": "chatcmpl-Vendor", "object": "chat.completion", "created": 1790000000, "model": model, "choices": [choice], "usage": usage}

    return whole


def chat_stream(flavour):
    def events(model, answer):
        def chunk(choices, **members):
            made = {"id": "chatcmpl-Vendor", "object": "chat.completion.chunk", "created": 1790000000, "model": model, "choices": choices, **members}
            return f"data: {json.dumps(made, ensure_ascii=False)}\n\n".encode()

        def delta(**members):
            return chunk([{"index": 0, "delta": members, "finish_reason": None}])

        out = [delta(role="assistant", content="")]
        if answer.reasoning:
            member = {"kimi": "reasoning_content", "copilot": "reasoning_text"}.get(flavour, "reasoning")
            for piece in halves(answer.reasoning):
                detail = {"reasoning_details": [{"type": "reasoning.text", "text": piece, "format": "anthropic-claude-v1", "index": 0}]}
                out.append(delta(**{member: piece}, **(detail if flavour == "openai-chat" else {})))
            if flavour == "openai-chat":
                out.append(delta(reasoning_details=[{"type": "reasoning.text", "signature": answer.signature, "format": "anthropic-claude-v1", "index": 0}]))
            elif flavour == "copilot":
                out.append(delta(reasoning_opaque=answer.signature))
        out += [delta(content=piece) for piece in halves(answer.text)] if answer.text else []
        for index, (i, n, a) in enumerate(answer.calls):
            out.append(delta(tool_calls=[{"index": index, "id": i, "type": "function", "function": {"name": n, "arguments": ""}}]))
        # Arguments of parallel calls may interleave.
        for at in range(2):
            for index, (_, _, a) in enumerate(answer.calls):
                out.append(delta(tool_calls=[{"index": index, "function": {"arguments": halves(compact(a))[at]}}]))
        finish = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if answer.calls else "stop"}
        if flavour == "kimi":
            end = [chunk([{**finish, "usage": {**chat_usage(answer), "cached_tokens": answer.usage[1]}}])]
        else:
            end = [chunk([finish]), chunk([], usage=chat_usage(answer))]
        return out, [*end, b"data: [DONE]\n\n"]

    return events


def responses_items(answer):
    items = []
    if answer.reasoning:
        items.append({"id": "rs_Vendor", "type": "reasoning", "summary": [{"type": "summary_text", "text": answer.reasoning}],
                      "encrypted_content": answer.signature})
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        items.append({"id": "msg_Vendor", "type": "message", "role": "assistant", "status": "completed", "content": [part]})
    for at, (i, n, a) in enumerate(answer.calls):
        items.append({"id": f"fc_{at}", "type": "function_call", "call_id": i, "name": n, "arguments": compact(a), "status": "completed"})
    return items


def responses_whole(model, answer):
    uncached, cached, output, reasoning = answer.usage
    usage = {"input_tokens": uncached + cached, "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0}, "output_tokens": output,
             "output_tokens_details": {"reasoning_tokens": reasoning}, "total_tokens": uncached + cached + output}
    return {"id": "resp_Vendor", "object": "response", "created_at": 1790000000, "completed_at": 1790000001, "status": "completed", "error": None,
            "incomplete_details": None, "instructions": None, "metadata": {}, "model": model, "output": responses_items(answer),
            "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0, "usage": usage}


def responses_stream(model, answer):
    whole, number = responses_whole(model, answer), iter(range(1000))

    def happens(kind, **members):
        return event(kind, sequence_number=next(number), **members)

    begun = {**whole, "status": "in_progress", "completed_at": None, "output": [], "usage": None}
    out = [happens("response.created", response=begun), happens("response.in_progress", response=begun)]
    for index, item in enumerate(whole["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "reasoning":
            out.append(happens("response.output_item.added", output_index=index, item={**item, "summary": [], "encrypted_content": ""}))
            text, at = item["summary"][0]["text"], {**at, "summary_index": 0}
            out.append(happens("response.reasoning_summary_part.added", part={"type": "summary_text", "text": ""}, **at))
            out += [happens("response.reasoning_summary_text.delta", delta=piece, **at) for piece in halves(text)]
            out.append(happens("response.reasoning_summary_text.done", text=text, **at))
            out.append(happens("response.reasoning_summary_part.done", part={"type": "summary_text", "text": text}, **at))
        elif item["type"] == "message":
            out.append(happens("response.output_item.added", output_index=index, item={**item, "status": "in_progress", "content": []}))
            part, at = item["content"][0], {**at, "content_index": 0}
            out.append(happens("response.content_part.added", part={**part, "text": ""}, **at))
            out += [happens("response.output_text.delta", delta=piece, logprobs=[], **at) for piece in halves(part["text"])]
            out.append(happens("response.output_text.done", text=part["text"], logprobs=[], **at))
            out.append(happens("response.content_part.done", part=part, **at))
        else:
            out.append(happens("response.output_item.added", output_index=index, item={**item, "status": "in_progress", "arguments": ""}))
            out += [happens("response.function_call_arguments.delta", delta=piece, **at) for piece in halves(item["arguments"])]
            out.append(happens("response.function_call_arguments.done", name=item["name"], arguments=item["arguments"], **at))
        out.append(happens("response.output_item.done", output_index=index, item=item))
    return out, [happens("response.completed", response=whole)]


def gemini_parts(answer):
    """The signature is on the first call, or on the text of an answer without calls."""
    parts = [{"text": answer.reasoning, "thought": True}] if answer.reasoning else []
    if answer.text:
        parts.append({"text": answer.text})
    parts += [{"functionCall": {"id": i, "name": n, "args": a}} for i, n, a in answer.calls]
    if answer.signature:
        (parts[-len(answer.calls)] if answer.calls else parts[-1])["thoughtSignature"] = answer.signature
    return parts


def gemini_usage(answer):
    uncached, cached, output, reasoning = answer.usage
    return {"promptTokenCount": uncached + cached, "cachedContentTokenCount": cached, "candidatesTokenCount": output - reasoning,
            **({"thoughtsTokenCount": reasoning} if reasoning else {}), "totalTokenCount": uncached + cached + output}


def gemini_whole(model, answer):
    candidate = {"content": {"role": "model", "parts": gemini_parts(answer)}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": gemini_usage(answer), "modelVersion": model, "responseId": "vendor-response"}


def gemini_stream(model, answer):
    def chunk(parts, **members):
        made = {"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0, **members}], "usageMetadata": gemini_usage(answer),
                "modelVersion": model, "responseId": "vendor-response"}
        return f"data: {json.dumps(made, ensure_ascii=False)}\r\n\r\n".encode()

    out = []
    for part in gemini_parts(answer):
        if "text" in part:
            first, second = halves(part["text"])
            out += [chunk([{**{k: v for k, v in part.items() if k != "thoughtSignature"}, "text": first}]), chunk([{**part, "text": second}])]
        else:
            out.append(chunk([part]))
    return out, [chunk([{"text": ""}], finishReason="STOP")]


CHAT = ["openai-chat", "kimi", "copilot"]
WHOLE = {"anthropic": anthropic_whole, "openai-responses": responses_whole, "gemini": gemini_whole, **{name: chat_whole(name) for name in CHAT}}
STREAMS = {"anthropic": anthropic_stream, "openai-responses": responses_stream, "gemini": gemini_stream, **{name: chat_stream(name) for name in CHAT}}


def error(dialect, status, message):
    """The body of a vendor's error."""
    if dialect == "anthropic":
        kinds = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}
        return json.dumps({"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": message}, "request_id": "req_Vendor"}).encode()
    if dialect == "gemini":
        words = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 529: "UNAVAILABLE"}
        return json.dumps({"error": {"code": status, "message": message, "status": words.get(status, "INTERNAL")}}).encode()
    kinds = {400: ("invalid_request_error", "unknown_parameter"), 401: ("invalid_request_error", "invalid_api_key"),
             404: ("invalid_request_error", "model_not_found"), 429: ("requests", "rate_limit_exceeded")}
    kind, code = kinds.get(status, ("server_error", None))
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


def stream_error(dialect, message):
    """An error inside a stream that began with status 200."""
    if dialect == "anthropic":
        return event("error", error={"type": "overloaded_error", "message": message})
    if dialect == "openai-responses":
        return event("error", code="server_error", message=message, param=None, sequence_number=99)
    return b"data: " + error(dialect, 500, message) + b"\n\n"


def counted(dialect, tokens):
    """The body of a token count; `None` for a vendor without counts."""
    bodies = {"anthropic": {"input_tokens": tokens}, "openai-responses": {"object": "response.input_tokens", "input_tokens": tokens},
              "gemini": {"totalTokens": tokens}, "kimi": {"data": {"total_tokens": tokens}}}
    return dialect in bodies and json.dumps(bodies[dialect]).encode() or None


def compacted(text):
    """The body of OpenAI's response to a compaction of a conversation with this message of the user."""
    message = {"type": "message", "id": "msg_1", "role": "user", "status": "completed", "content": [{"type": "input_text", "text": text}]}
    usage = {"input_tokens": 139, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}, "output_tokens": 438,
             "output_tokens_details": {"reasoning_tokens": 64}, "total_tokens": 577}
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAA-opaque"}
    return json.dumps({"id": "resp_1", "object": "response.compaction", "created_at": 1764967971, "output": [message, item], "usage": usage}).encode()


# ---- the server ------------------------------------------------------------------------------------------------------


class Reply:
    def __init__(self, data, *, status=200, streamed=False, headers=(), breaks=False):
        self.data, self.status, self.streamed, self.headers, self.breaks = data, status, streamed, dict(headers), breaks


class Received:
    """A request that a vendor received."""

    def __init__(self, dialect, path, headers, data):
        self.dialect, self.path, self.headers, self.body = dialect, path, headers, json.loads(data)


class Vendors:
    """One server for all dialects."""

    def __init__(self):
        vendors = self
        self.lock, self.replies, self.received = threading.Lock(), {}, {}
        # Faults of the self-check: functions that change a reply, and the text of a received request.
        self.change_reply = self.change_request = None

        class Handler(BaseHTTPRequestHandler):
            timeout, protocol_version = SECONDS, "HTTP/1.1"

            def do_POST(self):
                data = self.rfile.read(int(self.headers.get("content-length") or 0))
                vendors.answer(self, data)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 128

            def handle_error(self, request, address):
                # A package that read enough closes its connection.
                if not isinstance(sys.exc_info()[1], ConnectionError):
                    super().handle_error(request, address)

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def expect(self, model, *replies):
        with self.lock:
            self.replies[model], self.received[model] = list(replies), []

    def requests(self, model):
        with self.lock:
            return list(self.received.get(model, []))

    def answer(self, handler, data):
        _, dialect, rest = handler.path.split("/", 2)
        if self.change_request:
            data = self.change_request(json.dumps(json.loads(data), ensure_ascii=False))
        made = Received(dialect, "/" + rest, {k.lower(): v for k, v in handler.headers.items()}, data)
        in_path = rest.split("models/", 1)[1].split(":", 1)[0] if dialect == "gemini" else None
        made.model = in_path or made.body.get("model")
        with self.lock:
            self.received.setdefault(made.model, []).append(made)
            replies = self.replies.get(made.model) or []
            reply = replies.pop(0) if replies else Reply(error(dialect, 500, "the vendor has no reply for this request"), status=500)
        if callable(reply):
            reply = reply(bool(made.body.get("stream") or ":streamGenerateContent" in made.path))
        if self.change_reply:
            reply = self.change_reply(reply)
        handler.send_response(reply.status)
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        if not reply.streamed:
            handler.send_header("content-type", "application/json")
            handler.send_header("content-length", str(len(reply.data)))
            handler.end_headers()
            handler.wfile.write(reply.data)
            return
        handler.send_header("content-type", "text/event-stream; charset=utf-8")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for at in range(0, len(reply.data), PIECE):
            piece = reply.data[at : at + PIECE]
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if reply.breaks:
            handler.close_connection = True
            return
        handler.wfile.write(b"0\r\n\r\n")

    def close(self):
        self.server.shutdown()
        self.server.server_close()


# ---- requests that the vendors received ------------------------------------------------------------------------------


def facts(dialect, body):
    """(facts in order, signatures in order, tools, schema of the answer)."""
    reader = {"anthropic": anthropic_facts, "openai-responses": responses_facts, "gemini": gemini_facts}.get(dialect, chat_facts)
    return reader(body)


def texts(content):
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])


def data_url(url):
    kind, data = url.removeprefix("data:").split(";base64,")
    return kind, data


def anthropic_facts(body):
    out, states = [], []
    if body.get("system"):
        out.append(("system", texts(body["system"])))
    for message in body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            kind = block["type"]
            if kind == "text":
                out.append((message["role"], block["text"]))
            elif kind == "image":
                out.append(("image", block["source"]["media_type"], block["source"]["data"]))
            elif kind == "thinking":
                out.append(("reasoning", block["thinking"]))
                states.append(block["signature"])
            elif kind == "redacted_thinking":
                states.append(block["data"])
            elif kind == "tool_use":
                out.append(("call", block["id"], block["name"], block["input"]))
            elif kind == "tool_result":
                out.append(("result", block["tool_use_id"], texts(block["content"])))
            else:
                out.append(("unknown", block))
    tools = {tool["name"]: tool["input_schema"] for tool in body.get("tools", [])}
    return out, states, tools, ((body.get("output_config") or {}).get("format") or {}).get("schema")


def chat_facts(body):
    out, states = [], []
    for message in body["messages"]:
        role = message["role"]
        if role == "tool":
            out.append(("result", message["tool_call_id"], texts(message["content"])))
            continue
        details = message.get("reasoning_details") or []
        thought = [message[m] for m in ("reasoning_content", "reasoning_text", "reasoning") if message.get(m)]
        if thought or any(d.get("text") for d in details):
            out.append(("reasoning", thought[0] if thought else "".join(d.get("text", "") for d in details)))
        states += [d["signature"] for d in details if d.get("signature")] + [d["data"] for d in details if d.get("data")]
        states += [message["reasoning_opaque"]] if message.get("reasoning_opaque") else []
        content = message.get("content")
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content or []:
            if part["type"] == "text":
                out += [("system" if role == "developer" else role, part["text"])] if part["text"] else []
            elif part["type"] == "image_url":
                out.append(("image", *data_url(part["image_url"]["url"])))
            else:
                out.append(("unknown", part))
        for call in message.get("tool_calls") or []:
            out.append(("call", call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])))
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in body.get("tools", [])}
    form = body.get("response_format") or {}
    return out, states, tools, (form.get("json_schema") or {}).get("schema")


def responses_facts(body):
    out, states = [], []
    if body.get("instructions"):
        out.append(("system", body["instructions"]))
    for item in [{"role": "user", "content": body["input"]}] if isinstance(body["input"], str) else body["input"]:
        kind = item.get("type", "message")
        if kind == "message":
            role = "system" if item["role"] == "developer" else item["role"]
            content = item["content"]
            for part in [{"type": "input_text", "text": content}] if isinstance(content, str) else content:
                if part["type"] in ("input_text", "output_text"):
                    out.append((role, part["text"]))
                elif part["type"] == "input_image":
                    out.append(("image", *data_url(part["image_url"])))
                else:
                    out.append(("unknown", part))
        elif kind == "reasoning":
            thought = "".join(p["text"] for p in item.get("summary", [])) or texts(item.get("content"))
            out += [("reasoning", thought)] if thought else []
            states += [item["encrypted_content"]] if item.get("encrypted_content") else []
        elif kind == "function_call":
            out.append(("call", item["call_id"], item["name"], json.loads(item["arguments"])))
        elif kind == "function_call_output":
            out.append(("result", item["call_id"], texts(item["output"])))
        else:
            out.append(("unknown", item))
    tools = {tool["name"]: tool["parameters"] for tool in body.get("tools", [])}
    return out, states, tools, ((body.get("text") or {}).get("format") or {}).get("schema")


def camel(value):
    """Google's servers accept members in both spellings, and its package for Python mixes them."""
    if isinstance(value, list):
        return [camel(one) for one in value]
    if not isinstance(value, dict):
        return value
    own = ("args", "response", "parametersJsonSchema", "parameters", "responseJsonSchema", "responseSchema")
    out = {}
    for key, one in value.items():
        head, *rest = key.split("_")
        name = head + "".join(word.capitalize() for word in rest)
        out[name] = one if name in own else camel(one)
    return out


def standard(text):
    """Base64 in its usual alphabet."""
    return text.replace("-", "+").replace("_", "/")


def gemini_facts(body):
    body, out, states = camel(body), [], []
    if body.get("systemInstruction"):
        out.append(("system", texts(body["systemInstruction"]["parts"])))
    for content in body["contents"]:
        role = {"model": "assistant"}.get(content.get("role"), "user")
        for part in content["parts"]:
            states += [part["thoughtSignature"]] if part.get("thoughtSignature") else []
            if "text" in part:
                out += [("reasoning" if part.get("thought") else role, part["text"])] if part["text"] else []
            elif "inlineData" in part:
                out.append(("image", part["inlineData"]["mimeType"], standard(part["inlineData"]["data"])))
            elif "functionCall" in part:
                call = part["functionCall"]
                out.append(("call", call.get("id"), call["name"], call.get("args", {})))
            elif "functionResponse" in part:
                result = part["functionResponse"]
                out.append(("result", result.get("id"), gemini_output(result["response"])))
            else:
                out.append(("unknown", part))
    declared = [one for tool in body.get("tools", []) for one in tool.get("functionDeclarations", [])]
    tools = {one["name"]: one.get("parametersJsonSchema") or one.get("parameters") for one in declared}
    settings = body.get("generationConfig") or {}
    return out, states, tools, settings.get("responseJsonSchema") or settings.get("responseSchema")


def gemini_output(response):
    value = response.get("output", response.get("result", response))
    return value if isinstance(value, str) else compact(value)


def merged(found):
    """Adjacent texts of one author as one text: streams and dialects split texts differently."""
    out = []
    for fact in found:
        if out and len(fact) == 2 and fact[0] == out[-1][0]:
            out[-1] = (fact[0], out[-1][1] + fact[1])
        else:
            out.append(fact)
    return out


def plain_schema(schema):
    """The types, members and required members of a schema, without titles and closings."""
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key == "type":
            kept[key] = value.lower() if isinstance(value, str) else value
        elif key == "properties":
            kept[key] = {name: plain_schema(inner) for name, inner in value.items()}
        elif key == "items":
            kept[key] = plain_schema(value)
        elif key in ("required", "enum"):
            kept[key] = sorted(value)
    return kept


def key_of(received):
    """The key that a vendor received, from the header of its API."""
    headers = received.headers
    plain = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}.get(received.dialect)
    return headers.get(plain) or headers.get("authorization", "").removeprefix("Bearer ")


def same_state(dialect, got, sent):
    """Gemini's state is bytes in base64, and Google's own packages change its alphabet; other state is text."""
    return got == sent if dialect != "gemini" else base64.b64decode(standard(got)) == base64.b64decode(standard(sent))
