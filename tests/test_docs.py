"""The pages tell the truth: every code is listed, every example runs, nothing of one machine is in the repository."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from fabula.context.trace import EXPLANATIONS, Reason
from fabula.core.errors import Code
from fabula.core.version import __version__

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_OF_ONE_MACHINE = re.compile(r"(?<![\w./-])/(?:work|root|home)(?![\w-])")
_PACKAGE_INDEX = re.compile(
    r"https?://[^\s\"']*(?:pypi|pythonhosted|npmjs|yarnpkg|npmmirror)|--(?:extra-)?index-url[ =]|\"resolved\":\s*\"http"
)
_MEGABYTE = 1_000_000


@cache
def tracked() -> tuple[Path, ...]:
    """Every file of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return tuple(path for name in listed.split("\0") if name and (path := ROOT / name).is_file())


def offending(pattern: re.Pattern[str]) -> list[str]:
    found: list[str] = []
    for path in tracked():
        for number, line in enumerate(path.read_bytes().decode(errors="replace").splitlines(), start=1):
            if pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    return found


def examples() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        text = page.read_text("utf-8")
        for example in _EXAMPLE.finditer(text):
            yield f"{page.name}:{text.count(chr(10), 0, example.start()) + 1}", example[1]


def has_a_row(page: str, value: str) -> bool:
    """Does a table of the page have a row for it?"""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return re.search(rf"^\|\s*`?{re.escape(value)}`?\s*\|\s*\S", text, re.MULTILINE) is not None


@pytest.mark.parametrize("code", list(Code), ids=str)
def test_every_code_is_listed_with_its_meaning(code: Code) -> None:
    assert has_a_row("errors.md", code.value)


@pytest.mark.parametrize("reason", list(Reason), ids=str)
def test_every_reason_is_listed_with_its_meaning(reason: Reason) -> None:
    assert has_a_row("reasons.md", reason.value)


@pytest.mark.parametrize("page", ["errors.md", "reasons.md"])
def test_nothing_is_listed_that_does_not_exist(page: str) -> None:
    known = {code.value for code in Code} | {reason.value for reason in Reason}
    text = (ROOT / "docs" / page).read_text("utf-8")
    listed = re.findall(r"^\|\s*`?([A-Z]+(?:_[A-Z]+)*)`?\s*\|", text, re.MULTILINE)
    assert [name for name in listed if name not in known] == []


def test_every_reason_has_its_words() -> None:
    assert set(EXPLANATIONS) == set(Reason)


def test_the_readme_has_examples() -> None:
    assert any(name.startswith("README.md") for name, _ in examples())


@pytest.mark.parametrize(("name", "source"), list(examples()), ids=[name for name, _ in examples()])
def test_every_python_example_runs(name: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(source, name, "exec"), {"__name__": "example"})


def test_what_pages_and_programs_import_is_public() -> None:
    """A name that a page teaches is in the `__all__` of the package that it is imported from."""
    programs = [(path.name, path.read_text("utf-8")) for path in sorted((ROOT / "examples").glob("*.py"))]
    private = [
        f"{name}: from {node.module} import {alias.name}"
        for name, source in (*examples(), *programs)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("fabula")
        for alias in node.names
        if alias.name not in getattr(import_module(node.module), "__all__", ())
    ]
    assert private == []


def test_pages_teach_verbs_and_no_transactions() -> None:
    assert [name for name, source in examples() if "store.write(" in source or "edits." in source] == []


def test_the_readme_says_at_once_how_to_run_and_test_it() -> None:
    beginning = "\n".join((ROOT / "README.md").read_text("utf-8").splitlines()[:40])
    assert "make run" in beginning
    assert "make test" in beginning


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = [link for link in _LINK.findall(page.read_text("utf-8")) if "://" not in link and ":" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_no_file_names_a_path_of_one_machine() -> None:
    assert offending(_OF_ONE_MACHINE) == []


def test_no_file_names_a_package_index() -> None:
    assert offending(_PACKAGE_INDEX) == []


def test_no_file_is_larger_than_a_megabyte() -> None:
    assert [str(path.relative_to(ROOT)) for path in tracked() if path.stat().st_size > _MEGABYTE] == []


def test_the_changelog_tells_of_this_version() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert __version__ in headings


def test_the_pages_hold_no_unfilled_places() -> None:
    """A word in capitals alone on its line is a place somebody meant to fill."""
    left = [
        f"{page.name}: {line}"
        for page in (*PAGES, ROOT / "CHANGELOG.md")
        for line in page.read_text("utf-8").splitlines()
        if re.fullmatch(r"[A-Z]{4,}", line.strip())
    ]
    assert left == []
