"""What all views share, in a real browser: header, bar, sheets, dialogs, and where the keyboard is."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.page.conftest import OpenPage
from tests.page.test_axe import find_problems

BAR = re.compile("Open the inspector")


def box_of(locator: Locator) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of something on the page."""
    box = locator.bounding_box()
    assert box is not None
    return box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]


def test_every_view_is_reached_from_a_narrow_header_and_the_present_one_is_marked(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_page(f"#/{story.id}/timeline", width=360, height=740)
    current = page.locator("header nav a[aria-current=page]:visible")
    expect(current).to_have_text("Timeline")
    page.get_by_role("button", name="More").click()
    menu = page.get_by_role("navigation", name="More")
    expect(menu.get_by_role("link")).to_have_count(16)  # all views, and the title of the book
    assert box_of(menu)[2] <= 360
    menu.get_by_role("link", name="Talk").click()
    expect(current).to_have_text("Talk")
    expect(menu).to_be_hidden()


def test_a_wide_menu_holds_what_the_header_lacks(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/codex")
    expect(page.locator("header .book")).not_to_be_empty()  # the title moves the button when it arrives
    page.get_by_role("button", name="More").click()
    menu = page.get_by_role("navigation", name="More")
    expect(menu.get_by_role("link")).to_have_count(9)
    left = box_of(page.get_by_role("button", name="More"))[0]
    assert abs(box_of(menu)[0] - left) < 2


@pytest.mark.parametrize("view", ["codex", "timeline", "constraints", "memory", "settings", "files"])
def test_the_bar_never_leaves(open_page: OpenPage, story: ProjectHandle, view: str) -> None:
    page = open_page(f"#/{story.id}/{view}")
    expect(page.get_by_role("button", name=BAR)).to_be_visible()


def test_the_bar_counts_for_the_same_model_in_every_view(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/write/ch-06")
    total = re.compile(r"/ 6,144 tokens$")
    expect(page.locator(".shell > footer .numbers").first).to_have_text(total)
    page = open_page(f"#/{story.id}/codex")
    expect(page.locator(".shell > footer .numbers").first).to_have_text(total)


def test_the_inspector_stands_on_the_bar_and_gives_the_focus_back(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/write/ch-06")
    bar = page.get_by_role("button", name=BAR)
    bar.focus()
    page.keyboard.press("Enter")
    inspector = page.get_by_role("region", name="Inspector")
    expect(inspector).to_be_focused()
    assert box_of(inspector)[3] == box_of(page.locator(".shell > footer"))[1]
    page.keyboard.press("Escape")
    expect(bar).to_be_focused()


def test_a_sheet_keeps_the_focus_and_gives_it_back(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/codex/mara", width=360, height=740)
    opener = page.get_by_role("button", name="As the model reads it")
    opener.focus()
    page.keyboard.press("Enter")
    sheet = page.get_by_role("dialog", name="As the model reads it")
    expect(sheet).to_be_focused()
    for key in ("Tab", "Tab", "Tab", "Shift+Tab", "Shift+Tab", "Shift+Tab", "Shift+Tab"):
        page.keyboard.press(key)
        assert sheet.evaluate("one => one.contains(document.activeElement)"), key
    assert find_problems(page) == []
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    expect(opener).to_be_focused()


def test_a_sheet_is_headed_once(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/presets", width=360, height=740)
    page.get_by_role("button", name="The prompt, from top to bottom").click()
    sheet = page.get_by_role("dialog", name="The prompt, from top to bottom")
    expect(sheet.get_by_text("The prompt, from top to bottom").locator("visible=true")).to_have_count(1)


def test_headings_keep_their_line_on_a_narrow_page(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/outline", width=360, height=740)
    heading = page.get_by_role("heading", name="Outline", level=1)
    expect(heading).to_be_visible()
    _, top, _, bottom = box_of(heading)
    assert bottom - top < 45


@pytest.mark.parametrize("width", [1440, 360])
def test_a_notice_in_a_full_dialog_is_seen_whole(open_page: OpenPage, story: ProjectHandle, width: int) -> None:
    page = open_page(f"#/{story.id}/write/ch-06", width=width, height=740)
    expect(page.locator(".cm-name").first).to_be_visible()
    page.locator(".cm-content").press("Control+End")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    page.locator(".cm-content").press("Escape")
    page.keyboard.press("Control+Shift+F")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Find", exact=True).fill("the")
    page.keyboard.press("Enter")
    expect(dialog.get_by_text("The answer was rejected.")).to_be_visible()
    expect(dialog.get_by_role("button", name="Undo")).to_be_in_viewport(ratio=1)


def test_the_present_tab_is_in_sight_on_a_narrow_page(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/memory/profile", width=360, height=740)
    tab = page.get_by_role("tab", name="About you")
    expect(tab).to_have_attribute("aria-selected", "true")
    expect(tab).to_be_in_viewport(ratio=0.9)


def test_the_menu_of_selected_text_fits_a_narrow_page(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/write/ch-06", width=360, height=740)
    expect(page.locator(".cm-name").first).to_be_visible()
    page.locator(".cm-content").press("Control+Home")
    line = box_of(page.locator(".cm-line").first)
    page.mouse.dblclick(line[2] - 20, line[1] + 10)
    left, top, right, bottom = box_of(page.get_by_role("toolbar"))
    assert left >= 0
    assert right <= 360
    assert bottom - top < 110


def test_a_dialog_begins_in_its_first_field_and_gives_the_focus_back(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/constraints")
    opener = page.get_by_role("button", name="New constraint")
    opener.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("textbox").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()


def test_a_dialog_about_selected_text_leads_back_into_the_text(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/write/ch-06")
    expect(page.locator(".cm-name").first).to_be_visible()
    page.locator(".cm-line").first.dblclick()
    page.get_by_role("toolbar").get_by_role("button", name="Make it a rule").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".cm-content")).to_be_focused()


def test_the_palette_gives_the_focus_back_however_it_is_closed(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/write/ch-06")
    asked = page.get_by_role("combobox", name="What would you like to do?")
    for field in (page.locator(".cm-content"), page.get_by_label("Instruction")):
        field.click()
        for close in ("Escape", "Control+k", "click", "command"):
            page.keyboard.press("Control+k")
            expect(asked).to_be_focused()
            if close == "click":
                page.mouse.click(5, 300)
            elif close == "command":
                asked.fill("Change between light and dark")
                page.keyboard.press("Enter")
            else:
                page.keyboard.press(close)
            expect(asked).to_have_count(0)
            expect(field).to_be_focused()


@pytest.mark.parametrize("command", ["Constraints", "Files", "Settings", "History manager"])
def test_a_view_that_the_palette_opens_takes_the_focus(open_page: OpenPage, story: ProjectHandle, command: str) -> None:
    page = open_page(f"#/{story.id}/write/ch-06")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="What would you like to do?").fill(command)
    page.keyboard.press("Enter")
    expect(page.get_by_role("main").get_by_role("heading").first).to_be_focused()


def test_a_view_without_a_heading_gives_the_focus_to_its_text_or_first_field(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_page(f"#/{story.id}/settings")
    for command, label in (("Write", "Text of the chapter"), ("Codex", "Find a name, a word or a tag")):
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="What would you like to do?").fill(command)
        expect(page.get_by_role("listbox", name="Commands").get_by_role("option").first).to_contain_text(command)
        page.keyboard.press("Enter")
        expect(page.get_by_label(label)).to_be_focused()


def test_control_enter_saves_a_form_and_no_composed_character_does(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/codex/new")
    page.get_by_label("Name", exact=True).fill("Odile Marsh")
    page.get_by_label("Description").fill("Keeps bees.")
    page.get_by_label("Description").evaluate(
        """one => one.dispatchEvent(new KeyboardEvent("keydown",
            { key: "Enter", ctrlKey: true, isComposing: true, bubbles: true, cancelable: true }))"""
    )
    page.get_by_label("Tags").focus()
    assert "codex/new" in page.url
    page.get_by_label("Description").press("Control+Enter")
    expect(page.get_by_role("heading", name="Odile Marsh")).to_be_visible()
    assert story.codex.find("Odile Marsh").description == "Keeps bees."
    page.get_by_role("button", name="Add a change").click()
    page.get_by_role("dialog").get_by_label("What becomes true").fill("Sells the hives.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("region", name="What changes").get_by_text("Sells the hives.")).to_be_visible()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("dialog")).to_be_visible()  # what deletes is pressed by itself


def test_the_entry_of_a_name_is_opened_by_a_key(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/write/ch-06")
    expect(page.locator(".cm-name").first).to_be_visible()
    page.locator(".cm-content").press("Control+Home")
    page.locator(".cm-name", has_text="Will Tarn").first.click()
    page.keyboard.press("Control+.")
    expect(page.get_by_role("heading", name="Will Tarn", level=1)).to_be_visible()


def test_the_strip_of_an_entry_is_walked_with_the_arrows(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/codex/mara")
    cells = page.get_by_role("group", name="Through the book").get_by_role("link")
    expect(cells).to_have_count(7)
    page.get_by_role("main").get_by_role("button", name="Delete", exact=True).focus()
    page.keyboard.press("Tab")
    expect(cells.first).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(cells.nth(2)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("input.title")).to_have_value("What the Landing Knew")


def test_a_chapter_is_deleted_without_a_key_and_comes_back(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/write/ch-06")
    expect(page.locator("input.title")).to_have_value("The Cut Leaf")
    page.get_by_role("button", name="Delete this chapter").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_role("treeitem", name="The Cut Leaf")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("treeitem", name="The Cut Leaf")).to_be_visible()


def test_a_name_of_a_person_is_not_broken_into_letters_on_a_narrow_page(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle
) -> None:
    workspace.people.add("ann", name="Ann Tarn", password="a long one")
    page = open_page(f"#/{story.id}/people", width=360, height=740)
    heading = box_of(page.get_by_role("heading", name="Ann Tarn"))
    assert heading[3] - heading[1] < 40


def test_what_is_chosen_in_a_list_does_not_run_under_its_arrow(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/timeline")
    choice = page.get_by_label("Whose knowledge")
    expect(choice).to_be_visible()
    style = choice.evaluate("one => [getComputedStyle(one).paddingRight, getComputedStyle(one).textOverflow]")
    assert style == ["26px", "ellipsis"]


def test_an_empty_list_of_constraints_offers_the_first_step(open_page: OpenPage, workspace: Workspace) -> None:
    made = workspace.create_project("An Empty Book")
    page = open_page(f"#/{made.id}/constraints")
    page.locator(".empty").get_by_role("button", name="New constraint").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def test_the_provider_that_writes_is_told_apart_from_its_name(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/settings")
    expect(page.locator(".chosen")).to_contain_text("Demo (prepared sentences) writes in this book")


def test_a_card_shows_no_score_until_it_is_opened(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/write/ch-06")
    page.get_by_role("button", name=BAR).click()
    card = page.get_by_role("region", name="Inspector").locator("article").first
    expect(card).to_be_visible()
    expect(card.get_by_text("score")).to_be_hidden()
    card.locator("summary").click()
    expect(card.get_by_text("score")).to_be_visible()


def test_a_view_that_is_left_asks_for_nothing_of_the_next_one(open_page: OpenPage, story: ProjectHandle) -> None:
    """A chapter is no conversation and no entry, though its id stands at the same place of the address."""
    page = open_page(f"#/{story.id}/codex/mara")
    refused: list[str] = []
    page.on("response", lambda one: refused.append(one.url) if one.status == 404 else None)
    page.get_by_role("link", name=re.compile("The Cut Leaf")).first.click()
    expect(page.get_by_label("Title of the chapter")).to_have_value("The Cut Leaf")
    page.goto(f"{page.url.split('#')[0]}#/{story.id}/talk")
    expect(page.get_by_role("button", name="New conversation").first).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Title of the chapter")).to_have_value("The Cut Leaf")
    expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    assert refused == []
