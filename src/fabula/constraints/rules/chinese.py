"""Rules in Chinese: a limit of length, the narrative person, forbidden names, banned words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from fabula.constraints.model import BannedWords, ForbiddenNames, NarrativePerson, SentenceLength
from fabula.constraints.rules.vocabulary import (
    FIRST_PLACEHOLDER,
    HAN,
    MARK_NAMES,
    PERSON,
    PLACEHOLDER,
    ChineseWords,
    keep_longest_names,
    load_words,
    make_person,
    read_item,
)
from fabula.constraints.rules.word_sequence import WordList, make_word_list, match_sequence
from fabula.text.numerals import CHINESE_NUMBER, parse_numeral
from fabula.text.segmenter import find_tag, load_segmenter

_SEPARATORS_ZH = re.compile(
    "[、，,/和或与及跟以者]*(?:也?(?:不要|不得|不许|不准|不能|不|别|避免|禁止)(?:使用|用|写|出现|有)?)?"
)
_NUMBER_ZH = rf"\s?({CHINESE_NUMBER})\s?个?(?:汉)?字"
_LENGTH_ZH = re.compile(
    rf"(?:(?P<over>超过|超出|多于|大于|长于|高于)|(?P<less>少于|小于|低于|短于)|(?P<most>最多|至多|不超|控制在|限制在|限定在|限))"
    rf"(?:为|是)?{_NUMBER_ZH}(?P<within>以内|以下|之内|内)?|{_NUMBER_ZH}(?:以内|以下|之内|内|为限|封顶)"
)
_MARKS = "，、,：:。."
_MARKS_ZH = f"[{_MARKS}]"
ANY_BAN = re.compile("不|非|禁|勿|避免|别|莫|杜绝")
_SPEAKERS = re.compile(
    "请?(?:(?:谁|任何人物?|所有人物?|任何角色|所有角色|人物们?|角色们?|大家)(?:都|也|均|一律|绝对)*"
    "(?:不(?:要|得|许|准|能|可以|可|会|应该|该)?|别|禁止|严禁)|没有?(?:任何)?人(?:能|可以|会|敢|可)?)"
    "(?P<verb>说出|说起|说到|说|讲|使用|用|提到|提及|提起|喊)"
)


class ChineseRule:
    """The forms of a rule in Chinese."""

    def __init__(self, body: str, quoted: Sequence[str], names: Sequence[str]) -> None:
        self._words = load_words()[1]
        self._quoted, self._names = quoted, names
        self._body = re.sub(r"\s+", "", body)
        speakers = _SPEAKERS.match(self._body)  # 谁也不许说 is about dialogue
        self._dialogue_only = speakers is not None
        if speakers is not None:
            verb = speakers["verb"] if speakers["verb"] not in "讲喊" else "说"
            self._body = f"不要{verb}{self._body[speakers.end() :]}"

    def parse_length(self) -> SentenceLength | None:
        """Parse a limit on the length of sentences or paragraphs."""
        found = _LENGTH_ZH.search(self._body)
        if found is None or not re.search("句|段", self._body):
            return None
        rest = self._body[: found.start()] + self._body[found.end() :]
        if not _consists_of(rest, self._words.length):
            return None
        bans = len(ANY_BAN.findall(rest))
        if bans != (found["over"] is not None) or (found["over"] and found["within"]):
            return None
        number = parse_numeral(next(filter(None, (found[4], found[6])))) or 0
        most = number - (found["less"] is not None)
        measured = [kind for kind, sign in (("sentence", "句"), ("paragraph", "段")) if sign in rest]
        if most < 1 or len(measured) > 1:
            return None
        return SentenceLength(
            max_length=most, unit="characters", measured="sentence" if measured[0] == "sentence" else "paragraph"
        )

    def parse_person(self) -> NarrativePerson | None:
        """Parse a rule about the narrative person."""
        rest = PERSON.sub("", self._body)
        if not _consists_of(rest, f"{self._words.person} {self._words.ban}"):
            return None
        return make_person(PERSON.findall(self._body), _count_bans(rest, self._words))

    def parse_names(self) -> ForbiddenNames | None:
        """Parse a ban of names."""
        words = self._words
        opening = make_word_list([*words.before.split(), *_MARKS], "fewest")
        ban, between = make_word_list(words.ban.split()), make_word_list(words.between.split(), "fewest")
        around, mention = make_word_list(words.around_names.split(), "most"), make_word_list(words.mention.split())
        names = (WordList(None), WordList(None, "fewest"))
        forms = (
            (opening, ban, between, mention, around, *names, around),
            (opening, *names, around, opening, ban, between, mention),
        )
        for is_subject, form in enumerate(forms):
            match = match_sequence(self._body, form)
            if match is None:
                continue
            at = form.index(names[0])
            verb, named = match[form.index(mention)], match[at] + match[at + 1]
            if is_subject and verb == "出现" and not match[at + 2]:
                continue  # a person who appears is not only named
            if "再" in "".join(match[:at] + match[at + 2 :]):
                return None  # "no more" holds from some place on
            is_word = verb == "出现" and re.fullmatch(rf"(?:{PLACEHOLDER}|[、和或与及跟，])+", named)
            found = () if is_word else self._split_names(named)
            if found:
                return ForbiddenNames(names=found, dialogue_only=self._dialogue_only)
        return None

    def parse_words(self) -> BannedWords | None:
        """Parse a ban of words and marks."""
        body, quoted = self._take_listed_words()
        items = list(re.finditer(rf"{PLACEHOLDER}|[!?;…—！？；]{{1,3}}|{MARK_NAMES}", body))
        if not items:
            return None
        for item, following in pairwise(items):
            if not _SEPARATORS_ZH.fullmatch(body[item.end() : following.start()]):
                return None
        before, after = body[: items[0].start()], body[items[-1].end() :]
        known = make_word_list([*self._words.before.split(), *_MARKS], "most")
        between = make_word_list([*self._words.between.split(), *_MARKS], "most")
        forms = ([known], [known, make_word_list(self._words.ban.split()), between])
        is_known = any(match_sequence(before, form) is not None for form in forms)
        if not is_known or not _consists_of(after, f"{self._words.ban} {self._words.after}"):
            return None
        if _count_bans(before, self._words) + _count_bans(after, self._words) != 1:
            return None
        words = [word for item in items for word in read_item(item[0], quoted)]
        return BannedWords(words=tuple(dict.fromkeys(words)), dialogue_only=self._dialogue_only)

    def _take_listed_words(self) -> tuple[str, Sequence[str]]:
        """Replace a list without quotation marks (禁用词：忽然、竟然; 不要用很、非常这些词) by placeholders."""
        item = r"[\u3400-\u9fff]{1,4}"
        several = rf"{item}(?:[、和或与及]{item})*"
        verbs = "使用|运用|用|出现|写|说"
        match = re.search(rf"(?:词|词语|词汇|字眼)[：:](?P<list>{several})$", self._body) or re.search(
            rf"(?:{verbs})(?P<list>{several}?)(?=(?:这|等|一|二|两|三)[个些几类样两三]?的?(?:个?词|词语|字眼|字)|字样)",
            self._body,
        )
        if match is None:
            return self._body, self._quoted
        listed = re.split("[、和或与及]", match["list"])
        if not all(len(word) == 1 or find_tag(word) for word in listed):
            return self._body, self._quoted
        places = "、".join(chr(FIRST_PLACEHOLDER + len(self._quoted) + n) for n in range(len(listed)))
        return f"{self._body[: match.start('list')]}{places}{self._body[match.end('list') :]}", [*self._quoted, *listed]

    def _split_names(self, text: str) -> tuple[str, ...]:
        found: list[str] = []
        for part in filter(None, re.split("[、和或与及跟，,以者]+", text) if text not in self._names else [text]):
            if re.fullmatch(PLACEHOLDER, part):
                found.append(read_item(part, self._quoted)[0])
            elif part in self._names or _is_chinese_name(part):
                found.append(part)
            else:
                return ()
        return keep_longest_names(found)


@lru_cache(maxsize=32)
def _alternatives(words: str) -> str:
    """A pattern of any of the words, the longest first."""
    return "|".join(sorted((re.escape(word) for word in words.split()), key=len, reverse=True))


def _consists_of(text: str, words: str) -> bool:
    """Whether a Chinese text consists of these words and marks."""
    return match_sequence(text, [make_word_list([*words.split(), *_MARKS], "most")]) is not None


def _count_bans(text: str, words: ChineseWords) -> int:
    """How many bans a text of known words has; 不 in 不要 counts once."""
    return len(re.findall(_alternatives(words.ban), text))


def _is_chinese_name(text: str) -> bool:
    """Whether the segmenter takes a text for one name of a person or a place."""
    if not 2 <= len(text) <= 6 or not all(map(HAN.match, text)):
        return False
    tagged = [find_tag(text)] if find_tag(text) else [tag for _, tag in load_segmenter().tag(text)]
    return len(tagged) == 1 and tagged[0].startswith(("nr", "ns", "nt", "nz"))


def find_unknown_chinese(rule: str, names: Sequence[str]) -> str:
    """The longest piece of a rule that consists of none of the known words, marks and names."""
    words = load_words()[1]
    known = " ".join((words.ban, words.before, words.between, words.mention, words.after, words.around_names, *names))
    pieces = re.split(rf"{_alternatives(known)}|{MARK_NAMES}|{_MARKS_ZH}|{PLACEHOLDER}|\s", rule)
    return max(pieces, key=len)
