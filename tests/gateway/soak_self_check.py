"""Good answers that the judgement must accept, and broken ones that it must refuse."""

import json
import pathlib
import struct
import tempfile
import zlib

from soak_journal import HEAD, Journal
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


def entry(call, status, failure):
    """An entry of a journal, with its head."""
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()
    def optional(value, encoded):
        return b"\0" if value is None else b"\1" + encoded
    parts = [text(call), text("value") * 8, optional(None, b"") * 2]
    parts += [optional(failure, text(failure or ""))] * 2 + [optional("end", text("end")), struct.pack("<QQQ", 1, 2, 3)]
    parts += [optional(status, struct.pack("<Q", status)), optional(None, b"") * 6, b"\1\0", struct.pack("<Q", 0), text("{}") * 3]
    data = b"".join(parts)
    return struct.pack("<II", len(data), zlib.crc32(data)) + data


def journals():
    first, second = entry("a", 200, None), entry("b", 500, "server")
    both = {"a": (200, None, 0), "b": (500, "server", 0)}
    one = {"a": both["a"]}
    changed = bytearray(second)
    changed[-1] ^= 1
    for name, expected, *segments in [
        ("whole", both, HEAD + first + second),
        ("grown between reads", both, HEAD + first, HEAD + first + second),
        ("grown within an entry", both, HEAD + first + second[:20], HEAD + first + second),
        ("cut", one, HEAD + first + second[:-1]),
        ("cut in the head of an entry", one, HEAD + first + second[:5]),
        ("a changed byte", one, HEAD + first + bytes(changed)),
        ("zeros", one, HEAD + first + bytes(99)),
        ("of another version", {}, HEAD.replace(b"1", b"2") + first),
        ("empty", {}, b""),
    ]:
        with tempfile.TemporaryDirectory(prefix="soak-journal-") as folder:
            (pathlib.Path(folder) / "db-calls").mkdir()
            journal = Journal(pathlib.Path(folder) / "db")
            for segment in segments:
                (journal.folder / "x-0.calls").write_bytes(segment)
                found = {call: journal.find(call) for call in both}
            yield f"journal: {name}", expected, {call: row for call, row in found.items() if row}


def run(check_all):
    count = wrong = 0
    for name, expected, got in [*cases(), *rows(check_all), *journals()]:
        count += 1
        if got != expected:
            wrong += 1
            print(f"{name}: {got} instead of {expected}")
    print(f"{count - wrong} of {count} known answers and rows were judged right")
    return 1 if wrong else 0
