"""Learning in the store: proposals wait, dismissed ones stay dismissed, forgotten ones are gone (mem-2)."""

from __future__ import annotations

from typing import cast

import pytest
from msgspec.structs import replace

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.manuscript import projects
from fabula.memory import edits
from fabula.memory import outcomes as outcome_rows
from fabula.memory.confidence import compute_strength
from fabula.memory.learning import REPROPOSAL_FACTOR, LearningResult, OutcomeAnalysis, learn
from fabula.memory.model import Decision, MemoryItem, MemoryOrigin, MemoryScope, MemoryState, SuggestionOutcome
from fabula.memory.outcomes import list_outcomes, record_outcome
from fabula.memory.proposals import MemoryProposal
from fabula.store.store import Store
from tests.memory.writers import make_outcomes, make_replacing_writer, pages

P = "coast"
DAY = "2026-01-01T12:00:00Z"
LOUD = [page.replace(".", "!", 2) for page in pages("en")[:40]]


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project in English and one in Chinese."""
    projects.create(store, "The Coast", project_id=P)
    projects.create(store, "雾港", project_id="wugang", language="zh")
    return store


def record_calmed_pages(store: Store, first: int, last: int, *, memory_sources: tuple[str, ...] = ()) -> None:
    """The writer takes the exclamation marks out of some pages."""
    made = make_outcomes(make_replacing_writer("!", "."), LOUD, memory_sources=memory_sources)[first:last]
    with store.write(project=P) as tx:
        for one in made:
            record_outcome(tx, one)


def run_learning(store: Store, *, today: str = DAY, project: str = P) -> LearningResult:
    with store.write(project=project, user="ada") as tx:
        return learn(tx, today=today)


def list_memories(store: Store, *, project: str = P, scope: MemoryScope = MemoryScope.PROJECT) -> list[MemoryItem]:
    with store.read(project=project, user="ada") as reading:
        return edits.list_memories(reading, scope=scope)


def test_a_habit_is_proposed_with_its_evidence_and_looking_again_changes_nothing(coast: Store) -> None:
    record_calmed_pages(coast, 0, 6)
    learnt = run_learning(coast)
    (found,) = list_memories(coast)
    assert learnt.proposed == [found.id]
    assert (found.text, found.state, found.origin) == (
        "Avoid exclamation marks.",
        MemoryState.PROPOSED,
        MemoryOrigin.LEARNED,
    )
    assert (found.votes_for, found.votes_against, found.confidence) == (6, 0, round(compute_strength(6, 0), 4))
    assert [said.partition(": ")[0] for said in found.evidence] == [f"o{n}" for n in range(6)]
    before = coast.versions(project=P, user="ada")
    again = run_learning(coast)
    assert (again.proposed, again.changed, again.withdrawn) == ([], [], [])
    assert coast.versions(project=P, user="ada") == before


def test_in_a_chinese_project_proposals_are_in_chinese(coast: Store) -> None:
    with coast.write(project="wugang") as tx:
        for n, page in enumerate(pages("zh")[:6]):
            record_outcome(
                tx,
                SuggestionOutcome(
                    id=f"z{n}", suggestion=page.replace("。", "！", 2), decision=Decision.REWRITTEN, rewritten_text=page
                ),
            )
    run_learning(coast, project="wugang")
    assert [one.text for one in list_memories(coast, project="wugang")] == ["不要使用感叹号。"]
    assert list_memories(coast) == []


def test_evidence_grows_and_fades(coast: Store) -> None:
    record_calmed_pages(coast, 0, 5)
    run_learning(coast)
    record_calmed_pages(coast, 5, 9)
    (ident,) = run_learning(coast).changed
    (found,) = list_memories(coast)
    assert (found.id, found.votes_for, found.confidence) == (ident, 9, round(compute_strength(9, 0), 4))
    run_learning(coast, today="2026-07-01")
    assert list_memories(coast)[0].confidence == pytest.approx(found.confidence / 2, abs=0.01)
    assert run_learning(coast, today="2029-07-01").withdrawn == [ident]
    assert list_memories(coast) == []


def test_a_no_is_a_no_until_the_evidence_is_much_stronger(coast: Store) -> None:
    record_calmed_pages(coast, 0, 5)
    (ident,) = run_learning(coast).proposed
    with coast.write(project=P) as tx:
        edits.dismiss_memory(tx, ident)
    record_calmed_pages(coast, 5, REPROPOSAL_FACTOR * 5 - 1)
    assert run_learning(coast).proposed == []
    assert list_memories(coast)[0].state is MemoryState.DISMISSED
    record_calmed_pages(coast, REPROPOSAL_FACTOR * 5 - 1, REPROPOSAL_FACTOR * 5)
    assert run_learning(coast).proposed == [ident]
    (found,) = list_memories(coast)
    assert (found.state, found.votes_for) == (MemoryState.PROPOSED, REPROPOSAL_FACTOR * 5)


def test_what_was_said_already_is_not_proposed_and_keeps_its_confidence(coast: Store) -> None:
    with coast.write(project=P) as tx:
        said = edits.remember(tx, "Never any exclamation marks.")
    record_calmed_pages(coast, 0, 6)
    assert run_learning(coast).proposed == []
    (found,) = list_memories(coast)
    assert (found.id, found.confidence, found.votes_for) == (said.id, said.confidence, 6)
    assert len(found.evidence) == 6


def test_what_is_known_of_the_person_is_not_proposed_for_the_book(coast: Store) -> None:
    with coast.write(project=P, user="ada") as tx:
        edits.remember(tx, "No exclamation marks.", scope=MemoryScope.USER)
    record_calmed_pages(coast, 0, 6)
    assert run_learning(coast).proposed == []
    with coast.write(project=P, user="bob") as tx:
        assert len(learn(tx, today=DAY).proposed) == 1, "of another person it is not known"


def test_outcomes_against_it_lower_what_was_confirmed_until_it_rests(coast: Store) -> None:
    record_calmed_pages(coast, 0, 5)
    (ident,) = run_learning(coast).proposed
    with coast.write(project=P) as tx:
        sure = edits.confirm_memory(tx, ident, today=DAY).confidence
        for n in range(30):
            record_outcome(
                tx,
                SuggestionOutcome(
                    id=f"kept{n}", suggestion=LOUD[n], decision=Decision.ACCEPTED, created_at="2026-01-03T00:00:00Z"
                ),
            )
    run_learning(coast, today="2026-01-03")
    (found,) = list_memories(coast)
    assert found.state is MemoryState.CONFIRMED
    assert found.votes_against == 30
    assert found.confidence < 0.2 < sure


def test_a_memory_is_never_learnt_again_from_its_own_echo(coast: Store) -> None:
    record_calmed_pages(coast, 0, 5)
    (ident,) = run_learning(coast).proposed
    with coast.write(project=P) as tx:
        edits.confirm_memory(tx, ident, today=DAY)
        for n in range(20):
            quiet = SuggestionOutcome(
                id=f"echo{n}",
                suggestion=pages("en")[n].replace("!", "."),
                decision=Decision.ACCEPTED,
                memory_sources=(f"memory:{ident}",),
            )
            record_outcome(tx, quiet)
            record_outcome(tx, replace(quiet, id=f"gone{n}", suggestion=LOUD[n], decision=Decision.REJECTED))
    run_learning(coast)
    (found,) = list_memories(coast)
    assert (found.votes_for, found.votes_against) == (5, 0)
    record_calmed_pages(coast, 20, 22, memory_sources=(f"memory:{ident}",))
    run_learning(coast)
    assert list_memories(coast)[0].votes_for == 7, "what the writer changes counts"


def test_what_is_forgotten_is_gone_with_all_it_was_learnt_from(coast: Store) -> None:
    record_calmed_pages(coast, 0, 12)
    with coast.write(project=P) as tx:
        record_outcome(tx, SuggestionOutcome(id="other", suggestion="Nothing loud in it.", decision=Decision.ACCEPTED))
    (ident,) = run_learning(coast).proposed
    with coast.write(project=P, user="ada") as tx:
        edits.forget_memory(tx, ident)
        assert [one.id for one in list_outcomes(tx)] == ["other"], "more than the few that are quoted"
    assert run_learning(coast).proposed == []
    assert list_memories(coast) == []


def test_whoever_can_make_proposals_can_be_the_learner(coast: Store) -> None:
    said = "Likes endings that stop on a small sound."
    proposal = MemoryProposal(
        topic="", text=said, votes_for=5, votes_against=0, last_vote_at=DAY, evidence=("o1: a bell",)
    )
    with coast.write(project=P, user="ada") as tx:
        assert len(learn(tx, today=DAY, analysis=OutcomeAnalysis(5, (proposal,))).proposed) == 1
        assert learn(tx, today=DAY, analysis=OutcomeAnalysis(5, (proposal,))).proposed == []
        (found,) = edits.list_memories(tx)
    assert (found.text, found.state) == ("Likes endings that stop on a small sound.", MemoryState.PROPOSED)


def test_only_the_latest_outcomes_are_kept(coast: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome_rows, "MAX_OUTCOMES", 5)
    record_calmed_pages(coast, 0, 9)
    with coast.read(project=P) as reading:
        assert [one.id for one in list_outcomes(reading)] == ["o4", "o5", "o6", "o7", "o8"]
        assert [one.id for one in list_outcomes(reading, limit=2)] == ["o7", "o8"]


def test_an_outcome_is_kept_as_it_was(coast: Store) -> None:
    made = SuggestionOutcome(
        id="o",
        suggestion="One.\r\nTwo.",
        decision=Decision.REWRITTEN,
        rewritten_text="Two.",
        skill="continue",
        position=Position("ch-1", 7),
        memory_sources=("memory:a", "style:b"),
        created_at=DAY,
    )
    with coast.write(project=P) as tx:
        kept = record_outcome(tx, made)
        same = record_outcome(
            tx, SuggestionOutcome(suggestion="As it was.", decision=Decision.REWRITTEN, rewritten_text="As it was.")
        )
        assert list_outcomes(tx)[0] == kept == replace(made, suggestion="One.\nTwo.")
        assert (same.decision, same.rewritten_text) == (Decision.ACCEPTED, "")
        assert outcome_rows.format_episode(tx, "o") == (
            "Offered: “One. Two.” The writer made of it: “Two.”",
            Position("ch-1", 7),
        )
        assert outcome_rows.format_episode(tx, same.id)[0].startswith("The writer accepted this as it was")
    with coast.read(project="wugang") as reading:
        assert list_outcomes(reading) == []


@pytest.mark.parametrize(
    "odd",
    [
        SuggestionOutcome(suggestion="  ", decision=Decision.ACCEPTED),
        SuggestionOutcome(suggestion="x", decision=Decision.REWRITTEN),
        SuggestionOutcome(suggestion="x", decision=Decision.ACCEPTED, rewritten_text="y"),
        SuggestionOutcome(suggestion="x" * 20_001, decision=Decision.ACCEPTED),
        SuggestionOutcome(suggestion="x", decision=cast("Decision", "ignored")),
        SuggestionOutcome(suggestion="x", decision=Decision.ACCEPTED, id="a b"),
        SuggestionOutcome(suggestion="x", decision=Decision.ACCEPTED, position=Position("", 0)),
    ],
)
def test_an_outcome_that_makes_no_sense_is_refused(coast: Store, odd: SuggestionOutcome) -> None:
    with pytest.raises(FabulaError) as refused, coast.write(project=P) as tx:
        record_outcome(tx, odd)
    assert refused.value.code in (Code.REQUEST_INVALID, Code.TEXT_INVALID)
    assert "Nothing was changed" in refused.value.sentence
    with coast.read(project=P) as reading:
        assert list_outcomes(reading) == []


def test_the_same_rule_is_not_learnt_twice_in_other_words(coast: Store) -> None:
    def said(text: str) -> MemoryProposal:
        return MemoryProposal(
            topic=f"said:{text}", text=text, votes_for=6, votes_against=0, last_vote_at=DAY, evidence=()
        )

    twice = OutcomeAnalysis(
        6, (said("Likes rain at night in harbour scenes."), said("Prefers harbour scenes at night, in rain."))
    )
    with coast.write(project=P) as tx:
        result = learn(tx, today=DAY, analysis=twice)
        assert len(result.proposed) == 1
        ruled = learn(
            tx, today=DAY, analysis=OutcomeAnalysis(6, (said("No fog."),)), is_rule=lambda text: text == "No fog."
        )
        assert ruled.proposed == []
