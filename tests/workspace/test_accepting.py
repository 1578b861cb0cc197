"""What becomes of an answer: where it goes, what it is marked as, who may take it, and what a bad record may not do."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.story import Perspective
from fabula.llm import runs
from fabula.llm.tables import runs as run_rows
from fabula.manuscript import documents as document_service
from fabula.manuscript import outline
from fabula.manuscript.tables import beats, documents, marks
from fabula.memory.outcomes import list_outcomes
from fabula.workspace.project import ProjectHandle
from fabula.workspace.settings import SettingVerbs
from tests.llm.server import openai_answer
from tests.workspace.test_writing import StoredSample, finished, model_server, sample

__all__ = ["model_server", "sample"]


def marked(sample: StoredSample) -> list[str]:
    """The stretches that are marked as a model's."""
    with sample.store.read(project=sample.project) as reading:
        return [reading.require(documents, id=row.document_id).text[row.start : row.end] for row in reading.rows(marks)]


def put(sample: StoredSample, text: str) -> str:
    """The document that a request is about, with this text."""
    document = sample.handle.request().document_id
    with sample.store.write(project=sample.project) as tx:
        document_service.write(tx, document, text)
    return document


def test_line_ends_of_another_machine_do_not_cost_the_mark(sample: StoredSample) -> None:
    document = put(sample, "One.\n")
    sample.server.script = openai_answer("Two.\r\n", "Three.")
    sample.handle.runs.accept(finished(sample.write()).run_id)
    assert sample.text(document) == "One.\nTwo.\nThree."
    assert marked(sample) == ["Two.\nThree."]
    assert sample.runs()[0].outcome == "accepted"


def test_accept_says_where_the_text_went_and_undo_takes_it_back(sample: StoredSample) -> None:
    document = put(sample, "She lit the lamp.\n")
    sample.server.script = openai_answer("The gulls came.")
    accepted = sample.handle.runs.accept(finished(sample.write()).run_id)
    assert accepted.title == sample.handle.chapters.read(document).record.title
    assert accepted.words_before == "She lit the lamp."
    sample.handle.changes.undo()
    assert sample.text(document) == "She lit the lamp.\n"
    assert marked(sample) == []
    assert sample.runs()[0].outcome == "open"
    sample.handle.changes.redo()
    assert marked(sample) == ["The gulls came."]


def test_an_answer_at_the_end_of_a_chapter_is_a_paragraph_of_its_own(sample: StoredSample) -> None:
    document = put(sample, "She lit the lamp.\n\nIt burned.")
    sample.server.script = openai_answer("The gulls came.")
    sample.handle.runs.accept(finished(sample.write()).run_id)
    assert sample.text(document) == "She lit the lamp.\n\nIt burned.\n\nThe gulls came."
    assert marked(sample) == ["The gulls came."]


def test_an_edited_answer_is_checked_like_any_other(sample: StoredSample) -> None:
    put(sample, "One.\n")
    sample.handle.constraints.add("Never use the word 'kraken'.", constraint_id="calm")
    sample.server.script = openai_answer("The sea was quiet.")
    run_id = finished(sample.write()).run_id
    accepted = sample.handle.runs.accept(run_id, text="The kraken was quiet.")
    assert [(one.rule_id, one.quote) for one in accepted.verdict.violations] == [("calm", "kraken")]
    run = sample.runs()[0]
    assert run.outcome == "edited"
    assert [one["breaks"] for one in run.verdicts[-1]["findings"]] == ["calm"]


def test_an_edited_answer_is_not_checked_where_judging_is_off(sample: StoredSample) -> None:
    put(sample, "One.\n")
    sample.handle.constraints.add("Never use the word 'kraken'.")
    SettingVerbs(sample.store, sample.project).set("judge.policy", "off")
    sample.server.script = openai_answer("The sea was quiet.")
    run_id = finished(sample.write()).run_id
    assert sample.handle.runs.accept(run_id, text="The kraken was quiet.").verdict.findings == ()


def test_the_same_text_with_other_line_ends_is_not_edited(sample: StoredSample) -> None:
    put(sample, "One.\n")
    sample.server.script = openai_answer("Two.\nThree.")
    sample.handle.runs.accept(finished(sample.write()).run_id, text="Two.\r\nThree.")
    assert sample.runs()[0].outcome == "accepted"


@pytest.mark.parametrize(
    ("taken", "stays"),
    [
        ("The sea was calm.", ["The sea was calm."]),  # a word of it
        ("At dawn: The sea was quiet.", ["The sea was quiet."]),
        ("The sea was quiet. And she slept.", ["The sea was quiet."]),
        ("Nobody came", []),
    ],
)
def test_what_the_writer_put_around_an_answer_is_the_writers(
    sample: StoredSample, taken: str, stays: list[str]
) -> None:
    put(sample, "One.\n")
    sample.server.script = openai_answer("The sea was quiet.")
    sample.handle.runs.accept(finished(sample.write()).run_id, text=taken)
    assert marked(sample) == stays


def test_an_answer_amid_a_paragraph_stands_there_as_words_do(sample: StoredSample) -> None:
    document = put(sample, "She stood. He left.")
    sample.server.script = openai_answer("The sea was quiet.")
    sample.handle.runs.accept(finished(sample.write(cursor=10)).run_id)
    assert sample.text(document) == "She stood. The sea was quiet. He left."
    assert marked(sample) == ["The sea was quiet."]


def test_characters_beyond_the_first_plane_count_as_one(sample: StoredSample) -> None:
    document = put(sample, "🌊🌊 The sea. 🌊")
    sample.server.script = openai_answer("A wave")
    sample.handle.runs.accept(finished(sample.write(skill_id="rewrite", selection=(3, 10))).run_id)
    assert sample.text(document) == "🌊🌊 A wave. 🌊"


def test_whoever_selects_stands_at_the_end_of_the_selection(sample: StoredSample) -> None:
    document = put(sample, "The lamp burned. The sea was calm.")
    sample.server.script = openai_answer("It smelt of oil.")
    run_id = finished(sample.write(skill_id="describe", selection=(8, 4))).run_id
    place = sample.runs()[0].assembly_summary["place"]
    assert (place["cursor"], place["selection"]) == (8, [4, 8])
    sample.handle.runs.accept(run_id)
    assert sample.text(document) == "The lamp It smelt of oil. burned. The sea was calm."


def test_two_who_accept_at_once_are_one_who_does_and_one_who_is_told(sample: StoredSample) -> None:
    document = put(sample, "One.\n")
    sample.server.script = openai_answer("Two.")
    run_id = finished(sample.write()).run_id
    told: list[object] = []

    def take() -> None:
        try:
            told.append(sample.handle.runs.accept(run_id).revision)
        except FabulaError as error:
            told.append(error.code)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(isinstance(one, int) for one in told) == 1
    assert [one for one in told if not isinstance(one, int)] == [Code.STORE_CONFLICT] * 3
    assert sample.text(document) == "One.\nTwo."


def test_what_was_asked_for_an_unsaved_text_goes_into_that_text_once_it_is_saved(sample: StoredSample) -> None:
    document = put(sample, "The old beginning. The end.")
    sample.server.script = openai_answer("A middle")
    typed = "Typed before. The old beginning. The end."
    run_id = finished(sample.write(skill_id="rewrite", selection=(18, 31), unsaved_text=typed)).run_id
    with pytest.raises(FabulaError) as refusal:
        sample.handle.runs.accept(run_id)
    assert refusal.value.code is Code.DOCUMENT_STALE
    with sample.store.write(project=sample.project) as tx:
        document_service.write(tx, document, typed)
        document_service.update(tx, document, {"title": "Another title"})
    sample.handle.runs.accept(run_id)
    assert sample.text(document) == "Typed before. The A middle. The end."


def test_a_synopsis_is_of_the_text_that_was_told(sample: StoredSample) -> None:
    put(sample, "They met by the sea.")
    sample.server.script = openai_answer("They meet.")
    run_id = finished(sample.write(skill_id="synopsis")).run_id
    put(sample, "They parted in the hills.")
    with pytest.raises(FabulaError) as refusal:
        sample.handle.runs.accept(run_id)
    assert refusal.value.code is Code.DOCUMENT_STALE


def test_another_answer_is_asked_for_through_the_same_eyes(sample: StoredSample) -> None:
    wishes: dict[str, Any] = {
        "perspective": Perspective.AUTHOR,
        "exclude": ("codex:entity:mara",),
        "recipe": "plain",
        "selection": (0, 4),
    }
    first = finished(sample.write(skill_id="expand", **wishes)).run_id
    request = sample.handle.runs.request_again(first)
    assert {name: getattr(request, name) for name in wishes} == wishes


def test_the_beat_an_answer_was_written_for_is_ticked_off_where_that_is_asked_for(sample: StoredSample) -> None:
    document = put(sample, "One.\n")
    with sample.store.write(project=sample.project) as tx:
        outline.add_beat(tx, document, "She lights the lamp")
        outline.add_beat(tx, document, "He leaves")
        before = outline.load_beats(tx, [document], open_only=True)[document]
    sample.server.script = openai_answer("She lit it.")
    run_id = finished(sample.write()).run_id
    assert before[0].rstrip(".") in str(sample.server.exchanges[0].request["messages"])
    assert sample.handle.runs.accept(run_id, beat=True).beat == before[0]
    with sample.store.read(project=sample.project) as reading:
        assert outline.load_beats(reading, [document], open_only=True)[document] == before[1:]


def test_no_beat_is_ticked_off_that_an_answer_was_not_written_for(sample: StoredSample) -> None:
    document = put(sample, "One.\n")
    sample.server.script = openai_answer("She lit it.")
    run_id = finished(sample.write()).run_id
    with sample.store.write(project=sample.project) as tx:
        tx.delete_rows(beats, beats.c.document_id == document)
        outline.add_beat(tx, document, "Something else")
    with pytest.raises(FabulaError) as refusal:
        sample.handle.runs.accept(run_id, beat=True)
    assert refusal.value.code is Code.TEXT_INVALID
    assert sample.text(document) == "One.\n"
    assert sample.runs()[0].outcome == "open"


@pytest.mark.parametrize(
    "place",
    [
        7,
        [],
        "insert",
        {"answer": "burn"},
        {"answer": "insert", "cursor": "here"},
        {"answer": "replace", "selection": [1]},
        {"answer": "replace", "selection": [-5, 3]},
        {"answer": "insert", "cursor": 10**9},
        {"answer": "insert", "cursor": None},
    ],
)
def test_a_record_that_makes_no_sense_puts_nothing_anywhere(sample: StoredSample, place: Any) -> None:
    document = put(sample, "One.\n")
    run_id = finished(sample.write()).run_id
    with sample.store.write(project=sample.project) as tx:
        kept = runs.get_run(tx, run_id)
        own = {**kept.assembly_summary["place"], **place} if isinstance(place, dict) else place
        tx.update_rows(
            run_rows, {"trace": {**kept.assembly_summary, "place": own, "sources": 7}}, run_rows.c.id == run_id
        )
    with pytest.raises(FabulaError) as refusal:
        sample.handle.runs.accept(run_id)
    assert refusal.value.code is Code.TEXT_INVALID
    assert sample.text(document) == "One.\n"


def test_an_answer_that_was_left_may_be_taken_after_all(sample: StoredSample) -> None:
    document = put(sample, "One.\n")
    sample.server.script = openai_answer("Two.")
    run_id = finished(sample.write()).run_id
    sample.handle.runs.request_again(run_id)
    with pytest.raises(FabulaError) as refusal:
        sample.handle.runs.reject(run_id)
    assert refusal.value.code is Code.STORE_CONFLICT, "what is left is left"
    sample.handle.runs.accept(run_id)
    assert sample.text(document) == "One.\nTwo."
    with sample.store.read(project=sample.project) as reading:
        assert [outcome.decision.value for outcome in list_outcomes(reading)] == ["accepted"]
    with pytest.raises(FabulaError) as refusal:
        sample.handle.runs.accept(run_id)
    assert refusal.value.code is Code.STORE_CONFLICT


def test_another_program_proposes_an_edit_and_a_person_accepts_it(coast: ProjectHandle) -> None:
    chapter = coast.chapters.list_chapters()[0]
    text = coast.chapters.read(chapter.id).text
    words = text.split(". ")[0]
    run = coast.runs.propose(chapter.title, "Another beginning", replaces=words, reason="shorter", proposer="editor")
    assert (run.outcome, run.model, run.document_id) == ("open", "editor", chapter.id)
    assert coast.chapters.read(chapter.id).text == text
    coast.runs.accept(run.id)
    assert coast.chapters.read(chapter.id).text == text.replace(words, "Another beginning", 1)
    behind = coast.runs.propose(chapter.id, "The end.")
    assert coast.runs.reject(behind.id).answer == "The end."
    assert "The end." not in coast.chapters.read(chapter.id).text


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"text": " "}, Code.TEXT_INVALID),
        ({"text": "x", "replaces": "x"}, Code.TEXT_INVALID),
        ({"text": "x", "replaces": "words that are not there"}, Code.REQUEST_INVALID),
        ({"text": "x", "replaces": " "}, Code.REQUEST_INVALID),
        ({"text": "x", "replaces": "the"}, Code.REQUEST_INVALID),
        ({"text": "x", "replaces": "y", "place": "0"}, Code.REQUEST_INVALID),
        ({"text": "x", "place": "-1"}, Code.CURSOR_INVALID),
        ({"text": "x", "chapter": "Nowhere"}, Code.DOCUMENT_UNKNOWN),
    ],
)
def test_a_proposal_that_cannot_be_accepted_is_refused(
    coast: ProjectHandle, fields: dict[str, str], code: Code
) -> None:
    with pytest.raises(FabulaError) as refused:
        coast.runs.propose(**{"chapter": "1", **fields})
    assert refused.value.code is code
    assert coast.runs.list_runs() == []


def test_an_answer_goes_where_its_place_has_moved_to_and_keeps_its_mark(sample: StoredSample) -> None:
    document = put(sample, "She stood. He left.")
    sample.server.script = openai_answer("The sea was quiet.")
    run_id = finished(sample.write(cursor=10)).run_id
    revision = sample.handle.chapters.write(document, "Then she stood. He left.").revision
    with pytest.raises(FabulaError) as stale:
        sample.handle.runs.accept(run_id, target=(15, 15), expected_revision=revision - 1)
    assert stale.value.code is Code.DOCUMENT_STALE
    with pytest.raises(FabulaError) as unchecked:
        sample.handle.runs.accept(run_id, target=(15, 15))
    assert unchecked.value.code is Code.REQUEST_INVALID
    assert sample.text(document) == "Then she stood. He left."
    sample.handle.runs.accept(run_id, target=(15, 15), expected_revision=revision)
    assert sample.text(document) == "Then she stood. The sea was quiet. He left."
    assert marked(sample) == ["The sea was quiet."]


def test_only_the_very_words_that_an_answer_was_written_for_are_replaced(sample: StoredSample) -> None:
    document = put(sample, "She stood. He left.")
    sample.server.script = openai_answer("He went away.")
    run_id = finished(sample.write(skill_id="rewrite", cursor=19, selection=(11, 19))).run_id
    revision = sample.handle.chapters.write(document, "Then she stood. He left.").revision
    for target in ((5, 15), (16, 16)):  # other words, and none at all
        with pytest.raises(FabulaError) as other:
            sample.handle.runs.accept(run_id, target=target, expected_revision=revision)
        assert other.value.code is Code.DOCUMENT_STALE
    sample.handle.runs.accept(run_id, target=(16, 24), expected_revision=revision)
    assert sample.text(document) == "Then she stood. He went away."
    assert marked(sample) == ["He went away."]
