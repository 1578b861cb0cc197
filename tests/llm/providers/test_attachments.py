"""What goes along with a message, in each one's words."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path
from typing import Any

import pytest

from fabula.context.render import Message
from fabula.core.errors import Code, FabulaError
from fabula.llm.model import Call, Provider, Text
from fabula.llm.providers import attachments as attached
from fabula.llm.providers.attachments import attachment, piece_of
from fabula.llm.providers.clipboard import Clipboard
from fabula.llm.providers.local import Local
from tests.llm.calls import answered, openai_at, place_at, refused
from tests.llm.server import Server, anthropic_says, openai_says

PNG = b"\x89PNG\r\n\x1a\nrest"
PDF = b"%PDF-1.7\n1 0 obj << /Type /Page >> 2 0 obj << /Type/Page /Parent 3 >> 3 0 obj << /Type /Pages >>"


def data(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def sent(server: Server, style: str, *messages: Message) -> list[dict[str, Any]]:
    """The messages as the server gets them."""
    server.script = openai_says("Yes.") if style == "openai" else anthropic_says("Yes.")
    answered(place_at(server, style), Call(model="m", messages=messages))
    found: list[dict[str, Any]] = server.seen[-1].asked["messages"]
    return found


def test_openai_gets_images_and_files_behind_the_words(server: Server) -> None:
    along = (data(PNG), data(PDF, "application/pdf"), data("Log: 水".encode(), "text/plain"))
    parts = sent(server, "openai", Message("user", "What is this?", attachments=along))[0]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "file", "text"]
    assert parts[1]["image_url"]["url"] == data(PNG)
    assert parts[2]["file"] == {"filename": "attachment.pdf", "file_data": data(PDF, "application/pdf")}
    assert parts[3]["text"] == "[attachment.txt]\nLog: 水"


def test_anthropic_gets_them_before_the_last_words_and_behind_what_is_cached(server: Server) -> None:
    along = (data(PNG), data(PDF, "application/pdf"), data("Log: 水".encode(), "text/plain"))
    long = "\n\n".join(f"Paragraph {number}: " + "words and more words " * 20 for number in range(20))
    plain = sent(server, "anthropic", Message("user", long))[0]["content"]
    parts = sent(server, "anthropic", Message("user", long, attachments=along))[0]["content"]
    assert parts[: len(plain) - 1] == plain[:-1]
    assert any("cache_control" in part for part in plain[:-1])
    assert parts[-1] == plain[-1]
    image, pdf, text = parts[len(plain) - 1 : -1]
    assert image["source"] == {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}
    assert (pdf["type"], pdf["source"]["media_type"], pdf["title"]) == ("document", "application/pdf", "attachment.pdf")
    assert text["source"] == {"type": "text", "media_type": "text/plain", "data": "Log: 水"}


@pytest.mark.parametrize("style", ["openai", "anthropic"])
@pytest.mark.parametrize("role", ["system", "assistant"])
def test_what_goes_along_is_said_by_the_user_whoever_speaks(server: Server, style: str, role: Any) -> None:
    turns = sent(server, style, Message(role, "Words.", attachments=(data(PNG),)))
    holding = [turn for turn in turns if base64.b64encode(PNG).decode() in str(turn)]
    assert [turn["role"] for turn in holding] == ["user"]


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_an_image_can_be_all_that_is_said(server: Server, style: str) -> None:
    turns = sent(server, style, Message("user", "", attachments=(data(PNG),)))
    assert len(turns[-1]["content"]) == 1


def test_files_of_this_machine_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "deed").write_bytes(PDF)
    assert piece_of(str(tmp_path / "deed")).name == "deed.pdf"
    (tmp_path / "map.png").write_bytes(PNG)
    assert piece_of(f"file:{tmp_path / 'map.png'}").media == "image/png"


@pytest.mark.parametrize("kind", ["image/jpeg", "image/gif", "image/webp"])
def test_an_image_is_what_its_first_bytes_say(kind: str) -> None:
    starts = {"image/jpeg": b"\xff\xd8\xff\xe0", "image/gif": b"GIF89a", "image/webp": b"RIFF0000WEBP"}
    assert piece_of(data(starts[kind], "image/png")).media == kind


@pytest.mark.parametrize(
    "reference",
    [
        "data:image/png,plain",
        "data:image/png;base64,***",
        data(b"\xff\xfe\x00not text"),
        data(b"  \n"),
        data(b"nul\0l"),
        "/dev/zero",
        "/dev/stdin",
        "https://example.org/a.png",
        "/etc/passwd",
        "\0",
        "",
    ],
)
def test_what_cannot_go_along_is_refused_before_anything_is_sent(server: Server, reference: str) -> None:
    error, _ = refused(openai_at(server), Call(model="m", messages=(Message("user", "?", attachments=(reference,)),)))
    assert error.code is Code.LLM_ATTACHMENT_INVALID
    assert not server.seen


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FabulaError):
        piece_of(str(tmp_path / "pipe"))


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached, "LARGEST", 100)
    (tmp_path / "large.png").write_bytes(PNG + b"x" * 100)
    for reference in (str(tmp_path / "large.png"), data(PNG + b"x" * 100)):
        with pytest.raises(FabulaError, match="larger"):
            piece_of(reference)


def test_a_chosen_file_becomes_what_a_request_takes(tmp_path: Path) -> None:
    for name, content in (("map.png", PNG), ("deed.pdf", PDF), ("log.txt", "\ufeff水位两尺".encode())):
        (tmp_path / name).write_bytes(content)
    image, pdf, text = (attachment(tmp_path / name) for name in ("map.png", "deed.pdf", "log.txt"))
    assert (image.kind, image.reference, image.tokens) == ("image", str(tmp_path / "map.png"), attached.IMAGE_TOKENS)
    assert (pdf.kind, pdf.tokens) == ("file", 2 * attached.PAGE_TOKENS)
    assert (text.kind, text.text, text.reference) == ("file", "水位两尺", "")


def one(provider: Provider) -> str:
    async def run() -> str:
        call = Call(model="m", messages=(Message("user", "Look.", attachments=("folder/map.png",)),))
        event = await anext(provider.stream(call))
        return event.text if isinstance(event, Text) else ""

    return asyncio.run(run())


def test_the_clipboard_says_what_to_attach_by_hand() -> None:
    assert one(Clipboard()) == "Look.\n\n[map.png]"


def test_the_local_model_says_that_it_takes_none() -> None:
    with pytest.raises(FabulaError) as refusal:
        one(Local())
    assert refusal.value.code is Code.LLM_ATTACHMENT_INVALID
