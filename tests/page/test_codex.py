"""The codex in a real browser: find, make, change in two windows, delete and take back, accept a proposal, import."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from fabula.workspace.project import ProjectHandle
from tests.page.conftest import OpenPage
from tests.page.test_axe import find_problems


def test_an_entry_is_made_changed_deleted_and_taken_back(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/codex")
    page.get_by_role("button", name="New entry").first.click()
    page.get_by_label("Name", exact=True).fill("Odile <b>Marsh</b>")
    page.get_by_label("Other names").fill("Odile, 奥黛尔")
    page.get_by_label("Details").fill("eyes: grey")
    page.get_by_label("Private notes").fill("She lies.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Odile <b>Marsh</b>")).to_be_visible()
    expect(page.get_by_text("The book does not name it yet.")).to_be_visible()
    made = story.codex.find("Odile")
    assert (made.aliases, made.details, made.notes) == (("Odile", "奥黛尔"), {"eyes": "grey"}, "She lies.")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the entry").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", name="Odile <b>Marsh</b>")).to_be_visible()
    assert story.codex.find("Odile").notes == "She lies."


def test_what_somebody_else_changed_is_not_overwritten_unseen(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/codex/mara")
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Description").fill("Mine.")
    story.codex.edit("mara", description="Theirs.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Somebody else changed this meanwhile")).to_be_visible()
    assert story.codex.find("mara").description == "Theirs."
    page.get_by_role("button", name="Save mine").click()
    expect(page.get_by_role("heading", name="Mara Venn")).to_be_visible()
    assert story.codex.find("mara").description == "Mine."


def test_a_change_can_be_a_secret_of_some_from_the_beginning(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/codex/mara")
    page.get_by_role("button", name="Add a change").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What becomes true").fill("Mara is the Inspector's daughter.")
    dialog.get_by_label("Who knows of it").fill("Mara Venn")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Mara is the Inspector's daughter.", exact=True)).to_be_visible()
    assert story.codex.find("mara").progressions[-1].known_to == frozenset({"mara"})


def test_an_entry_is_read_through_other_eyes_without_their_secrets(open_page: OpenPage, story: ProjectHandle) -> None:
    story.codex.add("Odile Marsh", kind="character", description="Keeps bees.")
    story.codex.add_progression("Odile Marsh", "Odile has burnt the log.", since="2", known_to=["Mara Venn"])
    story.codex.add("The black ledger", kind="item", description="Names every bribe.", known_to=["Grace"])
    story.codex.set_knowledge("The black ledger", "Will Tarn", since="5")
    page = open_page(f"#/{story.id}/codex/{story.codex.find('Odile Marsh').id}")
    side = page.get_by_role("complementary", name="As the model reads it")
    eyes = side.get_by_label("Through whose eyes")
    expect(side.get_by_text("Odile has burnt the log.")).to_be_visible()
    eyes.select_option(label="Will Tarn")
    expect(side.get_by_text("1 secret is kept from Will Tarn.")).to_be_visible()
    expect(side.get_by_text("Keeps bees.")).to_be_visible()
    expect(side.get_by_text("burnt the log")).to_have_count(0)
    eyes.select_option(label="Mara Venn")
    expect(side.get_by_text("Odile has burnt the log.")).to_be_visible()
    eyes.select_option(label="Will Tarn")
    side.get_by_label("At the end of").select_option(index=3)
    page.get_by_role("option", name=re.compile("The black ledger")).click()
    expect(side.get_by_text("says nothing of it: Will Tarn does not know this until chapter 5.")).to_be_visible()
    expect(side.get_by_text("bribe")).to_have_count(0)
    assert find_problems(page) == []


def test_a_card_says_in_a_sentence_when_the_model_reads_it(open_page: OpenPage, story: ProjectHandle) -> None:
    story.codex.add("Old Pike", kind="item", level="manual")
    page = open_page(f"#/{story.id}/codex/will")
    expect(page.get_by_role("main").get_by_text("The model reads it wherever your text names it.")).to_be_visible()
    page.get_by_role("option", name=re.compile("Old Pike")).click()
    expect(page.get_by_role("main").get_by_text("The model reads it only where you pin it.")).to_be_visible()


def test_a_proposal_is_accepted_with_its_evidence(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/codex/proposals")
    proposal = page.get_by_role("region", name="Jory", exact=True)
    expect(proposal.get_by_text("arriving mostly sideways")).to_be_visible()
    proposal.get_by_role("button", name="Accept").click()
    expect(proposal).to_have_count(0)
    assert story.codex.find("Jory").type == "character"


def test_a_dropped_card_and_a_dropped_book_come_in_with_a_report(
    open_page: OpenPage, story: ProjectHandle, tmp_path: Path
) -> None:
    card, book = tmp_path / "nell.json", tmp_path / "coast.json"
    card.write_text(json.dumps({"name": "Nell", "description": "Rows.", "first_mes": "Well?", "personality": "dry"}))
    entries = {"0": {"uid": 0, "key": ["Gull Rock"], "comment": "Gull Rock", "content": "A rock.", "order": 1}}
    book.write_text(json.dumps({"entries": entries}))
    page = open_page(f"#/{story.id}/codex")
    page.get_by_role("button", name="Import").first.click()
    page.locator('input[type="file"]').set_input_files(card)
    expect(page.get_by_text("Nell can take part in conversations now.")).to_be_visible()
    expect(page.get_by_text(re.compile("personality"))).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Close").last.click()
    page.get_by_role("button", name="Import").first.click()
    page.locator('input[type="file"]').set_input_files(book)
    page.get_by_role("button", name="Make codex entries of it").click()
    expect(page.get_by_text("1 entry was made.")).to_be_visible()
    assert story.codex.find("Gull Rock").description == "A rock."


LASTING = "Mara had never learned to swim since the winter in which her brother drowned."
OTHER = "Mara always wore her father's silver watch on a blue ribbon."


def test_what_the_book_says_of_an_entry_is_opened_used_dismissed_and_listed_again(
    open_page: OpenPage, story: ProjectHandle
) -> None:
    story.chapters.write("ch-02", f"🕯 The wind rose.\n\n{LASTING}\n\n{OTHER}\n\nNobody came.")
    page = open_page(f"#/{story.id}/codex/mara")
    facts = page.get_by_role("region", name="What the book says")
    item = facts.get_by_role("listitem")
    expect(item.first).to_be_visible()
    facts.get_by_role("button", name=re.compile("more sentence")).click()
    told = item.filter(has_text=LASTING)
    expect(told).to_contain_text("known to")
    expect(told).to_contain_text("the model may read it")
    told.get_by_role("button", name="Add as a change").click()
    expect(item.filter(has_text=LASTING)).to_have_count(0)
    expect(page.get_by_role("region", name="What changes").get_by_text(LASTING)).to_be_visible()
    assert story.codex.find("mara").progressions[-1].text == LASTING
    page.get_by_role("button", name="Undo").last.click()
    expect(told).to_be_visible()
    told.get_by_role("button", name="Make it a secret").click()
    page.get_by_label("Who knows of it").fill("Mara, Nobody Ever")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("Nobody Ever")
    page.get_by_label("Who knows of it").fill("Mara")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(item.filter(has_text=LASTING)).to_have_count(0)
    assert story.codex.find("mara").progressions[-1].known_to == frozenset({"mara"})
    item.filter(has_text=OTHER).get_by_role("button", name="Dismiss").click()
    expect(item.filter(has_text=OTHER)).to_have_count(0)
    facts.get_by_text("Dismissed or used: 2").click()
    facts.get_by_role("button", name=f"List again: {OTHER}").click()
    expect(facts.get_by_text("Dismissed or used: 1")).to_be_visible()
    assert OTHER in [one.text for one in story.facts.list_facts("mara")]
    item.filter(has_text=OTHER).get_by_role("link").click()
    expect(page.get_by_label("Title of the chapter")).to_have_value("The Weight")
    page.wait_for_function("words => getSelection().toString().trim() === words", arg=OTHER)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_wrong_with_the_codex(open_page: OpenPage, story: ProjectHandle, theme: str) -> None:
    page = open_page(f"#/{story.id}/codex/mara", theme=theme)
    expect(page.locator("svg circle").first).to_be_visible()
    expect(page.get_by_role("region", name="What the book says").get_by_role("listitem").first).to_be_visible()
    assert find_problems(page) == []


def test_a_relation_has_limits_and_shows_on_both_pages(open_page: OpenPage, story: ProjectHandle) -> None:
    page = open_page(f"#/{story.id}/codex/mara")
    page.get_by_role("button", name="Add a relation").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("How it stands to the other").fill("keeps a secret from")
    dialog.get_by_label("The other", exact=True).select_option(label="Hope Tarn")
    dialog.get_by_label("Holds from").select_option("ch-02")
    dialog.get_by_label("Holds until").select_option("ch-05")
    dialog.get_by_label("Who knows of the relation").fill("Mara Venn")
    dialog.get_by_role("button", name="Save").click()
    limits = re.compile("from Chapter 2 .* · until Chapter 5 .* · known to Mara Venn only")
    expect(page.get_by_text(limits)).to_be_visible()
    made = next(one for one in story.codex.find("mara").relations if one.kind == "keeps a secret from")
    assert (made.since and made.since.document, made.until and made.until.document) == ("ch-02", "ch-05")
    assert made.known_to == frozenset({"mara"})
    item = page.locator(".item").filter(has_text="keeps a secret from")
    item.get_by_role("button", name="Edit the relation to Hope Tarn").click()
    dialog.get_by_label("Holds until").select_option("")
    dialog.get_by_label("Who knows of the relation").fill("")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_text("known to Mara Venn only")).to_have_count(0)
    made = next(one for one in story.codex.find("mara").relations if one.kind == "keeps a secret from")
    assert (made.since and made.since.document, made.until, made.known_to) == ("ch-02", None, None)
    item.get_by_role("link", name="Hope Tarn").click()
    expect(page.get_by_role("heading", name="Hope Tarn")).to_be_visible()
    incoming = page.locator(".item").filter(has_text="keeps a secret from")
    expect(incoming).to_contain_text("Mara Venn")
    expect(incoming.get_by_role("button")).to_have_count(0)
