#!/usr/bin/env python3
"""Sessions of nine agents, converted to each of the nine logs, resumed in the real programs.

Each program gets a converted session as `interlingua convert` wrote it, and one question; a scripted model on loopback answers and keeps the
request. Every text, call with its arguments, and result of the *source* file, read by the independent readers of tests/logs, must
be in that request: in order, once, from the same side. What a program itself leaves out or changes is listed in ACTS.

    python3 tests/agents/resume.py --corpus FOLDER            # both sessions of every source, in every program
    python3 tests/agents/resume.py --only kimi-cli:opencode   # SOURCE:TARGET, either may be empty
    python3 tests/agents/resume.py --self-check               # requests broken on purpose: each break must be seen

The programs (3 GB) come from npm and PyPI into `--tools` and stay there.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # leave the tree as it was
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "logs"))

import count  # noqa: E402
from agents import AGENTS  # noqa: E402
from facts import Facts, at as facts_at  # noqa: E402
from model import refused_chat, refused_messages, refused_responses  # noqa: E402
from programs import PROGRAMS, Failed, install, resume  # noqa: E402
from sessions import (  # noqa: E402
    CALL, IMAGE, RESULT, TEXT, Said, Thing, on_the_chain, read_claude_request, read_codex_request)

ROOT = HERE.parents[1]
FIXTURES = ROOT / "crates/interlingua/src/dialects"
LONGEST = 3 * 60 * 60  # seconds for everything

# Source: the session that is ours, and the one of a user, below the folder of the corpus.
SESSIONS = {
    "claude-code": (HERE / "inputs/claude-code.jsonl", "logs/draft-samples/claude-opus-4-6.jsonl"),
    "codex": (HERE / "inputs/codex.jsonl", "logs/draft-samples/codex-gpt-5-2.jsonl"),
    "gemini-cli": (FIXTURES / "google/gemini_cli/fixtures/2026-11/resumed.jsonl", "logs/draft-samples/gemini-gemini-3-pro-preview.jsonl"),
    "qwen-code": (FIXTURES / "google/qwen_code/fixtures/2026-11/resumed.jsonl", "agents/qwen/chat-main.jsonl"),
    "opencode": (FIXTURES / "agents/opencode/fixtures/2026-11/export.json", "agents/opencode/export-main.json"),
    "kimi-cli": (FIXTURES / "agents/kimi_cli/fixtures/2026-11/wire.jsonl", "agents/kimi-cli/context-main.jsonl"),
    "kimi-code": (FIXTURES / "agents/kimi_code/fixtures/2026-11/main.jsonl", "agents/kimi-code/wire-main.jsonl"),
    "pi": (FIXTURES / "agents/pi/fixtures/2026-11/shapes.jsonl", "agents/pi/session-main.jsonl"),
    "copilot-cli": (FIXTURES / "agents/copilot_cli/fixtures/2026-11/tools.jsonl", "agents/copilot/events-main.jsonl"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=count.default_binary(), type=pathlib.Path, help="the interlingua command")
    parser.add_argument("--tools", default=ROOT / "target/tools/agents", type=pathlib.Path, help="where the programs are kept")
    parser.add_argument("--corpus", default=os.environ.get("INTERLINGUA_CORPUS"), type=pathlib.Path, help="the folder of users' sessions")
    parser.add_argument("--only", action="append", default=[], help="SOURCE:TARGET; either may be empty; may be given again")
    parser.add_argument("--session", choices=("generated", "real"), help="only this session of each source")
    parser.add_argument("--keep", type=pathlib.Path, help="leave sources, converted sessions and requests in this folder")
    parser.add_argument("--self-check", action="store_true", help="also break each request on purpose; every break must be seen")
    options = parser.parse_args()
    if not options.bin.is_file():
        sys.exit(f"{options.bin}: not found; `cargo build --release --package interlingua-cli` makes it")
    cells = [(source, program) for source in SESSIONS for program in PROGRAMS if wanted(source, program.dialect, options.only)]
    for program in {program for _, program in cells}:
        install(program, options.tools)
    matrix, end, acts = {}, time.monotonic() + LONGEST, collections.Counter()
    for source, program in cells:
        for kind, path in zip(("generated", "real"), SESSIONS[source]):
            if options.session not in (None, kind) or kind == "real" and not options.corpus:
                continue
            path = path if kind == "generated" else options.corpus / path
            verdict = one_cell(path, source, program, options) if time.monotonic() < end else Verdict(faults=["no time left"])
            print(f"{source:11} -> {program.dialect:11} {kind:9} {verdict}", flush=True)
            acts.update(f"{program.dialect}: {act}" for act in verdict.acts)
            matrix[source, program.dialect, kind] = verdict
    sys.exit(show_matrix(matrix, acts))


def wanted(source, target, filters):
    return not filters or any(
        part.partition(":")[0] in ("", source) and part.partition(":")[2] in ("", target) for part in filters)


def show_matrix(matrix, acts):
    """Prints a cell for each pair: `generated/real`, `ok`, `act` (complete but for a named act of the program) or the number of faults."""
    targets = [program.dialect for program in PROGRAMS if any(cell[1] == program.dialect for cell in matrix)]
    print("\n" + f"{'source':11} " + " ".join(f"{target:>11}" for target in targets))
    for source in SESSIONS:
        if any(cell[0] == source for cell in matrix):
            marks = ["/".join(matrix[source, target, kind].mark() if (source, target, kind) in matrix else "-"
                              for kind in ("generated", "real")) for target in targets]
            print(f"{source:11} " + " ".join(f"{mark:>11}" for mark in marks))
    for act, times in sorted(acts.items()):
        print(f"named act, in {times} sessions: {act}: {ACTS[tuple(act.split(': ', 1))]}")
    bad = sum(bool(verdict.faults) for verdict in matrix.values())
    print(f"{len(matrix)} sessions resumed, {len(matrix) - bad} complete, {bad} with faults")
    return 1 if bad or not matrix else 0


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


def one_cell(path, source, program, options):
    start = time.monotonic()
    if source == program.dialect == "kimi-cli" and path.stem.startswith("wire"):
        return Verdict(acts=["resumes no wire log"])
    with tempfile.TemporaryDirectory(prefix="resume-work-") as folder:
        # The session of somebody who worked in this folder: a program takes a session in the folder where it was held.
        cwd = pathlib.Path(folder).resolve() / "work"
        cwd.mkdir()
        log = pathlib.Path(folder) / path.name
        log.write_bytes(in_folder(path.read_bytes(), cwd))
        try:
            text = convert(options.bin, log, source, program.dialect)
            wanted_things, system = expected(log.read_bytes(), source, program.dialect)
            keep(options, path, source, program, "log", log.read_text(errors="replace"))
            keep(options, path, source, program, "converted", text)
            requests, outside = resume(program, text, cwd, options.tools)
        except (Failed, OSError, ValueError, KeyError) as failure:
            if source == program.dialect == "opencode" and "Expected Part" in str(failure):
                return Verdict(acts=["refuses an unknown part"], seconds=time.monotonic() - start)
            if source == program.dialect == "kimi-code" and "runtime binding workspace" in str(failure):
                return Verdict(acts=["is bound to a workspace"], seconds=time.monotonic() - start)
            return Verdict([f"{type(failure).__name__}: {failure}"], seconds=time.monotonic() - start)
    keep(options, path, source, program, "request.json", json.dumps(requests, indent=1))
    counts, faults, acts = judge(wanted_things, system, requests, source, program.dialect)
    if source == program.dialect == "pi" and '"type":"compaction"' in text:
        acts.add("sends a summary alone")
    faults += [f"wanted to reach {host}" for host in outside if program.dialect not in REACHES_OUT]
    if options.self_check and not faults:
        faults += unseen_breaks(wanted_things, system, requests, source, program.dialect)
    return Verdict(faults, acts, counts, time.monotonic() - start)


# Programs that try to fetch a list of models or a version, and go on without an answer.
REACHES_OUT = ("gemini-cli", "qwen-code", "opencode", "kimi-cli", "kimi-code", "copilot-cli")


def keep(options, path, source, program, what, text):
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
        (options.keep / f"{source}.{path.stem[:24]}.{program.dialect}.{what}").write_text(text)


def convert(binary, log, source, target):
    output = log.parent / "converted"
    done = subprocess.run([binary, "convert", "-q", "--from", source, "--to", target, "-o", output, log], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise Failed(f"convert: exit code {done.returncode}: {done.stderr[-300:]}")
    return output.read_text(encoding="utf-8")


# ---- what the source says --------------------------------------------------------------------------------------------


FOLDER = re.compile(rb'(?:"(?:cwd|directory|workDir|directories)": ?\[?"|Workspace Directories:\*\*\\n +- )(/[^"\\]+)')


def in_folder(data, cwd):
    """The same session, held in the folder `cwd`."""
    for folder, _ in collections.Counter(FOLDER.findall(data)).most_common(1):
        data = data.replace(folder, str(cwd).encode())
    return data


def expected(data, source, target):
    """What the source says, as a list of things, and its system prompts."""
    values = [value for value in count.load(data) if isinstance(value, dict)]
    agent = next(agent for agent in AGENTS if agent.NAME == source)
    values = ACTIVE[source](values) if source in ACTIVE else values
    facts = agent.read(after_compaction(values) if source == target == "pi" else values)
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
            things.append(Thing(RESULT, values[1] or "", values[0]))
    if source == "gemini-cli":
        things = without_superseded(things)
    return without_failed_ones(things), system


def without_superseded(things):
    """Gemini CLI writes the message about the session anew, under the same id, whenever the session is resumed."""
    is_context = [thing.kind == TEXT and thing.value[1].startswith("<session_context>") for thing in things]
    return [thing for at, thing in enumerate(things) if not (is_context[at] and any(is_context[at + 1:]))]


def without_failed_ones(things):
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


def plain(value):
    """A value of facts.spelled, with numbers as numbers."""
    if isinstance(value, list) and len(value) == 2 and value[0] == "number":
        return float(value[1])
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return value


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
    return on_the_chain([value for value in values if not value.get("isSidechain") and value.get("type") != "progress"])


def active_pi(values):
    if not any("parentId" in value for value in values):
        return values
    active = chain([{**value, "id": None} if value.get("type") == "session" else value for value in values], "id", "parentId")
    return active


def after_compaction(values):
    """What Pi sends of a log of its own: the last summary, what it kept, and what came after."""
    last = max((at for at, value in enumerate(values) if value.get("type") == "compaction"), default=None)
    if last is None:
        return values
    names = [value.get("id") for value in values]
    kept = names.index(values[last].get("firstKeptEntryId")) if values[last].get("firstKeptEntryId") in names else last
    return [*values[:1], values[last], *values[max(kept, 1):last], *values[last + 1:]]


def active_opencode(values):
    """Without the messages that the user took back: the first of them and all after it."""
    for value in values:
        reverted = facts_at(value, "info", "revert", "messageID")
        messages = value.get("messages")
        if reverted and isinstance(messages, list):
            names = [facts_at(message, "info", "id") for message in messages]
            value["messages"] = messages[: names.index(reverted)] if reverted in names else messages
    return values


def active_copilot(values):
    return [value for value in values if not value.get("agentId")]


ACTIVE = {
    "claude-code": active_claude, "opencode": active_opencode, "pi": active_pi, "copilot-cli": active_copilot,
    "qwen-code": lambda values: chain(values, "uuid", "parentUuid"),
}


# ---- what was sent ---------------------------------------------------------------------------------------------------


def read_chat_request(body):
    """`POST /v1/chat/completions`."""
    said = Said()
    for message in body.get("messages", []):
        role, content = message["role"], message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if role == "tool":
            said.result(message.get("tool_call_id"), [(TEXT, part["text"]) for part in parts if isinstance(part.get("text"), str)])
            continue
        said.reasoning(message.get("reasoning_content"))
        for part in parts:
            said.text(role, part.get("text"))
        for call in message.get("tool_calls") or []:
            said.call(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"))
    return said


def read_gemini_request(body):
    """`POST …:streamGenerateContent`. Its calls have no ids that all results name: the next result of a name answers it."""
    said, names, open_calls = Said(), collections.Counter(), collections.defaultdict(collections.deque)
    for content in body.get("contents", []):
        role = "assistant" if content.get("role") == "model" else "user"
        for part in content.get("parts", []):
            if "functionCall" in part:
                call = part["functionCall"]
                names[call["name"]] += 1
                call_id = (call["name"], names[call["name"]])
                open_calls[call["name"]].append(call_id)
                said.call(call_id, call["name"], call.get("args") or {})
            elif "functionResponse" in part:
                response = part["functionResponse"]
                waiting = open_calls[response["name"]]
                said.result(waiting.popleft() if waiting else None, [(TEXT, text) for text in strings_in(response.get("response"))])
            elif part.get("thought"):
                said.reasoning(part.get("text"))
            else:
                said.text(role, part.get("text"))
    return said


def strings_in(value):
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for each in inner for text in strings_in(each)]


READ_REQUEST = {"claude-code": read_claude_request, "pi": read_claude_request, "codex": read_codex_request, "gemini-cli": read_gemini_request}
REFUSED = {"claude-code": refused_messages, "pi": refused_messages, "codex": refused_responses, "gemini-cli": lambda body: []}


# ---- the comparison --------------------------------------------------------------------------------------------------


def judge(things, system, requests, source, target):
    """(counts, faults, named acts) of the request that holds the question."""
    request = request_of(requests, target)
    sent = READ_REQUEST.get(target, read_chat_request)(request).things
    counts, faults, acts = collections.Counter(), [], set()
    sides = [side_of(thing) for thing in sent]
    texts = [spaced(thing.value[1]) if thing.kind == TEXT else None for thing in sent]
    calls = [(at, name_of(thing.value[0]), plain_json(thing.value[1]), thing.id) for at, thing in enumerate(sent) if thing.kind == CALL]
    results = collections.defaultdict(list)
    for at, thing in enumerate(sent):
        if thing.kind == RESULT:
            results[thing.id].append((at, "\n".join(text for kind, text in thing.value if kind != IMAGE)))
    used, call_ids, places, after = set(), {}, [], {TEXT + "user": 0, TEXT + "assistant": 0, CALL: 0}
    for thing in things:
        counts["wanted", thing.kind] += 1
        if thing.kind == TEXT:
            side, text = thing.value[0], spaced(thing.value[1])
            if not text:
                counts["found", TEXT] += 1
                continue
            fits = [at for at, sent_text in enumerate(texts) if sent_text is not None and sides[at] == side and text in sent_text]
            if side == "assistant" and not fits:
                # Some programs cut several texts of an assistant in a row at other places.
                fits = [at for at, sent_text in enumerate(texts) if sent_text and sides[at] == side and sent_text in text and len(sent_text) > 20]
            place, order_of = next((at for at in fits if at >= after[TEXT + side]), None), TEXT + side
        elif thing.kind == CALL:
            name, arguments = name_of(thing.value[0]), thing.value[1]
            fits = [at for at, sent_name, sent_arguments, _ in calls
                    if at not in used and same_name(sent_name, name, source == target) and same_arguments(sent_arguments, arguments)]
            place, order_of = next((at for at in fits if at >= after[CALL]), None), CALL
        else:
            call = call_ids.get(thing.id, [])
            answers = results.get(call[0][0], []) if call else []
            ok = [at for at, answer in answers if same_result(thing.value, answer) and at > call[0][1]]
            if call and len(call) > 1:
                call.pop(0)
            if ok:
                counts["found", RESULT] += 1
                if len(answers) > 1:
                    faults.append(f"result told {len(answers)} times: {brief(thing)}")
                continue
            act = named_act(source, target, thing, answers)
            if act:
                acts.add(act)
                counts["found", RESULT] += 1
            elif call:
                given = spaced(answers[0][1])[:60] if answers else None
                faults.append(f"missing: {brief(thing)}; was sent: {given!r}")
            else:
                faults.append(f"missing: {brief(thing)}; its call is missing, too")
            continue
        if place is None and fits:
            faults.append(f"order: {brief(thing)}")
            place = fits[0]
        if place is None:
            act = named_act(source, target, thing, [])
            if act:
                acts.add(act)
                counts["found", thing.kind] += 1
            else:
                faults.append(f"missing: {brief(thing)}")
            continue
        counts["found", thing.kind] += 1
        after[order_of] = max(after[order_of], place)
        if thing.kind == CALL:
            used.add(place)
            if (name, name_of(sent[place].value[0])) == RENAMED:
                acts.add("renames Task")
            call_ids.setdefault(thing.id, []).append((sent[place].id, place))
    faults += [f"call that the source does not have: {name}" for at, name, _, _ in calls if at not in used]
    faults += told_too_often(things, texts, sides)
    faults += [f"system prompt of the source told by the {sides[at]}: {text[:60]!r}" for text in map(spaced, system) if len(text) > 20
               for at, sent_text in enumerate(texts) if sent_text is not None and sides[at] in ("user", "assistant") and text in sent_text
               and not any(text in spaced(thing.value[1]) for thing in things if thing.kind == TEXT)]
    faults += replaced_prompt(system, request, source, target)
    faults += REFUSED.get(target, refused_chat)(request)
    return counts, faults, acts


def request_of(requests, target):
    """Claude Code asks again without reasoning that the API refuses; others ask afterwards what is worth remembering."""
    return requests[-1 if target == "claude-code" else 0]


def side_of(thing):
    return thing.value[0] if thing.kind in (TEXT, IMAGE) else None


def told_too_often(things, texts, sides):
    """Texts that stand in the request more often than in the source."""
    faults = []
    for side in ("user", "assistant"):
        source = [spaced(thing.value[1]) for thing in things if thing.kind == TEXT and thing.value[0] == side]
        sent = [text for text, sent_side in zip(texts, sides) if text is not None and sent_side == side]
        for text in dict.fromkeys(source):
            wanted_times, sent_times = sum(one.count(text) for one in source), sum(one.count(text) for one in sent)
            if len(text) > 12 and sent_times > wanted_times:
                faults.append(f"told {sent_times} times instead of {wanted_times}: {side}: {text[:60]!r}")
    return faults


def replaced_prompt(system, body, source, target):
    """Whether the system prompt of another agent stands where the program's own belongs."""
    if source == target:
        return []
    own = spaced("\n".join(strings_in([body.get("system"), body.get("instructions"), body.get("systemInstruction"), [
        message.get("content") for message in body.get("messages", []) if message.get("role") in ("system", "developer")]])))
    faults = [f"system prompt of the source in place of the program's own: {text[:60]!r}" for text in map(spaced, system)
              if len(text) > 20 and text in own]
    if target != "codex" and len(own) < 1000:
        faults.append(f"the program sends no system prompt of its own: {own[:60]!r}")
    return faults


def spaced(text):
    return " ".join(text.split())


def squeezed(text):
    """Without blanks: programs join the parts of a result in one way or another."""
    return "".join(text.split())


def name_of(name):
    return re.sub(r"[^A-Za-z0-9]", "_", name or "")


RENAMED = ("Task", "Agent")


def same_name(sent, name, is_own):
    return sent == name or sent.endswith(f"__{name}") or is_own and (name, sent) == RENAMED


def plain_json(text):
    return json.loads(text, parse_int=float, parse_float=float)


def same_arguments(sent, arguments):
    return comparable(sent) == comparable(arguments)


def comparable(value):
    if isinstance(value, dict) and list(value) == ["number"]:
        return float(value["number"])  # sessions.parse
    if isinstance(value, dict):
        return {key: comparable(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [comparable(part) for part in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def same_result(text, answer):
    if squeezed(text) in squeezed(answer):
        return True
    try:  # a JSON value, spelled another way
        return canonical_text(text) == canonical_text(answer)
    except ValueError:
        return False


def canonical_text(text):
    return json.dumps(json.loads(text), sort_keys=True)


def brief(thing):
    text = re.sub(r"\s+", " ", f"{thing.kind} {thing.id or ''} {thing.value!r}")
    return text.encode("ascii", "backslashreplace").decode()[:110]


# ---- acts of the programs --------------------------------------------------------------------------------------------


# (program, act): the reason. `named_act` recognises each act by its trace in the request.
ACTS = {
    ("codex", "cuts a long result"): "Codex cuts results of more than about 10,000 tokens and marks the place",
    ("codex", "sends its context anew"): "Codex leaves the context of its own earlier runs out and sends the present one",
    ("codex", "sends items alone"): "Codex does not send what its own log holds only as an event of the screen",
    ("pi", "sends a summary alone"): "Pi sends the summary of a compaction instead of what stood before it",
    ("gemini-cli", "masks an old result"): "Gemini CLI moves old long results to files and sends a note about each",
    ("gemini-cli", "leaves out a command"): "Gemini CLI does not send texts of the user that begin with / or ?",
    ("gemini-cli", "sends its context anew"): "Gemini CLI leaves the context of its own earlier runs out and sends the present one",
    ("claude-code", "leaves out a queued text"): "Claude Code does not send again what was queued in its own session",
    ("claude-code", "renames Task"): "Claude Code sends calls of its old tool Task under the new name Agent",
    ("kimi-cli", "resumes no wire log"): "Kimi CLI resumes its context.jsonl alone; its own wire.jsonl is a protocol of what happened",
    ("kimi-code", "is bound to a workspace"): "Kimi Code resumes a log of its own only in the workspace whose hash the log holds",
    ("opencode", "refuses an unknown part"): "OpenCode imports no session with a part of a type that it does not know",
}
OWN_CONTEXT = ("<environment_context>", "# AGENTS.md instructions", "<session_context>", "<user_instructions>")
SCREEN_ALONE = ("Said on the screen alone.", "Asked on the screen alone.")


def named_act(source, target, thing, answers):
    answer = answers[0][1] if answers else ""
    is_own, text = source == target, thing.value[1] if thing.kind == TEXT else ""
    if target == "codex" and thing.kind == RESULT and re.search(r"\d+ (tokens|chars) truncated", answer):
        return "cuts a long result"
    if target == "gemini-cli" and thing.kind == RESULT and "tool_output_masked" in answer:
        return "masks an old result"
    if target == "gemini-cli" and thing.kind == TEXT and thing.value[0] == "user" and text.lstrip().startswith(("/", "?")):
        return "leaves out a command"
    if is_own and target in ("codex", "gemini-cli") and text.startswith(OWN_CONTEXT):
        return "sends its context anew"
    if is_own and target == "codex" and text in SCREEN_ALONE:
        return "sends items alone"
    if is_own and target == "claude-code" and text == "And the bell, while you are at it.":
        return "leaves out a queued text"
    return None


# ---- the check of the check ------------------------------------------------------------------------------------------


def unseen_breaks(things, system, requests, source, target):
    """Breaks the request; the judge must see each break."""
    body, faults, draw = request_of(requests, target), [], random.Random(1)
    list_name = "contents" if "contents" in body else "input" if "input" in body else "messages"
    for kind in (TEXT, CALL, RESULT):
        found = [thing for thing in things if thing.kind == kind and spaced(str(thing.value[1] if kind != RESULT else thing.value))]
        found = [thing for thing in found if (kind != TEXT or len(spaced(thing.value[1])) > 12)
                 and not named_act(source, target, thing, [])]
        if not found:
            continue
        thing = draw.choice(found)
        words = thing.value[1] if kind == TEXT else thing.value[0] if kind == CALL else thing.value
        dropped = [entry for entry in body[list_name] if spaced(words)[:80] not in spaced("\n".join(strings_in(entry)))]
        if len(dropped) == len(body[list_name]):
            continue
        if not judge(things, system, [{**body, list_name: dropped}], source, target)[1]:
            faults.append(f"self-check: dropped {brief(thing)}, and no fault was seen")
        twice = [entry for entry in body[list_name] for _ in range(2 if entry not in dropped else 1)]
        if kind == TEXT and not judge(things, system, [{**body, list_name: twice}], source, target)[1]:
            faults.append(f"self-check: doubled {brief(thing)}, and no fault was seen")
    return faults


if __name__ == "__main__":
    main()
