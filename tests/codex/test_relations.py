"""Relations bring related entries along, to a set depth."""

from __future__ import annotations

from msgspec.structs import replace

from fabula.codex.model import Entry, Level, Relation
from fabula.codex.source import CodexSource
from fabula.context.engine import Engine
from fabula.context.result import Result
from fabula.core.story import Position
from fabula.workspace.project import all_sources
from tests.manuscript.stories import ask, chapter, sources, story


def person(name: str, *related: str, level: Level = Level.WHEN_DETECTED) -> Entry:
    relations = tuple(Relation(other.lower(), "knows") for other in related)
    return Entry(
        id=name.lower(), type="character", name=name, description=f"All about {name}.", level=level, relations=relations
    )


CAST = [
    person("Mara", "Bram", "Ghost", "Secret", "Nobody"),
    person("Bram", "Cole"),
    person("Cole", "Dora"),
    person("Dora"),
    person("Ghost", level=Level.MANUAL),
    person("Secret", level=Level.NEVER),
]


def at_depth(depth: int) -> Result:
    fabula = story(chapter(1, "Mara came."), entries=CAST)
    feeds = [source for source in all_sources() if source.name != "codex"]
    engine = Engine([*feeds, CodexSource(relation_depth=depth)])
    return engine.assemble(fabula.request(), fabula.view)


def test_a_detected_entry_brings_its_when_detected_relations_along() -> None:
    result = ask(story(chapter(1, "Mara came."), entries=CAST))
    assert sources(result, "codex:") == ["codex:entity:bram", "codex:entity:mara"]


def test_a_related_entry_ranks_below_the_one_that_brought_it() -> None:
    result = ask(story(chapter(1, "Mara came."), entries=CAST))
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
    cast = [person("Mara", "Bram", "Mara"), person("Bram", "Mara")]
    result = ask(story(chapter(1, "Mara and Bram came."), entries=cast))
    assert sources(result, "codex:") == ["codex:entity:bram", "codex:entity:mara"]


def test_a_mentioned_always_entry_brings_its_relations_and_an_unmentioned_one_does_not() -> None:
    cast = [person("Chief", "Bram", level=Level.ALWAYS), person("Bram")]
    assert "codex:entity:bram" in sources(ask(story(chapter(1, "Chief came."), entries=cast)))
    assert "codex:entity:bram" not in sources(ask(story(chapter(1, "Nobody came."), entries=cast)))


def test_an_entry_that_is_not_known_yet_brings_nobody_along() -> None:
    """Who stands to the hidden one in some way would be told otherwise, by coming at all."""
    hidden = replace(person("Mara", "Bram"), since=Position("ch-2"))
    book = [chapter(1, "Mara came."), chapter(2, "Mara came.")]
    fabula = story(*book, entries=[hidden, person("Bram")])
    assert sources(ask(fabula, document_id="ch-1"), "codex:") == []
    assert sources(ask(fabula, document_id="ch-2"), "codex:") == ["codex:entity:bram", "codex:entity:mara"]
    through = story(*book, entries=[person("Bram", "Cole"), replace(person("Mara", "Bram"), known_to=frozenset("x"))])
    assert sources(ask(through, document_id="ch-2"), "codex:") == []
