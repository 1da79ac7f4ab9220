"""The Responses API: what we write of both other families, read by the official `openai` package and by its accumulator;
and what it says itself, written for the other two."""

import json
import pathlib

import params
from sdk import Wrong, need, openai, same, stream_anthropic, stream_openai, view_anthropic, view_openai, whole_anthropic, whole_openai

R = "openai-responses"
FIXTURES = pathlib.Path(__file__).parents[2] / "crates/interlingua/fixtures/openai/responses"
ASK = {"model": "m", "input": "x"}


def stream_responses(replay, body):
    """(final response or the one that failed, its events)."""
    replay.give(body, stream=True)
    events = []
    with replay.openai.responses.stream(**ASK) as stream:
        for event in stream:
            events.append(event)
        same([e.type for e in events[:2]], ["response.created", "response.in_progress"], "first events")
        same([e.sequence_number for e in events], list(range(len(events))), "sequence numbers")
        last = events[-1]
        if last.type == "response.completed":
            final = stream.get_final_response()
            same(json.loads(final.to_json())["id"], events[0].response.id, "id at the end")
            return final, events
    need(last.type in ("response.failed", "response.incomplete"), f"last event {last.type}")
    return last.response, events


def whole_responses(replay, body):
    replay.give(body)
    return replay.openai.responses.create(**ASK)


def view_responses(r):
    """The words of `sdk.view_*`."""
    u, text, reasoning, states, calls, refused = r.usage, "", "", [], [], False
    same((r.object, isinstance(r.created_at, float)), ("response", True), "object, created_at")
    ids = [item.id for item in r.output]
    same(len(set(ids)), len(ids), "number of distinct ids")
    order = []
    for item in r.output:
        state = getattr(item, "encrypted_content", None) or ""
        hidden = "redacted_thinking" if ":encrypted:" in state else "thinking"
        order.append({"message": "text", "reasoning": hidden}.get(item.type, "tool_use"))
        if item.type == "message":
            for part in item.content:
                refused |= part.type == "refusal"
                text += part.refusal if part.type == "refusal" else part.text
        elif item.type == "reasoning":
            reasoning += "".join(p.text for p in item.summary) + "".join(p.text for p in item.content or [])
            states += [item.encrypted_content] if item.encrypted_content else []
        elif item.type == "function_call":
            try:
                arguments = json.loads(item.arguments)
            except ValueError:
                same(r.status, "incomplete", "status where arguments are no JSON")
                arguments = None
            calls.append((item.call_id, item.name, arguments))
        else:
            raise Wrong(f"item {item.type}")
    mark = "interlingua:anthropic:"
    stop = "length" if r.status == "incomplete" and r.incomplete_details.reason == "max_output_tokens" else None
    stop = stop or ("refusal" if refused or r.status == "incomplete" else "tools" if calls else "stop")
    if u is not None:
        same(u.total_tokens, u.input_tokens + u.output_tokens, "total_tokens")
    return {
        "model": r.model,
        "order": order,
        "text": text,
        "reasoning": reasoning,
        "signatures": [s.removeprefix(mark + "signature:") for s in states if s.startswith(mark + "signature:")],
        "redacted": [s.removeprefix(mark + "encrypted:") for s in states if s.startswith(mark + "encrypted:")],
        "calls": calls,
        "stop": stop,
        "usage": u and {
            "uncached": u.input_tokens - u.input_tokens_details.cached_tokens - u.input_tokens_details.cache_write_tokens,
            "read": u.input_tokens_details.cached_tokens,
            "write": u.input_tokens_details.cache_write_tokens,
            "output": u.output_tokens,
            "reasoning": u.output_tokens_details.reasoning_tokens,
        },
    }


def expect(response, want):
    got = view_responses(response)
    for secret in want["signatures"] + want["redacted"]:
        need(secret not in json.dumps([got["text"], got["reasoning"], got["calls"]]), "opaque state inside readable text")
    loose = [tuple(None if w is None else g for g, w in zip(gc, wc)) for gc, wc in zip(got["calls"], want["calls"])]
    got["calls"] = loose + got["calls"][len(loose):]
    for key, value in want.items():
        if key != "order":
            same(got[key], value, key)
    usual = sorted(got["order"], key=["thinking", "redacted_thinking", "text", "tool_use"].index)
    same(got["order"], want["order"] or usual, "order of items")


def accepted(replay, request):
    """The official types take the request, and the official client sends it unchanged."""
    errors = params.responses_request(request)
    need(not errors, "; ".join(errors[:3]))
    calls = [i["call_id"] for i in request["input"] if i.get("type") in ("function_call", "custom_tool_call")]
    results = [i["call_id"] for i in request["input"] if i.get("type", "").endswith("call_output")]
    same(sorted(results), sorted(calls), "ids of results")
    need(all(len(c) <= 64 for c in calls), "ids are too long")
    kinds = [i.get("type") for i in request["input"]]
    for at, kind in enumerate(kinds):
        after = kinds[at + 1:at + 2]
        need(kind != "reasoning" or after and after[0] in ("reasoning", "message", "function_call", "custom_tool_call"), "reasoning that nothing came of")
    need(request.get("tools") or not {"tool_choice", "parallel_tool_calls"} & set(request), "tool settings without tools")
    replay.give((FIXTURES / ("stream/text.sse" if request.get("stream") else "response/text.json")).read_bytes(), stream=bool(request.get("stream")))
    reply = replay.openai.responses.create(**request)
    if request.get("stream"):
        list(reply)
    same(replay.seen, request, "body the client sent")


def items_of(request):
    """The conversation in the words of `run.items_*`."""
    out = [("system", request["instructions"])] if "instructions" in request else []
    for item in request["input"]:
        kind = item.get("type", "message")
        if kind == "message":
            role = {"developer": "system"}.get(item["role"], item["role"])
            parts = item["content"] if isinstance(item["content"], list) else [{"type": "input_text", "text": item["content"]}]
            for part in parts:
                if part["type"] == "input_image":
                    out.append(picture(part["image_url"]))
                else:
                    out.append((role, part["text"]))
        elif kind == "function_call":
            out.append(("call", item["call_id"], item["name"], json.loads(item["arguments"])))
        elif kind == "function_call_output":
            parts = item["output"] if isinstance(item["output"], list) else [{"type": "input_text", "text": item["output"]}]
            out.append(("result", item["call_id"], "".join(p["text"] for p in parts if p["type"] == "input_text"), None))
            out += [picture(p["image_url"]) for p in parts if p["type"] == "input_image"]
    return out


def picture(url):
    if not url.startswith("data:"):
        return ("image", "url", url)
    head, data = url[5:].split(",", 1)
    return ("image", head.removesuffix(";base64"), data)


# What our own fixtures say, in words that the families share.
OWN_STREAMS = {
    "text.sse": {"text": "High water at six — tide 🌊 été.", "calls": [], "stop": "stop"},
    "tools.sse": {"text": "Looking in two places.", "redacted": 1, "stop": "tools", "calls": [
        ("call_Aft", "search_log", {"word": "café", "limit": 3}), ("call_Zero", "deck__list_ropes", {}),
        ("call_Log", "write_log", {"input": "noon:\n\"all well\""})]},
    "bare.sse": {"text": "Lit.", "redacted": 1, "stop": "tools", "calls": [("call_One", "exec_command", {"cmd": "ls"})]},
    "hosted.sse": {"text": "Six metres.", "calls": [], "stop": "stop"},
    "incomplete.sse": {"text": "And then the fog", "calls": [], "stop": "length"},
    "refusal.sse": {"text": "I will not sink it.", "calls": [], "stop": "refusal"},
}


def cases(run, m):
    """`m` is the module of the other cases, with its inputs."""
    r = run.replay
    for name, want in m.STREAMS.items():
        run.case(f"{name} to {R}", lambda: expect(stream_responses(r, run.convert(m.read(name), m.family(name), R, "stream"))[0], want))
    for name, want in m.RESPONSES.items():
        run.case(f"{name} to {R}", lambda: expect(whole_responses(r, run.convert(m.read(name), m.family(name), R, "response")), want))
    for name, want in [*m.BROKEN.items(), *m.CUT.items()]:
        def broken():
            final, events = stream_responses(r, run.convert(m.read(name), m.family(name), R, "stream", may_fail=True))
            same(final.status, "failed", "status")
            text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
            same(text, want[0] if isinstance(want, tuple) else want, "text before the break")
            opened, closed = ([e.output_index for e in events if e.type == f"response.output_item.{w}"] for w in ("added", "done"))
            same(closed, opened, "items that were ended")
            need(isinstance(want, str) or final.error.message == want[1], f"message {final.error}")
        # Words for what failed that the types do not know are checked elsewhere.
        if "overloaded" not in str(want):
            run.case(f"{name} to {R}", broken)
    for name, want in m.ERRORS.items():
        def error():
            body = run.convert(m.read(name), m.family(name), R, "response")
            status, _, _, known, code = want
            r.give(body, status=503 if status == 529 else status)
            try:
                r.openai.responses.create(**ASK)
            except openai.APIError as caught:
                same(type(caught).__name__, known, "exception")
                need(m.message_of(name) in json.loads(body)["error"]["message"], "message")
                need(code != "context_length_exceeded" or caught.code == code, f"code {caught.code}")
            else:
                raise Wrong("no exception")
        run.case(f"{name} to {R}", error)
    for name, want in m.REQUESTS.items():
        def request():
            out = json.loads(run.convert(m.read(name), m.family(name), R, "request"))
            accepted(r, out)
            m.expect_items(items_of(out), want)
        run.case(f"{name} to {R}", request)
    for path in sorted((FIXTURES / "request").glob("*.json")):
        for dialect in (m.A, m.O):
            def own():
                out = json.loads(run.convert(path.read_bytes(), R, dialect, "request"))
                errors = (params.anthropic_request if dialect == m.A else params.openai_request)(out)
                # Which settings a model takes is not in the types.
                errors = [e for e in errors if not any(f"$.{k}:" in e for k in ("temperature", "top_p", "top_k"))]
                need(not errors, "; ".join(errors[:3]))
            run.case(f"{path.name} of {R} to {dialect}", own)
    for name, want in OWN_STREAMS.items():
        data = (FIXTURES / "stream" / name).read_bytes()
        run.case(f"{name} of {R} to {m.A}", lambda: expect_own(view_anthropic(run.clean(stream_anthropic(r, run.convert(data, R, m.A, "stream")))), want, m.A))
        run.case(f"{name} of {R} to {m.O}", lambda: expect_own(view_openai(run.clean(stream_openai(r, run.convert(data, R, m.O, "stream")))), want, m.O))
    for name in ("text", "reasoning", "refusal", "incomplete"):
        data = (FIXTURES / "response" / f"{name}.json").read_bytes()
        run.case(f"{name}.json of {R} to {m.A}", lambda: view_anthropic(whole_anthropic(r, run.convert(data, R, m.A, "response"))))
        run.case(f"{name}.json of {R} to {m.O}", lambda: view_openai(whole_openai(r, run.convert(data, R, m.O, "response"))))


def expect_own(got, want, dialect):
    for key in ("text", "calls"):
        same(got[key], want[key], key)
    same(len(got["redacted"]), want.get("redacted", 0), "number of encrypted thoughts")
    same(got["stop"], want["stop"], "stop")


def self_cases(run):
    """Our fixtures are what the official client takes."""
    for path in sorted((FIXTURES / "request").glob("*.json")):
        request = json.loads(path.read_bytes())
        if path.name != "codex.json":  # what Codex sends says less than the types want
            run.case(f"self {path.name} of {R}", lambda: same(params.responses_request(request), [], "errors"))
    for name in ("text", "tools", "incomplete", "refusal"):
        run.case(f"self {name}.sse of {R}", lambda: stream_responses(run.replay, (FIXTURES / "stream" / f"{name}.sse").read_bytes()))

