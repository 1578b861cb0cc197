"""Names of the codex in a text, and cards as they stand at a place of the story."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.core.errors import FabulaError
from fabula.text.names.disambiguation import Mention
from fabula.text.word_count import count_words
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.codex import describe_mentions
from fabula.workspace.workspace import Workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    folder: Path = tmp_path_factory.mktemp("store")
    with Workspace.open(folder / "store.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def story(workspace: Workspace) -> ProjectHandle:
    return workspace.copy_sample("lantern_coast")


def test_names_are_found_where_they_stand_with_their_entries(story: ProjectHandle) -> None:
    text = "Below, Mara put out the lamp."
    (found,) = story.mentions.find(text)
    assert text[found.start : found.end] == "Mara"
    assert [story.codex.find(one).name for one in found.owners] == ["Mara Venn"]


def test_a_card_has_no_progression_before_its_place(story: ProjectHandle) -> None:
    story.codex.add("Odile Marsh", kind="character", description="Keeps the light at Skerrow.")
    story.codex.add_progression("Odile Marsh", "Has left the light for good.", since="3")
    before, after = (story.mentions.read_card("Odile Marsh", chapter=one, offset=0) for one in ("2", "4"))
    assert "Keeps the light" in before.text
    assert "Has left" not in before.text
    assert before.later_count == 1
    assert "Has left" in after.text
    assert after.later_count == 0
    assert story.mentions.read_card("Odile Marsh").text == after.text


def test_a_card_holds_what_its_knower_knows_at_the_place(story: ProjectHandle) -> None:
    story.codex.add("Jonas Reed", kind="character", description="Mends nets.")
    story.codex.add_progression("Jonas Reed", "Has killed the old keeper.", since="2", known_to=["Mara Venn"])
    story.codex.add_progression("Jonas Reed", "Is to be hanged.", since="5", known_to=["Mara Venn"])
    author, mara, will, reader = (
        story.mentions.read_card("Jonas Reed", chapter="4", knower=one) for one in ("", "Mara", "Will Tarn", "reader")
    )
    assert "Has killed" in author.text
    assert mara == author
    assert (author.later_count, author.unknown_count) == (1, 0)
    for ignorant in (will, reader):
        assert "Mends nets." in ignorant.text
        assert "killed" not in ignorant.text
        assert (ignorant.later_count, ignorant.unknown_count) == (1, 1)


def test_the_card_of_an_entry_that_somebody_does_not_know_has_no_text_and_says_why(story: ProjectHandle) -> None:
    story.codex.add("The black ledger", kind="item", description="Names every bribe.", known_to=["Grace"])
    story.codex.set_knowledge("The black ledger", "Will Tarn", since="5")
    assert "bribe" in story.mentions.read_card("The black ledger", chapter="4", knower="Grace").text
    hidden = story.mentions.read_card("The black ledger", chapter="4", knower="Will Tarn")
    assert hidden.text == ""
    assert str(hidden.reason) == "Will Tarn does not know this until chapter 5"
    assert "bribe" in story.mentions.read_card("The black ledger", chapter="6", knower="Will Tarn").text
    with pytest.raises(FabulaError, match="Nobody Ever"):
        story.mentions.read_card("The black ledger", knower="Nobody Ever")


def test_words_are_found_as_replacing_them_would_find_them(story: ProjectHandle) -> None:
    found = story.chapters.find_words("lamp")
    counts = {one.chapter.name: one.count for one in found}
    place = found[0].places[0]
    text = story.chapters.read(found[0].chapter.id).text
    assert text[place.offset : place.offset + 4] == "lamp"
    assert text[: place.offset].endswith(place.before)
    assert story.chapters.replace_words("lamp", "lantern") == counts


def test_words_are_replaced_as_whole_words_in_any_case_but_for_places_that_are_left_out(workspace: Workspace) -> None:
    story = workspace.copy_sample("lantern_coast")
    made = story.chapters.add("Words", text="Zorp, zorp and zorps. 他说Zorp了。佐普人")
    found = story.chapters.find_words("zorp", whole_word=True, any_case=True)
    assert [(one.offset, one.words) for one in found[0].places] == [(0, "Zorp"), (6, "zorp"), (24, "Zorp")]
    assert story.chapters.find_words("zorp")[0].count == 2
    assert story.chapters.find_words("佐普", whole_word=True)[0].count == 1  # no spaces part the words of Chinese
    counts = story.chapters.replace_words(
        "zorp", "yarn", whole_word=True, any_case=True, except_places=[f"{made.id}@6"]
    )
    assert counts == {"Words": 2}
    text = "yarn, zorp and zorps. 他说yarn了。佐普人"
    assert story.chapters.read(made.id).text == text
    with pytest.raises(FabulaError, match="Find them again"):
        story.chapters.replace_words("zorp", "yarn", except_places=[f"{made.id}@7"])
    assert story.chapters.read(made.id).text == text


def test_samples_are_listed_and_become_projects_of_their_own(workspace: Workspace, story: ProjectHandle) -> None:
    listed = {one.name: one for one in workspace.list_samples()}
    assert (listed["wugang"].language, listed["wugang"].chapters) == ("zh", 7)
    assert listed["lantern_coast"].title == story.view.project.title
    again = workspace.copy_sample("lantern_coast")
    assert again.id != story.id


def test_the_words_of_chapters_are_counted_as_writers_count_them(story: ProjectHandle) -> None:
    assert [one.words for one in story.chapters.list_chapters() if (one.words or 0) < 500] == []
    assert count_words("One two—three, four.") == 3
    assert count_words("林远走了过来，说：go on。") == 9
    assert count_words("") == 0


@given(st.text(alphabet="aé字😀 \n", max_size=40), st.data())
def test_mentions_count_utf16_units(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    (described,) = describe_mentions([Mention(text[start:end], start, end, ("one",))], text)
    units = text.encode("utf-16-le")
    assert units[2 * described.start : 2 * described.end].decode("utf-16-le") == text[start:end]
