"""Learning in the store: proposals wait, a no is a no, what is forgotten is gone (mem-2)."""

from __future__ import annotations

from typing import cast

import pytest
from msgspec.structs import replace

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Position
from fabula.core.view import Language
from fabula.manuscript import projects
from fabula.memory import edits as service
from fabula.memory import outcomes as outcome_rows
from fabula.memory.confidence import strength
from fabula.memory.learning import AGAIN, Learnt, learn, weigh
from fabula.memory.model import Fate, Origin, Outcome, Remembered, Scope, State
from fabula.memory.outcomes import record, recorded
from fabula.memory.proposals import Proposal
from fabula.store.store import Store
from tests.memory.writers import outcomes, pages, replacing

P = "coast"
DAY = "2026-01-01T12:00:00Z"
LOUD = [page.replace(".", "!", 2) for page in pages("en")[:40]]


@pytest.fixture
def coast(store: Store) -> Store:
    """A store with one project in English and one in Chinese."""
    projects.create(store, "The Coast", project_id=P)
    projects.create(store, "雾港", project_id="wugang", language="zh")
    return store


def calm(store: Store, first: int, last: int, *, recalled: tuple[str, ...] = ()) -> None:
    """The writer takes the exclamation marks out of some pages."""
    made = outcomes(replacing("!", "."), LOUD, recalled=recalled)[first:last]
    with store.write(project=P) as tx:
        for one in made:
            record(tx, one)


def look(store: Store, *, today: str = DAY, project: str = P) -> Learnt:
    with store.write(project=project, user="ada") as tx:
        return learn(tx, today=today)


def listed(store: Store, *, project: str = P, scope: Scope = Scope.PROJECT) -> list[Remembered]:
    with store.read(project=project, user="ada") as reading:
        return service.listed(reading, scope=scope)


def test_a_habit_is_proposed_with_its_evidence_and_looking_again_changes_nothing(coast: Store) -> None:
    calm(coast, 0, 6)
    learnt = look(coast)
    (found,) = listed(coast)
    assert learnt.proposed == [found.id]
    assert (found.text, found.state, found.origin) == ("Avoid exclamation marks.", State.PROPOSED, Origin.LEARNED)
    assert (found.agreeing, found.against, found.confidence) == (6, 0, round(strength(6, 0), 4))
    assert [said.partition(": ")[0] for said in found.evidence] == [f"o{n}" for n in range(6)]
    before = coast.versions(project=P, user="ada")
    again = look(coast)
    assert (again.proposed, again.changed, again.withdrawn) == ([], [], [])
    assert coast.versions(project=P, user="ada") == before


def test_in_a_chinese_project_proposals_are_in_chinese(coast: Store) -> None:
    with coast.write(project="wugang") as tx:
        for n, page in enumerate(pages("zh")[:6]):
            record(tx, Outcome(id=f"z{n}", offered=page.replace("。", "！", 2), fate=Fate.REWRITTEN, became=page))
    look(coast, project="wugang")
    assert [one.text for one in listed(coast, project="wugang")] == ["不要使用感叹号。"]
    assert listed(coast) == []


def test_evidence_grows_and_fades(coast: Store) -> None:
    calm(coast, 0, 5)
    look(coast)
    calm(coast, 5, 9)
    (ident,) = look(coast).changed
    (found,) = listed(coast)
    assert (found.id, found.agreeing, found.confidence) == (ident, 9, round(strength(9, 0), 4))
    look(coast, today="2026-07-01")
    assert listed(coast)[0].confidence == pytest.approx(found.confidence / 2, abs=0.01)
    assert look(coast, today="2029-07-01").withdrawn == [ident]
    assert listed(coast) == []


def test_a_no_is_a_no_until_the_evidence_is_much_stronger(coast: Store) -> None:
    calm(coast, 0, 5)
    (ident,) = look(coast).proposed
    with coast.write(project=P) as tx:
        service.dismiss(tx, ident)
    calm(coast, 5, AGAIN * 5 - 1)
    assert look(coast).proposed == []
    assert listed(coast)[0].state is State.DISMISSED
    calm(coast, AGAIN * 5 - 1, AGAIN * 5)
    assert look(coast).proposed == [ident]
    (found,) = listed(coast)
    assert (found.state, found.agreeing) == (State.PROPOSED, AGAIN * 5)


def test_what_was_said_already_is_not_proposed_and_keeps_its_confidence(coast: Store) -> None:
    with coast.write(project=P) as tx:
        said = service.said(tx, "Never any exclamation marks.")
    calm(coast, 0, 6)
    assert look(coast).proposed == []
    (found,) = listed(coast)
    assert (found.id, found.confidence, found.agreeing) == (said.id, said.confidence, 6)
    assert len(found.evidence) == 6


def test_what_is_known_of_the_person_is_not_proposed_for_the_book(coast: Store) -> None:
    with coast.write(project=P, user="ada") as tx:
        service.said(tx, "No exclamation marks.", scope=Scope.USER)
    calm(coast, 0, 6)
    assert look(coast).proposed == []
    with coast.write(project=P, user="bob") as tx:
        assert len(learn(tx, today=DAY).proposed) == 1, "of another person it is not known"


def test_outcomes_against_it_lower_what_was_confirmed_until_it_rests(coast: Store) -> None:
    calm(coast, 0, 5)
    (ident,) = look(coast).proposed
    with coast.write(project=P) as tx:
        sure = service.confirm(tx, ident, today=DAY).confidence
        for n in range(30):
            record(tx, Outcome(id=f"kept{n}", offered=LOUD[n], fate=Fate.ACCEPTED, made="2026-01-03T00:00:00Z"))
    look(coast, today="2026-01-03")
    (found,) = listed(coast)
    assert found.state is State.CONFIRMED
    assert found.against == 30
    assert found.confidence < 0.2 < sure


def test_a_memory_is_never_learnt_again_from_its_own_echo(coast: Store) -> None:
    calm(coast, 0, 5)
    (ident,) = look(coast).proposed
    with coast.write(project=P) as tx:
        service.confirm(tx, ident, today=DAY)
        for n in range(20):
            quiet = Outcome(
                id=f"echo{n}",
                offered=pages("en")[n].replace("!", "."),
                fate=Fate.ACCEPTED,
                recalled=(f"memory:{ident}",),
            )
            record(tx, quiet)
            record(tx, replace(quiet, id=f"gone{n}", offered=LOUD[n], fate=Fate.REJECTED))
    look(coast)
    (found,) = listed(coast)
    assert (found.agreeing, found.against) == (5, 0)
    calm(coast, 20, 22, recalled=(f"memory:{ident}",))
    look(coast)
    assert listed(coast)[0].agreeing == 7, "what the writer changes counts"


def test_what_is_forgotten_is_gone_with_all_it_was_learnt_from(coast: Store) -> None:
    calm(coast, 0, 12)
    with coast.write(project=P) as tx:
        record(tx, Outcome(id="other", offered="Nothing loud in it.", fate=Fate.ACCEPTED))
    (ident,) = look(coast).proposed
    with coast.write(project=P, user="ada") as tx:
        service.forget(tx, ident)
        assert [one.id for one in recorded(tx)] == ["other"], "more than the few that are quoted"
    assert look(coast).proposed == []
    assert listed(coast) == []


class Stubborn:
    """A learner of another kind, as a model would be."""

    def proposals(self, seen: object, language: Language, told: object = None, known: object = ()) -> list[Proposal]:
        said = "Likes endings that stop on a small sound."
        return [Proposal(topic="", text=said, agreeing=5, against=0, seen=DAY, evidence=("o1: a bell",))]


def test_whoever_can_make_proposals_can_be_the_learner(coast: Store) -> None:
    with coast.write(project=P, user="ada") as tx:
        assert len(learn(tx, today=DAY, weighed=weigh(tx, learner=Stubborn())).proposed) == 1
        assert learn(tx, today=DAY, weighed=weigh(tx, learner=Stubborn())).proposed == []
        (found,) = service.listed(tx)
    assert (found.text, found.state) == ("Likes endings that stop on a small sound.", State.PROPOSED)


def test_only_the_latest_outcomes_are_kept(coast: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome_rows, "MOST", 5)
    calm(coast, 0, 9)
    with coast.read(project=P) as reading:
        assert [one.id for one in recorded(reading)] == ["o4", "o5", "o6", "o7", "o8"]
        assert [one.id for one in recorded(reading, limit=2)] == ["o7", "o8"]


def test_an_outcome_is_kept_as_it_was(coast: Store) -> None:
    made = Outcome(
        id="o",
        offered="One.\r\nTwo.",
        fate=Fate.REWRITTEN,
        became="Two.",
        skill="continue",
        at=Position("ch-1", 7),
        recalled=("memory:a", "style:b"),
        made=DAY,
    )
    with coast.write(project=P) as tx:
        kept = record(tx, made)
        same = record(tx, Outcome(offered="As it was.", fate=Fate.REWRITTEN, became="As it was."))
        assert recorded(tx)[0] == kept == replace(made, offered="One.\nTwo.")
        assert (same.fate, same.became) == (Fate.ACCEPTED, "")
        assert outcome_rows.as_episode(tx, "o") == (
            "Offered: “One. Two.” The writer made of it: “Two.”",
            Position("ch-1", 7),
        )
        assert outcome_rows.as_episode(tx, same.id)[0].startswith("The writer accepted this as it was")
    with coast.read(project="wugang") as reading:
        assert recorded(reading) == []


@pytest.mark.parametrize(
    "odd",
    [
        Outcome(offered="  ", fate=Fate.ACCEPTED),
        Outcome(offered="x", fate=Fate.REWRITTEN),
        Outcome(offered="x", fate=Fate.ACCEPTED, became="y"),
        Outcome(offered="x" * 20_001, fate=Fate.ACCEPTED),
        Outcome(offered="x", fate=cast("Fate", "ignored")),
        Outcome(offered="x", fate=Fate.ACCEPTED, id="a b"),
        Outcome(offered="x", fate=Fate.ACCEPTED, at=Position("", 0)),
    ],
)
def test_an_outcome_that_makes_no_sense_is_refused(coast: Store, odd: Outcome) -> None:
    with pytest.raises(FabulaError) as refused, coast.write(project=P) as tx:
        record(tx, odd)
    assert refused.value.code in (Code.REQUEST_INVALID, Code.TEXT_INVALID)
    assert "Nothing was changed" in refused.value.sentence
    with coast.read(project=P) as reading:
        assert recorded(reading) == []
