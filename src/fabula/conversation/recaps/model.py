"""The types of recaps: rules, the input of the model, entries and the result of a refresh (cnv-6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct, field

from fabula.conversation.tables import TextOrigin
from fabula.core.errors import Code
from fabula.core.messages import Sentence
from fabula.core.view import Language
from fabula.text.quotes import render_line

RecapKind = Literal["summary", "recap"]


class RecapRules(Struct, frozen=True, kw_only=True):
    """When summaries and recaps are written, and how long they may be."""

    enabled: bool = True
    rounds_per_summary: int = 5
    rounds_per_recap: int = 10  # as many rounds of summaries become one recap
    max_recaps: int = 20  # 1: only the newest; 0 or less: no limit
    max_chars: int = 1200  # of one summary or recap
    timeout: float = 5.0  # seconds for one answer of the model
    max_messages: int = 60  # messages without a summary, over which older history is summarised
    max_tokens: int = 6000  # and tokens
    window_tokens: int = 1000  # that the smallest history window of a chat shows

    @property
    def shown_tokens(self) -> int:
        """How many tokens may stay without a summary: as many as every chat shows."""
        return min(self.max_tokens, self.window_tokens)


class TranscriptLine(Struct, frozen=True):
    """A message with its speaker; in the input of a recap, a summary without a speaker."""

    speaker: str
    text: str

    def render(self, language: str) -> str:
        """The line with the name before it."""
        return render_line(self.speaker, self.text, language)


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
        return "\n".join(line.render(self.language) for line in self.lines)


WriteRecap = Callable[[RecapInput], str]  # may raise a FabulaError


class StoredRecap(Struct, frozen=True, kw_only=True):
    """A summary or a recap as it is stored."""

    id: str
    rounds: tuple[int, ...]
    text: str
    origin: TextOrigin
    source_hash: str = field(name="made_from")  # of the rounds that it was made from
    created_at: str = field(name="made")
    version: int
    in_recap: bool = field(default=False, name="stacked")  # of a summary: a recap was made of it
    place: int = 0  # of a recap: its place in the list
    heard: tuple[int, ...] = ()  # the numbers of the messages that it was made from; empty in older stores

    @property
    def first_round(self) -> int:
        """The first round that it covers."""
        return self.rounds[0] if self.rounds else 0

    @property
    def last_round(self) -> int:
        """The last round that it covers."""
        return self.rounds[-1] if self.rounds else 0


class RecapEntry(StoredRecap, frozen=True, kw_only=True):
    """A summary or a recap as people see it; it is stale if its rounds have changed."""

    kind: RecapKind
    freshness: Literal["fresh", "stale"]


class RecapFailure(Struct, frozen=True):
    """Why some rounds have no summary or recap."""

    kind: RecapKind
    rounds: tuple[int, ...]
    code: Code
    sentence: Sentence


class RecapRefreshResult(Struct, kw_only=True):
    """What a refresh wrote, and what it could not write."""

    entries: list[RecapEntry] = field(default_factory=list)
    failures: list[RecapFailure] = field(default_factory=list)
    superseded: list[tuple[int, ...]] = field(default_factory=list)  # rounds changed or written meanwhile
    has_more: bool = False  # more is due than one refresh writes
    disabled: bool = False  # recaps are switched off
