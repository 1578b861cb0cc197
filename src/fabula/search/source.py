"""The source of retrieved passages: what the manuscript and conversations say about the text at hand (ctx-3).

The source ranks passages for the text before the cursor or for a question, and offers as many as fit into its share of
the retrieved layer. Between two selections it keeps the passages of the last prompt and adds a new one only where that
is clearly better, so that the cached prefix stays valid. What a model asked for in the scene since the last prompt
joins at once, and stays like the others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fabula.context.gate import judge_fragment
from fabula.context.order import OFTEN_CHANGING
from fabula.context.place import place_own
from fabula.context.reasons import explain_unnamed
from fabula.context.request import SourceRequest, has_limits
from fabula.context.trace import Reason, Verdict
from fabula.core.errors import Code
from fabula.core.fragment import EarlierMessage, Fragment, Layer, Placement
from fabula.core.messages import ENGLISH, Sentence, join_names, message
from fabula.core.relevance import PASSAGE, score_in_range
from fabula.core.story import Position
from fabula.core.view import View
from fabula.search.corpus import CONVERSATION_PREFIX, Corpus, UsableIndex
from fabula.search.dates import parse_day
from fabula.search.embeddings.choice import EmbeddingChoice, EmbeddingStatus
from fabula.search.find import (
    MessageScope,
    SearchScope,
    drop_near_duplicates,
    find_passages,
    find_visibility,
    make_search_mask,
    mask_current,
)
from fabula.search.index.index import SearchIndex
from fabula.search.model import Passage, Query, SearchHit
from fabula.search.needs import MAX_QUESTIONS, NeedPlace, Needs
from fabula.search.query import make_query
from fabula.text.quotes import head_conversation, head_own_conversation, render_line
from fabula.text.shared_words import find_shared_words
from fabula.text.terms import find_shared_terms

log = logging.getLogger("fabula.search")

MAX_OMITTED = 24  # near passages that a dry run names though they were not offered
LAYER_SHARE = 0.5  # of the retrieved layer's tokens, beside a text; a chat alone uses all of them
MAX_PASSAGES, MIN_PASSAGES = 64, 8  # that are ranked, depending on the tokens,
MIN_PASSAGE_TOKENS = 25  # where one takes about so many tokens at least
NEIGHBOUR_SCORE = 0.5  # of a passage's score is the score of those right beside it
WITH_NEIGHBOURS = 2  # passages, the best ones, that bring their neighbours along
NEED_WEIGHT = 0.8  # of the score of a passage that answers a question of the model
PASSAGES_PER_NEED = 2  # that answer one question
MAX_NEED_HITS = 8  # among which they are looked for
MIN_NEED_TERMS = 2  # that such a passage shares with its question
NEED_SHARE = 0.1  # of the retrieved layer's tokens, for such passages: by then the others have taken their own share
PREVIOUS_BONUS = 1.5  # factor for a passage of the last prompt, which a new one must beat
WAIT_SECONDS = 5.0  # for the index, where the last prompt held passages: a model takes longer to read it anew
_MAX_WORDS = 4  # named as the reason
_UNLIMITED = 1 << 60
_TITLE_CHARACTERS = 24  # of a passage that its title shows

_SHOWN = message("the text before the cursor")
_SHOWN_IN_CHAT = message("it is already in this conversation")
_NOTHING: frozenset[str] = frozenset()
_ALIKE = message("resembles the text nearby")
_BESIDE = message("is next to a passage that was found")
_ONLY_WORDS = message("passages could not be compared by meaning; search goes by words alone")

FindNames = Callable[[SourceRequest, View], Sequence[str]]
FindMessageScope = Callable[[SourceRequest, View], MessageScope | None]


def find_no_names(source_request: SourceRequest, view: View) -> Sequence[str]:
    """No names: for a search without a codex."""
    return ()


def find_no_scope(source_request: SourceRequest, view: View) -> MessageScope | None:
    """No scope: messages of all conversations can be found."""
    return None


class SearchSource:
    """Offers passages from earlier in the manuscript and from conversations, never from the text window itself."""

    name = "search"
    unavailable_code = Code.RETRIEVAL_UNAVAILABLE
    blocking = False
    runs_first = False

    def __init__(
        self,
        find_names: FindNames = find_no_names,
        embedding: EmbeddingChoice | None = None,
        find_message_scope: FindMessageScope = find_no_scope,
    ) -> None:
        """`find_names` gives all names of those mentioned nearby; `embedding` adds search by meaning.

        `find_message_scope` says which messages a chat may find.
        """
        self._find_names = find_names
        self._find_message_scope = find_message_scope
        self._embedding = embedding

    def fragments(self, source_request: SourceRequest, view: View) -> Iterable[Fragment]:
        """The best passages; between two selections, those of the last prompt and a clearly better one."""
        usable = self._get_index(source_request, view)
        return () if usable is None else self._select(usable, source_request, view)

    def _select(self, usable: UsableIndex, source_request: SourceRequest, view: View) -> Iterator[Fragment]:
        index = usable.index
        query, scope = self._make_query(index, source_request, view), self._make_scope(index, source_request, view)
        if not query.parts:
            return
        mask = make_search_mask(index, scope, usable.outdated)
        share = 1.0 if source_request.text_before_cursor is None else LAYER_SHARE
        tokens = int(source_request.token_shares[Layer.RETRIEVED] * share)
        limit = min(MAX_PASSAGES, max(tokens // MIN_PASSAGE_TOKENS, MIN_PASSAGES))
        hits = find_passages(index, query, mask, limit, self._score_by_meaning(index, query, source_request, view))
        place = _find_need_place(source_request, view)
        needed = {} if place is None else _find_needed(index, place, source_request, view, mask)
        hits = _add_needed(hits, needed) if needed else hits
        need_tokens = int(source_request.token_shares[Layer.RETRIEVED] * NEED_SHARE)
        stays = frozenset[str]() if source_request.reselect else frozenset(source_request.previously_included)
        is_new = place is not None and source_request.source_state.get(self.name) != place.id.encode()
        joining = needed if is_new else ()
        for number, score, is_neighbour in _order_passages(index, hits, source_request, mask, joining):
            passage = index.passages[number]
            cost = source_request.tokenizer.count(passage.text)
            is_common = cost <= tokens and not (number in needed and cost <= need_tokens)
            if not is_common and (cost > need_tokens or not (number in needed or passage.source in stays)):
                continue
            if not _is_shown(passage, index.document_of(number).id, source_request, scope):
                tokens, need_tokens = (tokens - cost, need_tokens) if is_common else (tokens, need_tokens - cost)
                shared = _BESIDE if is_neighbour else SharedWords(text=index.passages[number].text, query=query)
                reason = needed[number].reason if number in needed else shared
                yield _make_fragment(index, number, score, reason, source_request, scope)

    def save_state(self, source_request: SourceRequest, view: View) -> bytes:
        """The place whose questions the request used: what the questions of another one find joins at once."""
        place, corpus = _find_need_place(source_request, view), view.snapshot(Corpus)
        if place is None or corpus is None or corpus.get_usable_index() is None:
            return source_request.source_state.get(self.name, b"")
        return place.id.encode()

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterator[Verdict]:
        """Near passages that were not offered, and why; messages of the own conversation are its source's business."""
        corpus = view.snapshot(Corpus)
        usable = corpus.get_usable_index() if corpus is not None else None
        if usable is None:
            return
        index = usable.index
        query = self._make_query(index, source_request, view)
        if not query.parts:
            return
        scope = self._make_scope(index, source_request, view)
        offered = {fragment.source for fragment in self.fragments(source_request, view)}
        own = CONVERSATION_PREFIX + source_request.request.conversation_id
        mask, current = make_search_mask(index, scope), mask_current(index, usable.outdated)
        for hit in find_passages(index, query, current, MAX_OMITTED + len(offered)):
            number = hit.passage_number
            fragment = _make_fragment(index, number, hit.score, "", source_request, scope)
            if fragment.source not in offered and index.document_of(number).id != own:
                reason, detail = judge_fragment(fragment, source_request.vantage, view.timeline), None
                is_shown = _is_shown(index.passages[number], index.document_of(number).id, source_request, scope)
                if reason in (None, Reason.NOT_REVEALED) and (is_shown or not mask[number]):
                    in_chat = source_request.text_before_cursor is None
                    reason, detail = Reason.DUPLICATE, _SHOWN_IN_CHAT if in_chat else _SHOWN
                elif reason is Reason.NOT_KNOWN:
                    detail = explain_unnamed(fragment.made_of, source_request.vantage)
                verdict = Reason.NOT_CHOSEN if reason in (None, Reason.NOT_REVEALED) else reason
                yield Verdict(
                    fragment.source, fragment.title, Layer.RETRIEVED, verdict, 0, fragment.score, detail or ""
                )

    def _make_query(self, index: SearchIndex, source_request: SourceRequest, view: View) -> Query:
        """The query of a request; a failure to find names does not prevent the search."""
        try:
            names = self._find_names(source_request, view)
        except Exception as error:
            log.warning("names near the cursor could not be found: %s", type(error).__name__)
            names = ()
        return make_query(source_request, names, _find_date(index, source_request))

    def _make_scope(self, index: SearchIndex, source_request: SourceRequest, view: View) -> SearchScope:
        return make_search_scope(index, source_request, view, self._find_message_scope(source_request, view))

    def _score_by_meaning(
        self, index: SearchIndex, query: Query, source_request: SourceRequest, view: View
    ) -> NDArray[np.float32] | None:
        """The semantic score of each passage; None where there are no vectors."""
        status = EmbeddingStatus() if self._embedding is None else self._embedding.resolve(view)
        if status.error is not None:
            _warn(source_request, status.error.code, status.error.message)
        if status.search is None:
            return None
        result = status.search.score_passages(source_request.request.project_id, index, query)
        if result.error:
            _warn(source_request, Code.EMBEDDING_UNAVAILABLE, _ONLY_WORDS)
        return result.scores

    @staticmethod
    def _get_index(source_request: SourceRequest, view: View) -> UsableIndex | None:
        corpus = view.snapshot(Corpus)
        if corpus is None or not (source_request.nearby or source_request.text_before_cursor):
            return None
        usable = corpus.get_usable_index(wait_seconds=WAIT_SECONDS if _has_passages(source_request) else 0.0)
        if usable is None:
            done, total = corpus.progress
            sentence = message(
                "the search index is being built ({percent} % done); until then no passages are found",
                percent=100 * done // max(total, 1),
            )
            _warn(source_request, Code.RETRIEVAL_NOT_READY, sentence)
        elif usable.index.cache_error:
            sentence = message(
                "the search cache could not be used ({why}); the index was built without it",
                why=usable.index.cache_error,
            )
            _warn(source_request, Code.RETRIEVAL_CACHE, sentence)
        return usable


def _has_passages(source_request: SourceRequest) -> bool:
    """Did the last prompt hold passages? Without them all that follows them would be read anew."""
    return any(source.partition(":")[0] in OFTEN_CHANGING for source in source_request.previously_included)


def _warn(source_request: SourceRequest, code: Code, sentence: Sentence) -> None:
    source_request.warnings.append(f"{code.value}: {sentence.render(source_request.language)}")


def make_search_scope(
    index: SearchIndex, source_request: SourceRequest, view: View, messages: MessageScope | None = None
) -> SearchScope:
    """The scope of a request; `messages` says which messages a chat may find."""
    request = source_request.request
    return SearchScope(
        source_request.vantage,
        view.timeline,
        request.conversation_id,
        request.speaker_id,
        source_request.earliest_shown_position(),
        _count_shown_messages(index, source_request),
        messages,
    )


def _find_conversation(index: SearchIndex, conversation_id: str) -> int | None:
    """The number of the first passage of a conversation."""
    return index.first_passages.get(CONVERSATION_PREFIX + conversation_id) if conversation_id else None


def _count_shown_messages(index: SearchIndex, source_request: SourceRequest) -> int:
    """How many of the latest messages the prompt shows, or could show where that is not decided yet."""
    first, window = _find_conversation(index, source_request.request.conversation_id), source_request.history_window
    if first is None or window.first_shown == "":
        return 0
    passages = index.document_of(first).passages
    first_shown = index.find_passage(window.first_shown) if window.first_shown else None
    if first_shown is not None:
        return max(first + len(passages) - first_shown, 0)
    available = source_request.available_tokens
    tokens = available if window.max_tokens is None else min(window.max_tokens, available)
    characters = _UNLIMITED if window.max_characters is None else window.max_characters
    shown = 0
    for passage in reversed(passages[-window.max_messages :] if window.max_messages else passages):
        tokens -= source_request.tokenizer.count(passage.text)
        characters -= len(passage.text)
        if min(tokens, characters) < 0:
            break
        shown += 1
    return shown


# the number of a passage, its score, and whether it is only the neighbour of one that was found
OrderedPassage = tuple[int, float, bool]


def _order_passages(
    index: SearchIndex,
    hits: Sequence[SearchHit],
    source_request: SourceRequest,
    mask: NDArray[np.bool_],
    joining: Iterable[int],
) -> list[OrderedPassage]:
    """Passages in the order in which they are offered; those `joining` need not be better than the last prompt's."""
    scores = {hit.passage_number: hit.score for hit in hits}
    previous = [
        number
        for source in source_request.previously_included
        if (number := index.find_passage(source)) is not None and mask[number]
    ]
    if previous and not source_request.reselect:
        minimum = PREVIOUS_BONUS * max(scores.get(number, 0.0) for number in previous)
        better = (hit.passage_number for hit in hits[:1] if hit.score > minimum)
        kept = [SearchHit(one, scores.get(one, 0.0)) for one in dict.fromkeys((*previous, *joining, *better))]
        return [(hit.passage_number, hit.score, False) for hit in drop_near_duplicates(index, kept)]
    rank = dict(scores)
    lowest = hits[-1].score if hits else 0.0  # a passage that was not found scores at most as much
    for number in previous:
        rank[number] = scores.get(number, lowest) * PREVIOUS_BONUS
    neighbours: set[int] = set()
    for hit in hits[:WITH_NEIGHBOURS]:
        for number in index.find_neighbours(hit.passage_number):
            if mask[number] and number not in rank:
                neighbours.add(number)
                rank[number] = NEIGHBOUR_SCORE * hit.score
    place = {number: at for at, number in enumerate(previous)}  # of equal ones, the latest included is dropped first
    ordered = sorted(rank, key=lambda number: (-rank[number], place.get(number, len(place)), number))
    selected = [SearchHit(number, rank[number]) for number in ordered]
    selected = drop_near_duplicates(index, selected) if previous else selected
    return [(hit.passage_number, hit.score, hit.passage_number in neighbours) for hit in selected]


class _NeededPassage(Struct, frozen=True):
    """The score of a passage that answers a question of the model, and that question as the reason for it."""

    score: float
    reason: Sentence


def _find_need_place(source_request: SourceRequest, view: View) -> NeedPlace | None:
    """The place whose questions serve a request, if there is one."""
    needs = None if has_limits(source_request.request.principal) else view.snapshot(Needs)
    window = source_request.text_before_cursor
    if needs is None or window is None:
        return None
    return needs.find_place(source_request.vantage, window.paragraphs.text, window.end)


def _find_needed(
    index: SearchIndex, place: NeedPlace, source_request: SourceRequest, view: View, mask: NDArray[np.bool_]
) -> dict[int, _NeededPassage]:
    """The passages that answer what a model asked for in this scene, by number; each question has a few at most.

    A passage must share two terms with its question, so that a question about nothing in the book finds nothing. It
    stands in the story before the scene, for the author too.
    """
    found: dict[int, _NeededPassage] = {}
    for question in place.questions[:MAX_QUESTIONS]:
        terms = _find_terms(question)
        reason = message("asked for by the model: {question}", question=question)
        hits = index.search_again(question, limit=MAX_NEED_HITS, allowed=mask)
        earlier = (hit for hit in drop_near_duplicates(index, hits) if _is_earlier(index, hit, source_request, view))
        for hit in islice(earlier, PASSAGES_PER_NEED):
            shared = terms & _find_terms(index.passages[hit.passage_number].text)
            if len(shared) >= MIN_NEED_TERMS:
                found.setdefault(hit.passage_number, _NeededPassage(NEED_WEIGHT * hit.score, reason))
    return found


def _is_earlier(index: SearchIndex, hit: SearchHit, source_request: SourceRequest, view: View) -> bool:
    """Whether a passage is of the story and lies before the place of a request."""
    number = hit.passage_number
    end = Position(index.document_of(number).id, index.passages[number].end)
    return view.timeline.has_reached(end, source_request.vantage.position)


_find_terms = lru_cache(maxsize=1 << 9)(find_shared_terms)  # of texts that one request after the other compares


def _add_needed(hits: Sequence[SearchHit], needed: Mapping[int, _NeededPassage]) -> list[SearchHit]:
    """The hits with the passages that the model asked for among them, best first."""
    scores = {number: one.score for number, one in needed.items()}
    for hit in hits:
        scores[hit.passage_number] = max(hit.score, scores.get(hit.passage_number, 0.0))
    return [SearchHit(number, scores[number]) for number in sorted(scores, key=lambda one: (-scores[one], one))]


def _find_date(index: SearchIndex, source_request: SourceRequest) -> str:
    """The date of the request, from which "last summer" counts: that of the session, else of the latest message."""
    request = source_request.request
    date = next((value for _, value in sorted(request.session.items()) if parse_day(value)), "")
    first = _find_conversation(index, request.conversation_id)
    if date or first is None:
        return date
    return next((passage.at for passage in reversed(index.document_of(first).passages) if passage.at), "")


def _is_shown(passage: Passage, document_id: str, source_request: SourceRequest, scope: SearchScope) -> bool:
    """Does the text before the cursor contain the same words, or the conversation the same message?"""
    window = source_request.text_before_cursor
    if scope.messages is not None and document_id.startswith(CONVERSATION_PREFIX):
        return passage.text in scope.messages.shown_texts
    return window is not None and window.paragraphs.text.find(passage.text, window.begin, window.end) >= 0


class SharedWords(Sentence, frozen=True, kw_only=True):
    """The reason why a passage was found: the names and words it shares with the query, looked up when it is shown.

    It holds texts and not the index: a reason lives as long as its fragment, and must not keep an old index alive.
    """

    template: str = ""
    text: str
    query: Query

    def render(self, language: str = ENGLISH, *, on_command_line: bool = False) -> str:
        """Return the sentence, with the words that are worth naming; there may be none."""
        heaviest = max((weight for _, weight in self.query.parts), default=0.0)
        asked = [text for text, weight in self.query.parts if weight == heaviest]
        named = [name for name in self.query.names if name in self.text]
        shown = {word.casefold(): word for word in reversed([*named, *find_shared_words(self.text, asked)])}
        words = [word for word in reversed(shown.values()) if not any(_is_part(word, name) for name in named)]
        if not words:
            return _ALIKE.render(language)
        return message("shares {words} with the text nearby", words=join_names(words[:_MAX_WORDS])).render(language)


def _is_part(word: str, name: str) -> bool:
    """Is a word a part of a longer name, in whatever case?"""
    return word != name and (word in name or word.casefold() in name.casefold().split())


def _make_fragment(
    index: SearchIndex,
    number: int,
    score: float,
    reason: str | Sentence,
    source_request: SourceRequest,
    scope: SearchScope,
) -> Fragment:
    passage, document_id = index.passages[number], index.document_of(number).id
    visibility, language = find_visibility(passage, document_id, scope), source_request.language
    conversation_id = _find_conversation_id(document_id)
    rendered = index.rendered_passages.get((number, language))
    if rendered is None:
        title = passage.title or document_id
        if conversation_id:
            text = render_line(passage.title, passage.text, language)
        elif document_id.startswith(CONVERSATION_PREFIX):
            text = message("[Said before, {title}] ", title=title).render(language) + passage.text
        else:
            text = message("[From {title}] ", title=title).render(language) + passage.text
        rendered = text, f"{title}: {passage.text[:_TITLE_CHARACTERS].strip()}…"
        index.rendered_passages[number, language] = rendered
    return Fragment(
        source=passage.source,
        layer=Layer.RETRIEVED,
        text=rendered[0],
        project_id=source_request.request.project_id,
        title=rendered[1],
        score=score_in_range(PASSAGE, score),
        placement=_find_placement(passage, document_id, scope, source_request),
        since=visibility.since,
        known_to=visibility.known_to,
        made_of=_NOTHING if document_id.startswith(CONVERSATION_PREFIX) else frozenset({document_id}),
        explanation=reason,
        is_single_use=True,
        conversation_id=conversation_id,
        earlier=_find_earlier(index, number, scope, language) if conversation_id else None,
    )


def _find_earlier(index: SearchIndex, number: int, scope: SearchScope, language: str) -> EarlierMessage:
    """Where a message was said, with the heading of its conversation."""
    passage, document = index.passages[number], index.document_of(number)
    if document.id == CONVERSATION_PREFIX + scope.conversation_id:
        heading = head_own_conversation(language, passage.at)
    else:
        heading = head_conversation(language, passage.at, document.title, passage.present)
    return EarlierMessage(heading, passage.at, passage.number, passage.follows)


def _find_conversation_id(document_id: str) -> str:
    """The conversation whose messages a document has; empty for another document."""
    is_conversation = document_id.startswith(CONVERSATION_PREFIX) and "#" not in document_id
    return document_id.removeprefix(CONVERSATION_PREFIX) if is_conversation else ""


def _find_placement(
    passage: Passage, document_id: str, scope: SearchScope, source_request: SourceRequest
) -> Placement | None:
    """Where a message stands that not everybody in a chat heard: behind what is the same for all of them."""
    if scope.messages is None or passage.known_to is None or not document_id.startswith(CONVERSATION_PREFIX):
        return None
    is_common = source_request.is_common(passage.source, passage.known_to, scope.messages.present)
    return None if is_common else place_own(source_request.request)
