"""A scripted model on loopback that speaks OpenAI's Responses API: it sends its replies in order."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def text(said):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}


def thought(said):
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": said}], "encrypted_content": "c3RhdGU="}


def call(call_id, name, **arguments):
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


class Stall:
    """A reply that sends the start of a text and then waits for the client to hang up."""

    def __init__(self, said):
        self.said = said


class Model:
    """The server. `requests` holds the body of each request."""

    def __init__(self, replies):
        self.replies, self.requests, self.lock = list(replies), [], threading.Lock()
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with model.lock:
                    model.requests.append(body)
                    number = len(model.requests)
                    reply = model.replies.pop(0) if model.replies else [text("The script has ended.")]
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                if isinstance(reply, Stall):
                    model.events(self, number, [text(reply.said)], stalls=True)
                    self.connection.settimeout(60)
                    try:
                        self.connection.recv(1)
                    except OSError:
                        pass
                else:
                    model.events(self, number, reply, stalls=False)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def events(self, handler, number, items, stalls):
        def emit(kind, **members):
            handler.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode())
            handler.wfile.flush()

        response = {"id": f"resp_{number}", "object": "response", "status": "in_progress", "output": []}
        emit("response.created", response=response)
        for index, item in enumerate(items):
            item = {"id": f"item_{number}_{index}", **item}
            at = {"output_index": index, "item_id": item["id"]}
            if item["type"] == "message":
                said = item["content"][0]["text"]
                emit("response.output_item.added", output_index=index, item={**item, "content": []})
                for piece in (said[: len(said) // 2], said[len(said) // 2 :]):
                    emit("response.output_text.delta", **at, content_index=0, delta=piece)
                if stalls:
                    return
            elif item["type"] == "reasoning":
                emit("response.output_item.added", output_index=index, item={**item, "summary": []})
                emit("response.reasoning_summary_part.added", **at, summary_index=0, part={"type": "summary_text", "text": ""})
                emit("response.reasoning_summary_text.delta", **at, summary_index=0, delta=item["summary"][0]["text"])
            emit("response.output_item.done", output_index=index, item=item)
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        emit("response.completed", response={**response, "status": "completed", "usage": usage})

    def close(self):
        self.server.shutdown()
        self.server.server_close()
