"""Find the sentences of a text that tell something lasting about somebody or something (cdx-10).

A fact is a sentence of the narration whose subject is a known name, or something of theirs, and that says of it what
lasts: who somebody is, a habit, kinship, what had happened before, what is owned, owed or promised. The words behind
the name show that; how much more it tells (`text/telling.py`) ranks it. A name may also stand later in the sentence
where an apposition or a relative clause tells it, and "he" or "she" stands for the subject of the sentence before.
Sentences that tell what became of somebody, a marriage, a wound, a decision, are events. A sentence that cannot be
understood by itself, or that is about a crowd of people, is none. Nothing is rewritten: a fact is quoted as it stands.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import pairwise

from msgspec import Struct

from fabula.codex.facts.patterns import (
    ABBREVIATION,
    ADDRESSED,
    APPOSITION,
    BLANK,
    CHINESE_DEED,
    CHINESE_EVENT,
    CHINESE_OBJECTS,
    CHINESE_PASSIVE,
    CHINESE_PATTERNS,
    CHINESE_REPORT,
    CHINESE_ROLE_BEFORE,
    CLAUSE_EDGE,
    CLAUSE_END,
    CONJUNCTION,
    CONNECTIVES,
    DEPENDENT,
    ENGLISH_DONE,
    ENGLISH_EVENTS,
    ENGLISH_MOTIONS,
    ENGLISH_PATTERNS,
    ENGLISH_TRAITS,
    EXPLANATION,
    INTRODUCTION,
    KIN_BEFORE,
    LAST_WORD,
    MODAL,
    OPEN_END,
    OPEN_OBJECT,
    OPEN_WORD,
    OTHER_PRONOUNS,
    PARENTHESIS,
    PART_OF,
    PREDICATE,
    PRONOUN,
    QUOTES,
    RELATIVE,
    ROLE_BEFORE,
    SHORT_NAME_START,
    SKIPPED,
    SPEECH_MARK,
    TITLE,
    UNSPACED,
    UNSPACED_CLAUSE_EDGE,
    UNSPACED_CONNECTIVES,
    WORD,
)
from fabula.text.names.disambiguation import Mention, resolve_mentions
from fabula.text.names.matcher import NameMatch
from fabula.text.sentences import find_sentence_starts
from fabula.text.stemmer import stem
from fabula.text.telling import measure_sentence

MIN_TELLING = 0.25  # of a sentence that is worth a look though nothing shows that it lasts
MIN_OPEN_LENGTH = 55  # characters of a sentence that may end with a word which only other sentences explain
MAX_MENTIONS = 4  # different names in one sentence
_LENGTHS, _UNSPACED_LENGTHS = (40, 300), (10, 100)  # characters of a sentence, at least and at most
APPOSITION_WORTH, ROLE_WORTH = 0.5, 0.3  # of words beside a name that say who somebody is
TRAIT_WORTH, EVENT_WORTH, WEAK_EVENT_WORTH = 0.5, 0.3, 0.15  # of what a verb tells: a trait, what became of somebody
OTHER_NAME_WORTH = 0.1  # of another name in an event
OBJECT_FACTOR = 0.8  # of the worth of an event for somebody else to whom it happens
PRONOUN_COST = 0.05  # of each word that only the sentences before explain
MIN_INTRODUCED_WORTH = 0.5  # of a clause that does not begin the sentence
_MAX_SKIPPED = 4  # words between a subject and its verb


class FactKind(IntEnum):
    """How a sentence shows that it is a fact: it says what lasts, what became of somebody, or it only looks telling."""

    LASTING = 0
    EVENT = 1
    OTHER = 2


class FactSentence(Struct, frozen=True, gc=False):
    """A sentence that tells something of an entry: where it stands in its paragraph, and how much it tells."""

    entry_id: str
    start: int
    end: int
    score: float
    kind: FactKind
    role: str = ""  # the word beside the name that says who somebody is, if that is all

    def quote(self, paragraph: str) -> str:
        """The sentence on one line."""
        return BLANK.sub(" ", paragraph[self.start : self.end]).strip()


class FactNames(Struct, frozen=True):
    """The names of each entry that are known all through the story, and which entries are places.

    Another name may be revealed later, and tells no facts.
    """

    names: Mapping[str, frozenset[str]]  # by entry, in lower case
    places: frozenset[str] = frozenset()

    def is_known(self, mention: Mention) -> bool:
        """Whether a mention is by a name that is known all through the story."""
        return mention.surface.casefold() in self.names.get(mention.owners[0], ())


def find_fact_sentences(paragraph: str, matches: Sequence[NameMatch], names: FactNames) -> list[FactSentence]:
    """The facts of a paragraph, given the names found in it."""
    resolved = resolve_mentions(match for match in matches if match.is_certain)
    mentions = sorted((one for one in resolved if one.is_certain), key=lambda one: one.start)
    if not mentions:
        return []
    starts = [one.start for one in mentions]
    found: list[FactSentence] = []
    pronouns: Mapping[str, str] = {}  # whom "He" or "She" means at the beginning of the next sentence
    short_names = _ShortNames(names)
    for start, end in _find_sentences(paragraph):
        inside = mentions[bisect_left(starts, start) : bisect_left(starts, end)]
        sentence = _Sentence(paragraph, start, end, short_names.complete(paragraph, start, inside), names)
        if sentence.is_narration:
            found += sentence.find_facts(pronouns)
        pronouns = sentence.find_pronouns(pronouns)
    return found


class _ShortNames:
    """The last characters of Chinese names, by which a paragraph goes on to call those whom it has named in full."""

    def __init__(self, names: FactNames) -> None:
        self._names = names
        self._owners: dict[str, str] = {}  # by character; empty where two names share it

    def complete(self, paragraph: str, start: int, mentions: Sequence[Mention]) -> Sequence[Mention]:
        """The mentions of a sentence, with the short name at its beginning if there is one."""
        begin = SHORT_NAME_START.match(paragraph, start)
        at = start if begin is None else begin.end()
        owner = self._owners.get(paragraph[at : at + 1], "")
        is_short = bool(owner) and not (mentions and mentions[0].start <= at)
        for mention in mentions:
            if 2 <= len(mention.surface) <= 3 and UNSPACED.match(mention.surface) and self._names.is_known(mention):
                last, known = mention.surface[-1], mention.owners[0]
                if known not in self._names.places:
                    self._owners[last] = known if self._owners.get(last, known) == known else ""
        if not is_short:
            return mentions
        full = next(iter(self._names.names[owner]))
        return [Mention(full, at, at + 1, (owner,)), *mentions]


def _find_sentences(paragraph: str) -> Iterator[tuple[int, int]]:
    """The sentences of a paragraph; one that is too long ends with its first clause that can stand by itself."""
    starts = [at for at in find_sentence_starts(paragraph) if not ABBREVIATION.search(paragraph, max(0, at - 8), at)]
    for start, end in pairwise([*starts, len(paragraph)]):
        if end - start > _LENGTHS[1] + 1:
            limit = min(end, start + _LENGTHS[1])
            clause = CLAUSE_END.search(paragraph, start + _LENGTHS[0], limit)
            for conjunction in CONJUNCTION.finditer(paragraph, start + 2 * _LENGTHS[0], limit) if not clause else ():
                clause = conjunction
            end = end if clause is None else clause.start()
        yield start, end


class _Sentence:
    """One sentence of a paragraph, with the names in it."""

    def __init__(self, paragraph: str, start: int, end: int, mentions: Sequence[Mention], names: FactNames) -> None:
        self._paragraph, self._start, self._end = paragraph, start, end
        self._mentions, self._names = mentions, names
        self._text = paragraph[start:end].strip()
        self._is_unspaced = UNSPACED.search(self._text) is not None

    @property
    def is_narration(self) -> bool:
        """Whether the sentence is told to the reader, can stand by itself, and is not about a crowd."""
        shortest, longest = _UNSPACED_LENGTHS if self._is_unspaced else _LENGTHS
        text = self._text
        if not shortest <= len(text) <= longest or text.endswith(("?", "？", "!", "！", ":", "：", "—")):
            return False
        if len({one.owners[0] for one in self._mentions}) > MAX_MENTIONS or ADDRESSED.search(text):
            return False
        if len(text) < MIN_OPEN_LENGTH and OPEN_END.search(text):
            return False
        return not (QUOTES.search(text) or _is_in_speech(self._paragraph, self._start))

    def find_pronouns(self, before: Mapping[str, str]) -> Mapping[str, str]:
        """Whom "He" or "She" means at the beginning of the next sentence: the only name of this one, its subject.

        Words such as "his" and "her" show that another person may be meant.
        """
        owners = {one.owners[0] for one in self._mentions}
        if QUOTES.search(self._text):
            return {}
        if not owners:
            return before if PRONOUN.match(self._text) else {}
        if len(owners) > 1 or not self._names.is_known(self._mentions[0]) or owners & self._names.places:
            return {}
        head, (owner,) = self._paragraph[self._start : self._mentions[0].start], owners
        if not _is_subject_first(head, is_unspaced=self._is_unspaced):
            return {}
        return {pronoun: owner for pronoun, others in OTHER_PRONOUNS.items() if not others.search(self._text)}

    def find_facts(self, pronouns: Mapping[str, str]) -> Iterator[FactSentence]:
        """The facts of the sentence; `pronouns` says whom "He" or "She" means at its beginning."""
        telling = measure_sentence(self._text)
        pronoun = PRONOUN.match(self._text)
        pronoun_owner = pronouns.get(pronoun[0], "") if pronoun is not None else ""
        found: dict[str, FactSentence] = {}
        if pronoun is not None and pronoun_owner and pronoun_owner not in (one.owners[0] for one in self._mentions):
            rest = self._text[pronoun.end() :]
            self._add(found, pronoun_owner, *self._weigh_clause("", rest, telling, self._mentions), telling)
        if not DEPENDENT.match(self._text):
            for number, mention in enumerate(self._mentions):
                if self._names.is_known(mention):
                    self._add_told(found, mention, self._mentions[number + 1 :], telling)
        return iter(found.values())

    def _add_told(
        self, found: dict[str, FactSentence], mention: Mention, later: Sequence[Mention], telling: float
    ) -> None:
        """Add what the words around a name tell of its owner, and of those to whom it is done."""
        head = self._paragraph[self._start : mention.start]
        rest = self._paragraph[mention.end : self._end]
        worth, kind = self._weigh_clause(head, rest, telling, later)
        role = ""
        if kind is not FactKind.LASTING:
            identity, role = self._weigh_identity(head, rest, telling)
            worth, kind = (identity, FactKind.LASTING) if identity else (worth, kind)
        self._add(found, mention.owners[0], worth, kind, telling, role)
        if worth >= EVENT_WORTH and kind is FactKind.EVENT:
            for other in self._list_objects(mention, later):
                self._add(found, other.owners[0], OBJECT_FACTOR * worth, kind, telling)
        elif not worth and self._is_object(head, rest):
            self._add(found, mention.owners[0], OBJECT_FACTOR * EVENT_WORTH, FactKind.EVENT, telling)

    def _add(
        self,
        found: dict[str, FactSentence],
        owner: str,
        worth: float,
        kind: FactKind,
        telling: float,
        role: str = "",
    ) -> None:
        is_worth_a_look = kind is FactKind.OTHER and telling >= MIN_TELLING
        if worth or is_worth_a_look:
            cost = 0.0 if self._is_unspaced else PRONOUN_COST * len(OPEN_WORD.findall(self._text))
            fact = FactSentence(owner, self._start, self._end, max(worth + telling - cost, 0.01), kind, role)
            known = found.get(owner)
            if known is None or (fact.kind, -fact.score) < (known.kind, -known.score):
                found[owner] = fact

    def _weigh_clause(self, head: str, rest: str, telling: float, later: Sequence[Mention]) -> tuple[float, FactKind]:
        """What a clause is worth whose subject stands between `head` and `rest`, and how it shows that."""
        is_first = _is_subject_first(head, is_unspaced=self._is_unspaced)
        if not is_first and not self._begins_clause(head):
            return 0.0, FactKind.EVENT
        parenthesis = None if self._is_unspaced else PARENTHESIS.match(rest)
        worth = _weigh_patterns(rest, telling, is_unspaced=self._is_unspaced)
        if parenthesis is not None and not worth:
            rest = rest[parenthesis.end() :]
            worth = _weigh_patterns(rest, telling)
        if worth >= (0.01 if is_first else MIN_INTRODUCED_WORTH):
            return worth, FactKind.LASTING
        if is_first or self._is_unspaced or INTRODUCTION.fullmatch(head.strip()):
            has_place = any(one.owners[0] in self._names.places for one in later)
            worth = _weigh_event(rest, is_unspaced=self._is_unspaced, has_place=has_place)
            if worth:
                kind = FactKind.LASTING if worth >= TRAIT_WORTH else FactKind.EVENT
                return worth + OTHER_NAME_WORTH * bool(later), kind
        return 0.0, FactKind.OTHER if is_first else FactKind.EVENT

    def _begins_clause(self, head: str) -> bool:
        """Whether only connectives or a title stand between the last edge of a clause and the subject."""
        edges = UNSPACED_CLAUSE_EDGE if self._is_unspaced else CLAUSE_EDGE
        last = max((edge.end() for edge in edges.finditer(head)), default=0)
        connectives = UNSPACED_CONNECTIVES if self._is_unspaced else CONNECTIVES
        return connectives.fullmatch(head[last:].lstrip()) is not None or (
            not self._is_unspaced and INTRODUCTION.fullmatch(head.strip()) is not None
        )

    def _list_objects(self, subject: Mention, later: Sequence[Mention]) -> Iterator[Mention]:
        """Those named behind a subject in the same clause."""
        edges = UNSPACED_CLAUSE_EDGE if self._is_unspaced else CLAUSE_EDGE
        edge = edges.search(self._paragraph, subject.end, self._end)
        end = self._end if edge is None else edge.start()
        return (one for one in later if one.start < end and self._names.is_known(one))

    def _weigh_identity(self, head: str, rest: str, telling: float) -> tuple[float, str]:
        """What a role before a name, or an apposition or a relative clause behind it, is worth, and the role."""
        if self._is_unspaced:
            is_name = any(one.end == self._start + len(head) for one in self._mentions)  # as in 薛姨妈
            role = None if is_name else CHINESE_ROLE_BEFORE.search(head)
            return (0.0, "") if role is None else (ROLE_WORTH, role[0])
        if PART_OF.search(head):
            return 0.0, ""
        apposition = APPOSITION.match(rest)
        if apposition is not None:
            return APPOSITION_WORTH, apposition[0]
        relative = RELATIVE.match(rest)
        if relative is not None:
            clause = rest[relative.end() :]
            return _weigh_patterns(clause, telling) or (TRAIT_WORTH if _weigh_event(clause) else 0.0), ""
        role = ROLE_BEFORE.search(head) or (KIN_BEFORE.search(head) if rest.startswith((",", ".", ";")) else None)
        return (0.0, "") if role is None else (ROLE_WORTH, role[0])

    def _is_object(self, head: str, rest: str) -> bool:
        """Whether somebody else does something to the one who stands between `head` and `rest`."""
        if self._is_unspaced:
            if CHINESE_REPORT.search(head):
                return False
            is_agent = len(self._mentions) > 1 and head.endswith("被") and CHINESE_DEED.match(rest) is not None
            return is_agent or any(before.search(head) and behind.match(rest) for before, behind in CHINESE_OBJECTS)
        verb = LAST_WORD.search(head)
        return verb is not None and len(self._mentions) > 1 and stem(verb[1]) in ENGLISH_DONE


def _weigh_patterns(rest: str, telling: float, *, is_unspaced: bool = False) -> float:
    """What the words behind a subject are worth; 0 where they say nothing that lasts."""
    patterns = CHINESE_PATTERNS if is_unspaced else ENGLISH_PATTERNS
    return max((worth for pattern, least, worth in patterns if telling >= least and pattern.match(rest)), default=0.0)


def _weigh_event(rest: str, *, is_unspaced: bool = False, has_place: bool = False) -> float:
    """What the verb behind a subject is worth; 0 where it tells nothing that a writer may need later."""
    if is_unspaced:
        return EVENT_WORTH if CHINESE_EVENT.match(rest) or CHINESE_PASSIVE.match(rest) else 0.0
    predicate = PREDICATE.match(rest)
    if predicate is None:
        return 0.0
    has_verb = False
    for number, match in enumerate(WORD.finditer(predicate[0])):
        word = match[0]
        if word in MODAL or number > _MAX_SKIPPED:
            return 0.0
        if word in SKIPPED or word.endswith("ly"):
            has_verb = True
            continue
        root = stem(word)
        if has_verb and root in ENGLISH_TRAITS and not word.endswith("ing"):
            return TRAIT_WORTH
        if OPEN_OBJECT.match(predicate[0], match.end()):
            return 0.0
        if root in ENGLISH_EVENTS:
            return EVENT_WORTH
        return WEAK_EVENT_WORTH if has_place and root in ENGLISH_MOTIONS else 0.0
    return 0.0


def _is_subject_first(before: str, *, is_unspaced: bool) -> bool:
    """Does a sentence begin with its subject, or with a title or a word that only introduces it?"""
    first = before.strip()
    return not first or (EXPLANATION.search(first) if is_unspaced else TITLE.fullmatch(first)) is not None


def _is_in_speech(paragraph: str, offset: int) -> bool:
    """Does a sentence stand inside a speech that began before it?"""
    is_open = False
    for mark in SPEECH_MARK.findall(paragraph, 0, offset):
        is_open = mark in "“「『" or (
            mark == '"' and not is_open
        )  # a straight mark also closes what a curly one opened
    return is_open
