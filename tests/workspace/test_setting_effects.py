"""Settings take effect with the next assembly and the next recap, without opening anything again (cnv-9)."""

from __future__ import annotations

import pytest

from fabula.constraints import Constraint, ConstraintKind
from fabula.constraints import edits as constraints
from fabula.context.budget import BudgetProfile, Limits
from fabula.conversation import edits as conversations
from fabula.conversation.model import Message
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Layer
from fabula.jobs.triggers.recap_settings import read_recap_rules
from fabula.settings.edits import reset, set_value, update_budget
from fabula.settings.registry import SettingScope
from fabula.settings.values import get_value
from fabula.store.store import LOCAL_USER, Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.read_only import read_view
from fabula.workspace.workspace import Workspace

TALK = "talk"


@pytest.fixture
def project(store: Store) -> ProjectHandle:
    """A sample story with a conversation, open all the while."""
    workspace = Workspace(store)
    handle = workspace.copy_project(read_view("sample:lantern_coast"))
    with store.write(project=handle.id) as tx:
        conversations.start_conversation(tx, TALK)
        for number in range(30):
            words = f"Message {number}: " + "the lamp went dark and nobody spoke of it again. " * 4
            message = Message(id=f"m{number}", role="assistant" if number % 2 else "user", content=words)
            conversations.add_message(tx, TALK, message)
    return handle


def change(project: ProjectHandle, name: str, value: object, scope: SettingScope = "project") -> None:
    assert project.store is not None
    with project.store.write(project=project.id, user=LOCAL_USER) as tx:
        if value is None:
            reset(tx, name, scope=scope)
        else:
            set_value(tx, name, value, scope=scope)


def count_chunks(project: ProjectHandle) -> int:
    report = project.assemble(project.request(document_id="ch-06"))
    return sum(layer.chunks or 0 for layer in report.layers.values())


def count_messages(project: ProjectHandle) -> int:
    request = project.request(skill_id="chat", recipe="chat", conversation_id=TALK, additional_input="And then?")
    trace = project.engine.inspect(request, project.view_with(TALK)).trace
    shown = [one for one in trace if one.source.startswith("history:") and one.layer is Layer.IMMEDIATE]
    return sum(one.included for one in shown)


def test_stored_limits_are_obeyed_by_the_next_assembly(project: ProjectHandle) -> None:
    assert project.store is not None
    before = count_chunks(project)
    assert before > 5
    with project.store.write(project=project.id) as tx:
        update_budget(tx, BudgetProfile(), expected=0, limits=Limits(retrieved_chunks=2))
    assert count_chunks(project) == 2
    change(project, "limits.retrievedChunks", 4)
    assert count_chunks(project) == 4
    change(project, "limits.retrievedChunks", None)
    assert count_chunks(project) == before


def test_a_prompt_that_would_be_chosen_from_too_much_is_refused(project: ProjectHandle) -> None:
    change(project, "limits.inputTokens", 50)
    with pytest.raises(FabulaError) as refused:
        count_chunks(project)
    assert refused.value.code is Code.INPUT_TOO_LARGE
    change(project, "limits.inputTokens", None)
    assert count_chunks(project)


def test_a_share_is_obeyed_by_the_next_assembly(project: ProjectHandle) -> None:
    change(project, "budget.outputReserve.maximum", 100)
    result = project.assemble(project.request(window=8192))
    assert result.budget.reply == 100


@pytest.mark.parametrize("scope", ["project", "person"])
def test_how_far_relations_reach_takes_effect(project: ProjectHandle, scope: SettingScope) -> None:
    before = count_chunks(project)
    change(project, "codex.relationDepth", 0, scope)
    assert count_chunks(project) < before


@pytest.mark.parametrize("scope", ["project", "person"])
def test_the_history_window_takes_effect(project: ProjectHandle, scope: SettingScope) -> None:
    before = count_messages(project)
    change(project, "maxHistoryTokens", 200, scope)
    few = count_messages(project)
    assert 0 < few < before
    change(project, "maxHistoryTokens", 0, scope)
    assert count_messages(project) == 0
    change(project, "maxHistoryTokens", None, scope)
    assert count_messages(project) == before


def test_without_passages_a_prompt_holds_nothing_that_search_finds(project: ProjectHandle) -> None:
    def has_passages() -> bool:
        trace = project.inspect(project.request(document_id="ch-06")).trace
        return any(one.source.startswith("search:") for one in trace)

    assert has_passages()
    change(project, "search.passages", False)
    assert not has_passages()
    change(project, "search.passages", True)
    assert has_passages()


@pytest.mark.parametrize("late", [True, False])
def test_late_joiners_take_effect(project: ProjectHandle, late: bool) -> None:
    change(project, "lateJoiners", late)
    text = "Mara went down to the landing.\n\n"
    first = project.request(document_id="ch-06", unsaved_text=text, cursor=len(text))
    view = project.view
    one = project.engine.assemble(first, view)
    more = text + "Ephraim Venn stood by the clock case, and Hope Tarn with him.\n\n"
    second = project.request(document_id="ch-06", unsaved_text=more, cursor=len(more))
    two = project.engine.assemble(second, view, continuity=one.continuity)
    assert bool(two.continuity.late) is late


def test_a_changed_recap_rule_holds_for_the_next_recap(project: ProjectHandle) -> None:
    assert project.store is not None
    change(project, "History.SummaryEveryNRounds", 3)
    change(project, "History.Budget.MaxLatencyMs", 1500)
    with project.store.read(project=project.id) as reading:
        rules, unusable = read_recap_rules(reading)
    assert (rules.rounds_per_summary, rules.timeout, unusable) == (3, 1.5, ())


def test_the_constraint_over_the_limit_is_refused(project: ProjectHandle) -> None:
    assert project.store is not None
    change(project, "limits.constraints", 12)
    rule = Constraint(id="one-more", text="No rain.", kind=ConstraintKind.WORLD)
    with pytest.raises(FabulaError) as refused, project.store.write(project=project.id) as tx:
        constraints.create(tx, rule, limit=get_value(tx, "limits.constraints"))
    assert refused.value.code is Code.CONSTRAINT_LIMIT
    change(project, "limits.constraints", 13)
    with project.store.write(project=project.id) as tx:
        constraints.create(tx, rule, limit=get_value(tx, "limits.constraints"))
