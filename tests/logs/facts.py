"""What a session says, whoever wrote it down: the common ground on which a log and its record are compared.

Both sides fill a `Facts`; nothing here knows an agent or the record. Texts are exact strings, JSON values are compared as
canonical JSON with numbers spelled as they stood.
"""

import collections
import datetime
import decimal
import json
import re

USAGE = ("input", "output", "cached", "cache-write", "reasoning")


class Facts:
    """One session. `None` for a time, an error flag or an exit code means: not told."""

    def __init__(self):
        self.said = []  # (author, text, time); authors: user, assistant, system
        self.reasoning = []  # (text, time)
        self.calls = []  # (call id, name, canonical input, time)
        self.results = []  # (call id, text, is error, exit code, time)
        self.outcomes = []  # (call id, the agent's own word for how it went)
        self.media = []  # base64 or address
        self.order = []  # the same things as they came: (kind, values)
        self.also = []  # texts that must stand somewhere in the canonical part: notices, summaries, titles
        self.ids = {}  # id of a message or an event -> time
        self.silent_ids = {}  # ids that the log has and a record may leave in its lines, with their parents
        self.parents = {}  # id -> id
        self.usage = collections.Counter()
        self.usage_told = False

    def say(self, author, text, time=None):
        if text:
            self.said.append((author, text, time))
            self.order.append(("text", author, text))

    def think(self, text, time=None):
        if text:
            self.reasoning.append((text, time))
            self.order.append(("reasoning", text))

    def call(self, call_id, name, arguments, time=None):
        self.calls.append((call_id, name, canonical(arguments), time))
        self.order.append(("call", call_id, name, canonical(arguments)))

    def result(self, call_id, text, error=None, exit_code=None, time=None):
        self.results.append((call_id, text, error, exit_code, time))
        self.order.append(("result", call_id, text))

    def show(self, picture):
        if picture:
            self.media.append(bare_media(picture))

    def mention(self, text):
        if isinstance(text, str) and text:
            self.also.append(text)

    def stamp(self, name, time=None, parent=None):
        self.ids[name] = time
        if parent is not None:
            self.parents[name] = parent

    def spend(self, **counts):
        self.usage_told = True
        for name, count in counts.items():
            self.usage[name.replace("_", "-")] += count or 0

    def figures(self):
        authors = collections.Counter(author for author, _, _ in self.said)
        counts = {
            "user": authors["user"], "assistant": authors["assistant"], "system": authors["system"], "calls": len(self.calls),
            "results": len(self.results), "failed": sum(bool(r[2]) for r in self.results), "thoughts": len(self.reasoning),
            "media": len(self.media), "ids": len(self.ids), "parents": len(self.parents),
            "tokens": sum(self.usage[name] for name in ("input", "output")),
        }
        return collections.Counter({name: count for name, count in counts.items() if count})


def canonical(value):
    return json.dumps(spelled(value), sort_keys=True, ensure_ascii=True)


def spelled(value):
    """Numbers as texts of their own kind: `1`, `1.0` and `"1"` are three things."""
    if isinstance(value, dict):
        return {key: spelled(part) for key, part in value.items()}
    if isinstance(value, list):
        return [spelled(part) for part in value]
    if isinstance(value, decimal.Decimal) or (isinstance(value, int) and not isinstance(value, bool)):
        return ["number", str(value)]
    return value


def parse(text):
    return DECODER.decode(text)


def number(text):
    return int(text) if len(text) < 400 else decimal.Decimal(text)


DECODER = json.JSONDecoder(parse_float=decimal.Decimal, parse_int=number)


def documents(text):
    """JSON documents one after the other, whatever stands between them."""
    at, found = 0, []
    while True:
        while at < len(text) and text[at] in " \t\r\n\ufeff\x00":
            at += 1
        if at == len(text):
            return found
        try:
            value, at = DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return found
        found.append(value)


def lines(data):
    """The JSON values of the lines that can be read; what cannot is damage."""
    found = []
    for index, line in enumerate(data.split(b"\n")):
        if index == 0 and line.startswith(b"\xef\xbb\xbf"):
            line = line[3:]
        line = line.strip(b" \t\r")
        if not line:
            continue
        try:
            found.append(parse(line.decode("utf-8")))
        except (ValueError, RecursionError):
            continue
    return found


def moment(value):
    """A time as nanoseconds since 1970: RFC 3339 text, or epoch milliseconds."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, decimal.Decimal)):
        return int(decimal.Decimal(value) * 1_000_000)
    found = TIME.fullmatch(value) if isinstance(value, str) else None
    if not found:
        return None
    try:
        day = datetime.datetime.fromisoformat(f"{found[1]}T{found[2]}+00:00")
    except ValueError:
        return None
    shift = 0
    if found[4] not in ("Z", "z"):
        hours, minutes = found[4][1:].split(":")
        shift = (int(hours) * 60 + int(minutes)) * (60 if found[4][0] == "+" else -60)
    fraction = int((found[3] or "0").ljust(9, "0")[:9])
    return (int(day.timestamp()) - shift) * 1_000_000_000 + fraction


TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)")


def seconds(value):
    """Epoch seconds with a fraction, as some agents write them."""
    return None if value is None else moment(decimal.Decimal(value) * 1000)


def bare_media(address):
    """The bytes of a `data:` address; any other address as it is."""
    found = re.match(r"data:[^,]*;base64,", address)
    return address[found.end():] if found else address


def at(value, *path):
    """The value below `path`, or nothing where any step is missing or of another kind."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def items(value):
    return value if isinstance(value, list) else []


def maps(value):
    return [part for part in items(value) if isinstance(part, dict)]


def text_of(value):
    return value if isinstance(value, str) else ""


def count_of(value):
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def strings(value):
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)
