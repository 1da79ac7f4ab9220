#!/usr/bin/env python3
"""Sessions of nine agents, converted to each of twelve logs, resumed in the real programs.

Each program gets a converted session as `interlingua convert` wrote it, and one question; a scripted model on loopback answers and keeps the
request. Every text, call with its arguments, and result of the *source* file, read by the independent readers of tests/logs, must
be in that request: in order, once, from the same side. What a program itself leaves out or changes is listed in ACTS.

    python3 tests/agents/resume.py --corpus FOLDER            # three sessions of every source (ours, odd, a user's), in every program
    python3 tests/agents/resume.py --only kimi-cli:opencode   # SOURCE:TARGET, either may be empty
    python3 tests/agents/resume.py --carry                    # `interlingua continue` puts the sessions into their places
    python3 tests/agents/resume.py --carry --table docs/testing.md   # and puts the marks into the table of the document
    python3 tests/agents/resume.py --self-check               # requests broken on purpose: each break must be seen

The programs (3 GB) come from npm and PyPI into `--tools` and stay there.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave the tree as it was
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "logs"))

import carried_table  # noqa: E402
import count  # noqa: E402
from breaks import unseen_breaks  # noqa: E402
from expect import expected, in_folder, without_unknown_parts  # noqa: E402
from judge import ACTS, Verdict, judge, request_of, strings_in  # noqa: E402
from model import refused_messages  # noqa: E402
from odd import ODD  # noqa: E402
from programs import PROGRAMS, Failed, install, resume, resume_kimi_wire  # noqa: E402
from sessions import TEXT  # noqa: E402

ROOT = HERE.parents[1]
FIXTURES = ROOT / "crates/interlingua/fixtures"
LONGEST = 3 * 60 * 60  # seconds for everything

# Source: the session that is ours, and the one of a user, below the folder of the corpus. odd.py makes a third.
SESSIONS = {
    "claude-code": (HERE / "inputs/claude-code.jsonl", "logs/draft-samples/claude-opus-4-6.jsonl"),
    "codex": (HERE / "inputs/codex.jsonl", "logs/draft-samples/codex-gpt-5-2.jsonl"),
    "gemini-cli": (FIXTURES / "google/gemini_cli/2026-11/resumed.jsonl", "logs/draft-samples/gemini-gemini-3-pro-preview.jsonl"),
    "qwen-code": (FIXTURES / "google/qwen_code/2026-11/resumed.jsonl", "agents/qwen/chat-main.jsonl"),
    "opencode": (FIXTURES / "agents/opencode/2026-11/export.json", "agents/opencode/export-main.json"),
    "kimi-cli": (FIXTURES / "agents/kimi_cli/2026-11/wire.jsonl", "agents/kimi-cli/context-main.jsonl"),
    "kimi-code": (FIXTURES / "agents/kimi_code/2026-11/main.jsonl", "agents/kimi-code/wire-main.jsonl"),
    "pi": (FIXTURES / "agents/pi/2026-11/shapes.jsonl", "agents/pi/session-main.jsonl"),
    "copilot-cli": (FIXTURES / "agents/copilot_cli/2026-11/tools.jsonl", "agents/copilot/events-main.jsonl"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=count.default_binary(), type=pathlib.Path, help="the interlingua command")
    parser.add_argument("--tools", default=ROOT / "target/tools/agents", type=pathlib.Path, help="where the programs are kept")
    parser.add_argument("--corpus", default=os.environ.get("INTERLINGUA_CORPUS"), type=pathlib.Path, help="the folder of users' sessions")
    parser.add_argument("--only", action="append", default=[], help="SOURCE:TARGET; either may be empty; may be given again")
    parser.add_argument("--session", choices=("generated", "odd", "real"), help="only this session of each source")
    parser.add_argument("--log", action="append", default=[], help="SOURCE=FILE: this session instead of the table's; may be given again")
    parser.add_argument("--keep", type=pathlib.Path, help="leave sources, converted sessions and requests in this folder")
    parser.add_argument("--carry", action="store_true", help="sessions are put into their places by `interlingua continue`")
    parser.add_argument("--table", type=pathlib.Path, help="the document whose table gets the marks of this run (with `--carry`)")
    parser.add_argument("--self-check", action="store_true", help="also break each request on purpose; every break must be seen")
    options = parser.parse_args()
    if not options.bin.is_file():
        sys.exit(f"{options.bin}: not found; `cargo build --release --package interlingua-cli` makes it")
    if options.table and not options.carry:
        sys.exit("--table is the table of carried sessions: add --carry")
    cells = [(*session, program) for session in sessions(options) for program in PROGRAMS if wanted(session, program.dialect, options.only)
             and not (options.carry and session[0] == program.dialect)]
    for program in dict.fromkeys(program for *_, program in cells):
        install(program, options.tools)
    matrix, end, acts = {}, time.monotonic() + LONGEST, collections.Counter()
    for source, kind, path, program in cells:
        verdict = one_cell(path, source, program, options) if time.monotonic() < end else Verdict(faults=["no time left"])
        print(f"{source:11} -> {program.dialect:11} {kind:9} {verdict}", flush=True)
        acts.update(f"{program.dialect}: {act}" for act in verdict.acts)
        matrix[source, program.dialect, kind] = verdict
    if options.table:
        carried_table.update(options.table, matrix, list(SESSIONS), [program.dialect for program in PROGRAMS])
    sys.exit(show_matrix(matrix, acts))


def sessions(options):
    """(source, kind, path) of each session."""
    if options.log:
        given = [(log.partition("=")[0], pathlib.Path(log.partition("=")[2])) for log in options.log]
        return [(source, f"{path.parent.name}/{path.stem}", path) for source, path in given]
    found = []
    for source, (ours, real) in SESSIONS.items():
        found += [(source, "generated", ours), (source, "odd", None)] + ([(source, "real", options.corpus / real)] if options.corpus else [])
    return [session for session in found if options.session in (None, session[1])]


def wanted(session, target, filters):
    source, kind, _ = session
    if kind == "odd" and source == target:
        return False  # the program would get the same bytes back
    return not filters or any(
        part.partition(":")[0] in ("", source) and part.partition(":")[2] in ("", target) for part in filters)


def show_matrix(matrix, acts):
    """Prints a mark for each session: `ok`, `act` (complete but for a named act of the program) or the number of faults."""
    targets = list(dict.fromkeys(target for _, target, _ in matrix))
    print("\n" + f"{'source':11} " + " ".join(f"{target:>11}" for target in targets))
    for source in dict.fromkeys(source for source, _, _ in matrix):
        kinds = dict.fromkeys(kind for one, _, kind in matrix if one == source)
        marks = ["/".join(matrix[source, target, kind].mark() if (source, target, kind) in matrix else "-" for kind in kinds)
                 for target in targets]
        print(f"{source:11} " + " ".join(f"{mark:>11}" for mark in marks))
    for act, times in sorted(acts.items()):
        print(f"named act, in {times} sessions: {act}: {ACTS[tuple(act.split(': ', 1))]}")
    bad = sum(bool(verdict.faults) for verdict in matrix.values())
    print(f"{len(matrix)} sessions resumed, {len(matrix) - bad} complete, {bad} with faults")
    return 1 if bad or not matrix else 0


def one_cell(path, source, program, options):
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="resume-work-") as folder:
        # The session of somebody who worked in this folder: a program takes a session in the folder where it was held.
        cwd = pathlib.Path(folder).resolve() / "work"
        cwd.mkdir()
        if path is None:
            path = pathlib.Path(folder) / "odd" / source
            path.parent.mkdir()
            path.write_bytes(ODD[source]())
        try:
            verdict = resumed(path, in_folder(path.read_bytes(), cwd), source, program, cwd, options)
        except (Failed, OSError, ValueError, KeyError) as failure:
            verdict = Verdict([f"{type(failure).__name__}: {failure}"])
    verdict.seconds = time.monotonic() - start
    return verdict


def resumed(path, data, source, program, cwd, options):
    log = cwd.parent / path.name
    log.write_bytes(data)
    text = convert(options.bin, log, source, program.dialect)
    if source == program.dialect == "kimi-cli" and path.stem.startswith("wire"):
        return without_wire(path, text, program, cwd, options)
    for what, kept in (("log", data.decode(errors="replace")), ("converted", text)):
        keep(options, path, source, program, what, kept)
    try:
        run = resume(program, text, cwd, options.tools, carry(options.bin, log, source, program.dialect) if options.carry else None)
    except Failed as failure:
        if source == program.dialect == "opencode" and "Expected Part" in str(failure):
            verdict = resumed(path, without_unknown_parts(data), source, program, cwd, options)
            verdict.acts.add("refuses an unknown part")
            return verdict
        raise
    keep(options, path, source, program, "request.json", json.dumps(run.requests, indent=1))
    wanted_things, request, strings = expected(data, source, program.dialect), request_of(run.requests, program.dialect), log_strings(text)
    verdict = judge(wanted_things, strings, request, program.dialect, run.files)
    if wanted_things.is_compacted:
        verdict.acts.add("sends a summary alone")
    if source != program.dialect == "claude-code":  # it asks again without the reasoning that was refused
        verdict.faults += [fault for earlier in run.requests[:-1] for fault in refused_messages(earlier)]
    verdict.faults += [f"wanted to reach {host}" for host in run.outside if program.dialect not in REACHES_OUT]
    if options.self_check and not verdict.faults:
        verdict.faults += unseen_breaks(wanted_things, strings, request, program.dialect, run.files)
    return verdict


def without_wire(path, text, program, cwd, options):
    """Kimi CLI gets its own wire log: the request must hold nothing of it. Then the context log of the same session is resumed."""
    run = resume(program._replace(resume=resume_kimi_wire), text, cwd, options.tools)
    told = json.dumps(run.requests)
    faults = [f"the wire log was resumed, too: {thing.value[1][:60]!r}"
              for thing in expected(text.encode(), "kimi-cli", "claude-code").things if thing.kind == TEXT and json.dumps(thing.value[1])[1:-1] in told]
    context = path.with_name(path.name.replace("wire", "context"))
    verdict = resumed(context, in_folder(context.read_bytes(), cwd), "kimi-cli", program, cwd, options)
    verdict.faults += faults
    verdict.acts.add("resumes no wire log")
    return verdict


def log_strings(text):
    """The texts of a converted log, also those in JSON that is itself a text."""
    strings = [string for value in count.load(text.encode()) for string in strings_in(value)]
    for string in list(strings):
        if string.startswith(("{", "[")):
            try:
                strings += strings_in(json.loads(string))
            except ValueError:
                continue
    return strings


# Programs that try to fetch a list of models or a version, and go on without an answer.
REACHES_OUT = ("gemini-cli", "qwen-code", "opencode", "kimi-cli", "kimi-code", "copilot-cli", "droid", "cline")


def keep(options, path, source, program, what, text):
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        (options.keep / f"{source}.{path.parent.name}-{path.stem[:24]}.{program.dialect}.{what}").write_text(text)


def convert(binary, log, source, target):
    output = log.parent / "converted"
    done = subprocess.run([binary, "convert", "-q", "--from", source, "--to", target, "-o", output, log], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise Failed(f"convert: exit code {done.returncode}: {done.stderr[-300:]}")
    return output.read_text(encoding="utf-8")


def carry(binary, log, source, target):
    """A function that puts the session into a home by `interlingua continue`, and returns its id and its file."""
    def put(home, cwd):
        command = [binary, "continue", log, "-q", "--json", "--from", source, "--in", target, "--dir", cwd]
        done = subprocess.run(command, capture_output=True, text=True, env={"PATH": os.environ["PATH"], "HOME": str(home)})
        if done.returncode != 0:
            raise Failed(f"continue: exit code {done.returncode}: {done.stderr[-300:]}")
        session = json.loads(done.stdout)
        return session["id"], pathlib.Path(session["file"])
    return put


if __name__ == "__main__":
    main()
