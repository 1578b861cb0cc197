"""A chat in the terminal: each line is said, or is a command that begins with a slash.

Everything that happens goes through `project.chat` and `project.conversations`. Ctrl-C stops an answer and keeps what
was received; Ctrl-D ends the chat.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fabula.cli.chat.lines import LineReader
from fabula.cli.chat.printing import (
    ChatPrinter,
    JsonPrinter,
    NameColours,
    TerminalPrinter,
    format_message,
    list_names,
    print_json_line,
)
from fabula.cli.commands import name_placeholder
from fabula.cli.output import current_language, invalid_request, print_line, printable, quote_name, render, shorten
from fabula.cli.tables import measure_width
from fabula.conversation.model import Message, MessageKind, get_kind
from fabula.conversation.participants import strip_revision
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, is_word, join_alternatives, message
from fabula.text.lookup import find_by_name, fold_name
from fabula.workspace.chat.mentions import list_called_names
from fabula.workspace.conversations import LAST, LAST_WORD

if TYPE_CHECKING:
    from fabula.workspace.chat import ChatEvents, ChatState
    from fabula.workspace.conversations import ConversationDetails
    from fabula.workspace.project import ProjectHandle
    from fabula.workspace.writing_options import ModelChoice

_ROLE = re.compile(r"(?:^|[ ,，])(\w+)[=＝]")
SHOWN_MESSAGES = 10  # of a conversation that goes on
LISTED_MESSAGES = 20  # by /branch
WIDTH = 100  # characters of a message in a list
TEXT_ENDINGS, SAVE_ENDING = (".txt", ".md"), ".fabula"  # of the files that /save writes


class ChatCommand(Struct, frozen=True):
    """A command of a chat: its name, what stands behind it, what it does."""

    name: str
    values: str
    help: Sentence
    run: Callable[[ChatSession, str], None]


class ChatSession:
    """A conversation that a person takes part in."""

    def __init__(
        self,
        project: ProjectHandle,
        chat: ChatState,
        choice: ModelChoice,
        *,
        me: str,
        document_id: str | None = None,
        as_json: bool = False,
        prompt_file: Path | None = None,
    ) -> None:
        self._project, self._choice, self._me, self._document_id = project, choice, me, document_id
        self.id = chat.record.id
        self.as_json = as_json
        self._colours = NameColours(one.participant_id for one in chat.attendance.ranges)
        self._names = chat.people
        self.lines = LineReader(shows_prompts=not as_json)
        self._change_count = 0  # changes since the last turn, which can be undone one by one
        self.has_said = self.is_gone = False
        self._is_ended = False
        self._printer: ChatPrinter
        if as_json:
            self._printer = JsonPrinter(lambda: self._names)
        else:
            self._printer = TerminalPrinter(
                message("Making the prompt")
                if choice.provider.api_style == "clipboard"
                else message("Waiting for {model}", model=f"{choice.provider.name}/{choice.model}"),
                self._colours,
                is_heard=self._is_heard,
                is_reply_heard=self._is_reply_heard,
                prompt_file=prompt_file,
            )

    @property
    def has_failed(self) -> bool:
        """Whether a line was refused, or somebody could not answer."""
        return self._printer.has_failed

    def tell(self, sentence: Sentence | str) -> None:
        """Tell the person something."""
        self._printer.tell(sentence)

    def show_beginning(self) -> None:
        """Show what was said last."""
        if self.as_json:
            self._print_conversation()
            return
        page = self._project.conversations.read_page(self.id, limit=SHOWN_MESSAGES)
        for said in page.messages:
            if said.final and self._is_heard(said):
                print(format_message(said, self._names, self._colours))

    def run(self) -> None:
        """Read lines until the person ends the chat."""
        while not self._is_ended and self._is_still_there():
            try:
                line = self._read_line()
                if line is None:
                    break
                self._take(line)
            except KeyboardInterrupt:
                self.tell(message("\nTo end the chat: Ctrl-D or /quit"))
            except FabulaError as error:
                self._printer.refuse(error)

    def _is_still_there(self) -> bool:
        """Whether the conversation exists; one that was deleted elsewhere ends the chat."""
        try:
            self._project.chat.get(self.id)
        except FabulaError as error:
            if error.code is not Code.STORE_NOT_FOUND:
                raise
            self.is_gone = True
            gone = message(
                "This conversation was deleted, so the chat ends. To bring it back: {command}",
                command=f"fabula undo {quote_name(self._project.view.project.title)}",
            )
            self._printer.refuse(FabulaError(error.code, gone))
        return not self.is_gone

    def _read_line(self) -> str | None:
        chat = self._project.chat.get(self.id)
        self._names = chat.people
        self.lines.offer([name for name, _ in self._list_mentionable(chat)], [one.name for one in COMMANDS])
        name = self._names.name_of(self._me) if self._me else render(message("you"))
        return self.lines.read(f"{printable(name)}> ", self._colours.find_style(self._me))

    def _take(self, line: str) -> None:
        """Do what a line says: a command, or a message; two slashes begin a message with one."""
        text = line.strip()
        if not text:
            raise invalid_request("An empty line says nothing. Type a message, or /help for the commands.")
        if text.startswith("/") and not text.startswith("//"):
            name, _, rest = text[1:].partition(" ")
            find_command(name).run(self, rest.strip())
            return
        self._say(text[1:] if text.startswith("//") else text)

    # What the commands do

    def _say(self, text: str, audience: Sequence[str] | None = None) -> None:
        chat = self._project.chat
        said = chat.send(
            self.id, text, speaker=self._me, audience=audience, document_id=self._document_id, model=self._choice
        )
        self._turn(said)

    def whisper(self, rest: str) -> None:
        """Say something that only one participant hears."""
        name, text = self._split_name(rest)
        if not name or not text:
            raise invalid_request("Say to whom, and what: /whisper NAME TEXT")
        self._say(text, (name,))

    def again(self, rest: str) -> None:
        """Ask somebody to speak, or whoever has not answered yet."""
        names = [self._split_name(rest)[0]] if rest else []
        self._turn(self._project.chat.ask(self.id, names, document_id=self._document_id, model=self._choice))

    def more(self, rest: str) -> None:
        """Let the last reply go on."""
        reply = self._find_last_reply()
        more = self._project.chat.continue_reply(self.id, reply.id, document_id=self._document_id, model=self._choice)
        self._turn(more, goes_on_from=reply.id)

    def swipe(self, rest: str) -> None:
        """Have the last reply given again, or choose one of those there are."""
        reply = self._find_last_reply()
        replies = [one for one in self._project.conversations.list_siblings(self.id, reply.id) if one.final]
        if rest:
            if not rest.isdecimal() or not 1 <= int(rest) <= len(replies):
                raise invalid_request(
                    "There are {count} replies here. Choose one by its number, from 1 to {count}: /swipe 1",
                    count=len(replies),
                )
            chosen = replies[int(rest) - 1]
            if all(one.id != chosen.id for one in self._read_path()):
                self._project.conversations.select(self.id, chosen.id)
                self._change_count += 1
            self._show_message(chosen)
        else:
            anew = self._project.chat.regenerate(self.id, reply.id, document_id=self._document_id, model=self._choice)
            self._turn(anew, instead_of=reply.id)
            path = {one.id for one in self._read_path()}
            replies = [one for one in self._project.conversations.list_siblings(self.id, reply.id) if one.final]
            chosen = next((one for one in replies if one.id in path), reply)
        number = [one.id for one in replies].index(chosen.id) + 1
        if len(replies) > 1:
            self.tell(
                message(
                    "Reply {number} of {count}. Choose another one: /swipe {other}",
                    number=number,
                    count=len(replies),
                    other=number % len(replies) + 1,
                )
            )

    def branch(self, rest: str) -> None:
        """Go on from another message, or list the messages that one can go on from."""
        conversations = self._project.conversations
        if not rest:
            self._list_branches()
            return
        last = self._read_path()[-1:]
        named = conversations.get_message(self.id, rest)
        if any(one.id == named.id for one in self._read_path()):
            newest = conversations.go_back(self.id, named.id)
        else:
            newest = conversations.select(self.id, named.id)
        self._change_count += 1
        self._show_message(newest)
        if last and last[0].id != newest.id:
            number = (last[0].number or 0) + 1
            self.tell(
                message(
                    "The conversation goes on from here. What there was is kept: /undo, or /branch {number}",
                    number=number,
                )
            )

    def _list_branches(self) -> None:
        """List the newest messages with their numbers, and the alternatives beside them."""
        conversations = self._project.conversations
        page = conversations.read_page(self.id, limit=LISTED_MESSAGES).messages
        if not page:
            raise invalid_request(
                "Nothing was said here yet. To get back what was taken back, say its number: /branch NUMBER"
            )
        for said in page:
            for one in conversations.list_siblings(self.id, said.id):
                if one.final and self._is_heard(one):
                    self._print_numbered(one, is_beside=one.id != said.id, most=WIDTH)
        self.tell(message("To go on from one of them: /branch NUMBER"))

    def edit(self, rest: str) -> None:
        """Correct a message: in the editor, or by the text behind the command."""
        first, _, text = rest.partition(" ")
        name, text = (first, text.strip()) if first.isdecimal() or is_word(first, LAST_WORD) else (LAST, rest)
        said = self._project.conversations.get_message(self.id, name)
        if not text:
            if not self.lines.is_terminal:
                raise invalid_request("Say the number of the message and its new text: /edit NUMBER TEXT")
            from fabula.cli.editor import edit_text

            text = edit_text(said.content).rstrip("\n")
        changed = self._project.conversations.correct(self.id, said.id, text)
        if changed.version == said.version:
            self.tell(message("The text is the same. Nothing was changed."))
            return
        self._change_count += 1
        self._show_message(changed)

    def undo(self, rest: str) -> None:
        """Take back the last correction or choice, else the last turn."""
        if self._change_count:
            step = self._project.changes.undo()
            self._change_count -= 1
            self.tell(message("Taken back: {label}", label=step.label))
            return
        gone = self._project.chat.take_back(self.id)
        number = (gone[0].number or 0) + 1
        self.tell(
            message(
                "Taken back from message {number} on: {text}\nIt is kept as a branch: /branch {last}",
                number=number,
                text=shorten(gone[0].content, 60),
                last=(gone[-1].number or 0) + 1,
            )
        )

    def recap(self, rest: str) -> None:
        """Show the summaries and recaps of the conversation."""
        found = self._project.recaps.list_recaps(self.id)
        if self.as_json:
            from fabula.workspace.schemas.chat import RecapsEvent
            from fabula.workspace.schemas.recaps import describe_recap

            print_json_line(RecapsEvent(recaps=tuple(map(describe_recap, found))))
        elif not found:
            self.tell(
                message(
                    "There are no summaries or recaps yet. A model makes them in the background as the chat grows, "
                    "if models.toml names one: fabula jobs list tells of it."
                )
            )
        for one in found if not self.as_json else ():
            rounds = message("Rounds {first} to {last}", first=one.first_round, last=one.last_round)
            print_line(message("{heading}: {text}", heading=rounds, text=one.text))

    def why(self, rest: str) -> None:
        """Say why something is in the prompt of a speaker, or not."""
        speaker, name = self._split_name(rest) if rest.startswith(("@", "＠")) else ("", rest)
        if not name:
            raise invalid_request("Say what you ask about: /why NAME, or /why @SPEAKER NAME")
        seen = self._project.chat.inspect(self.id, speaker, choice=self._choice)
        verdicts = seen.project.explain(seen.result, name.strip("\"'"))
        if self.as_json:
            from fabula.workspace.schemas.chat import ExplanationEvent
            from fabula.workspace.schemas.context import describe_explanation

            explained = describe_explanation(name, verdicts, current_language())
            print_json_line(ExplanationEvent(name=seen.name, explanation=explained))
            return
        from fabula.cli.show import show_why

        self.tell(message("In the prompt of {name}:", name=seen.name))
        show_why(name, verdicts)

    def who(self, rest: str) -> None:
        """Show who is present, who left, and who heard the last message."""
        if self.as_json:
            self._print_conversation()
            return
        chat = self._project.chat.get(self.id)
        names, attendance = chat.people, chat.attendance
        called = list_called_names(self._project.view, chat)
        for one in chat.present:
            own = called[one.id]
            others = [f"@{name}" for name in own[1:]]
            mark = message("you") if one.id == self._me else message("waits") if one.id in chat.round.waiting else ""
            line = self._colours.paint(own[0], one.id)
            remarks = [*([render(mark)] if mark else []), *others]
            print(f"{line} ({', '.join(printable(remark) for remark in remarks)})" if remarks else line)
        gone = sorted(attendance.participants - attendance.present)
        if gone:
            print_line(message("Left: {names}", names=list_names(gone, names)))
        path = [one for one in self._read_path() if one.final and self._is_heard(one)]
        if path:
            heard = attendance.find_listeners(path[-1])
            listeners = message("everybody") if heard is None else list_names(sorted(heard), names)
            number = (path[-1].number or 0) + 1
            print_line(message("Message {number} was heard by {names}.", number=number, names=listeners))

    def join(self, rest: str) -> None:
        """Let somebody join, a participant or a character of the codex."""
        if not rest:
            raise invalid_request("Say who joins: /join NAME")
        if self._project.conversations.join(self.id, rest.strip("@＠\"'")):
            self._change_count += 1
        self.who("")

    def leave(self, rest: str) -> None:
        """Let somebody leave."""
        if not rest:
            raise invalid_request("Say who leaves: /leave NAME")
        name = self._split_name(rest)[0]
        if self._project.participants.get(name).id == self._me:
            raise invalid_request("You speak as {name}. To end the chat: /quit", name=self._names.name_of(self._me))
        self._project.conversations.leave(self.id, name)
        self._change_count += 1
        self.who("")

    def mode(self, rest: str) -> None:
        """Choose who answers, or say how it is; roles stand behind the mode."""
        name, _, text = rest.partition(" ")
        if name:
            words = _ROLE.split(text)[1:]
            roles = {role: who.strip(" ,，") for role, who in zip(words[::2], words[1::2], strict=True)}
            if text.strip() and not roles:
                raise invalid_request(
                    "Roles are ROLE=NAME, such as /mode workflow coder=NAME reviewer=NAME tester=NAME"
                )
            self._project.chat.set_mode(self.id, name, roles=roles)
            self._change_count += 1
        self.tell(message("The mode is {mode}.", mode=self._project.chat.get(self.id).mode))

    def save(self, rest: str) -> None:
        """Save the project as a file, or the conversation as a text."""
        path = Path(rest.strip("\"'")) if rest else None
        ending = path.suffix.lower() if path is not None else SAVE_ENDING
        if path is not None and ending in TEXT_ENDINGS:
            self._save_text(path)
            return
        if ending != SAVE_ENDING:
            raise invalid_request(
                "What should {path} hold? The conversation is saved as {texts}, and the project as {save}. "
                "Nothing was written.",
                path=path,
                texts=join_alternatives(TEXT_ENDINGS),
                save=SAVE_ENDING,
            )
        try:
            result = self._project.save(path)
        except FabulaError as error:
            if error.code is not Code.EXPORT_REFUSED or "path" not in error.message.values:
                raise
            raise _refuse_present(error.message.values["path"]) from error
        self.tell(message("The project is saved in {path}.", path=result.path))

    def help(self, rest: str) -> None:
        """List the commands."""
        usages = [f"/{one.name} {name_placeholder(one.values)}" for one in COMMANDS]
        width = max(map(measure_width, usages))
        lines = [
            f"{usage}{' ' * (width - measure_width(usage))}  {render(one.help)}"
            for usage, one in zip(usages, COMMANDS, strict=True)
        ]
        if self.as_json:
            self.tell("\n".join(lines))
            return
        for line in lines:
            print_line(line)
        self.tell(
            message("Everything else is said. @NAME asks somebody alone. Ctrl-C stops an answer, and Ctrl-D ends.")
        )

    def quit(self, rest: str) -> None:
        """End the chat."""
        self._is_ended = True

    # What they share

    def _turn(self, events: ChatEvents, *, instead_of: str = "", goes_on_from: str = "") -> None:
        """Show a turn to its end, and take the answers that a person pastes; an empty one leaves its speaker out."""
        self._run_events(events)
        left_out: set[str] = set()
        while self._printer.handed_over:
            handed = self._printer.handed_over[0]
            if self.lines.is_terminal:
                self.tell(message("Paste the answer of {name}, then a line with a single dot:", name=handed.name))
            text = self.lines.read_block()
            if text is None or not text.strip():
                self.tell(message("Nothing was pasted. To ask {name} again: /again {name}", name=handed.name))
                left_out.add(handed.participant_id)
                waiting = [one for one in self._project.chat.get(self.id).round.waiting if one not in left_out]
                if text is None or instead_of or goes_on_from or not waiting:
                    return
                asked = self._project.chat.ask(self.id, waiting, document_id=self._document_id, model=self._choice)
                self._run_events(asked)
                continue
            pasted = self._project.chat.paste(
                self.id,
                text,
                participant=handed.participant_id,
                instead_of=instead_of,
                goes_on_from=goes_on_from,
                document_id=self._document_id,
                model=self._choice,
            )
            self._run_events(pasted)

    def _run_events(self, events: ChatEvents) -> None:
        self._change_count = 0
        self._printer.begin()
        try:
            asyncio.run(self._show(events))
        except KeyboardInterrupt:
            self._printer.stop()
            if self._printer.has_text:
                self.tell(message("Stopped. What was received is kept; /more lets it go on, and /swipe asks anew."))
            else:
                self.tell(message("Stopped before anything came. To ask again: /again"))
        finally:
            self._printer.stop()

    async def _show(self, events: ChatEvents) -> None:
        async with aclosing(events):
            async for event in events:
                self.has_said = True  # a message that is refused says nothing
                self._printer.show(event)

    def _read_path(self) -> Sequence[Message]:
        return self._project.conversations.read_page(self.id, limit=SHOWN_MESSAGES * 10).messages

    def _find_last_reply(self) -> Message:
        replies = [one for one in self._read_path() if one.final and get_kind(one) is MessageKind.REPLY]
        if not replies:
            raise invalid_request("Nobody has replied yet. Say something first.")
        return replies[-1]

    def _is_heard(self, said: Message) -> bool:
        """Whether the person's participant heard a message; who takes no part, and tells the story, hears all."""
        if not self._me:
            return True
        listeners = self._project.chat.get(self.id).attendance.find_listeners(said)
        return listeners is None or strip_revision(self._me) in listeners

    def _is_reply_heard(self) -> bool:
        """Whether the person's participant hears the replies of this step."""
        audience = self._project.chat.get(self.id).round.audience
        return not self._me or audience is None or self._me in audience

    def _list_mentionable(self, chat: ChatState) -> list[tuple[str, str]]:
        """List the names that somebody present can be called by, each with the id."""
        called = list_called_names(self._project.view, chat)
        return [(name, ident) for ident, names in called.items() if ident != self._me for name in names]

    def _split_name(self, text: str) -> tuple[str, str]:
        """Split the longest name of somebody present, as the id, from what follows; else a quoted or one word."""
        rest = text.lstrip("@＠").strip()
        if rest[:1] in ('"', "'") and rest[0] in rest[1:]:
            name, _, text = rest[1:].partition(rest[0])
            return name, text.strip()
        called = self._list_mentionable(self._project.chat.get(self.id))
        for name, ident in sorted(called, key=lambda one: len(one[0]), reverse=True):
            is_latin, after = name[-1].isascii(), rest[len(name) : len(name) + 1]
            if fold_name(rest[: len(name)]) == fold_name(name) and not (is_latin and after.isalnum()):
                return ident, rest[len(name) :].strip(" ,，:：")
        name, _, text = rest.partition(" ")
        return name, text.strip()

    def _show_message(self, said: Message) -> None:
        if self.as_json:
            from fabula.workspace.schemas.chat import StoredMessageEvent
            from fabula.workspace.schemas.conversations import describe_message

            print_json_line(StoredMessageEvent(message=describe_message(said, self._names)))
        else:
            self._print_numbered(said)

    def _print_numbered(self, said: Message, *, is_beside: bool = False, most: int | None = None) -> None:
        if self.as_json:
            self._show_message(said)
            return
        line = format_message(said, self._names, self._colours, most=most)
        print(f"{'   ' if is_beside else ''}{(said.number or 0) + 1}. {line}")

    def _print_conversation(self) -> None:
        from fabula.workspace.schemas.chat import ConversationEvent
        from fabula.workspace.schemas.conversations import describe_conversation

        details: ConversationDetails = self._project.conversations.get(self.id)
        print_json_line(ConversationEvent(conversation=describe_conversation(details)))

    def _save_text(self, path: Path) -> None:
        """Write what the person's participant heard as a text."""
        path_messages: list[Message] = []
        before: str | None = None
        while True:
            page = self._project.conversations.read_page(self.id, before=before)
            path_messages[:0] = page.messages
            before = page.before
            if before is None:
                break
        plain = NameColours(is_on=False)
        plain_lines = [format_message(one, self._names, plain) for one in path_messages if one.final]
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write("\n\n".join(plain_lines) + "\n")
        except FileExistsError:
            raise _refuse_present(path) from None
        except OSError as error:
            from fabula.core.file_errors import describe_os_error

            raise invalid_request(
                "{name} could not be written ({reason}).", name=path, reason=describe_os_error(error)
            ) from error
        self.tell(message("The conversation is saved in {path}.", path=path))


def _refuse_present(path: object) -> FabulaError:
    return invalid_request(
        "There is a file {path} already. Nothing was written. Name another one: /save FILE", path=path
    )


COMMANDS = (
    ChatCommand("again", "[NAME]", message("Ask somebody, or whoever has not answered yet."), ChatSession.again),
    ChatCommand("branch", "[NUMBER]", message("Go on from another message; list them."), ChatSession.branch),
    ChatCommand("edit", "[NUMBER] [TEXT]", message("Correct a message, in your editor or here."), ChatSession.edit),
    ChatCommand("help", "", message("List the commands."), ChatSession.help),
    ChatCommand("join", "NAME", message("Let somebody join, a participant or a character."), ChatSession.join),
    ChatCommand("leave", "NAME", message("Let somebody leave."), ChatSession.leave),
    ChatCommand("mode", "[NAME] [ROLE=NAME]", message("Choose who answers: free_chat, group …"), ChatSession.mode),
    ChatCommand("more", "", message("Let the last reply go on."), ChatSession.more),
    ChatCommand("quit", "", message("End the chat."), ChatSession.quit),
    ChatCommand("recap", "", message("Show what happened so far, as recaps tell it."), ChatSession.recap),
    ChatCommand("save", "[FILE]", message("Save the project, or the conversation as .txt or .md."), ChatSession.save),
    ChatCommand("swipe", "[NUMBER]", message("Have the last reply given again; choose one."), ChatSession.swipe),
    ChatCommand("undo", "", message("Take back the last correction or choice, else the last turn."), ChatSession.undo),
    ChatCommand("whisper", "NAME TEXT", message("Say something that only NAME hears."), ChatSession.whisper),
    ChatCommand("who", "", message("Show who is present, and who heard the last message."), ChatSession.who),
    ChatCommand("why", "[@SPEAKER] NAME", message("Say why something is in a prompt, or not."), ChatSession.why),
)


def find_command(name: str) -> ChatCommand:
    """Return the command that a spelling means; an unknown one is refused with the nearest."""
    return find_by_name(
        COMMANDS,
        name,
        what=message("command"),
        id_of=lambda one: one.name,
        names_of=lambda one: (one.name,),
        number_of=lambda one: None,
        label_of=lambda one: f"/{one.name}",
    )
