"""Mistakes planted in records: a counter that cannot find them counts nothing."""

import copy
import json
import pathlib
import sys
import tempfile

from compare import differences


def entries(record):
    """Every entry of a record, children included, with the list it stands in."""
    waiting = [(entry, record["session"]["entries"]) for entry in record["session"]["entries"]]
    while waiting:
        entry, around = waiting.pop(0)
        yield entry, around
        waiting += [(child, entry["children"]) for child in entry.get("children", [])]


def first(record, fits):
    return next(((entry, around) for entry, around in entries(record) if fits(entry)), (None, None))


def drops_a_text(record):
    entry, _ = first(record, lambda e: e["type"] in ("user", "assistant") and isinstance(e.get("content"), str) and e["content"])
    return entry and entry.pop("content")


def changes_a_text(record):
    entry, _ = first(record, lambda e: e["type"] in ("user", "assistant") and isinstance(e.get("content"), str) and e["content"])
    if entry:
        entry["content"] += "."
    return entry


def tells_a_text_twice(record):
    entry, around = first(record, lambda e: e["type"] == "assistant" and isinstance(e.get("content"), str) and e["content"])
    return entry and (around.append({"type": "assistant", "content": entry["content"]}) or True)


def gives_a_text_to_another(record):
    entry, _ = first(record, lambda e: e["type"] == "user" and isinstance(e.get("content"), str) and e["content"])
    if entry:
        entry["type"] = "assistant"
    return entry


def drops_reasoning(record):
    entry, around = first(record, lambda e: e["type"] == "reasoning" and e["content"])
    return entry and (around.remove(entry) or True)


def swaps_a_call_id(record):
    entry, _ = first(record, lambda e: e["type"] == "tool-result" and e.get("call-id"))
    if entry:
        entry["call-id"] += "0"
    return entry


def takes_the_mark_off_a_made_up_id(record):
    entry, _ = first(record, lambda e: e["type"] == "tool-call" and e.get("synthetic-call-id"))
    return entry and entry.pop("synthetic-call-id")


def takes_a_made_up_id_off_its_call(record):
    entry, _ = first(record, lambda e: e["type"] == "tool-call" and e.get("synthetic-call-id"))
    return entry and (entry.pop("synthetic-call-id"), entry.pop("call-id"))


def uses_a_made_up_id_again(record):
    calls = [e for e, _ in entries(record) if e["type"] == "tool-call" and e.get("synthetic-call-id")]
    if len(calls) > 1:
        calls[1]["call-id"] = calls[0]["call-id"]
    return calls[1:]


def changes_an_input(record):
    entry, _ = first(record, lambda e: e["type"] == "tool-call" and isinstance(e["input"], dict))
    if entry:
        entry["input"]["planted"] = 1
    return entry


def turns_is_error(record):
    entry, _ = first(record, lambda e: e["type"] == "tool-result" and "is-error" in e)
    if entry:
        entry["is-error"] = not entry["is-error"]
    return entry


def changes_an_exit_code(record):
    entry, _ = first(record, lambda e: e["type"] == "tool-result" and "exit-code" in e)
    if entry:
        entry["exit-code"] += 1
    return entry


def changes_an_outcome(record):
    entry, _ = first(record, lambda e: e["type"] == "tool-result" and e.get("status") in ("success", "error", "cancelled", "denied"))
    if entry:
        entry["status"] = "planted"
    return entry


def shortens_an_output(record):
    entry, _ = first(record, lambda e: e["type"] == "tool-result" and isinstance(e["output"], str) and e["output"])
    if entry:
        entry["output"] = entry["output"][:-1]
    return entry


def doubles_a_usage(record):
    entry, around = first(record, lambda e: e.get("token-usage", {}).get("output"))
    return entry and (around.append(
        {"type": "system-event", "event-type": "usage", "token-usage": entry["token-usage"]}) or True)


def drops_a_picture(record):
    def pictured(entry):
        return any(isinstance(entry.get(name), list) and any(p.get("type") == "media" for p in entry[name])
                   for name in ("content", "output"))
    entry, _ = first(record, pictured)
    for name in ("content", "output") if entry else ():
        if isinstance(entry.get(name), list):
            entry[name] = [part for part in entry[name] if part.get("type") != "media"]
    return entry


def moves_a_parent(record):
    entry, _ = first(record, lambda e: "parent-id" in e and "id" in e)
    if entry:
        entry["parent-id"] = entry["id"]
    return entry


def changes_an_id(record):
    entry, _ = first(record, lambda e: "id" in e)
    if entry:
        entry["id"] += "0"
    return entry


def changes_a_time(record):
    def says(entry):
        return entry["type"] in ("tool-call", "tool-result") or entry["type"] != "system-event" and entry.get("content")
    entry, _ = first(record, lambda e: "timestamp" in e and says(e))
    if entry:
        entry["timestamp"] = "2001-01-01T00:00:00Z"
    return entry


def hides_an_entry(record):
    entry, _ = first(record, lambda e: e["type"] in ("tool-call", "tool-result"))
    if entry:
        told = copy.deepcopy(entry)
        entry.clear()
        entry.update({"type": "system-event", "event-type": "hidden", "vendor-ext": {"vendor": "x", "data": told}})
    return entry


PLANTS = [
    drops_a_text, changes_a_text, tells_a_text_twice, gives_a_text_to_another, drops_reasoning, swaps_a_call_id, takes_the_mark_off_a_made_up_id,
    takes_a_made_up_id_off_its_call, uses_a_made_up_id_again, changes_an_input,
    turns_is_error, changes_an_exit_code, changes_an_outcome, shortens_an_output, doubles_a_usage, drops_a_picture, moves_a_parent, changes_an_id,
    changes_a_time, hides_an_entry]


def self_check(options, files):
    from count import Conversion, agent_of, load, read_log
    from record import Told
    planted, missed, names = {plant.__name__: 0 for plant in PLANTS}, 0, set()
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            values = load(path.read_bytes())
            agent = agent_of(values)
            done = Conversion(options.bin, path, pathlib.Path(folder)) if agent else None
            if not done or done.role != "log":
                continue
            names.add(agent.NAME)
            text = done.text()
            facts = read_log(agent, values)
            before = len(differences(facts, Told(text)))
            for plant in PLANTS:
                records = split(text)
                if not plant(records[0]):
                    continue
                planted[plant.__name__] += 1
                after = len(differences(facts, Told("\n".join(json.dumps(record) for record in records))))
                if after <= before:
                    missed += 1
                    print(f"not found: {plant.__name__} in {path}", file=sys.stderr)
    for name, count in planted.items():
        print(f"{name.replace('_', ' ')}: {count} times")
    never = [name for name, count in planted.items() if count == 0]
    print(f"{sum(planted.values())} mistakes planted in records of {len(names)} agents, {missed} not found")
    return 1 if missed or never else 0


def split(text):
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        value, at = decoder.raw_decode(text, at)
        found.append(value)
    return found
