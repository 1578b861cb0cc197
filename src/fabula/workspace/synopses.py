"""What a person can do with synopses: list, read, make, write by hand, remove (cdx-6).

Main characters that a synopsis does not name are pointed out: those of the codex or, if it has no characters, those
whom the text itself shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from fabula.codex import Codex
from fabula.codex.characters import collect_characters
from fabula.core.messages import message
from fabula.core.view import View
from fabula.manuscript.model import Manuscript
from fabula.manuscript.synopses import editing
from fabula.manuscript.synopses.chapters import CONTAINER_KINDS
from fabula.manuscript.synopses.editing import SynopsisRecord, SynopsisRefresh
from fabula.manuscript.synopses.plan import ChapterSynopses
from fabula.text.extraction.propose import propose_entries
from fabula.text.names.main_characters import NO_CHARACTERS, CharacterFinder
from fabula.workspace.names import find_document
from fabula.workspace.verbs import ProjectVerbs, label_change, label_removal


class SynopsisVerbs(ProjectVerbs):
    """The synopses of an open project; a chapter is named by its id, title, number or beginning."""

    def list_synopses(self) -> list[SynopsisRecord]:
        """List every chapter with its stored synopsis, and whether that is fresh, stale or missing."""
        view = self._view
        return _make_records(view, _find_characters(view))

    def read(self, chapters: Sequence[str] = ()) -> list[SynopsisRecord]:
        """Read the synopses of some chapters, or of all; one without has the text that a prompt has instead."""
        view = self._view
        found = _find_chapters(view, _make_records(view, _find_characters(view)), chapters)
        story = view.snapshot(Manuscript)
        if story is None or all(one.text for one in found):
            return found
        derived = ChapterSynopses.for_manuscript(story, collect_characters(view)).by_id
        return [one if one.text else replace(one, text=derived[one.document_id].synopsis.text) for one in found]

    def make(
        self,
        chapters: Sequence[str] = (),
        *,
        again: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> SynopsisRefresh:
        """Make the synopses that are missing or stale, of the chapters' own sentences; `again` also fresh ones.

        What a person wrote is left alone. This takes several short transactions.
        """
        store, view = self._store, self._view
        found = _find_chapters(view, _make_records(view, NO_CHARACTERS), chapters) if chapters else None
        return editing.refresh_synopses(
            store,
            view.project.id,
            language=view.project.language,
            characters=_find_characters(view),
            document_ids=None if found is None else [one.document_id for one in found],
            redo_fresh=again,
            progress=progress,
        )

    def write(self, chapter: str, text: str) -> SynopsisRecord:
        """Write the synopsis of a chapter by hand; no program writes over it."""
        view = self._view
        characters = _find_characters(view)
        with self._write(label_change(message("synopsis"), chapter)) as tx:
            (found,) = _find_chapters(view, editing.list_synopses(tx), [chapter])
            tx.undo_label = label_change(message("synopsis"), found.title)
            editing.write_synopsis(tx, found.document_id, text)
            records = editing.list_synopses(tx, characters)
        return next(one for one in records if one.document_id == found.document_id)

    def remove(self, chapter: str) -> SynopsisRecord:
        """Remove the synopsis of a chapter; return what it was, with the state `missing` if there was none."""
        view = self._view
        with self._write(label_removal(message("synopsis"), chapter)) as tx:
            (found,) = _find_chapters(view, editing.list_synopses(tx), [chapter])
            tx.undo_label = label_removal(message("synopsis"), found.title)
            editing.remove_synopsis(tx, found.document_id)
        return found


def _make_records(view: View, characters: CharacterFinder) -> list[SynopsisRecord]:
    story = view.snapshot(Manuscript)
    if story is None:
        return []
    chapters = ChapterSynopses.for_manuscript(story).chapters
    return [editing.make_record(one, characters) for one in chapters if one.documents[0].kind not in CONTAINER_KINDS]


def _find_characters(view: View) -> CharacterFinder:
    """Find the characters of the codex or, if it has none, those whom the text shows."""
    codex, story = view.snapshot(Codex), view.snapshot(Manuscript)
    if story is None or (codex is not None and any(entry.type == "character" for entry in codex.entries)):
        return collect_characters(view)
    texts = [(document.id, document.text) for document in story.documents]
    proposals = propose_entries(texts, language=view.project.language)
    return CharacterFinder.from_names({one.name: one.names for one in proposals if one.kind == "character"})


def _find_chapters(view: View, records: Sequence[SynopsisRecord], names: Sequence[str]) -> list[SynopsisRecord]:
    """Return the chapters that are named; all of them where none is."""
    story = view.snapshot(Manuscript)
    if not names:
        return list(records)
    by_id = {record.document_id: record for record in records}
    documents = story.documents if story is not None else ()
    return [by_id[find_document(documents, name, among=by_id)] for name in names]
