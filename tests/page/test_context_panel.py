"""The panel of what the model knows, in a real browser: pins, exclusions and the sum of the parts."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Request, expect

from fabula.workspace.project import ProjectHandle
from tests.page.conftest import OpenPage


def _inspected(request: Request) -> dict[str, Any]:
    """Return what a request asks the inspector for; nothing where it is another one."""
    return (request.post_data_json or {}) if request.url.endswith("/inspect") else {}


def test_what_is_left_out_stays_so_after_a_reload_and_only_entries_can_be_pinned(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_page(f"#/{story.id}/write/ch-06")
    cards = page.locator("aside.right article")
    entry = cards.and_(page.locator("[data-source^='codex:']")).first
    expect(entry).to_be_visible()
    source = entry.get_attribute("data-source") or ""
    others = cards.and_(page.locator(":not([data-source^='codex:']):not([data-source^='lorebook:'])"))
    expect(others.get_by_role("button", name=re.compile("^Pin"))).to_have_count(0)
    entry.get_by_role("button", name=re.compile("^Leave out")).click()
    card = page.locator(f"aside.right article[data-source='{source}'].out")
    expect(card).to_contain_text("left out by you")
    page.reload()
    expect(card).to_contain_text("left out by you")
    expect(page.get_by_text("You left 1 thing out here.")).to_be_visible()
    page.get_by_role("button", name="Take all of it back").click()
    expect(card).to_have_count(0)
    page.reload()
    expect(page.locator(f"aside.right article[data-source='{source}']:not(.out)")).to_be_visible()
    page.locator(f"aside.right article[data-source='{source}']").get_by_role("button", name=re.compile("^Pin")).click()
    expect(page.get_by_text("1 thing is pinned here.")).to_be_visible()


def test_the_parts_of_the_bar_add_up(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/write/ch-06")
    bar = page.get_by_role("button", name=re.compile("Framing of the messages .* Open the inspector"))
    expect(bar).to_be_visible()
    label = bar.get_attribute("aria-label") or ""
    parts, _, total = label.partition(":")
    numbers = [int(one.replace(",", "")) for one in re.findall(r" (\d[\d,]*)(?=, |$)", parts)]
    assert len(numbers) > 4
    assert f"{sum(numbers):,}" in total
    expect(page.locator("footer .numbers").first).to_contain_text(f"{sum(numbers):,} /")


def test_the_bar_counts_for_the_model_of_the_desk_after_a_conversation(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    story.chat.start(["Mara Venn"], title="Pier")
    page = open_page(f"#/{story.id}/write/ch-06")
    budget = page.locator("footer .numbers").first
    expect(budget).to_contain_text("/ 6,144")
    page.goto(re.sub("write/.*", "talk/Pier", page.url))
    page.get_by_label("Which model answers").select_option("clipboard")
    expect(budget).not_to_contain_text("/ 6,144")
    page.goto(re.sub("talk/.*", "codex", page.url))
    expect(budget).to_contain_text("/ 6,144")


def test_what_is_tried_is_written_with_and_another_place_is_only_looked_at(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_page(f"#/{story.id}/write/ch-06")
    expect(page.locator(".cm-name").first).to_be_visible()
    page.get_by_role("button", name=re.compile("Open the inspector")).click()
    inspector = page.get_by_role("region", name="Inspector")
    window = inspector.get_by_label(re.compile("^Window:"))
    window.fill("16384")
    asking = page.get_by_role("complementary", name="Assistant")
    expect(asking.get_by_text("Next answers, as you chose in the inspector: window 16,384 tokens.")).to_be_visible()
    with page.expect_request(lambda one: _inspected(one).get("documentId") == "ch-02"):
        inspector.get_by_label("Chapter", exact=True).select_option("ch-02")
    expect(inspector.get_by_text("Answers are written where the cursor is.")).to_be_visible()
    with page.expect_request(lambda one: _inspected(one).get("documentId") == "ch-06") as again:
        inspector.get_by_role("button", name="Reset").click()
    assert _inspected(again.value)["window"] == 8192  # that of the demo
    expect(asking.get_by_text("Next answers")).to_have_count(0)
