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
        for record in documents(text):
            session = record["session"]
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
            facts.call(entry.get("call-id"), entry["name"], entry["input"], time)
        elif kind == "tool-result" and "part" in entry:
            # More of the result around it.
            call, text, *rest = facts.results.pop()
            facts.results.append((call, text + "".join(self.parts(entry["output"])), *rest))
        elif kind == "tool-result":
            text = "".join(self.parts(entry["output"]))
            error = entry.get("is-error")
            facts.result(entry.get("call-id"), text, error, entry.get("exit-code"), time)
            if "status" in entry:
                facts.outcomes.append((entry.get("call-id"), entry["status"]))
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
