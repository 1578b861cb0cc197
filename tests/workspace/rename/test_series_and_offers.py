"""A rename spans a book and its series, is shown in story order, and offers the names it leaves behind (man-4)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula.codex import Codex, Entry, Progression, edits
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript import documents, projects, series
from fabula.workspace.project import ProjectHandle
from fabula.workspace.rename.edits import apply_edits
from fabula.workspace.workspace import Workspace


@pytest.fixture
def book(workspace: Workspace) -> ProjectHandle:
    """A book of a series; Tom is an entry of the series, and so is a place with a longer name."""
    store = workspace.store
    series.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        edits.put_all(
            tx,
            [
                Entry(
                    id="tom",
                    type="character",
                    name="Tom",
                    description="Tom pipes.",
                    progressions=(Progression("Tom is old.", Position("ch-1")),),
                ),
                Entry(id="rock", type="location", name="Tom Rock", description="A rock near Tom."),
            ],
        )
    projects.create(store, "One", project_id="one")
    with store.write(project="one") as tx:
        documents.add(tx, "One", text="Tom sat on Tom Rock.", document_id="z-first")
        documents.add(tx, "Two", text="Tom left.", document_id="a-second")
        edits.put(tx, Entry(id="tom", type="character", name="Tom", details={"hat": "Tom has one."}))
    series.add_book(store, "one", "coast")
    return workspace.project("one")


def codex(project: ProjectHandle) -> Codex:
    found = project.view.snapshot(Codex)
    assert found is not None
    return found


def test_a_rename_in_the_book_does_not_leave_the_series_entry_behind(book: ProjectHandle, workspace: Workspace) -> None:
    places = book.codex.preview_rename("Tom", "Ned")
    before = codex(workspace.project("coast")).by_id
    rename_id = book.codex.rename("Tom", "Ned")
    shared = codex(workspace.project("coast")).by_id
    assert (shared["tom"].name, shared["tom"].description) == ("Ned", "Ned pipes.")
    assert [step.text for step in shared["tom"].progressions] == ["Ned is old."]
    assert sum(place.in_series for place in places) == 4
    assert all("(series)" in str(place.label) for place in places if place.in_series)
    assert "Tom" not in codex(book).by_id["tom"].names
    book.codex.undo_rename(rename_id)
    assert codex(workspace.project("coast")).by_id == before


def test_longer_names_of_the_series_are_protected(book: ProjectHandle, workspace: Workspace) -> None:
    book.codex.rename("Tom", "Ned")
    shared = codex(workspace.project("coast")).by_id["rock"]
    assert (shared.name, shared.description) == ("Tom Rock", "A rock near Ned.")
    with workspace.store.read(project="one") as reading:
        assert documents.make_draft(reading).drafts[0].text == "Ned sat on Tom Rock."


def test_a_preview_is_in_story_order(book: ProjectHandle) -> None:
    texts = [place for place in book.codex.preview_rename("Tom", "Ned") if place.area == "manuscript"]
    assert [str(place.label).partition(",")[0] for place in texts] == ["One", "Two"]


def test_a_rename_that_changed_a_series_is_not_undone_outside_it(book: ProjectHandle, workspace: Workspace) -> None:
    rename_id = book.codex.rename("Tom", "Ned")
    workspace.leave_series("one")
    with pytest.raises(FabulaError) as refused:
        book.codex.undo_rename(rename_id)
    assert refused.value.code is Code.STORE_CONFLICT
    assert codex(book).by_id["tom"].name == "Ned"


@pytest.mark.parametrize(
    ("names", "text", "old", "new", "expected"),
    [
        (
            ("Edmond Dantès",),
            "Edmond Dantès wept. Dantès rose; old Dantès slept.",
            "Edmond Dantès",
            "Edmond Dupont",
            {"Dantès": ("Dupont", 2)},
        ),
        (("八戒", "猪八戒"), "八戒笑了。猪八戒走来，猪八戒吃瓜。", "八戒", "九戒", {"猪八戒": ("猪九戒", 2)}),
        (("八戒",), "行者道：“八戒！”猪八戒来了。猪八戒吃瓜。猪八戒睡了。", "八戒", "九戒", {"猪八戒": ("猪九戒", 3)}),
        (("猪八戒", "八戒"), "猪八戒笑道。八戒吃瓜。", "猪八戒", "朱九戒", {"八戒": ("九戒", 1)}),
        (("Mara",), "Mara left.", "Mara", "Nora", {}),
    ],
)
def test_names_that_a_rename_leaves_behind_are_offered_unchecked(
    workspace: Workspace, names: tuple[str, ...], text: str, old: str, new: str, expected: dict[str, tuple[str, int]]
) -> None:
    project = workspace.create_project("Book", language="zh")
    with workspace.store.write(project=project.id) as tx:
        documents.add(tx, "1", text=text, document_id="ch-1")
        edits.put(tx, Entry(id="x", type="character", name=names[0]))
    found = {one.words: (one.replacement, one.count) for one in project.codex.offer_renames(old, new)}
    if len(names) > 1:
        with workspace.store.write(project=project.id) as tx:
            edits.put(tx, Entry(id="x", type="character", name=names[0], aliases=names[1:]))
        found = {one.words: (one.replacement, one.count) for one in project.codex.offer_renames(old, new)}
        expected = {words: (becomes, count + 1) for words, (becomes, count) in expected.items()}  # the alias itself
    assert found == expected
    for words in expected:
        rename_id = project.codex.rename(old, new)
        with workspace.store.read(project=project.id) as reading:
            assert words in documents.make_draft(reading).drafts[0].text, "it is left as it is unless asked for"
        project.codex.undo_rename(rename_id)
        rename_id = project.codex.rename(old, new, also=[words])
        with workspace.store.read(project=project.id) as reading:
            changed = documents.make_draft(reading).drafts[0].text
        assert old not in changed
        assert words not in changed
        project.codex.undo_rename(rename_id)


def test_a_further_name_that_was_not_offered_needs_another_name(workspace: Workspace) -> None:
    project = workspace.create_project("Book")
    with workspace.store.write(project=project.id) as tx:
        documents.add(tx, "1", text="Mara and the Keeper.", document_id="ch-1")
    with pytest.raises(FabulaError) as refused:
        project.codex.rename("Mara", "Nora", also=["Keeper"])
    assert refused.value.code is Code.CODEX_INVALID
    project.codex.rename("Mara", "Nora", also=["Keeper=Warden"])
    with workspace.store.read(project=project.id) as reading:
        assert documents.make_draft(reading).drafts[0].text == "Nora and the Warden."


WORDS = st.lists(
    st.sampled_from(
        ["Stubb", "Mr. Stubb", "Mr. Stubb's", "Stubbs", "凤姐", "凤姐儿", "王熙凤", "he", "came", "Edmond Stubb"]
    ),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=WORDS, old=st.sampled_from(["Stubb", "Mr. Stubb", "凤姐", "Edmond Stubb"]))
def test_the_preview_of_a_rename_is_its_result(workspace: Workspace, words: list[str], old: str) -> None:
    text = " ".join(words)
    project = workspace.create_project("Whale")
    project.chapters.add("Loomings", text)
    project.codex.add("Stubb", kind="character", aliases=("Mr. Stubb", "Edmond Stubb"))
    project.codex.add("凤姐", kind="character", aliases=("凤姐儿", "王熙凤"))
    new = "平儿" if old == "凤姐" else "Flask"
    places = [one for one in project.codex.preview_rename(old, new) if str(one.label) == "Loomings, text"]
    offers = project.codex.offer_renames(old, new)
    expected = apply_edits(text, [(one.start, one.end, one.replacement) for one in places])
    project.codex.rename(old, new)
    result = project.chapters.read("Loomings").text
    assert result == expected
    for offer in offers:  # what is said to stay is still there
        everywhere = [result, *(name for entry in project.codex.list_entries() for name in entry.names)]
        assert sum(one.count(offer.words) for one in everywhere) >= offer.count
    workspace.delete_project(project.id)


def test_a_name_that_is_renamed_in_part_is_not_listed_as_left(workspace: Workspace) -> None:
    project = workspace.create_project("Whale")
    project.chapters.add("Loomings", "Mr. Stubb came. Stubb left.")
    project.codex.add("Stubb", kind="character", aliases=("Mr. Stubb",))
    assert "Mr. Stubb" not in [one.words for one in project.codex.offer_renames("Stubb", "Flask")]


def test_a_rename_onto_the_name_of_another_entry_is_refused(workspace: Workspace) -> None:
    project = workspace.create_project("Whale")
    project.chapters.add("Loomings", "Stubb met Flask.")
    project.codex.add("Stubb", kind="character")
    project.codex.add("Flask", kind="character")
    with pytest.raises(FabulaError) as refused:
        project.codex.rename("Stubb", "Flask")
    assert refused.value.code is Code.STORE_DUPLICATE
    assert project.chapters.read("Loomings").text == "Stubb met Flask."
    project.codex.rename("Stubb", "Flask", allow_duplicate=True)
    assert project.chapters.read("Loomings").text == "Flask met Flask."


def test_a_renamed_character_is_renamed_in_conversations_too_and_is_nobody_else(workspace: Workspace) -> None:
    project = workspace.create_project("Orchard")
    project.chapters.add("The Gate", "Tobias Reed stood under the gate. Tobias waited.")
    project.codex.add("Tobias", kind="character", aliases=("Tobias Reed",))
    project.codex.add("Ines", kind="character")
    chat = project.chat.start(["Tobias", "Ines"], title="Tobias and Ines at the press")
    project.conversations.start(["Ines"], title="About Tobias")
    project.participants.add("Tobias's dog", namespace="persona")
    before = {one.id: (one.name, one.aliases, one.persona) for one in project.participants.list_all()}
    places = project.codex.preview_rename("Tobias Reed", "Anselm Reed", also=["Tobias=Anselm"])
    labels = [str(one.label) for one in places if one.area == "people"]
    assert labels[:2] == ["Tobias, name in conversations", "Tobias, aliases in conversations 1"]
    assert labels[2:] == ["Tobias, persona"] * 3
    rename_id = project.codex.rename("Tobias Reed", "Anselm Reed", also=["Tobias=Anselm"])
    people = {one.name: one for one in project.participants.list_all()}
    assert set(people) == {"Writer", "Anselm", "Ines", "Tobias's dog"}
    assert people["Anselm"].aliases == ("Anselm Reed",)
    assert people["Anselm"].persona.startswith("You are Anselm. Speak and act as Anselm")
    assert project.conversations.get(chat.record.id).record.title == "Anselm and Ines at the press"
    assert {one.record.title for one in project.conversations.list_all()} >= {"About Tobias"}
    assert project.participants.resolve("Anselm").id in before, "the character is the participant of before"
    project.codex.undo_rename(rename_id)
    assert {one.id: (one.name, one.aliases, one.persona) for one in project.participants.list_all()} == before
    assert project.conversations.get(chat.record.id).record.title == "Tobias and Ines at the press"
