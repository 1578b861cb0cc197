"""Asking why: by name, by a part of one, and by what a thing says where it has no name."""

from __future__ import annotations

import re

from fabula.context import Engine, Fragment, Layer, Part, Project, Reason, Request, View
from fabula.manuscript.model import Document, Manuscript
from fabula.manuscript.source import EDITOR_SOURCE
from tests.context.builders import PROJECT, chunk

RULE = Fragment(source="constraint:7", layer=Layer.RULES, text="There is no magic.", project_id=PROJECT)
LAMP = chunk("Magic lamps were sold here once.", 0.9, source="codex:lamp")


def sources(name: str) -> list[str]:
    result = Engine().assemble(Request(project_id=PROJECT), fragments=[RULE, LAMP])
    return [verdict.source for verdict in result.explain(name)]


def test_a_name_comes_before_a_part_of_one_and_that_before_what_is_said() -> None:
    assert sources("codex:lamp") == ["codex:lamp"]
    assert sources("lamp") == ["codex:lamp"]  # though it is said elsewhere, too
    assert sources("NO MAGIC") == ["constraint:7"]
    assert sorted(sources("magic")) == ["codex:lamp", "constraint:7"]
    assert sources("dragon") == []


def test_what_was_never_counted_is_not_told_as_if_it_were_all() -> None:
    view = View(
        Project(id=PROJECT), snapshots={Manuscript: Manuscript((Document("d", "D", "One more line.\n\n" * 90_000),))}
    )
    request = Request(project_id=PROJECT, document_id="d", window=8192)
    shown = next(v for v in Engine([EDITOR_SOURCE]).assemble(request, view).trace if v.reason is Reason.SHORTENED)
    assert re.match(r"at least \d{1,3}(,\d{3})+ tokens", str(shown.detail))
    short = Fragment(
        source="w", layer=Layer.IMMEDIATE, part=Part.WINDOW, text="One line.\n\n" * 4000, project_id=PROJECT
    )
    told = Engine().assemble(Request(project_id=PROJECT, window=8192), fragments=[short]).explain("w")
    assert str(told[0].detail).split()[1:] == ["tokens", "left", "out"]
