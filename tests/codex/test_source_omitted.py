"""`why` names the reason for each entry that is not in the prompt."""

from __future__ import annotations

from typing import Any

from fabula.codex import Codex, Entry, Level, PinMode
from fabula.context.trace import Reason
from fabula.core.story import Position
from fabula.core.view import Project, View
from fabula.manuscript.model import Manuscript
from fabula.workspace.read_only import open_view
from tests.manuscript.stories import PROJECT, ask, chapter


def entry(name: str, level: Level = Level.WHEN_DETECTED, **fields: Any) -> Entry:
    return Entry(id=name.lower(), type="character", name=name, level=level, description=f"All about {name}.", **fields)


ENTRIES = [
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
    codex = Codex(PROJECT, "en", ENTRIES, BOOK.timeline(), pins={"ch-1": {"out": PinMode.EXCLUDE}})
    project = open_view(View(Project(id=PROJECT), BOOK.timeline(), {Manuscript: BOOK, Codex: codex}))
    result = ask(project, document_id="ch-1")
    reasons = {name: [verdict.reason for verdict in result.explain(name)] for name in (one.name for one in ENTRIES)}
    assert reasons == {
        "Near": [Reason.KEPT],
        "Far": [Reason.NOT_DETECTED],
        "Hand": [Reason.LEVEL_MANUAL],
        "Hush": [Reason.LEVEL_NEVER],
        "Out": [Reason.PINNED_OUT],
        "Later": [Reason.NOT_YET],
        "Theirs": [Reason.NOT_KNOWN],
    }
    assert all(verdict.sentence for name in reasons for verdict in result.explain(name))
