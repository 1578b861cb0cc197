"""Preferences that outcomes show: found by counting, and by a model where one is set up."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fabula.core.ids import current_timestamp
from fabula.jobs import queue as jobs
from fabula.jobs.model import JobState
from fabula.memory import edits as service
from fabula.memory.learning import learn
from fabula.memory.model import Decision, MemoryItem, MemoryOrigin, SuggestionOutcome
from fabula.memory.model import MemoryState as Stands
from fabula.memory.outcomes import record_outcome
from fabula.store.store import Store
from fabula.workspace.views import ProjectViews
from tests.llm.server import ModelServer, error_answer, openai_answer
from tests.workspace.handlers.background import list_jobs, run_due

HABIT = "Ends scenes on an image rather than on a thought."


def _rewrite(store: Store, many: int, first: int = 0) -> None:
    """Texts whose exclamation marks the writer took out, one after the other."""
    with store.write(project="p") as tx:
        for number in range(first, first + many):
            offered = f"The boat number {number} came in! Nobody waved from the pier number {number}!"
            record_outcome(
                tx,
                SuggestionOutcome(
                    suggestion=offered, decision=Decision.REWRITTEN, rewritten_text=offered.replace("!", ".")
                ),
            )


def _proposed(store: Store) -> dict[str, MemoryItem]:
    with store.read(project="p") as reading:
        return {one.text: one for one in service.list_memories(reading) if one.state is Stands.PROPOSED}


def _says(*rows: Mapping[str, object]) -> str:
    return "Here they are:\n" + json.dumps({"habits": rows})


def test_what_outcomes_show_is_proposed_in_the_background(store: Store, library: ProjectViews) -> None:
    _rewrite(store, 12)
    assert list_jobs(store)["proposals:memory"].state is JobState.QUEUED
    run_due(store, library)
    assert any("xclamation" in text for text in _proposed(store))
    assert list_jobs(store)["proposals:memory"].state is JobState.DONE


def test_a_model_may_see_what_no_counting_does(store: Store, library: ProjectViews, model_server: ModelServer) -> None:
    rows = (
        {"text": HABIT, "shown": [1, 2, 3, 3, 99]},
        {"text": "Seen in two only.", "shown": [1, 2]},
        {"text": "Avoid exclamation marks.", "shown": [1, 2, 3, 4]},
        {"text": 7, "shown": "all"},
    )
    model_server.script = openai_answer(_says(*rows))
    _rewrite(store, 12)
    run_due(store, library)
    found = _proposed(store)
    assert HABIT in found
    assert (found[HABIT].votes_for, found[HABIT].origin) == (3, MemoryOrigin.LEARNED)
    assert "Seen in two only." not in found
    assert sum("xclamation" in text for text in found) == 1, "what is counted is not proposed twice"
    (asked,) = model_server.exchanges
    assert "12. [rewritten] The boat number 11 came in!" in asked.request["messages"][-1]["content"]

    _rewrite(store, 2, first=50)
    run_due(store, library)
    assert len(model_server.exchanges) == 1, "two more outcomes are not worth asking for"
    assert _proposed(store)[HABIT].votes_for == 3, "counting says nothing against what it cannot count"


def test_a_model_that_talks_rubbish_does_not_keep_counting_from_being_heard(
    store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    model_server.script = openai_answer("You write beautifully.")
    _rewrite(store, 12)
    run_due(store, library)
    assert any("xclamation" in text for text in _proposed(store))
    assert list_jobs(store)["proposals:memory"].reason == "LLM_ANSWER_INVALID"


def test_a_model_that_is_away_does_not_either(store: Store, library: ProjectViews, model_server: ModelServer) -> None:
    model_server.script = error_answer(401)
    _rewrite(store, 12)
    run_due(store, library)
    assert any("xclamation" in text for text in _proposed(store))
    assert list_jobs(store)["proposals:memory"].reason == "LLM_REFUSED"
    model_server.script = openai_answer(_says({"text": HABIT, "shown": [1, 2, 3]}))
    with store.write(project="p") as tx:
        jobs.retry_job(tx, "proposals:memory")
    run_due(store, library)
    assert HABIT in _proposed(store), "who could not be asked is asked once more"


def test_what_was_forgotten_or_dismissed_is_not_proposed_again_by_the_model(
    store: Store, library: ProjectViews, model_server: ModelServer
) -> None:
    model_server.script = openai_answer(_says({"text": HABIT, "shown": [1, 2, 3]}))
    _rewrite(store, 8)
    run_due(store, library)
    with store.write(project="p") as tx:
        service.dismiss_memory(tx, _proposed(store)[HABIT].id)
    _rewrite(store, 8, first=20)
    run_due(store, library)
    assert len(model_server.exchanges) == 2
    assert HABIT not in _proposed(store)
    with store.write(project="p", user="owner") as tx:
        learn(tx, today=current_timestamp())
    assert HABIT not in _proposed(store)
