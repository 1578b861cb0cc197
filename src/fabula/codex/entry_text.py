"""Renders entries and progressions as prompt text.

An entry is one text with everything that is true from the beginning. Each progression is a text of its own that
names its entry and the chapter it starts in, so that the model can see which of two statements is the newer one.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabula.codex.entry import Entry, Progression
from fabula.codex.entry_types import name_type
from fabula.core.messages import Sentence, join_names, message
from fabula.core.view import Language


def render_entry(entry: Entry, language: Language, relations: Sequence[tuple[str, str]] = ()) -> str:
    """Render an entry: `Mara Venn (character; also Mara): …`, then its details and relations (kind and name)."""
    text = message(
        "{name} ({type}{also}): {description}",
        name=entry.name,
        type=name_type(entry.type),
        also=message("; also {names}", names=join_names(entry.aliases)) if entry.aliases else "",
        description=entry.description,
    ).render(language)
    for key, value in entry.details.items():
        title = key if language == "zh" else key.capitalize()
        text += message(" {title}: {value}", title=title, value=_end_sentence(value)).render(language)
    if relations:
        text += message(" Relations: {relations}.", relations=_join_relations(relations, language)).render(language)
    return text


def render_relation(entry: Entry, kind: str, other: str, chapter: Sentence | None, language: Language) -> str:
    """Render a relation by itself: `Mara Venn (relations, from chapter 5 on): sister of: Tom Venn.`"""
    relation = _join_relations([(kind, other)], language)
    if chapter is None:
        return message("{name} (relations): {relations}.", name=entry.name, relations=relation).render(language)
    since = message("from {chapter} on", chapter=chapter)
    return message(
        "{name} (relations, {since}): {relations}.", name=entry.name, since=since, relations=relation
    ).render(language)


def _join_relations(relations: Sequence[tuple[str, str]], language: Language) -> str:
    pairs = [message("{kind}: {name}", kind=kind, name=name).render(language) for kind, name in relations]
    return message("; ").render(language).join(pairs)


def render_progression(entry: Entry, progression: Progression, chapter: Sentence | None, language: Language) -> str:
    """Render a progression: `Mara Venn (from chapter 5 on): …`, new names first."""
    text: str | Sentence = progression.text
    if progression.aliases:
        names = join_names(progression.aliases)
        text = (
            message("also called {names}. {text}", names=names, text=text)
            if text
            else message("also called {names}.", names=names)
        )
    since = message("from {chapter} on", chapter=chapter) if chapter else message("by now")
    return message("{name} ({since}): {text}", name=entry.name, since=since, text=text).render(language)


def render_fact(entry: Entry, text: str, chapter: Sentence | None, language: Language) -> str:
    """Render a sentence of the book about an entry: `Mara Venn (chapter 5): …`."""
    if chapter is None:
        return message("{name}: {text}", name=entry.name, text=text).render(language)
    return message("{name} ({chapter}): {text}", name=entry.name, chapter=chapter, text=text).render(language)


def _end_sentence(text: str) -> str | Sentence:
    """Add a full stop unless the text ends with a mark already."""
    return text if text.endswith((".", "!", "?", "。", "！", "？", "”")) else message("{text}.", text=text)
