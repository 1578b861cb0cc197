"""Insertion points: where in a document an accepted answer goes.

The insertion point is part of the record of a run, and a record may come from anybody's save, so an invalid one is
refused. It identifies the text of its document by hash, not by revision: an editor may save the same text after the
request. The words to be replaced have a hash of their own, so that they are known again where they moved to.
`separate_insertion` puts inserted prose apart from its neighbours, as a paragraph of its own where the
paragraph before it is complete, else with a space or nothing between them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from fabula.context.request import Request
from fabula.core.decoding import explain_decode_error
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import message
from fabula.core.story import Perspective, Position
from fabula.core.view import View
from fabula.manuscript.model import hash_text
from fabula.skills.model import AnswerAction, Skill
from fabula.skills.source import read_document

_UNSPACED_SCRIPTS = 0x2E80  # from this code point on, scripts have no spaces between words and sentences
_OPENING = "([{“‘«—–-/"
_CLOSING = ".,;:!?…)]}”’»—–-/%"
_CLOSING_MARKS = f"{_CLOSING}，。、；：！？）」』》"
# The end of a sentence with its quotation marks, a heading, or a line without any word between two scenes.
_COMPLETE = re.compile(r"[.!?…。！？][\"'”’»）)」』*_]*$|^#{1,6} |^\W+$")


class InsertionPoint(Struct, frozen=True, kw_only=True):
    """A position in the text of a document, and the request that was made there."""

    answer_action: AnswerAction = field(default=AnswerAction.SHOW, name="answer")
    cursor: int | None = None
    selection: tuple[int, int] | None = None
    stored_offset: int | None = field(default=None, name="at")  # the position in the stored text
    text_hash: str = field(default="", name="text")
    selected_hash: str = field(default="", name="selected")  # of the words in the selection
    beat_hash: str = field(default="", name="beat")  # of the next beat
    instruction: str = ""
    recipe: str = ""
    perspective: Perspective | None = field(default=None, name="eyes")
    character: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def matches(self, text: str) -> bool:
        """Whether this is the text for which the answer was written."""
        return bool(self.text_hash) and self.text_hash == hash_text(text)

    def replaces(self, words: str) -> bool:
        """Whether these are the words that the answer was written to replace."""
        is_replacing = self.answer_action is AnswerAction.REPLACE and bool(self.selected_hash)
        return is_replacing and self.selected_hash == hash_text(words)


def make_insertion_point(request: Request, skill: Skill, view: View, position: Position | None) -> InsertionPoint:
    """Make the insertion point of a request."""
    document, text = read_document(request, view)
    beats = document.beats if document is not None else ()
    return InsertionPoint(
        answer_action=skill.answer_action,
        cursor=len(text) if request.cursor is None else request.cursor,
        selection=request.selection,
        stored_offset=position.offset if position is not None else None,
        text_hash=hash_text(text) if request.document_id else "",
        selected_hash=hash_text(text[slice(*request.selection)]) if request.selection is not None else "",
        beat_hash=hash_text(beats[0]) if beats else "",
        instruction=request.additional_input,
        recipe=request.recipe,
        perspective=request.perspective,
        character=request.character,
        include=request.include,
        exclude=request.exclude,
    )


def read_insertion_point(assembly_summary: Mapping[str, Any]) -> InsertionPoint:
    """Read the insertion point from the record of a run."""
    try:
        return msgspec.convert(assembly_summary.get("place", {}), InsertionPoint)
    except msgspec.ValidationError as error:
        raise FabulaError(
            Code.TEXT_INVALID,
            message(
                "The record of this answer makes no sense ({error}). Nothing was changed.",
                error=explain_decode_error(error, InsertionPoint),
            ),
        ) from error


def separate_insertion(head: str, text: str, tail: str) -> tuple[str, str]:
    """What belongs before and behind prose that is inserted between two texts."""
    document = head + tail
    line_break = "\n" if "\n" in document and "\n\n" not in document else "\n\n"
    at_start = not head or head.endswith("\n")
    at_end = not tail or tail.startswith("\n")
    before = _find_break(head, text, line_break) if at_start or at_end else None
    behind = _find_break(text, tail, line_break) if at_start else None
    return (
        find_separator(head, text) if before is None else before,
        find_separator(text, tail) if behind is None else behind,
    )


def _find_break(before: str, after: str, line_break: str) -> str | None:
    """What completes the break between two paragraphs; None where they are one, or one of them is empty."""
    first, last_line = after[:1], before.rstrip("\n").rpartition("\n")[2].strip()
    begins = bool(first) and not first.isspace() and not first.islower() and first not in _CLOSING_MARKS
    if not begins or not _COMPLETE.search(last_line):
        return None
    return line_break[len(before) - len(before.rstrip("\n")) :]


def find_separator(before: str, after: str) -> str:
    """What belongs between two pieces of prose: a space, or nothing."""
    if not before or not after or max(ord(before[-1]), ord(after[0])) >= _UNSPACED_SCRIPTS:
        return ""
    last, first = before[-1], after[0]
    if last.isspace() or first.isspace() or last in _OPENING or first in _CLOSING:
        return ""
    if last in "\"'" and (len(before) == 1 or before[-2].isspace()):  # a straight quotation mark that opens
        return ""
    return " "
