"""What an import says of chapters that are probably several."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabula.core.messages import show
from fabula.store.store import Store
from fabula.workspace.transfer import MAX_USUAL_WORDS, import_file

LONG = "She went on over the hills. " * (MAX_USUAL_WORDS // 6 + 1)


def test_a_book_that_became_one_chapter_says_so_and_how_to_split_it(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "hills.txt"
    file.write_text(LONG, "utf-8")
    report = import_file(store, file)
    (warning,) = report.warnings
    said = show(warning, "en")
    assert report.documents == 1
    assert said.startswith("“hills” came in as one chapter of 30,006 words. Put a heading over each chapter")
    assert "Split the chapter at the cursor" in said
    assert "fabula chapter split" in show(warning, "en", on_command_line=True)
    assert "只有一章" in show(warning, "zh")


@pytest.mark.parametrize("heading", ["# {}", "Chapter {}"])
def test_a_book_with_headings_says_nothing_of_its_length(store: Store, tmp_path: Path, heading: str) -> None:
    half = LONG[: len(LONG) // 2]
    file = tmp_path / "hills.txt"
    file.write_text("\n\n".join(f"{heading.format(number)}\n\n{half}" for number in (1, 2)), "utf-8")
    assert import_file(store, file).warnings == ()


def test_of_several_long_chapters_the_longest_is_named(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "hills.txt"
    file.write_text(f"Chapter 1\n\n{LONG}\n\nChapter 2\n\n{LONG} {LONG}", "utf-8")
    (warning,) = import_file(store, file).warnings
    assert show(warning, "en").startswith("2 chapters have more than 30,000 words; “Chapter 2” has 60,012.")
