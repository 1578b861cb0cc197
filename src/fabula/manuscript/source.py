"""Sources of the manuscript: text around the cursor, scene, selection, beats, and the project's direction (ctx-3).

The editor source fills the immediate layer (ctx-3): scene title, text before the cursor, cursor position, selection,
500 characters after the cursor, and the beats of the outline (man-1). The project source gives writing rules and style.
A character who speaks is told where the scene has got to and what its world is like, and nothing of how it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from fabula.context.gather import FunctionSource
from fabula.context.request import SourceRequest, has_limits, is_character_speaking
from fabula.context.trace import Verdict, omit_for_speaker
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Fragment, Layer, Part, Tier
from fabula.core.messages import join_names, message
from fabula.core.view import Language, View
from fabula.manuscript.model import Direction, Document, Manuscript, trim_title
from fabula.text.offsets import check_cursor, map_to_stored_text, normalise
from fabula.text.windows import LONGEST_TOKEN, make_text_window

CHARS_AFTER_CURSOR = 500
MAX_WORD = 39  # characters; a longer word may be cut


class _Limits(NamedTuple):
    """Who may be told the text of a document, and which document that is, if it must be known."""

    known_to: frozenset[str] | None = None
    made_of: frozenset[str] = frozenset()


_NO_LIMITS = _Limits()


def offer_editor_text(source_request: SourceRequest, view: View) -> Iterator[Fragment]:
    """Offer the scene, the text before and after the cursor, the selection and the beats."""
    request = source_request.request
    if not request.document_id or not request.with_text:
        return
    document = _find_document(source_request, view)
    text, cursor, title = document.text, request.cursor, document.title
    cursor = len(text) if cursor is None else check_cursor(cursor, len(text))
    project_id, language = request.project_id, source_request.language
    # A writer sees the text that is being written; a character who speaks, only what the character may know.
    limits = _Limits(document.effective_known_to, frozenset({document.id})) if request.speaker_id else _NO_LIMITS
    if title:
        yield _make_scene(title, language, project_id, limits)
    yield make_text_window(
        document.paragraphs,
        cursor,
        source="editor:cursor-window",
        project_id=project_id,
        reach=max(source_request.available_tokens, 1) * LONGEST_TOKEN,
        title=title,
        known_to=limits.known_to,
        made_of=limits.made_of,
        stored_cursor=_find_stored_cursor(view, document, cursor),
    )
    is_character = is_character_speaking(request)
    if cursor and not is_character:
        percent, starts_paragraph = round(100 * cursor / len(text)), text[cursor - 1] == "\n"
        yield _make_cursor_note(percent, starts_paragraph, title, language, project_id, limits)
    if request.selection is not None:
        first, last = sorted(check_cursor(edge, len(text)) for edge in request.selection)
        selected = message("[Selected text]\n{text}", text=text[first:last]).render(language)
        yield _make_fragment("editor:selection", Part.CURSOR, selected, project_id, limits, is_single_use=True)
    if cursor < len(text) and not is_character:  # what comes next is no character's to know
        after = _cut_at_word(text, cursor, cursor + CHARS_AFTER_CURSOR)
        yield _make_fragment("editor:after", Part.AFTER, after, project_id, limits, is_single_use=True)
    # the plan is for a writer, neither for a character who speaks nor for whoever plays one
    if document.beats and not request.speaker_id and not has_limits(request.principal):
        beats = message("; ").render(language).join(beat.rstrip(".。;；") for beat in document.beats)
        plan = message("What should happen in this chapter: {beats}.", beats=beats).render(language)
        yield _make_fragment("outline:beats", Part.EDITOR_STATE, plan, project_id, limits)


EDITOR_SOURCE = FunctionSource(
    name="editor", function=offer_editor_text, unavailable_code=Code.EDITOR_UNAVAILABLE, blocking=False, runs_first=True
)


def _make_fragment(
    source: str,
    part: Part,
    text: str,
    project_id: str,
    limits: _Limits,
    title: str = "",
    *,
    is_single_use: bool = False,
) -> Fragment:
    return Fragment(
        source=source,
        layer=Layer.IMMEDIATE,
        text=text,
        project_id=project_id,
        title=title,
        part=part,
        score=1.0,
        known_to=limits.known_to,
        made_of=limits.made_of,
        is_single_use=is_single_use,
    )


@lru_cache(maxsize=4096)
def _make_scene(title: str, language: Language, project_id: str, limits: _Limits) -> Fragment:
    text = message("[Scene] {title}", title=title).render(language)
    return _make_fragment("editor:scene", Part.SCENE, text, project_id, limits, title)


@lru_cache(maxsize=4096)
def _make_cursor_note(
    percent: int,
    starts_paragraph: bool,
    title: str,
    language: Language,
    project_id: str,
    limits: _Limits,
) -> Fragment:
    """The note where the cursor stands, the same one while the percentage lasts."""
    values = {"percent": percent, "title": trim_title(title)}
    note = (
        message("(The cursor stands at the start of a new paragraph, {percent} % into {title}.)", **values)
        if starts_paragraph
        else message("(The cursor stands right behind these words, {percent} % into {title}.)", **values)
    )
    return _make_fragment("editor:cursor", Part.CURSOR, note.render(language), project_id, limits)


def _cut_at_word(text: str, start: int, end: int) -> str:
    """A range of text that does not end inside a word, where spaces separate words."""
    if end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        space = text.rfind(" ", max(end - MAX_WORD, start), end)
        end = space if space > start else end
    return text[start:end]


def _find_stored_cursor(view: View, document: Document, cursor: int) -> int | None:
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
        known = join_names([*manuscript.by_id][:12] or [message("none yet")])
        raise FabulaError(
            Code.DOCUMENT_UNKNOWN,
            message(
                "This project has no document {document!r}. It has: {known}.",
                document=request.document_id,
                known=known,
            ),
        )
    if request.revision is not None and request.revision != stored.revision:
        raise FabulaError(
            Code.DOCUMENT_STALE,
            message(
                "You are editing revision {revision} of {title!r}, but revision {stored} is stored. Send your text "
                "with the request, or load the stored one. Nothing was changed.",
                revision=request.revision,
                title=stored.name,
                stored=stored.revision,
            ),
        )
    return stored


class ProjectSource:
    """Offers the project's writing rules, then its style, to whoever may read what the author decides.

    A character who speaks is told the rules of its world alone.
    """

    name = "project"
    unavailable_code = Code.SOURCE_UNAVAILABLE
    blocking = False
    runs_first = False

    def fragments(self, source_request: SourceRequest, view: View) -> Iterable[Fragment]:
        """Offer the rules and the style."""
        told = _list_direction(source_request, view)
        return [one for one in told if _is_of_world(one)] if is_character_speaking(source_request.request) else told

    def explain_omitted(self, source_request: SourceRequest, view: View) -> Iterable[Verdict]:
        """Explain what a character who speaks is not told."""
        if not is_character_speaking(source_request.request):
            return ()
        return [omit_for_speaker(one) for one in _list_direction(source_request, view) if not _is_of_world(one)]


PROJECT_SOURCE = ProjectSource()


def _list_direction(source_request: SourceRequest, view: View) -> tuple[Fragment, ...]:
    direction = view.snapshot(Direction)
    if direction is None or has_limits(source_request.request.principal):
        return ()
    return _make_direction_fragments(direction, source_request.request.project_id, source_request.language)


def _is_of_world(rule: Fragment) -> bool:
    return rule.source.startswith("project:world-")


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
