"""Names that a progression reveals: in the prompt, and detecting their entry, only from its position on (cdx-4)."""

from __future__ import annotations

import pytest

from fabula.codex import Codex, Entry, Progression, edits, progressions
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Perspective, Position
from fabula.manuscript import documents, projects
from fabula.store.store import Store
from tests.manuscript.stories import ask, chapter, everything, sources, story

FOX = Progression("", Position("ch-5"), aliases=("the Fox",))
MARA = Entry(id="mara", type="character", name="Mara", aliases=("Keeper",), description="A woman.", progressions=(FOX,))
BOOK = [chapter(n, "They spoke of the Fox.") for n in range(1, 7)]


def test_a_later_name_is_not_in_a_prompt_before_its_position() -> None:
    project = story(*BOOK, entries=[MARA])
    for number, known in ((4, False), (5, True), (6, True)):
        result = ask(project, document_id=f"ch-{number}", include=("mara",))
        assert ("also called the Fox." in everything(result)) is known
        assert "Mara (character; also Keeper): A woman." in result.prompt


def test_a_later_name_does_not_detect_its_entry_before_its_position() -> None:
    """That Mara's entry comes along wherever the Fox is spoken of would tell who the Fox is."""
    project = story(*BOOK, entries=[MARA])
    for number, known in ((1, False), (4, False), (5, True)):
        assert ("codex:entity:mara" in sources(ask(project, document_id=f"ch-{number}"))) is known
    assert "codex:entity:mara" in sources(ask(project, document_id="ch-1", perspective=Perspective.AUTHOR))
    both = story(chapter(1, "Mara spoke of THE FOXES."), chapter(5, "End."), entries=[MARA])
    assert "codex:entity:mara" in sources(ask(both, document_id="ch-1"))


def test_a_later_name_detects_its_entry_only_for_those_who_know_it() -> None:
    step = Progression("", Position("ch-2"), frozenset({"bram"}), ("the Fox",))
    project = story(*BOOK, entries=[Entry(id="mara", type="character", name="Mara", progressions=(step,))])
    assert "codex:entity:mara" in sources(ask(project, document_id="ch-3", character="bram"))
    assert "codex:entity:mara" not in sources(ask(project, document_id="ch-3", character="cole"))


def test_a_later_name_counts_as_forbidden_until_then() -> None:
    assert Codex("p", "en", [MARA]).later_names == {"the Fox": Position("ch-5")}


def test_a_later_name_may_come_with_text_and_for_some_characters_only() -> None:
    step = Progression("She wears a mask.", Position("ch-2"), frozenset({"bram"}), ("the Fox", "Red"))
    project = story(*BOOK, entries=[Entry(id="mara", type="character", name="Mara", progressions=(step,))])
    prompt = ask(project, document_id="ch-3", character="bram").prompt
    assert "Mara (by now): also called the Fox, Red. She wears a mask." in prompt
    assert "She wears a mask." not in everything(ask(project, document_id="ch-3", character="cole"))


def test_a_chinese_later_name_is_rendered_in_chinese() -> None:
    lin = Entry(
        id="lin",
        type="character",
        name="林远",
        progressions=(Progression("他走了。", Position("ch-1"), None, ("狐狸",)),),
    )
    prompt = ask(story(chapter(1, "林远来了。"), entries=[lin], language="zh")).prompt
    assert "林远（此后）：又名狐狸。他走了。" in prompt


def test_later_names_are_stored_changed_and_move_with_the_text(store: Store) -> None:
    projects.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        documents.add(tx, "Five", text="She is the Fox.", document_id="ch-5")
        edits.put(tx, MARA)
        ident = progressions.add(tx, "mara", Progression("", Position("ch-5", 15), aliases=(" Red ", "", "Red")))
        assert edits.get(tx, "mara").entry.progressions[1].aliases == ("Red",)
        documents.write(tx, "ch-5", "Oh! She is the Fox.")
        assert edits.get(tx, "mara").entry.progressions[1].since == Position("ch-5", 19)
        progressions.update(tx, ident, {"aliases": ["Rust"]})
        assert edits.get(tx, "mara").entry.progressions[1].aliases == ("Rust",)
        with pytest.raises(FabulaError) as refused:
            progressions.update(tx, ident, {"aliases": []})
        assert refused.value.code is Code.CODEX_INVALID
