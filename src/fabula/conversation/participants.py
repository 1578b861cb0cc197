"""Participants: who takes part, under ids that stay (cnv-4, cnv-5).

An id is `namespace:key`. A persona also has a revision, `persona:NAME#REV`: what it says bears the revision
it spoke with, while a conversation knows it by its name alone. Whoever is gone keeps the last known name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from sqlalchemy import Row

from fabula.conversation.tables import participants
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import whole
from fabula.core.ids import now
from fabula.store.transaction import Reading, Writing

_ID = re.compile(r"[^\s:|\x00-\x1f\x7f]{1,40}:[^|\x00-\x1f\x7f]{1,200}")
_REVISION = re.compile(r"(persona:.+?)#(\d+)")


class Participant(Struct, frozen=True, kw_only=True):
    """Somebody who takes part. `revision` and `version` are the store's."""

    id: str
    name: str = ""
    aliases: tuple[str, ...] = ()
    persona: str = ""
    gone: bool = False
    revision: int = 1
    version: int = 1

    @property
    def speaker(self) -> str:
        """The id its messages bear."""
        return f"{self.id}#{self.revision}" if self.id.startswith("persona:") else self.id


def base_id(participant_id: str) -> str:
    """An id without a persona's revision; one that cannot be an id is refused."""
    if not _ID.fullmatch(participant_id) or not whole(participant_id):
        raise FabulaError(
            Code.REQUEST_INVALID,
            f"{participant_id!r} cannot be the id of a participant: it looks like namespace:key, without `|`. "
            "Nothing was changed.",
        )
    revised = _REVISION.fullmatch(participant_id)
    return revised[1] if revised else participant_id


def conv_key(ids: Iterable[str]) -> str:
    """By which conversations of the same people are found: their ids, sorted by code point."""
    return "|".join(sorted({base_id(ident) for ident in ids}))


def put(tx: Writing, participant: Participant, *, expected: int | None = None) -> Participant:
    """Somebody new, or as they are now. A persona that reads otherwise is another revision."""
    ident, at = base_id(participant.id), now()
    if not all(whole(alias) for alias in participant.aliases):
        raise FabulaError(Code.TEXT_INVALID, "An alias holds half a character. Remove it. Nothing was changed.")
    values: dict[str, Any] = {
        "name": participant.name.strip(),
        "aliases": list(dict.fromkeys(alias.strip() for alias in participant.aliases if alias.strip())),
        "persona": participant.persona,
        "gone": int(participant.gone),
        "changed": at,
    }
    row = tx.row(participants, id=ident)
    if row is None:
        if expected:
            raise FabulaError(
                Code.STORE_CONFLICT, f"{ident!r} does not take part (any more). Load the list. Nothing was changed."
            )
        tx.add(participants, {"id": ident, "made": at, **values})
    else:
        values["name"] = values["name"] or row.name
        if row.persona != participant.persona:
            values["revision"] = row.revision + 1
        tx.edit(participants, {"id": ident}, values, expected=expected)
    return get(tx, ident)


def get(reading: Reading, participant_id: str) -> Participant:
    """One of them, by any revision's id."""
    return _participant(reading.need(participants, id=base_id(participant_id)))


def listed(reading: Reading) -> list[Participant]:
    """All of them, those who are gone too."""
    return [_participant(row) for row in reading.rows(participants, order=(participants.c.id,))]


def _participant(row: Row[Any]) -> Participant:
    return Participant(
        id=row.id,
        name=row.name,
        aliases=tuple(row.aliases),
        persona=row.persona,
        gone=bool(row.gone),
        revision=row.revision,
        version=row.version,
    )
