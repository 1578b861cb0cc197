"""Routes of the manuscript: chapters, revisions, outline, synopses and the timeline (man-1)."""

from __future__ import annotations

from fabula.access.model import Right
from fabula.server.routes.route import Answer, Route, make_list, make_record, mount
from fabula.workspace.schemas.chapters import (
    ChapterContents,
    ChapterInfo,
    LineDifferenceInfo,
    RevisionInfo,
    WordsFoundInfo,
    describe_chapter,
    describe_difference,
    describe_revision,
    describe_text,
    describe_words,
)
from fabula.workspace.schemas.outline import BeatInfo, describe_beat
from fabula.workspace.schemas.synopses import (
    SynopsisInfo,
    SynopsisRefreshReport,
    describe_refresh,
    describe_synopsis,
)
from fabula.workspace.schemas.timeline import TimelineInfo, describe_timeline

CHAPTER = Answer(ChapterInfo, lambda record, call: describe_chapter(record, call.names))
_BEAT = Answer(BeatInfo, lambda beat, call: describe_beat(beat, call.names))
_SYNOPSIS = Answer(SynopsisInfo, describe_synopsis)
_REVISIONS = Answer(tuple[RevisionInfo, ...], lambda found: tuple(map(describe_revision, found)))

ROUTES = (
    mount(
        "chapters",
        "/projects/{project}/chapters",
        (
            Route("GET", "", "list_chapters", Right.READ, make_list(CHAPTER)),
            Route("POST", "", "add", Right.EDIT, CHAPTER, {"title": "The Return", "text": "Rain."}, creates=True),
            Route("GET", "/{chapter}", "read", Right.READ, Answer(ChapterContents, describe_text)),
            Route("PUT", "/{chapter}", "write", Right.EDIT, CHAPTER, {"text": "The lamp was out."}),
            Route(
                "DELETE",
                "/{chapter}",
                "remove",
                Right.EDIT,
                make_record("RemovedChapter", chapter=CHAPTER, documents=Answer(int)),
            ),
            Route("PUT", "/{chapter}/title", "rename", Right.EDIT, CHAPTER, {"title": "The Evening Duty"}),
            Route("PUT", "/{chapter}/story-time", "set_story_time", Right.EDIT, CHAPTER, {"after": "3"}),
            Route("PUT", "/{chapter}/viewpoint", "set_viewpoint", Right.EDIT, CHAPTER, {"character": "Mara"}),
            Route("PUT", "/{chapter}/place", "move", Right.EDIT, CHAPTER, {"after": "3"}),
            Route("POST", "/{chapter}/merge", "merge", Right.EDIT, CHAPTER, {"other": "2"}),
            Route(
                "POST",
                "/split",
                "split",
                Right.EDIT,
                make_record("SplitChapter", first=CHAPTER, second=CHAPTER),
                {"place": "1@100", "title": "The Second Half"},
            ),
            Route(
                "GET",
                "/words",
                "find_words",
                Right.READ,
                make_list(Answer(WordsFoundInfo, describe_words), "chapter.id"),
                {"words": "lamp"},
            ),
            Route(
                "POST",
                "/replace",
                "replace_words",
                Right.EDIT,
                make_record("ReplacedWords", counts=Answer(dict[str, int])),
                {"words": "lamp", "replacement": "lantern"},
            ),
        ),
    )
    + mount(
        "revisions",
        "/projects/{project}/chapters/{chapter}/revisions",
        (
            Route(
                "GET",
                "",
                "list_revisions",
                Right.READ,
                make_record("ChapterRevisions", chapter=CHAPTER, revisions=_REVISIONS),
            ),
            Route(
                "POST", "", "label", Right.EDIT, make_record("NewLabel", revision=Answer(int)), {"name": "draft one"}
            ),
            Route(
                "GET",
                "/differences",
                "compare",
                Right.READ,
                make_list(Answer(LineDifferenceInfo, describe_difference), "line"),
            ),
            Route("POST", "/{revision}/restore", "restore", Right.EDIT, CHAPTER),
        ),
    )
    + mount(
        "outline",
        "/projects/{project}/beats",
        (
            Route("GET", "", "list_beats", Right.READ, make_list(_BEAT), {"document": "1"}),
            Route(
                "POST", "", "add", Right.EDIT, _BEAT, {"document": "1", "text": "Mara finds the page."}, creates=True
            ),
            Route(
                "PUT",
                "/order",
                "reorder",
                Right.EDIT,
                make_list(_BEAT),
                {"document": "1", "items": ["Mara lights the lamp."]},
            ),
            Route("PATCH", "/{beat}", "edit", Right.EDIT, _BEAT, {"text": "Mara hides the page."}),
            Route("PUT", "/{beat}", "set_done", Right.EDIT, _BEAT, {"done": True}),
            Route("DELETE", "/{beat}", "remove", Right.EDIT, _BEAT),
        ),
    )
    + mount(
        "synopses",
        "/projects/{project}/synopses",
        (
            Route("GET", "", "list_synopses", Right.READ, make_list(_SYNOPSIS, "document_id")),
            Route(
                "POST",
                "",
                "make",
                Right.GENERATE,
                Answer(SynopsisRefreshReport, describe_refresh),
                {"chapters": ["1"]},
            ),
            Route("GET", "/texts", "read", Right.READ, make_list(_SYNOPSIS, "document_id"), {"chapters": ["1"]}),
            Route("PUT", "/{chapter}", "write", Right.EDIT, _SYNOPSIS, {"text": "Mara puts out the lamp."}),
            Route("DELETE", "/{chapter}", "remove", Right.EDIT, _SYNOPSIS),
        ),
    )
    + mount(
        "timeline",
        "/projects/{project}/timeline",
        (Route("GET", "", "read", Right.READ, Answer(TimelineInfo, describe_timeline), {"names": ["Mara"]}),),
    )
)
