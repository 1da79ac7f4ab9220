"""The agents of the suite: how each is started, and how its own tools are called.

Each agent gets the same task of five turns from the script: a file created, a file that is missing, two commands at once, an edit,
and a closing text. The two commands print the texts of files that only the disk holds, so that no result can come from the script.
"""

import collections
import json

FINAL = "The task is finished: final-93."
THOUGHTS = ("First the notes are written.", "Next comes a file that is missing.")
STATES = ("c2lnbmF0dXJlLTE=", "c2lnbmF0dXJlLTI=")  # of the thoughts, sent back by clients that keep such state
NOTES, EDITED = "first\nlast\n", "second\nlast\n"

# One turn of the script: calls are pairs of a name and arguments.
Turn = collections.namedtuple("Turn", "calls thought state text", defaults=((), None, None, None))

# program: the name in tests/agents/programs.py. model: the value of --model, or None for the agent's own default. arguments: those of
# the user. env: variables that keep the agent quiet. turns: from the work folder to turns. failed: texts in one line of the agent's
# output that shows the failed call. files: configuration files of the user, which lead elsewhere. logs: a text in its log (stderr).
Agent = collections.namedtuple("Agent", "program model arguments env turns failed files shows_thoughts logs", defaults=("",))

PROMPT = "Do the task that the model knows."
ELSEWHERE = "http://127.0.0.1:9"  # nobody listens there


def task(create, missing, left, right, edit):
    return [
        Turn([create], THOUGHTS[0], STATES[0]),
        Turn([missing], THOUGHTS[1], STATES[1]),
        Turn([left, right]),
        Turn([edit]),
        Turn(text=FINAL),
    ]


def plain_tools(names, path, content, old, new, more=None, more_edit=None, after=""):
    """The turns of an agent with a tool to write, to read, for commands and to edit, whose arguments have these names. Some commands
    and edits need `more` arguments. `after` ends each command."""
    write, read, shell, edit = names

    def turns(work):
        notes, command = str(work / "notes.txt"), lambda text: (shell, {"command": text, "description": "shows a file", **(more or {})})
        return task(
            (write, {path: notes, content: NOTES}), (read, {path: str(work / "missing.txt")}),
            command("cat left.txt" + after), command("cat right.txt" + after), (edit, {path: notes, old: "first", new: "second", **(more_edit or {})}))
    return turns


def patch(*lines):
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


CREATE_PATCH = patch("*** Add File: notes.txt", "+first", "+last")
EDIT_PATCH = patch("*** Update File: notes.txt", "@@", "-first", "+second", " last")


def codex_turns(_):
    run = lambda command: ("exec_command", {"cmd": command})
    patched = lambda text: run(f"apply_patch <<'EOF'\n{text}\nEOF")
    return task(patched(CREATE_PATCH), run("cat missing.txt"), run("cat left.txt"), run("cat right.txt"), patched(EDIT_PATCH))


def codex_code_turns(_):
    """Codex with its own default model has one tool that takes JavaScript as plain text. Two commands run at once inside it."""
    code = lambda text: ("functions__exec", {"input": text})
    run = lambda command: f"text((await tools.exec_command({{cmd: {json.dumps(command)}}})).output);"
    patched = lambda text: code(f"text(await tools.apply_patch({json.dumps(text)}));")
    return task(patched(CREATE_PATCH), code(run("cat missing.txt")), code(run("cat left.txt")), code(run("cat right.txt")), patched(EDIT_PATCH))


def pi_turns(work):
    turns = plain_tools(("write", "read", "bash", "edit"), "path", "content", "old", "new")(work)
    edit = ("edit", {"path": str(work / "notes.txt"), "edits": [{"oldText": "first", "newText": "second"}]})
    return [*turns[:3], Turn([edit]), turns[4]]


CODEX_ARGUMENTS = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--disable", "plugins", PROMPT]
# `with` leaves the WebSocket of Codex off: Codex sends the same requests with POST.
CODEX_WEBSOCKET = ["-c", "model_providers.interlingua.supports_websockets=true"]
CODEX_CONFIG = f'model_provider = "mine"\n[model_providers.mine]\nname = "mine"\nbase_url = "{ELSEWHERE}/v1"\n'
KIMI_CONFIG = f"""\
default_model = "mine"
[providers.mine]
type = "kimi"
base_url = "{ELSEWHERE}/v1"
api_key = "none"
[models.mine]
provider = "mine"
model = "mine"
max_context_size = 200000
"""
QWEN_SETTINGS = {
    "security": {"auth": {"selectedType": "openai", "apiKey": "mine", "baseUrl": f"{ELSEWHERE}/v1"}}, "model": {"name": "mine"},
    "env": {"OPENAI_BASE_URL": f"{ELSEWHERE}/v1"}, "$version": 4}
OPENCODE_CONFIG = {
    "$schema": "https://opencode.ai/config.json", "model": "anthropic/claude-sonnet-4-5",
    "provider": {"anthropic": {"options": {"baseURL": f"{ELSEWHERE}/v1", "apiKey": "mine"}}}}
PI_MODELS = {"providers": {"anthropic": {"baseUrl": ELSEWHERE}}}

AGENTS = {
    "claude": Agent(
        "claude-code", None, ["-p", PROMPT, "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"],
        {"IS_SANDBOX": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"},
        plain_tools(("Write", "Read", "Bash", "Edit"), "file_path", "content", "old_string", "new_string"),
        ['"tool_use_id":"call_2_1"', '"is_error":true', "does not exist"],
        {".claude/settings.json": json.dumps({"env": {"ANTHROPIC_BASE_URL": ELSEWHERE, "ANTHROPIC_API_KEY": "mine"}})}, True),
    "codex": Agent(
        "codex", "scripted", CODEX_ARGUMENTS, {}, codex_turns, ["missing.txt: No such file", '"status":"failed"'],
        {".codex/config.toml": CODEX_CONFIG}, True),
    "codex-websocket": Agent(
        "codex", "scripted", [*CODEX_WEBSOCKET, *CODEX_ARGUMENTS], {"RUST_LOG": "codex_api=info"}, codex_turns,
        ["missing.txt: No such file", '"status":"failed"'], {".codex/config.toml": CODEX_CONFIG}, True,
        "successfully connected to Responses WebSocket"),
    "codex-code": Agent(
        "codex", None, CODEX_ARGUMENTS, {}, codex_code_turns, ["missing.txt: No such file", '"status":"failed"'],
        {".codex/config.toml": CODEX_CONFIG}, False),
    "gemini": Agent(
        "gemini-cli", None, ["-p", PROMPT, "-o", "stream-json", "--yolo", "--skip-trust"], {},
        plain_tools(("write_file", "read_file", "run_shell_command", "replace"), "file_path", "content", "old_string", "new_string",
                    more_edit={"instruction": "Change the first line."}),
        ["call_2_1", '"status":"error"', "file_not_found"],
        {".gemini/settings.json": '{"security": {"auth": {"selectedType": "oauth-personal"}}, /* mine */ "privacy": {"usageStatisticsEnabled": false}}'},
        False),
    "opencode": Agent(
        "opencode", "scripted", ["run", "--format", "json", "--thinking", PROMPT], {},
        plain_tools(("write", "read", "bash", "edit"), "filePath", "content", "oldString", "newString"),
        ['"callID":"call_2_1"', '"status":"error"', "File not found"],
        {".config/opencode/opencode.json": json.dumps(OPENCODE_CONFIG)}, True),
    "qwen": Agent(
        "qwen-code", "scripted", ["--yolo", "--output-format", "stream-json", PROMPT], {},
        plain_tools(("write_file", "read_file", "run_shell_command", "edit"), "file_path", "content", "old_string", "new_string", {"is_background": False},
                    after=" && sleep 1"),  # it loses the output of quicker commands on a busy machine
        ['"tool_use_id":"call_2_1"', '"is_error":true', "File not found"], {".qwen/settings.json": json.dumps(QWEN_SETTINGS, indent=2)}, True),
    "kimi": Agent(
        "kimi-code", "scripted", ["-p", PROMPT, "--output-format", "stream-json"], {"KIMI_CODE_NO_AUTO_UPDATE": "1"},
        plain_tools(("Write", "Read", "Bash", "Edit"), "path", "content", "old_string", "new_string"),
        ['"tool_call_id":"call_2_1"', "does not exist"], {".kimi-code/config.toml": KIMI_CONFIG}, False),
    "copilot": Agent(
        "copilot-cli", "scripted", ["-p", PROMPT, "--allow-all", "--output-format", "json"], {"COPILOT_AUTO_UPDATE": "false"},
        plain_tools(("create", "view", "bash", "edit"), "path", "file_text", "old_str", "new_str"),
        ['"toolCallId":"call_2_1"', '"success":false', "does not exist"], {".copilot/settings.json": json.dumps({"model": "mine"})}, True),
    "pi": Agent(
        "pi", "scripted", ["--offline", "--mode", "json", "-p", PROMPT], {}, pi_turns,
        ['"toolCallId":"call_2_1"', '"isError":true', "ENOENT"], {".pi/agent/models.json": json.dumps(PI_MODELS)}, True),
}

# An agent and the dialect of its backend. A backend whose dialect can hold the state of thoughts gets this state back from agents that
# keep it; `state` names these cells.
Cell = collections.namedtuple("Cell", "agent dialect state")
CELLS = [
    Cell("claude", "openai-chat", False),
    Cell("claude", "gemini", True),
    Cell("codex", "anthropic", True),
    Cell("codex-websocket", "anthropic", True),
    Cell("codex-code", "anthropic", True),
    Cell("gemini", "openai-responses", True),
    Cell("opencode", "anthropic", False),
    Cell("qwen", "openai-responses", False),
    Cell("kimi", "openai-responses", False),
    Cell("copilot", "gemini", True),
    Cell("pi", "gemini", True),
]

# Answers to requests beside the task: a title for most agents, the choice of a model for Gemini CLI.
SIDE = json.dumps({"complexity_reasoning": "simple", "complexity_score": 10, "title": "The notes"})


def script(turns):
    """The script as TOML. A JSON string is a TOML string."""
    lines = ["[side]", f"text = {json.dumps(SIDE)}"]
    for turn in turns:
        lines.append("[[turn]]")
        for name, value in (("reasoning", turn.thought), ("signature", turn.state), ("text", turn.text)):
            if value is not None:
                lines.append(f"{name} = {json.dumps(value)}")
        calls = [f"{{ name = {json.dumps(name)}, arguments = {json.dumps(json.dumps(arguments))} }}" for name, arguments in turn.calls]
        if calls:
            lines.append(f"calls = [{', '.join(calls)}]")
    return "\n".join(lines) + "\n"
