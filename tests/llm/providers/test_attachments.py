"""Attachments: loading, limits, and the form that each API takes."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path
from typing import Any

import pytest

from fabula.context.render import PromptMessage
from fabula.core.errors import Code, FabulaError
from fabula.llm.model import ModelCall, Provider, TextChunk
from fabula.llm.providers import attachments as attached
from fabula.llm.providers.attachments import load_attachment, make_attachment
from fabula.llm.providers.clipboard import ClipboardProvider
from fabula.llm.providers.local import LocalProvider
from tests.llm.calls import collect_events, config_for, expect_error, openai_config
from tests.llm.server import ModelServer, anthropic_answer, openai_answer

PNG = b"\x89PNG\r\n\x1a\nrest"
PDF = b"%PDF-1.7\n1 0 obj << /Type /Page >> 2 0 obj << /Type/Page /Parent 3 >> 3 0 obj << /Type /Pages >>"


def data(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def sent(server: ModelServer, style: str, *messages: PromptMessage) -> list[dict[str, Any]]:
    """The messages as the server gets them."""
    server.script = openai_answer("Yes.") if style == "openai" else anthropic_answer("Yes.")
    collect_events(config_for(server, style), ModelCall(model="m", messages=messages))
    found: list[dict[str, Any]] = server.exchanges[-1].request["messages"]
    return found


def test_openai_gets_attachments_after_the_text(server: ModelServer) -> None:
    along = (data(PNG), data(PDF, "application/pdf"), data("Log: 水".encode(), "text/plain"))
    parts = sent(server, "openai", PromptMessage("user", "What is this?", attachments=along))[0]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "file", "text"]
    assert parts[1]["image_url"]["url"] == data(PNG)
    assert parts[2]["file"] == {"filename": "attachment.pdf", "file_data": data(PDF, "application/pdf")}
    assert parts[3]["text"] == "[attachment.txt]\nLog: 水"


def test_anthropic_gets_attachments_before_the_last_block_and_after_the_cached_ones(server: ModelServer) -> None:
    along = (data(PNG), data(PDF, "application/pdf"), data("Log: 水".encode(), "text/plain"))
    long = "\n\n".join(f"Paragraph {number}: " + "words and more words " * 20 for number in range(20))
    plain = sent(server, "anthropic", PromptMessage("user", long))[0]["content"]
    parts = sent(server, "anthropic", PromptMessage("user", long, attachments=along))[0]["content"]
    assert parts[: len(plain) - 1] == plain[:-1]
    assert any("cache_control" in part for part in plain[:-1])
    assert parts[-1] == plain[-1]
    image, pdf, text = parts[len(plain) - 1 : -1]
    assert image["source"] == {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()}
    assert (pdf["type"], pdf["source"]["media_type"], pdf["title"]) == ("document", "application/pdf", "attachment.pdf")
    assert text["source"] == {"type": "text", "media_type": "text/plain", "data": "Log: 水"}


@pytest.mark.parametrize("style", ["openai", "anthropic"])
@pytest.mark.parametrize("role", ["system", "assistant"])
def test_attachments_are_the_users_whatever_the_role_of_their_message(
    server: ModelServer, style: str, role: Any
) -> None:
    turns = sent(server, style, PromptMessage(role, "Words.", attachments=(data(PNG),)))
    holding = [turn for turn in turns if base64.b64encode(PNG).decode() in str(turn)]
    assert [turn["role"] for turn in holding] == ["user"]


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_a_message_may_consist_of_an_image(server: ModelServer, style: str) -> None:
    turns = sent(server, style, PromptMessage("user", "", attachments=(data(PNG),)))
    assert len(turns[-1]["content"]) == 1


def test_files_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "deed").write_bytes(PDF)
    assert load_attachment(str(tmp_path / "deed")).name == "deed.pdf"
    (tmp_path / "map.png").write_bytes(PNG)
    assert load_attachment(f"file:{tmp_path / 'map.png'}").media_type == "image/png"


@pytest.mark.parametrize("kind", ["image/jpeg", "image/gif", "image/webp"])
def test_the_first_bytes_decide_the_media_type(kind: str) -> None:
    starts = {"image/jpeg": b"\xff\xd8\xff\xe0", "image/gif": b"GIF89a", "image/webp": b"RIFF0000WEBP"}
    assert load_attachment(data(starts[kind], "image/png")).media_type == kind


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
def test_an_invalid_attachment_is_refused_before_anything_is_sent(server: ModelServer, reference: str) -> None:
    error, _ = expect_error(
        openai_config(server), ModelCall(model="m", messages=(PromptMessage("user", "?", attachments=(reference,)),))
    )
    assert error.code is Code.LLM_ATTACHMENT_INVALID
    assert not server.exchanges


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FabulaError):
        load_attachment(str(tmp_path / "pipe"))


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attached, "MAX_BYTES", 100)
    (tmp_path / "large.png").write_bytes(PNG + b"x" * 100)
    for reference in (str(tmp_path / "large.png"), data(PNG + b"x" * 100)):
        with pytest.raises(FabulaError, match="larger"):
            load_attachment(reference)


def test_a_file_becomes_the_attachment_of_a_request(tmp_path: Path) -> None:
    for name, content in (("map.png", PNG), ("deed.pdf", PDF), ("log.txt", "\ufeff水位两尺".encode())):
        (tmp_path / name).write_bytes(content)
    image, pdf, text = (make_attachment(tmp_path / name) for name in ("map.png", "deed.pdf", "log.txt"))
    assert (image.kind, image.reference, image.tokens) == ("image", str(tmp_path / "map.png"), attached.IMAGE_TOKENS)
    assert (pdf.kind, pdf.tokens) == ("file", 2 * attached.PAGE_TOKENS)
    assert (text.kind, text.text, text.reference) == ("file", "水位两尺", "")


def one(provider: Provider) -> str:
    async def run() -> str:
        call = ModelCall(model="m", messages=(PromptMessage("user", "Look.", attachments=("folder/map.png",)),))
        event = await anext(provider.stream(call))
        return event.text if isinstance(event, TextChunk) else ""

    return asyncio.run(run())


def test_the_clipboard_names_what_to_attach_by_hand() -> None:
    assert one(ClipboardProvider()) == "Look.\n\n[map.png]"


def test_the_local_model_refuses_attachments() -> None:
    with pytest.raises(FabulaError) as refusal:
        one(LocalProvider())
    assert refusal.value.code is Code.LLM_ATTACHMENT_INVALID
