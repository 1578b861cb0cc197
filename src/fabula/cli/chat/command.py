"""The command `fabula chat`: find or start the conversation, and let the person talk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from fabula.cli.commands import CommandGroup
from fabula.cli.opening import open_project
from fabula.cli.options import JSON, PROJECT, STORE
from fabula.cli.output import invalid_request, quote_name, warn
from fabula.conversation.modes import DEFAULT_MODE, find_mode_name, load_mode
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import join_names, message

if TYPE_CHECKING:
    from fabula.conversation.history import ParticipantMatch
    from fabula.workspace.chat import ChatState
    from fabula.workspace.project import ProjectHandle

TITLE_NAMES = 3  # participants that a title names

commands = CommandGroup()


@commands.command()
def chat(
    project: PROJECT,
    participants: Annotated[
        list[str] | None,
        Option("--with", help="Somebody to talk to, a participant or a character; may be given several times."),
    ] = None,
    mode: Annotated[str, Option("--mode", help="Who answers: free_chat, group, quiz, werewolf, workflow …")] = "",
    roles: Annotated[
        list[str] | None,
        Option("--role", help="Who has a role of the mode: ROLE=NAME; or an option of it: OPTION=VALUE."),
    ] = None,
    speaker: Annotated[str, Option("--as", help="Whom you speak as; the player, by default.")] = "",
    conversation: Annotated[str, Option("--conversation", help="The conversation to go on with.")] = "",
    continues: Annotated[bool, Option("--continue", help="Go on with the newest conversation of the same.")] = False,
    title: Annotated[str, Option("--title", help="What a new conversation is called.")] = "",
    greeting: Annotated[
        str, Option("--greeting", help="Who speaks first, with the greeting of their character card.")
    ] = "",
    document: Annotated[
        str | None, Option("--document", "-d", help="The chapter it takes place in; the last one by default.")
    ] = None,
    provider: Annotated[
        str | None, Option("--provider", "-p", help="openai, anthropic, ollama, clipboard, local …")
    ] = None,
    model: Annotated[str | None, Option("--model", "-m", help="The model that answers.")] = None,
    base_url: Annotated[str | None, Option(help="The address of any server that speaks as OpenAI does.")] = None,
    prompt_file: Annotated[
        Path | None, Option("--prompt", help="Without a model: write each prompt to this file.")
    ] = None,
    store: STORE = None,
    as_json: JSON = False,
) -> None:
    """Talk with the people of a story; each line is a message, and /help lists the commands.

    Example: fabula chat "The Lantern Coast" --with Mara --provider local
    """
    from fabula.cli.chat.session import ChatSession
    from fabula.cli.request_options import wait_for_index

    role_names = _read_roles(roles or [])
    if conversation and (continues or title):
        raise invalid_request("--conversation names a conversation. Leave out --continue and --title.")
    if greeting and (conversation or continues):
        raise invalid_request("--greeting begins a conversation. Leave out --conversation and --continue.")
    with open_project(project, store) as opened:
        choice = opened.choose_model(provider=provider, model=model, base_url=base_url)
        is_pasted = choice.provider.api_style == "clipboard"
        if as_json and speaker and is_pasted:
            raise invalid_request(
                "With --as, --json prints what {name} heard, and without a model it would print the prompts of others. "
                "Choose a model (--provider, --model), or leave out --as. Nothing was changed.",
                name=speaker,
            )
        if document is not None:
            opened.request(document_id=document)
        opening = ConversationOpening(opened, project, participants or [], speaker, mode, role_names, title, greeting)
        found = opening.find(conversation) if conversation or continues else None
        chat = found or opening.start()
        wait_for_index(opened)
        me = opening.find_speaker(chat)
        session = ChatSession(
            opened,
            chat,
            choice,
            me=me,
            hears_all=not speaker,
            document_id=document,
            as_json=as_json,
            prompt_file=prompt_file,
        )
        name = chat.record.title or chat.record.id
        later = f"fabula chat {quote_name(project)} --conversation {quote_name(name)}"
        if speaker:
            later = f"{later} --as {quote_name(speaker)}"
        if not as_json:
            others = [one for one in chat.present if one.id != me]
            if others:
                warn("You talk with {names}.", names=join_names([chat.people.name_of(one.id) for one in others]))
            else:
                warn("Nobody else is present. Let somebody join: /join NAME")
            if chat.mode != DEFAULT_MODE:
                warn("The mode is {mode}.", mode=chat.mode)
                if not speaker and session.explain_mode():
                    warn("What it notes, such as roles or scores: /mode")
            writer = f"{choice.provider.name}/{choice.model}"
            if is_pasted:
                warn("There is no model: you get each prompt, and paste the answer.")
                if speaker:
                    own_name = chat.people.name_of(me)
                    warn("A prompt holds what its speaker knows, also what {name} does not.", name=own_name)
            elif choice.reason is not None:
                warn("{model} answers, because {reason}.", model=writer, reason=choice.reason)
            if found is None:
                warn("This conversation is called {name}.", name=name)
            if session.lines.is_terminal:
                warn("/help lists the commands. Ctrl-C stops an answer, and Ctrl-D ends.")
        session.show_beginning()
        session.run()
        if session.is_gone:
            raise typer.Exit(1)
        if found is None and not session.has_said:
            opened.conversations.delete(chat.record.id)
            if not as_json:
                warn("Nothing was said, so the conversation was not kept.")
        elif session.lines.is_terminal and not as_json:
            warn("\nTo go on later: {command}", command=later)
        elif found is None and not as_json:
            warn("To go on later: {command}", command=later)
        if session.has_failed and not session.lines.is_terminal:
            raise typer.Exit(1)


class ConversationOpening:
    """Finds the conversation that a command line means, or starts one."""

    def __init__(
        self,
        project: ProjectHandle,
        project_name: str,
        participants: list[str],
        speaker: str,
        mode: str,
        roles: dict[str, str],
        title: str,
        greeting: str,
    ) -> None:
        self._project, self._project_name = project, project_name
        self._speaker, self._mode, self._roles, self._title = speaker, mode, roles, title
        self._greeting = greeting
        self._speaker_id = self._resolve(speaker, "--kind player") if speaker else ""
        self._ids = list(dict.fromkeys(self._resolve(name, "--persona TEXT") for name in participants))
        self._names = participants
        if self._speaker_id and self._speaker_id in self._ids:
            raise invalid_request("You cannot talk with yourself. Say with whom else: --with NAME")

    def start(self) -> ChatState:
        """Start a conversation, with a title that nobody else has."""
        known = {one.id for one in self._project.participants.list_all()}
        if self._roles:
            mode = load_mode(find_mode_name(self._mode or DEFAULT_MODE))
            if not mode.roles and not set(self._roles) <= set(mode.options):
                raise FabulaError(
                    Code.MODE_ROLES_INVALID,
                    message(
                        "The mode {mode!r} has no roles to give. Nothing was changed.", mode=self._mode or DEFAULT_MODE
                    ),
                )
        try:
            chat = self._project.chat.start(
                self._names,
                mode=self._mode,
                roles=self._roles,
                title=self._title,
                player=self._speaker,
                greeting=self._greeting,
            )
        except FabulaError as error:
            if error.code is not Code.CHAT_NOBODY_PRESENT:
                raise
            raise FabulaError(
                error.code,
                message(
                    "There is nobody to talk to yet. Say with whom: --with NAME. "
                    "Or add somebody: fabula participant add {project} NAME --persona TEXT",
                    project=quote_name(self._project_name),
                ),
            ) from error
        for one in chat.present:
            if one.id not in known and not one.id.startswith("player:"):
                warn("{name} of the codex takes part from now on.", name=one.name)
        title = self._make_title(chat)
        if title != self._title:
            self._project.conversations.rename(chat.record.id, title)
        return self._project.chat.get(chat.record.id)

    def find(self, conversation: str) -> ChatState:
        """Find the conversation of a name, else the newest of the same participants, and give it the mode asked for."""
        chat = self._project.chat.get(conversation) if conversation else self._find_newest()
        for one, name in zip(self._ids, self._names, strict=False):
            if one not in chat.attendance.present:
                self._project.conversations.join(chat.record.id, name)
                warn("{name} takes part from now on. To take that back: /leave {name}", name=name)
        if self._roles or (self._mode and self._mode != chat.mode):
            self._project.chat.set_mode(chat.record.id, self._mode or chat.mode, roles=self._roles)
        return self._project.chat.get(chat.record.id)

    def find_speaker(self, chat: ChatState) -> str:
        """Return who the person speaks as: whoever was named, else the player; empty where there is neither."""
        own = self._speaker_id or self._project.chat.find_player(chat.record.id)
        players = sorted(one for one in chat.attendance.participants if one.startswith("player:"))
        ident = own or next(iter(players), "")
        if not ident or ident in chat.attendance.present:
            return ident
        sentence = message("{name} takes no part in this conversation.", name=self._speaker)
        if ident in chat.attendance.participants:
            sentence = message("{name} has left this conversation.", name=chat.people.name_of(ident))
        names = (self._project_name, chat.record.title or chat.record.id, self._speaker or chat.people.name_of(ident))
        raise invalid_request(
            "{sentence} Let them join first: {command}",
            sentence=sentence,
            command=f"fabula history join {' '.join(map(quote_name, names))}",
        )

    def _find_newest(self) -> ChatState:
        people = self._project.participants.list_all()
        players = [one.id for one in people if one.id.startswith("player:")]
        match: ParticipantMatch = "exact" if self._ids else "subset"
        sets = [[one, *self._ids] for one in ([self._speaker_id] if self._speaker_id else players)]
        sets = [ids for ids in sets if set(ids) <= {one.id for one in people}]
        newest = [self._project.conversations.list_all(ids, match=match, limit=1) for ids in sets]
        found = sorted((one for some in newest for one in some), key=lambda one: one.record.changed_at, reverse=True)
        if not found:
            raise FabulaError(
                Code.STORE_NOT_FOUND,
                message(
                    "There is no such conversation yet. Leave out --continue to start one. "
                    "What there is: fabula history list {project}",
                    project=quote_name(self._project_name),
                ),
            )
        return self._project.chat.get(found[0].record.id)

    def _resolve(self, name: str, option: str) -> str:
        """Return the id of a participant, or of the one that a character of the codex would become."""
        try:
            return self._project.participants.resolve(name).id
        except FabulaError as error:
            if error.code is not Code.STORE_NOT_FOUND:
                raise
            raise FabulaError(
                error.code,
                message(
                    "{sentence} To add somebody: {command}",
                    sentence=error.message,
                    command=f"fabula participant add {quote_name(self._project_name)} {quote_name(name)} {option}",
                ),
            ) from error

    def _make_title(self, chat: ChatState) -> str:
        """Return the title asked for, else one of the names of those who take part; a number where it is taken."""
        me = self.find_speaker(chat)
        names = [chat.people.name_of(one.participant_id) for one in chat.attendance.ranges if one.participant_id != me]
        listed = join_names([*names[:TITLE_NAMES], *(["…"] if len(names) > TITLE_NAMES else [])])
        base = self._title.strip() or listed.render(self._project.view.project.language)
        taken = {one.record.title for one in self._project.conversations.list_all() if one.record.id != chat.record.id}
        number = 1
        title = base
        while title in taken:
            number += 1
            title = f"{base} {number}"
        return title


def _read_roles(words: list[str]) -> dict[str, str]:
    """Read `ROLE=NAME`."""
    roles = {}
    for word in words:
        role, sign, name = word.partition("=")
        if not sign or not role.strip() or not name.strip():
            raise invalid_request("--role is ROLE=NAME, such as coder=Mara.")
        roles[role.strip()] = name.strip()
    return roles
