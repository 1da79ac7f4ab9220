#!/usr/bin/env python3
"""Recorded traffic of real servers, converted to every other model API: what each body says is in the output, or declared.

Reads recordings ("cassettes") of HTTP traffic, YAML or JSON, also gzipped, in source packages (.tar.gz, .tgz, .zip) and folders
named by the user; nothing is fetched. What a body says is read by said.py, which knows none of our code. A fact that is
gone must be declared at its own path. Exit 1 if one is silent, or if a body that fits its own API's types is converted
to one that does not fit the target's. By hand, because recordings are not ours to keep here: see README.md.
"""

import argparse
import base64
import gzip
import hashlib
import json
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections import Counter, defaultdict

sys.dont_write_bytecode = True

import pairs  # noqa: E402
import params  # noqa: E402
import said  # noqa: E402
import yaml  # noqa: E402
from openai.types.responses import input_token_count_params  # noqa: E402

DIALECTS = list(pairs.FOLDERS)
# What an address ends with, the dialect, and the roles of what is sent and what comes back (`None`: response or stream).
ADDRESSES = [
    (r"/messages/count_tokens$", "anthropic", "count", "counted"),
    (r"/responses/input_tokens$", "openai-responses", "count", "counted"),
    (r":countTokens$", "gemini", "count", "counted"),
    (r"anthropic[^/]*/v1/models$", "anthropic", None, "models"),
    (r"generativelanguage[^/]*/v1(beta)?/models$", "gemini", None, "models"),
    (r"/models$", "openai-chat", None, "models"),
    (r"/chat/completions$", "openai-chat", "request", None),
    (r"/responses$", "openai-responses", "request", None),
    (r"/v1/messages$|anthropic.*/messages$|anthropic/models/[^/]*:(streamR|r)awPredict$|/model/[^/]*anthropic\.[^/]*/invoke$", "anthropic", "request", None),
    (r":(streamG|g)enerateContent$", "gemini", "request", None),
]
BLANKED = {"openai-chat": '"object": ?"chat.completion', "openai-responses": '"object": ?"response"', "anthropic": '"type": ?"message(_start)?"'}
COLUMNS = {"texts": ("text", "thought"), "calls": ("call", "tool", "choice"), "results": ("result",), "media": ("media",), "state": ("state",),
           "settings": ("temperature", "top_p", "top_k", "limit", "stops", "seed", "n", "presence", "frequency", "format"), "stops": ("stop", "error"),
           "counts": ("in", "out", "count", "model")}
# Notes that declare a change of a fact of this kind.
NOTES = {
    "call": "tool call id replaced|tool name", "tool": "tool name|schema of a tool|tool without a schema|keywords of a schema", "choice": "a call cannot be demanded",
    "format": "any JSON object asked for", "stop": "no finish_reason|^stop ", "limit": "^limit |output limit", "text": "space at the end",
}

FIELDS = {"stop": ("turn/stop",)}
# Facts that several leaves say together.
WIDE = ("call", "tool", "choice", "format", "result")


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Recordings name classes of their HTTP clients: only the data counts."""


def plain(loader, _suffix, node):
    build = {yaml.MappingNode: loader.construct_mapping, yaml.SequenceNode: loader.construct_sequence}.get(type(node))
    return build(node, deep=True) if build else loader.construct_scalar(node)


Loader.add_multi_constructor("", plain)


# ---- bodies out of packages --------------------------------------------------------------------------------------------

def files_of(place):
    """Name and bytes of every file that may be a recording."""
    wanted = re.compile(r"(cassette|record|vcr|replay|fixture).*\.(ya?ml|json)(\.gz)?$", re.I)
    if place.is_dir():
        for path in sorted(place.rglob("*")):
            if path.name.endswith((".tar.gz", ".tgz", ".zip")):
                yield from files_of(path)
            elif path.is_file() and wanted.search(str(path.relative_to(place))):
                yield str(path.relative_to(place)), path.read_bytes()
    elif place.suffix == ".zip":
        with zipfile.ZipFile(place) as package:
            for name in package.namelist():
                if wanted.search(name):
                    yield f"{place.name}: {name}", package.read(name)
    else:
        with tarfile.open(place) as package:
            for member in package:
                if member.isfile() and wanted.search(member.name):
                    yield f"{place.name}: {member.name}", package.extractfile(member).read()


def body_of(message):
    """The text of a recorded body, however the recorder wrote it."""
    body = next((message[k] for k in ("parsed_body", "body", "content") if isinstance(message, dict) and message.get(k)), None)
    if isinstance(body, dict) and "base64_string" in body:
        body = base64.b64decode(body["base64_string"])
    elif isinstance(body, dict) and "string" in body:
        body = body["string"]
    if isinstance(body, (dict, list)):
        return json.dumps(body)
    if isinstance(body, bytes):
        for unpack in (gzip.decompress, zlib.decompress, bytes):
            try:
                return unpack(body).decode()
            except (OSError, EOFError, zlib.error, UnicodeDecodeError):
                continue
        return None
    return body


def kind_of(address, answer):
    """Dialect and roles of an exchange. An address that the recorder blanked out is known by the answer."""
    for pattern, *found in ADDRESSES:
        if re.search(pattern, re.split(r"[?#]", address)[0]):
            return found
    if "://" not in address:
        for dialect, mark in BLANKED.items():
            if re.search(mark, answer or ""):
                return [dialect, "request", None]
    return None


def bodies_of(place):
    """Dialect, role, text and place of every body of model traffic."""
    for name, raw in files_of(place):
        try:
            raw = gzip.decompress(raw) if name.endswith(".gz") else raw
            document = json.loads(raw) if ".json" in name else yaml.load(raw, Loader=Loader)
        except Exception:
            continue
        document = document if isinstance(document, dict) else {}
        exchanges = [(e.get("request"), e.get("response")) for e in document.get("interactions") or [] if isinstance(e, dict)]
        for number, (sent, answered) in enumerate(exchanges or zip(document.get("requests") or [], document.get("responses") or [])):
            if not isinstance(sent, dict) or not isinstance(answered, dict):
                continue
            question, answer = body_of(sent), body_of(answered)
            kind = kind_of(str(sent.get("uri") or sent.get("url") or ""), answer)
            # Claude's first API, which took one text, has the same address on some servers.
            if not kind or kind[0] == "anthropic" and '"prompt"' in str(question)[:200]:
                continue
            streamed = answer and answer.lstrip().startswith(("data:", "event:", ":"))
            status = answered.get("status_code") or answered.get("status") or 200
            status = int((status.get("code") if isinstance(status, dict) else status) or 200)
            role = "stream" if streamed else "response" if status >= 400 else kind[2] or "response"
            for role, text in ((kind[1], question), (role, answer)):
                if role and text and text.strip():
                    yield kind[0], role, text, f"{name} #{number}"


# ---- facts compared ----------------------------------------------------------------------------------------------------

def scalars(value):
    """Every leaf of a value as text, also of JSON that is written in a text."""
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in scalars(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in scalars(inner)]
    if isinstance(value, str) and value[:1] in ("{", "[", '"') and said.parsed(value) != value:
        return [value, *scalars(said.parsed(value))]
    return [value if isinstance(value, str) else json.dumps(value)]


def same(text):
    return "".join(str(text).split())


def same_call(one, other):
    """A tool of a group is called by both names, where there are no groups."""
    return one[3] == other[3] and (one[2] == other[2] or other[2].endswith(f"__{one[2]}"))


def pairing(facts):
    """Calls in order, and the results that answer each: by id, else the first open call of that name."""
    calls = [f.value for f in facts if f.kind == "call"]
    answers = defaultdict(list)
    for ident, name, value in (f.value for f in facts if f.kind == "result"):
        open_calls = [i for i, c in enumerate(calls) if (c[1] == ident if ident else (name is None or c[2] == name) and i not in answers)]
        # An id may come again in a later turn.
        number = next((i for i in open_calls if i not in answers), open_calls[-1] if open_calls else None)
        answers[number].append(value)
    return calls, answers


class Books:
    """What a report declares: leaves lost by path, and notes."""

    def __init__(self, report):
        self.lost = Counter({row["path"]: row["count"] for row in report["lost_paths"]})
        self.notes = [note["what"] for note in report["notes"]]

    def declare(self, fact):
        """Each declared leaf excuses one fact at its path, or those that hold it; losses at the end of a stream are by field."""
        for path in (*fact.paths, *FIELDS.get(fact.kind, ())):
            if self.lost[path] > 0:
                self.lost[path] -= 1
                return True
            if fact.kind in WIDE and any(gone.startswith((path + "/", path + "[")) for gone in self.lost):
                return True
        return any(re.search(NOTES[fact.kind], note) for note in self.notes) if fact.kind in NOTES else False


def missing(source, target, output):
    """The facts of the source that the target does not say."""
    leaves = scalars(output)
    words = "\n".join(leaves)
    flat = same(words)
    values = defaultdict(list)
    for fact in target:
        values[fact.kind].append(fact.value)
    calls, answers = pairing(source)
    calls_there, answers_there = pairing(target)
    for fact in source:
        kind, value, there = fact.kind, fact.value, values[fact.kind]
        if kind in ("text", "thought") and isinstance(value, tuple):
            fine = any(v[0] == value[0] and same(v[1]) == same(value[1]) for v in there)
        elif kind in ("text", "thought"):
            fine = same(value) in flat
        elif kind == "call":
            fine = any(c[0] == value[0] and same_call(value, c) and (value[1] == c[1] or None in (value[1], c[1])) for c in calls_there)
        elif kind == "result":
            mine = next((i for i, given in answers.items() if any(g is value[2] for g in given)), None)
            pair = [i for i, c in enumerate(calls_there) if mine is not None and same_call(calls[mine], c)]
            found = "\n".join(leaf for i in pair or list(answers_there) for given in answers_there[i] for leaf in scalars(given))
            fine = all(same(leaf) in same(found) for leaf in scalars(value[2]))
        elif kind == "media":
            fine = value in words or (unpacked(value) or value) in words
        elif kind == "state":
            fine = value in words or any(value in unpacked(leaf) for leaf in leaves)
        elif kind == "error":
            fine = value in words and "error" in values
        elif kind == "choice":
            # Whoever must call some tool, and has one, must call that one.
            fine = value in there or value == "any" and there == [tool[0] for tool in values["tool"]]
        elif kind == "n":
            fine = value == 1 or value in there
        elif kind in ("in", "out"):
            fine = value in there or value == 0
        elif kind == "stop" and not any(f.kind in ("text", "thought", "call", "state") for f in source):
            # An answer that says nothing has failed: P46 in docs/pitfalls.md.
            fine = value in there or "error" in values
        else:
            fine = value in there
        if not fine:
            yield fact


def unpacked(leaf):
    try:
        return base64.b64decode(leaf + "===").decode(errors="replace")
    except ValueError:
        return ""


def errors_of(dialect, role, text):
    """What does not fit the official types. A server's failure is no answer, and is not held against them."""
    if role == "stream":
        return pairs.stream_errors(dialect, text)
    body = json.loads(text)
    if role == "request":
        return pairs.request_errors(dialect, body)
    if role == "count" and dialect == "anthropic":
        return params.check(body, pairs.message_count_tokens_params.MessageCountTokensParams)
    if role == "count" and dialect == "openai-responses":
        return params.check(body, input_token_count_params.InputTokenCountParams)
    return pairs.response_errors(dialect, body) if role == "response" else []


def examine(job):
    """One body and one target: findings, and counts for the table."""
    dialect, role, path, target, report = job
    findings, counts = [], Counter(bodies=1)
    text, output = pathlib.Path(path).read_text(), pathlib.Path(report["output"]).read_text() if report.get("output") else ""
    try:
        source = said.facts(dialect, role, text)
    except Exception:
        return [("not read", "the recording is cut or is not this dialect")], counts
    if not output:
        return [("failed", str(report.get("error") or report)[:160])], counts
    try:
        wrong = errors_of(target, role, output)
        there = said.facts(target, role, output)
    except Exception as error:
        wrong, there = [f"{type(error).__name__}: {error}"], []
    counts["valid"] += not wrong
    if wrong:
        try:
            before = errors_of(dialect, role, text)
        except Exception as error:
            before = [repr(error)]
        findings.append(("invalid in the source too" if before else "invalid", wrong[0][:160]))
    if not report["adds_up"]:
        findings.append(("silent", "the books do not add up"))
    books = Books(report)
    body = said.events_of(output) if role == "stream" else json.loads(output)
    gone = list(missing(source, there, body))
    failed = any(f.kind == "error" for f in source)
    if not failed and any(f.kind == "error" for f in there):
        findings.append(("made an error", str([f.value for f in there if f.kind == "error"])))
    for column, kinds in COLUMNS.items():
        counts[column, "all"] += sum(f.kind in kinds for f in source)
        for fact in (f for f in gone if f.kind in kinds):
            counts[column, "gone"] += 1
            verdict = "declared" if books.declare(fact) else "silent"
            counts[verdict] += 1
            if verdict == "silent":
                others = [f.value for f in there if f.kind == fact.kind]
                findings.append((verdict, f"{fact.kind} {str(fact.value)[:70]!r} at {fact.paths[0]}; there: {str(others)[:90]}"))
    return findings, counts


# ---- the run -----------------------------------------------------------------------------------------------------------

def converted(binary, folder, out, target, options):
    """Reports by file name of one conversion of a whole folder."""
    report = out / "report.json"
    command = [binary, "convert", folder, "--to", target, "-o", out / "bodies", "--report", report, "--quiet", *options]
    subprocess.run(command, capture_output=True, check=False)
    read = json.loads(report.read_text())
    return {os.path.basename(row["input"]): row for row in read["files"] + [r for r in read["failed"] if isinstance(r, dict)]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", default="", help="targets, with commas between them")
    parser.add_argument("places", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    listed = json.loads(subprocess.run([args.bin, "dialects", "--json"], capture_output=True, check=True).stdout)
    written = {(d["name"], r["role"]) for d in listed for r in d["roles"] if r["write"]}
    read = {(d["name"], r["role"]) for d in listed for r in d["roles"] if r["read"]}
    targets = args.only.split(",") if args.only else DIALECTS
    with tempfile.TemporaryDirectory() as made, multiprocessing.Pool() as pool:
        made = pathlib.Path(made)
        found = {}
        for dialect, role, text, place in (row for given in args.places for row in bodies_of(given)):
            if (dialect, role) in read:
                name = hashlib.sha256(f"{dialect} {role} {text}".encode()).hexdigest()[:16]
                # Detection tells these three apart; for the others the user says what they are.
                folder = made / ("detected" if role in ("request", "response", "stream") else f"{dialect} {role}")
                if (folder, name) not in found:
                    folder.mkdir(exist_ok=True)
                    (folder / name).write_text(text)
                    found[folder, name] = dialect, role, place
        table, findings, jobs = defaultdict(Counter), defaultdict(list), []
        for folder in sorted({folder for folder, _ in found}):
            for target in targets:
                dialect, role = (folder.name.split() + [None])[:2]
                if role and (dialect == target or (target, role) not in written):
                    continue
                out = made / f"to {target} {folder.name}"
                out.mkdir()
                reports = converted(args.bin, folder, out, target, ["--from", dialect, "--role", role] if role else [])
                for (of, name), (dialect, role, place) in found.items():
                    if of != folder or dialect == target:
                        continue
                    report = reports.get(name, {"error": "not in the report"})
                    seen = report.get("from") or {}
                    kin = seen.get("dialect") == dialect or {seen.get("dialect"), dialect} <= set(pairs.CHAT)
                    if seen and (not kin or seen["role"] != role):
                        row = place, f"{seen['dialect']} {seen['role']}"
                        rows = findings["detected as another", dialect, role, "any"]
                        rows += [] if row in rows else [row]
                    else:
                        jobs.append(((dialect, role, place), (dialect, role, str(folder / name), target, report)))
        for (key, job), (found_here, counts) in zip(jobs, pool.imap(examine, [job for _, job in jobs], chunksize=64)):
            table[key[0], job[3], key[1]] += counts
            for kind, words in found_here:
                findings[kind, key[0], key[1], job[3]].append((key[2], words))
    for (kind, dialect, role, target), rows in sorted(findings.items()):
        print(f"{len(rows)} {kind}: {dialect} {role} -> {target}")
        for place, words in rows[:4]:
            print(f"    {words}\n        {place}")
    print(f"{'':<44}{'bodies':>7}{'valid':>7}" + "".join(f"{c:>13}" for c in COLUMNS) + f"{'declared':>10}{'silent':>8}")
    for (dialect, target, role), row in sorted(table.items()):
        cells = "".join(f"{row[c, 'all'] - row[c, 'gone']}/{row[c, 'all']}".rjust(13) for c in COLUMNS)
        print(f"{dialect + ' -> ' + target + ' ' + role:<44}{row['bodies']:>7}{row['valid']:>7}{cells}{row['declared']:>10}{row['silent']:>8}")
    total = sum(table.values(), Counter())
    bad = sum(len(rows) for (kind, *_), rows in findings.items() if kind in ("silent", "invalid", "failed"))
    print(f"{len(found)} bodies, {total['bodies']} conversions, {total['valid']} valid, {total['declared']} facts declared, {total['silent']} silent")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
