"""Light summaries: of other recent conversations a prompt holds a title and a snippet or two (mem-4).

Who took part in a conversation, and was there for what the snippets say, may know of it; nobody else. The
writer's own talk with the assistant has no participants: beside a story it is planning, so only the
author's eyes see it, and where there is no story there is nothing to reveal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import Row, desc

from fabula.context.request import Ask
from fabula.context.trace import Verdict
from fabula.conversation.model import Mark, Message
from fabula.conversation.snapshot import newest
from fabula.conversation.tables import conversations, presence
from fabula.core.errors import Code
from fabula.core.fragment import Fragment, Layer
from fabula.core.relevance import EPISODE, within
from fabula.core.view import Language, Project, View
from fabula.store.transaction import Reading
from fabula.text.shorten import short

MOST = 3  # in one prompt
TITLE, SNIPPET = 60, 160  # characters
_BACK = 8  # messages looked through for something said to everybody
_SAYS: dict[Language, str] = {
    "en": "[Another recent conversation: {title}] {said}",
    "zh": "[最近的另一场对话：{title}] {said}",
}


class Glimpse(Struct, frozen=True):
    """One conversation, from afar."""

    id: str
    mark: Mark
    title: str
    snippets: tuple[str, ...]
    known_to: frozenset[str] | None  # None: the writer's own talk


class Glimpses:
    """The latest conversations of a project, the latest first, and what prompts may hold of them."""

    def __init__(self, project: Project, glimpses: Sequence[Glimpse]) -> None:
        self.language = project.language
        self.all = tuple(glimpses)
        shown = [one for one in self.all if one.snippets]
        self.beside_a_story = tuple(_fragment(project, n, one, frozenset()) for n, one in enumerate(shown))
        self.alone = tuple(_fragment(project, n, one, None) for n, one in enumerate(shown))


def load(reading: Reading, project: Project, before: Glimpses | None = None) -> Glimpses:
    """The latest conversations as they stand; what did not move is shared."""
    alike = before if before is not None and before.language == project.language else None
    known = {one.id: one for one in alike.all} if alike is not None else {}
    # One more than a prompt holds: the conversation under way is none of the others.
    rows = reading.rows(conversations, order=(desc(conversations.c.changed), conversations.c.id), limit=MOST + 1)
    found = []
    for row in rows:
        old, mark = known.get(row.id), Mark(row.made, row.version, row.said, row.leaf_id)
        found.append(old if old is not None and old.mark == mark else _glimpse(reading, row, mark))
    return alike if alike is not None and alike.all == tuple(found) else Glimpses(project, found)


class TalksSource:
    """Other recent conversations, in a line or two each."""

    name = "talks"
    failing = Code.SOURCE_UNAVAILABLE
    waits = False
    ahead = False

    def fragments(self, ask: Ask, view: View) -> Iterable[Fragment]:
        """The latest ones that are not under way here."""
        glimpses = view.room(Glimpses)
        if glimpses is None or not glimpses.all:
            return ()
        found = glimpses.beside_a_story if view.timeline.moments else glimpses.alone
        here = f"talk:{ask.request.conversation_id}"
        return [fragment for fragment in found if fragment.source != here][:MOST]

    def absent(self, ask: Ask, view: View) -> Iterable[Verdict]:
        """Older ones are simply older."""
        return ()


def _glimpse(reading: Reading, row: Row[Any], mark: Mark) -> Glimpse:
    path = [one for one in newest(reading, row.id, row.leaf_id, most=_BACK) if one.final and one.audience is None]
    asked = next((one for one in reversed(path) if one.role == "user"), None)
    answered = next((one for one in reversed(path) if one.role == "assistant"), None)
    said = sorted((one for one in (asked, answered) if one is not None), key=lambda one: one.number or 0)
    first = said[0].content if said else ""
    title = short(row.title or first, TITLE)
    snippets = tuple(text for one in said if (text := short(one.content, SNIPPET)))
    return Glimpse(row.id, mark, title, snippets, _heard(reading, row.id, said))


def _heard(reading: Reading, conversation_id: str, said: Sequence[Message]) -> frozenset[str] | None:
    """Who was there for all of it; None where nobody takes part by name."""
    seats = reading.rows(presence, presence.c.conversation_id == conversation_id)
    if not seats:
        return None

    def there(number: int) -> set[str]:
        return {
            seat.participant_id
            for seat in seats
            if seat.since_number <= number and (seat.until_number is None or number < seat.until_number)
        }

    heard = [there(one.number or 0) for one in said]
    return frozenset(set.intersection(*heard)) if heard else frozenset()


def _fragment(project: Project, place: int, one: Glimpse, own: frozenset[str] | None) -> Fragment:
    gap = " / "
    return Fragment(
        source=f"talk:{one.id}",
        layer=Layer.RETRIEVED,
        text=_SAYS[project.language].format(title=one.title, said=gap.join(one.snippets)),
        project_id=project.id,
        title=one.title,
        score=within(EPISODE, 0.5 - 0.15 * place),
        known_to=own if one.known_to is None else one.known_to,
    )
