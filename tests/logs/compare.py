"""Where a log and its record differ, each difference as a line of words."""

import collections

from facts import USAGE, Facts

LONG = 60  # characters from which a text that stands in two places is no chance


def differences(sessions, told):
    """`sessions`: the log's facts by session id, or one `Facts`. `told`: what the record says."""
    native = sessions if isinstance(sessions, Facts) else merged(sessions.values())
    found = list(told.faults)
    record = told.facts
    found += multiset("text", [(a, t) for a, t, _ in native.said], [(a, t) for a, t, _ in record.said])
    found += multiset("reasoning", [t for t, _ in native.reasoning], [t for t, _ in record.reasoning])
    found += multiset("call", [c[:3] for c in native.calls], [c[:3] for c in record.calls])
    found += multiset("result", [(r[0], r[1] or "") for r in native.results], [(r[0], r[1]) for r in record.results])
    found += multiset("media", native.media, record.media)
    found += times(native, record)
    found += outcomes(native, record)
    found += tree(native, record)
    found += [f"nowhere told: {brief(text)}" for text in sorted(set(native.also)) if not told.leaves[text]]
    found += twice(native, told)
    found += usage("usage", native.usage, record.usage)
    if not isinstance(sessions, Facts):
        for name, facts in sessions.items():
            if name is not None:
                found += usage(f"usage of {name}", facts.usage, told.sessions.get(name, collections.Counter()))
        lost = {name for name, facts in sessions.items() if name and facts.said} - set(told.sessions)
        found += [f"session without a record: {name}" for name in sorted(lost)]
    return found


def merged(parts):
    whole = Facts()
    for facts in parts:
        for name in ("said", "reasoning", "calls", "results", "outcomes", "media", "also"):
            getattr(whole, name).extend(getattr(facts, name))
        for name in ("ids", "silent_ids", "parents"):
            getattr(whole, name).update(getattr(facts, name))
        whole.usage.update(facts.usage)
    return whole


def multiset(what, native, record):
    native, record = collections.Counter(native), collections.Counter(record)
    missing, added = native - record, record - native
    return [f"{what} missing ({count}): {brief(value)}" for value, count in missing.items()] + [
        f"{what} added ({count}): {brief(value)}" for value, count in added.items()]


def times(native, record):
    """When things were said. What is not there at all was reported already."""
    found = []
    for what, key in (
        ("said", lambda item: item[:2]), ("reasoning", lambda item: item[:1]), ("calls", lambda item: item[:3]),
        ("results", lambda item: item[:2]),
    ):
        theirs, ours = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
        for item in getattr(native, what):
            theirs[key(item)][item[-1]] += item[-1] is not None
        for item in getattr(record, what):
            ours[key(item)][item[-1]] += 1
        for name, moments in theirs.items():
            missing = moments - ours[name]
            if missing and name in ours and ours[name]:
                found.append(f"time of {what} {dict(missing)} is {dict(ours[name])}: {brief(name)}")
    return found


def outcomes(native, record):
    found = []
    theirs, ours = collections.defaultdict(list), collections.defaultdict(list)
    for results, into in ((native.results, theirs), (record.results, ours)):
        for call, text, error, code, _ in results:
            into[call, text or ""].append((error, code))
    for name, told in theirs.items():
        for (error, code), (our_error, our_code) in zip(sorted(told, key=str), sorted(ours.get(name, []), key=str)):
            if bool(our_error) != bool(error) or (error is not None and our_error is None):
                found.append(f"is-error of a result: {error} in the log, {our_error} in the record: {brief(name)}")
            if our_code != code:
                found.append(f"exit code of a result: {code} in the log, {our_code} in the record: {brief(name)}")
    missing = collections.Counter(native.outcomes) - collections.Counter(record.outcomes)
    found += [f"outcome that the record does not tell: {brief(outcome)}" for outcome in missing]
    return found


def tree(native, record):
    found = [f"id missing: {name}" for name in native.ids if name not in record.ids]
    known = {**native.silent_ids, **native.ids}
    for name, time in record.ids.items():
        if name not in known:
            found.append(f"id that the log has not: {name}")
            continue
        # A message that was written again has several times.
        right = known[name] if isinstance(known[name], tuple) else (known[name],)
        if time not in right and (time is not None or name in native.ids) and None not in right:
            found.append(f"time of {name}: {known[name]} in the log, {time} in the record")
        above, steps = native.parents.get(name), 0
        # What became no entry of its own is stepped over.
        while above is not None and above not in record.ids and above in native.parents and steps < 100_000:
            above, steps = native.parents[above], steps + 1
        ours = record.parents.get(name)
        if ours != above and not (ours is None and above not in record.ids) and ours != native.parents.get(name):
            found.append(f"parent of {name}: {above} in the log, {ours} in the record")
    return found


def twice(native, told):
    expected = collections.Counter(text for _, text, _ in native.said)
    expected.update(text for text, _ in native.reasoning)
    expected.update(result[1] for result in native.results if result[1])
    expected.update(set(native.also))
    return [f"told {told.leaves[text]} times and not {count}: {brief(text)}" for text, count in expected.items()
            if len(text) >= LONG and told.leaves[text] > count]


def usage(what, native, record):
    return [f"{what}: {name} {native[name]} in the log, {record[name]} in the record"
            for name in USAGE if native[name] != record[name]]


def brief(value, most=150):
    text = repr(value) if not isinstance(value, str) else value
    text = text.encode("ascii", "backslashreplace").decode().replace("\n", "\\n")
    return text if len(text) <= most else f"{text[:most]}… ({len(text)})"
