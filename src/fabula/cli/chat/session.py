"""A chat in the terminal: each line is said, or is a command that begins with a slash.

Everything that happens goes through `project.chat` and `project.conversations`. Ctrl-C stops an answer and keeps what
was received; Ctrl-D ends the chat.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fabula.cli.chat.lines import LineReader
from fabula.cli.chat.printing import (
    ChatPrinter,
    JsonPrinter,
    NameColours,
    TerminalPrinter,
    format_message,
    print_json_line,
)
from fabula.cli.chat.slash_commands import COMMANDS, find_command
from fabula.cli.output import invalid_request, printable, quote_name, render
from fabula.conversation.model import Message, MessageKind, get_kind
from fabula.conversation.participants import conv_key, strip_revision
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, is_word, join_names, message
from fabula.text.lookup import fold_name
from fabula.workspace.chat import (
    Announced,
    MessageStored,
    PromptHandedOver,
    ReplyFailed,
    ReplyStored,
    SpeakerEvent,
)
from fabula.workspace.chat.mentions import list_called_names
from fabula.workspace.conversations import LAST_WORD

if TYPE_CHECKING:
    from fabula.workspace.chat import ChatEvents, ChatState
    from fabula.workspace.conversations import ConversationDetails
    from fabula.workspace.project import ProjectHandle
    from fabula.workspace.writing_options import ModelChoice

_NO_ANSWER = (Code.LLM_ANSWER_EMPTY, Code.LLM_OTHER_SPEAKER)  # of a paste that is refused
_MACRO = re.compile(r"\{\{([^{}\n]{1,40})\}\}")
SHOWN_MESSAGES = 10  # of a conversation that goes on


class ChatSession:
    """A conversation that a person takes part in."""

    def __init__(
        self,
        project: ProjectHandle,
        chat: ChatState,
        choice: ModelChoice,
        *,
        me: str,
        hears_all: bool = True,
        document_id: str | None = None,
        as_json: bool = False,
        prompt_file: Path | None = None,
    ) -> None:
        self.project, self.choice, self.me, self.document_id = project, choice, me, document_id
        self.id = chat.record.id
        self.hears_all = hears_all  # whoever speaks as somebody (`--as`) is shown nothing else than what they heard
        self.as_json = as_json
        self.colours = NameColours(one.participant_id for one in chat.attendance.changes)
        self.people = chat.people
        self.lines = LineReader(shows_prompts=not as_json)
        self.changes: list[tuple[int, Sentence]] = []  # since the last turn, by their numbers: /undo takes them back
        self._first_new = 0  # the number from which on a message may be new to the person
        self._seen: set[str] = set()  # messages of the last turn
        self.has_said = self.is_gone = False
        self.is_ended = False
        self.printer: ChatPrinter
        if as_json:
            self.printer = JsonPrinter(
                lambda: self.people,
                is_heard=self.may_see,
                is_reply_heard=self._is_reply_heard,
                hears_all=hears_all,
            )
        else:
            self.printer = TerminalPrinter(
                message("Making the prompt")
                if choice.provider.api_style == "clipboard"
                else message("Waiting for {model}", model=f"{choice.provider.name}/{choice.model}"),
                self.colours,
                lambda: self.people,
                is_heard=self.is_heard,
                is_reply_heard=self._is_reply_heard,
                prompt_file=prompt_file,
            )
        self._told_macros: set[str] = set()
        self._has_response = False

    @property
    def has_failed(self) -> bool:
        """Whether a line was refused, or somebody could not answer."""
        return self.printer.has_failed

    def tell(self, sentence: Sentence | str) -> None:
        """Tell the person something."""
        self.printer.tell(sentence)

    def note_change(self, label: Sentence) -> None:
        """Remember a change that /undo takes back, and what it is called."""
        newest = next((step for step in self.project.changes.list_changes() if not step.is_undone), None)
        if newest is not None:
            self.changes.append((newest.number, label))

    def tell_unknown_macros(self, names: Iterable[str]) -> None:
        """Tell of macros that stand in a prompt or a greeting as they are written, each once in a chat."""
        new = self._choose_new_macros(names)
        if new and self.hears_all:  # in the card of somebody else there may be a secret
            self.tell(
                message(
                    "{names} means nothing here and stands in the prompt as it is written. "
                    "Take it out of the text, or leave it.",
                    names=join_names(new),
                )
            )

    def _tell_macros_said(self, text: str) -> None:
        new = self._choose_new_macros(found[1].strip() for found in _MACRO.finditer(text))
        if new:
            names = join_names(new)
            self.tell(message("{names} is said as it is written: macros in messages are not filled in.", names=names))

    def _choose_new_macros(self, names: Iterable[str]) -> list[str]:
        new = [one for one in dict.fromkeys(names) if one not in self._told_macros]
        self._told_macros.update(new)
        return [f"{{{{{name}}}}}" for name in new]

    def show_beginning(self) -> None:
        """Show what was said last."""
        if self.as_json:
            self.print_conversation()
            return
        page = self.project.conversations.read_page(self.id, limit=SHOWN_MESSAGES)
        for said in page.messages:
            if said.final and self.is_heard(said):
                print(format_message(said, self.people, self.colours))
        if len(page.messages) == 1 and get_kind(page.messages[0]) is MessageKind.REPLY:  # a greeting
            self.tell_unknown_macros(found[1].strip() for found in _MACRO.finditer(page.messages[0].content))
        self._first_new = self.project.chat.get(self.id).record.message_count

    def run(self) -> None:
        """Read lines until the person ends the chat."""
        while not self.is_ended and self._is_still_there():
            try:
                line = self._read_line()
                if line is None:
                    break
                self._take(line)
            except KeyboardInterrupt:
                self.tell(message("\nTo end the chat: Ctrl-D or /quit"))
            except FabulaError as error:
                self.printer.refuse(error)

    def _is_still_there(self) -> bool:
        """Whether the conversation exists; one that was deleted elsewhere ends the chat."""
        try:
            self.project.chat.get(self.id)
        except FabulaError as error:
            if error.code is not Code.STORE_NOT_FOUND:
                raise
            self.is_gone = True
            gone = message(
                "This conversation was deleted, so the chat ends. To bring it back: {command}",
                command=f"fabula undo {quote_name(self.project.view.project.title)}",
            )
            self.printer.refuse(FabulaError(error.code, gone))
        return not self.is_gone

    def _show_news(self, chat: ChatState) -> None:
        """Show what was said elsewhere meanwhile, in another terminal or on the page."""
        first, self._first_new = self._first_new, chat.record.message_count
        seen, self._seen = self._seen, set()
        if first == chat.record.message_count or self.as_json:
            return
        for said in self.read_path():
            if (said.number or 0) >= first and said.id not in seen and said.final and self.is_heard(said):
                self.print_numbered(said)

    def _read_line(self) -> str | None:
        chat = self.project.chat.get(self.id)
        self.people = chat.people
        self._show_news(chat)
        self.lines.offer([name for name, _ in self.list_mentionable(chat)], [one.name for one in COMMANDS])
        name = self.people.name_of(self.me) if self.me else render(message("you"))
        return self.lines.read(f"{printable(name)}> ", self.colours.find_style(self.me))

    def _take(self, line: str) -> None:
        """Do what a line says: a command, or a message; two slashes begin a message with one."""
        text = line.strip()
        if not text:
            raise invalid_request("An empty line says nothing. Type a message, or /help for the commands.")
        if text.startswith("/") and not text.startswith("//"):
            name, _, rest = text[1:].partition(" ")
            find_command(name).run(self, rest.strip())
            return
        self.say(text[1:] if text.startswith("//") else text)

    def say(self, text: str, audience: Sequence[str] | None = None) -> None:
        """Say something, to everybody or to some, and show the answers."""
        chat = self.project.chat
        self._tell_macros_said(text)
        said = chat.send(
            self.id, text, speaker=self.me, audience=audience, document_id=self.document_id, model=self.choice
        )
        self.run_turn(said)
        if not self._has_response:
            mode = self.project.chat.get(self.id).mode
            self.tell(message("The mode {mode} asks nobody to answer this. To ask somebody: /again NAME", mode=mode))

    def run_turn(self, events: ChatEvents, *, instead_of: str = "", goes_on_from: str = "") -> None:
        """Show a turn to its end, and take the answers that a person pastes; one that is none leaves them out."""
        self._run_events(events)
        left_out: set[str] = set()
        while self.printer.handed_over:
            handed = self.printer.handed_over[0]
            if self.lines.is_terminal:
                self.tell(message("Paste the answer of {name}, then a line with a single dot:", name=handed.name))
            text = self.lines.read_block()
            if text is not None and text.strip():
                pasted = self.project.chat.paste(
                    self.id,
                    text,
                    participant=handed.participant_id,
                    instead_of=instead_of,
                    goes_on_from=goes_on_from,
                    document_id=self.document_id,
                    model=self.choice,
                )
                try:
                    self._run_events(pasted)
                    continue
                except FabulaError as error:
                    if error.code not in _NO_ANSWER:
                        raise
                    self.printer.refuse(error)
                self.tell(message("To ask {name} again: /again {name}", name=handed.name))
            else:
                self.tell(message("Nothing was pasted. To ask {name} again: /again {name}", name=handed.name))
            left_out.add(handed.participant_id)
            waiting = [one for one in self.project.chat.get(self.id).round.waiting if one not in left_out]
            if text is None or instead_of or goes_on_from or not waiting:
                return
            self._run_events(self.project.chat.ask(self.id, waiting, document_id=self.document_id, model=self.choice))

    def _run_events(self, events: ChatEvents) -> None:
        self.changes.clear()
        self._has_response = False  # somebody answered, or something else was told
        self.printer.begin()
        try:
            asyncio.run(self._show(events))
        except KeyboardInterrupt:
            self._has_response = True
            self.printer.stop()
            if self.printer.has_text:
                self.tell(message("Stopped. What was received is kept; /more lets it go on, and /swipe asks anew."))
            else:
                self.tell(message("Stopped before anything came. To ask again: /again"))
        finally:
            self.printer.stop()

    async def _show(self, events: ChatEvents) -> None:
        async with aclosing(events):
            async for event in events:
                self.has_said = True  # a message that is refused says nothing
                is_note = isinstance(event, MessageStored) and bool(event.notes)  # which says why nobody answers
                self._has_response |= is_note or isinstance(event, PromptHandedOver | SpeakerEvent | Announced)
                if isinstance(event, PromptHandedOver):
                    self.tell_unknown_macros(event.unknown_macros)
                self.printer.show(event)
                if isinstance(event, ReplyStored | ReplyFailed):
                    self.tell_unknown_macros(event.unknown_macros)
                if isinstance(event, Announced | MessageStored | ReplyStored):
                    self._seen.add(event.message.id)

    def read_path(self) -> Sequence[Message]:
        """Return the newest messages of the active path."""
        return self.project.conversations.read_page(self.id, limit=SHOWN_MESSAGES * 10).messages

    def find_last_reply(self) -> Message:
        """Return the newest reply; where there is none, say so."""
        replies = [
            one for one in self.read_path() if one.final and get_kind(one) is MessageKind.REPLY and self.may_see(one)
        ]
        if not replies:
            raise invalid_request("Nobody has replied here yet. Say something, or ask somebody: /again NAME")
        return replies[-1]

    def is_heard(self, said: Message) -> bool:
        """Whether the person's participant heard a message; who takes no part, and tells the story, hears all."""
        if not self.me:
            return True
        listeners = self.project.chat.get(self.id).attendance.find_listeners(said)
        return listeners is None or strip_revision(self.me) in listeners

    def may_see(self, said: Message) -> bool:
        """Whether the person may read a message: all of them, or what the participant heard whom they speak as."""
        return self.hears_all or self.is_heard(said)

    def find_message(self, name: str) -> Message:
        """Return a message by its number or `last`; one that the person may not read is refused like none."""
        found: Message | None
        if is_word(name, LAST_WORD) and not self.hears_all:
            found = next((one for one in reversed(self.read_path()) if one.final and self.is_heard(one)), None)
        else:
            found = self.project.conversations.get_message(self.id, name)
        if found is None or not self.may_see(found):
            raise FabulaError(
                Code.STORE_NOT_FOUND,
                message("{me} heard no message {name!r}. Nothing was changed.", me=self.name_myself(), name=name),
            )
        return found

    def name_myself(self) -> str:
        """Return the name of whom the person speaks as."""
        return self.people.name_of(self.me)

    def _is_reply_heard(self) -> bool:
        """Whether the person's participant hears the replies of this step."""
        audience = self.project.chat.get(self.id).round.audience
        return not self.me or audience is None or self.me in audience

    def list_mentionable(self, chat: ChatState) -> list[tuple[str, str]]:
        """List the names that somebody present can be called by, each with the id."""
        called = list_called_names(self.project.view, chat)
        return [(name, ident) for ident, names in called.items() if ident != self.me for name in names]

    def split_name(self, text: str) -> tuple[str, str]:
        """Split the longest name of somebody present, as the id, from what follows; else a quoted or one word."""
        rest = text.lstrip("@＠").strip()
        if rest[:1] in ('"', "'") and rest[0] in rest[1:]:
            name, _, text = rest[1:].partition(rest[0])
            return name, text.strip()
        called = self.list_mentionable(self.project.chat.get(self.id))
        for name, ident in sorted(called, key=lambda one: len(one[0]), reverse=True):
            is_latin, after = name[-1].isascii(), rest[len(name) : len(name) + 1]
            if fold_name(rest[: len(name)]) == fold_name(name) and not (is_latin and after.isalnum()):
                return ident, rest[len(name) :].strip(" ,，:：")
        name, _, text = rest.partition(" ")
        return name, text.strip()

    def explain_mode(self) -> Sequence[Sentence]:
        """Return the state of the mode, as far as the person may read it: all of it for whoever leads and plays not."""
        chat = self.project.chat
        return chat.explain_mode(self.id, leader=self.me) if self.hears_all else chat.explain_mode(self.id, self.me)

    def show_message(self, said: Message) -> None:
        """Show a message that was chosen or changed."""
        if self.as_json:
            from fabula.workspace.schemas.chat import StoredMessageEvent
            from fabula.workspace.schemas.conversations import describe_message

            print_json_line(StoredMessageEvent(message=describe_message(said, self.people)))
        else:
            self.print_numbered(said)

    def print_numbered(self, said: Message, *, is_beside: bool = False) -> None:
        """Print a message with its number; as JSON, also whether it stands beside the active path."""
        if self.as_json:
            from fabula.workspace.schemas.chat import ListedMessageEvent
            from fabula.workspace.schemas.conversations import describe_message

            described = describe_message(said, self.people)
            print_json_line(ListedMessageEvent(message=described, is_active=not is_beside))
            return
        print(f"{(said.number or 0) + 1}. {format_message(said, self.people, self.colours)}")

    def print_conversation(self) -> None:
        """Print the conversation as JSON."""
        from fabula.workspace.schemas.chat import ConversationEvent
        from fabula.workspace.schemas.conversations import describe_conversation

        details: ConversationDetails = self.project.conversations.get(self.id)
        described = describe_conversation(details)
        if not self.hears_all:  # what a mode keeps may be secret, as the roles of a game are, and who was there before
            met = details.attendance.list_met(self.me) | {self.me}
            described = replace(
                described,
                mode_state={},
                opening="",
                conv_key=conv_key(met),
                presence=tuple(one for one in described.presence if one.participant_id in met),
            )
        print_json_line(ConversationEvent(conversation=described))
