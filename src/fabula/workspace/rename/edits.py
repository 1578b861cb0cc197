"""Places of a rename: a few words of a text replaced by others, there and back, and what moves with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fabula.text.names.spellings import changed_plural, levelled, plural

Edit = tuple[int, int, str]  # from, to, and what will stand there


def edited(text: str, edits: Sequence[Edit]) -> str:
    """A text with these places replaced."""
    parts, past = [], 0
    for start, end, becomes in edits:
        parts += [text[past:start], becomes]
        past = end
    return "".join((*parts, text[past:]))


def turned(text: str, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """The edits that lead back from the edited text."""
    back, grown = [], 0
    for start, end, becomes in edits:
        first = start + grown
        back.append((first, first + len(becomes), text[start:end]))
        grown += len(becomes) - (end - start)
    return tuple(back)


def moved(offset: int, edits: Sequence[Edit], *, late: bool) -> int:
    """Where an offset goes; one inside a replaced place goes to the end of it if `late`, else to its beginning."""
    grown = 0
    for start, end, becomes in edits:
        if offset <= start:
            break
        if offset < end:
            return start + grown + (len(becomes) if late else 0)
        grown += len(becomes) - (end - start)
    return offset + grown


def inside(offset: int, edits: Sequence[Edit]) -> bool:
    """Does an offset stand inside a replaced place, so that nothing leads back to it?"""
    return any(start < offset < end for start, end, _ in edits)


_SEVERAL = re.compile(r"e?s(?=['’]?(?![^\W_]))", re.IGNORECASE)
_THEIRS = re.compile(r"['’](?![^\W_])")


def renamed(text: str, start: int, end: int, old: str, new: str) -> Edit:
    """What a place becomes: the new name in its case, and with an ending of its own where the old one's differs."""
    words = text[start:end]
    several = changed_plural(old)
    if several is not None and levelled(words).casefold() == levelled(several).casefold():
        return start, end, in_case(words, several, changed_plural(new) or plural(new))
    becomes = in_case(words, old, new)
    ending = _SEVERAL.match(text, end)
    added = plural(becomes)[len(becomes) :]
    if ending is not None and plural(words) == words + ending[0].lower() and added != ending[0].lower():
        return start, ending.end(), becomes + (added.upper() if ending[0].isupper() else added)
    if words[-1] in "sS" and becomes[-1] not in "sS" and (mark := _THEIRS.match(text, end)):
        return start, mark.end(), f"{becomes}{mark[0]}s"  # Jones' lamp, Smith's lamp
    return start, end, becomes


def in_case(words: str, old: str, new: str) -> str:
    """The new name as the old one is written here: MARA, mara, or at the head of a sentence."""
    if words == old:
        return new
    if words.isupper():
        return new.upper()
    if words.islower():
        return new.lower()
    return new[0].upper() + new[1:] if words[0].isupper() and old[0].islower() else new


def texts(column: str, value: Any) -> Iterator[tuple[str, str]]:
    """The texts inside a value, each with where in it that is."""
    if isinstance(value, str):
        yield "", value
        return
    found: list[str] = []

    def note(text: str) -> str:
        found.append(text)
        return text

    mapped(column, value, note)
    yield from ((f" {number}", text) for number, text in enumerate(found, start=1))


def mapped(column: str, value: Any, change: Callable[[str], str]) -> Any:
    """A value with each of its texts changed; what a check is called is none of its texts."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        fresh = [mapped("", one, change) for one in value]
        return list(dict.fromkeys(fresh)) if column == "aliases" else fresh
    if isinstance(value, dict):
        plain = column == "check"
        return {name: one if plain and isinstance(one, str) else mapped("", one, change) for name, one in value.items()}
    return value
