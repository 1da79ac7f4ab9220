"""The check of the check: requests broken on purpose. The judge must see each break."""

import json
import random

from judge import SHORT, Judge, brief, comparable, list_name, read_request, same_result, spaced
from sessions import CALL, RESULT, TEXT

MOST = 3  # of each kind of thing and each break


def unseen_breaks(expected, log, request, target, files):
    """A line for each break of a sound request that the judge does not see."""
    request = Judge(expected, log, request, target, files).request
    sent, draw, unseen = read_request(request, target), random.Random(1), []

    def is_seen(broken, body=request):
        return bool(Judge(expected, log, body, target, files).verdict(broken).faults)

    judge = Judge(expected, log, request, target, files)
    judge.verdict(sent)
    for name, act in BREAKS.items():
        for kind in (TEXT, CALL, RESULT):
            places = [at for at in dict.fromkeys(judge.found) if sent[at][1].kind == kind and is_plain(judge, at)]
            for at in draw.sample(places, min(MOST, len(places))):
                broken = act(judge, sent, at)
                if broken is not None and not is_seen(broken):
                    unseen.append(f"self-check: {name}, and no fault was seen: {brief(sent[at][1])}")
    # The same in the request itself: an entry is missing.
    entries = sorted({sent[at][0] for at in judge.found if is_plain(judge, at)})
    for entry in draw.sample(entries, min(MOST, len(entries))):
        body = dict(request)
        body[list_name(body)] = [one for number, one in enumerate(body[list_name(body)]) if number != entry]
        if not is_seen(read_request(body, target), body):
            unseen.append(f"self-check: entry {entry} dropped, and no fault was seen")
    # Words that must not be there.
    for what, texts in (("a system prompt", expected.system), ("an abandoned text", [] if judge.is_own else expected.abandoned)):
        texts = [text for text in texts if len(spaced(text)) > 20]
        if texts and not is_seen(sent + [(sent[-1][0], sent[0][1]._replace(kind=TEXT, value=("user", draw.choice(texts)), id=None))]):
            unseen.append(f"self-check: {what} told by the user, and no fault was seen")
    return unseen


def is_plain(judge, at):
    """Whether the loss of a thing can be told: a short or an empty text may be part of others."""
    thing = judge.sent[at][1]
    if thing.kind == TEXT:
        return len(spaced(thing.value[1])) > SHORT and sum(thing.value[1] == other.value[1] for _, other in judge.sent if other.kind == TEXT) == 1
    return thing.kind == CALL or any(spaced(text) for kind, text in thing.value if kind == TEXT)


def dropped(_, sent, at):
    return sent[:at] + sent[at + 1:]


def doubled(_, sent, at):
    return sent[:at + 1] + sent[at:]


def changed(_, sent, at):
    thing = sent[at][1]
    if thing.kind == TEXT:
        value = (thing.value[0], thing.value[1][::-1])
    elif thing.kind == CALL:
        value = (thing.value[0], json.dumps({**json.loads(thing.value[1]), "never": "asked"}))
    else:
        value = ((TEXT, "never said"),)
    return replaced(sent, at, thing._replace(value=value))


def from_the_other_side(_, sent, at):
    thing = sent[at][1]
    if thing.kind != TEXT or thing.value[0] not in ("user", "assistant"):
        return None
    other = "user" if thing.value[0] == "assistant" else "assistant"
    return replaced(sent, at, thing._replace(value=(other, thing.value[1])))


def exchanged(judge, sent, at):
    """Two things of a kind in each other's place; of two results the texts."""
    thing = sent[at][1]
    for other in judge.found:
        them = sent[other][1]
        if sent[other][0] == sent[at][0] or them.kind != thing.kind or not is_plain(judge, other) or is_alike(thing, them):
            continue
        if thing.kind == TEXT and thing.value[0] != them.value[0]:
            continue
        mine, theirs = (thing._replace(id=them.id), them._replace(id=thing.id)) if thing.kind == RESULT else (thing, them)
        return replaced(replaced(sent, at, theirs), other, mine)
    return None


def is_alike(one, other):
    if one.kind == TEXT:
        return spaced(one.value[1]) in spaced(other.value[1]) or spaced(other.value[1]) in spaced(one.value[1])
    if one.kind == CALL:
        return comparable(json.loads(one.value[1])) == comparable(json.loads(other.value[1]))
    texts = ["\n".join(text for _, text in thing.value) for thing in (one, other)]
    return same_result(*texts) or same_result(*reversed(texts))


def replaced(sent, at, thing):
    return sent[:at] + [(sent[at][0], thing)] + sent[at + 1:]


BREAKS = {
    "dropped": dropped, "doubled": doubled, "changed": changed, "told by the other side": from_the_other_side, "exchanged": exchanged}
