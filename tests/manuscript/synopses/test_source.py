"""The story so far in a prompt: the last chapters, those that bear on this, the rest rolled up; never what comes."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from weakref import ref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from fabula.codex import Entry
from fabula.codex.edits import put_all
from fabula.context.engine import Engine
from fabula.context.gate import judge_fragment
from fabula.context.result import Result
from fabula.context.trace import Reason
from fabula.core.fragment import Fragment, Layer, Visibility
from fabula.core.relevance import SYNOPSIS
from fabula.core.story import Perspective, Position, Vantage
from fabula.core.view import View
from fabula.manuscript import documents
from fabula.manuscript.drafts import DocumentKind
from fabula.manuscript.model import Document, Manuscript, hash_text
from fabula.manuscript.synopses import editing as synopses
from fabula.manuscript.synopses.chapters import combine_visibility, extracted_synopses
from fabula.manuscript.synopses.plan import ChapterSynopses
from fabula.manuscript.synopses.rollups import MAX_NEW_SYNOPSES, ROLLUP_SIZE
from fabula.manuscript.synopses.source import SynopsesSource
from fabula.store.store import Store
from fabula.text.names.main_characters import CharacterFinder
from fabula.text.summaries import extract_summary
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only, open_view, sample_names
from fabula.workspace.sources import all_sources
from fabula.workspace.view_copies import copy_view
from fabula.workspace.views import ProjectViews
from tests.manuscript.stories import ask, chapter, everything, reason, sources, story

BOOK = [chapter(n, f"Text of chapter {n}.", synopsis=f"Chapter {n} in a nutshell.") for n in range(1, 8)]
NAMES = [f"{first}{second}llow" for first in "BDFGHKMN" for second in "aeiou"]
LONG = [
    chapter(n, f"{name} came to port. Old {name} left it.", synopsis=f"{name} sails for {name}berg.")
    for n, name in enumerate(NAMES, start=1)
]


def told(result: Result) -> list[str]:
    return [source for kind in ("rollup:", "relevant:", "synopsis:") for source in sources(result, kind)]


def test_the_last_three_are_told_last_and_those_before_them_while_there_is_room() -> None:
    result = ask(story(*BOOK), document_id="ch-6")
    assert sources(result, "synopsis:") == [f"synopsis:ch-{n}" for n in range(1, 6)]
    places = [result.prompt.index(f"Chapter {n} in a nutshell.") for n in range(1, 6)]
    assert places == sorted(places)
    assert all(verdict.layer is Layer.RETRIEVED for verdict in result.trace if verdict.source.startswith("synopsis:"))


def test_nearer_chapters_rank_higher_within_their_range() -> None:
    result = ask(story(*BOOK), document_id="ch-6")
    scores = [v.score for v in result.trace if v.source.startswith("synopsis:") and v.included]
    assert scores == sorted(scores)
    assert SYNOPSIS[0] <= min(scores)
    assert max(scores) == pytest.approx(SYNOPSIS[1])


@pytest.mark.parametrize("here", range(1, 8))
def test_the_synopsis_of_this_chapter_or_a_later_one_is_never_told(here: int) -> None:
    result = ask(story(*BOOK), document_id=f"ch-{here}")
    for number in range(here, 8):
        assert f"Chapter {number} in a nutshell." not in everything(result)
    assert reason(result, f"synopsis:ch-{here}") is Reason.NOT_CHOSEN
    for number in range(here + 1, 8):
        assert reason(result, f"synopsis:ch-{number}") is Reason.NOT_YET


def test_a_synopsis_told_before_is_not_told_when_the_writer_goes_back() -> None:
    fabula = story(*BOOK)
    later = fabula.request(document_id="ch-7")
    fabula.report_answer(fabula.assemble(later).assembly_id)
    result = ask(fabula, document_id="ch-5")
    assert sorted(sources(result, "synopsis:")) == [f"synopsis:ch-{n}" for n in range(1, 5)]
    assert "Chapter 5 in" not in everything(result)
    assert "Chapter 6 in" not in everything(result)


def test_in_a_flashback_the_synopses_of_what_happens_later_stay_out() -> None:
    book = [*BOOK[:3], chapter(4, "Years before.", story_time=1.5, synopsis="The flashback in a nutshell."), *BOOK[4:]]
    assert told(ask(story(*book), document_id="ch-4")) == ["synopsis:ch-1"]
    assert reason(ask(story(*book), document_id="ch-4"), "synopsis:ch-3") is Reason.NOT_YET
    assert "synopsis:ch-4" in sources(ask(story(*book), document_id="ch-5"), "synopsis:")


def test_chapters_without_a_synopsis_are_told_in_their_own_sentences() -> None:
    result = ask(story(Document("a", "A", "One came."), Document("b", "B", "Two.")))
    assert "[A, in its own sentences] One came." in result.prompt
    verdict = next(verdict for verdict in result.trace if verdict.source == "synopsis:a")
    assert "sentences of the text itself" in verdict.sentence


def test_a_stale_synopsis_is_told_with_a_word_to_whoever_asks_unless_it_was_made_of_sentences() -> None:
    old = hash_text("Another text.")
    for origin, words in (("hand", "Kept."), ("model", "Kept."), ("extract", "New text.")):
        first = Document("a", "A", "New text.", synopsis="Kept.", synopsis_origin=origin, synopsis_text_hash=old)
        result = ask(story(first, Document("b", "B", "Two.")))
        assert words in result.prompt
        verdict = next(verdict for verdict in result.trace if verdict.source == "synopsis:a")
        assert ("changed since" in verdict.sentence) == (origin != "extract")
    fresh = Document("a", "A", "New text.", synopsis="Kept.", synopsis_text_hash=hash_text("New text."))
    result = ask(story(fresh, Document("b", "B", "Two.")))
    assert next(verdict for verdict in result.trace if verdict.source == "synopsis:a").detail == ""


def test_far_chapters_are_rolled_up_in_whole_runs_and_the_farthest_into_the_story_so_far() -> None:
    result = ask(story(*LONG), document_id="ch-30", window=64_000)
    assert sources(result, "rollup:") == ["rollup:so-far", "rollup:ch-16..ch-20", "rollup:ch-21..ch-25"]
    assert sources(result, "synopsis:") == ["synopsis:ch-26", "synopsis:ch-27", "synopsis:ch-28", "synopsis:ch-29"]
    assert f"[Chapter 21 to Chapter 25, in short] {NAMES[20]} sails for" in result.prompt
    assert "[The story so far, to Chapter 15]" in result.prompt
    assert "a summary of several chapters" in next(v.sentence for v in result.trace if v.source == "synopsis:ch-3")


def test_a_run_is_rolled_up_only_when_all_of_it_lies_before_the_last_three() -> None:
    for here in range(2, 41):
        result = ask(story(*LONG), document_id=f"ch-{here}", window=64_000)
        for number in range(here, 41):
            assert f"{NAMES[number - 1]} sails" not in everything(result)
        alone = {int(source.removeprefix("synopsis:ch-")) for source in sources(result, "synopsis:")}
        assert set(range(max(1, here - 3), here)) <= alone
        for source in sources(result, "rollup:ch-"):
            first, last = (int(end.removeprefix("ch-")) for end in source.removeprefix("rollup:").split(".."))
            assert not alone & set(range(first, last + 1))


def test_runs_stay_within_their_part_and_a_finished_part_is_told_by_its_own_synopsis() -> None:
    def book(synopsis: str) -> list[Document]:
        first = [replace(one, parent="I") for one in LONG[:7]]
        second = [replace(one, parent="II") for one in LONG[7:]]
        parts = [Document(ident, f"Part {ident}", "", kind=DocumentKind.PART) for ident in ("I", "II")]
        return [replace(parts[0], synopsis=synopsis), *first, parts[1], *second]

    plain = ask(story(*book("")), document_id="ch-13", window=64_000)
    assert sources(plain, "rollup:") == ["rollup:ch-1..ch-5", "rollup:ch-6..ch-7"]
    own = story(*book("All of part one."))
    assert "[Part I, in short] All of part one." in ask(own, document_id="ch-13", window=64_000).prompt
    for here in range(1, 11):  # until all of it lies before the last three, it is not told
        assert "All of part one." not in everything(ask(own, document_id=f"ch-{here}", window=64_000))


def test_scenes_are_told_with_their_chapter_and_one_by_one_inside_it() -> None:
    scenes = [
        Document("one", "One", "", kind=DocumentKind.CHAPTER),
        Document("1a", "First", "The fog came in.", kind=DocumentKind.SCENE, parent="one"),
        Document("1b", "Second", "The bell rang twice.", kind=DocumentKind.SCENE, parent="one", synopsis="A bell."),
        Document("two", "Two", "", kind=DocumentKind.CHAPTER),
        Document("2a", "Third", "The ship was lost.", kind=DocumentKind.SCENE, parent="two"),
        Document("2b", "Fourth", "Nobody came.", kind=DocumentKind.SCENE, parent="two"),
    ]
    result = ask(story(*scenes), document_id="2b")
    assert told(result) == ["synopsis:one", "synopsis:2a"]
    assert "[One, in short] The fog came in. A bell." in result.prompt
    assert told(ask(story(*scenes), document_id="1b")) == ["synopsis:1a"]
    assert told(ask(story(*scenes), document_id="1a")) == []


def test_a_far_chapter_that_bears_on_this_is_told_by_itself() -> None:
    fabula = story(*LONG)
    result = ask(fabula, document_id="ch-30", additional_input=f"Did {NAMES[3]} see {NAMES[3]}berg?")
    assert "relevant:ch-4" in sources(result)
    assert "relevant:ch-33" not in sources(
        ask(fabula, document_id="ch-30", additional_input=f"{NAMES[32]} and {NAMES[32]}berg?")
    )
    assert sources(ask(fabula, document_id="ch-30"), "relevant:") == []


def test_what_was_relevant_stays_while_the_chapter_is_written() -> None:
    fabula = story(*LONG)
    asked = fabula.request(document_id="ch-30", additional_input=f"{NAMES[3]} and {NAMES[3]}berg")
    fabula.report_answer(fabula.assemble(asked).assembly_id)
    assert "relevant:ch-4" in sources(ask(fabula, document_id="ch-30"))


def test_a_book_without_synopses_is_not_summed_up_while_somebody_waits() -> None:
    """Ten chapters at most are worked out for roll-ups; what is further back waits until synopses are kept."""
    book = [replace(one, synopsis="") for one in LONG]
    fabula = story(*book)
    result = ask(fabula, document_id="ch-40", window=64_000)
    assert sources(result, "rollup:") == ["rollup:ch-26..ch-30", "rollup:ch-31..ch-35"]
    sentences = {v.source: v.sentence for v in result.trace}
    assert sentences["synopsis:ch-3"] == "no synopsis is stored yet, and none is made while you wait"
    assert sentences["synopsis:ch-40"] == "it is being written, so the prompt has its text and not its synopsis"
    assert not any("matched better" in one for source, one in sentences.items() if source.startswith("synopsis:"))
    manuscript = fabula.view.snapshot(Manuscript)
    assert manuscript is not None
    worked_out = [one for one in ChapterSynopses.for_manuscript(manuscript).chapters if "synopsis" in one.__dict__]
    assert len(worked_out) <= 18


def test_a_saved_paragraph_costs_one_chapter() -> None:
    before = Manuscript(tuple(replace(one, synopsis="") for one in LONG))
    first = ChapterSynopses.for_manuscript(before)
    made = [one.synopsis for one in first.chapters]
    changed = tuple(replace(one, text="Other.") if one.id == "ch-7" else one for one in before.documents)
    after = ChapterSynopses.for_manuscript(Manuscript(changed, cache=dict(before.cache)))
    same = [one is other for one, other in zip(first.chapters, after.chapters, strict=True)]
    assert same.count(False) == 1
    assert after.by_id["ch-7"].synopsis.text == "Other."
    assert made[0] is after.chapters[0].synopsis


def test_an_earlier_text_leaves_memory_with_its_version_whatever_was_made_of_it() -> None:
    before = Manuscript(tuple(replace(one) for one in LONG))
    first, vantage = ChapterSynopses.for_manuscript(before), Vantage(Perspective.AUTHOR)
    for document in before.documents:
        told_so_far = first.plan(document.id, vantage, before.timeline())
    assert told_so_far.distant is not None
    held = ref(before.documents[6])
    changed = tuple(replace(one, text="Other.") if one.id == "ch-7" else one for one in before.documents)
    after = ChapterSynopses.for_manuscript(Manuscript(changed, cache=dict(before.cache)))
    gc.collect()
    gc.disable()
    try:
        del before, first, told_so_far, document
        assert held() is None, "neither a roll-up nor a cycle of references holds it"
    finally:
        gc.enable()
    assert after.by_id["ch-7"].text == "Other."


# Nobody is told what they cannot know


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_the_terms_of_many_documents_say_what_all_of_theirs_say(data: st.DataObject) -> None:
    many = data.draw(st.integers(4, 12))
    whens = data.draw(st.lists(st.one_of(st.none(), st.integers(0, 14)), min_size=many, max_size=many))
    eyes = data.draw(st.lists(st.sampled_from([None, "mara", "will"]), min_size=many, max_size=many))
    book = Manuscript(tuple(Document(f"d{n}", "", "x", story_time=whens[n], pov=eyes[n]) for n in range(many)))
    first = data.draw(st.integers(0, many - 1))
    run = book.documents[first : data.draw(st.integers(first + 1, many))]
    everybody = tuple(
        Visibility(one.id, since=Position(one.id, len(one.text)), known_to=one.effective_known_to) for one in run
    )
    timeline = book.timeline()
    for here in book.documents:
        for who in (None, "mara", "will"):
            vantage = Vantage(Perspective.CHARACTER if who else Perspective.READER, Position(here.id, 1), who)
            passed = [
                judge_fragment(_made(terms), vantage, timeline) is None
                for terms in (combine_visibility(run), everybody)
            ]
            assert passed[0] == passed[1]


def _made(terms: tuple[Visibility, ...]) -> Fragment:
    return Fragment(source="x", layer=Layer.RETRIEVED, text="x", project_id="p", derived_from=terms)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_no_synopsis_or_roll_up_holds_what_lies_later_or_is_another_s(data: st.DataObject) -> None:
    many = data.draw(st.integers(2, 24))
    book = []
    for n in range(1, many + 1):
        kept = data.draw(st.booleans())
        book.append(
            chapter(
                n,
                f"Secret{n} is told. All of Secret{n} is known.",
                synopsis=f"Synopsis of Secret{n}." if kept else "",
                story_time=data.draw(st.one_of(st.none(), st.none(), st.integers(0, many))),
                pov=data.draw(st.sampled_from([None, None, "mara", "will"])),
            )
        )
    fabula = story(*book)
    timeline = fabula.view.timeline
    for _ in range(3):
        here = data.draw(st.sampled_from(book))
        request = fabula.request(
            document_id=here.id, cursor=0, window=64_000, additional_input=data.draw(st.sampled_from(["", "Secret3?"]))
        )
        result = fabula.assemble(request)
        knower = result.vantage.character or "reader"
        for verdict in result.trace:
            if not verdict.included or not verdict.source.startswith(("synopsis:", "rollup:", "relevant:")):
                continue
            for other in book:
                if f"Secret{other.id.removeprefix('ch-')} " in f"{verdict.text} ".replace(".", " "):
                    assert timeline.has_reached(Position(other.id, len(other.text)), Position(here.id, 0))
                    assert other.effective_known_to is None or knower in other.effective_known_to
        fabula.report_answer(result.assembly_id)


@pytest.mark.parametrize("sample", sample_names())
def test_a_sample_without_synopses_tells_nothing_early_from_the_store(sample: str, store: Store) -> None:
    """Every chapter, through every eye: what is told in short lies behind us, also after synopses were made."""
    view = open_read_only(f"sample:{sample}").view
    copy_view(store, view, project_id="p")
    with store.write(project="p") as tx:
        for kept in synopses.list_synopses(tx):
            synopses.remove_synopsis(tx, kept.document_id)
    library = ProjectViews(store)
    for made in (False, True):
        if made:
            assert len(synopses.refresh_synopses(store, "p", language=view.project.language).created) == 7
        fabula = open_view(lambda conversation: library.view("p", conversation=conversation))
        manuscript = fabula.view.snapshot(Manuscript)
        assert manuscript is not None
        for document in manuscript.documents:
            result = fabula.assemble(fabula.request(document_id=document.id, cursor=0, window=32_000))
            here = Position(document.id, 0)
            for source in told(result):
                ident = source.partition(":")[2]
                assert fabula.view.timeline.has_reached(Position(ident, len(manuscript.by_id[ident].text)), here)
                witnesses = manuscript.by_id[ident].effective_known_to
                assert witnesses is None or (result.vantage.character or "reader") in witnesses


def test_the_prompt_follows_an_edit_and_a_synopsis_written_by_hand(store: Store) -> None:
    copy_view(store, story(Document("a", "A", "One came."), Document("b", "B", "Two.")).view, project_id="p")
    library = ProjectViews(store)
    fabula = open_view(lambda conversation: library.view("p", conversation=conversation))
    prompts = [ask(fabula).prompt]
    with store.write(project="p") as tx:
        documents.write(tx, "a", "Three came.")
    prompts.append(ask(fabula).prompt)
    with store.write(project="p") as tx:
        synopses.write_synopsis(tx, "a", "Somebody came.")
    prompts.append(ask(fabula).prompt)
    for prompt, words in zip(prompts, ("One came.", "Three came.", "Somebody came."), strict=True):
        assert words in prompt
    assert all(one != other for one, other in pairwise(prompts))


PLAIN = "The harbour was grey and the harbour was still. Nets lay drying on the harbour wall. " * 12
NAMED = f"{PLAIN}Orrin Vale rowed. {PLAIN}Vale waited. {PLAIN}Then Vale came ashore with the harbour master. {PLAIN}"
ORRIN = Entry(id="orrin", name="Orrin Vale", aliases=("Vale",), type="character")


def test_own_sentences_name_the_main_characters_of_the_codex() -> None:
    book = [chapter(1, NAMED), chapter(2, "Two.")]
    assert "Vale" not in told_of(story(*book), "ch-1")
    assert "Vale" in told_of(story(*book, entries=[ORRIN]), "ch-1")
    place = Entry(id="orrin", name="Orrin Vale", aliases=("Vale",), type="location")
    assert told_of(story(*book, entries=[place]), "ch-1") == told_of(story(*book), "ch-1"), "a place is nobody"


def told_of(fabula: ProjectHandle, ident: str) -> str:
    result = ask(fabula, document_id="ch-2")
    return next(v.text for v in result.trace if v.source == f"synopsis:{ident}" and v.included)


def test_a_character_that_joins_the_codex_is_named_from_then_on(store: Store, worked: list[str]) -> None:
    copy_view(store, story(chapter(1, NAMED), chapter(2, PLAIN), chapter(3, "Three.")).view, project_id="p")
    library = ProjectViews(store)
    fabula = open_view(lambda conversation: library.view("p", conversation=conversation))
    before = fabula.assemble(fabula.request()).prompt
    with store.write(project="p") as tx:
        put_all(tx, [ORRIN])
    worked.clear()
    after = fabula.assemble(fabula.request()).prompt
    assert before != after
    assert worked == [NAMED], "the other chapter names nobody new and is not read again"
    with store.write(project="p") as tx:
        put_all(tx, [structs.replace(ORRIN, description="A ferryman.")])
    worked.clear()
    fabula.assemble(fabula.request())
    assert worked == [], "nobody is called otherwise"


def test_a_codex_that_cannot_be_read_does_not_keep_the_story_from_being_told() -> None:
    def failing(view: View) -> CharacterFinder:
        raise ConnectionError("the codex is gone")

    fabula = story(chapter(1, NAMED), chapter(2, "Two."))
    engine = Engine([*(s for s in all_sources() if s.name != "synopses"), SynopsesSource(failing)])
    result = engine.assemble(fabula.request(), fabula.view)
    assert sources(result, "synopsis:") == ["synopsis:ch-1"]


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were summarised."""
    seen: list[str] = []

    def noted(text: str, *, names: Sequence[str] = ()) -> str:
        seen.append(text)
        return extract_summary(text, names=names)

    monkeypatch.setattr("fabula.manuscript.synopses.chapters.extract_summary", noted)
    extracted_synopses.clear()
    return seen


def test_the_first_request_works_out_no_chapter_for_which_there_is_no_room(worked: list[str]) -> None:
    """A whole novel without a synopsis must not be read before the first answer (bud-9)."""
    book = [chapter(n, f"{PLAIN}{name} came to {name}berg. {PLAIN * 6}") for n, name in enumerate(NAMES, start=1)]
    small = story(*book)
    small.assemble(small.request(window=4096))
    assert [text for text in worked if text not in {one.text for one in book[-4:-1]}] == []
    assert len(worked) == 3
    worked.clear()
    large = story(*book)
    result = large.assemble(large.request(window=64_000))
    assert sources(result, "rollup:")
    assert 3 < len(worked) <= 3 + MAX_NEW_SYNOPSES + ROLLUP_SIZE
    assert len(set(worked)) == len(worked), "and none of them twice"


def test_what_is_told_does_not_depend_on_what_was_worked_out_before() -> None:
    book = [chapter(n, f"{PLAIN}{name} came to {name}berg. {PLAIN}") for n, name in enumerate(NAMES, start=1)]
    warm = story(*book)
    for window in (64_000, 4096, 8192, 64_000):
        fresh = story(*book)
        assert (
            warm.assemble(warm.request(window=window)).prompt == fresh.assemble(fresh.request(window=window)).prompt
        ), window


@pytest.mark.parametrize("window", [4096, 8192, 32_000])
def test_no_synopsis_in_the_middle_of_a_long_book_is_left_out_beside_room_for_it(window: int) -> None:
    book = [
        replace(
            chapter(number, "It rained. " * 40), synopsis=f"In chapter {number} " + "the ship sailed on and on. " * 9
        )
        for number in range(1, 136)
    ]
    project = story(*book)
    result = project.inspect(project.request(document_id="ch-60", window=window))
    unused = result.budget.total - result.token_count
    rollups = [verdict for verdict in result.trace if verdict.source.startswith("rollup:")]
    assert len(rollups) == 3
    assert all(verdict.included or verdict.tokens > unused for verdict in rollups)
    earlier = [v for v in result.trace if v.source.startswith("synopsis:") and v.reason is Reason.NOT_CHOSEN]
    assert {v.sentence for v in earlier} <= {
        "a summary of several chapters covers it",
        "it is being written, so the prompt has its text and not its synopsis",
    }


def test_chapters_that_are_too_long_to_sum_up_here_are_not_said_to_match_worse() -> None:
    book = [chapter(number, f"In year {number} the ship sailed. " * 900) for number in range(1, 15)]
    project = story(*book)
    result = project.inspect(project.request(document_id="ch-14", window=8192))
    rollups = {v.source: v.sentence for v in result.trace if v.source.startswith("rollup:") and not v.included}
    too_long = "no synopsis is stored yet, and sentences of the text itself take more room than it has here"
    assert rollups
    assert set(rollups.values()) == {too_long}
    assert result.token_count < result.budget.total, "there is room, and other material took none of it"
