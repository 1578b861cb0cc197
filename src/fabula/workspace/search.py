"""Search a project by hand; a chapter is named by id, title, number or beginning (ppl-4).

The search follows the same visibility rules as a prompt: it finds only passages before a position in the story that
the reader, or a character, may know there. `everything` turns these rules off. The module also finds the names in a
text, for queries, and the spans of the query's words in a passage, for display.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypedDict

import numpy as np
from msgspec.structs import replace

from fabula.codex import Codex
from fabula.codex.source import list_known_names, make_name_filter
from fabula.context.request import Principal, SourceRequest
from fabula.context.vantage import limit_to_appearances
from fabula.core.errors import Code
from fabula.core.messages import Sentence, join_names, message
from fabula.core.story import Perspective, Position, Vantage
from fabula.core.view import View
from fabula.manuscript.model import Manuscript
from fabula.manuscript.numbering import strip_numbers
from fabula.search.corpus import Corpus
from fabula.search.embeddings.choice import AUTO, OFF, EmbeddingChoice, EmbeddingStatus
from fabula.search.find import FoundPassage, Mask, SearchScope, find_passages, make_search_mask
from fabula.search.index import disk_cache
from fabula.search.index.index import SearchIndex
from fabula.search.model import Query
from fabula.search.query import shorten_query_part
from fabula.text.terms import find_shared_terms, split_terms
from fabula.workspace.arguments import PositiveInt
from fabula.workspace.grants import check_vantage, refuse_request
from fabula.workspace.names import find_character_ids, find_document

DEFAULT_LIMIT = 10
MIN_TITLE_TERMS = 3  # that find a chapter by its title, however long that is
_WORDS_SHOWN = 6  # of those that a passage has
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af]+|[^\W_]+(?:['’][^\W_]+)*")


class SearchOptions(TypedDict, total=False):
    """How a search by hand goes; `search_project` has the defaults."""

    until: str | None
    everything: bool
    character: str | None
    limit: PositiveInt
    rebuild: bool
    by_meaning: bool | None
    make_vectors: bool
    now: str
    remarks: list[str] | None
    progress: Callable[[int, int], None] | None


def search_project(
    view: View,
    words: str,
    embedding: EmbeddingChoice,
    principal: Principal,
    *,
    until: str | None = None,
    everything: bool = False,
    character: str | None = None,
    limit: int = DEFAULT_LIMIT,
    rebuild: bool = False,
    by_meaning: bool | None = None,
    make_vectors: bool = False,
    now: str = "",
    remarks: list[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[FoundPassage]:
    """Find the passages that match best, up to the end of the chapter `until` (by default the last one).

    What the principal may not ask for is refused: other eyes, and a chapter that was not granted, which it must name.
    With `character`, an id, only what that character knows is found. With `by_meaning`, passages are also compared by
    their embeddings, by default as the settings say; missing embeddings are computed first with `make_vectors`, and in
    the background without. `now` is the current date, to resolve expressions like "last summer". `rebuild` builds the
    index from scratch. Warnings are appended to `remarks`.
    """
    vantage = _find_vantage(view, principal, until, character, everything=everything)
    warnings, language = remarks if remarks is not None else [], view.project.language
    status = EmbeddingStatus()
    if by_meaning is not False:
        status = embedding.resolve(view, AUTO if by_meaning else OFF)
    if status.error is not None:
        warnings.append(f"{status.error.code.value}: {status.error.message.render(language)}")
    corpus = view.snapshot(Corpus)
    if corpus is None or not words.strip():
        return []
    if rebuild:
        disk_cache.delete_index_file(corpus.project_id)
        corpus = Corpus(
            corpus.project_id, corpus.texts, corpus.conversations, immediate_characters=corpus.immediate_characters
        )
    scope = None if everything and until is None else SearchScope(vantage, view.timeline)
    built = corpus.build_index(progress)
    if built.cache_error:
        unused = message("The search cache could not be used: {error}.", error=built.cache_error)
        warnings.append(f"{Code.RETRIEVAL_CACHE.value}: {unused.render(language)}")
    query = Query(parts=((shorten_query_part(words), 1.0),), names=find_names(view, words, vantage), now=now)
    similarity = None
    if status.search is not None:
        if make_vectors:
            status.search.fill(corpus.project_id, built, progress)
        scored = status.search.score_passages(corpus.project_id, built, query)
        if scored.error:
            warnings.append(f"{Code.EMBEDDING_UNAVAILABLE.value}: {scored.error.render(language)}")
        similarity = scored.scores
    mask = None if scope is None else make_search_mask(built, scope)
    hits = find_passages(built, query, mask, limit, similarity)
    titled = _find_titled(view, words, built, mask)
    scores = dict.fromkeys(titled, 1.0) | {
        hit.passage_number: hit.score for hit in hits if hit.passage_number not in titled
    }
    nearness = np.zeros(len(built.passages), np.float32) if similarity is None else similarity
    average = nearness[nearness != 0].mean() if nearness.any() else 0.0
    found = []
    for number, score in [*scores.items()][:limit]:
        passage, is_compared = built.passages[number], bool(nearness[number])
        reasons = _explain(passage.text, words, query.names)
        if number in titled:
            reasons.insert(0, message("the title of its chapter has these words"))
        if is_compared and nearness[number] > average:
            reasons.append(message("it is near in meaning"))
        reasons = reasons or [message("what stands beside it has these words")]
        document_id = built.document_of(number).id
        found.append(FoundPassage(passage, document_id, score, tuple(reasons), query.names, is_compared))
    return found


def _explain(text: str, words: str, names: Sequence[str]) -> list[Sentence]:
    """Say which of the words a passage has, and which other names of those whom the words name."""
    own = dict.fromkeys(text[start:end].casefold() for start, end in mark_words(text, words))
    reasons: list[Sentence] = []
    if own:
        reasons.append(message("it has {words}", words=join_names([*own][:_WORDS_SHOWN])))
    folded, asked = text.casefold(), words.casefold()
    others = [name for name in names if name.casefold() in folded and name.casefold() not in asked]
    if others:
        reasons.append(message("it names {names}", names=join_names(others[:_WORDS_SHOWN])))
    return reasons


def _find_vantage(
    view: View, principal: Principal, until: str | None, character: str | None, *, everything: bool
) -> Vantage:
    """Return from where a search is made; refused where the principal may not look from there."""
    granted, known = principal.grants.documents, (view.snapshot(Manuscript) or Manuscript()).by_id
    if granted is not None and (everything or until is None or until not in granted or until not in known):
        raise refuse_request()
    end = _find_end(view, until)
    vantage = Vantage(Perspective.AUTHOR if everything else Perspective.READER, end, documents=granted)
    if character and not everything:
        own_ids = frozenset(find_character_ids(view, character))
        vantage = limit_to_appearances(Vantage(Perspective.CHARACTER, end, character, own_ids, granted), view)
    # A place in a chapter that is not known tells nothing of it: what is found there is known, and lies before it.
    check_vantage(principal, replace(vantage, position=None), view.timeline)
    return vantage


def _find_titled(view: View, words: str, index: SearchIndex, mask: Mask | None) -> list[int]:
    """Find the first passages of chapters whose titles the words are, or a large part of.

    One or two words that are a smaller part of a title say little: many chapters are about a whale.
    """
    wanted = set(split_terms(strip_numbers(words)))
    found = []
    for document in (view.snapshot(Manuscript) or Manuscript()).documents if wanted else ():
        terms = {term for term in split_terms(strip_numbers(document.title)) if not term.isdecimal()}
        first = index.first_passages.get(document.id)
        common = len(wanted & terms)
        if common >= MIN_TITLE_TERMS:
            is_titled = 4 * common >= 3 * len(wanted)  # a pair of characters of another order is forgiven
        else:
            is_titled = common == len(wanted) and 2 * common > len(terms)
        if is_titled and first is not None and index.by_id[document.id].passages and (mask is None or mask[first]):
            found.append(first)
    return found


def mark_words(text: str, words: str) -> list[tuple[int, int]]:
    """Find the spans of a text that match one of the words, in any inflected form; "the" and the like match nothing."""
    terms = find_shared_terms(words) | {word for word in _WORD.findall(words) if len(word) == 1 and word > "\u2e7f"}
    spans: list[tuple[int, int]] = []
    for word in _WORD.finditer(text):
        candidates = [(word.start(), word.end())]
        if word[0][0] > "\u2e7f":  # Chinese, Japanese or Korean: terms are pairs of characters, or one that is alone
            offsets = range(word.start(), word.end())
            candidates = [(start, start + size) for start in offsets for size in (1, 2) if start + size <= word.end()]
        for start, end in candidates:
            part = text[start:end]
            if part in terms or terms.intersection(find_shared_terms(part)):
                if spans and start <= spans[-1][1]:
                    spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
                else:
                    spans.append((start, end))
    return spans


def find_names(view: View, text: str, vantage: Vantage) -> tuple[str, ...]:
    """Return the names and aliases, as far as a vantage knows them, of the codex entries that a text mentions."""
    codex = view.snapshot(Codex)
    if codex is None:
        return ()
    accepts = make_name_filter(codex, vantage, view.timeline)
    ids = dict.fromkeys(hit.owner for hit in codex.name_matcher.find(text) if accepts is None or accepts(hit))
    return tuple(name for ident in ids for name in list_known_names(codex, codex.by_id[ident], vantage, view.timeline))


def find_names_near_cursor(request: SourceRequest, view: View) -> tuple[str, ...]:
    """Return the names, as far as they are known here, of the codex entries that are mentioned near the cursor."""
    codex = view.snapshot(Codex)
    if codex is None:
        return ()
    find, vantage, timeline = codex.name_matcher.find, request.vantage, view.timeline
    accepts = make_name_filter(codex, vantage, timeline)
    ids = dict.fromkeys(ident for part in request.nearby for ident in part.nearest_mentions(find, accepts))
    return tuple(name for ident in ids for name in list_known_names(codex, codex.by_id[ident], vantage, timeline))


def _find_end(view: View, until: str | None) -> Position | None:
    """Find the end of the chapter `until`, or of the manuscript."""
    documents = (view.snapshot(Manuscript) or Manuscript()).documents
    if until is None:
        return Position(documents[-1].id, len(documents[-1].text)) if documents else None
    found = find_document(documents, until)
    return Position(found, next(len(one.text) for one in documents if one.id == found))
