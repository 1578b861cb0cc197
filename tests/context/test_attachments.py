"""Attachments: sent where the model takes them, described where it does not, dropped with a reason."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fabula.context import Attachment, Code, Engine, FabulaError, Layer, Reason, Request, Result, View
from fabula.context.render import count_whole
from tests.context.builders import ask, check_result, engine, sized, story, verdicts, warned

IMAGE = Attachment(
    id="map",
    kind="image",
    name="水道图",
    description="一张手绘的水道图，第七段被涂黑。",
    reference="file:map.png",
    tokens=765,
)
FILE = Attachment(id="log", kind="file", name="日志.txt", text="第七日。水位两尺三寸。无人。")


def assembled(*attachments: Attachment, model: str = "gpt-4o", window: int = 8192) -> Result:
    result = engine().assemble(ask(attachments=attachments, model=model, window=window), story())
    assert result.token_count <= result.budget.total
    return result


def test_an_image_is_sent_with_the_last_message_and_counted() -> None:
    result = assembled(IMAGE)
    assert result.messages[-1].attachments == ("file:map.png",)
    assert not any(message.attachments for message in result.messages[:-1])
    assert "第七段被涂黑" not in result.prompt
    rendered = result.rendered
    said = count_whole(result.messages, result.model.tokenizer())
    assert result.token_count == said + rendered.overhead + IMAGE.tokens
    assert verdicts(result)["attachment:map"].included
    assert verdicts(result)["attachment:map"].tokens == IMAGE.tokens
    assert result.warnings == ()


def test_an_image_is_described_to_a_model_that_takes_none() -> None:
    result = assembled(IMAGE, model="gpt-4")
    assert "[图片：水道图] 一张手绘的水道图，第七段被涂黑。" in result.prompt
    assert not any(message.attachments for message in result.messages)
    assert verdicts(result)["attachment:map"].included
    check_result(result)


def test_an_image_that_is_too_large_to_send_is_described() -> None:
    large = Attachment(id="map", kind="image", name="图", description="一张图。", reference="file:x", tokens=50_000)
    result = assembled(large)
    assert "[图片：图] 一张图。" in result.prompt
    assert not any(message.attachments for message in result.messages)


def test_a_file_is_quoted() -> None:
    result = assembled(FILE)
    assert "[文件：日志.txt] 第七日。水位两尺三寸。无人。" in result.prompt
    assert verdicts(result)["attachment:log"].layer is Layer.IMMEDIATE
    check_result(result)


PDF = Attachment(id="deed", kind="file", name="契约.pdf", reference="file:deed.pdf", tokens=1500)


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5"])
def test_a_document_goes_along_where_the_model_takes_files(model: str) -> None:
    result = assembled(PDF, model=model, window=16_384)
    assert result.messages[-1].attachments == ("file:deed.pdf",)
    assert verdicts(result)["attachment:deed"].tokens == PDF.tokens
    assert result.warnings == ()


def test_elsewhere_a_document_is_dropped_and_the_reason_is_the_model() -> None:
    result = assembled(PDF, model="qwen3")
    assert "不接收文件" in warned(Code.ATTACHMENT_DROPPED, result)
    assert verdicts(result)["attachment:deed"].reason is Reason.EMPTY


def test_a_document_without_room_is_dropped_for_that() -> None:
    large = Attachment(id="deed", kind="file", name="契约.pdf", reference="file:deed.pdf", tokens=50_000)
    assert verdicts(assembled(large))["attachment:deed"].reason is Reason.NO_ROOM


def test_a_file_whose_text_is_known_is_quoted_to_every_model() -> None:
    both = Attachment(id="log", kind="file", name="日志.txt", text="第七日。", reference="file:log.txt")
    result = assembled(both)
    assert "第七日。" in result.prompt
    assert not any(message.attachments for message in result.messages)


def test_an_image_without_a_description_is_dropped_where_it_cannot_be_sent() -> None:
    blind = Attachment(id="photo", kind="image", name="照片", reference="file:photo.png")
    result = assembled(blind, model="gpt-4")
    assert "照片" in warned(Code.ATTACHMENT_DROPPED, result)
    assert verdicts(result)["attachment:photo"].reason is Reason.EMPTY
    assert not verdicts(result)["attachment:photo"].included


def test_a_file_that_does_not_fit_is_dropped_with_a_reason() -> None:
    large = Attachment(id="book", kind="file", name="整本书", text=sized(6000))
    result = assembled(large)
    assert "整本书" in warned(Code.ATTACHMENT_DROPPED, result)
    assert verdicts(result)["attachment:book"].reason is Reason.NO_ROOM
    check_result(result)


def test_attachments_are_taken_in_their_order_as_far_as_the_room_reaches() -> None:
    images = [
        Attachment(id=f"i{n}", kind="image", name=f"图{n}", description=f"第{n}张。", reference=f"file:{n}", tokens=700)
        for n in range(5)
    ]
    result = assembled(*images)
    sent = result.messages[-1].attachments
    assert sent == tuple(f"file:{n}" for n in range(len(sent)))
    assert 0 < len(sent) < 5
    assert f"[图片：图{len(sent)}] 第{len(sent)}张。" in result.prompt
    assert all(verdicts(result)[f"attachment:i{n}"].included for n in range(5))


def test_attachments_leave_the_stable_prefix_alone() -> None:
    assert assembled(IMAGE, FILE).stable_prefix_hash == assembled().stable_prefix_hash


def test_attachments_leave_the_chapter_its_room() -> None:
    images = [
        Attachment(id=f"i{n}", kind="image", reference=f"file:{n}", description="一张图。", tokens=300)
        for n in range(20)
    ]
    result = assembled(*images)
    assert result.layers[Layer.IMMEDIATE].tokens > 500
    assert "[光标之前的正文]" in result.prompt


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_an_empty_file_is_dropped_and_said_so(text: str) -> None:
    result = assembled(Attachment(id="none", kind="file", name="空", text=text))
    warned(Code.ATTACHMENT_DROPPED, result)
    assert "[文件：空]" not in result.prompt


def test_an_attachment_beside_which_the_instruction_has_no_room_is_dropped() -> None:
    """The smallest window in which the instruction fits by itself."""
    request = ask(additional_input=sized(600), reply_tokens=0)
    here, view = engine(), story(constraints=())
    window = next(size for size in range(600, 4000, 10) if fits(here, replace(request, window=size), view))
    note = Attachment(id="note", kind="file", name="note.txt", text=sized(100))
    result = here.assemble(replace(request, window=window, attachments=(note,)), view)
    check_result(result)
    assert verdicts(result)["attachment:note"].reason is Reason.NO_ROOM
    warned(Code.ATTACHMENT_DROPPED, result)


def fits(here: Engine, request: Request, view: View) -> bool:
    try:
        return bool(here.assemble(request, view))
    except FabulaError:
        return False
