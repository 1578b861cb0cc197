"""Saves that are broken, lie, or mean harm: refused whole, with a code and a sentence, and nothing is changed."""

from __future__ import annotations

import json
import stat
import struct
import subprocess
import sys
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Text

from fabula.core.errors import Code, FabulaError
from fabula.manuscript import projects
from fabula.manuscript.tables import beats
from fabula.store.save import reader as save_open
from fabula.store.save.loading import list_project_backups, load_save, verify_save
from fabula.store.save.tables import series_formats, table_formats
from fabula.store.schema import MAX_LONG_TEXT, max_characters
from fabula.store.store import Store
from tests.conftest import ENGINES
from tests.store.save.rows import GOLDEN, PROJECT, assert_says, everything, fill, members

DAMAGED, UNSAFE, TOO_NEW = Code.SAVE_DAMAGED, Code.SAVE_UNSAFE, Code.SAVE_TOO_NEW
GIGABYTE = 1 << 30


class Forgery:
    """The golden save taken apart, to be put together otherwise, checksums and all."""

    def __init__(self, path: Path = GOLDEN) -> None:
        self.members = members(path)
        self.manifest: Any = json.loads(self.members.pop("manifest.json"))
        self.honest = True  # checksums and counts are made to fit

    def line(self, table: str, at: int, /, **changes: Any) -> None:
        """Change values of one row."""
        rows = self.members[f"{table}.jsonl"].decode().split("\n")
        rows[at] = json.dumps({**json.loads(rows[at]), **changes})
        self.members[f"{table}.jsonl"] = "\n".join(rows).encode()

    def raw(self, table: str, old: bytes, new: bytes) -> None:
        """Change bytes of one table."""
        member = f"{table}.jsonl"
        assert old in self.members[member]
        self.members[member] = self.members[member].replace(old, new, 1)

    def add(self, table: str, /, **row: Any) -> None:
        """One more row."""
        member = f"{table}.jsonl"
        self.members[member] = self.members.get(member, b"") + json.dumps(row).encode() + b"\n"

    def write(self, path: Path) -> None:
        """Put it together."""
        if self.honest:
            listed = {}
            for name, data in self.members.items():
                about: dict[str, Any] = {"sha256": sha256(data).hexdigest(), "bytes": len(data)}
                if name.endswith(".jsonl"):
                    about["rows"] = data.count(b"\n")
                listed[name] = about
            self.manifest["members"] = listed
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in self.members.items():
                archive.writestr(name, data)
            archive.writestr("manifest.json", json.dumps(self.manifest))


def _set(**values: Any) -> Callable[[Forgery], None]:
    return lambda forged: forged.manifest.update(values)


def _row(table: str, at: int, /, **changes: Any) -> Callable[[Forgery], None]:
    return lambda forged: forged.line(table, at, **changes)


def _more(table: str, /, **row: Any) -> Callable[[Forgery], None]:
    return lambda forged: forged.add(table, **row)


def _raw(table: str, old: bytes, new: bytes) -> Callable[[Forgery], None]:
    return lambda forged: forged.raw(table, old, new)


def _member(name: str, data: bytes = b"x") -> Callable[[Forgery], None]:
    def put(forged: Forgery) -> None:
        forged.members[name] = data

    return put


def _lying(change: Callable[[Forgery], object]) -> Callable[[Forgery], None]:
    def put(forged: Forgery) -> None:
        forged.honest = False
        change(forged)

    return put


def _listed(name: str, **about: Any) -> Callable[[Forgery], None]:
    return _lying(lambda forged: forged.manifest["members"][name].update(about))


def _newer(forged: Forgery) -> None:
    forged.line("beats", 0, mood="of tomorrow")
    forged.manifest["program"] = "99.0.0"


def _chain(forged: Forgery) -> None:
    for number in range(150):
        forged.add("documents", id=f"deep-{number}", parent_id=f"deep-{number - 1}" if number else None)


def _many_memories(forged: Forgery) -> None:
    for number in range(1001):
        forged.add("memories", id=f"m-{number}", text="Likes fog.")


def _many_participants(forged: Forgery) -> None:
    for number in range(201):
        forged.add("presence", conversation_id="desk", participant_id=f"game:p{number}")


def _many_texts(forged: Forgery) -> None:
    for number in range(1001):
        forged.add("biographies", id=f"b-{number}", participant_id="game:mira", text="Born by the sea.")


def _many_later_aliases(forged: Forgery) -> None:
    for number in range(3):
        names = [f"n{number}-{one}" for one in range(400)]
        forged.add("codex_progressions", id=f"x-{number}", entry_id="mira", text="x", aliases=names)


def _many_skills(forged: Forgery) -> None:
    for number in range(201):
        forged.add("settings", name=f"skill.s{number}", value="x")


def _many_settings(forged: Forgery) -> None:
    for number in range(1001):
        forged.add("settings", name=f"s{number}", value=1)


def _without(name: str) -> Callable[[Forgery], None]:
    return lambda forged: forged.members.__delitem__(name)


FIRST = "documents/0001-etc-a-bad-name.md"

# What is done to a good save, the code it gets, and words that must be in the sentence.
FORGERIES: dict[str, tuple[Callable[[Forgery], None], Code, tuple[str, ...]]] = {
    "a wrong checksum": (_listed(FIRST, sha256="0" * 64), DAMAGED, (FIRST, "checksum")),
    "altered text": (_lying(_member(FIRST, b"y")), DAMAGED, (FIRST, "checksum")),
    "a wrong size": (_listed("beats.jsonl", bytes=1), DAMAGED, ("beats.jsonl",)),
    "a wrong count of rows": (_listed("revisions.jsonl", rows=2), DAMAGED, ("revisions.jsonl", "3 rows")),
    "a negative size": (_listed("beats.jsonl", bytes=-1), DAMAGED, ("manifest.json",)),
    "a negative count": (_listed("beats.jsonl", rows=-1), DAMAGED, ("manifest.json",)),
    "absurd counts": (_listed("beats.jsonl", rows=10**12), UNSAFE, ("1000000000",)),
    "absurd sizes": (_listed("beats.jsonl", bytes=10**15), UNSAFE, ("bytes",)),
    "a checksum that is none": (_listed("beats.jsonl", sha256="../x"), DAMAGED, ("manifest.json",)),
    "an extra member": (_lying(_member("notes/extra.md")), DAMAGED, ("notes/extra.md", "does not list")),
    "a member that a system leaves behind": (_lying(_member(".DS_Store")), DAMAGED, ("DS_Store", "does not list")),
    "a folder with bytes in it": (_lying(_member("documents/")), DAMAGED, ("documents/", "does not list")),
    "a missing member": (_lying(_without("beats.jsonl")), DAMAGED, ("beats.jsonl", "lacks")),
    "a listed member of no use": (_member("vectors.bin"), DAMAGED, ("vectors.bin",)),
    "a path that climbs out": (_member("../x.md"), UNSAFE, ("outside",)),
    "an absolute path": (_member("/etc/x.md"), UNSAFE, ("outside",)),
    "a path of Windows": (_member("..\\x.md"), UNSAFE, ("outside",)),
    "another format": (_set(format="zip-of-cats"), DAMAGED, ("zip-of-cats",)),
    "a future format": (_set(version=6), TOO_NEW, ("format 6", "Update")),
    "a format that never was": (_set(version=0), DAMAGED, ("format 0",)),
    "a negative format": (_set(version=-(10**9)), DAMAGED, ("format -1000000000",)),
    "a format that is no number": (_set(version="1"), DAMAGED, ("manifest.json",)),
    "a project without a title": (_set(project={"id": "x"}), DAMAGED, ("manifest.json",)),
    "a project id that climbs out": (_set(project={"id": "../x", "title": "x"}), UNSAFE, ("id",)),
    "a column of tomorrow": (_newer, TOO_NEW, ("'mood'", "99.0.0")),
    "an unknown column": (_row("beats", 0, mood="odd"), DAMAGED, ("line 1 of beats.jsonl", "'mood'")),
    "an unknown table": (_more("moods", id="x"), DAMAGED, ("'moods'",)),
    "a table that is not saved": (_more("jobs", key="x"), DAMAGED, ("'jobs'",)),
    "a table of persons": (_more("profiles", text="x"), DAMAGED, ("'profiles'",)),
    "a table of the store": (_more("heads", owner="x", version=1), DAMAGED, ("'heads'",)),
    "a person's table among the project's": (_more("user_settings", name="x"), DAMAGED, ("'user_settings'",)),
    "a project's table among the person's": (_more("person/beats", id="x"), DAMAGED, ("'person/beats'",)),
    "somebody else's profile": (_row("person/profiles", 0, user_id="ada"), UNSAFE, ("person/profiles", "belong")),
    "two profiles": (_more("person/profiles", text="second"), DAMAGED, ("line 2 of person/profiles.jsonl",)),
    "a secret of the person": (_more("person/user_settings", name="api_key", value="x"), UNSAFE, ("secret",)),
    "a folder that nobody knows": (_more("people/profiles", text="x"), DAMAGED, ("people/profiles",)),
    "a foreign project": (_row("messages", 1, project_id="theirs"), UNSAFE, ("line 2 of messages.jsonl", "belong")),
    "two projects": (_more("projects", title="second"), DAMAGED, ("line 2 of projects.jsonl",)),
    "no project": (_without("projects.jsonl"), DAMAGED, ("0 projects",)),
    "ids that occur twice": (_more("codex_entries", id="mira"), DAMAGED, ("line 3 of codex_entries.jsonl", "'mira'")),
    "a default that makes a key twice": (
        _more("presence", conversation_id="desk", participant_id="game:mira"),
        DAMAGED,
        ("line 4 of presence.jsonl", "since_number 0"),
    ),
    "numbers that occur twice": (_row("messages", 1, number=0), DAMAGED, ("line 2 of messages.jsonl", "number 0")),
    "a row that belongs to nothing": (_row("beats", 0, document_id="gone"), DAMAGED, ("document_id 'gone'", "line 1")),
    "a parent that is not there": (_row("documents", 0, parent_id="gone"), DAMAGED, ("'gone'", "'B'")),
    "a cycle in the tree": (_row("documents", 3, parent_id="a"), DAMAGED, ("below itself",)),
    "a document below itself": (_row("documents", 0, parent_id="B"), DAMAGED, ("'B'", "below itself")),
    "a tree without end": (_chain, UNSAFE, ("more than 100 levels",)),
    "invalid UTF-8 in a row": (_raw("beats", b"letter", b"let\xffter"), DAMAGED, ("line 1 of beats.jsonl", "UTF-8")),
    "invalid UTF-8 in a text": (_member(FIRST, b"fine \xff not"), DAMAGED, (FIRST, "UTF-8", "byte 5")),
    "a null in a text": (_member(FIRST, b"a\x00b"), DAMAGED, (FIRST, "null")),
    "a null in a row": (_row("beats", 0, text="a\x00b"), DAMAGED, ("line 1 of beats.jsonl", "'text'")),
    "half a surrogate pair": (_raw("beats", b"letter", rb"\ud800 letter"), DAMAGED, ("line 1 of beats.jsonl",)),
    "half a pair inside JSON": (_raw("lorebooks", b'"fog"', rb'"\udc00 x"'), DAMAGED, ("lorebooks.jsonl",)),
    "deep JSON": (_row("lorebooks", 0, book=json.loads('{"a":' * 400 + "1" + "}" * 400)), UNSAFE, ("nested",)),
    "very deep JSON": (_raw("lorebooks", b'"fog"', b"[" * 90_000 + b"]" * 90_000), UNSAFE, ("nested",)),
    "a kind of document nobody knows": (_row("documents", 0, kind="poem"), DAMAGED, ("line 1 of documents", "kind")),
    "a language nobody speaks": (_row("projects", 0, language="xx"), DAMAGED, ("language",)),
    "a project that is neither book nor series": (_row("projects", 0, kind="opera"), DAMAGED, ("kind",)),
    "a direction that makes no sense": (_row("projects", 0, direction={"world": 7}), DAMAGED, ("world",)),
    "knowers that are no list": (_row("documents", 0, known_to="mira"), DAMAGED, ("known_to",)),
    "a level nobody knows": (_row("codex_entries", 0, level="often"), DAMAGED, ("level",)),
    "aliases that are no words": (_row("codex_entries", 0, aliases=[1]), DAMAGED, ("aliases",)),
    "tags that are no list": (_row("codex_entries", 0, tags={"a": 1}), DAMAGED, ("tags",)),
    "details that are no words": (_row("codex_entries", 0, details={"age": 3}), DAMAGED, ("details",)),
    "a pin that wishes nonsense": (_row("pins", 0, wish="maybe"), DAMAGED, ("wish",)),
    "a rule that says nothing": (_row("constraints", 0, text=" "), DAMAGED, ("text",)),
    "a rule of no kind": (_row("constraints", 0, kind="whim"), DAMAGED, ("kind",)),
    "a rule from nowhere": (_row("constraints", 0, origin="moon"), DAMAGED, ("origin",)),
    "a rule more urgent than can be": (_row("constraints", 0, priority=101), DAMAGED, ("priority",)),
    "a role nobody plays": (_row("messages", 0, role="king"), DAMAGED, ("role",)),
    "a message of no kind": (_row("messages", 0, kind="sigh"), DAMAGED, ("kind",)),
    "an audience that is no list": (_row("messages", 0, audience="all"), DAMAGED, ("audience",)),
    "a message below itself": (_row("messages", 0, parent_id="m2"), DAMAGED, ("messages", "below itself")),
    "a memory of no kind": (_row("memories", 0, kind="dream"), DAMAGED, ("kind",)),
    "a memory in no state": (_row("memories", 0, state="lost"), DAMAGED, ("state",)),
    "a memory surer than sure": (_row("memories", 0, confidence=1.5), DAMAGED, ("confidence",)),
    "a person's memory in no state": (_row("person/user_memories", 0, state="lost"), DAMAGED, ("state",)),
    "nodes that are none": (_row("presets", 0, nodes=[{"type": "poem"}]), DAMAGED, ("nodes",)),
    "shares that are none": (_row("budgets", 0, profile={"rules": 1}), DAMAGED, ("profile",)),
    "a book that is no book": (_row("lorebooks", 0, book=[]), DAMAGED, ("book",)),
    "a word where a number belongs": (_row("beats", 0, place="first"), DAMAGED, ("line 1", "place", "int")),
    "a number where a word belongs": (_row("beats", 0, text=7), DAMAGED, ("line 1", "text", "str")),
    "a yes where a number belongs": (_row("beats", 0, place=True), DAMAGED, ("place",)),
    "a fraction where a number belongs": (_row("beats", 0, place=1.5), DAMAGED, ("place",)),
    "a list where a word belongs": (_row("beats", 0, text=["x"]), DAMAGED, ("text",)),
    "nothing where something belongs": (_row("beats", 0, text=None), DAMAGED, ("text",)),
    "nothing where JSON belongs": (_row("codex_entries", 0, aliases=None), DAMAGED, ("aliases",)),
    "a number too large for a column": (_row("beats", 0, place=2**31), DAMAGED, ("place",)),
    "a number too large for anything": (_row("runs", 0, money_micros=2**63), DAMAGED, ("money_micros",)),
    "not a number": (_row("documents", 0, happens=float("nan")), DAMAGED, ("line 1 of documents.jsonl", "JSON")),
    "an infinite number": (_row("documents", 0, happens=float("inf")), DAMAGED, ("line 1 of documents.jsonl", "JSON")),
    "a number out of range": (_raw("documents", b"-1e-300", b"1e999"), DAMAGED, ("documents.jsonl",)),
    "a row without its id": (_more("beats", document_id="a"), DAMAGED, ("line 2 of beats.jsonl", "id")),
    "a row that is a list": (_raw("beats", b"{", b"[]\n{"), DAMAGED, ("line 1 of beats.jsonl", "object")),
    "an empty line": (_raw("beats", b"{", b"\n{"), DAMAGED, ("line 1 of beats.jsonl",)),
    "a last line that is cut off": (_raw("beats", b"}\n", b"}\n{}"), DAMAGED, ("beats.jsonl", "cut off")),
    "two rows on a line": (_raw("revisions", b"}\n", b"}"), DAMAGED, ("line 1 of revisions.jsonl",)),
    "a text of another row": (_row("documents", 1, text={"file": FIRST}), DAMAGED, ("line 2", FIRST)),
    "a text outside": (_row("documents", 0, text={"file": "../../etc/passwd"}), DAMAGED, ("passwd", "not there")),
    "a text of nobody": (_member("documents/0099.md"), DAMAGED, ("documents/0099.md", "no row")),
    "a text in the wrong place": (_row("documents", 0, text="inline"), DAMAGED, ("line 1 of documents.jsonl", "text")),
    "a setting that looks like a secret": (_more("settings", name="api_key", value="x"), UNSAFE, ("secret", "line 4")),
    "a name that is too long": (_row("codex_entries", 0, name="x" * 900), UNSAFE, ("codex_entries", "too long")),
    "a name longer than any column": (_row("codex_entries", 0, name="x" * 3_000_000), DAMAGED, ("name",)),
    "too many aliases": (_row("codex_entries", 0, aliases=[f"n{n}" for n in range(2000)]), UNSAFE, ("aliases",)),
    "too many memories": (_many_memories, UNSAFE, ("memories", "1000")),
    "a memory that is too long": (_row("memories", 0, text="x" * 30_000), UNSAFE, ("line 1 of memories",)),
    "more participants than can talk": (_many_participants, UNSAFE, ("presence", "200")),
    "a biography without end": (_many_texts, UNSAFE, ("biographies", "1000")),
    "a fixed prompt that is too long": (
        _row("fixed_prompts", 0, text="x" * 20_001),
        UNSAFE,
        ("line 1 of fixed_prompts",),
    ),
    "too many aliases in later chapters": (_many_later_aliases, UNSAFE, ("codex_progressions", "1000")),
    "a setting that is too large": (_row("settings", 0, value="x" * 200_000), UNSAFE, ("line 1 of settings",)),
    "shares above the whole": (
        _row("budgets", 0, profile={layer: {"ratio": 0.9, "minimum": 0} for layer in ("rules", "settings")}),
        UNSAFE,
        ("line 1 of budgets",),
    ),
    "more skills than a project can have": (_many_skills, UNSAFE, ("settings", "'skill'", "200")),
    "more settings than there are": (_many_settings, UNSAFE, ("settings", "1000")),
    "a preset with a text without end": (
        _row("presets", 0, nodes=[{"type": "message", "content": "x" * 1_000_001}]),
        UNSAFE,
        ("line 1 of presets", "'nodes'", "1000000"),
    ),
    "a lorebook with a text without end": (
        _row("lorebooks", 0, book={"entries": {"0": {"uid": 0, "content": "x" * 1_000_001}}}),
        UNSAFE,
        ("line 1 of lorebooks", "'book'", "1000000"),
    ),
    "a lorebook with a key without end": (
        _row("lorebooks", 0, book={"x" * 1_000_001: 1}),
        UNSAFE,
        ("line 1 of lorebooks", "'book'", "1000000"),
    ),
    "a preset without end": (_row("presets", 0, nodes=[{"type": "message"}] * 1001), DAMAGED, ("nodes",)),
    "6 MB in one document": (_member(FIRST, b"a" * 6_000_000), UNSAFE, ("line 1 of documents", "5000000")),
    "200 MB in one document": (_member(FIRST, b"a" * 200_000_000), UNSAFE, ("MB",)),
    "a secret inside a setting": (_row("settings", 0, value=[{"password": "x"}]), UNSAFE, ("secret", "line 1")),
}


def _flipped(path: Path) -> None:
    data = bytearray(GOLDEN.read_bytes())
    start = data.find(b"messages.jsonl") + 40
    for at in range(start, start + 20):
        data[at] ^= 0xFF
    path.write_bytes(data)


def _zipped(**found: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in found.items():
                archive.writestr(name.replace("__", "."), data)

    return write


def _encrypted(path: Path) -> None:
    data = bytearray(GOLDEN.read_bytes())
    for mark, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + flags] |= 1
            at = data.find(mark, at + 4)
    path.write_bytes(data)


def _sizes(size: int) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        data = bytearray(GOLDEN.read_bytes())
        at = data.find(b"PK\1\2")
        data[at + 20 : at + 28] = struct.pack("<LL", size, size)
        path.write_bytes(data)

    return write


def _linked(path: Path) -> None:
    Forgery().write(path)
    with zipfile.ZipFile(path, "a") as archive:
        link = zipfile.ZipInfo("documents/link.md")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")


def _bomb(path: Path, *, claims: int, count: int = 1) -> None:
    """Ten gigabytes of zeros in ten megabytes, claiming some size."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = bytes(1 << 20)
    squeeze.compress(piece)
    squeeze.flush(zlib.Z_FULL_FLUSH)
    blob = squeeze.compress(piece) + squeeze.flush(zlib.Z_FULL_FLUSH)
    zeros = blob * (10 * 1024 // count) + squeeze.flush()
    forged = Forgery()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        assert archive.fp is not None
        for number in range(1, count + 1):
            info = zipfile.ZipInfo(f"revisions-{number + 1}.jsonl")
            info.compress_type = zipfile.ZIP_DEFLATED
            info.file_size, info.compress_size = claims, len(zeros)
            info.CRC = zlib.crc32(bytes(min(claims, 1 << 20)))
            info.header_offset = archive.fp.tell()
            archive.fp.write(info.FileHeader(zip64=True))
            archive.fp.write(zeros)
            archive.start_dir = archive.fp.tell()
            archive.filelist.append(info)
            archive.NameToInfo[info.filename] = info
            digest = sha256(bytes(min(claims, 1 << 20))).hexdigest()
            forged.manifest["members"][info.filename] = {"sha256": digest, "bytes": claims, "rows": 1}
        for name, data in forged.members.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps(forged.manifest))


def _bombs(claims: int, count: int = 1) -> Callable[[Path], None]:
    return lambda path: _bomb(path, claims=claims, count=count)


def _with_junk(before: bytes, after: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(before + GOLDEN.read_bytes() + after)


def _twice(name: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        Forgery().write(path)
        with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            archive.writestr(name, archive.read(name))

    return write


def _squeezed(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, data in members(GOLDEN).items():
            archive.writestr(name, data)


# Files that are broken from outside.
BROKEN: dict[str, tuple[Callable[[Path], object], Code, tuple[str, ...]]] = {
    "an empty file": (lambda path: path.write_bytes(b""), DAMAGED, ("not a ZIP file",)),
    "no zip": (lambda path: path.write_text("Dear reader, " * 1000), DAMAGED, ("not a ZIP file",)),
    "half a file": (lambda path: path.write_bytes(GOLDEN.read_bytes()[:5000]), DAMAGED, ("not a whole ZIP",)),
    "all but the end": (lambda path: path.write_bytes(GOLDEN.read_bytes()[:-30]), DAMAGED, ("not a whole ZIP",)),
    "no beginning": (lambda path: path.write_bytes(GOLDEN.read_bytes()[3000:]), DAMAGED, ()),
    "junk before it": (_with_junk(b"#!/bin/sh\n", b""), DAMAGED, ("before or after",)),
    "junk after it": (_with_junk(b"", b"junk"), DAMAGED, ("before or after",)),
    "two manifests": (_twice("manifest.json"), DAMAGED, ("one name",)),
    "a member that is there twice": (_twice("beats.jsonl"), DAMAGED, ("one name",)),
    "an unusual compression": (_squeezed, DAMAGED, ("unusual",)),
    "flipped bytes": (_flipped, DAMAGED, ()),
    "an empty zip": (_zipped(), DAMAGED, ("manifest.json",)),
    "no manifest": (_zipped(projects__jsonl=b"{}\n"), DAMAGED, ("no manifest.json",)),
    "a manifest that is no JSON": (_zipped(manifest__json=b"hello"), DAMAGED, ("manifest.json",)),
    "a manifest that is a list": (_zipped(manifest__json=b"[]"), DAMAGED, ("manifest.json",)),
    "a manifest without end": (_zipped(manifest__json=b"[" * 100_000), DAMAGED, ("manifest.json",)),
    "a manifest of nothing": (_zipped(manifest__json=b"{}"), DAMAGED, ("manifest.json",)),
    "an encrypted member": (_encrypted, DAMAGED, ("encrypted",)),
    "a link": (_linked, UNSAFE, ("link",)),
    "sizes below nothing": (_sizes(0xFFFFFFFE), UNSAFE, ()),
    "sizes that lie": (_sizes(3), DAMAGED, ()),
    "a folder": (lambda path: path.mkdir(), DAMAGED, ("could not be read",)),
    "no file": (lambda path: None, Code.FILE_NOT_FOUND, ("There is no file",)),
    "ten gigabytes of zeros": (_bombs(10 * GIGABYTE), UNSAFE, ("MB",)),
    "ten gigabytes in ten members": (_bombs(GIGABYTE, 10), UNSAFE, ("MB",)),
    "ten gigabytes that claim to be little": (_bombs(1000), DAMAGED, ("revisions-2.jsonl",)),
}


@pytest.fixture(scope="module", params=ENGINES)
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all of them: each leaves it as it was."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FABULA_DATA", str(folder))
        store = Store.open(request.getfixturevalue("server") if request.param == "postgres" else folder)
    fill(store)
    yield store
    projects.remove(store, PROJECT)
    store.close()


def assert_refused(store: Store, path: Path, code: Code, words: tuple[str, ...]) -> None:
    """Refused alike by a look, by a load as something new, and by one in place of what is there."""
    before = everything(store)
    for replace in (False, True):
        with pytest.raises(FabulaError) as refused:
            load_save(store, path, replace=replace)
        assert "bad.fabula" in refused.value.sentence
        if path.is_file():
            assert_says(refused.value, code, *words)
        assert refused.value.code is code
    assert everything(store) == before
    assert list_project_backups(store, PROJECT) == []
    report = verify_save(path)
    assert (report.is_loadable, report.code, str(report.reason)) == (False, code, refused.value.sentence)


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_save_is_refused_whole(name: str, full: Store, tmp_path: Path) -> None:
    change, code, words = FORGERIES[name]
    forged = Forgery()
    change(forged)
    forged.write(tmp_path / "bad.fabula")
    assert_refused(full, tmp_path / "bad.fabula", code, words)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_whole(name: str, full: Store, tmp_path: Path) -> None:
    make, code, words = BROKEN[name]
    make(tmp_path / "bad.fabula")
    assert_refused(full, tmp_path / "bad.fabula", code, words)


def test_no_text_of_a_row_is_longer_than_the_services_allow(tmp_path: Path) -> None:
    for table_format in (*table_formats(), *series_formats()):
        for column, most in table_format.max_characters.items():
            forged = Forgery()
            if most != MAX_LONG_TEXT or f"{table_format.name}.jsonl" not in forged.members:
                continue
            forged.line(table_format.name, 0, **{column: "x" * (most + 1)})
            forged.write(tmp_path / "bad.fabula")
            report = verify_save(tmp_path / "bad.fabula")
            assert report.code in (UNSAFE, DAMAGED), (table_format.name, column)
    unlimited = {
        f"{table_format.name}.{column.name}"
        for table_format in table_formats()
        for column in table_format.table.columns
        if isinstance(column.type, Text) and max_characters(column) is None
    }
    assert unlimited == {"revisions.text", "runs.prompt", "runs.answer"}


def test_the_forger_makes_good_saves_where_nothing_is_changed(store: Store, tmp_path: Path) -> None:
    Forgery().write(tmp_path / "good.fabula")
    assert load_save(store, tmp_path / "good.fabula").project_id == PROJECT


def test_a_line_of_too_many_values_is_not_even_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(save_open, "MAX_LINE_VALUES", 10_000)
    forged = Forgery()
    forged.line("lorebooks", 0, book=[[]] * 20_000)
    forged.write(tmp_path / "bad.fabula")
    report = verify_save(tmp_path / "bad.fabula")
    assert report.code is Code.SAVE_UNSAFE
    assert "line 1 of lorebooks.jsonl" in str(report.reason)


def test_too_many_rows_are_refused_by_the_manifest_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(save_open, "MAX_ROWS", 10)
    report = verify_save(GOLDEN)
    assert report.code is Code.SAVE_UNSAFE


def test_too_many_members_are_refused_by_the_directory_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forged = Forgery()
    names = [f"documents/x{number:05}.md" for number in range(save_open.SAVE_LIMITS.max_entries)]
    forged.members |= dict.fromkeys(names, b"")
    with zipfile.ZipFile(tmp_path / "bad.fabula", "w") as archive:
        for name, data in forged.members.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps(forged.manifest))
    monkeypatch.setattr(zipfile.ZipFile, "open", None)  # nothing in it is read
    report = verify_save(tmp_path / "bad.fabula")
    assert report.code is Code.SAVE_UNSAFE
    assert "50" in str(report.reason)


def test_a_row_may_leave_columns_to_their_defaults(store: Store, tmp_path: Path) -> None:
    forged = Forgery()
    forged.members["beats.jsonl"] = b'{"id":"x","document_id":"a"}\n{"id":"y","document_id":"a","place":3}\n'
    forged.write(tmp_path / "old.fabula")
    load_save(store, tmp_path / "old.fabula")
    with store.read(project=PROJECT) as reading:
        found = [(row.id, row.place, row.text, row.version) for row in reading.rows(beats, order=(beats.c.id,))]
    assert found == [("x", 0, "", 1), ("y", 3, "", 1)]


_WITH_LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from fabula.store.save.checking import verify_save
from fabula.store.save.tables import table_formats

table_formats()
(used,) = [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmSize")]
resource.setrlimit(resource.RLIMIT_AS, (used * 1024 + 200_000_000,) * 2)
print(verify_save(Path(sys.argv[1])).code)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory cannot be limited there")
@pytest.mark.parametrize(("claims", "count"), [(10 * GIGABYTE, 1), (GIGABYTE, 10), (1000, 1)])
def test_a_bomb_is_refused_quickly_and_without_using_the_memory(claims: int, count: int, tmp_path: Path) -> None:
    _bomb(tmp_path / "bad.fabula", claims=claims, count=count)
    begun = time.monotonic()
    command = [sys.executable, "-c", _WITH_LITTLE_MEMORY, str(tmp_path / "bad.fabula")]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert said.stdout.strip() in {Code.SAVE_UNSAFE.value, Code.SAVE_DAMAGED.value}
    assert time.monotonic() - begun < 20


def test_a_refused_save_is_no_reason_to_make_anything(store: Store, tmp_path: Path) -> None:
    projects.create(store, "Mine", project_id="mine")
    before = everything(store)
    (tmp_path / "bad.fabula").write_bytes(GOLDEN.read_bytes()[:-1])
    with pytest.raises(FabulaError):
        load_save(store, tmp_path / "bad.fabula", project_id="mine", replace=True)
    assert everything(store) == before
    assert list_project_backups(store, "mine") == []
