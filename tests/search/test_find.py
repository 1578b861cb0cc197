"""Which passages are searched for whom, and each of them once."""

from __future__ import annotations

import numpy as np

from fabula.core.story import Perspective, Position, Timeline, TimelineEntry, Vantage
from fabula.search.corpus import CONVERSATION_PREFIX, ConversationTexts, Corpus
from fabula.search.find import SearchScope, find_passages, find_visibility, make_search_mask
from fabula.search.index.index import SearchIndex
from fabula.search.index.passages import DocumentText
from fabula.search.model import Passage, Query, SearchDocument
from tests.manuscript.stories import filler
from tests.text.strings import prose

CHAPTERS = [DocumentText(f"ch-{n}", f"Chapter {n}", filler(300, f"tide{n}")) for n in (1, 2, 3)]
ORDER = Timeline([TimelineEntry("ch-1"), TimelineEntry("ch-2", when=0.5), TimelineEntry("ch-3")])
MESSAGES = (
    Passage("history:m1", "The astrolabe is under the stairs.", "Mara", known_to=frozenset({"pawn:mara"})),
    Passage("history:m2", "Nobody knows that.", "Will", known_to=frozenset({"pawn:mara", "pawn:will", "reader"})),
    Passage("history:m3", "I said it to myself.", "user"),
)


def built(texts: list[DocumentText] = CHAPTERS) -> SearchIndex:
    return Corpus(
        "p", texts, ConversationTexts(0, lambda: [SearchDocument(f"{CONVERSATION_PREFIX}chat", MESSAGES)])
    ).build_index()


def seen(found: SearchIndex, scope: SearchScope) -> set[str]:
    """The threads something may be told of, and messages by name."""
    numbers = np.flatnonzero(make_search_mask(found, scope)).tolist()
    documents = {found.document_of(number).id for number in numbers} - {f"{CONVERSATION_PREFIX}chat"}
    return documents | {
        found.passages[n].source for n in numbers if found.document_of(n).id == f"{CONVERSATION_PREFIX}chat"
    }


def at(
    document: str, offset: int = 1 << 30, eyes: Perspective = Perspective.READER, character: str | None = None
) -> Vantage:
    return Vantage(eyes, Position(document, offset), character)


def test_what_lies_behind_us_in_both_orders_is_searched() -> None:
    found = built()
    assert seen(found, SearchScope(at("ch-1"), ORDER)) == {"ch-1"}
    assert seen(found, SearchScope(at("ch-2"), ORDER)) == {"ch-2"}, "chapter 2 happens before chapter 1"
    assert seen(found, SearchScope(at("ch-3"), ORDER)) == {"ch-1", "ch-2", "ch-3"}


def test_of_our_own_chapter_only_what_ends_before_us_and_before_the_window() -> None:
    found = built()
    first = found.first_passages["ch-3"]
    span = slice(first, first + len(found.by_id["ch-3"].passages))
    for offset in (0, 300, 900, 1 << 30):
        for shown in (None, 250, 600):
            scope = SearchScope(
                at("ch-3", offset), ORDER, shown_from=None if shown is None else Position("ch-3", shown)
            )
            limit = offset if shown is None else min(offset, shown)
            assert make_search_mask(found, scope)[span].tolist() == [
                end <= limit for end in found.passage_ends[span].tolist()
            ]


def test_the_author_looks_everywhere() -> None:
    found = built()
    everything = {"ch-1", "ch-2", "ch-3", "history:m1", "history:m2", "history:m3"}
    assert seen(found, SearchScope(at("ch-1", 0, Perspective.AUTHOR), ORDER)) == everything


def test_what_only_some_witnessed_is_searched_for_them() -> None:
    texts = [DocumentText("ch-1", "One", filler(300), frozenset({"grace", "reader"})), CHAPTERS[2]]
    order = Timeline([TimelineEntry("ch-1"), TimelineEntry("ch-3")])
    found = built(texts)
    assert "ch-1" in seen(found, SearchScope(at("ch-3"), order))
    assert "ch-1" in seen(found, SearchScope(at("ch-3", eyes=Perspective.CHARACTER, character="grace"), order))
    assert "ch-1" not in seen(found, SearchScope(at("ch-3", eyes=Perspective.CHARACTER, character="will"), order))


def test_what_was_said_belongs_to_those_who_were_there() -> None:
    found = built()
    nowhere = Timeline()

    def messages(character: str | None, conversation: str = "", speaker: str = "") -> set[str]:
        eyes = Perspective.CHARACTER if character else Perspective.READER
        return seen(found, SearchScope(Vantage(eyes, None, character), nowhere, conversation, speaker))

    assert messages("pawn:mara", "elsewhere", "pawn:mara") == {"history:m1", "history:m2"}
    assert messages("pawn:will", "chat", "pawn:will") == {"history:m2", "history:m3"}
    assert messages(None, "chat") == {"history:m2", "history:m3"}, "a whisper is for its audience"
    assert messages(None, "elsewhere") == set()


def test_what_was_said_has_no_place_in_the_story_and_is_not_told_where_places_matter() -> None:
    found = built()
    scope = SearchScope(at("ch-3"), ORDER, "chat")
    assert not [one for one in seen(found, scope) if one.startswith("history:")]
    assert find_visibility(MESSAGES[0], f"{CONVERSATION_PREFIX}chat", scope).since == Position(
        f"{CONVERSATION_PREFIX}chat"
    )
    assert (
        find_visibility(MESSAGES[0], f"{CONVERSATION_PREFIX}chat", SearchScope(Vantage(), Timeline(), "chat")).since
        is None
    )


def test_what_is_nearly_alike_is_found_once() -> None:
    verse = "Row, brothers, row, past the harbour light and do not look back at the grey shore behind us"
    texts = [
        DocumentText("a", "A", filler(200) + f"\n\n{verse}, {filler(20)}"),
        DocumentText("b", "B", filler(200, "gull") + f"\n\n{verse}; {filler(20)}"),
        DocumentText("c", "C", "The harbour light was out when the brothers came home. " + filler(30, "crow")),
    ]
    found = built(texts)
    hits = find_passages(found, Query(parts=((verse, 1.0),)), None, 10)
    told = [
        found.document_of(hit.passage_number).id
        for hit in hits
        if "brothers" in found.passages[hit.passage_number].text
    ]
    assert len({"a", "b"} & set(told)) == 1
    assert "c" in told


def test_no_more_are_found_than_asked_for_best_first() -> None:
    found = built([DocumentText("a", "A", prose(1, 60))])
    hits = find_passages(found, Query(parts=(("Mara lamp harbour 灯塔", 1.0),)), None, 3)
    assert len(hits) == 3
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 < hit.score <= 1 for hit in hits)


def test_queries_without_words_find_nothing() -> None:
    for words in ("", " ", "…—。", "\x00\u200b"):
        assert find_passages(built(), Query(parts=((words, 1.0),)), None, 5) == []
    assert find_passages(built(), Query(), None, 5) == []


def test_a_query_of_a_hundred_thousand_characters_is_answered() -> None:
    assert find_passages(built(), Query(parts=((filler(20_000, "tide2"), 1.0),)), None, 5)
