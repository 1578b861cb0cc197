"""A fact: a sentence of the manuscript about an entry, by the program or quoted by a model (cdx-10)."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from sys import intern
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from fabula.codex.facts.find import FactSentence
from fabula.codex.facts.quotations import FoundQuotation, Quotation
from fabula.core.fragment import Visibility
from fabula.core.story import Position
from fabula.text.telling import measure_sentence
from fabula.text.terms import find_shared_terms

LIKELY = 0.5  # the least chance that a reader finds a sentence worth knowing which need not fit the scene
POSSIBLE = 0.3  # of one that may enter a prompt at all
QUOTATION_WORTH = 0.9  # of a sentence because a model quotes it
FACT_PREFIX = "fact:"  # in the source of a fact, before its id
_DIGEST_SIZE = 6

FactOrigin = Literal["program", "model"]  # who found a fact


class FactText(Struct, frozen=True):
    """A document of the manuscript in which facts are looked for, who may know it, and what a model quotes of it."""

    id: str
    text: str
    known_to: frozenset[str] | None = None
    quotations: tuple[Quotation, ...] = ()


class Fact(Struct, frozen=True, kw_only=True, gc=False):
    """A sentence of the book about an entry: where it stands, until when it holds, and who could know it."""

    id: str  # a digest of the entry and the sentence
    entry_id: str
    text: str
    digest: str  # of the sentence
    start: int = 0  # where the sentence begins and ends in its document
    end: int = 0
    since: Position  # from where on it may be told: the end of the sentence, or of its document
    until: Position | None = None  # where a later sentence says something else
    known_to: frozenset[str] | None = None
    score: float = 0.0  # how likely a reader finds it worth knowing
    is_lasting: bool = True  # whether it may enter any prompt; of a sentence that was just read: whether its form tells
    is_possible: bool = True  # whether it may enter prompts at all: where it is not lasting, in a scene with its words
    role: str = ""  # the word that says who somebody is, if the sentence tells no more of them
    origin: FactOrigin = "program"
    terms: tuple[str, ...] = ()  # by which it is compared with other texts; none where it enters no prompt
    # The ids of those that say something else about the same thing, later in the story
    replaced_by: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """The source of its fragment."""
        return f"codex:entity:{self.entry_id}#{FACT_PREFIX}{self.id}"

    @property
    def visibility(self) -> Visibility:
        """From when on it may be told, and who may know it."""
        return Visibility(self.source, self.since, None, self.known_to)


def make_fact(sentence: FactSentence, paragraph: str, text: FactText, offset: int) -> Fact:
    """The fact of a sentence in a paragraph that begins at an offset of its text."""
    quoted = sentence.quote(paragraph)
    digest, ident = _make_digests(sentence.entry_id, quoted)
    return Fact(
        id=ident,
        entry_id=sentence.entry_id,
        text=quoted,
        digest=digest,
        start=offset + sentence.start,
        end=offset + sentence.end,
        since=Position(text.id, offset + sentence.end),
        known_to=text.known_to,
        score=sentence.score,
        is_lasting=sentence.is_telling,
        role=sentence.role,
        terms=sentence.terms,
    )


def add_terms(sentence: FactSentence, paragraph: str) -> FactSentence:
    """A sentence with its terms, if it may enter prompts."""
    return replace(sentence, terms=_list_terms(sentence.quote(paragraph))) if sentence.score >= POSSIBLE else sentence


def make_quoted_fact(quotation: FoundQuotation, text: FactText) -> Fact:
    """The fact of what a model quotes of a text."""
    quoted = quotation.quote(text.text)
    digest, ident = _make_digests(quotation.entry_id, quoted)
    return Fact(
        id=ident,
        entry_id=quotation.entry_id,
        text=quoted,
        digest=digest,
        start=quotation.start,
        end=quotation.end,
        since=Position(text.id, quotation.known_from),
        known_to=text.known_to,
        score=QUOTATION_WORTH + (1 - QUOTATION_WORTH) * measure_sentence(quoted),
        origin="model",
        terms=_list_terms(quoted),
    )


def make_fact_id(entry_id: str, quoted: str) -> str:
    """The id of the fact that a sentence is for an entry."""
    return _make_digests(entry_id, quoted)[1]


def _make_digests(entry_id: str, quoted: str) -> tuple[str, str]:
    """The digest of a sentence, and the id of the fact that it is for an entry."""
    digest = blake2b(quoted.encode("utf-8", "replace"), digest_size=_DIGEST_SIZE).hexdigest()
    return digest, blake2b(f"{entry_id}\n{digest}".encode(), digest_size=_DIGEST_SIZE).hexdigest()


find_terms = lru_cache(maxsize=1 << 12)(find_shared_terms)  # of short texts that are compared again and again


def _list_terms(text: str) -> tuple[str, ...]:
    """The terms of a sentence; those of all sentences share their strings."""
    return tuple(map(intern, find_terms(text)))
