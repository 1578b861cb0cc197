"""Working memory: what the writer did in the current session (mem-1).

It is an immutable value that the caller keeps (a page, a terminal, a session of a server) and passes with each
request. Every event gives a new value. It has a limited length and is never stored. Each event has its
position in the story, so the gate applies to it.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from fabula.core.fragment import Fragment, Layer, Part, Visibility
from fabula.core.messages import message
from fabula.core.story import Position
from fabula.core.view import Language
from fabula.memory.model import MAX_WORKING_NOTES, Decision
from fabula.text.truncation import shorten_to_line

QUOTE_CHARS = 120
_TEMPLATES = {
    "open": message("Open now: {text}"),
    "viewed": message("Looked at lately: {text}"),
    "edited": message("Just changed: “{text}”"),
    "accepted": message("Accepted: “{text}”"),
    "rejected": message("Rejected: “{text}”"),
    "rewritten": message("Rewritten by the writer to: “{text}”"),
}


class WorkingMemoryEvent(Struct, frozen=True):
    """An event of working memory: a document opened, a text edited, or a decision on a suggestion."""

    kind: str
    text: str
    position: Position | None
    number: int


class WorkingMemory(Struct, frozen=True):
    """The latest events, the newest last; a document is listed once as open or viewed."""

    events: tuple[WorkingMemoryEvent, ...] = ()
    last_number: int = 0

    def with_opened(self, document: str, title: str) -> WorkingMemory:
        """Return a value in which this document is open and the one that was open is viewed."""
        start = Position(document, 0)
        others = [one for one in self.events if not (one.kind in ("open", "viewed") and one.position == start)]
        viewed = tuple(replace(one, kind="viewed") if one.kind == "open" else one for one in others)
        return replace(self, events=viewed)._with("open", title or document, start)

    def with_edit(self, document: str, offset: int, text: str) -> WorkingMemory:
        """Return a value with an edit: the new text and the offset of its end."""
        return self._with("edited", text, Position(document, offset)) if text.strip() else self

    def with_decision(self, decision: Decision, text: str, position: Position | None = None) -> WorkingMemory:
        """Return a value with a decision on a suggestion; `text` is the suggestion or the rewritten text."""
        return self._with(Decision(decision).value, text, position) if text.strip() else self

    def fragments(self, project_id: str, language: Language = "en") -> tuple[Fragment, ...]:
        """Return the fragments of the events, which stand behind the text as possibly irrelevant."""
        return tuple(_make_fragment(one, project_id, language) for one in self.events)

    def _with(self, kind: str, text: str, position: Position | None) -> WorkingMemory:
        number = self.last_number + 1
        event = WorkingMemoryEvent(kind, shorten_to_line(text, QUOTE_CHARS), position, number)
        return WorkingMemory((*self.events, event)[-MAX_WORKING_NOTES:], number)


def _make_fragment(event: WorkingMemoryEvent, project_id: str, language: Language) -> Fragment:
    source, position = f"working:{event.number}", event.position
    return Fragment(
        source=source,
        layer=Layer.IMMEDIATE,
        text=replace(_TEMPLATES[event.kind], values={"text": event.text}).render(language),
        project_id=project_id,
        part=Part.EDITOR_STATE,
        since=position,
        derived_from=() if position is None else (Visibility(source, document=position.document),),
    )


EMPTY_WORKING_MEMORY = WorkingMemory()
