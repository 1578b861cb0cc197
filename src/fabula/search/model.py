"""What search works on: passages, the threads they stand in, and what is looked for."""

from __future__ import annotations

from msgspec import Struct


class Passage(Struct, frozen=True, gc=False):
    """A stretch of a document, or one thing said: the smallest thing that can be found."""

    source: str  # its name among fragments: `search:<document>#<passage>`, `history:<message>` …
    text: str
    title: str = ""
    start: int = 0  # where in its thread it begins and ends, in code points
    end: int = 0
    known_to: frozenset[str] | None = None
    at: str = ""  # when it was said or happened, where the material says so (ISO 8601)
    speaker: str = ""  # the name of whoever said it


class Thread(Struct, frozen=True):
    """Passages that follow one another: a document, a conversation."""

    id: str
    passages: tuple[Passage, ...]


class Query(Struct, frozen=True, kw_only=True):
    """What is looked for: texts with their weights, names found in them, and the day of asking."""

    parts: tuple[tuple[str, float], ...] = ()
    names: tuple[str, ...] = ()
    now: str = ""
    page: bool = False  # a page that is being written, rather than a question: see `page.py`


class Hit(Struct, frozen=True, gc=False):
    """A passage that was found: its number in the index, and how well it answers, from 0 to 1."""

    number: int
    score: float
