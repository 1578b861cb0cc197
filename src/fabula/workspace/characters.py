"""People: who plays in a story, as the codex has it."""

from __future__ import annotations

from fabula.codex.model import Codex
from fabula.core.view import View
from fabula.text.names.main_characters import NOBODY, Cast


def cast_of(view: View) -> Cast:
    """The characters of the codex, known by the names by which they are noticed anyway."""
    codex = view.room(Codex)
    if codex is None or not codex.entries:
        return NOBODY
    entries = codex.by_id

    def who(owner: str) -> str | None:
        return entries[owner].name if entries[owner].type == "character" else None

    return Cast(codex.names, who)
