"""The paths a person takes at the desk, in a real browser."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import Page, Route, expect

from fabula.core.story import Position
from fabula.manuscript.tables import marks
from fabula.search.need_edits import store_place
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.page.conftest import OpenPage
from tests.page.running import PageServer
from tests.page.test_axe import find_problems

SAVED = re.compile("^Saved$")


def open_chapter(open_page: OpenPage, story: ProjectHandle, chapter: str = "ch-06", **settings: object) -> Page:
    page = open_page(f"#/{story.id}/write/{chapter}", **settings)
    expect(page.locator(".cm-content")).to_contain_text(read_end(story, chapter))
    return page


def read_end(story: ProjectHandle, chapter: str) -> str:
    """The last words of a chapter, where it opens; of a long one, only what is near is drawn."""
    return story.chapters.read(chapter).text.rstrip().rpartition("\n")[2][-30:]


def type_at_end(page: Page, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type(text)


def show_end(page: Page) -> None:
    """Scroll to the end, since only what is visible is drawn."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")


def wait_text(story: ProjectHandle, chapter: str, expected: str) -> None:
    """Wait until the server has a text."""
    for _ in range(100):
        if story.chapters.read(chapter).text == expected:
            return
        time.sleep(0.1)
    assert story.chapters.read(chapter).text == expected


def wait_outcome(story: ProjectHandle, outcome: str, *, variants: int = 1) -> None:
    """Wait until the server knows what became of the last answer; variants are recorded in any order."""

    def has_come() -> bool:
        return outcome in [run.outcome for run in story.runs.list_runs()[:variants]]

    for _ in range(100):
        if has_come():
            return
        time.sleep(0.1)
    assert has_come()


def open_inspector(page: Page) -> None:
    page.get_by_role("button", name=re.compile("Open the inspector")).click()


def wait_saved(page: Page) -> None:
    expect(page.locator("header .state")).to_have_text(SAVED)


def test_from_the_first_start_to_a_sentence_are_three_clicks(open_page: OpenPage, workspace: Workspace) -> None:
    page = open_page()
    page.get_by_role("button", name="Open “The Lantern Coast”").click()
    page.get_by_role("button", name=re.compile("^Write")).click()
    expect(page.get_by_text("Demo: prepared sentences.")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Accept")).click()
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    (made,) = workspace.projects()
    text = workspace.project(made.id).chapters.read("ch-07").text
    assert "nobody spoke" in text or "gave it away" in text
    expect(page.locator(".cm-content")).to_contain_text(re.compile("nobody spoke|gave it away"))
    open_inspector(page)  # and why the model would know what it knows
    expect(page.get_by_role("region", name="Inspector").locator("article").first).to_be_visible()


def test_nothing_is_asked_before_the_skills_are_known(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page()
    held: list[Route] = []
    page.route("**/skills", lambda route: held.append(route))
    page.goto(f"{page.url.split('#')[0]}#/{story.id}/write/ch-06")
    expect(page.locator(".cm-name").first).to_be_visible()
    write = page.get_by_role("button", name=re.compile("^Write"))
    expect(write).to_be_disabled()
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    held[0].continue_()
    write.click()
    expect(page.locator(".cm-suggestion")).to_be_visible()


def count_layouts(page: Page) -> Callable[[], dict[str, float]]:
    """Return what tells how often the page was styled and laid out so far."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def read() -> dict[str, float]:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return {one["name"]: one["value"] for one in metrics if one["name"] in ("LayoutCount", "RecalcStyleCount")}

    return read


def test_a_key_lays_the_page_out_once(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    for answer in ("inspect", "mentions"):  # what the server says of the text is drawn later
        page.route(f"**/{answer}", lambda route: None)
    type_at_end(page, " ")
    read, keys = count_layouts(page), 40
    page.wait_for_timeout(1500)
    before = read()
    for _ in range(keys):
        page.keyboard.press("e")
        page.evaluate("() => new Promise(requestAnimationFrame)")
    after = read()
    assert after["LayoutCount"] - before["LayoutCount"] < 1.5 * keys
    assert after["RecalcStyleCount"] - before["RecalcStyleCount"] < 2.5 * keys


def test_selected_text_stays_marked_while_the_instruction_is_written(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    for _ in range(12):
        page.keyboard.press("Shift+ArrowRight")
    expect(page.locator(".cm-kept")).to_have_count(0)
    page.keyboard.press("Control+l")
    expect(page.locator("#instruction")).to_be_focused()
    text = story.chapters.read("ch-06").text[:12]
    assert "".join(page.locator(".cm-kept").all_text_contents()) == text


def test_typing_is_saved_by_itself_and_can_be_undone_across_saves(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    type_at_end(page, " And then it rained.")
    wait_saved(page)
    assert story.chapters.read("ch-06").text == before + " And then it rained."
    page.keyboard.press("Control+z")
    expect(page.locator("header .state")).not_to_have_text(SAVED)
    wait_saved(page)
    assert story.chapters.read("ch-06").text == before


def test_a_name_is_marked_while_it_is_typed_and_shows_its_card(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    expect(page.locator(".cm-name").first).to_be_visible()
    type_at_end(page, "\n\nHere stood Will Tarn again")
    name = page.locator(".cm-line").last.locator(".cm-name")
    expect(name).to_have_text("Will Tarn")
    name.hover()
    expect(page.locator(".cm-card-name")).to_have_text("Will Tarn")


def test_a_sentence_at_a_time_is_accepted_and_the_rest_is_left_out(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    type_at_end(page, "")
    page.get_by_role("button", name=re.compile("^Write")).click()
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    page.get_by_role("button", name=re.compile("^By sentence")).click()
    page.get_by_role("button", name=re.compile("^Reject")).click()
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    expect(page.locator(".cm-content")).to_contain_text(re.compile("nobody spoke|small things"))
    added = story.chapters.read("ch-06").text[len(before) :].strip()
    assert added.endswith((".", ":")) or added
    assert "whatever it cost" not in added
    assert "about anything else" not in added


def test_a_rejected_suggestion_leaves_the_text_as_it_was(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    type_at_end(page, "")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    page.locator(".cm-content").press("Escape")
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    assert story.chapters.read("ch-06").text == before
    wait_outcome(story, "rejected")


def test_a_rejected_suggestion_comes_back_with_one_key_and_can_be_accepted(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    type_at_end(page, "")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    words = page.locator(".cm-suggestion").inner_text()
    page.locator(".cm-content").press("Escape")
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    wait_outcome(story, "rejected")
    page.locator(".cm-content").press("Control+z")
    expect(page.locator(".cm-suggestion")).to_have_text(words)
    page.locator(".cm-content").press("Tab")
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    wait_outcome(story, "accepted")
    assert len(story.chapters.read("ch-06").text) > len(before)


def test_a_sentence_that_was_accepted_stays_when_the_rest_is_written_again(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    type_at_end(page, "")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    page.locator(".cm-content").press("Control+ArrowRight")
    taken = page.locator(".cm-suggestion .taken").inner_text().strip()
    page.locator(".cm-content").press("Alt+Enter")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    expect(page.locator(".cm-suggestion .taken")).to_have_count(0)
    page.locator(".cm-content").press("Escape")
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    assert story.chapters.read("ch-06").text[len(before) :].strip() == taken


def test_the_keys_work_as_soon_as_a_variant_is_chosen(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    type_at_end(page, "")
    page.get_by_label("Variants").select_option("2")
    page.get_by_role("button", name=re.compile("^Write")).click()
    page.get_by_role("button", name="Take this one").nth(1).click()
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    wait_outcome(story, "accepted", variants=2)


def test_a_click_on_a_name_shows_its_card_and_places_the_cursor(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    type_at_end(page, "\n\nMara waited.")
    name = page.locator(".cm-line").last.locator(".cm-name")
    name.click()
    expect(page.locator(".cm-card-name")).to_have_text("Mara Venn")
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("End")
    expect(page.locator(".cm-cards")).to_have_count(0)
    page.keyboard.type(" Zeb sang.")
    expect(page.locator(".cm-line").last.locator(".cm-name")).to_have_count(1)
    story.codex.add("Zeb", kind="character")  # in another window
    expect(page.locator(".cm-line").last.locator(".cm-name")).to_have_text(["Mara", "Zeb"])


def run_command(page: Page, name: str) -> None:
    """Run a command of the palette."""
    page.keyboard.press("Control+k")
    page.keyboard.type(name)
    page.keyboard.press("Enter")


def test_a_waiting_answer_is_decided_from_the_palette_which_shows_the_keys(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    page.keyboard.press("Control+k")
    page.keyboard.type("the answer")
    expect(page.get_by_role("option", name=re.compile("^Reject the answer"))).to_have_count(0)
    page.keyboard.press("Escape")
    page.get_by_label("Variants").select_option("2")
    type_at_end(page, "")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    second = page.locator(".variants section").nth(1).locator("p").inner_text()
    page.keyboard.press("Control+k")
    page.keyboard.type("the answer")
    expect(page.get_by_role("option", name=re.compile("^Accept the answer")).locator("kbd")).to_have_text("Tab")
    page.keyboard.press("Escape")
    run_command(page, "Take this variant: 2")
    expect(page.locator(".cm-suggestion")).to_have_text(second)
    run_command(page, "Reject the answer")
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    assert story.chapters.read("ch-06").text == before


def test_a_name_in_the_last_paragraph_has_its_card_and_opens_its_entry(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    type_at_end(page, "\n\nMara waited.")
    name = page.locator(".cm-line").last.locator(".cm-name")
    name.hover()
    card = page.locator(".cm-cards")
    expect(card).to_contain_text("Mara")
    expect(card).to_be_in_viewport()
    name.click(modifiers=["Control"])
    expect(page).to_have_url(re.compile("/codex/"))


def test_an_empty_chapter_says_what_to_do_and_takes_what_is_typed(open_page: OpenPage, story: ProjectHandle) -> None:
    made = story.chapters.add("Chapter 7", text="")
    assert made.number == 7
    page = open_page(f"#/{story.id}/write/{made.id}")
    expect(page.locator(".cm-placeholder")).to_have_text("Write here, or ask the model to begin.")
    expect(page.locator(".cm-content")).to_be_focused()
    expect(page.locator(".where")).not_to_contain_text("Chapter 7")
    page.keyboard.type("It rained.")
    expect(page.locator(".cm-content")).to_have_text("It rained.")


def test_a_selected_sentence_becomes_what_is_known_and_a_selected_name_the_name(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    type_at_end(page, "\n\nOld Pike keeps the ferry and owes everybody money.\n\nOld Pike")
    dialog = page.get_by_role("dialog", name="Add to the codex")
    for line, name, known in ((1, "Old Pike", ""), (0, "", "Old Pike keeps the ferry and owes everybody money.")):
        page.locator(".cm-line").filter(has_text="Old Pike").nth(line).click(click_count=3)
        page.get_by_role("toolbar").get_by_role("button", name="Add to the codex").click()
        expect(dialog.get_by_label("Name")).to_have_value(name)
        expect(dialog.get_by_label("What is known")).to_have_value(known)
        page.keyboard.press("Escape")


def test_a_rule_made_of_selected_text_is_in_the_prompt(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    type_at_end(page, "\n\nNobody ever whistles on this coast.")
    page.keyboard.press("Shift+Home")
    page.get_by_role("toolbar").get_by_role("button", name="Make it a rule").click()
    page.get_by_role("button", name="Add", exact=True).click()
    open_inspector(page)
    rules = page.get_by_role("region", name="Inspector").locator("article", has_text="Nobody ever whistles")
    expect(rules.first).to_be_visible()


def test_what_is_typed_while_the_server_is_gone_is_kept_and_saved_when_it_is_back(
    open_page: OpenPage, story: ProjectHandle, server: PageServer
) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    server.stop()
    type_at_end(page, " The line was cut.")
    expect(page.locator("header .state")).to_have_text("Offline, kept here")
    type_at_end(page, " Still she wrote.")
    server.start()
    wait_saved(page)
    assert story.chapters.read("ch-06").text == before + " The line was cut. Still she wrote."


def test_a_window_that_is_closed_while_the_server_is_gone_loses_nothing(
    open_page: OpenPage, story: ProjectHandle, server: PageServer
) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    server.stop()
    type_at_end(page, " The line was cut.")
    expect(page.locator("header .state")).to_have_text("Offline, kept here")
    time.sleep(0.5)
    server.start()
    page.reload()
    wait_text(story, "ch-06", before + " The line was cut.")
    show_end(page)
    expect(page.locator(".cm-content")).to_contain_text("The line was cut.")


def test_two_windows_that_change_different_places_are_merged(open_page: OpenPage, story: ProjectHandle) -> None:
    one, other = (open_chapter(open_page, story) for _ in range(2))
    before = story.chapters.read("ch-06").text
    type_at_end(one, " At the end.")
    wait_saved(one)
    other.locator(".cm-content").click()
    other.keyboard.press("Control+Home")
    other.keyboard.type("At the start. ")
    wait_text(story, "ch-06", "At the start. " + before + " At the end.")
    show_end(other)
    expect(other.locator(".cm-content")).to_contain_text("At the end.")


def test_two_windows_that_change_the_same_place_show_both_texts(open_page: OpenPage, story: ProjectHandle) -> None:
    one, other = (open_chapter(open_page, story) for _ in range(2))
    before = story.chapters.read("ch-06").text
    other.context.set_offline(True)
    type_at_end(other, " She left.")
    expect(other.locator("header .state")).to_have_text("Offline, kept here")
    type_at_end(one, " She stayed.")
    wait_saved(one)
    other.context.set_offline(False)
    other.get_by_role("button", name="Look at both").click()
    dialog = other.get_by_role("dialog", name="This chapter was changed elsewhere")
    expect(dialog).to_contain_text("She stayed.")
    expect(dialog).to_contain_text("She left.")
    assert story.chapters.read("ch-06").text == before + " She stayed."
    dialog.get_by_role("button", name="Keep mine").click()
    wait_saved(other)
    assert story.chapters.read("ch-06").text == before + " She left."


def test_words_are_replaced_in_the_whole_book_after_a_preview_and_taken_back(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    page.keyboard.press("Control+Shift+F")
    dialog = page.get_by_role("dialog", name="Find and replace in the book")
    dialog.get_by_label("Find").fill("kelp")
    dialog.get_by_label("Replace with").fill("weed")
    dialog.get_by_role("button", name="Find", exact=True).click()
    expect(dialog.locator("ins").first).to_have_text("weed")
    dialog.get_by_role("button", name=re.compile("^Replace")).click()
    expect(page.get_by_text(re.compile("^Replaced at"))).to_be_visible()
    assert story.chapters.find_words("kelp") == []
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    for _ in range(50):
        if story.chapters.find_words("kelp"):
            break
        time.sleep(0.1)
    assert story.chapters.find_words("kelp") != []


def test_an_earlier_version_is_compared_and_restored(open_page: OpenPage, story: ProjectHandle) -> None:
    before = story.chapters.read("ch-06").text
    story.chapters.write("ch-06", before + "\n\nA line too much.")
    page = open_chapter(open_page, story)
    page.keyboard.press("Control+Shift+H")
    dialog = page.get_by_role("dialog", name="Earlier versions")
    expect(dialog.locator(".difference ins")).to_contain_text("A line too much.")
    dialog.get_by_role("button", name="Restore this version").click()
    wait_text(story, "ch-06", before)
    show_end(page)
    expect(page.locator(".cm-content")).not_to_contain_text("A line too much.")


def test_versions_stand_the_newest_first_with_what_each_replaced(open_page: OpenPage, story: ProjectHandle) -> None:
    chapter = story.chapters.add("Pier", text="She took the lamp from its hook.").id
    story.chapters.replace_words("lamp", "lantern")
    story.chapters.replace_words("hook", "nail")
    page = open_chapter(open_page, story, chapter)
    page.keyboard.press("Control+Shift+H")
    versions = page.get_by_role("dialog", name="Earlier versions").get_by_role("listitem")
    expect(versions).to_have_count(3)
    expect(versions.nth(0)).to_contain_text("The present text")
    expect(versions.nth(0)).to_contain_text("text replaced")
    expect(versions.nth(0).locator("del")).to_have_text("hook")
    expect(versions.nth(0).locator("ins")).to_have_text("nail")
    expect(versions.nth(1).locator("del")).to_have_text("lamp")
    expect(versions.nth(1).locator("ins")).to_have_text("lantern")
    expect(versions.nth(2)).to_contain_text("The first version that was kept")
    assert find_problems(page) == []


def test_a_very_long_chapter_says_how_to_split_it_until_it_is_wanted_so(
    open_page: OpenPage, workspace: Workspace, tmp_path: Path
) -> None:
    file = tmp_path / "hills.txt"
    file.write_text("She went on over the hills.\n\n" * 6_000, "utf-8")
    page = open_page()
    page.locator('input[type="file"]').set_input_files(file)
    expect(page.locator(".toast")).to_contain_text("came in as one chapter of 36,000 words")
    notice = page.get_by_role("complementary", name="This is a very long chapter.")
    expect(notice).to_contain_text("It has 36,000 words")
    page.locator(".cm-line").nth(4).click()
    notice.get_by_role("button", name="Split the chapter at the cursor").click()
    expect(page.get_by_role("treeitem")).to_have_count(2)
    page.get_by_role("treeitem").nth(1).click()
    expect(notice).to_be_visible()
    notice.get_by_role("button", name="Keep it as one").click()
    expect(notice).to_have_count(0)
    page.reload()
    expect(page.locator(".cm-content")).to_contain_text("She went on")
    expect(notice).to_have_count(0)


def test_a_window_that_is_too_small_says_what_to_change(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    open_inspector(page)
    inspector = page.get_by_role("region", name="Inspector")
    inspector.get_by_label(re.compile("^Window")).fill("1024")
    inspector.get_by_label(re.compile("^Room for the answer")).fill("960")
    short = page.get_by_role("button", name="The model reads too little at once for this place")
    expect(short).to_be_visible()
    expect(inspector.get_by_text("Choose a model that reads more at once")).to_be_visible()
    page.keyboard.press("Escape")
    side = page.get_by_role("complementary", name="Assistant")
    expect(side.get_by_text("Choose a model that reads more at once")).to_be_visible()
    expect(side.get_by_text("0 in")).to_have_count(0)
    short.click()
    expect(inspector).to_be_visible()
    inspector.get_by_role("link", name="Choose another model").click()
    expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    expect(inspector).to_have_count(0)


def test_everything_on_the_desk_is_reached_by_keyboard(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    page.keyboard.press("Control+k")
    page.keyboard.type("the weight")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Title of the chapter")).to_have_value("The Weight")
    page.keyboard.press("Control+l")
    expect(page.get_by_label("Instruction")).to_be_focused()
    page.keyboard.type("Go on.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    page.get_by_label("Text of the chapter").focus()
    page.keyboard.press("Tab")
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    wait_outcome(story, "accepted")
    page.keyboard.press("Control+Shift+I")
    expect(page.get_by_role("region", name="Inspector")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Inspector")).to_have_count(0)


def test_composing_a_character_loses_none_and_fires_no_key(open_page: OpenPage, workspace: Workspace) -> None:
    story = workspace.copy_sample("wugang")
    page = open_chapter(open_page, story, "ch-07", locale="zh-CN")
    before = story.chapters.read("ch-07").text
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    session = page.context.new_cdp_session(page)
    for step in ("l", "li", "lin", "林"):
        session.send("Input.imeSetComposition", {"text": step, "selectionStart": len(step), "selectionEnd": len(step)})
        time.sleep(0.3)  # longer than names are searched after
    session.send("Input.insertText", {"text": "林远"})
    expect(page.locator("header .state")).to_have_text("已保存")
    assert story.chapters.read("ch-07").text == before + "林远"
    expect(page.locator(".cm-line").last.locator(".cm-name")).to_have_text("林远")


def test_pasted_markup_and_scripts_are_text_and_names_with_markup_are_names(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    evil = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script> שלום 👩‍🚀"
    story.codex.add("<b>Bold</b> Bess", kind="character", description="<script>document.title='broken'</script>")
    page = open_chapter(open_page, story)
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.evaluate(
        """text => { const data = new DataTransfer(); data.setData('text/plain', text); data.setData('text/html', text);
        document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true })); }""",
        evil + "\n\n<b>Bold</b> Bess",
    )
    wait_saved(page)
    assert story.chapters.read("ch-06").text.endswith(evil + "\n\n<b>Bold</b> Bess")
    page.locator(".cm-line").last.locator(".cm-name").first.hover()
    expect(page.locator(".cm-card-name")).to_have_text("<b>Bold</b> Bess")
    assert page.title() == "The Lantern Coast · Fabula"
    assert page.locator("img").count() == 0


def test_a_line_of_hebrew_or_arabic_begins_at_the_right_and_keeps_its_characters(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    hebrew, arabic = "שלום, אמרה Mara 👩‍🚀 בשקט.", "قالت: مرحبا 🕯️"
    show_end(page)
    page.keyboard.insert_text(f"\n\n{hebrew}\n\n{arabic}")
    wait_text(story, "ch-06", f"{before}\n\n{hebrew}\n\n{arabic}")
    for words in ("שלום", "مرحبا"):
        expect(page.locator(".cm-line", has_text=words)).to_have_css("direction", "rtl")
    expect(page.locator(".cm-line", has_text=re.compile("[a-z]")).first).to_have_css("direction", "ltr")
    page.keyboard.press("Backspace")  # a whole character, though it is two code points
    wait_text(story, "ch-06", f"{before}\n\n{hebrew}\n\n{arabic.removesuffix('🕯️')}")


def test_an_ended_session_asks_to_sign_in_and_keeps_what_was_written(
    open_page: OpenPage, story: ProjectHandle, server: PageServer
) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    show_end(page)
    time.sleep(0.5)  # the context of the new place is asked for while the session lasts
    page.context.clear_cookies()
    page.keyboard.type(" Written late.")
    expect(page.get_by_role("dialog", name="Sign in")).to_be_visible()
    time.sleep(0.5)
    page.goto(server.make_link())
    page.goto(f"{server.url}/#/{story.id}/write/ch-06")
    wait_text(story, "ch-06", before + " Written late.")


def test_on_a_narrow_page_chapters_and_assistant_come_as_sheets(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story, width=360, height=740)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("button", name="Chapters").click()
    page.get_by_role("treeitem", name=re.compile("The Weight")).click()
    expect(page.get_by_label("Title of the chapter")).to_have_value("The Weight")
    expect(page.get_by_role("tree")).to_be_hidden()
    page.get_by_role("button", name="Assistant").click()
    page.get_by_role("button", name=re.compile("^Write")).click()
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()


def test_a_server_of_another_version_asks_to_load_the_page_again(
    open_page: OpenPage, story: ProjectHandle, server: PageServer
) -> None:
    page = open_chapter(open_page, story)
    server.stop()
    type_at_end(page, " The line was cut.")
    expect(page.locator("header .state")).to_have_text("Offline, kept here")
    page.route("**/healthz", lambda route: route.fulfill(json={"status": "ok", "version": "99.0"}))
    server.start()
    expect(page.get_by_text("The server was updated.")).to_be_visible()
    wait_saved(page)


def paste(page: Page, line: str, times: int) -> None:
    page.evaluate(
        """([line, times]) => {
            const data = new DataTransfer();
            data.setData('text/plain', line.repeat(times));
            const event = new ClipboardEvent('paste', { clipboardData: data, bubbles: true });
            document.activeElement.dispatchEvent(event);
        }""",
        [line, times],
    )


def test_a_paste_of_five_megabytes_is_saved_or_kept_with_the_reason(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    before, line = story.chapters.read("ch-06").text, "The sea. " * 50 + "\n"
    show_end(page)
    paste(page, line, 11_000)
    wait_text(story, "ch-06", before + line * 11_000)
    page.keyboard.type("Fog.")
    wait_text(story, "ch-06", before + line * 11_000 + "Fog.")
    paste(page, line, 200)  # more than a chapter may have
    expect(page.get_by_text("such a text has 5,000,000 characters at most")).to_be_visible()
    expect(page.locator("header .state")).to_have_text("Kept here")
    assert story.chapters.read("ch-06").text == before + line * 11_000 + "Fog."


def test_a_chapter_is_dragged_to_another_place_and_taken_back(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    titles = [one.title for one in story.chapters.list_chapters() if one.number is not None]
    rows = page.get_by_role("treeitem")
    rows.filter(has_text=titles[0]).drag_to(rows.filter(has_text=titles[2]), target_position={"x": 60, "y": 28})
    expect(page.get_by_text(f"“{titles[0]}” was moved.")).to_be_visible()
    moved = [titles[1], titles[2], titles[0], *titles[3:]]
    assert [one.title for one in story.chapters.list_chapters() if one.number is not None] == moved
    number = rows.filter(has_text=titles[0]).locator(".number")
    expect(number).to_have_text("3")
    page.get_by_role("button", name="Undo").click()
    expect(number).to_have_text("1")
    assert [one.title for one in story.chapters.list_chapters() if one.number is not None] == titles


def test_a_chapter_is_moved_by_keys(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    titles = [one.title for one in story.chapters.list_chapters() if one.number is not None]
    row = page.get_by_role("treeitem").filter(has_text=titles[1])
    row.focus()
    page.keyboard.press("Alt+ArrowUp")
    expect(row.locator(".number")).to_have_text("1")
    assert next(one.title for one in story.chapters.list_chapters() if one.number == 1) == titles[1]


def test_variants_are_compared_side_by_side_and_one_is_taken(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    type_at_end(page, "")
    page.get_by_label("Variants").select_option("2")
    page.get_by_role("button", name=re.compile("^Write")).click()
    columns = page.locator(".variants section")
    expect(columns).to_have_count(2)
    expect(page.get_by_role("button", name="Take this one")).to_have_count(2)
    left, right = (columns.nth(number).bounding_box() for number in range(2))
    assert left is not None
    assert right is not None
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    columns.nth(1).get_by_role("button", name="Take this one").click()
    expect(columns.nth(1).get_by_role("button")).to_have_attribute("aria-pressed", "true")
    text = columns.nth(1).locator(".text").inner_text()
    page.get_by_role("button", name=re.compile("^Accept")).click()
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    wait_outcome(story, "accepted", variants=2)
    assert text in story.chapters.read("ch-06").text[len(before) :]


def test_words_that_break_a_rule_are_underlined_with_the_reason(open_page: OpenPage, story: ProjectHandle) -> None:
    story.constraints.add('Never use the word "nobody".')
    page = open_chapter(open_page, story)
    type_at_end(page, "")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    broken = page.locator(".cm-suggestion .broken").first
    expect(broken).to_have_text("nobody", ignore_case=True)
    assert "wavy" in broken.evaluate("one => getComputedStyle(one).textDecorationStyle")
    reason = broken.get_attribute("title") or ""
    assert "nobody" in reason.lower()
    expect(page.locator(".cm-take .note", has_text="rule broken")).to_contain_text(reason)


def test_an_answer_that_was_not_decided_stands_there_again(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    show_end(page)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    answer = story.runs.list_runs()[0].answer
    page.get_by_role("treeitem").first.click()
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    page.goto(page.url.split("/write")[0] + "/write/ch-06")
    show_end(page)
    expect(page.locator(".cm-suggestion")).to_contain_text(answer[:20])
    page.reload()
    show_end(page)
    expect(page.locator(".cm-suggestion")).to_contain_text(answer[:20])
    page.get_by_role("button", name=re.compile("^Reject")).click()
    wait_outcome(story, "rejected")
    page.reload()
    show_end(page)
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    story.runs.propose("ch-06", "Somebody laughed.")
    page.goto(f"{page.url.split('#')[0]}#/{story.id}/runs/{story.runs.list_runs()[0].id}")
    page.get_by_role("link", name="Take it up in the chapter").click()
    expect(page.locator(".cm-suggestion")).to_contain_text("Somebody laughed.")
    page.get_by_role("button", name=re.compile("^Accept")).click()
    wait_outcome(story, "accepted")
    assert story.chapters.read("ch-06").text.endswith("Somebody laughed.")


def test_tab_accepts_after_a_click_on_write(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    show_end(page)
    page.get_by_role("button", name=re.compile("^Write")).click()
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    page.keyboard.press("Tab")
    wait_outcome(story, "accepted")


def test_a_narrow_header_leads_to_every_view_and_names_the_book(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story, width=360, height=740)
    more = page.get_by_role("button", name="More")
    more.click()
    menu = page.get_by_role("navigation", name="More")
    for name in ("Timeline", "Talk", "Constraints", "Memory", "Settings", "The Lantern Coast"):
        expect(menu.get_by_role("link", name=name, exact=True)).to_be_visible()
    page.keyboard.press("Alt+2")  # a key that leads elsewhere closes it
    expect(menu).to_be_hidden()
    page.set_viewport_size({"width": 1440, "height": 900})
    more.click()
    expect(menu.get_by_role("link", name="Talk", exact=True)).to_be_hidden()
    below, button = menu.bounding_box(), more.bounding_box()
    assert below is not None
    assert button is not None
    assert abs(below["x"] - button["x"]) < 40


def test_notices_cover_nothing(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    show_end(page)
    page.get_by_role("button", name="Delete this chapter").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    notice = page.locator(".toast", has_text="was deleted")
    expect(notice).to_be_visible()
    show_end(page)
    page.keyboard.type(" Rain.")
    for part in ("main", "aside.left", "aside.right", ".shell > footer"):
        box, other = notice.bounding_box(), page.locator(part).first.bounding_box()
        assert box is not None
        assert other is not None
        assert box["y"] >= other["y"] + other["height"], part
    open_inspector(page)
    expect(page.get_by_role("region", name="Inspector")).to_be_visible()
    box, other = notice.bounding_box(), page.get_by_role("region", name="Inspector").bounding_box()
    assert box is not None
    assert other is not None
    assert box["y"] >= other["y"] + other["height"]


def test_what_fails_in_a_dialog_is_said_in_it(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/codex/mara", width=360, height=740)
    page.get_by_role("button", name="Add a change").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What becomes true").fill("Mara is the Inspector's daughter.")
    dialog.get_by_label("Who knows of it").fill("Nobody Ever")
    dialog.get_by_role("button", name="Save").click()
    notice = dialog.locator(".toast", has_text="Nobody Ever")
    expect(notice).to_be_in_viewport()
    save, said = dialog.get_by_role("button", name="Save").bounding_box(), notice.bounding_box()
    assert save is not None
    assert said is not None
    assert said["y"] >= save["y"] + save["height"]
    notice.get_by_role("button", name="Close").click()
    expect(notice).to_have_count(0)


def test_the_palette_splits_a_chapter_at_the_cursor_and_finds_why(open_page: OpenPage, story: ProjectHandle) -> None:
    text = "Rain 👩 came. " + story.chapters.read("ch-06").text
    story.chapters.write("ch-06", text)
    page = open_chapter(open_page, story)
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    for _ in range(len("Rain 👩 came. ")):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="What would you like to do?").fill("split")
    page.keyboard.press("Enter")
    expect(page.locator(".toast", has_text="was split")).to_be_visible()
    chapters = story.chapters.list_chapters()
    at = [one.id for one in chapters].index("ch-06")
    first, second = chapters[at : at + 2]
    assert story.chapters.read(first.id).text.strip() == "Rain 👩 came."
    assert story.chapters.read(second.id).text == text.removeprefix("Rain 👩 came. ")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="What would you like to do?").fill("why")
    page.keyboard.press("Enter")
    inspector = page.get_by_role("region", name="Inspector")
    inspector.get_by_role("searchbox").fill("no such words")
    expect(inspector.get_by_text("Nothing here has these words")).to_be_visible()


def test_the_buttons_of_a_long_answer_are_in_sight(open_page: OpenPage, story: ProjectHandle) -> None:
    made = story.chapters.add("The Return", text="Rain.")
    story.runs.propose(made.id, "It went on and on over the roofs of the town. " * 200)
    page = open_chapter(open_page, story, made.id)
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_in_viewport()


def test_a_chapter_is_told_through_the_eyes_of_somebody(open_page: OpenPage, story: ProjectHandle) -> None:
    secret = "Grace keeps a second ledger."
    story.codex.add("Second ledger", kind="item", description=secret, known_to=["Grace"])
    page = open_page(f"#/{story.id}/write/ch-02")
    eyes = page.get_by_label("through the eyes of")
    expect(eyes).to_have_value("will")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type(" The Second ledger lay there.")
    eyes.select_option(label="Grace Odell")
    expect(page.get_by_text("“The Weight” is told through the eyes of Grace Odell.")).to_be_visible()
    record = story.chapters.read("ch-02")
    assert record.record.pov == "grace"
    assert record.text.endswith(" The Second ledger lay there.")
    page.get_by_role("button", name=re.compile("Open the inspector")).click()
    inspector = page.get_by_role("region", name="Inspector")
    inspector.get_by_label("Find among what is in and out").fill("second ledger")
    expect(inspector.locator("article").filter(has_text="Second ledger").first).not_to_have_class(re.compile("out"))
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Undo").last.click()
    expect(eyes).to_have_value("will")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+k")
    page.keyboard.type("point of view")
    expect(page.get_by_role("option", name="Through whose eyes")).to_be_visible()
    page.get_by_role("option", name="Through whose eyes").click()
    expect(eyes).to_be_focused()


def test_a_chapter_of_a_deleted_character_says_who_it_was_and_offers_another(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_page(f"#/{story.id}/write/ch-02")
    eyes = page.get_by_label("through the eyes of")
    expect(eyes).to_have_value("will")
    story.codex.remove("will")
    expect(eyes.locator("option:checked")).to_have_text("Will Tarn (deleted)")
    expect(page.get_by_text("Will Tarn was deleted from the codex.")).to_be_visible()
    page.goto(f"{page.url.split('#')[0]}#/{story.id}/timeline")
    expect(page.get_by_role("main").get_by_text("through the eyes of Will Tarn").first).to_be_visible()
    page.goto(f"{page.url.split('#')[0]}#/{story.id}/write/ch-02")
    page.reload()
    expect(eyes.locator("option:checked")).to_have_text("Will Tarn (deleted)")
    page.get_by_role("button", name="Choose another").click()
    expect(eyes).to_be_focused()
    eyes.select_option(label="Grace Odell")
    expect(page.get_by_text("was deleted from the codex")).to_be_hidden()
    assert story.chapters.read("ch-02").record.pov == "grace"


def test_what_the_model_asked_for_stands_at_its_place_and_is_forgotten(
    open_page: OpenPage, story: ProjectHandle, workspace: Workspace
) -> None:
    with workspace.store.write(project=story.id) as tx:
        store_place(tx, Position("ch-02", 0), "character:will", ("Who wound the clock?", "What did the log say?"))
        store_place(tx, Position("ch-05", 0), "reader", ("Who lit the fires?",))
    page = open_chapter(open_page, story, "ch-02")
    asked = page.get_by_role("complementary", name="Assistant").get_by_role("region", name="Asked for by the model")
    page.locator(".cm-content").press("Control+Home")
    expect(asked.get_by_role("listitem")).to_have_count(2)
    expect(asked).to_contain_text("for Will Tarn")
    asked.get_by_role("button", name="Forget “Who wound the clock?”").click()
    expect(asked.get_by_role("listitem")).to_have_count(1)
    page.get_by_role("button", name=re.compile("Open the inspector")).click()
    inspector = page.get_by_role("region", name="Inspector")
    inspector.get_by_role("tab", name="Asked for").click()
    expect(inspector.get_by_text("What did the log say?")).to_be_visible()
    expect(inspector.get_by_text("Who lit the fires?")).to_be_visible()
    assert find_problems(page) == []
    inspector.get_by_role("button", name="Forget all questions").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget all questions").click()
    expect(inspector.get_by_text("Who lit the fires?")).to_have_count(0)
    assert story.needs.list_needs() == []
    inspector.get_by_role("link", name="Look at the setting").click()
    expect(page.get_by_label("Whether the model that works in the background is asked which earlier")).to_be_visible()


def test_a_question_that_a_job_asked_appears_by_itself(
    open_page: OpenPage, story: ProjectHandle, workspace: Workspace
) -> None:
    page = open_chapter(open_page, story, "ch-02")
    page.locator(".cm-content").press("Control+Home")
    expect(page.locator("aside.right article").first).to_be_visible()
    with workspace.store.write(project=story.id) as tx:
        store_place(tx, Position("ch-02", 0), "character:will", ("Who wound the clock?",))
    expect(page.get_by_text("Who wound the clock?")).to_be_visible()


def test_a_chapter_that_cannot_be_opened_leaves_the_open_one_to_be_written_in(
    open_page: OpenPage, story: ProjectHandle, server: PageServer
) -> None:
    page = open_chapter(open_page, story, "ch-05")
    before = story.chapters.read("ch-05").text
    wait_saved(page)
    server.stop()
    type_at_end(page, " Kept here.")
    page.get_by_role("tree").get_by_text("The Cut Leaf").click()
    expect(page.get_by_text("cannot be opened now")).to_be_visible()
    expect(page).to_have_url(re.compile("/write/ch-05$"))
    expect(page.locator(".cm-content")).not_to_have_attribute("aria-readonly", "true")
    type_at_end(page, " And this.")
    server.start()
    wait_text(story, "ch-05", f"{before} Kept here. And this.")
    wait_saved(page)
    expect(page.get_by_text("cannot be opened now")).to_have_count(0)
    page.get_by_role("tree").get_by_text("The Cut Leaf").click()
    expect(page.get_by_role("textbox", name="Title of the chapter")).to_have_value(re.compile("The Cut Leaf"))
    type_at_end(page, "!")
    wait_saved(page)


def test_a_prompt_that_is_handed_over_stays_out_of_the_text_until_its_answer_is_pasted(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    page.get_by_label("Who writes").select_option(label="No model: hand me the prompt")
    page.get_by_role("button", name=re.compile("^Hand me the prompt")).click()
    prompt = page.get_by_label("The prompt", exact=True)
    expect(prompt).to_have_value(re.compile("Harrow Light"))
    expect(page.get_by_role("button", name="Copy the prompt")).to_be_visible()
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    page.get_by_label("The answer").fill("Hope shut the door on the wind.")
    handed = prompt.input_value()
    page.reload()  # the prompt may have gone elsewhere already, and its answer comes back to it
    expect(prompt).to_have_value(handed)
    expect(page.get_by_label("The answer")).to_have_value("Hope shut the door on the wind.")
    page.get_by_role("button", name=re.compile("^Show it in the text")).click()
    expect(page.locator(".cm-suggestion")).to_contain_text("Hope shut the door on the wind.")
    expect(prompt).to_have_count(0)
    page.keyboard.press("Tab")
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    assert story.chapters.read("ch-06").text.startswith(before.rstrip())
    assert "Hope shut the door on the wind." in story.chapters.read("ch-06").text
    page.reload()
    expect(page.get_by_label("Who writes")).to_have_value("clipboard")  # this browser remembers it
    wait_saved(page)
    expect(prompt).to_have_count(0)


def test_a_prompt_that_is_put_away_does_not_come_back(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    page.get_by_label("Who writes").select_option(label="No model: hand me the prompt")
    page.get_by_role("button", name=re.compile("^Hand me the prompt")).click()
    prompt = page.get_by_label("The prompt", exact=True)
    expect(prompt).to_be_visible()
    page.get_by_role("tree").get_by_text("The Fires on the Strand").click()
    expect(prompt).to_have_count(0)  # it belongs to the other chapter
    page.go_back()
    expect(prompt).to_be_visible()
    page.get_by_role("button", name="Put the prompt away").click()
    expect(prompt).to_have_count(0)
    page.reload()
    wait_saved(page)
    expect(prompt).to_have_count(0)


def test_words_of_the_chapter_that_break_a_rule_have_a_wavy_line(open_page: OpenPage, story: ProjectHandle) -> None:
    story.constraints.add("The word “gramophone” is never used.")
    page = open_chapter(open_page, story)
    wait_saved(page)
    expect(page.locator(".cm-broken", has_text="gramophone")).to_have_count(0)
    type_at_end(page, " The gramophone played.")
    broken = page.locator(".cm-broken", has_text="gramophone")
    expect(broken).to_be_visible()
    broken.click()  # as a finger would
    expect(page.locator(".cm-card-broken")).to_contain_text("is not to be used")
    page.keyboard.press("Escape")
    expect(page.locator(".cm-card-broken")).to_have_count(0)
    run_command(page, "Show the card of the words")
    expect(page.locator(".cm-card-broken")).to_contain_text("is not to be used")
    assert "wavy" in broken.evaluate("element => getComputedStyle(element).textDecoration")
    type_at_end(page, " The pianola did not.")
    expect(page.locator(".cm-broken", has_text="pianola")).to_have_count(0)
    story.constraints.add("The word “pianola” is never used.")  # in another window
    expect(page.locator(".cm-broken", has_text="pianola")).to_be_visible()


def test_the_key_of_the_whole_book_finds_in_the_whole_book(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    for _ in range(4):
        page.keyboard.press("Shift+ArrowLeft")
    toolbar = page.get_by_role("toolbar", name="With the selected text")
    expect(toolbar).to_be_visible()
    for key in ("f", "F"):  # a Mac and a locked shift say the small letter
        page.keyboard.press(f"Control+Shift+{key}")
        dialog = page.get_by_role("dialog", name="Find and replace in the book")
        expect(dialog).to_be_visible()
        expect(page.locator(".cm-search")).to_have_count(0)
        expect(toolbar).to_have_count(0)
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Control+f")
    expect(page.locator(".cm-search")).to_be_visible()
    expect(toolbar).to_have_count(0)


def test_the_tools_of_selected_text_stand_at_the_foot_of_the_text(open_page: OpenPage, story: ProjectHandle) -> None:
    for width in (1440, 1100, 360):
        page = open_chapter(open_page, story, width=width)
        page.locator(".cm-content").click()
        page.keyboard.press("Control+a")
        toolbar = page.get_by_role("toolbar", name="With the selected text")
        column = page.locator(".host").bounding_box()
        box = toolbar.bounding_box()
        assert box is not None
        assert column is not None
        assert box["x"] >= column["x"] - 1
        assert box["x"] + box["width"] <= column["x"] + column["width"] + 1
        page.keyboard.press("Control+End")
        for _ in range(6):
            page.keyboard.press("Shift+ArrowLeft")
        selected = page.evaluate("getSelection().getRangeAt(0).getBoundingClientRect().bottom")
        box = toolbar.bounding_box()
        assert box is not None
        assert selected <= box["y"]


def test_a_chapter_opens_at_its_end_with_the_keyboard_in_the_text(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/write/ch-05")
    expect(page.locator(".cm-line", has_text=read_end(story, "ch-05"))).to_be_in_viewport()
    expect(page.locator(".cm-content")).to_be_focused()
    page.get_by_role("tree").get_by_text("The Cut Leaf").click()
    expect(page.locator(".cm-line", has_text=read_end(story, "ch-06"))).to_be_in_viewport()
    expect(page.locator(".cm-content")).to_be_focused()
    page.keyboard.type(" Here.")
    wait_saved(page)
    assert story.chapters.read("ch-06").text.rstrip().endswith(" Here.")


def test_a_suggestion_that_waits_is_in_sight_and_is_edited_where_it_stands(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    page.keyboard.press("End")
    page.get_by_role("button", name=re.compile("^Write")).click()
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    page.get_by_role("tree").get_by_text("The Fires on the Strand").click()
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    page.get_by_role("tree").get_by_text("The Cut Leaf").click()
    expect(page.locator(".cm-suggestion")).to_be_in_viewport()
    page.get_by_role("button", name="Edit").click()
    expect(page.locator(".cm-suggestion textarea")).to_be_focused()


def test_paragraphs_are_indented_and_stand_close(open_page: OpenPage, story: ProjectHandle) -> None:
    chapter = story.chapters.add("Type", after="ch-06")
    story.chapters.write(chapter.id, "First.\n\nSecond with *one* word.\n\n\n\nAfter the break.\n\n* * *\n\nLast.")
    page = open_page(f"#/{story.id}/write/{chapter.id}")
    expect(page.locator(".cm-line", has_text="Last.")).to_be_visible()
    indent = "element => getComputedStyle(element).textIndent"
    assert page.locator(".cm-line", has_text="First.").evaluate(indent) == "0px"
    assert page.locator(".cm-line", has_text="Second").evaluate(indent) == "27px"
    assert page.locator(".cm-line", has_text="* * *").evaluate(indent) == "0px"
    expect(page.locator(".cm-emphasis")).to_have_text("*one*")
    heights = page.locator(".cm-line").evaluate_all("all => all.map((one) => one.getBoundingClientRect().height)")
    assert heights[1] < heights[0] / 3  # between paragraphs
    assert heights[4] == heights[0]  # between scenes


def open_view(page: Page, name: str) -> None:
    page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()


def test_the_chapter_stays_open_when_the_page_speaks_another_language(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    type_at_end(page, " It rained.")
    page.get_by_role("button", name="中文").click()
    text = page.get_by_role("textbox", name="本章正文")
    expect(text).to_contain_text("It rained.")
    expect(page.get_by_role("treeitem", selected=True)).to_contain_text("The Cut Leaf")
    type_at_end(page, " It snowed.")
    wait_text(story, "ch-06", f"{before} It rained. It snowed.")
    page.keyboard.press("Control+z")  # also what was typed before
    page.keyboard.press("Control+z")
    wait_text(story, "ch-06", before)


def test_nothing_can_be_typed_while_no_chapter_is_open(open_page: OpenPage, story: ProjectHandle) -> None:
    before = story.chapters.read("ch-06").text
    page = open_page()
    held: list[Route] = []
    page.route("**/chapters/ch-06", lambda route: held.append(route) if not held else route.continue_())
    page.goto(f"{page.url.split('#')[0]}#/{story.id}/write/ch-06")
    content = page.locator(".cm-content")
    expect(content).to_have_attribute("aria-readonly", "true")
    expect(page.locator(".cm-placeholder")).to_have_count(0)
    content.click()
    page.keyboard.type("lost")
    expect(content).not_to_contain_text("lost")
    held[0].continue_()
    page.unroute("**/chapters/ch-06")
    expect(content).to_contain_text(read_end(story, "ch-06"))
    type_at_end(page, " Kept.")
    wait_text(story, "ch-06", f"{before} Kept.")


def test_words_replaced_in_the_book_leave_a_plain_cursor_in_its_place(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    chapter = story.chapters.add("Rope", after="ch-06")
    paragraphs = [f"Paragraph {number} has a rope, and the rope is long." for number in range(30)]
    story.chapters.write(chapter.id, "\n\n".join(paragraphs))
    page = open_chapter(open_page, story, chapter.id)
    page.locator(".cm-line", has_text="Paragraph 20 ").get_by_text("rope").first.click()
    page.keyboard.press("Home")
    for _ in range(len("Paragraph 20 has a ")):
        page.keyboard.press("ArrowRight")
    for _ in range(len("rope")):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Control+Shift+F")
    dialog = page.get_by_role("dialog", name="Find and replace in the book")
    dialog.get_by_label("Find").fill("rope")
    dialog.get_by_label("Replace with").fill("hawser")
    dialog.get_by_role("button", name="Find", exact=True).click()
    dialog.get_by_role("button", name=re.compile("^Replace")).click()
    expect(page.get_by_text(re.compile("^Replaced at"))).to_be_visible()
    expect(page.locator(".cm-content")).to_be_focused()
    assert page.evaluate("String(getSelection())") == ""
    page.keyboard.type("X")
    expected = [one.replace("rope", "hawser") for one in paragraphs]
    expected[20] = expected[20].replace("a hawser", "a hawserX")
    wait_text(story, chapter.id, "\n\n".join(expected))


def test_an_accepted_text_that_is_redone_has_the_cursor_behind_it(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    type_at_end(page, "")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    wait_outcome(story, "accepted")
    accepted = story.chapters.read("ch-06").text
    expect(page.locator(".cm-content")).to_contain_text(read_end(story, "ch-06"))
    page.keyboard.press("Control+z")
    wait_text(story, "ch-06", before)
    page.keyboard.press("Control+Shift+z")
    page.keyboard.type(" On.")
    wait_text(story, "ch-06", f"{accepted} On.")


def test_what_was_typed_can_be_undone_after_another_view_and_another_chapter(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    type_at_end(page, " It rained.")
    wait_saved(page)
    open_view(page, "Codex")
    expect(page.locator(".cm-content")).to_have_count(0)
    open_view(page, "Write")
    expect(page.locator(".cm-content")).to_contain_text("It rained.")
    page.locator(".cm-content").focus()
    page.keyboard.type(" It snowed.")  # where the cursor was
    wait_text(story, "ch-06", f"{before} It rained. It snowed.")
    page.get_by_role("tree").get_by_text("The Fires on the Strand").click()
    expect(page.locator(".cm-content")).not_to_contain_text("It rained.")
    page.get_by_role("tree").get_by_text("The Cut Leaf").click()
    expect(page.locator(".cm-content")).to_contain_text("It snowed.")
    page.keyboard.press("Control+z")
    wait_text(story, "ch-06", f"{before} It rained.")
    page.keyboard.press("Control+z")
    wait_text(story, "ch-06", before)


def test_what_is_typed_while_it_is_saved_is_saved_when_the_view_is_left(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    held: list[Route] = []

    def hold_first(route: Route) -> None:
        if route.request.method == "PUT" and not held:
            held.append(route)
        else:
            route.continue_()

    page.route("**/chapters/ch-06", hold_first)
    type_at_end(page, " It rained.")
    page.keyboard.press("Control+s")
    for _ in range(100):
        if held:
            break
        page.wait_for_timeout(50)
    page.keyboard.type(" It snowed.")
    open_view(page, "Codex")
    expect(page.locator(".cm-content")).to_have_count(0)
    held[0].continue_()
    page.unroute("**/chapters/ch-06")
    wait_text(story, "ch-06", f"{before} It rained. It snowed.")


def test_the_rejected_rest_of_an_answer_comes_back_before_the_accepted_sentence_goes(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    type_at_end(page, "")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    whole = page.locator(".cm-suggestion").inner_text().split()
    page.locator(".cm-content").press("Control+ArrowRight")
    taken = page.locator(".cm-suggestion .taken").inner_text().split()
    page.locator(".cm-content").press("Escape")
    expect(page.get_by_text("The rest of the answer was left out.")).to_be_visible()
    accepted = story.chapters.read("ch-06").text
    assert accepted[len(before) :].split() == taken
    page.locator(".cm-content").press("Control+z")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    assert page.locator(".cm-suggestion").inner_text().split() == whole[len(taken) :]
    page.locator(".cm-content").press("Tab")
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    wait_outcome(story, "accepted")
    complete = story.chapters.read("ch-06").text
    expect(page.locator(".cm-content")).to_contain_text(read_end(story, "ch-06"))
    assert complete[len(before) :].split() == whole
    for expected in (accepted, before):
        page.locator(".cm-content").press("Control+z")
        wait_text(story, "ch-06", expected)


def test_without_a_wish_for_the_rest_the_next_key_takes_the_accepted_sentence_out(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    before = story.chapters.read("ch-06").text
    type_at_end(page, "")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    page.locator(".cm-content").press("Control+ArrowRight")
    page.locator(".cm-content").press("Escape")
    expect(page.get_by_text("The rest of the answer was left out.")).to_be_visible()
    page.locator(".cm-content").press("Control+z")
    expect(page.locator(".cm-suggestion")).to_be_visible()
    page.locator(".cm-content").press("Control+z")
    wait_text(story, "ch-06", before)
    page.locator(".cm-content").press("Escape")
    expect(page.locator(".cm-suggestion")).to_have_count(0)


def test_a_place_is_left_out_of_what_is_replaced_in_the_book(open_page: OpenPage, story: ProjectHandle) -> None:
    chapter = story.chapters.add("Rope", after="ch-06")
    story.chapters.write(chapter.id, "\n\n".join(["Zorp and zorp, zorps and Zorp."] * 20))
    page = open_chapter(open_page, story, chapter.id)
    page.keyboard.press("Control+Shift+F")
    dialog = page.get_by_role("dialog", name="Find and replace in the book")
    dialog.get_by_label("Find").fill("zorp")
    dialog.get_by_label("Replace with").fill("yarn")
    dialog.get_by_label("Match case").uncheck()
    dialog.get_by_label("Whole words only").check()
    dialog.get_by_role("button", name="Find", exact=True).click()
    expect(dialog.get_by_text("60 places in 1 chapter")).to_be_visible()
    expect(dialog.locator("del").first).to_have_text("Zorp")
    assert dialog.evaluate("one => one.scrollHeight <= one.clientHeight")  # what is in it scrolls, and nothing else
    assert dialog.locator(".content").evaluate("one => one.scrollHeight > one.clientHeight")
    dialog.get_by_role("checkbox", name=re.compile("^Replace here")).nth(1).uncheck()
    dialog.get_by_role("button", name="Replace 59 places").click()
    expect(page.get_by_text("Replaced at 59 places.")).to_be_visible()
    paragraphs = ["yarn and zorp, zorps and yarn.", *["yarn and yarn, zorps and yarn."] * 19]
    assert story.chapters.read(chapter.id).text == "\n\n".join(paragraphs)


def test_the_search_in_a_chapter_counts_and_leaves_the_chapter_where_it_is(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    chapter = story.chapters.add("Rope", after="ch-06")
    story.chapters.write(chapter.id, "\n\n".join(f"Paragraph {number} has a rope. Ropes!" for number in range(80)))
    page = open_chapter(open_page, story, chapter.id)
    line = page.locator(".cm-line", has_text="Paragraph 79 ")
    expect(line).to_be_in_viewport()
    page.keyboard.press("Control+f")
    panel = page.get_by_role("search", name="Find in this chapter")
    field = panel.get_by_label("Find", exact=True)
    expect(field).to_be_focused()
    expect(field).to_be_in_viewport()
    expect(line).to_be_in_viewport()
    page.keyboard.type("rope")
    expect(panel.get_by_role("status")).to_have_text("160 places")
    expect(line).to_be_in_viewport()
    panel.get_by_label("Whole words only").check()
    expect(panel.get_by_role("status")).to_have_text("80 places")
    panel.get_by_role("button", name="Next").click()
    expect(panel.get_by_role("status")).to_have_text(re.compile(r"^Place \d+ of 80$"))
    panel.get_by_label("Replace with").fill("line")
    panel.get_by_role("button", name="Replace all").click()
    expect(panel.get_by_role("status")).to_have_text("Not in this chapter")
    page.get_by_role("button", name="中文").click()
    expect(page.get_by_role("search", name="在本章中查找").get_by_role("button", name="下一处")).to_be_visible()
    assert find_problems(page) == []
    page.get_by_role("button", name="关闭查找").click()
    expect(page.locator(".cm-content")).to_be_focused()
    wait_text(story, chapter.id, "\n\n".join(f"Paragraph {number} has a line. Ropes!" for number in range(80)))


def write_suggestion(page: Page) -> str:
    """Let the demo write, and return the words of its suggestion."""
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    return page.locator(".cm-suggestion").inner_text().strip()


def list_marked(workspace: Workspace, story: ProjectHandle) -> list[str]:
    """The words that are marked as a model's."""
    with workspace.store.read(project=story.id) as reading:
        return [story.chapters.read(row.document_id).text[row.start : row.end] for row in reading.rows(marks)]


def test_a_suggestion_goes_where_it_stands_also_after_the_text_before_it_was_changed(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle
) -> None:
    story.chapters.write("ch-06", "The gulls were late.\n\nMara waited.")
    page = open_chapter(open_page, story)
    type_at_end(page, "")
    words = write_suggestion(page)
    page.keyboard.press("Control+Home")
    page.keyboard.type("At dawn 🌊 ")
    page.keyboard.press("Tab")
    expect(page.locator(".cm-suggestion")).to_have_count(0)
    wait_outcome(story, "accepted")
    wait_text(story, "ch-06", f"At dawn 🌊 The gulls were late.\n\nMara waited.\n\n{words}")
    assert list_marked(workspace, story) == [words]


def test_words_are_replaced_where_they_stand_also_after_the_text_before_them_was_changed(
    open_page: OpenPage, workspace: Workspace, story: ProjectHandle
) -> None:
    story.chapters.write("ch-06", "The gulls were late. Mara waited.")
    page = open_chapter(open_page, story)
    type_at_end(page, "")
    for _ in "Mara waited.":
        page.keyboard.press("Shift+ArrowLeft")
    page.get_by_role("button", name="Ask a skill").click()
    expect(page.get_by_label("Instruction")).to_be_focused()
    words = write_suggestion(page)
    page.get_by_label("Skill").select_option(label="Critique")  # what is asked next is no matter of this answer
    page.locator(".cm-content").press("Control+Home")
    page.keyboard.type("At dawn ")
    expect(page.locator(".cm-replaced")).to_have_text("Mara waited.")
    page.keyboard.press("Tab")
    wait_outcome(story, "accepted")
    wait_text(story, "ch-06", f"At dawn The gulls were late. {words}")
    assert list_marked(workspace, story) == [words]


def test_another_answer_is_written_where_the_first_one_stands_after_the_text_was_changed(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    story.chapters.write("ch-06", "The gulls were late.\n\nMara waited.")
    page = open_chapter(open_page, story)
    type_at_end(page, "")
    write_suggestion(page)
    page.keyboard.press("Control+Home")
    page.keyboard.type("At dawn ")
    page.keyboard.press("Alt+Enter")
    wait_outcome(story, "rejected", variants=2)
    expect(page.get_by_role("button", name=re.compile("^Accept"))).to_be_visible()
    words = page.locator(".cm-suggestion").inner_text().strip()
    page.keyboard.press("Tab")
    wait_outcome(story, "accepted")
    wait_text(story, "ch-06", f"At dawn The gulls were late.\n\nMara waited.\n\n{words}")


def test_what_was_written_in_a_chapter_that_was_deleted_elsewhere_is_given_back(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_chapter(open_page, story)
    before, title = story.chapters.read("ch-06").text, story.chapters.read("ch-06").record.title
    page.context.set_offline(True)
    type_at_end(page, " The line was cut.")
    expect(page.locator("header .state")).to_have_text("Offline, kept here")
    story.chapters.remove("ch-06")
    page.context.set_offline(False)
    notice = page.get_by_text(f"“{title}” was deleted elsewhere.")
    expect(notice).to_be_visible()
    page.goto(page.url.split("#")[0] + f"#/{story.id}/write/ch-05")
    page.reload()  # it is offered until it is taken
    expect(notice).to_be_visible()
    page.get_by_role("button", name="Make it a chapter again").click()
    expect(page.get_by_label("Title of the chapter")).to_have_value(title)
    expect(page.locator(".cm-content")).to_contain_text("The line was cut.")
    assert before + " The line was cut." in [story.chapters.read(one.id).text for one in story.reading.list_chapters()]
    page.reload()
    expect(page.locator(".cm-content")).to_contain_text("The line was cut.")
    expect(notice).to_have_count(0)


def test_changes_far_from_each_other_are_merged_though_each_side_made_several(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    paragraphs = ["The gulls were late.", "Nobody spoke.", "Mara waited.", "The lamp burned low."]
    story.chapters.write("ch-06", "\n\n".join(paragraphs))
    page = open_chapter(open_page, story)
    page.context.set_offline(True)
    type_at_end(page, "\n\nShe left.")
    page.keyboard.press("Control+Home")
    page.keyboard.type("At dawn ")
    expect(page.locator("header .state")).to_have_text("Offline, kept here")
    story.chapters.write("ch-06", "\n\n".join(paragraphs).replace("Mara waited", "Ida waited"))
    page.context.set_offline(False)
    wait_text(
        story,
        "ch-06",
        "\n\n".join(["At dawn The gulls were late.", "Nobody spoke.", "Ida waited.", paragraphs[3], "She left."]),
    )


def test_a_notice_takes_back_what_it_tells_of_and_not_what_was_typed_since(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    page = open_page()
    page.clock.install()
    page.goto(f"{page.url.partition('#')[0]}#/{story.id}/write/ch-06")
    page.reload()
    expect(page.locator(".cm-content")).to_contain_text(read_end(story, "ch-06"))
    known, before = len(story.memory.list_memories()), story.chapters.read("ch-06").text
    type_at_end(page, "")
    page.keyboard.press("Control+Shift+ArrowLeft")
    page.get_by_role("button", name="Remember it").click()
    adding = page.get_by_role("dialog").get_by_role("button", name=re.compile("^Add"))
    expect(adding).to_be_visible()
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))  # the notice stays, however slow all of this is
    adding.click()
    notice = page.locator(".toast", has_text="Remembered.")
    expect(notice).to_be_visible()
    page.keyboard.press("Control+End")
    page.keyboard.type(" She left.")
    page.clock.run_for(2000)
    wait_text(story, "ch-06", before + " She left.")
    assert len(story.memory.list_memories()) == known + 1
    notice.get_by_role("button", name="Undo").click()
    expect(page.get_by_text(re.compile("^Taken back:"))).to_be_visible()
    assert len(story.memory.list_memories()) == known
    assert story.chapters.read("ch-06").text.endswith(" She left.")
    expect(page.locator(".cm-content")).to_contain_text("She left.")
