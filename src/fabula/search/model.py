"""Types of search: passages, the documents they belong to, queries and hits."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

ReadPassage = Callable[[int], str]  # the text of the passage with this number


class Passage(Struct, frozen=True, gc=False):
    """A few paragraphs of a document, or one message: the unit that search finds."""

    source: str  # its id among fragments: `search:<document>#<passage>`, `history:<message>` …
    text: str
    title: str = ""
    start: int = 0  # where it begins and ends in its document, in code points
    end: int = 0
    known_to: frozenset[str] | None = None
    at: str = ""  # when it was said or happened, where that is known (ISO 8601)
    speaker: str = ""  # the name of the speaker of a message
    number: int = 0  # of a message in its conversation, and of the one before it; -1 where that is not known
    follows: int = -1
    present: tuple[str, ...] = ()  # who was there when a message was said, by name; of a conversation without a title


class SearchDocument(Struct, frozen=True):
    """A manuscript document or a conversation, cut into passages."""

    id: str
    passages: tuple[Passage, ...]
    title: str = ""  # of a conversation


class Query(Struct, frozen=True, kw_only=True):
    """A query: texts with their weights, names found in them, and the date of the request."""

    parts: tuple[tuple[str, float], ...] = ()
    names: tuple[str, ...] = ()
    now: str = ""
    is_page: bool = False  # a page that is being written, rather than a question: see `page_query.py`


class SearchHit(Struct, frozen=True, gc=False):
    """A passage that was found: its number in the index, and its score from 0 to 1."""

    passage_number: int
    score: float
