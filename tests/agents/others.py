"""The programs beside Claude Code, Codex and Pi: how each is given a session, and what it must send of it.

They tell a model the history of another agent each in a way of its own: thoughts as text, texts joined, words before and after
a result. So what is asked here is that everything is there and in its place: each call with name and arguments, its result's texts in
the result of that call, each text in a message of its side, and calls in their order.
"""

import collections
import hashlib
import json
import re
import subprocess
import sys

from sessions import CALL, IMAGE, KINDS, REASONING, RESULT, TEXT, Said, brief, canonical, lines_of

SESSION = "5e551011-0000-4000-8000-000000000000"


# ---- what they send --------------------------------------------------------------------------------------------------


def read_chat_request(body):
    """`POST /v1/chat/completions`."""
    said = Said()
    for message in body.get("messages", []):
        role, content = message["role"], message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if role == "tool":
            said.result(message.get("tool_call_id"), [part_of(part) for part in parts])
            continue
        said.reasoning(message.get("reasoning_content"))
        for part in parts:
            kind, value = part_of(part) or (None, None)
            if kind == IMAGE:
                said.image(role, value)
            elif kind == TEXT:
                said.text(role, value)
        for call in message.get("tool_calls") or []:
            said.call(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"] or "{}"))
    return said


def part_of(part):
    if part.get("type") == "image_url":
        return (IMAGE, bytes_of(part["image_url"]["url"]))
    return (TEXT, part["text"]) if isinstance(part.get("text"), str) else None


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
                texts = strings_in(response.get("response"))
                said.result(waiting.popleft() if waiting else None, [(TEXT, text) for text in texts])
            elif "inlineData" in part:
                said.image(role, part["inlineData"]["data"])
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


def judge_other(said, requests, program):
    """(comparison, faults, notes), as the other programs are judged."""
    read = read_gemini_request if program.reads == "gemini-cli" else read_chat_request
    # Qwen Code asks a second time, for what is worth remembering.
    sent = read(requests[0])
    found, expected, faults, notes = collections.Counter(), collections.Counter(), [], collections.Counter()
    words = {side: "\n".join(spaced(thing.value[1]) for thing in sent.things
                             if thing.kind == TEXT and (thing.value[0] == "assistant") == (side == "assistant"))
             for side in ("assistant", "user")}
    thoughts = "\n".join(spaced(thing.value) for thing in sent.things if thing.kind == REASONING)
    pictures = [thing.value[1] for thing in sent.things if thing.kind == IMAGE]
    pictures += [value for thing in sent.things if thing.kind == RESULT for kind, value in thing.value if kind == IMAGE]
    # Each sends a name in letters that its API takes, and ids of its own.
    calls = [(name_of(thing.value[0]), by_value(thing.value[1]), thing.id) for thing in sent.things if thing.kind == CALL]
    results = collections.defaultdict(list)
    for thing in sent.things:
        if thing.kind == RESULT:
            results[thing.id].append("\n".join(spaced(value) for kind, value in thing.value if kind == TEXT))
    at, ids = 0, {}
    for thing in said.things:
        ok = True
        if thing.kind == CALL:
            name, arguments = name_of(thing.value[0]), by_value(thing.value[1])
            place = next((n for n in range(at, len(calls)) if calls[n][0] == name and same(calls[n][1], arguments)), None)
            ok = place is not None
            if ok:
                at, ids[thing.id] = place + 1, calls[place][2]
        elif thing.kind == RESULT:
            answers = results.get(ids.get(thing.id), [])
            texts = [spaced(value) for kind, value in thing.value if kind == TEXT]
            ok = any(all(text in answer for text in texts) for answer in answers)
            if not ok and thing.id not in ids:
                notes["results without a call"] += 1
                ok = None
            for picture in (value for kind, value in thing.value if kind == IMAGE):
                if bytes_of(picture) not in pictures:
                    notes["pictures of results left out"] += 1
        elif thing.kind == TEXT:
            ok = spaced(thing.value[1]) in words["assistant" if thing.value[0] == "assistant" else "user"]
        elif thing.kind == REASONING:
            ok = spaced(thing.value) in thoughts or spaced(thing.value) in words["assistant"]
            if not ok:
                notes["thoughts left out"] += 1
                ok = None
        else:
            ok = bytes_of(thing.value[1]) in pictures
            if not ok:
                notes["pictures left out"] += 1
                ok = None
        expected[thing.kind] += 1
        found[thing.kind] += bool(ok)
        if ok is False:
            faults.append(f"missing: {brief((thing.kind, thing.value))}")
    if len(calls) > expected[CALL]:
        # Calls of subagents, and what stands within a message: our counter of the source looks at lines alone.
        notes["more calls than the lines of the source have"] += len(calls) - expected[CALL]
    if program.reads != "gemini-cli":
        # Some send calls that were never answered as they are.
        unanswered = expected[CALL] - len({thing.id for thing in said.things if thing.kind == RESULT and thing.id in ids})
        refused = refused_chat(requests[0])
        if 0 < len(refused) <= unanswered:
            notes["calls sent without a result"] += len(refused)
        else:
            faults += refused
    compared = collections.namedtuple("Compared", "found expected")(found, expected)
    return compared, faults, [f"{count} {what}" for what, count in notes.items()]


ONE_AGENT = ("kimi-cli", "kimi-code", "opencode")  # they have files of their own for subagents


def without_subagents(text):
    """A log without the lines that subagents say."""
    said_by_one = lambda line: isinstance(line, dict) and line.get("isSidechain") is True  # noqa: E731
    lines = [(line, next(lines_of(line), None)) for line in text.split("\n")]
    return "\n".join(line for line, value in lines if not said_by_one(value))


def bytes_of(picture):
    return str(picture).rpartition(",")[2]


def without_left_behind(said, text):
    """Qwen Code sends only what the last line of its file hangs on."""
    lines = list(lines_of(text))
    by_id, at, chain = {line["uuid"]: line for line in lines}, lines[-1] if lines else None, set()
    while at and at["uuid"] not in chain:
        chain.add(at["uuid"])
        at = by_id.get(at.get("parentUuid"))
    parts = [part for line in lines if line["uuid"] not in chain for part in (line.get("message") or {}).get("parts", [])]
    hidden = collections.Counter(part["text"] for part in parts if "text" in part)
    calls = {part["functionCall"].get("id") for part in parts if "functionCall" in part}
    sent = Said()
    for thing in said.things:
        words = thing.value[1] if thing.kind == TEXT else thing.value if thing.kind == REASONING else None
        if hidden[words] > 0:
            hidden[words] -= 1
        elif thing.id is None or thing.id not in calls:
            sent.things.append(thing)
    return sent


def spaced(text):
    return " ".join(text.split())


def name_of(name):
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def by_value(arguments):
    number = lambda value: float(value["number"]) if list(value) == ["number"] else value  # noqa: E731
    return json.loads(arguments, object_hook=number) if isinstance(arguments, str) else arguments


def same(one, other):
    return canonical(one) == canonical(other)


def refused_chat(body):
    """For what the chat API would refuse this request: calls are answered at once, and only calls are."""
    faults, waiting = [], []
    for number, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message.get("tool_call_id") in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                faults.append(f"refused: message {number} answers a call that is not open")
            continue
        if waiting:
            faults.append(f"refused: message {number} comes before {len(waiting)} results")
        waiting = [call["id"] for call in message.get("tool_calls") or []]
    return faults


# ---- what they are told ----------------------------------------------------------------------------------------------


def chat_events(answer, model):
    def chunk(delta, finish=None, **more):
        return {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1790000000, "model": model,
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    chunks = [chunk({"role": "assistant", "content": answer}), chunk({}, "stop", usage=usage)]
    return "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + "data: [DONE]\n\n"


def chat_document(answer, model):
    return json.dumps({
        "id": "chatcmpl-scripted", "object": "chat.completion", "created": 1790000000, "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}})


# Which model is to answer: asked before the question itself.
ROUTED = json.dumps({"complexity_reasoning": "simple", "complexity_score": 10, "model_choice": "flash", "reasoning": "simple"})


def gemini_document(answer):
    return json.dumps({
        "candidates": [{"content": {"role": "model", "parts": [{"text": answer}]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "scripted", "responseId": "scripted"})


# ---- the programs ----------------------------------------------------------------------------------------------------
# Each has what `place` gives: the text of a session, the folder of the home and that of the work, the port of the model, and `start`,
# which runs the program with arguments and an environment, and says whether its answer is waited for.


def as_its_own(text, cwd):
    """The same session under an id that is known, in the folder where the program is run."""
    for line in lines_of(text):
        for name, value in (("sessionId", SESSION), ("cwd", str(cwd))):
            if name in line:
                line[name] = value
        yield json.dumps(line) + "\n"


def resume_gemini(text, home, cwd, port, prompt, start):
    chats = home / ".gemini/tmp" / cwd.name / "chats"
    chats.mkdir(parents=True)
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
                "general": {"sessionRetention": {"enabled": False}, "enableAutoUpdate": False}}
    (home / ".gemini/settings.json").write_text(json.dumps(settings))
    (chats / f"session-2026-11-01T00-00-{SESSION[:8]}.jsonl").write_text("".join(as_its_own(text, cwd)), encoding="utf-8")
    return start(
        ["-o", "stream-json", "--yolo", "--skip-trust", "--resume", SESSION, "-p", prompt],
        GEMINI_API_KEY="none", GOOGLE_GEMINI_BASE_URL=f"http://127.0.0.1:{port}", TERM="dumb")


def resume_qwen(text, home, cwd, port, prompt, start):
    chats = home / ".qwen/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd)) / "chats"
    chats.mkdir(parents=True)
    # A long history would be compressed first.
    (home / ".qwen/settings.json").write_text(json.dumps({"model": {"generationConfig": {"contextWindowSize": 2000000}}}))
    (chats / f"{SESSION}.jsonl").write_text("".join(as_its_own(text, cwd)), encoding="utf-8")
    return start(
        ["--auth-type", "openai", "--yolo", "--output-format", "stream-json", "--resume", SESSION, prompt],
        OPENAI_API_KEY="none", OPENAI_BASE_URL=f"http://127.0.0.1:{port}/v1", OPENAI_MODEL="scripted", TERM="dumb")


def resume_opencode(text, home, cwd, port, prompt, start):
    models = {"scripted": {"name": "scripted", "reasoning": True, "tool_call": True, "attachment": True,
                           "modalities": {"input": ["text", "image"], "output": ["text"]},
                           "limit": {"context": 2000000, "output": 8192}}}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": models,
                "options": {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "none"}}
    (cwd / "opencode.json").write_text(json.dumps({
        "model": "scripted/scripted", "small_model": "scripted/scripted", "share": "disabled", "autoupdate": False,
        "provider": {"scripted": provider}}))
    session = home / "session.json"
    session.write_text(text, encoding="utf-8")
    start(["import", str(session)], answers=False)
    # Without a model it goes on with that of the history, whose provider is not here.
    return start(["run", "-s", json.loads(text)["info"]["id"], "-m", "scripted/scripted", "--format", "json", prompt])


KIMI_CONFIG = """\
default_model = "scripted"
[providers.scripted]
type = "kimi"
base_url = "http://127.0.0.1:{port}/v1"
api_key = "none"
[models.scripted]
provider = "scripted"
model = "scripted"
max_context_size = 2000000
"""


def resume_kimi_cli(text, home, cwd, port, prompt, start):
    config = home / "config.toml"
    config.write_text(KIMI_CONFIG.format(port=port))
    arguments = ["--config-file", str(config), "--print", "--output-format", "stream-json"]
    # It resumes only what it has in its list of folders.
    start([*arguments, "-p", "hello"], answers=False, LANG="C.UTF-8")
    folder = home / ".kimi/sessions" / hashlib.md5(str(cwd).encode()).hexdigest() / SESSION
    folder.mkdir(parents=True)
    (folder / "context.jsonl").write_text(text, encoding="utf-8")
    return start([*arguments, "-S", SESSION, "-p", prompt], LANG="C.UTF-8")


def resume_kimi_code(text, home, cwd, port, prompt, start):
    env = {"KIMI_MODEL_NAME": "scripted", "KIMI_MODEL_API_KEY": "none", "KIMI_MODEL_PROVIDER_TYPE": "openai",
           "KIMI_MODEL_BASE_URL": f"http://127.0.0.1:{port}/v1", "KIMI_CODE_NO_AUTO_UPDATE": "1"}
    # It alone knows what it calls the folder of a project.
    start(["-p", "hello", "--output-format", "stream-json"], answers=False, **env)
    project = next((home / ".kimi-code/sessions").glob("wd_*"))
    session = f"session_{SESSION}"
    agent = project / session / "agents/main"
    agent.mkdir(parents=True)
    (agent / "wire.jsonl").write_text(text, encoding="utf-8")
    (project / session / "state.json").write_text(json.dumps({
        "id": session, "version": 2, "cwd": str(cwd), "archived": False, "custom": {}, "isCustomTitle": False,
        "agents": {"main": {"homedir": str(agent), "type": "main"}}, "createdAt": 1790000000000, "updatedAt": 1790000000000}))
    return start(["-S", session, "-m", "__kimi_env_model__", "-p", prompt, "--output-format", "stream-json"], **env)


RESUME_OTHER = {"gemini-cli": resume_gemini, "qwen-code": resume_qwen, "opencode": resume_opencode, "kimi-cli": resume_kimi_cli,
                "kimi-code": resume_kimi_code}


def install_python(package, folder):
    """A package of PyPI in an environment of its own; it wants a newer Python than this script."""
    for python in (sys.executable, "python3.13", "python3.12", "python3.14"):
        try:
            version = subprocess.run([python, "-c", "import sys; print(sys.version_info >= (3, 12))"], capture_output=True, text=True)
        except OSError:
            continue
        if version.stdout.strip() == "True":
            subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
            subprocess.run([folder / "venv/bin/pip", "install", "--quiet", package], check=True, timeout=600)
            return
    sys.exit(f"{package} needs Python 3.12")
