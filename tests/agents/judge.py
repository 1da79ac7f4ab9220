"""Whether the request of a program holds what the source log holds, and which acts of a program explain a difference.

The expectation comes from the source, the request from the program. Every text, call and result of the source must be in the request: in
order, as often as in the source, from the same side, and each result at its call. An act counts only if the converted log holds the value
whole and the request has the trace of the act.
"""

import collections
import json
import re

from model import PROMPT, refused_chat, refused_gemini, refused_messages, refused_responses
from sessions import CALL, IMAGE, RESULT, TEXT, Said, read_blocks, read_item

# (program, act): the description. `act_on_text` and `act_on_result` recognise each act by its trace.
ACTS = {
    ("codex", "cuts a long result"): "Codex cuts a result of more than about 10,000 tokens in the middle and marks the place; both ends are compared",
    ("codex", "sends its context anew"): "Codex leaves out the context messages of its own earlier runs and sends the present context",
    ("codex", "sends items alone"): "Codex sends no text that its own log holds only in an event of the screen",
    ("droid", "shortens a result of an edit"): "Droid sends a sentence instead of the result of an earlier edit",
    ("cline", "cuts a long result"): "Cline cuts a result of more than 8,000 characters in the middle and marks the place; both ends are compared",
    ("pi", "sends a summary alone"): "Pi sends the summary of a compaction in its own log instead of the entries before it; the rest is compared",
    ("gemini-cli", "masks an old result"): "Gemini CLI moves an old long result to a file and sends a note; the file is compared",
    ("gemini-cli", "leaves out a command"): "Gemini CLI sends no text of the user that begins with / or ?",
    ("gemini-cli", "sends its context anew"): "Gemini CLI leaves out the context messages of its own earlier runs and sends the present context",
    ("gemini-cli", "sends a result twice"): "Gemini CLI sends a result twice that its own log holds at the call and in a message; the copies are equal",
    ("claude-code", "leaves out a queued text"): "Claude Code does not send a queued text of its own session again",
    ("claude-code", "renames Task"): "Claude Code sends calls of its old tool Task under the new name Agent",
    ("kimi-cli", "resumes no wire log"): "Kimi CLI resumes context.jsonl alone: with wire.jsonl it sends no history; the context log of the same session is compared",
    ("kimi-code", "repeats a reminder"): "Kimi Code adds a reminder that its own log holds once more before the question",
    ("opencode", "leaves out an ignored text"): "OpenCode sends no text of its own log that is marked `ignored`",
    ("opencode", "refuses an unknown part"): "OpenCode imports no session with a part of an unknown type; the session without that part is compared",
}
OWN_CONTEXT = {
    "codex": ("<environment_context>", "# AGENTS.md instructions", "<user_instructions>"),
    "gemini-cli": ("<session_context>",),
}
# Results that stand for a missing one: ours, and those that a program adds itself.
NO_RESULT = re.compile(
    r"\[No result of this tool call was recorded\.\]|aborted|No result provided|\[Tool execution was interrupted\]"
    r"|Tool execution (was )?(aborted|interrupted)|interrupted before|result .*missing", re.I)

# Results that programs send for an empty one.
EMPTY = re.compile(r"<system>Tool output is empty\.</system>|\(empty result\)")

# What a source says: `things` in order, its system prompts, texts that are no part of its history (rewound turns, subagents), and the
# texts that it holds only for its screen or its queue. `is_compacted`: the source program itself replaces the beginning by a summary.
Expected = collections.namedtuple("Expected", "source things system abandoned unsent is_compacted")


class Verdict:
    def __init__(self, faults=(), acts=(), counts=None, seconds=0):
        self.faults, self.acts, self.counts, self.seconds = list(faults), set(acts), counts or collections.Counter(), seconds

    def mark(self):
        return str(len(self.faults)) if self.faults else "act" if self.acts else "ok"

    def __str__(self):
        found = ", ".join(f"{self.counts['found', kind]}/{self.counts['wanted', kind]} {kind}s" for kind in (TEXT, CALL, RESULT))
        state = f"{len(self.faults)} FAULTS" if self.faults else "complete"
        acts = "".join(f"; {act}" for act in sorted(self.acts))
        return f"{found} {self.seconds:3.0f}s {state}{acts}" + "".join(f"\n    {fault}" for fault in self.faults[:5])


# ---- the request -----------------------------------------------------------------------------------------------------


def list_name(body):
    return next(name for name in ("contents", "input", "messages") if name in body)


def read_request(body, target):
    """(entry, thing) of each thing in the request, in order; an entry is a message or an item of the body."""
    read, said, entries = reader_of(target), Said(), []
    for number, entry in enumerate(body[list_name(body)]):
        read(entry, said)
        entries += [number] * (len(said.things) - len(entries))
    return list(zip(entries, said.things))


def reader_of(target):
    if target in ("claude-code", "pi", "droid", "goose", "cline"):
        return lambda message, said: read_blocks(message.get("content"), message.get("role"), said)
    if target == "codex":
        return read_item
    return GeminiReader() if target == "gemini-cli" else read_chat_message


REFUSED = {"claude-code": refused_messages, "pi": refused_messages, "codex": refused_responses, "gemini-cli": refused_gemini,
           "droid": refused_messages, "goose": refused_messages, "cline": refused_messages}


def read_chat_message(message, said):
    """A message of `POST /v1/chat/completions`."""
    role, content = message["role"], message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    if role == "tool":
        return said.result(message.get("tool_call_id"), [(TEXT, part["text"]) for part in parts if isinstance(part.get("text"), str)])
    said.reasoning(message.get("reasoning_content"))
    for part in parts:
        said.text(role, part.get("text"))
    for call in message.get("tool_calls") or []:
        said.call(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"))


class GeminiReader:
    """A content of `POST …:streamGenerateContent`. Not all results have the id of their call: the next result of a name answers it."""

    def __init__(self):
        self.names, self.open = collections.Counter(), collections.defaultdict(collections.deque)

    def __call__(self, content, said):
        role = "assistant" if content.get("role") == "model" else "user"
        for part in content.get("parts", []):
            if "functionCall" in part:
                call = part["functionCall"]
                self.names[call["name"]] += 1
                call_id = (call["name"], self.names[call["name"]])
                self.open[call["name"]].append((call.get("id"), call_id))
                said.call(call_id, call["name"], call.get("args") or {})
            elif "functionResponse" in part:
                response = part["functionResponse"]
                said.result(self.answered(response), [(TEXT, text) for text in strings_in(response.get("response"))])
            elif part.get("thought"):
                said.reasoning(part.get("text"))
            else:
                said.text(role, part.get("text"))

    def answered(self, response):
        waiting = self.open[response["name"]]
        same = [pair for pair in waiting if response.get("id") and pair[0] == response["id"]]
        if not waiting:
            return None
        pair = same[0] if same else waiting[0]
        waiting.remove(pair)
        return pair[1]


def strings_in(value):
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for each in inner for text in strings_in(each)]


def without_repeated_responses(request):
    """The same request without responses that repeat one of the same content, with the same id and the same value."""
    contents = []
    for content in request["contents"]:
        parts = []
        for part in content.get("parts", []):
            if "functionResponse" not in part or part not in parts:
                parts.append(part)
        contents.append({**content, "parts": parts})
    return {**request, "contents": contents}


def request_of(requests, target):
    """Claude Code asks again without reasoning that the API refuses; others ask afterwards what is worth remembering."""
    return requests[-1 if target == "claude-code" else 0]


# ---- the comparison --------------------------------------------------------------------------------------------------


def judge(expected, log, request, target, files=None):
    """The verdict on the request with the question. `log`: the converted session; `files`: those that the program wrote beside it."""
    judge = Judge(expected, log, request, target, files or {})
    return judge.verdict(read_request(judge.request, target))


class Judge:
    def __init__(self, expected, log, request, target, files):
        self.expected, self.log, self.request, self.target, self.files = expected, log, request, target, files
        self.is_own = expected.source == target
        self.counts, self.faults, self.acts = collections.Counter(), [], set()
        self.found = []  # numbers of the sent things that are things of the source
        self.excused = set()  # texts that an act of the program explains
        if self.is_own and target == "gemini-cli":
            self.request = without_repeated_responses(request)
            if self.request != request:
                self.acts.add("sends a result twice")

    def verdict(self, sent):
        self.sent = sent
        self.texts = [spaced(thing.value[1]) if thing.kind == TEXT else None for _, thing in sent]
        self.runs = runs_of(sent, self.texts)
        self.calls = [(at, name_of(thing.value[0]), comparable(json.loads(thing.value[1])), thing.id)
                      for at, (_, thing) in enumerate(sent) if thing.kind == CALL]
        self.results = collections.defaultdict(list)
        for at, (_, thing) in enumerate(sent):
            if thing.kind == RESULT:
                self.results[thing.id].append((at, "\n".join(text for kind, text in thing.value if kind != IMAGE)))
        self.used, self.open = set(), collections.defaultdict(list)
        self.latest = {TEXT: 0, CALL: 0, "entry": 0}
        for thing in self.expected.things:
            self.counts["wanted", thing.kind] += 1
            {TEXT: self.text, CALL: self.call, RESULT: self.result}[thing.kind](thing)
        self.faults += [f"call that the source does not have: {name}" for at, name, _, _ in self.calls if at not in self.used]
        self.faults += self.made_up_results() + self.told_otherwise() + self.abandoned() + self.prompts()
        self.faults += REFUSED.get(self.target, refused_chat)(self.request)
        return Verdict(self.faults, self.acts, self.counts)

    def text(self, thing):
        side, text = thing.value[0], spaced(thing.value[1])
        fits = [(at, self.sent[at][0]) for at, sent_text in enumerate(self.texts)
                if sent_text is not None and self.sent[at][1].value[0] == side and text in sent_text]
        # A program may cut several texts of one side in a row at other places.
        fits = fits or [(at, entry) for at, entry, run_side, run in self.runs if run_side == side and text in run]
        if not text:
            self.counts["found", TEXT] += 1
        elif fits:
            self.place(thing, fits)
        else:
            act = self.act_on_text(thing)
            self.excused.add((side, text))
            self.settle(thing, act, f"missing: {brief(thing)}")

    def call(self, thing):
        name, arguments = name_of(thing.value[0]), comparable(thing.value[1])
        fits = [(at, self.sent[at][0]) for at, sent_name, sent_arguments, _ in self.calls
                if at not in self.used and self.same_name(sent_name, name) and sent_arguments == arguments]
        if not fits:
            return self.settle(thing, None, f"missing: {brief(thing)}")
        at = self.place(thing, fits)
        self.used.add(at)
        if (name, name_of(self.sent[at][1].value[0])) == RENAMED:
            self.acts.add("renames Task")
        self.open[thing.id].append(at)

    def place(self, thing, fits):
        """Takes the first fitting place after all earlier texts and calls. Inside an entry only things of one kind have an order."""
        kind = thing.kind
        at, entry = next(((at, entry) for at, entry in fits if at >= self.latest[kind] and entry >= self.latest["entry"]), (None, None))
        if at is None:
            self.faults.append(f"order: {brief(thing)}")
            at, entry = fits[0]
        self.latest[kind] = max(self.latest[kind], at)
        self.latest["entry"] = max(self.latest["entry"], entry)
        self.counts["found", kind] += 1
        self.found.append(at)
        return at

    def same_name(self, sent, name):
        return sent == name or sent.endswith(f"__{name}") or self.target == "claude-code" and (name, sent) == RENAMED

    def result(self, thing):
        calls = self.open[thing.id]
        if not calls:
            return self.settle(thing, None, f"missing: {brief(thing)}; its call is missing, too")
        call = calls.pop(0)
        answers = self.results.get(self.sent[call][1].id, [])
        if len(answers) > 1:
            self.faults.append(f"result told {len(answers)} times: {brief(thing)}")
        for at, answer in answers:
            if at > call and same_result(thing.value, answer):
                self.counts["found", RESULT] += 1
                return self.found.append(at)
        given = answers[0][1] if answers else None
        act = self.act_on_result(thing, given or "")
        self.settle(thing, act, f"missing: {brief(thing)}; was sent: {spaced(given)[:60] if given else None!r}")

    def settle(self, thing, act, fault):
        if act and self.in_log(thing):
            self.acts.add(act)
            self.counts["found", thing.kind] += 1
        else:
            self.faults.append(fault + (f"; the act “{act}” does not excuse a value that the log does not hold" if act else ""))

    def in_log(self, thing):
        text = squeezed(thing.value if thing.kind == RESULT else thing.value[1])
        return any(text in squeezed(string) for string in self.log)

    # ---- acts of the programs

    def act_on_text(self, thing):
        side, text = thing.value
        if self.target == "gemini-cli" and side == "user" and text.strip().startswith(("/", "?")):
            return "leaves out a command"
        if self.is_own and text.startswith(OWN_CONTEXT.get(self.target, ())):
            return "sends its context anew"
        if self.is_own and text in self.expected.unsent:
            return {"codex": "sends items alone", "claude-code": "leaves out a queued text",
                    "opencode": "leaves out an ignored text"}.get(self.target)
        return None

    def act_on_result(self, thing, answer):
        cut = re.split(r"…\d+ (?:tokens|chars) truncated…|\s*\.\.\.\[truncated \d+ chars\]\.\.\.\s*", answer)
        if self.target in ("codex", "cline") and len(cut) == 2:
            whole = squeezed(thing.value)
            if whole.startswith(squeezed(cut[0])) and whole.endswith(squeezed(cut[1])):
                return "cuts a long result"
        if self.target == "droid" and answer == "The file has been updated successfully.":
            return "shortens a result of an edit"
        masked = re.search(r"<tool_output_masked>.*Full output available at: (\S+)", answer, re.S)
        if self.target == "gemini-cli" and masked and same_result(thing.value, told_in(self.files.get(masked[1], ""))):
            return "masks an old result"
        return None

    # ---- what must not be there

    def made_up_results(self):
        """A call without a result in the source is answered by a text that says so."""
        faults = [f"result without a call: {spaced(answer)[:80]!r}" for _, answer in self.results.get(None, [])]
        for calls in self.open.values():
            for at in calls:
                for _, answer in self.results.get(self.sent[at][1].id, []):
                    if not NO_RESULT.search(answer):
                        faults.append(f"result that the source does not have: {spaced(answer)[:80]!r}")
        return faults

    def told_otherwise(self):
        """Texts that are in the request more or less often than in the source."""
        faults = []
        for side in ("user", "assistant"):
            source = [spaced(thing.value[1]) for thing in self.expected.things if thing.kind == TEXT and thing.value[0] == side]
            sent = [run for _, _, run_side, run in self.runs if run_side == side]
            for text in dict.fromkeys(source):
                if not text or (side, text) in self.excused:
                    continue
                wanted, times = sum(one.count(text) for one in source), sum(one.count(text) for one in sent)
                if self.is_own and self.target == "kimi-code" and text.startswith("<system-reminder>") and times > wanted:
                    times -= sum(run.count(text) for run in sent if PROMPT in run)
                    self.acts.add("repeats a reminder")
                # The program's own texts may hold a short one, too.
                if times < wanted or times > wanted and len(text) > SHORT:
                    faults.append(f"told {times} times instead of {wanted}: {side}: {text[:60]!r}")
        return faults

    def abandoned(self):
        """Texts of turns that the source took back."""
        return [f"abandoned text told: {text[:60]!r}" for text in map(spaced, self.expected.abandoned) if len(text) > SHORT
                for _, _, _, run in self.runs if text in run] if not self.is_own else []

    def prompts(self):
        """A system prompt of the source is neither told by the user or the assistant, nor in the place of the program's own."""
        texts = [spaced(thing.value[1]) for thing in self.expected.things if thing.kind == TEXT]
        prompts = [text for text in map(spaced, self.expected.system) if len(text) > 20]
        faults = [f"system prompt of the source told by the {side}: {text[:60]!r}" for text in prompts
                  for _, _, side, run in self.runs if side in ("user", "assistant") and text in run and not any(text in one for one in texts)]
        if self.is_own:
            return faults
        body = self.request
        own = spaced("\n".join(strings_in([body.get("system"), body.get("instructions"), body.get("systemInstruction"), [
            message.get("content") for message in body.get("messages", []) if message.get("role") in ("system", "developer")]])))
        faults += [f"system prompt of the source in place of the program's own: {text[:60]!r}" for text in prompts if text in own]
        if self.target != "codex" and len(own) < 1000:
            faults.append(f"the program sends no system prompt of its own: {own[:60]!r}")
        return faults


RENAMED = ("Task", "Agent")
SHORT = 12


def runs_of(sent, texts):
    """(number, entry, side, text) of texts of one side with nothing between them, joined."""
    runs, last = [], None
    for at, (entry, thing) in enumerate(sent):
        if thing.kind != TEXT:
            last = None
            continue
        if last == thing.value[0]:
            runs[-1][3] += " " + texts[at]
        else:
            runs.append([at, entry, thing.value[0], texts[at]])
        last = thing.value[0]
    return runs


def spaced(text):
    return " ".join(text.split())


def squeezed(text):
    """Without blanks: programs join the parts of a result in one way or another."""
    return "".join(text.split())


def name_of(name):
    return re.sub(r"[^A-Za-z0-9]", "_", name or "")


def comparable(value):
    """Numbers are equal whatever their spelling; a member that is null is a member that is missing."""
    if isinstance(value, dict) and list(value) == ["number"]:
        return float(value["number"])  # sessions.parse
    if isinstance(value, dict):
        return {key: comparable(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [comparable(part) for part in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def same_result(text, answer):
    if not text.strip():
        return not answer.strip() or bool(EMPTY.fullmatch(answer.strip()))
    if squeezed(text) in squeezed(answer):
        return True
    try:  # a JSON value, spelled another way
        return canonical_text(text) == canonical_text(answer)
    except ValueError:
        return False


def told_in(file):
    """The text of a file that holds a text, or a JSON value with texts."""
    try:
        return "\n".join(strings_in(json.loads(file)))
    except ValueError:
        return file


def canonical_text(text):
    return json.dumps(json.loads(text), sort_keys=True)


def brief(thing):
    text = re.sub(r"\s+", " ", f"{thing.kind} {thing.id or ''} {thing.value!r}")
    return text.encode("ascii", "backslashreplace").decode()[:110]
