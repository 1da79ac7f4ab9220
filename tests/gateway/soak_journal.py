"""The calls that the gateway has stored in its journal beside the SQLite database, read without code of Interlingua.

The folder `NAME-calls` has segments: a head, then entries with a length and a checksum (docs/store.md). An entry that is
not whole counts as missing. `soak_self_check.py` breaks segments on purpose.
"""

import pathlib
import struct
import zlib

HEAD = b"interlingua-calls 1\n"


class Entry:
    """The values of an entry that are not read yet."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, length):
        if self.at + length > len(self.data):
            raise ValueError("the entry ends too early")
        self.at += length
        return self.data[self.at - length:self.at]

    def number(self):
        return struct.unpack("<Q", self.take(8))[0]

    def text(self):
        return self.take(self.number()).decode()

    def optional(self, read):
        return read() if self.take(1) == b"\1" else None


def row_of(data):
    """The id of a call, and its status, the class of its failure and whether its client left."""
    entry = Entry(data)
    call, *_ = [entry.text() for _ in range(9)]
    _, _, failure, _, _ = [entry.optional(entry.text) for _ in range(5)]
    entry.take(3 * 8)
    status, *_ = [entry.optional(entry.number) for _ in range(7)]
    _, cancelled = entry.take(2)
    return call, (status, failure, cancelled)


def entries(data):
    """The whole entries at the start of these bytes, each with the place after it."""
    at = 0
    while at + 8 <= len(data):
        length, checksum = struct.unpack_from("<II", data, at)
        entry = data[at + 8:at + 8 + length]
        if not length or len(entry) < length or zlib.crc32(entry) != checksum:
            return
        at += 8 + length
        yield entry, at


class Journal:
    """The journal beside a database. Each read continues at the end of the read before it."""

    def __init__(self, database):
        self.folder = pathlib.Path(f"{database}-calls")
        self.segments = {}

    def find(self, call):
        """The row of a call, or `None` if no segment holds it."""
        self.read()
        for _, rows in self.segments.values():
            if call in rows:
                return rows[call]
        return None

    def read(self):
        paths = sorted(self.folder.glob("*.calls"))
        self.segments = {path: self.segments.get(path, (len(HEAD), {})) for path in paths}
        for path, (start, rows) in self.segments.items():
            try:
                with path.open("rb") as file:
                    if file.read(len(HEAD)) != HEAD:
                        continue
                    file.seek(start)
                    data = file.read()
            except FileNotFoundError:
                continue  # the gateway has transferred the segment
            end = 0
            for entry, end in entries(data):
                call, row = row_of(entry)
                rows[call] = row
            self.segments[path] = (start + end, rows)
