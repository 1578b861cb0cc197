"""Routes of lorebooks (inj-7, inj-8)."""

from __future__ import annotations

from typing import Any

from fabula.access.model import Right
from fabula.lorebook.edits import Lorebook
from fabula.lorebook.model import LorebookContents
from fabula.server.routes.codex import ENTRY
from fabula.server.routes.route import Answer, Call, Route, make_list, make_record, mount
from fabula.workspace.lorebooks import LorebookSummary
from fabula.workspace.schemas.codex import EntryInfo
from fabula.workspace.schemas.lorebooks import (
    LorebookInfo,
    LorebookPage,
    LoreVerdictInfo,
    describe_contents,
    describe_lorebook,
    describe_trial,
)


def _describe_book(book: Lorebook) -> LorebookInfo:
    return describe_lorebook(LorebookSummary(book, None))


def _describe_pair(found: tuple[Lorebook, LorebookContents], language: str) -> LorebookPage:
    return describe_contents(*found, language)


def _describe_entries(found: list[Any], call: Call) -> list[EntryInfo]:
    return [ENTRY.make(one, call) for one in found]


BOOK = Answer(LorebookInfo, _describe_book)
CONTENTS = Answer(LorebookPage, _describe_pair)
SENTENCES = Answer(list[str], lambda found, language: [one.render(language) for one in found])
_FIELDS = {"fields": {"key": ["lamp"], "content": "The lamp burns whale oil."}}
_FIRST = {"entry": "0"}

ROUTES = mount(
    "lorebooks",
    "/projects/{project}/lorebooks",
    (
        Route("GET", "", "list_lorebooks", Right.READ, make_list(Answer(LorebookInfo, describe_lorebook), "book.id")),
        Route("POST", "", "create", Right.EDIT, BOOK, {"name": "Ships"}, creates=True),
        Route(
            "POST",
            "/try",
            "try_text",
            Right.READ,
            make_record("LorebookVerdicts", verdicts=Answer(list[LoreVerdictInfo], describe_trial)),
            {"text": "The lamp went out."},
        ),
        Route("GET", "/{book}", "read", Right.READ, CONTENTS),
        Route("PATCH", "/{book}", "use", Right.EDIT, BOOK, {"active": True}),
        Route("DELETE", "/{book}", "remove", Right.EDIT, BOOK),
        Route(
            "POST",
            "/{book}/entries",
            "add_entry",
            Right.EDIT,
            make_record("NewLoreEntry", book=BOOK, entry=Answer(int)),
            _FIELDS,
            creates=True,
        ),
        Route("PATCH", "/{book}/entries/{entry}", "edit_entry", Right.EDIT, BOOK, _FIELDS, path_example=_FIRST),
        Route("DELETE", "/{book}/entries/{entry}", "remove_entry", Right.EDIT, BOOK, path_example=_FIRST),
        Route(
            "PUT",
            "/{book}/entries/{entry}/limits",
            "limit_entry",
            Right.EDIT,
            BOOK,
            {"since": "2"},
            path_example=_FIRST,
        ),
        Route(
            "POST",
            "/{book}/codex",
            "make_codex_entries",
            Right.EDIT,
            make_record(
                "LorebookAsEntries", book=BOOK, entries=Answer(list[EntryInfo], _describe_entries), warnings=SENTENCES
            ),
        ),
    ),
)
