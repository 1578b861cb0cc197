"""A skill: what the model is asked to do, in which role, and what becomes of its answer.

Each is a small file: a layout of the prompt, a template for its last words, settings for the model, and
where the answer goes. The built-in ones are files like anybody's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from msgspec import Struct

from fabula.core.story import Eyes
from fabula.core.view import Language

Target = Literal["cursor", "selection", "document"]


class Answer(StrEnum):
    """What becomes of an answer once it is accepted."""

    INSERT = "insert"  # at the cursor
    REPLACE = "replace"  # in place of the selection
    SHOW = "show"  # nowhere: it is read, not kept
    SYNOPSIS = "synopsis"  # the document's synopsis
    ENTRIES = "entries"  # proposals for the codex

    @property
    def prose(self) -> bool:
        """Is it text of the story? Only that is judged, and only from that does memory learn."""
        return self in (Answer.INSERT, Answer.REPLACE)


class Wishes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the model is to answer."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()


class Skill(Struct, frozen=True, kw_only=True):
    """One thing the model can be asked to do. `eyes` overrides whose knowledge it may use."""

    id: str
    says: Mapping[Language, str]
    title: Mapping[Language, str] = {}
    recipe: str = "novel"
    works_on: tuple[Target, ...] = ("cursor",)
    answer: Answer = Answer.SHOW
    eyes: Eyes | None = None
    wishes: Wishes = Wishes()
    origin: Literal["built in", "folder", "project"] = "built in"

    def called(self, language: Language) -> str:
        """What to call it before a person."""
        return self.title.get(language) or self.title.get("en") or self.id
