"""Print a chat: replies as they come with names in colour, or each event as a line of JSON.

Several may answer at once. One of them streams, and what the others say waits until the line is free. A reply that the
person's participant does not hear is not shown.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from fabula.cli.output import current_language, describe_error, name_role, print_line, printable, render, shorten, warn
from fabula.cli.progress import ProgressDisplay
from fabula.conversation.model import Message, MessageKind, get_kind
from fabula.conversation.participants import Participants, strip_revision
from fabula.core.errors import Code, FabulaError
from fabula.core.file_errors import describe_os_error
from fabula.core.messages import Sentence, join_names, message
from fabula.workspace.chat import (
    Announced,
    ChatEvent,
    MessageStored,
    PromptHandedOver,
    ReplyDelta,
    ReplyFailed,
    ReplyRetry,
    ReplyStored,
    SpeakerEvent,
    SpeakerStart,
    TurnEnd,
)

COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "bright_red")
RESET = "\033[0m"


def has_colours() -> bool:
    """Whether the output is a terminal whose person wants colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class NameColours:
    """The colour of each participant, in the order in which they came."""

    def __init__(self, participants: Iterable[str] = (), *, is_on: bool | None = None) -> None:
        self._colours = {one: COLOURS[index % len(COLOURS)] for index, one in enumerate(dict.fromkeys(participants))}
        self._is_on = has_colours() if is_on is None else is_on

    def find_style(self, participant_id: str) -> tuple[str, str]:
        """Return what goes before and after a name."""
        if not self._is_on:
            return "", ""
        import typer

        styled = typer.style("", fg=self._colours.get(strip_revision(participant_id)), bold=True, reset=False)
        return styled, RESET

    def paint(self, text: str, participant_id: str) -> str:
        """Return a name in its colour."""
        before, after = self.find_style(participant_id)
        return f"{before}{printable(text)}{after}"


class ChatPrinter(Protocol):
    """Shows what happens in a chat."""

    handed_over: list[PromptHandedOver]
    has_failed: bool
    has_text: bool  # something came in this turn

    def begin(self) -> None:
        """Begin a turn."""

    def show(self, event: ChatEvent) -> None:
        """Show an event of a turn."""

    def stop(self) -> None:
        """End a turn, also in the middle."""

    def tell(self, sentence: Sentence | str) -> None:
        """Show a sentence for the person."""

    def refuse(self, error: FabulaError) -> None:
        """Show why a line was refused."""


@dataclass
class _Line:
    """What one speaker says in a turn."""

    name: str
    participant_id: str
    is_hidden: bool
    audience: tuple[str, ...] | None = None
    text: str = ""
    shown: int = 0  # characters
    has_head: bool = False
    is_ended: bool = False
    notes: list[Sentence | str] = field(default_factory=list)

    def list_listeners(self) -> list[str] | None:
        """List whom a whisper is for; None for what everybody hears."""
        return None if self.audience is None else [one for one in self.audience if one != self.participant_id]


class TerminalPrinter:
    """Prints replies to the standard output, and everything else to the standard error."""

    def __init__(
        self,
        waiting: Sentence,
        colours: NameColours,
        names: Callable[[], Participants],
        *,
        is_heard: Callable[[Message], bool],
        is_reply_heard: Callable[[], bool],
        prompt_file: Path | None = None,
    ) -> None:
        self._colours, self._is_heard, self._is_reply_heard = colours, is_heard, is_reply_heard
        self._names = names
        self._prompt_file = prompt_file
        self._waiting = ProgressDisplay(waiting)
        self._lines: dict[str, _Line] = {}  # by participant, in the order in which they were asked
        self._current: _Line | None = None
        self.handed_over: list[PromptHandedOver] = []
        self.has_failed = self.has_text = False

    def begin(self) -> None:
        """Begin a turn."""
        self.handed_over, self.has_text = [], False

    def show(self, event: ChatEvent) -> None:
        """Print what an event adds."""
        if isinstance(event, Announced):
            self._waiting.stop()
            if self._is_heard(event.message):
                print_line(f"* {event.message.content}")
        elif isinstance(event, MessageStored):
            for note in event.notes:
                print_line(note, file=sys.stderr)
        elif isinstance(event, PromptHandedOver):
            self._waiting.stop()
            self._lines.pop(event.participant_id, None)
            self.handed_over.append(event)
            self._print_prompt(event)
        elif isinstance(event, SpeakerEvent):
            self._show_reply(event)

    def stop(self) -> None:
        """End the line that is open, and print what others said of it so far."""
        self._waiting.stop()
        for line in self._lines.values():
            line.is_ended = True
        self._advance()
        sys.stdout.flush()

    def tell(self, sentence: Sentence | str) -> None:
        """Print a sentence for the person."""
        print_line(sentence, file=sys.stderr)

    def refuse(self, error: FabulaError) -> None:
        """Print why a line was refused."""
        self.has_failed = True
        print_line(describe_error(error), file=sys.stderr)

    def _show_reply(self, event: SpeakerEvent) -> None:
        ident = event.participant_id
        line = self._lines.get(ident)
        if line is None:
            is_hidden = isinstance(event, SpeakerStart | ReplyDelta) and not self._is_reply_heard()
            line = self._lines[ident] = _Line(event.name, ident, is_hidden, event.audience)
        match event:
            case SpeakerStart():
                self._waiting.start()
                return
            case ReplyDelta(text=text):
                self._waiting.stop()
                self.has_text = True
                line.text += printable(text)
            case ReplyRetry():
                line.notes.append(message("{name} begins again:", name=event.name))
                self._restart(line)
            case ReplyStored(message=stored):
                self._waiting.stop()
                if not line.text and not line.is_hidden:
                    line.text = printable(stored.content)
                line.is_hidden = line.is_hidden or not self._is_heard(stored)
                if line.is_hidden:
                    line.notes.append(message("({name} whispers to somebody else.)", name=event.name))
                if event.is_cut:
                    line.notes.append(message("(What followed in somebody else's name was left out.)"))
                line.is_ended = True
            case ReplyFailed(error=error):
                self._waiting.stop()
                self.has_failed = True
                line.notes.append(describe_error(error))
                line.notes.append(advise_after(error, event.name))
                line.is_ended = True
        self._advance()

    def _restart(self, line: _Line) -> None:
        """Begin a line anew; what was printed of it stays on the screen, and a note tells."""
        if line is self._current and line.has_head:
            print(flush=True)
            for note in line.notes:
                print_line(note, file=sys.stderr)
        line.notes.clear()
        line.text, line.shown, line.has_head = "", 0, False

    def _advance(self) -> None:
        """Print what can be printed by now: the open line, then those that have ended or begun since."""
        while True:
            line = self._current or next((one for one in self._lines.values() if one.text or one.is_ended), None)
            if line is None:
                return
            self._current = line
            if line.text and not line.is_hidden:
                if not line.has_head:
                    others = (
                        None if line.audience is None else [one for one in line.audience if one != line.participant_id]
                    )
                    name = self._colours.paint(mark_whisper(line.name, others, self._names()), line.participant_id)
                    print(render(message("{name}: {text}", name=name, text="")), end="")
                    line.has_head = True
                print(line.text[line.shown :], end="", flush=True)
                line.shown = len(line.text)
            if not line.is_ended:
                return
            if line.has_head:
                print(flush=True)
            for note in line.notes:
                print_line(note, file=sys.stderr)
            del self._lines[line.participant_id]
            self._current = None

    def _print_prompt(self, event: PromptHandedOver) -> None:
        """Hand over a prompt: on the clipboard, in a file, or on the screen."""
        if self._prompt_file is not None:
            try:
                self._prompt_file.write_text(event.prompt, "utf-8")
            except OSError as error:
                warn("{name} could not be written ({reason}).", name=self._prompt_file, reason=describe_os_error(error))
            else:
                warn("The prompt for {name} is in {file}.", name=event.name, file=self._prompt_file)
                return
        if event.is_copied:
            warn("The prompt for {name} is on the clipboard. Paste it wherever you like.", name=event.name)
            return
        warn("The prompt for {name}. Copy it wherever you like:", name=event.name)
        print(f"\n{printable(event.prompt)}\n", flush=True)


def advise_after(error: FabulaError, name: str) -> Sentence:
    """Say what helps in a chat after somebody could not answer."""
    if error.code is Code.INPUT_TOO_LARGE:
        return message(
            "To take the message back and say it in shorter ones: /undo. A model with a larger window reads more: "
            "--model NAME when you start the chat."
        )
    return message("To ask again: /again {name}", name=name)


class JsonPrinter:
    """Prints each event as a line of JSON; another program decides what a person sees.

    For whoever speaks as somebody, `hears_all` is false: nothing is printed that their participant did not hear.
    """

    def __init__(
        self,
        names: Callable[[], Participants],
        *,
        is_heard: Callable[[Message], bool],
        is_reply_heard: Callable[[], bool],
        hears_all: bool,
    ) -> None:
        self._names, self._hears_all = names, hears_all
        self._is_heard, self._is_reply_heard = is_heard, is_reply_heard
        self.handed_over: list[PromptHandedOver] = []
        self.has_failed = self.has_text = False

    def begin(self) -> None:
        """Begin a turn."""
        self.handed_over, self.has_text = [], False

    def show(self, event: ChatEvent) -> None:
        """Print an event."""
        from fabula.workspace.schemas.chat import describe_event

        if isinstance(event, PromptHandedOver):
            self.handed_over.append(event)
        self.has_failed = self.has_failed or isinstance(event, ReplyFailed)
        self.has_text = self.has_text or isinstance(event, ReplyDelta)
        shown = event if self._hears_all else self._hear(event)
        if shown is not None:
            print_json_line(describe_event(shown, self._names(), current_language()))

    def _hear(self, event: ChatEvent) -> ChatEvent | None:
        """Return an event as the person's participant hears it; None where they do not."""
        match event:
            case Announced(message=said) | MessageStored(message=said):
                return event if self._is_heard(said) else None
            case TurnEnd():
                return replace(event, mode_state={})
            case ReplyStored(message=said) if not self._is_heard(said):
                self.tell(message("({name} whispers to somebody else.)", name=event.name))
                return None
            case ReplyStored():
                return event
            case ReplyFailed() if not self._is_reply_heard():
                return replace(event, text="", message=None)
            case SpeakerEvent() if not self._is_reply_heard():
                return event if isinstance(event, SpeakerStart) else None
        return event

    def stop(self) -> None:
        """Nothing is open."""

    def tell(self, sentence: Sentence | str) -> None:
        """Print a sentence for the person."""
        from fabula.workspace.schemas.chat import NoticeEvent

        print_json_line(NoticeEvent(text=render(sentence)))

    def refuse(self, error: FabulaError) -> None:
        """Print why a line was refused."""
        from fabula.workspace.schemas.chat import RefusalEvent, describe_problem

        self.has_failed = True
        print_json_line(RefusalEvent(error=describe_problem(error, current_language())))


def print_json_line(data: object) -> None:
    """Print a schema as JSON on one line."""
    import msgspec

    print(msgspec.json.encode(data).decode(), flush=True)


def format_message(said: Message, names: Participants, colours: NameColours, *, most: int | None = None) -> str:
    """Return a message as a line: the name in its colour, whom a whisper is for, and the text, cut where a list is."""
    text = printable(said.content if most is None else shorten(said.content, most))
    if get_kind(said) is MessageKind.KNOWLEDGE:
        return f"* {text}"
    name = names.name_of(said.speaker) if said.speaker else name_role(said.role)
    name = mark_whisper(name, said.audience, names)
    return render(message("{name}: {text}", name=colours.paint(name, said.speaker), text=text))


def mark_whisper(name: str, audience: Iterable[str] | None, names: Participants) -> str:
    """Return the name of a speaker, with those whom a whisper is for; what everybody hears has no audience."""
    if audience is None:
        return name
    return render(message("{name} (to {listeners} only)", name=name, listeners=list_names(audience, names)))


def list_names(ids: Iterable[str], names: Participants) -> Sentence | str:
    """Return names as a list; nobody where there are none."""
    found = [names.name_of(one) for one in ids]
    return join_names(found) if found else message("nobody")
