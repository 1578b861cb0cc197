"""The conversation source: the latest messages, as many as the prompt could hold (cnv-2)."""

from __future__ import annotations

from collections.abc import Iterable

from fabula.context.request import SourceRequest
from fabula.context.trace import Verdict
from fabula.conversation.model import Conversations
from fabula.core.errors import Code
from fabula.core.fragment import Fragment
from fabula.core.view import View


class ConversationSource:
    """A source of the history of the request's conversation."""

    name = "conversation"
    unavailable_code = Code.SOURCE_UNAVAILABLE
    blocking = False
    runs_first = True

    def fragments(self, source_request: SourceRequest, view: View) -> Iterable[Fragment]:
        """Offer the newest messages until they exceed the available tokens, oldest first."""
        conversations = view.snapshot(Conversations)
        if conversations is None or not source_request.request.conversation_id:
            return ()
        messages = conversations.fragments.get(source_request.request.conversation_id, ())
        tokens, first = 0, len(messages)
        while first > 0 and tokens <= source_request.available_tokens:
            first -= 1
            tokens += source_request.tokenizer.count(messages[first].text)
        return messages[first:]

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterable[Verdict]:
        """Explain nothing: omitted messages are older than any window reaches."""
        return ()
