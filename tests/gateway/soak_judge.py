"""The judgement of an answer by its bytes alone, for each dialect: a full answer, an error of the dialect, or a fault.

Standard library only, without code of Interlingua.
"""

import json


class Fault(Exception):
    """An answer that a client cannot use."""


def judge(dialect, form, status, headers, body, expected):
    """The verdict `"full"` or `"error"`; a `Fault` for every other answer. `form` is `whole`, `events` or `array`."""
    try:
        return verdict(dialect, form, status, headers, body, expected)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise Fault(f"a member is missing or has another type: {error!r}") from None


def verdict(dialect, form, status, headers, body, expected):
    if status != 200:
        if not 400 <= status < 600:
            raise Fault(f"status {status}")
        need(headers.get("content-type") == "application/json", f"an error has the type {headers.get('content-type')}")
        check_error(dialect, parsed(body), status)
        if status == 429:
            need(headers.get("retry-after", "").isdigit(), "a rate limit has no `retry-after`")
        return "error"
    if form == "whole":
        text = WHOLE[dialect](parsed(body))
        need(text == expected, f"the text is {text[-60:]!r} instead of {expected[-60:]!r}")
        return "full"
    if form == "array":
        elements = parsed(body)
        need(isinstance(elements, list), "the answer is no array")
        events = [(None, element) for element in elements]
    else:
        need(headers.get("content-type") == "text/event-stream", f"the stream has the type {headers.get('content-type')}")
        events = sse(body)
    text, end = STREAM[dialect](events)
    if end == "full":
        need(text == expected, f"a clean end after {text[-60:]!r} instead of {expected[-60:]!r}")
    else:
        need(expected.startswith(text), f"the text before the error is {text[-60:]!r}, not a beginning")
    return end


def has_ended(dialect, body):
    """Whether a client of the dialect stops to read here: the last event of a good stream is there."""
    if dialect == "gemini":
        return b'"finishReason"' in body and body.endswith(b"\n\n")
    return {"anthropic": b"event: message_stop\n", "openai-chat": b"data: [DONE]\n\n",
            "openai-responses": b"event: response.completed\n"}[dialect] in body and body.endswith(b"\n\n")


def need(condition, reason):
    if not condition:
        raise Fault(reason)


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        raise Fault(f"no JSON: {text[:80]!r}") from None


def sse(body):
    """The events of a stream as pairs of a name and a value."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise Fault("the stream is no UTF-8") from None
    need(text.endswith("\n\n"), f"the stream ends inside of an event: {text[-60:]!r}")
    events = []
    for block in text[:-2].split("\n\n"):
        name, data = None, None
        for line in block.split("\n"):
            if line.startswith(":"):
                continue
            member, colon, value = line.partition(": ")
            need(colon and member in ("event", "data"), f"a line of the stream: {line[:60]!r}")
            if member == "event":
                name = value
            else:
                need(data is None, "an event has two lines of data")
                data = value
        if data is not None:
            events.append((name, "[DONE]" if data == "[DONE]" else parsed(data)))
    return events


def check_error(dialect, value, status=None):
    """The error object of a dialect."""
    need(isinstance(value, dict) and isinstance(value.get("error"), dict), f"no error object: {str(value)[:80]}")
    error = value["error"]
    need(isinstance(error.get("message"), str) and error["message"], "an error without a message")
    if dialect == "gemini":
        need(isinstance(error.get("code"), int) and isinstance(error.get("status"), str), f"a Gemini error {error}")
        need(status is None or error["code"] == status, f"a Gemini error {error['code']} with the status {status}")
    else:
        need(isinstance(error.get("type"), str) and error["type"], f"an error without a type: {error}")
    if dialect == "anthropic":
        need(value.get("type") == "error", "an Anthropic error without its type")


def joined(parts, member, kind=None):
    need(isinstance(parts, list), "no list of parts")
    for part in parts:
        need(kind is None or part.get("type") == kind, f"an unexpected part {str(part)[:60]}")
        need(isinstance(part.get(member), str), f"a part without `{member}`")
    return "".join(part[member] for part in parts)


def anthropic_whole(value):
    need(value.get("type") == "message" and value.get("role") == "assistant", f"no message: {str(value)[:80]}")
    need(value.get("stop_reason") == "end_turn", f"the stop reason {value.get('stop_reason')}")
    need(isinstance(value.get("usage", {}).get("output_tokens"), int), "no usage")
    return joined(value.get("content"), "text", "text")


def chat_whole(value):
    need(value.get("object") == "chat.completion", f"no completion: {str(value)[:80]}")
    need(len(value.get("choices", [])) == 1, "not one choice")
    choice = value["choices"][0]
    need(choice.get("finish_reason") == "stop", f"the finish reason {choice.get('finish_reason')}")
    need(choice["message"].get("role") == "assistant", "not the assistant")
    return choice["message"].get("content") or ""


def responses_whole(value):
    need(value.get("object") == "response", f"no response: {str(value)[:80]}")
    need(value.get("status") == "completed", f"the status {value.get('status')}")
    need(all(item.get("type") == "message" for item in value["output"]), "an item that is no message")
    return "".join(joined(item["content"], "text", "output_text") for item in value["output"])


def gemini_whole(value):
    need(len(value.get("candidates", [])) == 1, f"not one candidate: {str(value)[:80]}")
    candidate = value["candidates"][0]
    need(candidate.get("finishReason") == "STOP", f"the finish reason {candidate.get('finishReason')}")
    need(candidate["content"].get("role") == "model", "not the model")
    return joined(candidate["content"]["parts"], "text")


WHOLE = {"anthropic": anthropic_whole, "openai-chat": chat_whole, "openai-responses": responses_whole,
         "gemini": gemini_whole}


def anthropic_stream(events):
    text, state, stop = "", "new", None
    for name, value in events:
        need(state != "ended", "an event after the end")
        kind = value.get("type")
        need(name == kind, f"the event {name} holds {kind}")
        if kind == "error":
            check_error("anthropic", value)
            need((name, value) == events[-1], "an event after the error")
            return text, "error"
        elif kind == "message_start":
            need(state == "new", "two starts")
            state = "open"
        elif kind == "content_block_start":
            need(state == "open" and value["content_block"]["type"] == "text", "a block at the wrong place")
            text += value["content_block"]["text"]
            state = "block"
        elif kind == "content_block_delta":
            need(state == "block", "a delta outside of a block")
            text += value["delta"]["text"]
        elif kind == "content_block_stop":
            need(state == "block", "the end of no block")
            state = "open"
        elif kind == "message_delta":
            need(state == "open", "the stop reason inside of a block")
            stop = value["delta"].get("stop_reason")
        elif kind == "message_stop":
            need(state == "open" and stop == "end_turn", f"an end with the stop reason {stop}")
            state = "ended"
        else:
            need(kind == "ping", f"the event {kind}")
    need(state == "ended", "the stream has no end and no error")
    return text, "full"


def chat_stream(events):
    text, finish, has_end = "", None, False
    for position, (_, value) in enumerate(events):
        need(not has_end, "an event after the end")
        if value == "[DONE]":
            has_end = True
        elif "error" in value:
            check_error("openai-chat", value)
            rest = [value for _, value in events[position + 1:]]
            need(rest in ([], ["[DONE]"]), "an event after the error")
            return text, "error"
        else:
            need(value.get("object") == "chat.completion.chunk", f"no chunk: {str(value)[:80]}")
            for choice in value["choices"]:
                need(finish is None, "content after the finish reason")
                text += choice["delta"].get("content") or ""
                finish = choice.get("finish_reason")
    need(has_end and finish == "stop", f"the stream has no end and no error (finish reason {finish})")
    return text, "full"


def responses_stream(events):
    text, number = "", -1
    for position, (name, value) in enumerate(events):
        kind, is_last = value.get("type"), position + 1 == len(events)
        need(name == kind, f"the event {name} holds {kind}")
        if kind == "error":
            need(isinstance(value.get("message"), str), "an error without a message")
            # The failed response may follow.
            need(is_last or events[-1][0] == "response.failed", "an event after the error")
            return text, "error"
        need(value.get("sequence_number", -1) > number, "the numbers of the events do not grow")
        number = value["sequence_number"]
        need((position == 0) == (kind == "response.created") or kind == "response.failed", f"the event {kind} at {position}")
        if kind == "response.output_text.delta":
            text += value["delta"]
        elif kind == "response.failed":
            need(is_last, "an event after the failure")
            need(isinstance(value["response"]["error"]["message"], str), "a failure without a message")
            return text, "error"
        elif kind == "response.completed":
            need(is_last, "an event after the end")
            need(responses_whole(value["response"]) == text, "the response has another text than the deltas")
            return text, "full"
    raise Fault("the stream has no end and no error")


def gemini_stream(events):
    text, finish = "", None
    for position, (_, value) in enumerate(events):
        need(isinstance(value, dict), f"no object: {str(value)[:80]}")
        if "error" in value:
            check_error("gemini", value)
            need(position + 1 == len(events), "an event after the error")
            return text, "error"
        for candidate in value.get("candidates", []):
            need(finish is None, "a candidate after the finish reason")
            text += joined(candidate.get("content", {}).get("parts", []), "text")
            finish = candidate.get("finishReason")
    need(finish == "STOP", f"the stream has no end and no error (finish reason {finish})")
    return text, "full"


STREAM = {"anthropic": anthropic_stream, "openai-chat": chat_stream, "openai-responses": responses_stream,
          "gemini": gemini_stream}
