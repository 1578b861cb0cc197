"""Schemas of what the model asked for in scenes."""

from __future__ import annotations

from collections.abc import Sequence

from fabula.codex import Codex
from fabula.core.view import View
from fabula.manuscript.model import Manuscript
from fabula.search.needs import Needs
from fabula.workspace.needs import Need
from fabula.workspace.schemas.codex import StoryPlace
from fabula.workspace.schemas.schema import Schema, describe


class NeedInfo(Schema):
    """A question that the model asked in a scene: its chapter and place, and whose eyes it had."""

    id: str
    number: int  # in the list
    question: str
    chapter: str
    since: StoryPlace
    until: StoryPlace  # the last place that it serves
    perspective: str  # author, reader or character
    character: str | None  # the name
    made: str


class NeedList(Schema):
    """What the model asked for, scene by scene, and whether it may be asked where it was not yet."""

    needs: tuple[NeedInfo, ...]
    is_asking: bool


def describe_needs(needs: Sequence[Need], view: View) -> NeedList:
    """Describe what the model asked for, with the titles of chapters and the names of characters."""
    titles = {one.id: one.name for one in (view.snapshot(Manuscript) or Manuscript()).documents}
    codex = view.snapshot(Codex)
    names = {} if codex is None else {one.id: one.name for one in codex.entries}

    def show(need: Need, number: int) -> NeedInfo:
        perspective, _, ident = need.vantage.partition(":")
        return describe(
            NeedInfo,
            need,
            number=number,
            chapter=titles.get(need.since.document, ""),
            perspective=perspective,
            character=names.get(ident, ident) or None,
        )

    shown = tuple(show(need, number) for number, need in enumerate(needs, start=1))
    return NeedList(needs=shown, is_asking=view.snapshot(Needs) is not None)
