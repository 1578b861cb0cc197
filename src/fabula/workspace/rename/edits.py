"""Text edits of a rename: make, apply and invert them, and move offsets along with the text (man-4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fabula.text.names.spellings import level_punctuation, make_irregular_plural, make_plural

Edit = tuple[int, int, str]  # start, end, replacement


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return a text with these edits applied; they must be in order and must not overlap."""
    parts, previous_end = [], 0
    for start, end, replacement in edits:
        parts += [text[previous_end:start], replacement]
        previous_end = end
    return "".join((*parts, text[previous_end:]))


def invert_edits(text: str, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Return the edits that turn the edited text back into this text."""
    inverse, shift = [], 0
    for start, end, replacement in edits:
        new_start = start + shift
        inverse.append((new_start, new_start + len(replacement), text[start:end]))
        shift += len(replacement) - (end - start)
    return tuple(inverse)


def move_offset(offset: int, edits: Sequence[Edit], *, to_end: bool) -> int:
    """Return an offset after the edits; one inside an edit moves to its end if `to_end`, else to its start."""
    shift = 0
    for start, end, replacement in edits:
        if offset <= start:
            break
        if offset < end:
            return start + shift + (len(replacement) if to_end else 0)
        shift += len(replacement) - (end - start)
    return offset + shift


def is_inside_edit(offset: int, edits: Sequence[Edit]) -> bool:
    """Is an offset inside an edit, so that the inverse edits do not restore it?"""
    return any(start < offset < end for start, end, _ in edits)


_PLURAL_ENDING = re.compile(r"e?s(?=['’]?(?![^\W_]))", re.IGNORECASE)
_POSSESSIVE_APOSTROPHE = re.compile(r"['’](?![^\W_])")


def make_rename_edit(text: str, start: int, end: int, old: str, new: str) -> Edit:
    """Make the edit for one occurrence: the new name in the same case, with its own plural or possessive ending."""
    words = text[start:end]
    old_plural = make_irregular_plural(old)
    if old_plural is not None and level_punctuation(words).casefold() == level_punctuation(old_plural).casefold():
        return start, end, match_case(words, old_plural, make_irregular_plural(new) or make_plural(new))
    replacement = match_case(words, old, new)
    ending = _PLURAL_ENDING.match(text, end)
    new_ending = make_plural(replacement)[len(replacement) :]
    if ending is not None and make_plural(words) == words + ending[0].lower() and new_ending != ending[0].lower():
        return start, ending.end(), replacement + (new_ending.upper() if ending[0].isupper() else new_ending)
    if words[-1] in "sS" and replacement[-1] not in "sS" and (mark := _POSSESSIVE_APOSTROPHE.match(text, end)):
        return start, mark.end(), f"{replacement}{mark[0]}s"  # Jones' lamp, Smith's lamp
    return start, end, replacement


def match_case(words: str, old: str, new: str) -> str:
    """Return the new name in the case in which the old one is written: MARA, mara, or capitalised."""
    if words == old:
        return new
    if words.isupper():
        return new.upper()
    if words.islower():
        return new.lower()
    return new[0].upper() + new[1:] if words[0].isupper() and old[0].islower() else new


def iterate_texts(column: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts inside a value of a column, each with its number (empty for the value itself)."""
    if isinstance(value, str):
        yield "", value
        return
    texts: list[str] = []

    def collect(text: str) -> str:
        texts.append(text)
        return text

    map_texts(column, value, collect)
    yield from ((f" {number}", text) for number, text in enumerate(texts, start=1))


def map_texts(column: str, value: Any, change: Callable[[str], str]) -> Any:
    """Return a value with `change` applied to each of its texts; the kind of a check is not a text."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        changed = [map_texts("", item, change) for item in value]
        return list(dict.fromkeys(changed)) if column == "aliases" else changed
    if isinstance(value, dict):
        is_check = column == "check"
        return {
            key: item if is_check and isinstance(item, str) else map_texts("", item, change)
            for key, item in value.items()
        }
    return value
