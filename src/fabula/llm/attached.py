"""Images that go along with a message: from a file, or given as data."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path

from msgspec import Struct

from fabula.core.errors import Code, FabulaError

LARGEST = 20_000_000  # bytes
_KINDS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


class Image(Struct, frozen=True):
    """An image as providers take it."""

    kind: str
    data: str  # base64

    @property
    def url(self) -> str:
        """As one address that holds it all."""
        return f"data:{self.kind};base64,{self.data}"


def image_part(reference: str) -> Image:
    """What an attachment's reference points at; it was chosen by the user, and is read here and nowhere else."""
    content = _data(reference) if reference.startswith("data:") else _file(reference)
    if len(content) > LARGEST:
        raise _refused(f"it is larger than {LARGEST // 1_000_000} MB")
    kind = next((kind for start, kind in _KINDS.items() if content.startswith(start)), "")
    if not kind and content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        kind = "image/webp"
    if not kind:
        raise _refused("it is neither PNG, JPEG, GIF nor WebP")
    return Image(kind, base64.b64encode(content).decode())


def _data(reference: str) -> bytes:
    head, _, body = reference.partition(",")
    if not head.endswith(";base64"):
        raise _refused("its data is not base64")
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _refused("its data is not base64") from error


def _file(reference: str) -> bytes:
    path = Path(reference)
    try:
        if path.stat().st_size > LARGEST:
            raise _refused(f"it is larger than {LARGEST // 1_000_000} MB")
        return path.read_bytes()
    except OSError as error:
        raise _refused("its file cannot be read") from error


def _refused(why: str) -> FabulaError:
    return FabulaError(Code.LLM_ATTACHMENT_INVALID, f"An image cannot be sent: {why}. Nothing was sent.")
