"""Facts in prompts: what the book says of whoever is in a scene, beside its entry and under the gate (cdx-10)."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fabula.codex import Codex, Entry, Level, Progression
from fabula.codex.facts import Fact, Facts, FactText, paragraphs
from fabula.codex.facts import model as reading
from fabula.context.result import Result
from fabula.core.story import Position
from fabula.core.view import View
from fabula.manuscript.model import Document
from fabula.workspace.facts import FactSettings, make_facts
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_view
from tests.manuscript.stories import ask, chapter, filler, sources, story

MARA = Entry(id="mara", type="character", name="Mara", description="She keeps the light.")
BRAM = Entry(id="bram", type="character", name="Bram", description="He mends nets.")
SWIM = "Mara had never learned to swim since the winter in which her brother drowned."
WATCH = "Mara always wore her father's silver watch on a blue ribbon."
HORSES = "Mara had always been afraid of horses since one of them killed her uncle."
DEBT = "Mara had promised her mother to repay the debt of the whole family."
HERE = "Mara came down the stair."


def open_book(
    *documents: Document, entries: tuple[Entry, ...] = (MARA, BRAM), settings: FactSettings | None = None
) -> ProjectHandle:
    """A book with its facts."""
    view = story(*documents).view
    codex = Codex(view.project.id, view.project.language, entries, view.timeline)
    view = View(view.project, view.timeline, {**view.snapshots, Codex: codex, FactSettings: settings})
    return open_view(View(view.project, view.timeline, {**view.snapshots, Facts: make_facts(view)}))


def list_told(result: Result) -> list[str]:
    """The facts in a prompt, in the order of the trace."""
    return [one.text for one in result.trace if one.included and "#fact:" in one.source]


def told_in(text: str, number: int = 1) -> str:
    return f"Mara (chapter {number}): {text}"


def find_facts(fabula: ProjectHandle, entry: str = "mara") -> tuple[Fact, ...]:
    facts = fabula.view.snapshot(Facts)
    assert facts is not None
    return facts.list_facts(entry)


def test_facts_of_whoever_is_in_the_scene_stand_behind_the_entry_with_their_chapter() -> None:
    fabula = open_book(chapter(1, f"{SWIM}\n\n{filler(200)}"), chapter(2, HERE))
    result = ask(fabula, document_id="ch-2")
    assert f"She keeps the light.\n\n{told_in(SWIM)}" in result.prompt
    (verdict,) = [one for one in result.trace if "#fact:" in one.source]
    assert verdict.sentence == "the book says so of Mara"
    assert verdict.source == find_facts(fabula)[0].source


def test_whoever_is_not_in_the_scene_brings_no_facts() -> None:
    fabula = open_book(chapter(1, SWIM), chapter(2, "Bram sat down and waited."))
    assert not list_told(ask(fabula, document_id="ch-2"))


def test_the_point_of_view_brings_facts_without_being_named() -> None:
    fabula = open_book(chapter(1, SWIM), chapter(2, filler(60), pov="mara"))
    assert list_told(ask(fabula, document_id="ch-2", perspective="reader")) == [told_in(SWIM)]


def test_the_best_facts_for_the_scene_come_first() -> None:
    texts = "\n\n".join([SWIM, WATCH, HORSES, DEBT])
    for scene, best in [("The horses stamped.", HORSES), ("She felt for the silver ribbon.", WATCH)]:
        settings = FactSettings(per_entry=1)
        fabula = open_book(chapter(1, texts), chapter(2, f"{HERE} {scene}"), settings=settings)
        assert list_told(ask(fabula, document_id="ch-2")) == [told_in(best)]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 20])
def test_a_setting_says_how_many_facts_of_an_entry_a_prompt_holds(count: int) -> None:
    texts = "\n\n".join([SWIM, WATCH, HORSES, DEBT])
    fabula = open_book(chapter(1, texts), chapter(2, HERE), settings=FactSettings(per_entry=count))
    assert len(list_told(ask(fabula, document_id="ch-2"))) == min(count, 4)


def test_no_fact_is_told_before_its_place() -> None:
    fabula = open_book(chapter(1, HERE), chapter(2, f"{HERE}\n\n{SWIM}"), chapter(3, WATCH))
    assert not list_told(ask(fabula, document_id="ch-1"))
    assert not list_told(ask(fabula, document_id="ch-1", perspective="author"))
    assert list_told(ask(fabula, document_id="ch-3", cursor=0, additional_input="Mara?")) == [told_in(SWIM, 2)]


def test_a_fact_of_a_later_time_is_not_told_in_a_flashback() -> None:
    fabula = open_book(chapter(1, SWIM), chapter(2, HERE, story_time=0.5))
    assert not list_told(ask(fabula, document_id="ch-2"))


def test_a_fact_is_told_only_to_those_who_know_its_chapter() -> None:
    fabula = open_book(chapter(1, SWIM, known_to=frozenset({"mara"})), chapter(2, HERE))
    assert not list_told(ask(fabula, document_id="ch-2", perspective="reader"))
    assert not list_told(ask(fabula, document_id="ch-2", perspective="character", character="bram"))
    assert list_told(ask(fabula, document_id="ch-2", perspective="character", character="mara")) == [told_in(SWIM)]


def test_a_fact_of_an_entry_that_is_not_known_is_not_told() -> None:
    secret = replace(MARA, known_to=frozenset({"bram"}), level=Level.ALWAYS)
    fabula = open_book(chapter(1, SWIM), chapter(2, HERE), entries=(secret, BRAM))
    assert not list_told(ask(fabula, document_id="ch-2", perspective="reader"))
    assert list_told(ask(fabula, document_id="ch-2", perspective="character", character="bram")) == [told_in(SWIM)]


def test_of_two_facts_about_one_thing_the_later_one_is_told_from_its_place_on() -> None:
    later = WATCH.replace("blue", "black")
    fabula = open_book(chapter(1, WATCH), chapter(2, f"{HERE}\n\n{later}"), chapter(3, HERE))
    assert list_told(ask(fabula, document_id="ch-2", cursor=len(HERE))) == [told_in(WATCH)]
    assert list_told(ask(fabula, document_id="ch-3")) == [told_in(later, 2)]


def test_dismissed_facts_stay_away_from_prompts() -> None:
    documents = chapter(1, SWIM), chapter(2, HERE)
    (fact,) = find_facts(open_book(*documents))
    settings = FactSettings(dismissed=frozenset({fact.id}))
    assert not list_told(ask(open_book(*documents, settings=settings), document_id="ch-2"))


@pytest.mark.parametrize(
    "fields",
    [
        {"description": f"She keeps the light. {SWIM}"},
        {"details": {"past": "She had never learned to swim since the winter her brother drowned."}},
        {"progressions": (Progression(SWIM, Position("ch-1")),)},
    ],
)
def test_what_the_entry_says_itself_is_not_repeated(fields: dict[str, Any]) -> None:
    fabula = open_book(chapter(1, f"{SWIM}\n\n{WATCH}"), chapter(2, HERE), entries=(replace(MARA, **fields),))
    assert list_told(ask(fabula, document_id="ch-2")) == [told_in(WATCH)]


def test_a_progression_replaces_a_fact_only_where_it_holds_and_for_those_who_know_it() -> None:
    later = replace(MARA, progressions=(Progression(SWIM, Position("ch-3")),))
    documents = chapter(1, SWIM), chapter(2, HERE), chapter(3, HERE)
    fabula = open_book(*documents, entries=(later, BRAM))
    assert list_told(ask(fabula, document_id="ch-2")) == [told_in(SWIM)]
    assert not list_told(ask(fabula, document_id="ch-3"))
    secret = replace(MARA, progressions=(Progression(SWIM, Position("ch-1"), frozenset({"bram"})),))
    fabula = open_book(*documents, entries=(secret, BRAM))
    assert list_told(ask(fabula, document_id="ch-3", perspective="reader")) == [told_in(SWIM)]
    assert not list_told(ask(fabula, document_id="ch-3", perspective="character", character="bram"))


def test_a_fact_of_a_secret_chapter_replaces_another_only_for_those_who_know_it() -> None:
    later = WATCH.replace("blue", "black")
    secret = chapter(2, later, known_to=frozenset({"bram"}))
    fabula = open_book(chapter(1, WATCH), secret, chapter(3, HERE))
    assert list_told(ask(fabula, document_id="ch-3", perspective="reader")) == [told_in(WATCH)]
    bram = ask(fabula, document_id="ch-3", perspective="character", character="bram")
    assert list_told(bram) == [told_in(later, 2)]
    assert [fact.until for fact in find_facts(fabula)] == [None, None]


def test_what_a_flashback_says_ends_nothing_that_is_told_later_in_the_story() -> None:
    younger = WATCH.replace("blue", "black")
    fabula = open_book(chapter(1, HERE), chapter(2, WATCH), chapter(3, younger, story_time=0.5), chapter(4, HERE))
    assert list_told(ask(fabula, document_id="ch-4")) == [told_in(WATCH, 2)]


def test_a_sentence_that_may_enter_no_prompt_ends_no_other() -> None:
    weak = "In the evening they spoke of Mara, her father, the silver watch, and the ribbon that was blue."
    fabula = open_book(chapter(1, WATCH), chapter(2, weak), chapter(3, HERE))
    assert list_told(ask(fabula, document_id="ch-3")) == [told_in(WATCH)]


OWED = [
    "silver",
    "copper",
    "timber",
    "barley",
    "amber",
    "linen",
    "flour",
    "salt",
    "wool",
    "tar",
    "oats",
    "iron",
    "pepper",
    "honey",
    "cedar",
    "chalk",
]
OWNERS = (
    "baker miller cooper joiner weaver tailor potter sexton tanner fuller carter mason draper brewer grocer ropemaker"
)
OTHERS = [
    f"Mara had promised the {owner} to repay the {OWED[(place + step) % len(OWED)]} of her {kin}."
    for step, kin in ((0, "mother"), (5, "uncle"))
    for place, owner in enumerate(OWNERS.split())
]
SCAR = "Mara had a scar across her left hand since the storm, and wore a glove over it in company."


def test_a_fact_that_many_are_better_than_enters_a_scene_that_has_its_words() -> None:
    fabula = open_book(chapter(1, "\n\n".join([*OTHERS, SCAR])), chapter(2, HERE), chapter(3, HERE))
    rank = [fact.text for fact in find_facts(fabula)].index(SCAR)
    assert rank > 24
    assert told_in(SCAR) not in list_told(ask(fabula, document_id="ch-2"))
    scene = f"{HERE} She drew the glove from her hand, and the scar was white."
    fabula = open_book(chapter(1, "\n\n".join([*OTHERS, SCAR])), chapter(2, scene))
    assert list_told(ask(fabula, document_id="ch-2"))[0] == told_in(SCAR)


def test_early_chapters_have_the_best_facts_of_those_that_lie_behind() -> None:
    weak = [f"Mara carried the letters of the {one} to the island, for the pilots had no boat." for one in ("cook",)]
    fabula = open_book(chapter(1, "\n\n".join([SWIM, *weak])), chapter(2, HERE), chapter(3, "\n\n".join(OTHERS)))
    assert find_facts(fabula)[0].since.document == "ch-3"
    assert list_told(ask(fabula, document_id="ch-2")) == [told_in(SWIM)]


def test_a_fact_whose_sentence_the_prompt_shows_is_not_repeated() -> None:
    fabula = open_book(chapter(1, f"{SWIM}\n\n{HERE}"))
    assert not list_told(ask(fabula))


def test_an_excluded_entry_brings_no_facts() -> None:
    fabula = open_book(chapter(1, SWIM), chapter(2, HERE))
    assert not list_told(ask(fabula, document_id="ch-2", exclude=("mara",)))


def test_the_next_prompt_holds_the_same_facts_in_the_same_order() -> None:
    texts = "\n\n".join([SWIM, WATCH, HORSES, DEBT])
    fabula = open_book(chapter(1, texts), chapter(2, f"{HERE}\n\n"), settings=FactSettings(per_entry=2))
    before = fabula.assemble(fabula.request(document_id="ch-2"))
    text = f"{HERE}\n\nShe felt for the silver ribbon."
    request = fabula.request(document_id="ch-2", unsaved_text=text, cursor=len(text))
    after = fabula.engine.assemble(request, fabula.view, continuity=before.continuity)
    assert len(list_told(before)) == 2
    assert list_told(after) == list_told(before)
    anew = fabula.engine.assemble(request, fabula.view)
    assert list_told(anew)[0] == told_in(WATCH)


def test_facts_take_a_share_of_the_layer_and_each_entry_has_its_first_before_any_has_a_second() -> None:
    people = [Entry(id=f"p{n}", type="character", name=f"Person{n}ella") for n in range(40)]
    sentences = [
        f"{one.name} had never sworn an oath number {number} since the winter in which a brother was buried {word}."
        for one in people
        for number, word in enumerate(["at sea in the rain", "on the hill with a ring", "below the old chapel door"])
    ]
    scene = " ".join(f"{one.name} came." for one in people)
    fabula = open_book(chapter(1, "\n\n".join(sentences)), chapter(2, scene), entries=tuple(people))
    result = ask(fabula, document_id="ch-2", window=8192)
    told = [source.partition("#")[0] for source in sources(result, "codex:") if "#fact:" in source]
    assert told
    assert len(told) < 3 * len(people)
    assert len(set(told)) == len(told) or len(set(told)) == len(people)


def test_a_large_book_is_read_in_the_background_and_a_request_does_not_wait() -> None:
    view = open_book(chapter(1, f"{SWIM}\n\n{filler(400)}"), chapter(2, HERE)).view
    old, codex = view.snapshot(Facts), view.snapshot(Codex)
    assert old is not None
    assert codex is not None
    facts = Facts(old.texts, codex, immediate_characters=100)
    fabula = open_view(View(view.project, view.timeline, {**view.snapshots, Facts: facts}))
    request = fabula.request(document_id="ch-2")
    with facts._reader.lock:  # somebody reads
        first = fabula.assemble(request)
        assert not list_told(first)
        assert [one.partition(":")[0] for one in first.warnings] == ["RETRIEVAL_NOT_READY"]
    end = time.monotonic() + 60
    while not facts.prepare() and time.monotonic() < end:
        time.sleep(0.01)
    ready = fabula.assemble(request)
    assert (list_told(ready), ready.warnings) == ([told_in(SWIM)], ())


def test_facts_that_cannot_be_read_cost_a_warning_and_no_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    fabula = open_book(chapter(1, SWIM), chapter(2, HERE))

    def fail(*others: object) -> list[object]:
        raise RuntimeError("broken")

    monkeypatch.setattr(paragraphs, "find_fact_sentences", fail)
    result = fabula.assemble(fabula.request(document_id="ch-2"))
    assert "codex:entity:mara" in sources(result)
    assert [one for one in result.warnings if one.startswith("KG_UNAVAILABLE")]


def test_after_an_edit_only_the_changed_document_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [chapter(n, f"{SWIM} {n}.") for n in range(1, 6)]
    fabula = open_book(*documents)
    find_facts(fabula)
    old, codex = fabula.view.snapshot(Facts), fabula.view.snapshot(Codex)
    assert old is not None
    assert codex is not None
    read: list[str] = []
    read_document = reading._read_document

    def note(text: FactText, *others: Any) -> object:
        read.append(text.id)
        return read_document(text, *others)

    monkeypatch.setattr(reading, "_read_document", note)
    texts = [*old.texts[:4], replace(old.texts[4], text=f"{WATCH}\n\nThe end.")]
    after = Facts(texts, codex, old)
    assert after.prepare()
    assert read == ["ch-5"]
    assert WATCH in [fact.text for fact in after.list_facts("mara")]


@given(
    st.lists(st.sampled_from([SWIM, WATCH, HORSES, DEBT, HERE, "Bram waited."]), min_size=3, max_size=8),
    st.integers(0, 7),
    st.sampled_from([None, frozenset({"mara"}), frozenset({"bram", "reader"})]),
    st.sampled_from(["reader", "mara", "bram"]),
)
def test_every_fact_of_a_prompt_lies_behind_and_is_known(
    texts: list[str], place: int, known_to: frozenset[str] | None, eyes: str
) -> None:
    documents = [
        chapter(n, f"{text} {filler(3)}", known_to=known_to if n % 2 else None) for n, text in enumerate(texts, start=1)
    ]
    fabula = open_book(*documents)
    here = min(place, len(texts) - 1) + 1
    who = {"perspective": "reader"} if eyes == "reader" else {"perspective": "character", "character": eyes}
    result = ask(fabula, document_id=f"ch-{here}", additional_input="What of Mara?", **who)
    by_source = {fact.source: fact for fact in find_facts(fabula)}
    for source in sources(result, "codex:entity:mara#fact:"):
        fact = by_source[source]
        assert int(fact.since.document[3:]) < here
        assert fact.known_to is None or eyes in fact.known_to
