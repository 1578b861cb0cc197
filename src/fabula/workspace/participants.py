"""What a person can do with participants: add, change and list them, and let them go (cnv-4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

from msgspec.structs import replace

from fabula.codex import Codex
from fabula.conversation.participants import (
    Participant,
    Participants,
    base_id,
    get_participant,
    list_participants,
    save_participant,
)
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.core.messages import message
from fabula.core.view import View
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.workspace.names import NamedThing, find_character_ids, find_named, find_participant, match_named
from fabula.workspace.verbs import ProjectVerbs, label_addition, label_change, select_given

PLAYER, CHARACTER = "player", "character"
DEFAULT_PLAYER = "Player"
_ONCE = frozenset({PLAYER, "agent"})  # namespaces whose keys are made once, and saved


class ParticipantFields(TypedDict, total=False):
    """What can be changed of a participant."""

    new_name: str | None
    aliases: Sequence[str] | None
    persona: str | None
    is_gone: bool | None


class ParticipantVerbs(ProjectVerbs):
    """The participants of the conversations of an open project."""

    def list_all(self) -> list[Participant]:
        """List everybody, also those who are gone."""
        with self._read() as reading:
            return list_participants(reading)

    def get(self, name: str) -> Participant:
        """Return one participant, by id, name or alias."""
        view = self._view
        with self._read() as reading:
            return get_participant(reading, find_participant(view, reading, name))

    def find_entry(self, name: str) -> str | None:
        """Return the id of the codex entry that a participant is, if there is one."""
        return next(iter(find_character_ids(self._view, self.get(name).id)), None)

    def add(
        self,
        name: str,
        *,
        namespace: str = "persona",
        key: str | None = None,
        aliases: Sequence[str] = (),
        persona: str = "",
    ) -> Participant:
        """Add a participant; the id is made of the namespace and the key, which is the name unless another is given.

        A player's or an agent's key is made anew.
        """
        if not name.strip():
            raise FabulaError(Code.REQUEST_INVALID, message("A participant needs a name. Nothing was changed."))
        own_key = key or (new_id() if namespace in _ONCE else name.strip())
        ident = base_id(f"{namespace}:{own_key}")
        with self._write(label_addition(message("participant"), name)) as tx:
            if any(one.id == ident for one in list_participants(tx)):
                raise FabulaError(
                    Code.STORE_DUPLICATE,
                    message("There is a participant {name!r} already. Nothing was changed.", name=name),
                )
            new = Participant(id=ident, name=name, aliases=tuple(aliases), persona=persona)
            return save_participant(tx, new)

    def resolve(self, name: str) -> Participant:
        """Return who takes part under a name: a participant, or the one that a character of the codex would become."""
        view = self._view
        with self._read() as reading:
            return resolve_participant(view, reading, name)

    def ensure_player(self, name: str = "") -> Participant:
        """Return the player of this project, who is added where there is none."""
        with self._read() as reading:
            found = find_player(reading)
        return found or self.add(name or DEFAULT_PLAYER, namespace=PLAYER)

    def edit(
        self, name: str, *, expected_version: int | None = None, **fields: Unpack[ParticipantFields]
    ) -> Participant:
        """Change a participant; another persona text is another revision."""
        values = select_given(fields, ParticipantFields)
        if "new_name" in values:
            values["name"] = values.pop("new_name")
        if "aliases" in values:
            values["aliases"] = tuple(values["aliases"])
        view = self._view
        with self._write(label_change(message("participant"), name)) as tx:
            known = get_participant(tx, find_participant(view, tx, name))
            return save_participant(tx, replace(known, **values), expected=expected_version)


def resolve_participant(view: View, reading: ReadTransaction, name: str) -> Participant:
    """Return the participant that a spelling means; for a character of the codex, the one that it would become."""
    codex = view.snapshot(Codex)
    characters = [one for one in (codex.entries if codex is not None else ()) if one.type == "character"]
    try:
        ident = find_participant(view, reading, name)
    except FabulaError:
        people = (view.snapshot(Participants) or Participants()).by_id.values()
        known = [NamedThing(one.id, tuple(filter(None, (one.name, *one.aliases)))) for one in people]
        if match_named(known, name):  # more than one
            raise
        things = [*(NamedThing(one.id, one.names) for one in characters), *known]
        ident = find_named(things, name, what=message("participant or character")).id
    else:
        return get_participant(reading, ident)
    entry = next(one for one in characters if one.id == ident)
    persona = message("You are {name}. Speak and act as {name}, and know only what {name} knows.", name=entry.name)
    return Participant(
        id=base_id(f"{CHARACTER}:{entry.id}"),
        name=entry.name,
        aliases=entry.names[1:],
        persona=persona.render(view.project.language),
    )


def find_player(reading: ReadTransaction) -> Participant | None:
    """Return the player of a project, if there is one."""
    people = list_participants(reading)
    return next((one for one in people if one.id.startswith(f"{PLAYER}:") and not one.is_gone), None)


def ensure_player(tx: WriteTransaction) -> str:
    """Return the id of the player of a project, who is added where there is none."""
    found = find_player(tx)
    return (found or save_participant(tx, Participant(id=f"{PLAYER}:{new_id()}", name=DEFAULT_PLAYER))).id


def ensure_participant(view: View, tx: WriteTransaction, name: str) -> str:
    """Return the id of the participant that a spelling means; a character of the codex becomes one."""
    found = resolve_participant(view, tx, name)
    if all(one.id != found.id for one in list_participants(tx)):
        save_participant(tx, found)
    return found.id
