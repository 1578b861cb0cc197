"""The text of a reply: in the name of its speaker and nobody else, however the stream is cut (cht-2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.conversation.replies import ReplyText


def read(text: str, *cuts: int) -> tuple[str, str]:
    """Feed a text in pieces; what is left of it, and in whose name it went on."""
    reply = ReplyText(("Mara", "Captain Venn", "牛奶"), ("Bo", "Bo Reed", "Ann", "可可"))
    shown, start = [], 0
    for cut in (*sorted(cuts), len(text)):
        shown.append(reply.feed(text[start:cut]))
        start = max(cut, start)
    shown.append(reply.finish())
    assert "".join(shown) == reply.text
    return reply.text.strip(), reply.other_name


@pytest.mark.parametrize(
    ("answer", "text", "other"),
    [
        ("Hello.", "Hello.", ""),
        ("Mara: Hello.", "Hello.", ""),
        ("**Mara:** Hello.", "Hello.", ""),
        ("**Mara**: *smiles* Hello.", "*smiles* Hello.", ""),
        ("Mara: *smiles*", "*smiles*", ""),
        ("captain venn : Hello.", "Hello.", ""),
        ("Mara → Bo: Psst.", "Psst.", ""),
        ("牛奶：喵。\n可可：汪。", "喵。", "可可"),
        ("Hello.\nBo: And I say no.", "Hello.", "Bo"),
        ("Bo: And I say no.", "", "Bo"),
        ("\n\nBo Reed: No.", "", "Bo Reed"),
        ("Mara: One.\nMara: Two.", "One.\nTwo.", ""),
        ("Maranatha: a word.", "Maranatha: a word.", ""),
        ("Bo looked up.\nBoth: left.", "Bo looked up.\nBoth: left.", ""),
        ("I told Bo: no.", "I told Bo: no.", ""),
        ("Mara", "Mara", ""),
        ("", "", ""),
        ("Mara:", "", ""),
    ],
)
def test_the_own_name_goes_and_another_name_ends_the_reply(answer: str, text: str, other: str) -> None:
    assert read(answer) == (text, other)
    assert read(answer, *range(len(answer))) == (text, other)


@given(
    st.lists(st.sampled_from(["Mara", "Bo", "Ann", ":", "：", " ", "\n", "*", "→", "x", "Bo Reed", "可可"])), st.data()
)
def test_where_a_stream_is_cut_changes_nothing(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8))
    assert read(text, *cuts) == read(text)


def test_without_names_the_text_stays() -> None:
    reply = ReplyText(())
    assert reply.feed("Bo: x") + reply.finish() == "Bo: x"
