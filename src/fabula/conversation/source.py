"""The conversation source: offers the latest messages of the active path, which `context/fit` then cuts (cnv-2)."""

from __future__ import annotations

from collections.abc import Iterable

from fabula.context.gather import FunctionSource
from fabula.context.request import SourceRequest
from fabula.conversation.model import Conversations
from fabula.core.fragment import Fragment
from fabula.core.view import View


def offer_history(source_request: SourceRequest, view: View) -> Iterable[Fragment]:
    """Offer the newest messages until they exceed the available tokens, oldest first; no window reaches further."""
    conversations = view.snapshot(Conversations)
    if conversations is None or not source_request.request.conversation_id:
        return ()
    messages = conversations.fragments.get(source_request.request.conversation_id, ())
    tokens, first = 0, len(messages)
    while first > 0 and tokens <= source_request.available_tokens:
        first -= 1
        tokens += source_request.tokenizer.count(messages[first].text)
    return messages[first:]


CONVERSATION_SOURCE = FunctionSource(name="conversation", function=offer_history, blocking=False, runs_first=True)
