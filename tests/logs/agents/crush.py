"""Crush, as the documents that the converter makes of the sessions in its database. Results are rows with the role `tool`."""

from facts import Facts, at, count_of, maps, moment, parse, text_of

NAME = "crush"
RESTORED = False  # the converter reads these sessions and does not write them


def mine(values):
    return len(values) > 0 and isinstance(at(values[0], "crush"), dict) and isinstance(at(values[0], "rows"), list)


def read(values):
    found = {}
    for session in values:
        facts = Facts()
        row = at(session, "crush")
        facts.mention(row.get("title"))
        spent = {name: count_of(row.get(name)) for name in ("prompt_tokens", "completion_tokens")}
        if any(spent.values()) or row.get("cost"):
            facts.spend(input=spent["prompt_tokens"], output=spent["completion_tokens"])
        for message in maps(at(session, "rows")):
            one(facts, message)
        found[row.get("id")] = facts
    return found


def one(facts, row):
    author = {"user": "user", "tool": "user", "assistant": "assistant", "system": "system"}.get(row.get("role"))
    time, parts = moment(row.get("created_at")), row.get("parts")
    if author is None or not isinstance(parts, list):
        if isinstance(row.get("id"), str):
            facts.silent_ids[row["id"]] = time
        return
    if row.get("is_summary_message"):
        author = "user"  # the next request has the summary in the name of the user
    if isinstance(row.get("id"), str):
        facts.stamp(row["id"], time)
    for part in maps(parts):
        data = part.get("data")
        if isinstance(data, dict):
            piece(facts, part.get("type"), data, author, time)


def piece(facts, kind, data, author, time):
    if kind == "text":
        facts.say(author, text_of(data.get("text")), time)
    elif kind == "shell_command":
        facts.say(author, text_of(data.get("command")), time)
        facts.say(author, text_of(data.get("output")), time)
    elif kind == "reasoning":
        facts.think(text_of(data.get("thinking")), time)
    elif kind == "image_url":
        facts.show(data.get("url"))
    elif kind == "binary":
        facts.show(data.get("Data"))
    elif kind == "tool_call" and isinstance(data.get("name"), str):
        given = data.get("input")
        try:
            given = parse(given)
        except ValueError:
            pass  # a text that was cut off
        facts.call(data.get("id"), data["name"], given, time)
    elif kind == "tool_result" and isinstance(data.get("content"), str):
        facts.result(data.get("tool_call_id"), data["content"], data.get("is_error"), None, time)
        facts.show(data.get("data"))
    elif kind == "finish" and data.get("reason") == "error":
        facts.mention(data.get("details") or data.get("message"))
