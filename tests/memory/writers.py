"""Simulated writers who get pages of the sample stories as suggestions and always react in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from random import Random

from fabula.core.view import Language
from fabula.manuscript.model import Manuscript
from fabula.memory.model import Decision, SuggestionOutcome
from fabula.memory.proposals import find_proposals
from fabula.text.sentences import find_sentence_starts
from fabula.workspace.read_only import open_read_only

SAMPLES: dict[Language, str] = {"en": "lantern_coast", "zh": "wugang"}
Change = Callable[[str, Random], str | None]  # None rejects


@cache
def pages(language: Language, size: int = 500) -> tuple[str, ...]:
    """A sample story in short pages."""
    story = open_read_only(f"sample:{SAMPLES[language]}").view.snapshot(Manuscript)
    assert story is not None
    found, page = [], ""
    for line in (line for document in story.documents for line in document.text.split("\n")):
        page += line + "\n"
        if len(page) >= size * (2 if language == "en" else 1):
            found.append(page.strip())
            page = ""
    return tuple(found)


def make_outcomes(
    change: Change, offered: Sequence[str], *, seed: int = 0, memory_sources: tuple[str, ...] = ()
) -> list[SuggestionOutcome]:
    """What a writer makes of pages; what is left as it was is accepted."""
    random = Random(seed)
    found = []
    for number, page in enumerate(offered):
        became = change(page, random)
        fate = Decision.REJECTED if became is None else Decision.ACCEPTED if became == page else Decision.REWRITTEN
        found.append(
            SuggestionOutcome(
                id=f"o{number}",
                suggestion=page,
                decision=fate,
                rewritten_text=became if became is not None and fate is Decision.REWRITTEN else "",
                created_at=f"2026-01-01T00:00:{number:02}Z",
                memory_sources=memory_sources,
            )
        )
    return found


def make_replacing_writer(pattern: str, instead: str = "") -> Change:
    """A writer who takes something out wherever it stands."""
    compiled = re.compile(pattern)
    return lambda text, _: compiled.sub(instead, text)


def make_rejecting_writer(pattern: str) -> Change:
    """A writer who throws away whatever holds something."""
    compiled = re.compile(pattern)
    return lambda text, _: None if compiled.search(text) else text


def delete_at_random(text: str, random: Random) -> str | None:
    """A writer who deletes sentences for no reason."""
    share = random.choice((0.1, 0.3, 0.5, 0.7))
    kept = []
    for line in text.split("\n"):
        starts = [*find_sentence_starts(line), len(line)]
        said = [line[a:b] for a, b in pairwise(starts)]
        kept.append("".join(one for one in said if random.random() > share))
    return "\n".join(kept).strip() or None


def accept_at_random(text: str, random: Random) -> str | None:
    """A writer who takes or leaves a text for no reason."""
    return text if random.random() < 0.5 else None


def find_supported_topics(
    found: Sequence[SuggestionOutcome], language: Language, prompted_subjects: dict[str, frozenset[str]] | None = None
) -> list[str]:
    """The topics that would be proposed."""
    return [one.topic for one in find_proposals(found, language, prompted_subjects or {}) if one.is_supported]
