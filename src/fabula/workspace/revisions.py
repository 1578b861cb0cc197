"""What a person can do with revisions: list, compare, restore and label them (man-2)."""

from __future__ import annotations

from fabula.core.messages import message
from fabula.manuscript import documents, revisions
from fabula.manuscript.revisions import LineDifference, Revision
from fabula.store.transaction import ReadTransaction
from fabula.workspace.chapters import ChapterRecord, find_chapter, load_records
from fabula.workspace.verbs import ProjectVerbs, label_addition


class RevisionVerbs(ProjectVerbs):
    """The earlier texts of the chapters of an open project."""

    def list_revisions(self, chapter: str) -> tuple[ChapterRecord, list[Revision]]:
        """List the earlier texts of a chapter that were kept, the latest first."""
        with self._read() as reading:
            found = find_chapter(reading, chapter)
            return found, revisions.list_revisions(reading, found.id)

    def compare(self, chapter: str, first: int | None = None, second: int | None = None) -> list[LineDifference]:
        """List the lines in which two revisions differ: by default the last one kept, and the text of now."""
        with self._read() as reading:
            found = find_chapter(reading, chapter)
            old = first if first is not None else _find_last(reading, found)
            return revisions.compare(reading, found.id, old, second if second is not None else found.revision)

    def restore(self, chapter: str, revision: int) -> ChapterRecord:
        """Put an earlier text in place of the present one, which is kept as a revision."""
        with self._write(message("revision {revision} restored", revision=revision)) as tx:
            found = find_chapter(tx, chapter)
            title = found.name
            tx.undo_label = message("revision {revision} of {title} restored", revision=revision, title=title)
            documents.restore(tx, found.id, revision)
            return load_records(tx)[found.id]

    def label(self, chapter: str, name: str) -> int:
        """Keep the present text for good under a label; return its revision."""
        with self._write(label_addition(message("label"), name)) as tx:
            return revisions.label_current(tx, find_chapter(tx, chapter).id, name)


def _find_last(reading: ReadTransaction, chapter: ChapterRecord) -> int:
    kept = revisions.list_revisions(reading, chapter.id)
    earlier = [one.revision for one in kept if one.revision != chapter.revision]
    return earlier[0] if earlier else chapter.revision
