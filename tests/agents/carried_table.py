"""The table of carried sessions in docs/testing.md: a row for each source, a column for each program, a mark for each session.

A run of some cells replaces the marks of those cells only. A session that was never run has the mark `-`.
"""

KINDS = ("generated", "odd", "real")
BEGIN, END = "<!-- carried:begin -->", "<!-- carried:end -->"


def read(text):
    """The marks in a document: {(source, target, kind): mark}."""
    marks, targets = {}, []
    for line in between(text).splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] == "source":
            targets = cells[1:]
        elif targets and not cells[0].startswith("--"):
            for target, cell in zip(targets, cells[1:]):
                if "/" in cell:
                    marks.update({(cells[0], target, kind): mark for kind, mark in zip(KINDS, cell.split("/")) if mark != "-"})
    return marks


def write(text, marks, sources, targets):
    """The document with the table of these marks."""
    lines = ["| source | " + " | ".join(targets) + " |", "|---|" + "---|" * len(targets)]
    for source in sources:
        cells = ["" if source == target else "/".join(marks.get((source, target, kind), "-") for kind in KINDS) for target in targets]
        lines.append(f"| {source} | " + " | ".join(cells) + " |")
    counts = [mark for mark in marks.values()]
    whole = sum(mark in ("ok", "act") for mark in counts)
    lines += ["", f"{len(counts)} of {sum(source != target for source in sources for target in targets) * len(KINDS)} sessions run, {whole} complete."]
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1]


def between(text):
    if BEGIN not in text or END not in text:
        raise ValueError(f"no `{BEGIN}` with its end")
    return text.split(BEGIN)[1].split(END)[0]


def update(path, matrix, sources, targets):
    """Puts the verdicts of a run into the table of a document."""
    text = path.read_text()
    marks = read(text)
    marks.update({(source, target, kind): verdict.mark() for (source, target, kind), verdict in matrix.items() if kind in KINDS})
    path.write_text(write(text, marks, sources, targets))
