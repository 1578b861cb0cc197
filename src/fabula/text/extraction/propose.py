"""Propose codex entries from a manuscript (cdx-7).

A book uses its names many times, and the words around them distinguish them from other words. `english.py` and
`chinese.py` find the names of a book in their language. This module removes the known ones, ranks the rest and adds
the sentences in which they occur.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from fabula.core.fragment import is_encodable
from fabula.text.extraction.chinese import find_chinese_names
from fabula.text.extraction.english import find_english_names
from fabula.text.extraction.model import ExtractedName, Kind, Progress, ProposedEntry, Texts
from fabula.text.extraction.sentences import find_sentence, shorten_quotation

MAX_PROPOSALS = 200
MAX_EVIDENCE = 160  # characters of one sentence
_NEAR = 80  # characters after a place in which a name stands there
_SHARES: Mapping[Kind, float] = {"character": 0.5, "location": 0.15, "faction": 0.05, "other": 0.05}


def propose_entries(
    texts: Iterable[tuple[str, str]],
    *,
    language: str,
    limit: int = MAX_PROPOSALS,
    known: Iterable[str] = (),
    progress: Progress | None = None,
) -> list[ProposedEntry]:
    """Proposals for names that are not known, the best first, with the best of each kind among them."""
    readable = [(document, _replace_surrogates(text)) for document, text in texts]
    find = find_chinese_names if language == "zh" else find_english_names
    known_names = {_fold_name(name) for name in known}
    names = [name for name in find(readable, progress) if not _is_known(name, known_names)]
    return [_make_proposal(name, readable) for name in _rank_names(names)[:limit]]


def _rank_names(names: Iterable[ExtractedName]) -> list[ExtractedName]:
    """Names by score, but every kind has its share of each beginning of the list, as long as it has names."""
    ranked = sorted(names, key=lambda name: (-_score(name), name.name))
    waiting = {kind: deque(name for name in ranked if name.kind == kind) for kind in _SHARES}
    counts = dict.fromkeys(_SHARES, 0)
    ordered: list[ExtractedName] = []
    while any(waiting.values()):
        behind = {kind: share * (len(ordered) + 1) - counts[kind] for kind, share in _SHARES.items() if waiting[kind]}
        kind = max(behind, key=behind.__getitem__)
        if behind[kind] < 1:
            kind = max(behind, key=lambda kind: _score(waiting[kind][0]))
        ordered.append(waiting[kind].popleft())
        counts[kind] += 1
    return ordered


def _is_known(extracted: ExtractedName, known_names: set[str]) -> bool:
    return any(_fold_name(name) in known_names for name in (extracted.name, *extracted.aliases))


def _replace_surrogates(text: str) -> str:
    """The text with a question mark for each lone surrogate, so that offsets stay."""
    return text if is_encodable(text) else text.encode("utf-8", "replace").decode()


def _fold_name(name: str) -> str:
    return " ".join(name.casefold().replace("'", "’").split())


def _score(name: ExtractedName) -> float:
    return round(name.mentions * name.confidence, 3)


def _make_proposal(name: ExtractedName, texts: Texts) -> ProposedEntry:
    # Where titles tell people apart, a family name alone may be anybody's.
    places = sorted(place for place in name.places if _stands_at(name, texts[place.text][1], place.offset))
    places = places or sorted(name.places)
    first = places[0]
    return ProposedEntry(
        name=name.name,
        aliases=name.aliases,
        kind=name.kind,
        mentions=name.mentions,
        document=texts[first.text][0],
        offset=first.offset,
        evidence=tuple(dict.fromkeys(_quote_sentence(texts[place.text][1], place.offset) for place in places)),
        score=_score(name),
    )


def _stands_at(name: ExtractedName, text: str, offset: int) -> bool:
    near = " ".join(text[offset : offset + _NEAR].split())
    return any(one in near for one in (name.name, *name.aliases))


def _quote_sentence(text: str, offset: int) -> str:
    """The sentence around an offset, shortened where it is too long."""
    start, end = find_sentence(text, offset)
    return shorten_quotation(text[start:end], offset - start, MAX_EVIDENCE)
