"""The workflow mode: coder, reviewer and tester work on a task, one after the other (cht-4).

`role_map` says who has which role, and `current_node` whose turn it is. Mentions are ignored. The first message of the
user in the whole history is the task, and later ones are follow-ups, of which the latest are told. Whoever asks for
changes sends the work back to the coder, which begins another round; after `Modes.WorkflowMaxRounds` rounds the
workflow stops. Whoever gives no verdict is asked once more for one; a second answer without one counts as a rejection.
Each step is stored, so it goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabula.conversation.model import Message, MessageKind, get_kind
from fabula.conversation.modes.model import Announcement, ContextPolicy, Mode, ModeStart, Step, Turn
from fabula.conversation.modes.verdicts import find_verdict
from fabula.conversation.participants import strip_revision
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, message, plural

CODER, REVIEWER, TESTER, DONE = "coder", "reviewer", "tester", "done"
NODES = (CODER, REVIEWER, TESTER)
MAX_ROUNDS = "Modes.WorkflowMaxRounds"
MAX_TASK, MAX_FOLLOW_UPS = 6000, 4000  # characters that a prompt is told of the task, and of all follow-ups
PASSED, STOPPED = "passed", "stopped"  # outcomes
_ASKED_AGAIN = "asked_again"  # in the state, where whoever gave no verdict is asked for one

_DUTIES = {
    CODER: message("[You are the coder. Do the task. If the reviewer or the tester asked for changes, make them.]"),
    REVIEWER: message(
        "[You are the reviewer. Read what the coder wrote last. Begin with APPROVED or CHANGES, then say why.]"
    ),
    TESTER: message(
        "[You are the tester. Check what the coder wrote last as its user would. "
        "Begin with PASSED or FAILED, then say why.]"
    ),
}


class WorkflowMode(Mode):
    """Coder, reviewer and tester, one after the other, in a bounded number of rounds."""

    policy = ContextPolicy(history_messages=20)
    roles = NODES

    def start(self, turn: Turn) -> ModeStart:
        """Begin with the coder; a role without a participant is refused."""
        role_map = {**turn.state.get("role_map", {}), **turn.roles}
        holes = [node for node in NODES if not role_map.get(node)]
        if holes:
            raise _refuse(turn, message("Nobody has the role {roles}.", roles=join_names(holes)))
        return ModeStart(state={"current_node": CODER, "rounds": 0, **turn.state, "role_map": role_map})

    def route(self, turn: Turn) -> Step:
        """Go on at the current node; after the end, begin again."""
        node = turn.state.get("current_node")
        if node not in NODES:
            return _go_to(turn, CODER, 1)
        return _go_to(turn, node, max(turn.state.get("rounds", 0), 1))

    def proceed(self, turn: Turn) -> Step:
        """Hand the work on, or back to the coder."""
        node, rounds = turn.state.get("current_node"), turn.state.get("rounds", 1)
        if not turn.replies or node not in NODES:
            return Step()
        if node == CODER:
            return _go_to(turn, REVIEWER, rounds)
        verdict = find_verdict(turn.replies[-1].content)
        if verdict is None and not turn.state.get(_ASKED_AGAIN):
            return _go_to(turn, node, rounds, asked_again=True)
        if verdict:
            return _go_to(turn, TESTER, rounds) if node == REVIEWER else _finish(turn, PASSED)
        return _go_to(turn, CODER, rounds + 1) if rounds < turn.settings[MAX_ROUNDS] else _finish(turn, STOPPED)

    def describe_state(self, turn: Turn, speaker: str) -> str:
        """Return the task with its follow-ups, as far as the speaker heard them, and the duty of the speaker's role."""
        said = [one for one in turn.list_heard(speaker) if get_kind(one) is MessageKind.USER]
        lines = _list_task(said, turn.message.id if turn.message is not None else "")
        node = next((role for role, who in turn.state.get("role_map", {}).items() if who == speaker), "")
        current_node = turn.state.get("current_node", "")
        if turn.state.get("role_map", {}).get(current_node) == speaker:
            node = current_node
        if node in _DUTIES:
            lines.append(_DUTIES[node])
        if node == current_node and turn.state.get(_ASKED_AGAIN):
            lines.append(message("[Your last answer had no verdict. Give it now.]"))
        return "\n".join(line.render(turn.language) for line in lines)

    def explain_state(self, turn: Turn, reader: str) -> tuple[Sentence, ...]:
        """Return the roles, and the node and round, or how the workflow ended."""
        role_map, node = turn.state.get("role_map", {}), turn.state.get("current_node", "")
        lines = [message("{role}: {name}", role=role, name=turn.name_of(who)) for role, who in role_map.items() if who]
        rounds = turn.state.get("rounds", 0)
        if node in NODES:
            lines.append(message("Round {number}. The turn is with: {role}", number=max(rounds, 1), role=node))
        elif turn.state.get("outcome"):
            lines.append(_tell_outcome(turn.state["outcome"], rounds))
        return tuple(lines)


def _list_task(said: Sequence[Message], current: str) -> list[Sentence]:
    """List the task and the latest follow-ups in their order; the current message is in the prompt anyway.

    The window may show some of them too, but no mode knows how far it reaches, and none of them may get lost.
    """
    lines: list[Sentence] = []
    if said and said[0].id != current:
        lines.append(message("[Task] {text}", text=_cut(said[0].prompt_text, MAX_TASK)))
    later = [(number, one.prompt_text) for number, one in enumerate(said) if number and one.id != current]
    left, told = MAX_FOLLOW_UPS, list[Sentence]()
    for number, text in reversed(later):
        if told and len(text) > left:
            break
        told.append(message("[Follow-up {number}] {text}", number=number, text=_cut(text, MAX_FOLLOW_UPS)))
        left -= len(text)
    if len(told) < len(later):
        lines.append(
            plural(
                len(later) - len(told),
                "[{count} earlier follow-up is left out here.]",
                "[{count} earlier follow-ups are left out here.]",
            )
        )
    return [*lines, *reversed(told)]


def _cut(text: str, limit: int) -> Sentence | str:
    """Return a text, or how it begins and ends where it is longer than a limit."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return message(
        "{beginning} [{count:,} characters are left out here.] {end}",
        beginning=text[:half].rstrip(),
        count=len(text) - 2 * half,
        end=text[-half:].lstrip(),
    )


def _go_to(turn: Turn, node: str, rounds: int, *, asked_again: bool = False) -> Step:
    """Let the participant of a node speak; one who is missing or absent is refused."""
    who = turn.state.get("role_map", {}).get(node)
    if not who:
        raise _refuse(turn, message("Nobody has the role {roles}.", roles=node))
    if who not in turn.ids:
        absent = message("{name} has the role {role} and cannot answer here.", name=turn.name_of(who), role=node)
        raise _refuse(turn, absent)
    state = {name: value for name, value in turn.state.items() if name != _ASKED_AGAIN}
    state |= {"current_node": node, "rounds": rounds} | ({_ASKED_AGAIN: True} if asked_again else {})
    return Step(speakers=(who,), in_parallel=False, state=state)


def _finish(turn: Turn, outcome: str) -> Step:
    """End the workflow, and tell those how who heard the last verdict: a task may be a whisper."""
    state = {name: value for name, value in turn.state.items() if name != _ASKED_AGAIN}
    told = _tell_outcome(outcome, turn.state.get("rounds", 1)).render(turn.language)
    last = turn.replies[-1]
    audience = None if last.audience is None else (*last.audience, strip_revision(last.speaker))
    announcement = Announcement(text=message("[{text}]", text=told).render(turn.language), audience=audience)
    return Step(state={**state, "current_node": DONE, "outcome": outcome}, announcements=(announcement,))


def _tell_outcome(outcome: str, rounds: int) -> Sentence:
    """Say how the workflow ended."""
    if outcome == PASSED:
        return plural(rounds, "The work passed in {count} round.", "The work passed in {count} rounds.")
    return plural(
        rounds,
        "The workflow stopped after {count} round: the work did not pass.",
        "The workflow stopped after {count} rounds: the work did not pass.",
    )


def _refuse(turn: Turn, sentence: Sentence) -> FabulaError:
    return FabulaError(
        Code.MODE_ROLES_INVALID,
        message(
            "{sentence} The workflow needs a participant who is present for each of: {roles}. {outcome}",
            sentence=sentence,
            roles=join_names(NODES),
            outcome=message("What was said is stored.") if turn.replies else message("Nothing was changed."),
        ),
    )
