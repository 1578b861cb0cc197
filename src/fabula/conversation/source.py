"""The conversation source: offers the latest messages of the active path, which `context/fit` then cuts (cnv-2, cnv-3).

The input is part of the prompt once: where it is recorded already, as the newest message, it is left out of the
history. A prompt for a participant ends with whose turn it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from fabula.context.gate import Gate
from fabula.context.gather import FunctionSource
from fabula.context.place import MODE_NOTE, TURN
from fabula.context.recipes import NOVEL
from fabula.context.request import Request, SourceRequest
from fabula.conversation.documents import limit_to_document
from fabula.conversation.model import Conversations, Message, MessageKind, get_kind, make_history_fragments
from fabula.conversation.participants import Participants, strip_revision
from fabula.conversation.presence import Attendance
from fabula.core.fragment import Fragment, Layer, Part
from fabula.core.messages import message
from fabula.core.view import View
from fabula.text.offsets import normalise

_STEP_NAMES = {
    MessageKind.PLAN: message("Plan"),
    MessageKind.ACTION: message("Action"),
    MessageKind.OBSERVATION: message("Observation"),
    MessageKind.KNOWLEDGE: message("Knowledge"),
}


def offer_history(source_request: SourceRequest, view: View) -> Iterable[Fragment]:
    """Offer the newest messages until they exceed the tokens they may have, oldest first; no window reaches further.

    Messages that the gate will stop do not count, so that a speaker who heard little gets as much of it as fits.
    """
    request, conversations = source_request.request, view.snapshot(Conversations)
    if conversations is None or not request.conversation_id or not request.with_history:
        return ()
    messages: Sequence[Fragment] = conversations.fragments.get(request.conversation_id, ())
    if messages and is_recorded(request, conversations.messages.get(request.conversation_id, ())):
        messages = messages[:-1]
    if source_request.history_window.step_kinds:
        messages = _add_steps(source_request, conversations, messages)
    messages = limit_to_document(request, view, messages)
    cap = source_request.history_window.max_tokens
    limit = source_request.available_tokens if cap is None else min(cap, source_request.available_tokens)
    tokens, first = 0, len(messages)
    gate = Gate(view.project.id, source_request.vantage, view.timeline)
    while first > 0 and tokens <= limit:
        first -= 1
        if gate.judge(messages[first]) is None:
            tokens += source_request.tokenizer.count(messages[first].text)
    return messages[first:]


def _add_steps(
    source_request: SourceRequest, conversations: Conversations, history: Iterable[Fragment]
) -> list[Fragment]:
    """Return the history with the steps on the way to replies that the recipe wants, each with its kind before it."""
    request, kinds = source_request.request, source_request.history_window.step_kinds
    ident, by_source = request.conversation_id, {one.source: one for one in history}
    attendance, names = conversations.attendances.get(ident, Attendance()), conversations.speaker_names.get(ident)
    shown: list[Fragment] = []
    for one in conversations.messages.get(ident, ()):
        if one.final:
            shown += filter(None, (by_source.get(f"history:{one.id}"),))
        elif (kind := get_kind(one)) in kinds and kind in _STEP_NAMES:
            line = message("[{kind}] {text}", kind=_STEP_NAMES[kind], text=one.prompt_text)
            step = replace(one, content=line.render(source_request.language), extra={}, final=True)
            shown += make_history_fragments(
                request.project_id, (step,), attendance.find_knowers, names, source_request.language
            )
    return shown


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
            source=MODE_NOTE,
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
        source=TURN,
        layer=Layer.IMMEDIATE,
        text=text.render(source_request.language),
        project_id=request.project_id,
        part=Part.INSTRUCTION,
        score=1.0,
        explanation=message("the next to speak"),
    )


def name_participant(ident: str, view: View) -> str:
    """Return the name of a participant; empty for anybody else."""
    known = (view.snapshot(Participants) or Participants()).by_id.get(strip_revision(ident))
    return known.name if known is not None else ""


CONVERSATION_SOURCE = FunctionSource(
    name="conversation", function=offer_history, blocking=False, runs_first=True, name_character=name_participant
)
TURN_SOURCE = FunctionSource(name=TURN, function=offer_turn, blocking=False)
