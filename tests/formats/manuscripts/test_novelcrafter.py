"""NovelCrafter exports: the novel, the codex, and whatever else is in them."""

from __future__ import annotations

import json
from pathlib import Path

from fabula.codex import Level, Relation
from fabula.formats.manuscripts.docx import write_docx
from fabula.formats.manuscripts.files import read_manuscript
from fabula.manuscript.drafts import DocumentDraft, DocumentKind, ManuscriptDraft
from tests.formats.manuscripts.books import make_zip

NOVEL = """# Mini Novel
by Test Author

## Act 1

### Chapter 1

A short summary.

---

The rain hit *the docks*.

* * *

She found the key.

### Chapter 2

Only prose.
"""

MARA = """---
type: character
name: "Mara Venn"
aliases: [Mara, 'the keeper', "Venn, M."]
tags:
  - main
  - coast
color: blue
alwaysIncludeInContext: true
fields:
  age: "34"
  role: Lamp keeper
fears: >
  open water
  and bells
quote: |
  One.
  Two.
---

Keeper of the lamp.

Tall.
"""

DOCK = {
    "id": "dock1",
    "attributes": {
        "type": "location",
        "name": "The Dock",
        "aliases": ["Landing"],
        "noAutoInclude": True,
        "mood": "grey",
    },
    "relationships": {"nestedEntries": ["characters-are-elsewhere", "mara-1"]},
}


def export() -> dict[str, str]:
    return {
        "novel.md": NOVEL,
        "codex.html": "<html/>",
        "characters/mara-1/entry.md": MARA,
        "characters/mara-1/notes.md": "Private.\n",
        "locations/the-dock-2Ab3Cd4Ef5Gh6Ij7Kl8Mn9Op/metadata.json": json.dumps(DOCK),
        "locations/the-dock-2Ab3Cd4Ef5Gh6Ij7Kl8Mn9Op/entry.md": "Wet planks.\n",
        "objects/lamp/entry.md": "---\ntype: object\naiContext: never\n---\nA lamp.",
        "lore/broken/metadata.json": "{not json",
        "other/雾/entry.md": "---\nname: 雾\naliases: 海雾\n---\n　　很浓。",
        "snippets/2026-01-01 Idea - abcdefgh.md": "---\ntitle: Idea\n---\nA storm?",
        "chats/2026-01-01 x.md": "## User\n\nHi",
    }


def test_the_novel_is_read_as_acts_chapters_and_scenes(tmp_path: Path) -> None:
    (tmp_path / "export.zip").write_bytes(make_zip(export()))
    imported = read_manuscript(tmp_path / "export.zip")
    assert (imported.book.title, imported.book.authors) == ("Mini Novel", ("Test Author",))
    scenes = (
        DocumentDraft(title="", kind=DocumentKind.SCENE, text="The rain hit *the docks*.", synopsis="A short summary."),
        DocumentDraft(title="", kind=DocumentKind.SCENE, text="She found the key."),
    )
    chapters = (DocumentDraft(title="Chapter 1", children=scenes), DocumentDraft(title="Chapter 2", text="Only prose."))
    snippets = DocumentDraft(
        title="Snippets",
        kind=DocumentKind.NOTE,
        children=(DocumentDraft(title="Idea", kind=DocumentKind.NOTE, text="A storm?"),),
    )
    assert imported.book.drafts == (DocumentDraft(title="Act 1", kind=DocumentKind.PART, children=chapters), snippets)
    assert any("Chats" in str(warning) for warning in imported.warnings)
    assert any("lore/broken/metadata.json" in str(warning) for warning in imported.warnings)


def test_the_codex_is_read_with_its_settings(tmp_path: Path) -> None:
    for name, text in export().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    entries = {entry.id: entry for entry in read_manuscript(tmp_path).entries}
    mara = entries["mara-1"]
    assert (mara.type, mara.name, mara.level) == ("character", "Mara Venn", Level.ALWAYS)
    assert mara.aliases == ("Mara", "the keeper", "Venn, M.")
    assert mara.tags == ("main", "coast")
    assert mara.description == "Keeper of the lamp.\n\nTall."
    assert mara.notes == "Private."
    assert mara.details == {"age": "34", "role": "Lamp keeper", "fears": "open water and bells", "quote": "One.\nTwo."}
    dock = entries["dock1"]
    assert (dock.type, dock.name, dock.level) == ("location", "The Dock", Level.MANUAL)
    assert dock.relations == (Relation("mara-1", ""),)
    assert dock.details == {"mood": "grey"}
    assert (entries["lamp"].type, entries["lamp"].name, entries["lamp"].level) == ("item", "lamp", Level.NEVER)
    assert entries["雾"].aliases == ("海雾",)
    assert entries["broken"].type == "lore"


def test_a_codex_alone_is_an_export_too(tmp_path: Path) -> None:
    (tmp_path / "codex.zip").write_bytes(make_zip({"my codex/lore/x/entry.md": "Words."}))
    imported = read_manuscript(tmp_path / "codex.zip")
    assert [entry.description for entry in imported.entries] == ["Words."]
    assert imported.book.drafts == ()


def test_a_novel_in_word_is_read_as_well(tmp_path: Path) -> None:
    novel = write_docx(ManuscriptDraft(title="N", drafts=(DocumentDraft(title="Chapter 1", text="a"),)))
    files = {"novel.docx": novel, "lore/x/entry.md": b"Words."}
    (tmp_path / "export.zip").write_bytes(make_zip(files))
    assert read_manuscript(tmp_path / "export.zip").book.drafts == (DocumentDraft(title="Chapter 1", text="a"),)
