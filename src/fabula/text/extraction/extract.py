"""Extract: entries for the codex, proposed from a manuscript that is already there (cdx-7).

Nothing is asked of a model. A book uses its names again and again, and what stands around them tells
them from other words: `extract_en` and `extract_zh` each know how in their language. Here is the one
question a room or a door asks.
"""

from __future__ import annotations

from collections.abc import Iterable

from fabula.core.fragment import whole
from fabula.text.extraction import chinese as extract_zh
from fabula.text.extraction import english as extract_en
from fabula.text.extraction.proposals import Found, Progress, Proposal, proposed

MOST = 200


def propose(
    texts: Iterable[tuple[str, str]],
    *,
    language: str,
    most: int = MOST,
    known: Iterable[str] = (),
    progress: Progress | None = None,
) -> list[Proposal]:
    """Names worth an entry, characters first, best first; none of which is known already."""
    read = [(name, _whole(text)) for name, text in texts]
    find = extract_zh.find if language == "zh" else extract_en.find
    taken = {_folded(name) for name in known}
    fresh = (found for found in find(read, progress) if not _known(found, taken))
    return proposed(fresh, read, most)


def _known(found: Found, taken: set[str]) -> bool:
    return any(_folded(name) in taken for name in (found.name, *found.aliases))


def _whole(text: str) -> str:
    """The text with something harmless, as long, for each half of a character."""
    return text if whole(text) else text.encode("utf-8", "replace").decode()


def _folded(name: str) -> str:
    return " ".join(name.casefold().replace("'", "’").split())
