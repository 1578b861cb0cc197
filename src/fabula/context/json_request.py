"""JSON at the doors: camelCase names as in the specification, cursors in UTF-16 units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from fabula.context.recipes.preset import Preset
from fabula.context.render import Message
from fabula.context.request import Attachment, Request
from fabula.context.result import Result
from fabula.context.trace import Verdict
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Eyes
from fabula.text.offsets import from_utf16, normalise, through_line_ends


class WireRequest(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """A request as it comes in."""

    project_id: str
    document_id: str = ""
    cursor_position: int | None = None
    skill_id: str = "continue"
    additional_input: str = ""
    model: str = "gpt-4o"
    window: int | None = None
    encoding: str | None = None
    reply_tokens: int | None = None
    recipe: str = ""
    preset: Preset | None = None
    selection: tuple[int, int] | None = None
    conversation_id: str = ""
    mode: str = ""
    speaker_id: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    revision: int | None = None
    unsaved_text: str | None = None
    eyes: Eyes | None = None
    character: str | None = None
    late_joiners: bool | None = None
    session: dict[str, str] = {}
    attachments: tuple[Attachment, ...] = ()


def read_request(data: bytes | str, text_of: Callable[[str], str | None]) -> Request:
    """A request from JSON. `text_of` gives a document's stored text, to count units in."""
    try:
        wire = msgspec.json.decode(data, type=WireRequest)
    except msgspec.MsgspecError as error:
        raise FabulaError(Code.REQUEST_INVALID, f"The request could not be read: {error}.") from error
    fields = {name: getattr(wire, name) for name in wire.__struct_fields__ if name != "cursor_position"}
    sent = wire.unsaved_text if wire.unsaved_text is not None else text_of(wire.document_id)

    def place(units: int) -> int:
        """Units of the text as sent; line ends are normalised afterwards."""
        if sent is None:
            return units
        return through_line_ends(sent, from_utf16(sent, units))

    if wire.cursor_position is not None:
        fields["cursor"] = place(wire.cursor_position)
    if wire.selection is not None:
        fields["selection"] = (place(wire.selection[0]), place(wire.selection[1]))
    if wire.unsaved_text is not None:
        fields["unsaved_text"] = normalise(wire.unsaved_text)
    return Request(**fields)


def result_json(result: Result) -> dict[str, Any]:
    """A result by the names of the specification."""
    return {
        "prompt": result.prompt,
        "messages": [_message(message) for message in result.messages],
        "tokenCount": result.token_count,
        "tokensExact": result.exact,
        "stablePrefixHash": result.stable_prefix_hash,
        "stablePrefixUnchanged": result.stable_prefix_unchanged,
        "layers": {
            layer.value: {"tokens": report.tokens, "truncated": report.truncated}
            | ({"chunks": report.chunks} if report.chunks is not None else {})
            for layer, report in result.layers.items()
        },
        "preset": {"tokens": result.preset_tokens},
        "identity": {"tokens": result.identity_tokens},
        "attachments": {"tokens": result.rendered.attachments},
        "overhead": result.rendered.overhead,
        "budget": {
            "window": result.budget.window,
            "reply": result.budget.reply,
            "total": result.budget.total,
            "layers": result.budget.layers,
        },
        "model": result.model.name,
        "vantage": result.vantage.name,
        "warnings": list(result.warnings),
    }


def _message(message: Message) -> dict[str, Any]:
    plain: dict[str, Any] = {"role": message.role, "content": message.content}
    return {**plain, "attachments": list(message.attachments)} if message.attachments else plain


def inspection_json(result: Result) -> dict[str, Any]:
    """The same with a verdict for every fragment."""
    return {**result_json(result), "fragments": [verdict_json(verdict) for verdict in result.trace]}


def verdict_json(verdict: Verdict) -> Mapping[str, Any]:
    """One verdict by the names of the specification."""
    return {
        "source": verdict.source,
        "title": verdict.title,
        "layer": verdict.layer.value if verdict.layer is not None else "preset",
        "included": verdict.included,
        "reason": verdict.reason.value,
        "why": verdict.sentence,
        "tokenCount": verdict.tokens,
        "score": round(verdict.score, 4),
        "text": verdict.text,
    }
