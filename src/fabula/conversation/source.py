"""What a conversation offers: its latest messages, as many as the window could hold."""

from __future__ import annotations

from collections.abc import Iterable

from fabula.context.request import Ask
from fabula.context.trace import Verdict
from fabula.conversation.model import Conversations
from fabula.core.errors import Code
from fabula.core.fragment import Fragment
from fabula.core.view import View


class ConversationSource:
    """The history of the conversation a request belongs to."""

    name = "conversation"
    failing = Code.SOURCE_UNAVAILABLE
    waits = False
    ahead = True

    def fragments(self, ask: Ask, view: View) -> Iterable[Fragment]:
        """Newest back to where the window is certainly full, shown oldest first."""
        conversations = view.room(Conversations)
        if conversations is None or not ask.request.conversation_id:
            return ()
        messages = conversations.fragments.get(ask.request.conversation_id, ())
        tokens, first = 0, len(messages)
        while first > 0 and tokens <= ask.window:
            first -= 1
            tokens += ask.tokenizer.count(messages[first].text)
        return messages[first:]

    def absent(self, ask: Ask, view: View) -> Iterable[Verdict]:
        """Older messages are further back than any window reaches."""
        return ()
