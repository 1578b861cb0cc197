"""Read the YAML front matter of a Markdown file.

PyYAML parses it into events, from which only strings, lists and mappings are built: no tags, no
aliases, and `2024-01-01`, `1.10` and `yes` stay as they are typed. Writers type what YAML refuses
(`title: Chapter 1: The Sea`), so a key whose value is not YAML is read again with its values quoted,
and as plain text if that fails too: one bad line never costs the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

Value = str | list[str] | dict[str, str]

_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # libyaml where the wheel has it: ten times faster
_MAX_LINES = 2_000
_MAX_CHARACTERS = 100_000
_MAX_DEPTH = 8
_FENCE = re.compile(r"(?:---|\.\.\.)[ \t]*")
_KEY = re.compile(r"[^\s#\[{-][^:]*:(?:[ \t]|$)")
_BEFORE_VALUE = re.compile(r"\s*(?:- +)?[^\s:#-][^:]*:[ \t]+|\s*- +")


def split_front_matter(text: str) -> tuple[dict[str, Value], str]:
    """Split a file into its front matter and the rest; without front matter the first is empty."""
    lines = text.split("\n", _MAX_LINES)
    if lines[0].rstrip() != "---":
        return {}, text
    end = next((at for at, line in enumerate(lines[1:_MAX_LINES], start=1) if _FENCE.fullmatch(line)), 0)
    head = lines[1:end]
    if sum(map(len, head)) > _MAX_CHARACTERS or not any(_KEY.match(line) for line in head):
        return {}, text
    return _parse_head(head), "\n".join(lines[end + 1 :])


def quote(text: str) -> str:
    """Write a text as a quoted YAML value."""
    return json.dumps(text, ensure_ascii=False)


def as_text(value: object) -> str:
    """A string without blanks around it; empty for anything else."""
    return value.strip() if isinstance(value, str) else ""


def as_texts(value: object) -> tuple[str, ...]:
    """A list of strings, or the parts of a string with commas in it."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
    return tuple(text for item in items if (text := as_text(item)))


def flatten(value: object) -> str:
    """Write any value of YAML or JSON as one string."""
    match value:
        case dict():
            return "; ".join(f"{key}: {text}" for key, inner in value.items() if (text := flatten(inner)))
        case list():
            return ", ".join(text for item in value if (text := flatten(item)))
        case bool():
            return "yes" if value else "no"
        case None | "null" | "~":
            return ""
        case _:
            return str(value).strip()


def _parse_head(lines: list[str]) -> dict[str, Value]:
    try:
        return _parse_mapping("\n".join(lines))
    except yaml.YAMLError:
        return {key: value for part in _split_keys(lines) for key, value in _parse_tolerantly(part).items()}


def _split_keys(lines: list[str]) -> Iterator[list[str]]:
    """Cut the front matter before every key that is not indented."""
    starts = [at for at, line in enumerate(lines) if _KEY.match(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield [line.expandtabs(2) for line in lines[start:end]]


def _parse_tolerantly(lines: list[str]) -> dict[str, Value]:
    """Parse one key as YAML, else with its values quoted, else as text."""
    for attempt in (lines, [_quote_value(line) for line in lines]):
        try:
            return _parse_mapping("\n".join(attempt))
        except yaml.YAMLError:
            continue
    key, _, first = lines[0].partition(":")
    return {key.strip("\"' "): " ".join(line.strip() for line in (first, *lines[1:]) if line.strip())}


def _quote_value(line: str) -> str:
    """Quote the value of `key: value` or `- value`, unless it is quoted, a flow collection or a block scalar."""
    match = _BEFORE_VALUE.match(line)
    value = line[match.end() :].split(" #", 1)[0].rstrip() if match else ""
    if match is None or not value or value[0] in "|>" or value[0] + value[-1] in ('""', "''", "[]", "{}"):
        return line
    return match[0] + quote(value)


def _parse_mapping(text: str) -> dict[str, Value]:
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH or isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError("an alias, or nested too deeply")
    loaded = _Loader(text).get_single_data()
    if not isinstance(loaded, dict):
        raise yaml.YAMLError("not a mapping")
    return {flatten(key): _build_value(value) for key, value in loaded.items()}


def _build_value(value: Any) -> Value:
    if isinstance(value, dict):
        return {flatten(key): flatten(inner) for key, inner in value.items()}
    return [text for item in value if (text := flatten(item))] if isinstance(value, list) else flatten(value)
