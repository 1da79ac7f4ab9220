"""The agents of the suite: the settings that lead each to the scripted model, and how its own tools are called."""

import collections
import json

# program: the name in tests/agents/programs.py. agent: the name at the daemon. shell: from a command to a call. settings: those of a
# session. prepare: places files in the home and the project, and returns variables. ask: a call that asks the user, if there is
# one. is_shared: whether sessions share a process.
Cell = collections.namedtuple("Cell", "program agent shell prepare settings ask is_shared", defaults=({}, None, False))


def shell(name, argument="command", **more):
    return lambda command: (name, {argument: command, **more})


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))


def claude(home, project, url):
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


def codex(home, project, url):
    write(home / ".codex/config.toml", (
        'model_provider = "scripted"\nmodel = "scripted"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n'
        "[features]\ndefault_mode_request_user_input = true\nplugins = false\n"
        f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{url}/v1"\nenv_key = "SCRIPTED_KEY"\nwire_api = "responses"\n'))
    return {"SCRIPTED_KEY": "none"}


def opencode(home, project, url):
    models = {"scripted": {"name": "scripted", "reasoning": True, "tool_call": True, "limit": {"context": 200000, "output": 8192},
                           "variants": {"deep": {"reasoningEffort": "high"}}}}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": models,
                "options": {"baseURL": f"{url}/v1", "apiKey": "none"}}
    write(home / ".config/opencode/opencode.json", {
        "model": "scripted/scripted", "small_model": "scripted/scripted", "share": "disabled", "autoupdate": False,
        "permission": {"bash": "ask"}, "provider": {"scripted": provider}})
    return {}


def gemini(home, project, url):
    write(home / ".gemini/settings.json", {
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "sessionRetention": {"enabled": False}}})
    return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}


def copilot(home, project, url):
    return {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "scripted",
            "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"}


def kimi(home, project, url):
    return {"KIMI_MODEL_NAME": "scripted", "KIMI_MODEL_API_KEY": "none", "KIMI_MODEL_PROVIDER_TYPE": "openai",
            "KIMI_MODEL_MAX_CONTEXT_SIZE": "200000", "KIMI_MODEL_BASE_URL": f"{url}/v1", "KIMI_CODE_NO_AUTO_UPDATE": "1"}


def qwen(home, project, url):
    write(home / ".qwen/settings.json", {"security": {"auth": {"selectedType": "openai"}}, "$version": 4})
    return {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "scripted"}


def pi(home, project, url):
    scripted = {"id": "scripted", "name": "scripted", "reasoning": False, "input": ["text"], "contextWindow": 200000,
                "maxTokens": 8192, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
    provider = {"baseUrl": url, "api": "anthropic-messages", "apiKey": "none", "models": [scripted]}
    write(home / ".pi/agent/models.json", {"providers": {"scripted": provider}})
    return {"PI_OFFLINE": "1"}


BIRDS = [{"label": "Heron", "description": "It waits."}, {"label": "Egret", "description": "It is white."}]
SIZES = [{"label": "Small", "description": "It is light."}, {"label": "Large", "description": "It is seen."}]


def questions(**more):
    return {"questions": [
        {"question": "Which bird?", "header": "Bird", "options": BIRDS, **more},
        {"question": "Which size?", "header": "Size", "options": SIZES, **more}]}


CODEX_QUESTIONS = {"questions": [
    {"id": "bird", "header": "Bird", "question": "Which bird?", "options": BIRDS},
    {"id": "size", "header": "Size", "question": "Which size?", "options": SIZES}]}

CELLS = {
    "claude": Cell("claude-code", "claude", shell("Bash", description="runs"), claude, ask=("AskUserQuestion", questions(multiSelect=False))),
    "codex": Cell("codex", "codex", shell("exec_command", "cmd"), codex, ask=("request_user_input", CODEX_QUESTIONS), is_shared=True),
    "opencode": Cell("opencode", "opencode", shell("bash", description="runs"), opencode, ask=("question", questions()), is_shared=True),
    "gemini": Cell("gemini-cli", "gemini", shell("run_shell_command", description="runs"), gemini),
    "copilot": Cell("copilot-cli", "copilot", shell("bash", description="runs"), copilot),
    "kimi": Cell("kimi-code", "kimi", shell("Bash"), kimi),
    "qwen": Cell("qwen-code", "qwen", shell("run_shell_command", description="runs", is_background=False), qwen),
    "pi": Cell("pi", "pi", shell("bash"), pi, {"model": "scripted/scripted"}),
}

# Answers to requests beside the task: a title for most agents, the choice of a model for Gemini CLI.
SIDE = json.dumps({"complexity_reasoning": "simple", "complexity_score": 10, "title": "The notes"})


def turn(text=None, calls=(), reasoning=None, delay=0):
    lines = ["[[turn]]", f"delay-ms = {delay}"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in (("reasoning", reasoning), ("text", text)) if value]
    made = [f"{{ name = {json.dumps(name)}, arguments = {json.dumps(json.dumps(arguments))} }}" for name, arguments in calls]
    return "\n".join([*lines, *([f"calls = [{', '.join(made)}]"] if made else [])]) + "\n"


def script(*turns):
    """The script as TOML. A JSON string is a TOML string."""
    return f"[side]\ntext = {json.dumps(SIDE)}\n" + "\n".join(turns)
