#!/usr/bin/env python3
"""The official packages for Python and Node through the gateway, each against every backend dialect.

    python sdk.py --bin target/release/interlingua            # everything; --only TEXT picks checks by `client backend case`
    python sdk.py --bin … --python                            # without Node
    python sdk.py --self-check                                # the checks alone, without gateway and with known faults

One gateway process has two backends per dialect: a vendor written by hand (`sdk_vendors.py`), whose received requests are
judged, and a script. The packages are installed by `tests/sdk/requirements.txt` (Python) and from `package.json` (Node).
"""

import argparse
import base64
import copy
import concurrent.futures
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.append(str(HERE.parent / "sdk"))

import sdk_vendors as vendors  # noqa: E402
from pairs import request_errors  # noqa: E402
from sdk_clients import DIALECT, KINDS, SCHEMA, SECONDS, TOOL, Failed, NodeClient, NodeWorker, PythonClient, Report, params  # noqa: E402
from sdk_vendors import DIALECTS, MODELS, Answer, Reply  # noqa: E402

SYSTEM, ASKED, TEXT = "Answer briefly.", "Grüße: how is the weather in 東京?", "Clear skies over 東京 🌤, 21 °C."
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
CITIES = [{"city": "Zürich"}, {"city": "東京"}]
THOUGHT = "Two cities are asked for; \"look\" both up."
# Base64 with the letters in which its two alphabets differ.
STATE = base64.b64encode(b"signed\xfb\xff\xbf by the \xff vendor\xfe").decode()
# Call ids in the form of each vendor.
IDS = {"anthropic": ["toolu_01AbC", "toolu_02DeF"], "openai-chat": ["call_Aa1", "call_Bb2"], "openai-responses": ["call_Rr1", "call_Rr2"],
       "gemini": ["vtx-1", "vtx-2"], "kimi": ["functions.weather:0", "functions.weather:1"], "copilot": ["call_Cc1", "call_Cc2"]}
STATUSES = [400, 401, 404, 429, 500, 529]


class Wrong(Exception):
    """A check failed."""


def need(ok, why):
    if not ok:
        raise Wrong(why)


def same(got, want, what):
    if got != want:
        raise Wrong(f"{what} is {got!r}, not {want!r}")


# ---- expected losses ------------------------------------------------------------------------------------------------

# (kinds of client, backends, cases, reason): a setting of the request cannot reach the backend, because the backend's API has no
# place for it. The gateway must count a loss in these checks, and must count none in other checks.
OPENAI_LIKE = "openai-chat kimi copilot"
REASONING = "reasoning reasoning-stream"
TALKS = f"{REASONING} script-talk"
LOSSES = [
    ("chat responses", "anthropic gemini", "schema", "a schema has no name"),
    ("chat", "anthropic gemini", REASONING, "the model has no such reasoning effort, and gets the nearest setting"),
    ("chat", "kimi", TALKS, "the model has no such reasoning effort, and gets the nearest setting"),
    ("responses", "anthropic", "image", "an image has no detail"),
    ("responses", "gemini", "image", "no detail of an image has the same meaning"),
    ("responses", f"anthropic gemini {OPENAI_LIKE}", "tools tools-stream", "items have no ids"),
    ("responses", f"anthropic gemini {OPENAI_LIKE}", TALKS, "items have no ids, and no request for encrypted reasoning is needed"),
    ("responses", f"anthropic gemini {OPENAI_LIKE}", "compact", "the API does not compact; the model writes a summary"),
    ("messages", f"gemini openai-responses {OPENAI_LIKE}", TALKS, "a budget of tokens becomes the nearest effort, or has no place"),
    ("gemini", "anthropic", REASONING, "the model has no setting for whether thoughts are shown"),
    ("gemini", f"openai-responses {OPENAI_LIKE}", TALKS, "whether thoughts are shown has no place, or becomes a kind of summary"),
]


def expected_loss(kind, backend, case):
    """The reason of the row for this check."""
    return next((why for k, b, c, why in LOSSES if kind in k.split() and backend in b.split() and case in c.split()), None)


# ---- one client against one backend ---------------------------------------------------------------------------------


class Cell:
    """A client of one package against one backend."""

    def __init__(self, suite, client, backend):
        self.suite, self.client, self.backend, self.kind = suite, client, backend, client.kind
        self.losses, self.failing = [], itertools.count()

    @property
    def name(self):
        return f"{self.client.language}-{self.kind} {self.backend}"

    def new_model(self, base=None, fails=False):
        """A new model of the backend. A vendor that fails is a backend of its own, because the gateway pauses a backend and
        its key after failures."""
        slot = f"-{failing_slot(self.client.language, self.kind, next(self.failing))}" if fails else ""
        return f"{base or MODELS[self.backend]}{slot}-c{next(self.suite.numbers)}"

    def reply(self, answer, *, streamed=False):
        """A reply is made when the model's name is known."""
        def made(model):
            if not streamed:
                return Reply(vendors.body(self.backend, model, answer))
            return Reply(b"".join(vendors.stream(self.backend, model, answer)), streamed=True)

        return made

    def model(self, *makers, base=None, fails=False):
        model = self.new_model(base, fails)
        self.suite.vendors.expect(model, *(maker(model) if callable(maker) else maker for maker in makers))
        return model

    def ask(self, made, streamed=False):
        answer = self.client.ask_streamed(made) if streamed else self.client.ask(made)
        self.note_losses()
        return answer

    def note_losses(self):
        if not self.suite.direct:
            need("x-interlingua-losses" in self.client.headers, f"no loss count among {sorted(self.client.headers)}")
            self.losses.append(int(self.client.headers["x-interlingua-losses"]))

    def received(self, model, number=1, backend=None):
        """The last request of the vendor, and its facts."""
        backend = backend or self.backend
        requests = self.suite.vendors.requests(model)
        same(len(requests), number, "number of requests that the vendor received")
        last = requests[-1]
        want = "of-the-client" if self.suite.direct else f"of-{backend}"
        same(vendors.key_of(last), want, "key that the vendor received")
        need(self.suite.direct or "of-the-client" not in str(last.headers), "the client's key reached the vendor")
        if backend != DIALECT[self.kind]:
            # OpenRouter's name of the reasoning text.
            wrong = [error for error in request_errors(backend, copy.deepcopy(last.body)) if ".reasoning: unknown" not in error]
            need(not wrong, f"the request does not fit the official types: {wrong}")
        found, states, tools, schema = vendors.facts(backend, last.body)
        need(not [fact for fact in found if fact[0] == "unknown"], f"unknown parts: {found}")
        return last, vendors.merged(found), states, tools, schema

    # -- cases --

    def plain(self, streamed=False):
        answer = Answer(TEXT)
        model = self.model(self.reply(answer, streamed=streamed))
        got = self.ask(params(self.kind, model, [("system", SYSTEM), ("user", ASKED)]), streamed)
        self.judge_text(got, TEXT, answer, model)
        last, found, *_ = self.received(model)
        same(found, [("system", SYSTEM), ("user", ASKED)], "request")
        if self.backend == "gemini":
            need((":streamGenerateContent" in last.path) == streamed, f"path {last.path}")
        else:
            same(bool(last.body.get("stream")), streamed, "`stream`")
        limits = [last.body.get(m) for m in ("max_tokens", "max_completion_tokens", "max_output_tokens")]
        limits.append((last.body.get("generationConfig") or {}).get("maxOutputTokens"))
        same([limit for limit in limits if limit], [4000], "output limit")

    def judge_text(self, got, text, answer, model):
        same(got.text, text, "text")
        same(got.helper or "", text, "text by the helper of the package")
        same(got.stop, "calls" if answer.calls else "end", "stop reason")
        uncached, cached, output, _ = answer.usage
        same(got.usage, (uncached + cached, cached, output), "usage")
        same(got.model, model, "model")

    def stream(self):
        self.plain(streamed=True)

    def tools(self, streamed=False):
        ids = IDS[self.backend]
        calls = [(i, TOOL[0], city) for i, city in zip(ids, CITIES)]
        answer = Answer("I look both up.", calls=calls)
        model = self.model(self.reply(answer, streamed=streamed), self.reply(Answer(TEXT), streamed=streamed))
        talk = [("system", SYSTEM), ("user", ASKED)]
        got = self.ask(params(self.kind, model, talk, tools=True), streamed)
        self.judge_text(got, answer.text, answer, model)
        same([call[1:] for call in got.calls], [call[1:] for call in calls], "calls")
        need(got.calls[0][0] != got.calls[1][0], "two calls have one id")
        _, found, _, tools, _ = self.received(model)
        same(found, talk, "request")
        same({name: vendors.plain_schema(tool) for name, tool in tools.items()}, {TOOL[0]: vendors.plain_schema(TOOL[2])}, "tools")
        results = ["sunny, \"21 °C\"", "rain\nall day"]
        talk += [("native", got), ("results", [(i, n, text) for (i, n, _), text in zip(got.calls, results)])]
        second = self.ask(params(self.kind, model, talk, tools=True), streamed)
        same(second.text, TEXT, "text of the second turn")
        _, found, *_ = self.received(model, 2)
        want = [("system", SYSTEM), ("user", ASKED), ("assistant", answer.text), *(("call", *call) for call in calls),
                *(("result", i, text) for i, text in zip(ids, results))]
        same(found, want, "request of the second turn")

    def tools_stream(self):
        self.tools(streamed=True)

    def schema(self):
        text = '{"city":"東京","degrees":21,"tags":["clear","warm"]}'
        model = self.model(self.reply(Answer(text)))
        got = self.client.ask_typed(params(self.kind, model, [("user", ASKED)], schema=True))
        self.note_losses()
        same(got.parsed, Report(city="東京", degrees=21, tags=["clear", "warm"]), "parsed answer")
        *_, schema = self.received(model)
        same(vendors.plain_schema(schema), vendors.plain_schema(SCHEMA), "schema")

    def image(self):
        model = self.model(self.reply(Answer(TEXT)))
        got = self.ask(params(self.kind, model, [("image", ASKED, "image/png", PICTURE)]))
        same(got.text, TEXT, "text")
        _, found, *_ = self.received(model)
        same(found, [("user", ASKED), ("image", "image/png", PICTURE)], "request")

    def reasoning(self, streamed=False):
        """Reasoning with a call, then the result: the vendor receives its own state back."""
        state = "" if self.backend == "kimi" else STATE
        call = (IDS[self.backend][0], TOOL[0], CITIES[0])
        answer = Answer("I look it up.", reasoning=THOUGHT, signature=state, calls=[call])
        # OpenAI's own chat API has no reasoning; a server behind its dialect has `reasoning_details`.
        base = "anthropic/claude-sonnet-4-5" if self.backend == "openai-chat" else None
        model = self.model(self.reply(answer, streamed=streamed), self.reply(Answer(TEXT), streamed=streamed), base=base)
        talk = [("user", ASKED)]
        got = self.ask(params(self.kind, model, talk, tools=True, thinks=True), streamed)
        same(got.text, answer.text, "text")
        same(got.reasoning, THOUGHT, "reasoning")
        self.received(model)
        talk += [("native", got), ("results", [(got.calls[0][0], TOOL[0], "sunny")])]
        second = self.ask(params(self.kind, model, talk, tools=True, thinks=True), streamed)
        same(second.text, TEXT, "text of the second turn")
        _, found, states, *_ = self.received(model, 2)
        want = [("user", ASKED), ("reasoning", THOUGHT), ("assistant", answer.text), ("call", *call), ("result", call[0], "sunny")]
        same(found, want, "request of the second turn")
        if self.kind == "gemini" and self.client.language == "python" and self.backend == "gemini" and states != [state]:
            # Google's package decodes the state and encodes the state with the other alphabet before it sends the request.
            need(len(states) == 1 and vendors.same_state("gemini", states[0], state), f"states {states}")
        else:
            same(states, [state] if state else [], "state that the vendor received")

    def reasoning_stream(self):
        self.reasoning(streamed=True)

    def state(self):
        """State of an answer without calls reaches the vendor in the next turn, and never another vendor."""
        state = "" if self.backend == "kimi" else STATE
        answer = Answer("Both are sunny.", reasoning=THOUGHT, signature=state)
        base = "anthropic/claude-sonnet-4-5" if self.backend == "openai-chat" else None
        model = self.model(self.reply(answer), self.reply(Answer(TEXT)), base=base)
        got = self.ask(params(self.kind, model, [("user", ASKED)], thinks=True))
        talk = [("user", ASKED), ("native", got), ("user", "Thanks.")]
        self.ask(params(self.kind, model, talk, thinks=True))
        _, found, states, *_ = self.received(model, 2)
        same([fact for fact in found if fact[0] != "reasoning"], [("user", ASKED), ("assistant", answer.text), ("user", "Thanks.")], "request")
        need(all(vendors.same_state(self.backend, one, state) for one in states), f"states {states}")
        same(len(states), 1 if state else 0, "number of states that the vendor received")
        if self.suite.direct:
            return
        other = DIALECTS[(DIALECTS.index(self.backend) + 1) % len(DIALECTS)]
        model = self.new_model(MODELS[other])
        self.suite.vendors.expect(model, Reply(vendors.body(other, model, Answer(TEXT))))
        self.ask(params(self.kind, model, talk, thinks=True))
        need(self.losses[-1] or not state or other == self.backend, "the gateway counts no loss for state that it withheld")
        last, found, states, *_ = self.received(model, backend=other)
        same([fact for fact in found if fact[0] != "reasoning"], [("user", ASKED), ("assistant", answer.text), ("user", "Thanks.")], "request")
        need(not state or state not in str(last.body) and not states, f"state of another vendor in {last.body}")

    def errors(self):
        for status, streamed in itertools.product(STATUSES, (False, True)):
            message = f"The vendor has a \"reason\" for {status}."
            headers = {"retry-after": "7"} if status == 429 else {}
            model = self.model(Reply(vendors.error(self.backend, status, message), status=status, headers=headers), fails=True)
            made = params(self.kind, model, [("user", ASKED)])
            self.judge_failure(lambda: self.ask(made, streamed), status, message, f"{status}{' streamed' if streamed else ''}")
            if status == 429:
                same(self.client.headers.get("retry-after"), "7", "`retry-after`")

    def judge_failure(self, call, status, message, what):
        try:
            call()
        except Failed as error:
            same(error.kind, self.error_class(status), f"{what}: class")
            same(error.status, status, f"{what}: status")
            text = error.message.replace('\\"', '"') if self.client.language == "node" else error.message
            need(message in text, f"{what}: the message {message!r} is not in {error.message!r}")
            return
        raise Wrong(f"{what}: no exception")

    def error_class(self, status):
        if self.kind == "gemini":
            return "ApiError" if self.client.language == "node" else "ClientError" if status < 500 else "ServerError"
        if self.kind == "messages" and status == 529:
            return "OverloadedError"
        names = {400: "BadRequestError", 401: "AuthenticationError", 404: "NotFoundError", 429: "RateLimitError"}
        return names.get(status, "InternalServerError")

    def retry(self):
        """The package waits as long as the vendor asks, and tries again."""
        limited = Reply(vendors.error(self.backend, 429, "slow down"), status=429, headers={"retry-after": "1"})
        model = self.model(limited, self.reply(Answer(TEXT)), fails=True)
        patient = self.suite.client(self.client.language, self.kind, self.backend, retries=2)
        begin = time.monotonic()
        got = patient.ask(params(self.kind, model, [("user", ASKED)]))
        took = time.monotonic() - begin
        patient.close()
        same(got.text, TEXT, "text")
        need(0.9 < took < 5, f"the second request came after {took:.1f} s")
        self.received(model, 2)

    def count(self):
        if self.kind == "chat":
            return "-"  # The API has no call for counts.
        own = vendors.counted(self.backend, 321)
        model = self.model(*([Reply(own)] if own else []))
        tokens = self.client.count(params(self.kind, model, [("user", ASKED)]))
        estimated = self.client.headers.get("x-interlingua-estimate")
        if own:
            same((tokens, estimated), (321, None), "count and mark of an estimate")
            last, *_ = self.received_count(model)
            need("東京" in str(last.body), f"counted {last.body}")
        else:
            same(estimated, "true", "mark of an estimate")
            need(5 < tokens < 500, f"estimate of {tokens} tokens")
            same(self.suite.vendors.requests(model), [], "requests to a vendor without counts")
        return None

    def compact(self):
        """A compaction, and a request that continues the compacted conversation."""
        if self.kind != "responses" or self.client.language == "node":
            return "-"  # No other API compacts; the package for Node has the same types.
        own = self.backend == "openai-responses"
        summary = Reply(vendors.compacted(ASKED)) if own else self.reply(Answer("Paris was chosen."))
        model = self.model(summary, self.reply(Answer(TEXT)))
        talk = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "I chose Paris."}]
        # A compaction holds messages of the user, which the types of the package for items of a response exclude.
        lenient = self.suite.client(self.client.language, self.kind, self.backend, strict=False)
        made, marks, text = lenient.compact(model, talk, "Go on.")
        lenient.close()
        same(text, TEXT, "text after the compaction")
        same((made.object, made.output[0].role, made.output[-1].type), ("response.compaction", "user", "compaction"), "compaction")
        need(made.usage.output_tokens > 0, f"usage {made.usage}")
        requests = self.suite.vendors.requests(model)
        same(len(requests), 2, "number of requests that the vendor received")
        if own:
            need(requests[0].path.endswith("/responses/compact"), f"path {requests[0].path}")
            same(marks if not self.suite.direct else ("0", None), ("0", None), "losses and mark of an emulation")
            need("gAAAA-opaque" in str(requests[1].body), f"the vendor's item is missing in {requests[1].body}")
            return None
        same(marks[1], "compaction", "mark of an emulation")
        self.losses.append(int(marks[0]))
        need("I chose Paris." in str(requests[0].body), f"the conversation is missing in {requests[0].body}")
        _, found, *_ = self.received(model, 2)
        same([author for author, *_ in found], ["user"] * len(found), "authors")
        told = str(found)
        need(ASKED in told and "Paris was chosen." in told and "Go on." in told, f"request {told}")
        need("I chose Paris." not in told, "the compacted message is still there")
        return None

    def received_count(self, model):
        requests = self.suite.vendors.requests(model)
        same(len(requests), 1, "number of requests that the vendor received")
        return requests

    def models(self):
        if self.suite.direct:
            return "-"
        need(self.suite.listed <= set(self.client.models()), f"models {self.client.models()} lack some of {self.suite.listed}")
        return None

    def cut(self):
        """A stream without its end, where the connection ends in order or breaks."""
        if self.suite.direct and not self.suite.fault:
            return "-"  # The packages alone take the end of the connection for the end of the answer.
        for breaks in (False, True):
            for accumulate in (False, True):
                what = f"{'broken' if breaks else 'ended'} connection{', accumulator' if accumulate else ''}"
                model = self.new_model(fails=True)
                content, _ = vendors.stream(self.backend, model, Answer(TEXT))
                self.suite.vendors.expect(model, *[Reply(content, streamed=True, breaks=breaks)] * 9)
                made = params(self.kind, model, [("user", ASKED)])
                if not accumulate:
                    text, failure = self.client.read_stream(made)
                    need(text.startswith(TEXT), f"{what}: text {text!r}")
                    need(failure, f"{what}: a clean end")
                    continue
                try:
                    got = self.client.ask_streamed(made)
                except (Failed, RuntimeError):
                    continue
                # The accumulator of `openai` for Node gives a response that says that it failed.
                need(got.dump.get("status") == "failed" and got.dump["error"]["message"], f"{what}: a clean end with stop {got.stop}")

    def late_error(self):
        """An error inside a stream."""
        message = "The vendor failed in the middle."
        model = self.new_model(fails=True)
        content, _ = vendors.stream(self.backend, model, Answer(TEXT))
        self.suite.vendors.expect(model, Reply(content + vendors.stream_error(self.backend, message), streamed=True))
        # The code of an overloaded server, which Codex looks for, is not among the codes in the types of `openai`.
        lenient = self.suite.client(self.client.language, self.kind, self.backend, strict=False)
        text, failure = lenient.read_stream(params(self.kind, model, [("user", ASKED)]))
        lenient.close()
        same(text, TEXT, "text")
        need(failure and message in failure, f"failure {failure!r}")

    def unknown(self):
        if self.suite.direct:
            return "-"
        made = params(self.kind, "nobody-has-this-model", [("user", ASKED)])
        self.judge_failure(lambda: self.client.ask(made), 404, "nobody-has-this-model", "unknown model")
        return None

    def asynchronous(self):
        if self.client.language == "node":
            return "-"  # Every call of the packages for Node is asynchronous.
        replies = [self.reply(Answer(TEXT)), self.reply(Answer(TEXT), streamed=True)]
        model = self.new_model()
        # The order of the two requests differs between packages, so that the request decides.
        whole, streamed = (maker(model) for maker in replies)
        self.suite.vendors.expect(model, lambda wants: streamed if wants else whole, lambda wants: streamed if wants else whole)
        one, other = self.client.ask_async(params(self.kind, model, [("user", ASKED)]))
        self.judge_text(one, TEXT, Answer(TEXT), model)
        self.judge_text(other, TEXT, Answer(TEXT), model)
        return None

    def script_talk(self):
        """The scripted model in the dialect of the backend: reasoning, text and two calls, then their results."""
        if self.suite.direct:
            return "-"
        for streamed in (False, True):
            talk, model = [("user", ASKED)], f"script-talk-{self.backend}"
            got = self.ask(params(self.kind, model, talk, tools=True, thinks=True), streamed)
            same((got.text, got.reasoning, got.stop), ("I look.", THOUGHT, "calls"), "text, reasoning and stop reason")
            same([call[1:] for call in got.calls], [(TOOL[0], city) for city in CITIES], "calls")
            same(got.usage, (120, 20, 9), "usage")
            talk += [("native", got), ("results", [(i, n, "sunny") for i, n, _ in got.calls]), ("user", "Thanks.")]
            second = self.ask(params(self.kind, model, talk, tools=True, thinks=True), streamed)
            same(second.text, "You said: Thanks.", "text of the second turn")
        return None

    def script_error(self):
        if self.suite.direct:
            return "-"
        for streamed in (False, True):
            made = params(self.kind, f"script-error-{self.backend}", [("user", ASKED)])
            self.judge_failure(lambda: self.ask(made, streamed), 429, "slow down", "scripted error")
            same(self.client.headers.get("retry-after"), "2", "`retry-after`")
        return None

    def script_cut(self):
        if self.suite.direct:
            return "-"
        text, failure = self.client.read_stream(params(self.kind, f"script-cut-{self.backend}", [("user", ASKED)]))
        need(text.startswith("Half of"), f"text {text!r}")
        need(failure, "a clean end")
        return None


# The number of failing backends for each client and dialect: errors, retry, cuts, late error.
FAILING = 2 * len(STATUSES) + 1 + 4 + 1


def failing_slot(language, kind, number):
    return f"{language}-{kind}-fails{number}"


CASES = {"plain": Cell.plain, "stream": Cell.stream, "tools": Cell.tools, "tools-stream": Cell.tools_stream, "schema": Cell.schema,
         "image": Cell.image, "reasoning": Cell.reasoning, "reasoning-stream": Cell.reasoning_stream, "state": Cell.state,
         "errors": Cell.errors, "retry": Cell.retry,
         "count": Cell.count, "compact": Cell.compact, "models": Cell.models, "cut": Cell.cut, "late-error": Cell.late_error, "unknown": Cell.unknown,
         "async": Cell.asynchronous, "script-talk": Cell.script_talk, "script-error": Cell.script_error, "script-cut": Cell.script_cut}

SCRIPTS = {
    "talk": f"""[[turn]]
reasoning = '''{THOUGHT}'''
signature = "{STATE}"
text = "I look."
calls = [{{ name = "weather", arguments = '{{"city":"Zürich"}}' }}, {{ name = "weather", arguments = '{{"city":"東京"}}' }}]
usage = {{ input = 100, cache-read = 20, output = 9, reasoning = 4 }}
[[turn]]
text = "You said: {{user}}"
""",
    "error": '[[turn]]\nerror = { class = "rate_limit", message = "slow down", retry-after-ms = 1500 }\n',
    "cut": '[[turn]]\ntext = "Half of the answer"\ncut = true\n',
}


# ---- the whole ------------------------------------------------------------------------------------------------------


class Suite:
    """The vendors, the gateway and the results."""

    def __init__(self, binary=None, node=None):
        self.vendors, self.numbers, self.node = vendors.Vendors(), itertools.count(1), node
        self.results, self.direct, self.process, self.fault = {}, binary is None, None, None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gateway-sdk-"))
        if binary:
            self.start(binary)

    def start(self, binary):
        config, self.listed = [], set()

        def backend(name, pattern, **settings):
            lines = [f"{key} = {value!r}" for key, value in settings.items()]
            config.append("\n".join([f"[backend.{name}]", *lines, "[[route]]", f"model = {pattern!r}", f"backend = {name!r}"]))

        for dialect in DIALECTS:
            url, key = f"{self.vendors.url}/{dialect}", f"of-{dialect}"
            slots = [failing_slot(*slot) for slot in itertools.product(("python", "node"), KINDS, range(FAILING))]
            for slot in ["", *(f"-{slot}" for slot in slots)]:
                # The packages try again, not the gateway. A server of OpenAI's dialect that is not OpenAI may accept any state.
                name = "openai" if dialect == "openai-chat" and not slot else f"vendor-{dialect}{slot}"
                backend(name, f"{MODELS[dialect]}{slot}-c*", dialect=dialect, url=url, key=key, retries=0)
            for name, text in SCRIPTS.items():
                path = self.folder / f"{name}.toml"
                path.write_text(text)
                backend(f"{name}-{dialect}", f"script-{name}-{dialect}", dialect=dialect, script=str(path))
                self.listed.add(f"script-{name}-{dialect}")
        backend("openrouter", "anthropic/*", retries=0, url=f"{self.vendors.url}/openai-chat", key="of-openai-chat")
        path = self.folder / "gateway.toml"
        path.write_text("\n".join(config))
        self.log = open(self.folder / "log", "w+")
        self.process = subprocess.Popen([binary, "serve", "--config", path, "--listen", "127.0.0.1:0"], stderr=self.log, stdout=self.log)
        until = time.monotonic() + 10
        while time.monotonic() < until and self.process.poll() is None:
            found = re.search(r"listening on (http://\S+)", (self.folder / "log").read_text())
            if found:
                self.url = found[1]
                return
            time.sleep(0.02)
        sys.exit(f"the gateway did not start:\n{(self.folder / 'log').read_text()}")

    def client(self, language, kind, backend, retries=0, strict=True):
        url = f"{self.vendors.url}/{backend}" if self.direct else self.url
        return PythonClient(kind, url, retries, strict) if language == "python" else NodeClient(self.node, kind, url, retries)

    def run(self, languages, only="", cases=CASES):
        pairs = [(language, kind, backend) for language in languages for kind in KINDS for backend in DIALECTS]
        if self.direct:
            pairs = [pair for pair in pairs if DIALECT[pair[1]] == pair[2]]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda pair: self.run_cell(*pair, only, cases), pairs))
        return self.results

    def run_cell(self, language, kind, backend, only, cases):
        client = self.client(language, kind, backend)
        cell = Cell(self, client, backend)
        for case, check in cases.items():
            if only not in f"{cell.name} {case}":
                continue
            cell.losses = []
            try:
                result = check(cell) or "ok"
                why = None if case == "state" or result == "-" else expected_loss(kind, backend, case)
                need(case == "state" or why or not any(cell.losses), f"unexpected losses: {cell.losses}")
                need(not why or any(cell.losses), f"the gateway counts no loss, but: {why}")
                result = "loss" if why else result
            except Wrong as error:
                result = str(error)
            except Failed as error:
                result = f"the package raised {error}"
            except Exception as error:  # noqa: BLE001 - a surprise is a failure of this check, not of the suite
                result = f"{type(error).__name__}: {error}"
            self.results[cell.name, case] = result
        client.close()

    def close(self):
        if self.process:
            self.process.terminate()
            self.process.wait(20)
        self.vendors.close()
        shutil.rmtree(self.folder)


def table(results):
    """Clients and backends as rows, cases as columns; then the failures. The number of failures."""
    passed = ("ok", "loss", "-")
    columns = [case for case in CASES if any(key[1] == case for key in results)]
    print(f"{'client and backend':34}" + " ".join(f"{case:4}" for case in columns))
    for name in dict.fromkeys(name for name, _ in sorted(results)):
        marks = [(case, results.get((name, case), "")) for case in columns]
        print(f"{name:34}" + " ".join(f"{mark if mark in passed or not mark else 'FAIL':{max(4, len(case))}}" for case, mark in marks))
    failures = [(*key, text) for key, text in sorted(results.items()) if text not in passed]
    for name, case, text in failures:
        print(f"FAIL {name} {case}: {text[:900]}")
    for kinds, backends, cases, why in LOSSES:
        print(f"loss: {kinds} to {backends}: {cases}: {why}")
    counts = {mark: sum(text == mark for text in results.values()) for mark in passed}
    print(f"{counts['ok']} checks passed, {counts['loss']} with a declared loss, {counts['-']} do not apply, {len(failures)} failed")
    return len(failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="the command `interlingua`")
    parser.add_argument("--only", default="", help="run the checks whose `client backend case` contains this text")
    parser.add_argument("--python", action="store_true", help="leave Node out")
    parser.add_argument("--tools", default=HERE.parents[1] / "target/tools", type=pathlib.Path, help="the folder for the packages of Node")
    parser.add_argument("--self-check", action="store_true", help="packages against vendors without a gateway, then with known faults")
    args = parser.parse_args()
    if not args.bin and not args.self_check:
        parser.error("--bin or --self-check is needed")
    languages = ["python"] if args.python else ["python", "node"]
    node = None if args.python else NodeWorker(installed(args.tools / "sdk-node"))
    suite = Suite(args.bin and str(pathlib.Path(args.bin).resolve()) if not args.self_check else None, node)
    try:
        begin = time.monotonic()
        failed = self_check(suite, languages) if args.self_check else table(suite.run(languages, args.only))
        print(f"{time.monotonic() - begin:.0f} s")
    finally:
        suite.close()
        if node:
            node.close()
    if not suite.results:
        sys.exit(f"no check contains {args.only!r}")
    sys.exit(1 if failed else 0)


def installed(folder):
    """The packages of `package.json` in a folder, installed once."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "package.json").read_text()
    if not (folder / "node_modules").exists() or (folder / "package.json").read_text() != wanted:
        (folder / "package.json").write_text(wanted)
        command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        if done.returncode:
            (folder / "package.json").unlink()
            sys.exit(f"npm install failed:\n{done.stderr}")
    return str(folder)


# ---- the checks themselves ------------------------------------------------------------------------------------------


def in_reply(*pairs):
    """A fault that replaces texts in a vendor's reply."""
    def change(reply):
        data = reply.data
        for old, new in pairs:
            data = data.replace(old.encode(), new.encode())
        return Reply(data, status=reply.status, streamed=reply.streamed, headers=reply.headers, breaks=reply.breaks)

    return change


def with_head(status=None, headers=None):
    """A fault that changes the status or the headers of a vendor's reply."""
    def change(reply):
        kept = reply.headers if headers is None else headers
        return Reply(reply.data, status=status or reply.status, streamed=reply.streamed, headers=kept, breaks=reply.breaks)

    return change


def in_request(*pairs):
    """A fault that replaces texts in the request that a vendor receives."""
    def change(text):
        for old, new in pairs:
            text = text.replace(old, new)
        return text

    return change


OTHER_STATE = STATE.replace("c", "d", 1)
# (fault, cases that must notice it, change of the reply, change of the request)
FAULTS = [
    ("another text", "plain stream async", in_reply(("Clear", "Cloudy")), None),
    ("other usage", "plain stream", in_reply((": 25", ": 26")), None),
    ("another stop reason", "plain stream", in_reply(("end_turn", "max_tokens"), ('"stop"', '"length"'), ("STOP", "MAX_TOKENS"), ('"completed"', '"failed"')), None),
    ("no system prompt", "plain stream tools", None, in_request((SYSTEM, ""))),
    ("another user text", "plain image tools", None, in_request(("Grüße", "Gruesse"))),
    ("other arguments", "tools tools-stream", in_reply(("Zürich", "Genf")), None),
    ("results with one id", "tools tools-stream", None, in_request(*((two, one) for one, two in IDS.values()))),
    ("no tool", "tools", None, in_request(('"tools"', '"stools"'))),
    ("another result", "tools tools-stream", None, in_request(("all day", "all night"))),
    ("another schema", "schema", None, in_request(("degrees", "grades"))),
    ("another picture", "image", None, in_request(("iVBORw0KGgo", "iVBORw0KGgp"))),
    ("no reasoning", "reasoning reasoning-stream", in_reply(("Two cities are", "Two towns are")), None),
    ("another signature", "reasoning reasoning-stream state", None, in_request((STATE, OTHER_STATE), (STATE.replace("+", "-").replace("/", "_"), OTHER_STATE))),
    ("another status", "errors", with_head(status=418), None),
    ("another message", "errors", in_reply(("reason", "cause")), None),
    ("no retry-after", "errors", with_head(headers={}), None),
    ("no rate limit", "retry", with_head(status=200), None),
    ("a lost compaction", "compact", in_reply(("gAAAA-opaque", "gAAAA")), None),
    ("another count", "count", in_reply(("321", "322")), None),
    ("a cut that nobody reports", "cut", None, None),
    ("an error that nobody reports", "late-error", in_reply(("failed in the middle", "is fine")), None),
]


def self_check(suite, languages):
    """The packages against the vendors without a gateway must pass; with a fault between them they must fail."""
    failed, noticed = table(suite.run(languages)), 0
    for fault, cases, change_reply, change_request in FAULTS:
        suite.fault, suite.results = fault, {}
        suite.vendors.change_reply, suite.vendors.change_request = change_reply, change_request
        for (name, case), result in suite.run(languages, "", {case: CASES[case] for case in cases.split()}).items():
            if result == "ok":
                failed += 1
                print(f"FAIL {name} {case} does not notice the fault: {fault}")
            noticed += result not in ("ok", "-")
    print(f"{noticed} checks noticed a fault")
    return failed


if __name__ == "__main__":
    main()
