"""Who says what a person says in a chat: the player of whoever asks, unless a speaker is named (cnv-4).

Each person has a player of their own, found by the name of the account. A player who is called after no account stands
for everybody. What somebody with an account says is never recorded as another person's: their own player joins the
conversation first.
"""

from __future__ import annotations

from fabula.conversation import edits
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.view import View
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.workspace.chat.rounds import PLAYER_PREFIX, ChatState, load_chat
from fabula.workspace.participants import AccountNames, ensure_player, list_players


def find_present_player(reading: ReadTransaction, chat: ChatState, accounts: AccountNames) -> str:
    """Return the id of the player as whom somebody talks in a conversation; empty where none of theirs is present."""
    players = list_players(reading, accounts)
    return next((one.id for one in players if one.id in chat.attendance.present), "")


def ensure_sender(view: View, tx: WriteTransaction, chat: ChatState, accounts: AccountNames) -> tuple[ChatState, str]:
    """Return who says what a person says, and the chat with them; empty where no player takes part: the writer.

    Somebody with an account joins a conversation of other people. A player who has left would not hear the answer, and
    is refused.
    """
    if not any(one.startswith(PLAYER_PREFIX) for one in chat.attendance.participants):
        return chat, ""
    found = find_present_player(tx, chat, accounts)
    if found:
        return chat, found
    players = sorted(one for one in chat.attendance.participants if one.startswith(PLAYER_PREFIX))
    own = ensure_player(view, tx, accounts) if accounts.own else players[0]
    if own in players:
        raise FabulaError(
            Code.REQUEST_INVALID,
            message(
                "{name} has left this conversation. Let them join first, or say who speaks. Nothing was changed.",
                name=chat.people.name_of(own),
            ),
        )
    edits.join_conversation(tx, chat.record.id, own)
    return load_chat(tx, chat.record.id), own
