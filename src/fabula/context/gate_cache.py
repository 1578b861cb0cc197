"""Groups of a snapshot: tuples of fragments that come again unchanged with each request.

What becomes of such a group at one place of the story (what passes the gate, and how it will look) is worked out
once, where the place within the chapter makes no difference: where nothing in the group begins, ends or is learnt
in the chapter that is being written.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from fabula.context.measure import Piece, seat_of
from fabula.context.trace import Outcome
from fabula.core.fragment import Fragment
from fabula.core.story import Eyes, Timeline, Vantage

SEATS = ("constraints", "rules", "settings")
_PLACES = 256  # places of the story for which one group is kept
_GROUPS = 4096
Group = tuple[Fragment, ...]
Place = tuple[Eyes, str | None, str]  # whose eyes, and in which document


class Sifted(Struct, frozen=True):
    """What became of a group at one place: its pieces, and what the gate stopped."""

    timeline: Timeline
    pieces: list[Piece]
    stopped: list[Outcome]


class Known(Struct):
    """A group that was looked through. `firm`: rules and settings that hold always and for everybody."""

    group: Group  # held, so that its id stays taken
    project_id: str
    firm: bool
    documents: frozenset[str]  # where something in it begins, ends or is learnt
    at: dict[Place, Sifted] = field(default_factory=dict)

    def here(self, vantage: Vantage, timeline: Timeline) -> Sifted | None:
        """What became of it at this place, if that was worked out."""
        known = self.at.get(place_of(vantage))
        return known if known is not None and known.timeline is timeline else None

    def keep(self, vantage: Vantage, sifted: Sifted) -> None:
        """Remember what became of it, unless it may be another thing further on in the same document."""
        place = place_of(vantage)
        if place[2] not in self.documents:
            if len(self.at) >= _PLACES:
                self.at.clear()
            self.at[place] = sifted


def place_of(vantage: Vantage) -> Place:
    """A place in the story, as far as it matters here."""
    here = vantage.position
    return vantage.eyes, vantage.character, "" if here is None else here.document


def look_through(group: Group, project_id: str, known: dict[int, Known]) -> Known:
    """What is known of a group; `known` keeps it by the group's identity."""
    found = known.get(id(group))
    if found is None or found.group is not group or found.project_id != project_id:
        if len(known) >= _GROUPS:
            known.clear()
        holds = all(fragment.project_id == project_id and _holds(fragment) for fragment in group)
        documents = frozenset(document for fragment in group for document in _documents(fragment))
        found = known[id(group)] = Known(group, project_id, holds, documents)
    return found


def _holds(fragment: Fragment) -> bool:
    return fragment.open and fragment.placement is None and seat_of(fragment) in SEATS and fragment.text.strip() != ""


def _documents(fragment: Fragment) -> Iterator[str]:
    for terms in fragment.terms:
        marks = (terms.since, terms.until, *(mark for _, mark in terms.learnt))
        yield from (mark.document for mark in marks if mark is not None)
