"""Conditions of rules: in which chapters, and whether in narration or in dialogue (con-4).

A condition stands at the beginning or at the end of a rule, or right before its verb. It refers to a chapter by the
number that a reader gives to it. Where the book has several chapters of that number, or no such part, the condition
cannot be decided, and the rule is left to the model.

A rule that only a reader can check is in force in the chapters that it begins with: "Before chapter 36, nobody knows
whose son he is". A condition further on may belong to a part of the rule ("remember what happened before chapter 5"),
and so may one in front of a fact or of two times ("before chapter 5 she lost an arm", "… later she is free"); such a
rule is in force everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from fabula.constraints.model import ChapterLimits
from fabula.core.messages import Sentence, message
from fabula.core.story import Division, DivisionUnit, Timeline, name_divisions
from fabula.text.numerals import CHINESE_NUMBER, ENGLISH_NUMBER, ENGLISH_ORDINAL, parse_numeral


class RuleCondition(Struct, frozen=True, kw_only=True):
    """The chapters and the kind of text in which a rule holds."""

    from_number: int | None = None
    before_number: int | None = None
    division: DivisionUnit = "chapter"
    within: Division | None = None
    narration_only: bool = False
    dialogue_only: bool = False


_UNITS: dict[str, DivisionUnit] = {
    **{unit: unit for unit in ("book", "volume", "part", "act", "chapter", "scene")},
    **dict.fromkeys("章回话話", "chapter"),
    **dict.fromkeys("卷册冊集", "volume"),
    **dict.fromkeys("节節", "scene"),
    "部": "part",
    "幕": "act",
}
_UNIT = "(?:chapter|part|book|volume|act|scene)"
_REFERENCE = (
    rf"(?:(?:{_UNIT} {ENGLISH_NUMBER},? )?{_UNIT} {ENGLISH_NUMBER}(?: (?:of|in) {_UNIT} {ENGLISH_NUMBER})?"
    rf"|the {ENGLISH_ORDINAL} {_UNIT})"
)
_REFERENCE_PARTS = re.compile(rf"({_UNIT}) ({ENGLISH_NUMBER})|({ENGLISH_ORDINAL}) ({_UNIT})", re.IGNORECASE)
_UNIT_ZH = "[章回话話卷册冊集节節部幕]"
_REFERENCE_ZH = rf"第 ?{CHINESE_NUMBER} ?{_UNIT_ZH}(?:的?第 ?{CHINESE_NUMBER} ?{_UNIT_ZH})?"
_REFERENCE_PARTS_ZH = re.compile(rf"第 ?({CHINESE_NUMBER}) ?({_UNIT_ZH})")
_START = r"(?:the )?(?:start|beginning|opening) of "
_END = r"(?:the )?(?:end|close) of "

# Each pattern with what its first and second reference mean: a limit and what is added to the number.
_ENGLISH: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = (
    (
        rf"(?:from|between|in|within|during|for) (?P<a>{_REFERENCE}|(?:chapters?|parts?|books?|volumes?|acts?|scenes?) "
        rf"{ENGLISH_NUMBER}) ?(?:to|through|and|until|up to|[-–—]) ?(?P<b>{_REFERENCE}|{ENGLISH_NUMBER})",
        (("from", 0), ("before", 1)),
    ),
    (
        rf"(?:in|during|for|within|throughout|inside) the (?:first|opening) (?:(?P<n>{ENGLISH_NUMBER}) )?"
        rf"(?P<u>{_UNIT})s?",
        (("before", 1),),
    ),
    (
        rf"(?:until|till|before|up to|through) {_END}(?P<a>{_REFERENCE})"
        rf"|(?:up to and including|through) (?P<a2>{_REFERENCE})",
        (("before", 1),),
    ),
    (
        rf"(?:not )?(?:until|till|before|prior to|up to|ahead of|earlier than) (?:{_START})?(?P<a>{_REFERENCE})"
        r"(?: (?:begins|starts|opens))?",
        (("before", 0),),
    ),
    (rf"(?:after|past|beyond|following|later than|from) {_END}(?P<a>{_REFERENCE})(?: on(?:wards?)?)?", (("from", 1),)),
    (rf"(?:after|past|beyond|following|later than) (?P<a>{_REFERENCE})(?: (?:ends|is over))?", (("from", 1),)),
    (
        rf"(?:from|(?:starting|beginning) (?:with|from|in|at)|as of|since) (?:{_START})?(?P<a>{_REFERENCE})"
        r"(?: (?:on(?:wards?)?|forwards?))?",
        (("from", 0),),
    ),
    (rf"(?:in|within|during|inside|throughout) (?P<a>{_REFERENCE})", (("from", 0), ("before", 1))),
)
_CHINESE: tuple[tuple[str, tuple[tuple[str, int], ...]], ...] = (
    (
        rf"(?:在|从|自)?(?P<a>{_REFERENCE_ZH})(?:到|至|直到|—|-|~)(?P<b>{_REFERENCE_ZH}|{CHINESE_NUMBER} ?{_UNIT_ZH})"
        r"(?:之间|期间|里|中|内|为止)?",
        (("from", 0), ("before", 1)),
    ),
    (
        rf"(?:在|全书|本书|小说)?(?:的)?(?:前|头|开头|开篇|最初|起初)(?P<n>{CHINESE_NUMBER})个?(?P<u>{_UNIT_ZH})(?:之内|以内|当中|里面?|中|内)?",
        (("before", 1),),
    ),
    (rf"(?:在|直到|到|直至)?(?P<a>{_REFERENCE_ZH})(?:结束|完结|写完)(?:之前|以前|前|为止)", (("before", 1),)),
    (
        rf"(?:在|直到|到|直至)?(?P<a>{_REFERENCE_ZH})(?:开始|开头|到来|开篇)?(?:之前|以前|前)|(?:直到|直至|到)(?P<a2>{_REFERENCE_ZH})(?:为止)?",
        (("before", 0),),
    ),
    (rf"(?:从|自|打)?(?P<a>{_REFERENCE_ZH})(?:及以后|及之后|起|开始|以来|往后)(?:的章节)?", (("from", 0),)),
    (rf"(?:在|从|自)?(?P<a>{_REFERENCE_ZH})(?:结束)?(?:之后|以后|后)(?:的章节)?", (("from", 1),)),
    (rf"(?:在)?(?P<a>{_REFERENCE_ZH})(?:之内|以内|当中|里面?|中|内)", (("from", 0), ("before", 1))),
)
_TEXTS = r"(?:dialogues?|speech|conversations?|quotation marks|quotes)"
_SCOPES: tuple[tuple[str, str, str], ...] = (
    (
        rf"(?:except(?: for)?|unless|other than|but not|save) (?:in|inside|within) (?:the )?{_TEXTS}"
        rf"|outside(?: of)? (?:the )?{_TEXTS}|(?:in|within) (?:the )?(?:narration|narrative)(?: only| alone)?",
        r"(?:在)?(?:叙述|叙事|旁白)(?:部分|文字)?(?:之中|里面?|中|内|上)(?:的)?|(?:在)?对[话白](?:之外|以外|外)(?:的)?",
        "narration_only",
    ),
    (
        rf"(?:in|inside|within) (?:the )?(?:spoken )?{_TEXTS}(?: only| alone)?",
        r"(?:在)?(?:人物)?(?:对[话白]|台词)(?:部分)?(?:之中|里面?|中|内)(?:的)?",
        "dialogue_only",
    ),
)

# Where a condition may stand besides the ends: right before the verb of the rule.
_VERB_AHEAD = (
    r"(?=,? (?:is|are|must|may|should|shall|can|cannot|can['’]t|will|do|does|has|have|never)\b"
    r"|[，,]?(?:一律|都|绝对|绝|均)?(?:不|禁|严禁|避免|勿|切勿|别|莫))"
)


# What a rule says of its own time, and what leads to another one or tells of what happened.
_RULE = re.compile(
    r"\b(?:not|never|no|nobody|none|nothing|nowhere|neither|without|must|may|should|shall|can|cannot|is|are|only|avoid|"
    r"keep|leave|let|use|call|write|refer|hint|stick)\b|n['’]t\b|[不没別别勿莫禁避须須]|必|只|应|應|可以|都|一律|保持",
    re.IGNORECASE,
)
_OTHER_TIME = re.compile(
    rf"[.;:!?。；：！？]|\b(?:after(?:wards?)?|then|thereafter|later|subsequently|eventually|finally|onwards?|once|since|"
    rf"from|until|till|also|too|anyway|was|were|had|did|{_UNIT}s?)\b|\bdidn['’]t|\bwasn['’]t|\bweren['’]t|\bhadn['’]t|"
    rf"之后|以后|此后|后来|後|然后|直到|直至|起|才|再|了|过|過|曾|已|^也|第 ?{CHINESE_NUMBER} ?{_UNIT_ZH}",
    re.IGNORECASE,
)


class _Form(Struct, frozen=True):
    """A compiled form of a condition."""

    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], RuleCondition | None]


def split_condition(rule: str) -> tuple[str, RuleCondition] | None:
    """Take the understood conditions off a rule; None where they contradict each other."""
    condition = RuleCondition()
    for _ in range(4):
        found = _find_condition(rule)
        if found is None:
            return rule, condition
        rest, one = found
        merged = _merge(condition, one)
        if merged is None:
            return None
        rule, condition = rest, merged
    return None


def read_opening(rule: str) -> ChapterLimits | None:
    """Read the chapters that a rule begins with; None where it names none, or may hold in others too."""
    plain = " ".join(rule.split()).rstrip(" .。!！")
    for form in _load_forms():
        match = form.pattern.match(plain)
        condition = None if match is None else form.read(match)
        if match is None or condition is None or (condition.from_number, condition.before_number) == (None, None):
            continue
        behind = plain[match.end() :]
        rest = behind.lstrip(" ,，:：、")
        found = _RULE.search(rest)
        is_attribute = behind[:1] == rest[:1] and "的" in rest[: found.start() if found else None]  # 第五章之前发生的事
        holds_later = condition.before_number is None
        if not rest or is_attribute or _OTHER_TIME.search(rest) or not (holds_later or found):
            return None
        return ChapterLimits(
            from_number=condition.from_number,
            before_number=condition.before_number,
            division=condition.division,
            within=condition.within,
        )
    return None


def _find_condition(rule: str) -> tuple[str, RuleCondition] | None:
    """The first condition at one of the places where one may stand, and the rule without it."""
    for form in _load_forms():
        for match in form.pattern.finditer(rule):
            before, after = rule[: match.start()], rule[match.end() :]
            at_end = not before.strip(" ,，;；") or not after.strip(" ,，;；")
            if at_end or re.match(_VERB_AHEAD, after):
                condition = form.read(match)
                if condition is not None:
                    return f"{before.rstrip(' ,，;；')} {after.lstrip(' ,，;；')}".strip(), condition
    return None


@lru_cache(maxsize=1)
def _load_forms() -> tuple[_Form, ...]:
    forms = [
        _Form(re.compile(rf"(?<![^\W_])(?:{pattern})(?![^\W_])", re.IGNORECASE), _range_reader(limits))
        for pattern, limits in _ENGLISH
    ]
    forms += [_Form(re.compile(pattern), _range_reader(limits)) for pattern, limits in _CHINESE]
    for english, chinese, name in _SCOPES:
        forms.append(_Form(re.compile(rf"(?<![^\W_])(?:{english})(?![^\W_])", re.IGNORECASE), _scope_reader(name)))
        forms.append(_Form(re.compile(chinese), _scope_reader(name)))
    return tuple(forms)


def _scope_reader(name: str) -> Callable[[re.Match[str]], RuleCondition]:
    condition = RuleCondition(narration_only=name == "narration_only", dialogue_only=name == "dialogue_only")
    return lambda match: condition


def _range_reader(limits: tuple[tuple[str, int], ...]) -> Callable[[re.Match[str]], RuleCondition | None]:
    """A function that makes the condition of a match, by what its references mean."""

    def read(match: re.Match[str]) -> RuleCondition | None:
        groups = match.groupdict()
        if "u" in groups:
            number = 1 if groups["n"] is None else parse_numeral(groups["n"])
            unit = _UNITS[groups["u"].lower()]
            return None if not number else RuleCondition(before_number=number + 1, division=unit)
        first = _read_reference(groups["a"] or groups.get("a2") or "")
        if first is None:
            return None
        unit, number, within = first
        second = _read_second(groups["b"], first) if groups.get("b") else number
        if second is None or (unit, number) == within:
            return None
        numbers = (
            dict(zip(("from", "before"), (number, second), strict=True)) if len(limits) == 2 else {limits[0][0]: number}
        )
        values = {name: numbers[name] + added for name, added in limits}
        return RuleCondition(
            from_number=values.get("from"), before_number=values.get("before"), division=unit, within=within
        )

    return read


def _read_reference(text: str) -> tuple[DivisionUnit, int, Division | None] | None:
    """Read `part 2, chapter 3`, `chapter 3 of part 2`, `the third chapter` or 第二卷第三章."""
    text = re.sub(rf"\b({_UNIT})s\b", r"\1", text, flags=re.IGNORECASE)
    pairs: list[Division] = []
    for unit, number, ordinal, ordered in _REFERENCE_PARTS.findall(text):
        pairs.append((_UNITS[(unit or ordered).lower()], parse_numeral(number or ordinal) or 0))
    pairs += [(_UNITS[unit], parse_numeral(number) or 0) for number, unit in _REFERENCE_PARTS_ZH.findall(text)]
    if not pairs or len(pairs) > 2 or any(not number for _, number in pairs):
        return None
    if len(pairs) == 1:
        return (*pairs[0], None)
    outer, inner = pairs if pairs[1][0] in ("chapter", "scene") and pairs[0][0] != "scene" else reversed(pairs)
    return None if outer[0] == inner[0] else (*inner, outer)


def _read_second(text: str, first: tuple[DivisionUnit, int, Division | None]) -> int | None:
    """The number of the second reference of a range, which must be of the same kind and not before the first."""
    number = parse_numeral(text.rstrip("章回话話卷册冊集节節部幕 "))
    second = (first[0], number, first[2]) if number is not None else _read_reference(text)
    if second is None or second[0] != first[0] or second[2] not in (None, first[2]):
        return None
    return second[1] if second[1] is not None and second[1] >= first[1] else None


def _merge(one: RuleCondition, other: RuleCondition) -> RuleCondition | None:
    """Both conditions together; None where they say the same thing twice or cannot be combined."""
    for name in ("from_number", "before_number"):
        if getattr(one, name) is not None and getattr(other, name) is not None:
            return None
    has_range, others_range = (
        condition.from_number is not None or condition.before_number is not None for condition in (one, other)
    )
    if has_range and others_range and (one.division, one.within) != (other.division, other.within):
        return None
    scopes = (one.narration_only, one.dialogue_only, other.narration_only, other.dialogue_only)
    if sum(scopes) > 1:
        return None
    limits = other if others_range else one
    return RuleCondition(
        from_number=one.from_number if one.from_number is not None else other.from_number,
        before_number=one.before_number if one.before_number is not None else other.before_number,
        division=limits.division,
        within=limits.within,
        narration_only=one.narration_only or other.narration_only,
        dialogue_only=one.dialogue_only or other.dialogue_only,
    )


class StoryRange(Struct, frozen=True):
    """The documents in which a check holds, by index in reading order, or why nobody can tell."""

    first: int = 0
    end: int = 0
    problem: Sentence | None = None


@lru_cache(maxsize=1024)
def find_story_range(limits: ChapterLimits, timeline: Timeline) -> StoryRange:
    """Find the documents in which a check holds."""
    first, end = 0, len(timeline.entries)
    if limits.from_number is not None:
        reached = _find_division(limits, limits.from_number, timeline)
        if isinstance(reached, Sentence):
            return StoryRange(problem=reached)
        first = reached
    elif limits.within is not None:
        reached = _find_division(limits, 1, timeline)
        if isinstance(reached, Sentence):
            return StoryRange(problem=reached)
    if limits.before_number is not None:
        reached = _find_division(limits, limits.before_number, timeline)
        if isinstance(reached, Sentence):
            return StoryRange(problem=reached)
        end = reached
    return StoryRange(first, end)


def name_story_range(limits: ChapterLimits, timeline: Timeline) -> Sentence | None:
    """The chapters in which a check holds now, with their titles; None where it holds in all or nobody can tell.

    A rule keeps the number that its words give, so its chapter is another one when chapters are added before it.
    """
    story_range = find_story_range(limits, timeline)
    if story_range.problem is not None or not has_chapter_limits(limits):
        return None
    first = _name_division(limits, limits.from_number, story_range.first, timeline)
    end = _name_division(limits, limits.before_number, story_range.end, timeline)
    if limits.before_number is None:
        return message("from {first} on", first=first)
    if limits.from_number is None:
        return message("before {end}", end=end)
    return message("from {first} on, before {end}", first=first, end=end)


def _name_division(limits: ChapterLimits, number: int | None, index: int, timeline: Timeline) -> Sentence:
    """A division with the title of the document with which it begins."""
    own = name_divisions([*([limits.within] if limits.within is not None else []), (limits.division, number or 0)])
    if index >= len(timeline.entries):
        return message("{chapter}, which is not written yet", chapter=own)
    title = timeline.entries[index].title
    return message("{chapter} (now “{title}”)", chapter=own, title=title) if title else own


def has_chapter_limits(limits: ChapterLimits) -> bool:
    """Whether a check holds only in some chapters."""
    return limits.from_number is not None or limits.before_number is not None


def _find_division(limits: ChapterLimits, number: int, timeline: Timeline) -> int | Sentence:
    """The index of the first document in that division or behind it."""
    numbers: list[int | None] = []  # of each document; None where it is in none
    was_within = False
    for divisions in timeline.divisions:
        is_within = limits.within is None or limits.within in divisions
        was_within = was_within or is_within
        own = dict(divisions).get(limits.division)
        if limits.within is not None and not is_within:
            own = 1 << 30 if was_within else None  # behind the part, every chapter of it is reached
        numbers.append(own)
    if limits.within is not None and not was_within:
        return message("the book has no {name}", name=name_divisions([limits.within]))
    if limits.division != "chapter" and not any(own is not None for own in numbers):
        return message("the book has no {name}", name=name_divisions([(limits.division, number)]))
    for wanted in (number, number - 1):
        reached = [own >= wanted for own in numbers if own is not None]
        if reached != sorted(reached):
            return message(
                "the book has more than one {name}: write its part or volume too",
                name=name_divisions([(limits.division, wanted)]),
            )
    in_order = [own for own in numbers if own is not None]
    if sum(own == number != before for before, own in pairwise([0, *in_order])) > 1:
        return message(
            "the book has more than one {name}: write its part or volume too",
            name=name_divisions([(limits.division, number)]),
        )
    found = (index for index, own in enumerate(numbers) if own is not None and own >= number)
    return next(found, len(numbers))
