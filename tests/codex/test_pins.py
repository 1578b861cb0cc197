"""Pins: an entry brought in, or kept out, in one document or conversation (cdx-9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from fabula.codex import edits as service
from fabula.codex import pins
from fabula.codex.model import Codex, Entry, Level, Progression, Relation, Wish
from fabula.context.result import Result
from fabula.context.trace import Reason, Verdict
from fabula.core.fragment import Layer
from fabula.core.relevance import PULLED_IN
from fabula.core.story import Position
from fabula.core.view import Project, View
from fabula.manuscript import documents, projects
from fabula.manuscript.model import Manuscript
from fabula.store.store import Store
from fabula.workspace.project import Fabula
from fabula.workspace.views import Library
from tests.codex.test_levels import CAST, EVERYONE, entry
from tests.manuscript.stories import PROJECT, ask, chapter, everything, reason, sources

BOOK = Manuscript((chapter(1, "Nobody was there."), chapter(2, EVERYONE)))


def pinned(pins: Mapping[str, Mapping[str, Wish]], entries: Sequence[Entry] = CAST) -> Fabula:
    codex = Codex(PROJECT, "en", entries, BOOK.timeline(), pins=pins)
    return Fabula(View(Project(id=PROJECT), BOOK.timeline(), {Manuscript: BOOK, Codex: codex}))


def verdict(result: Result, source: str) -> Verdict:
    (found,) = (one for one in result.trace if one.source == source)
    return found


@pytest.mark.parametrize("name", ["mara", "ghost"])
def test_a_pinned_entry_is_in_every_prompt_of_its_document_and_says_why(name: str) -> None:
    fabula = pinned({"ch-1": {name: Wish.INCLUDE}})
    found = verdict(ask(fabula, document_id="ch-1"), f"codex:entity:{name}")
    assert (found.reason, found.score) == (Reason.KEPT, PULLED_IN)
    assert "pinned to this document or conversation" in found.sentence
    assert ("codex:entity:ghost" in sources(ask(fabula, document_id="ch-2"))) is False


def test_a_pin_of_a_conversation_holds_in_that_conversation() -> None:
    fabula = pinned({"desk": {"ghost": Wish.INCLUDE}})
    assert "All about Ghost." in ask(fabula, document_id="ch-1", conversation_id="desk").prompt
    assert "All about Ghost." not in everything(ask(fabula, document_id="ch-1"))


@pytest.mark.parametrize("name", ["mara", "abel"])
def test_an_entry_pinned_out_stays_out_and_says_where_that_was_said(name: str) -> None:
    fabula = pinned({"ch-2": {name: Wish.EXCLUDE}})
    result = ask(fabula, document_id="ch-2", additional_input=f"Let {name.title()} speak.")
    found = verdict(result, f"codex:entity:{name}")
    assert (found.reason, found.detail) == (Reason.PINNED_OUT, "ch-2")
    assert found.layer is (Layer.RULES if name == "abel" else Layer.RETRIEVED)
    assert f"All about {name.title()}." not in everything(result)
    assert "All about Zora." in result.prompt


def test_a_pin_does_not_open_what_is_never_sent() -> None:
    result = ask(pinned({"ch-1": {"secret": Wish.INCLUDE}}), document_id="ch-1")
    assert reason(result, "codex:entity:secret") is Reason.LEVEL_NEVER


def test_an_entry_pinned_out_neither_comes_by_relation_nor_brings_its_own() -> None:
    cast = [entry("Mara", relations=(Relation("bram", ""),)), entry("Bram", relations=(Relation("cove", ""),))]
    cast = [*cast, entry("Cove")]
    text = Manuscript((chapter(1, "Mara came."),))
    for out, expected in (("mara", []), ("bram", ["codex:entity:mara"])):
        codex = Codex(PROJECT, "en", cast, text.timeline(), pins={"ch-1": {out: Wish.EXCLUDE}})
        fabula = Fabula(View(Project(id=PROJECT), text.timeline(), {Manuscript: text, Codex: codex}))
        assert sources(ask(fabula, document_id="ch-1"), "codex:") == expected


def test_where_document_and_conversation_differ_out_wins() -> None:
    fabula = pinned({"ch-1": {"mara": Wish.INCLUDE}, "desk": {"mara": Wish.EXCLUDE}})
    result = ask(fabula, document_id="ch-1", conversation_id="desk")
    assert reason(result, "codex:entity:mara") is Reason.PINNED_OUT


def test_what_a_request_asks_for_comes_before_any_pin() -> None:
    fabula = pinned({"ch-1": {"mara": Wish.EXCLUDE, "ghost": Wish.INCLUDE}})
    result = ask(fabula, document_id="ch-1", include=("mara",), exclude=("ghost",))
    assert reason(result, "codex:entity:mara") is Reason.KEPT
    assert reason(result, "codex:entity:ghost") is Reason.EXCLUDED


def test_an_entry_told_last_time_goes_when_it_is_pinned_out() -> None:
    fabula = pinned({"ch-1": {"mara": Wish.EXCLUDE}})
    request = fabula.request(document_id="ch-1", include=("mara",))
    fabula.commit(request, fabula.assemble(request))
    assert "All about Mara." not in everything(ask(fabula, document_id="ch-1"))


def test_a_pin_opens_nothing_before_its_time() -> None:
    late = entry("Late", since=Position("ch-2"), progressions=(Progression("the end", Position("ch-2")),))
    result = ask(pinned({"ch-1": {"late": Wish.INCLUDE}}, [late]), document_id="ch-1")
    assert reason(result, "codex:entity:late") is Reason.NOT_YET
    assert reason(result, "codex:entity:late#1") is Reason.NOT_YET


def test_pins_of_entries_that_are_gone_do_no_harm() -> None:
    assert ask(pinned({"ch-1": {"gone": Wish.INCLUDE, "lost": Wish.EXCLUDE}}), document_id="ch-1").warnings == ()


def test_a_stored_pin_holds_from_the_next_request_on(store: Store) -> None:
    projects.create(store, "The Coast", project_id="coast")
    with store.write(project="coast") as tx:
        documents.add(tx, "One", text="Nobody was there.", document_id="ch-1")
        service.put(tx, entry("Ghost", Level.MANUAL))
    house = Fabula.open("coast", library=Library(store))
    assert "All about Ghost." not in house.assemble(house.request()).prompt
    with store.write(project="coast") as tx:
        pins.pin(tx, "ch-1", "ghost")
    assert "All about Ghost." in house.assemble(house.request()).prompt
    with store.write(project="coast") as tx:
        pins.unpin(tx, "ch-1", "ghost")
    assert "All about Ghost." not in house.assemble(house.request()).prompt
