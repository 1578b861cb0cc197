"""Names of the codex in a text, and the card of an entry as it stands at a place of the story (cdx-3).

An editor marks names while somebody writes, so a text is searched as it is sent, saved or not. A card is the author's,
who knows everything, or holds what the reader or a character knows at that place.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabula.codex import Codex
from fabula.context.gate import judge_fragment
from fabula.context.reasons import explain_gate
from fabula.context.trace import EXPLANATIONS, Reason
from fabula.core.fragment import Fragment
from fabula.core.messages import Sentence
from fabula.core.story import READER, Perspective, Position, Vantage
from fabula.core.view import View
from fabula.manuscript.model import Manuscript
from fabula.text.names.disambiguation import Mention, resolve_mentions
from fabula.workspace.names import find_character_ids, find_entry, find_knower, find_view_document, read_group
from fabula.workspace.verbs import ProjectVerbs


class EntryCard(Struct, frozen=True, kw_only=True):
    """An entry as it stands at a place: its text there, and how much of it is not told.

    `later_count` counts progressions that come later, `unknown_count` what the reader or character does not know. Where
    even the entry is unknown to them there is no text, and `reason` says why.
    """

    id: str
    name: str
    type: str
    text: str
    later_count: int = 0
    unknown_count: int = 0
    reason: Sentence | str = ""


class MentionVerbs(ProjectVerbs):
    """The names of the codex in texts of an open project."""

    def find(self, text: str) -> Sequence[Mention]:
        """Find the names of entries in a text, each with its possible owners, the likeliest first."""
        codex = self._view.snapshot(Codex)
        return resolve_mentions(codex.name_matcher.find(text)) if codex is not None else []

    def read_card(self, entry: str, *, chapter: str = "", offset: int = 0, knower: str = "") -> EntryCard:
        """Read an entry as it stands at a place of a chapter; without one, as it stands at the end.

        `knower` is a character by any name, or `reader`: the card holds what they know there. Without one it holds what
        the author knows.
        """
        view = self._view
        codex, manuscript = view.snapshot(Codex), view.snapshot(Manuscript) or Manuscript()
        found = find_entry([] if codex is None else list(codex.entries), entry)
        assert codex is not None  # or nothing would have been found
        if chapter:
            position: Position | None = Position(find_view_document(view, chapter), offset)
        else:
            last = manuscript.documents[-1] if manuscript.documents else None
            position = Position(last.id, len(last.text)) if last is not None else None
        vantage = self._find_vantage(knower, position)
        first, *others = codex.render(found, 0.0)
        card = EntryCard(id=found.id, name=found.name, type=found.type, text="")
        if vantage.perspective is not Perspective.AUTHOR and (reason := judge_fragment(first, vantage, view.timeline)):
            return replace(card, reason=_explain(first, reason, vantage, view, codex))
        hidden = {one.source: reason for one in others if (reason := judge_fragment(one, vantage, view.timeline))}
        later = {one.source for one in others if one.since and not view.timeline.has_reached(one.since, position)}
        unknown = {source for source, reason in hidden.items() if reason is Reason.NOT_KNOWN}
        return replace(
            card,
            text="\n".join(one.text for one in (first, *others) if one.source not in hidden),
            later_count=sum(one.source in later for one in others[: len(found.progressions)]),
            unknown_count=len(unknown - later),
        )

    def _find_vantage(self, knower: str, position: Position | None) -> Vantage:
        if not knower:
            return Vantage(Perspective.AUTHOR, position)
        if read_group(knower) == READER:
            return Vantage(Perspective.READER, position)
        view = self._view
        character = find_knower(view, None, knower)
        return Vantage(Perspective.CHARACTER, position, character, frozenset(find_character_ids(view, character)))


def _explain(fragment: Fragment, reason: Reason, vantage: Vantage, view: View, codex: Codex) -> Sentence | str:
    explained = explain_gate(fragment.visibilities, reason, vantage, view.timeline, codex.name_of)
    return explained or EXPLANATIONS[reason]
