#!/usr/bin/env python3
"""Every fixture of every model API, converted to every other one, is valid by the official types of the target.

Requests, whole responses and streams; 6 dialects, 30 pairs and the 6 that copy. Streams go through the packages' own
accumulators where they have one. Prints a table of pairs. See README.md.
"""

import argparse
import json
import pathlib
import subprocess
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True

import anthropic.types as at  # noqa: E402
import params  # noqa: E402
import pydantic  # noqa: E402
from anthropic.lib.streaming._messages import accumulate_event  # noqa: E402
from anthropic.types import message_create_params, message_count_tokens_params  # noqa: E402
from google.genai import types as gt  # noqa: E402
from openai.lib.streaming.chat import ChatCompletionStreamState  # noqa: E402
from openai.types import responses as orr  # noqa: E402
from openai.types.chat import ChatCompletion, ChatCompletionChunk, completion_create_params  # noqa: E402
from openai.types.responses import response_create_params  # noqa: E402

FIXTURES = pathlib.Path(__file__).parents[2] / "crates/interlingua/fixtures"
FOLDERS = {
    "anthropic": "anthropic/messages", "openai-chat": "openai/chat", "openai-responses": "openai/responses",
    "gemini": "google/gemini", "kimi": "openai/kimi", "copilot": "openai/copilot",
}
CHAT = ("openai-chat", "kimi", "copilot")
# What vendors of the chat dialect add to the official types.
VENDOR = ("reasoning_content", "reasoning_details", "reasoning_text", "reasoning_opaque", "reasoning", "thinking", "partial", "video_url",
          "copilot_cache_control", "thinking_budget", "builtin_function", "media_type", "top_k", "tools", "copilot_thread_id")


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")


def request_errors(target, body):
    if target == "kimi":
        for message in body["messages"]:
            if isinstance(message.get("content"), list):
                message["content"] = [p for p in message["content"] if p.get("type") != "video_url"]
    if target in CHAT:
        found = params.check(body, completion_create_params.CompletionCreateParams)
        return [e for e in found if target == "openai-chat" or not any(name in e for name in VENDOR)]
    if target == "openai-responses":
        return params.check(body, response_create_params.ResponseCreateParams)
    if target == "anthropic":
        # Older models take these, and their rules let them pass.
        older = {"temperature", "top_p", "top_k"}
        return params.check({k: v for k, v in body.items() if k not in older}, message_create_params.MessageCreateParams)
    known = {"contents": list[gt.Content], "systemInstruction": gt.Content, "tools": list[gt.Tool], "toolConfig": gt.ToolConfig,
             "generationConfig": gt.GenerationConfig, "safetySettings": list[gt.SafetySetting], "cachedContent": str, "labels": dict[str, str],
             "serviceTier": str, "store": bool, "model": str}
    wrong = [f"{name}: unknown" for name in body if name not in known]
    for name, tp in known.items():
        if name in body:
            wrong += model_errors(tp, body[name], name)
    if not body.get("contents"):
        wrong.append("contents: empty")
    return wrong


ADAPTERS = {}


def model_errors(tp, value, where=""):
    # Making one takes longer than a thousand uses of it.
    adapter = ADAPTERS.setdefault(repr(tp), None) or pydantic.TypeAdapter(tp)
    ADAPTERS[repr(tp)] = adapter
    try:
        adapter.validate_python(value)
        return []
    except pydantic.ValidationError as error:
        return [f"{where}.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:5]]


def response_errors(target, body):
    if "error" in body and (target != "openai-responses" or body.get("object") != "response"):
        return [] if str(body["error"].get("message", "")) else ["an error without a message"]
    if target in CHAT:
        return model_errors(ChatCompletion, body)
    if target == "openai-responses":
        return model_errors(orr.Response, body)
    if target == "anthropic":
        return model_errors(at.Message, body)
    return model_errors(gt.GenerateContentResponse, body)


def events_of(text):
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ") and line[6:] != "[DONE]"]


def stream_errors(target, text):
    try:
        events = events_of(text)
    except json.JSONDecodeError as error:
        return [f"not JSON: {error}"]
    if not events:
        return ["no events"]
    failed = any("error" in e and e.get("error") or e.get("type") in ("error", "response.failed") for e in events)
    if target in CHAT:
        wrong = [e for event in events if not event.get("error") for e in model_errors(ChatCompletionChunk, event)]
        if not wrong and not failed:
            state = ChatCompletionStreamState()
            reasons = set()
            for event in events:
                state.handle_chunk(ChatCompletionChunk.model_validate(event))
                reasons |= {c["finish_reason"] for c in event["choices"] if c.get("finish_reason")}
            # The package refuses to parse what was cut short, and says so.
            if not reasons & {"length", "content_filter"}:
                state.get_final_completion()
            wrong += [] if reasons else ["no finish_reason"]
            wrong += [] if text.endswith("data: [DONE]\n\n") else ["no [DONE]"]
        return wrong
    if target == "openai-responses":
        # Codes that Codex acts on are not all in the types.
        for event in events:
            if event.get("type") == "response.failed":
                event["response"]["error"]["code"] = "server_error"
        wrong = [e for event in events for e in model_errors(orr.ResponseStreamEvent, event, event.get("type", ""))]
        return wrong or responses_grammar(events)
    if target == "anthropic":
        adapter = pydantic.TypeAdapter(at.RawMessageStreamEvent)
        wrong = [e for event in events if event["type"] not in ("error", "ping") for e in model_errors(at.RawMessageStreamEvent, event, event["type"])]
        snapshot, buffers = None, {}
        for event in events if not wrong else []:
            if event["type"] in ("error", "ping"):
                break
            snapshot = accumulate_event(event=adapter.validate_python(event), current_snapshot=snapshot, json_bufs=buffers)
        if not wrong and not failed and events[-1]["type"] != "message_stop":
            wrong.append("no message_stop")
        return wrong
    return [e for event in events if "error" not in event for e in model_errors(gt.GenerateContentResponse, event)]


def responses_grammar(events):
    """What clients rely on: one id, items opened once and closed, the end last, numbers that go up."""
    wrong, open_items, ids = [], {}, set()
    numbers = [e.get("sequence_number") for e in events]
    if numbers != sorted(numbers) or len(set(numbers)) != len(numbers):
        wrong.append("sequence numbers")
    for event in events:
        kind = event["type"]
        if kind == "response.output_item.added":
            if event["output_index"] in open_items:
                wrong.append(f"output_index {event['output_index']} twice")
            open_items[event["output_index"]] = event["item"].get("id")
        elif kind == "response.output_item.done":
            if open_items.get(event["output_index"], 0) != event["item"].get("id"):
                wrong.append("an item changes its id")
            open_items[event["output_index"]] = None
        elif "response" in event:
            ids.add(event["response"]["id"])
    last = events[-1]["type"]
    if last not in ("response.completed", "response.incomplete", "response.failed"):
        wrong.append(f"ends with {last}")
    if any(open_items.values()) and last != "response.failed":
        wrong.append("an item is still open")
    if len(ids) > 1:
        wrong.append("the response changes its id")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    listed = json.loads(subprocess.run([args.bin, "dialects", "--json"], capture_output=True, check=True).stdout)
    dialects = [d["name"] for d in listed if d["plane"] == "wire"]
    jobs = []
    for source in dialects:
        for role in ("request", "response", "stream"):
            for path in sorted((FIXTURES / FOLDERS[source] / role).glob("*.*")):
                jobs += [(source, role, path, target) for target in dialects if args.only in f"{source} {role} {path.name} {target}"]

    def work(job):
        source, role, path, target = job
        done = subprocess.run([args.bin, "convert", "--from", source, "--role", role, "--to", target, "--quiet", str(path)], capture_output=True, timeout=20)
        if done.returncode != 0:
            return [f"exit {done.returncode}: {done.stderr.decode()[-200:]}"]
        text = done.stdout.decode()
        if source == target:
            return [] if done.stdout == path.read_bytes() else ["not the same bytes"]
        try:
            if role == "stream":
                return stream_errors(target, text)
            body = json.loads(text)
            return request_errors(target, body) if role == "request" else response_errors(target, body)
        except Exception as error:
            return [f"{type(error).__name__}: {error}"]

    with ThreadPoolExecutor(4) as pool:
        results = list(zip(jobs, pool.map(work, jobs)))
    valid, total = Counter(), Counter()
    for (source, role, path, target), wrong in results:
        total[source, target] += 1
        valid[source, target] += not wrong
        for line in wrong[:4]:
            print(f"{source} {role} {path.name} -> {target}: {line}"[:260])
    width = max(map(len, dialects)) + 2
    print(" " * width + "".join(f"{d:>{width}}" for d in dialects))
    for source in dialects:
        print(f"{source:<{width}}" + "".join(f"{valid[source, t]}/{total[source, t]}".rjust(width) for t in dialects))
    bad = sum(total.values()) - sum(valid.values())
    print(f"{len(results)} conversions of fixtures, {bad} not valid for their target")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
