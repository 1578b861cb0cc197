"""Commands of a chat in the terminal: what the lines do that begin with a slash."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fabula.cli.chat.printing import NameColours, format_message, list_names, print_json_line
from fabula.cli.commands import name_placeholder
from fabula.cli.output import current_language, invalid_request, print_line, printable, quote_name, render, shorten
from fabula.cli.tables import measure_width
from fabula.conversation.model import Message
from fabula.conversation.modes import DEFAULT_MODE
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, is_word, join_alternatives, join_names, message
from fabula.text.lookup import find_by_name
from fabula.workspace.chat import refuse_to_take_back
from fabula.workspace.chat.mentions import list_called_names
from fabula.workspace.conversations import LAST, LAST_WORD

if TYPE_CHECKING:
    from fabula.cli.chat.session import ChatSession
    from fabula.context.trace import Verdict
    from fabula.conversation.history import TreeMessage
    from fabula.workspace.chat import SpeakerPrompt

_RESTART = message("restart")
_ROLE = re.compile(r"(?:^|[ ,，])(\w+)[=＝]")
LISTED_MESSAGES = 20  # of the active path, by /branch
MAX_TREE_LINES = 200
TREE_WIDTH = 60  # characters of a message in a tree
TEXT_ENDINGS, SAVE_ENDING = (".txt", ".md"), ".fabula"  # of the files that /save writes


class ChatCommand(Struct, frozen=True):
    """A command of a chat: its name, what stands behind it, what it does."""

    name: str
    values: str
    help: Sentence
    run: Callable[[ChatSession, str], None]


def whisper(session: ChatSession, rest: str) -> None:
    """Say something that only one participant hears."""
    name, text = session.split_name(rest)
    if not name or not text:
        raise invalid_request("Say to whom, and what: /whisper NAME TEXT")
    if session.me and session.project.participants.get(name).id == session.me:
        raise invalid_request("You speak as {name}. Say to whom else: /whisper NAME TEXT", name=session.name_myself())
    session.say(text, (name,))


def ask_again(session: ChatSession, rest: str) -> None:
    """Ask somebody to speak, or whoever has not answered yet."""
    names = [session.split_name(rest)[0]] if rest else []
    if session.me and any(session.project.participants.get(one).id == session.me for one in names):
        raise invalid_request(
            "You speak as {name}, so no model does. Say it yourself, or ask somebody else: /again NAME",
            name=session.name_myself(),
        )
    session.run_turn(session.project.chat.ask(session.id, names, document_id=session.document_id, model=session.choice))


def continue_reply(session: ChatSession, rest: str) -> None:
    """Let the last reply go on."""
    reply = session.find_last_reply()
    more = session.project.chat.continue_reply(
        session.id, reply.id, document_id=session.document_id, model=session.choice
    )
    earlier = list(session.changes)
    try:
        session.run_turn(more, goes_on_from=reply.id)
    finally:
        session.changes = earlier  # it is no turn
        if session.project.conversations.get_message(session.id, reply.id).version != reply.version:
            session.note_change(message("what was added to message {number}", number=(reply.number or 0) + 1))


def choose_reply(session: ChatSession, rest: str) -> None:
    """Have the last reply given again, or choose one of those there are."""
    reply = session.find_last_reply()
    replies = _list_replies(session, reply)
    if rest:
        if rest != "1" and len(replies) == 1:
            raise invalid_request("There is only one reply here. To have it given again: /swipe")
        if not rest.isdecimal() or not 1 <= int(rest) <= len(replies):
            raise invalid_request(
                "There are {count} replies here. Choose one by its number, from 1 to {count}: /swipe 1",
                count=len(replies),
            )
        chosen = replies[int(rest) - 1]
        if all(one.id != chosen.id for one in session.read_path()):
            session.project.conversations.select(session.id, chosen.id)
            session.note_change(message("the choice of reply {number}", number=rest))
        session.show_message(chosen)
    else:
        anew = session.project.chat.regenerate(
            session.id, reply.id, document_id=session.document_id, model=session.choice
        )
        session.run_turn(anew, instead_of=reply.id)
        path = {one.id for one in session.read_path()}
        replies = _list_replies(session, reply)
        chosen = next((one for one in replies if one.id in path), reply)
    number = [one.id for one in replies].index(chosen.id) + 1
    if len(replies) > 1:
        session.tell(
            message(
                "Reply {number} of {count}. Choose another one: /swipe {other}",
                number=number,
                count=len(replies),
                other=number % len(replies) + 1,
            )
        )


def _list_replies(session: ChatSession, reply: Message) -> list[Message]:
    """List the alternatives of a reply that the person may read."""
    siblings = session.project.conversations.list_siblings(session.id, reply.id)
    return [one for one in siblings if one.final and session.may_see(one)]


def choose_branch(session: ChatSession, rest: str) -> None:
    """Go on from another message, or list the messages that one can go on from."""
    conversations = session.project.conversations
    if not rest:
        _list_branches(session)
        return
    last = session.read_path()[-1:]
    named = session.find_message(rest)
    if any(one.id == named.id for one in session.read_path()):
        newest = conversations.go_back(session.id, named.id)
    else:
        newest = conversations.select(session.id, named.id)
    session.note_change(message("going on from message {number}", number=(named.number or 0) + 1))
    session.show_message(newest if session.may_see(newest) else named)
    if last and last[0].id != newest.id:
        number = (last[0].number or 0) + 1
        session.tell(
            message(
                "The conversation goes on from here. What there was is kept: /undo, or /branch {number}",
                number=number,
            )
        )


def _list_branches(session: ChatSession) -> None:
    """Show the branches as a tree: the active path on the left, and what goes on beside it."""
    listener = "" if session.hears_all else session.me
    tree = session.project.conversations.read_tree(session.id, listener=listener, newest=LISTED_MESSAGES)
    if not tree:
        raise invalid_request("Nothing was said here yet.")
    if session.as_json:
        for one in tree:
            session.print_numbered(one.message, is_beside=not one.is_active)
    else:
        lines = _draw_tree(session, tree)
        if len(lines) > MAX_TREE_LINES:
            session.tell(message("Earlier branches are left out here. /branch NUMBER finds them all the same."))
        for line in lines[-MAX_TREE_LINES:]:
            print(line)
    session.tell(message("To go on from one of them: /branch NUMBER"))


def _draw_tree(session: ChatSession, tree: Sequence[TreeMessage]) -> list[str]:
    """Return the lines of a tree; a branch that is left hangs below the message that it follows."""
    following: dict[str | None, list[TreeMessage]] = {}
    for one in tree:
        following.setdefault(one.parent_id, []).append(one)
    newest = next((one.message.id for one in reversed(tree) if one.is_active), None)
    lines: list[str] = []
    # What is still to draw, the next one last: a message, and the beginnings of its line and of those below it
    waiting: list[tuple[TreeMessage, str, str]] = []

    def add_following(parent: TreeMessage | None, rest: str) -> None:
        after = following.get(None if parent is None else parent.message.id, [])
        is_end = parent is not None and parent.message.id == newest  # the active path goes no further
        trunk = None if is_end or not after else next((one for one in after if one.is_active), after[-1])
        if trunk is not None:
            waiting.append((trunk, rest, rest))
        beside = [one for one in after if one is not trunk]
        for place, one in enumerate(reversed(beside)):
            is_last = trunk is None and place == 0
            waiting.append((one, rest + ("└─" if is_last else "├─"), rest + ("  " if is_last else "│ ")))

    add_following(None, "")
    while waiting:
        one, first, rest = waiting.pop()
        lines.append(first + _draw_message(session, one, one.message.id == newest))
        add_following(one, rest)
    return lines


def _draw_message(session: ChatSession, one: TreeMessage, is_newest: bool) -> str:
    """Return a message of a tree: a mark of whether it is on the active path, its number, speaker and first words."""
    said = one.message
    line = format_message(said, session.people, session.colours, most=TREE_WIDTH)
    drawn = f"{'●' if one.is_active else '○'} {(said.number or 0) + 1}. {line}"
    return render(message("{line}  ← you are here", line=drawn)) if is_newest else drawn


def edit(session: ChatSession, rest: str) -> None:
    """Correct a message: in the editor, or by the text behind the command."""
    first, _, text = rest.partition(" ")
    name, text = (first, text.strip()) if first.isdecimal() or is_word(first, LAST_WORD) else (LAST, rest)
    said = session.find_message(name)
    if not text:
        if not session.lines.is_terminal:
            raise invalid_request("Say the number of the message and its new text: /edit NUMBER TEXT")
        from fabula.cli.editor import edit_text

        text = edit_text(said.content).rstrip("\n")
    changed = session.project.conversations.correct(session.id, said.id, text)
    if changed.version == said.version:
        session.tell(message("The text is the same. Nothing was changed."))
        return
    session.note_change(message("the correction of message {number}", number=(changed.number or 0) + 1))
    session.show_message(changed)


def undo(session: ChatSession, rest: str) -> None:
    """Take back the last correction or choice, else the last turn."""
    if session.changes:
        number, label = session.changes[-1]
        newest = next((step for step in session.project.changes.list_changes() if not step.is_undone), None)
        if newest is None or newest.number < number:
            session.changes.pop()
            raise invalid_request("That was taken back elsewhere already: {label}. Nothing was changed.", label=label)
        if newest.number != number and not session.hears_all:
            raise refuse_to_take_back()
        if newest.number != number:
            raise invalid_request(
                "Something else was changed since: {change}. To take that back: {command}",
                change=newest.label,
                command=f"fabula undo {quote_name(session.project.view.project.title)}",
            )
        session.project.changes.undo()
        session.changes.pop()
        session.tell(message("Taken back: {label}", label=label))
        return
    gone = session.project.chat.take_back(session.id, listener="" if session.hears_all else session.me)
    shown = [one for one in gone if session.may_see(one)]
    number = (gone[0].number or 0) + 1
    session.tell(
        message(
            "Taken back from message {number} on: {text}\nIt is kept as a branch: /branch {last}",
            number=number,
            text=shorten(gone[0].content, 60),
            last=(shown[-1].number or 0) + 1,
        )
    )


def show_recaps(session: ChatSession, rest: str) -> None:
    """Show the summaries and recaps of the conversation."""
    found = session.project.recaps.list_recaps(session.id)
    if not session.hears_all:
        attendance = session.project.chat.get(session.id).attendance
        found = [one for one in found if one.heard and session.me in (attendance.find_audience(one.heard) or ())]
    if session.as_json:
        from fabula.workspace.schemas.chat import RecapsEvent
        from fabula.workspace.schemas.recaps import describe_recap

        print_json_line(RecapsEvent(recaps=tuple(map(describe_recap, found))))
    elif not found:
        from fabula.cli.recaps import explain_none

        session.tell(explain_none(session.project))
    for one in found if not session.as_json else ():
        rounds = message("Rounds {first} to {last}", first=one.first_round, last=one.last_round)
        print_line(message("{heading}: {text}", heading=rounds, text=one.text))


def explain(session: ChatSession, rest: str) -> None:
    """Say why something is in the prompt of a speaker, or not."""
    speaker, name = session.split_name(rest) if rest.startswith(("@", "＠")) else ("", rest)
    if not name:
        raise invalid_request("Say what you ask about: /why NAME, or /why @SPEAKER NAME")
    if not session.hears_all:
        speaker = _require_myself(session, speaker)
    seen = session.project.chat.inspect(session.id, speaker, choice=session.choice)
    verdicts = _find_verdicts(session, seen, name.strip("\"'"))
    if session.as_json:
        from fabula.workspace.schemas.chat import ExplanationEvent
        from fabula.workspace.schemas.context import describe_explanation

        explained = describe_explanation(name, verdicts, current_language())
        print_json_line(ExplanationEvent(name=seen.name, explanation=explained))
        return
    from fabula.cli.show import show_why

    session.tell(message("In the prompt of {name}:", name=seen.name))
    show_why(name, verdicts)


def _require_myself(session: ChatSession, speaker: str) -> str:
    """Return whom the person speaks as; the prompt of anybody else is refused."""
    if speaker and session.project.participants.get(speaker).id != session.me:
        raise invalid_request(
            "You speak as {name}, and see the prompt of nobody else. Leave out --as to see all prompts.",
            name=session.name_myself(),
        )
    return session.me


def _find_verdicts(session: ChatSession, seen: SpeakerPrompt, name: str) -> list[Verdict]:
    """Find the reasons that the person may read; what a prompt does not hold is to a participant as what is not."""
    if session.hears_all:
        return seen.project.explain(seen.result, name)
    try:
        found = [one for one in seen.project.explain(seen.result, name) if one.included]
    except FabulaError as error:
        if error.code is not Code.STORE_NOT_FOUND:
            raise
        found = []  # the nearest names are of things that nobody told them
    if not found:
        raise FabulaError(
            Code.STORE_NOT_FOUND,
            message("The prompt of {name} holds nothing called {word!r}.", name=seen.name, word=name),
        )
    return found


def show_people(session: ChatSession, rest: str) -> None:
    """Show who is present, who left, and who heard the last message."""
    if session.as_json:
        session.print_conversation()
        return
    chat = session.project.chat.get(session.id)
    names, attendance = chat.people, chat.attendance
    called = list_called_names(session.project.view, chat)
    if chat.mode != DEFAULT_MODE:
        print_line(message("The mode is {mode}.", mode=chat.mode))
    for one in chat.present:
        own = called[one.id]
        others = [f"@{name}" for name in own[1:]]
        mark = message("you") if one.id == session.me else message("waits") if one.id in chat.round.waiting else ""
        line = session.colours.paint(own[0], one.id)
        remarks = [*([render(mark)] if mark else []), *others]
        noted = join_names([printable(remark) for remark in remarks])
        print(render(message("{name} ({remark})", name=line, remark=noted)) if remarks else line)
    gone = sorted(attendance.participants - attendance.present)
    if not session.hears_all:
        gone = sorted(attendance.list_met(session.me).intersection(gone))
    if gone:
        print_line(message("Left: {names}", names=list_names(gone, names)))
    path = [one for one in session.read_path() if one.final and session.is_heard(one)]
    if path:
        heard = attendance.find_listeners(path[-1])
        listeners = message("everybody") if heard is None else list_names(sorted(heard), names)
        number = (path[-1].number or 0) + 1
        print_line(message("Message {number} was heard by {names}.", number=number, names=listeners))


def join(session: ChatSession, rest: str) -> None:
    """Let somebody join, a participant or a character of the codex."""
    if not rest:
        raise invalid_request("Say who joins: /join NAME")
    if session.project.conversations.join(session.id, rest.strip("@＠\"'")):
        session.note_change(message("{name} joined", name=rest.strip("@＠\"'")))
    show_people(session, "")


def leave(session: ChatSession, rest: str) -> None:
    """Let somebody leave."""
    if not rest:
        raise invalid_request("Say who leaves: /leave NAME")
    name = session.split_name(rest)[0]
    if session.project.participants.get(name).id == session.me:
        raise invalid_request("You speak as {name}. To end the chat: /quit", name=session.people.name_of(session.me))
    session.project.conversations.leave(session.id, name)
    session.note_change(message("{name} left", name=session.people.name_of(session.project.participants.get(name).id)))
    show_people(session, "")


def set_mode(session: ChatSession, rest: str) -> None:
    """Choose who answers, begin the mode anew, or say how it is; roles stand behind the mode."""
    name, _, text = rest.partition(" ")
    if name:
        first, _, others = text.strip().partition(" ")
        restarts = is_word(first, _RESTART)
        text = others if restarts else text
        words = _ROLE.split(text)[1:]
        roles = {role: who.strip(" ,，") for role, who in zip(words[::2], words[1::2], strict=True)}
        if text.strip() and not roles:
            raise invalid_request("Roles are ROLE=NAME, such as /mode workflow coder=NAME reviewer=NAME tester=NAME")
        session.project.chat.set_mode(session.id, name, roles=roles, restart=restarts)
        session.note_change(message("the mode {mode}", mode=session.project.chat.get(session.id).mode))
    session.tell(message("The mode is {mode}.", mode=session.project.chat.get(session.id).mode))
    for line in session.explain_mode():
        session.tell(line)


def save(session: ChatSession, rest: str) -> None:
    """Save the project as a file, or the conversation as a text."""
    path = Path(rest.strip("\"'")) if rest else None
    ending = path.suffix.lower() if path is not None else SAVE_ENDING
    if path is not None and ending in TEXT_ENDINGS:
        _save_text(session, path)
        return
    if ending != SAVE_ENDING:
        raise invalid_request(
            "What should {path} hold? The conversation is saved as {texts}, and the project as {save}. "
            "Nothing was written.",
            path=path,
            texts=join_alternatives(TEXT_ENDINGS),
            save=SAVE_ENDING,
        )
    if not session.hears_all:
        raise invalid_request(
            "The project holds what {name} did not hear, so it is not saved while you speak as {name}. "
            "What {name} heard: /save FILE.txt. Nothing was written.",
            name=session.name_myself(),
        )
    try:
        result = session.project.save(path)
    except FabulaError as error:
        if error.code is not Code.EXPORT_REFUSED or "path" not in error.message.values:
            raise
        raise _refuse_present(error.message.values["path"]) from error
    session.tell(message("The project is saved in {path}.", path=result.path))


def show_help(session: ChatSession, rest: str) -> None:
    """List the commands."""
    usages = [f"/{one.name} {name_placeholder(one.values)}" for one in COMMANDS]
    width = max(map(measure_width, usages))
    lines = [
        f"{usage}{' ' * (width - measure_width(usage))}  {render(one.help)}"
        for usage, one in zip(usages, COMMANDS, strict=True)
    ]
    if session.as_json:
        session.tell("\n".join(lines))
        return
    for line in lines:
        print_line(line)
    session.tell(
        message(
            "Everything else is said. With @NAME only they answer; everybody hears it. "
            "Ctrl-C stops an answer, and Ctrl-D ends."
        )
    )


def quit_chat(session: ChatSession, rest: str) -> None:
    """End the chat."""
    session.is_ended = True


def _save_text(session: ChatSession, path: Path) -> None:
    """Write the conversation as a text; for whoever speaks as somebody, what they heard of it."""
    path_messages: list[Message] = []
    before: str | None = None
    while True:
        page = session.project.conversations.read_page(session.id, before=before)
        path_messages[:0] = page.messages
        before = page.before
        if before is None:
            break
    plain = NameColours(is_on=False)
    heard = [one for one in path_messages if one.final and session.may_see(one)]
    plain_lines = [format_message(one, session.people, plain) for one in heard]
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
    session.tell(message("The conversation is saved in {path}.", path=path))


def _refuse_present(path: object) -> FabulaError:
    return invalid_request(
        "There is a file {path} already. Nothing was written. Name another one: /save FILE", path=path
    )


COMMANDS = (
    ChatCommand("again", "[NAME]", message("Ask somebody, or whoever has not answered yet."), ask_again),
    ChatCommand("branch", "[NUMBER]", message("Go on from another message; list them."), choose_branch),
    ChatCommand("edit", "[NUMBER] [TEXT]", message("Correct a message, in your editor or here."), edit),
    ChatCommand("help", "", message("List the commands."), show_help),
    ChatCommand("join", "NAME", message("Let somebody join, a participant or a character."), join),
    ChatCommand("leave", "NAME", message("Let somebody leave."), leave),
    ChatCommand("mode", "[NAME] [ROLE=NAME]", message("Choose who answers, or begin anew: NAME restart."), set_mode),
    ChatCommand("more", "", message("Let the last reply go on."), continue_reply),
    ChatCommand("quit", "", message("End the chat."), quit_chat),
    ChatCommand("recap", "", message("Show what happened so far, as recaps tell it."), show_recaps),
    ChatCommand("save", "[FILE]", message("Save the project, or the conversation as .txt or .md."), save),
    ChatCommand("swipe", "[NUMBER]", message("Have the last reply given again; choose one."), choose_reply),
    ChatCommand("undo", "", message("Take back the last correction or choice, else the last turn."), undo),
    ChatCommand("whisper", "NAME TEXT", message("Say something that only NAME hears."), whisper),
    ChatCommand("who", "", message("Show who is present, and who heard the last message."), show_people),
    ChatCommand("why", "[@SPEAKER] NAME", message("Say why something is in a prompt, or not."), explain),
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
