"""Search a project by hand; chapters are named by id, title or number (ppl-4).

The search follows the same visibility rules as a prompt: it finds only passages before a position in the story that
the reader may know there. `everything` turns these rules off. The module also finds the names in a text, for queries,
and the spans of the query's words in a passage, for display.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from fabula.codex import Codex
from fabula.context.nearby import Nearby
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Perspective, Position, Vantage
from fabula.core.view import View
from fabula.manuscript.model import Document, Manuscript
from fabula.search.corpus import Corpus
from fabula.search.find import FoundPassage, SearchScope, find_passages, make_search_mask
from fabula.search.index import disk_cache
from fabula.search.model import Query
from fabula.search.query import shorten_query_part
from fabula.text.terms import split_terms

if TYPE_CHECKING:
    from fabula.search.embeddings.semantic_search import SemanticSearch

DEFAULT_LIMIT = 10
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]+|[^\W_]+(?:['’][^\W_]+)*")


def search_project(
    view: View,
    words: str,
    *,
    until: str | None = None,
    everything: bool = False,
    limit: int = DEFAULT_LIMIT,
    rebuild: bool = False,
    meaning: SemanticSearch | None = None,
    fill: bool = True,
    now: str = "",
    notes: list[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[FoundPassage]:
    """Find the passages that match best, up to the end of the chapter `until` (by default the last one).

    With `meaning`, passages are also compared by their embeddings; missing embeddings are computed first, unless
    `fill` is off. `now` is the current date, to resolve expressions like "last summer". `rebuild` builds the index
    from scratch. Warnings are appended to `notes`, each as `CODE: sentence`.
    """
    corpus = view.snapshot(Corpus)
    if corpus is None or not words.strip():
        return []
    if rebuild:
        disk_cache.delete_index_file(corpus.project_id)
        corpus = Corpus(
            corpus.project_id, corpus.texts, corpus.conversations, immediate_characters=corpus.immediate_characters
        )
    end = _find_end(view, until)
    perspective = Perspective.AUTHOR if everything else Perspective.READER
    scope = None if everything and until is None else SearchScope(Vantage(perspective, end), view.timeline)
    built = corpus.build_index(progress)
    warnings = notes if notes is not None else []
    if built.cache_error:
        warnings.append(f"{Code.RETRIEVAL_CACHE.value}: The search cache could not be used: {built.cache_error}.")
    query = Query(parts=((shorten_query_part(words), 1.0),), names=find_names(view, words), now=now)
    similarity = None
    if meaning is not None:
        if fill:
            meaning.fill(corpus.project_id, built, progress)
        scored = meaning.score_passages(corpus.project_id, built, query)
        if scored.error:
            sentence = scored.error.render(view.project.language)
            warnings.append(f"{Code.EMBEDDING_UNAVAILABLE.value}: {sentence}")
        similarity = scored.scores
    mask = None if scope is None else make_search_mask(built, scope)
    hits = find_passages(built, query, mask, limit, similarity)
    return [
        FoundPassage(built.passages[hit.passage_number], built.document_of(hit.passage_number).id, hit.score)
        for hit in hits
    ]


def mark_words(text: str, words: str) -> list[tuple[int, int]]:
    """Find the spans of a text that match one of the words, in any inflected form."""
    terms = set(split_terms(words))
    spans: list[tuple[int, int]] = []
    for word in _WORD.finditer(text):
        candidates = [(word.start(), word.end())]
        if word[0][0] > "\u2e7f":  # Chinese, Japanese or Korean: terms are pairs of characters
            candidates = [(start, start + 2) for start in range(word.start(), max(word.end() - 1, word.start() + 1))]
        for start, end in candidates:
            if terms.intersection(split_terms(text[start:end])):
                if spans and start <= spans[-1][1]:
                    spans[-1] = (spans[-1][0], min(end, word.end()))
                else:
                    spans.append((start, min(end, word.end())))
    return spans


def find_names(view: View, text: str) -> tuple[str, ...]:
    """Return all names and aliases of the codex entries that a text mentions."""
    codex = view.snapshot(Codex)
    if codex is None:
        return ()
    return _list_names(codex, (hit.owner for hit in codex.name_matcher.find(text)))


def find_names_near(view: View, near: Iterable[Nearby]) -> tuple[str, ...]:
    """Return all names and aliases of the codex entries that are mentioned near the cursor."""
    codex = view.snapshot(Codex)
    if codex is None:
        return ()
    find = codex.name_matcher.find
    return _list_names(codex, (entry_id for part in near for entry_id in part.nearest_mentions(find)))


def _list_names(codex: Codex, entry_ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for entry_id in dict.fromkeys(entry_ids) for name in codex.by_id[entry_id].names)


def _find_end(view: View, until: str | None) -> Position | None:
    """Find the end of the chapter `until`, or of the manuscript."""
    manuscript = view.snapshot(Manuscript) or Manuscript()
    if until is None:
        last = manuscript.documents[-1:]
        return Position(last[0].id, len(last[0].text)) if last else None
    document = _find_chapter(view, manuscript, until)
    return Position(document.id, len(document.text))


def _find_chapter(view: View, manuscript: Manuscript, name: str) -> Document:
    for document in manuscript.documents:
        if name in (document.id, document.title, str(view.timeline.chapter_number(document.id))):
            return document
    raise FabulaError(
        Code.DOCUMENT_UNKNOWN,
        f"This project has no chapter {name!r}: name one by id, title or number. It has: "
        f"{', '.join([document.id for document in manuscript.documents][:12]) or 'none yet'}.",
    )
