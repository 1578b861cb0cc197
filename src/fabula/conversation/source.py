"""The conversation source: offers the latest messages of the active path, which `context/fit` then cuts (cnv-2).

The input is part of the prompt once: where it is recorded already, as the newest message, it is left out of the
history. A prompt for a participant ends with whose turn it is.
"""

from __future__ import annotations

from collections.abc import Iterable

from fabula.context.gate import judge_visibility
from fabula.context.gather import FunctionSource
from fabula.context.recipes import NOVEL
from fabula.context.request import Request, SourceRequest
from fabula.conversation.documents import limit_to_document
from fabula.conversation.model import Conversations, Message
from fabula.core.fragment import Fragment, Layer, Part
from fabula.core.messages import message
from fabula.core.view import View
from fabula.text.offsets import normalise


def offer_history(source_request: SourceRequest, view: View) -> Iterable[Fragment]:
    """Offer the newest messages until they exceed the tokens they may have, oldest first; no window reaches further.

    Messages that the gate will stop do not count, so that a speaker who heard little gets as much of it as fits.
    """
    request, conversations = source_request.request, view.snapshot(Conversations)
    if conversations is None or not request.conversation_id or not request.with_history:
        return ()
    messages = limit_to_document(request, view, conversations.fragments.get(request.conversation_id, ()))
    if messages and is_recorded(request, conversations.messages.get(request.conversation_id, ())):
        messages = messages[:-1]
    cap = source_request.history_window.max_tokens
    limit = source_request.available_tokens if cap is None else min(cap, source_request.available_tokens)
    tokens, first = 0, len(messages)
    while first > 0 and tokens <= limit:
        first -= 1
        if judge_visibility(messages[first], source_request.vantage, view.timeline) is None:
            tokens += source_request.tokenizer.count(messages[first].text)
    return messages[first:]


def is_recorded(request: Request, path: Iterable[Message]) -> bool:
    """Return whether the newest final message of a path is the input of the request."""
    newest = next((one for one in reversed(tuple(path)) if one.final), None)
    text = normalise(request.additional_input).strip()
    if newest is None or not text:
        return False
    return newest.role == "user" and newest.content.strip() == text


def offer_turn(source_request: SourceRequest, view: View) -> Iterable[Fragment]:
    """Offer the last line of a prompt for a participant: who speaks next."""
    request = source_request.request
    if not request.speaker_id or not request.conversation_id or request.recipe in ("", NOVEL.name):
        return
    if request.speaker_note:
        yield Fragment(
            source="mode",
            layer=Layer.IMMEDIATE,
            text=request.speaker_note,
            project_id=request.project_id,
            part=Part.INSTRUCTION,
            score=1.0,
            known_to=frozenset({request.speaker_id}),
            explanation=message("what the mode tells who speaks next"),
        )
    name = request.speaker_name or request.speaker_id
    text = message("[{name} speaks next. Write only what {name} says and does.]", name=name)
    yield Fragment(
        source="turn",
        layer=Layer.IMMEDIATE,
        text=text.render(source_request.language),
        project_id=request.project_id,
        part=Part.INSTRUCTION,
        score=1.0,
        explanation=message("the next to speak"),
    )


CONVERSATION_SOURCE = FunctionSource(name="conversation", function=offer_history, blocking=False, runs_first=True)
TURN_SOURCE = FunctionSource(name="turn", function=offer_turn, blocking=False)
