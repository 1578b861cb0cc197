"""`docs/verbs.md` is the page that the classes of the workspace write."""

from __future__ import annotations

from pathlib import Path

from fabula.workspace.codex import CodexVerbs
from fabula.workspace.docs import list_subjects, list_verbs, write_page
from fabula.workspace.project import ProjectHandle

PAGE = Path(__file__).parents[2] / "docs" / "verbs.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == write_page(), "run: python -m fabula.workspace.docs"


def test_every_verb_is_on_it_with_a_sentence() -> None:
    sections = write_page().split("\n## ")[1:]
    assert len(sections) == len(list_subjects()) > 20
    for section, kind in zip(sections, list_subjects().values(), strict=True):
        rows = [row for row in section.splitlines() if row.startswith("- ")]
        assert len(rows) == len(list_verbs(kind)) > 0
        assert all(row.endswith((".", ")", "?", "!", "`")) for row in rows), rows
        assert not any("<" in row.partition("`: ")[0].replace("->", "") for row in rows)


def test_help_on_a_subject_is_that_of_its_verbs() -> None:
    assert ProjectHandle.codex is CodexVerbs
