"""Scrivener projects, old and new, and the RTF inside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.formats.manuscripts.read_write import read_book
from fabula.formats.manuscripts.rtf import rtf_markdown
from fabula.manuscript.drafts import Draft, Kind
from tests.formats.manuscripts.books import zipped

HEAD = rb"{\rtf1\ansi\ansicpg1252\cocoartf2639{\fonttbl\f0\fswiss\fcharset0 Helvetica;}{\colortbl;\red0;}\pard\f0 "


def rtf(body: str) -> bytes:
    return HEAD + body.encode("ascii") + b"}"


def item(ident: str, kind: str, title: str, children: str = "", compiled: str = "Yes", key: str = "UUID") -> str:
    below = f"<Children>{children}</Children>" if children else ""
    return (
        f'<BinderItem {key}="{ident}" Type="{kind}"><Title>{title}</Title><MetaData>'
        f"<IncludeInCompile>{compiled}</IncludeInCompile></MetaData>{below}</BinderItem>"
    )


def binder(*items: str) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?><ScrivenerProject Version="2.0"><Binder>'
        + "".join(items)
        + "</Binder><ProjectProperties><ProjectTitle>The Lamp</ProjectTitle><FullName>Ada Quill</FullName>"
        "</ProjectProperties></ScrivenerProject>"
    )


THREE = binder(
    item(
        "D",
        "DraftFolder",
        "Manuscript",
        item("C1", "Folder", "Oil &amp; Wick", item("S1", "Text", "Dawn") + item("S2", "Text", ""))
        + item("C2", "Folder", "Smoke", item("S3", "Text", "Dusk") + item("X", "Text", "Cut", compiled="No")),
    ),
    item("R", "ResearchFolder", "Research", item("P", "PDF", "Ships") + item("N", "Text", "Lamps")),
    item("CH", "Folder", "Characters", item("M", "Text", "Mara")),
    item("E", "Folder", "Empty"),
    item("T", "TrashFolder", "Trash", item("Z", "Text", "Gone")),
)


def project(base: str = "") -> dict[str, bytes]:
    data = f"{base}Files/Data"
    return {
        f"{base}The Lamp.scrivx": THREE.encode(),
        f"{data}/S1/content.rtf": rtf(r"It was {\i dark}.\par \par She \b ran\b0 .\par"),
        f"{data}/S1/synopsis.txt": b"A beginning.\r\n",
        f"{data}/S1/notes.rtf": rtf(r"Check the moon.\par"),
        f"{data}/S2/content.rtf": rtf(r"Second."),
        f"{data}/S3/content.rtf": b"",
        f"{data}/X/content.rtf": rtf(r"Not for readers."),
        f"{data}/N/content.rtf": rtf(r"Whale oil."),
        f"{data}/M/content.rtf": rtf(r"Tall."),
        f"{data}/Z/content.rtf": rtf(r"Thrown away."),
        f"{data}/P/content.pdf": b"%PDF",
    }


DRAFTS = (
    Draft(
        title="Oil & Wick",
        kind=Kind.CHAPTER,
        children=(
            Draft(
                title="Dawn",
                kind=Kind.SCENE,
                text="It was *dark*.\n\nShe **ran**.",
                synopsis="A beginning.",
                notes="Check the moon.",
            ),
            Draft(title="", kind=Kind.SCENE, text="Second."),
        ),
    ),
    Draft(
        title="Smoke",
        kind=Kind.CHAPTER,
        children=(
            Draft(title="Dusk", kind=Kind.SCENE),
            Draft(title="Cut", kind=Kind.NOTE, text="Not for readers."),
        ),
    ),
    Draft(title="Research", kind=Kind.NOTE, children=(Draft(title="Lamps", kind=Kind.NOTE, text="Whale oil."),)),
    Draft(title="Characters", kind=Kind.NOTE, children=(Draft(title="Mara", kind=Kind.NOTE, text="Tall."),)),
)


def on_disk(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def test_a_scrivener_3_project_is_read_whole(tmp_path: Path) -> None:
    imported = read_book(on_disk(tmp_path / "The Lamp.scriv", project()))
    assert (imported.book.title, imported.book.authors) == ("The Lamp", ("Ada Quill",))
    assert imported.book.drafts == DRAFTS
    assert len(imported.warnings) == 2


def test_a_zipped_project_and_its_binder_file_are_the_same_project(tmp_path: Path) -> None:
    (tmp_path / "p.zip").write_bytes(zipped(project("The Lamp.scriv/")))
    assert read_book(tmp_path / "p.zip").book.drafts == DRAFTS
    root = on_disk(tmp_path / "x.scriv", project())
    assert read_book(root / "The Lamp.scrivx").book.drafts == DRAFTS


def test_a_scrivener_2_project_is_read_from_its_own_layout(tmp_path: Path) -> None:
    draft = item(
        "0",
        "DraftFolder",
        "Draft",
        item("3", "Text", "Part One", item("4", "Text", "Chapter 1", key="ID"), key="ID"),
        key="ID",
    )
    files = {
        "Old.scrivx": f"<ScrivenerProject><Binder>{draft}</Binder></ScrivenerProject>".encode(),
        "Files/Docs/4.rtf": rtf("Legacy."),
        "Files/Docs/4_synopsis.txt": b"Short.",
        "Files/Docs/4_notes.rtf": rtf("Note."),
    }
    imported = read_book(on_disk(tmp_path / "Old.scriv", files))
    chapter = Draft(title="Chapter 1", text="Legacy.", synopsis="Short.", notes="Note.")
    assert imported.book.title == "Old"
    assert imported.book.drafts == (Draft(title="Part One", kind=Kind.PART, children=(chapter,)),)


def test_a_document_that_points_outside_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "content.rtf").write_bytes(rtf("secret"))
    draft = item("D", "DraftFolder", "Draft", item("../../..", "Text", "One"))
    root = on_disk(tmp_path / "a.scriv", {"a.scrivx": binder(draft).encode()})
    assert read_book(root).book.drafts == (Draft(title="One"),)


def test_a_hostile_binder_is_refused(tmp_path: Path) -> None:
    laughs = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    with pytest.raises(FabulaError) as raised:
        read_book(on_disk(tmp_path / "a.scriv", {"a.scrivx": laughs}))
    assert raised.value.code is Code.IMPORT_UNSAFE
    deep = "<BinderItem><Children>" * 300 + "</Children></BinderItem>" * 300
    with pytest.raises(FabulaError) as raised:
        read_book(on_disk(tmp_path / "b.scriv", {"b.scrivx": binder(deep).encode()}))
    assert raised.value.code is Code.IMPORT_TOO_LARGE


CHINESE_BYTES = (
    rb"{\rtf1\ansi\ansicpg936{\fonttbl\f0\fnil\fcharset134 PingFangSC-Regular;\f1\fswiss\fcharset0 Helvetica;}"
    rb"\f0 \'c4\'e3\'ba\'c3\'a3\'ac\i \'ca\'c0\'bd\'e7\i0\'a1\'a3\'81N" + b"\\\n" + rb"\f1 caf\'e9s\par}"
)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (CHINESE_BYTES, "你好，*世界*。丯\n\ncafés"),
        (rtf(r"\uc0\u20320 \u22909 \uc1\u19990?\u30028?"), "你好世界"),
        (rtf(r"\uc1 it\u8217's a long run of plain words here"), "it’s a long run of plain words here"),
        (rtf(r"\u-10179?\u-8704?"), "😀"),
        (rtf(r"\ldblquote Yes,\rdblquote  she said\emdash so.\line Next"), "“Yes,” she said—so.\nNext"),
        (rtf(r"{\i all {\b of} it} plain"), "*all **of** it* plain"),
        (rtf(r"a {\*\unknown hidden}{\footnote note}{\pict\bin5 }}}{{}b"), "a b"),
        (rtf(r"see {\field{\*\fldinst{HYPERLINK scrivcmt://X}}{\fldrslt this}} now"), "see this now"),
        (rtf(r"<$Scr_Ps::0>styled<!$Scr_Ps::0> text"), "styled text"),
        (
            rtf(r"# no heading\par > no quotation\par 2 * 3 *stars*"),
            "\\# no heading\n\n\\> no quotation\n\n2 * 3 \\*stars\\*",
        ),
        (rtf(r"broken \u \uc \u99999999 escapes"), "broken escapes"),
        ("{\\rtf1\\ansi 你好}".encode(), "你好"),
        ("{\\rtf1\\ansi\\ansicpg936 你好}".encode("gbk"), "你好"),
    ],
)
def test_rtf_comes_out_right(data: bytes, text: str) -> None:
    assert rtf_markdown(data, "x.rtf") == text


@pytest.mark.parametrize("data", [b"plain", b"{\\rtf1 " + b"{" * 5_000])
def test_what_is_no_rtf_is_refused(data: bytes) -> None:
    with pytest.raises(FabulaError) as raised:
        rtf_markdown(data, "x.rtf")
    assert raised.value.code is Code.IMPORT_UNREADABLE


def test_an_endless_font_table_takes_no_time() -> None:
    fonts = b"{\\fonttbl" + b"\\f1 x" * 200_000 + b"}"
    assert rtf_markdown(b"{\\rtf1\\ansi" + fonts + b"text}", "x.rtf") == "text"
