"""Read and write lorebooks and character cards as files: JSON, PNG, CHARX, and the archives and pictures of Backyard.

The content of a file decides its format. A lorebook is written as it came, with our edits in it and
nothing else changed. A CHARX file is a ZIP with `card.json`; its other members are kept by name and
written back. In a PNG a card of version 3 has the keyword `ccv3`, and a copy for programs that know only
version 2 has `chara`, as older cards do. Backyard has its characters in the EXIF data of a PNG, and in archives of
its own with several JSON files, which are read as one object.
"""

from __future__ import annotations

import base64
import binascii
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

from msgspec.structs import replace

from fabula.core.archives import Archive, ArchiveLimits, open_zip
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, advise, message, plural
from fabula.formats.lore.cards import CARD, CharacterCard, convert_card, parse_card
from fabula.formats.lore.characters import BACKYARD, BACKYARD_ARCHIVE
from fabula.formats.lore.editing import detect_format, parse_lorebook
from fabula.formats.lore.field_maps import LIST, JsonObject, get_at_path
from fabula.formats.lore.other_programs import NOVELAI
from fabula.formats.lore.png import SIGNATURE, read_text_chunks, read_user_comment, replace_text_chunks
from fabula.formats.lore.unsupported import find_picture_format
from fabula.formats.safe.files import read_file, write_file
from fabula.formats.safe.import_errors import FETCH_AGAIN, refuse_more_bytes, refuse_unreadable
from fabula.formats.safe.json_reader import MAX_JSON_BYTES, encode_json, parse_json
from fabula.lorebook.edits import Lorebook

_LIMITS = ArchiveLimits(
    max_entries=5_000, max_entry_bytes=64_000_000, max_total_bytes=256_000_000, max_file_bytes=128_000_000
)
_CARD_KEYWORDS = ("ccv3", "chara")  # of PNG text chunks; the newer one wins
_NOVELAI_KEYWORD = "naidata"
_CHARX_CARD = "card.json"
_BACKYARD_MANIFEST = "manifest.json"
_CHARX_DATE = (1980, 1, 1, 0, 0, 0)  # fixed, so that the same card gives the same file
_ZIP_SIGNATURES = (b"PK\3\4", b"PK\5\6")
_OTHERS_IN_CONTAINERS = (NOVELAI, BACKYARD, BACKYARD_ARCHIVE)  # beside cards


def read_lorebook(path: Path) -> Lorebook:
    """Read the lorebook in a file. A card is a lorebook too, with the entries of its own book, perhaps none."""
    data, label = read_file(path, _LIMITS.max_file_bytes), path.name
    raw = _extract_json(data, label, (_NOVELAI_KEYWORD, *_CARD_KEYWORDS))
    is_container = data.startswith((SIGNATURE, *_ZIP_SIGNATURES))
    if is_container and not (isinstance(raw, Mapping) and any(one.matches(raw) for one in _OTHERS_IN_CONTAINERS)):
        parse_card(raw, label)  # refuses a picture or archive without a card
    return _make_lorebook(raw, label)


def read_card(path: Path) -> CharacterCard:
    """Read a card from JSON, PNG or CHARX."""
    data, label = read_file(path, _LIMITS.max_file_bytes), path.name
    card = parse_card(_extract_json(data, label, _CARD_KEYWORDS), label)
    return _add_container(card, data, label) if data.startswith((SIGNATURE, *_ZIP_SIGNATURES)) else card


_BOOK_ENDINGS = (".json", ".lorebook", ".scenario", ".story")  # the latter are those of NovelAI


def write_lorebook(
    book: Lorebook, path: Path, *, into: Path | None = None, overwrite: bool = False
) -> tuple[Sentence, ...]:
    """Write a book and return what is lost; a card goes into a copy of the PNG or CHARX file that `into` names."""
    is_card, is_container = book.format == CARD.name, path.suffix.lower() in (".png", ".charx")
    if is_container and not is_card:
        _refuse_export(path, message("only a card can be a picture or an archive"), message("Use .json."))
    if into is not None and not is_container:
        _refuse_export(path, message("a card goes into a picture or an archive"), message("Use .png or .charx."))
    if not is_card:
        if path.suffix.lower() not in _BOOK_ENDINGS:
            _refuse_export(path, message("a lorebook cannot be written in this format"), message("Use .json."))
        raw = book.book
        write_file(encode_json(raw[LIST] if set(raw) == {LIST} else raw), path, overwrite=overwrite)
        return ()
    card = parse_card(book.book, book.name)
    if into is not None:
        card = _add_container(card, read_file(into, _LIMITS.max_file_bytes), into.name)
    write_card(card, path, overwrite=overwrite)
    missing = 0 if card.assets and path.suffix.lower() == ".charx" else _count_embedded_assets(card)
    lost = plural(missing, "1 file of its archive is left out.", "{count} files of its archive are left out.")
    return (lost,) if missing else ()


def write_card(card: CharacterCard, path: Path, *, overwrite: bool = False) -> None:
    """Write a card as JSON, CHARX or into its picture; the ending of the file name decides."""
    match path.suffix.lower():
        case ".json":
            data = encode_json(card.raw)
        case ".charx":
            data = _write_charx(card.raw, card.assets)
        case ".png" if card.image is not None:
            data = _embed_in_png(card, card.image, path.name)
        case ".png":
            remedy = advise(
                message("Name a PNG of your own or the one it came from with --into, or use .json or .charx."),
                message("Name a PNG of your own or the one it came from, or use .json or .charx."),
            )
            _refuse_export(path, message("a card needs a picture to be written into"), remedy)
        case _:
            _refuse_export(
                path, message("a card cannot be written in this format"), message("Use .json, .charx or .png.")
            )
    write_file(data, path, overwrite=overwrite)


def _refuse_export(path: Path, problem: Sentence, remedy: Sentence) -> NoReturn:
    sentence = message(
        "{name}: {problem}. Nothing was written. {remedy}", name=path.name, problem=problem, remedy=remedy
    )
    raise FabulaError(Code.EXPORT_REFUSED, sentence)


def _count_embedded_assets(card: CharacterCard) -> int:
    """How many assets of a card are files of the archive that it came from."""
    listed, _ = get_at_path(card.raw, "data.assets")
    addresses = [asset.get("uri") for asset in listed if isinstance(asset, Mapping)] if isinstance(listed, list) else []
    return sum(isinstance(uri, str) and uri.startswith(("embeded://", "embedded://")) for uri in addresses)


def _make_lorebook(raw: Any, label: str) -> Lorebook:
    raw = {LIST: raw} if isinstance(raw, list) else raw
    book_format = detect_format(raw, label)
    title = book_format.read_title(raw)
    name = " ".join(title.split()) if isinstance(title, str) else ""
    name = (name or " ".join(Path(label).stem.split()))[:200] or "Lorebook"
    book = Lorebook(name=name, book=raw, format=book_format.name, rules=book_format.rules)
    parse_lorebook(book)  # refuses a book with errors before it is stored
    return book


def _extract_json(data: bytes, label: str, keywords: Sequence[str]) -> Any:
    """The JSON of a file: the text of a PNG's first keyword, the card of a CHARX, or all of it."""
    if data.startswith(SIGNATURE):
        texts = read_text_chunks(data, keywords, label)
        keyword = next((keyword for keyword in keywords if keyword in texts), None)
        text = texts[keyword] if keyword is not None else read_user_comment(data, label)
        if text is None:
            refuse_unreadable(label, message("there is no card in this picture"), FETCH_AGAIN)
        return _decode_embedded_json(text, label)
    if data.startswith(_ZIP_SIGNATURES):
        with open_zip(data, _LIMITS, label=label) as archive:
            if _CHARX_CARD not in archive.names and _BACKYARD_MANIFEST in archive.names:
                return _join_backyard_archive(archive, label)
            data = archive.read(_CHARX_CARD)
    picture = find_picture_format(data)
    if picture is not None:
        problem = message("it is a picture in the format {format}, in which no card is read", format=picture)
        refuse_unreadable(label, problem, message("Name a card as JSON, PNG or CHARX."))
    if label.lower().endswith(".jsonl"):
        problem = message("it is a chat, and neither a lorebook nor a card")
        remedy = advise(
            message("To import it: fabula history import PROJECT FILE"), message("Import it as a conversation.")
        )
        refuse_unreadable(label, problem, remedy)
    if label.lower().endswith((".yaml", ".yml")):
        refuse_unreadable(label, message("it is YAML, which is not read"), message("Save the character as JSON."))
    return parse_json(data, label)


def _join_backyard_archive(archive: Archive, label: str) -> JsonObject:
    """The files of an archive of Backyard as one object: its manifest, its character and its scenarios."""
    manifest = parse_json(archive.read(_BACKYARD_MANIFEST), label)
    listed = manifest if isinstance(manifest, Mapping) else {}
    characters, scenarios = (
        [parse_json(archive.read(name), label) for name in names if isinstance(name, str)]
        if isinstance(names := listed.get(kind), list)
        else []
        for kind in ("characters", "scenarios")
    )
    if len(characters) != 1:
        refuse_unreadable(label, message("it is not an archive with one character"), FETCH_AGAIN)
    return {"manifest": manifest, "character": characters[0], "scenarios": scenarios}


def _add_container(card: CharacterCard, data: bytes, label: str) -> CharacterCard:
    """The card with the picture or the assets of the file that it is in."""
    if data.startswith(SIGNATURE):
        return replace(card, image=data)
    if not data.startswith(_ZIP_SIGNATURES):
        refuse_unreadable(label, message("it is neither a PNG nor a CHARX"), message("Name another file."))
    with open_zip(data, _LIMITS, label=label) as archive:
        return replace(card, assets={name: archive.read(name) for name in archive.names if name != _CHARX_CARD})


def _decode_embedded_json(text: str, label: str) -> Any:
    """Decode the JSON of a PNG text chunk, which is in base64 or plain."""
    if text.lstrip().startswith("{"):
        return parse_json(text.encode(), label)
    if len(text) > MAX_JSON_BYTES * 4 // 3 + 4:
        refuse_more_bytes(label, MAX_JSON_BYTES)
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        refuse_unreadable(label, message("the card in this picture is damaged"), FETCH_AGAIN)
    return parse_json(data, label)


def _embed_in_png(card: CharacterCard, image: bytes, label: str) -> bytes:
    """Write a card into a picture; a picture that has the same card already is not changed."""
    present = read_text_chunks(image, _CARD_KEYWORDS, label)
    keyword = next((keyword for keyword in _CARD_KEYWORDS if keyword in present), None)
    if keyword is not None and _decode_embedded_json(present[keyword], label) == card.raw:
        return image
    if card.version < 3:
        return replace_text_chunks(image, {"ccv3": None, "chara": _encode_base64(card.raw)}, label)
    older, _ = convert_card(card, 2)
    texts = {"ccv3": _encode_base64(card.raw), "chara": _encode_base64(older.raw)}
    return replace_text_chunks(image, texts, label)


def _encode_base64(raw: JsonObject) -> str:
    return base64.b64encode(encode_json(raw, indent=None)).decode("ascii")


def _write_charx(raw: JsonObject, assets: Mapping[str, bytes]) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in ((_CHARX_CARD, encode_json(raw)), *assets.items()):
            archive.writestr(zipfile.ZipInfo(name, _CHARX_DATE), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
