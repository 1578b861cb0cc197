"""Simulated writers: pages of the sample stories are offered to them, and they do what they always do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from random import Random

from fabula.core.view import Language
from fabula.manuscript.model import Manuscript
from fabula.memory.model import Fate, Outcome
from fabula.memory.proposals import Heuristics
from fabula.text.sentences import sentence_starts
from fabula.workspace.project import Fabula

SAMPLES: dict[Language, str] = {"en": "lantern_coast", "zh": "wugang"}
Change = Callable[[str, Random], str | None]  # None rejects


@cache
def pages(language: Language, size: int = 500) -> tuple[str, ...]:
    """A sample story in short pages."""
    story = Fabula.open(f"sample:{SAMPLES[language]}").view.room(Manuscript)
    assert story is not None
    found, page = [], ""
    for line in (line for document in story.documents for line in document.text.split("\n")):
        page += line + "\n"
        if len(page) >= size * (2 if language == "en" else 1):
            found.append(page.strip())
            page = ""
    return tuple(found)


def outcomes(change: Change, offered: Sequence[str], *, seed: int = 0, recalled: tuple[str, ...] = ()) -> list[Outcome]:
    """What a writer makes of pages; what is left as it was is accepted."""
    random = Random(seed)
    found = []
    for number, page in enumerate(offered):
        became = change(page, random)
        fate = Fate.REJECTED if became is None else Fate.ACCEPTED if became == page else Fate.REWRITTEN
        found.append(
            Outcome(
                id=f"o{number}",
                offered=page,
                fate=fate,
                became=became if became is not None and fate is Fate.REWRITTEN else "",
                made=f"2026-01-01T00:00:{number:02}Z",
                recalled=recalled,
            )
        )
    return found


def replacing(pattern: str, instead: str = "") -> Change:
    """A writer who takes something out wherever it stands."""
    compiled = re.compile(pattern)
    return lambda text, _: compiled.sub(instead, text)


def rejecting(pattern: str) -> Change:
    """A writer who throws away whatever holds something."""
    compiled = re.compile(pattern)
    return lambda text, _: None if compiled.search(text) else text


def deleting(text: str, random: Random) -> str | None:
    """A writer who deletes sentences for no reason."""
    share = random.choice((0.1, 0.3, 0.5, 0.7))
    kept = []
    for line in text.split("\n"):
        starts = [*sentence_starts(line), len(line)]
        said = [line[a:b] for a, b in pairwise(starts)]
        kept.append("".join(one for one in said if random.random() > share))
    return "\n".join(kept).strip() or None


def whims(text: str, random: Random) -> str | None:
    """A writer who takes or leaves a text for no reason."""
    return text if random.random() < 0.5 else None


def held(found: Sequence[Outcome], language: Language, told: dict[str, frozenset[str]] | None = None) -> list[str]:
    """The topics that would be proposed."""
    return [one.topic for one in Heuristics().proposals(found, language, told or {}) if one.holds]
