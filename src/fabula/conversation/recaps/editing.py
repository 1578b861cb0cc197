"""List, edit, reorder and remove summaries and recaps (cnv-6).

Staleness is computed, not stored: an entry is stale if its rounds have changed since it was made. A text that a
person wrote is never overwritten by the program. A removed summary or recap is not written again until a person
rebuilds all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import asdict
from sqlalchemy import Table

from fabula.conversation.recaps.model import RecapEntry, RecapKind, RecapRules, StoredRecap
from fabula.conversation.recaps.rounds import hash_rounds
from fabula.conversation.recaps.schedule import RecapSchedule, load_schedule
from fabula.conversation.tables import recaps, summaries
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import join_names, message
from fabula.store.transaction import ReadTransaction, WriteTransaction, row_missing
from fabula.text.offsets import normalise


def list_recaps(reading: ReadTransaction, conversation_id: str) -> list[RecapEntry]:
    """Return the summaries, then the recaps, each in order."""
    schedule = load_schedule(reading, conversation_id)
    entries = [_make_entry(schedule, "summary", one) for one in schedule.summaries if one.text]
    return entries + [_make_entry(schedule, "recap", one) for one in schedule.recaps]


def edit_recap(
    tx: WriteTransaction, ident: str, text: str, *, max_chars: int = RecapRules().max_chars, expected: int | None = None
) -> RecapEntry:
    """Replace the text of a summary or recap by a person's; it is not stale until its rounds change."""
    text = normalise(text).strip()
    if not 0 < len(text) <= max_chars:
        raise FabulaError(
            Code.TEXT_INVALID,
            message("A summary or recap has 1 to {limit} characters. Nothing was changed.", limit=max_chars),
        )
    table, conversation_id = _find(tx, ident)
    schedule = load_schedule(tx, conversation_id)
    stored = next(one for one in (*schedule.recaps, *schedule.summaries) if one.id == ident)
    source_hash = hash_rounds(schedule.find_rounds(stored.rounds))
    tx.update_row(table, {"id": ident}, {"text": text, "origin": "hand", "made_from": source_hash}, expected=expected)
    return next(entry for entry in list_recaps(tx, conversation_id) if entry.id == ident)


def remove_recap(tx: WriteTransaction, ident: str, *, expected: int | None = None) -> None:
    """Remove a summary or a recap."""
    table, _ = _find(tx, ident)
    # The row of a summary stays, without text, so that these rounds are not summarised again.
    tx.update_row(table, {"id": ident}, {"text": "", "origin": "hand"}, expected=expected)
    if table is recaps:
        tx.delete_rows(recaps, recaps.c.id == ident)


def reorder_recaps(
    tx: WriteTransaction, conversation_id: str, order: Sequence[str], *, expected: Mapping[str, int] | None = None
) -> None:
    """Put the recaps of a conversation in another order; `order` names each of them once."""
    known = {one.id: one for one in load_schedule(tx, conversation_id).recaps}
    if sorted(order) != sorted(known):
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "Name every recap of the conversation once. There are: {recaps}. Nothing was changed.",
                recaps=join_names([*known] or [message("none yet")]),
            ),
        )
    for place, ident in enumerate(order, start=1):
        version = None if expected is None else expected.get(ident)
        if known[ident].place != place or version is not None:
            tx.update_row(recaps, {"id": ident}, {"place": place}, expected=version)


def _find(reading: ReadTransaction, ident: str) -> tuple[Table, str]:
    """Return the table of a summary or recap and the id of its conversation."""
    for table in (recaps, summaries):
        row = reading.row(table, id=ident)
        if row is not None and row.text:
            return table, row.conversation_id
    raise row_missing(recaps, {"id": ident})


def _make_entry(schedule: RecapSchedule, kind: RecapKind, stored: StoredRecap) -> RecapEntry:
    return RecapEntry(**asdict(stored), kind=kind, freshness="stale" if schedule.is_stale(stored) else "fresh")
