"""Propose codex entries from a manuscript (cdx-7).

A book uses its names many times, and the words around them distinguish them from other words. `english.py` and
`chinese.py` find the names of a book in their language. This module removes the known ones, ranks the rest and adds
the sentences in which they occur.
"""

from __future__ import annotations

from collections.abc import Iterable

from fabula.core.fragment import is_encodable
from fabula.text.extraction.chinese import find_chinese_names
from fabula.text.extraction.english import find_english_names
from fabula.text.extraction.model import ExtractedName, Progress, ProposedEntry, Texts
from fabula.text.sentences import find_sentence_starts

MAX_PROPOSALS = 200
MAX_EVIDENCE = 160  # characters of one sentence
_EVIDENCE_CONTEXT = 300  # characters on each side in which the sentence is looked for


def propose_entries(
    texts: Iterable[tuple[str, str]],
    *,
    language: str,
    limit: int = MAX_PROPOSALS,
    known: Iterable[str] = (),
    progress: Progress | None = None,
) -> list[ProposedEntry]:
    """Proposals for names that are not known, characters first, then by score."""
    readable = [(document, _replace_surrogates(text)) for document, text in texts]
    find = find_chinese_names if language == "zh" else find_english_names
    known_names = {_fold_name(name) for name in known}
    names = [name for name in find(readable, progress) if not _is_known(name, known_names)]
    names.sort(key=lambda name: (name.kind != "character", -_score(name), name.name))
    return [_make_proposal(name, readable) for name in names[:limit]]


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
    places = sorted(name.places)
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


def _quote_sentence(text: str, offset: int) -> str:
    """The sentence around an offset, shortened where it is too long."""
    left = max(0, offset - _EVIDENCE_CONTEXT)
    near = text[left : offset + _EVIDENCE_CONTEXT]
    at = offset - left
    starts = [*find_sentence_starts(near), len(near)]
    start = max(start for start in starts if start <= at)
    end = min((start for start in starts if start > at), default=len(near))
    sentence = near[start:end]
    if len(sentence) > MAX_EVIDENCE:
        cut = max(0, at - start - MAX_EVIDENCE // 2)
        sentence = f"…{sentence[cut : cut + MAX_EVIDENCE]}…"
    return " ".join(sentence.split())
