"""Topics: what a preference is about and in which direction, as far as a program can tell (mem-2).

A topic is written `subject=direction`: `mark:!=less`, `sentence=more`, `person=first`, `word:suddenly=less`.
Two preferences with the same topic mean the same, in any wording and language. Two with the same subject and
different directions contradict each other. A preference with a condition ("short sentences in action
scenes") or with several subjects has no topic; only the model can understand it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from fabula.core.messages import message
from fabula.core.view import Language

LESS, MORE = "less", "more"
MARKS = {"!": "!！", "—": "—", ";": ";；", "…": "…"}  # a mark and all characters for it

TOPIC_SENTENCES = {
    "mark:!=less": message("Avoid exclamation marks."),
    "mark:!=more": message("Use exclamation marks more freely."),
    "mark:—=less": message("Avoid dashes."),
    "mark:—=more": message("Use dashes more freely."),
    "mark:;=less": message("Avoid semicolons."),
    "mark:;=more": message("Use semicolons more freely."),
    "mark:…=less": message("Avoid ellipses."),
    "mark:…=more": message("Use ellipses more freely."),
    "sentence=less": message("Prefers short sentences."),
    "sentence=more": message("Prefers long sentences."),
    "paragraph=less": message("Prefers short paragraphs."),
    "paragraph=more": message("Prefers long paragraphs."),
    "dialogue=less": message("Prefers less dialogue."),
    "dialogue=more": message("Prefers more dialogue."),
    "adverb=less": message("Avoid adverbs."),
    "simile=less": message("Avoid similes."),
    "person=first": message("Write in the first person."),
    "person=third": message("Write in the third person."),
    "tense=past": message("Write in the past tense."),
    "tense=present": message("Write in the present tense."),
}

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
    r"|cuts?|removes?|banned|forbidden|prohibited|skip|sparing(?:ly)?|limit)\b|不要|不得|不许|不准|不能|不可|不|勿|别|避免|少|讨厌|禁止|禁用|减少|删",
    re.IGNORECASE,
)
_WANT = re.compile(r"\b(?:more|use|uses|likes?|prefers?|loves?|wants?)\b|多|喜欢|爱|偏好|可以|使用", re.IGNORECASE)
_SHORT = re.compile(r"\b(?:short(?:er)?|brief|terse)\b|短", re.IGNORECASE)
_LONG = re.compile(r"\b(?:long(?:er)?)\b|长", re.IGNORECASE)
_QUOTED = re.compile(
    r"“([^“”]{1,60})”|\"([^\"]{1,60})\"|「([^「」]{1,60})」|『([^『』]{1,60})』|(?<!\w)'([^']{1,60})'(?!\w)"
)
_STOP_WORDS = re.compile(
    r"\b(?:the|an?|any|all|in|of|to|is|are|be|i|me|my|please|writer|author|narrator|keep|let|write|tell|text|prose"
    r"|story|narration|narrative|always|usually|generally|freely|very|much|many|words?|phrases?|terms?|run|and|or"
    r"|want|wants|like|using|should|must)\b|请|尽量|一律|要|写|用|些|一点|的|地|得|更|作者|文中|正文|叙述|全文|在|这样|一词|个词|这|话|词|等|保持",
    re.IGNORECASE,
)
_ANY_WORD = re.compile(r"[^\W_]+")


def get_subject(topic: str) -> str:
    """Return the subject of a topic."""
    return topic.rpartition("=")[0]


def are_opposite_topics(one: str, other: str) -> bool:
    """Return whether two topics have the same subject and different directions."""
    return bool(one) and one != other and get_subject(one) == get_subject(other)


def format_topic(topic: str, language: Language) -> str:
    """Return a topic as a sentence that the writer can confirm and a model can follow."""
    subject = get_subject(topic)
    kind, _, word = subject.partition(":")
    if kind in ("word", "phrase"):
        word_sentence = message("Avoid the word “{word}”.", word=word)
        phrase_sentence = message("Avoid the phrase “{phrase}”.", phrase=word)
        return (word_sentence if kind == "word" else phrase_sentence).render(language)
    return TOPIC_SENTENCES[topic].render(language)


@lru_cache(maxsize=4096)
def find_topic(text: str) -> str:
    """Return the topic of an English or Chinese preference; empty if it has none."""
    if len(text) > 120:
        return ""
    quoted = _QUOTED.search(text)
    plain = _QUOTED.sub(" ", text)
    avoids = _AVOID.search(plain) is not None
    named = [(subject, pattern) for subject, pattern in _SUBJECTS if pattern.search(plain)]
    if quoted is not None:
        is_word = avoids and not named and not _has_more_words(plain)
        return _make_word_topic(next(filter(None, quoted.groups()))) if is_word else ""
    if len(named) != 1:
        return ""
    subject, pattern = named[0]
    rest = pattern.sub(" ", plain)
    if "=" in subject:
        return "" if avoids or _has_more_words(rest) else subject
    if subject in ("sentence", "paragraph"):
        short, long = _SHORT.search(rest) is not None, _LONG.search(rest) is not None
        if short == long or _has_more_words(_LONG.sub(" ", _SHORT.sub(" ", rest))):
            return ""
        return f"{subject}={LESS if short != avoids else MORE}"
    if _has_more_words(rest) or not (avoids or _WANT.search(rest)):
        return ""
    topic = f"{subject}={LESS if avoids else MORE}"
    return topic if topic in TOPIC_SENTENCES else ""


def _make_word_topic(quoted: str) -> str:
    word = " ".join(quoted.lower().split())
    return f"{'phrase' if ' ' in word else 'word'}:{word}={LESS}" if any(map(str.isalnum, word)) else ""


def _has_more_words(text: str) -> bool:
    """Return whether a text has words besides the direction and stop words."""
    rest = _STOP_WORDS.sub(" ", _WANT.sub(" ", _AVOID.sub(" ", text)))
    return _ANY_WORD.search(rest) is not None
