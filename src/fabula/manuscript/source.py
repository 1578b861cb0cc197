"""Sources of the manuscript: text around the cursor, scene, selection, beats, and the project's direction (ctx-3).

The editor source fills the immediate layer (ctx-3): scene title, text before the cursor, cursor position, selection,
500 characters after the cursor, and the beats of the outline (man-1). The project source gives writing rules and style.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from fabula.context.request import SourceRequest
from fabula.context.trace import Verdict
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer, Part, Tier
from fabula.core.view import Language, View
from fabula.manuscript.model import Direction, Document, Manuscript
from fabula.text.offsets import check_cursor, map_to_stored_text, normalise
from fabula.text.windows import LONGEST_TOKEN, TextWindow, make_text_window

CHARS_AFTER_CURSOR = 500
MAX_WORD = 39  # characters; a longer word may be cut

_PHRASES: dict[Language, dict[str, str]] = {
    "en": {
        "scene": "[Scene] {title}",
        "selection": "[Selected text]\n{text}",
        "new": "(The cursor stands at the start of a new paragraph, {percent} % into {title}.)",
        "inside": "(The cursor stands right behind these words, {percent} % into {title}.)",
        "beats": "What should happen in this chapter: {beats}.",
        "between": "; ",
    },
    "zh": {
        "scene": "[场景] {title}",
        "selection": "[选中的文字]\n{text}",
        "new": "（光标位于新段落的开头，《{title}》的 {percent}% 处。）",
        "inside": "（光标紧接在以上文字之后，《{title}》的 {percent}% 处。）",
        "beats": "本章应当发生：{beats}。",
        "between": "；",
    },
}


class EditorSource:
    """Offers the scene, the text before and after the cursor, the selection and the beats."""

    name = "editor"
    unavailable_code = Code.EDITOR_UNAVAILABLE
    blocking = False
    runs_first = True

    def fragments(self, source_request: SourceRequest, view: View) -> Iterator[Fragment]:
        """The fragments of the document that is being edited."""
        request = source_request.request
        if not request.document_id:
            return
        document = _find_document(source_request, view)
        text, cursor = document.text, request.cursor
        cursor = len(text) if cursor is None else check_cursor(cursor, len(text))
        phrases, project_id = _PHRASES[source_request.language], request.project_id

        # A writer sees the text that is being written; a character who speaks, only what the character may know.
        known_to = document.effective_known_to if request.speaker_id else None

        def make_fragment(source: str, body: str, part: Part) -> Fragment:
            return Fragment(
                source=source,
                layer=Layer.IMMEDIATE,
                text=body,
                project_id=project_id,
                part=part,
                score=1.0,
                known_to=known_to,
            )

        if document.title:
            yield _make_scene(document.title, phrases["scene"], project_id)
        yield self._window(document, cursor, source_request, view)
        if cursor:
            position = "new" if text[cursor - 1] == "\n" else "inside"
            yield _make_cursor_note(
                document.title, phrases[position], round(100 * cursor / len(text)), project_id, known_to
            )
        if request.selection is not None:
            first, last = sorted(check_cursor(edge, len(text)) for edge in request.selection)
            yield make_fragment("editor:selection", phrases["selection"].format(text=text[first:last]), Part.CURSOR)
        if cursor < len(text):
            yield make_fragment("editor:after", _cut_at_word(text, cursor, cursor + CHARS_AFTER_CURSOR), Part.AFTER)
        if document.beats and not request.speaker_id:  # the plan is for a writer, not for a character who speaks
            beats = phrases["between"].join(beat.rstrip(".。;；") for beat in document.beats)
            yield make_fragment("outline:beats", phrases["beats"].format(beats=beats), Part.EDITOR_STATE)

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterable[Verdict]:
        """The editor omits nothing."""
        return ()

    @staticmethod
    def _window(document: Document, cursor: int, source_request: SourceRequest, view: View) -> TextWindow:
        return make_text_window(
            document.paragraphs,
            cursor,
            source="editor:cursor-window",
            project_id=source_request.request.project_id,
            reach=max(source_request.available_tokens, 1) * LONGEST_TOKEN,
            title=document.title,
            known_to=document.effective_known_to if source_request.request.speaker_id else None,
            stored_cursor=_find_stored_cursor(source_request, view, document, cursor),
        )


@lru_cache(maxsize=256)
def _make_scene(title: str, pattern: str, project_id: str) -> Fragment:
    return Fragment(
        source="editor:scene",
        layer=Layer.IMMEDIATE,
        text=pattern.format(title=title),
        project_id=project_id,
        title=title,
        part=Part.SCENE,
        score=1.0,
    )


@lru_cache(maxsize=4096)
def _make_cursor_note(
    title: str, pattern: str, percent: int, project_id: str, known_to: frozenset[str] | None
) -> Fragment:
    """The note on where the cursor is; it stays the same while the percentage does."""
    return Fragment(
        source="editor:cursor",
        layer=Layer.IMMEDIATE,
        text=pattern.format(percent=percent, title=title),
        project_id=project_id,
        part=Part.CURSOR,
        score=1.0,
        known_to=known_to,
    )


def _cut_at_word(text: str, start: int, end: int) -> str:
    """A range of text that does not end inside a word, where spaces separate words."""
    if end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        space = text.rfind(" ", max(end - MAX_WORD, start), end)
        end = space if space > start else end
    return text[start:end]


def _find_stored_cursor(source_request: SourceRequest, view: View, document: Document, cursor: int) -> int | None:
    """The cursor in the stored text, where a different text is being edited; None where they are the same."""
    manuscript = view.snapshot(Manuscript)
    stored = manuscript.by_id.get(document.id) if manuscript is not None else None
    return None if stored is None or stored is document else map_to_stored_text(stored.text, document.text, cursor)


def _find_document(source_request: SourceRequest, view: View) -> Document:
    request = source_request.request
    manuscript = view.snapshot(Manuscript) or Manuscript()
    stored = manuscript.by_id.get(request.document_id)
    if request.unsaved_text is not None:
        text = normalise(request.unsaved_text)
        if stored is not None and stored.text == text:
            return stored
        return replace(stored or Document(request.document_id, "", ""), text=text)
    if stored is None:
        raise FabulaError(
            Code.DOCUMENT_UNKNOWN,
            f"This project has no document {request.document_id!r}. It has: "
            f"{', '.join(list(manuscript.by_id)[:12]) or 'none yet'}.",
        )
    if request.revision is not None and request.revision != stored.revision:
        raise FabulaError(
            Code.DOCUMENT_STALE,
            f"You are editing revision {request.revision} of {stored.title or stored.id}, and revision "
            f"{stored.revision} is stored. Send your text along, or load the newer one. Nothing was changed.",
        )
    return stored


class ProjectSource:
    """Offers the project's writing rules and style."""

    name = "project"
    unavailable_code = Code.SOURCE_UNAVAILABLE
    blocking = False
    runs_first = False

    def fragments(self, source_request: SourceRequest, view: View) -> Iterable[Fragment]:
        """The writing rules, then the style."""
        direction = view.snapshot(Direction)
        return (
            ()
            if direction is None
            else _make_direction_fragments(direction, source_request.request.project_id, source_request.language)
        )

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterable[Verdict]:
        """The project omits nothing."""
        return ()


@lru_cache(maxsize=256)
def _make_direction_fragments(direction: Direction, project_id: str, language: Language) -> tuple[Fragment, ...]:
    """The rules and the style of a project as fragments; a direction is immutable, so they are made once."""
    rules = [
        Fragment(source=f"project:{key}", layer=Layer.RULES, text=text, project_id=project_id, tier=Tier.PROJECT)
        for key, text in direction.rule_lines(language)
    ]
    if not direction.style:
        return tuple(rules)
    style = Fragment(
        source="project:style", layer=Layer.SETTINGS, text=direction.style, project_id=project_id, score=1.0
    )
    return (*rules, style)
