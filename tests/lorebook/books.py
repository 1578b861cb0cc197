"""Small books, and a scan in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabula.lorebook.activation import activate
from fabula.lorebook.model import Activation, Book, Reason, Said, Scene, Settings, Timed
from fabula.lorebook.own_rules import FABULA
from fabula.lorebook.parsing import read_book
from fabula.lorebook.random_source import Queue
from fabula.lorebook.rules import Rules
from fabula.lorebook.sillytavern_rules import EXACT

BOTH = (EXACT, FABULA)


class Words:
    """Counts runs of non-white space."""

    name = "words"
    exact = additive = True

    def count(self, text: str) -> int:
        return len(text.split())


class Letters:
    """Counts code points."""

    name = "letters"
    exact = additive = True

    def count(self, text: str) -> int:
        return len(text)


def book(*entries: dict[str, Any], name: str = "book", **fields: Any) -> Book:
    """A book; uids are given in order where there are none."""
    rows = [{"uid": uid, "content": f"E{uid}", **entry} for uid, entry in enumerate(entries)]
    return read_book({"entries": rows}, name, **fields)


def chat(*texts: str, name: str = "Ann") -> list[Said]:
    """A conversation, oldest first."""
    return [Said(name, text) for text in texts]


def scan(
    books: Book | Sequence[Book],
    said: Sequence[Said] = (),
    *,
    rules: Rules = EXACT,
    random: Sequence[float] = (),
    timed: Timed | None = None,
    scene: Scene | None = None,
    letters: bool = False,
    context: int = 4000,
    **settings: Any,
) -> Activation:
    """One scan; the keywords are settings."""
    return activate(
        [books] if isinstance(books, Book) else books,
        said or chat("nothing"),
        tokenizer=Letters() if letters else Words(),
        chance=Queue(random),
        settings=Settings(**settings),
        scene=scene or Scene(max_context=context, user="Ann", character="Bob"),
        timed=timed or Timed(),
        rules=rules,
    )


def active(*entries: dict[str, Any], said: Sequence[Said] = (), **options: Any) -> list[int]:
    """The uids that a small book activates."""
    return list(scan(book(*entries), said, **options).activated)


def reasons(answer: Activation) -> dict[int, Reason]:
    """Every entry's reason."""
    return {verdict.ref.uid: verdict.reason for verdict in answer.verdicts}


def constant(**fields: Any) -> dict[str, Any]:
    """An entry that is always on."""
    return {"constant": True, **fields}


def keyed(*keys: str, **fields: Any) -> dict[str, Any]:
    """An entry with keys."""
    return {"key": list(keys), **fields}
