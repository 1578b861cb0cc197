"""Proposed codex entries: looked at, accepted and dismissed in one transaction."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript import documents
from fabula.manuscript.model import Manuscript
from fabula.workspace.extraction import ExtractionVerbs
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_read_only
from fabula.workspace.workspace import Workspace
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


def test_an_accepted_entry_quotes_the_book_and_starts_where_it_is_first_mentioned(
    coast: ProjectHandle, extraction: ExtractionVerbs
) -> None:
    assert coast.store is not None
    with coast.store.write(project=coast.id) as tx:
        later = documents.add(tx, "Later", text="Maddox was a captain of the old fleet, tall and grey.")
    (proposal,) = extraction.review(accept=["Maddox"]).accepted
    entry = coast.codex.find("Maddox")
    assert entry.since == Position(proposal.document, proposal.offset)
    first = coast.view.snapshot(Manuscript)
    assert first is not None
    document = next(document for document in first.documents if document.id == proposal.document)
    assert document.text[proposal.offset :].startswith("Captain Maddox")
    quotations = re.findall("“(.+?)”", entry.description)
    assert quotations
    assert all(quotation.replace("‘", "“") in document.text.replace("‘", "“") for quotation in quotations[:1])
    assert entry.description.startswith(f"The book says ({document.title}): “")
    (progression,) = entry.progressions
    assert progression.text == "The book says (Later): “Maddox was a captain of the old fleet, tall and grey.”"
    assert progression.since.document == later


def test_dismissals_can_be_listed_and_undone(extraction: ExtractionVerbs) -> None:
    extraction.review(dismiss=["Vale", "captain maddox"])
    assert extraction.list_dismissed() == ["Vale", "Maddox"]
    review = extraction.review(restore=["vale"])
    assert review.restored == ["Vale"]
    assert "Vale" in {one.name for one in review.proposals}
    assert extraction.list_dismissed() == ["Maddox"]
    assert "Vale" in {one.name for one in extraction.propose()}


def test_a_name_that_was_not_dismissed_cannot_be_restored(extraction: ExtractionVerbs) -> None:
    extraction.review(dismiss=["Vale"])
    with pytest.raises(FabulaError, match="Did you mean Vale") as refusal:
        extraction.review(restore=["Vael"], dismiss=["Maddox"])
    assert refusal.value.code is Code.CODEX_INVALID
    assert extraction.list_dismissed() == ["Vale"]


def test_an_unknown_name_changes_nothing_and_the_nearest_is_named(extraction: ExtractionVerbs) -> None:
    with pytest.raises(FabulaError, match="Did you mean Maddox") as refusal:
        extraction.review(accept=["Vale"], dismiss=["Madox"])
    assert refusal.value.code is Code.CODEX_INVALID
    assert {"Maddox", "Vale"} <= {one.name for one in extraction.propose()}


@pytest.mark.parametrize("wanted", ["Ahabb", "Ahab", "AHAB"])
def test_a_proposal_that_is_in_the_codex_already_is_named_before_others(
    coast: ProjectHandle, extraction: ExtractionVerbs, wanted: str
) -> None:
    coast.codex.add("Ahab", kind="character")
    with pytest.raises(FabulaError, match="Ahab is in the codex already") as refusal:
        extraction.review(accept=[wanted])
    assert refusal.value.code is Code.CODEX_INVALID


def test_a_file_is_only_looked_at(tmp_path: Path) -> None:
    (tmp_path / "sea.md").write_text(f"# The Sea\n\n{SEA * 4}", "utf-8")
    project = open_read_only(tmp_path / "sea.md")
    assert "Maddox" in [one.name for one in project.extraction.propose()]
    with pytest.raises(FabulaError) as refusal:
        project.extraction.review(accept=["Maddox"])
    assert refusal.value.code is Code.PROJECT_READ_ONLY
    project.close()


ORCHARD = (
    "Ines Calder came up the orchard road at four. Nobody left the gate open.\n\n"
    'Ines looked at the hives. "Was it Aunt Verity?"\n\nNobody came out to see.\n\n',
    'Ines counted them. "Who took it?" Aunt Verity kept the curtains shut. "Ask Verity," said the man.\n\n',
    "Ines held the lamp. She had a letter in her pocket.\n\nNobody knew of it.\n\n",
    "Ines put the empty apple on the sill.\n\n",
)


def test_a_name_that_only_begins_sentences_is_proposed_and_counted_as_its_entry_is(workspace: Workspace) -> None:
    project = workspace.create_project("The Glass Orchard")
    for number, text in enumerate(ORCHARD, 1):
        project.chapters.add(f"Chapter {number}", text)
    proposed = {one.name: one.mentions for one in project.extraction.propose()}
    assert proposed == {"Ines": 5, "Aunt Verity": 2}
    project.extraction.review(accept=list(proposed))
    counted = {one.name: one.total for one in project.timeline.read().appearances}
    assert counted == proposed


def test_a_sentence_that_only_names_somebody_is_no_description(workspace: Workspace) -> None:
    project = workspace.create_project("The Glass Orchard")
    for number, text in enumerate(ORCHARD, 1):
        project.chapters.add(f"Chapter {number}", text)
    project.extraction.review(accept=["Aunt Verity"])
    assert project.codex.find("Aunt Verity").description == ""
