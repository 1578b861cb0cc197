"""Attachments: each is sent, described as text, or dropped with a reason (inj-5).

An image is sent where the model accepts images, a document where it accepts files; otherwise its
description takes its place. A file whose text is known is quoted. Attachments take their tokens
before the immediate layer is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from fabula.context.measure import Measure
from fabula.context.request import Attachment
from fabula.context.trace import FragmentOutcome, Reason
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer, Part


class AttachmentResult(Struct):
    """What became of the attachments."""

    sent: tuple[str, ...] = ()
    tokens: int = 0  # of those that are sent
    described: list[Fragment] = field(default_factory=list)
    outcomes: list[FragmentOutcome] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def fit_attachments(
    attachments: Sequence[Attachment], project_id: str, measure: Measure, available: int
) -> AttachmentResult:
    """Take attachments in their order, as long as tokens are available."""
    result = AttachmentResult()
    for attachment in attachments:
        name = attachment.name or attachment.id
        if attachment.tokens < 0:
            raise FabulaError(
                Code.REQUEST_INVALID,
                f"The attachment {name} is said to cost {attachment.tokens} tokens. Give what it costs, from 0 up.",
            )
        description = _describe(attachment, measure)
        fragment = Fragment(
            source=f"attachment:{attachment.id}",
            layer=Layer.IMMEDIATE,
            text=description,
            project_id=project_id,
            title=name,
            part=Part.SCENE,
        )
        can_send = _can_send(attachment, measure)
        if can_send and attachment.tokens <= available:
            available -= attachment.tokens
            result.tokens += attachment.tokens
            result.sent += (attachment.reference,)
            detail = "sent as an image" if attachment.kind == "image" else "sent as a file"
            result.outcomes.append((fragment, Reason.KEPT, attachment.tokens, detail))
        elif description and measure.count_block(description) <= available:
            available -= measure.count_block(description)
            result.described.append(fragment)
        else:
            too_large = bool(description) or can_send
            why = measure.phrases.attachment_reasons["room" if too_large else _no_content_reason(attachment)]
            result.outcomes.append((fragment, Reason.NO_ROOM if too_large else Reason.EMPTY, 0, why))
            result.warnings.append(measure.phrases.format_warning(Code.ATTACHMENT_DROPPED, name=name, why=why))
    return result


def _can_send(attachment: Attachment, measure: Measure) -> bool:
    """Whether the model accepts it as it is. A file with a known text is quoted, which every model can read."""
    if attachment.kind == "image":
        return measure.model.accepts_images and bool(attachment.reference)
    return measure.model.accepts_files and bool(attachment.reference) and not attachment.text.strip()


def _no_content_reason(attachment: Attachment) -> str:
    if not attachment.reference:
        return "nothing"
    return "image" if attachment.kind == "image" else "file"


def _describe(attachment: Attachment, measure: Measure) -> str:
    content = "\n".join(part for part in (attachment.description, attachment.text) if part.strip())
    if not content:
        return ""
    pattern = measure.phrases.image if attachment.kind == "image" else measure.phrases.file
    return pattern.format(name=attachment.name or attachment.id, description=content)
