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
    participant: str


def find_mentions(text: str, names: Mapping[str, Iterable[str]]) -> MentionedText:
    """Find who is mentioned; `names` are those of each participant, by id. A name of two people mentions both.

    A mention at the beginning is taken out of the text, because it only says who is meant. Elsewhere the name stays
    and the sign goes.
    """
    by_name: dict[str, list[str]] = {}
    for participant, own in names.items():
        for name in own:
            if name.strip():
                by_name.setdefault(name.strip(), []).append(participant)
    longest_first = sorted(by_name, key=len, reverse=True)
    folded = {name: fold_name(name) for name in longest_first}
    code = [match.span() for match in _CODE.finditer(text)]
    found: list[_Mention] = []
    for sign in _SIGN.finditer(text):
        if any(start <= sign.start() < end for start, end in code):
            continue
        found_name = next((one for one in longest_first if _stands_at(text, sign.end(), one, folded[one])), None)
        if found_name is not None:
            same = [other for other in longest_first if folded[other] == folded[found_name]]
            ids = dict.fromkeys(participant for one in same for participant in by_name[one])
            found += [_Mention(sign.start(), sign.end() + len(found_name), participant) for participant in ids]
    return MentionedText(tuple(dict.fromkeys(one.participant for one in found)), _clean(text, found))


def _stands_at(text: str, start: int, name: str, folded: str) -> bool:
    """Whether a name stands at a place, and a Latin one ends there."""
    end = start + len(name)
    if fold_name(text[start:end]) != folded:
        return False
    return not (_WORD.match(name[-1]) and _WORD.match(text[end : end + 1]))


def _clean(text: str, found: Sequence[_Mention]) -> str:
    """The text without signs, and without the mentions at its beginning; unchanged if nothing else is in it."""
    cleaned, at = "", 0
    for start, end in dict.fromkeys((one.start, one.end) for one in found):
        cleaned += text[at:start]
        is_first = not cleaned.strip(_PAUSE)
        cleaned = "" if is_first else cleaned + text[start + 1 : end]
        at = end + (len(text[end:]) - len(text[end:].lstrip(_PAUSE)) if is_first else 0)
    cleaned += text[at:]
    return cleaned if cleaned.strip() else text
