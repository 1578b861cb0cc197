"""The request: what is asked for, and everything a source may need to answer it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from fabula.context.recipes.preset import Preset
from fabula.core.fragment import Layer
from fabula.core.story import Eyes, Position, Vantage
from fabula.core.view import Language
from fabula.text.names.mention_cache import Readings
from fabula.text.names.mention_columns import Sightings
from fabula.text.tokens.tokenizer import Tokenizer
from fabula.text.windows import Stretch

if TYPE_CHECKING:
    from fabula.text.names.matcher import Hit


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
    recipe: str = ""  # empty: as the skill says, else the novel's
    preset: Preset | None = None
    selection: tuple[int, int] | None = None
    conversation_id: str = ""
    mode: str = ""  # of the conversation, for conditions of a preset
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

    It is a part of some whole, in which all these places are. A little more is shown at either end than is near, so
    that a cut word is not taken for a name.
    """

    whole: str
    cursor: int | None = None  # None: all of it is near
    first: int = 0
    last: int | None = None
    begin: int = 0
    end: int | None = None
    readings: Readings | None = None  # of the whole

    @property
    def text(self) -> str:
        """All that is shown."""
        return self.whole[self.begin : self.end]

    @property
    def before(self) -> str:
        """What is shown before the cursor."""
        return self.whole[self.begin : self.cursor]

    @property
    def after(self) -> str:
        """What is near behind the cursor."""
        return self.whole[self.cursor : self.last]

    def nearest(
        self, find: Callable[[str], Sequence[Hit]], means: Callable[[Hit], bool] | None = None
    ) -> dict[str, float]:
        """How near each owner is mentioned, from 0 (at the far edge) to 1 (at the cursor).

        `find` is asked about whole paragraphs, which come again with the next request; `means` may turn a hit down.
        """
        first, cursor = self.first, self.cursor
        last = len(self.whole) if self.last is None else self.last
        here = last if cursor is None else cursor
        before: dict[str, int] = {}
        after: dict[str, int] = {}
        for seen in self._found(find, first, last):
            seen.note(first, here, last, before, after, means)
        if cursor is None:
            return dict.fromkeys(before, 1.0)
        furthest = max(cursor - self.begin, (len(self.whole) if self.end is None else self.end) - cursor, 1)
        near = {owner: 1.0 - (cursor - end) / furthest for owner, end in before.items()}
        for owner, start in after.items():
            nearness = 1.0 - max(start - cursor, 0) / furthest
            if nearness > near.get(owner, -1.0):
                near[owner] = nearness
        return near

    def _found(self, find: Callable[[str], Sequence[Hit]], first: int, last: int) -> Sequence[Sightings]:
        found = None if self.readings is None else self.readings.found(find, first, last)
        return found or (Sightings([(self.begin, find(self.text))], first, last),)


class Talk(Struct, frozen=True):
    """How much of a conversation a prompt shows: its caps, and the oldest message shown, None where nobody knows."""

    tokens: int | None = None
    messages: int | None = None
    characters: int | None = None
    since: str | None = None  # its source; empty where none is shown


class Ask(Struct, frozen=True, kw_only=True):
    """A request as a source sees it: resolved, with the room it may fill."""

    request: Request
    vantage: Vantage
    language: Language
    tokenizer: Tokenizer
    room: Mapping[Layer, int]
    window: int
    near: tuple[Nearby, ...] = ()
    text: Stretch | None = None  # the text before the cursor
    talk: Talk = Talk()
    held: tuple[str, ...] = ()  # told last time; offer them again if they still stand
    fresh: bool = True  # the retrieved layer is chosen anew in this request
    left: Mapping[str, bytes] = {}  # by source: what it left behind last time, at this very place
    notes: list[str] = []  # what sources say beside a good answer, each `CODE: sentence`; becomes warnings

    def shown_from(self) -> Position | None:
        """Where the window would begin if it had all the room there is; what follows may be in the prompt anyway."""
        here, text = self.vantage.position, self.text
        if text is None or here is None:
            return None
        cut = text.fit(self.tokenizer, self.window, paragraphs_only=True)
        start = text.end if cut is None else cut.start
        return Position(here.document, here.offset - (text.end - start))
