"""The head of a Markdown file: the part of YAML that people write there.

Keys with texts, lists and tables, quoted or not, over one line or many. No anchors, no tags, no
types: everything is a text, a list or a table of texts. What is not understood is kept as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Value = str | list[str] | dict[str, str]

_FENCE = re.compile(r"(?:---|\.\.\.)[ \t]*")
_MOST_LINES = 2_000
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/"}


def split_head(text: str) -> tuple[dict[str, Value], str]:
    """The head of a file and the rest; an empty head when there is none."""
    lines = text.split("\n", _MOST_LINES)
    if lines[0].rstrip() != "---":
        return {}, text
    end = next((at for at, line in enumerate(lines[1:_MOST_LINES], start=1) if _FENCE.fullmatch(line)), None)
    if end is None:
        return {}, text
    head = lines[1:end]
    if not any(_pair(line) for line in head):
        return {}, text
    return _table(head), "\n".join(lines[end + 1 :])


def _table(lines: Sequence[str]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    at = 0
    while at < len(lines):
        pair = _pair(lines[at])
        at += 1
        if pair is None:
            continue
        below = at
        while below < len(lines) and (not lines[below].strip() or lines[below].startswith((" ", "\t", "- ", "-\n"))):
            below += 1
        found[pair[0]] = _value(pair[1], lines[at:below])
        at = below
    return found


def _pair(line: str) -> tuple[str, str] | None:
    """`key: value`, not indented."""
    key, colon, value = line.rstrip().partition(":")
    if not colon or not key or key[0] in " \t#-[{" or (value and value[0] not in " \t"):
        return None
    return key.strip().strip("\"'"), value.strip()


def _value(first: str, below: Sequence[str]) -> Value:
    inner = [line for line in below if line.strip()]
    if first[:1] in ("|", ">") and len(first) <= 3:
        return _folded(below, keep=first[0] == "|")
    if first.startswith("["):
        return _items(" ".join([first, *(line.strip() for line in inner)]))
    if first.startswith("{"):
        return {key: value for key, _, value in (_bare(item).partition(":") for item in _items(first)) if key}
    if first and not first.startswith("#"):
        return _scalar(" ".join([first, *(line.strip() for line in inner)]))
    if inner and inner[0].lstrip().startswith("-"):
        return [_scalar(line.strip()[1:].strip()) for line in inner if line.lstrip().startswith("-")]
    return {key: _flat(value) for key, value in _table(_outdented(below)).items()}


def _outdented(lines: Sequence[str]) -> list[str]:
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[margin:] for line in lines]


def _folded(lines: Sequence[str], *, keep: bool) -> str:
    text = "\n".join(_outdented(lines)).strip("\n")
    return text if keep else re.sub(r"(?<!\n)\n(?!\n)", " ", text)


def _flat(value: Value) -> str:
    if isinstance(value, str):
        return value
    items = value if isinstance(value, list) else [f"{key}: {inner}" for key, inner in value.items()]
    return ", ".join(items)


def _items(text: str) -> list[str]:
    """What stands between brackets, commas inside quotation marks left alone."""
    inside = text.strip().strip("[]{}")
    pieces = re.findall(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,]+)""", inside)
    return [value for piece in pieces if (value := _scalar(piece.strip()))]


def _bare(item: str) -> str:
    return re.sub(r"\s*:\s*", ":", item, count=1)


def _scalar(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1])
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    text = re.sub(r"[ \t]+#.*$", "", text)
    return "" if text in ("null", "~") else text


def quoted(text: str) -> str:
    """A text as it stands safely in a head."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def texts(value: Value | None) -> tuple[str, ...]:
    """A list of texts, or a text with commas in it, as texts."""
    if isinstance(value, dict) or not value:
        return ()
    items = value if isinstance(value, list) else value.split(",")
    return tuple(item.strip() for item in items if item.strip())
