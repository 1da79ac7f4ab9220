"""OpenCode: documents of the storage one after the other, an export, a bare list of messages, or the lines that `run --format json`
prints."""

from facts import Facts, at, count_of, maps, moment, parse, text_of

NAME = "opencode"


def mine(values):
    first = values[0] if values else None
    if isinstance(first, list):
        marks = ("info", "tool_calls", "tool_responses", "metadata")
        return any(mark in message for message in maps(first) for mark in marks)
    return isinstance(first, dict) and "table" not in first and (
        isinstance(first.get("info"), dict) and isinstance(first.get("messages"), list)
        or isinstance(first.get("part"), dict) and "sessionID" in first or at(first, "type") == "error" and "sessionID" in first
        or at(first, "meta", "agent") == "opencode"
        or "worktree" in first or "projectID" in first
        or any(isinstance(v, dict) and "sessionID" in v and ("messageID" in v or "role" in v) for v in values[:50]))


def read(values):
    """Facts of each session by its id."""
    store = Store(values)
    return store.sessions


def around(messages):
    """A bare list of messages as the document that others have it in."""
    first = next(iter(maps(messages)), {})
    if "info" in first:
        return {"info": {"id": at(first, "info", "sessionID")}, "messages": messages}
    return {"messages": messages} if mine([messages]) else None


class Store:
    def __init__(self, values):
        self.sessions = {}
        self.roles = {}  # message id -> author: parts may stand before their message
        values = [around(value) if isinstance(value, list) else value for value in values]
        values = [value for value in values if isinstance(value, dict)]
        for value in values:
            for message in [value] + [at(m, "info") for m in maps(value.get("messages"))]:
                if isinstance(message, dict) and message.get("role") in ("user", "assistant") and "id" in message:
                    self.roles[message["id"]] = message["role"]
        for value in values:
            self.document(value)

    def facts(self, session):
        return self.sessions.setdefault(session, Facts())

    def document(self, value):
        if isinstance(value.get("info"), dict) and "messages" in value:
            facts = self.facts(value["info"].get("id"))
            facts.mention(value["info"].get("title"))
            for message in maps(value["messages"]):
                info = message.get("info") or {}
                self.message(info)
                for part in maps(message.get("parts")):
                    self.part(part, info.get("sessionID"), within=info)
        elif isinstance(value.get("messages"), list):
            for message in maps(value["messages"]):
                self.described(self.facts(None), message)
        elif isinstance(value.get("part"), dict):
            self.part(value["part"], value.get("sessionID"), printed=True)
        elif "messageID" in value:
            self.part(value, value.get("sessionID"))
        elif "role" in value and "sessionID" in value:
            self.message(value)
        elif value.get("type") == "error" and "sessionID" in value:
            self.facts(value["sessionID"]).mention(at(value, "error", "data", "message"))
        elif text_of(value.get("id")).startswith("ses"):
            self.facts(value["id"]).mention(value.get("title"))

    def message(self, info):
        facts = self.facts(info.get("sessionID"))
        if isinstance(info.get("id"), str):
            facts.stamp(info["id"], moment(at(info, "time", "created")), info.get("parentID"))
        facts.mention(at(info, "error", "data", "message"))
        facts.say("system", text_of(info.get("system")), moment(at(info, "time", "created")))
        if isinstance(info.get("tokens"), dict):
            self.spend(facts, info["tokens"])

    def spend(self, facts, tokens):
        cached, written = count_of(at(tokens, "cache", "read")), count_of(at(tokens, "cache", "write"))
        thought = count_of(tokens.get("reasoning"))
        facts.spend(input=count_of(tokens.get("input")) + cached + written, cached=cached, cache_write=written,
                    output=count_of(tokens.get("output")) + thought, reasoning=thought)

    def part(self, part, session, printed=False, within=None):
        facts, kind = self.facts(session), part.get("type")
        author = "assistant" if printed else self.roles.get(part.get("messageID"), "assistant")
        time = moment(at(part, "time", "start"))
        if isinstance(part.get("id"), str):
            # A part of an exported message is in its message, and its id in the line.
            (facts.silent_ids if within else facts.ids)[part["id"]] = time
            if not within:
                facts.parents[part["id"]] = part.get("messageID")
        if kind == "text":
            # In an export a text is content of its message, which has the time.
            time = moment(at(within, "time", "created")) if within else time
            facts.say(author, text_of(part.get("text")), time)
        elif kind == "reasoning":
            facts.think(text_of(part.get("text")), time)
        elif kind == "tool":
            self.tool(facts, part, part.get("state") or {})
        elif kind == "file":
            facts.show(text_of(part.get("url")))
        elif kind == "subtask":
            facts.mention(part.get("prompt"))
        elif kind == "retry":
            facts.mention(at(part, "error", "data", "message"))
        if printed and kind == "step-finish" and isinstance(part.get("tokens"), dict):
            self.spend(facts, part["tokens"])

    def tool(self, facts, part, state):
        start, end = moment(at(state, "time", "start")), moment(at(state, "time", "end"))
        facts.call(part.get("callID"), part.get("tool"), state.get("input"), start)
        if state.get("status") in ("completed", "error"):
            failed = state["status"] == "error"
            facts.outcomes.append((part.get("callID"), state["status"]))
            facts.result(part.get("callID"), text_of(state.get("error" if failed else "output")), failed,
                         at(state, "metadata", "exit"), end)
        for file in maps(state.get("attachments")):
            facts.show(text_of(file.get("url")))

    def described(self, facts, message):
        """The API-like form of the draft."""
        time = moment(message.get("timestamp"))
        facts.say(message.get("role"), text_of(message.get("content")), time)
        facts.think(text_of(at(message, "metadata", "thinking")), time)
        for call in maps(message.get("tool_calls")):
            facts.call(call.get("id"), at(call, "function", "name"), parse(at(call, "function", "arguments")), time)
        for answer in maps(message.get("tool_responses")):
            facts.outcomes.append((answer.get("tool_call_id"), answer.get("status")))
            facts.result(answer.get("tool_call_id"), answer.get("output"), answer.get("status") == "error", None, time)
