"""Good answers that the judgement must accept, and broken ones that it must refuse."""

import json

from soak_judge import Fault, judge
from soak_vendor import anthropic_events, anthropic_whole, chat_events, chat_whole, event, text_for

NUMBER = 7
TEXT = text_for(NUMBER)
HEADERS = {"whole": {"content-type": "application/json"}, "array": {"content-type": "application/json"},
           "events": {"content-type": "text/event-stream"}}


def responses_whole():
    content = [{"type": "output_text", "text": TEXT, "annotations": []}]
    item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
    return {"object": "response", "id": "r", "status": "completed", "output": [item]}


def responses_events():
    half = len(TEXT) // 2
    values = [{"type": "response.created", "response": {"object": "response", "status": "in_progress", "output": []}},
              {"type": "response.output_text.delta", "delta": TEXT[:half]},
              {"type": "response.output_text.delta", "delta": TEXT[half:]},
              {"type": "response.completed", "response": responses_whole()}]
    return [event({**value, "sequence_number": number}, value["type"]) for number, value in enumerate(values)]


def gemini_values():
    half = len(TEXT) // 2
    def candidate(text, **more):
        return {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, **more}]}
    return [candidate(TEXT[:half]), candidate(TEXT[half:], finishReason="STOP")]


def errors(dialect):
    error = {"message": "m", "type": "server_error"}
    return {"anthropic": {"type": "error", "error": error},
            "gemini": {"error": {"code": 500, "message": "m", "status": "INTERNAL"}}}.get(dialect, {"error": error})


def error_event(dialect):
    if dialect == "openai-responses":
        return event({"type": "error", "message": "m", "sequence_number": 9}, "error")
    return event(errors(dialect), "error" if dialect == "anthropic" else None)


def good_answers():
    """Good answers as dialect, form, and whole value or list of events."""
    gemini = gemini_values()
    whole = {"candidates": [{"content": {"role": "model", "parts": [{"text": TEXT}]}, "finishReason": "STOP"}]}
    return {
        ("anthropic", "whole"): anthropic_whole(NUMBER, "m"),
        ("openai-chat", "whole"): chat_whole(NUMBER, "m"),
        ("openai-responses", "whole"): responses_whole(),
        ("gemini", "whole"): whole,
        ("gemini", "array"): gemini,
        ("anthropic", "events"): list(anthropic_events(NUMBER, "m")),
        ("openai-chat", "events"): list(chat_events(NUMBER, "m")),
        ("openai-responses", "events"): responses_events(),
        ("gemini", "events"): [event(value) for value in gemini],
    }


def verdict(dialect, form, body, status=200, headers=None):
    try:
        return judge(dialect, form, status, headers or HEADERS[form], body, TEXT)
    except Fault:
        return "fault"


def cases():
    """Cases as a name, the expected verdict and the verdict."""
    for (dialect, form), answer in good_answers().items():
        def case(name, expected, body, *more, dialect=dialect, form=form):
            return f"{dialect} {form}: {name}", expected, verdict(dialect, form, body, *more)
        failed = json.dumps(errors(dialect)).encode()
        json_type = HEADERS["whole"]
        yield case("an error", "error", failed, 500, json_type)
        yield case("an error without a message", "fault", failed.replace(b'"m"', b'""'), 500, json_type)
        yield case("an error as HTML", "fault", b"<p>no", 502, json_type)
        yield case("an error of another dialect", "fault", b'{"detail": "no"}', 500, json_type)
        yield case("a redirect", "fault", b"", 302, json_type)
        if dialect != "gemini":
            yield case("a rate limit without a delay", "fault", failed, 429, json_type)
            yield case("a rate limit", "error", failed, 429, {**json_type, "retry-after": "3"})
        else:
            yield case("a status beside another code", "fault", failed, 503, json_type)
        if form == "events":
            body = b"".join(answer)
            yield case("good", "full", body)
            yield case("a comment", "full", answer[0] + b": keep-alive\n\n" + b"".join(answer[1:]))
            yield case("nothing", "fault", b"")
            yield case("without its end", "fault", b"".join(answer[:-1]))
            yield case("a cut event", "fault", body[:-9])
            yield case("without a delta", "fault", b"".join(answer[:1] + answer[2:] if len(answer) < 5 else answer[:4] + answer[5:]))
            yield case("a repeated end", "fault", body + answer[-1])
            yield case("an error instead of the end", "error", b"".join(answer[:-1] + [error_event(dialect)]))
            yield case("an error alone", "error", error_event(dialect))
            yield case("an error before the end", "fault" if dialect != "openai-chat" else "error",
                       b"".join(answer[:-1] + [error_event(dialect), answer[-1]]))
            yield case("an error before all", "fault", b"".join([error_event(dialect)] + answer))
            yield case("no UTF-8", "fault", answer[0] + b"data: \xff\n\n" + b"".join(answer[1:]))
            yield case("a foreign line", "fault", b"<html>\n\n" + body)
            yield case("no JSON", "fault", b"data: {\n\n" + body)
        else:
            body = json.dumps(answer).encode()
            yield case("good", "full", body)
            yield case("cut", "fault", body[:-3])
            yield case("an error with the status 200", "fault" if form == "whole" else "error",
                       failed if form == "whole" else b"[" + failed + b"]")
            yield case("another text", "fault", body.replace(f"end of {NUMBER}".encode(), b"end"))
            for word in (b"end_turn", b'"stop"', b'"completed"', b'"STOP"'):
                if word in body:
                    yield case(f"another end than {word.decode()}", "fault", body.replace(word, b'"length"' if b'"' in word else b"max_tokens"))


def rows(check_all):
    finished = {"a": ("full", 200), "b": ("error", 500)}
    right = {"a": (200, None, 0), "b": (500, "server", 0)}
    yield "rows: right", 0, len(check_all(finished, right.get))
    for name, changed in {"missing": {"a": None}, "cancelled": {"a": (200, None, 1)}, "failed": {"a": (200, "server", 0)},
                          "another status": {"b": (502, "server", 0)}, "no failure": {"b": (500, None, 0)}}.items():
        yield f"rows: {name}", 1, len(check_all(finished, {**right, **changed}.get))


def run(check_all):
    count = wrong = 0
    for name, expected, got in [*cases(), *rows(check_all)]:
        count += 1
        if got != expected:
            wrong += 1
            print(f"{name}: {got} instead of {expected}")
    print(f"{count - wrong} of {count} known answers and rows were judged right")
    return 1 if wrong else 0
