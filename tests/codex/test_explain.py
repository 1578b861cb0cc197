"""Why an entry is not in the prompt: each reason, as `why` tells it."""

from __future__ import annotations

from typing import Any

from fabula.codex.model import Codex, Entry, Level, Wish
from fabula.context.trace import Reason
from fabula.core.story import Position
from fabula.core.view import Project, View
from fabula.manuscript.model import Manuscript
from fabula.workspace.project import Fabula
from tests.manuscript.stories import PROJECT, ask, chapter


def entry(name: str, level: Level = Level.WHEN_DETECTED, **fields: Any) -> Entry:
    return Entry(id=name.lower(), type="character", name=name, level=level, description=f"All about {name}.", **fields)


CAST = [
    entry("Near"),
    entry("Far"),
    entry("Hand", Level.MANUAL),
    entry("Hush", Level.NEVER),
    entry("Out"),
    entry("Later", since=Position("ch-2")),
    entry("Theirs", known_to=frozenset({"bram"})),
]
BOOK = Manuscript((chapter(1, "Near, Hand, Hush, Out, Later and Theirs came."), chapter(2, "Nobody.")))


def test_every_entry_that_is_absent_says_why() -> None:
    codex = Codex(PROJECT, "en", CAST, BOOK.timeline(), pins={"ch-1": {"out": Wish.EXCLUDE}})
    fabula = Fabula(View(Project(id=PROJECT), BOOK.timeline(), {Manuscript: BOOK, Codex: codex}))
    result = ask(fabula, document_id="ch-1")
    why = {name: [verdict.reason for verdict in result.why(name)] for name in (one.name for one in CAST)}
    assert why == {
        "Near": [Reason.KEPT],
        "Far": [Reason.NOT_DETECTED],
        "Hand": [Reason.LEVEL_MANUAL],
        "Hush": [Reason.LEVEL_NEVER],
        "Out": [Reason.PINNED_OUT],
        "Later": [Reason.NOT_YET],
        "Theirs": [Reason.NOT_KNOWN],
    }
    assert all(verdict.sentence for name in why for verdict in result.why(name))
