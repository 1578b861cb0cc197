"""Edits of a book, patched into it as it came.

What an edit does not name is never touched, so nothing is lost on the way in and out. Fields go by their names
in a world book, whatever the format calls them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fabula.formats.lore.field_maps import STORY, Dialect, Row, dig, invalid, read_rows, rows_of, uids_of
from fabula.lorebook.model import Story


def patched(dialect: Dialect, raw: Row, name: str, uid: int, changes: Row) -> dict[str, Any]:
    """The book as it came, with some fields of one entry changed; their names are those of a world book."""
    rows = rows_of(dialect, raw, name)
    uids, _ = uids_of(dialect, rows)
    if uid not in uids:
        raise invalid(f"The lorebook {name!r} has no entry {uid}.")
    place, row = rows[uids.index(uid)]
    return _checked_book(dialect, _put(raw, _path(dialect, place), _changed(dialect, row, changes)), name)


def added(dialect: Dialect, raw: Row, name: str, fields: Row) -> tuple[dict[str, Any], int]:
    """The book with one entry more, and the number of that."""
    rows = rows_of(dialect, raw, name)
    uids, _ = uids_of(dialect, rows)
    uid = max(uids, default=-1) + 1
    own = {dialect.uid: uid} if dialect.uid and (dialect.strict or all(dialect.uid in row for _, row in rows)) else {}
    row = _changed(dialect, {**own, **dialect.blank}, fields)
    held = dig(raw, dialect.entries, f"the lorebook {name!r}")
    if isinstance(held, Mapping):
        place, taken = uid, {place for place, _ in rows}
        while str(place) in taken:
            place += 1
        whole = _put(raw, _path(dialect, str(place)), row)
    else:
        whole = _put(raw, dialect.entries.split("."), [*(held or ()), row])
    return _checked_book(dialect, whole, name), uid


def without(dialect: Dialect, raw: Row, name: str, uid: int) -> dict[str, Any]:
    """The book with one entry less."""
    rows = rows_of(dialect, raw, name)
    uids, _ = uids_of(dialect, rows)
    if uid not in uids:
        raise invalid(f"The lorebook {name!r} has no entry {uid}.")
    left = [pair for pair, number in zip(rows, uids, strict=True) if number != uid]
    held = dig(raw, dialect.entries, f"the lorebook {name!r}")
    entries: Any = dict(left) if isinstance(held, Mapping) else [row for _, row in left]
    return _checked_book(dialect, _put(raw, dialect.entries.split("."), entries), name)


def with_story(row: Row, story: Story | None, *, keep: bool = False) -> dict[str, Any]:
    """A row that says where in the story it may be told; an empty object that is left over goes unless it is kept."""
    beyond, ours, name = STORY
    outer = row.get(beyond) or {}
    inner = outer.get(ours) or {} if isinstance(outer, Mapping) else None
    if not isinstance(outer, Mapping) or not isinstance(inner, Mapping):
        raise invalid(f"{beyond!r} of this entry is no object, so nothing can be added to it.")
    told = msgspec.to_builtins(story) if story is not None else {}
    inner = _with(inner, name, told)
    return _with(row, beyond, _with(outer, ours, inner), keep=keep)


def _with(row: Row, name: str, value: Row, *, keep: bool = False) -> dict[str, Any]:
    """A row in which something stands, at its place; where it is empty, nothing does."""
    if value or keep:
        return {**row, name: value}
    return {key: held for key, held in row.items() if key != name}


def _changed(dialect: Dialect, row: Row, changes: Row) -> dict[str, Any]:
    """A row with some fields changed, by their names in a world book."""
    made: Any = dict(row)
    for ours, value in changes.items():
        if ours == "story":
            made = with_story(made, value, keep=STORY[0] in dialect.blank)
            continue
        field = next((field for field in dialect.fields if field.ours == ours), None)
        if field is None:
            raise invalid(f"{ours!r} cannot be changed in a book of the format {dialect.name}.")
        made = _put(made, field.theirs.split("."), None if value is None else field.write(value))
    assert isinstance(made, dict)
    return made


def _checked_book(dialect: Dialect, whole: Any, name: str) -> dict[str, Any]:
    """A changed book; one that makes no sense any more is refused before it is kept."""
    assert isinstance(whole, dict)
    read_rows(dialect, whole, "", name)
    return whole


def _path(dialect: Dialect, place: str) -> list[str]:
    return [*dialect.entries.split("."), place]


def _put(raw: Any, path: Sequence[str], value: Any) -> Any:
    """A copy with one thing changed along the path; None takes it away."""
    step, rest = path[0], path[1:]
    if isinstance(raw, list | tuple):
        number = int(step)
        return [
            _put(inner, rest, value) if at == number and rest else (value if at == number else inner)
            for at, inner in enumerate(raw)
        ]
    copy = dict(raw or {})
    if rest:
        copy[step] = _put(copy.get(step), rest, value)
    elif value is None:
        copy.pop(step, None)
    else:
        copy[step] = value
    return copy
