"""A player in a real browser: talks as the own character, reads what it knows, and learns nothing else."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Response, expect

from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.page.conftest import OpenPage
from tests.page.running import PageServer
from tests.page.test_axe import find_problems

PEOPLE = ["Mara Venn", "Hope Tarn", "Will Tarn", "Grace Odell"]
SECRET, ELSEWHERE, WHISPER = "siltcrown", "cobaltwell", "zephyrknot"


@pytest.fixture
def player(workspace: Workspace, story: ProjectHandle) -> str:
    """A link for Ann, who plays Mara Venn in a round of werewolf, and may read the first two chapters."""
    story.codex.add("Crown", description=f"The {SECRET} lies in the well.", known_to=["Hope Tarn"])
    night = story.chat.start(participants=PEOPLE, mode="werewolf", title="Night").record.id
    story.conversations.record(night, f"Psst: {WHISPER}.", speaker="Hope Tarn", audience=["Will Tarn"])
    other = story.chat.start(["Hope Tarn"], title="Elsewhere").record.id
    story.conversations.record(other, f"Meet me at the {ELSEWHERE}.", speaker="Hope Tarn")
    workspace.people.add("ann", name="Ann Lee")
    workspace.people.set_role("ann", story.id, "player", character="Mara Venn", documents=["ch-01", "ch-02"])
    return workspace.people.create_link("ann")


def open_as_player(open_page: OpenPage, server: PageServer, code: str, place: str, **given: object) -> Page:
    page = open_page("", link=f"{server.url}/open/{code}", **given)
    expect(page.get_by_role("link", name="The Lantern Coast")).to_be_visible()
    page.goto(f"{server.url}/{place}")
    return page


def test_a_player_talks_as_the_own_character_and_learns_no_role_of_others(
    open_page: OpenPage, server: PageServer, story: ProjectHandle, player: str
) -> None:
    page = open_as_player(open_page, server, player, f"#/{story.id}")
    answers: list[str] = []

    def look(answer: Response) -> None:
        if "/api/" in answer.url and "/events" not in answer.url and answer.request.method != "OPTIONS":
            answers.append(answer.text())

    page.on("response", look)
    expect(page.get_by_text("You play Mara Venn")).to_be_visible()
    for view in ("Codex", "Timeline", "Memory"):
        expect(page.get_by_role("link", name=view)).to_have_count(0)  # they are not for players
    expect(page.get_by_role("option")).to_have_count(1)
    page.get_by_role("option", name="Night").click()
    log = page.get_by_role("log")
    expect(log).to_contain_text(re.compile(r"You are (a|the) (werewolf|villager|seer)"))
    expect(log.locator("b", has_text=re.compile("^$"))).to_have_count(0)  # a game speaks without a name
    page.get_by_label(re.compile("Say something")).fill("*She looks around.* Who is it?")
    page.get_by_role("button", name="Send").click()
    expect(log.locator("em", has_text="She looks around.")).to_be_visible()
    expect(log.locator("section.own b")).to_have_text("Mara Venn")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    expect(log.get_by_text(re.compile(r"You are (a|the) (werewolf|villager|seer)"))).to_have_count(1)
    expect(page.get_by_role("button", name=re.compile("hidden roles"))).to_have_count(0)
    page.keyboard.press("Control+Shift+i")
    expect(page.get_by_role("region", name="Inspector")).to_have_count(0)
    page.wait_for_timeout(500)
    said = "\n".join(answers)
    assert "Who is it?" in said
    assert [word for word in (SECRET, ELSEWHERE, WHISPER) if word in said] == []


def test_a_player_reads_and_searches_what_the_character_knows(
    open_page: OpenPage, server: PageServer, story: ProjectHandle, player: str
) -> None:
    page = open_as_player(open_page, server, player, f"#/{story.id}/read")
    contents = page.get_by_role("navigation", name="Read")
    expect(contents.get_by_role("link", name="Mara Venn")).to_be_visible()
    expect(contents.get_by_role("link", name="Crown")).to_have_count(0)
    contents.get_by_role("link", name=re.compile("The Morning Duty")).click()
    expect(page.get_by_role("heading", name=re.compile("The Morning Duty"))).to_be_visible()
    nothing = f"Nothing that your character knows has “{SECRET}”."
    for words, shown in (("lamp", re.compile(r"passages? with “lamp”")), (SECRET, nothing)):
        page.get_by_role("searchbox").fill(words)
        page.get_by_role("button", name="Search", exact=True).click()
        expect(page.get_by_role("status").filter(has_text=shown)).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_the_book_of_a_player(
    open_page: OpenPage, server: PageServer, story: ProjectHandle, player: str, theme: str
) -> None:
    page = open_as_player(open_page, server, player, f"#/{story.id}/talk", theme=theme, width=360)
    page.get_by_role("option", name="Night").click()
    expect(page.get_by_role("log")).to_be_visible()
    assert find_problems(page) == []
    page.goto(f"{server.url}/#/{story.id}/read/chapters/ch-01")
    expect(page.get_by_role("heading", name=re.compile("The Morning Duty"))).to_be_visible()
    assert find_problems(page) == []
