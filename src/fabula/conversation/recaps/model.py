"""The types of recaps: rules, the input of the model, entries and the result of a refresh (cnv-6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct, field

from fabula.conversation.tables import TextOrigin
from fabula.core.errors import Code
from fabula.core.view import Language

RecapKind = Literal["summary", "recap"]
RecapFreshness = Literal["fresh", "stale"]


class RecapRules(Struct, frozen=True, kw_only=True):
    """When summaries and recaps are written, and how long they may be."""

    enabled: bool = True
    rounds_per_summary: int = 5
    rounds_per_recap: int = 10  # as many rounds of summaries become one recap
    max_recaps: int = 20  # 1: only the newest; 0 or less: no limit
    max_chars: int = 1200  # of one summary or recap
    timeout: float = 5.0  # seconds for one answer of the model


class TranscriptLine(Struct, frozen=True):
    """A message with its speaker; in the input of a recap, a summary without a speaker."""

    speaker: str
    text: str

    def __str__(self) -> str:
        return f"{self.speaker}: {self.text}" if self.speaker else self.text


class RecapInput(Struct, frozen=True, kw_only=True):
    """The input from which the model writes a summary or a recap."""

    kind: RecapKind
    lines: tuple[TranscriptLine, ...]
    previous_recap: str  # the recap before these rounds, for context; empty if there is none
    language: Language
    max_chars: int  # of the answer
    timeout: float  # seconds

    @property
    def text(self) -> str:
        """All lines as one text."""
        return "\n".join(map(str, self.lines))


WriteRecap = Callable[[RecapInput], str]  # may raise a FabulaError


class RecapEntry(Struct, frozen=True, kw_only=True):
    """A summary or a recap as people see it; it is stale if its rounds have changed."""

    id: str
    kind: RecapKind
    text: str
    created_at: str
    rounds: tuple[int, ...]
    origin: TextOrigin
    freshness: RecapFreshness
    version: int

    @property
    def first_round(self) -> int:
        """The first round that it covers."""
        return self.rounds[0] if self.rounds else 0

    @property
    def last_round(self) -> int:
        """The last round that it covers."""
        return self.rounds[-1] if self.rounds else 0


class RecapFailure(Struct, frozen=True):
    """Why some rounds have no summary or recap."""

    kind: RecapKind
    rounds: tuple[int, ...]
    code: Code
    sentence: str


class RecapRefreshResult(Struct, kw_only=True):
    """What a refresh wrote, and what it could not write."""

    entries: list[RecapEntry] = field(default_factory=list)
    failures: list[RecapFailure] = field(default_factory=list)
    superseded: list[tuple[int, ...]] = field(default_factory=list)  # rounds changed or written meanwhile
    has_more: bool = False  # more is due than one refresh writes
    disabled: bool = False  # recaps are switched off
