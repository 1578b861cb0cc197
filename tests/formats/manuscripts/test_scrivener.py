"""Scrivener projects, old and new, and the RTF inside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.formats.manuscripts.files import read_manuscript
from fabula.manuscript.drafts import DocumentDraft, DocumentKind
from tests.formats.manuscripts.books import make_rtf, make_zip


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
        f"{data}/S1/content.rtf": make_rtf(r"It was {\i dark}.\par \par She \b ran\b0 .\par"),
        f"{data}/S1/synopsis.txt": b"A beginning.\r\n",
        f"{data}/S1/notes.rtf": make_rtf(r"Check the moon.\par"),
        f"{data}/S2/content.rtf": make_rtf(r"Second."),
        f"{data}/S3/content.rtf": b"",
        f"{data}/X/content.rtf": make_rtf(r"Not for readers."),
        f"{data}/N/content.rtf": make_rtf(r"Whale oil."),
        f"{data}/M/content.rtf": make_rtf(r"Tall."),
        f"{data}/Z/content.rtf": make_rtf(r"Thrown away."),
        f"{data}/P/content.pdf": b"%PDF",
    }


DRAFTS = (
    DocumentDraft(
        title="Oil & Wick",
        kind=DocumentKind.CHAPTER,
        children=(
            DocumentDraft(
                title="Dawn",
                kind=DocumentKind.SCENE,
                text="It was *dark*.\n\nShe **ran**.",
                synopsis="A beginning.",
                notes="Check the moon.",
            ),
            DocumentDraft(title="", kind=DocumentKind.SCENE, text="Second."),
        ),
    ),
    DocumentDraft(
        title="Smoke",
        kind=DocumentKind.CHAPTER,
        children=(
            DocumentDraft(title="Dusk", kind=DocumentKind.SCENE),
            DocumentDraft(title="Cut", kind=DocumentKind.NOTE, text="Not for readers."),
        ),
    ),
    DocumentDraft(
        title="Research",
        kind=DocumentKind.NOTE,
        children=(DocumentDraft(title="Lamps", kind=DocumentKind.NOTE, text="Whale oil."),),
    ),
    DocumentDraft(
        title="Characters",
        kind=DocumentKind.NOTE,
        children=(DocumentDraft(title="Mara", kind=DocumentKind.NOTE, text="Tall."),),
    ),
)


def on_disk(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def test_a_scrivener_3_project_is_read_whole(tmp_path: Path) -> None:
    imported = read_manuscript(on_disk(tmp_path / "The Lamp.scriv", project()))
    assert (imported.book.title, imported.book.authors) == ("The Lamp", ("Ada Quill",))
    assert imported.book.drafts == DRAFTS
    assert len(imported.warnings) == 2


def test_a_zipped_project_and_its_binder_file_are_the_same_project(tmp_path: Path) -> None:
    (tmp_path / "p.zip").write_bytes(make_zip(project("The Lamp.scriv/")))
    assert read_manuscript(tmp_path / "p.zip").book.drafts == DRAFTS
    root = on_disk(tmp_path / "x.scriv", project())
    assert read_manuscript(root / "The Lamp.scrivx").book.drafts == DRAFTS


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
        "Files/Docs/4.rtf": make_rtf("Legacy."),
        "Files/Docs/4_synopsis.txt": b"Short.",
        "Files/Docs/4_notes.rtf": make_rtf("Note."),
    }
    imported = read_manuscript(on_disk(tmp_path / "Old.scriv", files))
    chapter = DocumentDraft(title="Chapter 1", text="Legacy.", synopsis="Short.", notes="Note.")
    assert imported.book.title == "Old"
    assert imported.book.drafts == (DocumentDraft(title="Part One", kind=DocumentKind.PART, children=(chapter,)),)


def test_a_document_that_points_outside_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "content.rtf").write_bytes(make_rtf("secret"))
    draft = item("D", "DraftFolder", "Draft", item("../../..", "Text", "One"))
    root = on_disk(tmp_path / "a.scriv", {"a.scrivx": binder(draft).encode()})
    assert read_manuscript(root).book.drafts == (DocumentDraft(title="One"),)


def test_a_hostile_binder_is_refused(tmp_path: Path) -> None:
    laughs = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    with pytest.raises(FabulaError) as raised:
        read_manuscript(on_disk(tmp_path / "a.scriv", {"a.scrivx": laughs}))
    assert raised.value.code is Code.IMPORT_UNSAFE
    deep = "<BinderItem><Children>" * 300 + "</Children></BinderItem>" * 300
    with pytest.raises(FabulaError) as raised:
        read_manuscript(on_disk(tmp_path / "b.scriv", {"b.scrivx": binder(deep).encode()}))
    assert raised.value.code is Code.IMPORT_TOO_LARGE
