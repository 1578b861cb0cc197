"""The text near the cursor, in which names and subjects are looked for (cdx-3).

Nearby text is what stands around the cursor, the selection, the input and the newest messages.
All sources that detect something search the same nearby text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from fabula.core.fragment import Fragment, Layer, Part
from fabula.text.names.mention_cache import FindNames, MentionCache
from fabula.text.term_cache import TermCache
from fabula.text.terms import find_shared_terms
from fabula.text.windows import TextWindow

if TYPE_CHECKING:
    from fabula.text.names.matcher import NameMatch

REACH = 500  # characters each side of the cursor
MARGIN = 24  # more characters, so that a word at the edge is seen whole
MAX_PARAGRAPH = 3000  # characters of the cursor's paragraph
MESSAGES = 4  # newest messages of the conversation


NearbyKind = Literal["cursor", "selection", "message", "input"]


class Nearby(Struct, frozen=True):
    """A part of a text that is near the cursor. All fields are offsets in `full_text`.

    A little more is visible at either end than is near, so that a cut word is not taken for a name.
    """

    full_text: str
    cursor: int | None = None  # None: all of the text is near
    near_start: int = 0
    near_end: int | None = None
    visible_start: int = 0
    visible_end: int | None = None
    mention_cache: MentionCache | None = None  # of the full text
    term_cache: TermCache | None = None
    kind: NearbyKind = "cursor"

    @property
    def text(self) -> str:
        """All that is visible."""
        return self.full_text[self.visible_start : self.visible_end]

    @property
    def before(self) -> str:
        """What is visible before the cursor."""
        return self.full_text[self.visible_start : self.cursor]

    @property
    def after(self) -> str:
        """What is near after the cursor."""
        return self.full_text[self.cursor : self.near_end]

    def find_terms(self, before: int, after: int) -> frozenset[str]:
        """The terms of so many characters before the cursor and behind it; without a cursor, of the first ones.

        A word at either end that is not whole is left out.
        """
        if self.cursor is None:
            return find_shared_terms(self.full_text[:before])
        start, end = max(self.cursor - before, self.visible_start), self.cursor + after
        end = min(end, self.cursor if self.near_end is None else self.near_end)
        start, end = _trim_to_words(self.full_text, start, end)
        if self.term_cache is None:
            return find_shared_terms(self.full_text[start:end])
        return self.term_cache.find_between(start, end)

    def nearest_mentions(self, find: FindNames, accepts: Callable[[NameMatch], bool] | None = None) -> dict[str, float]:
        """How near the nearest mention of each owner is, from 0 (at the far edge) to 1 (at the cursor).

        Owners stand in the order in which they are mentioned. `accepts` may reject a match. An owner who is only
        mentioned where an ordinary word may be meant is at the far edge.
        """
        before, after, uncertain = self.find_nearest(find, accepts)
        cursor, nowhere = self.cursor, dict.fromkeys(uncertain, 0.0)
        if cursor is None:
            return nowhere | dict.fromkeys(before, 1.0)
        furthest = max(cursor - self.visible_start, (self.visible_end or len(self.full_text)) - cursor, 1)
        nearness = {owner: 1.0 - (cursor - offset) / furthest for owner, offset in before.items()}
        for owner, offset in after.items():
            nearness[owner] = max(1.0 - max(offset - cursor, 0) / furthest, nearness.get(owner, -1.0))
        return nowhere | nearness if nowhere else nearness

    def find_nearest(
        self, find: FindNames, accepts: Callable[[NameMatch], bool] | None = None
    ) -> tuple[dict[str, int], dict[str, int], dict[str, None]]:
        """By owner: where its last mention before the cursor ends, and where its first one after the cursor begins.

        Last come the owners that are mentioned where an ordinary word may be meant.
        """
        start, end = self.near_start, len(self.full_text) if self.near_end is None else self.near_end
        here = end if self.cursor is None else self.cursor
        before: dict[str, int] = {}  # where the last mention before the cursor ends
        after: dict[str, int] = {}  # where the first mention after the cursor begins
        uncertain: dict[str, None] = {}
        for offset, match in self._find_mentions(find, start, end):
            match_end = offset + match.end - match.start
            if offset < start or match_end > end or (accepts is not None and not accepts(match)):
                continue
            if not match.is_certain:
                uncertain[match.owner] = None
            elif match_end <= here:
                before[match.owner] = match_end
            else:
                after.setdefault(match.owner, offset)
        return before, after, uncertain

    def _find_mentions(self, find: FindNames, start: int, end: int) -> Sequence[tuple[int, NameMatch]]:
        known = None if self.mention_cache is None else self.mention_cache.find_between(find, start, end)
        return [(self.visible_start + match.start, match) for match in find(self.text)] if known is None else known


def _trim_to_words(text: str, start: int, end: int) -> tuple[int, int]:
    """A range without what it has of a word that begins before it or ends behind it, where spaces separate words."""
    if start and text[start - 1] != " ":
        start = text.find(" ", start, min(start + MARGIN, end)) + 1 or start
    if end < len(text) and text[end] != " ":
        space = text.rfind(" ", max(end - MARGIN, start), end)
        end = space if space >= 0 else end
    return start, end


def find_nearby(fragments: Sequence[Fragment], user_input: str) -> tuple[tuple[Nearby, ...], TextWindow | None]:
    """The nearby texts among what sources that run first offer, and the text window in which the cursor is."""
    window: TextWindow | None = None
    before = after = ""
    nearby: list[Nearby] = []
    messages: list[str] = []
    for fragment in fragments:
        part = fragment.part
        if fragment.layer is not Layer.IMMEDIATE:
            continue
        if part is Part.WINDOW:
            if isinstance(fragment, TextWindow):
                window = window or fragment
            else:
                before = fragment.text
        elif part is Part.AFTER:
            after = after or fragment.text
        elif part is Part.HISTORY:
            messages.append(fragment.text)
        elif fragment.source == "editor:selection":
            nearby.append(Nearby(fragment.text, kind="selection"))
    if window is not None and (window.paragraphs.text or after):
        nearby.insert(0, _around_cursor(window, after))
    elif before or after:
        nearby.insert(0, _between(before, after))
    nearby += [Nearby(text, kind="message") for text in messages[-MESSAGES:]]
    if user_input:
        nearby.append(Nearby(user_input, kind="input"))
    return tuple(nearby), window


def _around_cursor(window: TextWindow, after: str) -> Nearby:
    """Around a cursor in a text. `after` counts only where the text ends at the cursor.

    Without `after`, what stands behind the cursor is not told, as where a character speaks: then it is not near either.
    """
    text, cursor = window.paragraphs.text, window.end
    size = len(text)
    paragraph = max(window.cursor_paragraph_start(), cursor - MAX_PARAGRAPH)
    start = max(min(cursor - REACH, paragraph), window.begin)
    visible_start = max(start - MARGIN, 0)
    if bool(after) != (cursor < size):
        return _between(text[visible_start:cursor], after, cursor - start)
    end = min(cursor + REACH, size)
    paragraphs, visible_end = window.paragraphs, min(end + MARGIN, size)
    return Nearby(text, cursor, start, end, visible_start, visible_end, paragraphs.mention_cache, paragraphs.term_cache)


def _between(before: str, after: str, reach: int = REACH) -> Nearby:
    """Around a cursor between two texts; `reach` characters of the first are near."""
    before, after = before[-reach - MARGIN :], after[: REACH + MARGIN]
    cursor = len(before)
    return Nearby(before + after, cursor, max(cursor - reach, 0), cursor + min(len(after), REACH))
