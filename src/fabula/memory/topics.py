"""Topics: what a preference is about, and which way it goes, where a program can tell.

A topic is written `subject=direction`: `mark:!=less`, `sentence=more`, `person=first`, `word:suddenly=less`.
Two preferences with one topic mean the same, and two with one subject and different directions contradict
each other, in whichever words and language. A saying that holds only sometimes ("short sentences in
action scenes"), or speaks of several things, has no topic: it is left to the model to understand.
"""

from __future__ import annotations

import re
from functools import lru_cache

from fabula.core.view import Language

LESS, MORE = "less", "more"
MARKS = {"!": "!！", "—": "—", ";": ";；", "…": "…"}  # a mark, and all the characters it is written with

_SAYS: dict[str, dict[Language, str]] = {
    "mark:!=less": {"en": "Avoid exclamation marks.", "zh": "不要使用感叹号。"},
    "mark:!=more": {"en": "Use exclamation marks more freely.", "zh": "可以多用感叹号。"},
    "mark:—=less": {"en": "Avoid dashes.", "zh": "不要使用破折号。"},
    "mark:—=more": {"en": "Use dashes more freely.", "zh": "可以多用破折号。"},
    "mark:;=less": {"en": "Avoid semicolons.", "zh": "不要使用分号。"},
    "mark:;=more": {"en": "Use semicolons more freely.", "zh": "可以多用分号。"},
    "mark:…=less": {"en": "Avoid ellipses.", "zh": "不要使用省略号。"},
    "mark:…=more": {"en": "Use ellipses more freely.", "zh": "可以多用省略号。"},
    "sentence=less": {"en": "Prefers short sentences.", "zh": "偏好短句。"},
    "sentence=more": {"en": "Prefers long sentences.", "zh": "偏好长句。"},
    "paragraph=less": {"en": "Prefers short paragraphs.", "zh": "偏好短段落。"},
    "paragraph=more": {"en": "Prefers long paragraphs.", "zh": "偏好长段落。"},
    "dialogue=less": {"en": "Prefers less dialogue.", "zh": "少写对话。"},
    "dialogue=more": {"en": "Prefers more dialogue.", "zh": "多写对话。"},
    "adverb=less": {"en": "Avoid adverbs.", "zh": "少用副词。"},
    "simile=less": {"en": "Avoid similes.", "zh": "少用比喻。"},
    "person=first": {"en": "Write in the first person.", "zh": "用第一人称叙述。"},
    "person=third": {"en": "Write in the third person.", "zh": "用第三人称叙述。"},
    "tense=past": {"en": "Write in the past tense.", "zh": "用过去时叙述。"},
    "tense=present": {"en": "Write in the present tense.", "zh": "用现在时叙述。"},
}
_WORD: dict[Language, str] = {"en": "Avoid the word “{word}”.", "zh": "不要使用“{word}”一词。"}
_PHRASE: dict[Language, str] = {"en": "Avoid the phrase “{word}”.", "zh": "不要使用“{word}”这样的话。"}

_SUBJECTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (subject, re.compile(pattern, re.IGNORECASE))
    for subject, pattern in (
        ("mark:!", r"exclamation (?:marks?|points?)|感叹号|惊叹号|叹号"),
        ("mark:—", r"(?:em[- ])?dash(?:es)?\b|破折号"),
        ("mark:;", r"semi-?colons?\b|分号"),
        ("mark:…", r"\bellips[ei]s\b|省略号"),
        ("sentence", r"\bsentences?\b|句子?"),
        ("paragraph", r"\bparagraphs?\b|段落?"),
        ("dialogue", r"\bdialogues?\b|对[话白]"),
        ("adverb", r"\badverbs?\b|副词"),
        ("simile", r"\b(?:similes?|metaphors?)\b|比喻"),
        ("person=first", r"\b(?:first|1st)[- ]person\b|第[一1]人称"),
        ("person=third", r"\b(?:third|3rd)[- ]person\b|第[三3]人称"),
        ("tense=past", r"\bpast[- ]tense\b|过去时"),
        ("tense=present", r"\bpresent[- ]tense\b|现在时"),
    )
)
_AVOID = re.compile(
    r"\b(?:no|not|never|avoid(?:s|ing)?|without|fewer|less|(?:do|does|should|must)(?:n['’]t| not)|dislikes?|hates?"
    r"|cuts?|removes?|skip|sparing(?:ly)?|limit)\b|不要|不得|不许|不准|不能|不可|不|勿|别|避免|少|讨厌|禁止|禁用|减少|删",
    re.IGNORECASE,
)
_WANT = re.compile(r"\b(?:more|use|uses|likes?|prefers?|loves?|wants?)\b|多|喜欢|爱|偏好|可以|使用", re.IGNORECASE)
_SHORT = re.compile(r"\b(?:short(?:er)?|brief|terse)\b|短", re.IGNORECASE)
_LONG = re.compile(r"\b(?:long(?:er)?)\b|长", re.IGNORECASE)
_QUOTED = re.compile(
    r"“([^“”]{1,60})”|\"([^\"]{1,60})\"|「([^「」]{1,60})」|『([^『』]{1,60})』|(?<!\w)'([^']{1,60})'(?!\w)"
)
_FILLING = re.compile(
    r"\b(?:the|an?|any|all|in|of|to|is|are|be|i|me|my|please|writer|author|narrator|keep|let|write|tell|text|prose"
    r"|story|narration|narrative|always|usually|generally|freely|very|much|many|words?|phrases?|terms?|run|and|or"
    r"|want|wants|like|using|should|must)\b|请|尽量|一律|要|写|用|些|一点|的|地|得|更|作者|文中|正文|叙述|全文|在|这样|一词|个词|这|话|词|等|保持",
    re.IGNORECASE,
)
_ANYTHING = re.compile(r"[^\W_]+")


def subject_of(topic: str) -> str:
    """What a topic is about."""
    return topic.rpartition("=")[0]


def opposite(one: str, other: str) -> bool:
    """Do two topics speak of one thing and want different things of it?"""
    return bool(one) and one != other and subject_of(one) == subject_of(other)


def wording(topic: str, language: Language) -> str:
    """A topic as a sentence that a writer can say yes or no to, and a model can follow."""
    subject = subject_of(topic)
    kind, _, word = subject.partition(":")
    if kind in ("word", "phrase"):
        return (_WORD if kind == "word" else _PHRASE)[language].format(word=word)
    return _SAYS[topic][language]


@lru_cache(maxsize=4096)
def topic_of(text: str) -> str:
    """The topic of a saying, in English or Chinese; empty where it has none that a program can tell."""
    if len(text) > 120:
        return ""
    quoted = _QUOTED.search(text)
    plain = _QUOTED.sub(" ", text)
    avoids = _AVOID.search(plain) is not None
    named = [(subject, pattern) for subject, pattern in _SUBJECTS if pattern.search(plain)]
    if quoted is not None:
        return "" if named or not avoids or _left(plain) else _word(next(filter(None, quoted.groups())))
    if len(named) != 1:
        return ""
    subject, pattern = named[0]
    rest = pattern.sub(" ", plain)
    if "=" in subject:
        return "" if avoids or _left(rest) else subject
    if subject in ("sentence", "paragraph"):
        short, long = _SHORT.search(rest) is not None, _LONG.search(rest) is not None
        if short == long or _left(_LONG.sub(" ", _SHORT.sub(" ", rest))):
            return ""
        return f"{subject}={LESS if short != avoids else MORE}"
    if _left(rest) or not (avoids or _WANT.search(rest)):
        return ""
    topic = f"{subject}={LESS if avoids else MORE}"
    return topic if topic in _SAYS else ""


def _word(said: str) -> str:
    word = " ".join(said.lower().split())
    return f"{'phrase' if ' ' in word else 'word'}:{word}=less" if any(map(str.isalnum, word)) else ""


def _left(text: str) -> bool:
    """Is something said beyond the subject itself and which way it goes?"""
    rest = _FILLING.sub(" ", _WANT.sub(" ", _AVOID.sub(" ", text)))
    return _ANYTHING.search(rest) is not None
