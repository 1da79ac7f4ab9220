"""The official `google-genai` client over the same replay server, and what it sees in what we write."""

import os

for name in [n for n in os.environ if n.startswith(("GOOGLE_", "GEMINI_"))]:
    del os.environ[name]

from google import genai  # noqa: E402
from google.genai import errors, types  # noqa: E402

from sdk import SECONDS, Wrong, need, same  # noqa: E402

ASK = {"model": "m", "contents": "x"}
STOP = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "refusal"}
# The name of the client's exception follows from the HTTP status.
FAMILY = {4: errors.ClientError, 5: errors.ServerError}
# Fields of a request that stand beside `generationConfig`, with their types.
BESIDE = {"contents": list[types.Content], "systemInstruction": types.Content, "tools": list[types.Tool],
          "toolConfig": types.ToolConfig, "model": str, "labels": dict, "serviceTier": str, "store": bool}


def client(replay):
    """One client for all: it closes its connections when nobody holds it."""
    if not hasattr(replay, "gemini"):
        url = f"http://127.0.0.1:{replay.server.server_address[1]}"
        replay.gemini = genai.Client(api_key="local", http_options=types.HttpOptions(base_url=url, timeout=SECONDS * 1000))
    return replay.gemini


def whole(replay, body):
    replay.give(body)
    return [client(replay).models.generate_content(**ASK)]


def stream(replay, body):
    """(chunks, None) or (chunks so far, the exception the client raised)."""
    replay.give(body, stream=True)
    chunks = []
    try:
        for chunk in client(replay).models.generate_content_stream(**ASK):
            chunks.append(chunk)
    except errors.APIError as error:
        return chunks, error
    return chunks, None


def history(replay, body):
    """What a chat of the official client would send back: it drops an answer of which one chunk looks broken."""
    replay.give(body, stream=True)
    chat = client(replay).chats.create(model="m")
    for _ in chat.send_message_stream("x"):
        pass
    return chat.get_history(curated=True)


def view(chunks):
    need(chunks, "no chunk at all")
    parts, reason, usage = [], None, None
    for chunk in chunks:
        for candidate in chunk.candidates or []:
            parts += (candidate.content and candidate.content.parts) or []
            reason = candidate.finish_reason or reason
        usage = chunk.usage_metadata or usage
    states = [(bool(p.thought), p.thought_signature.decode().split(":", 2)) for p in parts if p.thought_signature]
    for _, state in states:
        same(state[:1], ["interlingua"], "how another's state begins")
    calls = [(p.function_call.id, p.function_call.name, p.function_call.args) for p in parts if p.function_call]
    need(usage is not None, "no usage")
    counts = {k: getattr(usage, f"{k}_token_count") or 0 for k in ("prompt", "cached_content", "candidates", "thoughts", "total")}
    same(counts["total"], counts["prompt"] + counts["candidates"] + counts["thoughts"], "total_token_count")
    stop = STOP.get(reason and reason.value)
    return {
        "model": chunks[0].model_version,
        "text": "".join(p.text for p in parts if p.text and not p.thought),
        "reasoning": "".join(p.text for p in parts if p.text and p.thought),
        "signatures": [state[2] for thought, state in states if thought],
        "redacted": [state[2] for thought, state in states if not thought],
        "calls": calls,
        "stop": "tools" if stop == "stop" and calls else stop,
        "usage": {"uncached": counts["prompt"] - counts["cached_content"], "read": counts["cached_content"], "write": 0,
                  "output": counts["candidates"] + counts["thoughts"], "reasoning": counts["thoughts"]},
    }


def expect(chunks, want):
    """The same as the input said; what was written to the cache is counted with the rest."""
    got, usage = view(chunks), want["usage"]
    want = {**want, "usage": {**usage, "uncached": usage["uncached"] + usage["write"], "write": 0}}
    # Arguments None: cut off. Ids None: another one was given.
    got["calls"] = [tuple(None if w is None else g for g, w in zip(gc, wc)) for gc, wc in zip(got["calls"], want["calls"])] + got["calls"][len(want["calls"]):]
    for key, value in want.items():
        if key in got:
            same(got[key], value, key)


def expect_broken(result, message):
    chunks, error = result
    need(error is not None, "no exception for the error inside the stream")
    need(message in (error.message or ""), f"message {error.message!r}")
    return "".join(p.text or "" for c in chunks for d in c.candidates or [] for p in d.content.parts)


def expect_error(replay, body, status, message):
    replay.give(body, status=status)
    try:
        client(replay).models.generate_content(**ASK)
    except errors.APIError as error:
        need(isinstance(error, FAMILY[status // 100]), f"raised {type(error).__name__}")
        need(message in (error.message or ""), f"message {error.message!r}")
        need(error.status and error.status.isupper(), f"status {error.status!r}")
        return
    raise Wrong("no exception")


def accepted(request):
    """The request fits the official types, which refuse unknown members, and rules that they do not show."""
    import pydantic
    for key, value in request.items():
        tp = types.GenerationConfig if key == "generationConfig" else BESIDE.get(key)
        need(tp is not None, f"unknown member {key}")
        pydantic.TypeAdapter(tp).validate_python(value)
    contents, open_calls = request["contents"], []
    need(contents, "no contents")
    roles = [c["role"] for c in contents]
    need(all(a != b for a, b in zip(roles, roles[1:])), f"roles in a row: {roles}")
    for content in contents:
        need(content["parts"], "a content without parts")
        results = [(p["functionResponse"]["id"], p["functionResponse"]["name"]) for p in content["parts"] if "functionResponse" in p]
        if content["role"] == "user":
            same(sorted(results), sorted(open_calls), "results of the calls before")
        open_calls = [(p["functionCall"]["id"], p["functionCall"]["name"]) for p in content["parts"] if "functionCall" in p]
    same(open_calls, [], "calls without results")


def items(request):
    """The same view of a request that the other families have."""
    out = [("system", p["text"]) for p in request.get("systemInstruction", {}).get("parts", [])]
    for content in request["contents"]:
        role, late = {"user": "user", "model": "assistant"}[content["role"]], []
        for p in content["parts"]:
            if "functionResponse" in p:
                result = p["functionResponse"]
                failed = "error" in result["response"]
                out.append(("result", result["id"], result["response"]["error" if failed else "output"], failed))
                late += [("image", b["inlineData"]["mimeType"], b["inlineData"]["data"]) for b in result.get("parts", [])]
                continue
            if "functionCall" in p:
                out.append(("call", p["functionCall"]["id"], p["functionCall"]["name"], p["functionCall"]["args"]))
            elif "inlineData" in p:
                out.append(("image", p["inlineData"]["mimeType"], p["inlineData"]["data"]))
            elif "fileData" in p:
                out.append(("image", "url", p["fileData"]["fileUri"]))
            elif not p.get("thought") and p["text"] not in ("<system>", "</system>"):
                out += late + [(role, p["text"])]
                late = []
        out += late
    return out
