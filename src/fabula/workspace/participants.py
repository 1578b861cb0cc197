"""What a person can do with participants: add, change and list them, and let them go (cnv-4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

from msgspec.structs import replace

from fabula.conversation.participants import (
    Participant,
    base_id,
    get_participant,
    list_participants,
    save_participant,
)
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import new_id
from fabula.core.messages import message
from fabula.workspace.names import find_character_ids, find_participant
from fabula.workspace.verbs import ProjectVerbs, label_addition, label_change, select_given

PLAYER = "player"
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

    def ensure_player(self, name: str = "") -> Participant:
        """Return the player of this project, who is added where there is none."""
        players = [one for one in self.list_all() if one.id.startswith(f"{PLAYER}:") and not one.is_gone]
        return players[0] if players else self.add(name or "Player", namespace=PLAYER)

    def edit(
        self, name: str, *, expected_version: int | None = None, **fields: Unpack[ParticipantFields]
    ) -> Participant:
        """Change a participant; another persona text is another revision."""
        values = select_given(fields)
        if "new_name" in values:
            values["name"] = values.pop("new_name")
        if "aliases" in values:
            values["aliases"] = tuple(values["aliases"])
        view = self._view
        with self._write(label_change(message("participant"), name)) as tx:
            known = get_participant(tx, find_participant(view, tx, name))
            return save_participant(tx, replace(known, **values), expected=expected_version)
