"""The personas that a participant had: a message has the revision that spoke, and the revision its text (cnv-4)."""

from __future__ import annotations

from msgspec import Struct
from sqlalchemy import desc

from fabula.conversation.participants import Participant
from fabula.conversation.tables import personas
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction


class PersonaRevision(Struct, frozen=True, kw_only=True):
    """A persona of a participant, and when another one took its place; empty for the present one."""

    participant_id: str
    revision: int
    persona: str
    replaced: str = ""


def list_personas(reading: ReadTransaction, participant: Participant) -> list[PersonaRevision]:
    """Return the personas of a participant that are known, the present one first."""
    own = (personas.c.participant_id == participant.id, personas.c.revision < participant.revision)
    rows = reading.rows(personas, *own, order=(desc(personas.c.revision),))
    present = PersonaRevision(participant_id=participant.id, revision=participant.revision, persona=participant.persona)
    return [present, *(read_struct(PersonaRevision, row) for row in rows)]
