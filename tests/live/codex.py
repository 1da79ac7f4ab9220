"""Drives the real `codex app-server` with universal events: prompts, approvals, questions, an interrupt, a resumed thread.

    cargo build -p interlingua --examples
    python3 tests/live/codex.py --codex CODEX --examples target/debug/examples

`CODEX` is the program of the npm package `@openai/codex` (tried with 0.166.0). The model is a script on loopback; the
program gets an empty home. The last check counts: texts, reasoning and results of the stream equal those of the log that
the program left on disk.
"""

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

from link import Link, faults, texts
from responses_model import Model, Stall, call, text, thought

QUESTIONS = [
    {"id": "bird", "header": "Bird", "question": "Which bird?", "options": [{"label": "Heron", "description": "It waits."}, {"label": "Egret", "description": "It is white."}]},
    {"id": "why", "header": "Why", "question": "Why this bird?", "options": [{"label": "Colour", "description": "The feathers."}, {"label": "Size", "description": "The legs."}]},
]


def run(codex, examples, folder):
    home, repo = os.path.join(folder, "home"), os.path.join(folder, "repo")
    os.makedirs(os.path.join(home, ".codex"))
    os.makedirs(repo)
    subprocess.run(["git", "init", "--quiet"], cwd=repo, check=True)
    model = Model([
        [thought("**Plan**\n\nTouch files."), text("I touch files."), call("call_1", "exec_command", cmd="touch once.txt")],
        [call("call_2", "exec_command", cmd="touch always.txt")],
        [call("call_3", "exec_command", cmd="touch always.txt")],
        [call("call_4", "exec_command", cmd="touch never.txt")],
        [call("call_5", "exec_command", cmd="ls nowhere")],
        [text("Touched.")],
        [call("call_6", "request_user_input", questions=QUESTIONS)],
        [text("An egret.")],
        [call("call_7", "request_user_input", questions=QUESTIONS[:1])],
        [text("No answer.")],
        Stall("Once upon a time there was a heron"),
        [text("The next turn.")],
        [text("It was a heron.")],
    ])
    with open(os.path.join(home, ".codex", "config.toml"), "w", encoding="utf-8") as config:
        config.write(
            'model_provider = "demo"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n'
            f'[model_providers.demo]\nname = "demo"\nbase_url = "http://127.0.0.1:{model.port}/v1"\n'
            'env_key = "DEMO_KEY"\nwire_api = "responses"\n'
        )
    env = {"PATH": os.environ["PATH"], "HOME": home, "DEMO_KEY": "demo", "TERM": "dumb", "LANG": "C.UTF-8"}
    command = [codex, "app-server", "--enable", "default_mode_request_user_input", "--disable", "plugins"]
    link = Link(os.path.join(examples, "agent_link"), "codex-app-server", command, env=env, cwd=repo)
    try:
        checks = first_session(link, repo)
        thread = next(event["native_session_id"] for event in link.events if event["native_session_id"])
        ended = link.close()
        checks.append(("the agent ends with its input", ended == 0))
        checks += [(f"rule kept: {fault}", False) for fault in faults(link.events)]
        log = glob.glob(os.path.join(home, ".codex/sessions/**/*.jsonl"), recursive=True)
        checks += counted(link.events, os.path.join(examples, "convert"), log)
    finally:
        link.kill()
    again = Link(os.path.join(examples, "agent_link"), "codex-app-server", command, env=env, cwd=repo)
    try:
        again.open(id=thread, cwd=repo, model="demo-model")
        again.prompt("what was it?")
        again.await_event("turn.ended")
        again.close()
        history = json.dumps(model.requests[-1])
        checks.append(("a resumed thread has its history", "An egret." in history and "what was it?" in history))
        checks.append(("a resumed thread answers", texts(again.events, "assistant") == ["It was a heron."]))
        checks += [(f"rule kept: {fault}", False) for fault in faults(again.events)]
    finally:
        again.kill()
        model.close()
    return checks


def first_session(link, repo):
    checks = []
    link.open(cwd=repo, model="demo-model", permission_mode="untrusted", sandbox_policy="workspace-write", effort="low")
    link.prompt("touch files")
    asked = []
    for status in ("accept", "accept_for_session", "reject", "accept"):
        permission = link.await_event("permission.requested")
        asked.append(permission["metadata"]["input"]["command"].split("'")[1])
        link.decide(permission, status)
        # A second answer, and an answer to an unknown request, must not reach the agent.
        link.decide(permission, "reject")
        link.decide({**permission, "permission_id": "999"}, "accept")
    link.await_event("turn.ended", where=lambda data: data["metadata"]["stop"]["class"] == "end_turn")
    checks.append(("a command that was allowed for the session is not asked again",
                   asked == ["touch once.txt", "touch always.txt", "touch never.txt", "ls nowhere"]))
    checks.append(("allowed commands ran, the denied command did not",
                   sorted(name for name in os.listdir(repo) if name.endswith(".txt")) == ["always.txt", "once.txt"]))
    link.prompt("ask me")
    question = link.await_event("question.requested")
    checks.append(("all prompts of a question arrive, with the descriptions",
                   [prompt["text"] for prompt in question["prompts"]] == ["Which bird?", "Why this bird?"]
                   and "It is white." in json.dumps(question["prompts"])))
    link.answer(question, [["Egret"], ["Size"]])
    link.await_event("turn.ended")
    link.prompt("ask me again")
    link.decline(link.await_event("question.requested"))
    link.await_event("turn.ended")
    link.prompt("tell me a story")
    link.prompt("and then?")
    link.await_event("item.delta", where=lambda data: "Once" in data["delta"])
    link.interrupt()
    ended = link.await_event("turn.ended")
    checks.append(("the interrupt cancels the turn", ended["metadata"]["stop"]["class"] == "cancelled"))
    link.await_event("turn.ended", where=lambda data: data["metadata"]["stop"]["class"] == "end_turn")
    checks.append(("a prompt waits for the turn before it", texts(link.events, "assistant")[-1] == "The next turn."))
    return checks


def counted(events, convert, logs):
    """Compares the stream with the log of the same run."""
    if len(logs) != 1:
        return [(f"one log, not {len(logs)}", False)]
    log = subprocess.run([convert, logs[0], "codex", "universal"], check=True, capture_output=True).stdout
    logged = [json.loads(line) for line in log.splitlines()]
    prompts = ["touch files", "ask me", "ask me again", "tell me a story", "and then?"]
    checks = [("each prompt is shown once", texts(events, "user") == prompts)]
    of_log = [said for said in texts(logged, "user") if said in prompts]
    checks.append(("the log has the same prompts", of_log == prompts))
    cut = "Once upon a time there was a heron"
    live = [said for said in texts(events, "assistant") if said != cut]
    checks.append((f"the log has the same texts: {live}", live == [said for said in texts(logged, "assistant") if said != cut]))
    checks.append(("the log has the same reasoning", texts(events, "assistant", "reasoning") == texts(logged, "assistant", "reasoning") != []))

    def results(stream):
        items = [event["data"]["item"] for event in stream if event["type"] == "item.completed"]
        return sorted(part["call_id"] for item in items for part in item["content"] if part["type"] == "tool_result")

    questions = [event["data"]["call_id"] for event in events if event["type"] == "question.requested"]
    checks.append(("the log has the same results", sorted(results(events) + questions) == results(logged)))
    statuses = {part["call_id"]: event["data"]["item"]["status"] for event in events if event["type"] == "item.completed"
                for part in event["data"]["item"]["content"] if part["type"] == "tool_result"}
    checks.append(("denied and failed commands failed",
                   [statuses.get(f"call_{number}") for number in range(1, 6)]
                   == ["completed", "completed", "completed", "failed", "failed"]))
    return checks


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--codex", required=True)
    parser.add_argument("--examples", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        checks = run(os.path.abspath(options.codex), os.path.abspath(options.examples), folder)
    for name, passed in checks:
        print("ok  " if passed else "FAIL", name)
    return 0 if checks and all(passed for _, passed in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
