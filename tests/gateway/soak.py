#!/usr/bin/env python3
"""The gateway under load with upstream faults: every answer well formed, every receipt stored, memory flat.

    python3 tests/gateway/soak.py --bin target/release/interlingua [--seconds 600]
    python3 tests/gateway/soak.py --self-check          # the judgement alone; no binary needed

Clients of four dialects call the gateway, whose backends are vendors that fail by chance (`soak_vendor.py`) and a closed
port. `soak_judge.py` judges each answer. In the middle the gateway is killed with SIGKILL and started again.
"""

import argparse
import collections
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import soak_self_check
from soak_journal import Journal
from soak_judge import Fault, has_ended, judge
from soak_vendor import text_for

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")
MODELS = ("to-chat", "to-messages", "to-closed", "only-chat", "only-messages")
CLIENTS = 16
IDLE_TIMEOUT = 2
# A key rests after a rate limit, and a backend without a key that is awake refuses calls.
KEYS = ", ".join(f'{{ value = "k{number}" }}' for number in range(8))
# The share of streams whose client leaves after the first bytes.
LEAVERS = 0.02
# The seconds after which a client gives up: above all timeouts and pauses of a call.
PATIENCE = 60
# The largest growth of the memory.
GROWTH = 1.10
# The number of faults that are printed.
SHOWN = 20

CONFIG = """
listen = "127.0.0.1:{port}"
idle-timeout = {idle}
[store]
place = '{store}'
[backend.chat]
dialect = "openai-chat"
url = "http://127.0.0.1:{vendor}"
keys = [{keys}]
retries = 1
[backend.messages]
dialect = "anthropic"
url = "http://127.0.0.1:{vendor}"
keys = [{keys}]
retries = 1
[backend.closed]
dialect = "openai-chat"
url = "http://127.0.0.1:{closed}"
keys = [{keys}]
retries = 1
[backend.chat-once]
dialect = "openai-chat"
url = "http://127.0.0.1:{vendor}"
keys = [{keys}]
retries = 0
[backend.messages-once]
dialect = "anthropic"
url = "http://127.0.0.1:{vendor}"
keys = [{keys}]
retries = 0
[[route]]
model = "to-chat"
backend = "chat"
fallback = [{{ backend = "messages" }}]
[[route]]
model = "to-messages"
backend = "messages"
fallback = [{{ backend = "chat" }}]
[[route]]
model = "to-closed"
backend = "closed"
fallback = [{{ backend = "chat" }}]
[[route]]
model = "only-chat"
backend = "chat-once"
[[route]]
model = "only-messages"
backend = "messages-once"
"""


def request_for(dialect, form, model, number):
    """The path and the body of a request."""
    prompt = f"soak-{number}- say it"
    stream = form != "whole"
    if dialect == "anthropic":
        return "/v1/messages", {"model": model, "max_tokens": 999, "stream": stream,
                                "messages": [{"role": "user", "content": prompt}]}
    if dialect == "openai-chat":
        return "/v1/chat/completions", {"model": model, "stream": stream,
                                        "messages": [{"role": "user", "content": prompt}]}
    if dialect == "openai-responses":
        # Without `store` the gateway keeps the answers for later requests in memory, up to a limit of its own.
        return "/v1/responses", {"model": model, "stream": stream, "store": False, "input": prompt}
    method = {"whole": "generateContent", "events": "streamGenerateContent?alt=sse", "array": "streamGenerateContent"}
    return f"/v1beta/models/{model}:{method[form]}", {"contents": [{"role": "user", "parts": [{"text": prompt}]}]}


class Receipts:
    """The rows of the store: those of the database, and those that the gateway has not yet transferred from its journal.
    The connection to the database is closed while the gateway is killed: the next gateway must recover the database alone."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.connection = self.journal = None

    def open(self):
        with self.lock:
            self.connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, check_same_thread=False)
            self.journal = Journal(self.path)

    def close(self):
        with self.lock:
            if self.connection:
                self.connection.close()
            self.connection = None

    def find(self, call):
        """The status, the class of the failure and whether the client left; `None` without a row, `False` while closed."""
        with self.lock:
            if self.connection is None:
                return False
            return row_of(self.connection, self.journal, call)


def row_of(connection, journal, call):
    """The row of a call. A transfer moves the row from the journal to the database."""
    return stored_row(connection, call) or journal.find(call) or stored_row(connection, call)


def stored_row(connection, call):
    rows = connection.execute("SELECT status, failure_class, cancelled FROM exchange WHERE id = ?", (call,))
    return rows.fetchone()


def check_row(row, verdict, status):
    """Compares the row of a call with the answer that its client got."""
    if row is None:
        raise Fault("the receipt is missing")
    stored, failure, cancelled = row
    if stored != status or cancelled or (failure is None) != (verdict == "full"):
        raise Fault(f"the row has status {stored}, failure {failure}, cancelled {cancelled} for {verdict} with {status}")


class Soak:
    def __init__(self, binary, folder, vendor_port):
        self.binary, self.folder = binary, folder
        self.store = folder / "calls.db"
        self.port, closed = free_port(), free_port()
        self.config = folder / "interlingua.toml"
        self.config.write_text(CONFIG.format(port=self.port, idle=IDLE_TIMEOUT, store=self.store, vendor=vendor_port,
                                             closed=closed, keys=KEYS))
        self.log = folder / "gateway.log"
        self.receipts = Receipts(self.store)
        self.lock = threading.Lock()
        self.numbers = iter(range(1, 1 << 40))
        # The generation of the gateway; an odd number while no gateway runs.
        self.generation = 1
        self.is_over = False
        self.counts = collections.Counter()
        self.faults = []
        # The ids of the calls whose answers were complete, with verdict and status, and of those whose client left.
        self.finished, self.left = {}, []

    def start(self):
        """Starts the gateway and waits until it answers."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([self.binary, "serve", "--config", self.config], stderr=log, stdout=log)
        deadline = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"the gateway does not start: {self.log.read_text()}")
                time.sleep(0.02)
        self.receipts.open()
        self.generation += 1

    def kill(self):
        """Kills the gateway under load, and checks a copy of the store as the kill left it."""
        self.receipts.close()
        self.generation += 1
        self.process.kill()
        self.process.wait()
        # Clients that have read their answer to the end put their ids down.
        time.sleep(1)
        copy = self.folder / "killed.db"
        for end in ("", "-wal"):
            if pathlib.Path(f"{self.store}{end}").exists():
                shutil.copyfile(f"{self.store}{end}", f"{copy}{end}")
        if pathlib.Path(f"{self.store}-calls").exists():
            shutil.copytree(f"{self.store}-calls", f"{copy}-calls")
        with self.lock:
            finished = dict(self.finished)
        with sqlite3.connect(copy) as database:
            sound = database.execute("PRAGMA integrity_check").fetchone()
            if sound != ("ok",):
                self.fault("kill", f"the database is damaged: {sound}")
            journal = Journal(copy)
            missing = check_all(finished, lambda call: row_of(database, journal, call))
        for call, reason in missing:
            self.fault("kill", f"{call}: {reason}")
        print(f"killed after {len(finished)} finished calls: {len(missing)} of them without a right row", flush=True)

    def client(self, seed):
        chance = random.Random(seed)
        connection = None
        while not self.is_over:
            dialect = chance.choice(DIALECTS)
            form = chance.choice(("whole", "events") + (("array",) if dialect == "gemini" else ()))
            leaves = form != "whole" and chance.random() < LEAVERS
            with self.lock:
                number = next(self.numbers)
            if connection is None:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            if not self.call(connection, (dialect, form, chance.choice(MODELS), number), leaves):
                connection.close()
                connection = None
        if connection:
            connection.close()

    def call(self, connection, kind, leaves):
        """Makes a call. Returns whether the connection can be used again."""
        dialect, form, _, number = kind
        path, body = request_for(*kind)
        generation, call, status, received, ended_row = self.generation, None, 0, b"", None
        try:
            connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
            response = connection.getresponse()
            status, headers = response.status, {name.lower(): value for name, value in response.getheaders()}
            call = headers.get("x-interlingua-call")
            if call is None:
                raise Fault(f"an answer with status {status} has no id of its call")
            if leaves and status == 200:
                response.read1(200)
                self.count("left")
                with self.lock:
                    self.left.append(call)
                return False
            while piece := response.read1(65536):
                received += piece
                if form == "events" and ended_row is None and status == 200 and has_ended(dialect, received):
                    # A client may stop here, so the row must be there already.
                    ended_row = (self.receipts.find(call),)
            # `read1` leaves the end of a body with a known length to `read`.
            response.read()
            verdict = judge(dialect, form, status, headers, received, text_for(number))
            # A reader that is closed now leaves the check to the end.
            for row in (ended_row or ()) + (self.receipts.find(call),):
                if row is not False:
                    check_row(row, verdict, status)
        except Fault as fault:
            self.fault(kind, fault, call, received)
            return False
        except (OSError, http.client.HTTPException) as error:
            if generation == self.generation and generation % 2 == 0:
                self.fault(kind, f"the connection failed: {error!r}", call, received)
                return False
            if call and status == 200 and form == "events" and has_ended(dialect, received):
                # The kill came after the last event: for this client the answer is finished.
                with self.lock:
                    self.finished[call] = ("full", 200)
            self.count("broken by the kill")
            time.sleep(0.05)
            return False
        with self.lock:
            self.finished[call] = (verdict, status)
        self.count(f"{dialect} {form} {verdict}", f"status {status}")
        return True

    def count(self, *names):
        with self.lock:
            self.counts.update(names)

    def fault(self, kind, reason, call=None, received=b""):
        with self.lock:
            self.faults.append(f"{kind} {call or ''}: {reason}")
            if len(self.faults) <= SHOWN:
                print(f"FAULT {self.faults[-1]}\n      {received[-200:]!r}", flush=True)

    def memory(self):
        """The resident memory of the gateway in kilobytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def median_memory(self, seconds):
        samples = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            samples.append(self.memory())
            time.sleep(0.25)
        return statistics.median(samples)

    def run(self, seconds):
        start = time.monotonic()
        self.start()
        clients = [threading.Thread(target=self.client, args=(seed,)) for seed in range(CLIENTS)]
        for client in clients:
            client.start()
        try:
            time.sleep(seconds * 0.3)
            self.kill()
            self.start()
            # The memory grows until every connection, buffer and cache has been used.
            time.sleep(seconds * 0.2)
            window = max(2.0, seconds * 0.05)
            before = self.median_memory(window)
            time.sleep(max(0.0, start + seconds - window - time.monotonic()))
            after = self.median_memory(window)
        finally:
            self.is_over = True
            for client in clients:
                client.join()
        if before * GROWTH < after:
            self.fault("memory", f"{before / 1024:.1f} MB after the warm-up, {after / 1024:.1f} MB at the end")
        print(f"memory: {before / 1024:.1f} MB after the warm-up, {after / 1024:.1f} MB at the end ({after / before - 1:+.1%})")
        self.end()

    def end(self):
        """Stops the gateway in order, and checks every row again."""
        self.receipts.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(20)
        except subprocess.TimeoutExpired:
            code = "none: it did not end within 20 s"
            self.process.kill()
        if code != 0:
            self.fault("end", f"the exit code is {code}")
        with sqlite3.connect(self.store) as database:
            for call, reason in check_all(self.finished, lambda call: stored_row(database, call)):
                self.fault("end", f"{call}: {reason}")
            lost = [call for call in self.left if stored_row(database, call) is None]
        # Calls that were open at the kill are lost with the process.
        if len(lost) > CLIENTS:
            self.fault("end", f"{len(lost)} calls whose client left have no row")
        talk = [line for line in self.log.read_text().splitlines() if not line.startswith("listening on ")]
        if talk:
            self.fault("log", " / ".join(talk[:5]))


def check_all(finished, find):
    """The calls without a right row, each with the reason."""
    wrong = []
    for call, (verdict, status) in finished.items():
        try:
            check_row(find(call), verdict, status)
        except Fault as fault:
            wrong.append((call, str(fault)))
    return wrong


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default="target/release/interlingua", help="the command `interlingua`")
    parser.add_argument("--seconds", type=float, default=600, help="the length of the run")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the faults")
    parser.add_argument("--self-check", action="store_true", help="break answers and rows on purpose, without a gateway")
    args = parser.parse_args()
    if args.self_check:
        return soak_self_check.run(check_all)
    here = pathlib.Path(__file__).parent
    vendor = subprocess.Popen([sys.executable, here / "soak_vendor.py", "--seed", str(args.seed)], stdout=subprocess.PIPE,
                              text=True)
    soak = None
    try:
        with tempfile.TemporaryDirectory(prefix="soak") as folder:
            port = int(vendor.stdout.readline())
            soak = Soak(os.path.abspath(args.bin), pathlib.Path(folder), port)
            try:
                soak.run(args.seconds)
            finally:
                if soak.process.poll() is None:
                    soak.process.kill()
                    soak.process.wait()
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("GET", "/counts")
            sent = json.load(connection.getresponse())
    finally:
        vendor.kill()
        vendor.wait()
    print("vendor answers: " + ", ".join(f"{kind} {count}" for kind, count in sorted(sent.items())))
    for name, count in sorted(soak.counts.items()):
        print(f"{count:>8} {name}")
    full = sum(count for name, count in soak.counts.items() if name.endswith(" full"))
    errors = sum(count for name, count in soak.counts.items() if name.endswith(" error"))
    if not full or not errors or len(soak.faults):
        print(f"failed: {full} full answers, {errors} errors of a dialect, {len(soak.faults)} faults")
        return 1
    print(f"passed: {full} full answers, {errors} errors of a dialect, {len(soak.finished)} receipts, no fault")
    return 0


if __name__ == "__main__":
    sys.exit(main())
