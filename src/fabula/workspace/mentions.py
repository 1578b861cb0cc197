"""Names of the codex in a text, and the card of an entry as it stands at a place of the story (cdx-3).

An editor marks names while somebody writes, so a text is searched as it is sent, saved or not.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from fabula.codex import Codex
from fabula.context.gate import judge_fragment
from fabula.core.story import Perspective, Position, Vantage
from fabula.manuscript.model import Manuscript
from fabula.text.names.disambiguation import Mention, resolve_mentions
from fabula.workspace.names import find_entry, find_view_document
from fabula.workspace.verbs import ProjectVerbs


class EntryCard(Struct, frozen=True, kw_only=True):
    """An entry as it stands at a place: its text there, and how many of its progressions come later."""

    id: str
    name: str
    type: str
    text: str
    later_count: int = 0


class MentionVerbs(ProjectVerbs):
    """The names of the codex in texts of an open project."""

    def find(self, text: str) -> Sequence[Mention]:
        """Find the names of entries in a text, each with its possible owners, the likeliest first."""
        codex = self._view.snapshot(Codex)
        return resolve_mentions(codex.name_matcher.find(text)) if codex is not None else []

    def read_card(self, entry: str, *, chapter: str = "", offset: int = 0) -> EntryCard:
        """Read an entry as it stands at a place of a chapter; without one, as it stands at the end."""
        view = self._view
        codex, manuscript = view.snapshot(Codex), view.snapshot(Manuscript) or Manuscript()
        found = find_entry([] if codex is None else list(codex.entries), entry)
        assert codex is not None  # or nothing would have been found
        if chapter:
            position: Position | None = Position(find_view_document(view, chapter), offset)
        else:
            last = manuscript.documents[-1] if manuscript.documents else None
            position = Position(last.id, len(last.text)) if last is not None else None
        vantage = Vantage(Perspective.AUTHOR, position)
        first, *others = codex.render(found, 0.0)
        hidden = {one.source for one in others if judge_fragment(one, vantage, view.timeline) is not None}
        text = "\n".join(one.text for one in (first, *others) if one.source not in hidden)
        later = sum(one.source in hidden for one in others[: len(found.progressions)])
        return EntryCard(id=found.id, name=found.name, type=found.type, text=text, later_count=later)
