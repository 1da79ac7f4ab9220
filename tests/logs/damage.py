#!/usr/bin/env python3
"""Whether damaged logs convert as docs/cli.md says: good lines told, bad ones kept, every byte given back, never a panic.

Makes damaged copies of every log (torn, NUL bytes, lines mixed, repeated, shuffled, ...), converts each to a record and back
with the command, and looks in the record for what the lines that are still whole say, read as in count.py.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from compare import brief, merged  # noqa: E402
from count import FIXTURES, agent_of, default_binary, find, load, read_log, shown  # noqa: E402
from facts import Facts, lines  # noqa: E402
from record import Told  # noqa: E402


def torn(data, _):
    """The program was killed while it wrote."""
    body = data.rstrip(b"\n")
    last = body.rfind(b"\n") + 1
    return body[:last + max(1, (len(body) - last) * 2 // 3)]


def torn_first(data, _):
    """The beginning was lost, as by a log that is rotated."""
    return data[max(1, data.find(b"\n") // 2):] if b"\n" in data.rstrip(b"\n") else data[: len(data) // 2]


def nul_block(data, _):
    """A disk that lost a block."""
    middle = len(data) // 2
    return data[:middle] + bytes(512) + data[middle + 512:]


def nul_line(data, dice):
    return inserted(data, dice, bytes(300))


def mixed(data, dice):
    """Two programs wrote at once: the halves of two lines change places."""
    rows = data.split(b"\n")
    for at in some(rows, dice, 3):
        one, two = rows[at], rows[at + 1]
        rows[at], rows[at + 1] = one[: len(one) // 2] + two[: len(two) // 2], one[len(one) // 2:] + two[len(two) // 2:]
    return b"\n".join(rows)


def repeated(data, dice):
    rows = data.split(b"\n")
    # A piece of a call's arguments has no id of its own: twice the same piece may be meant.
    for at in sorted((at for at in some(rows, dice, 4) if b'"ToolCallPart"' not in rows[at]), reverse=True):
        rows[at:at] = [rows[at]]
    return b"\n".join(rows)


def repeated_later(data, dice):
    rows = data.rstrip(b"\n").split(b"\n")
    return b"\n".join(rows + rows[1:][: len(rows) // 2]) + b"\n"


def windows(data, _):
    return data.replace(b"\n", b"\r\n")


def marked(data, _):
    """A byte order mark, as editors leave it."""
    return b"\xef\xbb\xbf" + data


def bad_text(data, dice):
    """Bytes that are no UTF-8 inside of strings."""
    places = [found.start(1) for found in re.finditer(rb'": ?"([a-zA-Z ]{6,})', data)]
    broken = bytearray(data)
    for at in dice.sample(places, min(3, len(places))):
        broken[at:at + 2] = b"\xff\xc3"
    return bytes(broken)


def shuffled(data, dice):
    rows = data.rstrip(b"\n").split(b"\n")
    dice.shuffle(rows)
    return b"\n".join(rows) + b"\n"


def reversed_lines(data, _):
    return b"\n".join(data.rstrip(b"\n").split(b"\n")[::-1]) + b"\n"


def unknown(data, dice):
    """A version of tomorrow."""
    line = b'{"type":"of_tomorrow","words":["of",{"tomorrow":null}],"id":"tomorrow-1"}'
    return inserted(data, dice, line)


def foreign(data, dice):
    """Values that are no objects."""
    return inserted(inserted(inserted(data, dice, b"[1,2]"), dice, b'"text"'), dice, b"null")


def gaps(data, dice):
    return inserted(inserted(data, dice, b""), dice, b"   \t")


def endless(data, _):
    """No line feed at the end, where there was one; one more, where there was none."""
    return data[:-1] if data.endswith(b"\n") else data + b"\n"


def everything(data, dice):
    for make in (unknown, mixed, repeated, nul_line, bad_text, gaps, windows, marked, torn):
        data = make(data, dice)
    return data


def inserted(data, dice, line):
    rows = data.split(b"\n")
    rows.insert(dice.randint(1, max(1, len(rows) - 1)), line)
    return b"\n".join(rows)


def some(rows, dice, most):
    places = [at for at in range(1, len(rows) - 2) if rows[at] and rows[at + 1]]
    return dice.sample(places, min(most, len(places)))


DAMAGES = [
    torn, torn_first, nul_block, nul_line, mixed, repeated, repeated_later, windows, marked, bad_text, shuffled, reversed_lines,
    unknown, foreign, gaps, endless, everything]
# Lines are gone, or stand elsewhere: only what those that are left say by themselves is looked for.
WHOLE = {windows, marked, gaps, endless}
LOSSY = {torn, torn_first, nul_block, mixed, bad_text, shuffled, reversed_lines, everything}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", type=pathlib.Path, help="logs, or folders of logs (default: our fixtures)")
    parser.add_argument("--bin", default=default_binary(), type=pathlib.Path, help="the interlingua command")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=3)
    options = parser.parse_args()
    tried, unrecognised, bad = collections.Counter(), collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        for path in find(options.paths or [FIXTURES]):
            data = path.read_bytes()
            agent = agent_of(load(data))
            first = Attempt(options.bin, path, pathlib.Path(folder), agent) if agent else None
            if not first or not first.known or first.code != 0 or first.source() != (agent.NAME, "log"):
                continue
            for make in DAMAGES:
                tried[make.__name__] += 1
                found, known = one(options, pathlib.Path(folder), path, agent, data, make)
                unrecognised[make.__name__] += not known
                bad += bool(found)
                for line in found[:options.examples]:
                    print(f"{make.__name__:14} {shown(path)}: {line}", flush=True)
    for name, count in tried.items():
        also = f", {unrecognised[name]} recognised only with --from" if unrecognised[name] else ""
        print(f"{name.replace('_', ' ')}: {count} copies{also}")
    print(f"{sum(tried.values())} damaged copies, {bad} with faults")
    sys.exit(1 if bad or not tried else 0)


class Attempt:
    def __init__(self, binary, path, folder, agent):
        self.binary, self.path, self.folder, self.known = binary, path, folder, True
        self.record, self.report = folder / "record.json", folder / "report.json"
        self.clear()
        self.code, self.talk = self.run("convert", path, "--to", "record", "-o", self.record, "--report", self.report)
        taken = self.source()[0] if self.code == 0 else None
        if self.code == 1 or taken != agent.NAME:
            self.known = False
            self.clear()
            self.code, self.talk = self.run(
                "convert", path, "--from", agent.NAME, "--to", "record", "-o", self.record, "--report", self.report)

    def run(self, *arguments, stdin=None):
        done = subprocess.run([self.binary, *arguments, "--quiet"], capture_output=True, timeout=300, input=stdin)
        return done.returncode, done.stderr

    def clear(self):
        for file in self.folder.glob("record*.json"):
            file.unlink()

    def records(self):
        """The text of the records: a log of several sessions becomes a file for each."""
        further = sorted(self.folder.glob("record-*.json"), key=lambda file: int(file.stem.split("-")[1]))
        return b"".join(file.read_bytes() for file in [self.record, *further])

    def source(self):
        """What the command took the file for."""
        told = json.loads(self.report.read_bytes())["files"][0]["from"]
        return told["dialect"], told["role"]


def one(options, folder, path, agent, data, make):
    damaged = make(data, random.Random(f"{options.seed} {path.name} {make.__name__}"))
    copy = folder / path.name
    copy.write_bytes(damaged)
    done, back = Attempt(options.bin, copy, folder, agent), folder / "back"
    if done.code not in (0, 1) or b"panicked" in done.talk:
        return [f"exit code {done.code}: {brief(done.talk.decode(errors='replace'))}"], True
    if done.code == 1:
        # Nothing that could be read is left: a document that was cut, for one.
        good = [value for value in good_values(data, damaged) if isinstance(value, dict)]
        return ([f"not read: {brief(done.talk.decode(errors='replace'))}"] if len(good) > 1 else []), done.known
    found = []
    if getattr(agent, "RESTORED", True):
        code, talk = done.run("convert", "-", "--from", "record", "--to", agent.NAME, "-o", back, stdin=done.records())
        if code != 0:
            return [f"the way back: exit code {code}: {brief(talk.decode(errors='replace'))}"], done.known
        found += [] if back.read_bytes() == damaged else ["other bytes came back"]
    told = Told(done.records().decode())
    # What keeps every line keeps all of the story; in documents lines mean nothing.
    lossy = make in LOSSY or not is_lines(data) and make not in WHOLE
    return found + missing(agent, good_values(data, damaged) if lossy else load(data), told, lossy, make), done.known


def is_lines(data):
    return bool(lines(data.split(b"\n", 1)[0]))


def good_values(data, damaged):
    """The lines that can still be read; of documents printed over many lines those that can."""
    if is_lines(data):
        return lines(damaged)
    found, begun = [], None
    rows = damaged.replace(b"\r\n", b"\n").split(b"\n")
    for at, row in enumerate(rows):
        if row.lstrip(b"\xef\xbb\xbf") == b"{":
            begun = at
        elif row == b"}" and begun is not None:
            found += lines(b" ".join(rows[begun:at + 1]))
            begun = None
    return found


def missing(agent, values, told, lossy, make):
    """What good lines say and the record does not."""
    if len(values) < 2:
        return []  # one document, damaged: there are no lines
    facts = read_log(agent, values)
    whole = facts if isinstance(facts, Facts) else merged(facts.values())
    ours = told.facts
    texts = {text for _, text, _ in ours.said}
    found = [f"text of a good line not told: {brief(text)}" for _, text, _ in whole.said
             if text not in told.leaves and text not in texts]
    # A history that was written again holds the heading of a thought and its text as one.
    thoughts = "\0".join(text for text, _ in ours.reasoning)
    found += [f"reasoning not told: {brief(text)}" for text, _ in whole.reasoning if text not in thoughts]
    results = {result[1] for result in ours.results}
    found += [f"result not told: {brief(r[:2])}" for r in whole.results if (r[1] or "") not in results]
    if not lossy:
        calls = {call[1:3] for call in ours.calls}
        found += [f"call not told: {brief(call[:3])}" for call in whole.calls if call[1:3] not in calls]
        # Copies that follow much later are counted: a record remembers the last responses only. So are those of lines
        # without any id, which two responses may have in common.
        for name in whole.usage if make is not repeated_later and (make is not repeated or whole.ids) else ():
            if ours.usage[name] != whole.usage[name]:
                found.append(f"usage: {name} {whole.usage[name]} in the log, {ours.usage[name]} in the record")
    return found


if __name__ == "__main__":
    main()
