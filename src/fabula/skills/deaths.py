"""Deaths: does what an entry says of somebody say that they are dead?

Only plain words count, and only those about the person: "Ben died", "she was killed", "Drowned in the storm". A
mother who died, a death that is feared, dreamt of or merely believed in, and one that lies ahead say nothing. What
is said last counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from fabula.core.view import Language

_PARTS: dict[Language, re.Pattern[str]] = {"en": re.compile(r"[.!?;\n]+"), "zh": re.compile(r"[。！？；，、,.!?;\n]+")}

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

_BETWEEN_EN = r"(?:(?:has|had|have|later|then|finally|long|now|already|also|eventually|soon|once|since|both)\s+)*"
_WAY_EN = r"killed|murdered|hanged|drowned|executed|beheaded|slain|shot dead|dead(?!\s+(?:tired|set|sure|certain|calm))"
_HOW_EN = r"(?=\s*(?:$|[,:)—–-]|(?:in|at|off|on|during|when|while|with|near|that|last|there)\b))"
_WHO_ZH = r"他|她|它|其"
_OTHERS_ZH = "的父母妻夫儿女兄弟姐妹叔伯爷奶师友狗马人主王帝君敌们"
_BEGINS_ZH = (
    r"(?:后来|最后|最终|终于|不久|随后|此后|已经|早已|已|早|于是)*(?:(?:在|于|因|被|当|那)[^{others}]{{0,10}})?"
)
_WAY_ZH = r"死了|已死|死去|死于|去世|身亡|病逝|病死|被杀(?!手)|遇害|自尽|战死|溺亡|淹死|咽气|逝世|丧生|死亡|亡故"


def says_dead(said: str, names: Iterable[str], language: Language, *, before: bool, tells: bool = True) -> bool:
    """Does a text leave its person dead, who was or was not `before`? `tells` where it tells what happens."""
    dead, death = before, _death(tuple(names), language, tells)
    for part in _PARTS[language].split(said):
        if death.search(part) and not _DOUBT[language].search(part):
            dead = True
        elif _ALIVE[language].search(part):
            dead = False
    return dead


@lru_cache(maxsize=512)
def _death(names: tuple[str, ...], language: Language, tells: bool) -> re.Pattern[str]:
    """The ways to say of somebody of these names that they are dead."""
    called = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name.strip()) or r"(?!)"
    if language == "zh":
        others, begins = _OTHERS_ZH, _BEGINS_ZH.format(others=_OTHERS_ZH)
        return re.compile(
            rf"^(?:\s*{begins}|[^{others}]{{0,20}}?(?:{called}|{_WHO_ZH})[^{others}]{{0,10}}?)(?:{_WAY_ZH})"
        )
    who = rf"(?:^\W*|\b(?:{called}|he|she|they)\b,?\s+|^\W*(?:an?|the)\s+(?:(?!of\b)[\w-]+\s+){{1,4}}who\s+)"
    does = rf"died\b|perished\b|drowned\b{_HOW_EN}" + (rf"|dies\b|perishes\b|drowns\b{_HOW_EN}" if tells else "")
    is_so = rf"(?:is|was|were|are|been|lies|lay|gets|got)\s+{_BETWEEN_EN}(?:found\s+)?(?:{_WAY_EN})\b"
    return re.compile(rf"{who}{_BETWEEN_EN}(?:{does}|{is_so})|^\W*(?:found\s+)?(?:{_WAY_EN})\b", re.IGNORECASE)
