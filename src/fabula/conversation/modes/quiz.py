"""The quiz mode: the mentioned answer a question, else all at once, and points are counted (cht-4).

Whoever asks the questions gives the points: `@Bo +1` in a message adds one to Bo's score, by any name that a mention
takes. A message of points, with or without a remark (`@Bo +1 well done`), is answered by nobody, and the scores are
told. They are in the mode's state, and every speaker reads them there. So points are given aloud: a whisper of points
is refused.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from fabula.conversation.mentions import find_mentions
from fabula.conversation.modes.model import Announcement, ContextPolicy, Mode, ModeStart, Step, Turn
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, join_names, message

_MINUS = "−－-"
MAX_POINTS = 9999  # that one gift may have
_GIVEN = re.compile(rf"\s*([+＋{_MINUS}])\s*(\d+)")
_POINTS = "\0"  # stands where points were given; no message holds it
_REMARK = re.compile(rf"{_POINTS}[^{_POINTS}.!?…。！？\n]*(?![^{_POINTS}.!?…。！？\n]|[?？])")


class QuizMode(Mode):
    """Questions to all or to some, with scores."""

    policy = ContextPolicy(history_messages=20)

    def start(self, turn: Turn) -> ModeStart:
        """Begin with the scores that there are."""
        return ModeStart(state={**turn.state, "scores": dict(turn.state.get("scores", {}))})

    def route(self, turn: Turn) -> Step:
        """Count the points of a message; whoever only got points is not asked by it."""
        scores = dict(turn.state.get("scores", {}))
        text = turn.message.content if turn.message is not None else ""
        rewarded: list[str] = []
        rest = text  # with a sign for each gift of points
        bare = text  # without points and mentions
        for place in reversed(find_mentions(text, turn.names).places):
            who = place.participants
            given = _GIVEN.match(text, place.end)
            end = place.end if given is None else given.end()
            bare = bare[: place.start] + bare[end:]
            if given is not None:
                _check_points(turn, given[2])
                points = -int(given[2]) if given[1] in _MINUS else int(given[2])
                scores.update((one, scores.get(one, 0) + points) for one in who)
                rewarded += who
                rest = rest[: place.start] + _POINTS + rest[end:]
        state = {**turn.state, "scores": scores}
        asked = tuple(one for one in turn.mentioned if one not in rewarded)
        unsaid = bare if asked else _REMARK.sub("", rest)
        if rewarded and not re.search(r"\w", unsaid):
            told = self.describe_state(replace(turn, state=state), "")  # else the points would go without a word
            return Step(state=state, announcements=(Announcement(text=told, is_state=True),), is_move=True)
        return Step(speakers=asked or turn.ids, state=state)

    def explain_state(self, turn: Turn, reader: str) -> tuple[Sentence, ...]:
        """Return the scores."""
        shown = _list_scores(turn)
        return (message("Scores: {scores}", scores=join_names(shown)) if shown else message("Nobody has points yet."),)

    def describe_state(self, turn: Turn, speaker: str) -> str:
        """Return the scores, the highest first."""
        shown = _list_scores(turn)
        return message("[Scores: {scores}]", scores=shown).render(turn.language) if shown else ""


def _check_points(turn: Turn, number: str) -> None:
    """Refuse points that are whispered, and more than one gift may have."""
    if turn.message is not None and turn.message.audience is not None:
        raise _refuse(message("Everybody reads the scores, so points are given aloud and not in a whisper."))
    if len(number) > len(str(MAX_POINTS)):
        raise _refuse(message("At most {limit:,} points can be given at once.", limit=MAX_POINTS))


def _refuse(sentence: Sentence) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, message("{sentence} Nothing was changed.", sentence=sentence))


def _list_scores(turn: Turn) -> tuple[str, ...]:
    """List who has how many points, the highest first."""
    scores = sorted(turn.state.get("scores", {}).items(), key=lambda one: (-one[1], turn.name_of(one[0])))
    return tuple(f"{turn.name_of(who)} {points}" for who, points in scores)
