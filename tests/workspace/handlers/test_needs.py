"""What a scene needs: a model is asked in the background, and search looks for the answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabula.codex import Entry, edits
from fabula.context.request import Grants, Principal
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Perspective, Position, Vantage
from fabula.jobs.guards import set_monthly_budget
from fabula.jobs.model import JobState
from fabula.jobs.tables import jobs
from fabula.llm import runs
from fabula.manuscript import documents
from fabula.search.need_edits import MAX_PLACES, load_places, store_place
from fabula.search.needs import MAX_NEAR_PLACES, MAX_QUESTIONS, Needs
from fabula.settings import edits as setting_edits
from fabula.store.store import LOCAL_USER, Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.views import ProjectViews
from fabula.workspace.workspace import Workspace
from tests.llm.server import Exchange, ModelServer, Script, error_answer
from tests.workspace.handlers.background import answer_where, find_prompt, list_jobs, run_due

PISTOLS = "Old Thenard pressed two duelling pistols into the hands of Marius before the barricade fell."
SECRET = "Marius buried the strongbox below the linden tree of the convent garden."
QUESTION = "Who gave Marius the duelling pistols?"
SCENE = "The rain went on. " * 20 + "The rider drew rein at the gate, and felt for the holster at his side.\n"
JOB = "needs:three:reader"


def answer_with(text: str) -> Script:
    """A model that answers so where it is asked what a scene needs."""
    return answer_where('{"needs"', text, otherwise='{"facts": []}')


def answer(*questions: object) -> Script:
    return answer_with(json.dumps({"needs": [{"question": one} for one in questions]}, ensure_ascii=False))


def list_asked(server: ModelServer) -> list[str]:
    """The prompts in which the model was asked what a scene needs."""
    return [prompt for one in server.exchanges if '{"needs"' in (prompt := find_prompt(one))]


def filler(topic: str, paragraphs: int = 40) -> str:
    lines = [
        f"In week {one} the {topic} was weighed, and the clerk wrote {one} lines about it." for one in range(paragraphs)
    ]
    return "\n\n".join(lines)


@pytest.fixture
def book(store: Store, library: ProjectViews, model_server: ModelServer) -> ProjectHandle:
    """Three chapters: the pistols in the first, a scene that does not name them in the last."""
    with store.write(project="p") as tx:
        first = f"{filler('grain')}\n\n{PISTOLS}\n\n{filler('barley')}"
        documents.add(tx, "One", document_id="one", text=first)
        documents.add(tx, "Two", document_id="two", text=f"{filler('salt')}\n\n{SECRET}\n\n{filler('pepper')}")
        documents.add(tx, "Three", document_id="three", text=SCENE)
        documents.add(tx, "Four", document_id="four", text=f"{filler('flour')}\n\nMarius owned the ferry by then.\n")
        edits.create(tx, Entry(id="marius", type="character", name="Marius"))
    run_due(store, library)  # synopses
    return Workspace(store).project("p")


def assemble(project: ProjectHandle, **fields: object) -> str:
    """The prompt of a request in the last chapter, whose continuity is written before this returns."""
    given = {"document_id": "three", "perspective": "reader", "window": 6000, **fields}
    result = project.assemble(project.request(**given))  # type: ignore[arg-type]
    project._continuity.flush()  # type: ignore[union-attr]
    assert not result.warnings
    return result.prompt


def assemble_and_report(project: ProjectHandle) -> str:
    """The prompt of such a request, from which the next one goes on."""
    result = project.assemble(project.request(document_id="three", perspective="reader", window=6000))
    project.report_answer(result.assembly_id)
    project._continuity.flush()  # type: ignore[union-attr]
    return result.prompt


def list_reasons(project: ProjectHandle, **fields: object) -> list[str]:
    """Why things are in the prompt of such a request."""
    given = {"document_id": "three", "perspective": "reader", "window": 6000, **fields}
    result = project.inspect(project.request(**given))  # type: ignore[arg-type]
    return [f"{one.cause} {one.detail}" for one in result.trace if one.included]


def list_questions(store: Store) -> list[tuple[str, ...]]:
    with store.read(project="p") as reading:
        return [one.questions for one in load_places(reading)]


def test_a_new_scene_is_asked_for_and_its_question_finds_the_passage(
    store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    model_server.script = answer(QUESTION)
    assert "duelling pistols" not in assemble(book)
    assert list_jobs(store)[JOB].state is JobState.QUEUED
    run_due(store, library)
    assert list_jobs(store)[JOB].state is JobState.DONE
    assert list_questions(store) == [(QUESTION,)]
    prompt = assemble(book)
    assert PISTOLS in prompt
    assert QUESTION not in prompt, "a question is no part of a prompt"
    assert any(f"asked for by the model: {QUESTION}" in one for one in list_reasons(book))
    with store.read(project="p") as reading:
        assert [run.outcome for run in runs.list_runs(reading, skill_id="needs")] == ["used"]


def test_what_is_asked_for_joins_a_prompt_that_is_full_of_passages_and_stays(
    store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    places = [" ".join(f"farm{one}{letter}" for letter in "abcdefghijkl") for one in range(60)]
    rides = [f"The rider drew rein at the gate, and felt for his holster: {names}." for names in places]
    with store.write(project="p") as tx:
        documents.write(tx, "two", "\n\n".join(rides))
    run_due(store, library)  # its synopsis
    model_server.script = answer(QUESTION)
    first = assemble_and_report(book)
    assert first.count("and felt for his holster") > 5
    assert "duelling pistols" not in first
    run_due(store, library)
    second = assemble_and_report(book)
    assert second.startswith(first[: first.rindex("and felt for his holster")]), "the cached prefix stays"
    assert second.index(PISTOLS) > second.rindex("and felt for his holster"), "it joins behind the others"
    assert any(f"asked for by the model: {QUESTION}" in one for one in list_reasons(book))
    with store.write(project="p") as tx:
        documents.write(tx, "three", f"{SCENE}He dismounted.\n\n* * *\n\nIn the morning the sea was calm.\n")
    third = assemble_and_report(book)
    assert third.startswith(second[: second.index(PISTOLS) + len(PISTOLS)]), "it stays, in another scene too"


def test_the_model_is_asked_once_in_a_scene(
    store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    model_server.script = answer(QUESTION)
    for _ in range(3):
        assemble(book)
        run_due(store, library)
    assert len(list_asked(model_server)) == 1
    with store.write(project="p") as tx:
        documents.write(tx, "three", f"{SCENE}He dismounted.\n")
    assemble(book)
    run_due(store, library)
    assert len(list_asked(model_server)) == 1, "the scene goes on"
    with store.write(project="p") as tx:
        documents.write(tx, "three", f"{SCENE}He dismounted.\n\n* * *\n\nIn the morning the sea was calm.\n")
    assert "duelling pistols" not in assemble(book), "another scene"
    run_due(store, library)
    assert len(list_asked(model_server)) == 2


def test_nothing_is_asked_or_used_where_the_setting_is_off(
    store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    model_server.script = answer(QUESTION)
    assemble(book)
    run_due(store, library)
    with store.write(user=LOCAL_USER) as tx:
        setting_edits.set_value(tx, "search.needs", "off", scope="person")
    assert library.view("p").snapshot(Needs) is None
    assert "duelling pistols" not in assemble(book)
    assemble(book, document_id="two")
    assert not [key for key in list_jobs(store) if key.startswith("needs:two")]


def test_a_model_that_needs_a_key_is_asked_only_where_the_person_says_so(
    store: Store, library: ProjectViews, model_server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "models.toml"
    file.write_text(
        f'background = "own"\n[places.own]\nbase_url = "{model_server.url}"\nneeds_key = true\n'
        'key_variable = "TEST_KEY"\nmodel = "gpt-4o"\n'
    )
    monkeypatch.setenv("FABULA_MODELS", str(file))
    monkeypatch.setenv("TEST_KEY", "sk-test")
    assert ProjectViews(store).view("p").snapshot(Needs) is None
    with store.write(user=LOCAL_USER) as tx:
        setting_edits.set_value(tx, "search.needs", "on", scope="person")
    assert ProjectViews(store).view("p").snapshot(Needs) is not None
    file.write_text("background = 7")
    assert ProjectViews(store).view("p").snapshot(Needs) is None, "an unusable file lets nobody ask"


def test_a_project_cannot_switch_needs_on_by_itself(store: Store, library: ProjectViews) -> None:
    with store.write(project="p") as tx, pytest.raises(FabulaError, match=Code.SETTING_INVALID.value):
        setting_edits.set_value(tx, "search.needs", "on")


def test_without_a_model_a_prompt_queues_nothing(store: Store, library: ProjectViews) -> None:
    with store.write(project="p") as tx:
        documents.add(tx, "Three", document_id="three", text=SCENE)
    project = Workspace(store).project("p")
    assert project.view.snapshot(Needs) is None
    assemble(project)
    assert JOB not in list_jobs(store)


@pytest.mark.parametrize("rubbish", ["", "None.", '{"needs": {}}', '{"needs": ["who?"]}', "需要什么？", "[" * 5000])
def test_rubbish_changes_no_prompt_and_is_not_asked_for_again(
    rubbish: str, store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    before = assemble(book)
    model_server.script = answer_with(rubbish)
    for _ in range(3):
        run_due(store, library)
        assert assemble(book) == before
    assert list_jobs(store)[JOB].state is JobState.FAILED
    assert list_jobs(store)[JOB].reason in (Code.LLM_ANSWER_INVALID.value, Code.LLM_ANSWER_EMPTY.value)
    assert len(list_asked(model_server)) == 1


def test_questions_about_nothing_in_the_book_find_nothing(
    store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    before = assemble(book)
    model_server.script = answer(
        "Where did Zorbo hide the amulet of Krun?", "Wer gab Marius die Waffe?", "谁给了他手枪？"
    )
    run_due(store, library)
    assert list_questions(store)
    assert assemble(book) == before


def test_more_and_longer_questions_than_allowed_are_left_out(
    store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    model_server.script = answer(
        QUESTION,
        QUESTION,
        "x" * 5000,
        7,
        None,
        "?",
        "Who \x1b[31mlit the lamp?",
        "Who \u202elit the lamp?",
        "Who \x00lit the lamp?",
        *[f"What is number {n}?" for n in range(99)],
    )
    assemble(book)
    run_due(store, library)
    (questions,) = list_questions(store)
    assert len(questions) == MAX_QUESTIONS
    assert questions[0] == QUESTION
    assert max(map(len, questions)) <= 160
    assert all(map(str.isprintable, questions)), "nothing that steers a terminal or turns a line round"


@pytest.mark.parametrize(
    "text", ["it went over the moor and the moor went on, " * 4_500, "雨一直下在荒原上，" * 22_000, "it rained. " * 90]
)
def test_a_chapter_of_one_sentence_or_without_names_is_asked_about_once_and_within_bounds(
    text: str, store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    with store.write(project="p") as tx:
        documents.add(tx, "Three", document_id="three", text=text)
    model_server.script = answer("What of the moor in the rain?", "荒原上的雨下了多久？")
    project = Workspace(store).project("p")
    for _ in range(2):
        result = project.assemble(project.request(document_id="three", perspective="reader", window=6000))
        project._continuity.flush()  # type: ignore[union-attr]
        run_due(store, library)
    assert list_jobs(store)[JOB].state is JobState.DONE
    (prompt,) = list_asked(model_server)
    assert len(prompt) < 8000 * 8
    assert "What of the moor" not in result.prompt


def test_a_model_that_does_not_answer_rests_and_no_prompt_warns(
    store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    model_server.script = error_answer(500)
    for _ in range(4):
        assemble(book)  # which refuses warnings
        run_due(store, library)
    assert list_jobs(store)[JOB].state is JobState.FAILED
    assert len(list_asked(model_server)) == 1
    with store.write(project="p") as tx:
        tx.update_rows(jobs, {"ended": "2020-01-01T00:00:00Z"}, jobs.c.key == JOB)
    assemble(book)
    assert list_jobs(store)[JOB].state is JobState.QUEUED, "after a while it is asked again"


def test_a_scene_is_not_asked_for_where_the_budget_of_the_month_is_used_up(
    store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    with store.write(user=LOCAL_USER) as tx:
        set_monthly_budget(tx, 0.0)
    assemble(book)
    run_due(store, library)
    assert list_asked(model_server) == []


def test_the_model_is_told_only_what_its_asker_may_know(
    store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    with store.write(project="p") as tx:
        only = frozenset({"marius"})
        edits.create(tx, Entry(id="gate", type="location", name="gate", description="Opalword.", known_to=only))
    model_server.script = answer(QUESTION)
    for eyes in ({"perspective": "reader"}, {"perspective": "character", "character": "marius"}):
        assemble(book, **eyes)
        run_due(store, library)
    reader, marius = list_asked(model_server)
    assert "Opalword" not in reader
    assert "Opalword" in marius
    for prompt in (reader, marius):
        assert "ferry" not in prompt, "the next chapter is not told"
        assert len(prompt) < 8000 * 5


def test_questions_of_one_vantage_or_place_serve_no_other(
    store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    text = SCENE * 2
    with store.write(project="p") as tx:
        documents.write(tx, "three", text)
        store_place(tx, Position("three", len(text)), "character:marius", (QUESTION,))
    eyes = {"perspective": "character", "character": "marius"}
    others: list[dict[str, object]] = [
        {},
        {"perspective": "author"},
        {"cursor": len(SCENE), **eyes},
        {"document_id": "four", **eyes},
        {"document_id": "two", **eyes},
    ]
    assert PISTOLS in assemble(book, **eyes)
    assert any(QUESTION in one for one in list_reasons(book, **eyes))
    for other in others:
        assert not any(QUESTION in one for one in list_reasons(book, **other)), other
    assert PISTOLS not in assemble(book)


def test_who_has_limits_is_served_no_question_and_lets_no_model_ask(
    store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    grants = Grants(perspectives=frozenset({Perspective.READER}), documents=frozenset({"one", "two", "three"}))
    player = Workspace(store).project("p", Principal(user="ann", grants=grants))
    assert "duelling pistols" not in assemble(player)
    assert JOB not in list_jobs(store)
    with store.write(project="p") as tx:
        store_place(tx, Position("three", len(SCENE)), "reader", (QUESTION,))
    assert PISTOLS in assemble(book)
    assert "duelling pistols" not in assemble(player), "what the writer's model asked is told to nobody else"
    result = player.assemble(player.request(document_id="three", perspective="reader", window=6000))
    assert not any(QUESTION in f"{one.detail}" for one in result.trace)


def test_a_question_finds_nothing_behind_the_scene(store: Store, library: ProjectViews, book: ProjectHandle) -> None:
    with store.write(project="p") as tx:
        for vantage in ("reader", "author"):
            store_place(tx, Position("three", len(SCENE)), vantage, ("Did Marius own the ferry by then?",))
    assert "ferry" not in assemble(book)
    assert not any("own the ferry" in one for one in list_reasons(book, perspective="author"))


def test_an_edit_before_the_place_moves_it_and_one_while_the_model_thinks_drops_the_answer(
    store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    inner = answer(QUESTION)

    async def script(exchange: Exchange) -> None:
        if '{"needs"' in find_prompt(exchange):
            with store.write(project="p") as tx:
                documents.write(tx, "three", f"A first line.\n{SCENE}")
        await inner(exchange)

    model_server.script = script
    assemble(book)
    run_due(store, library)
    assert list_questions(store) == []
    model_server.script = inner
    assemble(book)
    run_due(store, library)
    with store.write(project="p") as tx:
        documents.write(tx, "three", f"Another first line.\nA first line.\n{SCENE}")
    assert PISTOLS in assemble(book)


def test_places_are_bounded_in_a_scene_and_in_a_project(store: Store, library: ProjectViews) -> None:
    text = SCENE * 3
    places = [("three", at) for at in range(900, 900 + MAX_NEAR_PLACES)]
    with store.write(project="p") as tx:
        documents.add(tx, "Three", document_id="three", text=text)
        for document, offset in places:
            store_place(tx, Position(document, offset), "reader", ())
        for number in range(MAX_PLACES + 10):
            store_place(tx, Position("three", number), "author", ())
    with store.read(project="p") as reading:
        kept = load_places(reading)
    assert len(kept) == MAX_PLACES
    near = Needs(one for one in (*kept,) if one.vantage == "reader")
    assert near.is_due(Vantage(Perspective.READER, Position("three", 800)), text, 800) == (
        len([one for one in kept if one.vantage == "reader"]) < MAX_NEAR_PLACES
    )
    assert not near.is_due(Vantage(Perspective.READER, None), text, 800)
    assert not near.is_due(Vantage(Perspective.READER, Position("three", 10)), text, 10), "too little text"


def test_questions_are_listed_and_forgotten(
    store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    with store.write(project="p") as tx:
        store_place(tx, Position("three", len(SCENE)), "reader", (QUESTION, "What lay below the linden tree?"))
        store_place(tx, Position("one", 300), "author", ("Who weighed the grain?",))
    assert [one.question for one in book.needs.list_needs()][:2] == ["Who weighed the grain?", QUESTION]
    assert book.needs.forget("Who gave") == 1
    assert PISTOLS not in assemble(book)
    assert len(book.needs.list_needs()) == 2
    assert JOB not in list_jobs(store), "what was forgotten is not asked for again at its place"
    with pytest.raises(FabulaError):
        book.needs.forget("no such question")
    assert book.needs.forget() == 2
    assert book.needs.list_needs() == []


def test_what_a_job_holds_that_is_no_place_is_ignored(
    store: Store, library: ProjectViews, book: ProjectHandle, model_server: ModelServer
) -> None:
    from fabula.jobs.queue import enqueue

    with store.write(project="p") as tx:
        for number, work in enumerate(
            (
                {},
                {"document": 7, "offset": "x", "perspective": "reader"},
                {"document": "gone", "offset": 500, "perspective": "reader"},
                {"document": "three", "offset": 10**9, "perspective": "reader"},
                {"document": "three", "offset": 300, "perspective": "nobody"},
            )
        ):
            enqueue(tx, "needs", f"needs:{number}", work)
    run_due(store, library)
    assert {one.state for key, one in list_jobs(store).items() if key.startswith("needs:")} == {JobState.DONE}
    assert list_asked(model_server) == []
