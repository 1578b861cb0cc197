"""What a reading of a manuscript comes back with: names it believes in, and why.

A proposal is not an entry: a person looks at it, takes it or leaves it. So it carries what a person
needs for that: how often the name is used, where it first stands and a few sentences around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from fabula.text.sentences import sentence_starts

Kind = Literal["character", "location", "faction", "other"]
Progress = Callable[[int, int], None]  # characters read, characters in all
Texts = Sequence[tuple[str, str]]  # documents by id, in the order of the story

LONGEST_EVIDENCE = 160  # characters of one sentence
KINDS: dict[Kind, int] = {"character": 0, "location": 1, "faction": 2, "other": 3}


class Place(Struct, frozen=True, order=True, gc=False):
    """Where a name stands: which of the texts, and the offset in it."""

    text: int
    offset: int


class Found(Struct, kw_only=True):
    """One name that a reading believes in, with all it is called."""

    name: str
    aliases: tuple[str, ...]
    kind: Kind
    mentions: int
    sure: float  # from 0 to 1: how much it behaves like a name of its kind
    places: list[Place]  # the first few


class Proposal(Struct, frozen=True, kw_only=True):
    """An entry that the codex might have."""

    name: str
    aliases: tuple[str, ...] = ()
    kind: Kind = "other"
    mentions: int = 0
    document: str = ""
    offset: int = 0
    evidence: tuple[str, ...] = ()
    score: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """Everything it is called."""
        return (self.name, *self.aliases)


def proposed(found: Iterable[Found], texts: Texts, most: int) -> list[Proposal]:
    """The best of what was found, characters first, with its evidence."""
    ranked = sorted(found, key=lambda one: (KINDS[one.kind] > 0, -_score(one), one.name))
    return [_proposal(one, texts) for one in ranked[:most]]


def _score(found: Found) -> float:
    return round(found.mentions * found.sure, 3)


def _proposal(found: Found, texts: Texts) -> Proposal:
    places = sorted(found.places)
    first = places[0]
    return Proposal(
        name=found.name,
        aliases=found.aliases,
        kind=found.kind,
        mentions=found.mentions,
        document=texts[first.text][0],
        offset=first.offset,
        evidence=tuple(dict.fromkeys(_sentence(texts[place.text][1], place.offset) for place in places)),
        score=_score(found),
    )


def _sentence(text: str, offset: int) -> str:
    """The sentence around an offset, shortened where it goes on and on."""
    left = max(0, offset - 300)
    near = text[left : offset + 300]
    at = offset - left
    starts = [*sentence_starts(near), len(near)]
    start = max(start for start in starts if start <= at)
    end = min((start for start in starts if start > at), default=len(near))
    sentence = near[start:end]
    if len(sentence) > LONGEST_EVIDENCE:
        cut = max(0, at - start - LONGEST_EVIDENCE // 2)
        sentence = f"…{sentence[cut : cut + LONGEST_EVIDENCE]}…"
    return " ".join(sentence.split())
