"""A server on loopback between a gateway and its backend: it passes each request on, and keeps requests and answers.

As a proxy of the agent it refuses every other host, and keeps the names of these hosts.
"""

import collections
import http.client
import http.server
import json
import threading

# The path, the parsed body, the status and the bytes of the answer.
Exchange = collections.namedtuple("Exchange", "path body status answer")


class Recorder:
    """Passes requests on to the backend at `port`."""

    def __init__(self, backend_port):
        self.backend_port, self.exchanges, self.outside = backend_port, [], []

    def __enter__(self):
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                backend = http.client.HTTPConnection("127.0.0.1", recorder.backend_port, timeout=60)
                backend.request("POST", self.path, body, {"content-type": "application/json"})
                answer = backend.getresponse()
                self.send_response(answer.status)
                for name in ("content-type", "retry-after"):
                    if answer.headers.get(name):
                        self.send_header(name, answer.headers[name])
                self.send_header("connection", "close")
                self.end_headers()
                kept = b""
                while piece := answer.read1(65536):
                    self.wfile.write(piece)
                    self.wfile.flush()
                    kept += piece
                recorder.exchanges.append(Exchange(self.path, json.loads(body), answer.status, kept))
                self.close_connection = True

            def do_CONNECT(self):
                recorder.outside.append(self.path)
                self.refuse(403)

            def do_GET(self):
                self.refuse(404)

            do_HEAD = do_GET

            def refuse(self, status):
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # the client went away

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
