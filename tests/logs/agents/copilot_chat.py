"""Copilot Chat in VS Code: one document with requests. The rounds of the model are the answer; without rounds, the parts on the
screen are. A log of changes (one change in each line) is applied first."""


from facts import Facts, at, count_of, maps, moment, parse, text_of

NAME = "copilot-chat"
RESTORED = False  # the converter reads these sessions and does not write them


def mine(values):
    first = values[0] if values else None
    session = at(first, "v") if at(first, "kind") == 0 else first
    return isinstance(at(session, "requests"), list) and ("responderUsername" in session or "creationDate" in session)


def read(values):
    if at(values[0], "kind") == 0:
        values = [replayed(values)]
    facts = Facts()
    for session in values:
        for request in maps(at(session, "requests")):
            one(facts, request)
        facts.mention(at(session, "customTitle"))
    return facts


def replayed(changes):
    session = None
    for change in changes:
        kind, path = change.get("kind"), change.get("k") or []
        if kind == 0:
            session = change["v"]
            continue
        parent = session
        for step in path[:-1]:
            parent = parent[step]
        if kind == 2:
            if isinstance(parent, dict) and parent.get(path[-1]) is None:
                parent[path[-1]] = []
            whole = parent[path[-1]]
            whole[change.get("i", len(whole)):] = change.get("v") or []
        elif "v" in change:
            parent[path[-1]] = change["v"]
        elif isinstance(parent, dict):
            parent.pop(path[-1], None)
        else:
            parent[path[-1]] = None
    return session


def one(facts, request):
    message, time = request.get("message"), moment(request.get("timestamp"))
    text = message if isinstance(message, str) else at(message, "text")
    if not isinstance(text, str):
        facts.silent_ids[request.get("requestId")] = None  # a request of a form that no version is known to write
        return
    facts.stamp(request.get("requestId"), time)
    facts.say("user", text, time)
    for variable in maps(at(request, "variableData", "variables")):
        if variable.get("kind") == "image":
            facts.show(at(variable, "value", "$base64"))
    data = at(request, "result", "metadata")
    rounds = [one for one in maps(at(data, "toolCallRounds")) if one.get("response") or one.get("toolCalls") or one.get("thinking")]
    parts = list(maps(request.get("response")))
    if rounds:
        for one_round in rounds:
            spoken(facts, one_round, at(data, "toolCallResults") or {}, parts)
    else:
        shown(facts, request, parts)
    facts.mention(at(request, "result", "errorDetails", "message"))
    used = at(request, "result", "usage") or (data if at(data, "promptTokens") else request)
    if "promptTokens" in (used or {}):
        output = used.get("completionTokens", used.get("outputTokens"))
        facts.spend(input=count_of(used["promptTokens"]), output=count_of(output))


def spoken(facts, one_round, results, parts):
    time = moment(one_round.get("timestamp"))
    facts.stamp(one_round.get("id"), time)
    thought = one_round.get("thinking")
    facts.think(joined(thought if isinstance(thought, str) else at(thought, "text")), time)
    facts.say("assistant", text_of(one_round.get("response")), time)
    calls = list(maps(one_round.get("toolCalls")))
    for call in calls:
        facts.call(call.get("id"), call.get("name"), parse(call["arguments"]), time)
    for call in calls:
        content = list(maps(at(results.get(call.get("id")), "content")))
        if call.get("id") not in results:
            continue
        for part in content:
            facts.show(part.get("data"))
        part = next((p for p in parts if p.get("toolCallId") in (call["id"], call["id"].split("__vscode-")[0])), {})
        facts.result(call.get("id"), "".join(words(part) for part in content), *outcome(part))


def words(part):
    value = part.get("value")
    return value if isinstance(value, str) else tree(at(value, "node"))


def tree(node):
    if not isinstance(node, dict):
        return ""
    own = ("\n" if node.get("lineBreakBefore") else "") + node["text"] if "text" in node else ""
    return own + "".join(tree(child) for child in node.get("children") or [])


def outcome(part):
    return at(part, "resultDetails", "isError"), at(part, "toolSpecificData", "terminalCommandState", "exitCode")


def shown(facts, request, parts):
    """The parts of the screen. What is no text, thought or tool says nothing to the model."""
    time, tools, any_part = moment(request.get("responseTimestamp")), [], False
    for part in parts:
        kind = part.get("kind")
        if kind in (None, "markdownContent", "markdownVuln"):
            value = part.get("value", part.get("content"))
            text = value if isinstance(value, str) else text_of(at(value, "value"))
            any_part = any_part or bool(text)
            facts.say("assistant", text, time)
        elif kind == "thinking":
            any_part = True
            facts.think(joined(part.get("value")), time)
        elif kind == "toolInvocationSerialized":
            any_part = True
            tools.append(part)
            data = part.get("toolSpecificData") or {}
            given = at(part, "resultDetails", "input")
            given = parse(given) if given else data.get("rawInput") or data.get("commandLine") or data.get("command")
            facts.call(part.get("toolCallId"), part.get("toolId"), given, time)
    for part in tools:
        output = "".join(text_of(piece.get("value")) for piece in maps(at(part, "resultDetails", "output")))
        output += text_of(at(part, "toolSpecificData", "terminalCommandOutput", "text"))
        error, code = outcome(part)
        if output or error is not None or code is not None:
            facts.result(part.get("toolCallId"), output, error, code)
    if any_part and "responseId" in request:
        facts.stamp(request["responseId"], time)


def joined(text):
    return "".join(text) if isinstance(text, list) else text_of(text)
