"""Learning: outcomes are looked over, and what they show is proposed (mem-2).

Every look begins from the outcomes that are kept, so looking twice changes nothing the second time. What is
known already gets its evidence and its confidence anew; what somebody said keeps its own. What was
dismissed comes back only when three times as many outcomes speak for it as did then, and at least six
more. A proposal that nobody answered is withdrawn when it has faded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from fabula.memory import edits as service
from fabula.memory.confidence import confidence
from fabula.memory.deduplicate import meaning
from fabula.memory.model import Kind, Origin, Outcome, Remembered, Scope, State
from fabula.memory.outcomes import language_of, recorded
from fabula.memory.proposals import Heuristics, Learner, Proposal
from fabula.memory.topics import subject_of
from fabula.store.transaction import Reading, Writing

AGAIN = 3  # times the evidence there was when it was dismissed
AGAIN_MORE = 6  # and so many outcomes more, at least
WITHDRAWN = 0.1
_HEURISTICS = Heuristics()


class Learnt(Struct):
    """What a look over the outcomes brought, by id."""

    outcomes: int = 0
    proposed: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)


class Weighed(Struct, frozen=True):
    """What the outcomes of a project show."""

    outcomes: int
    proposals: tuple[Proposal, ...]


def weigh(reading: Reading, *, learner: Learner = _HEURISTICS) -> Weighed:
    """Look over the outcomes. It may take seconds, so let nobody wait for it: a look locks nothing."""
    seen, (mine, theirs) = recorded(reading), _preferences(reading)
    known = {topic for one in mine if (topic := meaning(one.text).topic)}
    told = _told(seen, [*theirs, *mine])
    return Weighed(len(seen), tuple(learner.proposals(seen, language_of(reading), told, known)))


def learn(tx: Writing, *, today: str, weighed: Weighed | None = None) -> Learnt:
    """Propose what outcomes show, and bring up to date what rests on them."""
    found = weigh(tx) if weighed is None else weighed
    mine, theirs = _preferences(tx)
    learnt = Learnt(outcomes=found.outcomes)
    supported: dict[str, Proposal] = {}
    for proposal in found.proposals:
        twin = service.twin_of(mine, proposal.text)
        if twin is not None:
            supported[twin.id] = proposal
        elif proposal.holds and service.twin_of(theirs, proposal.text) is None:
            learnt.proposed.append(service.remember(tx, _proposed(proposal, today)))
    for one in mine:
        _bring_up_to_date(tx, one, supported.get(one.id), today, learnt)
    return learnt


def _preferences(reading: Reading) -> tuple[list[Remembered], list[Remembered]]:
    """The project's, and the person's where one takes part."""
    mine = service.listed(reading, kind=Kind.PREFERENCE)
    if not reading.belongs_to("user"):
        return mine, []
    return mine, service.listed(reading, scope=Scope.USER, kind=Kind.PREFERENCE)


def _bring_up_to_date(tx: Writing, one: Remembered, proposal: Proposal | None, today: str, learnt: Learnt) -> None:
    if one.state is State.DISMISSED:
        if proposal is not None and proposal.holds and _much_stronger(proposal, one):
            _write(tx, one, _proposed(proposal, today))
            learnt.proposed.append(one.id)
        return
    if proposal is not None:
        now = replace(
            one,
            agreeing=proposal.agreeing,
            against=proposal.against,
            seen=max(one.seen, proposal.seen),
            evidence=proposal.evidence or one.evidence,
        )
    elif one.origin is not Origin.LEARNED:
        return
    elif meaning(one.text).topic:
        now = replace(one, agreeing=0, against=0)
    else:  # nothing that counting could speak for or against: it fades, and keeps the evidence it came with
        now = one
    now = replace(now, confidence=confidence(now, today))
    if one.state is State.PROPOSED and now.confidence < WITHDRAWN:
        tx.remove(service.table_of(Scope.PROJECT), service.table_of(Scope.PROJECT).c.id == one.id)
        learnt.withdrawn.append(one.id)
    elif now != one:
        _write(tx, one, now)
        learnt.changed.append(one.id)


def _write(tx: Writing, one: Remembered, now: Remembered) -> None:
    names = ("state", "origin", "confidence", "evidence", "agreeing", "against", "seen")
    service.edit(tx, one.id, {name: getattr(now, name) for name in names})


def _proposed(proposal: Proposal, today: str) -> Remembered:
    made = Remembered(
        text=proposal.text,
        origin=Origin.LEARNED,
        state=State.PROPOSED,
        evidence=proposal.evidence,
        agreeing=proposal.agreeing,
        against=proposal.against,
        seen=proposal.seen,
    )
    return replace(made, confidence=confidence(made, today))


def _much_stronger(proposal: Proposal, dismissed: Remembered) -> bool:
    return proposal.agreeing >= max(AGAIN * dismissed.agreeing, dismissed.agreeing + AGAIN_MORE)


def _told(outcomes: Sequence[Outcome], memories: Sequence[Remembered]) -> Mapping[str, frozenset[str]]:
    """The subjects of the memories that stood in the prompt of each outcome."""
    subjects = {f"memory:{one.id}": subject_of(meaning(one.text).topic) for one in memories}
    return {one.id: frozenset(subject for name in one.recalled if (subject := subjects.get(name))) for one in outcomes}
