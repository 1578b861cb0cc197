"""People, roles, keys and sessions in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.page.conftest import OpenPage
from tests.page.running import PageServer
from tests.page.test_axe import find_problems


def let_in(page: Page, account: str, name: str, password: str = "") -> None:
    page.get_by_role("button", name="Let somebody in").click()
    page.get_by_label("Account").fill(account)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Let in", exact=True).click()


def test_somebody_is_let_in_gets_a_role_and_signs_in_by_a_link(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle, server: PageServer
) -> None:
    page = open_page(f"#/{story.id}/people")
    let_in(page, "Not a name", "Ann Tarn")
    expect(page.get_by_role("alert")).to_contain_text("cannot be the name of an account")
    page.get_by_label("Account").fill("ann")
    page.get_by_role("button", name="Let in", exact=True).click()
    card = page.get_by_role("region", name="Ann Tarn")
    title = story.view.project.title
    card.get_by_label("Add a book for Ann Tarn").select_option(label=title)
    role = card.get_by_label(f"Role of Ann Tarn in “{title}”")
    expect(role).to_have_value("reader")
    role.select_option("player")
    page.get_by_label("Sees through").select_option(label="Mara Venn")
    page.get_by_role("button", name="Save").click()
    expect(card).to_contain_text("sees through Mara Venn")
    role.select_option("editor")
    expect(card).not_to_contain_text("sees through")
    assert workspace.people.find("ann").memberships[story.id].role == "editor"

    card.get_by_role("button", name="Link to sign in").click()
    link = page.get_by_role("textbox", name="Link to sign in").input_value()
    page.get_by_role("dialog").get_by_role("button", name="Close", exact=True).click()
    guest = open_page("", link=link)
    expect(guest.get_by_role("link", name=title)).to_be_visible()
    guest.goto(f"{server.url}/#/{story.id}/people")
    expect(guest.get_by_role("button", name="Let somebody in")).to_have_count(0)

    page.get_by_role("tab", name="Signed in").click()
    page.get_by_role("button", name="Sign out everywhere Ann Tarn").click()
    expect(page.get_by_role("heading", name="Ann Tarn")).to_have_count(0)
    page.get_by_role("tab", name="People").click()
    card.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Nobody but you")).to_be_visible()
    assert workspace.people.list_all() == []


def test_a_key_is_shown_once_and_revoked(open_page: OpenPage, workspace: Workspace, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/people/keys")
    page.get_by_role("button", name="New key").click()
    page.get_by_label("What it is for").fill("my script")
    page.get_by_role("checkbox", name="read", exact=True).check()
    page.get_by_role("button", name="Make the key").click()
    secret = page.get_by_role("textbox", name="This is the key").input_value()
    assert secret.startswith("fabula-")
    page.get_by_role("button", name="Done").click()
    key = page.get_by_role("listitem").filter(has_text="my script")
    expect(key).to_contain_text("all books · read")
    assert secret not in page.content()
    page.get_by_role("button", name="Revoke my script").click()
    expect(key).to_have_count(0)
    assert workspace.people.list_keys()[0].revoked_at is not None


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_people_and_keys(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle, theme: str
) -> None:
    workspace.people.add("ann", name="Ann Tarn", password="a long one")
    workspace.people.set_role("ann", story.id, "editor")
    workspace.people.create_key("my script")
    for tab, shown in (("people", "Ann Tarn"), ("keys", "my script"), ("sessions", "you, the owner")):
        page = open_page(f"#/{story.id}/people/{tab}", theme=theme, width=360)
        expect(page.get_by_text(shown).first).to_be_visible()
        assert find_problems(page) == []
