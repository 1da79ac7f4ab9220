#!/usr/bin/env python3
"""Every feature of every model API, alone in a small request or answer, to every API that has a place for it.

The table says how each API spells a feature, whatever our code thinks of it. A feature is kept if the target's own spelling,
with the same values, is in the output; if it is not, the report must tell of a loss or a note. Every output is valid by the
target's official types. Printed: kept of those that have a place, for each pair; at least 90 % must be. See README.md.
"""

import argparse
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True

import pairs  # noqa: E402

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini", "kimi", "copilot")
CHAT = ("openai-chat", "kimi", "copilot")
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PDF = "JVBERi0xLjQKJSVFT0YK"
WAV = "UklGRiQAAABXQVZF"
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"], "additionalProperties": False}
GEMINI_SCHEMA = {"properties": {"place": {}}}
# Models that take most of what there is. Some features belong to others; the table names them.
MODELS = {"anthropic": "claude-opus-4-5", "openai-chat": "gpt-5.1", "openai-responses": "gpt-5.1", "gemini": "gemini-2.5-pro",
          "kimi": "kimi-k2-thinking", "copilot": "claude-sonnet-4.5"}
# Sampling is refused by models that think.
SAMPLING = {"anthropic": "claude-sonnet-4-5", "openai-chat": "gpt-4.1", "openai-responses": "gpt-4.1", "kimi": "kimi-k2-0905-preview", "copilot": "gpt-4.1"}


def user(dialect, parts):
    """A request of one turn of the user."""
    if dialect == "gemini":
        return {"contents": [{"role": "user", "parts": parts}]}
    if dialect == "openai-responses":
        return {"input": [{"type": "message", "role": "user", "content": parts}]}
    return {"messages": [{"role": "user", "content": parts}]}


def text(dialect, said="Hello."):
    return {"gemini": {"text": said}, "openai-responses": {"type": "input_text", "text": said}}.get(dialect, {"type": "text", "text": said})


def base(dialect):
    body = user(dialect, [text(dialect)])
    if dialect != "gemini":
        body["model"] = MODELS[dialect]
    if dialect == "anthropic":
        body["max_tokens"] = 4096
    return body


def tool(dialect, name="look", **more):
    about = {"name": name, "description": "Looks."}
    if dialect == "anthropic":
        return {**about, "input_schema": SCHEMA, **more}
    if dialect == "gemini":
        return {**about, "parametersJsonSchema": SCHEMA, **more}
    function = {**about, "parameters": SCHEMA, **more}
    return {"type": "function", **function} if dialect == "openai-responses" else {"type": "function", "function": function}


def tools(dialect, *made):
    return {"tools": [{"functionDeclarations": list(made)}]} if dialect == "gemini" else {"tools": list(made)}


def with_tool(dialect, more):
    return {**tools(dialect, tool(dialect), tool(dialect, "find")), **more}


def turns(dialect, *said):
    """A conversation that begins with the user's hello."""
    first = user(dialect, [text(dialect)])
    name = next(iter(first))
    return {name: first[name] + list(said)}


def call(dialect, number="1", args=None):
    args, name = args or {"place": "bay"}, "look"
    if dialect == "anthropic":
        return {"type": "tool_use", "id": f"toolu_0{number}", "name": name, "input": args}
    if dialect == "gemini":
        return {"functionCall": {"id": f"toolu_0{number}", "name": name, "args": args}}
    if dialect == "openai-responses":
        return {"type": "function_call", "call_id": f"toolu_0{number}", "name": name, "arguments": json.dumps(args, separators=(",", ":"))}
    return {"id": f"toolu_0{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(args, separators=(",", ":"))}}


def result(dialect, number="1", said="fog", **more):
    if dialect == "anthropic":
        return {"type": "tool_result", "tool_use_id": f"toolu_0{number}", "content": [{"type": "text", "text": said}], **more}
    if dialect == "gemini":
        return {"functionResponse": {"id": f"toolu_0{number}", "name": "look", "response": more or {"output": said}}}
    if dialect == "openai-responses":
        return {"type": "function_call_output", "call_id": f"toolu_0{number}", "output": said, **more}
    return {"role": "tool", "tool_call_id": f"toolu_0{number}", "content": [{"type": "text", "text": said}], **more}


def loop(dialect, calls, results):
    if dialect == "anthropic":
        said = ({"role": "assistant", "content": calls}, {"role": "user", "content": results})
    elif dialect == "gemini":
        said = ({"role": "model", "parts": calls}, {"role": "user", "parts": results})
    elif dialect == "openai-responses":
        said = (*calls, *results)
    else:
        said = ({"role": "assistant", "tool_calls": calls}, *results)
    return {**turns(dialect, *said), **tools(dialect, tool(dialect))}


def each(make, dialects=DIALECTS):
    return {dialect: make(dialect) for dialect in dialects}


def chat(fragment, also=("kimi", "copilot")):
    return {name: fragment for name in ("openai-chat", *also)}


def picture(dialect):
    address = f"data:image/png;base64,{PNG}"
    return {
        "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        "openai-responses": {"type": "input_image", "image_url": address},
        "gemini": {"inlineData": {"mimeType": "image/png", "data": PNG}},
    }.get(dialect, {"type": "image_url", "image_url": {"url": address}})


def generation(**members):
    return {"generationConfig": members}


ADDRESS = "https://example.com/chart.png"
FORMAT = {"name": "answer", "schema": SCHEMA, "strict": True}
ERROR = {"anthropic": {"is_error": True}, "gemini": {"error": "fog"}}

# name: how each dialect that has it says it. What is written into the source is looked for in the target.
REQUEST = {
    "text": each(lambda d: user(d, [text(d, "Where is the bay?")])),
    "two texts": each(lambda d: user(d, [text(d, "Where?"), text(d, "Now.")])),
    "system prompt": {"anthropic": {"system": [{"type": "text", "text": "Be brief."}]}, "gemini": {"systemInstruction": {"parts": [{"text": "Be brief."}]}},
                      "openai-responses": {"instructions": "Be brief."}, **chat({"messages": [{"role": "system", "content": [{"type": "text", "text": "Be brief."}]}, *user("openai-chat", [text("openai-chat")])["messages"]]})},
    "assistant's turn": {"anthropic": turns("anthropic", {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]}, {"role": "user", "content": [{"type": "text", "text": "On."}]}),
                         "gemini": turns("gemini", {"role": "model", "parts": [{"text": "Hi."}]}, {"role": "user", "parts": [{"text": "On."}]}),
                         "openai-responses": turns("openai-responses", {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]},
                                                   {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "On."}]}),
                         **chat(turns("openai-chat", {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]}, {"role": "user", "content": [{"type": "text", "text": "On."}]}))},
    "user's name": chat(turns("openai-chat", {"role": "user", "name": "ada", "content": [{"type": "text", "text": "Hm."}]})),
    "picture": each(lambda d: user(d, [text(d), picture(d)])),
    "picture by address": {"anthropic": user("anthropic", [{"type": "image", "source": {"type": "url", "url": ADDRESS}}]),
                           "openai-responses": user("openai-responses", [{"type": "input_image", "image_url": ADDRESS}]),
                           **chat(user("openai-chat", [{"type": "image_url", "image_url": {"url": ADDRESS}}]))},
    "detail of a picture": {"openai-responses": user("openai-responses", [{"type": "input_image", "image_url": ADDRESS, "detail": "low"}]),
                            **chat(user("openai-chat", [{"type": "image_url", "image_url": {"url": ADDRESS, "detail": "low"}}]), ("copilot",))},
    "PDF": {"anthropic": user("anthropic", [{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}}]),
            "gemini": user("gemini", [{"inlineData": {"mimeType": "application/pdf", "data": PDF}}]),
            "openai-responses": user("openai-responses", [{"type": "input_file", "file_data": f"data:application/pdf;base64,{PDF}"}]),
            "openai-chat": user("openai-chat", [{"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}"}}])},
    "PDF by address": {"anthropic": user("anthropic", [{"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}}]),
                       "openai-responses": user("openai-responses", [{"type": "input_file", "file_url": "https://example.com/a.pdf"}])},
    "sound": {"openai-chat": user("openai-chat", [{"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}}]),
              "gemini": user("gemini", [{"inlineData": {"mimeType": "audio/wav", "data": WAV}}])},
    "film": {"kimi": user("kimi", [{"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAA"}}]),
             "gemini": user("gemini", [{"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}}])},
    "tool": {**each(lambda d: tools(d, tool(d)), ("anthropic", *CHAT, "openai-responses")),
             "gemini": {"tools": [{"functionDeclarations": [{"name": "look", "description": "Looks."}]}]}},
    "strict tool": {"anthropic": tools("anthropic", tool("anthropic", strict=True)), "openai-responses": tools("openai-responses", tool("openai-responses", strict=True)),
                    **chat(tools("openai-chat", tool("openai-chat", strict=True)))},
    "free-text tool": {"openai-chat": {"tools": [{"type": "custom", "custom": {"name": "patch", "description": "Patches."}}]},
                       "openai-responses": {"tools": [{"type": "custom", "name": "patch", "description": "Patches."}]}},
    "search of the web": {"anthropic": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "gemini": {"tools": [{"googleSearch": {}}]},
                          "openai-responses": {"tools": [{"type": "web_search"}]}},
    "code execution": {"anthropic": {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]}, "gemini": {"tools": [{"codeExecution": {}}]},
                       "openai-responses": {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]}},
    "call and result": each(lambda d: loop(d, [call(d)], [result(d)])),
    "two calls": each(lambda d: loop(d, [call(d), call(d, "2")], [result(d), result(d, "2", "sun")])),
    "failed result": each(lambda d: loop(d, [call(d)], [result(d, **ERROR[d])]), ("anthropic", "gemini")),
    "picture in a result": {"anthropic": loop("anthropic", [call("anthropic")], [{"type": "tool_result", "tool_use_id": "toolu_01", "content": [picture("anthropic")]}]),
                            "openai-responses": loop("openai-responses", [call("openai-responses")], [{"type": "function_call_output", "call_id": "toolu_01", "output": [picture("openai-responses")]}])},
    "choice: none": {"anthropic": with_tool("anthropic", {"tool_choice": {"type": "none"}}), "openai-responses": with_tool("openai-responses", {"tool_choice": "none"}),
                     **each(lambda d: with_tool(d, {"tool_choice": "none"}), CHAT), "gemini": with_tool("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}})},
    "choice: any": {"anthropic": with_tool("anthropic", {"tool_choice": {"type": "any"}}), "openai-responses": with_tool("openai-responses", {"tool_choice": "required"}),
                    "openai-chat": with_tool("openai-chat", {"tool_choice": "required"}), "gemini": with_tool("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}})},
    "choice: one": {"anthropic": with_tool("anthropic", {"tool_choice": {"type": "tool", "name": "look"}}), "openai-responses": with_tool("openai-responses", {"tool_choice": {"type": "function", "name": "look"}}),
                    **each(lambda d: with_tool(d, {"tool_choice": {"type": "function", "function": {"name": "look"}}}), ("openai-chat", "copilot")),
                    "gemini": with_tool("gemini", {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}}})},
    "one call at a time": {"anthropic": with_tool("anthropic", {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
                           "openai-responses": with_tool("openai-responses", {"parallel_tool_calls": False}), **each(lambda d: with_tool(d, {"parallel_tool_calls": False}), ("openai-chat", "copilot"))},
    "effort": {"anthropic": {"output_config": {"effort": "low"}}, "openai-responses": {"reasoning": {"effort": "low"}}, "openai-chat": {"reasoning_effort": "low"}},
    "budget of thinking": {"anthropic": {"thinking": {"type": "enabled", "budget_tokens": 2048}}, "gemini": generation(thinkingConfig={"thinkingBudget": 2048}),
                           "copilot": {"thinking_budget": 2048}},
    "JSON schema": {"anthropic": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}, "openai-responses": {"text": {"format": {"type": "json_schema", "schema": SCHEMA}}},
                    "gemini": generation(responseMimeType="application/json", responseJsonSchema=GEMINI_SCHEMA), **chat({"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}})},
    "JSON": {"openai-responses": {"text": {"format": {"type": "json_object"}}}, "gemini": generation(responseMimeType="application/json"), **chat({"response_format": {"type": "json_object"}})},
    "most tokens": {"anthropic": {"max_tokens": 777}, "openai-responses": {"max_output_tokens": 777}, "gemini": generation(maxOutputTokens=777), "openai-chat": {"max_completion_tokens": 777},
                    "kimi": [{"max_tokens": 777}, {"max_completion_tokens": 777}], "copilot": [{"max_tokens": 777}, {"max_completion_tokens": 777}]},
    "temperature": {**each(lambda d: {"temperature": 0.5}, ("anthropic", "openai-responses", *CHAT)), "gemini": generation(temperature=0.5)},
    "top_p": {**each(lambda d: {"top_p": 0.25}, ("anthropic", "openai-responses", *CHAT)), "gemini": generation(topP=0.25)},
    "top_k": {"anthropic": {"top_k": 7}, "gemini": generation(topK=7)},
    "penalties": {**chat({"frequency_penalty": 0.5, "presence_penalty": 0.25}), "gemini": generation(frequencyPenalty=0.5, presencePenalty=0.25)},
    "stop": {"anthropic": {"stop_sequences": ["END"]}, "gemini": generation(stopSequences=["END"]), **chat({"stop": ["END"]})},
    "seed": {"openai-chat": {"seed": 7}, "gemini": generation(seed=7)},
    "logprobs": {"openai-chat": {"logprobs": True, "top_logprobs": 3}, "openai-responses": {"top_logprobs": 3, "include": ["message.output_text.logprobs"]}, "gemini": generation(responseLogprobs=True, logprobs=3)},
    "several answers": {**chat({"n": 2}), "gemini": generation(candidateCount=2)},
    "verbosity": {"openai-chat": {"verbosity": "low"}, "openai-responses": {"text": {"verbosity": "low"}}},
    "tier": {"openai-chat": {"service_tier": "flex"}, "openai-responses": {"service_tier": "flex"}, "gemini": {"serviceTier": "flex"}},
    "whose request": {"anthropic": {"metadata": {"user_id": "u-7"}}, "openai-responses": {"safety_identifier": "u-7"}, "openai-chat": [{"safety_identifier": "u-7"}, {"user": "u-7"}], "kimi": {"safety_identifier": "u-7"}},
    "metadata": {"openai-chat": {"metadata": {"team": "sea"}}, "openai-responses": {"metadata": {"team": "sea"}}, "gemini": {"labels": {"team": "sea"}}},
    "key of the cache": {"openai-chat": {"prompt_cache_key": "k7"}, "openai-responses": {"prompt_cache_key": "k7"}, "kimi": {"prompt_cache_key": "k7"}},
    "mark for the cache": {"anthropic": user("anthropic", [{"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral"}}]),
                           "openai-chat": user("openai-chat", [{"type": "text", "text": "Long.", "prompt_cache_breakpoint": {"mode": "explicit"}}]),
                           "openai-responses": user("openai-responses", [{"type": "input_text", "text": "Long.", "prompt_cache_breakpoint": {"mode": "explicit"}}]),
                           "copilot": {"messages": [{"role": "user", "copilot_cache_control": {"type": "ephemeral"}, "content": [{"type": "text", "text": "Long."}]}]}},
    "stream": each(lambda d: {"stream": True}, ("anthropic", "openai-responses", *CHAT)),
}
# Sources whose own spelling says more than the table looks for, because not everybody has it.
SOURCE = {
    ("JSON schema", "openai-responses"): {"text": {"format": {"type": "json_schema", **FORMAT}}},
    **{("JSON schema", d): {"response_format": {"type": "json_schema", "json_schema": FORMAT}} for d in CHAT},
    ("tool", "gemini"): tools("gemini", tool("gemini")),
    ("JSON schema", "gemini"): generation(responseMimeType="application/json", responseJsonSchema=SCHEMA),
    ("most tokens", "kimi"): {"max_tokens": 777}, ("most tokens", "copilot"): {"max_tokens": 777},
}
# The model asked for, where another than the usual one has the feature.
ASKED = {name: SAMPLING for name in ("temperature", "top_p", "top_k", "penalties", "stop", "seed", "logprobs", "several answers")}
ASKED["strict tool"] = {"anthropic": "claude-opus-4-5", "kimi": "kimi-k2-0905-preview"}
ASKED["choice: one"] = ASKED["choice: any"] = SAMPLING


def answer(dialect, parts, stop="end", **more):
    words = {"end": ("end_turn", "stop", "completed", "STOP"), "limit": ("max_tokens", "length", "incomplete", "MAX_TOKENS"),
             "calls": ("tool_use", "tool_calls", "completed", "STOP"), "filter": ("refusal", "content_filter", "incomplete", "SAFETY")}[stop]
    if dialect == "anthropic":
        return {"id": "m1", "type": "message", "role": "assistant", "model": "x", "content": parts, "stop_reason": words[0], "stop_sequence": None,
                "usage": {"input_tokens": 9, "output_tokens": 7}, **more}
    if dialect == "gemini":
        return {"responseId": "m1", "modelVersion": "x", "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": words[3]}],
                "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 7, "totalTokenCount": 16}, **more}
    if dialect == "openai-responses":
        detail = {"limit": {"reason": "max_output_tokens"}, "filter": {"reason": "content_filter"}}.get(stop)
        return {"id": "m1", "object": "response", "created_at": 1, "model": "x", "status": words[2], "incomplete_details": detail, "error": None, "output": parts,
                "usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 16}, **more}
    return {"id": "m1", "object": "chat.completion", "created": 1, "model": "x", "choices": [{"index": 0, "message": {"role": "assistant", **parts}, "finish_reason": words[1]}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}, **more}


def says(dialect, said):
    """What an answer says with that text."""
    return {"anthropic": [{"type": "text", "text": said}], "gemini": [{"text": said}],
            "openai-responses": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}]}.get(dialect, {"content": said})


def calls(dialect):
    made = call(dialect)
    return {"tool_calls": [made]} if dialect in CHAT else [made]


THOUGHTS = {"anthropic": [{"type": "thinking", "thinking": "Hm."}, *says("anthropic", "Fog.")], "gemini": [{"text": "Hm.", "thought": True}, {"text": "Fog."}],
            "openai-responses": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}, *says("openai-responses", "Fog.")],
            "openai-chat": {"reasoning_content": "Hm.", "content": "Fog."}, "kimi": {"reasoning_content": "Hm.", "content": "Fog."}, "copilot": {"reasoning_text": "Hm.", "content": "Fog."}}
RAW_THOUGHTS = [{"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]}, *says("openai-responses", "Fog.")]
REFUSALS = {"anthropic": [{"type": "text", "text": "I can't."}], "openai-responses": [{"type": "message", "content": [{"type": "refusal", "refusal": "I can't."}]}], "openai-chat": {"refusal": "I can't."}}
CHAT_COUNTS = {"usage": {"prompt_tokens": 9, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 5}}}
RESPONSE = {
    "text": each(lambda d: answer(d, says(d, "Fog."))),
    "call": each(lambda d: answer(d, calls(d), "calls")),
    "limit reached": each(lambda d: answer(d, says(d, "Fo"), "limit")),
    "filtered": each(lambda d: answer(d, says(d, "Fo"), "filter")),
    "thoughts": {**each(lambda d: answer(d, THOUGHTS[d])), "openai-responses": [answer("openai-responses", THOUGHTS["openai-responses"]), answer("openai-responses", RAW_THOUGHTS)]},
    "refusal": {d: answer(d, REFUSALS[d]) for d in ("openai-responses", "openai-chat")},
    "counts of cache and thoughts": {
        **chat(answer("openai-chat", says("openai-chat", "Fog."), **CHAT_COUNTS)),
        "anthropic": answer("anthropic", says("anthropic", "Fog."), usage={"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": 7, "output_tokens_details": {"thinking_tokens": 5}}),
        "gemini": answer("gemini", says("gemini", "Fog."), usageMetadata={"promptTokenCount": 9, "cachedContentTokenCount": 4, "candidatesTokenCount": 2, "thoughtsTokenCount": 5}),
        "openai-responses": answer("openai-responses", says("openai-responses", "Fog."), usage={"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 7,
                                                                                               "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 16})},
}
RESPONSE["counts of cache and thoughts"]["gemini"]["usageMetadata"]["totalTokenCount"] = 16
# What not every answer tells.
HEAD = ("id", "object", "created", "created_at", "model", "responseId", "modelVersion", "error")
# A response in the source has an id for each item, which the target may call otherwise.
GIVEN_IDS = {"message": "msg_1", "reasoning": "rs_1", "function_call": "fc_1"}


def merged(base, more):
    """`more` over `base`."""
    if isinstance(base, dict) and isinstance(more, dict):
        return {**base, **{name: merged(base.get(name), value) for name, value in more.items()}}
    return copy.deepcopy(more)


def has(whole, wanted):
    """Whether everything that is wanted is there: members by name, elements in their order."""
    if isinstance(wanted, dict):
        return isinstance(whole, dict) and all(name in whole and has(whole[name], value) for name, value in wanted.items())
    if isinstance(wanted, list):
        if not isinstance(whole, list):
            return False
        rest = iter(whole)
        return all(any(has(element, one) for element in rest) for one in wanted)
    return whole == wanted and type(whole) is type(wanted)


def plain(dialect, body):
    """The same with one spelling of what has two: a text is a list of one part."""
    body = copy.deepcopy(body)
    parts = {"type": "input_text"} if dialect == "openai-responses" else {"type": "text"}
    if isinstance(body.get("input"), str):
        body["input"] = [{"type": "message", "role": "user", "content": body["input"]}]
    if isinstance(body.get("system"), str):
        body["system"] = [{"type": "text", "text": body["system"]}]
    if isinstance(body.get("stop"), str):
        body["stop"] = [body["stop"]]
    for message in [*body.get("messages", []), *body.get("input", [])]:
        own = {"type": "output_text"} if parts["type"] == "input_text" and message.get("role") == "assistant" else parts
        if dialect == "openai-responses" and "role" in message:
            message.setdefault("type", "message")
        if isinstance(message.get("content"), str):
            message["content"] = [{**own, "text": message["content"]}]
        for part in message.get("content") or []:
            if part.get("type") == "tool_result" and isinstance(part.get("content"), str):
                part["content"] = [{"type": "text", "text": part["content"]}]
    for message in body.get("input", []):
        if isinstance(message.get("output"), list) and [p.get("type") for p in message["output"]] == ["input_text"]:
            message["output"] = message["output"][0]["text"]
    return with_parsed_arguments(body)


def with_parsed_arguments(value):
    if isinstance(value, list):
        return [with_parsed_arguments(element) for element in value]
    if not isinstance(value, dict):
        return value
    parsed = {name: with_parsed_arguments(member) for name, member in value.items()}
    if isinstance(value.get("arguments"), str):
        parsed["arguments"] = json.loads(value["arguments"])
    return parsed


def source_of(role, name, dialect, fragment):
    fragment = SOURCE.get((name, dialect), fragment[0] if isinstance(fragment, list) else fragment)
    if role == "request":
        body = merged(base(dialect), fragment)
        if name in ASKED and dialect in ASKED[name] and "model" in body:
            body["model"] = ASKED[name][dialect]
        return body
    body = copy.deepcopy(fragment)
    for item in body.get("output", []):
        item.setdefault("id", GIVEN_IDS[item["type"]])
        if item["type"] == "message":
            item.update(role="assistant", status="completed")
            for part in item["content"]:
                part.update({"annotations": []} if part["type"] == "output_text" else {})
    return body


def jobs(only):
    for role, table in (("request", REQUEST), ("response", RESPONSE)):
        for name, spellings in table.items():
            for source, fragment in spellings.items():
                for target in DIALECTS:
                    if target != source and only in f"{role} {name} {source} {target}":
                        yield role, name, source, target, source_of(role, name, source, fragment), spellings.get(target)


def run(binary, folder, job):
    role, name, source, target, body, wanted = job
    report = folder / f"{abs(hash((role, name, source, target)))}.json"
    command = [binary, "convert", "--from", source, "--role", role, "--to", target, "--quiet", "--report", str(report)]
    if role == "request":
        command += ["--model", ASKED.get(name, {}).get(target, MODELS[target])]
    command += ["-o", f"{report}.out"]
    done = subprocess.run(command, input=json.dumps(body).encode(), capture_output=True, timeout=20)
    if done.returncode != 0:
        return "failed", done.stderr.decode()[-300:]
    told = json.loads(report.read_text())
    told = told["files"][0] if "files" in told else told
    out = json.loads(pathlib.Path(f"{report}.out").read_text())
    wrong = (pairs.request_errors if role == "request" else pairs.response_errors)(target, copy.deepcopy(out))
    if wrong:
        return "failed", f"not valid: {wrong[0]}"
    out = plain(target, out)
    declared = bool(told["lost_paths"] or told["notes"])
    if wanted is None:
        return "no place", ""
    spellings = wanted if isinstance(wanted, list) else [wanted]
    if role == "response":
        spellings = [{name: value for name, value in spelling.items() if name not in HEAD} for spelling in spellings]
    if any(has(out, plain(target, spelling)) for spelling in spellings):
        return "kept", ""
    return ("declared" if declared else "silent"), json.dumps(out)[:700]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    all_jobs = list(jobs(args.only))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda job: run(args.bin, pathlib.Path(folder), job), all_jobs))
    kept, places, bad = Counter(), Counter(), 0
    for (role, name, source, target, _, wanted), (outcome, said) in zip(all_jobs, outcomes):
        if wanted is not None:
            places[source, target] += 1
            kept[source, target] += outcome == "kept"
        if outcome in ("failed", "silent"):
            bad += 1
        if outcome in ("failed", "silent", "declared"):
            print(f"{outcome}: {role}, {name}: {source} -> {target}{'  ' + said if args.only or outcome != 'declared' else ''}")
    width = max(map(len, DIALECTS)) + 2
    print(" " * width + "".join(f"{d:>{width}}" for d in DIALECTS))
    for source in DIALECTS:
        print(f"{source:<{width}}" + "".join(f"{kept[source, t]}/{places[source, t]}".rjust(width) if t != source else "-".rjust(width) for t in DIALECTS))
    few = [pair for pair in places if kept[pair] < 0.9 * places[pair]]
    for source, target in few:
        print(f"{source} -> {target}: fewer than 90 % kept")
    print(f"{len(all_jobs)} conversions; {sum(kept.values())} of {sum(places.values())} features kept where the target has a place, {bad} failed or gone silently")
    return 1 if bad or few else 0


if __name__ == "__main__":
    sys.exit(main())
