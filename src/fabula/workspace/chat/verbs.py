"""What a person can do in a chat: say something, ask, have a reply given again or go on, and choose a mode (cht-1…4).

    read the state → route → store the message → read the history → assemble for each speaker → ask → store each reply

A turn is an async generator of events. Close it to stop: what was received is kept. What one speaker said stays when
another fails, and whoever failed can be asked again alone. Every prompt comes from the project's one engine and every
call goes through the one `Writer`, which retries, judges and records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fabula.access.edits import list_played_characters
from fabula.context.request import Request
from fabula.context.result import Result
from fabula.conversation import edits, history
from fabula.conversation.mentions import find_mentions
from fabula.conversation.model import CLEANED_TEXT, MOVE, Message, MessageKind, get_kind
from fabula.conversation.modes import DEFAULT_MODE, Mode, Step
from fabula.conversation.participants import Participants, get_participant, list_names, strip_revision
from fabula.conversation.presence import load_attendance
from fabula.conversation.snapshot import load_newest_messages
from fabula.conversation.tables import messages
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, is_word, join_names, message
from fabula.llm.providers.clipboard import ClipboardProvider
from fabula.store.store import LOCAL_USER
from fabula.workspace.arguments import Title
from fabula.workspace.chat.events import (
    Announced,
    ChatEvent,
    ChatEvents,
    MessageStored,
    ReplyFailed,
    ReplyStored,
    TurnEnd,
)
from fabula.workspace.chat.mentions import explain_unknown_mentions, list_called_names
from fabula.workspace.chat.modes import ChatModes, explain_mode_failure, make_turn
from fabula.workspace.chat.prompts import ChatPrompts
from fabula.workspace.chat.replies import (
    ChatModel,
    ReplyTask,
    Voice,
    ask_all,
    explain_empty,
    open_voice,
    store_answer,
)
from fabula.workspace.chat.rounds import (
    PLAYER_PREFIX,
    ChatRound,
    ChatState,
    announce,
    begin_step,
    choose_branch,
    dismiss_absent,
    end_round,
    load_chat,
    load_replies,
    retract_secrets,
)
from fabula.workspace.chat.senders import ensure_sender, find_present_player
from fabula.workspace.conversations import LAST, LAST_WORD, find_message, greet
from fabula.workspace.names import find_character_ids, find_conversation, find_participant
from fabula.workspace.participants import AccountNames, ensure_participant, ensure_player, load_account_names
from fabula.workspace.project import ProjectHandle
from fabula.workspace.verbs import ProjectVerbs, label_change, require_store
from fabula.workspace.writing_options import ModelChoice

MAX_STEPS = 200  # of one turn; a mode that asks for more does not come to an end
_NOBODY_PRESENT = message("Nobody who could answer is present in this conversation. Let somebody join.")


class _Prepared(Struct, frozen=True):
    """What was stored before anybody is asked: the events that tell of it, who is asked alone, and a failure."""

    conversation_id: str
    events: tuple[ChatEvent, ...] = ()
    speakers: tuple[str, ...] = ()
    error: FabulaError | None = None


class SpeakerPrompt(Struct, frozen=True):
    """A prompt of a speaker with its trace, the speaker's name, and the project as the prompt sees it."""

    name: str
    project: ProjectHandle
    result: Result


class ChatVerbs(ProjectVerbs):
    """Talking in the conversations of an open project."""

    def __init__(self, project: ProjectHandle) -> None:
        super().__init__(project)
        project.chat_modes = self._modes = project.chat_modes or ChatModes()

    def add_mode(self, name: str, mode: Mode) -> None:
        """Offer a mode beside those of installed packages, for as long as this project is open."""
        self._modes.add(name, mode)

    def get(self, conversation: str) -> ChatState:
        """Return a conversation as a turn finds it: its mode and state, the running round, who is present."""
        with self._read() as reading:
            return load_chat(reading, find_conversation(None, reading, conversation))

    def find_player(self, conversation: str) -> str:
        """Return the id of the player as whom you talk in a conversation; empty where none of yours is present."""
        accounts = self._load_account_names()
        with self._read() as reading:
            chat = load_chat(reading, find_conversation(None, reading, conversation))
            return find_present_player(reading, chat, accounts)

    def start(
        self,
        participants: Sequence[str] = (),
        *,
        mode: str = "",
        title: Title = "",
        roles: Mapping[str, str] | None = None,
        player: str = "",
        greeting: str = "",
    ) -> ChatState:
        """Start a conversation of the player with these, with those of the roles, or with all who have a persona.

        A character of the codex becomes a participant. `player` names somebody else who takes the player's place, and
        `greeting` who speaks first, with the first message of their card.
        """
        view, mode = self._view, self._modes.find_name(mode or DEFAULT_MODE)
        roles, options = self._modes.split_options(mode, roles or {})
        accounts = self._load_account_names()
        with self._write() as tx:
            own_id = ensure_participant(view, tx, player) if player else ensure_player(view, tx, accounts)
            by_role = {role: ensure_participant(view, tx, name) for role, name in roles.items() if name}
            ids = [*(ensure_participant(view, tx, name) for name in participants if name), *by_role.values()]
            host = ensure_participant(view, tx, greeting) if greeting else ""
            if host and host not in ids:
                ids.append(host)
            if not ids:
                known = (view.snapshot(Participants) or Participants()).by_id.values()
                ids = [one.id for one in known if one.persona.strip() and not one.is_gone and one.id != own_id]
            if not ids:
                raise _refuse_nobody(
                    message("Nobody in this project has a persona. Say who takes part, or add a participant.")
                )
            ident = edits.start_conversation(tx, participants=(own_id, *ids), title=title)
            self._modes.enter(tx, view, replace(load_chat(tx, ident), state=options), mode, {**roles, **by_role})
            if host:
                greet(tx, view, ident, get_participant(tx, host), (own_id, *ids))
            return load_chat(tx, ident)

    def set_mode(
        self,
        conversation: str,
        mode: str,
        *,
        roles: Mapping[str, str] | None = None,
        state: Mapping[str, Any] | None = None,
        restart: bool = False,
    ) -> ChatState:
        """Give a conversation another mode, other roles or another state; the state of the mode before is kept.

        A mode that the conversation has or had goes on from where it was, unless roles or a state are given. With
        `restart` it begins anew: of its state only options and roles that a person gave are kept.
        """
        view = self._view
        with self._write(label_change(message("conversation"), self.get(conversation).record.title)) as tx:
            chat = load_chat(tx, find_conversation(None, tx, conversation))
            name = self._modes.find_name(mode)
            roles, options = self._modes.split_options(name, roles or {})
            self._modes.check_roles(name, roles)
            others = {key: value for key, value in chat.other_states.items() if key != name}
            if name != chat.mode:
                others[chat.mode] = dict(chat.state)
            if restart or name != chat.mode:
                retract_secrets(tx, chat.record.id)
            known = chat.state if name == chat.mode else chat.other_states.get(name, {})
            if restart:
                settings = chat.beginnings[name].settings if name in chat.beginnings else ()
                known = {one: known[one] for one in settings if one in known}
            changed = replace(
                chat,
                mode=name,
                state={**({} if roles else known), **options, **(state or {})},
                other_states=others,
                round=ChatRound(is_ended=True),
            )
            self._modes.begin(tx, view, changed, roles)
            return load_chat(tx, chat.record.id)

    async def send(
        self,
        conversation: str,
        text: str,
        *,
        speaker: str = "",
        audience: Sequence[str] | None = None,
        mode: str = "",
        roles: Mapping[str, str] | None = None,
        document_id: str | None = None,
        model: ChatModel = None,
    ) -> ChatEvents:
        """Say something, by default as the player, and let those answer whom the mode chooses."""
        said = await asyncio.to_thread(self._say, conversation, text, speaker, audience, mode, roles or {})
        for event in said.events:
            yield event
        if said.error is not None:
            raise said.error
        async with aclosing(self._run(said.conversation_id, model, document_id)) as events:
            async for event in events:
                yield event

    async def ask(
        self,
        conversation: str,
        participants: Sequence[str] = (),
        *,
        document_id: str | None = None,
        model: ChatModel = None,
    ) -> ChatEvents:
        """Ask these to speak; without names, whoever has not answered yet, else whom the mode chooses.

        Whoever failed answers what was said then, on the history from before the round.
        """
        prepared = await asyncio.to_thread(self._choose_speakers, conversation, participants)
        for event in prepared.events:
            yield event
        async with aclosing(self._run(prepared.conversation_id, model, document_id, only=prepared.speakers)) as events:
            async for event in events:
                yield event

    async def regenerate(
        self, conversation: str, message_name: str = LAST, *, document_id: str | None = None, model: ChatModel = None
    ) -> ChatEvents:
        """Let a speaker give a reply again, on the same history; the new one is a branch beside the old one."""
        async with aclosing(self._ask_again(conversation, message_name, document_id, model, goes_on=False)) as events:
            async for event in events:
                yield event

    async def continue_reply(
        self, conversation: str, message_name: str = LAST, *, document_id: str | None = None, model: ChatModel = None
    ) -> ChatEvents:
        """Let a speaker go on with a reply from where it stops; the text before is kept for undo."""
        async with aclosing(self._ask_again(conversation, message_name, document_id, model, goes_on=True)) as events:
            async for event in events:
                yield event

    async def paste(
        self,
        conversation: str,
        text: str,
        *,
        participant: str = "",
        instead_of: str = "",
        goes_on_from: str = "",
        document_id: str | None = None,
        model: ChatModel = None,
    ) -> ChatEvents:
        """Record an answer from elsewhere as the reply of a speaker, by default the first who is waited for; go on.

        `instead_of` names a reply that is given again, `goes_on_from` one that goes on, as when there is a model.
        """
        again = instead_of or goes_on_from
        ident, stored = await asyncio.to_thread(
            self._store_pasted, conversation, text, participant, again, goes_on=bool(goes_on_from)
        )
        yield stored
        if again:
            for told in await asyncio.to_thread(self._hear_again, ident) if instead_of else ():
                yield Announced(told)
            yield await asyncio.to_thread(self._end, ident)
            return
        running = (await asyncio.to_thread(self.get, ident)).round
        order = {one: number for number, one in enumerate(running.speakers)}
        later = tuple(one for one in running.waiting if order[one] > order.get(stored.participant_id, -1))
        if running.waiting and not later:  # whoever was left out is asked by name
            yield await asyncio.to_thread(self._end, ident)
            return
        async with aclosing(self._run(ident, model, document_id, only=later)) as events:
            async for event in events:
                yield event

    def explain_mode(self, conversation: str, reader: str = "", *, leader: str = "") -> tuple[Sentence, ...]:
        """Tell the state of the mode in words, a line each; of `reader`, only what this participant may know of it.

        Without a reader all of it is told, as to whoever leads a game; a `leader` who plays is told as a reader.
        """
        view = self._view
        with self._read() as reading:
            chat = load_chat(reading, find_conversation(None, reading, conversation))
            reader = strip_revision(find_participant(view, reading, reader)) if reader else ""
            leader = strip_revision(find_participant(view, reading, leader)) if leader and not reader else ""
            return self._modes.explain_state(chat.mode, make_turn(reading, view, chat), reader, leader)

    def take_back(self, conversation: str, *, listener: str = "") -> tuple[Message, ...]:
        """Go back to before the last thing a person said, with the state of the mode; return what becomes a branch.

        With a `listener`, the id of a participant, nothing is taken back that this one did not hear.
        """
        with self._write(label_change(message("conversation"), self.get(conversation).record.title)) as tx:
            chat = load_chat(tx, find_conversation(None, tx, conversation))
            path = load_newest_messages(tx, chat.record.id, chat.record.leaf_id)
            said = [index for index, one in enumerate(path) if get_kind(one) is MessageKind.USER]
            if not said:
                raise refuse_to_take_back()
            gone = path[said[-1] :]
            heard = chat.attendance.find_listeners(gone[0])
            if listener and heard is not None and strip_revision(listener) not in heard:
                raise refuse_to_take_back()
            edits.select_branch(tx, chat.record.id, gone[0].parent_id)
            edits.restore_presence(tx, chat.record.id, gone[0].id)
            end_round(tx, chat.record.id)
            return gone

    def inspect(self, conversation: str, participant: str = "", *, choice: ModelChoice | None = None) -> SpeakerPrompt:
        """Look inside the prompt that a speaker was asked with last, or would be asked with now.

        Without a name it is whoever spoke last, else the first who can answer.
        """
        view = self._view
        voice = Voice(ClipboardProvider(), choice or self._project.choose_model())
        prompts = ChatPrompts(self._project, self._modes, voice, None)
        with self._read() as reading:
            ident = find_conversation(None, reading, conversation)
            chat = load_chat(reading, ident)
            path = load_newest_messages(reading, ident, chat.record.leaf_id)
            replies = [one for one in path if one.final and get_kind(one) is MessageKind.REPLY and one.speaker]
            wanted = strip_revision(find_participant(view, reading, participant)) if participant else ""
            last = next((one for one in reversed(replies) if wanted in ("", strip_revision(one.speaker))), None)
            asked = [one.number or 0 for one in path if get_kind(one) is MessageKind.USER]
            is_newest = last is not None and (not wanted or not asked or asked[-1] < (last.number or 0))
            if last is not None and is_newest:  # what was said since is in the next prompt only
                task: ReplyTask | ReplyFailed = prompts.prepare_again(reading, chat, last, goes_on=False)
            else:
                speakers = [wanted] if wanted else [one.id for one in chat.list_answerers()][:1]
                if not speakers:
                    raise _refuse_nobody(_NOBODY_PRESENT)
                newest = chat.record.leaf_id
                running = ChatRound(message_id=newest or "", after=newest)
                (task,) = prompts.prepare(reading, chat, running, speakers)
        if isinstance(task, ReplyFailed):
            raise task.error
        return SpeakerPrompt(task.name, task.project, task.project.inspect(task.request))

    # Steps of a turn

    def _say(
        self,
        conversation: str,
        text: str,
        speaker: str,
        audience: Sequence[str] | None,
        mode: str,
        roles: Mapping[str, str],
    ) -> _Prepared:
        """Store what somebody says with what the mode decides; a mode that breaks down does not cost the message."""
        view, error, played = self._view, None, self._find_played()
        accounts = self._load_account_names()
        with self._write() as tx:
            ident = find_conversation(None, tx, conversation)
            chat, sender = load_chat(tx, ident), ""
            if speaker:
                sender = find_participant(view, tx, speaker)
            else:
                chat, sender = ensure_sender(view, tx, chat, accounts)
            chat, told = self._modes.enter(tx, view, chat, mode, roles)
            if not chat.list_answerers(sender):
                raise _refuse_nobody(_NOBODY_PRESENT)
            found = find_mentions(text, list_called_names(view, chat))
            new = Message(
                id="",
                role="user",
                content=text,
                speaker=get_participant(tx, sender).speaker if sender.startswith("persona:") else sender,
                audience=None if audience is None else tuple(find_participant(view, tx, one) for one in audience),
                extra={CLEANED_TEXT: found.text} if found.text != text else {},
            )
            said = history.record_message(tx, ident, new)
            turn = make_turn(tx, view, chat, said=said)
            try:
                step = self._modes.decide(chat.mode, "route", turn)
            except FabulaError as failure:
                if failure.code is not Code.MODE_FAILED:
                    raise
                step, error = Step(), failure
            if step.is_move:
                said = replace(said, extra={**said.extra, MOVE: True})
                tx.update_rows(messages, {"extra": said.extra}, messages.c.id == said.id)
            later = announce(tx, ident, step.announcements)
            begin_step(tx, chat, _leave_out(step, played), said.id, behind=said.id)
        notes = explain_unknown_mentions(view, chat, text) if found.unknown else ()
        people = [chat.people.name_of(one) for one in step.speakers if one in played]
        if people:
            notes = (*notes, message("A person plays {names}, and answers without a model.", names=join_names(people)))
        events: list[ChatEvent] = [*map(Announced, told), MessageStored(said, notes), *map(Announced, later)]
        return _Prepared(ident, tuple(events), error=error)

    def _load_account_names(self) -> AccountNames:
        return load_account_names(self._store, self._project.principal.user)

    def _choose_speakers(self, conversation: str, participants: Sequence[str]) -> _Prepared:
        """Find whom to ask without a new message, and store that they are."""
        view, played = self._view, self._find_played()
        with self._write() as tx:
            ident = find_conversation(None, tx, conversation)
            chat, told = self._modes.enter(tx, view, load_chat(tx, ident), "", {})
            ids = tuple(dict.fromkeys(strip_revision(find_participant(view, tx, one)) for one in participants))
            events = [Announced(one) for one in told]
            _check_present(chat, ids)
            _check_no_player(chat, ids)
            if not set(chat.round.waiting) <= chat.attendance.present:
                chat = dismiss_absent(tx, chat)
            if ids and not set(ids) <= set(chat.round.waiting):
                begin_step(tx, chat, Step(speakers=ids, in_parallel=False), "")
            elif not ids and chat.round.is_ended:
                if not chat.list_answerers():
                    raise _refuse_nobody(_NOBODY_PRESENT)
                step = self._modes.decide(chat.mode, "route", make_turn(tx, view, chat))
                events += [Announced(one) for one in announce(tx, ident, step.announcements)]
                begin_step(tx, chat, _leave_out(step, played), "")
            return _Prepared(ident, tuple(events), speakers=ids)

    async def _run(
        self, ident: str, model: ChatModel, document_id: str | None, *, only: tuple[str, ...] = ()
    ) -> ChatEvents:
        """Ask whoever is waited for, and go on as the mode says until nothing follows or somebody failed."""
        async with open_voice(self._project, model) as voice:
            prompts = ChatPrompts(self._project, self._modes, voice, document_id)
            for _ in range(MAX_STEPS):
                chat = await asyncio.to_thread(self.get, ident)
                running = chat.round
                for speakers in self._group_speakers(running, only, voice):
                    tasks = await asyncio.to_thread(self._prepare, prompts, ident, running, speakers)
                    async with aclosing(ask_all(tasks, voice)) as events:
                        async for event in events:
                            yield event
                now = (await asyncio.to_thread(self.get, ident)).round
                if now.waiting or now.is_ended or now.after != running.after:
                    break
                only = ()
                for told in await asyncio.to_thread(self._proceed, ident, running):
                    yield Announced(told)
            else:
                raise explain_mode_failure(chat.mode, message("it does not come to an end"))
        yield await asyncio.to_thread(self._end, ident)

    async def _ask_again(
        self, conversation: str, message_name: str, document_id: str | None, model: ChatModel, *, goes_on: bool
    ) -> ChatEvents:
        ident, reply = await asyncio.to_thread(self._select_reply, conversation, message_name, goes_on=goes_on)
        async with open_voice(self._project, model) as voice:
            prompts = ChatPrompts(self._project, self._modes, voice, document_id)

            def prepare() -> ReplyTask:
                with self._read() as reading:
                    return prompts.prepare_again(reading, load_chat(reading, ident), reply, goes_on=goes_on)

            is_stored = False
            async with aclosing(ask_all([await asyncio.to_thread(prepare)], voice)) as events:
                async for event in events:
                    is_stored = is_stored or isinstance(event, ReplyStored)
                    yield event
        if is_stored and not goes_on:
            for told in await asyncio.to_thread(self._hear_again, ident):
                yield Announced(told)
        yield await asyncio.to_thread(self._end, ident)

    def _prepare(
        self, prompts: ChatPrompts, ident: str, running: ChatRound, speakers: Sequence[str]
    ) -> list[ReplyTask | ReplyFailed]:
        with self._read() as reading:
            chat = load_chat(reading, ident)
            present = [one for one in speakers if one in chat.attendance.present]  # others have left meanwhile
            return prompts.prepare(reading, chat, running, present)

    def _select_reply(self, conversation: str, message_name: str, *, goes_on: bool) -> tuple[str, Message]:
        """Find a reply, by default the newest of the active path, and make its branch the active one."""
        with self._write() as tx:
            ident = find_conversation(None, tx, conversation)
            chat = load_chat(tx, ident)
            path = load_newest_messages(tx, ident, chat.record.leaf_id)
            if is_word(message_name, LAST_WORD):
                found = next((one for one in reversed(path) if one.final and get_kind(one) is MessageKind.REPLY), None)
            else:
                found = edits.get_message(tx, find_message(tx, ident, message_name))
            if found is None or get_kind(found) is not MessageKind.REPLY or not found.speaker:
                raise FabulaError(
                    Code.REQUEST_INVALID,
                    message("Only a reply can be given again or go on, and this is none. Nothing was changed."),
                )
            if all(one.id != found.id for one in path):
                choose_branch(tx, ident, history.find_newest_leaf(tx, found.id))
            attendance = load_attendance(tx, ident)
            if not goes_on:  # who left since then is still there on the branch of another reply
                attendance = attendance.go_beside(found.number or 0)
            _check_present(replace(chat, attendance=attendance), (strip_revision(found.speaker),))
            return ident, found

    def _group_speakers(self, running: ChatRound, only: tuple[str, ...], voice: Voice) -> list[tuple[str, ...]]:
        """Return who is asked at once: all, one after the other, or without a model the first alone."""
        waiting = tuple(one for one in running.waiting if not only or one in only)
        if voice.provider.name == "clipboard":
            return [waiting[:1]]
        return [waiting] if running.in_parallel else [(one,) for one in waiting]

    def _proceed(self, ident: str, running: ChatRound) -> list[Message]:
        """Let the mode decide what follows on the replies to a step; return what it tells."""
        view, played = self._view, self._find_played()
        with self._write() as tx:
            chat = load_chat(tx, ident)
            if chat.round.waiting or chat.round.is_ended or chat.round.after != running.after:
                return []  # somebody else went on
            turn = make_turn(tx, view, chat, replies=load_replies(tx, chat.round.replies))
            step = self._modes.decide(chat.mode, "proceed", turn)
            told = announce(tx, ident, step.announcements)
            begin_step(tx, chat, _leave_out(step, played), chat.round.message_id)
            return told

    def _hear_again(self, ident: str) -> list[Message]:
        """Let the mode decide what follows on a reply that was given again; whoever is asked then is waited for."""
        return self._proceed(ident, self.get(ident).round)

    def _find_played(self) -> frozenset[str]:
        """Find the participants whom people play; no model answers for them unless it is asked to by name."""
        view, project_id = self._view, self._project.id
        with require_store(self._project).read(user=LOCAL_USER) as reading:
            characters = list_played_characters(reading, project_id)
        return characters.union(*(find_character_ids(view, one) for one in characters))

    def _end(self, ident: str) -> TurnEnd:
        chat = self.get(ident)
        return TurnEnd(conversation_id=ident, mode=chat.mode, mode_state=chat.state, waiting=chat.round.waiting)

    def _store_pasted(
        self, conversation: str, text: str, participant: str, again: str, *, goes_on: bool
    ) -> tuple[str, ReplyStored]:
        """Store an answer from elsewhere as a reply, as another one beside a reply, or as more of it."""
        view = self._view
        earlier = self._select_reply(conversation, again, goes_on=goes_on)[1] if again else None
        with self._read() as reading:
            ident = find_conversation(None, reading, conversation)
            chat = load_chat(reading, ident)
            speaker_id = strip_revision(find_participant(view, reading, participant)) if participant else ""
        speaker_id = strip_revision(earlier.speaker) if earlier is not None else speaker_id
        speaker = chat.people.by_id.get(speaker_id or next(iter(chat.round.waiting), ""))
        if speaker is None:
            raise FabulaError(
                Code.REQUEST_INVALID, message("Nobody is waited for. Say whose answer this is. Nothing was changed.")
            )
        if earlier is None and speaker.id not in chat.round.waiting:  # who left since they were asked is still heard
            _check_present(chat, (speaker.id,))
        others = [one for one in chat.people.by_id.values() if one.id in chat.attendance.participants - {speaker.id}]
        task = ReplyTask(
            speaker=speaker,
            project=self._project,
            request=Request(project_id=self._project.id),
            conversation_id=ident,
            asked_in=chat.round,
            other_names=tuple(name for one in others for name in list_names(one)),
            sibling_of=None if goes_on else earlier,
            continues=earlier if goes_on else None,
        )
        reply = task.begin_text()
        reply.feed(text)
        reply.finish()
        if not reply.text.strip():
            raise explain_empty(reply, task.name)
        stored = store_answer(task, reply.text.strip(), extra={"model": "clipboard"})
        is_cut = bool(reply.other_name)
        return ident, ReplyStored(participant_id=speaker.id, name=task.name, message=stored, is_cut=is_cut)


def _leave_out(step: Step, played: frozenset[str]) -> Step:
    """Return a step without those whom people play."""
    return replace(step, speakers=tuple(one for one in step.speakers if one not in played))


def refuse_to_take_back() -> FabulaError:
    """Return the error of a chat in which nothing can be taken back.

    It is the same where there is something that somebody did not hear: they are not to learn that it was said.
    """
    return FabulaError(Code.STORE_NOT_FOUND, message("There is nothing here that could be taken back."))


def _refuse_nobody(sentence: Sentence) -> FabulaError:
    return FabulaError(Code.CHAT_NOBODY_PRESENT, message("{sentence} Nothing was changed.", sentence=sentence))


def _check_present(chat: ChatState, participants: Sequence[str]) -> None:
    """Refuse to let somebody speak who is not present."""
    absent = [chat.people.name_of(one) for one in participants if one not in chat.attendance.present]
    if absent and chat.attendance.is_recorded:
        raise _refuse_nobody(
            message("{names} is not present in this conversation. Let them join first.", names=join_names(absent))
        )


def _check_no_player(chat: ChatState, participants: Sequence[str]) -> None:
    """Refuse to let a model speak as a player, whom a person is."""
    players = [chat.people.name_of(one) for one in participants if one.startswith(PLAYER_PREFIX)]
    if players:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "{names} is a person, and speaks without a model. Ask somebody else. Nothing was changed.",
                names=join_names(players),
            ),
        )
