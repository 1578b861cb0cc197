"""Prompts of a chat: what each speaker is asked, on a history that ends at one message (cht-2).

Speakers who answer in parallel share the history from before the round, and a reply that is given again sees what the
first one saw. So a prompt is assembled from the view with the conversation cut off behind one message, whatever was
stored since. What was said last is the input: it is in the prompt once, and is never left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.options import AssemblyOptions
from fabula.conversation.cards import Cards
from fabula.conversation.model import (
    STATE_TOLD,
    Conversations,
    Message,
    MessageKind,
    get_kind,
    is_announcement,
    label_speaker,
)
from fabula.conversation.modes import ContextPolicy
from fabula.conversation.participants import Participant, Participants, list_names, strip_revision
from fabula.conversation.recaps.snapshot import RecapSnapshot, relate_to
from fabula.core.errors import FabulaError
from fabula.core.messages import message
from fabula.core.view import View
from fabula.store.transaction import ReadTransaction
from fabula.workspace.chat.events import ReplyFailed
from fabula.workspace.chat.modes import ChatModes, make_turn
from fabula.workspace.chat.replies import CHAT_SKILL, ReplyTask, Voice
from fabula.workspace.chat.rounds import HISTORY_END, ChatRound, ChatState
from fabula.workspace.project import ProjectHandle


class PinnedHistory(Struct, frozen=True, kw_only=True):
    """The project with a conversation up to one message, and that message as the input."""

    project: ProjectHandle
    said: Message | None
    label: str  # the name before the input, where lines carry names
    last_id: str  # of the newest message, the input included
    later: tuple[str, ...]  # sources of the messages that follow, and of the input
    secrets: tuple[Message, ...]  # what the mode told some alone
    told_states: tuple[str, ...]  # sources of what the mode told of its state
    recipe: str
    has_names: bool  # the lines carry names

    def name_roles(self, speaker: Participant, others: Sequence[Participant]) -> dict[str, str]:
        """Return who speaks in a role; nobody alone does where lines carry names."""
        if self.has_names or len(others) != 1:
            return {}
        return {"user": list_names(others[0])[0], "assistant": list_names(speaker)[0]}


class ChatPrompts:
    """Prepares what speakers are asked, for one voice and one place of the story."""

    def __init__(self, project: ProjectHandle, modes: ChatModes, voice: Voice, document_id: str | None) -> None:
        self._project, self._modes, self._voice, self._document_id = project, modes, voice, document_id

    def prepare(
        self, reading: ReadTransaction, chat: ChatState, running: ChatRound, speakers: Sequence[str]
    ) -> list[ReplyTask | ReplyFailed]:
        """Prepare what each speaker is asked; all see the history from before the step, or as it is by now."""
        view = self._project.view_with(chat.record.id)
        path = _read_path(view, chat.record.id)
        end = len(path)
        if running.in_parallel:
            end = next((index + 1 for index, one in enumerate(path) if one.id == running.after), end)
        turn = make_turn(reading, view, chat)
        tasks: list[ReplyTask | ReplyFailed] = []
        pinned = self._pin(reading, view, chat, end, running.message_id)
        for one in speakers:
            speaker = chat.people.by_id.get(one) or Participant(id=one)
            try:
                note = self._modes.describe_state(chat.mode, turn, one)
                tasks.append(self._make_task(pinned, chat, speaker, running, note))
            except FabulaError as error:
                name, audience = list_names(speaker)[0], running.audience
                tasks.append(ReplyFailed(participant_id=one, name=name, audience=audience, error=error))
        return tasks

    def prepare_again(self, reading: ReadTransaction, chat: ChatState, reply: Message, *, goes_on: bool) -> ReplyTask:
        """Prepare a reply that is given again, or goes on; it is on the active path."""
        if not goes_on:  # who came or left since then did so on another branch
            chat = replace(chat, attendance=chat.attendance.go_beside(reply.number or 0))
        view = self._project.view_with(chat.record.id)
        path = _read_path(view, chat.record.id)
        ends = {one.id: index + 1 for index, one in enumerate(path)}
        end = ends.get(reply.id, len(path)) - (not goes_on)
        if not goes_on:  # a message that is gone by now ends no history
            end = ends.get(reply.extra.get(HISTORY_END, ""), end)
        pinned = self._pin(reading, view, chat, end, path[end - 1].id if end else "")
        speaker_id = strip_revision(reply.speaker)
        speaker = chat.people.by_id.get(speaker_id) or Participant(id=speaker_id)
        note = self._modes.describe_state(chat.mode, make_turn(reading, view, chat), speaker_id)
        if goes_on:
            name = list_names(speaker)[0]
            going_on = message("[Go on with the last line of {name} from exactly where it stops.]", name=name)
            note = "\n".join(filter(None, (note, going_on.render(view.project.language))))
        running = ChatRound(after=reply.parent_id, audience=reply.audience)
        task = self._make_task(pinned, chat, speaker, running, note)
        return replace(task, continues=reply) if goes_on else replace(task, sibling_of=reply)

    def _pin(self, reading: ReadTransaction, view: View, chat: ChatState, end: int, message_id: str) -> PinnedHistory:
        """Return the project with the first messages of a conversation; the newest is the input if it is the message.

        What follows is excluded by name too, because search may find it.
        """
        ident, conversations = chat.record.id, view.snapshot(Conversations)
        path = _read_path(view, ident)
        newest = path[end - 1] if end else None
        said = newest if newest is not None and newest.id == message_id else None
        said = said if said is not None and get_kind(said) is MessageKind.USER else None
        shown = end - (said is not None)
        policy = self._modes.load(chat.mode).policy
        snapshots = {**view.snapshots, AssemblyOptions: _apply_policy(view.snapshot(AssemblyOptions), policy)}
        names = None
        if conversations is not None:
            snapshots[Conversations] = conversations.shorten(ident, shown, chat.attendance)
            names = conversations.speaker_names.get(ident)
        recaps, people = view.snapshot(RecapSnapshot), view.snapshot(Participants) or Participants()
        if recaps is not None:
            cards = view.snapshot(Cards) or Cards()
            snapshots[RecapSnapshot] = relate_to(reading, view.project, recaps, ident, chat.attendance, people, cards)
        return PinnedHistory(
            project=self._project.with_view(View(view.project, view.timeline, snapshots)),
            said=said,
            label=label_speaker(said, names, view.project.language) if said is not None else "",
            last_id=newest.id if newest is not None else "",
            later=tuple(f"history:{one.id}" for one in path[shown:]),
            secrets=tuple(one for one in path[:shown] if one.audience is not None and is_announcement(one)),
            told_states=tuple(
                f"history:{one.id}" for one in path[:shown] if is_announcement(one) and one.extra.get(STATE_TOLD)
            ),
            recipe=policy.recipe,
            has_names=bool(names),
        )

    def _make_task(
        self, pinned: PinnedHistory, chat: ChatState, speaker: Participant, running: ChatRound, note: str
    ) -> ReplyTask:
        said = pinned.said
        listeners = chat.attendance.find_listeners(said) if said is not None else None
        if listeners is not None and speaker.id not in listeners:  # who joined since did not hear it
            said = None
        told = [f"history:{one.id}" for one in pinned.secrets if one.content in note]
        request = pinned.project.request(
            document_id=self._document_id,
            skill_id=CHAT_SKILL,
            recipe=pinned.recipe,
            conversation_id=chat.record.id,
            speaker_id=speaker.id,
            speaker_note=note,
            additional_input=said.prompt_text if said is not None else "",
            input_name=pinned.label if said is not None else "",
            exclude=(*pinned.later, *told, *(pinned.told_states if note else ())),
        )
        if said is not None:
            request = replace(request, input_speaker_id=said.speaker)
        if said is not None and listeners is not None:  # whoever is away does not know it either
            request = replace(request, input_known_to=tuple(sorted(chat.attendance.find_knowers(said) or ())))
        others = [chat.people.by_id.get(one) for one in sorted(chat.attendance.attendees - {speaker.id})]
        return ReplyTask(
            speaker=speaker,
            project=pinned.project,
            request=self._voice.size(request),
            conversation_id=chat.record.id,
            asked_in=running,
            history_end=pinned.last_id,
            other_names=tuple(name for one in others if one is not None for name in list_names(one)),
            role_names=pinned.name_roles(speaker, [one for one in others if one is not None]),
        )


def _apply_policy(options: AssemblyOptions | None, policy: ContextPolicy) -> AssemblyOptions:
    """Return the options of a project with the window of a mode; a window that the project sets itself comes first."""
    own = options or AssemblyOptions()
    if own.max_history_tokens is not None:
        return own
    return replace(own, max_history_messages=policy.history_messages, max_history_tokens=policy.history_tokens)


def _read_path(view: View, ident: str) -> tuple[Message, ...]:
    conversations = view.snapshot(Conversations)
    return conversations.messages.get(ident, ()) if conversations is not None else ()
