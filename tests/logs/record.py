"""What a record says outside of `vendor-ext`, read from docs/record.md and as plain JSON."""

import collections

from facts import USAGE, Facts, canonical, documents, moment, strings

# Events of the record's own vocabulary that stand for a conversation once more, in the agent's own form.
RETOLD = ("history",)


class Told:
    """The facts of all records in one file, each session's usage, and every text of the canonical parts."""

    def __init__(self, text):
        self.facts = Facts()
        self.sessions = {}  # session id -> usage
        self.leaves = collections.Counter()
        self.unparsed = 0
        self.faults = []  # what is wrong with the records, whatever the log says
        for record in documents(text):
            session = record["session"]
            self.calls, self.made_up = set(), set()  # ids of calls of this session, and those among them that are marked as ours
            self.usage = self.sessions.setdefault(session["session-id"], collections.Counter())
            title = ((session.get("vendor-ext") or {}).get("data") or {}).get("title")
            self.leaves.update(strings(title))
            for entry in session["entries"]:
                self.entry(entry, None, None)

    def entry(self, entry, enclosing, time):
        facts, kind = self.facts, entry["type"]
        own = moment(entry.get("timestamp"))
        time = time if own is None else own
        if "id" in entry:
            facts.stamp(entry["id"], own, entry.get("parent-id"))
        if kind in ("user", "assistant"):
            for text in self.parts(entry.get("content")):
                facts.say(kind, text, time)
        elif kind == "reasoning":
            for text in self.parts(entry["content"]):
                facts.think(text, time)
        elif kind == "tool-call":
            facts.call(self.call_id(entry), entry["name"], entry["input"], time)
        elif kind == "tool-result" and "part" in entry:
            # More of the result around it.
            call, text, *rest = facts.results.pop()
            facts.results.append((call, text + "".join(self.parts(entry["output"])), *rest))
        elif kind == "tool-result":
            text = "".join(self.parts(entry["output"]))
            error = entry.get("is-error")
            call_id = self.call_id(entry)
            facts.result(call_id, text, error, entry.get("exit-code"), time)
            if "status" in entry:
                facts.outcomes.append((call_id, entry["status"]))
            if isinstance(entry.get("outcome"), str):
                facts.outcomes.append((call_id, entry["outcome"]))
        elif kind == "system-event":
            self.event(entry, time)
        for name in ("content", "output", "subject"):
            self.leaves.update(strings(entry.get(name)))
        self.leaves.update(file["diff"] for file in entry.get("files", []) if "diff" in file)
        for part in entry.get("token-usage", {}).items():
            if part[0] in USAGE:
                facts.spend(**{part[0].replace("-", "_"): part[1]})
                self.usage[part[0]] += part[1]
        for child in entry.get("children", []):
            self.entry(child, entry, time)

    def call_id(self, entry):
        """The id of a call as the log has it: none, if the record marks its id as made up."""
        own, marked = entry.get("call-id"), entry.get("synthetic-call-id") is True
        is_call = entry["type"] == "tool-call"
        if own is None and is_call and entry["name"]:
            self.faults.append(f"call without an id: {entry['name']}")
        if marked and is_call and own in self.calls:
            self.faults.append(f"made-up id of two calls: {own}")
        if marked and not is_call and own not in self.calls:
            self.faults.append(f"made-up id of a result, but of no call: {own}")
        if not marked and own is not None and own in self.made_up:
            self.faults.append(f"made-up id without its mark: {own}")
        if is_call and own is not None:
            self.calls.add(own)
            if marked:
                self.made_up.add(own)
        return None if marked else own

    def event(self, entry, time):
        data = entry.get("data", {})
        if entry["event-type"] == "unparsed":
            self.unparsed += data.get("lines", 1)
            return
        if entry["event-type"] in ("system", "developer") and entry.get("notice") is not True:
            for text in self.parts(data.get("content")):
                self.facts.say("system", text, time)
        elif isinstance(data.get("content"), list):
            list(self.parts(data["content"]))  # its pictures
        for name, value in data.items():
            if name not in RETOLD:
                self.leaves.update(strings(value))

    def parts(self, content):
        """The texts of a content; pictures go to their place."""
        if isinstance(content, str):
            yield content
        elif isinstance(content, list) and content and all(isinstance(p, dict) and p.get("type") in PARTS for p in content):
            for part in content:
                if part["type"] in ("text", "summary", "refusal") and "text" in part:
                    yield part["text"]
                elif part["type"] == "media":
                    self.facts.show(part.get("data") or part.get("url") or part.get("file") or part.get("text"))
                elif part["type"] == "json":
                    yield canonical(next((v for k, v in part.items() if k != "type"), None))
        elif content is not None:
            yield canonical(content)


PARTS = {"text", "summary", "refusal", "media", "json", "arguments", "file", "citation", "cache"}
