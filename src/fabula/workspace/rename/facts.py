"""What a rename does with facts: it moves what is stored of sentences along with their text (cdx-10).

A fact that stays away is stored as a digest of its sentence, and what a model quotes as the sentence itself. Both are
found in the old text, before the codex has the new name, and stored as the new text has them. To undo a rename is to
rename back, so it moves them in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabula.codex.entry import Entry
from fabula.codex.facts import Quotation, make_fact_id
from fabula.codex.facts.find import make_fact_names, quote_span
from fabula.codex.facts.paragraphs import read_paragraph
from fabula.codex.facts.quotations import find_sentences, load_document_quotations, replace_quotations
from fabula.codex.name_index import NameIndex
from fabula.codex.series import merge_entry
from fabula.codex.snapshot import read_entries
from fabula.manuscript.model import hash_text
from fabula.store.transaction import WriteTransaction
from fabula.workspace.facts import read_dismissed, store_dismissed
from fabula.workspace.rename.edits import Edit, apply_edits, move_offset


class FactMover:
    """Moves what is stored of the facts of one project along with the texts of a rename."""

    def __init__(self, tx: WriteTransaction) -> None:
        self._tx = tx
        self._dismissed = read_dismissed(tx)
        self._new_ids: dict[str, str] = {}
        entries = _read_entries_with_series(tx) if self._dismissed else ()
        self._names, self._matcher = make_fact_names(entries), NameIndex(entries).matcher

    def move(self, document_id: str, text: str, edits: Sequence[Edit]) -> None:
        """Move what is stored of a document whose text is to get these edits."""
        new_text = apply_edits(text, edits)
        if self._dismissed:
            self._find_dismissed(text, new_text, edits)
        self._move_quotations(document_id, text, new_text, edits)

    def store_dismissed(self) -> None:
        """Store the ids that the facts which stay away have now."""
        if any(ident in self._new_ids for ident in self._dismissed):
            store_dismissed(self._tx, dict.fromkeys(self._new_ids.get(one, one) for one in self._dismissed))

    def _find_dismissed(self, text: str, new_text: str, edits: Sequence[Edit]) -> None:
        """Note the new ids of the sentences that the program finds in the paragraphs with edits."""
        known, last = set(self._dismissed), -1
        for place, _, _ in edits:
            if place <= last:
                continue  # another edit of the same paragraph
            first, last = text.rfind("\n", 0, place) + 1, text.find("\n", place)
            last = len(text) if last < 0 else last
            paragraph = text[first:last]
            for sentence in read_paragraph(paragraph, self._matcher, self._names).sentences:
                ident = make_fact_id(sentence.entry_id, sentence.quote(paragraph))
                if ident in known:
                    moved = _quote_moved(new_text, first + sentence.start, first + sentence.end, edits)
                    self._new_ids[ident] = make_fact_id(sentence.entry_id, moved)

    def _move_quotations(self, document_id: str, text: str, new_text: str, edits: Sequence[Edit]) -> None:
        moved: list[Quotation] = []
        for one in load_document_quotations(self._tx, document_id):
            span = find_sentences(text, one.text)
            quoted = one.text if span is None else _quote_moved(new_text, *span, edits)
            moved.append(Quotation(one.entry_id, quoted))
            self._new_ids[make_fact_id(one.entry_id, one.text)] = make_fact_id(one.entry_id, quoted)
        if moved:
            replace_quotations(self._tx, document_id, moved, hash_text(text), hash_text(new_text))


def _quote_moved(new_text: str, start: int, end: int, edits: Sequence[Edit]) -> str:
    """The sentence that stood between two offsets of the old text, in the new one."""
    return quote_span(new_text, move_offset(start, edits, to_end=False), move_offset(end, edits, to_end=True))


def _read_entries_with_series(tx: WriteTransaction) -> tuple[Entry, ...]:
    """The entries of a book, those of its series as the book extends them."""
    series, own = tx.series(), read_entries(tx)
    shared = {} if series is None else read_entries(series)
    merged = {ident: merge_entry(shared[ident], one) if ident in shared else one for ident, one in own.items()}
    return tuple({**shared, **merged}.values())
