"""The characters of the codex, as the synopses need them to name whom a chapter is about."""

from __future__ import annotations

from fabula.codex.model import Codex
from fabula.core.view import View
from fabula.text.names.main_characters import NO_CHARACTERS, CharacterFinder


def collect_characters(view: View) -> CharacterFinder:
    """Collect the characters of the codex; they share the matcher that detects entries."""
    codex = view.snapshot(Codex)
    if codex is None or not codex.entries:
        return NO_CHARACTERS
    by_id = codex.by_id

    def character_name(owner: str) -> str | None:
        return by_id[owner].name if by_id[owner].type == "character" else None

    return CharacterFinder(codex.name_matcher, character_name)
