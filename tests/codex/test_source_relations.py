"""Relations bring related entries into the prompt, to a set depth (cdx-5)."""

from __future__ import annotations

from msgspec.structs import replace

from fabula.codex import Entry, Level, Relation
from fabula.codex.source import CodexSource
from fabula.context.engine import Engine
from fabula.context.result import Result
from fabula.core.story import Position
from fabula.workspace.sources import all_sources
from tests.manuscript.stories import ask, chapter, sources, story


def person(name: str, *related: str, level: Level = Level.WHEN_DETECTED) -> Entry:
    relations = tuple(Relation(other.lower(), "knows") for other in related)
    return Entry(
        id=name.lower(), type="character", name=name, description=f"All about {name}.", level=level, relations=relations
    )


ENTRIES = [
    person("Mara", "Bram", "Ghost", "Secret", "Nobody"),
    person("Bram", "Cole"),
    person("Cole", "Dora"),
    person("Dora"),
    person("Ghost", level=Level.MANUAL),
    person("Secret", level=Level.NEVER),
]


def at_depth(depth: int) -> Result:
    project = story(chapter(1, "Mara came."), entries=ENTRIES)
    feeds = [source for source in all_sources() if source.name != "codex"]
    engine = Engine([*feeds, CodexSource(relation_depth=depth)])
    return engine.assemble(project.request(), project.view)


def test_a_detected_entry_adds_its_when_detected_relations() -> None:
    result = ask(story(chapter(1, "Mara came."), entries=ENTRIES))
    assert sources(result, "codex:") == ["codex:entity:bram", "codex:entity:mara"]


def test_a_related_entry_ranks_below_the_one_that_brought_it() -> None:
    result = ask(story(chapter(1, "Mara came."), entries=ENTRIES))
    scores = {verdict.source: verdict.score for verdict in result.trace}
    assert scores["codex:entity:bram"] < scores["codex:entity:mara"]


def test_relations_reach_as_deep_as_they_are_set() -> None:
    reached = [set(sources(at_depth(depth), "codex:")) for depth in range(4)]
    assert [len(names) for names in reached] == [1, 2, 3, 4]
    assert "codex:entity:dora" in reached[3]


def test_relations_bring_neither_manual_nor_never_entries_at_any_depth() -> None:
    for depth in range(4):
        assert not {"codex:entity:ghost", "codex:entity:secret"} & set(sources(at_depth(depth)))


def test_entries_that_name_each_other_come_once() -> None:
    entries = [person("Mara", "Bram", "Mara"), person("Bram", "Mara")]
    result = ask(story(chapter(1, "Mara and Bram came."), entries=entries))
    assert sources(result, "codex:") == ["codex:entity:bram", "codex:entity:mara"]


def test_a_mentioned_always_entry_brings_its_relations_and_an_unmentioned_one_does_not() -> None:
    entries = [person("Chief", "Bram", level=Level.ALWAYS), person("Bram")]
    assert "codex:entity:bram" in sources(ask(story(chapter(1, "Chief came."), entries=entries)))
    assert "codex:entity:bram" not in sources(ask(story(chapter(1, "Nobody came."), entries=entries)))


def test_an_entry_that_is_not_known_yet_adds_no_relations() -> None:
    """Otherwise the presence of a related entry would reveal the hidden one."""
    hidden = replace(person("Mara", "Bram"), since=Position("ch-2"))
    book = [chapter(1, "Mara came."), chapter(2, "Mara came.")]
    project = story(*book, entries=[hidden, person("Bram")])
    assert sources(ask(project, document_id="ch-1"), "codex:") == []
    assert sources(ask(project, document_id="ch-2"), "codex:") == ["codex:entity:bram", "codex:entity:mara"]
    through = story(*book, entries=[person("Bram", "Cole"), replace(person("Mara", "Bram"), known_to=frozenset("x"))])
    assert sources(ask(through, document_id="ch-2"), "codex:") == []
