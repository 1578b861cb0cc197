"""Renders entries and progressions as prompt text.

An entry is one text with everything that is true from the beginning. Each progression is a text of its own that
names its entry and the chapter it starts in, so that the model can see which of two statements is the newer one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.core.view import Language

if TYPE_CHECKING:
    from fabula.codex.entry import Entry, Progression

_TYPES_ZH = {
    "character": "人物",
    "location": "地点",
    "event": "事件",
    "item": "物件",
    "faction": "势力",
    "lore": "设定",
    "other": "其他",
}


def render_entry(entry: Entry, language: Language) -> str:
    """Render an entry: `Mara Venn (character; also Mara): …`, then its details."""
    if language == "zh":
        also = f"，又名{'、'.join(entry.aliases)}" if entry.aliases else ""
        head = f"{entry.name}（{_TYPES_ZH.get(entry.type, entry.type)}{also}）：{entry.description}"
        return head + "".join(f"{key}：{_end_sentence(value, '。')}" for key, value in entry.details.items())
    also = f"; also {', '.join(entry.aliases)}" if entry.aliases else ""
    head = f"{entry.name} ({entry.type}{also}): {entry.description}"
    return head + "".join(f" {key.capitalize()}: {_end_sentence(value, '.')}" for key, value in entry.details.items())


def render_progression(entry: Entry, progression: Progression, chapter: int | None, language: Language) -> str:
    """Render a progression: `Mara Venn (from chapter 5 on): …`, new names first."""
    if language == "zh":
        since = f"第{chapter}章起" if chapter else "此后"
        also = f"又名{'、'.join(progression.aliases)}。" if progression.aliases else ""
        return f"{entry.name}（{since}）：{also}{progression.text}"
    since = f"from chapter {chapter} on" if chapter else "by now"
    also = f"also called {', '.join(progression.aliases)}." if progression.aliases else ""
    return f"{entry.name} ({since}): {' '.join(filter(None, (also, progression.text)))}"


def _end_sentence(text: str, stop: str) -> str:
    """Add a full stop unless the text ends with a mark already."""
    return text if text.endswith((".", "!", "?", "。", "！", "？", "”")) else text + stop
