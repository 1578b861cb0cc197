"""Schemas of what a principal may read: chapters, synopses, codex entries and recaps."""

from __future__ import annotations

from collections.abc import Sequence

from fabula.workspace.reading import ReadableItem, ReadableText
from fabula.workspace.schemas.codex import EntryInfo
from fabula.workspace.schemas.schema import Schema, describe


class ReadableInfo(Schema):
    """Something that can be read, as lists show it; lengths count characters."""

    kind: str
    id: str
    name: str
    number: int | None
    type: str
    length: int


class ReadableList(Schema):
    """One page of what can be read; `next` is where the next page starts, null after the last one."""

    items: tuple[ReadableInfo, ...]
    total: int
    next: int | None


class ReadableContents(ReadableInfo):
    """A text, or the part of it from `start` to `end`; `next` is where it goes on, null at its end."""

    text: str
    start: int
    end: int
    next: int | None


class ReadableTexts(Schema):
    """Several texts, and where the next page of them starts."""

    items: tuple[ReadableContents, ...]
    total: int
    next: int | None


class EntryContents(ReadableContents):
    """What a prompt says of an entry; `entry` has its fields for those who may edit it, without private notes."""

    entry: EntryInfo | None


def describe_readable(item: ReadableItem) -> ReadableInfo:
    """Describe something that can be read."""
    return describe(ReadableInfo, item)


def describe_readable_list(items: Sequence[ReadableItem], start: int, limit: int) -> ReadableList:
    """Describe one page of a list."""
    page = tuple(describe_readable(one) for one in items[start : start + limit])
    return ReadableList(items=page, total=len(items), next=find_next(start, limit, len(items)))


def describe_contents(text: ReadableText, start: int, limit: int) -> ReadableContents:
    """Describe a text, or a part of it."""
    return describe(ReadableContents, text, **_cut(text, start, limit))


def describe_readable_texts(
    page: Sequence[ReadableText], start: int, limit: int, max_length: int, *, total: int
) -> ReadableTexts:
    """Describe one page of texts, each from its beginning."""
    items = tuple(describe_contents(one, 0, max_length) for one in page)
    return ReadableTexts(items=items, total=total, next=find_next(start, limit, total))


def describe_entry_contents(text: ReadableText, entry: EntryInfo | None, limit: int) -> EntryContents:
    """Describe an entry as a prompt has it, perhaps with its fields."""
    return describe(EntryContents, text, **_cut(text, 0, limit), entry=entry)


def find_next(start: int, limit: int, total: int) -> int | None:
    """Return where the next page starts; None where there is none."""
    return start + limit if start + limit < total else None


def _cut(text: ReadableText, start: int, limit: int) -> dict[str, object]:
    part = text.text[start : start + limit]
    return {"text": part, "start": start, "end": start + len(part), "next": find_next(start, limit, text.length)}
