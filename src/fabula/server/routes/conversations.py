"""Routes of conversations: participants, messages, recaps, and what a participant is told (cnv-1 … cnv-7)."""

from __future__ import annotations

from typing import Any

from fabula.access.model import Right
from fabula.conversation.history import HistoryPage, TreeMessage
from fabula.conversation.message_search import FoundMessage
from fabula.conversation.model import Message
from fabula.conversation.participants import Participant, Participants
from fabula.server.routes.route import NOTHING, Answer, Call, Route, make_list, make_optional, make_record, mount
from fabula.store.undo import UndoStep
from fabula.workspace.conversations import ConversationPage
from fabula.workspace.schemas.changes import ChangeInfo
from fabula.workspace.schemas.conversations import (
    CardInfo,
    ConversationInfo,
    FoundMessageInfo,
    HistoryPageInfo,
    MessageInfo,
    ParticipantInfo,
    PersonaInfo,
    TreeMessageInfo,
    describe_card,
    describe_conversation,
    describe_found_message,
    describe_message,
    describe_page,
    describe_participant,
    describe_persona,
    describe_tree_message,
)
from fabula.workspace.schemas.participant_texts import ParticipantTextInfo, describe_participant_text
from fabula.workspace.schemas.recaps import RecapInfo, RecapSettingsInfo, describe_recap, describe_recap_settings
from fabula.workspace.schemas.schema import describe


def find_names(call: Call) -> Participants:
    """Return the participants of a call's project, for the names in its answer."""
    return call.handle.view.snapshot(Participants) or Participants()


def _describe_message(said: Message, call: Call) -> MessageInfo:
    return describe_message(said, find_names(call))


def _describe_page(page: HistoryPage, call: Call) -> HistoryPageInfo:
    return describe_page(page, find_names(call))


def _describe_participant(found: Participant, call: Call) -> ParticipantInfo:
    participants = call.handle.participants
    entry, card = participants.find_entry(found.id), participants.read_card(found.id)
    return describe_participant(found, entry, card, names=call.names)


def _start(call: Call) -> Any:
    conversations = call.handle.conversations
    return conversations.get(conversations.start(**call.arguments).id)


def _describe_removed(messages: tuple[Message, ...], call: Call) -> tuple[MessageInfo, ...]:
    return tuple(_describe_message(one, call) for one in messages)


def _describe_found(found: FoundMessage, call: Call) -> FoundMessageInfo:
    return describe_found_message(found, find_names(call))


def _describe_in_tree(found: TreeMessage, call: Call) -> TreeMessageInfo:
    return describe_tree_message(found, find_names(call))


def _describe_step(step: UndoStep, call: Call) -> ChangeInfo:
    owner = {"project_id": call.handle.id, "title": call.handle.view.project.title}
    return describe(ChangeInfo, step, call.language, undone=step.is_undone, **owner)


def _describe_conversation_page(found: ConversationPage) -> list[ConversationInfo]:
    return [describe_conversation(one) for one in found.conversations]


CONVERSATION = Answer(ConversationInfo, describe_conversation)
MESSAGE = Answer(MessageInfo, _describe_message)
PAGE = Answer(HistoryPageInfo, _describe_page)
REMOVED_MESSAGES = Answer(tuple[MessageInfo, ...], _describe_removed)
PARTICIPANT = Answer(ParticipantInfo, _describe_participant)
_CARD = Answer(CardInfo, describe_card)
_TEXT = Answer(ParticipantTextInfo, describe_participant_text)
_RECAP = Answer(RecapInfo, describe_recap)
_FOUND = make_list(Answer(FoundMessageInfo, _describe_found), "message.id")
_LIST_OF_TEXTS = make_list(_TEXT)

ROUTES = (
    mount(
        "participants",
        "/projects/{project}/participants",
        (
            Route("GET", "", "list_all", Right.READ, make_list(PARTICIPANT)),
            Route("POST", "", "add", Right.EDIT, PARTICIPANT, {"name": "Cleo", "persona": "A diver."}, creates=True),
            Route("GET", "/{participant}", "get", Right.READ, PARTICIPANT),
            Route("PATCH", "/{participant}", "edit", Right.EDIT, PARTICIPANT, {"persona": "A retired pilot."}),
            Route("GET", "/{participant}/resolved", "resolve", Right.READ, PARTICIPANT),
            Route(
                "GET",
                "/{participant}/entry",
                "find_entry",
                Right.READ,
                make_record("ParticipantEntry", entry=Answer(str | None)),
            ),
            Route(
                "GET",
                "/{participant}/card",
                "read_card",
                Right.READ,
                make_record("ParticipantCard", card=make_optional(_CARD)),
            ),
            Route("PATCH", "/{participant}/card", "edit_card", Right.EDIT, _CARD, {"nickname": "Bosun"}),
            Route(
                "GET",
                "/{participant}/personas",
                "list_personas",
                Right.READ,
                make_list(Answer(PersonaInfo, describe_persona), "revision"),
            ),
            Route("POST", "/{participant}/personas/{revision}/restore", "restore_persona", Right.EDIT, PARTICIPANT),
            Route("POST", "/player", "ensure_player", Right.EDIT, PARTICIPANT, {"name": "Ann"}),
        ),
    )
    + mount(
        "participant_texts",
        "/projects/{project}/participant-texts/{kind}/{participant}",
        (
            Route("GET", "", "list_texts", Right.READ, _LIST_OF_TEXTS),
            Route("POST", "", "add", Right.EDIT, _TEXT, {"text": "Never swears."}, creates=True),
            Route("PUT", "/order", "reorder", Right.EDIT, _LIST_OF_TEXTS, {"items": ["1"]}),
            Route("PATCH", "/{item}", "edit", Right.EDIT, _TEXT, {"text": "Seldom swears."}),
            Route("DELETE", "/{item}", "remove", Right.EDIT, _TEXT),
        ),
    )
    + mount(
        "conversations",
        "/projects/{project}/conversations",
        (
            Route("GET", "", "list_all", Right.READ, make_list(CONVERSATION, "record.id")),
            Route(
                "GET",
                "/pages",
                "list_page",
                Right.READ,
                make_record(
                    "ConversationNumberedPage",
                    conversations=Answer(list[ConversationInfo], _describe_conversation_page),
                ),
            ),
            Route("POST", "", "start", Right.EDIT, CONVERSATION, {"title": "On the quay"}, creates=True, call=_start),
            Route("GET", "/search", "search", Right.READ, _FOUND, {"text": "lamp"}),
            Route(
                "POST",
                "/undo-delete",
                "undo_delete",
                Right.EDIT,
                Answer(ChangeInfo, _describe_step),
            ),
            Route("GET", "/{conversation}", "get", Right.READ, CONVERSATION),
            Route("DELETE", "/{conversation}", "delete", Right.EDIT, NOTHING),
            Route(
                "PUT",
                "/{conversation}/title",
                "rename",
                Right.EDIT,
                make_record("RenamedConversation", version=Answer(int)),
                {"title": "At the pier"},
            ),
            Route("PUT", "/{conversation}/note", "set_note", Right.EDIT, CONVERSATION, {"text": "It rains."}),
            Route("PUT", "/{conversation}/participants/{participant}", "join", Right.EDIT, NOTHING),
            Route("DELETE", "/{conversation}/participants/{participant}", "leave", Right.EDIT, NOTHING),
            Route(
                "GET",
                "/{conversation}/messages",
                "read_page",
                Right.READ,
                PAGE,
                {"limit": 20},
            ),
            Route(
                "POST",
                "/{conversation}/messages",
                "record",
                Right.EDIT,
                MESSAGE,
                {"content": "Good evening."},
                creates=True,
            ),
            Route("GET", "/{conversation}/messages/{message}", "get_message", Right.READ, MESSAGE),
            Route(
                "PUT",
                "/{conversation}/messages/{message}",
                "correct",
                Right.EDIT,
                MESSAGE,
                {"content": "Good morning."},
            ),
            Route("DELETE", "/{conversation}/messages/{message}", "delete_message", Right.EDIT, MESSAGE),
            Route("POST", "/{conversation}/messages/{message}/go-back", "go_back", Right.EDIT, MESSAGE),
            Route("POST", "/{conversation}/messages/{message}/select", "select", Right.EDIT, MESSAGE),
            Route("PUT", "/{conversation}/messages/{message}/pin", "pin", Right.EDIT, MESSAGE, {"words": "lamp"}),
            Route(
                "GET",
                "/{conversation}/branches",
                "list_branches",
                Right.READ,
                make_list(MESSAGE),
            ),
            Route(
                "GET",
                "/{conversation}/tree",
                "read_tree",
                Right.READ,
                make_list(Answer(TreeMessageInfo, _describe_in_tree), "message.id"),
            ),
            Route(
                "GET",
                "/{conversation}/messages/{message}/siblings",
                "list_siblings",
                Right.READ,
                make_list(MESSAGE),
            ),
        ),
    )
    + mount(
        "recaps",
        "/projects/{project}/conversations/{conversation}/recaps",
        (
            Route("GET", "", "list_recaps", Right.READ, make_list(_RECAP)),
            Route("POST", "/rebuild", "rebuild", Right.GENERATE, make_record("RecapRebuild", job=Answer(str))),
            Route("PUT", "/order", "reorder", Right.EDIT, NOTHING, {"items": []}),
            Route("PATCH", "/{item}", "edit", Right.EDIT, _RECAP, {"text": "They met on the quay."}),
            Route("DELETE", "/{item}", "remove", Right.EDIT, NOTHING),
        ),
    )
    + mount(
        "recaps",
        "/projects/{project}/recap-settings",
        (
            Route(
                "GET",
                "",
                "read_settings",
                Right.READ,
                Answer(RecapSettingsInfo, describe_recap_settings),
            ),
        ),
    )
)
