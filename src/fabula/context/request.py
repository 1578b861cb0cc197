"""The request: what is asked for, and everything a source may need to answer it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from fabula.context.recipes.preset import Preset
from fabula.core.fragments import Layer
from fabula.core.story import Eyes, Position, Vantage
from fabula.core.view import Language
from fabula.text.tokens import Tokenizer


class Principal(Struct, frozen=True):
    """On whose behalf a request is made. In single-user local use that is the owner."""

    user: str = "owner"
    may_inspect: bool = True


class Attachment(Struct, frozen=True, kw_only=True):
    """Something that comes along with the input: an image or a file."""

    id: str
    kind: str  # "image" or "file"
    name: str = ""
    description: str = ""
    text: str = ""
    reference: str = ""
    tokens: int = 1100  # what an image of ordinary size costs where no better figure is known


class Request(Struct, frozen=True, kw_only=True):
    """One request for a prompt. The cursor counts code points."""

    project_id: str
    document_id: str = ""
    cursor: int | None = None
    skill_id: str = ""
    additional_input: str = ""
    model: str = "gpt-4o"
    window: int | None = None
    encoding: str | None = None
    reply_tokens: int | None = None
    recipe: str = "novel"
    preset: Preset | None = None
    selection: tuple[int, int] | None = None
    conversation_id: str = ""
    speaker_id: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    revision: int | None = None
    unsaved_text: str | None = None
    eyes: Eyes | None = None
    character: str | None = None
    late_joiners: bool | None = None
    session: Mapping[str, str] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()
    principal: Principal = Principal()


class Nearby(Struct, frozen=True):
    """Text close to where the writer is: what sources look for names and subjects in.

    A little more is shown at either end than is near, so that a cut word is not taken for a name.
    """

    text: str
    cursor: int | None = None  # where in the text the cursor stands; None: all of it is near
    first: int = 0
    last: int | None = None

    def holds(self, start: int, end: int) -> bool:
        """Does a stretch of the text lie within what is near?"""
        return start >= self.first and (self.last is None or end <= self.last)

    def nearness(self, start: int, end: int) -> float:
        """From 0 (at the far edge) to 1 (at the cursor)."""
        if self.cursor is None:
            return 1.0
        distance = max(start - self.cursor, self.cursor - end, 0)
        return 1.0 - distance / max(self.cursor, len(self.text) - self.cursor, 1)


class Ask(Struct, frozen=True, kw_only=True):
    """A request as a source sees it: resolved, with the room it may fill."""

    request: Request
    vantage: Vantage
    language: Language
    tokenizer: Tokenizer
    room: Mapping[Layer, int]
    window: int
    near: tuple[Nearby, ...] = ()
    shown: Position | None = None  # the window may show everything of this document from here on
    held: tuple[str, ...] = ()  # told last time; offer them again if they still stand
    fresh: bool = True  # the retrieved layer is chosen anew in this request
