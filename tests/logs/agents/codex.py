"""Codex CLI: rollouts. `response_item` lines are the conversation, `event_msg` lines repeat it for the screen."""

import re

from facts import Facts, at, count_of, maps, moment, parse, text_of

NAME = "codex"
ITEMS = {
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
    "local_shell_call", "local_shell_call_output", "web_search_call", "agent_message", "image_generation_call", "mcp_call"}
EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (\d+)$", re.M)


def mine(values):
    return any(at(v, "type") in ("session_meta", "response_item") and isinstance(at(v, "payload"), dict)
               or at(v, "record_type") == "state"
               or at(v, "type") in ("function_call", "local_shell_call") and "call_id" in v for v in values[:50])


def read(values):
    facts, ends = Facts(), {}
    echoes = Echoes(facts)
    used, total, records = [], None, {}
    own, foreign, turns = None, False, False
    for value in values:
        payload, kind, time = value.get("payload"), value.get("type"), moment(value.get("timestamp"))
        if not isinstance(payload, dict):
            item(facts, value, time, echoes)
            continue
        name = payload.get("type")
        if kind == "session_meta":
            # A fork begins with its own head and its parent's, then what the parent had said.
            own = own or text_of(payload.get("id"))
            foreign = payload.get("id") != own
            if not foreign:
                facts.say("system", text_of(at(payload, "base_instructions", "text") or payload.get("instructions")), time)
        elif kind == "response_item":
            item(facts, payload, time, echoes)
        elif kind == "compacted":
            facts.mention(payload.get("message"))
        elif kind == "token_usage_record":
            records[payload.get("response_id")] = payload.get("usage")
        elif kind == "event_msg":
            if name == "task_started" and isinstance(payload.get("turn_id"), str):
                # Ids hold the time they were made: turns of the fork sort after it.
                turns, foreign = True, foreign and payload["turn_id"] < own
            if name == "token_count":
                info = payload.get("info") or {}
                if info.get("last_token_usage") and info.get("total_token_usage") != total:
                    used.append((info["last_token_usage"], foreign))
                total = info.get("total_token_usage", total)
            echo(facts, payload, time, echoes, ends)
    echoes.rest(facts)
    facts.results = [outcome(result, ends.get(result[0], {})) for result in facts.results]
    for usage in records.values() if records else [usage for usage, copied in used if not (copied and turns)]:
        facts.spend(input=count_of(usage.get("input_tokens")), cached=count_of(usage.get("cached_input_tokens")),
                    cache_write=count_of(usage.get("cache_write_input_tokens")), output=count_of(usage.get("output_tokens")),
                    reasoning=count_of(usage.get("reasoning_output_tokens")))
    return facts


def item(facts, value, time, echoes):
    kind = value.get("type")
    name = value.get("id")
    echoes.nameless = False
    if kind in ("message", "reasoning"):
        time = echoes.beside(facts, value, time)
    if kind in ITEMS and isinstance(name, str):
        # Known gap: what the screen showed first, and without an id, is an entry that has begun when the id comes.
        (facts.silent_ids if echoes.nameless else facts.ids)[name] = time
    if kind in (None, "message", "agent_message"):
        role = value.get("role") or "assistant"
        if kind == "agent_message":
            role = "user"
        author = {"developer": "system"}.get(role, role)
        content = value.get("content")
        if isinstance(content, str):
            facts.say(author, content, time)
        for part in maps(content):
            block(facts, author, part, time)
    elif kind == "reasoning":
        for part in maps(value.get("summary")) + maps(value.get("content")):
            facts.think(text_of(part.get("text")), time)
    elif kind == "function_call":
        facts.call(value.get("call_id"), value.get("name"), arguments(value.get("arguments")), time)
    elif kind == "custom_tool_call":
        facts.call(value.get("call_id"), value.get("name"), value.get("input"), time)
    elif kind == "local_shell_call":
        facts.call(value.get("call_id") or name, "local_shell", value.get("action"), time)
    elif kind == "web_search_call":
        facts.call(None, "web_search", value.get("action"), time)
    elif kind == "image_generation_call":
        facts.ids.pop(name, None)  # it is the id of the call
        facts.call(name, "image_generation", None, time)
        facts.result(name, text_of(value.get("revised_prompt")), None, None, time)
        facts.show(value.get("result"))
    elif kind in ("function_call_output", "custom_tool_call_output", "local_shell_call_output"):
        output(facts, value, time)


def block(facts, author, part, time):
    kind = part.get("type")
    if kind in ("input_text", "output_text", "text", "refusal"):
        facts.say(author, text_of(part.get("text") or part.get("refusal")), time)
    elif kind == "input_image":
        facts.show(part.get("image_url"))
    elif kind == "reasoning":
        facts.think(text_of(part.get("text")), time)
    elif kind == "function_call":
        facts.call(part.get("call_id"), part.get("name"), arguments(part.get("arguments")), time)
    elif kind == "function_result":
        facts.result(part.get("call_id"), text_of(part.get("result")), None, None, time)


def arguments(value):
    """Arguments are JSON in a text; what does not parse stays the text."""
    try:
        return parse(value) if isinstance(value, str) else value
    except ValueError:
        return value


# What the program itself answers where a tool could not even be called.
REFUSED = ("unsupported call: ", "apply_patch verification failed", "Script failed\n")


def output(facts, value, time):
    given = value.get("output")
    text, code, error = given, None, None
    if isinstance(given, str):
        error = True if given.startswith(REFUSED) else None
        inner = arguments(given)
        if isinstance(at(inner, "output"), str) and isinstance(at(inner, "metadata"), dict):
            code = inner["metadata"].get("exit_code")
    elif isinstance(given, dict):
        text, error = text_of(given.get("content")), None if given.get("success") is None else not given["success"]
    else:
        for part in maps(given):
            facts.show(part.get("image_url"))
        text = "".join(text_of(part.get("text")) for part in maps(given))
        error = True if text.startswith(REFUSED) else None
    if code is None:
        found = EXIT.search(text.split("\nOutput:\n")[0])
        code = int(found[1]) if found else None
    facts.result(value.get("call_id"), text, error, code, time)


def echo(facts, payload, time, echoes, ends):
    kind, call = payload.get("type"), payload.get("call_id")
    if kind == "user_message":
        echoes.said("user", [payload.get("message")], time)
    elif kind == "agent_message":
        echoes.said("assistant", [payload.get("message")], time)
    elif kind in ("agent_reasoning", "agent_reasoning_raw_content"):
        echoes.said("thought", [payload.get("text")], time)
    elif kind == "exec_command_end":
        ends[call] = {"code": payload.get("exit_code")}
    elif kind == "patch_apply_end":
        ends[call] = {"error": not payload.get("success")}
    elif kind == "mcp_tool_call_end":
        ends[call] = {"error": "Err" in (payload.get("result") or {}) or at(payload, "result", "Ok", "isError") is True}
    elif kind == "dynamic_tool_call_response":
        ends[call] = {"error": not payload.get("success")}
    elif kind in ("error", "stream_error", "warning"):
        facts.mention(payload.get("message"))
    elif kind == "thread_name_updated":
        facts.mention(payload.get("thread_name"))
    elif kind == "item_completed":
        done = payload.get("item") or {}
        if done.get("type") == "CommandExecution":
            ends[done.get("id")] = {"code": done.get("exit_code")}
        elif done.get("type") == "FileChange":
            ends[done.get("id")] = {"error": done.get("status") not in ("completed", None)}
        elif done.get("type") in ("UserMessage", "AgentMessage"):
            author = "user" if done["type"] == "UserMessage" else "assistant"
            echoes.said(author, [part.get("text") for part in maps(done.get("content"))], time, "id" in done)
        elif done.get("type") == "Reasoning":
            echoes.said("thought", done.get("summary_text") or [], time, "id" in done)


def outcome(result, end):
    call, text, error, code, time = result
    code = end["code"] if end.get("code") is not None else code
    if error is None:
        error = end["error"] if "error" in end else None if code is None else code != 0
    return call, text, error, code, time


class Echoes:
    """What the screen showed. It stands before or after its item; an item shown first has the time of that line."""

    def __init__(self, facts):
        self.facts = facts
        self.shown = []  # [author, text, time, whether an item said it, whether the line has its id, how many things came before]
        self.nameless = False

    def said(self, author, texts, time, named=False):
        self.shown += [[author, text, time, False, named, len(self.facts.order)] for text in texts if isinstance(text, str) and text]

    def beside(self, facts, item, time):
        if item.get("type") == "reasoning":
            texts = [text_of(part.get("text")) for part in maps(item.get("summary")) + maps(item.get("content"))]
            author = "thought"
        else:
            author = {"developer": "system"}.get(item.get("role"), item.get("role"))
            content = item.get("content")
            texts = [content] if isinstance(content, str) else [text_of(part.get("text")) for part in maps(content)]
        first, self.nameless = None, False
        for one in self.shown:
            if not one[3] and one[0] == author and (one[1] in texts or one[1] == "".join(texts)):
                one[3], first, self.nameless = True, one[2] if first is None else first, not one[4]
        return time if first is None else first

    def rest(self, facts):
        """What no item said, before or after, was said by the screen alone."""
        told = {(author, text) for author, text, _ in facts.said} | {("thought", text) for text, _ in facts.reasoning}
        placed = 0
        for author, text, time, known, _, before in self.shown:
            if known or (author, text) in told:
                continue
            told.add((author, text))
            facts.think(text, time) if author == "thought" else facts.say(author, text, time)
            facts.order.insert(before + placed, facts.order.pop())
            placed += 1
