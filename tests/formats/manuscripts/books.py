"""Books to send through formats and back, made by hand and at random."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from io import BytesIO

from hypothesis import strategies as st

from fabula.formats.manuscripts.heading_tree import build_tree
from fabula.formats.manuscripts.model import Section
from fabula.manuscript.drafts import DocumentDraft, DocumentKind, ManuscriptDraft

ENGLISH = ManuscriptDraft(
    title="The Lamp & the Sea",
    authors=("Ada Quill", "B. <Ink>"),
    language="en",
    drafts=(
        DocumentDraft(title="Prologue", text="It was *dark*.\n\n“Who’s there?” she said—**loudly**."),
        DocumentDraft(
            title="Part One: Oil",
            kind=DocumentKind.PART,
            children=(
                DocumentDraft(
                    title="Chapter 1. The Wick",
                    text="A ***very*** long night.\n\n***\n\n> A quotation with *stress*.\n\nDear Tom,\nyours, A.",
                    children=(
                        DocumentDraft(title="", kind=DocumentKind.SCENE, text="An untitled scene, 3 < 4 & 5 > 2."),
                        DocumentDraft(title="The Stair", kind=DocumentKind.SCENE, text="The Stair\n\nup and up"),
                    ),
                ),
                DocumentDraft(
                    title="Chapter 2. Smoke", text="**All of it *and* more.**\n\n* * *\n\nsnake_case \\*not stressed\\*"
                ),
            ),
        ),
        DocumentDraft(title="Contents", kind=DocumentKind.CHAPTER, text="A chapter that is called so."),
        DocumentDraft(
            title="Part Two: Salt",
            kind=DocumentKind.PART,
            text="An epigraph.",
            children=(DocumentDraft(title="3", text="End."),),
        ),
    ),
)

CHINESE = ManuscriptDraft(
    title="雾港",
    authors=("林墨",),
    language="zh",
    drafts=(
        DocumentDraft(title="楔子", text="　　很久以前，*海*上有灯。\n　　没有人知道**是谁**点的。"),
        DocumentDraft(
            title="卷一　风起",
            kind=DocumentKind.PART,
            children=(
                DocumentDraft(
                    title="第一章　没有邮票的信",
                    text="　　他说：“你好。”\n　　她没有回答。\n\n　　***\n\n　　第二天。".replace("　　***", "***"),
                ),
                DocumentDraft(title="第二章　鸽子", text="　　“**走吧**，”她说，“*天亮了*。”"),
            ),
        ),
    ),
)


def list_tree(book: ManuscriptDraft) -> list[tuple[int, str, str]]:
    """Depth, kind and title of every draft in reading order."""

    def walk(drafts: tuple[DocumentDraft, ...], depth: int) -> Iterator[tuple[int, str, str]]:
        for draft in drafts:
            yield depth, draft.kind.value, draft.title
            yield from walk(draft.children, depth + 1)

    return list(walk(book.drafts, 0))


def make_rtf(body: str) -> bytes:
    """A small RTF file."""
    fonts = rb"{\fonttbl\f0\fswiss\fcharset0 Helvetica;}{\colortbl;\red0;}\pard\f0 "
    return rb"{\rtf1\ansi\ansicpg1252\cocoartf2639" + fonts + body.encode("ascii") + b"}"


def make_zip(files: dict[str, bytes] | dict[str, str]) -> bytes:
    """Files as a ZIP archive."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


_WORD = st.sampled_from(
    [
        "lamp",
        "the",
        "Mara",
        "“so”",
        "naïve",
        "—",
        "it’s",
        "3<4",
        "R&D",
        "a_b",
        "[x]",
        "`y`",
        "50%",
        "1.",
        "...",
        "éA",
        "(no)",
    ]
)
_LOOK = st.sampled_from(["{}"] * 6 + ["*{}*", "**{}**", "***{}***"])


@st.composite
def _sentence(draw: st.DrawFn) -> str:
    """Words, some of them stressed the way people stress words."""
    pieces = []
    for _ in range(draw(st.integers(1, 8))):
        word = draw(_WORD)
        pieces.append(draw(_LOOK).format(word) if word.isalpha() else word)
    return "So " + " ".join(pieces) + "."


_ENGLISH_TEXT = st.lists(
    st.one_of(_sentence(), st.just("***"), st.just("* * *"), _sentence().map(lambda text: f"> {text}")), max_size=5
).map("\n\n".join)
_CHINESE_TEXT = st.lists(
    st.text("海上有灯她没回答，。“”！天亮了", min_size=1, max_size=20).map(lambda text: f"　　{text}"), max_size=5
).map("\n".join)
_TITLE = st.text("abcXYZ 海灯第一章&<>\"'.:!", max_size=12).map(lambda text: " ".join(text.split()))


@st.composite
def books(draw: st.DrawFn) -> ManuscriptDraft:
    """Sane books: any tree, any kinds, titled or not."""
    text = draw(st.sampled_from([_ENGLISH_TEXT, _CHINESE_TEXT]))
    sections = draw(
        st.lists(
            st.builds(
                Section,
                level=st.integers(1, 4),
                title=_TITLE,
                text=text,
                kind=st.sampled_from([DocumentKind.BOOK, DocumentKind.PART, DocumentKind.CHAPTER, DocumentKind.SCENE]),
            ),
            max_size=8,
        )
    )
    return ManuscriptDraft(title="A Title", authors=("N. N.",), language="en", drafts=build_tree(sections))
