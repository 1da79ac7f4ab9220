"""Simple readers of Claude Code and Codex logs and of the requests both programs send, and the comparison of two of them.

Nothing here knows Interlingua: what a log says is found again with the standard library alone. Each reader gives a `Said`:
a list of things in the order in which they were said.
"""

import collections
import json
import re

TEXT, REASONING, CALL, RESULT, IMAGE = "text", "reasoning", "call", "result", "image"
KINDS = (TEXT, REASONING, CALL, RESULT, IMAGE)

# A thing: its kind, what is compared, and the id that ties a call to its result (None for anything else).
Thing = collections.namedtuple("Thing", "kind value id")


class Said:
    def __init__(self):
        self.things = []
        self.aside = collections.Counter()  # texts that are no part of the conversation, by where they stand

    def text(self, role, text):
        if isinstance(text, str) and text:
            self.things.append(Thing(TEXT, (role, text), None))

    def reasoning(self, text):
        if isinstance(text, str) and text:
            self.things.append(Thing(REASONING, text, None))

    def call(self, call_id, name, args):
        self.things.append(Thing(CALL, (name, canonical(args)), call_id))

    def result(self, call_id, parts):
        parts = [part for part in parts if part is not None]
        if all(part == (TEXT, "") for part in parts):
            parts = []
        self.things.append(Thing(RESULT, tuple(parts), call_id))

    def image(self, role, data):
        self.things.append(Thing(IMAGE, (role, data), None))

    def keys(self):
        """What is compared. A result is what it says and which call it answers: name, arguments, and the how-manieth such."""
        keys, calls, same, unnamed = [], {}, collections.Counter(), collections.deque()
        for thing in self.things:
            if thing.kind == CALL:
                same[thing.value] += 1
                call = (*thing.value, same[thing.value])
                if thing.id is None:
                    unnamed.append(call)
                else:
                    calls[thing.id] = call
                keys.append((CALL, thing.value))
            elif thing.kind == RESULT:
                call = calls.get(thing.id)
                if thing.id is None and unnamed:
                    call = unnamed.popleft()
                keys.append((RESULT, (call, thing.value)))
            else:
                keys.append((thing.kind, thing.value))
        return keys


def parse(text):
    """JSON in which a number keeps its spelling: 1 and 1.0 are not the same."""
    return json.loads(text, parse_float=lambda digits: {"number": digits})


def canonical(value):
    return json.dumps(value, sort_keys=True)


def lines_of(text):
    """The objects of a JSON lines file. Lines that are none are left out, as both programs do."""
    for line in text.split("\n"):
        try:
            value = parse(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def dialect_of(text):
    """`claude-code`, `codex` or None, by the first lines that tell."""
    for line in lines_of(text):
        kind = line.get("type")
        if kind == "session_meta" or (kind in ("response_item", "event_msg") and isinstance(line.get("payload"), dict)):
            return "codex"
        if kind in ("user", "assistant") and isinstance(line.get("message"), dict):
            # What Claude Code prints has the same lines with other names.
            return "claude-code" if "uuid" in line and "session_id" not in line else None
    return None


# ---- Claude Code -----------------------------------------------------------------------------------------------------


def read_claude_log(text, meta="user"):
    """`meta`: whose words a line is that the harness wrote (`isMeta`). In a log that the program wrote, what a subagent says
    beside the conversation is no part of it."""
    said = Said()
    lines = list(lines_of(text))
    is_main = any(line.get("type") in ("user", "assistant") and not line.get("isSidechain") for line in lines)
    if meta == "user":
        lines = on_the_chain(lines)
    for line in lines:
        kind, message = line.get("type"), line.get("message")
        if line.get("isSidechain") and is_main and meta == "user":
            said.aside["line of a subagent"] += 1
        elif kind in ("user", "assistant") and isinstance(message, dict):
            role = meta if kind == "user" and line.get("isMeta") else kind
            read_blocks(message.get("content"), role, said)
        elif kind == "attachment":
            attachment = line.get("attachment") or {}
            if attachment.get("type") == "queued_command":
                # What came while the agent worked stands nowhere else.
                read_blocks(attachment.get("prompt"), "user", said)
            elif line.get("rendered"):
                said.aside["attachment"] += len(line["rendered"])
        elif kind == "system" and isinstance(line.get("content"), str):
            said.aside["system line"] += 1
    return said


def on_the_chain(lines):
    """Without the lines of abandoned branches: those that the last line of the conversation does not hang on."""
    told = [line for line in lines if isinstance(line.get("uuid"), str) and not line.get("isSidechain")]
    by_id, chain, line = {line["uuid"]: line for line in told}, set(), told[-1] if told else None
    while line and line["uuid"] not in chain:
        chain.add(line["uuid"])
        line = by_id.get(line.get("parentUuid") or line.get("logicalParentUuid"))
    # Calls that were made at once, and their results, hang beside the chain.
    answers = {message_of(by_id[uuid]).get("id") for uuid in chain} - {None}
    chain |= {line["uuid"] for line in told if message_of(line).get("id") in answers}
    calls = {block.get("id") for uuid in chain for block in blocks_in(by_id[uuid]) if block.get("type") == "tool_use"}
    chain |= {line["uuid"] for line in told if any(block.get("tool_use_id") in calls for block in blocks_in(line))}
    return [line for line in lines if line.get("uuid") not in by_id or line["uuid"] in chain]


def message_of(line):
    return line["message"] if isinstance(line.get("message"), dict) else {}


def blocks_in(line):
    content = message_of(line).get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def read_blocks(content, role, said):
    """The blocks of a message, in a log or in a request."""
    if isinstance(content, str):
        return said.text(role, content)
    for block in content if isinstance(content, list) else []:
        kind = block.get("type")
        if kind == "text":
            said.text(role, block.get("text"))
        elif kind == "thinking":
            said.reasoning(block.get("thinking"))
        elif kind == "image":
            said.image(role, picture(block.get("source") or {}))
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            said.call(block.get("id"), block.get("name"), block.get("input"))
        elif isinstance(kind, str) and kind.endswith("tool_result"):
            said.result(block.get("tool_use_id"), claude_parts(block.get("content")))
        elif kind != "redacted_thinking":
            said.aside[f"block {kind}"] += 1


def claude_parts(content):
    """What a result says. What is neither text nor picture is a JSON value; if nothing else is there, all of it is one."""
    parts = [claude_part(part) for part in as_list(content)]
    return parts if any(kind != "json" for kind, _ in parts) or not parts else [("json", canonical(content))]


def claude_part(part):
    if isinstance(part, str):
        return (TEXT, part)
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text":
        return (TEXT, part.get("text"))
    if kind == "image":
        return (IMAGE, picture(part.get("source") or {}))
    return ("json", canonical(part))  # written as text, in whatever spelling


def picture(source):
    if source.get("type") == "base64":
        return f"data:{source.get('media_type')};base64,{source.get('data')}"
    return source.get("url") or f"file {source.get('file_id')}"


def as_list(content):
    if content is None:
        return []
    return content if isinstance(content, list) else [content]


def read_claude_request(body):
    """`POST /v1/messages`. Whatever comes before the messages is the program's own."""
    said = Said()
    for message in body.get("messages", []):
        read_blocks(message.get("content"), message.get("role"), said)
    return said


# ---- Codex -----------------------------------------------------------------------------------------------------------

PROMPT = "system prompt"  # no part of the conversation: each program has its own
ROLES = {"user": "user", "assistant": "assistant", "system": PROMPT, "developer": PROMPT}
VENDOR_CALLS = {"web_search_call": "web_search", "local_shell_call": "local_shell", "tool_search_call": "tool_search"}
INJECTED = ("<environment_context>", "<user_instructions>", "<turn_aborted>", "<skill>", "# AGENTS.md instructions")
OUTPUTS = ("function_call_output", "custom_tool_call_output", "tool_search_output", "function_result")
ECHOES = {"UserMessage": "user", "AgentMessage": "assistant", "Reasoning": REASONING}


def read_codex_log(text):
    """An echo (`event_msg`) is counted only where no item says the same; both are paired over the whole file."""
    lines = list(lines_of(text))
    items = collections.Counter()
    for line in lines:
        payload = item_of(line)
        if payload is not None:
            items.update(set(echoed_as(payload)))
    said, echoes, instructions = Said(), {}, set()
    for line in lines:
        payload = item_of(line)
        if line.get("type") == "session_meta":
            # What the model is told first. A fork has its parent's, too.
            text = ((line.get("payload") or {}).get("base_instructions") or {}).get("text")
            if text and text not in instructions:
                said.aside[PROMPT] += 1
            instructions.add(text)
        if payload is not None:
            read_item(payload, said)
        elif line.get("type") == "event_msg" and (line.get("payload") or {}).get("type") == "thread_rolled_back":
            typed = {event.get("message") for event in (line.get("payload") or {} for line in lines)
                     if event.get("type") == "user_message"}
            turns = [at for at, thing in enumerate(said.things) if thing.kind == TEXT and thing.value[1] in typed]
            del said.things[(turns[-line["payload"]["num_turns"]:] or [len(said.things)])[0]:]
        elif line.get("type") == "event_msg" and isinstance(line.get("payload"), dict):
            for form, voice, texts, images in shown(line["payload"]):
                left = echoes.setdefault(form, items.copy())
                if not texts:
                    continue
                if left[voice, "".join(texts)] > 0:
                    left[voice, "".join(texts)] -= 1
                    continue
                for one in texts:
                    said.reasoning(one) if voice == REASONING else said.text(voice, one)
                for image in images:
                    said.image(voice, image)
        elif line.get("type") == "compacted":
            said.text("user", (line.get("payload") or {}).get("message"))  # the summary
    return said


def item_of(line):
    if line.get("type") == "response_item":
        return line.get("payload") if isinstance(line.get("payload"), dict) else None
    # The oldest rollouts have items without an envelope.
    bare = "payload" not in line and line.get("type") in ("message", "reasoning", "function_call", "function_call_output")
    if "payload" not in line and "type" not in line and isinstance(line.get("content"), list):
        return {"type": "message", "role": "assistant", **line}  # a form that is described, and that nobody was seen to write
    return line if bare else None


def echoed_as(item):
    """The texts that an echo of this item may have: all of it, or one part (a message with a picture is echoed without
    the words that stand around the picture)."""
    kind = item.get("type")
    if kind == "message" and item.get("role") in ROLES:
        texts, voice = [text_of(part) for part in as_list(item.get("content"))], ROLES[item["role"]]
    elif kind == "reasoning":
        texts, voice = [text_of(part) for part in as_list(item.get("summary")) + as_list(item.get("content"))], REASONING
    else:
        return
    texts = [one for one in texts if one]
    yield voice, "".join(texts)
    for one in texts:
        yield voice, one


def text_of(part):
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type") in (
            "input_text", "output_text", "text", "Text", "summary_text", "reasoning_text"):
        return part.get("text")
    if isinstance(part, dict) and part.get("type") == "refusal":
        return part.get("refusal")
    return None


def shown(event):
    """(form, voice, texts, images) of an echo."""
    kind = event.get("type")
    if kind in ("user_message", "agent_message"):
        yield "old", "user" if kind == "user_message" else "assistant", [event.get("message")], event.get("images") or []
    elif kind in ("agent_reasoning", "agent_reasoning_raw_content"):
        yield "old", REASONING, [event.get("text")], []
    elif kind == "item_completed":
        item = event.get("item") or {}
        voice = ECHOES.get(item.get("type"))
        if voice == REASONING:
            texts = as_list(item.get("summary_text")) + as_list(item.get("raw_content"))
        elif voice:
            texts = [text_of(part) for part in as_list(item.get("content"))]
        else:
            return
        yield "new", voice, [one for one in texts if one], []


def read_item(item, said):
    """A `response_item`, in a log or in a request."""
    kind = item.get("type")
    if kind == "message" or (kind is None and "role" in item):
        read_parts(item.get("content"), voice_of(item), said)
    elif kind == "agent_message":
        read_parts(item.get("content"), "user", said)  # another agent: input to this one
    elif kind == "reasoning":
        for part in as_list(item.get("summary")) + as_list(item.get("content")):
            said.reasoning(text_of(part))
    elif kind == "function_call":
        said.call(item.get("call_id"), codex_name(item), arguments_of(item.get("arguments")))
    elif kind == "custom_tool_call":
        said.call(item.get("call_id"), codex_name(item), {"input": item.get("input")})
    elif kind in VENDOR_CALLS:
        action = item.get("action", item.get("arguments"))
        said.call(item.get("call_id"), VENDOR_CALLS[kind], arguments_of(action) if action is not None else {})
    elif kind == "image_generation_call":
        said.call(item.get("id"), "image_generation", {})
        image = item.get("result") and (IMAGE, f"data:image/png;base64,{item['result']}")
        said.result(item.get("id"), [(TEXT, item["revised_prompt"]) if item.get("revised_prompt") else None, image or None])
    elif kind in OUTPUTS:
        output = next((item[name] for name in ("output", "result", "tools") if name in item), None)
        parts = output if isinstance(output, list) and kind != "tool_search_output" else [output]
        said.result(item.get("call_id"), [codex_part(part) for part in parts if part is not None])
    else:
        said.aside[f"item {kind}"] += 1


def voice_of(message):
    """Whose words a message holds: what Codex itself puts there in the user's name is the harness's."""
    role = message.get("role")
    first = next((text_of(part) for part in as_list(message.get("content"))), None) or ""
    return "system" if role == "user" and first.startswith(INJECTED) else ROLES.get(role, role)


def read_parts(content, role, said):
    if role == PROMPT:
        said.aside[PROMPT] += 1
        return
    for part in as_list(content):
        text = text_of(part)
        if text is not None:
            said.text(role, text)
        elif isinstance(part, dict) and part.get("type") == "input_image":
            said.image(role, part.get("image_url"))
        elif isinstance(part, dict) and part.get("type") == "reasoning":
            said.reasoning(part.get("text"))
        elif isinstance(part, dict) and part.get("type") == "function_result":
            said.result(part.get("call_id"), [codex_part(part.get("result"))])
        elif isinstance(part, dict) and (part.get("type") in OUTPUTS or str(part.get("type")).endswith("_call")):
            read_item(part, said)
        else:
            said.aside[f"part {part.get('type') if isinstance(part, dict) else '?'} of a message"] += 1


def codex_name(item):
    """Claude Code has no groups of tools: the group's name stands before the tool's."""
    return f"{item['namespace']}__{item.get('name')}" if item.get("namespace") else item.get("name")


def arguments_of(arguments):
    """JSON in a string; a string that is no object is free text, which an API that takes objects only has as `input`."""
    if not isinstance(arguments, str):
        return arguments
    if not arguments:
        return {}
    try:
        value = parse(arguments)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"input": arguments}


def codex_part(part):
    text = text_of(part)
    if text is not None:
        return (TEXT, text)
    if isinstance(part, dict) and part.get("type") == "input_image":
        return (IMAGE, part.get("image_url"))
    return ("json", canonical(part))  # written as text, in whatever spelling


def read_codex_request(body):
    """`POST /v1/responses`."""
    said = Said()
    for item in body.get("input", []):
        read_item(item, said)
    return said


READ_LOG = {"claude-code": read_claude_log, "codex": read_codex_log}


# ---- comparison ------------------------------------------------------------------------------------------------------


class Compared:
    def __init__(self):
        self.expected = collections.Counter()
        self.found = collections.Counter()
        self.missing = []
        self.surplus = []
        self.order = None  # the first two that stand the wrong way round

    def faults(self):
        return len(self.missing) + len(self.surplus) + (self.order is not None)


def compare(source, target):
    """Whether everything of `source` is in `target`, as often and in the same order, as the same kind of thing, from the
    same voice."""
    result = Compared()
    wanted, given = source.keys(), target.keys()
    free = collections.defaultdict(collections.deque)
    for at, key in enumerate(given):
        free[key].append(at)
    places = []
    left = []
    for key in wanted:
        result.expected[key[0]] += 1
        result.expected[IMAGE] += images_in(key)
        if free[key]:
            places.append((free[key].popleft(), key))
            result.found[key[0]] += 1
            result.found[IMAGE] += images_in(key)
        else:
            left.append(key)
    unused = sorted(at for queue in free.values() for at in queue)
    for key in left:
        at = next((at for at in unused if respelled(key, given[at])), None)
        if at is None:
            result.missing.append(key)
        else:
            unused.remove(at)
            result.found[key[0]] += 1
            result.found[IMAGE] += images_in(key)
    result.surplus = [given[at] for at in unused]
    for (before, first), (after, second) in zip(places, places[1:]):
        if after < before:
            result.order = (first, second)
            break
    return result


def respelled(wanted, given):
    """Whether both are results of the same call that differ only in that a JSON value became text."""
    if wanted[0] != RESULT or given[0] != RESULT or wanted[1][0] != given[1][0] or len(wanted[1][1]) != len(given[1][1]):
        return False
    return all(want == got or (want[0] == "json" and got[0] == TEXT and is_json(want[1], got[1]))
               for want, got in zip(wanted[1][1], given[1][1]))


def is_json(wanted, text):
    try:
        return canonical(parse(text)) == wanted
    except ValueError:
        return False


def images_in(key):
    return sum(part[0] == IMAGE for part in key[1][1]) if key[0] == RESULT else 0


def brief(key, width=100):
    """A key in one line."""
    kind, value = key
    text = re.sub(r"\s+", " ", f"{kind}: {value!r}")
    text = text.encode("ascii", "backslashreplace").decode()
    return text if len(text) <= width else text[: width - 1] + "…"
