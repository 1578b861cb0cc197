"""Attachments of messages: loads images, PDF documents and text for the providers (inj-5).

The first bytes of a file say what it is, not its name. Of the files on this machine only images and PDF documents are
read, so a request that names another file (a key, a list of passwords) learns nothing from it. Text files are quoted in
the prompt instead; text also arrives as a `data:` URL.
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
from fabula.core.messages import Sentence, message

MAX_BYTES = 20_000_000
MAX_TEXT_CHARACTERS = 2_000_000  # of a text file that is quoted
IMAGE_TOKENS = 1_600  # the highest count of any vendor for an ordinary image
PAGE_TOKENS = 3_000  # the highest count of any vendor for a page of PDF

ContentKind = Literal["image", "pdf", "text"]
_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")


class AttachmentContent(Struct, frozen=True):
    """A loaded attachment: text in `text`, everything else as base64 in `data`."""

    kind: ContentKind
    media_type: str
    name: str
    data: str = ""
    text: str = ""

    @property
    def url(self) -> str:
        """The content as a `data:` URL."""
        return f"data:{self.media_type};base64,{self.data}"


def load_attachment(reference: str) -> AttachmentContent:
    """Load the content of an attachment from a path, a `file:` URL or a `data:` URL."""
    is_data = reference.startswith("data:")
    content = _decode_data(reference) if is_data else _read_file(_parse_path(reference))
    name = "attachment" if is_data else _parse_path(reference).name
    media_type = _detect_media_type(content)
    if media_type:
        kind: ContentKind = "pdf" if media_type == "application/pdf" else "image"
        if kind == "pdf" and not name.lower().endswith(".pdf"):
            name += ".pdf"
        return AttachmentContent(kind, media_type, name, data=base64.b64encode(content).decode())
    if is_data:
        return AttachmentContent("text", "text/plain", f"{name}.txt", text=_decode_text(content))
    raise _invalid_attachment(message("it is neither an image (PNG, JPEG, GIF, WebP) nor a PDF document"))


def make_attachment(path: Path) -> Attachment:
    """Make the attachment of a request from a file: images and PDF are sent, text is quoted."""
    content = _read_file(path)
    media_type = _detect_media_type(content)
    if media_type:
        kind = "file" if media_type == "application/pdf" else "image"
        tokens = _count_tokens(content, media_type)
        return Attachment(id=path.name, kind=kind, name=path.name, reference=str(path), tokens=tokens)
    return Attachment(id=path.name, kind="file", name=path.name, text=_decode_text(content))


def count_attachment_tokens(reference: str) -> int:
    """What an attachment costs by its content, whatever its sender says: a path, a `file:` URL or a `data:` URL."""
    content = _decode_data(reference) if reference.startswith("data:") else _read_file(_parse_path(reference))
    return _count_tokens(content, _detect_media_type(content))


def _count_tokens(content: bytes, media_type: str) -> int:
    if media_type == "application/pdf":
        return PAGE_TOKENS * max(len(_PAGE.findall(content)), 1)
    return IMAGE_TOKENS if media_type else len(content)  # no vocabulary makes more tokens of a text than it has bytes


def _detect_media_type(content: bytes) -> str:
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for start, media_type in _SIGNATURES.items() if content.startswith(start)), "")


def _decode_text(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _invalid_attachment(message("it is neither an image, nor a PDF document, nor text in UTF-8")) from error
    if "\0" in text or not text.strip():
        raise _invalid_attachment(message("it contains no text"))
    if len(text) > MAX_TEXT_CHARACTERS:
        raise _invalid_attachment(message("it is longer than {limit:,} characters", limit=MAX_TEXT_CHARACTERS))
    return text


def _decode_data(reference: str) -> bytes:
    head, _, body = reference.partition(",")
    if not head.endswith(";base64"):
        raise _invalid_attachment(message("its data is not base64"))
    if len(body) > MAX_BYTES * 4 // 3 + 4:
        raise _too_large()
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _invalid_attachment(message("its data is not base64")) from error


def _parse_path(reference: str) -> Path:
    return Path(reference.removeprefix("file://").removeprefix("file:"))


def _read_file(path: Path) -> bytes:
    """Read a regular file; reading a device or a pipe might never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise _invalid_attachment(message("it is no file"))
            content = b"" if status.st_size > MAX_BYTES else file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _invalid_attachment(message("its file cannot be read")) from error
    if status.st_size > MAX_BYTES or len(content) > MAX_BYTES:
        raise _too_large()
    return content


def _too_large() -> FabulaError:
    return _invalid_attachment(message("it is larger than {limit} MB", limit=MAX_BYTES // 1_000_000))


def _invalid_attachment(why: Sentence) -> FabulaError:
    sentence = message("An attachment cannot be sent: {why}. Nothing was sent.", why=why)
    return FabulaError(Code.LLM_ATTACHMENT_INVALID, sentence)
