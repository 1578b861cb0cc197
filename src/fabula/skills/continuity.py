"""Continuity checks by program: flags dialogue by dead characters and names that are not in the codex.

These checks go beyond the constraints. They compare a text with what the codex says at this position of the story, from
the author's perspective: a death after the cursor has not happened yet.

Whether an entry says that its character is dead is decided by plain statements about that character: "Ben died", "she
was killed", "Drowned in the storm". The death of somebody else ("his mother died"), one that is feared, dreamt or only
believed, and one in the future do not count. The last statement wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from fabula.codex import Codex, Entry
from fabula.core.messages import Message, message
from fabula.core.story import Position, Timeline
from fabula.core.view import Language, View
from fabula.skills.model import JudgeFinding
from fabula.text.names.unknown import find_unknown_names

_SPEECH_EN = (
    r"says?|said|asks?|asked|answers?|answered|replie[sd]|whispers?|whispered|shouts?|shouted|cries|cried|murmurs?|"
    r"murmured|calls?|called|adds?|added|begins?|began|mutters?|muttered|laughs?|laughed"
)
_SPEECH_ZH = (
    r"(?:低声|轻声|高声|大声|冷冷地|笑着|忽然|又|便|也|接着)?"
    r"(?:说道|问道|答道|喊道|叫道|笑道|说(?![服法明])|道(?![理路德具歉士观教家别])|问(?![题候世号])|答(?![案卷])|喊)"
)

_CLAUSE_ENDS: dict[Language, re.Pattern[str]] = {
    "en": re.compile(r"[.!?;\n]+"),
    "zh": re.compile(r"[。！？；，、,.!?;\n]+"),
}

_DOUBT: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:believ\w*|thought|thinks?|presum\w*|suppos\w*|pretend\w*|feign\w*|faked?|rumou?r\w*|said to|dream\w*|"
        r"fears?|feared|if|unless|as though|would|will|shall|may|might|could|wish\w*|hopes?|nearly|almost|not|never|"
        r"nobody|no one)\b|n['’]t\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        r"以为|据说|传说|谎称|假装|诈死|如果|要是|倘若|假如|若是|梦见|梦到|险些|差点|几乎|没|未|不|怕|将会|会"
    ),
}
_ALIVE: dict[Language, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:alive|survived?|came back|returned from the dead|was not dead|had not died)\b", re.IGNORECASE
    ),
    "zh": re.compile(r"还活着|没有死|没死|并未死|未死|生还|复活"),
}

_ADVERBS_EN = r"(?:(?:has|had|have|later|then|finally|long|now|already|also|eventually|soon|once|since|both)\s+)*"
_DEAD_EN = (
    r"killed|murdered|hanged|drowned|executed|beheaded|slain|shot dead|dead(?!\s+(?:tired|set|sure|certain|calm))"
)
_CIRCUMSTANCE_EN = r"(?=\s*(?:$|[,:)—–-]|(?:in|at|off|on|during|when|while|with|near|that|last|there)\b))"
_PRONOUNS_ZH = r"他|她|它|其"
_RELATIVES_ZH = "的父母妻夫儿女兄弟姐妹叔伯爷奶师友狗马人主王帝君敌们"
_OPENING_ZH = (
    r"(?:后来|最后|最终|终于|不久|随后|此后|已经|早已|已|早|于是)*(?:(?:在|于|因|被|当|那)[^{relatives}]{{0,10}})?"
)
_DEAD_ZH = r"死了|已死|死去|死于|去世|身亡|病逝|病死|被杀(?!手)|遇害|自尽|战死|溺亡|淹死|咽气|逝世|丧生|死亡|亡故"


def find_continuity_problems(
    text: str, view: View, position: Position | None, known_text: str = ""
) -> list[JudgeFinding]:
    """Find possible contradictions in a text for a position; names that occur in `known_text` are not flagged."""
    codex = view.snapshot(Codex)
    if codex is None or not text.strip():
        return []
    language = view.project.language
    findings = [
        *_find_dead_speakers(text, codex, view.timeline, position, language),
        *_find_unknown_names(text, codex, language, known_text),
    ]
    return sorted(findings, key=lambda finding: (finding.start or 0, finding.is_hint))


def is_dead_at(entry: Entry, timeline: Timeline, position: Position | None, language: Language) -> bool:
    """Whether an entry says that its character is dead at this position; the last statement wins."""
    dead = states_death(entry.description, entry.names, language, was_dead=False, is_narration=False)
    for progression in entry.progressions:
        if position is None or timeline.has_reached(progression.since, position):
            dead = states_death(progression.text, entry.names, language, was_dead=dead)
    status = next((value for key, value in entry.details.items() if key.lower() in ("status", "状态")), "")
    return states_death(status, entry.names, language, was_dead=dead)


def states_death(
    text: str, names: Iterable[str], language: Language, *, was_dead: bool, is_narration: bool = True
) -> bool:
    """Whether a person is dead after a text about them; the present tense counts only if the text is narration."""
    dead, pattern = was_dead, _death_pattern(tuple(names), language, is_narration)
    for clause in _CLAUSE_ENDS[language].split(text):
        if pattern.search(clause) and not _DOUBT[language].search(clause):
            dead = True
        elif _ALIVE[language].search(clause):
            dead = False
    return dead


def _find_dead_speakers(
    text: str, codex: Codex, timeline: Timeline, position: Position | None, language: Language
) -> Iterator[JudgeFinding]:
    verb_after = re.compile(_SPEECH_ZH if language == "zh" else rf"\s+(?:{_SPEECH_EN})\b")
    verb_before = re.compile(rf"\b(?:{_SPEECH_EN})\s+$") if language == "en" else None
    for hit in codex.name_matcher.find(text):
        entry = codex.by_id[hit.owner]
        if entry.type != "character":
            continue
        speaks = verb_after.match(text, hit.end) is not None or (
            verb_before is not None and verb_before.search(text, max(0, hit.start - 20), hit.start) is not None
        )
        if speaks and is_dead_at(entry, timeline, position, language):
            sentence = message("{name} speaks here, but is dead at this point of the story.", name=entry.name)
            yield _make_finding(sentence, hit.start, hit.end, text, language)


def _find_unknown_names(text: str, codex: Codex, language: Language, known_text: str) -> Iterator[JudgeFinding]:
    mentions = [(hit.start, hit.end) for hit in codex.name_matcher.find(text)]
    for start, end in find_unknown_names(text, language, mentions, known_text):
        sentence = message("The codex has no entry named “{name}”.", name=text[start:end])
        yield _make_finding(sentence, start, end, text, language, is_hint=True)


def _make_finding(
    sentence: Message, start: int, end: int, text: str, language: Language, *, is_hint: bool = False
) -> JudgeFinding:
    return JudgeFinding(
        rule_id="continuity",
        start=start,
        end=end,
        quote=text[start:end],
        reason=sentence.render(language),
        checked_by="program",
        is_hint=is_hint,
    )


@lru_cache(maxsize=512)
def _death_pattern(names: tuple[str, ...], language: Language, is_narration: bool) -> re.Pattern[str]:
    """The pattern of a clause that says that a person of these names is dead."""
    name = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name.strip()) or r"(?!)"
    if language == "zh":
        relatives, opening = _RELATIVES_ZH, _OPENING_ZH.format(relatives=_RELATIVES_ZH)
        return re.compile(
            rf"^(?:\s*{opening}|[^{relatives}]{{0,20}}?(?:{name}|{_PRONOUNS_ZH})[^{relatives}]{{0,10}}?)(?:{_DEAD_ZH})"
        )
    person = rf"(?:^\W*|\b(?:{name}|he|she|they)\b,?\s+|^\W*(?:an?|the)\s+(?:(?!of\b)[\w-]+\s+){{1,4}}who\s+)"
    dies = rf"died\b|perished\b|drowned\b{_CIRCUMSTANCE_EN}"
    if is_narration:
        dies += rf"|dies\b|perishes\b|drowns\b{_CIRCUMSTANCE_EN}"
    is_dead = rf"(?:is|was|were|are|been|lies|lay|gets|got)\s+{_ADVERBS_EN}(?:found\s+)?(?:{_DEAD_EN})\b"
    return re.compile(rf"{person}{_ADVERBS_EN}(?:{dies}|{is_dead})|^\W*(?:found\s+)?(?:{_DEAD_EN})\b", re.IGNORECASE)
