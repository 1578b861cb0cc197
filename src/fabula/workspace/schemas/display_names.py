"""Names and titles beside ids in answers, so that a client shows something readable without another request (ppl-4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from fabula.codex import Codex
from fabula.core.view import View
from fabula.manuscript.model import Manuscript


class DisplayNames:
    """What the entries and documents of a project are called, by id; an id that is not there is its own name."""

    def __init__(self, view: View) -> None:
        self._view = view

    @cached_property
    def _entries(self) -> Mapping[str, str]:
        codex = self._view.snapshot(Codex)
        return {} if codex is None else {one.id: one.name for one in codex.entries}

    @cached_property
    def _documents(self) -> Mapping[str, str]:
        return {one.id: one.name for one in (self._view.snapshot(Manuscript) or Manuscript()).documents}

    def name_entry(self, ident: str) -> str:
        """Return the name of an entry."""
        return self._entries.get(ident, ident)

    def name_entries(self, idents: Iterable[str] | None) -> tuple[str, ...] | None:
        """Return the names of entries, in the order of their ids; None where everybody is meant."""
        return None if idents is None else tuple(self.name_entry(one) for one in sorted(idents))

    def name_document(self, ident: str) -> str:
        """Return the title of a document."""
        return self._documents.get(ident, ident)
