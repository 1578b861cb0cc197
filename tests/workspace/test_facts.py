"""What a person does with the facts of an entry: list, use, dismiss and restore."""

from __future__ import annotations

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents
from fabula.workspace.facts import FactVerbs
from fabula.workspace.project import ProjectHandle

LASTING = "Mara had never learned to swim since the winter in which her brother drowned."
OTHER = "Mara always wore her father's silver watch on a blue ribbon."


@pytest.fixture
def facts(coast: ProjectHandle) -> FactVerbs:
    assert coast.store is not None
    with coast.store.write(project=coast.id) as tx:
        documents.write(tx, "ch-02", f"The wind rose.\n\n{LASTING}\n\n{OTHER}\n\nNobody came.")
    return coast.facts


def list_texts(facts: FactVerbs) -> list[str]:
    """The sentences that are listed for Mara."""
    return [fact.text for fact in facts.list_facts("Mara")]


def test_facts_are_listed_with_their_place(facts: FactVerbs) -> None:
    assert {LASTING, OTHER} <= set(list_texts(facts))
    fact = facts.find("Mara", LASTING[:30])
    assert fact.since.document == "ch-02"
    assert fact.known_to == frozenset({"reader", "will"})  # through whose eyes the chapter is told


def test_a_fact_becomes_a_progression_at_its_place_and_is_not_listed_again(
    coast: ProjectHandle, facts: FactVerbs
) -> None:
    fact = facts.find("Mara", LASTING[:30])
    used = facts.use("Mara", fact.id, "progression")
    step = used.entry.progressions[-1]
    assert (step.text, step.since) == (LASTING, fact.since)
    assert LASTING not in list_texts(facts)


def test_a_fact_becomes_a_description(facts: FactVerbs) -> None:
    used = facts.use("Mara", LASTING[:30], "description")
    assert used.entry.description.endswith(LASTING)


def test_a_fact_becomes_knowledge_of_those_who_are_named(facts: FactVerbs) -> None:
    used = facts.use("Mara", LASTING[:30], "knowledge", known_to=["Mara"])
    assert used.entry.progressions[-1].known_to == frozenset({used.entry.id})


def test_a_fact_becomes_a_constraint(coast: ProjectHandle, facts: FactVerbs) -> None:
    facts.use("Mara", LASTING[:30], "constraint")
    assert LASTING in [one.constraint.text for one in coast.constraints.list_constraints()]


@pytest.mark.parametrize(("use", "known_to"), [("knowledge", []), ("progression", ["Mara"]), ("progresion", [])])
def test_a_use_that_makes_no_sense_changes_nothing(facts: FactVerbs, use: str, known_to: list[str]) -> None:
    before = list_texts(facts)
    with pytest.raises(FabulaError) as refused:
        facts.use("Mara", LASTING[:30], use, known_to=known_to)
    assert refused.value.code in (Code.CODEX_INVALID, Code.REQUEST_INVALID)
    assert list_texts(facts) == before


def test_a_dismissed_fact_stays_away_until_it_is_restored(facts: FactVerbs) -> None:
    facts.dismiss("Mara", LASTING[:30])
    assert LASTING not in list_texts(facts)
    assert facts.restore("Mara") == 1
    assert LASTING in list_texts(facts)


def test_a_fact_is_gone_when_its_sentence_is(coast: ProjectHandle, facts: FactVerbs) -> None:
    assert LASTING in list_texts(facts)
    assert coast.store is not None
    with coast.store.write(project=coast.id) as tx:
        documents.write(tx, "ch-02", f"The wind rose.\n\n{OTHER}")
    assert LASTING not in list_texts(facts)


def test_an_unknown_fact_is_refused(facts: FactVerbs) -> None:
    with pytest.raises(FabulaError) as refused:
        facts.find("Mara", "999")
    assert refused.value.code is Code.STORE_NOT_FOUND
