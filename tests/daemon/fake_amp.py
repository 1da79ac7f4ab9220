#!/usr/bin/env python3
"""Stands in for Amp, whose loop runs on its vendor's server: replays the lines of a fixture for each prompt on stdin.

A prompt with the word `crash` ends the program in the middle of the turn, and a prompt with the word `wait` has no end. The arguments
of each start go to `amp-starts.jsonl` in the home.
"""

import json
import os
import pathlib
import signal
import sys

FIXTURE = pathlib.Path(__file__).resolve().parents[2] / "crates/interlingua/fixtures/anthropic/amp_stream/2026-11/tools.jsonl"
THREAD = "T-019a85d1-4f80-7a11-9c3e-2b6d5e8f7a10"

with open(pathlib.Path(os.environ["HOME"]) / "amp-starts.jsonl", "a", encoding="utf-8") as starts:
    starts.write(json.dumps(sys.argv[1:]) + "\n")
if "--stream-json-input" not in sys.argv:
    sys.exit("the prompts come on stdin")

lines = [json.loads(line) for line in FIXTURE.read_text(encoding="utf-8").splitlines()]
assert all(line["session_id"] == THREAD for line in lines)


def show(line):
    print(json.dumps(line, ensure_ascii=False), flush=True)


show(lines[0])
for count, line in enumerate(sys.stdin):
    prompt = json.loads(line)
    if prompt["type"] != "user":
        sys.exit(f"unknown input: {line}")
    if not isinstance(prompt["message"]["content"], list):
        sys.exit(f"Amp takes lists of blocks only: {line}")
    show({**lines[1], "message": prompt["message"]})
    show(lines[2])
    if "crash" in line:
        sys.exit(3)
    if "wait" in line:
        signal.pause()
    for line in lines[3:]:
        show(line)
