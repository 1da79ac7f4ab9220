"""Copilot CLI: events, stored or printed. One answer may be several messages; hooks and model lines repeat the conversation."""

import collections

from facts import Facts, at, canonical, count_of, maps, moment, text_of

NAME = "copilot-cli"


def mine(values):
    return any(at(v, "type") in ("session.start", "user.message", "assistant.message", "assistant.turn_start")
               and isinstance(at(v, "data"), dict) for v in values[:50])


def read(values):
    facts, answers, records, totals, pieces = Facts(), {}, {}, [], {}
    whole = None
    for value in values:
        kind, data, time = value.get("type"), value.get("data"), moment(value.get("timestamp"))
        if not isinstance(data, dict):
            continue
        if isinstance(value.get("id"), str):
            # Printed runs hold thousands of transient lines; only stored ones are the session.
            into = facts.silent_ids if value.get("ephemeral") else facts.ids
            into[value["id"]] = time
            if isinstance(value.get("parentId"), str):
                facts.parents[value["id"]] = value["parentId"]
        if kind == "user.message":
            facts.say("user", text_of(data.get("content")), time)
            for file in maps(data.get("attachments")):
                facts.show(text_of(file.get("data")))
        elif kind == "system.message":
            facts.say("system", text_of(data.get("content")), time)
        elif kind == "system.notification":
            facts.say("user", text_of(data.get("content")), time)
        elif kind == "assistant.message":
            answer(facts, value, data, time, answers, pieces)
        elif kind == "tool.execution_complete":
            complete(facts, data, time)
        elif kind == "session.binary_asset":
            facts.show(text_of(data.get("data")))
        elif kind == "session.compaction_complete":
            facts.say("user", text_of(data.get("summaryContent")), time)
            used = data.get("compactionTokensUsed")
            if isinstance(used, dict):
                records[f"compaction {len(records)}"] = used
        elif kind in ("session.error", "session.info"):
            facts.mention(data.get("message"))
        elif kind == "session.usage_record" and isinstance(data.get("usage"), dict):
            usage = data["usage"]
            records[usage.get("apiCallId") or f"record {len(records)}"] = usage
        elif kind == "session.shutdown":
            # Older versions tell at their end what this run used, newer ones what all of them did.
            if "accountingSnapshot" not in data:
                run(totals, data.get("modelMetrics"), answers, records)
                answers, records = {}, {}
            whole = at(data, "accountingSnapshot", "modelMetrics")
    run(totals, whole, answers, records)
    for counts in totals:
        facts.spend(**counts)
    return facts


def answer(facts, value, data, time, answers, pieces):
    call = data.get("apiCallId")
    # Pieces of one answer are one message, which has the id and time of the first.
    if call is not None and call in pieces:
        facts.silent_ids[value["id"]] = facts.ids.pop(value["id"], time)
        time = pieces[call]
    elif call is not None:
        pieces[call] = time
    facts.say("assistant", text_of(data.get("content")), time)
    facts.think(text_of(data.get("reasoningText")), time)
    for request in maps(data.get("toolRequests")):
        facts.call(request.get("toolCallId"), request.get("name"), request.get("arguments"), time)
    if "outputTokens" in data:
        answers[call or data.get("messageId")] = (data.get("model"), count_of(data["outputTokens"]))


def complete(facts, data, time):
    result, error = data.get("result") or {}, data.get("error") or {}
    text = text_of(result.get("content")) or text_of(error.get("message"))
    if not text and "structuredContent" in result:
        text = canonical(result["structuredContent"])
    facts.result(data.get("toolCallId"), text, not data.get("success"), at(data, "shellExecution", "exitCode"), time)
    if isinstance(error.get("code"), str):
        facts.outcomes.append((data.get("toolCallId"), error["code"]))
    for part in maps(result.get("binaryResultsForLlm")):
        facts.show(part.get("data") or part.get("assetId"))


def run(totals, metrics, answers, records):
    """What one run of the program used: by its records and messages, and what its end tells beyond them."""
    told = collections.defaultdict(collections.Counter)
    for usage in records.values():
        told[usage.get("model")].update(counts(usage))
    for call, (model, output) in answers.items():
        if call not in records:
            told[model]["output"] += output
    for model, metric in (metrics or {}).items():
        for name, count in counts(at(metric, "usage") or {}).items():
            told[model][name] = max(told[model][name], count)
    totals.extend(told.values())


def counts(usage):
    return {ours: count_of(usage.get(theirs)) for ours, theirs in (
        ("input", "inputTokens"), ("output", "outputTokens"), ("cached", "cacheReadTokens"),
        ("cache_write", "cacheWriteTokens"), ("reasoning", "reasoningTokens"))}
