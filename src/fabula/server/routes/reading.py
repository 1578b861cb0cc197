"""Routes of reading: what a caller may read of a story, chapter by chapter and entry by entry (ctx-12)."""

from __future__ import annotations

from fabula.access.model import Right
from fabula.server.routes.route import Answer, Route, make_list, make_record, mount
from fabula.workspace.reading import ReadableText
from fabula.workspace.schemas.reading import ReadableContents, ReadableInfo, describe_contents, describe_readable

_ITEM = Answer(ReadableInfo, describe_readable)


def _describe_whole(text: ReadableText) -> ReadableContents:
    return describe_contents(text, 0, text.length)


_TEXT = Answer(ReadableContents, _describe_whole)
_SYNOPSES = make_record(
    "ReadableSynopses", synopses=Answer(list[ReadableContents], lambda found: [_describe_whole(one) for one in found])
)

ROUTES = mount(
    "reading",
    "/projects/{project}/reading",
    (
        Route("GET", "/chapters", "list_chapters", Right.ASSEMBLE, make_list(_ITEM)),
        Route("GET", "/chapters/{chapter}", "read_chapter", Right.ASSEMBLE, _TEXT),
        Route("GET", "/synopses", "read_synopses", Right.ASSEMBLE, _SYNOPSES, {"chapters": ["1"]}),
        Route("GET", "/entries", "list_entries", Right.ASSEMBLE, make_list(_ITEM), {"kind": "character"}),
        Route("GET", "/entries/{entry}", "read_entry", Right.ASSEMBLE, _TEXT),
        Route("GET", "/recaps", "list_recaps", Right.ASSEMBLE, make_list(_ITEM)),
        Route("GET", "/recaps/{conversation}", "read_recap", Right.ASSEMBLE, _TEXT),
    ),
)
