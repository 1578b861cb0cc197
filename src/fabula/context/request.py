"""The request for a prompt, and the same request as a source receives it (ctx-2)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct, ValidationError, convert, field
from msgspec.structs import asdict, replace

from fabula.context.nearby import Nearby
from fabula.context.recipes.preset import Preset
from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Layer
from fabula.core.messages import Sentence, message
from fabula.core.story import Perspective, Position, Vantage
from fabula.core.view import Language
from fabula.text.macros import MacroExpander, MacroValues
from fabula.text.tokens.tokenizer import Tokenizer
from fabula.text.windows import TextWindow


class Grants(Struct, frozen=True, kw_only=True):
    """What a principal may ask for, by id; None allows everything of its kind."""

    perspectives: frozenset[Perspective] | None = None
    characters: frozenset[str] | None = None  # whose knowledge a prompt may hold, and who may speak
    documents: frozenset[str] | None = None
    conversations: frozenset[str] | None = None
    entries: frozenset[str] | None = None  # that may be included by hand


UNLIMITED = Grants()


class Principal(Struct, frozen=True):
    """The user on whose behalf a request is made. In single-user local use that is the owner."""

    user: str = "owner"
    may_inspect: bool = True
    grants: Grants = UNLIMITED

    def __post_init__(self) -> None:
        if not isinstance(self.user, str) or not self.user:
            raise FabulaError(Code.REQUEST_INVALID, message("A principal needs the name of its user."))


def has_limits(principal: Principal) -> bool:
    """Return whether a principal may ask for less than everything; what the author decides is not for it to read."""
    grants = principal.grants
    return grants is not UNLIMITED and grants != UNLIMITED


def is_character_speaking(request: Request) -> bool:
    """Return whether a character speaks, in its own words; an agent works for the writer and is none."""
    return bool(request.speaker_id) and not is_agent(request.speaker_id)


def is_agent(participant: str) -> bool:
    """Return whether a participant is an agent, by its id."""
    return participant.startswith("agent:")


class Attachment(Struct, frozen=True, kw_only=True):
    """An image or a file that is sent with the input."""

    id: str
    kind: str  # "image" or "file"
    name: str = ""
    description: str = ""
    text: str = ""
    reference: str = ""
    tokens: int = 1100  # of an image of ordinary size, where no better figure is known


class Request(Struct, frozen=True, kw_only=True):
    """One request for a prompt; only the project is required.

    Where:
        project_id, document_id: the project, and the chapter in which the cursor stands.
        cursor: the place of the cursor in code points; None is the end of the document.
        selection: the first and the last place of the selected text.
        revision: which revision of the document the place belongs to; another one is refused.
        unsaved_text: the document as it is in an editor, if it is not saved yet.

    What:
        additional_input: what the writer, or the player, says.
        skill_id: the skill that writes.
        recipe: the recipe; empty is that of the skill, else `novel`.
        preset: in place of the project's preset.
        identity: in place of the project's identity prompt: the persona of who speaks.
        attachments: images and files that are sent with the input.
        include, exclude: entries and fragments that must or must not be in the prompt, by id or source.
        include_names: what a person called each of `include`, for warnings.
        session: details of the editor's state, by name, which the prompt lists.
        late_joiners: whether new fragments stand behind the text; None is the setting of the recipe.

    For which model:
        model, window, encoding: the model, its context window in tokens, and its vocabulary where no table knows it.
        reply_tokens: how many tokens are kept free for the answer.
        added_tokens: how many tokens the provider adds to the prompt: turns that its API wants, the schema of the
            answer.

    For whom:
        perspective, character: whose knowledge counts, and which character's.
        character_ids: further ids of the character: as a participant, as an entry.
        reader_language: in which language a model explains itself; None is that of the project.
        principal: on whose behalf the request is made.

    In a conversation:
        conversation_id: the conversation; empty is what was asked for in the document before, if a writer asks.
        with_history: whether the prompt shows the conversation.
        with_text: whether the prompt shows the text around the cursor, not only what is known there.
        mode: the mode of the conversation; conditions of a preset may depend on it.
        speaker_id, speaker_name: the participant who speaks next.
        speaker_note: what a mode tells who speaks next, and nobody else.
        input_name: who says the input, where lines of the conversation carry names.
        input_speaker_id: the participant who says the input, where one does.
        input_known_to: who hears the input; None: everybody.
        now: the moment that dates and times in macros come from.
        macros: what the other macros stand for.
    """

    project_id: str
    document_id: str = ""
    cursor: int | None = None
    skill_id: str = ""
    additional_input: str = ""
    model: str = "gpt-4o"
    window: int | None = None
    encoding: str | None = None
    reply_tokens: int | None = None
    added_tokens: Annotated[int, Meta(ge=0)] = 0
    recipe: str = ""
    preset: Preset | None = None
    selection: tuple[int, int] | None = None
    conversation_id: str = ""
    with_history: bool = True
    with_text: bool = True
    mode: str = ""
    speaker_id: str = ""
    speaker_name: str = ""
    speaker_note: str = ""
    identity: str | None = None
    character_ids: tuple[str, ...] = ()
    reader_language: Language | None = None
    input_name: str = ""
    input_speaker_id: str = ""
    input_known_to: tuple[str, ...] | None = None
    include: tuple[str, ...] = ()
    include_names: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    revision: int | None = None
    unsaved_text: str | None = None
    perspective: Perspective | None = None
    character: str | None = None
    late_joiners: bool | None = None
    session: Mapping[str, str] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()
    now: datetime | None = None
    macros: MacroValues = MacroValues()
    principal: Principal = Principal()


def validate_request(request: Request) -> Request:
    """Return a request whose values have the types of their fields; refuse one that cannot be made so.

    A program without type checks may make any request. A list becomes a tuple, the name of a perspective becomes it.
    """
    if not isinstance(request, Request):
        raise _refuse(message("it must be a `Request`, not a {kind}", kind=type(request).__name__))
    try:
        valid = convert(asdict(request), Request)
        if valid.attachments:  # structs inside of structs are taken as they are
            attachments = convert([asdict(one) for one in valid.attachments], tuple[Attachment, ...])
            valid = replace(valid, attachments=attachments)
    except ValidationError as error:
        raise _refuse(explain_decode_error(error, Request)) from None
    return valid


def _refuse(reason: Sentence) -> FabulaError:
    return FabulaError(Code.REQUEST_INVALID, message("The request cannot be used: {reason}.", reason=reason))


class HistoryWindow(Struct, frozen=True):
    """How much of a conversation a prompt shows: its caps, and its oldest message where that is known."""

    max_tokens: int | None = None
    max_messages: int | None = None
    max_characters: int | None = None
    first_shown: str | None = None  # the source of the oldest message shown; empty where none is
    step_kinds: tuple[str, ...] = ()  # of messages that are not final and are shown too


class SourceRequest(Struct, frozen=True, kw_only=True):
    """A request as a source receives it: with the vantage, the token shares and the nearby text."""

    request: Request
    vantage: Vantage
    language: Language
    tokenizer: Tokenizer
    token_shares: Mapping[Layer, int]
    available_tokens: int  # for all layers together
    nearby: tuple[Nearby, ...] = ()
    text_before_cursor: TextWindow | None = None
    history_window: HistoryWindow = HistoryWindow()
    previously_included: tuple[str, ...] = ()  # sources of the last prompt; offer them again if they still hold
    previously_placed: frozenset[str] = frozenset()  # of these, what stood at a place of its own
    reselect: bool = True  # the retrieved layer is selected anew in this request
    source_state: Mapping[str, bytes] = {}  # by source: the state it saved in the last request of this place
    macros: MacroExpander = field(default_factory=MacroExpander)
    warnings: list[str] = []  # a source may add warnings, each `CODE: sentence`

    def is_common(self, source: str, known_to: frozenset[str] | None, present: frozenset[str]) -> bool:
        """Whether a text stands in the part of a chat's prompt that all who are present have in common.

        One of the last prompt stays where it stood until the layer is selected anew, whoever joins or leaves meanwhile.
        """
        if not self.reselect and source in self.previously_included:
            return source not in self.previously_placed
        return known_to is None or present <= known_to

    def earliest_shown_position(self) -> Position | None:
        """Where the text window would begin with all tokens available; what follows may be in the prompt anyway."""
        here, text = self.vantage.position, self.text_before_cursor
        if text is None or here is None:
            return None
        cut = text.fit(self.tokenizer, self.available_tokens, paragraphs_only=True)
        start = text.end if cut is None else cut.start
        return Position(here.document, here.offset - (text.end - start))
