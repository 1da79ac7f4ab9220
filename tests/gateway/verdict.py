"""Judges one run of an agent from outside: the disk, the output of the agent, and the requests that reached the backend."""

from __future__ import annotations

import collections
import dataclasses
import json

from cells import EDITED, FINAL, STATES, THOUGHTS
from model import refused_chat, refused_gemini, refused_messages, refused_responses

REFUSED = {"anthropic": refused_messages, "openai-chat": refused_chat, "openai-responses": refused_responses, "gemini": refused_gemini}


@dataclasses.dataclass
class Evidence:
    """Everything that is seen of a run."""
    code: int | None
    output: str
    errors: str
    notes: str | None
    exchanges: list
    secrets: tuple  # the texts of left.txt and right.txt
    changed: list  # configuration files of the user that are not as before
    left: list  # private folders that were not removed


# A call of a request with its result; `result` is None without one.
Call = collections.namedtuple("Call", "name arguments result")


def faults_of(cell, agent, turns, evidence):
    """Everything that is wrong with a run."""
    faults = []
    if evidence.code != 0:
        faults.append(f"exit code {evidence.code}; the output ends {evidence.output[-300:]!r}, stderr {evidence.errors[-500:]!r}")
    if evidence.notes != EDITED:
        faults.append(f"notes.txt holds {evidence.notes!r}")
    faults += [f"changed: {name}" for name in evidence.changed] + [f"not removed: {name}" for name in evidence.left]
    faults += output_faults(agent, evidence)
    faults += request_faults(cell, turns, evidence)
    return faults


def output_faults(agent, evidence):
    faults, lines = [], evidence.output.splitlines()
    if not has_text(evidence.output, FINAL):
        faults.append("the closing text is not in the output of the agent")
    faults += [f"the result {text!r} is not in the output of the agent" for text in evidence.secrets if text not in evidence.output]
    if not any(all(text in line for text in agent.failed) for line in lines):
        faults.append(f"no line of the output shows the failed call: {agent.failed}")
    if agent.logs not in evidence.errors:
        faults.append(f"the log of the agent does not hold {agent.logs!r}: {evidence.errors[-300:]!r}")
    if agent.shows_thoughts:
        faults += [f"the thought {text!r} is not in the output of the agent" for text in THOUGHTS if text not in evidence.output]
    return faults


def pieces_of(output):
    """The pieces of texts in the output of an agent, joined."""
    pieces = ""
    for line in output.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and value.get("role") == "assistant" and isinstance(value.get("content"), str):
            pieces += value["content"]
    return pieces


def has_text(output, text):
    """Whether an agent printed a text: whole, or in pieces as Gemini CLI does."""
    return text in output or text in pieces_of(output)


def is_changed(before, after):
    """Whether a settings file lost something, or got something of ours. Some agents themselves add members to their JSON."""
    if "interlingua" in after:
        return True
    try:
        return not is_within(json.loads(before), json.loads(after))
    except ValueError:
        return before != after


def is_within(before, after):
    if isinstance(before, dict) and isinstance(after, dict):
        return all(name in after and is_within(value, after[name]) for name, value in before.items())
    return before == after


def request_faults(cell, turns, evidence):
    faults, asked = [], []
    for number, exchange in enumerate(evidence.exchanges):
        if exchange.status != 200:
            faults.append(f"request {number} got the status {exchange.status}")
        faults += [f"request {number}: {fault}" for fault in REFUSED[cell.dialect](exchange.body)]
        if declares(exchange.body, turns, cell.dialect):
            asked.append(exchange.body)
    if len(asked) != len(turns):
        return faults + [f"{len(asked)} requests of the task reached the backend, not {len(turns)}"]
    for number, body in enumerate(asked):
        faults += call_faults(calls_of(body, cell.dialect), turns[:number], number)
    results = [call.result or "" for call in calls_of(asked[-1], cell.dialect)]
    for position, text in ((2, evidence.secrets[0]), (3, evidence.secrets[1])):
        if position < len(results) and text not in results[position]:
            faults.append(f"call {position} of the last request has the result {results[position]!r}, without {text!r}")
    if "missing.txt" not in results[1] and "not exist" not in results[1]:
        faults.append(f"the failed call has the result {results[1]!r}")
    if cell.state:
        faults += [f"the state {state!r} of a thought did not come back" for state in STATES if json.dumps(state) not in json.dumps(asked[-1])]
    return faults


def call_faults(calls, turns, number):
    """The calls of a request are those of the turns before it, with their arguments and a result each."""
    wanted = [call for turn in turns for call in turn.calls]
    if [call.name for call in calls] != [name for name, _ in wanted]:
        return [f"request {number} of the task has the calls {[call.name for call in calls]}"]
    faults = []
    for call, (name, arguments) in zip(calls, wanted):
        # Claude Code adds the defaults of its tools.
        if any(call.arguments.get(key) != value for key, value in arguments.items()):
            faults.append(f"request {number} of the task calls {name} with {call.arguments}")
        if not call.result:
            faults.append(f"request {number} of the task has no result of {name}")
    return faults


def declares(body, turns, dialect):
    """Whether the request declares all tools of the task."""
    tools = body.get("tools") or []
    if dialect == "gemini":
        names = {function["name"] for tool in tools for function in tool.get("functionDeclarations", [])}
    elif dialect == "openai-chat":
        names = {tool["function"]["name"] for tool in tools}
    else:
        names = {tool.get("name") for tool in tools}
    return {name for turn in turns for name, _ in turn.calls} <= names


def calls_of(body, dialect):
    """The calls of a request in order, with their arguments and results."""
    calls, results = {}, {}
    if dialect == "anthropic":
        blocks = [block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]]
        for block in blocks:
            if block["type"] == "tool_use":
                calls[block["id"]] = (block["name"], block["input"])
            elif block["type"] == "tool_result":
                results[block["tool_use_id"]] = text_of(block["content"])
    elif dialect == "openai-chat":
        for message in body["messages"]:
            for call in message.get("tool_calls") or []:
                calls[call["id"]] = (call["function"]["name"], json.loads(call["function"]["arguments"]))
            if message["role"] == "tool":
                results[message["tool_call_id"]] = text_of(message["content"])
    elif dialect == "openai-responses":
        for item in body["input"]:
            if item.get("type") == "function_call":
                calls[item["call_id"]] = (item["name"], json.loads(item["arguments"]))
            elif item.get("type") == "function_call_output":
                results[item["call_id"]] = text_of(item["output"])
    else:
        for part in (part for content in body["contents"] for part in content.get("parts", [])):
            if "functionCall" in part:
                calls[part["functionCall"]["id"]] = (part["functionCall"]["name"], part["functionCall"].get("args", {}))
            elif "functionResponse" in part:
                results[part["functionResponse"]["id"]] = json.dumps(part["functionResponse"]["response"], ensure_ascii=False)
    return [Call(name, arguments, results.get(key)) for key, (name, arguments) in calls.items()]


def text_of(content):
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
