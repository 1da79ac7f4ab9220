#!/usr/bin/env python3
"""Moves bytes between an OpenCode server and a program that speaks `opencode-events`.

    opencode_http.py http://127.0.0.1:4096 /project

Each line of stdin is a request as JSON: `{"method":"POST","path":"/session","body":{...}}`. The bytes of the server's event
stream (`GET /event`) go to stdout unchanged. The responses that the dialect needs are added to the stream as events with the
name `response`: the session that a request opened or resumed, and every failure. The requests wait until the stream is open,
so no event is missed.
"""
import json
import os
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

TIMEOUT = 600


class Bridge:
    def __init__(self, base, directory):
        self.base = base.rstrip("/")
        self.directory = directory
        self.out = threading.Lock()

    def write(self, data):
        with self.out:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def send(self, line):
        request = json.loads(line)
        method, path = request["method"], request["path"]
        body = request.get("body")
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"} if data is not None else {}
        call = urllib.request.Request(self.base + path, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(call, timeout=TIMEOUT) as response:
                status, text = response.status, response.read()
        except urllib.error.HTTPError as failure:
            status, text = failure.code, failure.read()
        try:
            answer = json.loads(text) if text else None
        except ValueError:
            answer = text.decode(errors="replace")
        if status >= 400 or isinstance(answer, dict):
            event = json.dumps({"request": f"{method} {path}", "status": status, "body": answer})
            # An event between two events of the server: the pump writes whole events only.
            self.write(f"event: response\ndata: {event}\n\n".encode())

    def requests(self):
        for line in sys.stdin.buffer:
            if line.strip():
                self.send(line)
        # The end of stdin ends the connection.
        os._exit(0)

    def run(self):
        query = urllib.parse.urlencode({"directory": self.directory})
        with urllib.request.urlopen(f"{self.base}/event?{query}", timeout=TIMEOUT) as events:
            threading.Thread(target=self.requests, daemon=True).start()
            held = b""
            while True:
                data = events.read1(1 << 16)
                if not data:
                    return
                held += data
                end = held.rfind(b"\n\n") + 2
                if end > 1:
                    self.write(held[:end])
                    held = held[end:]


if __name__ == "__main__":
    Bridge(*sys.argv[1:3]).run()
