"""Portraits: an entry in words, as a prompt tells it.

What is true from the beginning is one text. What becomes true later, a new name among it, is a text of
its own that says whose it is and since when, so that a later one is seen to supersede an earlier one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.view import Language

if TYPE_CHECKING:
    from fabula.codex.model import Entry, Progression

_TYPES_ZH = {
    "character": "人物",
    "location": "地点",
    "event": "事件",
    "item": "物件",
    "faction": "势力",
    "lore": "设定",
    "other": "其他",
}


def portrait(entry: Entry, language: Language) -> str:
    """`Mara Venn (character; also Mara): …`; details follow."""
    if language == "zh":
        also = f"，又名{'、'.join(entry.aliases)}" if entry.aliases else ""
        head = f"{entry.name}（{_TYPES_ZH.get(entry.type, entry.type)}{also}）：{entry.description}"
        return head + "".join(f"{key}：{_closed(value, '。')}" for key, value in entry.details.items())
    also = f"; also {', '.join(entry.aliases)}" if entry.aliases else ""
    head = f"{entry.name} ({entry.type}{also}): {entry.description}"
    return head + "".join(f" {key.capitalize()}: {_closed(value, '.')}" for key, value in entry.details.items())


def progress(entry: Entry, step: Progression, chapter: int | None, language: Language) -> str:
    """`Mara Venn (from chapter 5 on): …`, with the names it is known by from there on."""
    if language == "zh":
        since = f"第{chapter}章起" if chapter else "此后"
        also = f"又名{'、'.join(step.aliases)}。" if step.aliases else ""
        return f"{entry.name}（{since}）：{also}{step.text}"
    since = f"from chapter {chapter} on" if chapter else "by now"
    also = f"also called {', '.join(step.aliases)}." if step.aliases else ""
    return f"{entry.name} ({since}): {' '.join(filter(None, (also, step.text)))}"


def _closed(text: str, stop: str) -> str:
    """A text that ends like a sentence."""
    return text if text.endswith((".", "!", "?", "。", "！", "？", "”")) else text + stop
