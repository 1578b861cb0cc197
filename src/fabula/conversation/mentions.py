"""Mentions: `@name` in a message, by name, nickname or alias, in any script (cht-3).

The longest name wins. A word of a name of several words does too, such as a first name, unless somebody else has it as
a whole name. In a script that separates words, letters, digits and a hyphen before a letter continue a name, so `@Ann`
is not found in `@Ann-Marie`. A sign behind a letter, as in an e-mail address, begins no mention; one behind punctuation
does. Web addresses and code are left alone. A mention of nobody is plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from fabula.text.lookup import fold_name

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\U0003ffff"  # scripts without spaces, and Hangul
_LETTER = rf"(?:(?![{_UNSPACED}])[\w\u0300-\u036f\u0900-\u0dff])"  # marks of vowels are no letters for `\w`
_SIGN = re.compile(rf"(?<!{_LETTER})[@＠](?!(?<=[\w.+-][.+-]@)[\w-]+(?:\.[\w-]+)*\.[a-z]{{2}})")
_CODE = r"```.*?(?:```|\Z)|^ {0,3}(~{3,}).*?(?:^ {0,3}\1|\Z)|`[^`\n]*`"
_INDENTED_CODE = r"(?:(?<=\n\n)|\A\n*)(?:(?: {4}|\t)[^\n]*(?:\n+|\Z))+"
_ADDRESS_CHARACTER = rf"""[^\s<>"`{_UNSPACED}]"""
_ADDRESS = (
    rf"(?<![a-zA-Z0-9+.-])(?:[a-zA-Z][a-zA-Z0-9+.-]{{0,30}}://|www\.|(?:[a-zA-Z0-9-]{{1,63}}\.)+[a-zA-Z]{{2,}}/)"
    rf"{_ADDRESS_CHARACTER}+"
)
_LEFT_ALONE = re.compile(f"{_CODE}|{_INDENTED_CODE}|{_ADDRESS}", re.DOTALL | re.MULTILINE)
_WORD = re.compile(_LETTER)
_GOES_ON = re.compile(rf"{_LETTER}|-(?!\d){_LETTER}")
_UNKNOWN = re.compile(r"[^\W\d_][\w'’-]{0,39}")


class MentionedText(Struct, frozen=True):
    """Who is mentioned in a text, in order, the text as it goes into the prompt, and words behind other signs."""

    participants: tuple[str, ...]
    text: str
    unknown: tuple[str, ...] = ()
    places: tuple[MentionPlace, ...] = ()  # of each mention, in order


class MentionPlace(Struct, frozen=True):
    """Where a mention is in a text, from its sign to the end of the name, and whom it means."""

    start: int
    end: int
    participants: tuple[str, ...]


class _Mention(Struct, frozen=True):
    start: int
    end: int
    name: str  # without differences of case and width


def find_mentions(text: str, names: Mapping[str, Iterable[str]]) -> MentionedText:
    """Find who is mentioned; `names` are those of each participant, by id. A name of two people mentions both.

    In the text for the prompt the sign goes and the name stays, because whoever reads it must know who is meant.
    """
    participants: dict[str, list[str]] = {}
    by_length: dict[int, dict[str, set[bool]]] = {}  # names, and whether a word ends with them
    words: list[tuple[str, str]] = []
    whole = [(name, participant) for participant, own in names.items() for name in filter(None, map(str.strip, own))]
    for known in (whole, words):
        taken = frozenset(participants)
        for name, participant in known:
            folded = fold_name(name)
            if folded in taken:
                continue
            participants.setdefault(folded, []).append(participant)
            is_word = _WORD.match(name[-1]) is not None
            by_length.setdefault(len(name), {}).setdefault(folded, set()).add(is_word)
            if known is whole:
                words += ((word, participant) for word in _split_words(name))
    longest_first = sorted(by_length.items(), reverse=True)
    left_alone = [match.span() for match in _LEFT_ALONE.finditer(text)] if "@" in text or "＠" in text else []
    left_alone.reverse()
    found: list[_Mention] = []
    unknown: list[str] = []
    for sign in _SIGN.finditer(text):
        while left_alone and left_alone[-1][1] <= sign.start():
            left_alone.pop()
        if left_alone and left_alone[-1][0] <= sign.start():
            continue
        for length, with_length in longest_first:
            folded = fold_name(text[sign.end() : sign.end() + length])
            end = sign.end() + length
            if folded in with_length and not (all(with_length[folded]) and _GOES_ON.match(text, end)):
                found.append(_Mention(sign.start(), end, folded))
                break
        else:
            unknown += (match[0] for match in (_UNKNOWN.match(text, sign.end()),) if match is not None)
    mentioned = dict.fromkeys(one.name for one in found)
    ids = dict.fromkeys(participant for name in mentioned for participant in participants[name])
    places = tuple(MentionPlace(one.start, one.end, tuple(participants[one.name])) for one in found)
    return MentionedText(tuple(ids), _clean(text, found), tuple(dict.fromkeys(unknown)), places)


def _split_words(name: str) -> list[str]:
    """The words of a name of several that can stand for it: those with a capital letter, and the last one."""
    words = name.split()
    if len(words) == 1:
        return []
    return [word for word in words if len(word) > 1 and (word[0].isupper() or word is words[-1])]


def _clean(text: str, found: Sequence[_Mention]) -> str:
    """The text without the signs of mentions."""
    parts: list[str] = []
    at = 0
    for one in found:
        parts.append(text[at : one.start])
        at = one.start + 1
    return "".join([*parts, text[at:]])
