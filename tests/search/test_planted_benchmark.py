"""The benchmark of planted details reads other cases and other novels, and counts each kind by itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from benchmarks import planted

SENTENCE = "Brannoch had sworn to his drowned sister that he would never set foot upon the causeway."
CASE = f'''
[[plant]]
at = 0.1
later = 0.9
link = "name+word"
sentence = "{SENTENCE}"
scene = """
Brannoch stopped where the sand began. The others were half across the causeway, and called to him.
"""

[[plant]]
at = 0.2
later = 0.8
link = "paraphrase"
sentence = "The miller kept nine hives behind the chapel wall."
scene = """
Nobody spoke of it at supper.
"""
'''


def write_case(folder: Path) -> Path:
    """A folder with the cases, and a file with an English novel behind a Chinese one."""
    folder.mkdir()
    (folder / "planted_en.toml").write_text(CASE, encoding="utf-8")
    (folder / "planted_zh.toml").write_text("plant = []", encoding="utf-8")
    english = [
        {"novel": "coast", "n": n, "title": f"Chapter {n}", "text": f"Day {n} was grey.\n\nThe nets hung there.\n" * 20}
        for n in range(20)
    ]
    chinese = [{"novel": "山", "n": 1, "title": "一", "text": "山高路远。" * 50}]
    book = folder / "novels.jsonl"
    book.write_text("\n".join(map(json.dumps, [*chinese, *english])), encoding="utf-8")
    return book


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, float]:
    """The figures that the benchmark prints."""
    monkeypatch.setattr(sys, "argv", ["planted", *arguments, "--json"])
    planted.main()
    figures: dict[str, float] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return figures


def test_other_cases_and_novels_are_measured_by_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    book = write_case(tmp_path / "cases")
    cases = str(tmp_path / "cases")
    figures = run(monkeypatch, capsys, "--cases", cases, "--book", f"en={book}", "--book", f"zh={book}")
    assert figures["found_name_word"] == 100
    assert {"found", "found_name", "found_paraphrase", "bm25_scene"} <= figures.keys()


def test_a_book_of_no_language_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    book = write_case(tmp_path / "cases")
    with pytest.raises(SystemExit):
        run(monkeypatch, capsys, "--cases", str(tmp_path / "cases"), "--book", str(book))
    assert "en=FILE" in capsys.readouterr().err


def test_the_open_cases_are_of_three_kinds_in_both_languages() -> None:
    for language in ("en", "zh"):
        plants = planted.read_plants("zh" if language == "zh" else "en", planted.KINDS_CASES)
        assert [sum(plant.link == kind for plant in plants) for kind in planted.KINDS] == [8, 8, 8]
