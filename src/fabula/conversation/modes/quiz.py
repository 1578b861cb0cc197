"""The quiz mode: the mentioned answer a question, else all at once, and points are counted (cht-4).

Whoever asks the questions gives the points: `@Bo +1` in a message adds one to Bo's score. A message of points, with or
without a remark (`@Bo +1 well done`), is answered by nobody, and the scores are told. They are in the mode's state, and
every speaker reads them.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from fabula.conversation.modes.model import Announcement, ContextPolicy, Mode, ModeStart, Step, Turn
from fabula.core.messages import message

_MINUS = "−－-"
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
        rewarded = []
        for who in turn.ids:
            for name in sorted(turn.names[who], key=len, reverse=True):
                pattern = re.compile(rf"[@＠]{re.escape(name)}\s*([+＋−－-])\s*(\d{{1,4}})(?!\d)", re.IGNORECASE)
                for sign, points in pattern.findall(text):
                    scores[who] = scores.get(who, 0) + (-int(points) if sign in _MINUS else int(points))
                    rewarded.append(who)
                text = pattern.sub(_POINTS, text)
        state = {**turn.state, "scores": scores}
        asked = tuple(one for one in turn.mentioned if one not in rewarded)
        if rewarded and not asked and not re.search(r"\w", _REMARK.sub("", text)):
            told = self.describe_state(replace(turn, state=state), "")  # else the points would go without a word
            return Step(state=state, announcements=(Announcement(text=told),))
        return Step(speakers=asked or turn.ids, state=state)

    def describe_state(self, turn: Turn, speaker: str) -> str:
        """Return the scores, the highest first."""
        scores = sorted(turn.state.get("scores", {}).items(), key=lambda one: (-one[1], turn.name_of(one[0])))
        if not scores:
            return ""
        shown = tuple(f"{turn.name_of(who)} {points}" for who, points in scores)
        return message("[Scores: {scores}]", scores=shown).render(turn.language)
