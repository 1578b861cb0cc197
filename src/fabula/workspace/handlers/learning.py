"""The job that looks whether outcomes show a habit: by counting, then by the model where one works for the project.

Counting is free and is done each time. The model is asked when enough new outcomes have come since it was last
asked; it may propose what no counting finds, never what counting knows how to find, and only with outcomes to show
for it that were written without being told so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fabula.core.errors import Code, FabulaError
from fabula.core.ids import now
from fabula.jobs.cancellation import Stop
from fabula.jobs.model import Job, Outcome
from fabula.llm import runs
from fabula.memory import edits as service
from fabula.memory.deduplicate import meaning
from fabula.memory.learning import Weighed, learn, weigh
from fabula.memory.model import Kind, Remembered, Scope
from fabula.memory.model import Outcome as Made
from fabula.memory.outcomes import recorded
from fabula.memory.proposals import QUOTES, Proposal
from fabula.skills.structured_answer import rows_in
from fabula.store.store import OWNER
from fabula.store.transaction import Reading, Writing
from fabula.workspace.handlers.background_model import Assistant, assistant_for
from fabula.workspace.views import Library

SKILL = "habits"
ENOUGH = 8  # new outcomes before the model is asked again
LOOKED_AT = 40  # the latest outcomes
SHOWN = 3  # outcomes that must show a habit
LONGEST = 160  # characters of a habit
_QUOTED = 400  # characters of a text that is shown to the model


def propose(library: Library, job: Job, stop: Stop) -> Outcome:
    """Look over a project's outcomes and propose what they show."""
    with library.store.read(project=job.project_id, user=OWNER) as reading:
        weighed, seen, known = weigh(reading), recorded(reading, limit=LOOKED_AT), _known(reading)
        asked = next((one.at for one in runs.listed(reading, skill_id=SKILL) if one.outcome == "used"), "")
    fresh = [one for one in seen if one.made > asked]
    assistant = assistant_for(library, job.project_id, stop) if len(fresh) >= ENOUGH else None
    if assistant is None:
        return Outcome(write=partial(_learn, weighed), user=OWNER)
    try:
        more = _shown(assistant, seen, known)
    except FabulaError:
        with library.store.write(project=job.project_id, user=OWNER) as tx:
            _learn(weighed, tx)
        raise
    both = Weighed(weighed.outcomes, (*weighed.proposals, *more))
    return Outcome(write=partial(_learn, both), user=OWNER)


def _learn(weighed: Weighed, tx: Writing) -> None:
    learn(tx, today=now(), weighed=weighed)


def _known(reading: Reading) -> list[Remembered]:
    """What is remembered already, dismissed or not."""
    mine = service.listed(reading, kind=Kind.PREFERENCE)
    return [*mine, *service.listed(reading, scope=Scope.USER, kind=Kind.PREFERENCE)]


def _shown(assistant: Assistant, seen: Sequence[Made], known: Sequence[Remembered]) -> list[Proposal]:
    """What the model says that outcomes show."""
    rows = rows_in(assistant.answer(SKILL, "\n\n".join(_lines(seen))), "habits")
    if rows is None:
        raise FabulaError(Code.LLM_ANSWER_INVALID, "The model did not answer with habits that can be read.")
    found: list[Proposal] = []
    for row in rows[:QUOTES]:
        text, numbers = row.get("text"), row.get("shown")
        if not isinstance(text, str) or not 0 < len(text.strip()) <= LONGEST or not isinstance(numbers, list):
            continue
        named = {number for number in numbers if isinstance(number, int) and 0 < number <= len(seen)}
        shown = [seen[number - 1] for number in sorted(named)]
        new = not meaning(text).topic and service.twin_of(known, text) is None
        if new and len(shown) >= SHOWN:
            found.append(_proposal(text.strip(), shown))
    return found


def _proposal(text: str, shown: Sequence[Made]) -> Proposal:
    return Proposal(
        topic=f"said:{meaning(text).plain}",
        text=text,
        agreeing=len(shown),
        against=0,
        seen=max(one.made for one in shown),
        evidence=tuple(f"{one.id}: {_short(one.offered, 40)}" for one in shown[-QUOTES:]),
    )


def _lines(seen: Sequence[Made]) -> list[str]:
    lines = []
    for number, one in enumerate(seen, start=1):
        became = f"\n-> {_short(one.became, _QUOTED)}" if one.became else ""
        lines.append(f"{number}. [{one.fate.value}] {_short(one.offered, _QUOTED)}{became}")
    return lines


def _short(text: str, most: int) -> str:
    words = " ".join(text.split())
    return words if len(words) <= most else words[: most - 1] + "…"
