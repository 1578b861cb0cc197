"""What goes along with a message: images and files, from this machine or given as data.

What something is, its first bytes say, not its name. Of files on this machine only images and PDF documents are read:
a request that names some other file (a key, a password list) gets nothing out of it. Text has no need to go along as
a file; it is quoted in the prompt, or given as data.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import stat
from pathlib import Path
from typing import Literal

from msgspec import Struct

from fabula.context.request import Attachment
from fabula.core.errors import Code, FabulaError

LARGEST = 20_000_000  # bytes
LONGEST_TEXT = 2_000_000  # characters of a file that is quoted
IMAGE_TOKENS = 1_600  # the most that an image of ordinary size costs anywhere
PAGE_TOKENS = 3_000  # the most that vendors say of a page of PDF

Kind = Literal["image", "pdf", "text"]
_STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")


class Piece(Struct, frozen=True):
    """Something that goes along, as providers take it. Text stands in `text`, everything else in `data` (base64)."""

    kind: Kind
    media: str
    name: str
    data: str = ""
    text: str = ""

    @property
    def url(self) -> str:
        """As one address that holds it all."""
        return f"data:{self.media};base64,{self.data}"


def piece_of(reference: str) -> Piece:
    """What an attachment's reference points at; it was chosen by the user, and is read here and nowhere else."""
    given = reference.startswith("data:")
    content = _data(reference) if given else _file(_path(reference))
    name = "attachment" if given else _path(reference).name
    media = _media(content)
    if media:
        kind: Kind = "pdf" if media == "application/pdf" else "image"
        if kind == "pdf" and not name.lower().endswith(".pdf"):
            name += ".pdf"
        return Piece(kind, media, name, data=base64.b64encode(content).decode())
    if given:
        return Piece("text", "text/plain", f"{name}.txt", text=_text(content))
    raise _refused("it is neither an image (PNG, JPEG, GIF, WebP) nor a PDF document")


def attachment(path: Path) -> Attachment:
    """A file somebody chose, as a request takes it: images and PDF to be sent, text to be quoted."""
    content = _file(path)
    media = _media(content)
    if media == "application/pdf":
        tokens = PAGE_TOKENS * max(len(_PAGE.findall(content)), 1)
        return Attachment(id=path.name, kind="file", name=path.name, reference=str(path), tokens=tokens)
    if media:
        return Attachment(id=path.name, kind="image", name=path.name, reference=str(path), tokens=IMAGE_TOKENS)
    return Attachment(id=path.name, kind="file", name=path.name, text=_text(content))


def _media(content: bytes) -> str:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((media for start, media in _STARTS.items() if content.startswith(start)), "")


def _text(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refused("it is neither an image, nor a PDF document, nor text in UTF-8") from error
    if "\0" in text or not text.strip():
        raise _refused("it holds no text")
    if len(text) > LONGEST_TEXT:
        raise _refused(f"it is longer than {LONGEST_TEXT:,} characters")
    return text


def _data(reference: str) -> bytes:
    head, _, body = reference.partition(",")
    if not head.endswith(";base64"):
        raise _refused("its data is not base64")
    if len(body) > LARGEST * 4 // 3 + 4:
        raise _too_large()
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _refused("its data is not base64") from error


def _path(reference: str) -> Path:
    return Path(reference.removeprefix("file://").removeprefix("file:"))


def _file(path: Path) -> bytes:
    """A plain file, whole; a device or a pipe would never end."""
    try:
        opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(opened, "rb") as file:
            about = os.fstat(opened)
            if not stat.S_ISREG(about.st_mode):
                raise _refused("it is no file")
            content = b"" if about.st_size > LARGEST else file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise _refused("its file cannot be read") from error
    if about.st_size > LARGEST or len(content) > LARGEST:
        raise _too_large()
    return content


def _too_large() -> FabulaError:
    return _refused(f"it is larger than {LARGEST // 1_000_000} MB")


def _refused(why: str) -> FabulaError:
    return FabulaError(Code.LLM_ATTACHMENT_INVALID, f"An attachment cannot be sent: {why}. Nothing was sent.")
