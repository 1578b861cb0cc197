"""Runs and jobs in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from fabula.jobs.tables import jobs
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.page.conftest import OpenPage
from tests.page.test_axe import find_problems
from tests.page.test_desk import open_chapter, type_at_end, wait_outcome


def fail_job(workspace: Workspace, story: ProjectHandle, key: str = "synopsis:ch-02") -> None:
    with workspace.store.write(project=story.id) as tx:
        failed = {"state": "failed", "why": "LLM_NO_KEY", "note": "There is no key for openai.", "tries": 3}
        tx.update_rows(jobs, failed, jobs.c.key == key)


def test_a_job_that_failed_says_why_and_is_tried_again(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle
) -> None:
    fail_job(workspace, story)
    page = open_page(f"#/{story.id}/runs")
    title = story.chapters.read("ch-02").record.title
    failed = page.get_by_role("listitem").filter(has_text=title).filter(has_text="failed")
    expect(failed).to_contain_text("There is no key for openai.")
    failed.get_by_role("button", name="Try again").click()
    expect(failed).to_have_count(0)
    assert workspace.list_jobs(story.id, states=["failed"])[0].jobs == []


def test_work_is_stopped_and_goes_on_without_a_reload(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle
) -> None:
    page = open_page(f"#/{story.id}/runs")
    expect(page.get_by_role("progressbar", name="Synopsis")).to_be_visible()
    page.get_by_role("button", name="Stop all").click()
    expect(page.get_by_role("progressbar", name="Synopsis")).to_have_count(0)
    story.jobs.retry("synopsis:ch-01")
    workspace.run_jobs(threads=1)
    expect(page.get_by_text("1 done")).to_be_visible()


def test_the_limit_of_a_month_is_set(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/runs")
    page.get_by_label("Limit a month").fill("2.5")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_text("of US$2.50")).to_be_visible()
    assert story.jobs.read_spending().budget == 2_500_000


def test_an_answer_shows_what_became_of_it_and_what_its_model_saw(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    other = open_page(f"#/{story.id}/runs")
    expect(other.get_by_text("No model has written anything here yet.")).to_be_visible()
    workspace.settings().set("runs.keepPrompts", True, scope="person")
    type_at_end(page, "")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    page.locator(".cm-content").press("Escape")
    wait_outcome(story, "rejected")
    answer = other.get_by_role("option").first  # came without a reload
    expect(answer).to_contain_text("rejected")
    answer.click()
    run = story.runs.list_runs()[0]
    expect(other.locator("article .text")).to_have_text(run.answer)
    saw = other.locator("aside.right")
    expect(saw).to_contain_text("Codex")
    expect(saw).to_contain_text("Mara Venn")
    expect(saw.locator("pre")).to_contain_text((run.prompt or "")[:40].strip())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_runs_and_jobs(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle, theme: str
) -> None:
    fail_job(workspace, story)
    for width in (1440, 360):
        page = open_page(f"#/{story.id}/runs", theme=theme, width=width)
        expect(page.get_by_role("heading", name="This month")).to_be_visible()
        assert find_problems(page) == []
