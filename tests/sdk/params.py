"""Checks a JSON request against the TypedDict parameter types of the official packages.

pydantic reads `Iterable[...]` lazily and lets unknown keys pass, so the types are walked here: every key must be
known, every required key present, every literal and every union member must match.
"""

import types as pytypes
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Union, get_args, get_origin

from typing_extensions import Annotated, Literal, NotRequired, ReadOnly, Required, get_type_hints, is_typeddict

# Vendor keys that our openai-chat form carries beside the official ones.
EXTENSIONS = {"ChatCompletionAssistantMessageParam": {"reasoning_content", "reasoning_details"}}


def check(value: Any, tp: Any, path: str = "$") -> list[str]:
    """What is wrong with `value`, each with its path; empty when it fits the type."""
    origin = get_origin(tp)
    if origin in (Annotated, Required, NotRequired, ReadOnly):
        return check(value, get_args(tp)[0], path)
    if tp is Any or tp is object:
        return []
    if origin is Literal:
        return [] if any(value == a and type(value) is type(a) for a in get_args(tp)) else [f"{path}: {value!r} is not one of {get_args(tp)}"]
    if origin in (Union, pytypes.UnionType):
        return check_union(value, get_args(tp), path)
    if is_typeddict(tp):
        return check_typed_dict(value, tp, path)
    if tp is None or tp is type(None):
        return [] if value is None else [f"{path}: not null"]
    if tp is bool or tp is str:
        return [] if type(value) is tp else [f"{path}: {type(value).__name__} is not {tp.__name__}"]
    if tp is int:
        return [] if type(value) is int else [f"{path}: {type(value).__name__} is not int"]
    if tp is float:
        return [] if type(value) in (int, float) else [f"{path}: {type(value).__name__} is not a number"]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            return [f"{path}: {type(value).__name__} is not an object"]
        return [e for k, v in value.items() for e in check(v, get_args(tp)[1], f"{path}.{k}")]
    if isinstance(origin, type) and (issubclass(origin, Iterable) or origin.__name__ == "SequenceNotStr"):
        if not isinstance(value, list):
            return [f"{path}: {type(value).__name__} is not a list"]
        return [e for i, v in enumerate(value) for e in check(v, get_args(tp)[0], f"{path}[{i}]")]
    # Response models and file handles inside a parameter union: never what JSON is.
    return [f"{path}: no JSON form of {tp}"]


def check_union(value: Any, members: Sequence[Any], path: str) -> list[str]:
    best: list[str] | None = None
    best_rank = None
    for member in members:
        errors = check(value, member, path)
        if not errors:
            return []
        # The member whose tag (type, role) fits tells most about what is wrong.
        rank = (not tag_fits(value, member), len(errors))
        if best_rank is None or rank < best_rank:
            best, best_rank = errors, rank
    return best or []


def tag_fits(value: Any, member: Any) -> bool:
    if not isinstance(value, dict):
        return isinstance(value, list) and get_origin(member) is not None
    if not is_typeddict(member):
        return False
    hints = fields(member)
    tags = [t for t in ("type", "role") if t in hints and t in value]
    return bool(tags) and not any(check(value[t], hints[t]) for t in tags)


@lru_cache(maxsize=None)
def fields(tp: Any) -> dict[str, Any]:
    return get_type_hints(tp, include_extras=True)


def required(tp: Any, key: str) -> bool:
    # `__required_keys__` alone misses Required[...] in modules that postpone annotations.
    origin = get_origin(fields(tp)[key])
    return origin is Required or (origin is not NotRequired and key in tp.__required_keys__)


def check_typed_dict(value: Any, tp: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: {type(value).__name__} is not an object ({tp.__name__})"]
    hints = fields(tp)
    errors = [f"{path}.{k}: required by {tp.__name__}" for k in hints if required(tp, k) and k not in value]
    extra = set(value) - set(hints) - EXTENSIONS.get(tp.__name__, set())
    errors += [f"{path}.{k}: unknown to {tp.__name__}" for k in sorted(extra)]
    for k, v in value.items():
        if k in hints:
            errors += check(v, hints[k], f"{path}.{k}")
    return errors


def anthropic_request(request: Any) -> list[str]:
    from anthropic.types import message_create_params as m

    streaming = isinstance(request, dict) and request.get("stream") is True
    return check(request, m.MessageCreateParamsStreaming if streaming else m.MessageCreateParamsNonStreaming)


def responses_request(request: Any) -> list[str]:
    from openai.types.responses import response_create_params as c

    streaming = isinstance(request, dict) and request.get("stream") is True
    return check(request, c.ResponseCreateParamsStreaming if streaming else c.ResponseCreateParamsNonStreaming)


def openai_request(request: Any) -> list[str]:
    from openai.types.chat import completion_create_params as c

    streaming = isinstance(request, dict) and request.get("stream") is True
    return check(request, c.CompletionCreateParamsStreaming if streaming else c.CompletionCreateParamsNonStreaming)
