"""CHARX: a card with everything that belongs to it, as a ZIP.

`card.json` is the card; whatever else is in the archive is kept as it is, by its name, and written back.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from fabula.core.archives import Limits, open_zip
from fabula.formats.manuscripts.imported import unreadable
from fabula.formats.safe.json_reader import read_json, write_json

CARD = "card.json"
LIMITS = Limits(entries=5_000, each=64_000_000, total=256_000_000, file=128_000_000)
_DAY = (1980, 1, 1, 0, 0, 0)  # the same card is the same file


def read_charx(path: Path | bytes, what: str, *, assets: bool = True) -> tuple[Any, dict[str, bytes]]:
    """The card's JSON, and its assets by name unless nobody wants them."""
    with open_zip(path, LIMITS, label=what) as archive:
        if CARD not in archive.names:
            unreadable(what, f"there is no {CARD} in it", "Name a CHARX file, or another card.")
        raw = read_json(archive.read(CARD), what)
        return raw, {name: archive.read(name) for name in archive.names if name != CARD} if assets else {}


def write_charx(raw: object, assets: Mapping[str, bytes]) -> bytes:
    """The card and its assets as a ZIP."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in ((CARD, write_json(raw)), *assets.items()):
            archive.writestr(zipfile.ZipInfo(name, _DAY), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
