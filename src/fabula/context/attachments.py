"""Attachments: sent, described, or dropped with a reason.

An image goes along where the model takes images, a document where it takes files; otherwise a description
stands in for it. A file's text is quoted. All of it is counted before anything else of the immediate layer
is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from fabula.context.measure import Measure
from fabula.context.request import Attachment
from fabula.context.trace import Outcome, Reason
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer, Part


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
        if _goes_along(item, measure) and item.tokens <= room:
            room -= item.tokens
            done.tokens += item.tokens
            sent.append(item.reference)
            as_what = "sent as an image" if item.kind == "image" else "sent as a file"
            done.outcomes.append((fragment, Reason.KEPT, item.tokens, as_what))
        elif words and measure.piece(words) <= room:
            room -= measure.piece(words)
            done.described.append(fragment)
        else:
            fits_not = bool(words) or _goes_along(item, measure)
            why = measure.words.no_way["room" if fits_not else _no_way(item)]
            done.outcomes.append((fragment, Reason.NO_ROOM if fits_not else Reason.EMPTY, 0, why))
            done.warnings.append(measure.words.warn(Code.ATTACHMENT_DROPPED, name=item.name or item.id, why=why))
    done.sent = tuple(sent)
    return done


def _goes_along(item: Attachment, measure: Measure) -> bool:
    """Does the model take it as it is? A file whose text is known is quoted instead, which every model can read."""
    if item.kind == "image":
        return measure.model.images and bool(item.reference)
    return measure.model.files and bool(item.reference) and not item.text.strip()


def _no_way(item: Attachment) -> str:
    if not item.reference:
        return "nothing"
    return "image" if item.kind == "image" else "file"


def _words(item: Attachment, measure: Measure) -> str:
    inside = "\n".join(part for part in (item.description, item.text) if part.strip())
    if not inside:
        return ""
    pattern = measure.words.image if item.kind == "image" else measure.words.file
    return pattern.format(name=item.name or item.id, description=inside)
