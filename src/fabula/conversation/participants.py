"""Participants, their stable ids (cnv-4), and the key that a set of them gives a conversation (cnv-5).

An id is `namespace:key`. A persona also has a revision, `persona:NAME#REV`: a message has the id with the
revision that spoke, and a conversation's key has the id without it. A participant who is gone keeps the
last known name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field
from sqlalchemy import Row

from fabula.conversation.model import Message, add_audience
from fabula.conversation.tables import MAX_PERSONAS, messages, participants, personas
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Role, is_encodable
from fabula.core.ids import current_timestamp
from fabula.core.messages import ENGLISH, Sentence, message
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction, WriteTransaction

_ID = re.compile(r"[^\s:|\x00-\x1f\x7f]{1,40}:[^|\x00-\x1f\x7f]{1,200}")
_REVISED = "persona:"  # the namespace whose messages name the revision that spoke
# Before the lines of a message that has no speaker, where a prompt repeats it later
_ROLE_NAMES: Mapping[Role, Sentence] = {
    "user": message("user"),
    "assistant": message("assistant"),
    "system": message("narrator"),
}
_REVISION = re.compile(r"(persona:.+?)#(\d+)")


class Participant(Struct, frozen=True, kw_only=True):
    """A participant. The store sets `revision` and `version`."""

    id: str
    name: str = ""
    aliases: tuple[str, ...] = ()
    persona: str = ""
    card: str = ""  # the id of the lorebook that the character's card is kept with
    is_gone: bool = field(default=False, name="gone")
    revision: int = 1
    version: int = 1

    @property
    def speaker(self) -> str:
        """The id that the participant's messages have."""
        return f"{self.id}#{self.revision}" if self.id.startswith(_REVISED) else self.id


class Participants(Struct, frozen=True):
    """A snapshot of the participants of a project, including those who are gone."""

    by_id: Mapping[str, Participant] = {}

    def name_of(self, speaker: str) -> str:
        """Return the name of a speaker, the last known one of whoever is gone; else the id without its namespace."""
        ident = strip_revision(speaker)
        known = self.by_id.get(ident)
        return (known.name if known is not None else "") or ident.partition(":")[2] or ident

    def name_speaker(self, said: Message, language: str = ENGLISH) -> str:
        """Return who said something, or in which role, with those whom a whisper was meant for, as the history does."""
        names = {one: self.name_of(one) for one in said.audience or ()}
        own = self.name_of(said.speaker) or _ROLE_NAMES[said.role].render(language)
        return add_audience(own, said, names, language)


def list_names(participant: Participant) -> tuple[str, ...]:
    """Return the name of a participant and the other names; the key of the id where there is no name."""
    own = participant.name or participant.id.partition(":")[2]
    return tuple(dict.fromkeys(filter(None, (own, *participant.aliases))))


def base_id(participant_id: str) -> str:
    """Return an id without a persona's revision; raise an error for an invalid id."""
    if not _ID.fullmatch(participant_id) or not is_encodable(participant_id):
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "{id!r} cannot be the id of a participant. Write it as namespace:key, without `|`. "
                "Nothing was changed.",
                id=participant_id,
            ),
        )
    return strip_revision(participant_id)


def strip_revision(participant_id: str) -> str:
    """Return an id without a persona's revision; any other text stays as it is."""
    revised = _REVISION.fullmatch(participant_id)
    return revised[1] if revised else participant_id


def conv_key(ids: Iterable[str]) -> str:
    """Return the key of all conversations of these participants: their ids, sorted by code point."""
    return "|".join(sorted({base_id(participant) for participant in ids}))


def save_participant(
    tx: WriteTransaction, participant: Participant, *, expected: int | None = None, is_revised: bool = False
) -> Participant:
    """Save a new or changed participant. Another persona or card, or one that `is_revised`, is a new revision."""
    ident, at = base_id(participant.id), current_timestamp()
    values: dict[str, Any] = {
        "name": participant.name.strip(),
        "aliases": list(dict.fromkeys(alias.strip() for alias in participant.aliases if alias.strip())),
        "persona": participant.persona,
        "card": participant.card,
        "gone": int(participant.is_gone),
        "changed": at,
    }
    row = tx.row(participants, id=ident)
    if row is None:
        if expected:
            raise FabulaError(
                Code.STORE_CONFLICT,
                message("There is no participant {id!r} any more. Load the list. Nothing was changed.", id=ident),
            )
        tx.insert(participants, {"id": ident, "made": at, **values})
    else:
        values["name"] = values["name"] or row.name
        if is_revised or (row.persona, row.card) != (participant.persona, participant.card):
            values["revision"] = _find_next_revision(tx, row)
            _keep_persona(tx, row, at)
        tx.update_row(participants, {"id": ident}, values, expected=expected)
    return get_participant(tx, ident)


def _find_next_revision(reading: ReadTransaction, row: Row[Any]) -> int:
    """The next revision that no message names: a persona that was undone may have spoken."""
    revision, is_named = int(row.revision) + 1, row.id.startswith(_REVISED)
    while is_named and reading.count(messages, messages.c.speaker == f"{row.id}#{revision}", limit=1):
        revision += 1
    return revision


def _keep_persona(tx: WriteTransaction, row: Row[Any], at: str) -> None:
    """Keep the persona of a participant's row, which another one replaces; of too many, the latest are kept."""
    own = personas.c.participant_id == row.id
    tx.delete_rows(personas, own, personas.c.revision == row.revision)
    tx.delete_rows(personas, own, personas.c.revision <= row.revision - MAX_PERSONAS)
    values = {"participant_id": row.id, "revision": row.revision, "persona": row.persona, "replaced": at}
    tx.insert(personas, values)


def get_participant(reading: ReadTransaction, participant_id: str) -> Participant:
    """Return a participant by the id of any revision."""
    return read_struct(Participant, reading.require(participants, id=base_id(participant_id)))


def load_participants(reading: ReadTransaction) -> Participants:
    """Load the snapshot of all participants."""
    return Participants({one.id: one for one in list_participants(reading)})


def list_participants(reading: ReadTransaction, *, by_age: bool = False) -> list[Participant]:
    """Return all participants, including those who are gone, by their ids, or the oldest first."""
    order = (participants.c.made, participants.c.id) if by_age else (participants.c.id,)
    return [read_struct(Participant, row) for row in reading.rows(participants, order=order)]
