"""Looking something up: what a person asks search for by hand, with the rules of the story kept.

As for a prompt, what lies behind a place in the story is found, and what that place's reader may know; whoever
wants to see everything says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from fabula.codex.model import Codex
from fabula.context.request import Nearby
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Eyes, Position, Vantage
from fabula.core.view import View
from fabula.manuscript.model import Document, Manuscript
from fabula.search.corpus import Shelf
from fabula.search.find import Found, Stand, allowed, find
from fabula.search.index import disk_cache as cache
from fabula.search.model import Query
from fabula.search.query import bounded

if TYPE_CHECKING:
    from fabula.search.embeddings.embedder import Meaning

MOST = 10


def look_up(
    view: View,
    words: str,
    *,
    until: str | None = None,
    everything: bool = False,
    most: int = MOST,
    rebuild: bool = False,
    meaning: Meaning | None = None,
    fill: bool = True,
    now: str = "",
    notes: list[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Found]:
    """The passages that answer best; `until` names a chapter by id, title or number, by default the last.

    With `meaning`, vectors that are missing are made first, unless `fill` is off. `now` is the day of asking, from
    which "last summer" counts. What went wrong beside a good answer is put into `notes`, each `CODE: sentence`.
    """
    shelf = view.room(Shelf)
    if shelf is None or not words.strip():
        return []
    if rebuild:
        cache.forget(shelf.project_id)
        shelf = Shelf(shelf.project_id, shelf.texts, shelf.talks, at_once=shelf.at_once)
    here = _end_of(view, until)
    eyes = Eyes.AUTHOR if everything else Eyes.READER
    stand = None if everything and until is None else Stand(Vantage(eyes, here), view.timeline)
    made = shelf.finished(progress)
    said = notes if notes is not None else []
    if made.trouble:
        said.append(f"{Code.RETRIEVAL_CACHE.value}: The search cache could not be used: {made.trouble}.")
    query, near = Query(parts=((bounded(words), 1.0),), names=names_in(view, words), now=now), None
    if meaning is not None:
        if fill:
            meaning.fill(shelf.project_id, made, progress)
        found = meaning.near(shelf.project_id, made, query)
        if found.trouble:
            said.append(f"{Code.EMBEDDING_UNAVAILABLE.value}: {found.trouble}")
        near = found.scores
    hits = find(made, query, None if stand is None else allowed(made, stand), most, near)
    return [Found(made.index.passages[hit.number], made.thread_of(hit.number).id, hit.score) for hit in hits]


def names_in(view: View, text: str) -> tuple[str, ...]:
    """Everything by which those mentioned in a text are called."""
    codex = view.room(Codex)
    if codex is None:
        return ()
    return _names_of(codex, (hit.owner for hit in codex.names.find(text)))


def names_near(view: View, near: Iterable[Nearby]) -> tuple[str, ...]:
    """Everything by which those mentioned near the cursor are called."""
    codex = view.room(Codex)
    return () if codex is None else _names_of(codex, (owner for one in near for owner in one.nearest(codex.names.find)))


def _names_of(codex: Codex, owners: Iterable[str]) -> tuple[str, ...]:
    """Everything by which these are called."""
    return tuple(name for owner in dict.fromkeys(owners) for name in codex.by_id[owner].names)


def _end_of(view: View, until: str | None) -> Position | None:
    manuscript = view.room(Manuscript) or Manuscript()
    if until is None:
        last = manuscript.documents[-1:]
        return Position(last[0].id, len(last[0].text)) if last else None
    document = _called(view, manuscript, until)
    return Position(document.id, len(document.text))


def _called(view: View, manuscript: Manuscript, name: str) -> Document:
    for document in manuscript.documents:
        if name in (document.id, document.title, str(view.timeline.chapter(document.id))):
            return document
    raise FabulaError(
        Code.DOCUMENT_UNKNOWN,
        f"This project has no chapter {name!r}: name one by id, title or number. It has: "
        f"{', '.join([document.id for document in manuscript.documents][:12]) or 'none yet'}.",
    )
