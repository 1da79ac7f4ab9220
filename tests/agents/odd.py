"""Sessions with the oddities of real logs, one for each source, in the source's own spelling.

The same script for every agent: calls made at once whose results come in the order of completion, call ids used again and call ids that are
long, a system prompt, reasoning, a turn that was taken back, a compaction, one text twice, and a last call without a result. A log that
cannot hold one of these leaves it out. `expect.py` reads the expectation from the log like that of any other session.
"""

import json

TIME = "2026-11-16T10:07:{:02}.165Z"
MILLIS = 1794823631000
FOLDER = "/tmp/demo/repo"
PROMPT = "You are the agent of the source. Only its own harness may give this order to a model."
LONG = "call_" + "0123456789abcdef" * 4 + "|fc_" + "0123456789abcdef" * 2

# (act, values): a result names its call.
SCRIPT = [
    ("user", "Look at both files of the oddities, at once."),
    ("think", "Both calls are independent of each other."),
    ("say", "I look at the first and at the second file."),
    ("call", "c1", {"path": "first.txt", "lines": 3}),
    ("call", "c2", {"path": "second.txt"}),
    ("result", "c2", "the second file came first"),
    ("result", "c1", "the first file came second"),
    ("say", "Both files were read."),
    ("user", "Yes, please go on with it."),
    ("call", LONG, {"path": "third.txt"}),
    ("result", LONG, "the third file has a long name"),
    ("user", "This question was taken back by the user."),
    ("say", "This answer was taken back with its question."),
    ("call", "c3", {"path": "abandoned.txt"}),
    ("result", "c3", "a result that was taken back"),
    ("back", 1),
    ("user", "Yes, please go on with it."),
    ("call", "c1", {"path": "fourth.txt"}),
    ("result", "c1", "the fourth file under a used id"),
    ("say", "The id of that call was used before."),
    ("summary", "Summary of the turns so far: four files were read."),
    ("user", "And now the last file, please."),
    ("say", "The last call was never answered."),
    ("call", "c9", {"path": "last.txt"}),
]


def lines(values):
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values).encode()


def uuid(number):
    return f"00000000-0000-4000-8000-{number:012}"


def tree(spell, script=SCRIPT):
    """Lines of a log in which each line names its parent: a turn that was taken back is a branch that was left."""
    found, branch = [], []
    for number, (act, *values) in enumerate(script):
        if act == "back":
            starts = [at for at, (_, is_question) in enumerate(branch) if is_question]
            del branch[starts[-values[0]]:]
            continue
        line = spell(number, act, values, branch[-1][0] if branch else None)
        if line is not None:
            found.append(line)
            branch.append((uuid(number), act == "user"))
    return found


def flat(spell, script=SCRIPT):
    return [line for number, (act, *values) in enumerate(script) for line in [spell(number, act, values)] if line is not None]


def claude_code():
    def spell(number, act, values, parent):
        kind = "user" if act in ("user", "result", "summary") else "assistant"
        content = {
            "user": lambda text: text, "summary": lambda text: text, "say": lambda text: [{"type": "text", "text": text}],
            "think": lambda text: [{"type": "thinking", "thinking": text, "signature": "c2lnbmVk"}],
            "call": lambda name, args: [{"type": "tool_use", "id": name, "name": "Read", "input": args}],
            "result": lambda name, text: [{"type": "tool_result", "tool_use_id": name, "content": text}]}[act](*values)
        message = {"role": kind, "content": content}
        if kind == "assistant":
            message |= {"id": f"msg_{number}", "type": "message", "model": "claude-opus-5-5"}
        return {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": FOLDER, "sessionId": uuid(999), "version": "2.1.325",
                "type": kind, "message": message, "uuid": uuid(number), "timestamp": TIME.format(number),
                **({"isCompactSummary": True} if act == "summary" else {})}
    return lines(tree(spell))


def codex():
    def spell(number, act, values):
        item = {
            "user": lambda text: {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
            "say": lambda text: {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]},
            "think": lambda text: {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}], "encrypted_content": "c2VjcmV0"},
            "call": lambda name, args: {"type": "function_call", "name": "read_file", "arguments": json.dumps(args), "call_id": name},
            "result": lambda name, text: {"type": "function_call_output", "call_id": name, "output": text},
            "back": lambda turns: {"type": "thread_rolled_back", "num_turns": turns},
            "summary": lambda text: {"message": text}}[act](*values)
        kind = {"back": "event_msg", "summary": "compacted"}.get(act, "response_item")
        return {"timestamp": TIME.format(number), "type": kind, "payload": item}
    meta = {"id": uuid(999), "timestamp": TIME.format(0), "cwd": FOLDER, "originator": "codex_exec", "cli_version": "0.166.0",
            "base_instructions": {"text": PROMPT}}
    developer = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Another order: " + PROMPT}]}
    return lines([{"timestamp": TIME.format(0), "type": "session_meta", "payload": meta},
                  {"timestamp": TIME.format(0), "type": "response_item", "payload": developer}, *flat(spell)])


def gemini_cli():
    """Results are in the message of their call, which is written again; a resumed session writes its history again."""
    found, head = [], {"sessionId": uuid(999), "projectHash": "5f" * 32, "startTime": TIME.format(0), "lastUpdated": TIME.format(0), "kind": "main"}
    answers = {}
    script = [act for act in SCRIPT if act[0] != "summary"]
    for number, (act, *values) in enumerate(script):
        base = {"id": uuid(number), "timestamp": TIME.format(number)}
        if act == "user":
            found.append({**base, "type": "user", "content": [{"text": values[0]}]})
        elif act == "say":
            found.append({**base, "type": "gemini", "content": values[0], "thoughts": [], "model": "gemini-3.8-flash"})
        elif act == "call":
            call = {"id": f"{values[0]}-{number}", "name": "read_file", "args": values[1], "status": "executing"}
            answers[values[0]] = {**base, "type": "gemini", "content": "", "model": "gemini-3.8-flash", "toolCalls": [call]}
            found.append(answers[values[0]])
        elif act == "result":
            message = answers[values[0]]
            call = message["toolCalls"][0]
            response = {"functionResponse": {"id": call["id"], "name": "read_file", "response": {"output": values[1]}}}
            found.append({**message, "toolCalls": [{**call, "status": "success", "result": [response], "timestamp": TIME.format(number)}]})
        elif act == "back":
            question = [at for at, (earlier, *_) in enumerate(script[:number]) if earlier == "user"][-values[0]]
            found.append({"$rewindTo": uuid(question)})
    return lines([head, *found[:6], head, {"$set": {"messages": [found[0], found[1], found[4], found[5]]}}, *found[6:]])


def qwen_code():
    def spell(number, act, values, parent):
        if act == "summary":
            return None
        kind, role, part = {
            "user": lambda text: ("user", "user", {"text": text}), "say": lambda text: ("assistant", "model", {"text": text}),
            "think": lambda text: ("assistant", "model", {"text": text, "thought": True}),
            "call": lambda name, args: ("assistant", "model", {"functionCall": {"id": name, "name": "read_file", "args": args}}),
            "result": lambda name, text: (
                "tool_result", "user", {"functionResponse": {"id": name, "name": "read_file", "response": {"output": text}}})}[act](*values)
        return {"uuid": uuid(number), "parentUuid": parent, "sessionId": uuid(999), "timestamp": TIME.format(number), "type": kind,
                "cwd": FOLDER, "version": "0.24.4", "message": {"role": role, "parts": [part]}}
    return lines(tree(spell))


def opencode():
    """Every answer names its question as the parent: the tree is a star. The last turns were taken back."""
    messages, question, answers = [], None, {act[1]: act[2] for act in SCRIPT if act[0] == "result"}
    script = [act for act in SCRIPT if act[0] not in ("back", "summary", "result")]
    seen = {}
    for number, (act, *values) in enumerate([*script, ("user", "Never mind this last question of mine."), ("say", "An answer nobody wants.")]):
        name = f"msg_1de3f5d{number:04}Msg"
        info = {"id": name, "sessionID": "ses_e21c0a3a3ffevvO6K4wTYif3aG", "time": {"created": MILLIS + number}}
        part = {"id": f"prt_1de3f5d{number:04}Prt", "sessionID": info["sessionID"], "messageID": name}
        if act == "user":
            question = name
            info |= {"role": "user", "agent": "build", "model": {"providerID": "fake", "modelID": "fake-model"}}
            part |= {"type": "text", "text": values[0]}
        else:
            info |= {"role": "assistant", "parentID": question, "modelID": "fake-model", "providerID": "fake", "mode": "build", "agent": "build",
                     "path": {"cwd": FOLDER, "root": FOLDER}, "cost": 0, "finish": "stop",
                     "tokens": {"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}}
            info["time"]["completed"] = MILLIS + number
        if act in ("say", "think"):
            part |= {"type": "text" if act == "say" else "reasoning", "text": values[0], "time": {"start": MILLIS, "end": MILLIS}}
        elif act == "call":
            seen[values[0]] = seen.get(values[0], 0) + 1
            state = {"status": "completed", "input": values[1], "output": f"{answers[values[0]]} {seen[values[0]]}", "title": "", "metadata": {},
                     "time": {"start": MILLIS, "end": MILLIS}} if values[0] in answers else {
                         "status": "running", "input": values[1], "time": {"start": MILLIS}}
            part |= {"type": "tool", "tool": "read", "callID": values[0], "state": state}
        messages.append({"info": info, "parts": [part]})
    info = {"id": "ses_e21c0a3a3ffevvO6K4wTYif3aG", "slug": "odd-sailor", "projectID": "d171", "directory": FOLDER, "title": "Oddities",
            "version": "1.18.33", "revert": {"messageID": messages[-2]["info"]["id"]}, "time": {"created": MILLIS, "updated": MILLIS}}
    return json.dumps({"info": info, "messages": messages}).encode()


def kimi_cli():
    def spell(number, act, values):
        function = {"name": "ReadFile", "arguments": json.dumps(values[1])} if act == "call" else None
        return {
            "user": lambda text: {"role": "user", "content": text}, "say": lambda text: {"role": "assistant", "content": text},
            "think": lambda text: {"role": "assistant", "content": [{"type": "think", "think": text, "encrypted": None}]},
            "call": lambda name, _: {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "id": name, "function": function}]},
            "result": lambda name, text: {"role": "tool", "content": text, "tool_call_id": name}}[act](*values)
    # Kimi CLI cuts its context file where the user goes back, and after a compaction it holds only the summary.
    script = [act for act in SCRIPT if act[0] not in ("back", "summary")]
    script = [act for act in script if not any(word in str(act) for word in ("taken back", "abandoned"))]
    return lines([{"role": "_system_prompt", "content": PROMPT}, {"role": "_checkpoint", "id": 0}, *flat(spell, script)])


def kimi_code():
    def spell(number, act, values):
        def loop(event):
            return {"type": "context.append_loop_event", "agentId": "main", "event": event, "time": MILLIS + number}
        return {
            "user": lambda text: {"type": "context.append_message", "agentId": "main", "time": MILLIS + number, "message": {
                "role": "user", "content": [{"type": "text", "text": text}], "id": f"msg_{number}", "toolCalls": [], "origin": {"kind": "user"}}},
            "say": lambda text: loop({"type": "content.part", "uuid": f"p{number}", "stepUuid": "s", "part": {"type": "text", "text": text}}),
            "think": lambda text: loop({"type": "content.part", "uuid": f"p{number}", "stepUuid": "s", "part": {"type": "think", "think": text}}),
            "call": lambda name, args: loop({
                "type": "tool.call", "uuid": f"t{number}", "stepUuid": "s", "toolCallId": name, "name": "Read", "args": args}),
            "result": lambda name, text: loop({"type": "tool.result", "parentUuid": "t", "toolCallId": name, "result": {"output": text}}),
            "back": lambda turns: {"type": "context.undo", "agentId": "main", "count": turns, "time": MILLIS + number},
            "summary": lambda text: {"type": "context.apply_compaction", "agentId": "main", "summary": text, "compactedCount": 9,
                                     "tokensBefore": 9, "tokensAfter": 1, "time": MILLIS + number}}[act](*values)
    return lines([{"type": "metadata", "protocol_version": "1.5", "created_at": MILLIS},
                  {"type": "profile.bind", "agentId": "main", "modelAlias": "m", "profileName": "agent", "thinkingEffort": "on",
                   "systemPrompt": PROMPT, "time": MILLIS}, *flat(spell)])


def pi():
    def spell(number, act, values, parent):
        base = {"id": uuid(number), "parentId": parent, "timestamp": TIME.format(number)}
        if act == "summary":
            return {"type": "compaction", **base, "summary": values[0], "firstKeptEntryId": uuid(0), "tokensBefore": 9}
        message = {
            "user": lambda text: {"role": "user", "content": text},
            "say": lambda text: {"role": "assistant", "content": [{"type": "text", "text": text}]},
            "think": lambda text: {"role": "assistant", "content": [{"type": "thinking", "thinking": text}]},
            "call": lambda name, args: {"role": "assistant", "content": [{"type": "toolCall", "id": name, "name": "read", "arguments": args}]},
            "result": lambda name, text: {"role": "toolResult", "toolCallId": name, "toolName": "read", "isError": False,
                                          "content": [{"type": "text", "text": text}]}}[act](*values)
        return {"type": "message", **base, "message": message}
    return lines([{"type": "session", "version": 3, "id": uuid(999), "timestamp": TIME.format(0), "cwd": FOLDER}, *tree(spell)])


def copilot_cli():
    script = [act for act in SCRIPT if act[0] not in ("back", "think")]
    script = [act for act in script if not any(word in str(act) for word in ("taken back", "abandoned"))]

    def spell(number, act, values):
        kind, data = {
            "user": lambda text: ("user.message", {"content": text, "messageId": uuid(500 + number)}),
            "say": lambda text: ("assistant.message", {"messageId": uuid(500 + number), "content": text, "toolRequests": []}),
            "call": lambda name, args: ("assistant.message", {"messageId": uuid(500 + number), "content": "", "toolRequests": [
                {"toolCallId": name, "name": "view", "arguments": args, "type": "function"}]}),
            "result": lambda name, text: ("tool.execution_complete", {"toolCallId": name, "success": True, "result": {"content": text}}),
            "summary": lambda text: ("session.compaction_complete", {"success": True, "summaryContent": text})}[act](*values)
        return {"type": kind, "data": data, "id": uuid(number), "timestamp": TIME.format(number), "parentId": uuid(number - 1 if number else 900)}
    start = {"sessionId": uuid(999), "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.102", "startTime": TIME.format(0),
             "context": {"cwd": FOLDER}}
    system = {"role": "system", "content": PROMPT}
    return lines([
        {"type": "session.start", "data": start, "id": uuid(901), "timestamp": TIME.format(0), "parentId": None},
        {"type": "system.message", "data": system, "id": uuid(900), "timestamp": TIME.format(0), "parentId": uuid(901)}, *flat(spell, script)])


ODD = {
    "claude-code": claude_code, "codex": codex, "gemini-cli": gemini_cli, "qwen-code": qwen_code, "opencode": opencode, "kimi-cli": kimi_cli,
    "kimi-code": kimi_code, "pi": pi, "copilot-cli": copilot_cli}
