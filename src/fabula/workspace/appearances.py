"""Who appears in which chapter, from the codex, the manuscript and the participants of a view (cdx-8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fabula.codex import Codex
from fabula.codex.name_index import DETECTABLE
from fabula.conversation.participants import Participants, strip_revision
from fabula.core.view import View
from fabula.manuscript.model import Manuscript
from fabula.manuscript.synopses.chapters import CONTAINER_KINDS
from fabula.text.names.appearances import Appearances, NarratedText


def make_appearances(view: View, old_view: View | None = None) -> Appearances | None:
    """Make the appearances of a view; those of the old view stay where nothing changed that they come from."""
    codex, manuscript = view.snapshot(Codex), view.snapshot(Manuscript)
    if codex is None or manuscript is None:
        return None
    people = view.snapshot(Participants) or Participants()
    old = old_view.snapshot(Appearances) if old_view is not None else None
    if old is not None and old_view is not None:
        is_same = old_view.snapshot(Codex) is codex and old_view.snapshot(Manuscript) is manuscript
        if is_same and old_view.snapshot(Participants) is view.snapshot(Participants):
            return old

    def find_other_names(ids: frozenset[str]) -> Mapping[str, tuple[str, ...]]:
        return _find_other_names(codex, people, ids)

    return Appearances(_list_narrated(manuscript), lambda: codex.name_matcher, find_other_names, old)


def _list_narrated(manuscript: Manuscript) -> Iterator[NarratedText]:
    """The chapters that say not who knows them. One without a text is known by its synopsis, if it has one.

    A part is known where its chapters are.
    """
    for one in manuscript.documents:
        if one.effective_known_to is not None:
            continue
        text = one.text if one.text.strip() or one.kind in CONTAINER_KINDS else one.synopsis
        if text.strip():
            yield NarratedText(one.id, one.title, text)


def _find_other_names(codex: Codex, people: Participants, ids: frozenset[str]) -> Mapping[str, tuple[str, ...]]:
    """The names of an entry that is never detected, and of a participant who is in no codex."""
    entries = [codex.by_id[ident] for ident in ids if ident in codex.by_id]
    if entries:
        return {one.id: one.names for one in entries if one.level not in DETECTABLE}
    found = {ident: people.by_id.get(strip_revision(ident)) for ident in ids}
    names = {ident: (one.name, *one.aliases) for ident, one in found.items() if one is not None}
    return {ident: tuple(filter(None, own)) for ident, own in names.items() if any(own)}
