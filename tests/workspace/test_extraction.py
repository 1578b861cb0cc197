"""Proposed codex entries: looked at, accepted and dismissed in one transaction."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents
from fabula.workspace.extraction import ExtractionVerbs
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only
from tests.text.extraction.test_propose import SEA


@pytest.fixture
def extraction(coast: ProjectHandle) -> ExtractionVerbs:
    assert coast.store is not None
    with coast.store.write(project=coast.id) as tx:
        documents.write(tx, "ch-01", SEA * 4)
    return coast.extraction


def test_accepted_and_dismissed_names_are_not_proposed_again(coast: ProjectHandle, extraction: ExtractionVerbs) -> None:
    assert {"Maddox", "Vale"} <= {one.name for one in extraction.propose()}
    review = extraction.review(accept=["captain maddox"], dismiss=["Vale"])
    assert ([one.name for one in review.accepted], review.dismissed) == (["Maddox"], ["Vale"])
    assert not {"Maddox", "Vale"} & {one.name for one in review.proposals}
    assert not {"Maddox", "Vale"} & {one.name for one in extraction.propose()}
    assert coast.codex.find("Captain Maddox").name == "Maddox"


def test_an_unknown_name_changes_nothing_and_the_nearest_is_named(extraction: ExtractionVerbs) -> None:
    with pytest.raises(FabulaError, match="Did you mean Maddox") as refusal:
        extraction.review(accept=["Vale"], dismiss=["Madox"])
    assert refusal.value.code is Code.CODEX_INVALID
    assert {"Maddox", "Vale"} <= {one.name for one in extraction.propose()}


def test_a_file_is_only_looked_at(tmp_path: Path) -> None:
    (tmp_path / "sea.md").write_text(f"# The Sea\n\n{SEA * 4}", "utf-8")
    project = open_read_only(tmp_path / "sea.md")
    assert "Maddox" in [one.name for one in project.extraction.propose()]
    with pytest.raises(FabulaError) as refusal:
        project.extraction.review(accept=["Maddox"])
    assert refusal.value.code is Code.PROJECT_READ_ONLY
    project.close()
