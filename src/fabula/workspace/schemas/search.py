"""Schemas of a search by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fabula.core.messages import Sentence
from fabula.core.view import View
from fabula.search.corpus import CONVERSATION_PREFIX, PARTICIPANT_TEXTS
from fabula.search.find import FoundPassage
from fabula.workspace.schemas.schema import Schema, describe
from fabula.workspace.search import mark_words


class PassageInfo(Schema):
    """A passage that answers, with its place and why it was found; `marks` are the spans of what was looked for.

    A passage of a conversation has neither a document nor a place in one, but the conversation, perhaps a time, and the
    message that it is unless it is a recap. A fixed prompt or a biography has the participant whom it is about.
    """

    source: str
    document_id: str | None
    conversation_id: str | None
    message_id: str | None
    participant_id: str | None
    chapter: int | None
    chapter_name: str  # `part 2, chapter 3` where numbers start again
    title: str
    start: int | None
    end: int | None
    at: str
    score: float
    text: str
    marks: tuple[tuple[int, int], ...]
    reasons: tuple[str, ...]


class SearchReport(Schema):
    """The passages that answer a few words, best first, and whether they were compared by meaning too."""

    words: str
    passages: tuple[PassageInfo, ...]
    warnings: tuple[str, ...]
    by_meaning: bool


def describe_search(
    view: View,
    words: str,
    found: Iterable[FoundPassage],
    warnings: Sequence[str | Sentence],
    language: str | None = None,
) -> SearchReport:
    """Describe what a search of a project found, in a language, by default that of the project."""
    language = language or view.project.language
    found = list(found)
    passages = [_describe_passage(view, one, words, language) for one in found]
    by_meaning = any(one.is_compared for one in found)
    return describe(
        SearchReport, None, language, words=words, passages=passages, warnings=warnings, by_meaning=by_meaning
    )


def _describe_passage(view: View, found: FoundPassage, words: str, language: str) -> PassageInfo:
    passage, in_document = found.passage, not found.document_id.startswith(CONVERSATION_PREFIX)
    owner, _, part = ("", "", "") if in_document else found.document_id.removeprefix(CONVERSATION_PREFIX).partition("#")
    is_participant = part == PARTICIPANT_TEXTS
    chapter_name = view.timeline.chapter_name(found.document_id)
    return describe(
        PassageInfo,
        passage,
        document_id=found.document_id if in_document else None,
        conversation_id=None if in_document or is_participant else owner,
        message_id=None if in_document or part else passage.source.partition(":")[2],
        participant_id=owner if is_participant else None,
        chapter=view.timeline.chapter_number(found.document_id),
        chapter_name="" if chapter_name is None else chapter_name.render(language),
        start=passage.start if in_document else None,
        end=passage.end if in_document else None,
        score=round(found.score, 4),
        marks=mark_words(passage.text, " ".join((words, *found.names))),
        reasons=[one.render(language) for one in found.reasons],
    )
