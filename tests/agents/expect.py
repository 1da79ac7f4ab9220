"""The history that a source log holds, found with the independent readers of tests/logs.

The history is the active branch alone: neither turns that were taken back nor the conversations of subagents. A summary that an agent
wrote about earlier turns is a text of the user.
"""

import collections
import copy
import hashlib
import json
import re

import count
from agents import AGENTS
from facts import Facts, at, maps, strings, text_of
from judge import OWN_CONTEXT, Expected, spaced
from sessions import CALL, RESULT, TEXT, Thing, on_the_chain

FOLDER = re.compile(rb'(?:"(?:cwd|directory|workDir|directories)": ?\[?"|Workspace Directories:\*\*\\n +- )(/[^"\\]+)')
WORKSPACE = re.compile(rb'("workspaceId": ?")wd_[^"]*_[0-9a-f]{12}"')


def in_folder(data, cwd):
    """The same session, held in the folder `cwd`. Kimi Code writes a hash of the folder into the log."""
    for folder, _ in collections.Counter(FOLDER.findall(data)).most_common(1):
        data = data.replace(folder, str(cwd).encode())
    return WORKSPACE.sub(rb'\1' + workspace_of(cwd).encode() + b'"', data)


def workspace_of(cwd):
    return f"wd_{cwd.name}_{hashlib.sha256(str(cwd).encode()).hexdigest()[:12]}"


def expected(data, source, target):
    """What a program that resumes the session must send."""
    values = [value for value in count.load(data) if isinstance(value, dict)]
    active = ACTIVE[source](copy.deepcopy(values)) if source in ACTIVE else values
    is_own = source == target
    after = AFTER_COMPACTION[source](active) if is_own and source in AFTER_COMPACTION else active
    tell = as_sent if is_own else as_told
    things, system = things_of([tell(value, source) for value in after], source)
    texts = [spaced(thing.value[1]) for thing in things if thing.kind == TEXT]
    abandoned = [thing.value[1] for thing in things_of(values, source)[0]
                 if thing.kind == TEXT and not any(spaced(thing.value[1]) in text for text in texts)]
    return Expected(source, things, system, abandoned, unsent(values, source), len(after) != len(active))


def things_of(values, source):
    """The things that values of a log hold, in order, and its system prompts."""
    facts = next(agent for agent in AGENTS if agent.NAME == source).read(values)
    if not isinstance(facts, Facts):
        facts = next(iter(facts.values()))
    things, system = [], []
    for kind, *values in facts.order:
        if kind == "text" and values[0] == "system":
            system.append(values[1])
        elif kind == "text":
            things.append(Thing(TEXT, (values[0], values[1]), None))
        elif kind == "call":
            things.append(Thing(CALL, (values[1], as_object(json.loads(values[2]))), values[0]))
        elif kind == "result":
            things.append(Thing(RESULT, as_text(values[1] or ""), values[0]))
    if source == "gemini-cli":
        things = without_superseded(things)
    return without_orphans(things), system


def without_superseded(things):
    """Gemini CLI writes the message about the session anew, under the same id, whenever the session is resumed."""
    is_context = [thing.kind == TEXT and thing.value[1].startswith("<session_context>") for thing in things]
    return [thing for at, thing in enumerate(things) if not (is_context[at] and any(is_context[at + 1:]))]


def without_orphans(things):
    """Results of calls that the source does not hold answer nothing."""
    calls, kept = collections.Counter(), []
    for thing in things:
        if thing.kind == CALL:
            calls[thing.id] += 1
        elif thing.kind == RESULT:
            if not calls[thing.id]:
                continue
            calls[thing.id] -= 1
        kept.append(thing)
    return kept


def as_object(arguments):
    """APIs take objects: a free text is their `input`."""
    arguments = plain(arguments)
    if arguments in (None, ""):
        return {}
    return arguments if isinstance(arguments, dict) else {"input": arguments}


def as_text(result):
    """A result that is a JSON value is spelled by facts.canonical."""
    try:
        value = json.loads(result) if result.startswith(("{", "[")) else None
    except ValueError:
        return result
    return json.dumps(plain(value)) if value is not None and canonical_json(value) == result else result


def canonical_json(value):
    return json.dumps(value, sort_keys=True, ensure_ascii=True)


def plain(value):
    """A value of facts.spelled, with numbers as numbers."""
    if isinstance(value, list) and len(value) == 2 and value[0] == "number":
        return float(value[1])
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return value


# ---- the active branch -----------------------------------------------------------------------------------------------


def chain(values, name, parent):
    """The values on the path from the last one that has an id to the root, and those that have no id."""
    by_id = {value[name]: value for value in values if isinstance(value.get(name), str)}
    last = next((value for value in reversed(values) if isinstance(value.get(name), str)), None)
    active = set()
    while last is not None and last[name] not in active:
        active.add(last[name])
        last = by_id.get(last.get(parent))
    return [value for value in values if name not in value or value[name] in active]


def active_claude(values):
    if all(value.get("isSidechain") for value in values if value.get("type") in ("user", "assistant")):
        values = [{**value, "isSidechain": False} for value in values]  # a subagent's own log
    return [value for value in on_the_chain([value for value in values if not value.get("isSidechain")]) if value.get("type") != "progress"]


def active_pi(values):
    if not any("parentId" in value for value in values):
        return values
    return chain([{**value, "id": None} if value.get("type") == "session" else value for value in values], "id", "parentId")


def active_opencode(values):
    """Without the messages that the user took back: the first of them and all after it."""
    for value in values:
        reverted = at(value, "info", "revert", "messageID")
        messages = value.get("messages")
        if reverted and isinstance(messages, list):
            names = [at(message, "info", "id") for message in messages]
            value["messages"] = messages[: names.index(reverted)] if reverted in names else messages
    return values


def active_copilot(values):
    return [value for value in values if not value.get("agentId")]


def active_kimi_cli(values):
    return [value for value in values if at(value, "message", "type") != "SubagentEvent"]


def active_gemini(values):
    """`$rewindTo` takes back the message of that id and all after it."""
    active = []
    for value in values:
        if "$rewindTo" in value:
            names = [one.get("id") for one in active]
            del active[names.index(value["$rewindTo"]) if value["$rewindTo"] in names else len(active):]
        active.append(value)
    return active


def without_turns(values, begins, taken_back):
    """`begins`: whether a value is the user's question; `taken_back`: how many turns a value takes back."""
    active, turns = [], []
    for value in values:
        for _ in range(taken_back(value) or 0):
            del active[turns.pop() if turns else len(active):]
        if begins(value):
            turns.append(len(active))
        active.append(value)
    return active


def active_codex(values):
    """A turn begins with a text that the user typed; Codex puts others in the user's name."""
    typed = {at(value, "payload", "message") for value in values if at(value, "payload", "type") == "user_message"}

    def begins(value):
        payload = value.get("payload") or {}
        text = "".join(text_of(part.get("text")) for part in maps(payload.get("content")))
        is_typed = text in typed if typed else not text.startswith(OWN_CONTEXT["codex"])
        return value.get("type") == "response_item" and payload.get("role") == "user" and is_typed

    def taken_back(value):
        payload = value.get("payload") or {}
        return payload.get("num_turns") if payload.get("type") == "thread_rolled_back" else 0
    return without_turns(values, begins, taken_back)


def active_kimi_code(values):
    def begins(value):
        return at(value, "message", "role") == "user" and at(value, "message", "origin", "kind") == "user"
    return without_turns(values, begins, lambda value: value.get("count") if value.get("type") == "context.undo" else 0)


ACTIVE = {
    "claude-code": active_claude, "codex": active_codex, "opencode": active_opencode, "pi": active_pi, "copilot-cli": active_copilot,
    "gemini-cli": active_gemini, "kimi-cli": active_kimi_cli, "kimi-code": active_kimi_code, "qwen-code": lambda values: chain(values, "uuid", "parentUuid"),
}


# ---- summaries -------------------------------------------------------------------------------------------------------


def as_told(value, source):
    """A compaction as the message that tells its summary to another agent."""
    if source == "kimi-code" and value.get("type") == "context.apply_compaction":
        summary = text_of(value.get("contextSummary")) or text_of(value.get("summary"))
        return {"type": "context.append_message", "message": {"role": "user", "content": summary}}
    if source == "codex" and value.get("type") == "compacted":
        content = [{"type": "input_text", "text": text_of(at(value, "payload", "message"))}]
        return {"type": "response_item", "payload": {"type": "message", "role": "user", "content": content}}
    return value


def as_sent(value, source):
    """OpenCode sends fixed texts for some parts of its own log."""
    if source == "opencode":
        for message in maps(value.get("messages")):
            message["parts"] = [{**part, "type": "text", "text": SENT_FOR[part["type"]]} if part.get("type") in SENT_FOR else part
                                for part in maps(message.get("parts"))]
    return value


SENT_FOR = {"subtask": "The following tool was executed by the user", "compaction": "What did we do so far?"}


def after_pi_compaction(values):
    """What Pi sends of a log of its own: the last summary, what it kept, and what came after."""
    last = max((at for at, value in enumerate(values) if value.get("type") == "compaction"), default=None)
    if last is None:
        return values
    names = [value.get("id") for value in values]
    kept = names.index(values[last].get("firstKeptEntryId")) if values[last].get("firstKeptEntryId") in names else last
    return [*values[:1], values[last], *values[max(kept, 1):last], *values[last + 1:]]


AFTER_COMPACTION = {"pi": after_pi_compaction}


# ---- what programs do not send of their own logs ---------------------------------------------------------------------


def unsent(values, source):
    """Texts that a log holds only for the screen (Codex), for the queue (Claude Code) or for the user (OpenCode)."""
    if source == "codex":
        items = {text for value in values if value.get("type") == "response_item" for text in strings(value.get("payload"))}
        shown = {text for value in values if value.get("type") == "event_msg" for text in strings(value.get("payload"))}
        return shown - items
    if source == "claude-code":
        queued = [value["attachment"] for value in values if at(value, "attachment", "type") == "queued_command"]
        return {text for attachment in queued for text in strings(attachment.get("prompt"))}
    if source == "opencode":
        parts = [part for value in values for message in maps(value.get("messages")) for part in maps(message.get("parts"))]
        return {text_of(part.get("text")) for part in parts if part.get("ignored") is True}
    return set()


# ---- parts that OpenCode refuses -------------------------------------------------------------------------------------

OPENCODE_PARTS = (
    "text", "reasoning", "file", "tool", "step-start", "step-finish", "snapshot", "patch", "agent", "subtask", "retry", "compaction")


def without_unknown_parts(data):
    """An export of OpenCode without the parts whose type OpenCode 1.18 does not know."""
    session = json.loads(data)
    for message in maps(session.get("messages")):
        message["parts"] = [part for part in maps(message.get("parts")) if part.get("type") in OPENCODE_PARTS]
    return json.dumps(session).encode()
