"""`docs/settings.md` is the page that the registry writes."""

from __future__ import annotations

from pathlib import Path

from fabula.settings.docs import write_page
from fabula.settings.registry import SETTINGS

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == write_page(), "run: python -m fabula.settings.docs"


def test_every_setting_is_on_it_once() -> None:
    page = write_page()
    assert all(page.count(f"\n| `{name}` |") == 1 for name in SETTINGS)
