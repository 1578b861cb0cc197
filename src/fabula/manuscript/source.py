"""What the manuscript offers: the text around the cursor, and the project's direction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from fabula.context.request import Ask
from fabula.context.trace import Verdict
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer, Part, Tier
from fabula.core.view import Language, View
from fabula.manuscript.model import Direction, Document, Manuscript
from fabula.text.offsets import carried_back, check_cursor, normalise
from fabula.text.windows import LONGEST_TOKEN, Stretch, window

AFTER = 500  # characters behind the cursor
LONG_WORD = 39  # characters; where none of so many is a space, a word may be cut

_SAYS: dict[Language, dict[str, str]] = {
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
    """The scene, the text before and after the cursor, the selection, the beats."""

    name = "editor"
    failing = Code.EDITOR_UNAVAILABLE
    waits = False
    ahead = True

    def fragments(self, ask: Ask, view: View) -> Iterator[Fragment]:
        """Everything the desk shows."""
        request = ask.request
        if not request.document_id:
            return
        document = _document(ask, view)
        text, cursor = document.text, request.cursor
        cursor = len(text) if cursor is None else check_cursor(cursor, len(text))
        say, project = _SAYS[ask.language], request.project_id

        # Whoever writes sees the text that is being written; whoever speaks in it, only what it may know.
        known_to = document.witnesses if request.speaker_id else None

        def offer(source: str, body: str, part: Part) -> Fragment:
            return Fragment(
                source=source,
                layer=Layer.IMMEDIATE,
                text=body,
                project_id=project,
                part=part,
                score=1.0,
                known_to=known_to,
            )

        if document.title:
            yield _scene(document.title, say["scene"], project)
        yield self._window(document, cursor, ask, view)
        if cursor:
            where = "new" if text[cursor - 1] == "\n" else "inside"
            yield _mark(document.title, say[where], round(100 * cursor / len(text)), project, known_to)
        if request.selection is not None:
            first, last = sorted(check_cursor(edge, len(text)) for edge in request.selection)
            yield offer("editor:selection", say["selection"].format(text=text[first:last]), Part.MARK)
        if cursor < len(text):
            yield offer("editor:after", _whole_words(text, cursor, cursor + AFTER), Part.AFTER)
        if document.beats and not request.speaker_id:  # a plan is for those who write, not for those who live it
            beats = say["between"].join(beat.rstrip(".。;；") for beat in document.beats)
            yield offer("outline:beats", say["beats"].format(beats=beats), Part.DESK)

    def absent(self, ask: Ask, view: View) -> Iterable[Verdict]:
        """Everything on the desk is offered."""
        return ()

    @staticmethod
    def _window(document: Document, cursor: int, ask: Ask, view: View) -> Stretch:
        return window(
            document.paragraphs,
            cursor,
            source="editor:cursor-window",
            project_id=ask.request.project_id,
            reach=max(ask.window, 1) * LONGEST_TOKEN,
            title=document.title,
            known_to=document.witnesses if ask.request.speaker_id else None,
            stored_cursor=_stored(ask, view, document, cursor),
        )


@lru_cache(maxsize=256)
def _scene(title: str, pattern: str, project_id: str) -> Fragment:
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
def _mark(title: str, pattern: str, percent: int, project_id: str, known_to: frozenset[str] | None) -> Fragment:
    """Where the cursor stands; the same from one word to the next."""
    return Fragment(
        source="editor:cursor",
        layer=Layer.IMMEDIATE,
        text=pattern.format(percent=percent, title=title),
        project_id=project_id,
        part=Part.MARK,
        score=1.0,
        known_to=known_to,
    )


def _whole_words(text: str, start: int, end: int) -> str:
    """A stretch of text that does not end in the middle of a word, where words can be told apart."""
    if end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        space = text.rfind(" ", max(end - LONG_WORD, start), end)
        end = space if space > start else end
    return text[start:end]


def _stored(ask: Ask, view: View, document: Document, cursor: int) -> int | None:
    """Where the cursor stands in the stored text, if another text is being edited."""
    manuscript = view.room(Manuscript)
    stored = manuscript.by_id.get(document.id) if manuscript is not None else None
    return None if stored is None or stored is document else carried_back(stored.text, document.text, cursor)


def _document(ask: Ask, view: View) -> Document:
    request = ask.request
    manuscript = view.room(Manuscript) or Manuscript()
    stored = manuscript.by_id.get(request.document_id)
    if request.unsaved_text is not None:
        text = normalise(request.unsaved_text)
        if stored is not None and stored.text == text:
            return stored
        kept = stored or Document(request.document_id, "", "")
        return replace(kept, text=text)
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
    """The project's writing rules and style."""

    name = "project"
    failing = Code.SOURCE_UNAVAILABLE
    waits = False
    ahead = False

    def fragments(self, ask: Ask, view: View) -> Iterable[Fragment]:
        """Rules, then style."""
        direction = view.room(Direction)
        return () if direction is None else _said(direction, ask.request.project_id, ask.language)

    def absent(self, ask: Ask, view: View) -> Iterable[Verdict]:
        """Everything the project says about itself is offered."""
        return ()


@lru_cache(maxsize=256)
def _said(direction: Direction, project_id: str, language: Language) -> tuple[Fragment, ...]:
    """What a project says about itself, as fragments; a direction never changes, so they are made once."""
    rules = [
        Fragment(source=f"project:{key}", layer=Layer.RULES, text=text, project_id=project_id, tier=Tier.PROJECT)
        for key, text in direction.lines(language)
    ]
    if not direction.style:
        return tuple(rules)
    style = Fragment(
        source="project:style", layer=Layer.SETTINGS, text=direction.style, project_id=project_id, score=1.0
    )
    return (*rules, style)
