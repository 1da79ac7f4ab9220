"""Drives real agents over the Agent Client Protocol with universal events: prompts, permissions, a question, an interrupt.

    cargo build -p interlingua --example agent_link
    cargo build -p interlingua-cli
    python3 tests/live/acp.py --tools TOOLS --examples target/debug/examples --interlingua target/debug/interlingua [AGENT…]

`TOOLS` holds a folder for each agent, as `tests/agents/resume.py` installs them. The model is `interlingua mock` with a script; each
agent gets an empty home. `--keep FOLDER` keeps the transcripts of both directions, cut as fixtures are, and the events.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from link import Link, faults, texts

STALL = "Once upon a time there was a heron that waited and waited and waited. " * 4


class Agent:
    """How an agent is started, and the names of its tools."""

    def __init__(self, folder, command, arguments, shell, ask=None, **settings):
        self.folder, self.command, self.arguments = folder, command, arguments
        self.shell, self.ask, self.settings = shell, ask, settings

    def call(self, command):
        return self.shell[0], {"command": command, **self.shell[1]}


AGENTS = {
    "gemini-cli": Agent(
        "google-gemini-cli-0.61.0", "gemini", ["--acp", "--skip-trust"], ("run_shell_command", {"description": "Runs"}),
        permission_mode="default"),
    "qwen-code": Agent(
        "qwen-code-qwen-code-0.24.4-node-22", "qwen", ["--acp", "--auth-type", "openai"],
        ("run_shell_command", {"description": "Runs", "is_background": False}), permission_mode="default"),
    "opencode": Agent("opencode-ai-1.18.33", "opencode", ["acp"], ("bash", {"description": "Runs"}), permission_mode="build"),
    "copilot-cli": Agent("github-copilot-1.0.102", "copilot", ["--acp"], ("bash", {"description": "Runs"})),
    "kimi-code": Agent(
        "moonshot-ai-kimi-code-2.1.0-node-22", "kimi", ["acp"], ("Bash", {}),
        ask=("AskUserQuestion", {"questions": [{
            "question": "Which bird?", "header": "Bird",
            "options": [{"label": "Heron", "description": "It waits."}, {"label": "Egret", "description": "It is white."}]}]}),
        permission_mode="default"),
}


def environment(name, home, cwd, port):
    """Places the settings of an agent in its home. Returns the environment."""
    url = f"http://127.0.0.1:{port}"
    if name == "gemini-cli":
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False},
                    "general": {"enableAutoUpdate": False}}
        (home / ".gemini").mkdir()
        (home / ".gemini/settings.json").write_text(json.dumps(settings))
        return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url}
    if name == "qwen-code":
        return {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "scripted"}
    if name == "opencode":
        models = {"scripted": {"name": "scripted", "reasoning": True, "tool_call": True,
                               "limit": {"context": 200000, "output": 8192}}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": models,
                    "options": {"baseURL": f"{url}/v1", "apiKey": "none"}}
        (cwd / "opencode.json").write_text(json.dumps({
            "model": "scripted/scripted", "small_model": "scripted/scripted", "share": "disabled", "autoupdate": False,
            "permission": {"bash": "ask", "edit": "ask"}, "provider": {"scripted": provider}}))
        return {}
    if name == "copilot-cli":
        return {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "scripted",
                "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false"}
    return {"KIMI_MODEL_NAME": "scripted", "KIMI_MODEL_API_KEY": "none", "KIMI_MODEL_PROVIDER_TYPE": "openai",
            "KIMI_MODEL_MAX_CONTEXT_SIZE": "200000", "KIMI_MODEL_BASE_URL": f"{url}/v1", "KIMI_CODE_NO_AUTO_UPDATE": "1"}


# ---- the model -------------------------------------------------------------------------------------------------------


def turn(text=None, reasoning=None, calls=(), delay=0):
    lines = ["[[turn]]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in (("reasoning", reasoning), ("text", text)) if value]
    if calls:
        made = [f"{{ name = {json.dumps(name)}, arguments = {json.dumps(json.dumps(arguments))} }}" for name, arguments in calls]
        lines.append(f"calls = [{', '.join(made)}]")
    return "\n".join(lines + [f"delay-ms = {delay}"]) + "\n"


def script(agent):
    turns = [
        turn("I run two commands.", "Two commands, in parallel.", [agent.call("echo one > one.txt && cat one.txt"), agent.call("cat nowhere.txt")]),
        turn("Both ended."),
        turn(None, None, [agent.call("touch never.txt")]),
        turn("It was denied."),
    ]
    if agent.ask:
        turns += [turn(None, None, [agent.ask]), turn("A heron.")]
    turns.append(turn(STALL, delay=400))
    return "\n".join(turns) + '\n[side]\ntext = "A title"\n'


class Mock:
    """`interlingua mock` with a script."""

    def __init__(self, program, text, folder):
        path = folder / "script.toml"
        path.write_text(text)
        self.process = subprocess.Popen(
            [program, "mock", str(path), "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.port = None
        for line in self.process.stdout:
            found = re.search(r"127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found.group(1))
                break
        assert self.port, "the model did not start"

    def close(self):
        self.process.kill()
        self.process.wait()


# ---- the transcript as a fixture ---------------------------------------------------------------------------------------


def tidied(text, folder, tools):
    """The transcript with neutral paths; texts and lists of the vendor are cut."""
    text = text.replace(tools, "/opt/agents").replace(f"{folder}/repo", "/project").replace(f"{folder}/home", "/home/user")
    return "".join(json.dumps(cut(json.loads(line)), ensure_ascii=False, separators=(",", ":")) + "\n" for line in text.splitlines())


def cut(value):
    if isinstance(value, dict):
        return {name: cut(member) for name, member in value.items()}
    if isinstance(value, list):
        return [cut(element) for element in value[:5]]
    if isinstance(value, str) and len(value) > 160 and "heron" not in value:
        return f"{value[:60]}…[cut {len(value) - 60} chars]"
    return value


# ---- one session -----------------------------------------------------------------------------------------------------


def answer(link, status):
    """Answers every permission request of the turn. Returns the requests and the end of the turn."""
    asked = []
    while True:
        data = link.await_event("permission.requested", "turn.ended")
        if "permission_id" not in data:
            return asked, data
        asked.append(data)
        link.decide(data, status)


def stop_of(ended):
    return ended["metadata"]["stop"]["class"]


def items(link, kind):
    done = [event["data"]["item"] for event in link.events if event["type"] == "item.completed"]
    return [item for item in done if item["kind"] == kind]


def session(agent, link, cwd):
    """Drives the agent. Yields the name of each check with its outcome and what was seen."""
    link.open(cwd=str(cwd), **agent.settings)
    link.prompt("Run both commands.")
    asked, ended = answer(link, "accept")
    yield "permissions are asked", len(asked) >= 1, asked
    yield "the turn ends", stop_of(ended) == "end_turn", ended
    yield "an accepted command ran", (cwd / "one.txt").exists(), os.listdir(cwd)
    said = texts(link.events, "assistant")
    yield "the texts", "I run two commands." in "".join(said) and "Both ended." in "".join(said), said
    calls, results = items(link, "tool_call"), items(link, "tool_result")
    yield "two calls", len(calls) == 2, calls
    yield "two results", len(results) == 2, results

    link.prompt("Touch a file.")
    asked, ended = answer(link, "reject")
    yield "a permission is asked for the second turn", len(asked) == 1, asked
    yield "a rejected command did not run", not (cwd / "never.txt").exists(), os.listdir(cwd)
    results = items(link, "tool_result")
    yield "a rejected call failed", len(results) == 3 and results[-1]["status"] == "failed", results[-1]
    if "It was denied." not in "".join(texts(link.events, "assistant")):
        # Some agents end the turn with the refusal.
        link.prompt("Go on.")
        _, ended = answer(link, "reject")
    yield "the session goes on", "It was denied." in "".join(texts(link.events, "assistant")), ended

    if agent.ask:
        link.prompt("Ask me.")
        question = link.await_event("question.requested")
        yield "the question", [label for label, _ in question["prompts"][0]["options"]] == ["Heron", "Egret"], question
        link.answer(question, [["Egret"]])
        _, ended = answer(link, "accept")
        output = json.dumps(items(link, "tool_result")[-1])
        yield "the answer reached the agent", "Egret" in output, output

    link.prompt("Tell a story.")
    link.await_event("item.delta", where=lambda data: "Once" in json.dumps(data))
    link.interrupt()
    _, ended = answer(link, "reject")
    yield "the interrupted turn is cancelled", stop_of(ended) == "cancelled", ended
    yield "the story was cut", "".join(texts(link.events, "assistant")).count("heron that") < 4, texts(link.events, "assistant")


def drive(name, agent, options, folder):
    home, cwd = folder / "home", folder / "repo"
    home.mkdir()
    cwd.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=cwd, check=True)
    programs = pathlib.Path(options.tools) / agent.folder / "node_modules/.bin"
    mock = Mock(options.interlingua, script(agent), folder)
    proxy = "http://127.0.0.1:9"
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(home), "TMPDIR": str(home), "HTTPS_PROXY": proxy, "HTTP_PROXY": proxy,
           "NO_PROXY": "127.0.0.1,localhost", "TERM": "dumb", "LANG": "C.UTF-8", "AGENT_LINK_TRACE": str(folder / "transcript.jsonl"),
           **environment(name, home, cwd, mock.port)}
    os.environ["AGENT_LINK_TRACE"] = env["AGENT_LINK_TRACE"]
    link = Link(os.path.join(options.examples, "agent_link"), "acp", [str(programs / agent.command), *agent.arguments], env=env, cwd=cwd, patience=60)
    failed = 0
    try:
        for check, is_right, seen in session(agent, link, cwd):
            print(f"{'ok  ' if is_right else 'FAIL'} {name}: {check}" + ("" if is_right else f"\n     {json.dumps(seen)[:1500]}"), flush=True)
            failed += not is_right
        found = faults(link.events)
        print(f"{'FAIL' if found else 'ok  '} {name}: the stream is whole {found or ''}", flush=True)
        failed += bool(found)
    except AssertionError as error:
        print(f"FAIL {name}: {error}", flush=True)
        failed += 1
    finally:
        link.kill()
        mock.close()
        if options.keep:
            keep = pathlib.Path(options.keep)
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"{name}.jsonl").write_text(tidied((folder / "transcript.jsonl").read_text(), folder, options.tools))
            (keep / f"{name}.events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in link.events))
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", required=True)
    parser.add_argument("--examples", required=True)
    parser.add_argument("--interlingua", required=True)
    parser.add_argument("--keep")
    parser.add_argument("agents", nargs="*", default=[])
    options = parser.parse_args()
    failed = 0
    for name in options.agents or AGENTS:
        with tempfile.TemporaryDirectory(prefix="acp-", ignore_cleanup_errors=True) as folder:
            failed += drive(name, AGENTS[name], options, pathlib.Path(folder))
    sys.exit(f"{failed} checks failed" if failed else 0)


if __name__ == "__main__":
    main()
