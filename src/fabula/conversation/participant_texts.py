"""Fixed prompts and biographies: texts of a participant, which a person writes and puts in order (cnv-7).

A fixed prompt is told to everybody in the conversations of its owner; a private one reaches its owner only. The
biography of a character is told where the character and a player talk alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from fabula.conversation.tables import MAX_TEXTS, biographies, check_participant_text, fixed_prompts
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp, new_id
from fabula.core.messages import message
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction, WriteTransaction

ParticipantTextKind = Literal["prompt", "biography"]
_TABLES = {"prompt": fixed_prompts, "biography": biographies}


class ParticipantText(Struct, frozen=True, kw_only=True):
    """A fixed prompt, or an item of a biography; the store sets `place` and `version`."""

    id: str
    participant_id: str
    text: str
    is_private: bool = field(default=False, name="private")  # of a fixed prompt: it reaches its owner only
    created_at: str = field(default="", name="made")  # of an item of a biography
    place: int = 0
    version: int = 1


class ParticipantTexts(Struct, frozen=True):
    """A snapshot of the fixed prompts and biographies of all participants, by participant and in order."""

    fixed_prompts: Mapping[str, tuple[ParticipantText, ...]] = {}
    biographies: Mapping[str, tuple[ParticipantText, ...]] = {}


def load_participant_texts(reading: ReadTransaction) -> ParticipantTexts:
    """Load the snapshot of all fixed prompts and biographies."""
    found: list[dict[str, tuple[ParticipantText, ...]]] = []
    for table in _TABLES.values():
        by_participant: dict[str, list[ParticipantText]] = {}
        for row in reading.rows(table, order=(table.c.participant_id, table.c.place, table.c.id)):
            item = read_struct(ParticipantText, row)
            by_participant.setdefault(item.participant_id, []).append(item)
        found.append({participant: tuple(items) for participant, items in by_participant.items()})
    return ParticipantTexts(*found)


def list_texts(reading: ReadTransaction, kind: ParticipantTextKind, participant_id: str) -> list[ParticipantText]:
    """Return the texts of one participant, in order."""
    table = _TABLES[kind]
    own = table.c.participant_id == participant_id
    return [read_struct(ParticipantText, row) for row in reading.rows(table, own, order=(table.c.place, table.c.id))]


def add_text(
    tx: WriteTransaction, kind: ParticipantTextKind, participant_id: str, text: str, *, is_private: bool = False
) -> ParticipantText:
    """Add a text behind the others of a participant."""
    others = list_texts(tx, kind, participant_id)
    if len(others) >= MAX_TEXTS:
        raise FabulaError(
            Code.TEXT_INVALID,
            message("There can be {limit:,} such texts of one participant. Nothing was changed.", limit=MAX_TEXTS),
        )
    new = ParticipantText(
        id=new_id(),
        participant_id=participant_id,
        text=check_participant_text(text),
        is_private=is_private,
        created_at=current_timestamp() if kind == "biography" else "",
        place=max((one.place for one in others), default=0) + 1,
    )
    values: dict[str, object] = {
        "id": new.id,
        "participant_id": participant_id,
        "place": new.place,
        "text": new.text,
    }
    tx.insert(_TABLES[kind], values | ({"private": int(is_private)} if kind == "prompt" else {"made": new.created_at}))
    return new


def edit_text(
    tx: WriteTransaction,
    kind: ParticipantTextKind,
    item: ParticipantText,
    *,
    text: str | None = None,
    is_private: bool | None = None,
    expected: int | None = None,
) -> ParticipantText:
    """Change a text, or who a fixed prompt reaches."""
    changed = replace(
        item,
        text=item.text if text is None else check_participant_text(text),
        is_private=item.is_private if is_private is None else is_private,
    )
    values: dict[str, object] = {"text": changed.text}
    if kind == "prompt":
        values["private"] = int(changed.is_private)
    return replace(changed, version=tx.update_row(_TABLES[kind], {"id": item.id}, values, expected=expected))


def remove_text(tx: WriteTransaction, kind: ParticipantTextKind, ident: str, *, expected: int | None = None) -> None:
    """Remove a text."""
    table = _TABLES[kind]
    tx.update_row(table, {"id": ident}, {}, expected=expected)
    tx.delete_rows(table, table.c.id == ident)


def reorder_texts(tx: WriteTransaction, kind: ParticipantTextKind, order: Sequence[ParticipantText]) -> None:
    """Give texts of one participant the places of this order."""
    for place, item in enumerate(order, start=1):
        if item.place != place:
            tx.update_row(_TABLES[kind], {"id": item.id}, {"place": place})
