#!/usr/bin/env python3
"""Whether a record says what the log said, counted by readers that share nothing with ours.

Converts every log with `interlingua convert --to record`, reads the log (agents/) and the record (record.py, plain JSON), and
compares: texts by author, calls with their input, results with their outcome, reasoning, pictures, ids, times, parents, tokens.
The log must come back byte for byte, nothing may be reported lost, and no record of a log above 20 KB is larger than 1.3 times.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # leave the tree as it was
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.setrecursionlimit(20_000)

from agents import AGENTS  # noqa: E402
from compare import brief, differences, merged  # noqa: E402
from facts import Facts, documents, lines  # noqa: E402
from record import Told  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "crates/interlingua/fixtures"
SMALL, MOST = 20_000, 1.3


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", type=pathlib.Path, help="logs, or folders of logs (default: our fixtures)")
    parser.add_argument("--bin", default=default_binary(), type=pathlib.Path, help="the interlingua command")
    parser.add_argument("--self-check", action="store_true", help="plant mistakes in records; each must be found")
    parser.add_argument("--examples", type=int, default=4, help="how many differences of a file to show")
    options = parser.parse_args()
    if not options.bin.is_file():
        sys.exit(f"{options.bin}: not found; `cargo build --release --package interlingua-cli` makes it")
    files = list(find(options.paths or [FIXTURES]))
    if options.self_check:
        from plant import self_check
        sys.exit(self_check(options, files))
    sys.exit(count_all(options, files))


def default_binary():
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/interlingua"


def find(paths):
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file.suffix in (".json", ".jsonl"):
                yield file


def load(data):
    """The JSON values of a log: its lines, or, where the first line is no value, documents one after the other."""
    values = lines(data)
    head = data.lstrip(b"\xef\xbb\xbf \r\n\t").split(b"\n", 1)[0]
    if not lines(head):
        values = documents(data.decode("utf-8", "replace"))
    return values


def agent_of(values):
    return next((agent for agent in AGENTS if agent.mine(values)), None)


def read_log(agent, values):
    if agent.TAKES_LISTS:
        return agent.read(values)
    return agent.read([value for value in values if isinstance(value, dict)])


class Conversion:
    """One log, its record and the report, as the command made them."""

    def __init__(self, binary, path, folder):
        self.binary, self.path = binary, path
        self.record, self.back = folder / "record.json", folder / "back"
        report = folder / "report.json"
        for file in (*folder.glob("record*.json"), self.back, report):
            file.unlink(missing_ok=True)
        self.run = self.command("convert", path, "--to", "record", "-o", self.record, "--report", report)
        self.report = {}
        if report.is_file():
            self.report = (json.loads(report.read_bytes()).get("files") or [{}])[0]

    def command(self, *arguments, stdin=None):
        return subprocess.run([self.binary, *arguments, "--quiet"], capture_output=True, timeout=300, input=stdin)

    @property
    def records(self):
        """The files of the records: one for each session of the log, and each one JSON document."""
        further = sorted(self.record.parent.glob("record-*.json"), key=lambda file: int(file.stem.split("-")[1]))
        return [file for file in [self.record, *further] if file.is_file()]

    def text(self):
        return "\n".join(file.read_text(encoding="utf-8") for file in self.records)

    def size(self):
        return sum(file.stat().st_size for file in self.records)

    @property
    def role(self):
        return (self.report.get("from") or {}).get("role")

    @property
    def dialect(self):
        return (self.report.get("from") or {}).get("dialect")

    def faults(self, is_restored):
        """What is wrong whatever the log says. The records of an agent whose log is not written give no log back."""
        found = []
        native = self.path.stat().st_size
        if self.report.get("lost") != 0 or not self.report.get("adds_up"):
            found.append(f"reported as lost: {self.report.get('lost')}; adds up: {self.report.get('adds_up')}")
        size = self.size()
        for file in self.records:
            try:
                json.loads(file.read_bytes())
            except ValueError as error:
                found.append(f"{file.name} is not one JSON document: {error}")
        if not is_restored:
            return found
        # Our own fixtures have short texts on purpose; what stands around them weighs more there.
        if native > SMALL and not self.path.resolve().is_relative_to(FIXTURES) and size > MOST * native:
            found.append(f"record is {size / native:.2f} times the log")
        records = b"".join(file.read_bytes() for file in self.records)
        done = self.command("convert", "-", "--from", "record", "--to", self.dialect, "-o", self.back, stdin=records)
        if done.returncode != 0:
            found.append(f"the way back failed ({done.returncode}): {brief(done.stderr.decode(errors='replace'))}")
        elif self.back.read_bytes() != self.path.read_bytes():
            found.append("the log that came back has other bytes")
        return found


def count_all(options, files):
    totals, bad, passed_over = collections.defaultdict(collections.Counter), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            answer = count_one(options.bin, path, pathlib.Path(folder))
            if answer is None:
                passed_over += 1
                continue
            name, figures, found, ratio = answer
            bad += bool(found)
            totals[name].update(figures)
            totals[name].update({"files": 1, "differences": len(found)})
            print(f"{name:12} {shown(path)}: {words(figures)}, record {ratio:.2f}x{': ' if found else ''}"
                  f"{f'{len(found)} differences' if found else ''}")
            for line in found[:options.examples]:
                print(f"    {line}")
            sys.stdout.flush()
    print()
    for name, figures in sorted(totals.items()):
        print(f"{name:12} {words(figures)}")
    print(f"{sum(t['files'] for t in totals.values())} logs, {bad} with differences; {passed_over} files are no logs")
    return 1 if bad or not totals else 0


def count_one(binary, path, folder):
    """Name of the agent, figures, differences and size, or nothing for a file that is no log."""
    data = path.read_bytes()
    values = load(data)
    agent = agent_of(values)
    done = Conversion(binary, path, folder)
    if agent is None and done.role != "log":
        return None
    if agent is None:
        return done.dialect, collections.Counter(), [f"read as {done.dialect}; no reader here knows it"], 0
    if done.run.returncode != 0:
        return agent.NAME, collections.Counter(), [f"exit code {done.run.returncode}: {brief(done.run.stderr.decode())}"], 0
    if done.role != "log":
        return None  # what a program printed looks like its log, and is read as that
    found = [] if done.dialect == agent.NAME else [f"taken for {done.dialect}"]
    found += done.faults(getattr(agent, "RESTORED", True))
    facts = read_log(agent, values)
    found += differences(facts, Told(done.text()))
    whole = facts if isinstance(facts, Facts) else merged(facts.values())
    found += reported(done.report.get("content") or {}, whole)
    return agent.NAME, whole.figures(), found, done.size() / max(1, len(data))


def reported(content, facts):
    """Where the sentence of the report counts otherwise. A message may have several texts, and a thought may be hidden."""
    exact = [("calls", len(facts.calls)), ("results", len(facts.results))]
    found = [f"{name} in the report: {content.get(name)}, in the log: {count}" for name, count in exact
             if content.get(name) != count]
    most = len(facts.said) + len(facts.media)
    if not min(1, len(facts.said)) <= content.get("messages", -1) <= most + len(facts.also):
        found.append(f"messages in the report: {content.get('messages')}, texts in the log: {len(facts.said)}")
    return found


def shown(path):
    path = path.resolve()
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def words(figures):
    return ", ".join(f"{count} {name}" for name, count in figures.items() if count) or "nothing"


if __name__ == "__main__":
    main()
