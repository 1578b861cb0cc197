"""Helpers of the lorebook tests: small books and a scan in one call."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any

from fabula.lorebook.activation import activate
from fabula.lorebook.fabula_rules import FABULA
from fabula.lorebook.model import (
    Activation,
    CardCharacter,
    LorebookReason,
    LorebookSettings,
    ParsedLorebook,
    ScanContext,
    ScanMessage,
    TimedEffects,
)
from fabula.lorebook.parsing import parse_book
from fabula.lorebook.rules import ActivationRules
from fabula.lorebook.sillytavern_rules import EXACT

BOTH = (EXACT, FABULA)


class WordTokenizer:
    """Counts runs of non-white space."""

    name = "words"
    exact = additive = True

    def count(self, text: str) -> int:
        return len(text.split())


class CharacterTokenizer:
    """Counts code points."""

    name = "letters"
    exact = additive = True

    def count(self, text: str) -> int:
        return len(text)


def make_book(*entries: dict[str, Any], name: str = "book", **fields: Any) -> ParsedLorebook:
    """A book; uids are given in order where there are none."""
    rows = [{"uid": uid, "content": f"E{uid}", **entry} for uid, entry in enumerate(entries)]
    return parse_book({"entries": rows}, name, **fields)


def make_messages(*texts: str, name: str = "Ann") -> list[ScanMessage]:
    """A conversation, oldest first."""
    return [ScanMessage(name, text) for text in texts]


def scan_books(
    books: ParsedLorebook | Sequence[ParsedLorebook],
    messages: Sequence[ScanMessage] = (),
    *,
    rules: ActivationRules = EXACT,
    random: Sequence[float] = (),
    timed_effects: TimedEffects | None = None,
    context: ScanContext | None = None,
    count_characters: bool = False,
    max_context: int = 4000,
    **settings: Any,
) -> Activation:
    """One scan; the keywords are settings."""
    return activate(
        [books] if isinstance(books, ParsedLorebook) else books,
        messages or make_messages("nothing"),
        tokenizer=CharacterTokenizer() if count_characters else WordTokenizer(),
        random_source=chain(random, repeat(0.5)).__next__,
        settings=LorebookSettings(**settings),
        context=context or ScanContext(max_context=max_context, user="Ann", character=CardCharacter(name="Bob")),
        timed_effects=timed_effects or TimedEffects(),
        rules=rules,
    )


def find_active_uids(*entries: dict[str, Any], messages: Sequence[ScanMessage] = (), **options: Any) -> list[int]:
    """The uids that a small book activates."""
    return list(scan_books(make_book(*entries), messages, **options).active_uids)


def list_reasons(answer: Activation) -> dict[int, LorebookReason]:
    """Every entry's reason."""
    return {verdict.ref.uid: verdict.reason for verdict in answer.verdicts}


def constant_entry(**fields: Any) -> dict[str, Any]:
    """An entry that is always on."""
    return {"constant": True, **fields}


def keyed_entry(*keys: str, **fields: Any) -> dict[str, Any]:
    """An entry with keys."""
    return {"key": list(keys), **fields}
