"""Appearances: which documents of a story name a character (cdx-8).

What only the narrator tells is known to those whom the chapter names. The names of somebody are looked for in each
document once, and again in a document whose text changed, until the first place where they are surely meant. Prompts
between two changes look up a set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct, field

from fabula.text.names.matcher import NameMatcher, NameRules
from fabula.text.names.spellings import fold_case, level_punctuation

_MAX_SETS = 512  # of documents that are kept
_MAX_MATCHERS = 32  # with the names of somebody whom the codex does not have
_PERSON = NameRules(is_person=True)

FindOtherNames = Callable[[frozenset[str]], Mapping[str, tuple[str, ...]]]


class NarratedText(Struct, frozen=True):
    """A document that says neither through whose eyes it is told nor who knows it."""

    id: str
    title: str
    text: str


class _NamedPeople(Struct, eq=False):
    """Who is named in each document, by one matcher that was made from another one."""

    made_from: NameMatcher
    matcher: NameMatcher
    by_document: dict[str, tuple[NarratedText, dict[frozenset[str], bool]]] = field(default_factory=dict)
    spellings: dict[frozenset[str], frozenset[str]] = field(default_factory=dict)

    def is_named(self, ids: frozenset[str], text: NarratedText) -> bool:
        """Whether a document names one of these ids."""
        known = self.by_document.get(text.id)
        if known is None or known[0] != text:
            known = self.by_document[text.id] = text, {}
        is_named = known[1].get(ids)
        if is_named is None:
            is_named = known[1][ids] = self.find(ids, text.title) or self.find(ids, text.text)
        return is_named

    def find(self, ids: frozenset[str], text: str) -> bool:
        """Whether a text names one of these ids; only paragraphs with a spelling of a name are read."""
        spellings = self.spellings.get(ids)
        if spellings is None:
            spellings = self.spellings[ids] = frozenset().union(*map(self.matcher.list_spellings, ids))
        level = fold_case(level_punctuation(text))
        for spelling in spellings:
            at = level.find(spelling)
            while at >= 0:
                start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at + len(spelling))
                end = len(text) if end < 0 else end
                if any(one.owner in ids and one.is_certain for one in self.matcher.find(text[start:end])):
                    return True
                at = level.find(spelling, end)
        return False

    def forget_others(self, ids: frozenset[str]) -> None:
        """Forget the documents that the story does not have any more."""
        if len(self.by_document) > len(ids):
            for gone in [one for one in list(self.by_document) if one not in ids]:
                self.by_document.pop(gone, None)


class Appearances:
    """Which documents name whom, at one version of a story."""

    def __init__(
        self,
        texts: Iterable[NarratedText],
        find_matcher: Callable[[], NameMatcher],
        find_other_names: FindOtherNames,
        previous: Appearances | None = None,
    ) -> None:
        """`find_other_names` gives the names of a character whom the matcher does not know, by id; else nothing."""
        self._texts = tuple(texts)
        self._find_matcher, self._find_other_names = find_matcher, find_other_names
        self._people: dict[tuple[tuple[str, tuple[str, ...]], ...], _NamedPeople] = {}
        self._unnamed: dict[tuple[frozenset[str], str], frozenset[str]] = {}
        self._earlier_unnamed: dict[tuple[frozenset[str], str], frozenset[str]] = {}
        if previous is not None:
            self._people, self._earlier_unnamed = previous._people, previous._unnamed or previous._earlier_unnamed

    def find_unnamed(self, ids: frozenset[str], *, except_for: str = "") -> frozenset[str]:
        """The documents, without `except_for`, that name none of these ids; all of them are of one character."""
        key = (ids, except_for)
        unnamed = self._unnamed.get(key)
        if unnamed is None:
            people = self._find_people(ids)
            unnamed = frozenset([one.id for one in self._texts if not people.is_named(ids, one)]) - {except_for}
            people.forget_others(frozenset([one.id for one in self._texts]))
            earlier = self._earlier_unnamed.get(key)
            unnamed = earlier if earlier is not None and earlier == unnamed else unnamed  # caches compare it
            if len(self._unnamed) >= _MAX_SETS:
                self._unnamed.clear()
            self._unnamed[key] = unnamed
        return unnamed

    def is_named(self, ids: frozenset[str], text: str) -> bool:
        """Whether a text names one of these ids."""
        return self._find_people(ids).find(ids, text)

    def _find_people(self, ids: frozenset[str]) -> _NamedPeople:
        """Who is named in which document, with the names of these ids among those that are looked for."""
        others, matcher = self._find_other_names(ids), self._find_matcher()
        key = tuple(sorted(others.items()))
        people = self._people.get(key)
        if people is None or people.made_from is not matcher:
            if len(self._people) >= _MAX_MATCHERS:
                self._people.clear()
            own = matcher.with_changes(others, dict.fromkeys(others, _PERSON)) if others else matcher
            people = self._people[key] = _NamedPeople(matcher, own)
        return people
