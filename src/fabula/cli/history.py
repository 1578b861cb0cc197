"""`fabula history`: conversations and their messages; list, show, start, record, correct, search, import, export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

from typer import Argument, Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project, read_text
from fabula.cli.options import IDS, JSON, PROJECT, STORE
from fabula.cli.output import (
    current_language,
    format_time,
    invalid_request,
    name_role,
    print_json,
    print_line,
    print_warnings,
    render,
    report,
    say,
    shorten,
)
from fabula.cli.progress import show_progress
from fabula.cli.tables import Column, print_list
from fabula.conversation.model import DEFAULT_NOTE_DEPTH, MAX_NOTE_DEPTH, MessageKind, find_note
from fabula.core.fragment import Role
from fabula.core.messages import join_names, message, plural

if TYPE_CHECKING:
    from fabula.conversation.history import ParticipantMatch
    from fabula.conversation.message_search import FoundMessage
    from fabula.conversation.model import Message
    from fabula.conversation.participants import Participants
    from fabula.workspace.conversations import ConversationDetails

CONVERSATION = Annotated[str, Argument(help="A conversation, by its title, number or id.")]
MESSAGE = Annotated[str, Argument(help="A message, by the number it is shown with, its id, or `last`.")]
WITH = Annotated[list[str] | None, Option("--with", help="Somebody who takes part; may be given several times.")]
TEXT = Annotated[str, Argument(help="What is said; - reads standard input.")]

commands = CommandGroup("history", help="Conversations and what was said in them.")


@commands.command("list")
def list_conversations(
    project: PROJECT,
    participants: WITH = None,
    only: Annotated[bool, Option("--only", help="With --with: these and nobody else.")] = False,
    any_of: Annotated[bool, Option("--any", help="With --with: any of these.")] = False,
    page: Annotated[int, Option("--page", min=1, help="Which page of the list to show.")] = 1,
    limit: Annotated[int | None, Option("--limit", min=1, help="How many conversations a page has.")] = None,
    with_ids: IDS = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """List conversations, the latest first.

    Example: fabula history list "The Lantern Coast" --with Mara
    """
    from fabula.workspace.schemas.conversations import describe_conversation

    if (only or any_of) and not participants:
        raise invalid_request("--only and --any are about --with. Say with whom: --with NAME")
    with open_project(project, store) as opened:
        match: ParticipantMatch = "exact" if only else "intersection" if any_of else "subset"
        found = opened.conversations.list_page(participants or (), match=match, page=page, limit=limit)
    columns: list[Column[ConversationDetails]] = [
        Column(message("title"), lambda one: one.record.title or one.record.id, style="bold"),
        Column(message("with"), lambda one: join_names(_name_participants(one))),
        Column(message("messages"), lambda one: f"{one.record.message_count:,}", right=True),
        Column(message("changed"), lambda one: format_time(one.record.changed_at)),
    ]
    empty = message("There are no conversations yet. Start one: fabula history start PROJECT --with NAME")
    if page > 1:
        empty = message("The list has no page {number}. To see it from the beginning, leave out --page.", number=page)
    elif participants:
        empty = message("There is no such conversation. What there is: fabula history list PROJECT")
    print_list(
        found.conversations,
        describe_conversation,
        columns,
        empty,
        as_json,
        with_ids=with_ids,
        id_of=lambda one: one.record.id,
        numbers=found.numbers,
    )
    if found.has_more and not as_json:
        say("There is more: add --page {number}", number=found.page + 1)


@commands.command()
def start(
    project: PROJECT,
    participants: WITH = None,
    title: Annotated[str, Option("--title", help="What the conversation is called.")] = "",
    greeting: Annotated[
        str, Option("--greeting", help="Who speaks first, with the greeting of their character card.")
    ] = "",
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Start a conversation.

    Example: fabula history start "The Lantern Coast" --with Mara --with Tom --title "On the pier"
    """
    from fabula.workspace.schemas.conversations import describe_conversation

    with open_project(project, store) as opened:
        started = opened.conversations.start(participants or (), title=title, greeting=greeting)
        details = opened.conversations.get(started.id)
    name = started.title or started.id
    report(describe_conversation(details), message("The conversation {name} has begun.", name=name), as_json)


@commands.command()
def show(
    project: PROJECT,
    conversation: CONVERSATION,
    before: Annotated[str | None, Option("--before", help="Show the page before this message.")] = None,
    limit: Annotated[int | None, Option("--limit", min=1, help="How many messages to show.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Show the newest messages of a conversation, or a page before them.

    Example: fabula history show "The Lantern Coast" "On the pier"
    """
    from fabula.workspace.schemas.conversations import describe_page

    with open_project(project, store) as opened:
        page = opened.conversations.read_page(conversation, before=before, limit=limit)
        names = opened.conversations.get(conversation).participants
    if as_json:
        print_json(describe_page(page, names))
        return
    for said in page.messages:
        _print_message(said, names)
    if not page.messages:
        say("Nothing was said yet.")
    if page.before is not None:
        number = (page.messages[0].number or 0) + 1
        say("There is more: add --before {number}", number=number)


@commands.command()
def record(
    project: PROJECT,
    conversation: CONVERSATION,
    text: TEXT,
    speaker: Annotated[str, Option("--as", help="Who says it.")] = "",
    audience: Annotated[
        list[str] | None, Option("--to", help="A whisper: only these hear it; may be given several times.")
    ] = None,
    after: Annotated[str | None, Option("--after", help="Answer this message instead of the newest: a branch.")] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Record what somebody said.

    Example: fabula history record "The Lantern Coast" "On the pier" "Who lit the lamp?" --as Tom
    """
    from fabula.workspace.schemas.conversations import describe_message

    words = read_text("-") if text == "-" else text
    with open_project(project, store) as opened:
        said = opened.conversations.record(conversation, words, speaker=speaker, audience=audience, after=after)
        names = opened.conversations.get(conversation).participants
    number = (said.number or 0) + 1
    report(describe_message(said, names), message("Recorded as message {number}.", number=number), as_json)


@commands.command()
def edit(
    project: PROJECT,
    conversation: CONVERSATION,
    name: MESSAGE,
    text: TEXT,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Correct a message in its place; `fabula undo` brings the old text back.

    Example: fabula history edit "The Lantern Coast" "On the pier" 3 "Who put the lamp out?"
    """
    from fabula.workspace.schemas.conversations import describe_message

    words = read_text("-") if text == "-" else text
    with open_project(project, store) as opened:
        changed = opened.conversations.correct(conversation, name, words)
        names = opened.conversations.get(conversation).participants
    number = (changed.number or 0) + 1
    report(describe_message(changed, names), message("Message {number} is corrected.", number=number), as_json)


@commands.command()
def delete(
    project: PROJECT,
    conversation: CONVERSATION,
    name: Annotated[str | None, Argument(help="A message; without one, the whole conversation is deleted.")] = None,
    store: STORE = None,
) -> None:
    """Delete a message or a conversation; `fabula undo` brings it back.

    Example: fabula history delete "The Lantern Coast" "On the pier" 3
    """
    with open_project(project, store) as opened:
        if name is None:
            title = opened.conversations.get(conversation).record.title or conversation
            opened.conversations.delete(conversation)
            say("{name} is gone.", name=title)
            return
        deleted = opened.conversations.delete_message(conversation, name)
    say("Message {number} is gone: {text}", number=(deleted.number or 0) + 1, text=shorten(deleted.content, 80))


@commands.command()
def pin(
    project: PROJECT,
    conversation: CONVERSATION,
    name: MESSAGE,
    words: Annotated[str, Argument(help="Some words of the message; without them, all of it.")] = "",
    off: Annotated[bool, Option("--off", help="Let go of it.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Keep a message, or some words of it, word for word, also when it is only summarised.

    Example: fabula history pin "The Lantern Coast" "On the pier" 3 "the lamp is hidden in the well"
    """
    from fabula.workspace.schemas.conversations import describe_message

    with open_project(project, store) as opened:
        pinned = opened.conversations.pin(conversation, name, None if off else words)
        names = opened.conversations.get(conversation).participants
    number = (pinned.number or 0) + 1
    if pinned.pinned is None:
        sentence = message("Message {number} is no longer pinned.", number=number)
    else:
        sentence = message("Message {number} is pinned: {text}", number=number, text=pinned.pinned or pinned.content)
    report(describe_message(pinned, names), sentence, as_json)


@commands.command()
def note(
    project: PROJECT,
    conversation: CONVERSATION,
    text: Annotated[
        str | None, Argument(help="What every prompt of the conversation holds; - reads standard input.")
    ] = None,
    depth: Annotated[
        int, Option("--depth", min=0, max=MAX_NOTE_DEPTH, help="How many messages follow it.")
    ] = DEFAULT_NOTE_DEPTH,
    role: Annotated[str, Option("--role", help="Whose words it is told as: system, user or assistant.")] = "system",
    off: Annotated[bool, Option("--off", help="Take the note away.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Show the author's note of a conversation, set it, or take it away.

    Example: fabula history note "The Lantern Coast" "On the pier" "A night on the pier." --depth 2
    """
    from fabula.workspace.schemas.conversations import describe_conversation

    if off and text is not None:
        raise invalid_request("--off takes the note away. Leave out the text.")
    with open_project(project, store) as opened:
        if text is None and not off:
            details = opened.conversations.get(conversation)
        else:
            words = "" if off or text is None else read_text("-") if text == "-" else text
            details = opened.conversations.set_note(conversation, words, depth=depth, role=_read_role(role))
    found = find_note(details.record.mode_state)
    if found is None:
        sentence = message("This conversation has no author's note.")
    elif not found.is_told:
        sentence = message("The author's note is switched off: {text}", text=found.text)
    elif found.place == "depth":
        sentence = message("In every prompt, at depth {depth}: {text}", depth=found.depth, text=found.text)
    else:
        sentence = message("In every prompt, beside the characters: {text}", text=found.text)
    report(describe_conversation(details), sentence, as_json)


@commands.command()
def branch(
    project: PROJECT,
    conversation: CONVERSATION,
    name: MESSAGE,
    choose: Annotated[bool, Option("--choose", help="Go on from this message.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Show a message and its alternatives, or go on from one of them.

    Example: fabula history branch "The Lantern Coast" "On the pier" 3 --choose
    """
    from fabula.workspace.schemas.conversations import describe_message

    with open_project(project, store) as opened:
        names = opened.conversations.get(conversation).participants
        if choose:
            newest = opened.conversations.select(conversation, name)
            number = (newest.number or 0) + 1
            sentence = message("The conversation goes on after message {number}.", number=number)
            report(describe_message(newest, names), sentence, as_json)
            return
        found = opened.conversations.list_siblings(conversation, name)
    if as_json:
        print_json([describe_message(one, names) for one in found])
        return
    for said in found:
        _print_message(said, names)


@commands.command()
def search(
    project: PROJECT,
    text: Annotated[str, Argument(help="Words that a message contains.")],
    conversation: Annotated[str | None, Option("--in", help="Search this conversation only.")] = None,
    limit: Annotated[int, Option("--limit", min=1, max=1000, help="How many messages to show.")] = 20,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Find messages that contain all of these words, the newest first. A phrase stands in quotes.

    Example: fabula history search "The Lantern Coast" "the lamp"
    """
    from fabula.workspace.schemas.conversations import describe_found_message

    if not text.strip():
        raise invalid_request("Say what to search for. To list the conversations: fabula history list PROJECT")
    with open_project(project, store) as opened:
        found = opened.conversations.search(text, conversation=conversation, limit=limit)
        every = {ident: opened.conversations.get(ident) for ident in {one.conversation_id for one in found}}
    columns: list[Column[FoundMessage]] = [
        Column(message("conversation"), lambda one: every[one.conversation_id].record.title or one.conversation_id),
        Column(message("message"), lambda one: (one.message.number or 0) + 1, right=True),
        Column(message("name"), lambda one: _name_speaker(one.message, every[one.conversation_id].participants)),
        Column(message("text"), lambda one: shorten(one.message.content, 200), wraps=True),
    ]
    empty = message("No message contains {text!r}.", text=text)
    print_list(
        found,
        lambda one: describe_found_message(one, every[one.conversation_id].participants),
        columns,
        empty,
        as_json,
        id_of=lambda one: one.message.id,
    )


@commands.command()
def join(
    project: PROJECT,
    conversation: CONVERSATION,
    participant: Annotated[str, Argument(help="Who joins.")],
    store: STORE = None,
) -> None:
    """Let somebody join a conversation; they hear what is said from now on.

    Example: fabula history join "The Lantern Coast" "On the pier" Tom
    """
    with open_project(project, store) as opened:
        if not opened.conversations.join(conversation, participant):
            say("{name} is present already. Nothing was changed.", name=participant)
            return
    say("{name} hears what is said from now on.", name=participant)


@commands.command()
def leave(
    project: PROJECT,
    conversation: CONVERSATION,
    participant: Annotated[str, Argument(help="Who leaves.")],
    store: STORE = None,
) -> None:
    """Let somebody leave a conversation; they hear nothing of what is said from now on.

    Example: fabula history leave "The Lantern Coast" "On the pier" Tom
    """
    with open_project(project, store) as opened:
        opened.conversations.leave(conversation, participant)
    say("{name} hears nothing of what is said from now on.", name=participant)


@commands.command("import")
def import_chats(
    project: PROJECT,
    path: Annotated[Path, Argument(help="A chat of SillyTavern, a session, or a folder of them.")],
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Import chats as conversations; whoever speaks in them is found by name, or added.

    Example: fabula history import "The Lantern Coast" mara.jsonl
    """
    from fabula.workspace.schemas.conversations import describe_chat_import

    with open_project(project, store) as opened, show_progress(message("Importing {file}", file=path.name)):
        imported = opened.chat_files.import_files(path)
    if as_json:
        print_json(describe_chat_import(imported, current_language()))
        return
    for one in imported.conversations:
        say(
            "{name}: {messages}, with {participants}.",
            name=one.title,
            messages=plural(one.messages, "{count} message", "{count:,} messages"),
            participants=join_names(one.participants or (message("nobody named"),)),
        )
        if one.alternatives:
            say(
                plural(
                    one.alternatives,
                    "- {count} of them is an alternative: fabula history branch",
                    "- {count:,} of them are alternatives: fabula history branch",
                )
            )
    if imported.new_participants:
        say("New participants: {names}", names=join_names(imported.new_participants))
    print_warnings(imported.warnings)


@commands.command("export")
def export_chat(
    project: PROJECT,
    conversation: CONVERSATION,
    path: Annotated[Path, Argument(help="A file that ends in .jsonl, or the folder for a session.")],
    file_format: Annotated[
        str, Option("--format", help="sillytavern or session; else the name of the file decides.")
    ] = "",
    append: Annotated[bool, Option("--append", help="Add only what is not in the file yet.")] = False,
    overwrite: Annotated[bool, Option("--overwrite", help="Replace a file that is there.")] = False,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Write a conversation as a chat of SillyTavern or as a session.

    Example: fabula history export "The Lantern Coast" "On the pier" pier.jsonl
    """
    from fabula.workspace.schemas.conversations import describe_chat_export

    with open_project(project, store) as opened:
        written = opened.chat_files.export_file(
            conversation, path, as_format=file_format, append=append, overwrite=overwrite
        )
    if as_json:
        print_json(describe_chat_export(written, current_language()))
        return
    say(
        plural(
            written.messages,
            "{name}: {count} message written to {path}",
            "{name}: {count:,} messages written to {path}",
            name=written.title,
            path=written.path,
        )
    )
    print_warnings(written.warnings)


def _read_role(name: str) -> Role:
    role = next((one for one in get_args(Role) if one == name), None)
    if role is None:
        raise invalid_request(
            "{name!r} is no role. There are: {roles}. Nothing was changed.", name=name, roles=join_names(get_args(Role))
        )
    return cast("Role", role)


def _name_participants(details: ConversationDetails) -> list[str]:
    ids = dict.fromkeys(one.participant_id for one in details.attendance.changes)
    return [details.participants.name_of(one) for one in ids]


def _name_speaker(said: Message, names: Participants) -> str:
    """Name who said something, and who alone heard it."""
    if said.speaker:
        name = names.name_of(said.speaker)
    elif said.kind is MessageKind.KNOWLEDGE:
        name = render(message("the mode"))
    else:
        name = name_role(said.role)
    if said.audience is not None:
        listeners = join_names([names.name_of(one) for one in said.audience])
        name = render(message("{name} (to {listeners} only)", name=name, listeners=listeners))
    return name


def _print_message(said: Message, names: Participants) -> None:
    name = _name_speaker(said, names)
    if not said.final:
        name = render(message("{name} (in no prompt)", name=name))
    line = render(message("{name}: {text}", name=name, text=said.content))
    print_line(f"{(said.number or 0) + 1}. {line}")
