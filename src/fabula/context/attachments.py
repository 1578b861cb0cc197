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
from fabula.core.messages import Sentence, message

_KIND = "attachment:"  # how the source of an attachment begins
NO_ROOM_FOR_ATTACHMENT = message("there is no room for it; use a larger window")


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
                message(
                    "The attachment {name} is said to cost {tokens} tokens. Give what it costs, from 0 up.",
                    name=name,
                    tokens=attachment.tokens,
                ),
            )
        description = _describe(attachment, name, measure.phrases.language)
        fragment = Fragment(
            source=f"{_KIND}{attachment.id}",
            layer=Layer.IMMEDIATE,
            text=description,
            project_id=project_id,
            title=name,
            part=Part.SCENE,
        )
        is_image = attachment.kind == "image"
        # A file with a known text is quoted, which every model can read.
        is_accepted = (
            measure.model.accepts_images if is_image else measure.model.accepts_files and not attachment.text.strip()
        )
        can_send = is_accepted and bool(attachment.reference)
        if can_send and attachment.tokens <= available:
            available -= attachment.tokens
            result.tokens += attachment.tokens
            result.sent += (attachment.reference,)
            detail = message("it is sent as an image") if is_image else message("it is sent as a file")
            result.outcomes.append((fragment, Reason.KEPT, attachment.tokens, detail))
        elif description and measure.count_block(description) <= available:
            available -= measure.count_block(description)
            result.described.append(fragment)
        else:
            reason = Reason.NO_ROOM if description or can_send else Reason.EMPTY
            why = explain_dropped(attachment, reason)
            result.outcomes.append((fragment, reason, 0, why))
            result.warnings.append(measure.phrases.format_warning(Code.ATTACHMENT_DROPPED, name=name, why=why))
    return result


def is_attachment(fragment: Fragment) -> bool:
    """Whether a fragment is the text or the description of an attachment."""
    return fragment.source.startswith(_KIND)


def explain_dropped(attachment: Attachment, reason: Reason) -> Sentence:
    """Why an attachment was neither sent nor described."""
    if reason is Reason.NO_ROOM:
        return NO_ROOM_FOR_ATTACHMENT
    if not attachment.reference:
        return message("it has neither text nor description; give it one")
    if attachment.kind == "image":
        return message("this model takes no images and it has no description; describe it, or use another model")
    return message("this model takes no files and it has no description; describe it, or use another model")


def _describe(attachment: Attachment, name: str, language: str) -> str:
    content = "\n".join(part for part in (attachment.description, attachment.text) if part.strip())
    if not content:
        return ""
    if attachment.kind == "image":
        return message("[Image: {name}] {description}", name=name, description=content).render(language)
    return message("[File: {name}] {description}", name=name, description=content).render(language)
