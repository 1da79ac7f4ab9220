"""The official clients, talking to a server on loopback that replays given bytes.

Both clients validate strictly (`_strict_response_validation`), so a field of the wrong type is an error here and not
a surprise in somebody's program. `read_*` return one neutral view, so one expectation serves both families.
"""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
for name in [n for n in os.environ if n.startswith(("OPENAI_", "ANTHROPIC_"))]:
    del os.environ[name]

import anthropic  # noqa: E402
import openai  # noqa: E402
from openai.lib.streaming.chat import ChatCompletionStreamState  # noqa: E402

LIMIT = 8 << 20  # bytes of one request body
SECONDS = 20  # for one exchange


class Wrong(Exception):
    """A check failed."""


def need(ok, why):
    if not ok:
        raise Wrong(why)


def same(got, want, what):
    if got != want:
        raise Wrong(f"{what} is {got!r}, not {want!r}")


class Replay:
    """Answers each POST with the bytes last given to `give`, and keeps the request's body."""

    def __init__(self):
        replay = self

        class Handler(BaseHTTPRequestHandler):
            timeout = SECONDS

            def do_POST(self):
                length = int(self.headers.get("content-length") or 0)
                if length > LIMIT:
                    self.send_error(413)
                    return
                replay.seen = json.loads(self.rfile.read(length))
                status, kind, body = replay.reply
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.send_header("connection", "close")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.reply, self.seen = (500, "text/plain", b""), None
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{self.server.server_address[1]}"
        same_for_both = {"api_key": "local", "max_retries": 0, "timeout": SECONDS, "_strict_response_validation": True}
        self.anthropic = anthropic.Anthropic(base_url=url, **same_for_both)
        self.openai = openai.OpenAI(base_url=url + "/v1", **same_for_both)

    def give(self, body, *, status=200, stream=False):
        self.reply = (status, "text/event-stream" if stream else "application/json", body)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


ASK_A = {"model": "m", "max_tokens": 16, "messages": [{"role": "user", "content": "x"}]}
ASK_O = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


# ---- Anthropic ------------------------------------------------------------------------------------------------------


def stream_anthropic(replay, body):
    """(final Message, None) or (snapshot or None, the exception the client raised)."""
    replay.give(body, stream=True)
    events = []
    with replay.anthropic.messages.stream(**ASK_A) as stream:
        try:
            for event in stream:
                events.append(event)
        except anthropic.APIError as error:
            started = any(e.type == "message_start" for e in events)
            return (stream.current_message_snapshot if started else None), error
        need(any(e.type == "message_start" for e in events), "no message_start reached the client (lines `event:` are needed)")
        final = stream.get_final_message()
    replay.give(body, stream=True)
    grammar(list(replay.anthropic.messages.create(stream=True, **ASK_A)), final)
    return final, None


def grammar(events, final):
    """What the accumulator does not check: the order of events, and arguments that are one whole JSON value."""
    same([e.type for e in events[:1]], ["message_start"], "first event")
    same(events[0].message.content, [], "content in message_start")
    open_block, count, ending, done, arguments = None, 0, False, False, {}
    for e in events[1:]:
        need(not done, f"{e.type} after message_stop")
        if e.type == "content_block_start":
            need(open_block is None, f"block {e.index} starts while block {open_block} is open")
            same(e.index, count, "index of content_block_start")
            need(not ending, "content_block_start after message_delta")
            open_block, count = e.index, count + 1
            if e.content_block.type == "tool_use":
                same(e.content_block.input, {}, "input in content_block_start")
                arguments[e.index] = ""
        elif e.type == "content_block_delta":
            same(e.index, open_block, "index of content_block_delta")
            if e.delta.type == "input_json_delta":
                need(e.index in arguments, "input_json_delta outside tool_use")
                arguments[e.index] += e.delta.partial_json
        elif e.type == "content_block_stop":
            same(e.index, open_block, "index of content_block_stop")
            open_block = None
        elif e.type == "message_delta":
            need(open_block is None, "message_delta while a block is open")
            ending = True
        elif e.type == "message_stop":
            done = True
        else:
            raise Wrong(f"event {e.type}")
    if final.stop_reason is None:
        return  # a cut stream; the caller decides
    need(done, "no message_stop")
    for index, raw in arguments.items():
        if final.stop_reason != "max_tokens":
            try:
                same(json.loads(raw or "{}"), final.content[index].input, f"arguments of block {index}")
            except ValueError as error:
                raise Wrong(f"arguments of block {index} are not one JSON value ({error}): {raw!r}") from None


def whole_anthropic(replay, body):
    replay.give(body)
    return replay.anthropic.messages.create(**ASK_A)


STOP_A = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tools", "max_tokens": "length", "refusal": "refusal",
          "model_context_window_exceeded": "length", None: None}


def view_anthropic(m):
    u = m.usage
    blocks = {t: [b for b in m.content if b.type == t] for t in ("thinking", "redacted_thinking", "text", "tool_use")}
    same(sum(map(len, blocks.values())), len(m.content), "number of known blocks")
    same((m.role, m.type), ("assistant", "message"), "role and type")
    for b in blocks["text"]:
        need(b.text, "empty text block")
    for b in blocks["tool_use"]:
        need(b.id and all(c.isascii() and (c.isalnum() or c in "_-") for c in b.id), f"id {b.id!r} is refused by the API")
        need(isinstance(b.input, dict), f"input {b.input!r} is not an object")
    ids = [b.id for b in blocks["tool_use"]]
    same(len(set(ids)), len(ids), "number of distinct ids")
    return {
        "model": m.model,
        "order": [b.type for b in m.content],
        "reasoning": "".join(b.thinking for b in blocks["thinking"]),
        "signatures": [b.signature for b in blocks["thinking"] if b.signature],
        "redacted": [b.data for b in blocks["redacted_thinking"]],
        "text": "".join(b.text for b in blocks["text"]),
        "calls": [(b.id, b.name, b.input) for b in blocks["tool_use"]],
        "stop": STOP_A[m.stop_reason],
        "usage": {
            "uncached": u.input_tokens,
            "read": u.cache_read_input_tokens or 0,
            "write": u.cache_creation_input_tokens or 0,
            "output": u.output_tokens,
            "reasoning": (u.output_tokens_details.thinking_tokens if u.output_tokens_details else 0) or 0,
        },
    }


# ---- OpenAI ---------------------------------------------------------------------------------------------------------


def stream_openai(replay, body):
    """(final completion, None) or (snapshot or None, the exception the client raised)."""
    state, chunks, finished, counted = ChatCompletionStreamState(), 0, False, False
    replay.give(body, stream=True)
    try:
        for chunk in replay.openai.chat.completions.create(stream=True, **ASK_O):
            same(chunk.object, "chat.completion.chunk", "object")  # another value is skipped silently
            state.handle_chunk(chunk)
            first = chunk if chunks == 0 else first
            same((chunk.id, chunk.model, chunk.created), (first.id, first.model, first.created), "id, model, created of a chunk")
            need(not counted, "a chunk after the usage chunk; the accumulator forgets the usage")
            need(not finished or not chunk.choices, "a delta after finish_reason")
            need(chunk.usage is None or not chunk.choices, "usage beside choices")
            finished = finished or any(c.finish_reason for c in chunk.choices)
            counted, chunks = chunk.usage is not None, chunks + 1
    except openai.APIError as error:
        return (state.current_completion_snapshot if chunks else None), error
    need(chunks, "no chunk")
    final = state.current_completion_snapshot
    if final.choices and final.choices[0].finish_reason:
        need(body.rstrip().endswith(b"data: [DONE]"), "the stream does not end with [DONE]")
    # The same through .stream(), which builds events on the way; it raises by design when the output limit was hit.
    replay.give(body, stream=True)
    with replay.openai.chat.completions.stream(**ASK_O) as stream:
        try:
            other = stream.get_final_completion()
            same(view_openai(other), view_openai(final), "view through .stream()")
        except openai.LengthFinishReasonError:
            same(final.choices[0].finish_reason, "length", "finish_reason when .stream() says length")
    return final, None


def parsed_openai(replay, body, names):
    """Arguments as the official client parses them for strict tools; it parses a call as soon as the next one begins."""
    replay.give(body, stream=True)
    tool = {"parameters": {"type": "object"}, "strict": True}
    tools = [{"type": "function", "function": {"name": n, **tool}} for n in dict.fromkeys(names)]
    with replay.openai.chat.completions.stream(tools=tools, **ASK_O) as stream:
        return [c.function.parsed_arguments for c in stream.get_final_completion().choices[0].message.tool_calls]


def whole_openai(replay, body):
    replay.give(body)
    return replay.openai.chat.completions.create(**ASK_O)


STOP_O = {"stop": "stop", "tool_calls": "tools", "length": "length", "content_filter": "refusal", None: None}


def view_openai(c):
    same(c.object, "chat.completion", "object")
    same(len(c.choices), 1, "number of choices")
    choice, u = c.choices[0], c.usage
    m = choice.message
    same((m.role, choice.index), ("assistant", 0), "role and index")
    details = getattr(m, "reasoning_details", None) or []
    for d in details:
        need(d.get("type") in ("reasoning.text", "reasoning.encrypted"), f"reasoning detail {d}")
    calls = []
    for call in m.tool_calls or []:
        same(call.type, "function", "type of a call")
        need(call.id and len(call.id) <= 64, f"id {call.id!r}")
        raw = call.function.arguments
        try:
            arguments = json.loads(raw or "{}")
        except ValueError as error:
            need(choice.finish_reason == "length", f"arguments of {call.id} are not one JSON value ({error}): {raw!r}")
            arguments = None
        calls.append((call.id, call.function.name, arguments))
    if u is not None:
        same(u.total_tokens, u.prompt_tokens + u.completion_tokens, "total_tokens")
    read = (u and u.prompt_tokens_details and u.prompt_tokens_details.cached_tokens) or 0
    write = (u and u.prompt_tokens_details and u.prompt_tokens_details.cache_write_tokens) or 0
    return {
        "model": c.model,
        "reasoning": getattr(m, "reasoning_content", None) or "",
        "signatures": [d["signature"] for d in details if d.get("signature")],
        "redacted": [d["data"] for d in details if d["type"] == "reasoning.encrypted"],
        "text": (m.content or "") + (m.refusal or ""),
        "calls": calls,
        "stop": "refusal" if m.refusal else STOP_O[choice.finish_reason],
        "usage": u and {
            "uncached": u.prompt_tokens - read - write,
            "read": read,
            "write": write,
            "output": u.completion_tokens,
            "reasoning": (u.completion_tokens_details and u.completion_tokens_details.reasoning_tokens) or 0,
        },
    }
