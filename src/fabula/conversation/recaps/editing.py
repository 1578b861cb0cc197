"""Summaries and recaps as people meet them: listed, edited, put in another order, taken away.

Whether one is stale is worked out, not stored: it is when the rounds it tells no longer read as they did. What a
person writes is never written over by itself. A summary that is taken away is not made again, nor is a recap, until
somebody asks for all of them anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Table

from fabula.conversation.recaps import schedule as plan
from fabula.conversation.recaps.model import Kept, Rules, Sort
from fabula.conversation.recaps.rounds import content_of
from fabula.conversation.recaps.schedule import Item, Look
from fabula.conversation.tables import recaps, summaries
from fabula.core.errors import Code, FabulaError
from fabula.store.transaction import Reading, Writing, missing
from fabula.text.offsets import normalise


def listed(reading: Reading, conversation_id: str) -> list[Kept]:
    """Summaries, then recaps, each in their order."""
    seen = plan.look(reading, conversation_id)
    found = [_kept(seen, "summary", one) for one in seen.summaries if one.text]
    return found + [_kept(seen, "recap", one) for one in seen.recaps]


def edit(tx: Writing, ident: str, text: str, *, longest: int = Rules().longest, expected: int | None = None) -> Kept:
    """Say it in a person's words; they hold for the rounds as they stand now."""
    words = normalise(text).strip()
    if not 0 < len(words) <= longest:
        raise FabulaError(Code.TEXT_INVALID, f"This has from one to {longest} characters. Nothing was changed.")
    table, conversation = _place(tx, ident)
    seen = plan.look(tx, conversation)
    item = _item(seen, table, ident)
    made_from = content_of(seen.here(item.rounds))
    tx.edit(table, {"id": ident}, {"text": words, "origin": "hand", "made_from": made_from}, expected=expected)
    return next(one for one in listed(tx, conversation) if one.id == ident)


def remove(tx: Writing, ident: str, *, expected: int | None = None) -> None:
    """Take a summary or a recap away for good."""
    table, _ = _place(tx, ident)
    # The row of a summary stays, without words: it says that these rounds need none.
    tx.edit(table, {"id": ident}, {"text": "", "origin": "hand"}, expected=expected)
    if table is recaps:
        tx.remove(recaps, recaps.c.id == ident)


def reorder(
    tx: Writing, conversation_id: str, order: Sequence[str], *, expected: Mapping[str, int] | None = None
) -> None:
    """Put the recaps of a conversation in another order; all of them are named, each once."""
    seen = plan.look(tx, conversation_id)
    known = {one.id: one for one in seen.recaps}
    if sorted(order) != sorted(known):
        raise FabulaError(
            Code.REQUEST_INVALID,
            f"An order names every recap of the conversation once: {', '.join(known) or 'there are none'}. "
            "Nothing was changed.",
        )
    for place, ident in enumerate(order, start=1):
        version = None if expected is None else expected.get(ident)
        if known[ident].place != place or version is not None:
            tx.edit(recaps, {"id": ident}, {"place": place}, expected=version)


def _place(reading: Reading, ident: str) -> tuple[Table, str]:
    """Where something of that id is kept, and of which conversation it is."""
    for table in (recaps, summaries):
        row = reading.row(table, id=ident)
        if row is not None and row.text:
            return table, row.conversation_id
    raise missing(recaps, {"id": ident})


def _item(seen: Look, table: Table, ident: str) -> Item:
    return next(one for one in (seen.recaps if table is recaps else seen.summaries) if one.id == ident)


def _kept(seen: Look, sort: Sort, one: Item) -> Kept:
    return Kept(
        id=one.id,
        sort=sort,
        text=one.text,
        created_at=one.made,
        rounds=one.rounds,
        origin=one.origin,
        state="stale" if seen.stale(one) else "fresh",
        version=one.version,
    )
