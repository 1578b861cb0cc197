"""The reasons a person would give: how near a name is, who brings whom, who does not know something until when."""

from __future__ import annotations

from dataclasses import replace as replace_document

import pytest
from msgspec.structs import replace

from fabula.codex import Codex, Entry, Level, PinMode, Progression, Relation
from fabula.context.result import Result
from fabula.core.story import Position
from fabula.core.view import Project, View
from fabula.manuscript.model import Document, Manuscript
from fabula.workspace.read_only import open_view
from tests.manuscript.stories import PROJECT, ask, chapter, sources, story


def person(name: str, *related: tuple[str, str], **more: object) -> Entry:
    relations = tuple(Relation(to, kind) for to, kind in related)
    entry = Entry(id=name.lower(), type="character", name=name, description=f"All about {name}.", relations=relations)
    return replace(entry, **more)


def why(result: Result, source: str) -> str:
    return next(one.sentence for one in result.trace if one.source == f"codex:entity:{source}")


@pytest.mark.parametrize(
    ("text", "cursor", "expected"),
    [
        ("Mara came in. " + "and so on " * 13, None, "named 41 words before the cursor"),
        ("Mara came.", None, "named 1 word before the cursor"),
        ("Mara", None, "named right at the cursor"),
        ("And then Mara came.", 0, "named 2 words after the cursor"),
        ("Nobody.", None, "named in the instruction"),
    ],
)
def test_why_says_how_near_the_name_is(text: str, cursor: int | None, expected: str) -> None:
    instruction = "Let Mara speak." if text == "Nobody." else ""
    result = ask(story(chapter(1, text), entries=[person("Mara")]), cursor=cursor, additional_input=instruction)
    assert why(result, "mara") == expected


def test_in_a_script_without_spaces_nearness_is_told_in_characters() -> None:
    entry = Entry(id="lin", type="character", name="林远", description="人物。")
    result = ask(story(chapter(1, "林远推开门，风雪扑面而来。"), entries=[entry]))
    assert why(result, "lin") == "named 10 characters before the cursor"


def test_a_related_entry_says_who_brings_it_and_by_which_relation() -> None:
    entries = [person("Mara", ("bram", "sister of")), person("Bram")]
    result = ask(story(chapter(1, "Mara came."), entries=entries))
    assert why(result, "bram") == "brought along by Mara (sister of)"


def test_what_a_character_does_not_know_says_until_when() -> None:
    book = Manuscript(tuple(replace_document(chapter(n, "Mara came."), pov="mercedes") for n in range(1, 6)))
    secret = person("Mara", known_to=frozenset({"mara"}))
    codex = Codex(
        PROJECT,
        "en",
        [secret, Entry(id="mercedes", type="character", name="Mercédès", description="She waits.")],
        book.timeline(),
        knowledge={"codex:entity:mara": {"mercedes": Position("ch-4")}},
    )
    project = open_view(View(Project(id=PROJECT), book.timeline(), {Manuscript: book, Codex: codex}))
    assert why(ask(project, document_id="ch-2"), "mara") == "Mercédès does not know this until chapter 4"
    assert "codex:entity:mara" in sources(ask(project, document_id="ch-5"))


def test_why_names_nobody_who_does_not_know_a_secret_yet() -> None:
    book = Manuscript(tuple(chapter(n, "Mara came.") for n in range(1, 6)))
    secret = person("Mara", since=Position("ch-2"), known_to=frozenset({"bram"}))
    codex = Codex(
        PROJECT,
        "en",
        [secret, person("Bram"), person("Cole")],
        book.timeline(),
        knowledge={"codex:entity:mara": {"cole": Position("ch-4")}},
    )
    project = open_view(View(Project(id=PROJECT), book.timeline(), {Manuscript: book, Codex: codex}))
    assert why(ask(project, document_id="ch-1"), "mara") == "the reader does not know this"
    assert why(ask(project, document_id="ch-3"), "mara") == "the reader does not know this; known to Bram"
    assert why(ask(project, document_id="ch-5"), "mara") == "the reader does not know this; known to Bram, Cole"


def test_a_name_that_is_revealed_later_says_when() -> None:
    later = Progression("", Position("ch-3"), aliases=("the Fox",))
    project = story(*(chapter(n, "The Fox came.") for n in (1, 2, 3)), entries=[person("Mara", progressions=(later,))])
    reason = why(ask(project, document_id="ch-1", additional_input="Let the Fox speak."), "mara")
    assert reason.endswith("ox is one of its names is revealed in chapter 3")
    assert why(ask(project, document_id="ch-3"), "mara").startswith("named ")


def test_what_the_reader_does_not_know_says_who_does() -> None:
    entries = [person("Mara", known_to=frozenset({"bram"})), person("Bram")]
    result = ask(story(chapter(1, "Mara came."), entries=entries))
    assert why(result, "mara") == "the reader does not know this; known to Bram"


def test_what_is_revealed_later_says_in_which_chapter() -> None:
    entries = [person("Mara", since=Position("ch-2"), progressions=(Progression("She leaves.", Position("ch-3")),))]
    documents: list[Document] = [chapter(n, "Mara came.") for n in (1, 2, 3)]
    project = story(*documents, entries=entries)
    first, second = ask(project, document_id="ch-1"), ask(project, document_id="ch-2")
    assert why(first, "mara") == "it is revealed in chapter 2"
    assert why(second, "mara#1") == "it is revealed in chapter 3"


def test_no_entry_is_in_without_a_reason_of_its_own() -> None:
    entries = [person("Mara", ("bram", "knows")), person("Bram"), person("Abel", level=Level.ALWAYS)]
    result = ask(story(chapter(1, "Mara came."), entries=entries))
    reasons = [v.sentence for v in result.trace if v.included and v.source.startswith("codex:")]
    assert len(reasons) == 3
    assert not {"it may matter here", "it belongs into this prompt"} & set(reasons)


# Relations


def test_relation_kinds_reach_the_prompt() -> None:
    entries = [person("Mara", ("bram", "sister of"), ("cole", "wife of")), person("Bram"), person("Cole")]
    result = ask(story(chapter(1, "Mara came."), entries=entries))
    assert "All about Mara. Relations: sister of: Bram; wife of: Cole." in result.prompt


def test_a_relation_names_nobody_who_is_not_known_here() -> None:
    secret = person("Bram", since=Position("ch-2"))
    hidden = [person("Ghost", level=Level.MANUAL), person("Shade", level=Level.NEVER)]
    related = (("bram", "sister of"), ("ghost", "haunted by"), ("shade", "haunted by"))
    project = story(
        chapter(1, "Mara came."), chapter(2, "Mara came."), entries=[person("Mara", *related), secret, *hidden]
    )
    first, second = ask(project, document_id="ch-1"), ask(project, document_id="ch-2")
    assert "Bram" not in first.prompt
    assert "Mara (relations): sister of: Bram." in second.prompt
    assert not {"Ghost", "Shade", "haunted"} & set(second.prompt.replace(".", " ").split())


def test_pinned_entries_bring_their_relations() -> None:
    entries = [person("Mara", ("bram", "sister of")), person("Bram")]
    book = Manuscript((chapter(1, "Nobody was there."),))
    codex = Codex(PROJECT, "en", entries, book.timeline(), pins={"ch-1": {"mara": PinMode.INCLUDE}})
    project = open_view(View(Project(id=PROJECT), book.timeline(), {Manuscript: book, Codex: codex}))
    result = ask(project, document_id="ch-1")
    assert "All about Bram." in result.prompt
    assert why(result, "bram") == "brought along by Mara (sister of)"


def test_what_a_request_includes_brings_its_relations() -> None:
    project = story(chapter(1, "Nobody."), entries=[person("Mara", ("bram", "sister of")), person("Bram")])
    assert "All about Bram." in ask(project, include=("Mara",)).prompt


@pytest.mark.parametrize("name", ["mara", "Mara", "codex:entity:mara"])
def test_what_a_request_excludes_brings_nobody_along(name: str) -> None:
    project = story(chapter(1, "Mara came."), entries=[person("Mara", ("bram", "sister of")), person("Bram")])
    result = ask(project, exclude=(name,))
    assert "codex:entity:bram" not in sources(result)
    assert why(result, "mara").startswith("it was excluded by hand")
