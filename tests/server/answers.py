"""Examples of answers that are stored for the description, compared with what a real server answers.

With `FABULA_GOLDEN=write` an example that is missing, has an empty list or no longer fits is written again, from a real
answer. One that fits stays as it is, because ids and times of a new answer would differ without a reason.
"""

from __future__ import annotations

import os
from typing import Any

import httpx2
import msgspec

from fabula.server.answer_examples import EXAMPLES_FILE, load_answer_examples
from fabula.server.problems import Problem
from fabula.server.routes import Route

WRITING = os.environ.get("FABULA_GOLDEN") == "write"
MAX_ITEMS, MAX_TEXT = 2, 120  # of lists, and characters of texts, in an example


def fits(value: Any, kind: Any) -> bool:
    """Whether a value has all fields of a type, with the right types, and no others."""
    try:
        converted = msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return bool(msgspec.json.decode(msgspec.json.encode(converted)) == value)


def check_stored(name: str, real: Any, kind: Any = Any) -> None:
    """A real answer fits its type, and so does the stored example of that name."""
    assert fits(real, kind), f"the answer {name} does not fit its type"
    examples = load_answer_examples()
    if WRITING and not (name in examples and fits(examples[name], kind) and examples[name].get("items") != []):
        _write(name, shorten(real))
        examples = load_answer_examples()
    assert name in examples, f"there is no example of {name}; run with FABULA_GOLDEN=write and read it"
    assert fits(examples[name], kind), f"the example of {name} no longer fits; run with FABULA_GOLDEN=write"


def check_event(name: str, event: dict[str, str], kind: Any) -> None:
    """A real event of a stream fits the type of its data, and so does the stored example of that name."""
    assert fits(msgspec.json.decode(event["data"]), kind)
    examples = load_answer_examples()
    if WRITING and not (name in examples and fits(msgspec.json.decode(examples[name]["data"]), kind)):
        data = msgspec.json.encode(shorten(msgspec.json.decode(event["data"]))).decode()
        _write(name, {**event, "data": data})
        examples = load_answer_examples()
    assert name in examples, f"there is no example of {name}; run with FABULA_GOLDEN=write and read it"
    assert examples[name].keys() == event.keys()
    assert fits(msgspec.json.decode(examples[name]["data"]), kind), f"the example of {name} no longer fits"


def check_refusal(real: dict[str, Any]) -> None:
    """The stored example of a refusal says what a real one with its code says."""
    assert fits(real, Problem)
    stored, same = load_answer_examples().get(real["code"], {}), ("status", "title", "detail")
    if WRITING and (not fits(stored, Problem) or any(stored[name] != real[name] for name in same)):
        _write(real["code"], real)
        stored = real
    assert fits(stored, Problem), f"the example of {real['code']} no longer fits; run with FABULA_GOLDEN=write"
    assert [stored[name] for name in same] == [real[name] for name in same]


def check_untyped(name: str, real: Any) -> None:
    """The stored example of an answer without a type has the fields of a real one."""
    examples = load_answer_examples()
    if WRITING and (name not in examples or examples[name].keys() != real.keys()):
        _write(name, real if name.endswith(".event") else shorten(real))
        examples = load_answer_examples()
    assert name in examples, f"there is no example of {name}; run with FABULA_GOLDEN=write and read it"
    assert examples[name].keys() == real.keys(), f"the example of {name} no longer fits"


def _write(name: str, example: Any) -> None:
    examples = load_answer_examples() | {name: example}
    EXAMPLES_FILE.write_bytes(msgspec.json.format(msgspec.json.encode(dict(sorted(examples.items())))) + b"\n")


def read_events(text: str) -> list[dict[str, str]]:
    """The events of a stream, without comments."""
    blocks = (block for block in text.split("\n\n") if block and not block.startswith(":"))
    return [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks]


def check_answer(route: Route, answer: httpx2.Response) -> None:
    """The answer to the example of a route fits its type, and there is an example of it in the description."""
    kind = route.answer.kind
    if route.file == "download" or kind is None:
        return
    if not route.stream:
        check_stored(kind.__name__, answer.json(), kind)
        return
    of_verb = [one for one in read_events(answer.text) if one["event"] not in ("stream", "done")]
    assert of_verb
    for event in of_verb:
        decoded = msgspec.json.decode(event["data"], type=kind)
        check_event(type(decoded).__name__, event, type(decoded))


def shorten(value: Any) -> Any:
    """A value with few items in each list, with short texts and without the secret of a key."""
    if isinstance(value, dict):
        return {name: "fabula-…" if name == "secret" else shorten(one) for name, one in value.items()}
    if isinstance(value, list):
        return [shorten(one) for one in value[:MAX_ITEMS]]
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return value[: MAX_TEXT - 1] + "…"
    return value
