"""Load, store and forget the questions that a model asked in scenes (cdx-11)."""

from __future__ import annotations

from fabula.core.ids import new_id
from fabula.core.story import Position
from fabula.search.needs import NeedPlace
from fabula.search.tables import needs as need_rows
from fabula.store.rows import make_row, read_struct
from fabula.store.transaction import ReadTransaction, WriteTransaction

MAX_PLACES = 200  # of one project; the oldest are dropped


def load_places(reading: ReadTransaction) -> list[NeedPlace]:
    """Load the places at which a model was asked, in the order in which it was."""
    rows = reading.rows(need_rows, order=(need_rows.c.made, need_rows.c.id))
    places = [read_struct(NeedPlace, row) for row in rows if row.since_document is not None]
    return places[-MAX_PLACES:]


def store_place(tx: WriteTransaction, position: Position, vantage: str, questions: tuple[str, ...]) -> None:
    """Store what a model asked for at a place; of too many places the oldest are dropped."""
    place = NeedPlace(id=new_id(), since=position, vantage=vantage, questions=questions, made=tx.current_time())
    tx.insert(need_rows, make_row(need_rows, place))
    old = tx.rows(need_rows, order=(need_rows.c.made.desc(), need_rows.c.id), only=("id",))[MAX_PLACES:]
    if old:
        tx.delete_rows(need_rows, need_rows.c.id.in_([row.id for row in old]))


def forget_question(tx: WriteTransaction, place: NeedPlace, question: str) -> None:
    """Drop one question; the model is not asked again at its place."""
    kept = [one for one in place.questions if one != question]
    tx.update_rows(need_rows, {"questions": kept}, need_rows.c.id == place.id)


def forget_places(tx: WriteTransaction) -> int:
    """Drop all places, at which the model may be asked again; return how many there were."""
    return tx.delete_rows(need_rows)
