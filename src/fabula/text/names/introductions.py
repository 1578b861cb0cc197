"""Introductions: where a Chinese book says that two names belong to one person (姓刘，名备，字玄德)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fabula.text.names.surnames import DOUBLE_SURNAMES, SURNAMES, surname_of

_HAN = "\u4e00-\u9fff"
_MARK = re.compile("[字号]|人称|[诨绰]名")  # in every introduction; most texts have none, and reading for it is fast
# 姓刘，名备，字玄德; 关羽，字云长; 姓贾名化，表字时飞，别号雨村
_INTRODUCTION = re.compile(
    rf"(?:复?姓([{_HAN}]{{1,2}})[，、]?名([{_HAN}]{{1,2}})|(?<![{_HAN}])([{_HAN}]{{2,4}}))[，、]?(?:者[，、])?"
    rf"(?:[表]?字([{_HAN}]{{2}})(?=[^{_HAN}]|乃|者|也|号|别)|(?:[别道绰诨自]号|诨名|绰名|人称)([{_HAN}]{{2,4}})(?=[^{_HAN}]))"
)


def find_introductions(text: str) -> Iterator[tuple[str, str]]:
    """Pairs of names that the book itself gives to one person: the full name and the other one."""
    if text.isascii() or _MARK.search(text) is None:
        return
    for match in _INTRODUCTION.finditer(text):
        surname, given, full, courtesy, pen = match.groups()
        if surname and (surname in SURNAMES or surname in DOUBLE_SURNAMES):
            yield surname + given, courtesy or pen
        elif full:
            start = next((at for at in range(len(full) - 1) if surname_of(full[at:])), None)
            if start is not None:
                yield full[start:], courtesy or pen
