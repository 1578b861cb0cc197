"""Mentions: `@name` in a message, by name, nickname or alias, in any script (cht-3).

The longest name wins. A sign inside a word, such as that of an e-mail address, begins no mention, and code is left
alone. A mention of nobody is plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from fabula.text.lookup import fold_name

_SIGN = re.compile(r"(?<![A-Za-z0-9_.+\-])[@＠]")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_WORD = re.compile(r"[A-Za-z0-9_À-ɏ]")
_PAUSE = " \t,，:：、"


class MentionedText(Struct, frozen=True):
    """Who is mentioned in a text, in order, and the text as it goes into the prompt."""

    participants: tuple[str, ...]
    text: str


class _Mention(Struct, frozen=True):
    start: int
    end: int
    name: str  # without differences of case and width


def find_mentions(text: str, names: Mapping[str, Iterable[str]]) -> MentionedText:
    """Find who is mentioned; `names` are those of each participant, by id. A name of two people mentions both.

    A mention at the beginning is taken out of the text, because it only says who is meant. Elsewhere the name stays
    and the sign goes.
    """
    participants: dict[str, list[str]] = {}
    by_length: dict[int, dict[str, set[bool]]] = {}  # names, and whether they end like a Latin word
    for participant, own in names.items():
        for name in filter(None, map(str.strip, own)):
            folded = fold_name(name)
            participants.setdefault(folded, []).append(participant)
            is_latin = _WORD.match(name[-1]) is not None
            by_length.setdefault(len(name), {}).setdefault(folded, set()).add(is_latin)
    longest_first = sorted(by_length.items(), reverse=True)
    code = [match.span() for match in _CODE.finditer(text)]
    code.reverse()
    found: list[_Mention] = []
    for sign in _SIGN.finditer(text):
        while code and code[-1][1] <= sign.start():
            code.pop()
        if code and code[-1][0] <= sign.start():
            continue
        for length, with_length in longest_first:
            folded = fold_name(text[sign.end() : sign.end() + length])
            end = sign.end() + length
            if folded in with_length and not (all(with_length[folded]) and _WORD.match(text, end)):
                found.append(_Mention(sign.start(), end, folded))
                break
    mentioned = dict.fromkeys(one.name for one in found)
    ids = dict.fromkeys(participant for name in mentioned for participant in participants[name])
    return MentionedText(tuple(ids), _clean(text, found))


def _clean(text: str, found: Sequence[_Mention]) -> str:
    """The text without signs, and without the mentions at its beginning; unchanged if nothing else is in it."""
    parts: list[str] = []
    at = 0
    for one in found:
        before = text[at : one.start]
        if parts or before.strip(_PAUSE):
            parts += [before, text[one.start + 1 : one.end]]
            at = one.end
        else:
            at = one.end
            while at < len(text) and text[at] in _PAUSE:
                at += 1
    cleaned = "".join([*parts, text[at:]])
    return cleaned if cleaned.strip() else text
