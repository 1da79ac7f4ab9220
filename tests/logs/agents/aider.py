"""Aider, as the documents that the converter makes of the sessions in a chat history. Read from the printed text alone: the
members that the converter adds to it (counts, paths, models) are found again here."""

import re

from facts import Facts, at, maps, text_of

NAME = "aider"
RESTORED = False  # the converter reads these sessions and does not write them


def mine(values):
    return len(values) > 0 and isinstance(at(values[0], "aider"), dict) and isinstance(at(values[0], "entries"), list)


def read(values):
    facts = Facts()  # the sessions of a history have no ids
    for session in values:
        for entry in maps(at(session, "entries")):
            one(facts, entry)
    return facts


def one(facts, entry):
    kind, text = entry.get("kind"), text_of(entry.get("text"))
    if kind in ("user", "command"):
        facts.say("user", text)
    elif kind == "assistant":
        facts.think(text_of(entry.get("reasoning")))
        facts.say("assistant", text)
    elif kind in ("blank", "stopped", "console", "edit", "added", "version", "main-model", "exhausted", "tokens", "error"):
        facts.mention(text)
    if kind == "tokens":
        counts = {name: number(count) for count, name in re.findall(r"([\d.,]+k?) (sent|received|cache write|cache hit)", text)}
        # What was sent includes what the cache held.
        facts.spend(input=counts.get("sent"), output=counts.get("received"), cached=counts.get("cache hit"),
                    cache_write=counts.get("cache write"))


def number(printed):
    if printed.endswith("k"):
        return round(float(printed[:-1].replace(",", "")) * 1000)
    return int(printed.replace(",", ""))
