"""What a person can do with fixed prompts and biographies: list, add, edit, remove and reorder them (cnv-7)."""

from __future__ import annotations

from collections.abc import Sequence

from fabula.conversation import participant_texts
from fabula.conversation.participant_texts import ParticipantText, ParticipantTextKind
from fabula.conversation.participants import get_participant
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, message
from fabula.store.transaction import ReadTransaction
from fabula.text.lookup import find_by_name
from fabula.workspace.names import find_participant
from fabula.workspace.verbs import ProjectVerbs, label_addition, label_change, label_removal

_NAMES: dict[ParticipantTextKind, Sentence] = {
    "prompt": message("fixed prompt"),
    "biography": message("item of the biography"),
}


class ParticipantTextVerbs(ProjectVerbs):
    """The fixed prompts and biographies of the participants of an open project."""

    def list_texts(self, kind: ParticipantTextKind, participant: str) -> list[ParticipantText]:
        """List the texts of a participant, in order."""
        view = self._view
        with self._read() as reading:
            return participant_texts.list_texts(reading, kind, find_participant(view, reading, participant))

    def add(
        self, kind: ParticipantTextKind, participant: str, text: str, *, is_private: bool = False
    ) -> ParticipantText:
        """Add a text behind the others of a participant; a private fixed prompt reaches its owner only."""
        view = self._view
        with self._write(label_addition(_NAMES[kind], text)) as tx:
            ident = find_participant(view, tx, participant)
            return participant_texts.add_text(tx, kind, ident, text, is_private=is_private)

    def edit(
        self,
        kind: ParticipantTextKind,
        participant: str,
        item: str,
        *,
        text: str | None = None,
        is_private: bool | None = None,
        expected_version: int | None = None,
    ) -> ParticipantText:
        """Change a text, which is named by its number, its id or how it begins."""
        view = self._view
        with self._write(label_change(_NAMES[kind], item)) as tx:
            found = _find_item(tx, kind, find_participant(view, tx, participant), item)
            tx.undo_label = label_change(_NAMES[kind], found.text)
            return participant_texts.edit_text(
                tx, kind, found, text=text, is_private=is_private, expected=expected_version
            )

    def remove(
        self, kind: ParticipantTextKind, participant: str, item: str, *, expected_version: int | None = None
    ) -> ParticipantText:
        """Remove a text; return it as it was."""
        view = self._view
        with self._write(label_removal(_NAMES[kind], item)) as tx:
            found = _find_item(tx, kind, find_participant(view, tx, participant), item)
            tx.undo_label = label_removal(_NAMES[kind], found.text)
            participant_texts.remove_text(tx, kind, found.id, expected=expected_version)
            return found

    def reorder(self, kind: ParticipantTextKind, participant: str, items: Sequence[str]) -> list[ParticipantText]:
        """Put the texts of a participant in another order; `items` names each of them once."""
        view = self._view
        with self._write(label_change(_NAMES[kind], participant)) as tx:
            ident = find_participant(view, tx, participant)
            tx.undo_label = label_change(_NAMES[kind], get_participant(tx, ident).name)
            order = [_find_item(tx, kind, ident, item) for item in items]
            known = participant_texts.list_texts(tx, kind, ident)
            if sorted(one.id for one in order) != sorted(one.id for one in known):
                raise FabulaError(
                    Code.REQUEST_INVALID,
                    message("Name each of the {count} texts once. Nothing was changed.", count=len(known)),
                )
            participant_texts.reorder_texts(tx, kind, order)
            return participant_texts.list_texts(tx, kind, ident)


def _find_item(reading: ReadTransaction, kind: ParticipantTextKind, participant_id: str, item: str) -> ParticipantText:
    """Return the text of a participant that has this number or id, or begins so."""
    texts = participant_texts.list_texts(reading, kind, participant_id)
    return find_by_name(texts, item, what=_NAMES[kind], names_of=lambda one: (one.text,))
