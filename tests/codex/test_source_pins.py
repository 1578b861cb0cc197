"""Pins include or exclude an entry in one document or conversation (cdx-9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from fabula.codex import Codex, Entry, Level, PinMode, Progression, Relation, edits
from fabula.context.result import Result
from fabula.context.trace import Reason, Verdict
from fabula.core.fragment import Layer
from fabula.core.relevance import REQUESTED
from fabula.core.story import Position
from fabula.core.view import Project, View
from fabula.manuscript import documents, projects
from fabula.manuscript.model import Manuscript
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import open_view
from fabula.workspace.workspace import Workspace
from tests.codex.test_source_levels import ENTRIES, EVERYONE, entry
from tests.manuscript.stories import PROJECT, ask, chapter, everything, reason, sources

BOOK = Manuscript((chapter(1, "Nobody was there."), chapter(2, EVERYONE)))


def pinned(pins: Mapping[str, Mapping[str, PinMode]], entries: Sequence[Entry] = ENTRIES) -> ProjectHandle:
    codex = Codex(PROJECT, "en", entries, BOOK.timeline(), pins=pins)
    return open_view(View(Project(id=PROJECT), BOOK.timeline(), {Manuscript: BOOK, Codex: codex}))


def verdict(result: Result, source: str) -> Verdict:
    (found,) = (one for one in result.trace if one.source == source)
    return found


@pytest.mark.parametrize("name", ["mara", "ghost"])
def test_a_pinned_entry_is_in_every_prompt_of_its_document_and_says_why(name: str) -> None:
    project = pinned({"ch-1": {name: PinMode.INCLUDE}})
    found = verdict(ask(project, document_id="ch-1"), f"codex:entity:{name}")
    assert (found.reason, found.score) == (Reason.KEPT, REQUESTED)
    assert "pinned to this document or conversation" in found.sentence
    assert ("codex:entity:ghost" in sources(ask(project, document_id="ch-2"))) is False


def test_a_pin_of_a_conversation_holds_in_that_conversation() -> None:
    project = pinned({"desk": {"ghost": PinMode.INCLUDE}})
    assert "All about Ghost." in ask(project, document_id="ch-1", conversation_id="desk").prompt
    assert "All about Ghost." not in everything(ask(project, document_id="ch-1"))


@pytest.mark.parametrize("name", ["mara", "abel"])
def test_an_excluded_entry_names_the_document_that_excludes_it(name: str) -> None:
    project = pinned({"ch-2": {name: PinMode.EXCLUDE}})
    result = ask(project, document_id="ch-2", additional_input=f"Let {name.title()} speak.")
    found = verdict(result, f"codex:entity:{name}")
    assert (found.reason, found.detail) == (Reason.PINNED_OUT, "Chapter 2")
    assert found.layer is (Layer.RULES if name == "abel" else Layer.RETRIEVED)
    assert f"All about {name.title()}." not in everything(result)
    assert "All about Zora." in result.prompt


def test_a_pin_does_not_include_a_never_entry() -> None:
    result = ask(pinned({"ch-1": {"secret": PinMode.INCLUDE}}), document_id="ch-1")
    assert reason(result, "codex:entity:secret") is Reason.LEVEL_NEVER


def test_an_excluded_entry_is_not_added_by_relation_and_adds_none() -> None:
    entries = [entry("Mara", relations=(Relation("bram", ""),)), entry("Bram", relations=(Relation("cove", ""),))]
    entries = [*entries, entry("Cove")]
    text = Manuscript((chapter(1, "Mara came."),))
    for out, expected in (("mara", []), ("bram", ["codex:entity:mara"])):
        codex = Codex(PROJECT, "en", entries, text.timeline(), pins={"ch-1": {out: PinMode.EXCLUDE}})
        project = open_view(View(Project(id=PROJECT), text.timeline(), {Manuscript: text, Codex: codex}))
        assert sources(ask(project, document_id="ch-1"), "codex:") == expected


def test_exclusion_wins_where_document_and_conversation_differ() -> None:
    project = pinned({"ch-1": {"mara": PinMode.INCLUDE}, "desk": {"mara": PinMode.EXCLUDE}})
    result = ask(project, document_id="ch-1", conversation_id="desk")
    assert reason(result, "codex:entity:mara") is Reason.PINNED_OUT


def test_what_a_request_includes_takes_precedence_over_pins() -> None:
    project = pinned({"ch-1": {"mara": PinMode.EXCLUDE, "ghost": PinMode.INCLUDE}})
    result = ask(project, document_id="ch-1", include=("mara",), exclude=("ghost",))
    assert reason(result, "codex:entity:mara") is Reason.KEPT
    assert reason(result, "codex:entity:ghost") is Reason.EXCLUDED


def test_an_entry_of_the_previous_prompt_is_dropped_when_it_is_excluded() -> None:
    project = pinned({"ch-1": {"mara": PinMode.EXCLUDE}})
    request = project.request(document_id="ch-1", include=("mara",))
    project.report_answer(project.assemble(request).assembly_id)
    assert "All about Mara." not in everything(ask(project, document_id="ch-1"))


def test_a_pin_includes_nothing_before_its_position() -> None:
    late = entry("Late", since=Position("ch-2"), progressions=(Progression("the end", Position("ch-2")),))
    result = ask(pinned({"ch-1": {"late": PinMode.INCLUDE}}, [late]), document_id="ch-1")
    assert reason(result, "codex:entity:late") is Reason.NOT_YET
    assert reason(result, "codex:entity:late#1") is Reason.NOT_YET


def test_pins_of_removed_entries_are_ignored() -> None:
    assert ask(pinned({"ch-1": {"gone": PinMode.INCLUDE, "lost": PinMode.EXCLUDE}}), document_id="ch-1").warnings == ()


def test_a_stored_pin_holds_from_the_next_request_on(store: Store, workspace: Workspace) -> None:
    projects.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        documents.add(tx, "One", text="Nobody was there.", document_id="ch-1")
        edits.put(tx, entry("Ghost", Level.MANUAL))
    project = workspace.project("coast")
    assert "All about Ghost." not in project.assemble(project.request()).prompt
    with store.write(project="coast") as tx:
        edits.pin_entry(tx, "ch-1", "ghost")
    assert "All about Ghost." in project.assemble(project.request()).prompt
    with store.write(project="coast") as tx:
        edits.unpin_entry(tx, "ch-1", "ghost")
    assert "All about Ghost." not in project.assemble(project.request()).prompt
