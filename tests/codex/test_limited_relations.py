"""Relations hold from one place of the story to another, and some may know them only (cdx-5, cdx-8).

Their kinds reach prompts, so "secretly his father" must not, before its chapter or to anybody else.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.codex import Codex, Entry, Relation, edits
from fabula.codex.series import merge_entry
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Perspective, Position
from fabula.core.view import Project, View
from fabula.manuscript import documents, projects, series
from fabula.manuscript.model import Manuscript
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_view
from fabula.workspace.schemas.saves import LoadChoices
from fabula.workspace.workspace import Workspace
from tests.manuscript.stories import PROJECT, ask, chapter, everything, sources, story

CHAPTERS = 6
SECRET = "secretly his father"


def person(name: str, *relations: Relation) -> Entry:
    return Entry(id=name.lower(), type="character", name=name, description=f"All about {name}.", relations=relations)


def book(*relations: Relation, text: str = "Mara came.") -> ProjectHandle:
    """Six chapters, in which only Mara is named unless the text says otherwise."""
    chapters = [chapter(number, text) for number in range(1, CHAPTERS + 1)]
    return story(*chapters, entries=[person("Mara", *relations), person("Bram"), person("Cole")])


def at(number: int) -> Position:
    return Position(f"ch-{number}")


def test_a_secret_kind_of_relation_reached_every_prompt_from_chapter_1() -> None:
    project = book(Relation("bram", SECRET, since=at(4), known_to=frozenset({"mara"})), text="Mara and Bram came.")
    for number in range(1, CHAPTERS + 1):
        for character in ("mara", "bram", None):
            prompt = everything(ask(project, document_id=f"ch-{number}", character=character))
            assert (SECRET in prompt) is (number >= 4 and character == "mara")
    author = ask(project, document_id="ch-1", perspective=Perspective.AUTHOR)
    assert SECRET in everything(author)


def test_a_relation_says_from_which_chapter_on_it_holds() -> None:
    mara = person("Mara", Relation("bram", "wife of", since=at(2), until=at(5)))
    manuscript = Manuscript(tuple(chapter(number, "Mara came.") for number in range(1, CHAPTERS + 1)))
    codex = Codex(PROJECT, "en", [mara, person("Bram")], manuscript.timeline())
    project = open_view(View(Project(id=PROJECT), manuscript.timeline(), {Manuscript: manuscript, Codex: codex}))
    prompts = [ask(project, document_id=f"ch-{number}").prompt for number in range(1, CHAPTERS + 1)]
    assert ["wife of" in prompt for prompt in prompts] == [False, True, True, True, False, False]
    assert "Mara (relations, from chapter 2 on): wife of: Bram." in prompts[2]


def test_a_relation_that_is_not_known_here_brings_nobody_along_and_is_no_reason() -> None:
    """Otherwise the presence of the other entry would reveal the relation."""
    project = book(Relation("bram", SECRET, since=at(3), until=at(5), known_to=frozenset({"mara"})))
    for number in range(1, CHAPTERS + 1):
        for character in ("mara", "cole", None):
            result = ask(project, document_id=f"ch-{number}", character=character)
            is_known = character == "mara" and 3 <= number < 5
            assert ("codex:entity:bram" in sources(result)) is is_known
            reasons = [one.sentence for one in result.trace]
            assert any(SECRET in reason for reason in reasons) is is_known
    assert "codex:entity:bram" in sources(ask(project, document_id="ch-1", perspective=Perspective.AUTHOR))


def test_of_two_relations_to_one_entry_only_the_known_one_is_given_and_is_the_reason() -> None:
    project = book(Relation("bram", SECRET, since=at(3)), Relation("bram", "neighbour of"))
    first, third = ask(project, document_id="ch-1"), ask(project, document_id="ch-3")
    reason = next(one.sentence for one in first.trace if one.source == "codex:entity:bram")
    assert reason == "brought along by Mara (neighbour of)"
    assert SECRET not in everything(first)
    assert "neighbour of: Bram" in third.prompt
    assert SECRET in third.prompt


def test_two_limited_relations_to_one_entry_are_both_given() -> None:
    project = book(Relation("bram", "rival of", since=at(2)), Relation("bram", "heir of", since=at(3)))
    prompt = ask(project, document_id="ch-4").prompt
    assert "rival of: Bram" in prompt
    assert "heir of: Bram" in prompt


def test_a_relation_is_as_hidden_as_either_of_its_entries() -> None:
    bram = Entry(id="bram", type="character", name="Bram", description="x", since=at(3))
    mara = Entry(id="mara", type="character", name="Mara", relations=(Relation("bram", SECRET, since=at(2)),))
    project = story(*(chapter(number, "Mara and Bram came.") for number in (1, 2, 3)), entries=[mara, bram])
    told = [SECRET in ask(project, document_id=f"ch-{number}").prompt for number in (1, 2, 3)]
    assert told == [False, False, True]


@settings(max_examples=40, deadline=None)
@given(
    since=st.none() | st.integers(1, CHAPTERS),
    until=st.none() | st.integers(1, CHAPTERS),
    known_to=st.none() | st.frozensets(st.sampled_from(["mara", "bram", "cole", "reader"])),
    here=st.integers(1, CHAPTERS),
    character=st.sampled_from([None, "mara", "bram", "cole"]),
    text=st.sampled_from(["Mara came.", "Mara and Bram came.", "Bram came.", "Nobody came."]),
)
def test_no_prompt_holds_a_relation_outside_its_limits(
    since: int | None,
    until: int | None,
    known_to: frozenset[str] | None,
    here: int,
    character: str | None,
    text: str,
) -> None:
    relation = Relation("bram", SECRET, at(since) if since else None, at(until) if until else None, known_to)
    result = ask(book(relation, text=text), document_id=f"ch-{here}", character=character)
    may_be_told = (
        (since is None or since <= here)
        and (until is None or here < until)
        and (known_to is None or (character or "reader") in known_to)
    )
    if not may_be_told:
        assert SECRET not in everything(result)
        assert not any(SECRET in one.sentence for one in result.trace)
        assert "Bram" in text or character == "bram" or "codex:entity:bram" not in sources(result)
    elif "Mara" in text:
        assert SECRET in result.prompt
        assert "codex:entity:bram" in sources(result)


def test_names_as_typed_in_a_folder_know_a_relation() -> None:
    project = book(Relation("bram", SECRET, known_to=frozenset({"Cole"})))
    assert SECRET in ask(project, document_id="ch-1", character="cole").prompt
    assert SECRET not in ask(project, document_id="ch-1", character="bram").prompt


# Stored relations

LIMITED = Relation("will", SECRET, Position("ch-2", 5), Position("ch-3", 2), frozenset({"mara", "reader"}))


@pytest.fixture
def coast(workspace: Workspace) -> Workspace:
    """A book of three chapters with two entries."""
    projects.create(workspace.store, "The Coast", project_id="coast")
    with workspace.store.write(project="coast") as tx:
        for number in (1, 2, 3):
            documents.add(tx, f"Part {number}", text="Mara and Will came.", document_id=f"ch-{number}")
        edits.put_all(tx, (person("Mara", LIMITED), person("Will")))
    return workspace


def relations(workspace: Workspace, project: str = "coast") -> tuple[Relation, ...]:
    codex = workspace.project(project).view.snapshot(Codex)
    assert codex is not None
    return codex.by_id["mara"].relations


def test_a_stored_relation_is_read_back_with_its_limits(coast: Workspace) -> None:
    assert relations(coast) == (LIMITED,)
    with coast.store.write(project="coast") as tx:
        assert edits.put_all(tx, (person("Mara", LIMITED),)) == 0
        edits.update(tx, "mara", {"relations": [{"to": "will", "kind": "x", "known_to": ["will"]}]})
    assert relations(coast) == (Relation("will", "x", known_to=frozenset({"will"})),)


@pytest.mark.parametrize(
    "wrong",
    [
        [Relation("will", "x", since=Position("", 0))],
        [Relation("will", "x", until=Position("ch-1", -1))],
        [Relation("will", "x"), Relation("will", "x", since=Position("ch-2"))],
    ],
)
def test_impossible_limits_and_a_relation_said_twice_are_refused(coast: Workspace, wrong: list[Relation]) -> None:
    with pytest.raises(FabulaError) as refused, coast.store.write(project="coast") as tx:
        edits.update(tx, "mara", {"relations": wrong})
    assert refused.value.code is Code.CODEX_INVALID
    assert relations(coast) == (LIMITED,)


def test_a_save_brings_the_limits_of_relations_back(coast: Workspace, tmp_path: Path) -> None:
    coast.project("coast").save(tmp_path / "coast.fabula")
    copy = coast.load_save(tmp_path / "coast.fabula", LoadChoices(beside=True)).project_id
    assert relations(coast, copy) == (LIMITED,)


def test_the_limits_of_a_relation_move_with_the_text_a_rename_and_an_undo(coast: Workspace) -> None:
    project = coast.project("coast")
    with coast.store.write(project="coast") as tx:
        documents.write(tx, "ch-2", "Later, Mara and Will came.")
    moved = relations(coast)[0]
    assert moved.since == Position("ch-2", 12)
    assert moved.until == LIMITED.until
    project.codex.rename("Mara", "Maralyn")
    assert relations(coast)[0].since == Position("ch-2", 15)
    project.codex.undo_rename()
    assert relations(coast) == (moved,)


def test_a_merged_chapter_takes_the_limits_of_relations_along(coast: Workspace) -> None:
    coast.project("coast").chapters.merge("Part 1", "Part 2")
    since = relations(coast)[0].since
    assert since is not None
    assert since.document == "ch-1"
    assert since.offset > len("Mara and Will came.")


def test_a_relation_is_changed_by_its_kind_and_taken_back(coast: Workspace) -> None:
    project = coast.project("coast")
    _, _, changed = project.codex.relate("Mara", "Will", kind=SECRET, until="end")
    assert changed == Relation("will", SECRET, LIMITED.since, None, LIMITED.known_to)
    _, _, changed = project.codex.relate("Mara", "Will", since="Part 3", known_to=["everybody"])
    assert changed == Relation("will", SECRET, Position("ch-3"))
    project.codex.relate("Mara", "Will", kind="rival", known_to=["Will"])
    with pytest.raises(FabulaError) as refused:
        project.codex.relate("Mara", "Will", since="start")
    assert f"{SECRET}, rival" in refused.value.sentence
    project.changes.undo()
    assert [one.kind for one in relations(coast)] == [SECRET]
    project.codex.unrelate("Mara", "Will")
    assert relations(coast) == ()
    with pytest.raises(FabulaError) as missing:
        project.codex.unrelate("Mara", "Will")
    assert missing.value.code is Code.STORE_NOT_FOUND
    project.changes.undo()
    assert relations(coast) == (Relation("will", SECRET, Position("ch-3")),)


def test_a_relation_cannot_end_before_it_begins_nor_be_known_to_nobody_we_know(coast: Workspace) -> None:
    project = coast.project("coast")
    for limits in ({"since": "Part 3", "until": "Part 2"}, {"known_to": ["Wll"]}, {"since": "Part 9"}):
        with pytest.raises(FabulaError):
            project.codex.relate("Mara", "Will", kind=SECRET, **limits)
    assert relations(coast) == (LIMITED,)


# Series


def test_a_book_limits_a_relation_that_its_series_shares() -> None:
    shared = person("Mara", Relation("will", "brother"), Relation("cole", "aunt"))
    own = person("Mara", Relation("will", "brother", since=at(2)), Relation("will", "rival"))
    assert merge_entry(shared, own).relations == (
        Relation("will", "brother", since=at(2)),
        Relation("cole", "aunt"),
        Relation("will", "rival"),
    )


def test_what_became_a_relation_in_an_earlier_book_is_one_in_later_books_and_in_none_before(store: Store) -> None:
    series.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        edits.put_all(tx, (person("Mara"), person("Will")))
    for name in ("one", "two", "three"):
        projects.create(store, name.title(), project_id=name)
        with store.write(project=name) as tx:
            for number in (1, 2):
                documents.add(tx, str(number), text="Mara came.", document_id=f"ch-{number}")
        series.add_book(store, name, "coast")
    with store.write(project="two") as tx:
        limited = Relation("will", SECRET, since=Position("ch-2"), known_to=frozenset({"will"}))
        ended = Relation("will", "rival of", since=Position("ch-1"), until=Position("ch-2"))
        open_one = Relation("will", "friend of")
        edits.put_all(tx, (person("Mara", limited, ended, open_one), person("Stranger")))
    with Workspace(store) as workspace:

        def told(name: str, number: int, kind: str, character: str | None = None) -> bool:
            project = workspace.project(name)
            return kind in everything(ask(project, document_id=f"ch-{number}", character=character))

        for kind, character in ((SECRET, "will"), ("rival of", None), ("friend of", None)):
            assert not any(told("one", number, kind, character) for number in (1, 2))
        assert [told("two", number, SECRET, "will") for number in (1, 2)] == [False, True]
        assert [told("two", number, "rival of") for number in (1, 2)] == [True, False]
        assert told("three", 1, SECRET, "will")
        assert not told("three", 1, SECRET)
        assert not told("three", 1, "rival of")
        assert not told("three", 1, "friend of")
