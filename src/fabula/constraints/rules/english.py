"""Rules in English: a limit of length, the narrative person, forbidden names, banned words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from fabula.constraints.model import BannedWords, ForbiddenNames, LengthUnit, NarrativePerson, SentenceLength
from fabula.constraints.rules.vocabulary import (
    FIRST_PLACEHOLDER,
    MARK_NAMES,
    PERSON,
    PLACEHOLDER,
    keep_longest_names,
    load_words,
    make_person,
    read_item,
    split_tokens,
)
from fabula.text.numerals import SPELT_NUMBER, parse_numeral

_BARE_MARK = r"(?<![^\s,，、])[!?;:…—–！？；：]{1,3}(?![^\s,，、])"
_SEPARATORS = re.compile(
    r"(?:[\s,/&]|\b(?:and|or|nor|the|any|a|no|words?|phrases?|either|also)\b"
    r"|(?<=[\s,])(?:not|never|avoid)(?: (?:use|write|say))?\b)*",
    re.IGNORECASE,
)
_PARTIAL_BAN = re.compile(
    r"\b(?:not|never|n't) (?:always|all|every|only|just|too|have to|need|necessarily)\b|n't have to\b"
)
_TITLES = r"(?:Mr|Mrs|Ms|Dr|St|Prof|Capt|Col|Gen|Lt|Sgt)\."
_NAME_WORD = rf"(?:{_TITLES}|[A-ZÀ-Þ][\w’'-]*)"
NAME = rf"(?:[Tt]he )?{_NAME_WORD}(?: (?:(?:of|de|du|von|van|la|le|al|da|di|the) ){{0,2}}{_NAME_WORD}){{0,4}}"
_CONDITION_WORDS = re.compile(
    r"\b(?:Before|After|Until|Till|Unless|Except|If|When|While|In|On|At|To|From|For|During|By|With|Without|Only|But|As"
    r"|Because|Since|Where|Outside|Inside|Again|Yet|Not|No|Never|Chapters?|Part)\b"
)
_MENTION_WORDS = (
    r"(?:mention(?:s|ed|ing)?(?: of)?|nam(?:e[ds]?|ing)|refer(?:s|red|ring)? to|references? to|speak(?:s|ing)? of"
    r"|spoken of|talk(?:s|ing|ed)? (?:about|of)|bring(?:s|ing)? up|brought up|allu(?:de[ds]?|ding) to"
    r"|call(?:ed)? by name|utter(?:ed)?|us(?:e|ing) the names?(?: of)?|say(?:ing)? the names?(?: of)?)"
)
MENTION = re.compile(rf"\b{_MENTION_WORDS}\b", re.IGNORECASE)
_SPEAKERS = re.compile(
    r"(?:(?:nobody|no one|no-one|no (?:character|person|speaker)|none of (?:the|my|our) characters)"
    r"(?: (?:may|must|should|can|will|is to|ever))*"
    r"|(?:the |my |our |all )?characters(?: (?:may|must|should|can|will))*(?: (?:never|not)| don't|n't)(?: ever)?) "
    r"(says?|uses?|utters?|speaks?(?: of)?|mentions?|names?)\b",
    re.IGNORECASE,
)
_WHOSE_VIEW = re.compile(r"(?:\bfrom )?\b[A-ZÀ-Þ][\w-]*(?: [A-ZÀ-Þ][\w-]*)?'s (?=point of view|pov|perspective)")
_UNIT = r"(words?|characters?|letters?)"
_UNDER = re.compile(
    rf"\b(?P<less>under|below|shorter than|fewer than|less than) (?P<a>\d{{1,4}}) (?P<ua>{_UNIT})"
    rf"|\b(?:at most|up to|no more than|not more than|no longer than|not longer than|not over|not exceeding|within"
    rf"|maximum(?: of)?|max\.?(?: of)?|a limit of|limited to) (?P<b>\d{{1,4}}) (?P<ub>{_UNIT})"
    rf"|\b(?P<c>\d{{1,4}}) (?P<uc>{_UNIT})(?: or (?:fewer|less|under|shorter)|,? (?:at (?:the )?most|maximum|max|tops))"
    rf"|\b(?:limit|keep|cap|restrict|hold|confine)\b[^\d]*\b(?:to|at) (?P<d>\d{{1,4}}) (?P<ud>{_UNIT})"
    rf"|\b(?:maximum|max|limit)\b[^\d]*[ :](?P<e>\d{{1,4}}) (?P<ue>{_UNIT})",
    re.IGNORECASE,
)
_BOUNDS = (
    "under|below|shorter than|fewer than|less than|at (?:the )?most|up to|(?:no|not) (?:more|longer) than|not over"
    "|not exceeding|within|or (?:fewer|less|under|shorter)|tops|over|above|longer than|more than|beyond|past"
    "|greater than|exceed(?:s|ing|ed)?"
)
_OVER = re.compile(
    rf"\b(?:over|above|longer than|more than|beyond|past|greater than|exceed(?:s|ing|ed)?) (?P<n>\d{{1,4}})"
    rf" (?P<u>{_UNIT})",
    re.IGNORECASE,
)


class EnglishRule:
    """The forms of a rule in English."""

    def __init__(self, body: str, quoted: Sequence[str], names: Sequence[str]) -> None:
        self._words = load_words()[0]
        self._quoted, self._names = quoted, names
        self._body = body
        for phrase, word in self._words.phrases.items():
            self._body = re.sub(rf"\b{phrase}\b", word, self._body, flags=re.IGNORECASE)
        self._body = " ".join(self._body.replace("’", "'").split())

    def parse_length(self) -> SentenceLength | None:
        """Parse a limit on the length of sentences or paragraphs."""
        body = re.sub(rf"\b{SPELT_NUMBER}\b(?= {_UNIT})", _to_digits, self._body, flags=re.IGNORECASE)
        body = re.sub(r"\b(\d{1,4})-(word|character)\b", r"\1 \2s", body)
        if not re.search(r"\b(?:sentence|paragraph)s?\b", body, re.IGNORECASE):
            return None
        under, over = _UNDER.search(body), None
        if under is None:
            over = _OVER.search(body)
        found = under or over
        if found is None:
            return None
        # What `limit sentences to` or `maximum` stand for stays in the rest, except the number itself.
        groups = {name: value for name, value in found.groupdict().items() if value}
        number = next(int(value) for value in groups.values() if value.isdecimal())
        unit = next(value for name, value in groups.items() if name.startswith("u"))
        rest = re.sub(rf"\b(?:{_BOUNDS}|{number} {unit})\b", " ", body, flags=re.IGNORECASE)
        tokens = split_tokens(rest)
        bans = [token for token in tokens if token in self._words.ban]
        if any(token not in self._words.length and token not in ",:-" for token in tokens):
            return None
        if len(bans) != (over is not None):
            return None
        length: LengthUnit = "words" if unit.lower().startswith("word") else "characters"
        measured = [kind for kind in ("sentence", "paragraph") if re.search(rf"\b{kind}s?\b", body, re.IGNORECASE)]
        most = number - ("less" in groups)
        if most < 1 or len(measured) > 1:
            return None
        return SentenceLength(
            max_length=most, unit=length, measured="sentence" if measured[0] == "sentence" else "paragraph"
        )

    def parse_person(self) -> NarrativePerson | None:
        """Parse a rule about the narrative person."""
        found = PERSON.findall(self._body)
        rest = split_tokens(_WHOSE_VIEW.sub("", PERSON.sub(" ", self._body)))
        bans = [token for token in rest if token in self._words.ban]
        others = [token for token in rest if token not in self._words.person and token not in ",:;-."]
        return make_person(found, len(bans)) if others == bans else None

    def parse_names(self) -> ForbiddenNames | None:
        """Parse a ban of names."""
        body, only_dialogue = self._take_speakers(self._body, ("mention", "name", "speak"))
        known = "|".join(re.escape(name) for name in sorted(self._names, key=len, reverse=True) if name in body)
        one = rf"(?:{known}|{PLACEHOLDER}|{NAME})" if known else rf"(?:{PLACEHOLDER}|{NAME})"
        several = rf"(?:{one})(?:(?:, | and | or |, and |, or | nor | & ){one})*"
        around = r"(?:'s? names?)?(?:,? (?:by name|either|directly))?"
        for pattern in (
            rf"(?P<before>.*?)\b(?:{_MENTION_WORDS}|the names?(?: of)?) +(?P<names>{several}){around}(?P<after>.*)",
            rf"(?P<before>(?:[Tt]he names? (?:of )?)?)(?P<names>{several}){around} (?P<after>.*?)",
        ):
            match = re.fullmatch(pattern, body)
            if match is None or (not match["after"] and not match["before"] and not only_dialogue):
                continue
            before, after = match["before"], match["after"]
            is_mentioned = pattern.startswith("(?P<before>.*") or MENTION.search(after) is not None
            is_used = "name" in match[0] and re.search(r"\b(?:appear|used|occur|written|spoken)\b", after) is not None
            rest = MENTION.sub(" ", after)
            if not (is_mentioned or is_used) or not self._is_ban(before, rest, banned=only_dialogue):
                continue
            found = self._split_names(match["names"], one)
            if found:
                return ForbiddenNames(names=found, dialogue_only=only_dialogue)
        return None

    def parse_words(self) -> BannedWords | None:
        """Parse a ban of words and marks."""
        body, only_dialogue = self._take_speakers(self._body, ("say", "use", "utter"))
        body, quoted = self._take_listed_words(body)
        items = list(re.finditer(rf"{PLACEHOLDER}|{_BARE_MARK}|{MARK_NAMES}", body, re.IGNORECASE))
        if not items:
            return None
        for item, following in pairwise(items):
            if not _SEPARATORS.fullmatch(body[item.end() : following.start()]):
                return None
        before, after = body[: items[0].start()], body[items[-1].end() :]
        if not self._is_ban(before, after, banned=only_dialogue):
            return None
        words = [word for item in items for word in read_item(item[0], quoted)]
        return BannedWords(words=tuple(dict.fromkeys(words)), dialogue_only=only_dialogue)

    def _take_speakers(self, body: str, verbs: Sequence[str]) -> tuple[str, bool]:
        """Take "nobody says" off a rule, which is about dialogue."""
        match = _SPEAKERS.match(body)
        if match is None or not match[1].lower().startswith(tuple(verbs)):
            return body, False
        verb = "mention " if match[1].lower().startswith(("mention", "name", "speak")) else ""
        return verb + body[match.end() :].strip(), True

    def _take_listed_words(self, body: str) -> tuple[str, Sequence[str]]:
        """Replace a list without quotation marks ("the words very, really and just") by placeholders."""
        nouns = "|".join(sorted(self._words.words, key=len, reverse=True))
        word = r"[^\W\d_]+(?:['-][^\W\d_]+)*"
        separator = ", and |, or |, | and | or |/"
        match = re.search(
            rf"(?:\b(?:the|these|those|following) (?:{nouns}):?|\b(?:{nouns}):)"
            rf" (?P<list>{word}(?:(?:{separator}){word})*)"
            r"(?=$| (?:is|are|must|may|should|shall|can|cannot|can't|will|has|have|never|do)\b)",
            body,
            re.IGNORECASE,
        )
        if match is None:
            return body, self._quoted
        separators = re.findall(separator, match["list"])
        listed = re.split(separator, match["list"])
        has_colon = match[0][: match.start("list") - match.start()].rstrip().endswith(":")
        is_open = (
            not has_colon and separators and separators[-1] == ", "
        )  # "the word home, usually" must not ban "usually"
        if is_open or any(one.lower() in self._words.not_listed or one.lower() in self._words.ban for one in listed):
            return body, self._quoted
        if separators and not match[0][: match.start("list") - match.start()].rstrip(": ").endswith("s"):
            return body, self._quoted  # "the word home and ..." is one word and something else
        quoted = [*self._quoted, *listed]
        places = " ".join(chr(FIRST_PLACEHOLDER + len(self._quoted) + n) for n in range(len(listed)))
        return f"{body[: match.start('list')]}{places}{body[match.end('list') :]}", quoted

    def _is_ban(self, before: str, after: str, *, banned: bool = False) -> bool:
        """Whether the words around what is banned are one ban and neutral words."""
        if _PARTIAL_BAN.search(f"{before} {after}".lower()):
            return False
        first, last = split_tokens(before), split_tokens(after)
        bans = [token for token in (*first, *last) if token in self._words.ban]
        is_neutral = all(
            token in allowed or token in self._words.ban or token in ",:-–—."
            for tokens, allowed in ((first, self._words.neutral), (last, self._words.after))
            for token in tokens
        )
        return is_neutral and len(bans) == (0 if banned else 1)

    def _split_names(self, text: str, one: str) -> tuple[str, ...]:
        found: list[str] = []
        for match in re.finditer(one, text):
            name = re.sub(r"'s?$", "", read_item(match[0], self._quoted)[0])
            known = any(name == other for other in self._names)
            is_longer = any(name.startswith(f"{other} ") for other in self._names)
            if not known and match[0][0] < "\ue000" and (is_longer or _CONDITION_WORDS.search(name) or name == "I"):
                return ()
            found.append(name)
        return keep_longest_names(found)


def _to_digits(match: re.Match[str]) -> str:
    return str(parse_numeral(match[0]))
