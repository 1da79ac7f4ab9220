#!/usr/bin/env python3
"""Feeds what `interlingua convert` writes to the official `openai`, `anthropic` and `google-genai` packages. See README.md."""

import argparse
import json
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True  # leave the tree as it was

import gemini  # noqa: E402
import params  # noqa: E402
import responses  # noqa: E402
from sdk import (  # noqa: E402
    Replay, Wrong, anthropic, need, openai, parsed_openai, same, stream_anthropic, stream_openai,
    view_anthropic, view_openai, whole_anthropic, whole_openai)

INPUTS = pathlib.Path(__file__).parent / "inputs"
A, O, G = "anthropic", "openai-chat", "gemini"
OTHER = {A: O, O: A}
STREAM = {A: stream_anthropic, O: stream_openai}
WHOLE = {A: whole_anthropic, O: whole_openai}
VIEW = {A: view_anthropic, O: view_openai}


# ---- what each input says, in words that both families share ---------------------------------------------------------


def says(model, *, text="", reasoning="", signatures=(), redacted=(), calls=(), stop="stop", usage=(0, 0, 0, 0, 0),
         order=None):
    return {
        "order": order,
        "model": model, "text": text, "reasoning": reasoning, "signatures": list(signatures), "redacted": list(redacted),
        "calls": list(calls), "stop": stop,
        "usage": dict(zip(("uncached", "read", "write", "output", "reasoning"), usage)),
    }


STREAMS = {
    "anthropic-stream-tools.sse": says(
        "claude-opus-5-5",
        reasoning="Two harbours to check: tide first,\nthen the bell — naïve but fine.",
        signatures=["c2lnLWhhcmJvdXItbGFtcA=="],
        text="Checking the tide tables and the “bell” ⛵ now.",
        calls=[
            ("toolu_01Tide", "tide_table",
             {"harbour": "Pléneuf", "flag": "🚩", "depths": [1.5, -20], "quote": 'a "b" c', "deep": {"k": None}}),
            ("toolu_02Bell", "ring_bell", {}),
        ],
        stop="tools", usage=(41, 3000, 120, 187, 64)),
    "anthropic-stream-redacted.sse": says(
        "claude-opus-5-5", reasoning="Part of this stays closed.", signatures=["c2lnLXJlZGFjdGVk"],
        redacted=["b3BhcXVlLWJveC0x"], text="The gate is open.", usage=(12, 0, 0, 23, 0)),
    "anthropic-stream-omitted.sse": says(
        "claude-opus-5-5", signatures=["c2lnLWVtcHR5LXRleHQ="], calls=[("toolu_03Look", "look", {"at": "the pier"})],
        stop="tools", usage=(15, 0, 0, 31, 0)),
    "anthropic-stream-maxtokens.sse": says(
        "claude-haiku-5-5", text="The list begins with", stop="length", usage=(9, 0, 0, 4, 0)),
    # Thoughts between a text and calls, two of them with the same words.
    "anthropic-stream-mixed.sse": says(
        "claude-opus-5-5", text="First the chart — see ⚓.", reasoning="Twice the same." * 2,
        signatures=["c2lnLW9uZQ==", "c2lnLXR3bw=="], redacted=["Ym94LTM="],
        calls=[("toolu_20Chart", "read_chart", {"sheet": 7}), ("toolu_21Log", "search_log", {"word": "café"})],
        stop="tools", usage=(30, 0, 0, 44, 0),
        order=["text", "thinking", "tool_use", "thinking", "redacted_thinking", "tool_use"]),
    "openai-stream-text.sse": says("gpt-5.4", text="High water at six — tide 🌊 été.", usage=(30, 80, 10, 17, 5)),
    "openai-stream-tools.sse": says(
        "gpt-5.4", text="Looking in two places.",
        calls=[
            ("call_Aft", "search_log", {"word": "café", "limit": 3}),
            ("call_Bow", "read_chart", {"sheet": 7, "inset": ["a"]}),
            ("call_Zero", "list_ropes", {}),
        ],
        stop="tools", usage=(64, 0, 0, 40, 0)),
    "openai-stream-reasoning.sse": says(
        "kimi-k3", reasoning="The rope is too short.", text="Use the long rope.", usage=(30, 0, 0, 22, 12)),
    "openai-stream-signed.sse": says(
        "claude-opus-5-5", reasoning="Count the masts.", signatures=["c2lnLXRocmVlLW1hc3Rz"], redacted=["Ym94LTI="],
        text="Three masts.", usage=(20, 0, 0, 11, 0)),
    "openai-stream-length.sse": says("gpt-5.4", text="And then the fog", stop="length", usage=(8, 0, 0, 4, 0)),
    # Arguments None: cut off, so only the id and the name are compared.
    "openai-stream-length-call.sse": says(
        "gpt-5.4", calls=[("call_Cut", "write_log", None)], stop="length", usage=(8, 0, 0, 16, 0)),
}

# text before the break, message, Anthropic's error type
BROKEN = {
    "anthropic-stream-error.sse": ("Half a sen", "Too many ships in the harbour", "overloaded_error"),
    "openai-stream-error.sse": ("Almost the", "The engine room does not answer", "api_error"),
}
CUT = {"anthropic-stream-cut.sse": "The line went", "openai-stream-cut.sse": "Rope parted he"}

RESPONSES = {
    "anthropic-response-tools.json": says(
        "claude-opus-5-5", reasoning="Weigh anchor, then ask twice.", signatures=["c2lnLXdob2xl"],
        redacted=["Y2xvc2VkLWJveA=="], text="I will ask the pilot.\n",
        calls=[
            ("toolu_10Ask", "ask_pilot", {"question": "¿Dónde?", "tries": 2, "exact": 1.0, "opts": {"loud": True, "via": None}}),
            ("toolu_11Time", "ship_time", {}),
        ],
        stop="tools", usage=(50, 1000, 200, 90, 33)),
    "anthropic-response-mixed.json": says(
        "claude-opus-5-5", text="First the chart — see ⚓.", reasoning="Twice the same." * 2,
        signatures=["c2lnLW9uZQ==", "c2lnLXR3bw=="], redacted=["Ym94LTM="],
        calls=[("toolu_20Chart", "read_chart", {"sheet": 7}), ("toolu_21Log", "search_log", {"word": "café"})],
        stop="tools", usage=(30, 0, 0, 44, 0),
        order=["text", "thinking", "tool_use", "thinking", "redacted_thinking", "tool_use"]),
    "anthropic-response-stopseq.json": says("claude-haiku-5-5", text="one two three", usage=(7, 0, 0, 3, 0)),
    "openai-response-tools.json": says(
        "gpt-5.4",
        calls=[("call_W1", "search_log", {"word": "café", "big": 12345678901234567890}), ("call_W2", "list_ropes", {})],
        stop="tools", usage=(100, 384, 16, 60, 20)),
    "openai-response-reasoning.json": says(
        "claude-opus-5-5", reasoning="The reef lies to starboard.", signatures=["c2lnLXJlZWY="], redacted=["cmVlZi1ib3g="],
        text="Turn to port.", usage=(40, 0, 0, 15, 0)),
    "openai-response-refusal.json": says(
        "gpt-5.4", text="I will not help to sink the ship.", stop="refusal", usage=(11, 0, 0, 9, 0)),
    # Ids None: Anthropic refuses dots and colons, so the writer must choose others.
    "openai-response-oddids.json": says(
        "kimi-k3", text="Both, then.", calls=[(None, "haul", {"rope": 1}), (None, "haul", {"rope": 2})],
        stop="tools", usage=(21, 0, 0, 14, 0)),
}

# HTTP status, Anthropic's class and error.type, OpenAI's class, OpenAI's code where clients look for one
ERRORS = {
    "anthropic-error-invalid.json": (400, "BadRequestError", "invalid_request_error", "BadRequestError", None),
    "anthropic-error-context.json": (400, "BadRequestError", "invalid_request_error", "BadRequestError", "context_length_exceeded"),
    "anthropic-error-auth.json": (401, "AuthenticationError", "authentication_error", "AuthenticationError", None),
    "anthropic-error-notfound.json": (404, "NotFoundError", "not_found_error", "NotFoundError", None),
    "anthropic-error-rate.json": (429, "RateLimitError", "rate_limit_error", "RateLimitError", None),
    "anthropic-error-overloaded.json": (529, "OverloadedError", "overloaded_error", "InternalServerError", None),
    "openai-error-invalid.json": (400, "BadRequestError", "invalid_request_error", "BadRequestError", "unknown_parameter"),
    "openai-error-context.json": (400, "BadRequestError", "invalid_request_error", "BadRequestError", "context_length_exceeded"),
    "openai-error-auth.json": (401, "AuthenticationError", "authentication_error", "AuthenticationError", "invalid_api_key"),
    "openai-error-rate.json": (429, "RateLimitError", "rate_limit_error", "RateLimitError", "rate_limit_exceeded"),
    "openai-error-quota.json": (429, "RateLimitError", "billing_error", "RateLimitError", "insufficient_quota"),
    "openai-error-server.json": (500, "InternalServerError", "api_error", "InternalServerError", None),
}

PICTURES = [("image", "image/png", "iVBORw0KGgo="), ("image", "url", "https://example.org/pier.jpg")]
TIDE = {"harbour": "Pléneuf", "days": 2}
TAIL = [
    ("user", "Go on, please."),
    ("system", "From here on use metres only."),
    ("assistant", "High water at 06:10."),
    ("user", "And the depth?"),
]
DEPTH = {"type": "object", "properties": {"depth_m": {"type": "number"}}, "required": ["depth_m"], "additionalProperties": False}
TIDE_SCHEMA = {"type": "object", "properties": {"harbour": {"type": "string"}, "days": {"type": "integer"}},
               "required": ["harbour", "days"], "additionalProperties": False}

# ("result", id, text, is_error)
REQUESTS = {
    "anthropic-request-full.json": [
        ("system", "You keep the harbour log."), ("system", "Answer in short lines."),
        ("user", "What do these two pictures show?"), *PICTURES,
        ("assistant", "A pier and a dot. Let me check."),
        ("call", "toolu_a1", "tide_table", TIDE), ("call", "toolu_a2", "camera", {"pole": 3}), ("call", "toolu_a3", "ring_bell", {}),
        ("result", "toolu_a1", "high 06:10, low 12:25", False), ("result", "toolu_a2", "frame 77", False),
        ("result", "toolu_a3", "bell rope is missing", True), ("image", "image/jpeg", "/9j/4AAQSkY="), *TAIL,
    ],
    "anthropic-request-choice.json": [("system", "Be brief."), ("user", "Ring it.")],
    "openai-request-full.json": [
        ("system", "You keep the harbour log."), ("user", "What do these two pictures show?"), *PICTURES,
        ("call", "call_q1", "tide_table", TIDE), ("call", "call_q2", "ring_bell", {}),
        ("result", "call_q1", "high 06:10, low 12:25", False), ("result", "call_q2", "dong", False), *TAIL,
    ],
    "openai-request-choice.json": [("system", "Be brief."), ("user", "Ring it.")],
    "openai-request-replay.json": [
        ("user", "How many masts?"), ("call", None, "camera", {"pole": 3}), ("result", None, "three masts in frame", False)],
}
SECRETS = ["c2lnLXJlcXVlc3Q=", "c2lnLXRocmVlLW1hc3Rz", "Ym94LTI="]

CHOICES = [  # Anthropic's tool_choice; OpenAI's tool_choice; OpenAI's parallel_tool_calls
    ({"type": "auto"}, "auto", None),
    ({"type": "any"}, "required", None),
    ({"type": "none"}, "none", None),
    ({"type": "tool", "name": "ring_bell"}, {"type": "function", "function": {"name": "ring_bell"}}, None),
    ({"type": "any", "disable_parallel_tool_use": True}, "required", False),
    ({"type": "tool", "name": "camera", "disable_parallel_tool_use": True}, {"type": "function", "function": {"name": "camera"}}, False),
]


# ---- responses and streams --------------------------------------------------------------------------------------------


def family(name):
    return A if name.startswith("anthropic") else O


def expect(final, dialect, want):
    """The official final object says what the input said."""
    got = VIEW[dialect](final)
    order = got.pop("order", None)
    need(got["usage"] is not None, "no usage")
    for secret in want["signatures"] + want["redacted"]:
        need(secret not in json.dumps([got["text"], got["reasoning"], got["calls"]]), "opaque state inside readable text")
    loose = [[None if w is None else g for g, w in zip(gc, wc)] for gc, wc in zip(got["calls"], want["calls"])]
    same([list(c) for c in got["calls"][len(loose):]], [], "calls too many")
    got["calls"] = [tuple(c) for c in loose]
    for key, value in want.items():
        if key != "order":
            same(got[key], value, key)
    if order is not None:
        same(order, want["order"] or sorted(order, key=["thinking", "redacted_thinking", "text", "tool_use"].index), "order of blocks")
    return final


def expect_written(final, dialect, want):
    """What our own writers owe beyond that: one exact word for the reason, and arguments that always parse."""
    if dialect == O and want["stop"] != "length":
        for call in final.choices[0].message.tool_calls or []:
            need(call.function.arguments, f"empty arguments of {call.id}, where a client expects {{}}")
    if dialect == A:
        same(final.stop_reason, {"stop": "end_turn", "tools": "tool_use", "length": "max_tokens", "refusal": "refusal"}[want["stop"]], "stop_reason")


def expect_broken(result, dialect, want):
    text, message, kind = want
    snapshot, error = result
    need(error is not None, "no exception for the error inside the stream")
    if dialect == A:
        need(isinstance(error, anthropic.APIStatusError), f"raised {type(error).__name__}")
        same((error.type, error.api_message), (kind, message), "type and message of the error")
    else:
        need(type(error) is openai.APIError, f"raised {type(error).__name__}")
        same(error.message, message, "message of the error")
        need(isinstance(error.body, dict) and isinstance(error.body.get("type"), str) and error.body["type"], f"error body {error.body}")
        if kind == "overloaded_error":
            need("over" in json.dumps(error.body), f"the class of the error is lost: {error.body}")
    need(snapshot is not None, "nothing before the error")
    same(partial_text(snapshot, dialect), text, "text before the error")


def partial_text(snapshot, dialect):
    if dialect == A:
        return "".join(b.text for b in snapshot.content if b.type == "text")
    return snapshot.choices[0].message.content


def expect_cut(result, dialect, text, native):
    snapshot, error = result
    need(snapshot is not None, "nothing before the cut")
    same(partial_text(snapshot, dialect), text, "text before the cut")
    stop = snapshot.stop_reason if dialect == A else snapshot.choices[0].finish_reason
    need(native or error is not None or stop is None, f"a cut stream became a clean end ({stop})")


# May be missing after a round trip through the other family (it has no place for them), but never wrong.
LOSSY = {"usage.cache_creation", "usage.service_tier", "usage.inference_geo", "usage.speed", "usage.server_tool_use",
         "stop_sequence", "stop_details", "container", "diagnostics"}


def expect_same_message(got, want):
    """Two official Messages are equal, but for the fields in LOSSY."""
    got, want = flat(got), flat(want)
    if want.get("stop_reason") == "stop_sequence" and got.get("stop_reason") == "end_turn":
        got["stop_reason"] = "stop_sequence"
    for key in sorted(set(got) | set(want)):
        g, w = got.get(key), want.get(key)
        if g == w or (g is None and key in LOSSY) or (key.startswith("usage.") and not g and not w):
            continue
        raise Wrong(f"after the round trip {key} is {g!r}, not {w!r}")


def flat(message):
    data = message.to_dict(exclude_none=True)
    usage = data.pop("usage")
    usage["thinking"] = (usage.pop("output_tokens_details", None) or {}).get("thinking_tokens")
    return {**data, **{f"usage.{k}": v for k, v in usage.items()}}


def expect_same_view(got, want):
    same(got.id, want.id, "id after the round trip")
    same(view_openai(got), view_openai(want), "completion after the round trip")


# ---- errors -----------------------------------------------------------------------------------------------------------


def expect_error(replay, body, dialect, want, message, *, native=False, back=False):
    status, class_a, kind, class_o, code = want
    if dialect == O and status == 529:
        status = 503
    replay.give(body, status=status)
    try:
        (replay.anthropic.messages if dialect == A else replay.openai.chat.completions).create(
            model="m", messages=[{"role": "user", "content": "x"}], **({"max_tokens": 1} if dialect == A else {}))
    except (anthropic.APIError, openai.APIError) as caught:
        error = caught
    else:
        raise Wrong("no exception")
    same(type(error).__name__, class_a if dialect == A else class_o, "exception")
    if dialect == A:
        same(error.type, kind, "error.type")
        same(json.loads(body).get("type"), "error", "type of the body")
        need(message in (error.api_message or ""), f"message {error.api_message!r}")
    else:
        shape = json.loads(body)["error"]
        same(sorted(set(shape) & {"message", "type", "param", "code"}), ["code", "message", "param", "type"], "keys of error")
        need(isinstance(shape["type"], str) and shape["type"], f"error.type {shape['type']!r}")
        need(message in shape["message"], f"message {shape['message']!r}")
        if native or code == "context_length_exceeded" and not back:
            same(error.code, code, "error.code")


# ---- requests ---------------------------------------------------------------------------------------------------------


def listed(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def picture_a(source):
    return ("image", "url", source["url"]) if source["type"] == "url" else ("image", source["media_type"], source["data"])


def picture_o(url):
    if not url.startswith("data:"):
        return ("image", "url", url)
    head, data = url[5:].split(",", 1)
    return ("image", head.removesuffix(";base64"), data)


def items_anthropic(request):
    out = [("system", b["text"]) for b in listed(request.get("system"))]
    for m in request["messages"]:
        late = []  # pictures inside results come after the results of that turn
        for b in listed(m["content"]):
            if b["type"] == "text":
                out += late + [(m["role"], b["text"])]
                late = []
            elif b["type"] == "image":
                out.append(picture_a(b["source"]))
            elif b["type"] == "tool_use":
                out.append(("call", b["id"], b["name"], b["input"]))
            elif b["type"] == "tool_result":
                parts = listed(b.get("content"))
                text = "".join(p["text"] for p in parts if p["type"] == "text")
                out.append(("result", b["tool_use_id"], text, b.get("is_error", False)))
                late += [picture_a(p["source"]) for p in parts if p["type"] == "image"]
        out += late
    return out


def items_openai(request):
    out = []
    for m in request["messages"]:
        role = {"developer": "system"}.get(m["role"], m["role"])
        if role == "tool":
            out.append(("result", m["tool_call_id"], "".join(p["text"] for p in listed(m["content"])), None))
            continue
        for p in listed(m.get("content")):
            if p["type"] == "text" and p["text"]:
                out.append((role, p["text"]))
            elif p["type"] == "image_url":
                out.append(picture_o(p["image_url"]["url"]))
        for c in m.get("tool_calls") or []:
            out.append(("call", c["id"], c["function"]["name"], json.loads(c["function"]["arguments"] or "{}")))
    return out


def expect_items(got, want, *, exact=()):
    """The same things in the same order. Labels and error marks may be added, but not to the results in `exact`."""
    for w in want:
        if w[0] == "result" and w[1] in exact:
            need(w in got, f"{w!r} is not in {got!r}")
    for kind in ("call", "image", "assistant"):
        g, w = ([i for i in items if i[0] == kind] for items in (got, want))
        same([loosen(i, j) for i, j in zip(g, w)] + g[len(w):], w, f"items of kind {kind}")
    same(len([g for g in got if g[0] == "result"]), len([w for w in want if w[0] == "result"]), "number of results")
    at = 0
    for w in (w for w in want if w[0] != "image"):
        found = next((i for i in range(at, len(got)) if fits(got[i], w)), None)
        need(found is not None, f"{w!r} is missing or out of place in {got!r}")
        at = found if w[0] == "system" else found + 1
    calls, results = ([i[1] for i in got if i[0] == k] for k in ("call", "result"))
    same(results, calls, "ids of results")
    images = len([w for w in want if w[0] == "image"])
    need(len(got) <= len(want) + images, f"more items than the request had: {got!r}")


ITEMS = {A: items_anthropic, O: items_openai}
EXACT = ("toolu_a1", "toolu_a3")  # toolu_a2 holds a picture, which leaves a label behind


def loosen(got, want):
    return tuple(None if w is None else g for g, w in zip(got, want)) if got[0] == "call" else got


def fits(got, want):
    if want[0] == "system":  # an older model takes a late system text only as marked user text
        return got[0] in ("system", "user") and want[1] in got[1]
    if got[0] != want[0]:
        return False
    if want[0] == "result":
        marked = not want[3] or got[3] or got[2] != want[2]
        return want[1] in (None, got[1]) and want[2] in got[2] and marked
    return loosen(got, want) == want


def lint_anthropic(request):
    """Rules of the API that the types do not show."""
    messages, open_calls = request["messages"], []
    same(messages[0]["role"], "user", "first role")
    for i, m in enumerate(messages):
        blocks = listed(m["content"])
        need(blocks, f"messages[{i}] is empty")
        kinds = [b["type"] for b in blocks]
        for b in blocks:
            need(b["type"] != "text" or b["text"].strip(), f"messages[{i}] has an empty text block")
            need(b["type"] != "thinking" or b["signature"], f"messages[{i}] has a thinking block without signature")
        if m["role"] == "system":
            need(messages[i - 1]["role"] == "user" and (i + 1 == len(messages) or messages[i + 1]["role"] == "assistant"),
                 f"messages[{i}]: a system message may not stand there")
            continue
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        same(kinds[: len(results)], ["tool_result"] * len(results), f"first blocks of messages[{i}]")
        same(sorted(results), sorted(open_calls), f"results in messages[{i}]")
        open_calls = [b["id"] for b in blocks if b["type"] == "tool_use"]
        for c in open_calls:
            need(c and all(x.isascii() and (x.isalnum() or x in "_-") for x in c), f"id {c!r}")
        thinking = [k in ("thinking", "redacted_thinking") for k in kinds]
        same(thinking, sorted(thinking, reverse=True), f"thinking first in messages[{i}]")
    same(open_calls, [], "calls without result")
    for t in request.get("tools") or []:
        same(t["input_schema"].get("type"), "object", f"type of the schema of {t['name']}")
    need(request.get("tools") or "tool_choice" not in request, "tool_choice without tools")


def lint_openai(request):
    open_calls = []
    for i, m in enumerate(request["messages"]):
        if m["role"] == "tool":
            need(m["tool_call_id"] in open_calls, f"messages[{i}] answers no open call")
            open_calls.remove(m["tool_call_id"])
            continue
        same(open_calls, [], f"calls without result before messages[{i}]")
        open_calls = [c["id"] for c in m.get("tool_calls") or []]
        for c in m.get("tool_calls") or []:
            need(len(c["id"]) <= 64 and isinstance(json.loads(c["function"]["arguments"]), dict), f"call {c}")
        need(m.get("content") or m.get("tool_calls"), f"messages[{i}] is empty")
    same(open_calls, [], "calls without result")
    need("max_tokens" not in request, "max_tokens is deprecated; reasoning models refuse it")
    need(request.get("stream") or "stream_options" not in request, "stream_options without stream")
    need(request.get("tools") or not {"tool_choice", "parallel_tool_calls"} & set(request), "tool settings without tools")
    need(len(request.get("stop") or []) <= 4 or isinstance(request["stop"], str), "more than four stop sequences")


def accepted(replay, request, dialect):
    """The official types accept the request, and the official client sends it unchanged."""
    errors = (params.anthropic_request if dialect == A else params.openai_request)(request)
    need(not errors, "; ".join(errors[:3]))
    (lint_anthropic if dialect == A else lint_openai)(request)
    items = json.dumps(ITEMS[dialect](request))
    for secret in SECRETS:
        need(secret not in items, "opaque state inside readable text")
    answer = "anthropic-stream-maxtokens.sse" if dialect == A else "openai-stream-length.sse"
    if not request.get("stream"):
        answer = "anthropic-response-stopseq.json" if dialect == A else "openai-response-tools.json"
    replay.give((INPUTS / answer).read_bytes(), stream=bool(request.get("stream")))
    try:
        reply = (replay.anthropic.messages if dialect == A else replay.openai.chat.completions).create(**request)
    except TypeError as error:
        raise Wrong(str(error)) from None
    if request.get("stream"):
        list(reply)
    same(replay.seen, request, "body the client sent")


def settings_openai(request):
    """anthropic-request-full.json, seen from the other side."""
    same(request["model"], "claude-opus-5-5", "model")
    same(request.get("max_completion_tokens"), 2048, "max_completion_tokens")
    same(request.get("stop"), ["OVER", "\n\n--"], "stop")
    same(request.get("stream"), True, "stream")
    same(request.get("reasoning_effort"), "high", "reasoning_effort")
    same((request.get("tool_choice"), request.get("parallel_tool_calls")), ("auto", False), "tool_choice, parallel_tool_calls")
    form = request.get("response_format") or {}
    same((form.get("type"), form.get("json_schema", {}).get("schema")), ("json_schema", DEPTH), "response_format")
    tools = [t["function"] for t in request["tools"]]
    same([t["name"] for t in tools], ["tide_table", "camera", "ring_bell"], "tools")
    same([t.get("description") for t in tools[:2]], ["Tide times of a harbour", "One frame of a harbour camera"], "descriptions")
    same((tools[0]["parameters"], tools[0].get("strict")), (TIDE_SCHEMA, True), "tide_table")


def settings_anthropic(request):
    """openai-request-full.json, seen from the other side."""
    same(request["model"], "gpt-5.4", "model")
    same(request["max_tokens"], 900, "max_tokens")
    same(request.get("stop_sequences"), ["OVER", "\n\n--"], "stop_sequences")
    same(request.get("stream"), True, "stream")
    out = request.get("output_config") or {}
    same((out.get("effort"), out.get("format")), ("high", {"type": "json_schema", "schema": DEPTH}), "output_config")
    same(request.get("tool_choice"), {"type": "auto", "disable_parallel_tool_use": True}, "tool_choice")
    same([t["name"] for t in request["tools"]], ["tide_table", "ring_bell"], "tools")
    same((request["tools"][0]["input_schema"], request["tools"][0].get("strict")), (TIDE_SCHEMA, True), "tide_table")
    need("metres" not in json.dumps(request.get("system")), "a late developer message was moved to the front")


def choice_variants(name):
    """The same small request with every form of tool_choice, and the other family's form of it."""
    base = json.loads((INPUTS / name).read_bytes())
    for a, o, parallel in CHOICES:
        request = {**base, "tool_choice": a if family(name) == A else o}
        if family(name) == O and parallel is not None:
            request["parallel_tool_calls"] = parallel
        yield json.dumps(a), request, (a, o, parallel)


def expect_choice(request, dialect, want):
    a, o, parallel = want
    got = request.get("tool_choice")
    if dialect == A:
        same(got if got is not None else {"type": "auto"}, a, "tool_choice")
        need(request["max_tokens"] > 0, "max_tokens")
        same(request.get("stop_sequences"), ["OVER"], "stop_sequences")
    else:
        same(got if got is not None else "auto", o, "tool_choice")
        need(parallel is None and request.get("parallel_tool_calls", True) or request.get("parallel_tool_calls") is parallel,
             f"parallel_tool_calls {request.get('parallel_tool_calls')}")


# ---- the cases --------------------------------------------------------------------------------------------------------


class Run:
    def __init__(self, binary, only):
        self.binary, self.only, self.passed, self.failed = binary, only, 0, 0
        self.replay = Replay()

    def case(self, name, body):
        if self.only not in name:
            return
        try:
            body()
        except Exception as error:  # whatever an official package raises is a finding
            why = str(error) if isinstance(error, Wrong) else f"{type(error).__name__}: {error}"
            if hasattr(error.__cause__, "errors"):  # which fields strict validation refused
                why += " " + "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.__cause__.errors()[:5])
            print(f"FAIL {name}: {' '.join(why.split())[:600]}", flush=True)
            self.failed += 1
        else:
            print(f"ok {name}", flush=True)
            self.passed += 1

    def convert(self, data, source, target, role, *, may_fail=False):
        run = subprocess.run([self.binary, "convert", "--from", source, "--to", target, "--role", role],
                             input=data, capture_output=True, timeout=30, check=False)
        if run.returncode and not may_fail:
            raise Wrong(f"exit {run.returncode}: {run.stderr.decode(errors='replace')[:300]}")
        need(run.stdout, "no output")
        return run.stdout

    def there_and_back(self, data, a, b, role):
        middle = self.convert(data, a, b, role)
        need(middle != data, "not converted at all")
        return self.convert(middle, b, a, role)

    # The same official paths over the inputs as they are.

    def self_check(self):
        r = self.replay
        for name, want in STREAMS.items():
            self.case(f"self {name}", lambda: expect(self.clean(STREAM[family(name)](r, read(name))), family(name), want))
        for name, want in BROKEN.items():
            self.case(f"self {name}", lambda: expect_broken(STREAM[family(name)](r, read(name)), family(name), want))
        for name, want in CUT.items():
            self.case(f"self {name}", lambda: expect_cut(STREAM[family(name)](r, read(name)), family(name), want, True))
        for name, want in RESPONSES.items():
            self.case(f"self {name}", lambda: expect(WHOLE[family(name)](r, read(name)), family(name), want))
        for name, want in ERRORS.items():
            self.case(f"self {name}", lambda: expect_error(r, read(name), family(name), want, message_of(name), native=True))
        for name, want in REQUESTS.items():
            def request():
                value = json.loads(read(name))
                accepted(r, value, family(name))
                expect_items(ITEMS[family(name)](value), want, exact=EXACT if family(name) == A else ())
            self.case(f"self {name}", request)
        for name in ("anthropic-request-choice.json", "openai-request-choice.json"):
            for form, value, _ in choice_variants(name):
                self.case(f"self {name} {form}", lambda: accepted(r, value, family(name)))
        unused = {p.name for p in INPUTS.iterdir()} - set(STREAMS) - set(BROKEN) - set(CUT) - set(RESPONSES) - set(ERRORS) - set(REQUESTS)
        self.case("self every input is used", lambda: same(sorted(unused), [], "unused inputs"))
        for label, name, damage, because in DAMAGES:
            self.case(f"self notices {label}", lambda: self.notices(name, damage, because))

    def clean(self, result):
        final, error = result
        if error is not None:
            raise error
        return final

    def notices(self, name, damage, because):
        """A known fault put into a good input must make the checks fail."""
        data = read(name).decode()
        bad = damage(data)
        need(bad != data, "the damage changed nothing")
        try:
            if name in STREAMS:
                expect(self.clean(STREAM[family(name)](self.replay, bad.encode())), family(name), STREAMS[name])
            elif name in RESPONSES:
                expect(WHOLE[family(name)](self.replay, bad.encode()), family(name), RESPONSES[name])
            else:
                value = json.loads(bad)
                accepted(self.replay, value, family(name))
                expect_items(ITEMS[family(name)](value), REQUESTS[name])
        except Exception as error:
            need(because in f"{type(error).__name__}: {error}", f"noticed for another reason: {type(error).__name__}: {error}")
            return
        raise Wrong("nobody noticed")

    # What the binary writes.

    def conversions(self):
        r = self.replay
        for name, want in STREAMS.items():
            a, b = family(name), OTHER[family(name)]
            def there():
                data = self.convert(read(name), a, b, "stream")
                expect_written(expect(self.clean(STREAM[b](r, data)), b, want), b, want)
                if b == O and want["stop"] == "tools":
                    same(parsed_openai(r, data, [c[1] for c in want["calls"]]), [c[2] for c in want["calls"]], "parsed arguments")
            def back():
                again = self.there_and_back(read(name), a, b, "stream")
                final, origin = (self.clean(STREAM[a](r, data)) for data in (again, read(name)))
                (expect_same_message if a == A else expect_same_view)(final, origin)
            self.case(f"{name} to {b}", there)
            self.case(f"{name} to {b} and back", back)
        for name, want in BROKEN.items():
            a, b = family(name), OTHER[family(name)]
            self.case(f"{name} to {b}", lambda: expect_broken(STREAM[b](r, self.convert(read(name), a, b, "stream")), b, want))
            self.case(f"{name} to {b} and back", lambda: expect_broken(
                STREAM[a](r, self.there_and_back(read(name), a, b, "stream")), a, want))
        for name, want in CUT.items():
            a, b = family(name), OTHER[family(name)]
            self.case(f"{name} to {b}", lambda: expect_cut(
                STREAM[b](r, self.convert(read(name), a, b, "stream", may_fail=True)), b, want, False))
        for name, want in RESPONSES.items():
            a, b = family(name), OTHER[family(name)]
            def there():
                expect_written(expect(WHOLE[b](r, self.convert(read(name), a, b, "response")), b, want), b, want)
            def back():
                again = self.there_and_back(read(name), a, b, "response")
                final, origin = (WHOLE[a](r, data) for data in (again, read(name)))
                (expect_same_message if a == A else expect_same_view)(final, origin)
            self.case(f"{name} to {b}", there)
            if "oddids" not in name:  # the first spelling of such an id is not kept without the request at hand
                self.case(f"{name} to {b} and back", back)
        for name, want in ERRORS.items():
            a, b = family(name), OTHER[family(name)]
            def there():
                expect_error(r, self.convert(read(name), a, b, "response"), b, want, message_of(name))
            def back():
                again = self.there_and_back(read(name), a, b, "response")
                expect_error(r, again, a, want, message_of(name), back=True)
            self.case(f"{name} to {b}", there)
            self.case(f"{name} to {b} and back", back)
        for name, want in REQUESTS.items():
            self.request_cases(name, want)
        for name in ("anthropic-request-choice.json", "openai-request-choice.json"):
            a, b = family(name), OTHER[family(name)]
            for form, value, choice in choice_variants(name):
                def there():
                    out = json.loads(self.convert(json.dumps(value).encode(), a, b, "request"))
                    accepted(r, out, b)
                    expect_choice(out, b, choice)
                self.case(f"{name} {form} to {b}", there)
        for name in [*STREAMS, *BROKEN, *CUT, *RESPONSES, *ERRORS, *REQUESTS]:
            role = name.split("-")[1].replace("error", "response")
            self.case(f"{name} to itself, byte for byte", lambda: same(
                self.convert(read(name), family(name), family(name), role, may_fail=name in CUT), read(name), "output"))

    def to_gemini(self):
        r = self.replay
        convert = lambda name, role, **how: self.convert(read(name), family(name), G, role, **how)  # noqa: E731
        for name, want in STREAMS.items():
            def streamed():
                data = convert(name, "stream")
                gemini.expect(self.clean(gemini.stream(r, data)), want)
                same(len(gemini.history(r, data)) > 1, True, "whether the client keeps the answer")
            self.case(f"{name} to {G}", streamed)
        for name, (text, message, _) in BROKEN.items():
            self.case(f"{name} to {G}", lambda: same(
                gemini.expect_broken(gemini.stream(r, convert(name, "stream")), message), text, "text before the error"))
        for name, text in CUT.items():
            self.case(f"{name} to {G}", lambda: same(
                gemini.expect_broken(gemini.stream(r, convert(name, "stream", may_fail=True)), "ended"), text, "text before the cut"))
        for name, want in RESPONSES.items():
            self.case(f"{name} to {G}", lambda: gemini.expect(gemini.whole(r, convert(name, "response")), want))
        for name, want in ERRORS.items():
            status = 503 if want[0] == 529 else want[0]
            self.case(f"{name} to {G}", lambda: gemini.expect_error(r, convert(name, "response"), status, message_of(name)))
        for name, want in REQUESTS.items():
            def request():
                out = json.loads(convert(name, "request"))
                gemini.accepted(out)
                expect_items(gemini.items(out), want)
            self.case(f"{name} to {G}", request)

    def request_cases(self, name, want):
        a, b = family(name), OTHER[family(name)]

        def there():
            out = json.loads(self.convert(read(name), a, b, "request"))
            accepted(self.replay, out, b)
            expect_items(ITEMS[b](out), want)
            if name == "anthropic-request-full.json":
                settings_openai(out)
            if name == "openai-request-full.json":
                settings_anthropic(out)

        def back():
            again = json.loads(self.there_and_back(read(name), a, b, "request"))
            accepted(self.replay, again, a)
            expect_items(ITEMS[a](again), want, exact=EXACT if a == A else ())
            origin = json.loads(read(name))
            for key in ("model", "max_tokens", "max_completion_tokens", "stop_sequences", "stream"):
                same(again.get(key), origin.get(key, again.get(key)), f"{key} after the round trip")

        self.case(f"{name} to {b}", there)
        self.case(f"{name} to {b} and back", back)


def read(name):
    return (INPUTS / name).read_bytes()


def message_of(name):
    return json.loads(read(name))["error"]["message"]


def without(prefix):
    return lambda s: "\n".join(line for line in s.split("\n") if not line.startswith(prefix))


def swap(old, new, count=-1):
    return lambda s: s.replace(old, new, count)


def usage_first(s):
    parts = s.split("\n\n")
    at = next(i for i, p in enumerate(parts) if '"choices":[],' in p)
    return "\n\n".join(parts[:at - 1] + [parts[at], parts[at - 1]] + parts[at + 1:])


STRICT = "APIResponseValidationError"

# (what, input, how, what the complaint says): faults that converters are known to make
DAMAGES = [
    ("missing event names", "anthropic-stream-tools.sse", without("event:"), "no message_start"),
    ("missing usage in message_start", "anthropic-stream-maxtokens.sse", swap(',"usage":{"input_tokens":9,"output_tokens":1}', ""), STRICT),
    ("missing usage in message_delta", "anthropic-stream-maxtokens.sse", swap(',"usage":{"output_tokens":4}', ""), STRICT),
    ("missing content in message_start", "anthropic-stream-maxtokens.sse", swap('"content":[],', ""), STRICT),
    ("missing message_stop", "anthropic-stream-tools.sse", swap('event: message_stop\ndata: {"type":"message_stop"}\n', ""), "no message_stop"),
    ("a block index that does not count up", "anthropic-stream-tools.sse", swap('"index":3', '"index":2'), "index of content_block_start"),
    ("a block left open", "anthropic-stream-redacted.sse",
     swap('event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n', ""), "while block 0 is open"),
    ("{} sent before the real arguments", "anthropic-stream-tools.sse", swap('"partial_json":""', '"partial_json":"{}"'), "not one JSON value"),
    ("arguments in content_block_start as text", "anthropic-stream-tools.sse", swap('"input":{}', '"input":""'), STRICT),
    ("a signature inside the text", "anthropic-stream-redacted.sse", swap("The gate is open.", "The gate c2lnLXJlZGFjdGVk is open."), "opaque state"),
    ("a lost signature", "anthropic-stream-redacted.sse", swap('"signature":"c2lnLXJlZGFjdGVk"', '"signature":""'), "signatures is []"),
    ("an unknown stop reason", "anthropic-stream-maxtokens.sse", swap('"stop_reason":"max_tokens"', '"stop_reason":"length"'), STRICT),
    ("cache tokens counted twice", "anthropic-response-tools.json", swap('"input_tokens": 50', '"input_tokens": 1250'), "usage is"),
    ("the role in every chunk", "openai-stream-text.sse", swap('"delta":{"content"', '"delta":{"role":"assistant","content"'), "assistantassistant"),
    ("the name in every fragment", "openai-stream-tools.sse",
     swap('"index":0,"function":{"arguments"', '"index":0,"function":{"name":"search_log","arguments"'), "search_logsearch_log"),
    ("the id in every fragment", "openai-stream-tools.sse", swap('"index":0,"function"', '"index":0,"id":"call_Aft","function"'), "call_Aftcall_Aft"),
    ("fragments without index", "openai-stream-tools.sse", swap('{"index":1,"function"', '{"function"'), STRICT),
    ("a call index that skips", "openai-stream-tools.sse", swap('"index":2', '"index":3'), "IndexError"),
    ("a call without type", "openai-stream-tools.sse", swap('"type":"function",', ""), "type of a call is None"),
    ("another object word", "openai-stream-text.sse", swap("chat.completion.chunk", "chat.completion"), STRICT),
    ("created missing", "openai-stream-text.sse", swap('"created":1790000000,', ""), STRICT),
    ("usage before the last chunk", "openai-stream-text.sse", usage_first, "forgets the usage"),
    ("a chunk without choices", "openai-stream-text.sse", swap('"choices":[],', ""), STRICT),
    ("reasoning details without index", "openai-stream-signed.sse",
     lambda s: s.replace('{"index":0,"type":"reasoning', '{"type":"reasoning').replace('{"index":1,"type":"reasoning', '{"type":"reasoning'), "`index` key"),
    ("no [DONE]", "openai-stream-text.sse", swap("data: [DONE]", ""), "[DONE]"),
    ("an unknown finish reason", "openai-stream-text.sse", swap('"finish_reason":"stop"', '"finish_reason":"end_turn"'), STRICT),
    ("arguments as an object", "openai-response-tools.json", swap('"arguments": ""', '"arguments": {}'), STRICT),
    ("a wrong total", "openai-response-tools.json", swap('"total_tokens": 560', '"total_tokens": 500'), "total_tokens"),
    ("missing max_tokens", "anthropic-request-choice.json", swap('"max_tokens": 64,', ""), "$.max_tokens: required"),
    ("temperature, which Anthropic's types no longer have", "anthropic-request-choice.json",
     swap('"max_tokens": 64,', '"max_tokens": 64, "temperature": 0.5,'), "$.temperature: unknown"),
    ("an OpenAI picture in an Anthropic request", "anthropic-request-full.json",
     swap('{"type": "url", "url": "https://example.org/pier.jpg"}', '{"type": "image_url", "url": "https://example.org/pier.jpg"}'), "$.messages[0].content[2]"),
    ("a result out of place", "anthropic-request-full.json", swap('"tool_use_id": "toolu_a1"', '"tool_use_id": "toolu_a9"'), "results in messages[2]"),
    ("a lost error flag", "anthropic-request-full.json", swap('"is_error": true,', ""), "missing or out of place"),
    ("a late system text moved to the front", "openai-request-full.json",
     lambda s: s.replace('    {"role": "developer", "content": "From here on use metres only."},\n', "").replace(
         "You keep the harbour log.", "You keep the harbour log. From here on use metres only."), "missing or out of place"),
    ("a picture inside a tool message", "openai-request-full.json",
     swap('[{"type": "text", "text": "dong"}]', '[{"type": "text", "text": "dong"}, {"type": "image_url", "image_url": {"url": "https://x"}}]'), "$.messages[4].content[1]"),
    ("a tool call with arguments as an object", "openai-request-full.json", swap('"arguments": "{}"', '"arguments": {}'), "dict is not str"),
    ("Anthropic's stop_sequences in an OpenAI request", "openai-request-choice.json", swap('"stop": "OVER"', '"stop_sequences": ["OVER"]'), "$.stop_sequences: unknown"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", help="path of the interlingua binary")
    parser.add_argument("--self-check", action="store_true", help="only check the inputs and the checks themselves")
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    args = parser.parse_args()
    if not args.self_check and not args.bin:
        parser.error("give --bin PATH or --self-check")
    run = Run(args.bin, args.only)
    run.self_check()
    responses.self_cases(run)
    if not args.self_check and not run.failed:
        run.conversions()
        responses.cases(run, sys.modules[__name__])
        run.to_gemini()
    run.replay.close()
    print(f"{run.passed} passed, {run.failed} failed")
    return 1 if run.failed or not run.passed else 0


if __name__ == "__main__":
    sys.exit(main())
