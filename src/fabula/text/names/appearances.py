"""Appearances: which documents of a story name a character (cdx-8).

What only the narrator tells is known to those whom the chapter names. All names of the codex are looked for in each
document once, and again in a document whose text changed. Prompts between two changes look up a set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct, field

from fabula.text.names.matcher import NameMatcher, NameRules

_MAX_SETS = 512  # of documents that are kept
_MAX_MATCHERS = 32  # with the names of somebody whom the codex does not have
_PERSON = NameRules(is_person=True)

FindOtherNames = Callable[[frozenset[str]], Mapping[str, tuple[str, ...]]]


class NarratedText(Struct, frozen=True):
    """A document that says neither through whose eyes it is told nor who knows it."""

    id: str
    title: str
    text: str


class _NamedOwners(Struct, eq=False):
    """The owners of names that each document has, by one matcher that was made from another one."""

    made_from: NameMatcher
    matcher: NameMatcher
    by_document: dict[str, tuple[NarratedText, frozenset[str]]] = field(default_factory=dict)

    def find(self, text: NarratedText) -> frozenset[str]:
        """The owners that a document names."""
        known = self.by_document.get(text.id)
        if known is None or known[0] != text:
            matches = (*self.matcher.find(text.title), *self.matcher.find(text.text))
            known = self.by_document[text.id] = text, frozenset(one.owner for one in matches if one.is_certain)
        return known[1]

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
        self._owners: dict[tuple[tuple[str, tuple[str, ...]], ...], _NamedOwners] = {}
        self._unnamed: dict[tuple[frozenset[str], str], frozenset[str]] = {}
        self._earlier_unnamed: dict[tuple[frozenset[str], str], frozenset[str]] = {}
        if previous is not None:
            self._owners, self._earlier_unnamed = previous._owners, previous._unnamed or previous._earlier_unnamed

    def find_unnamed(self, ids: frozenset[str], *, except_for: str = "") -> frozenset[str]:
        """The documents, without `except_for`, that name none of these ids; all of them are of one character."""
        key = (ids, except_for)
        unnamed = self._unnamed.get(key)
        if unnamed is None:
            owners = self._find_owners(ids)
            unnamed = frozenset([one.id for one in self._texts if ids.isdisjoint(owners.find(one))]) - {except_for}
            owners.forget_others(frozenset([one.id for one in self._texts]))
            earlier = self._earlier_unnamed.get(key)
            unnamed = earlier if earlier is not None and earlier == unnamed else unnamed  # caches compare it
            if len(self._unnamed) >= _MAX_SETS:
                self._unnamed.clear()
            self._unnamed[key] = unnamed
        return unnamed

    def is_named(self, ids: frozenset[str], text: str) -> bool:
        """Whether a text names one of these ids."""
        matches = self._find_owners(ids).matcher.find(text)
        return any(one.owner in ids and one.is_certain for one in matches)

    def _find_owners(self, ids: frozenset[str]) -> _NamedOwners:
        """The owners that documents name, with the names of these ids among them."""
        others, matcher = self._find_other_names(ids), self._find_matcher()
        key = tuple(sorted(others.items()))
        owners = self._owners.get(key)
        if owners is None or owners.made_from is not matcher:
            if len(self._owners) >= _MAX_MATCHERS:
                self._owners.clear()
            own = matcher.with_changes(others, dict.fromkeys(others, _PERSON)) if others else matcher
            owners = self._owners[key] = _NamedOwners(matcher, own)
        return owners
