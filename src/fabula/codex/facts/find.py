"""Find the sentences of a text that tell something lasting about somebody or something (cdx-10).

A fact is a sentence of the narration whose subject is a known name, or something of theirs, and that says of it what
lasts: who somebody is, a habit, kinship, what had happened before, what is owned, owed or promised. The words behind
the name show that; how much more it tells (`text/telling.py`) ranks it. A sentence that cannot be understood by itself,
or that is about a crowd of people, is none. Nothing is rewritten: a fact is quoted as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from fabula.text.names.disambiguation import Mention, resolve_mentions
from fabula.text.names.matcher import NameMatch
from fabula.text.sentences import find_sentence_starts
from fabula.text.telling import measure_sentence

MIN_TELLING = 0.25  # of a sentence that is worth a look though nothing shows that it lasts
MAX_MENTIONS = 4  # different names in one sentence
_LENGTHS, _UNSPACED_LENGTHS = (40, 260), (12, 90)  # characters of a sentence, at least and at most
_SUBJECT_SHARE = 0.4  # of a sentence in which its subject stands
_SUBJECT_CHARACTERS, _UNSPACED_SUBJECT_CHARACTERS = 40, 10  # in which a subject stands however short the sentence is
_UNSPACED = re.compile("[\u2e80-\u9fff]")
_QUOTES = re.compile("[“”\"「」『』‘]|(?<![^\\W_])['’]|[曰道说问][：:]")
_OPENING, _CLOSING = re.compile("[“「『]"), re.compile("[”」』]")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|M|Mme|Mlle|Capt|Col|Rev|Prof|Lieut|Gen|[A-Z])\.\s+\Z")
_DEPENDENT = re.compile(
    r"(?:He|She|It|They|This|That|These|Those|His|Her|Its|Their|What|Who|Which|Why|How|There|Here|Such|If|Not|Only|Nor)\b"
    r"|[他她它其此这那彼却]"
)
_ADDRESSED = re.compile(r"\b(?:you|your|thou|thee|thy|ye)\b|[我你您咱吾汝尔某]|在下")
_TITLE = re.compile(
    r"(?:(?:The|Old|Young|Little|Poor|Captain|Prince|Princess|Count|Countess|Mr\.|Mrs\.|Dr\.|Father|Mother|General|"
    r"Lieutenant|Colonel|King|Queen|Lady|Lord|Sir|Emperor|Empress|Uncle|Aunt|Now|Though) ?)+,?"
)
_CLAUSE_END = re.compile("[;；]")
_BLANK = re.compile(r"\s+")
_KIN = (
    "father|mother|wife|husband|son|daughter|brother|sister|uncle|aunt|nephew|niece|cousin|parents?|children|family|"
    "grandfather|grandmother|stepfather|stepmother|father-in-law|mother-in-law|son-in-law|brother-in-law"
)
# how a sentence goes on behind its subject: the pattern, how telling it must be, and what the pattern itself is worth
_ENGLISH_PATTERNS = tuple(
    (re.compile(pattern), minimum, worth)
    for pattern, minimum, worth in (
        (
            r",? (?:was|is|had been|became|had become) (?:by nature |always |also |not |himself |herself |still )?"
            rf"(?:an? (?!little|moment|bit|few|long time|good deal)|one of (?!the first\b)|(?:the|his|her|their) "
            rf"(?:\w+ )?(?:{_KIN}|heir|owner|chief|head|master|commander|governor|captain|friend|favorite|favourite)\b|"
            r"born|known|called (?!to\b)|famous|fond|married|in love|related|descended|engaged to|accustomed|wont|"
            r"in the habit|afraid of)",
            0.0,
            0.8,
        ),
        (
            rf", (?:an? |the (?:\w+ )?(?:{_KIN}|owner|head|chief)\b|(?:his|her|their) (?:\w+ )?(?:{_KIN})\b|whose )",
            0.0,
            0.6,
        ),
        (
            r", who (?:had (?:never|always|long|once|formerly)|was an?|always|never|lived|loved|hated|owned)\b",
            0.25,
            0.5,
        ),
        (r" (?:always|never|often|usually|seldom|generally|invariably) \w+", 0.25, 0.6),
        (
            r" (?:used to|would (?:often|always|never)|could (?:not|never) (?:bear|abide|endure|read|write|swim))\b",
            0.0,
            0.7,
        ),
        (r" had (?:never|always|long|once|often) ", 0.5, 0.6),
        (
            r" had (?:been (?:born|educated|brought up|raised|wounded|married|engaged|promised|banished|exiled|"
            r"appointed|made|a |an )|an? (?:son|daughter|brother|sister|wife|scar|wound|habit|horror|dread|passion|"
            r"house|estate|fortune|gift|way of|nephew|niece|cousin|debt|secret)|"
            r"no (?:son|daughter|family|children|wife|fear)|"
            r"(?:lost|married|inherited|promised|sworn|vowed|owed|lent|borrowed|killed|served|fought|lived|loved|hated|"
            r"studied|sailed|spent|left|given|bought|sold|buried|saved|betrayed|deserted|stolen|forgiven|quarrelled|"
            r"quarreled)\b)",
            0.25,
            0.6,
        ),
        (
            r" (?:loved|hated|feared|despised|admired|lived|owned|wore|belonged|possessed|resembled|served|married|"
            r"inherited|swore|owed|died|bought|sold|believed in|prided|lay buried|was (?:killed|wounded|"
            r"buried|lame|blind|deaf|bald))\b",
            0.25,
            0.5,
        ),
        (
            r",? (?:was|had been) (?:\w+ly )?(?:killed|wounded|captured|taken prisoner|arrested|promoted|appointed|"
            r"dismissed|buried|betrothed|elected|exiled|hanged|drowned|married|shot|crippled|ruined|disinherited|adopted|orphaned|"
            r"widowed|baptized|knighted)\b",
            0.0,
            0.4,
        ),
        (
            r" (?:had )?(?:died|married|inherited|surrendered|resigned|retired (?:from|to)|proposed to|fallen in love|"
            r"fell in love|given birth|gave birth|confessed|betrayed|killed|rescued|saved|"
            r"lost (?:his|her|a|an|all|\w+ thousand)|bought|sold|borrowed|joined the|"
            r"entered the (?:service|army|Guards|order)|swore|vowed|deserted|"
            r"enlisted|eloped|stole|stolen|received the (?:order|cross|rank))\b",
            0.0,
            0.35,
        ),
        (
            rf"['’]s? (?:\w+ )?(?:{_KIN})\b[^,]{{0,40}} (?:(?:was|were) (?!\w+ing\b|also\b|now\b)|had |lived |died )",
            0.25,
            0.5,
        ),
    )
)
_CHINESE_KIN = "父|母|妻|子|女|兄|弟|姊|姐|妹|侄|孙|叔|舅|婿|甥|嫂|妾|媳|儿子|女儿"
_CHINESE_PATTERNS = tuple(
    (re.compile(pattern), minimum, worth)
    for pattern, minimum, worth in (
        (
            "，?(?:本是|原是|原系|本系|表字|字|本姓|年方|年约|年已|年纪|生得|身长|面如|为人|秉性|本性|自幼|从小|自小|生来)",
            0.0,
            0.8,
        ),
        (
            f"，?(?:乃|系|是|即)[^，。．；了]{{0,14}}(?:人也|之(?:{_CHINESE_KIN}|后|臣|将)|人氏|(?:{_CHINESE_KIN})也)",
            0.0,
            0.8,
        ),
        ("，?(?:是|原)(?:个|一个)[^，。了]{2,12}[，。．；]", 0.0, 0.6),
        (
            "，?(?:平生|平日|平素|素日|素习|素来|素(?!知)|向来|一向|从来|常(?!侍)|每每|每年|最(?:是|怕|爱|喜|恨|胆|好))",
            0.25,
            0.6,
        ),
        (
            "，?(?:曾(?!经?见)|尝(?!不)|早年|当年|昔日|旧日|自从[^，]{2,14}[，后]|自[^己然此思觉知言引是在送为][^，。]{1,10}(?:后|以来|之后)[，,])",
            0.25,
            0.5,
        ),
        ("，?(?:本|原)(?:非|不|无|有|与|好|爱|嫌|来)", 0.25, 0.4),
        (f"(?:之(?:{_CHINESE_KIN})|有(?:一|二|三|两)?个?(?:{_CHINESE_KIN}))[，名唤叫曰早乃亦]", 0.25, 0.4),
        (
            "[^，。．；闻知见因将便以]{0,6}(?:结为|结拜|过继|许配|聘|娶|嫁|生了|生得一|生下|所生|遗腹|立誓|发誓|病故|病死|去世|病亡|病卒|夭亡)",
            0.25,
            0.5,
        ),
    )
)
MIN_INTRODUCED_WORTH = 0.6  # of a sentence in which words stand before the subject
_INTRODUCTION = re.compile(r"[^,;]{1,40},|But|And|Yet|For|So|Now|Besides|Indeed|(?:But|And|For)? ?(?:as|though|when) ")
_EXPLANATION = re.compile("(?:原来|原是|且说|却说|于是|时|遂)\\Z")


class FactSentence(Struct, frozen=True, gc=False):
    """A sentence that tells something of an entry: where it stands in its paragraph, and how much it tells."""

    entry_id: str
    start: int
    end: int
    score: float
    is_lasting: bool  # whether the words behind its subject show that it lasts

    def quote(self, paragraph: str) -> str:
        """The sentence on one line."""
        return _BLANK.sub(" ", paragraph[self.start : self.end]).strip()


def find_fact_sentences(
    paragraph: str, matches: Sequence[NameMatch], names: Mapping[str, Sequence[str]]
) -> list[FactSentence]:
    """The facts of a paragraph, given the names found in it.

    `names` are the names of each entry that are known all through the story: another one may be revealed later.
    """
    mentions = [one for one in resolve_mentions(match for match in matches if match.is_certain) if one.is_certain]
    if not mentions:
        return []
    found: list[FactSentence] = []
    for start, end in _find_sentences(paragraph):
        inside = [one for one in mentions if start <= one.start < end]
        if inside:
            found += _find_in_sentence(paragraph, start, end, inside, names)
    return found


def _find_sentences(paragraph: str) -> Iterator[tuple[int, int]]:
    """The sentences of a paragraph; one that is too long ends with its first clause that can stand by itself."""
    starts = [at for at in find_sentence_starts(paragraph) if not _ABBREVIATION.search(paragraph, max(0, at - 8), at)]
    for start, end in pairwise([*starts, len(paragraph)]):
        if end - start > _LENGTHS[1] + 1:
            clause = _CLAUSE_END.search(paragraph, start + _LENGTHS[0], min(end, start + _LENGTHS[1]))
            end = end if clause is None else clause.start()
        yield start, end


def _find_in_sentence(
    paragraph: str, start: int, end: int, mentions: Sequence[Mention], names: Mapping[str, Sequence[str]]
) -> Iterator[FactSentence]:
    sentence = paragraph[start:end].strip()
    is_unspaced = _UNSPACED.search(sentence) is not None
    shortest, longest = _UNSPACED_LENGTHS if is_unspaced else _LENGTHS
    if not shortest <= len(sentence) <= longest or sentence.endswith(("?", "？", "!", "！", ":", "：", "—")):
        return
    if _QUOTES.search(sentence) or _is_in_speech(paragraph, start) or _ADDRESSED.search(sentence):
        return
    if len({one.owners[0] for one in mentions}) > MAX_MENTIONS or _DEPENDENT.match(sentence):
        return
    subject = mentions[0]
    reach = _UNSPACED_SUBJECT_CHARACTERS if is_unspaced else _SUBJECT_CHARACTERS
    if subject.start - start > min(reach, _SUBJECT_SHARE * len(sentence)):
        return
    owner = subject.owners[0]
    if subject.surface.casefold() not in (name.casefold() for name in names.get(owner, ())):
        return
    telling = measure_sentence(sentence)
    before = paragraph[start : subject.start]
    after = paragraph[subject.end : end]
    worth = _weigh_pattern(before, after, telling, is_unspaced=is_unspaced)
    if worth or (telling >= MIN_TELLING and _is_subject_first(before, is_unspaced=is_unspaced)):
        yield FactSentence(owner, start, end, worth + telling, worth > 0)


def _weigh_pattern(before: str, after: str, telling: float, *, is_unspaced: bool) -> float:
    """What the words behind the subject are worth; 0 where they say nothing that lasts."""
    is_first = _is_subject_first(before, is_unspaced=is_unspaced)
    if not is_first and (is_unspaced or not _INTRODUCTION.fullmatch(before.strip())):
        return 0.0
    patterns = _CHINESE_PATTERNS if is_unspaced else _ENGLISH_PATTERNS
    worths = [worth for pattern, least, worth in patterns if telling >= least and pattern.match(after)]
    worth = max(worths, default=0.0)
    return worth if is_first or worth >= MIN_INTRODUCED_WORTH else 0.0


def _is_subject_first(before: str, *, is_unspaced: bool) -> bool:
    """Does a sentence begin with its subject, or with a title or a word that only introduces it?"""
    first = before.strip()
    return not first or (_EXPLANATION.search(first) if is_unspaced else _TITLE.fullmatch(first)) is not None


def _is_in_speech(paragraph: str, offset: int) -> bool:
    """Does a sentence stand inside a speech that began before it?"""
    opened = len(_OPENING.findall(paragraph, 0, offset))
    return opened > len(_CLOSING.findall(paragraph, 0, offset))
