"""Read the verdict of a reviewer or a tester from what they wrote (cht-4).

A verdict is one of the words that the mode asks for, as a whole word. One at the beginning of a line or sentence, also
behind a label such as `Verdict:`, is clearer than one in capitals elsewhere, and that is clearer than one in small
letters. Of equally clear ones the last decides. A word that is denied (`not approved`, `no changes needed`) means the
opposite, or nothing. A text without such a word has no verdict: it is never taken for approval.
"""

from __future__ import annotations

import re

from msgspec import Struct

_BEGINS = r"(?:^|(?<=[.!?。！？]))[^\w\n]{0,10}(?:[\w ]{1,30}[:：][^\w\n]{0,10})?"
_DENIAL = r"(?<![A-Za-z])(?:not|never|cannot|no|none|nothing|without|0|zero|[a-z]{2,6}n['’]t)"
_DENIED = rf"(?:{_DENIAL}\s{{1,5}}(?:\w{{1,20}}\s{{1,5}}){{0,2}}?)?"
_APPROVAL = (
    r"(?<![A-Za-z])(?:approved|passed)(?![A-Za-z])"
    r"|(?<![不未没有能法予得])(?:通过|批准)(?=了?(?:\W|$))|(?<!不)合格(?=\W|$)"
)
_REJECTION = (
    r"(?<![A-Za-z])(?:rejected|failed)(?![A-Za-z])"
    r"|(?-i:(?<![A-Za-z])CHANGES(?![A-Za-z]))"
    r"|(?<![A-Za-z])changes(?= (?:are )?(?:still )?(?:needed|required|requested|necessary)| ?(?:[:：.,!]|$))"
    r"|(?:不|未|没|没有|尚未|未能|不能|无法|不予|不得)(?:通过|批准)|不合格|驳回|退回|(?<![无没有零0])失败"
    r"|(?<![无不])(?:需要?|必须|须|请|要求|有待|还要)(?:再)?修改|(?<!\w)修改(?=\W|$)"
)
_WORDS = re.compile(
    rf"(?P<begins>{_BEGINS})?(?P<denied>{_DENIED})(?:(?P<approval>{_APPROVAL})|(?P<rejection>{_REJECTION}))",
    re.IGNORECASE | re.MULTILINE,
)
_FAILURES = re.compile(r"(?<!\w)[1-9]\d{0,6} (?:tests? )?failed(?!\w)", re.IGNORECASE)


class _Word(Struct, frozen=True):
    """A word of a verdict in a text: where it is, what it means, and how clear it is."""

    start: int
    is_approval: bool
    clearness: int


def find_verdict(text: str) -> bool | None:
    """Return whether a text approves of the work; None where it has no verdict."""
    found = [word for match in _WORDS.finditer(text) if (word := _read_word(match)) is not None]
    if not found:
        return None
    clearest = max(word.clearness for word in found)
    decisive = [word for word in found if word.clearness == clearest][-1]
    if not decisive.is_approval:
        return False
    rejections = [word for word in found if not word.is_approval and word.clearness > 0]
    line = text[text.rfind("\n", 0, decisive.start) + 1 :].partition("\n")[0]
    return not any(word.start > decisive.start for word in rejections) and _FAILURES.search(line) is None


def _read_word(match: re.Match[str]) -> _Word | None:
    """Read one word; a rejection that is denied says nothing."""
    is_approval, is_denied = match["approval"] is not None, bool(match["denied"])
    if is_denied and not is_approval:
        return None
    word = match["approval"] or match["rejection"]
    start = match.start("approval") if is_approval else match.start("rejection")
    begins = match["begins"] is not None and not is_denied
    clearness = 2 if begins else 1 if word.isupper() or not word.isascii() else 0
    return _Word(start, is_approval and not is_denied, clearness)
