"""The group mode: who speaks next, by mention, by turn, by talkativeness or by hand (cht-4).

Mentioned ones always answer, one after the other, each hearing the one before. Otherwise `choice` in the state decides:
`turn` takes the next in order, `talkativeness` draws by the numbers of the cards, or of the state, which come first,
`mention` lets the last speaker answer, and `hand` waits until somebody is asked. A reply that mentions somebody lets
them answer, up to `max_replies`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from fabula.conversation.modes.model import Mode, ModeStart, Step, Turn
from fabula.conversation.participants import strip_revision
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_alternatives, message

SpeakerChoice = Literal["talkativeness", "turn", "mention", "hand"]
DEFAULT_TALKATIVENESS = 0.5
DEFAULT_MAX_REPLIES = 3  # to one message
_STATE = ("choice", "max_replies", "talkativeness", "last", "replies")  # the first three are a person's


class GroupMode(Mode):
    """Several speakers, of whom a few answer each message, one after the other."""

    options = ("choice", "max_replies")

    def start(self, turn: Turn) -> ModeStart:
        """Begin; an unknown word or way to choose who speaks, or a talkativeness that is none, is refused."""
        for word in turn.state:
            if word not in _STATE:
                known = join_alternatives(_STATE[:3])
                raise _refuse(message("The mode 'group' has no {word!r}. There are: {known}.", word=word, known=known))
        choice = turn.state.get("choice", "talkativeness")
        if choice not in get_args(SpeakerChoice):
            known = join_alternatives(get_args(SpeakerChoice))
            raise _refuse(
                message("{name!r} is no way to choose who speaks. There are: {known}.", name=choice, known=known)
            )
        ids = {name: ident for ident, names in turn.names.items() for name in (*names, ident)}
        numbers = {ids.get(who, who): value for who, value in turn.state.get("talkativeness", {}).items()}
        for who, value in numbers.items():
            if not isinstance(value, int | float) or not 0 <= value <= 1:
                raise _refuse(
                    message("The talkativeness of {name} is a number from 0 to 1.", name=turn.name_of(who) or who)
                )
        most = str(turn.state.get("max_replies", DEFAULT_MAX_REPLIES))
        if not most.isdecimal() or int(most) < 1:
            raise _refuse(message("How many reply to one message (max_replies) is a whole number from 1 on."))
        told = {"talkativeness": numbers} if numbers else {}
        return ModeStart(state={**turn.state, **told, "choice": choice, "max_replies": int(most)})

    def route(self, turn: Turn) -> Step:
        """Let the mentioned speak, else whom the choice gives."""
        speakers = turn.mentioned or tuple(self._choose(turn))
        return Step(speakers=speakers, in_parallel=False, state={**turn.state, "replies": len(speakers)})

    def proceed(self, turn: Turn) -> Step:
        """Remember who spoke last; whoever was mentioned in the replies answers."""
        if not turn.replies:
            return Step()
        last = strip_revision(turn.replies[-1].speaker)
        replies, limit = turn.state.get("replies", 0), turn.state.get("max_replies", DEFAULT_MAX_REPLIES)
        called = [] if turn.state.get("choice") == "hand" else turn.find_mentioned(turn.replies[-1])
        speakers = tuple(called)[: max(limit - replies, 0)]
        state = {**turn.state, "last": last, "replies": replies + len(speakers)}
        return Step(speakers=speakers, in_parallel=False, state=state)

    def explain_state(self, turn: Turn, reader: str) -> tuple[Sentence, ...]:
        """Return the options."""
        limit = turn.state.get("max_replies", DEFAULT_MAX_REPLIES)
        return tuple(
            message("{option}: {value}", option=option, value=value)
            for option, value in (("choice", turn.state.get("choice", "")), ("max_replies", limit))
        )

    def _choose(self, turn: Turn) -> Sequence[str]:
        ids, last = turn.ids, turn.state.get("last", "")
        choice = turn.state.get("choice")
        if not ids or choice == "hand":
            return ()
        if choice == "turn":
            return [ids[(ids.index(last) + 1) % len(ids)] if last in ids else ids[0]]
        if choice == "mention":
            return [last if last in ids else ids[0]]
        random, numbers = turn.random, {**turn.talkativeness, **turn.state.get("talkativeness", {})}
        willing = {one: float(numbers.get(one, DEFAULT_TALKATIVENESS)) for one in ids}
        if turn.message is None and len(ids) > 1:  # nobody answers themselves
            willing.pop(last, None)
        drawn = [one for one, value in willing.items() if random.random() < value]
        random.shuffle(drawn)
        if drawn or not any(willing.values()):
            return drawn[: turn.state.get("max_replies", DEFAULT_MAX_REPLIES)]
        return random.choices(list(willing), list(willing.values()))


def _refuse(sentence: object) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, message("{sentence} Nothing was changed.", sentence=sentence))
