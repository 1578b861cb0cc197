"""`fabula need`: what the model asked for in scenes, listed and forgotten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabula.codex.facts import Quotation
from fabula.codex.facts.quotations import store_quotations
from fabula.core.story import Position
from fabula.manuscript.tables import documents
from fabula.search.need_edits import store_place
from fabula.workspace.workspace import Workspace
from tests.cli.test_projects import Desk

SAID = "“I shall bring back the lamp before the spring tide,” Maddox told the keeper."


@pytest.fixture
def desk(tmp_path: Path, prepared: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    """A desk with a draft, one entry, and what a model found and asked for."""
    made = Desk(tmp_path, prepared, monkeypatch, capsys)
    (tmp_path / "sea.md").write_text(f"# The Sea\n\n## One\n\nThe wind rose.\n\n{SAID}\n")
    made.run("import", "sea.md")
    made.run("codex", "add", "The Sea", "Maddox", "--type", "character")
    with Workspace.open(prepared) as workspace:
        (project_id,) = workspace.store.project_ids()
        maddox = workspace.project(project_id).codex.find("Maddox").id
        with workspace.store.write(project=project_id) as tx:
            (row,) = tx.rows(documents)
            store_quotations(tx, row.id, [Quotation(maddox, SAID)], "")
            store_place(tx, Position(row.id, 3), "reader", ("Who lit the lamp?", "Who came?"))
            store_place(tx, Position(row.id, 5), f"character:{maddox}", ("What did the keeper say?",))
    return made


def test_questions_are_listed_with_chapter_and_eyes_and_forgotten(desk: Desk) -> None:
    said = " ".join(desk.run("need", "list", "The Sea").split())
    assert "1 Who lit the lamp? (One, for the reader)" in said
    assert "What did the keeper say? (One, for Maddox)" in said
    assert "One question is forgotten." in desk.run("need", "forget", "The Sea", "1")
    needs = json.loads(desk.run("need", "list", "The Sea", "--json"))["needs"]
    assert [one["question"] for one in needs] == ["Who came?", "What did the keeper say?"]
    assert (needs[1]["perspective"], needs[1]["character"]) == ("character", "Maddox")
    assert (needs[0]["since"]["offset"], needs[0]["until"]["offset"]) == (3, len(f"The wind rose.\n\n{SAID}"))
    assert "2 questions are forgotten." in desk.run("need", "forget", "The Sea")
    assert "nothing yet" in desk.run("need", "list", "The Sea")


def test_a_fact_by_the_model_says_so(desk: Desk) -> None:
    said = " ".join(desk.run("fact", "list", "The Sea", "Maddox").split())
    assert f"{SAID} (One, found by the model)" in said
    (fact,) = json.loads(desk.run("fact", "list", "The Sea", "Maddox", "--json"))["facts"]
    assert fact["origin"] == "model"
