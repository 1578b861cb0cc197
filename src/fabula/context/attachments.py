"""Attachments: sent, described, or dropped with a reason.

An image goes along where the model takes images; otherwise its description stands in for it. A
file's text is quoted. All of it is counted before anything else of the immediate layer is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from fabula.context.measure import Measure
from fabula.context.request import Attachment
from fabula.context.trace import Outcome, Reason
from fabula.core.errors import Code, FabulaError
from fabula.core.fragments import Fragment, Layer, Part


class Attached(Struct):
    """What came of the attachments."""

    sent: tuple[str, ...] = ()
    tokens: int = 0
    described: list[Fragment] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def attach(attachments: Sequence[Attachment], project_id: str, measure: Measure, room: int) -> Attached:
    """Take attachments in order, as far as the room reaches."""
    done = Attached()
    sent: list[str] = []
    for item in attachments:
        if item.tokens < 0:
            raise FabulaError(
                Code.REQUEST_INVALID,
                f"The attachment {item.name or item.id} is said to cost {item.tokens} tokens. "
                "Give what it costs, from 0 up.",
            )
        words = _words(item, measure)
        fragment = Fragment(
            source=f"attachment:{item.id}",
            layer=Layer.IMMEDIATE,
            text=words,
            project_id=project_id,
            title=item.name or item.id,
            part=Part.SCENE,
        )
        if item.kind == "image" and measure.model.images and item.reference and item.tokens <= room:
            room -= item.tokens
            done.tokens += item.tokens
            sent.append(item.reference)
            done.outcomes.append((fragment, Reason.KEPT, item.tokens, "sent as an image"))
        elif words and measure.piece(words) <= room:
            room -= measure.piece(words)
            done.described.append(fragment)
        else:
            why = "it has neither text nor description" if not words else "there is no room for it"
            done.outcomes.append((fragment, Reason.NO_ROOM if words else Reason.EMPTY, 0, why))
            done.warnings.append(f"{Code.ATTACHMENT_DROPPED.value}: {item.name or item.id} was left out: {why}")
    done.sent = tuple(sent)
    return done


def _words(item: Attachment, measure: Measure) -> str:
    inside = "\n".join(part for part in (item.description, item.text) if part.strip())
    if not inside:
        return ""
    pattern = measure.words.image if item.kind == "image" else measure.words.file
    return pattern.format(name=item.name or item.id, description=inside)
