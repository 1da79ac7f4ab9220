#!/usr/bin/env python3
"""Every member of every union in the official packages goes through every pair of dialects, and nothing is silent.

For each union of the `openai`, `anthropic` and `google-genai` packages (content parts, items, tools, stream events, …) an
instance of each member is built, its texts being words that occur nowhere else, put into a small request, response or
stream, and converted to every other model API. The command must not fail, its books must add up, and each word must be in
the output or its path among those that the report declares lost. See README.md.
"""

import argparse
import base64
import datetime
import enum
import inspect
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import types as pytypes
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Union, get_args, get_origin

sys.dont_write_bytecode = True

import anthropic.types as at  # noqa: E402
import openai.types.chat as oc  # noqa: E402
import openai.types.responses as orr  # noqa: E402
import pydantic  # noqa: E402
from google.genai import types as gt  # noqa: E402
from typing_extensions import Annotated, Literal, NotRequired, ReadOnly, Required, get_type_hints, is_typeddict  # noqa: E402

DEPTH = 6


class Builder:
    """Builds instances as JSON. Texts are words of its own; `full` says also what need not be said."""

    def __init__(self, full, camel=False):
        self.full, self.camel, self.count = full, camel, itertools.count(1)

    def word(self):
        return f"zq{next(self.count)}x"

    def build(self, tp, name="", depth=0):
        origin = get_origin(tp)
        if origin in (Annotated, Required, NotRequired, ReadOnly):
            return self.build(get_args(tp)[0], name, depth)
        if origin is Literal:
            return get_args(tp)[0]
        if origin in (Union, pytypes.UnionType):
            members = [m for m in get_args(tp) if m is not type(None)]
            # A text where there may be one: it is seen in the output.
            members.sort(key=lambda m: 0 if m is str else 1)
            return self.build(members[0], name, depth)
        if inspect.isclass(tp) and issubclass(tp, enum.Enum):
            words = [m.value for m in tp if "UNSPECIFIED" not in str(m.value).upper()]
            return words[0]
        if is_typeddict(tp) or inspect.isclass(tp) and issubclass(tp, pydantic.BaseModel):
            return self.object(tp, depth)
        if tp is str or tp is Any or tp is object:
            return self.word()
        if tp is bool:
            return True
        if tp is int:
            return 7
        if tp is float:
            return 0.5
        if tp is bytes:
            return base64.b64encode(self.word().encode()).decode()
        if tp is datetime.datetime:
            return "2026-11-16T03:00:00Z"
        if isinstance(origin, type) and issubclass(origin, Mapping) or tp is dict:
            return {"key": self.word()}
        if isinstance(origin, type) and issubclass(origin, Iterable) or getattr(origin, "__name__", "") == "SequenceNotStr":
            return [self.build(get_args(tp)[0], name, depth + 1)] if depth < DEPTH else []
        return self.word()

    def object(self, tp, depth):
        if is_typeddict(tp):
            hints = get_type_hints(tp, include_extras=True)
            required = tp.__required_keys__
            members = [(name, hint, name in required) for name, hint in hints.items()]
        else:
            members = [(f.alias if self.camel and f.alias else name, f.annotation, f.is_required()) for name, f in tp.model_fields.items()]
        out = {}
        for name, hint, required in members:
            if (required or self.full) and depth < DEPTH:
                out[name] = self.build(hint, name, depth + 1)
        return out


def members_of(tp):
    """The members of a union, however it is wrapped, by name."""
    origin = get_origin(tp)
    if origin in (Annotated, Required, NotRequired):
        yield from members_of(get_args(tp)[0])
    elif origin in (Union, pytypes.UnionType):
        for member in get_args(tp):
            yield from members_of(member)
    elif tp is not type(None) and tp is not str and (is_typeddict(tp) or inspect.isclass(tp)):
        yield tp


# ---- where an instance stands -----------------------------------------------------------------------------------------

A_REQUEST = {"model": "m", "max_tokens": 16}
ASK = {"role": "user", "content": "hello"}
A_MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": "end_turn",
             "stop_sequence": None, "usage": {"input_tokens": 3, "output_tokens": 2}}
C_COMPLETION = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
R_RESPONSE = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [],
              "usage": {"input_tokens": 3, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 2,
                        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 5}}


def sse(events, names=True):
    lines = []
    for event in events:
        name = f"event: {event['type']}\n" if names and "type" in event else ""
        lines.append(f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n")
    return "".join(lines)


def a_stream(*middle):
    start = {"type": "message_start", "message": {**A_MESSAGE, "stop_reason": None}}
    end = [{"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 2}},
           {"type": "message_stop"}]
    return [start, *middle, *end]


def r_stream(*middle):
    numbered = [{"type": "response.created", "response": {**R_RESPONSE, "status": "in_progress"}}, *middle,
                {"type": "response.completed", "response": R_RESPONSE}]
    return [{**event, "sequence_number": i} for i, event in enumerate(numbered)]


def c_stream(choice=None, **top):
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    first = {**head, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "hi"}, "finish_reason": None}]}
    last = {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    middle = {**head, "choices": [choice] if choice else [], **top}
    return [first, middle, last]


def tool_turn(block):
    """A block that answers a call needs the call before it."""
    call = block.get("tool_use_id")
    before = [{"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": "tool", "input": {}}]}] if block.get("type") == "tool_result" else []
    after = [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": block["id"], "content": "ok"}]}] if block.get("type") == "tool_use" else []
    role = "assistant" if block.get("type") in ("thinking", "redacted_thinking", "tool_use") or str(block.get("type", "")).startswith("server_") or str(block.get("type", "")).endswith("_tool_result") else "user"
    return [ASK, *before, {"role": role, "content": [block]}, *after]


def c_turn(message):
    calls = [{"id": message["tool_call_id"], "type": "function", "function": {"name": "tool", "arguments": "{}"}}] if message.get("role") == "tool" else []
    before = [{"role": "assistant", "content": None, "tool_calls": calls}] if calls else []
    after = [{"role": "tool", "tool_call_id": c["id"], "content": "ok"} for c in message.get("tool_calls") or [] if "id" in c]
    return [ASK, *before, message, *after]


def r_items(item):
    kind, call = item.get("type"), item.get("call_id")
    pairs = {"function_call_output": "function_call", "custom_tool_call_output": "custom_tool_call"}
    before, after = [], []
    if kind in pairs:
        extra = {"arguments": "{}"} if kind == "function_call_output" else {"input": "x"}
        before = [{"type": pairs[kind], "call_id": call, "name": "tool", **extra}]
    for output, name in pairs.items():
        if kind == name:
            after = [{"type": output, "call_id": call, "output": "ok"}]
    return [{"role": "user", "content": "hello"}, *before, item, *after]


def g_contents(part):
    role = "model" if any(k in part for k in ("functionCall", "executableCode", "codeExecutionResult", "toolCall", "toolResponse")) or part.get("thought") else "user"
    before, after = [], []
    if "functionResponse" in part:
        call = {k: part["functionResponse"][k] for k in ("id", "name") if k in part["functionResponse"]}
        before = [{"role": "model", "parts": [{"functionCall": {**call, "args": {}}}]}]
    if "functionCall" in part:
        name = part["functionCall"].get("name", "f")
        answer = {"name": name, "response": {"output": "ok"}}
        if "id" in part["functionCall"]:
            answer["id"] = part["functionCall"]["id"]
        after = [{"role": "user", "parts": [{"functionResponse": answer}]}]
    return [{"role": "user", "parts": [{"text": "hello"}]}, *before, {"role": role, "parts": [part]}, *after]


def g_response(part=None, **candidate):
    content = {"role": "model", "parts": [part] if part else [{"text": "hi"}]}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0, **candidate}], "modelVersion": "m", "responseId": "r",
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}}


TOOL = {"name": "tool", "input_schema": {"type": "object"}}
C_TOOL = {"type": "function", "function": {"name": "tool", "parameters": {"type": "object"}}}
R_TOOL = {"type": "function", "name": "tool", "parameters": {"type": "object"}, "strict": False}


def g_fields(model):
    """Each field of a model alone is a case: a part is one of them."""
    return [(f.alias or name, f.annotation) for name, f in model.model_fields.items()]


def hint(tp, name):
    return tp.model_fields[name].annotation


def cases():
    """(name, dialect, role, document builder from a Builder)."""
    def union(label, dialect, role, tp, place):
        for member in members_of(tp):
            for full in (False, True):
                how = "full" if full else "minimal"
                yield (f"{label} {member.__name__} {how}", dialect, role, lambda m=member, f=full: place(Builder(f).build(m)))

    def words(label, dialect, role, tp, place):
        for value in get_args(tp):
            if isinstance(value, str):
                yield (f"{label} {value}", dialect, role, lambda v=value: place(v))

    A, C, R, G = "anthropic", "openai-chat", "openai-responses", "gemini"
    yield from union("anthropic block", A, "request", at.ContentBlockParam, lambda b: {**A_REQUEST, "messages": tool_turn(b)})
    yield from union("anthropic tool", A, "request", at.ToolUnionParam, lambda t: {**A_REQUEST, "messages": [ASK], "tools": [t]})
    yield from union("anthropic choice", A, "request", at.ToolChoiceParam, lambda t: {**A_REQUEST, "messages": [ASK], "tools": [TOOL], "tool_choice": {**t, **({"name": "tool"} if "name" in t else {})}})
    yield from union("anthropic thinking", A, "request", at.ThinkingConfigParam, lambda t: {**A_REQUEST, "messages": [ASK], "thinking": t})
    yield from union("anthropic content", A, "response", at.ContentBlock, lambda b: {**A_MESSAGE, "content": [b]})
    yield from union("anthropic usage", A, "response", at.Usage, lambda u: {**A_MESSAGE, "usage": u})
    yield from union("anthropic event", A, "stream", at.RawMessageStreamEvent, lambda e: sse(a_stream(e) if e["type"] not in ("message_start", "message_stop", "message_delta") else [e, *a_stream()[1:]] if e["type"] == "message_start" else [*a_stream()[:1], e]))
    yield from union("anthropic delta", A, "stream", at.RawContentBlockDelta, lambda d: sse(a_stream({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}, {"type": "content_block_delta", "index": 0, "delta": d}, {"type": "content_block_stop", "index": 0})))
    yield from words("anthropic stop", A, "response", at.StopReason, lambda w: {**A_MESSAGE, "stop_reason": w})

    yield from union("chat message", C, "request", oc.ChatCompletionMessageParam, lambda m: {"model": "m", "messages": c_turn(m)})
    yield from union("chat part", C, "request", oc.ChatCompletionContentPartParam, lambda p: {"model": "m", "messages": [{"role": "user", "content": [p]}]})
    yield from union("chat tool", C, "request", oc.ChatCompletionToolUnionParam, lambda t: {"model": "m", "messages": [ASK], "tools": [t]})
    yield from union("chat choice", C, "request", oc.ChatCompletionToolChoiceOptionParam, lambda t: {"model": "m", "messages": [ASK], "tools": [C_TOOL], "tool_choice": t})
    yield from union("chat message out", C, "response", oc.ChatCompletionMessage, lambda m: {**C_COMPLETION, "choices": [{"index": 0, "finish_reason": "stop", "message": m}]})
    yield from union("chat call", C, "response", oc.ChatCompletionMessageToolCallUnion, lambda c: {**C_COMPLETION, "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": [c]}}]})
    from openai.types.completion_usage import CompletionUsage
    yield from union("chat usage", C, "response", CompletionUsage, lambda u: {**C_COMPLETION, "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}], "usage": u})
    from openai.types.chat import chat_completion, chat_completion_chunk
    yield from words("chat finish", C, "response", hint(chat_completion.Choice, "finish_reason"), lambda w: {**C_COMPLETION, "choices": [{"index": 0, "finish_reason": w, "message": {"role": "assistant", "content": "hi"}}]})
    yield from union("chat delta", C, "stream", chat_completion_chunk.ChoiceDelta, lambda d: sse(c_stream({"index": 0, "delta": d, "finish_reason": None}), names=False) + "data: [DONE]\n\n")

    yield from union("responses item", R, "request", orr.ResponseInputItemParam, lambda i: {"model": "m", "input": r_items(i)})
    yield from union("responses tool", R, "request", orr.ToolParam, lambda t: {"model": "m", "input": "hello", "tools": [t]})
    from openai.types.responses import response_create_params
    yield from union("responses choice", R, "request", response_create_params.ToolChoice, lambda t: {"model": "m", "input": "hello", "tools": [R_TOOL], "tool_choice": t})
    yield from union("responses output", R, "response", orr.ResponseOutputItem, lambda i: {**R_RESPONSE, "output": [i]})
    yield from union("responses usage", R, "response", orr.ResponseUsage, lambda u: {**R_RESPONSE, "usage": u})
    yield from union("responses event", R, "stream", orr.ResponseStreamEvent, lambda e: sse(r_stream(e)))

    for name, tp in g_fields(gt.Part):
        for full in (False, True):
            if name in ("thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata", "audioTranscription", "speechMetadata"):
                place = lambda n=name, t=tp, f=full: {n: Builder(f, True).build(t), "text": "zq900x"}
            else:
                place = lambda n=name, t=tp, f=full: {n: Builder(f, True).build(t)}
            how = "full" if full else "minimal"
            yield (f"gemini part {name} {how}", G, "request", lambda p=place: {"contents": g_contents(p())})
            yield (f"gemini part out {name} {how}", G, "response", lambda p=place: g_response(p()))
            yield (f"gemini part stream {name} {how}", G, "stream", lambda p=place: sse([g_response(p())], names=False))
    for name, tp in g_fields(gt.Tool):
        yield (f"gemini tool {name}", G, "request", lambda n=name, t=tp: {"contents": [{"role": "user", "parts": [{"text": "hello"}]}], "tools": [{n: Builder(True, True).build(t)}]})
    for name, tp in g_fields(gt.GenerationConfig):
        yield (f"gemini config {name}", G, "request", lambda n=name, t=tp: {"contents": [{"role": "user", "parts": [{"text": "hello"}]}], "generationConfig": {n: Builder(True, True).build(t)}})
    for name, tp in g_fields(gt.Candidate):
        if name not in ("content", "finishReason", "index"):
            yield (f"gemini candidate {name}", G, "response", lambda n=name, t=tp: g_response(**{n: Builder(True, True).build(t)}))
    for reason in gt.FinishReason:
        yield (f"gemini finish {reason.value}", G, "response", lambda r=reason: g_response(finishReason=r.value))
    for name, tp in g_fields(gt.GenerateContentResponseUsageMetadata):
        yield (f"gemini usage {name}", G, "response", lambda n=name, t=tp: {**g_response(), "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, n: Builder(True, True).build(t)}})


# ---- what came of it --------------------------------------------------------------------------------------------------


def leaves(value, path=""):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}/{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, f"{path}[]")
    else:
        yield path, value


def documents(text):
    if isinstance(text, str):
        return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    return [text]


def run_case(binary, case, targets, folder):
    name, dialect, role, make = case
    try:
        document = make()
    except Exception as error:  # the builder, not the command
        return [f"{name}: cannot be built: {error!r}"], 0
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    wrong, count = [], 0
    for target in targets:
        if target == dialect:
            continue
        count += 1
        report = folder / f"{abs(hash((name, target)))}.json"
        done = subprocess.run([binary, "convert", "--from", dialect, "--role", role, "--to", target, "-o", str(report) + ".out", "--report", str(report), "--quiet"],
                              input=text.encode(), capture_output=True, timeout=20)
        label = f"{name} -> {target}"
        if done.returncode != 0:
            wrong.append(f"{label}: exit {done.returncode}: {done.stderr.decode()[-300:]}")
            continue
        told = json.loads(report.read_text())
        told = told["files"][0] if "files" in told else told
        out = pathlib.Path(str(report) + ".out").read_text()
        lost = [row["path"] for row in told["lost_paths"]]
        if not told.get("adds_up", True):
            wrong.append(f"{label}: the books do not add up")
        for path, value in (leaf for doc in documents(document) for leaf in leaves(doc)):
            word = value if isinstance(value, str) else None
            if word is None:
                continue
            try:
                plain = base64.b64decode(word, validate=True).decode() if not word.startswith("zq") else word
            except Exception:
                plain = word
            if not plain.startswith("zq"):
                continue
            seen = word in out or plain in out or base64.b64encode(plain.encode()).decode() in out
            # Gemini's state is bytes: another's stands there in base64, behind its issuer's name.
            carried = (f"interlingua:{issuer}:{word}" for issuer in ("anthropic", "openai", "google", "xai", "copilot"))
            seen = seen or any(base64.b64encode(text.encode()).decode() in out for text in carried)
            declared = any(path == p or path.startswith((p + "/", p + "[")) or not p.startswith("/") for p in lost)
            if not seen and not declared:
                wrong.append(f"{label}: {path} = {word!r} is gone, and nobody says so")
        report.unlink()
        pathlib.Path(str(report) + ".out").unlink()
    return wrong, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    listed = subprocess.run([args.bin, "dialects", "--json"], capture_output=True, check=True).stdout
    wire = [d["name"] for d in json.loads(listed) if d["plane"] == "wire"]
    all_cases = [case for case in cases() if args.only in case[0] and case[1] in wire]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda case: run_case(args.bin, case, wire, pathlib.Path(folder)), all_cases))
    wrong = [line for lines, _ in results for line in lines]
    for line in wrong:
        print(line)
    print(f"{len(all_cases)} instances of official types, {sum(count for _, count in results)} conversions, {len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
