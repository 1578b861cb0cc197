"""Passages of the manuscript that bear on what is being written, none of them a spoiler or a repetition."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from fabula.context.budget import Limits
from fabula.context.continuity import NO_CONTINUITY
from fabula.context.engine import Engine, EngineSettings
from fabula.context.recipes import CHAT
from fabula.context.request import SourceRequest
from fabula.context.result import Result
from fabula.context.trace import Reason
from fabula.conversation.model import Message
from fabula.core.errors import Code
from fabula.core.fragment import Layer
from fabula.core.relevance import PASSAGE
from fabula.core.view import View
from fabula.manuscript.model import Document
from fabula.search.corpus import ConversationTexts, Corpus
from fabula.search.model import Query, SearchDocument
from fabula.search.source import SearchSource, SharedWords
from fabula.workspace.read_only import open_view
from fabula.workspace.sources import all_sources
from tests.manuscript.stories import PROJECT, ask, chapter, everything, filler, sources, story


def marked(word: str, words: int = 900) -> str:
    """A chapter with a rare word in the middle of it."""
    return filler(words // 2) + f"\n\nThe {word} lay on the table, and the {word} was broken.\n\n" + filler(words // 2)


def long_chapter(paragraphs: int) -> str:
    """Long words, so that a token is many characters; every paragraph has a word of its own."""
    words = ("lantern", "harbour", "yesterday", "whispering", "remembered", "particular", "afterwards", "wonderful")
    return "\n\n".join(" ".join(words * 8) + f" marker{n:03}x." for n in range(paragraphs))


def window_of(result: Result) -> str:
    return result.prompt.split("[The text up to the cursor]\n")[1].split("\n\n(The cursor stands")[0]


def test_a_passage_of_an_earlier_chapter_is_found_by_what_is_asked() -> None:
    fabula = story(chapter(1, marked("astrolabe")), *[chapter(n, filler(2000, f"tide{n}")) for n in (2, 3)])
    result = ask(fabula, additional_input="What happened to the astrolabe?")
    found = [verdict for verdict in result.trace if verdict.source.startswith("search:ch-1#") and verdict.included]
    assert any("astrolabe" in verdict.text for verdict in found)
    assert all(verdict.layer is Layer.RETRIEVED for verdict in found)
    assert all(PASSAGE[0] <= verdict.score <= PASSAGE[1] + 1e-9 for verdict in found)
    assert "[From Chapter 1]" in result.prompt


def test_a_passage_is_known_from_where_it_ends() -> None:
    for cursor in range(0, 4000, 500):
        text = marked("astrolabe")
        result = ask(story(chapter(1, text)), cursor=min(cursor, len(text)), window=2000, additional_input="astrolabe")
        assert "astrolabe lay" not in everything(result) or text.index("astrolabe lay") < cursor + 500


@pytest.mark.parametrize("skill", ["continue", "rewrite", "chat"])
def test_passages_of_later_chapters_are_never_told(skill: str) -> None:
    fabula = story(chapter(1, filler(900)), chapter(2, filler(900)), chapter(3, marked("astrolabe")))
    for document in ("ch-1", "ch-2"):
        result = ask(fabula, document_id=document, skill_id=skill, additional_input="astrolabe table broken")
        assert "astrolabe lay" not in everything(result)


def test_in_a_flashback_passages_of_what_happens_later_stay_out() -> None:
    book = [chapter(1, marked("astrolabe")), chapter(2, filler(900), story_time=0.5), chapter(3, filler(900))]
    fabula = story(*book)
    assert "astrolabe lay" not in everything(ask(fabula, document_id="ch-2", additional_input="astrolabe"))
    assert "astrolabe lay" in ask(fabula, document_id="ch-3", additional_input="astrolabe").prompt


@pytest.mark.parametrize("place", [0.2, 0.5, 0.8])
def test_passages_from_behind_the_cursor_of_this_chapter_are_never_told(place: float) -> None:
    text = long_chapter(300)
    cursor = int(len(text) * place)
    wanted = " ".join(f"marker{n:03}x" for n in range(0, 300, 10))
    fabula = story(chapter(1, text))
    for skill in ("continue", "plan"):
        result = ask(fabula, cursor=cursor, window=8192, additional_input=wanted, skill_id=skill)
        for verdict in result.trace:
            if verdict.source.startswith("search:") and verdict.included:
                assert text.index(verdict.text.split("] ", 1)[1][-30:]) < cursor


@pytest.mark.parametrize("cursor", [None, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("size", [4096, 8192, 32_000])
def test_what_the_window_shows_is_not_told_again_as_a_passage(size: int, cursor: float | None) -> None:
    text = long_chapter(400)
    at = None if cursor is None else int(len(text) * cursor)
    wanted = " ".join(f"marker{n:03}x" for n in range(0, 400, 5))
    fabula = story(chapter(1, text))
    result = ask(fabula, cursor=at, window=size, additional_input=wanted)
    shown = window_of(result)
    for verdict in result.trace:
        if verdict.source.startswith("search:") and verdict.included:
            assert verdict.text.split("] ", 1)[1][-30:] not in shown


def test_words_typed_before_the_cursor_do_not_turn_what_follows_it_into_the_past() -> None:
    text = filler(700) + "\n\n" + marked("astrolabe")
    typed = filler(6000, "gull")
    cursor = len(typed) + 100
    result = ask(
        story(chapter(1, text)), unsaved_text=typed + text, cursor=cursor, window=4096, additional_input="astrolabe"
    )
    assert "astrolabe lay" not in everything(result)


def test_passages_told_before_stay_in_their_place() -> None:
    fabula = story(chapter(1, marked("astrolabe")), chapter(2, marked("sextant")), chapter(3, filler(900, "gull")))
    first = fabula.request(additional_input="astrolabe", cursor=2000)
    fabula.report_answer(fabula.assemble(first).assembly_id)
    told = sources(ask(fabula, additional_input="astrolabe", cursor=2000), "search:")
    assert set(told) <= set(sources(ask(fabula, additional_input="", cursor=2010), "search:"))


def test_search_fills_no_more_than_half_of_the_retrieved_share() -> None:
    book = [chapter(n, marked("astrolabe", 4000)) for n in range(1, 30)]
    fabula = story(*book, Document("last", "Last", filler(50)))
    result = ask(fabula, additional_input="astrolabe table broken", window=8192)
    spent = sum(v.tokens for v in result.trace if v.source.startswith("search:") and v.included)
    assert 0 < spent <= result.budget.shares[Layer.RETRIEVED] * 0.6


def test_a_chinese_passage_is_found_by_its_characters() -> None:
    rest = "潮水涨了又退，石头还是石头。" * 60
    text = f"{rest}\n\n星盘放在桌上，已经碎了。\n\n{rest}"
    book = [Document("a", "第一章", text), *(Document(f"b{n}", f"第{n}章", f"{rest}{n}") for n in range(9))]
    result = ask(story(*book, language="zh"), additional_input="星盘在哪里？")
    assert "[第一章·原文]" in result.prompt
    assert "星盘放在桌上" in result.prompt


def test_an_excluded_passage_stays_out() -> None:
    fabula = story(chapter(1, marked("astrolabe")), *[chapter(n, filler(2000, f"tide{n}")) for n in (2, 3)])
    told = sources(ask(fabula, additional_input="astrolabe"), "search:ch-1#")
    assert told
    result = ask(fabula, additional_input="astrolabe", exclude=tuple(told))
    assert not set(told) & set(sources(result))


def test_each_passage_says_what_brought_it_here() -> None:
    fabula = story(chapter(1, marked("astrolabe")), *[chapter(n, filler(2000, f"tide{n}")) for n in (2, 3)])
    result = ask(fabula, additional_input="What happened to the astrolabe?")
    told = [v for v in result.trace if v.source.startswith("search:") and v.included and "astrolabe" in v.text]
    assert any("astrolabe" in str(verdict.detail) for verdict in told)


def test_those_right_beside_the_best_come_along() -> None:
    pages = ["".join(f"{a}{b}{c}or " for b in "aeiouy" for c in "lmnr") for a in "bdfgk"]  # no word of one in another
    pages[2] += "astrolabe"
    fabula = story(chapter(1, "\n\n".join(pages)), chapter(2, "She waited."))
    result = ask(fabula, additional_input="the astrolabe", window=32_000)
    beside = [v for v in result.trace if v.included and v.source.startswith("search:") and "next to" in str(v.detail)]
    assert beside
    best = max((v for v in result.trace if v.source.startswith("search:") and v.included), key=lambda v: v.score)
    assert "astrolabe" in best.text
    assert all(verdict.score < best.score for verdict in beside)


def test_a_dry_run_says_what_was_near_and_not_offered() -> None:
    here = filler(200, "gull") + "\n\n***\n\nSomebody had drawn an astrolabe in chalk.\n\n***\n\n" + filler(200, "crow")
    fabula = story(chapter(1, filler(900)), chapter(2, here), chapter(3, marked("astrolabe")))
    result = ask(fabula, document_id="ch-2", additional_input="the astrolabe on the table, broken")
    later = [v for v in result.trace if v.source.startswith("search:ch-3#")]
    assert later
    assert {verdict.reason for verdict in later} == {Reason.NOT_YET}
    assert not [verdict for verdict in later if verdict.text]
    shown = [v for v in result.trace if v.source.startswith("search:ch-2#") and v.reason is Reason.DUPLICATE]
    assert {str(verdict.detail) for verdict in shown} == {"the text before the cursor"}


def test_while_the_index_is_being_made_the_prompt_comes_without_it_and_says_so() -> None:
    fabula = story(chapter(1, marked("astrolabe")), chapter(2, filler(900)))
    done = threading.Event()

    def waiting() -> Sequence[SearchDocument]:
        done.wait(60)
        return ()

    project_corpus = fabula.view.snapshot(Corpus)
    assert project_corpus is not None
    slow = Corpus(PROJECT, project_corpus.texts, ConversationTexts(0, waiting), immediate_characters=100)
    view = View(fabula.view.project, fabula.view.timeline, {**fabula.view.snapshots, Corpus: slow})
    fabula = open_view(view)
    request = fabula.request(additional_input="Where is the astrolabe?")
    first = fabula.assemble(request)
    assert sources(first, "search:") == []
    assert [warning.partition(":")[0] for warning in first.warnings] == [Code.RETRIEVAL_NOT_READY.value]
    done.set()
    slow.build_index()
    second = fabula.assemble(request)
    assert sources(second, "search:ch-1#")
    assert second.warnings == ()


def test_a_prompt_that_held_passages_waits_for_the_index_after_a_restart() -> None:
    fabula = story(chapter(1, marked("astrolabe")), chapter(2, filler(900)))
    request = fabula.request(additional_input="Where is the astrolabe?")
    first = Engine(all_sources()).assemble(request, fabula.view)
    assert sources(first, "search:")
    project_corpus = fabula.view.snapshot(Corpus)
    assert project_corpus is not None
    for before, expected in ((NO_CONTINUITY, []), (first.continuity, sources(first, "search:"))):
        anew = Corpus(PROJECT, project_corpus.texts, immediate_characters=100)
        view = View(fabula.view.project, fabula.view.timeline, {**fabula.view.snapshots, Corpus: anew})
        again = Engine(all_sources()).assemble(request, view, continuity=before)
        assert sources(again, "search:") == expected


def test_a_moved_paragraph_that_the_window_shows_is_not_told_again() -> None:
    lost = "The astrolabe lay on the table, and the glass of it was broken in three places by the fall."
    fabula = story(chapter(1, f"{filler(300)}\n\n***\n\n{lost}\n\n***\n\n{filler(300)}"), chapter(2, filler(100)))
    typed = f"{filler(60)}\n\n{lost}\n\n"
    result = ask(fabula, unsaved_text=typed, cursor=len(typed), additional_input="astrolabe", window=32_000)
    assert lost in window_of(result)
    assert not [v for v in result.trace if v.source.startswith("search:") and v.included and lost in v.text]


def test_a_speaker_is_told_what_it_heard_in_a_conversation_long_ago() -> None:
    said = [Message(id=f"m{n}", role="user", content=f"{filler(60, f'tide{n}')}", number=n) for n in range(60)]
    said[2] = Message(
        id="m2", role="user", content="The astrolabe is under the stairs.", audience=("pawn:mara",), number=2
    )
    fabula = story(talk=said)
    wishes: dict[str, Any] = {"recipe": "chat", "skill_id": "chat", "conversation_id": "desk", "document_id": ""}
    for speaker, knows in (("pawn:mara", True), ("pawn:will", False), ("", False)):
        result = fabula.assemble(
            fabula.request(**wishes, speaker_id=speaker, window=4096, additional_input="Where is the astrolabe?")
        )
        assert ("under the stairs" in result.prompt) is knows, speaker


def test_what_somebody_does_in_a_chat_brings_a_lasting_detail_that_shares_only_a_name_with_it() -> None:
    scar = "Mara had burned her left hand as a child, and ever since that winter she had hidden the scar."
    days = [f"Mara of day {n} took off for tide{n}, glove{n}, oar{n}." for n in range(300)]
    fabula = story(chapter(1, "\n\n".join([*days[:150], scar, *days[150:]])), chapter(2, filler(400)))
    result = fabula.assemble(
        fabula.request(recipe="chat", skill_id="chat", window=2500, additional_input="Mara takes off her glove.")
    )
    assert 0 < len(sources(result, "search:")) < 100
    assert scar in result.prompt


def test_messages_that_the_window_shows_are_not_told_again() -> None:
    said = [Message(id=f"m{n}", role="user", content=f"The astrolabe, for the {n}th time.") for n in range(9)]
    fabula = story(talk=said)
    request = fabula.request(
        recipe="chat", skill_id="chat", conversation_id="desk", document_id="", additional_input="The astrolabe?"
    )
    result = fabula.assemble(request)
    assert not [v for v in result.trace if v.layer is Layer.RETRIEVED and v.source.startswith("history:")]


CAPS = [
    {"history_tokens": 200},
    {"history_messages": 6, "history_tokens": None},
    {"history_characters": 900, "history_tokens": None},
]


@pytest.mark.parametrize("caps", CAPS, ids=lambda caps: min(caps))
def test_messages_beyond_the_cap_of_the_history_are_found_though_the_window_would_hold_them(
    caps: dict[str, Any],
) -> None:
    said = [Message(id=f"m{n}", role="user", content=filler(25, f"tide{n}")) for n in range(30)]
    said[4] = Message(id="m4", role="user", content="The astrolabe is under the stairs.")
    fabula = story(talk=said)
    recipe = replace(CHAT, **caps)
    engine = Engine(all_sources(), recipes={"chat": recipe})
    request = fabula.request(
        recipe="chat", skill_id="chat", conversation_id="desk", document_id="", additional_input="The astrolabe?"
    )
    result = engine.assemble(request, fabula.view)
    shown = [v.source for v in result.trace if v.included and v.layer is Layer.IMMEDIATE]
    assert "history:m29" in shown
    assert "history:m4" not in shown
    assert [v.source for v in result.trace if v.included and v.source == "history:m4"] == ["history:m4"]
    told = [v.source for v in result.trace if v.included and v.source.startswith("history:")]
    assert len(told) == len(set(told)), "what is shown is not told again"


def test_messages_that_a_step_of_the_window_left_behind_are_found() -> None:
    said = [Message(id=f"m{n}", role="user", content=filler(60, f"tide{n}"), number=n) for n in range(300)]
    said[30] = Message(id="m30", role="user", content="The astrolabe is under the stairs.", number=30)
    wishes: dict[str, Any] = {
        "recipe": "chat",
        "skill_id": "chat",
        "conversation_id": "desk",
        "document_id": "",
        "window": 6000,
    }
    continuity, hidden = NO_CONTINUITY, 0
    for size in range(34, 80, 2):
        fabula = story(talk=said[:size])
        request = fabula.request(**wishes, additional_input="Where is the astrolabe?")
        result = fabula.engine.assemble(request, fabula.view, continuity=continuity)
        continuity = result.continuity
        told = [v for v in result.trace if v.included and v.source == "history:m30"]
        assert len(told) == 1, size
        hidden += told[0].layer is Layer.RETRIEVED
    assert hidden, "it was not always shown"


def test_what_was_said_after_a_long_pause_is_not_brought_along() -> None:
    def talk(later: str) -> list[Message]:
        early = [Message(id=f"m{n}", role="user", content=filler(60, f"tide{n}"), number=n) for n in range(90)]
        early[3] = Message(id="m3", role="user", content="The astrolabe!", timestamp="2023-05-08T10:00:00Z", number=3)
        early[4] = Message(id="m4", role="user", content="Of other things.", timestamp=later, number=4)
        return early

    wishes: dict[str, Any] = {
        "recipe": "chat",
        "skill_id": "chat",
        "conversation_id": "desk",
        "document_id": "",
        "window": 4096,
    }
    for later, along in (("2023-05-08T10:01:00Z", True), ("2023-05-09T09:00:00Z", False)):
        fabula = story(talk=talk(later))
        result = fabula.assemble(fabula.request(**wishes, additional_input="Where is the astrolabe?"))
        assert "history:m3" in sources(result)
        assert ("history:m4" in sources(result)) is along


@pytest.mark.parametrize("session", [{}, {"local time": "2023-10-11 09:00"}])
def test_a_day_is_counted_from_the_session_or_from_the_latest_message(session: dict[str, str]) -> None:
    said = [
        Message(id=f"m{n}", role="user", content=filler(40, f"tide{n}"), timestamp=f"2022-{1 + n % 9:02}-03T09:00:00Z")
        for n in range(120)
    ]
    said[5] = Message(id="m5", role="user", content="We rowed to the reef.", timestamp="2023-10-10T09:00:00Z")
    said[6] = Message(id="m6", role="user", content="We rowed to the rocks.", timestamp="2022-03-04T09:00:00Z")
    if not session:
        said[-1] = Message(id="m119", role="user", content="Good morning.", timestamp="2023-10-11T08:00:00Z")
    fabula = story(talk=said)
    request = fabula.request(
        recipe="chat",
        skill_id="chat",
        conversation_id="desk",
        document_id="",
        window=4096,
        session=session,
        additional_input="Where did we row yesterday?",
    )
    scores = {v.source: v.score for v in fabula.inspect(request).trace if v.source in ("history:m5", "history:m6")}
    assert scores["history:m5"] > scores["history:m6"]


def test_a_codex_that_fails_does_not_keep_search_from_answering() -> None:
    def failing(ask: SourceRequest, view: View) -> Sequence[str]:
        raise ConnectionError("the codex is gone")

    fabula = story(chapter(1, marked("astrolabe")), chapter(2, filler(900)))
    engine = Engine([*(s for s in all_sources() if s.name != "search"), SearchSource(failing)])
    result = engine.assemble(fabula.request(additional_input="astrolabe"), fabula.view)
    assert "astrolabe lay" in result.prompt
    assert result.warnings == ()


@pytest.mark.parametrize("words", ["", " ", "?" * 100_000, "astrolabe " * 10_000, "灯" * 100_000])
def test_questions_of_any_length_are_answered(words: str) -> None:
    view = story(chapter(1, marked("astrolabe")), chapter(2, filler(900))).view
    fabula = open_view(view, settings=EngineSettings(limits=Limits(input_tokens=1_000_000)))
    result = fabula.assemble(fabula.request(skill_id="chat", additional_input=words, window=300_000))
    assert not [warning for warning in result.warnings if warning.startswith("RETRIEVAL")]


def test_passages_are_not_cached_as_measured_fragments_because_each_request_makes_them_anew() -> None:
    fabula = story(*[chapter(n, marked(f"astrolabe{n}", 3000)) for n in range(1, 6)])
    engine, found = Engine(all_sources()), 0
    for n in range(40):
        request = fabula.request(cursor=2000, additional_input=f"What happened to the astrolabe{n % 4 + 1}?")
        trace = engine.inspect(request, fabula.view).trace
        found += sum(verdict.source.startswith("search:") and verdict.included for verdict in trace)
    cached = [piece for measure in engine._measures.values() for piece in measure.measured.recent.values()]
    assert found > len(cached) > 0
    assert not [piece for piece in cached if piece.kind == "search"]


def test_a_part_of_a_name_is_not_named_beside_it() -> None:
    query = Query(parts=(("Tobias Reed went to the press.", 1.0),), names=("Tobias Reed",))
    reason = SharedWords(text="At the press Tobias Reed broke a reed.", query=query)
    assert reason.render() == "shares Tobias Reed, press with the text nearby"
