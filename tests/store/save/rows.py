"""A small project with something in every table, and ways to look at a whole store."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from sqlalchemy import select

from fabula.core.errors import Code, FabulaError
from fabula.jobs.tables import jobs
from fabula.store.save.manifest import Record
from fabula.store.save.tables import TableFormat, table_formats
from fabula.store.schema import METADATA
from fabula.store.store import LOCAL_USER, Store
from fabula.store.transaction import ReadTransaction

OLDEST = Path(__file__).parent / "format-1.fabula"
FORMAT_2 = Path(__file__).parent / "format-2.fabula"
FORMAT_3 = Path(__file__).parent / "format-3.fabula"
FORMAT_4 = Path(__file__).parent / "format-4.fabula"  # of a book of a series, as the next
GOLDEN = Path(__file__).parent / "format-5.fabula"
PROJECT = "harbour"
MADE = "2026-01-01T00:00:00.000000Z"
HARD = (
    "“Quotes”, 'more', \\back\\slash, tab\t, 雾港的第七封信，\r\nnew\nlines \u2028 \u00a0 🏮 e\u0301 \ufeff \x1f end "
)

ROWS: dict[str, list[Record]] = {
    "projects": [
        {"title": "The Harbour 雾港", "language": "zh", "identity": HARD, "direction": {"world": ["fog", "灯"]}}
    ],
    "documents": [
        {"id": "z-part", "title": "Part One: “Fog”", "kind": "part", "place": 1},
        {"id": "b", "parent_id": "z-part", "title": "第二章　鸽子", "place": 1, "text": HARD, "happens": 0.1},
        {
            "id": "a",
            "parent_id": "z-part",
            "title": "第一章",
            "place": 0,
            "text": "雾。\n\nFog.",
            "known_to": ["mira", "灯"],
        },
        {"id": "B", "title": "../../etc: a <bad> name?*", "place": 0, "text": "x", "happens": -1e-300, "known_to": []},
        {"id": "é", "parent_id": "a", "title": "", "text": "", "pov": "mira", "notes": HARD},
    ],
    "revisions": [
        {"document_id": "a", "revision": 1, "text": HARD, "title": "t", "cause": "typed", "at": MADE},
        {"document_id": "a", "revision": 10, "text": "later"},
        {"document_id": "a", "revision": 9, "text": "earlier", "label": "雾"},
    ],
    "beats": [{"id": "beat", "document_id": "a", "text": "A letter arrives", "done": 1}],
    "synopses": [{"document_id": "a", "text": "Fog comes.", "made_from": "0" * 64}],
    "marks": [{"id": "mark", "document_id": "b", "start": 1, "end": 5}],
    "codex_entries": [
        {
            "id": "mira",
            "name": "Mira",
            "aliases": ["米拉"],
            "details": {"age": "31", "高": "1.75 m"},
            "tags": [],
        },
        {
            "id": "lamp",
            "name": "灯",
            "known_to": ["mira"],
            "since_document": "a",
            "since_offset": 2,
            "rules": {"case": True},
        },
    ],
    "codex_removed": [{"id": "gone", "name": HARD, "removed": "2026-11-18T06:00:00Z"}],
    "codex_quotations": [{"document_id": "a", "quotations": [["mira", HARD]], "made_from": "0" * 64}],
    "needs": [{"id": "n", "since_document": "a", "since_offset": 2, "vantage": "reader", "questions": ["谁？"]}],
    "codex_relations": [{"entry_id": "mira", "to_id": "lamp", "kind": "keeps"}, {"entry_id": "mira", "to_id": "lamp"}],
    "codex_progressions": [{"id": "p", "entry_id": "mira", "text": "She knows.", "since_document": "b"}],
    "knowledge": [{"fact": "codex:lamp", "knower": "mira", "note": HARD}],
    "pins": [{"where_id": "a", "entry_id": "lamp"}],
    "constraints": [{"id": "c", "text": "No dreams.", "priority": 0, "until_document": "b", "until_offset": 3}],
    "memories": [{"id": "m", "text": "Likes fog.", "confidence": 0.30000000000000004, "evidence": ["run:1", "雾"]}],
    "outcomes": [
        {
            "id": "o",
            "offered": HARD,
            "fate": "rewritten",
            "became": "雾！",
            "recalled": ["memory:m"],
            "at_document": "a",
        }
    ],
    "participants": [{"id": "game:mira", "name": "Mira", "persona": HARD}],
    "conversations": [{"id": "desk", "title": "桌", "mode_state": {"deep": [[["x"]], {"y": {}}]}, "leaf_id": "m2"}],
    "presence": [
        {"conversation_id": "desk", "participant_id": "game:mira"},
        {"conversation_id": "desk", "participant_id": "game:mira", "since_number": 2, "after_number": 0, "leaves": 1},
    ],
    "messages": [
        {"id": "m1", "conversation_id": "desk", "number": 0, "content": HARD, "audience": ["game:mira"]},
        {"id": "m2", "conversation_id": "desk", "number": 1, "parent_id": "m1", "extra": {"nul": "\x00"}, "before": ""},
    ],
    "summaries": [{"id": "s", "conversation_id": "desk", "text": "They met."}],
    "recaps": [{"id": "r", "conversation_id": "desk", "text": "So far: fog."}],
    "personas": [{"participant_id": "game:mira", "revision": 1, "persona": HARD}],
    "fixed_prompts": [{"id": "f", "participant_id": "game:mira", "text": "Be brief."}],
    "biographies": [{"id": "bio", "participant_id": "game:mira", "text": "Born at sea."}],
    "runs": [
        {"id": "run", "money_micros": 2**63 - 1, "trace": {"kept": [1, 2]}, "prompt": HARD, "verdicts": [{"a": None}]}
    ],
    "lorebooks": [{"id": "lore", "name": "World", "book": {"entries": {"0": {"key": ["fog"], "unknown": 1e-9}}}}],
    "presets": [{"id": "preset", "name": "Mine", "nodes": [{"type": "message", "injectionStrategy": {"depth": 0}}]}],
    "budgets": [{"profile": {"rules": {"ratio": 0.15, "minimum": 100}}, "limits": {"day": 100000}}],
    "settings": [{"name": "font", "value": "Noto"}, {"name": "max_tokens", "value": 512}, {"name": "unset"}],
    "person/profiles": [{"text": "Writes at night. 夜里写。"}],
    "person/user_memories": [{"id": "short", "text": "Prefers short chapters.", "evidence": ["said so"]}],
    "person/user_settings": [{"name": "theme", "value": {"dark": True}}, {"name": "language", "value": "zh"}],
}


def fill(store: Store, project_id: str = PROJECT) -> None:
    """Put the project and its person into a store, beside things that are no part of a save."""
    with store.write(project=project_id, user=LOCAL_USER) as tx:
        for shape in table_formats():
            if shape.owner == "project" or not tx.count(shape.table):
                for row in ROWS[shape.name]:
                    tx.insert(shape.table, row)
        tx.insert(jobs, {"key": "job", "work": {"embedding": [0.1, 0.2]}})


def contents(store: Store, project_id: str = PROJECT) -> dict[str, list[Record]]:
    """Every saved row of a project, without its id."""
    with store.read(project=project_id) as reading:
        return {shape.name: _rows(reading, shape) for shape in table_formats() if shape.owner == "project"}


def person(store: Store, user: str = LOCAL_USER) -> dict[str, list[Record]]:
    """Every saved row of a person."""
    with store.read(user=user) as reading:
        return {shape.name: _rows(reading, shape) for shape in table_formats() if shape.owner == "user"}


def _rows(reading: ReadTransaction, shape: TableFormat) -> list[Record]:
    return sorted(({name: row._mapping[name] for name in shape.columns} for row in reading.rows(shape.table)), key=repr)


def everything(store: Store) -> dict[str, list[Any]]:
    """All rows of all tables, versions and feed included."""
    with store.engine.connect() as connection:
        return {
            table.name: sorted(repr(tuple(row)) for row in connection.execute(select(table)))
            for table in METADATA.sorted_tables
        }


def members(path: Path) -> dict[str, bytes]:
    """The files inside a save."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def lines(path: Path, member: str) -> list[Record]:
    """The rows of one file inside a save, read without the help of Fabula."""
    return [json.loads(line) for line in members(path)[member].decode().split("\n")[:-1]]


def assert_says(error: FabulaError, code: Code, *words: str) -> None:
    """A refusal has its code, says what happened, and that nothing was changed by it."""
    assert error.code is code, error.sentence
    assert "Nothing was" in error.sentence
    for word in words:
        assert word in error.sentence, error.sentence
