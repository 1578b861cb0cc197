"""Stem English words, irregular forms included.

A stem is for comparing, not for reading: `hiking`, `hiked` and `hike` have one stem, and so have `went` and `go`.
The rules are few and look at the letters alone; a wrong stem is wrong in the same way everywhere. Snowball was tried
in its place and found less of the evidence (docs/architecture.md).
"""

from __future__ import annotations

_VOWELS = frozenset("aeiouy")
_MIN_STEM = 5  # letters that must remain where a whole ending such as -ation is removed
_ENDINGS = (
    *("ization", "isation", "fulness", "ousness", "iveness", "ational", "ation", "ition", "ement", "ment"),
    *("ness", "ity", "iti", "able", "ible", "ance", "ence", "ship", "hood", "ful", "less", "ous", "ive", "ion"),
    *("al", "er", "or", "ist", "ic", "ant", "ent", "en", "at"),
)
_IRREGULAR = """
go goes going went gone; see saw seen; take took taken; give gave given; make made; get got gotten; buy bought;
bring brought; think thought; teach taught; catch caught; fight fought; seek sought; tell told; say said;
know knew known;
grow grew grown; throw threw thrown; fly flew flown; draw drew drawn; blow blew blown; show shown; come came;
become became; run ran; begin began begun; drink drank drunk; sing sang sung; swim swam swum; ring rang rung;
sink sank sunk; speak spoke spoken; break broke broken; steal stole stolen; choose chose chosen;
freeze froze frozen; wake woke woken; drive drove driven; ride rode ridden; write wrote written; rise rose risen;
eat ate eaten; fall fell fallen; feel felt; keep kept; sleep slept; leave left; meet met; lose lost; find found;
hold held; stand stood; understand understood; sit sat; win won; build built; send sent; spend spent; lend lent;
bend bent; hear heard; sell sold; pay paid; lead led; feed fed; bleed bled; hide hid hidden; bite bit bitten;
wear wore worn; tear tore torn; bear bore born borne; swear swore sworn; forget forgot forgotten;
forgive forgave forgiven; shake shook shaken; shoot shot; dig dug; hang hung; stick stuck; strike struck;
swing swung; spin spun; cling clung; mean meant; dream dreamt; burn burnt; learn learnt; spell spelt; shine shone;
weave wove woven; tread trod; bind bound; grind ground; creep crept; weep wept; sweep swept; slay slew slain;
arise arose; awake awoke; flee fled; light lit; lay laid; forbid forbade forbidden; kneel knelt; leap leapt;
child children; man men; woman women; foot feet; tooth teeth; mouse mice; goose geese; wife wives; life lives;
knife knives; wolf wolves; leaf leaves; thief thieves; half halves; shelf shelves; loaf loaves; calf calves;
elf elves; person people; die dying died dead death
"""
_BASE_FORMS = {
    form: line.split()[0] for line in _IRREGULAR.replace("\n", " ").split(";") for form in line.split() if line.strip()
}


def stem(word: str) -> str:
    """The stem of a word in lower case."""
    bare = word.replace("’", "'").removesuffix("'s").replace("'", "")
    short = _strip_inflection(_BASE_FORMS.get(bare, bare))
    for ending in _ENDINGS:
        if short.endswith(ending) and len(short) - len(ending) >= _MIN_STEM:
            short = short[: -len(ending)]
            return short[:-1] if short[-1] == "e" else short
    return short


def _strip_inflection(word: str) -> str:
    """A word without the endings of number, person and tense."""
    if len(word) <= 3:
        return word
    word = _strip_plural(word)
    if word.endswith("ied") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("ed") and not word.endswith("eed") and len(word) > 4 and _has_vowel(word[:-2]):
        word = _undouble(word[:-2])
    elif word.endswith("ing") and len(word) > 5 and _has_vowel(word[:-3]):
        word = _undouble(word[:-3])
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    if len(word) > 3 and word[-1] == "e":
        word = word[:-1]
    if len(word) > 3 and word[-1] == "y":
        word = word[:-1] + "i"
    return word


def _strip_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _has_vowel(stem: str) -> bool:
    return any(letter in _VOWELS for letter in stem)


def _undouble(stem: str) -> str:
    """`stopp` is `stop`, but `fall` stays."""
    return stem[:-1] if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "lsz" else stem
