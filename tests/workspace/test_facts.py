"""What a person does with the facts of an entry: list, use, dismiss and restore."""

from __future__ import annotations

import pytest

from fabula.codex.facts import Quotation
from fabula.codex.facts.quotations import store_quotations
from fabula.codex.tables import quotations
from fabula.core.errors import Code, FabulaError
from fabula.manuscript import documents
from fabula.manuscript.model import hash_text
from fabula.settings import edits as setting_edits
from fabula.workspace.facts import FactVerbs
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.facts import describe_facts

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


def test_a_fact_that_the_entry_quotes_already_is_not_taken_twice(coast: ProjectHandle, facts: FactVerbs) -> None:
    before = coast.codex.find("Mara")
    coast.codex.add_progression("Mara", f"The book says: “{LASTING}”", since="ch-02")
    for use in ("progression", "description"):
        with pytest.raises(FabulaError, match="says that already") as refusal:
            facts.use("Mara", LASTING[:30], use)
        assert refusal.value.code is Code.STORE_DUPLICATE
    entry = coast.codex.find("Mara")
    assert entry.description == before.description
    assert len(entry.progressions) == len(before.progressions) + 1
    facts.use("Mara", LASTING[:30], "constraint")


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


def test_dismissed_and_used_facts_are_listed_apart_and_restored_one_by_one(facts: FactVerbs) -> None:
    facts.dismiss("Mara", LASTING[:30])
    facts.use("Mara", OTHER[:30], "progression")
    assert [one.text for one in facts.list_facts("Mara", dismissed=True)] == [LASTING, OTHER]
    assert facts.restore("Mara", "2") == 1
    assert [one.text for one in facts.list_facts("Mara", dismissed=True)] == [LASTING]
    assert OTHER in list_texts(facts)
    with pytest.raises(FabulaError) as refused:
        facts.restore("Mara", OTHER[:30])
    assert refused.value.code is Code.STORE_NOT_FOUND


def test_a_dismissed_fact_can_be_restored_however_many_facts_there_are(coast: ProjectHandle) -> None:
    owned = ["watch", "knife", "lamp", "ring", "cup", "rope", "boat", "coat", "book", "key"]
    owners = ["mother", "uncle", "aunt"]
    tellings = [f"Mara always wore her {who}'s silver {one} on a ribbon." for who in owners for one in owned]
    coast.chapters.write("ch-02", "\n\n".join(tellings))
    for _ in tellings:
        facts = [one for one in coast.facts.list_facts("Mara") if one.text in tellings]
        if facts:
            coast.facts.dismiss("Mara", facts[0].id)
    away = [one.text for one in coast.facts.list_facts("Mara", dismissed=True)]
    assert away == tellings
    assert coast.facts.restore("Mara") == len(tellings)


def test_a_rename_keeps_dismissed_facts_away_and_what_a_model_quotes_and_its_undo_restores_both(
    coast: ProjectHandle, facts: FactVerbs
) -> None:
    entry, quoted = coast.codex.find("Mara"), "“Bring it before the tide,” Mara told him at last."
    text = f"The wind rose.\n\n{LASTING}\n\nOnce Mara spoke. {quoted} {OTHER}\n\nNobody came."
    coast.chapters.write("ch-02", text)
    assert coast.store is not None
    with coast.store.write(project=coast.id) as tx:
        store_quotations(tx, "ch-02", [Quotation(entry.id, quoted)], hash_text(text), [entry.id, "bram"])
        before = tx.rows(quotations)
    facts.dismiss("Mara", LASTING[:30])
    facts.use("Mara", OTHER[:30], "description")
    old_name = entry.name
    coast.codex.rename(old_name, "Nora Lee", also=["Mara=Nora"])
    listed = [fact.text for fact in facts.list_facts("Nora Lee")]
    away = [LASTING.replace("Mara", "Nora"), OTHER.replace("Mara", "Nora")]
    assert not set(away) & set(listed)
    assert [fact.text for fact in facts.list_facts("Nora Lee", dismissed=True)] == away
    (by_model,) = [fact for fact in facts.list_facts("Nora Lee") if fact.origin == "model"]
    assert by_model.text == quoted.replace("Mara", "Nora")
    with coast.store.read(project=coast.id) as reading:
        row = reading.require(quotations, document_id="ch-02")
        assert row.made_from == hash_text(coast.chapters.read("ch-02").text), "the model need not read it again"
    coast.codex.undo_rename()
    assert [fact.text for fact in facts.list_facts("Mara", dismissed=True)] == [LASTING, OTHER]
    with coast.store.read(project=coast.id) as reading:
        assert reading.rows(quotations) == before


def test_a_change_of_facts_can_be_undone(coast: ProjectHandle, facts: FactVerbs) -> None:
    before = coast.codex.find("Mara")
    facts.use("Mara", LASTING[:30], "description")
    coast.changes.undo()
    assert coast.codex.find("Mara") == before
    assert LASTING in list_texts(facts)
    facts.dismiss("Mara", LASTING[:30])
    coast.changes.undo()
    assert LASTING in list_texts(facts)


def test_a_fact_says_where_its_sentence_stands(coast: ProjectHandle, facts: FactVerbs) -> None:
    text = coast.chapters.read("ch-02").text
    shown = describe_facts(facts.list_facts("Mara"), coast.view).facts
    own = [one for one in shown if one.since.document == "ch-02"]
    assert {LASTING, OTHER} <= {one.text for one in own}
    assert all(text[one.start : one.end].strip() == one.text for one in own)


def test_a_fact_says_whether_it_may_enter_prompts(coast: ProjectHandle, facts: FactVerbs) -> None:
    def find_use() -> str:
        found = [one for one in facts.list_facts("Mara") if one.text == LASTING]
        return describe_facts(found, coast.view).facts[0].prompts

    assert find_use() == "may"
    coast.codex.add_progression("Mara", LASTING, since="ch-02")
    assert find_use() == "said"
    coast.changes.undo()
    assert find_use() == "may"
    shown = describe_facts(facts.list_facts("Mara"), coast.view).facts
    assert {one.prompts for one in shown if not one.is_lasting} == {"passing"}
    assert coast.store is not None
    with coast.store.write(project=coast.id) as tx:
        setting_edits.set_value(tx, "codex.factsPerEntry", 0)
    assert find_use() == "off"
    dismissed = facts.dismiss("Mara", LASTING[:30])
    assert describe_facts([dismissed], coast.view).facts[0].prompts == "dismissed"


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
