"""What a person can do with recaps: list, edit, remove, reorder and rebuild those of a conversation (cnv-6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from fabula.conversation.recaps import editing
from fabula.conversation.recaps.model import RecapEntry
from fabula.core.messages import message
from fabula.jobs.triggers.messages import queue_rebuild
from fabula.jobs.triggers.recap_settings import RECAP_SETTINGS, read_recap_rules
from fabula.settings.values import read_values
from fabula.store.transaction import ReadTransaction
from fabula.text.lookup import find_by_name
from fabula.workspace.conversations import get_title
from fabula.workspace.names import find_conversation
from fabula.workspace.verbs import ProjectVerbs, label_change, label_removal


class RecapSettings(Struct, frozen=True):
    """The settings of recaps with their values, and the names of those whose stored value cannot be used."""

    values: dict[str, Any]
    unusable: tuple[str, ...]


class RecapVerbs(ProjectVerbs):
    """Summaries and recaps of the conversations of an open project; background jobs make them."""

    def list_recaps(self, conversation: str) -> list[RecapEntry]:
        """List the summaries, then the recaps of a conversation."""
        with self._read() as reading:
            return editing.list_recaps(reading, find_conversation(None, reading, conversation))

    def edit(self, conversation: str, item: str, text: str, *, expected_version: int | None = None) -> RecapEntry:
        """Replace the text of a summary or recap by a person's; no job replaces that."""
        with self._write(label_change(message("recap"), conversation)) as tx:
            tx.undo_label = label_change(message("recap"), get_title(tx, conversation))
            item = _find_item(tx, conversation, item)
            max_chars = read_recap_rules(tx)[0].max_chars
            return editing.edit_recap(tx, item, text, max_chars=max_chars, expected=expected_version)

    def remove(self, conversation: str, item: str, *, expected_version: int | None = None) -> None:
        """Remove a summary or recap; only a rebuild makes it again."""
        with self._write(label_removal(message("recap"), conversation)) as tx:
            tx.undo_label = label_removal(message("recap"), get_title(tx, conversation))
            item = _find_item(tx, conversation, item)
            editing.remove_recap(tx, item, expected=expected_version)

    def reorder(self, conversation: str, items: Sequence[str]) -> None:
        """Put the recaps of a conversation in another order; `items` names each of them once."""
        with self._write(label_change(message("recap"), conversation)) as tx:
            tx.undo_label = label_change(message("recap"), get_title(tx, conversation))
            editing.reorder_recaps(tx, find_conversation(None, tx, conversation), items)

    def rebuild(self, conversation: str) -> str:
        """Queue a job that makes all anew, except what a person wrote; return its key."""
        with self._write() as tx:
            return queue_rebuild(tx, find_conversation(None, tx, conversation))

    def read_settings(self) -> RecapSettings:
        """Return when recaps are made, how long they may be, and how many a chat is told."""
        names = (*RECAP_SETTINGS, "History.LatestRecaps")
        with self._read() as reading:
            values = read_values(reading, names)
        return RecapSettings(
            {name: values[name] for name in names}, tuple(name for name in names if values.resolve(name).unusable)
        )


def _find_item(reading: ReadTransaction, conversation: str, item: str) -> str:
    """Return the id of the summary or recap of this conversation whose id is so, or whose id or text begins so."""
    entries = editing.list_recaps(reading, find_conversation(None, reading, conversation))
    return find_by_name(entries, item, what=message("summary or recap"), names_of=lambda one: (one.text,)).id
