"""Needs: which earlier details would matter in a scene, as a model asks for them; search finds the answers (cdx-11).

A model is asked once in a scene, in the background, and is told what the prompt of that place and vantage may hold. Its
questions stay with the place. They serve the requests of the same vantage from there on, until the scene ends or is so
long that the model is asked again; no earlier place and no other vantage gets them. A question is never part of a
prompt: it only finds passages, which pass the gate like all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from fabula.core.story import Position, Vantage
from fabula.search.index.passages import iterate_paragraphs_back
from fabula.search.query import is_unspaced

REACH, UNSPACED_REACH = 3_000, 1_000  # characters of a scene that the questions of one place serve
MIN_CHARACTERS, UNSPACED_MIN_CHARACTERS = 200, 70  # of a document before a place at which a model is asked
MAX_NEAR_PLACES = 4  # of one vantage, each in reach of a request, after which the model is not asked again there
MAX_QUESTIONS = 4  # of one place
QUESTION_LENGTHS = (6, 160)  # characters of a question, at least and at most


class NeedPlace(Struct, frozen=True, kw_only=True):
    """A place at which a model was asked, from whose vantage, and its questions; there may be none."""

    id: str
    since: Position
    vantage: str
    questions: tuple[str, ...] = ()
    origin: str = "model"
    made: str = ""


class Needs:
    """The questions of a project at one version; part of a view only where the settings let a model ask."""

    def __init__(self, places: Iterable[NeedPlace] = ()) -> None:
        self._places: dict[tuple[str, str], list[NeedPlace]] = {}
        for place in sorted(places, key=lambda one: one.since.offset):
            self._places.setdefault((place.since.document, place.vantage), []).append(place)

    def find_place(self, vantage: Vantage, text: str, cursor: int) -> NeedPlace | None:
        """The place whose questions serve a vantage: the nearest before it, in the same scene.

        The cursor is at the position of the vantage, in a text that may be edited.
        """
        here = vantage.position
        places = self._places.get((here.document, vantage.name), ()) if here is not None else ()
        earlier = [place for place in places if here is not None and place.since.offset <= here.offset]
        if here is None or not earlier:
            return None
        distance = here.offset - earlier[-1].since.offset
        if distance >= _choose(text, cursor, REACH, UNSPACED_REACH):
            return None
        between = iterate_paragraphs_back(text, max(cursor - distance, 0), cursor)
        return None if any(begins_scene for _, _, begins_scene in between) else earlier[-1]

    def is_due(self, vantage: Vantage, text: str, cursor: int) -> bool:
        """Whether a model should be asked at a vantage, where the stored text has the cursor."""
        here = vantage.position
        if here is None or cursor < _choose(text, cursor, MIN_CHARACTERS, UNSPACED_MIN_CHARACTERS):
            return False
        reach = _choose(text, cursor, REACH, UNSPACED_REACH)
        places = self._places.get((here.document, vantage.name), ())
        near = [place for place in places if abs(place.since.offset - here.offset) < reach]
        return len(near) < MAX_NEAR_PLACES and self.find_place(vantage, text, cursor) is None


def find_last_offset(place: NeedPlace, text: str) -> int:
    """The last offset of a stored text that the questions of a place serve, if no later place has questions."""
    start = place.since.offset
    last = min(start + _choose(text, start, REACH, UNSPACED_REACH) - 1, len(text))
    scenes = [
        last - distance - len(paragraph)
        for paragraph, distance, begins_scene in iterate_paragraphs_back(text, start, last)
        if begins_scene
    ]
    return min([*scenes, last])


def _choose(text: str, cursor: int, spaced: int, unspaced: int) -> int:
    """A number of characters for a text, by the script before the cursor."""
    return unspaced if is_unspaced(text, 0, cursor) else spaced


def read_questions(rows: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """The questions in the rows of a model's answer: short lines of plain characters, each once."""
    shortest, longest = QUESTION_LENGTHS
    lines = (" ".join(text.split()) for row in rows if isinstance(text := row.get("question"), str))
    plain = (line for line in lines if shortest <= len(line) <= longest and line.isprintable())
    return tuple(dict.fromkeys(plain))[:MAX_QUESTIONS]
