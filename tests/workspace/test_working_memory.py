"""Working memory of a writer who works by commands: the session as the store has it on record (mem-1)."""

from __future__ import annotations

import pytest

from fabula.core.ids import current_timestamp
from fabula.core.story import Position
from fabula.manuscript import documents, projects
from fabula.manuscript.tables import documents as rows
from fabula.memory.model import Decision, SuggestionOutcome
from fabula.memory.outcomes import record_outcome
from fabula.memory.working_memory import EMPTY_WORKING_MEMORY
from fabula.store.store import Store
from fabula.workspace.read_only import open_read_only
from fabula.workspace.working_memory import load_working_memory
from fabula.workspace.workspace import Workspace
from tests.manuscript.stories import sources

P = "coast"
DAY = "2026-03-01T"


@pytest.fixture
def coast(store: Store) -> Store:
    """A project with two chapters."""
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        documents.add(tx, "Fog", text="The fog came in.", document_id="ch-1")
        documents.add(tx, "Sea", text="The sea was calm.", document_id="ch-2")
    return store


HERE = Position("ch-1", 0)


def took(store: Store, fate: Decision, text: str, made: str, became: str = "", at: Position | None = HERE) -> None:
    with store.write(project=P) as tx:
        record_outcome(
            tx, SuggestionOutcome(suggestion=text, decision=fate, rewritten_text=became, created_at=made, position=at)
        )


def told(store: Store, at: str) -> list[str]:
    with store.read(project=P) as reading:
        return [fragment.text for fragment in load_working_memory(reading, at).fragments(P)]


def test_what_became_of_suggestions_is_remembered_until_the_last_pause_of_an_hour(coast: Store) -> None:
    took(coast, Decision.ACCEPTED, "Yesterday's words.", f"{DAY}08:00:00.000000Z")
    took(coast, Decision.REJECTED, "A closing speech.", f"{DAY}10:00:00.000000Z")
    took(coast, Decision.REWRITTEN, "She ran!", f"{DAY}10:40:00.000000Z", "She ran.")
    assert told(coast, f"{DAY}11:10:00.000000Z") == [
        "Rejected: “A closing speech.”",
        "Rewritten by the writer to: “She ran.”",
    ]
    assert told(coast, f"{DAY}12:00:00.000000Z") == []
    assert told(coast, "no time at all") == []


def test_what_was_typed_last_is_told_and_what_was_brought_in_is_not(coast: Store) -> None:
    assert told(coast, current_timestamp()) == []
    with coast.write(project=P) as tx:
        documents.write(tx, "ch-1", "The fog came in. Nobody lit the lamp.", expected=1)
    assert told(coast, current_timestamp()) == ["Open now: Fog", "Just changed: “Nobody lit the lamp.”"]
    with coast.write(project=P) as tx:
        documents.write(tx, "ch-2", "The sea was calm. A horn sounded.", expected=1, cause="accepted")
    assert told(coast, current_timestamp()) == ["Open now: Fog", "Just changed: “Nobody lit the lamp.”"]


def test_a_long_text_is_told_by_the_end_of_what_was_typed(coast: Store) -> None:
    with coast.write(project=P) as tx:
        documents.write(tx, "ch-1", f"The fog came in. {'On and on. ' * 100}The last words.", expected=1)
    (_, changed) = told(coast, current_timestamp())
    assert changed.endswith("The last words.”")
    assert len(changed) < 160


def test_times_that_were_lost_are_no_part_of_a_sitting(coast: Store) -> None:
    with coast.write(project=P) as tx:
        documents.write(tx, "ch-1", "The fog came in. Nobody lit the lamp.", expected=1)
        tx.update_rows(rows, {"changed": ""}, rows.c.id == "ch-1")
    assert told(coast, current_timestamp()) == []


def test_what_has_no_place_in_the_story_is_told_only_where_there_is_none(coast: Store) -> None:
    took(coast, Decision.ACCEPTED, "The captain did it.", f"{DAY}10:00:00.000000Z", at=None)
    assert told(coast, f"{DAY}10:10:00.000000Z") == []
    with coast.write(project=P) as tx:
        tx.delete_rows(rows)
    assert told(coast, f"{DAY}10:10:00.000000Z") == ["Accepted: “The captain did it.”"]


def test_an_open_project_knows_its_session_and_later_places_stay_untold(coast: Store) -> None:
    project = Workspace(coast).project(P)
    took(coast, Decision.REJECTED, "Everybody drowned.", current_timestamp(), at=Position("ch-2", 5))
    working_memory = project.working_memory(current_timestamp())
    late = project.assemble(project.request(document_id="ch-2"), working_memory=working_memory)
    assert "Rejected: “Everybody drowned.”" in late.prompt
    early = project.inspect(project.request(document_id="ch-1"), working_memory=working_memory)
    assert sources(early, "working:") == []
    assert "drowned" not in early.prompt
    assert open_read_only("sample:lantern_coast").working_memory(current_timestamp()) is EMPTY_WORKING_MEMORY
