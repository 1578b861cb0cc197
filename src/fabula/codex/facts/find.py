"""Find the sentences of a text that tell something lasting about somebody or something (cdx-10).

Every sentence of the narration that names somebody is weighed (`weigh.py`). The words beside the name show whether it
tells something that lasts: who somebody is, a habit, kinship, what had happened before, what is owned, owed or
promised; or what became of them: a marriage, a wound, a decision. A name may also stand later in the sentence where an
apposition or a relative clause tells it, and "he" or "she" stands for the subject of the sentence before. A sentence
that cannot be understood by itself, or that is about a crowd of people, is no fact. Nothing is rewritten: a fact is
quoted as it stands.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from msgspec import Struct

from fabula.codex.entry import Entry
from fabula.codex.facts.patterns import (
    ABBREVIATION,
    ADDRESSED,
    APPOSITION,
    BLANK,
    BROKEN,
    CHINESE_DEED,
    CHINESE_EVENT,
    CHINESE_OBJECTS,
    CHINESE_OFFICE,
    CHINESE_PASSIVE,
    CHINESE_PATTERNS,
    CHINESE_REPORT,
    CHINESE_ROLE_BEFORE,
    CLAUSE_EDGE,
    CLAUSE_END,
    CONJUNCTION,
    CONNECTIVES,
    ENGLISH_DONE,
    ENGLISH_EVENTS,
    ENGLISH_PATTERNS,
    ENGLISH_SUFFERED,
    ENGLISH_TRAITS,
    EXPLANATION,
    INTRODUCTION,
    KIN_BEFORE,
    LAST_WORD,
    LISTED_BEFORE,
    MODAL,
    NAME_BEHIND,
    NARRATION,
    NO_SHORT_NAMES,
    OPEN_END,
    OPEN_OBJECT,
    OTHER_PRONOUNS,
    PARENTHESIS,
    PART_OF,
    PASSIVE,
    PREDICATE,
    PRONOUN,
    QUOTES,
    RELATIVE,
    ROLE_BEFORE,
    SHORT_NAME_START,
    SKIPPED,
    SPEECH_BEGIN,
    SPEECH_MARK,
    TALE,
    TELLER,
    TITLE,
    UNSPACED,
    UNSPACED_CLAUSE_EDGE,
    UNSPACED_CONNECTIVES,
    WORD,
)
from fabula.codex.facts.weigh import NamedSentence, NameKind, NamePlace, NameSigns
from fabula.text.names.disambiguation import Mention, resolve_mentions
from fabula.text.names.matcher import NameMatch
from fabula.text.sentences import find_sentence_starts
from fabula.text.stemmer import stem
from fabula.text.telling import measure_sentence

MIN_CHANCE = 0.13  # that a reader finds a sentence worth knowing
MIN_PART_LENGTH = 30  # characters of a part of a Chinese sentence that is too long
MIN_TOLD_LENGTH = 10  # characters of a Chinese sentence before the speech to which it leads over
MIN_OPEN_LENGTH = 55  # characters of a sentence that may end with a word which only other sentences explain
MAX_MENTIONS = 6  # different names in one sentence
_LENGTHS, _UNSPACED_LENGTHS = (40, 300), (7, 100)  # characters of a sentence, at least and at most
APPOSITION_WORTH, ROLE_WORTH = 0.5, 0.3  # of words beside a name that say who somebody is
TRAIT_WORTH = 0.5  # of a verb that tells a trait
MIN_INTRODUCED_WORTH = 0.5  # of a clause that does not begin the sentence
_OPEN_ENDS = ("?", "？", "!", "！", ":", "：", "—", "…")
_WHOLE_ENDS = (".", "。", "．", ";", "；", ")", "）", "”", "’", '"', "'", "」", "』")
_MAX_SKIPPED = 4  # words between a subject and its verb


class FactSentence(Struct, frozen=True, gc=False):
    """A sentence that tells something of an entry: where it stands in its paragraph, and how much it tells."""

    entry_id: str
    start: int
    end: int
    score: float  # how likely a reader finds it worth knowing
    is_telling: bool  # whether the words beside the name show that it lasts, or what became of somebody
    role: str = ""  # the word beside the name that says who somebody is, if that is all
    terms: tuple[str, ...] = ()  # by which it is compared with other texts, where that is known

    def quote(self, paragraph: str) -> str:
        """The sentence on one line."""
        return quote_span(paragraph, self.start, self.end)


class FactNames(Struct, frozen=True):
    """The names of each entry that are known all through the story, and which entries are places or things.

    Another name may be revealed later, and tells no facts.
    """

    names: Mapping[str, frozenset[str]]  # by entry, in lower case
    places: frozenset[str] = frozenset()
    things: frozenset[str] = frozenset()  # what is neither a character nor a place

    def is_known(self, mention: Mention) -> bool:
        """Whether a mention is by a name that is known all through the story."""
        return mention.surface.casefold() in self.names.get(mention.owners[0], ())

    def find_kind(self, entry_id: str) -> NameKind:
        """Whether an entry is a person, a place or a thing."""
        return "place" if entry_id in self.places else "thing" if entry_id in self.things else "person"


def quote_span(text: str, start: int, end: int) -> str:
    """What stands between two offsets, on one line."""
    return BLANK.sub(" ", text[start:end]).strip()


def make_fact_names(entries: Iterable[Entry]) -> FactNames:
    """The names of entries that are known all through the story."""
    entries = tuple(entries)
    return FactNames(
        {entry.id: frozenset(map(str.casefold, (entry.name, *entry.aliases))) for entry in entries},
        frozenset(entry.id for entry in entries if entry.type == "location"),
        frozenset(entry.id for entry in entries if entry.type not in ("character", "location")),
    )


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
    is_tale = TALE.match(paragraph) is not None
    for start, end in _find_sentences(paragraph, mentions):
        inside = mentions[bisect_left(starts, start) : bisect_left(starts, end)]
        sentence = _Sentence(paragraph, start, end, short_names.complete(paragraph, start, inside), names)
        if sentence.is_narration(is_tale=is_tale):
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
                if known not in self._names.places and last not in NO_SHORT_NAMES:
                    self._owners[last] = known if self._owners.get(last, known) == known else ""
        if not is_short:
            return mentions
        full = next(iter(self._names.names[owner]))
        return [Mention(full, at, at + 1, (owner,)), *mentions]


def _find_sentences(paragraph: str, mentions: Sequence[Mention]) -> Iterator[tuple[int, int]]:
    """The sentences of a paragraph; one that is too long ends with its first clause that can stand by itself.

    A Chinese sentence that leads over to a speech ends before it; a long one falls into the parts between its
    semicolons, and one that is still too long, or that names a crowd, into the clauses that begin with a name.
    """
    starts = [at for at in find_sentence_starts(paragraph) if not ABBREVIATION.search(paragraph, max(0, at - 8), at)]
    for start, end in pairwise([*starts, len(paragraph)]):
        if UNSPACED.match(paragraph, start):
            for part_start, part_end in _divide_unspaced(paragraph, start, end):
                yield from _divide_clauses(paragraph, part_start, part_end, mentions)
            continue
        if end - start > _LENGTHS[1] + 1:
            limit = min(end, start + _LENGTHS[1])
            clause = CLAUSE_END.search(paragraph, start + _LENGTHS[0], limit)
            for conjunction in CONJUNCTION.finditer(paragraph, start + 2 * _LENGTHS[0], limit) if not clause else ():
                clause = conjunction
            if clause is not None:
                yield start, clause.start()
                yield from _find_later_clauses(paragraph, clause.end(), end)
                continue
        yield start, end


def _find_later_clauses(paragraph: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a long English sentence behind its first one: what stands between its semicolons."""
    for part_start, part_end in pairwise(
        [start, *(one.end() for one in CLAUSE_END.finditer(paragraph, start, end)), end]
    ):
        if part_end - part_start <= _LENGTHS[1]:
            yield part_start, part_end


def _divide_unspaced(paragraph: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a Chinese sentence that can stand by themselves."""
    speech = SPEECH_BEGIN.search(paragraph, start, end)
    if speech is not None:
        told = max(paragraph.rfind(mark, start, speech.start()) for mark in "，；")
        if told - start >= MIN_TOLD_LENGTH:
            yield start, told
            start = told
    edges = (
        [one.end() for one in CLAUSE_END.finditer(paragraph, start, end)] if end - start > _UNSPACED_LENGTHS[1] else []
    )
    yield from pairwise([start, *edges, *([] if edges[-1:] == [end] else [end])])


def _divide_clauses(paragraph: str, start: int, end: int, mentions: Sequence[Mention]) -> Iterator[tuple[int, int]]:
    """The parts of a Chinese sentence that is too long or names a crowd, each from a clause that begins with a name."""
    first = bisect_left(mentions, start, key=lambda one: one.start)
    last = bisect_left(mentions, end, key=lambda one: one.start)
    inside = mentions[first:last]
    is_crowd = len({one.owners[0] for one in inside}) > MAX_MENTIONS
    if is_crowd or (inside and end - start > _UNSPACED_LENGTHS[1]):
        least = _UNSPACED_LENGTHS[0] if is_crowd else MIN_PART_LENGTH
        for mention in inside:
            if mention.start - start >= least and paragraph[mention.start - 1] in "，；：":
                yield start, mention.start - 1
                start = mention.start
    yield start, end


class _Sentence:
    """One sentence of a paragraph, with the names in it."""

    def __init__(self, paragraph: str, start: int, end: int, mentions: Sequence[Mention], names: FactNames) -> None:
        self._paragraph, self._start, self._end = paragraph, start, end
        self._mentions, self._names = mentions, names
        whole = paragraph[start:end]
        self._text = whole.strip()
        self._blanks = len(whole) - len(whole.lstrip())  # before its text
        self._is_unspaced = UNSPACED.search(self._text) is not None

    def is_narration(self, *, is_tale: bool) -> bool:
        """Whether the sentence is told to the reader, can stand by itself, and is not about a crowd.

        In the speech of a tale its teller counts as the narrator, where the sentence is not about themselves.
        """
        shortest, longest = _UNSPACED_LENGTHS if self._is_unspaced else _LENGTHS
        text = self._text
        if not shortest <= len(text) <= longest or text.endswith(_OPEN_ENDS):
            return False
        if text[0].islower() or (self._end == len(self._paragraph) and not text.endswith(_WHOLE_ENDS)):
            return False  # a part of a sentence, as in a text whose lines are broken
        if len({one.owners[0] for one in self._mentions}) > MAX_MENTIONS or ADDRESSED.search(text):
            return False
        if len(text) < MIN_OPEN_LENGTH and OPEN_END.search(text):
            return False
        if QUOTES.search(text) or (self._is_unspaced and BROKEN.search(text)):
            return False
        begins = self._is_unspaced and (NARRATION.match(text) is not None or self._begins_with_name)
        if not is_in_speech(self._paragraph, self._start, begins_narration=begins):
            return True
        return is_tale and not TELLER.search(text)

    @property
    def _begins_with_name(self) -> bool:
        return bool(self._mentions) and self._mentions[0].start == self._start + self._blanks

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
        owner = pronouns.get(pronoun[0], "") if pronoun is not None else ""
        found: dict[str, FactSentence] = {}
        if pronoun is not None and owner and owner not in (one.owners[0] for one in self._mentions):
            rest = self._text[pronoun.end() :]
            is_lasting = self._weigh_clause("", rest, telling) > 0
            name = NamePlace(owner, 0, pronoun.end(), self._names.find_kind(owner))
            self._add(found, name, NameSigns(is_first=True, is_lasting=is_lasting, is_event=self._is_event("", rest)))
        done_until = 0  # where the clause ends that tells what somebody does to others
        for number, mention in enumerate(self._mentions):
            if self._names.is_known(mention) and not self._is_part(mention, self._mentions[number + 1 :]):
                done_until = max(done_until, self._add_told(found, mention, telling, done_until))
        return (one for one in found.values() if one.score >= MIN_CHANCE)

    def _is_part(self, mention: Mention, later: Sequence[Mention]) -> bool:
        """Whether a name is only a part of the name of somebody else, or of their title."""
        rest = self._paragraph[mention.end : self._end]
        if self._is_unspaced:
            if mention.owners[0] in self._names.places and CHINESE_OFFICE.match(rest):
                return True
            return rest.startswith("家的")  # the wife of somebody
        if any(one.end + 1 == mention.start and one.owners != mention.owners for one in self._mentions):
            return True  # the family name of somebody else
        names = self._names.names[mention.owners[0]]
        is_short = " " not in mention.surface and any(" " in name for name in names)
        return is_short and NAME_BEHIND.match(rest) is not None and not (later and later[0].start == mention.end + 1)

    def _add_told(self, found: dict[str, FactSentence], mention: Mention, telling: float, done_until: int) -> int:
        """Add what the words around a name tell of its owner; where the clause ends that tells what they do to others.

        Up to `done_until` somebody else does something to those who are named.
        """
        head = self._paragraph[self._start : mention.start]
        rest = self._paragraph[mention.end : self._end]
        worth, role = self._weigh_clause(head, rest, telling), ""
        if not worth:
            worth, role = self._weigh_identity(head, rest, telling)
        is_event = self._is_event(head, rest)
        signs = NameSigns(
            is_first=_is_subject_first(head, is_unspaced=self._is_unspaced),
            is_lasting=worth > ROLE_WORTH,
            is_role=bool(role),
            is_event=is_event,
            is_done=mention.start < done_until or self._is_object(head, rest),
        )
        self._add(found, self._place(mention), signs, role)
        return self._find_clause_end(mention) if is_event else 0

    def _add(self, found: dict[str, FactSentence], name: NamePlace, signs: NameSigns, role: str = "") -> None:
        score, known = self._named.measure_chance(name, signs), found.get(name.owner)
        if known is None or score > known.score:
            is_telling = signs.is_lasting or signs.is_event or signs.is_done
            found[name.owner] = FactSentence(name.owner, self._start, self._end, score, is_telling, role)

    def _place(self, mention: Mention) -> NamePlace:
        owner, shift = mention.owners[0], self._start + self._blanks
        return NamePlace(owner, mention.start - shift, mention.end - shift, self._names.find_kind(owner))

    @cached_property
    def _named(self) -> NamedSentence:
        return NamedSentence(self._text, tuple(map(self._place, self._mentions)), is_unspaced=self._is_unspaced)

    def _weigh_clause(self, head: str, rest: str, telling: float) -> float:
        """What a clause is worth that tells something lasting of its subject, between `head` and `rest`."""
        is_first = _is_subject_first(head, is_unspaced=self._is_unspaced)
        is_listed = rest.startswith(",") and LISTED_BEFORE.search(head) is not None
        if is_listed or not (is_first or self._begins_clause(head)):
            return 0.0
        worth = _weigh_patterns(rest, telling, is_unspaced=self._is_unspaced)
        parenthesis = None if self._is_unspaced else PARENTHESIS.match(rest)
        if parenthesis is not None and not worth:
            rest = rest[parenthesis.end() :]
            worth = _weigh_patterns(rest, telling)
        if worth >= (0.01 if is_first else MIN_INTRODUCED_WORTH):
            return worth
        is_introduced = is_first or INTRODUCTION.fullmatch(head.strip()) is not None
        return TRAIT_WORTH if not self._is_unspaced and is_introduced and _tells_trait(rest) else 0.0

    def _is_event(self, head: str, rest: str) -> bool:
        """Whether a clause tells what became of its subject, or what they do that a writer may need later."""
        if not _is_subject_first(head, is_unspaced=self._is_unspaced) and not self._begins_clause(head):
            return False
        if self._is_unspaced:
            return (CHINESE_EVENT.match(rest) or CHINESE_PASSIVE.match(rest)) is not None
        return _tells_event(rest)

    def _begins_clause(self, head: str) -> bool:
        """Whether only connectives or a title stand between the last edge of a clause and the subject."""
        edges = UNSPACED_CLAUSE_EDGE if self._is_unspaced else CLAUSE_EDGE
        last = max((edge.end() for edge in edges.finditer(head)), default=0)
        connectives = UNSPACED_CONNECTIVES if self._is_unspaced else CONNECTIVES
        return connectives.fullmatch(head[last:].lstrip()) is not None or (
            not self._is_unspaced and INTRODUCTION.fullmatch(head.strip()) is not None
        )

    def _find_clause_end(self, subject: Mention) -> int:
        edges = UNSPACED_CLAUSE_EDGE if self._is_unspaced else CLAUSE_EDGE
        edge = edges.search(self._paragraph, subject.end, self._end)
        return self._end if edge is None else edge.start()

    def _weigh_identity(self, head: str, rest: str, telling: float) -> tuple[float, str]:
        """What a role before a name, or an apposition or a relative clause behind it, is worth, and the role."""
        if self._is_unspaced:
            is_name = any(one.end == self._start + len(head) for one in self._mentions)  # as in 薛姨妈
            role = None if is_name else CHINESE_ROLE_BEFORE.search(head)
            return (0.0, "") if role is None else (ROLE_WORTH, role[0])
        if PART_OF.search(head) or LISTED_BEFORE.search(head):
            return 0.0, ""
        apposition = APPOSITION.match(rest)
        if apposition is not None:
            return APPOSITION_WORTH, apposition[0]
        relative = RELATIVE.match(rest)
        if relative is not None:
            clause = rest[relative.end() :]
            is_told = _tells_trait(clause) or _tells_event(clause)
            return _weigh_patterns(clause, telling) or (TRAIT_WORTH if is_told else 0.0), ""
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
        return verb is not None and stem(verb[1]) in ENGLISH_DONE


def _weigh_patterns(rest: str, telling: float, *, is_unspaced: bool = False) -> float:
    """What the words behind a subject are worth; 0 where they say nothing that lasts."""
    patterns = CHINESE_PATTERNS if is_unspaced else ENGLISH_PATTERNS
    return max((worth for pattern, least, worth in patterns if telling >= least and pattern.match(rest)), default=0.0)


def _tells_trait(rest: str) -> bool:
    """Whether the words behind a subject say what it is like."""
    verb = _find_verb(rest)
    return verb is not None and verb.has_auxiliary and verb.root in ENGLISH_TRAITS and not verb.word.endswith("ing")


def _tells_event(rest: str) -> bool:
    """Whether the verb behind a subject tells something that a writer may need later."""
    verb = _find_verb(rest)
    if verb is None or OPEN_OBJECT.match(rest, verb.end):
        return False
    return verb.root in ENGLISH_EVENTS or (verb.is_passive and verb.root in ENGLISH_SUFFERED)


class _Verb(Struct, frozen=True):
    """The first word behind an English subject that says what it does or is."""

    word: str
    root: str
    end: int
    has_auxiliary: bool
    is_passive: bool


def _find_verb(rest: str) -> _Verb | None:
    predicate = PREDICATE.match(rest)
    has_auxiliary = is_passive = False
    for number, match in enumerate(WORD.finditer(predicate[0]) if predicate is not None else ()):
        word = match[0]
        if word in MODAL or number > _MAX_SKIPPED:
            break
        if word not in SKIPPED and not word.endswith("ly"):
            return _Verb(word, stem(word), match.end(), has_auxiliary, is_passive)
        has_auxiliary, is_passive = True, is_passive or word in PASSIVE
    return None


def _is_subject_first(before: str, *, is_unspaced: bool) -> bool:
    """Does a sentence begin with its subject, or with a title or a word that only introduces it?"""
    first = before.strip()
    return not first or (EXPLANATION.search(first) if is_unspaced else TITLE.fullmatch(first)) is not None


def is_in_speech(paragraph: str, offset: int, *, begins_narration: bool = False) -> bool:
    """Does a sentence stand inside a speech that began before it?

    Where the next mark opens another speech, the end of the first one was left out: a sentence that begins as
    narration does is no part of it then.
    """
    is_open = False
    for mark in SPEECH_MARK.findall(paragraph, 0, offset):
        is_open = mark in "“「『" or (
            mark == '"' and not is_open
        )  # a straight mark also closes what a curly one opened
    if is_open and begins_narration:
        following = SPEECH_MARK.search(paragraph, offset)
        return following is None or following[0] not in "“「"
    return is_open
