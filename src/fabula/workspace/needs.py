"""What a person can do with the questions of the model about scenes: look at them, forget them (cdx-11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from fabula.core.messages import message
from fabula.core.story import Position
from fabula.manuscript.model import Manuscript
from fabula.search.need_edits import forget_places, forget_question, load_places
from fabula.search.needs import NeedPlace, find_last_offset
from fabula.text.lookup import find_by_name
from fabula.workspace.verbs import ProjectVerbs

if TYPE_CHECKING:
    from fabula.settings.values import SettingValues

_ON, _OFF = "on", "off"


class Need(Struct, frozen=True, kw_only=True):
    """A question that the model asked in a scene: which earlier detail would matter there, and who was looking."""

    id: str  # that of its place, and its number there
    question: str
    since: Position
    until: Position  # the last place that it serves: the end of the scene, or where the model was asked again
    vantage: str  # author, reader, or a character by its id
    made: str


def is_asking_allowed(values: SettingValues) -> bool:
    """Return whether a model may be asked what a scene needs: the settings say so, and one works in the background."""
    wish = values["search.needs"]
    if wish == _OFF or not values["search.passages"]:
        return False
    from fabula.workspace.writing_options import has_background_model  # a list of projects does not need it

    return has_background_model(values, without_key=wish != _ON)


class NeedVerbs(ProjectVerbs):
    """Which earlier details the model asked for in the scenes of an open project."""

    def list_needs(self) -> list[Need]:
        """List what the model asked for, scene by scene, in the order of the story."""
        with self._read() as reading:
            places = load_places(reading)
        view = self._view
        manuscript, timeline = view.snapshot(Manuscript) or Manuscript(), view.timeline
        places.sort(key=lambda one: (timeline.index(one.since.document) or 0, one.since.offset, one.vantage))
        next_offsets: dict[tuple[str, str], int] = {}  # of the next place in a document, by vantage
        needs: list[list[Need]] = []
        for place in reversed(places):
            document, key = manuscript.by_id.get(place.since.document), (place.since.document, place.vantage)
            last = place.since.offset if document is None else find_last_offset(place, document.text)
            last = max(min(last, next_offsets.get(key, last + 1) - 1), place.since.offset)
            next_offsets[key] = place.since.offset
            needs.append(_list_questions(place, Position(place.since.document, last)))
        return [need for each in reversed(needs) for need in each]

    def forget(self, need: str | None = None) -> int:
        """Forget a question, by its number in the list, its id or its first words; return how many were forgotten.

        Without one, all are forgotten, and the model may be asked again in their scenes.
        """
        needs = self.list_needs()
        if need is None:
            with self._write() as tx:
                forget_places(tx)
            return len(needs)
        found = find_by_name(needs, need, what=message("question"), names_of=lambda one: (one.question,))
        with self._write() as tx:
            for place in load_places(tx):
                if found.id.rpartition("-")[0] == place.id:
                    forget_question(tx, place, found.question)
        return 1


def _list_questions(place: NeedPlace, until: Position) -> list[Need]:
    return [
        Need(
            id=f"{place.id}-{number}",
            question=one,
            since=place.since,
            until=until,
            vantage=place.vantage,
            made=place.made,
        )
        for number, one in enumerate(place.questions, start=1)
    ]
