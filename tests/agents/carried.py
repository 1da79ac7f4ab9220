#!/usr/bin/env python3
"""Whether a session carried to the other agent arrives whole.

Converts every Claude Code log to Codex and every Codex log to Claude Code with `interlingua convert`, reads both sides with
readers of its own (sessions.py; not ours, and not our report), and counts: each text, reasoning, call, result and picture
of the source must be in the target as often, in the same order, from the same voice, and results must answer the same
call. Nothing may be there that was not said. The target must also have what the program needs to resume it.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # leave the tree as it was

from sessions import (  # noqa: E402
    CALL, IMAGE, KINDS, READ_LOG, REASONING, RESULT, TEXT, brief, compare, dialect_of, lines_of, read_claude_log,
    read_codex_log)

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = [ROOT / "crates/interlingua/fixtures" / name for name in ("anthropic/claude_code", "openai/codex")]
INPUTS = pathlib.Path(__file__).resolve().parent / "inputs"  # what is rare, by hand
OTHER = {"claude-code": "codex", "codex": "claude-code"}
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", type=pathlib.Path, help="logs, or folders of logs (default: ours)")
    parser.add_argument("--bin", default=default_binary(), type=pathlib.Path, help="the interlingua command")
    parser.add_argument("--self-check", action="store_true", help="break converted files on purpose; every break must be seen")
    parser.add_argument("--examples", type=int, default=3, help="how many of each fault to show")
    options = parser.parse_args()
    logs = list(find_logs(options.paths or [*FIXTURES, INPUTS]))
    if not logs:
        sys.exit("no log of Claude Code or Codex found")
    if options.self_check:
        sys.exit(self_check(logs, options))
    sys.exit(check_all(logs, options))


def default_binary():
    import os
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/interlingua"


def find_logs(paths):
    """(path, dialect) of every log; files of other kinds are passed over."""
    for path in paths:
        files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
        for file in files:
            dialect = dialect_of(read(file))
            if dialect:
                yield file, dialect
            elif not path.is_dir():
                sys.exit(f"{file}: neither a log of Claude Code nor of Codex")


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


def convert(binary, path, target):
    try:
        done = subprocess.run([binary, "convert", path, "--to", target, "--quiet"], capture_output=True, timeout=120)
    except FileNotFoundError:
        sys.exit(f"{binary}: not found; `cargo build --release --package interlingua-cli` makes it")
    if done.returncode != 0:
        raise ValueError(f"convert --to {target} failed ({done.returncode}): {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode("utf-8")


def read_target(text, target):
    # The log has no system messages: they are user lines that the harness wrote.
    return read_claude_log(text, meta="system") if target == "claude-code" else read_codex_log(text)


def judge(source_text, target_text, source):
    """(comparison, faults of form)"""
    said = READ_LOG[source](source_text)
    if OTHER[source] == "claude-code":
        # Its API refuses reasoning that its own model has not signed.
        said.things = [thing for thing in said.things if thing.kind != REASONING]
    compared = compare(said, read_target(target_text, OTHER[source]))
    # A call that nobody answered gets a result that is marked as made up.
    open_calls = sum(thing.kind == CALL for thing in said.things) - sum(thing.kind == RESULT for thing in said.things)
    made_up = [key for key in compared.surplus if key[0] == RESULT][:max(open_calls, 0)]
    for key in made_up:
        compared.surplus.remove(key)
    form = claude_form if OTHER[source] == "claude-code" else codex_form
    own = {key for key in said.keys() if key[0] == RESULT and key[1][0] is None}
    return said, compared, list(form(target_text, orphans=len(own)))


def check_all(logs, options):
    totals, bad, aside = {}, 0, collections.Counter()
    print(f"{'':60} " + " ".join(f"{kind:>13}" for kind in KINDS))
    for path, source in logs:
        try:
            said, compared, form = judge(read(path), convert(options.bin, path, OTHER[source]), source)
        except ValueError as error:
            print(f"{shown(path):60} FAILED: {error}")
            bad += 1
            continue
        faults = compared.faults() + len(form)
        bad += faults > 0
        counts = " ".join(f"{compared.found[kind]:>6}/{compared.expected[kind]:<6}" for kind in KINDS)
        print(f"{shown(path):60} {counts} to {OTHER[source]}: {'ok' if not faults else f'{faults} FAULTS'}")
        for name, keys in (("missing", compared.missing), ("surplus", compared.surplus)):
            for key in keys[: options.examples]:
                print(f"    {name}: {brief(key)}")
            if len(keys) > options.examples:
                print(f"    {name}: … {len(keys) - options.examples} more")
        if compared.order:
            print(f"    order: {brief(compared.order[1], 60)} stands before {brief(compared.order[0], 60)}")
        for fault in form[: options.examples]:
            print(f"    form: {fault}")
        aside.update({f"{source}, {place}": count for place, count in said.aside.items()})
        total = totals.setdefault(source, [0, collections.Counter(), collections.Counter()])
        total[0] += 1
        total[1].update(compared.found)
        total[2].update(compared.expected)
    print()
    for source, (files, found, expected) in totals.items():
        counts = ", ".join(f"{kind} {found[kind]}/{expected[kind]}" for kind in KINDS)
        print(f"{source} to {OTHER[source]}: {files} files: {counts}")
    if aside:
        print("not part of the conversation, not counted: " + ", ".join(f"{place} {n}" for place, n in sorted(aside.items())))
    print(f"{len(logs)} files, {bad} with faults")
    return 1 if bad else 0


def shown(path, width=60):
    path = path.resolve()
    name = str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
    return name if len(name) <= width else "…" + name[1 - width:]


# ---- what the programs need ------------------------------------------------------------------------------------------


def claude_form(text, orphans=0):
    """Faults for which Claude Code drops lines, hangs, or is refused by the API."""
    uuids, calls, missing_calls, sessions = set(), set(), 0, set()
    for number, line in enumerate(lines_of(text), 1):
        kind, message = line.get("type"), line.get("message")
        if kind not in ("user", "assistant") or not isinstance(message, dict):
            yield f"line {number} is no message"
            continue
        parent = line.get("parentUuid", "missing")
        if parent is None and uuids and not line.get("isSidechain"):  # a subagent's lines are a chain of their own
            yield f"line {number} hangs on nothing: everything before it is dropped"
        elif parent is not None and parent not in uuids:
            yield f"line {number} hangs on {parent}, which is not there"
        for name in ("uuid", "timestamp", "version", "sessionId"):
            if not isinstance(line.get(name), str) or not line[name]:
                yield f"line {number} has no {name}"
        if line.get("uuid") in uuids:
            yield f"line {number} has the uuid of another line"
        uuids.add(line.get("uuid"))
        sessions.add(line.get("sessionId"))
        if message.get("role") != kind:
            yield f"line {number} is of type {kind} and has role {message.get('role')}"
        if kind == "assistant":
            for name in ("id", "type", "model"):
                if not isinstance(message.get(name), str) or not message[name]:
                    yield f"line {number} has no message.{name}"
        content = message.get("content")
        if not content:
            yield f"line {number} says nothing"
        for block in content if isinstance(content, list) else []:
            if block.get("type") in ("tool_use", "thinking") and kind != "assistant":
                yield f"line {number} is {block['type']} in a {kind} line"
            if block.get("type") == "tool_use":
                if block.get("id") in calls:
                    yield f"line {number} has the call id of another call"
                calls.add(block.get("id"))
                if not isinstance(block.get("input"), dict):
                    yield f"line {number} has an input that is no object"
                if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", block.get("name") or ""):
                    yield f"line {number} has a name that the API refuses"
            if block.get("type") == "tool_result":
                if kind != "user":
                    yield f"line {number} is a result in an {kind} line"
                missing_calls += block.get("tool_use_id") not in calls
    if missing_calls > orphans:
        yield f"{missing_calls - orphans} results without their call"
    if len(sessions) > 1:
        yield f"{len(sessions)} session ids in one file"


def codex_form(text, orphans=0):
    """Faults for which Codex drops lines or does not take the file for a rollout."""
    calls, missing_calls = {}, 0
    for number, line in enumerate(lines_of(text), 1):
        payload = line.get("payload")
        if not isinstance(line.get("timestamp"), str) or not isinstance(payload, dict):
            yield f"line {number} has no timestamp or no payload"
            continue
        if (number == 1) != (line.get("type") == "session_meta"):
            yield f"line {number} is {line.get('type')}: the first line, and no other, is session_meta"
        if line.get("type") == "session_meta":
            for name in ("id", "timestamp", "cwd", "originator", "cli_version"):
                if not isinstance(payload.get(name), str) or not payload[name]:
                    yield f"line {number} has no {name}"
            if not UUID.fullmatch(str(payload.get("id"))):
                yield f"line {number} has an id that is no UUID"
        kind = payload.get("type") if line.get("type") == "response_item" else None
        if kind in ("function_call", "custom_tool_call"):
            if payload.get("call_id") in calls:
                yield f"line {number} has the call id of another call"
            calls[payload.get("call_id")] = kind
            if not payload.get("name"):
                yield f"line {number} is a call without a name"
        if kind in ("function_call_output", "custom_tool_call_output"):
            call = calls.get(payload.get("call_id"))
            missing_calls += call is None
            if call is not None and f"{call}_output" != kind:
                yield f"line {number} is a {kind} for a {call}"
        if kind == "message":
            word = "output_text" if payload.get("role") == "assistant" else "input_text"
            if any(part.get("type") not in (word, "input_image") for part in payload.get("content", [])):
                yield f"line {number} has parts that are not {word}"
        if kind == "reasoning" and not isinstance(payload.get("summary"), list):
            yield f"line {number} is reasoning without a summary"
    if missing_calls > orphans:
        yield f"{missing_calls - orphans} results without their call"


# ---- self-check ------------------------------------------------------------------------------------------------------


def self_check(logs, options):
    """Puts faults into converted files; the checks must see each of them."""
    tried, unseen = collections.Counter(), []
    for path, source in logs:
        source_text, target_text = read(path), convert(options.bin, path, OTHER[source])
        before = faults_of(source_text, target_text, source)
        lines = [json.loads(line) for line in target_text.splitlines()]
        for name, broken in (break_claude if OTHER[source] == "claude-code" else break_codex)(lines):
            tried[f"{OTHER[source]}: {name}"] += 1
            broken_text = "".join(json.dumps(line) + "\n" for line in broken)
            if faults_of(source_text, broken_text, source) == before:
                unseen.append(f"{shown(path)}: {name}")
    for name, count in sorted(tried.items()):
        print(f"{count:>4} {name}")
    for name in unseen:
        print(f"NOT SEEN {name}")
    never = {f"{target}: {name}" for target, names in BREAKS.items() for name in names} - set(tried)
    for name in sorted(never):
        print(f"NEVER TRIED {name}")
    print(f"{sum(tried.values())} faults put in, {len(unseen)} not seen")
    return 1 if unseen or never else 0


def faults_of(source_text, target_text, source):
    _, compared, form = judge(source_text, target_text, source)
    return compared.missing, compared.surplus, compared.order, form


BREAKS = {
    "claude-code": [
        "line dropped", "line twice", "other role", "text changed", "member dropped", "parent dangles", "arguments changed",
        "name changed", "result answers nothing", "results swapped", "result part dropped", "picture dropped", "call as text",
        "lines swapped"],
    "codex": [
        "line dropped", "line twice", "other role", "text changed", "head dropped", "time dropped", "arguments changed",
        "name changed", "result answers nothing", "results swapped", "result part dropped", "picture dropped",
        "lines swapped"],
}


def copies(lines):
    return json.loads(json.dumps(lines))


def edited(lines, at, edit):
    broken = copies(lines)
    edit(broken[at])
    return broken


def break_any(lines, said):
    """Breaks that both formats can have. `said`: the numbers of the lines that say something."""
    for at in said:
        yield "line dropped", lines[:at] + lines[at + 1:]
        yield "line twice", lines[: at + 1] + lines[at:]
    for one, two in zip(said, said[1:]):
        broken = copies(lines)
        broken[one], broken[two] = broken[two], broken[one]
        yield "lines swapped", broken


def break_claude(lines):
    yield from break_any(lines, range(len(lines)))
    results = []
    for at, line in enumerate(lines):
        content = line["message"]["content"]
        other = "user" if line["type"] == "assistant" else "assistant"

        def other_role(line, other=other):
            line["type"] = line["message"]["role"] = other
            line["message"].update(id="msg_x", type="message", model="x")
        yield "other role", edited(lines, at, other_role)
        yield "parent dangles", edited(lines, at, lambda line: line.update(parentUuid="nowhere"))
        if line["type"] == "assistant":
            for name in ("id", "type", "model"):
                yield "member dropped", edited(lines, at, lambda line, name=name: line["message"].pop(name))
            yield "member dropped", edited(lines, at, lambda line: line.pop("version"))
        if isinstance(content, str):
            yield "text changed", edited(lines, at, lambda line: line["message"].update(content=content + "!"))
            continue
        for number, block in enumerate(content):
            def edit(change, number=number):
                return edited(lines, at, lambda line: change(line["message"]["content"][number]))
            if block["type"] == "text":
                yield "text changed", edit(lambda block: block.update(text=block["text"] + "!"))
            elif block["type"] == "image":
                yield "picture dropped", edited(lines, at, lambda line, number=number: line["message"]["content"].pop(number))
            elif block["type"] == "tool_use":
                yield "arguments changed", edit(lambda block: block["input"].update(more=1))
                yield "name changed", edit(lambda block: block.update(name=block["name"] + "x"))
                words = {"type": "text", "text": json.dumps(block)}
                yield "call as text", edited(
                    lines, at, lambda line, number=number, words=words: line["message"]["content"].__setitem__(number, words))
            elif block["type"] == "tool_result":
                results.append((at, number, "tool_use_id"))
                yield "result answers nothing", edit(lambda block: block.update(tool_use_id="nothing"))
                for part, value in enumerate(block["content"] if isinstance(block["content"], list) else []):
                    name = "picture dropped" if value["type"] == "image" else "result part dropped"
                    yield name, edit(lambda block, part=part: block["content"].pop(part))
    for (one, first, _), (two, second, _) in zip(results, results[1:]):
        broken = copies(lines)
        a, b = broken[one]["message"]["content"][first], broken[two]["message"]["content"][second]
        if a["content"] != b["content"]:
            a["tool_use_id"], b["tool_use_id"] = b["tool_use_id"], a["tool_use_id"]
            yield "results swapped", broken


def break_codex(lines):
    items = [at for at, line in enumerate(lines) if line["type"] == "response_item"]
    # A text that is left in its echo is still there: such a line is not needed twice.
    quiet = [at for at in items if lines[at]["payload"]["type"] != "message" or lines[at]["payload"]["role"] in (
        "system", "developer")]
    yield from break_any(lines, quiet)
    for one, two in zip(items, items[1:]):
        broken = copies(lines)
        broken[one], broken[two] = broken[two], broken[one]
        yield "lines swapped", broken
    yield "head dropped", lines[1:]
    results = []
    for at in items:
        payload = lines[at]["payload"]
        yield "time dropped", edited(lines, at, lambda line: line.pop("timestamp"))

        def edit(change, at=at):
            return edited(lines, at, lambda line: change(line["payload"]))
        if payload["type"] == "message":
            other = "user" if payload["role"] == "assistant" else "assistant"
            yield "other role", edit(lambda payload: payload.update(role=other))
            for number, part in enumerate(payload["content"]):
                if "text" in part:
                    yield "text changed", edit(lambda payload, number=number: payload["content"][number].update(text="!"))
                else:
                    yield "picture dropped", edit(lambda payload, number=number: payload["content"].pop(number))
        elif payload["type"] == "reasoning":
            for number in range(len(payload["summary"])):
                yield "text changed", edit(lambda payload, number=number: payload["summary"].pop(number))
        elif payload["type"] == "function_call":
            yield "arguments changed", edit(lambda payload: payload.update(arguments="{\"more\":1}"))
            yield "name changed", edit(lambda payload: payload.update(name=payload["name"] + "x"))
        elif payload["type"].endswith("_output"):
            results.append(at)
            yield "result answers nothing", edit(lambda payload: payload.update(call_id="nothing"))
            for number, part in enumerate(payload["output"] if isinstance(payload["output"], list) else []):
                name = "result part dropped" if "text" in part else "picture dropped"
                yield name, edit(lambda payload, number=number: payload["output"].pop(number))
    for one, two in zip(results, results[1:]):
        broken = copies(lines)
        a, b = broken[one]["payload"], broken[two]["payload"]
        if a["output"] != b["output"]:
            a["call_id"], b["call_id"] = b["call_id"], a["call_id"]
            yield "results swapped", broken


if __name__ == "__main__":
    main()
