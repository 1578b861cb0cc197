"""The character cards of participants: read from the lorebooks that they are kept with, and changed there (inj-3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from fabula.conversation.cards import Cards, CardTexts
from fabula.conversation.participants import Participant, Participants
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.formats.lore.card_texts import change_card_texts, make_card, read_card_texts
from fabula.formats.lore.cards import CARD, CharacterCard, parse_card
from fabula.lorebook import edits
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.tables import lorebooks
from fabula.store.transaction import ReadTransaction, WriteTransaction


def load_cards(reading: ReadTransaction, people: Participants | None, before: Cards | None = None) -> Cards | None:
    """Load the texts of the cards of all participants; None where nobody has one."""
    owners = people.by_id.values() if people is not None else ()
    found = {one.id: texts for one in owners if (texts := read_card(reading, one)) is not None}
    cards = Cards(found) if found else None
    return before if cards == before else cards


def read_card(reading: ReadTransaction, participant: Participant) -> CardTexts | None:
    """Return the texts of a participant's card; None where there is none, or it cannot be read."""
    book = find_card_book(reading, participant)
    try:
        return None if book is None else read_card_texts(_parse(book))
    except FabulaError:
        return None


def find_card_book(reading: ReadTransaction, participant: Participant) -> Lorebook | None:
    """Return the lorebook that a participant's card is kept with; None where there is none any more."""
    if not participant.card or reading.row(lorebooks, id=participant.card) is None:
        return None
    book = edits.get_lorebook(reading, participant.card)
    return book if book.format == CARD.name else None


def require_card_book(reading: ReadTransaction, participant: Participant) -> Lorebook:
    """Return the lorebook of a participant's card, or refuse."""
    book = find_card_book(reading, participant)
    if book is None:
        raise FabulaError(
            Code.STORE_NOT_FOUND,
            message("{name} has no character card. Nothing was changed.", name=participant.name or participant.id),
        )
    return book


def check_card_book(book: Lorebook) -> str:
    """Return the id of a lorebook that a character card is kept with; any other book is refused."""
    if book.format != CARD.name:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message("{name} is a lorebook and no character card. Nothing was changed.", name=book.name),
        )
    return book.id


def write_card(tx: WriteTransaction, participant: Participant, changes: Mapping[str, Any]) -> str:
    """Change texts of a participant's card, or begin one; return the id of the lorebook that it is kept with."""
    book = find_card_book(tx, participant)
    if book is None:
        name = participant.name or participant.id.partition(":")[2]
        card = change_card_texts(make_card(name), changes)
        return edits.save_lorebook(tx, Lorebook(name=name, book=card.raw, format=CARD.name, rules=CARD.rules))
    card = change_card_texts(_parse(book), changes)
    return edits.save_lorebook(tx, replace(book, book=card.raw), expected=book.version)


def _parse(book: Lorebook) -> CharacterCard:
    return parse_card(book.book, book.name)
