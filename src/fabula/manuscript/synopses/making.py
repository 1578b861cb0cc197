"""Make the synopses of a long book in the background, so that prompts find them made.

The first prompt at a place needs about fifteen synopses, and a chapter without a stored one takes milliseconds to
summarise. All chapters of a long book take a second or two, the search index takes ten times as long: so synopses are
made before it. A prompt that comes earlier makes those that it needs itself, so it is the same prompt.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Protocol
from weakref import ref

from fabula.core.background import start_in_background
from fabula.manuscript.synopses.chapters import Chapter

log = logging.getLogger("fabula.manuscript")

BACKGROUND_CHARACTERS = 300_000  # of chapters without a synopsis, from which on they are made in the background


class SummarisedStory(Protocol):
    """One version of a story whose chapters need synopses."""

    @property
    def chapters(self) -> Sequence[Chapter]:
        """Its chapters in order."""
        ...


class SynopsisMaker:
    """Makes the synopses of one story in the background; shared by its versions."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted: ref[SummarisedStory] | None = None  # the version whose synopses are to be made
        self._is_running = False

    def make_later(self, story: SummarisedStory) -> None:
        """Make all synopses of a version that are missing, if they are many; it takes the place of the one before.

        The story is not kept alive for this.
        """
        missing = sum(len(chapter.text) for chapter in story.chapters if not chapter.is_summarised)
        if missing <= BACKGROUND_CHARACTERS:
            return
        with self._lock:
            self._wanted = ref(story)
            if self._is_running:
                return
            self._is_running = True
        start_in_background(self._make, "synopses", goes_first=True)

    def _make(self, give_way: Callable[[], None]) -> None:
        wanted: ref[SummarisedStory] | None = None
        number = 0
        try:
            while True:
                if wanted is not self._wanted:
                    wanted, number = self._wanted, 0
                chapter = _get_chapter(wanted, number)
                if chapter is None:
                    if self._end(wanted):
                        return
                    continue
                number += 1
                if not chapter.is_summarised:
                    _ = chapter.synopsis, chapter.estimated_tokens
                    give_way()
        except Exception as error:
            log.warning("the synopses of a project could not be made: %s", type(error).__name__)
            self._is_running = False

    def _end(self, wanted: ref[SummarisedStory] | None) -> bool:
        """End the work unless another version is wanted meanwhile."""
        with self._lock:
            if self._wanted is wanted:
                self._wanted, self._is_running = None, False
            return not self._is_running


def _get_chapter(story: ref[SummarisedStory] | None, number: int) -> Chapter | None:
    """A chapter of a story by its number; None after the last, and where the story is gone."""
    living = None if story is None else story()
    return living.chapters[number] if living is not None and number < len(living.chapters) else None
