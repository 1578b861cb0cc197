"""Lorebooks and cards in and out: one door for every format.

What a file is, its content says. A book is kept as its JSON came, and `parse` says what it means in our
terms and what has no equal here; writing it gives back what came in, with our edits patched into it and
nothing else changed. Only `as_world_info` makes another book of it, and says what that costs.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from fabula.core.errors import Code, FabulaError
from fabula.formats.lore import charx, png
from fabula.formats.lore.book_edits import added, patched, with_story, without
from fabula.formats.lore.cards import CARD, CHARACTER_BOOK, LOREBOOK_V3, Card, card_version, read_card_json
from fabula.formats.lore.field_maps import Dialect, Read, Row, invalid, read_rows
from fabula.formats.lore.other_programs import AGNAI, NOVELAI, RISU
from fabula.formats.lore.world_info import WORLD_INFO
from fabula.formats.manuscripts.imported import unreadable
from fabula.formats.safe.atomic_write import save
from fabula.formats.safe.json_reader import MOST_BYTES, read_bytes, read_json, too_large, write_json
from fabula.lorebook.edits import Lorebook

DIALECTS = (NOVELAI, AGNAI, RISU, LOREBOOK_V3, CARD, WORLD_INFO, CHARACTER_BOOK)
_MOST_FILE = charx.LIMITS.file
_CARD_TEXTS = ("ccv3", "chara")  # the newer one is meant where there are both
_NOVELAI_TEXT = "naidata"
_ZIP = (b"PK\3\4", b"PK\5\6")


def read_lorebook(path: Path) -> Lorebook:
    """The book in a file. A card is one too, kept whole, with as many entries as its own book has, perhaps none."""
    data = read_bytes(path, _MOST_FILE)
    if data.startswith(png.SIGNATURE):
        texts = png.texts_in(data, (*_CARD_TEXTS, _NOVELAI_TEXT), path.name)
        if _NOVELAI_TEXT in texts:
            return _book(_hidden(texts[_NOVELAI_TEXT], path.name), path.name)
    if data.startswith((png.SIGNATURE, *_ZIP)):
        return _book(_card(data, path.name, assets=False).raw, path.name)
    return _book(read_json(data, path.name), path.name)


def read_card(path: Path) -> Card:
    """A card from JSON, PNG or CHARX."""
    return _card(read_bytes(path, _MOST_FILE), path.name, assets=True)


def write_lorebook(book: Lorebook, path: Path, *, into: Path | None = None, overwrite: bool = False) -> None:
    """The book as it came, with our edits in it; a card also in the picture or archive that `into` names."""
    if book.format != CARD.name or path.suffix.lower() not in (".png", ".charx"):
        save(write_json(book.book), path, overwrite=overwrite)
        return
    card = read_card_json(book.book, book.name)
    data = read_bytes(into, _MOST_FILE) if into is not None else b""
    if data.startswith(png.SIGNATURE):
        card = replace(card, image=data)
    elif data.startswith(_ZIP):
        card = replace(card, assets=charx.read_charx(data, path.name)[1])
    write_card(card, path, overwrite=overwrite)


def write_card(card: Card, path: Path, *, overwrite: bool = False) -> None:
    """The card as JSON, CHARX or in its picture; the ending of the name says which."""
    match path.suffix.lower():
        case ".json":
            data = write_json(card.raw)
        case ".charx":
            data = charx.write_charx(card.raw, card.assets)
        case ".png" if card.image is not None:
            data = _painted(card, card.image, path.name)
        case ending:
            why = "this card came without a picture" if ending == ".png" else f"a card is not written as {ending!r}"
            raise FabulaError(
                Code.EXPORT_REFUSED, f"{path.name}: {why}. Nothing was written. Use .json or .charx, or .png for a PNG."
            )
    save(data, path, overwrite=overwrite)


def parse(book: Lorebook) -> Read:
    """What a book means in our terms, every field checked, and what has no equal here."""
    return read_rows(_dialect(book), book.book, book.id or book.name, book.name)


def patch(book: Lorebook, uid: int, **changes: Any) -> Lorebook:
    """The book with some fields of one entry changed, by their names in a world book; the rest as it came."""
    return replace(book, book=patched(_dialect(book), book.book, book.name, uid, changes))


def add(book: Lorebook, **fields: Any) -> tuple[Lorebook, int]:
    """The book with one entry more, and that entry's number."""
    if book.format == CARD.name and card_version(book.book) == 1:
        raise invalid(f"{book.name} is a card of version 1, which has no book to put an entry into.")
    made, uid = added(_dialect(book), book.book, book.name, fields)
    return replace(book, book=made), uid


def drop(book: Lorebook, uid: int) -> Lorebook:
    """The book with one entry less."""
    return replace(book, book=without(_dialect(book), book.book, book.name, uid))


def as_world_info(book: Lorebook) -> tuple[Lorebook, tuple[str, ...]]:
    """The book as SillyTavern's world info, and what is lost by that."""
    read = parse(book)
    entries = {
        str(entry.uid): with_story(_told(msgspec.to_builtins(replace(entry, story=None))), entry.story)
        for entry in read.book.entries
    }
    made = replace(book, format=WORLD_INFO.name, book={"name": book.name, "entries": entries})
    further = () if book.format == WORLD_INFO.name else ("Fields that only the other format knows are left out.",)
    return made, (*read.warnings, *further)


def _told(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _dialect(book: Lorebook) -> Dialect:
    found = next((dialect for dialect in DIALECTS if dialect.name == book.format), None)
    return found or _recognised(book.book, book.name)


def _recognised(raw: Any, what: str) -> Dialect:
    for dialect in DIALECTS if isinstance(raw, Mapping) else ():
        if dialect.recognises(raw):
            return dialect
    raise invalid(f"{what}: this is no lorebook and no card that we know.")


def _book(raw: Any, what: str) -> Lorebook:
    dialect = _recognised(raw, what)
    said = dialect.title(raw)
    title = said if isinstance(said, str) and said.strip() else Path(what).stem
    book = Lorebook(
        name=" ".join(title.split())[:200] or "Lorebook", book=raw, format=dialect.name, rules=dialect.rules
    )
    parse(book)  # a book that cannot be read is not brought in
    return book


def _card(data: bytes, what: str, *, assets: bool) -> Card:
    if data.startswith(png.SIGNATURE):
        texts = png.texts_in(data, _CARD_TEXTS, what)
        name = next((name for name in _CARD_TEXTS if name in texts), None)
        if name is None:
            unreadable(what, "there is no card in this picture", "Name the picture as it was exported, unchanged.")
        return replace(read_card_json(_hidden(texts[name], what), what), image=data)
    if data.startswith(_ZIP):
        raw, found = charx.read_charx(data, what, assets=assets)
        return replace(read_card_json(raw, what), assets=found)
    return read_card_json(read_json(data, what), what)


def _hidden(text: str, what: str) -> Any:
    """The JSON behind a text of a picture: in base64, or as it is."""
    if text.lstrip().startswith("{"):
        return read_json(text.encode(), what)
    if len(text) > MOST_BYTES * 4 // 3 + 4:
        too_large(what, f"the card in this picture is larger than {MOST_BYTES // 1_000_000} MB")
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        unreadable(what, "the card in this picture is damaged", "Fetch or export it again.")
    return read_json(data, what)


def _painted(card: Card, image: bytes, what: str) -> bytes:
    """The picture with the card in it; untouched where it holds the card already."""
    there = png.texts_in(image, _CARD_TEXTS, what)
    main = next((name for name in _CARD_TEXTS if name in there), "ccv3" if card.version == 3 else "chara")
    if main in there and _hidden(there[main], what) == card.raw:
        return image
    texts = {main: _base64(card.raw)}
    if main == "ccv3" and "chara" in there:  # for programs that know version 2 only
        texts["chara"] = _base64({**card.raw, "spec": "chara_card_v2", "spec_version": "2.0"})
    return png.with_texts(image, texts, what)


def _base64(raw: Row) -> str:
    return base64.b64encode(msgspec.json.encode(raw)).decode("ascii")
