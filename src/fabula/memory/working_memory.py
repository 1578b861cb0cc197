"""A sitting: what somebody did since they sat down (mem-1, working memory).

It is a value, held by whoever holds the sitting (a page, a terminal, a server's session) and handed along
with each request; every step gives a new one. It is bounded, it is in no table and no save, and when
nobody holds it any more it is gone. Each note knows its place in the story, so the gate applies to it.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from fabula.core.fragment import Fragment, Layer, Part
from fabula.core.story import Position
from fabula.core.view import Language
from fabula.memory.model import NOTES, Fate
from fabula.text.shorten import short

QUOTE = 120  # characters of a text that are kept
_SAYS: dict[Language, dict[str, str]] = {
    "en": {
        "open": "Open now: {said}",
        "viewed": "Looked at lately: {said}",
        "edited": "Just changed: “{said}”",
        "accepted": "Accepted: “{said}”",
        "rejected": "Rejected: “{said}”",
        "rewritten": "Rewritten by the writer to: “{said}”",
    },
    "zh": {
        "open": "正打开：{said}",
        "viewed": "刚看过：{said}",
        "edited": "刚改过：“{said}”",
        "accepted": "已采纳：“{said}”",
        "rejected": "未采纳：“{said}”",
        "rewritten": "作者改写为：“{said}”",
    },
}


class Done(Struct, frozen=True):
    """One thing done in a sitting."""

    what: str
    said: str
    at: Position | None
    number: int


class Sitting(Struct, frozen=True):
    """What was done, the latest last; of each document only that it was opened, or else looked at, once."""

    done: tuple[Done, ...] = ()
    number: int = 0

    def opened(self, document: str, title: str) -> Sitting:
        """A document was opened; whatever was open before was looked at."""
        at = Position(document, 0)
        rest = [one for one in self.done if not (one.what in ("open", "viewed") and one.at == at)]
        viewed = tuple(replace(one, what="viewed") if one.what == "open" else one for one in rest)
        return replace(self, done=viewed)._with("open", title or document, at)

    def edited(self, document: str, offset: int, text: str) -> Sitting:
        """A text was changed: what stands there now, and where it ends."""
        return self._with("edited", text, Position(document, offset)) if text.strip() else self

    def took(self, fate: Fate, text: str, at: Position | None = None) -> Sitting:
        """A suggestion was accepted, rejected or rewritten: what was offered, or what it became."""
        return self._with(Fate(fate).value, text, at) if text.strip() else self

    def fragments(self, project_id: str, language: Language = "en") -> tuple[Fragment, ...]:
        """What a prompt may hold of it, behind the text, as possibly irrelevant."""
        return tuple(
            Fragment(
                source=f"working:{one.number}",
                layer=Layer.IMMEDIATE,
                text=_SAYS[language][one.what].format(said=one.said),
                project_id=project_id,
                part=Part.DESK,
                since=one.at,
            )
            for one in self.done
        )

    def _with(self, what: str, said: str, at: Position | None) -> Sitting:
        done = Done(what, short(said, QUOTE), at, self.number + 1)
        return Sitting((*self.done, done)[-NOTES:], self.number + 1)


NOT_BEGUN = Sitting()
