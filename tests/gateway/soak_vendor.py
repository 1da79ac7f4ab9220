"""A vendor on 127.0.0.1 whose answers fail by chance, in the dialects `openai-chat` and `anthropic`, whole and streamed.

Standard library only, without code of Interlingua. `python3 soak_vendor.py [--seed N]` prints its port and serves until
it is stopped. `GET /counts` returns the number of answers of each kind. The good text of an answer depends only on the
number in the prompt (`text_for`), so that the client can compare every character.
"""

import argparse
import collections
import json
import random
import re
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# The kinds of answers with their weights. `late` is a good answer whose connection ends a while after its last event.
KINDS = {
    "good": 150, "late": 8, "reset": 6, "reset-inside": 6, "stall": 3, "stall-inside": 3, "429": 8, "500": 8,
    "garbage": 6, "not-http": 4, "html": 6, "cut": 8, "error-first": 6, "error-inside": 6,
}

# The seconds of a stall, above the idle timeout of the gateway.
STALL = 4
# The seconds between the last event of a `late` answer and its end.
LATE = 0.3

WORDS = ("river", "stone", "lamp", '"quoted"', "back\\slash", "Grüße", "naïve", "日本語", "🙂", "tab\there",
         "line\nbreak", "</script>", "data: x", "[DONE]", "event: y", "\u2028", "a,b;c", "{brace}", "100%")


def pieces_for(number):
    """The deltas of the answer to a prompt with this number."""
    chance = random.Random(number)
    return [" ".join(chance.choice(WORDS) for _ in range(chance.randint(1, 4))) + " "
            for _ in range(chance.randint(2, 40))] + [f"end of {number}"]


def text_for(number):
    """The text of the answer to a prompt with this number."""
    return "".join(pieces_for(number))


def event(data, name=None):
    head = f"event: {name}\n" if name else ""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"{head}data: {text}\n\n".encode()


def chat_whole(number, model):
    message = {"role": "assistant", "content": text_for(number), "refusal": None}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1700000000, "model": model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}], "usage": usage}


def chat_events(number, model):
    def chunk(delta, finish=None):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return event({"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1700000000,
                      "model": model, "choices": [choice]})
    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces_for(number):
        yield chunk({"content": piece})
    yield chunk({}, "stop")
    yield event("[DONE]")


def anthropic_whole(number, model):
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model,
            "content": [{"type": "text", "text": text_for(number)}], "stop_reason": "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 11, "output_tokens": 7}}


def anthropic_events(number, model):
    def of(kind, **members):
        return event({"type": kind, **members}, kind)
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": [],
               "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 11, "output_tokens": 1}}
    yield of("message_start", message=message)
    yield of("content_block_start", index=0, content_block={"type": "text", "text": ""})
    yield of("ping")
    for piece in pieces_for(number):
        yield of("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
    yield of("content_block_stop", index=0)
    yield of("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 7})
    yield of("message_stop")


def error_of(dialect, kind):
    """An error object of the vendor."""
    if dialect == "anthropic":
        words = {"429": "rate_limit_error", "500": "api_error"}
        return {"type": "error", "error": {"type": words.get(kind, "overloaded_error"), "message": f"vendor {kind}"}}
    words = {"429": "rate_limit_exceeded", "500": "server_error"}
    return {"error": {"message": f"vendor {kind}", "type": words.get(kind, "server_error"), "param": None,
                      "code": words.get(kind)}}


def error_event(dialect, kind):
    return event(error_of(dialect, kind), "error" if dialect == "anthropic" else None)


class Vendor(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, seed):
        super().__init__(("127.0.0.1", 0), Handler)
        self.chance = random.Random(seed)
        self.lock = threading.Lock()
        self.counts = collections.Counter()

    def kind(self):
        """The kind of the next answer."""
        with self.lock:
            kind = self.chance.choices(list(KINDS), list(KINDS.values()))[0]
            self.counts[kind] += 1
            return kind

    def handle_error(self, request, client_address):
        """Connections that the gateway closes are no news."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Vendor

    def setup(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().setup()

    def log_message(self, *_):
        pass

    def do_GET(self):
        with self.server.lock:
            body = json.dumps(self.server.counts).encode()
        self.head(200, "application/json", len(body))
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        dialect = "anthropic" if self.path.endswith("/messages") else "openai-chat"
        number = int(re.findall(r"soak-(\d+)-", body)[-1])
        asked = json.loads(body)
        kind = self.server.kind()
        self.answer(kind, dialect, number, asked["model"], bool(asked.get("stream")))

    def answer(self, kind, dialect, number, model, is_stream):
        if kind == "reset":
            self.reset()
        elif kind == "stall":
            self.stall()
        elif kind == "429":
            self.whole(429, json.dumps(error_of(dialect, kind)).encode(), ("retry-after", "1"))
        elif kind == "500":
            self.whole(500, json.dumps(error_of(dialect, kind)).encode())
        elif kind == "not-http":
            self.wfile.write(random.Random(number).randbytes(300) + b"\r\n\r\n")
            self.close()
        elif kind == "html":
            self.whole(200, b"<!doctype html><title>Sign in</title><p>Please sign in.", kind="text/html")
        elif is_stream:
            self.streamed(kind, dialect, number, model)
        else:
            self.not_streamed(kind, dialect, number, model)

    def not_streamed(self, kind, dialect, number, model):
        make = anthropic_whole if dialect == "anthropic" else chat_whole
        body = json.dumps(make(number, model)).encode()
        if kind == "garbage":
            body = random.Random(number).randbytes(200)
        elif kind.startswith("error"):
            body = json.dumps(error_of(dialect, kind)).encode()
        elif kind in ("reset-inside", "stall-inside", "cut"):
            self.head(200, "application/json", len(body))
            self.wfile.write(body[:len(body) // 2])
            {"reset-inside": self.reset, "stall-inside": self.stall, "cut": self.close}[kind]()
            return
        self.whole(200, body)

    def streamed(self, kind, dialect, number, model):
        make = anthropic_events if dialect == "anthropic" else chat_events
        events = list(make(number, model))
        chance = random.Random(number)
        if kind == "garbage":
            events = [b"data: " + chance.randbytes(100) + b"\n\n", chance.randbytes(100)]
        # The middle is anywhere between the first event and the last content.
        middle = chance.randint(1, max(1, len(events) - 4))
        self.head(200, "text/event-stream")
        if kind == "error-first":
            events = [error_event(dialect, kind)]
        elif kind == "error-inside":
            events = events[:middle] + [error_event(dialect, kind)]
        elif kind in ("cut", "reset-inside", "stall-inside"):
            events = events[:middle]
            if kind == "cut" and chance.random() < 0.5:
                # The cut is inside of an event.
                events[-1] = events[-1][:-5]
        for one in events:
            self.chunk(one)
        if kind == "reset-inside":
            self.reset()
        elif kind == "stall-inside":
            self.stall()
        elif kind == "cut" and chance.random() < 0.5:
            self.close()
        else:
            time.sleep(LATE if kind == "late" else 0)
            self.wfile.write(b"0\r\n\r\n")

    def head(self, status, kind, length=None, *more):
        self.send_response(status)
        self.send_header("content-type", kind)
        if length is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(length))
        for name, value in more:
            self.send_header(name, value)
        self.end_headers()

    def whole(self, status, body, *more, kind="application/json"):
        self.head(status, kind, len(body), *more)
        self.wfile.write(body)

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def close(self):
        self.close_connection = True

    def reset(self):
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.close()
        self.close_connection = True

    def stall(self):
        """Waits until the gateway gives up or the stall has its length."""
        self.request.settimeout(STALL)
        try:
            self.request.recv(1)
        except OSError:
            pass
        self.close_connection = True


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    vendor = Vendor(parser.parse_args().seed)
    print(vendor.server_address[1], flush=True)
    vendor.serve_forever()
