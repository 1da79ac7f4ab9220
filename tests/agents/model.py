"""A scripted model on loopback: it gives every request the same answer in the form of the API that was asked, and keeps the request."""

import collections
import http.server
import json
import re
import threading

PROMPT = "Interlingua asks: are you there?"
ANSWER = "Interlingua hears: here I am."


UNSIGNED = "messages.1.content.0: Invalid `signature` in `thinking` block"


class Model:
    """A model on loopback that gives every request the same answer, and keeps the request. It refuses thinking that
    nobody signed, as the API does."""

    def __enter__(self):
        self.requests, self.outside = [], []
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if self.path.startswith("/v1/messages") and "count_tokens" not in self.path:
                    model.requests.append(json.loads(body))
                    unsigned = [fault for fault in refused_messages(model.requests[-1]) if "signature" in fault]
                    if unsigned:
                        error = {"type": "invalid_request_error", "message": UNSIGNED}
                        return self.answer(400, "application/json", json.dumps({"type": "error", "error": error}))
                    self.answer(200, "text/event-stream", messages_events(model.requests[-1].get("model")))
                elif self.path.startswith("/v1/responses"):
                    model.requests.append(json.loads(body))
                    self.answer(200, "text/event-stream", responses_events(model.requests[-1].get("model")))
                elif self.path.endswith("/chat/completions"):
                    model.requests.append(json.loads(body))
                    name, stream = model.requests[-1].get("model"), model.requests[-1].get("stream")
                    kind = "text/event-stream" if stream else "application/json"
                    self.answer(200, kind, (chat_events if stream else chat_document)(ANSWER, name))
                elif "enerateContent" in self.path:
                    model.requests.append(json.loads(body))
                    stream = ":stream" in self.path
                    document = gemini_document(ANSWER if stream else ROUTED)
                    kind = "text/event-stream" if stream else "application/json"
                    self.answer(200, kind, f"data: {document}\r\n\r\n" if stream else document)
                else:
                    self.answer(404, "application/json", "{}")

            def do_GET(self):
                # Codex asks its own provider for a WebSocket first, and takes the answer 426 for "not here".
                self.answer(426 if self.path.startswith("/v1/responses") else 404, "application/json", "{}")

            def do_CONNECT(self):
                model.outside.append(self.path)
                self.answer(403, "text/plain", "")

            do_HEAD = do_GET

            def answer(self, status, kind, body):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("connection", "close")
                self.end_headers()
                self.wfile.write(body.encode())
                self.close_connection = True

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that hangs up early

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def events(*of):
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in of)


def messages_events(model):
    usage = {"input_tokens": 10, "output_tokens": 5}
    message = {"id": "msg_scripted", "type": "message", "role": "assistant", "model": model, "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": usage}
    return events(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": ANSWER}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"})


def responses_events(model):
    item = {"type": "message", "id": "msg_scripted", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": ANSWER, "annotations": []}]}
    response = {"id": "resp_scripted", "object": "response", "created_at": 1790000000, "model": model}
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15}
    return events(
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "item_id": item["id"], "delta": ANSWER},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**response, "status": "completed", "output": [item], "usage": usage}})


def chat_events(answer, model):
    def chunk(delta, finish=None, **more):
        return {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1790000000, "model": model,
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    chunks = [chunk({"role": "assistant", "content": answer}), chunk({}, "stop", usage=usage)]
    return "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + "data: [DONE]\n\n"


def chat_document(answer, model):
    return json.dumps({
        "id": "chatcmpl-scripted", "object": "chat.completion", "created": 1790000000, "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})


# Which model is to answer: asked before the question itself.
ROUTED = json.dumps({"complexity_reasoning": "simple", "complexity_score": 10, "model_choice": "flash", "reasoning": "simple"})


def gemini_document(answer):
    return json.dumps({
        "candidates": [{"content": {"role": "model", "parts": [{"text": answer}]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "scripted", "responseId": "scripted"})


# ---- what APIs refuse ------------------------------------------------------------------------------------------------


def refused_messages(body):
    """For what the Messages API would refuse this request."""
    faults, ids, open_calls = [], set(), set()
    for number, message in enumerate(body["messages"]):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == "system":
            continue
        answers = [block.get("tool_use_id") for block in blocks if block["type"] == "tool_result"]
        if set(answers) != open_calls or len(answers) != len(open_calls):
            faults.append(f"refused: message {number} answers {sorted(answers)}, asked was {sorted(open_calls)}")
        open_calls = set()
        for block in blocks:
            if block["type"] == "tool_use":
                if block["id"] in ids or not re.fullmatch(r"[A-Za-z0-9_-]+", block["id"]):
                    faults.append(f"refused: message {number} has the call id {block['id']!r}")
                if not isinstance(block["input"], dict) or not re.fullmatch(r"[A-Za-z0-9_-]{1,128}", block["name"]):
                    faults.append(f"refused: message {number} has a call of {block['name']!r}")
                ids.add(block["id"])
                open_calls.add(block["id"])
            if block["type"] == "text" and not block["text"].strip():
                faults.append(f"refused: message {number} has an empty text")
            if block["type"] == "thinking" and not block.get("signature"):
                faults.append(f"refused: message {number} has thinking without a signature")
    return faults


def refused_responses(body):
    """For what the Responses API would refuse this request."""
    calls, outputs = collections.Counter(), collections.Counter()
    for item in body["input"]:
        if item.get("type") in ("function_call", "custom_tool_call"):
            calls[item["type"] + "_output", item["call_id"]] += 1
        elif item.get("type") == "local_shell_call":
            calls["function_call_output", item["call_id"]] += 1
        elif str(item.get("type")).endswith("_output"):
            outputs[item["type"], item["call_id"]] += 1
    faults = [fault for item in body["input"] if item.get("type") in ("function_call", "custom_tool_call")
              for fault in refused_call("item", item["call_id"], item["name"], 128)]
    if calls != outputs:
        faults.append(f"refused: calls and results do not pair: {sorted((calls - outputs) + (outputs - calls))}")
    return faults


def refused_call(place, call_id, name, longest):
    """OpenAI's APIs take call ids of up to 64 characters, and names of letters, digits, `_` and `-`."""
    if not 1 <= len(call_id or "") <= 64:
        yield f"refused: {place} has a call id of {len(call_id or '')} characters"
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,%d}" % longest, name or ""):
        yield f"refused: {place} has a call of {name!r}"


def refused_chat(body):
    """For what the chat API would refuse this request: calls are answered at once, and only calls are."""
    faults, waiting = [], []
    for number, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message.get("tool_call_id") in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                faults.append(f"refused: message {number} answers a call that is not open")
            continue
        if waiting:
            faults.append(f"refused: message {number} comes before {len(waiting)} results")
        waiting = [call["id"] for call in message.get("tool_calls") or []]
        for call in message.get("tool_calls") or []:
            faults += refused_call(f"message {number}", call["id"], call["function"]["name"], 64)
    return faults


def refused_gemini(body):
    """For what the Gemini API would refuse this request: the content after calls has one response for each of them."""
    faults, waiting = [], collections.Counter()
    for number, content in enumerate(body["contents"]):
        parts = content.get("parts", [])
        answers = collections.Counter(part["functionResponse"]["name"] for part in parts if "functionResponse" in part)
        if answers != waiting:
            faults.append(f"refused: content {number} answers {sorted(answers)}, asked was {sorted(waiting)}")
        waiting = collections.Counter(part["functionCall"]["name"] for part in parts if "functionCall" in part)
        faults += [f"refused: content {number} has a call of {name!r}" for name in waiting if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}", name)]
    return faults
