"""Facts that a model finds in changed chapters: each quotes its sentence, and nothing invented is kept."""

from __future__ import annotations

import json

import pytest

from fabula.codex import Entry, edits
from fabula.codex.facts import Fact, Facts, FactText, Quotation
from fabula.codex.model import Codex
from fabula.codex.tables import quotations
from fabula.core.errors import Code
from fabula.jobs.model import JobState
from fabula.jobs.tables import jobs
from fabula.llm import runs
from fabula.manuscript import documents
from fabula.settings import edits as setting_edits
from fabula.store.store import LOCAL_USER, Store
from fabula.workspace.handlers.facts import MAX_ANSWERS, MAX_CHUNKS
from fabula.workspace.views import ProjectViews
from fabula.workspace.workspace import Workspace
from tests.llm.server import ModelServer, Script, error_answer
from tests.workspace.handlers.background import answer_where, find_prompt, list_jobs, run_due

SCAR = "“You got that scar from my brother’s knife,” said Rosa, and Mara did not answer."
PROMISE = "“I shall bring back the lamp before the spring tide,” Mara told the keeper."
TEXT = f"The harbour was dark.\n\n{SCAR}\n\n{PROMISE} The keeper laughed.\n\nNobody came that night.\n"
LASTING = "Mara had never learned to swim since the winter in which her brother drowned."
JOB = "facts:one"


def answer_with(text: str) -> Script:
    """A model that answers so where it is asked for facts, and tells chapters in short."""
    return answer_where('{"facts"', text, otherwise="Mara and Rosa talk.")


def answer(*rows: tuple[str, str]) -> Script:
    """A model that names these facts."""
    facts = json.dumps({"facts": [{"name": name, "quote": quote} for name, quote in rows]}, ensure_ascii=False)
    return answer_with(f"Here they are:\n{facts}")


def count_asked(server: ModelServer) -> int:
    """How often the model was asked for facts."""
    return sum('{"facts"' in find_prompt(one) for one in server.exchanges)


def add_entries(store: Store, *names: str) -> None:
    with store.write(project="p") as tx:
        for name in names:
            edits.create(tx, Entry(id=name.lower().replace(" ", "-"), type="character", name=name))


def list_facts(library: ProjectViews, entry: str = "mara") -> list[Fact]:
    facts = library.view("p").snapshot(Facts)
    return [] if facts is None else [one for one in facts.list_facts(entry) if one.origin == "model"]


@pytest.fixture
def chapter(store: Store, library: ProjectViews, model_server: ModelServer) -> ModelServer:
    """A chapter with two people, and a model that works for its project."""
    with store.write(project="p") as tx:
        documents.add(tx, "One", document_id="one", text=TEXT)
    add_entries(store, "Mara", "Rosa")
    return model_server


def test_a_model_finds_facts_in_a_changed_chapter_with_their_sentences(
    store: Store, library: ProjectViews, chapter: ModelServer
) -> None:
    chapter.script = answer(("Mara", PROMISE), ("Rosa", "\"You got that scar from my brother's knife"))
    run_due(store, library)
    assert list_jobs(store)[JOB].state is JobState.DONE
    (promise,) = list_facts(library)
    assert (promise.text, promise.origin, promise.is_lasting) == (PROMISE, "model", True)
    assert (promise.since.document, promise.since.offset) == ("one", TEXT.index(PROMISE) + len(PROMISE))
    (scar,) = list_facts(library, "rosa")
    assert scar.text == SCAR, "the whole sentence is quoted"
    with store.read(project="p") as reading:
        assert {(run.skill_id, run.outcome) for run in runs.list_runs(reading, skill_id="facts")} == {("facts", "used")}
        assert reading.rows(quotations)[0].made_from
    prompt = next(find_prompt(one) for one in chapter.exchanges if '{"facts"' in find_prompt(one))
    assert "Mara, Rosa" in prompt or "Mara and Rosa" in prompt
    assert PROMISE in prompt


def test_a_fact_by_the_model_stands_beside_its_entry_in_later_prompts_only(
    store: Store, library: ProjectViews, chapter: ModelServer
) -> None:
    chapter.script = answer(("Mara", PROMISE))
    with store.write(project="p") as tx:
        documents.add(tx, "Two", document_id="two", text="Mara looked at the sea.")
    run_due(store, library)
    project = Workspace(store).project("p")
    later = project.assemble(project.request(document_id="two", perspective="reader"))
    assert PROMISE in later.prompt
    assert any("#fact:" in one.source and one.included for one in later.trace)
    earlier = project.assemble(project.request(document_id="one", cursor=30, perspective="reader", recipe="digest"))
    assert PROMISE not in earlier.prompt


def test_invented_quotations_and_people_who_do_not_exist_are_refused(
    store: Store, library: ProjectViews, chapter: ModelServer
) -> None:
    chapter.script = answer(
        ("Mara", "Mara stole the keeper's silver watch."),  # nowhere in the chapter
        ("Zorbo", PROMISE),  # nobody
        ("Mara", "Nobody came that night."),  # too far from her name to be about her
        ("Mara", ""),
        ("Mara", "the"),
        ("", PROMISE),
    )
    with store.write(project="p") as tx:
        documents.write(tx, "one", TEXT.replace("\n\nNobody", "\n\n" + "The wind went round. " * 40 + "\n\nNobody"))
    run_due(store, library)
    assert list_jobs(store)[JOB].state is JobState.DONE
    assert list_facts(library) == list_facts(library, "rosa") == []
    with store.read(project="p") as reading:
        assert {text for _, text in reading.rows(quotations)[0].quotations} == {""}, "who was asked about, no sentence"


@pytest.mark.parametrize(
    "rubbish",
    [
        "",
        "I cannot do that.",
        "{}",
        '{"facts": 7}',
        '{"facts": ["a"]}',
        "[" * 5000,
        '{"facts": [{"name": 1}',
        "玛拉许诺了。",
    ],
)
def test_a_model_that_answers_rubbish_or_in_another_language_changes_nothing(
    rubbish: str, store: Store, library: ProjectViews, chapter: ModelServer
) -> None:
    chapter.script = answer_with(rubbish)
    run_due(store, library)
    with store.write(project="p") as tx:  # as if the pause after the first try had passed
        tx.update_rows(jobs, {"due": tx.current_time()}, jobs.c.key == JOB)
    run_due(store, library)
    job = list_jobs(store)[JOB]
    assert job.state is JobState.FAILED
    assert job.reason in (Code.LLM_ANSWER_INVALID.value, Code.LLM_ANSWER_EMPTY.value)
    assert list_facts(library) == []
    assert count_asked(chapter) <= 2


def test_quotations_that_were_translated_are_refused(store: Store, library: ProjectViews, chapter: ModelServer) -> None:
    chapter.script = answer(("Mara", "“Je rapporterai la lampe avant la grande marée”, dit Mara au gardien."))
    run_due(store, library)
    assert list_facts(library) == []


def test_a_model_that_does_not_answer_costs_no_fact_and_no_prompt(
    store: Store, library: ProjectViews, chapter: ModelServer
) -> None:
    chapter.script = error_answer(500)
    run_due(store, library)
    assert JOB not in list_jobs(store), "the synopsis comes first, and its job says what is wrong"
    project = Workspace(store).project("p")
    assert not project.assemble(project.request(document_id="one")).warnings


def test_an_edit_removes_the_fact_whose_sentence_is_gone_and_the_chapter_is_read_again(
    store: Store, library: ProjectViews, chapter: ModelServer
) -> None:
    chapter.script = answer(("Mara", PROMISE), ("Mara", SCAR))
    run_due(store, library)
    assert {one.text for one in list_facts(library)} == {PROMISE, SCAR}
    changed = PROMISE.replace("lamp", "ladder")
    with store.write(project="p") as tx:
        documents.write(tx, "one", "A new first line.\n\n" + TEXT.replace(PROMISE, changed))
    (kept,) = list_facts(library)
    assert kept.text == SCAR, "at once, before any model is asked"
    assert kept.since.offset == 19 + TEXT.index(SCAR) + len(SCAR), "and at its new place"
    chapter.script = answer(("Mara", changed))
    run_due(store, library)
    assert [one.text for one in list_facts(library)] == [changed]


def test_a_chapter_that_did_not_change_is_not_read_again(
    store: Store, library: ProjectViews, chapter: ModelServer
) -> None:
    chapter.script = answer(("Mara", PROMISE))
    run_due(store, library)
    assert count_asked(chapter) == 1
    with store.write(project="p") as tx:
        documents.write(tx, "one", TEXT + "More.")
        documents.write(tx, "one", TEXT)
    run_due(store, library)
    assert count_asked(chapter) == 1


def test_the_setting_keeps_the_model_from_looking_for_facts(
    store: Store, library: ProjectViews, chapter: ModelServer
) -> None:
    with store.write(project="p") as tx:
        setting_edits.set_value(tx, "codex.factsByModel", False)
    run_due(store, library)
    assert JOB not in list_jobs(store)
    assert count_asked(chapter) == 0


def test_facts_wait_where_the_budget_of_the_month_is_used_up(
    store: Store, library: ProjectViews, chapter: ModelServer
) -> None:
    from fabula.jobs.guards import set_monthly_budget

    with store.write(user=LOCAL_USER) as tx:
        set_monthly_budget(tx, 0.0)
    run_due(store, library)
    assert count_asked(chapter) == 0


def test_a_book_without_names_asks_no_model(store: Store, library: ProjectViews, model_server: ModelServer) -> None:
    model_server.script = answer(("Mara", PROMISE))
    with store.write(project="p") as tx:
        documents.add(tx, "One", document_id="one", text=TEXT)
    run_due(store, library)
    assert list_jobs(store)[JOB].state is JobState.DONE
    assert count_asked(model_server) == 0


def test_entries_that_come_after_their_chapters_get_facts_and_each_is_asked_about_once(
    store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    model_server.script = answer(("Mara", PROMISE), ("Rosa", SCAR))
    with store.write(project="p") as tx:
        documents.add(tx, "One", document_id="one", text=TEXT)
        documents.add(tx, "Two", document_id="two", text="The sea was calm all day, and nobody came to the island.")
    run_due(store, library)
    add_entries(store, "Mara")
    run_due(store, library)
    assert [one.text for one in list_facts(library)] == [PROMISE]
    assert count_asked(model_server) == 1, "the chapter that names nobody is not sent"
    add_entries(store, "Rosa")
    run_due(store, library)
    asked = [prompt for one in model_server.exchanges if '{"facts"' in (prompt := find_prompt(one))]
    assert "Names: Rosa" in asked[-1]
    assert [one.text for one in list_facts(library)] == [PROMISE], "what was found before stays"
    assert [one.text for one in list_facts(library, "rosa")] == [SCAR]
    with store.write(project="p") as tx:
        edits.update(tx, "mara", {"description": "She keeps the light."})
    run_due(store, library)
    assert count_asked(model_server) == 2


def test_a_row_of_an_older_program_counts_as_asked_about_all_entries_of_its_time(
    store: Store, library: ProjectViews, chapter: ModelServer
) -> None:
    chapter.script = answer(("Mara", PROMISE))
    with store.write(project="p") as tx:
        documents.write(tx, "one", TEXT + "\nThe letter was from Joris.\n")
    run_due(store, library)
    with store.write(project="p") as tx:  # older programs listed only what was quoted
        tx.update_rows(quotations, {"quotations": [("mara", PROMISE)]}, quotations.c.document_id == "one")
        edits.update(tx, "mara", {"description": "She keeps the light."})
    run_due(store, library)
    assert count_asked(chapter) == 1
    add_entries(store, "Joris")
    run_due(store, library)
    asked = [prompt for one in chapter.exchanges if '{"facts"' in (prompt := find_prompt(one))]
    assert len(asked) == 2
    assert "Names: Joris\n" in asked[-1]
    assert [one.text for one in list_facts(library)] == [PROMISE]


def test_a_chapter_that_is_one_sentence_of_200_000_characters_is_bounded(
    store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    long = "Mara went on and on over the moor and the moor went on under Mara, " * 3000
    model_server.script = answer(("Mara", long[:280]), ("Mara", long[:5000]))
    with store.write(project="p") as tx:
        documents.add(tx, "One", document_id="one", text=long[:200_000])
    add_entries(store, "Mara")
    run_due(store, library)
    assert list_jobs(store)[JOB].state is JobState.DONE
    assert 0 < count_asked(model_server) <= MAX_CHUNKS
    assert list_facts(library) == [], "no line of a prompt is that long"


def test_an_entry_that_is_named_by_a_common_word_gets_no_sentence_that_only_has_the_word(
    store: Store, library: ProjectViews, chapter: ModelServer
) -> None:
    add_entries(store, "Night")
    chapter.script = answer(("Night", "Nobody came that night."))
    run_due(store, library)
    assert list_facts(library, "night") == []


@pytest.mark.parametrize(
    ("name", "named", "word", "meant"),
    [
        ("Hope", "Hope came down to the quay.", "They had lost all hope of the ship that winter.", "She wept for it."),
        ("Will", "The door opened for Will Tarn.", "Will she ever come back to the island, they asked.", "He wept."),
        ("安静", "安静走进门来。", "那一夜屋里很安静，谁也没有说话。", "他常常想念死去的母亲。"),
    ],
)
def test_a_common_word_beside_a_sure_name_is_no_fact_and_a_pronoun_may_be_one(
    name: str, named: str, word: str, meant: str, store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    meant = meant if name == "安静" else f"{meant} It was the third of the ships that the family had lost."
    with store.write(project="p") as tx:
        documents.add(tx, "One", document_id="one", text=f"{named} {word} {meant}\n")
        edits.create(tx, Entry(id="one", type="character", name=name, aliases=(f"{name} Tarn",)))
    model_server.script = answer((name, word), (name, meant))
    run_due(store, library)
    assert [one.text for one in list_facts(library, "one")] == [meant]


def test_more_facts_than_a_chapter_may_have_are_cut(store: Store, library: ProjectViews, chapter: ModelServer) -> None:
    chapter.script = answer(
        *[("Mara", f"Invented sentence number {one} of Mara.") for one in range(500)], ("Mara", SCAR)
    )
    run_due(store, library)
    assert MAX_ANSWERS < 500
    assert list_facts(library) == []


def test_a_dismissed_fact_of_the_model_stays_away(store: Store, library: ProjectViews, chapter: ModelServer) -> None:
    chapter.script = answer(("Mara", PROMISE), ("Mara", SCAR))
    run_due(store, library)
    facts = Workspace(store).project("p").facts
    facts.dismiss("Mara", PROMISE[:30])
    with store.write(project="p") as tx:
        documents.write(tx, "one", TEXT + "\nThe end.\n")
    run_due(store, library)
    assert [one.text for one in list_facts(library)] == [SCAR]
    assert facts.restore("Mara") == 1
    assert len(list_facts(library)) == 2


def test_a_sentence_that_both_found_is_one_fact_of_the_program() -> None:
    codex = Codex("p", "en", [Entry(id="mara", type="character", name="Mara")])
    text = FactText("one", f"{LASTING}\n", quotations=(Quotation("mara", LASTING),))
    (fact,) = Facts([text], codex).list_facts("mara")
    assert (fact.text, fact.origin) == (LASTING, "program")


def test_quotations_of_an_unknown_entry_or_from_a_hostile_save_are_no_facts() -> None:
    codex = Codex("p", "en", [Entry(id="mara", type="character", name="Mara")])
    bad = [
        ("zorbo", PROMISE),
        ("mara", "x" * 1_000_000),
        ("mara", ""),
        ("mara", "\n\n"),
        ("mara", "\x1c" * 9),
        ("mara", ".*" * 100),
    ]
    text = FactText("one", TEXT, quotations=tuple(Quotation(*one) for one in bad))
    assert not [one for one in Facts([text], codex).list_facts("mara") if one.origin == "model"]


def test_a_sentence_that_does_not_name_its_entry_is_known_from_the_end_of_its_chapter(
    store: Store, library: ProjectViews, chapter: ModelServer
) -> None:
    text = "A hooded stranger limped in. She wore the keeper's ring on a cord.\n\nIt was Mara who had come home.\n"
    with store.write(project="p") as tx:
        documents.write(tx, "one", text)
    chapter.script = answer(("Mara", "She wore the keeper's ring on a cord."))
    run_due(store, library)
    (fact,) = list_facts(library)
    assert fact.since.offset == len(text)


def test_a_later_name_tells_no_fact_by_the_model(store: Store, library: ProjectViews, chapter: ModelServer) -> None:
    from fabula.codex import Progression, progressions
    from fabula.core.story import Position

    with store.write(project="p") as tx:
        documents.add(tx, "Two", document_id="two", text="The end.")
        progressions.add(tx, "rosa", Progression("", Position("two", 3), aliases=("The Heron",)))
        documents.write(tx, "one", TEXT + "\nThe Heron owed forty crowns to the bank of Ostend.\n")
    chapter.script = answer(("Rosa", "The Heron owed forty crowns to the bank of Ostend."), ("The Heron", PROMISE))
    run_due(store, library)
    texts = [one.text for one in list_facts(library, "rosa")]
    assert not any("Heron" in one for one in texts)
