#!/usr/bin/env python3
"""The same requests through Interlingua and through LiteLLM, side by side.

Requests built from the official types (see walk.py) are sent by LiteLLM to a server on loopback that keeps what arrives, and
converted by `interlingua convert`. Counted for each pair: outputs that are valid by the official types of the target, words
of the input that are in a valid output, and words that are neither there nor reported lost. A request that is refused with an
error loses nothing silently. Left to hand, because LiteLLM is a large install:

    python3 -m venv .venv && .venv/bin/pip install -r tests/sdk/requirements.txt litellm
    .venv/bin/python tests/sdk/peers.py --bin target/release/interlingua
"""

import argparse
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"

import litellm  # noqa: E402
import pairs  # noqa: E402
import walk  # noqa: E402

litellm.suppress_debug_info = True
litellm.telemetry = False

ANSWERS = {
    "anthropic": walk.A_MESSAGE,
    "openai-chat": {**walk.C_COMPLETION, "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}]},
    "openai-responses": walk.R_RESPONSE,
    "gemini": walk.g_response(),
}


class Keeper:
    """Keeps the body of the last request and answers in the dialect that was asked for."""

    def __init__(self):
        keeper = self

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_POST(self):
                body = self.rfile.read(min(int(self.headers.get("content-length") or 0), 8 << 20))
                keeper.seen = json.loads(body)
                reply = json.dumps(ANSWERS[keeper.target]).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_):
                pass

        self.seen, self.target = None, None
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


MODELS = {"anthropic": "anthropic/m", "openai-chat": "hosted_vllm/m", "openai-responses": "openai/responses/m", "gemini": "gemini/m"}


def by_litellm(keeper, source, target, body):
    """What LiteLLM sends, or None if it refuses."""
    keeper.seen, keeper.target = None, target
    body = {k: v for k, v in json.loads(json.dumps(body)).items() if k not in ("model", "stream")}
    base = {"api_base": keeper.url, "api_key": "local", "timeout": 10, "num_retries": 0, "max_retries": 0}
    try:
        if source == "openai-chat":
            litellm.completion(model=MODELS[target], drop_params=True, **base, **body)
        elif source == "anthropic":
            litellm.anthropic.messages.create(model=MODELS[target], drop_params=True, **base, **body)
        elif source == "openai-responses":
            litellm.responses(model=MODELS[target], drop_params=True, **base, **body)
        else:
            config = {**body.get("generationConfig", {}), **{k: v for k, v in body.items() if k not in ("contents", "generationConfig")}}
            litellm.google_genai.generate_content(model=MODELS[target], contents=body["contents"], config=config, **base)
    except BaseException as error:  # noqa: BLE001: whatever it raises is its answer
        if isinstance(error, KeyboardInterrupt):
            raise
    return keeper.seen


def by_us(binary, source, target, body, folder):
    report, out = folder / "report.json", folder / "out.json"
    done = subprocess.run([binary, "convert", "--from", source, "--role", "request", "--to", target, "-o", str(out), "--report", str(report), "--quiet"],
                          input=json.dumps(body).encode(), capture_output=True, timeout=20)
    if done.returncode:
        return None, []
    told = json.loads(report.read_text())
    told = told["files"][0] if "files" in told else told
    return json.loads(out.read_text()), [row["path"] for row in told["lost_paths"]]


def words_of(body):
    for path, value in walk.leaves(body):
        if isinstance(value, str):
            try:
                plain = base64.b64decode(value, validate=True).decode() if not value.startswith("zq") else value
            except Exception:
                plain = value
            if plain.startswith("zq"):
                yield path, value, plain


def count(tally, target, body, sent, lost):
    tally["inputs"] += 1
    if sent is None:
        tally["refused"] += 1
        return
    try:
        valid = not pairs.request_errors(target, sent)
    except Exception:
        valid = False
    tally["valid"] += valid
    text = json.dumps(sent, ensure_ascii=False)
    for path, word, plain in words_of(body):
        tally["words"] += 1
        seen = word in text or plain in text or base64.b64encode(plain.encode()).decode() in text
        declared = any(path == p or path.startswith((p + "/", p + "[")) or not p.startswith("/") for p in lost)
        # What stands in a request that the target refuses reaches nobody.
        tally["kept"] += seen and valid
        tally["silent"] += not seen and not declared


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    keeper, total = Keeper(), {"interlingua": Counter(), "litellm": Counter()}
    requests = [(name, dialect, make()) for name, dialect, role, make in walk.cases() if role == "request"]
    print(f"{'pair':<34}{'inputs':>8}" + "".join(f"{who + ' ' + what:>22}" for who in total for what in ("valid", "kept", "silent")))
    with tempfile.TemporaryDirectory() as folder:
        for source in ("openai-chat", "anthropic", "openai-responses", "gemini"):
            for target in MODELS:
                if source == target or args.only not in f"{source} {target}":
                    continue
                rows = {who: Counter() for who in total}
                for _, dialect, body in requests:
                    if dialect == source:
                        sent, lost = by_us(args.bin, source, target, body, pathlib.Path(folder))
                        count(rows["interlingua"], target, body, sent, lost)
                        count(rows["litellm"], target, body, by_litellm(keeper, source, target, body), [])
                # Where the peer refuses everything there is nothing to compare.
                if rows["litellm"]["refused"] < rows["litellm"]["inputs"]:
                    for who, row in rows.items():
                        total[who] += row
                show(f"{source} -> {target}", rows)
    show("all", total)
    ours, theirs = total["interlingua"], total["litellm"]
    share = lambda row, what, of: row[what] / max(row[of], 1)
    ahead = share(ours, "valid", "inputs") > share(theirs, "valid", "inputs") and ours["kept"] > theirs["kept"] and ours["silent"] < theirs["silent"]
    print("ahead on each" if ahead else "not ahead on each")
    return 0 if ahead else 1


def show(name, rows):
    line = f"{name:<34}{rows['interlingua']['inputs']:>8}"
    for row in rows.values():
        line += f"{row['valid']:>22}{row['kept']:>22}{row['silent']:>22}"
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
