"""Modes: who answers, in which order, what is remembered, and who may know it (cht-4)."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from fabula.conversation.model import BEGUN
from fabula.conversation.modes import ContextPolicy, Mode, Step, Turn, list_modes, load_mode
from fabula.conversation.modes.registry import BUILT_IN_MODES, GROUP
from fabula.conversation.modes.verdicts import find_verdict
from fabula.conversation.tables import conversations
from fabula.core.errors import Code, FabulaError
from fabula.jobs.queue import list_jobs
from fabula.jobs.triggers.recap_settings import read_recap_rules
from fabula.manuscript import projects
from fabula.settings.edits import set_value
from fabula.store.store import Store
from fabula.workspace.chat import Announced, ReplyFailed, ReplyStored, TurnEnd
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.workspace.chat.scripted import ScriptedProvider, collect, pick, read, replies

ROLES = {"coder": "Bo", "reviewer": "Mara", "tester": "Cleo"}


def refuse(code: Code, act: object) -> str:
    assert callable(act)
    with pytest.raises(FabulaError) as refused:
        act()
    assert refused.value.code is code
    return refused.value.sentence


def test_the_built_in_modes_are_registered_as_entry_points() -> None:
    root = Path(__file__).parents[3]
    declared = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"][GROUP]
    assert declared == BUILT_IN_MODES
    assert all(isinstance(load_mode(name), Mode) for name in BUILT_IN_MODES)


def test_a_mode_of_an_installed_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "echo_mode.py").write_text("from fabula.conversation.modes import Mode\nclass Echo(Mode): ...\n")
    (tmp_path / "no_mode.py").write_text("value = 3\n")
    folder = tmp_path / "echo_mode-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: echo-mode\nVersion: 1.0\n")
    lines = ("echo = echo_mode:Echo", "broken = echo_mode:Missing", "number = no_mode:value", "quiz = echo_mode:Echo")
    (folder / "entry_points.txt").write_text(f"[{GROUP}]\n" + "\n".join(lines) + "\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert type(load_mode("echo")).__name__ == "Echo"
    assert type(load_mode("quiz")).__name__ == "QuizMode", "no package replaces a mode that is built in"
    assert "echo" in list_modes()
    refuse(Code.MODE_FAILED, lambda: load_mode("broken"))
    refuse(Code.MODE_FAILED, lambda: load_mode("number"))
    assert "free_chat" in refuse(Code.MODE_UNKNOWN, lambda: load_mode("fre_chat"))


# Workflow


def test_workflow_runs_coder_reviewer_and_tester_and_ignores_mentions(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    model = ScriptedProvider(lambda who, _: {"Mara": "APPROVED", "Cleo": "PASSED"}.get(who, "Done."))
    events = collect(pier.chat.send("Pier", "@Cleo Write a parser", model=model))
    assert [event.name for event in pick(events, ReplyStored)] == ["Bo", "Mara", "Cleo"]
    assert isinstance(events[-1], TurnEnd)
    assert events[-1].mode_state["current_node"] == "done"
    assert events[-1].mode_state["outcome"] == "passed"
    assert "You are the reviewer" in model.prompts_of("Mara")[0]
    assert "You are the reviewer" not in model.prompts_of("Bo")[0]


def test_workflow_goes_back_to_the_coder_and_stops_after_three_rounds(pier: ProjectHandle, store: Store) -> None:
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    model = ScriptedProvider(lambda who, _: "**CHANGES**: no." if who == "Mara" else "Done.")
    events = collect(pier.chat.send("Pier", "Write a parser", model=model))
    assert [event.name for event in pick(events, ReplyStored)] == ["Bo", "Mara"] * 3
    assert isinstance(events[-1], TurnEnd)
    assert events[-1].mode_state["outcome"] == "stopped"
    with store.write(project="party") as tx:
        set_value(tx, "Modes.WorkflowMaxRounds", 1)
    events = collect(pier.chat.send("Pier", "Once more", model=model))
    assert [event.name for event in pick(events, ReplyStored)] == ["Bo", "Mara"]


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Verdict: CHANGES needed.", False),
        ("Tests FAILED badly.", False),
        ("NOT APPROVED", False),
        ("This is not yet approved.", False),
        ("I would say it hasn't passed.", False),
        ("1 FAILED, 12 PASSED", False),
        ("PASSED 3 of 5, FAILED 2", False),
        ("CHANGES: it is APPROVED only after that.", False),
        ("修改：太长。", False),
        ("结论：不通过", False),
        ("测试失败了", False),
        ("需要修改", False),
        ("APPROVED. No changes needed.", True),
        ("Changes look good, approved.", True),
        ("Looks fine to me.\n\n**PASSED**", True),
        ("PASSED: 12 passed, 0 failed", True),
        ("Before: FAILED. Now: PASSED", True),
        ("修改得很好，通过。", True),
        ("不需要修改，通过", True),
        ("没有失败，全部通过。", True),
        ("Changes look good", None),
        ("修改得很好", None),
        ("通过测试发现了三个问题", None),
        ("It is disapproved of.", None),
        ("", None),
    ],
)
def test_a_verdict_is_a_whole_word_and_its_absence_is_no_approval(reply: str, verdict: bool | None) -> None:
    assert find_verdict(reply) is verdict


def test_a_workflow_tells_the_task_and_the_latest_follow_ups_and_how_many_it_leaves_out(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    long = "so much to say of it " * 50
    for number in range(40):
        text = f"TASK begins {long * 12} and ENDS." if number == 0 else f"WISH{number:02} {long}"
        pier.conversations.record("Pier", text, speaker="Ann")
    model = ScriptedProvider(lambda who, _: "APPROVED PASSED")
    collect(pier.chat.send("Pier", "Go on.", model=model))
    note = model.prompts_of("Bo")[0].rpartition("[Task] ")[2].partition("[You are the coder")[0]
    assert note.startswith("TASK begins")
    assert "characters are left out here.]" in note
    assert "and ENDS.\n[36 earlier follow-ups are left out here.]\n[Follow-up 37] WISH37" in note
    assert [f"WISH{number}" in note for number in (36, 37, 38, 39)] == [False, True, True, True]
    assert "Go on." not in note, "it is in the prompt anyway"
    assert len(note) < 11_000


def test_whoever_gives_no_verdict_is_asked_for_one_and_then_counts_as_rejecting(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    answers = iter(["Changes look good.", "APPROVED", "Hm.", "Hm again."])
    model = ScriptedProvider(lambda who, _: "Done." if who == "Bo" else next(answers, "APPROVED"))
    events = collect(pier.chat.send("Pier", "Write a parser", model=model))
    names = [event.name for event in pick(events, ReplyStored)]
    assert names == ["Bo", "Mara", "Mara", "Cleo", "Cleo", "Bo", "Mara", "Cleo"]
    assert ["had no verdict" in prompt for _, prompt in model.prompts] == [one in (2, 4) for one in range(8)]
    assert "Hm again." in model.prompts_of("Bo")[1], "the coder reads it as the reason"
    assert [event.message.content for event in pick(events, Announced)] == ["[The work passed in 2 rounds.]"]
    assert [str(one) for one in pier.chat.explain_mode("Pier")] == [
        "coder: Bo",
        "reviewer: Mara",
        "tester: Cleo",
        "The work passed in 2 rounds.",
    ]


def test_the_state_of_a_mode_is_told_in_words_and_secrets_to_those_who_may_know_them(pier: ProjectHandle) -> None:
    def explain(reader: str = "") -> list[str]:
        return [str(one) for one in pier.chat.explain_mode("Pier", reader)]

    assert explain() == []
    pier.chat.set_mode("Pier", "group", state={"choice": "turn"})
    assert explain() == ["choice: turn", "max_replies: 3"]
    pier.chat.set_mode("Pier", "quiz")
    assert explain() == ["Nobody has points yet."]
    collect(pier.chat.send("Pier", "@Bo +2", model=ScriptedProvider()))
    assert explain("Mara") == ["Scores: Bo 2"]
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    assert explain()[-1] == "Round 1. The turn is with: coder"
    pier.chat.set_mode("Pier", "werewolf", state={"roles": {"persona:Bo": "werewolf", "persona:Mara": "seer"}})
    assert explain() == ["Bo: werewolf", "Mara: seer"]
    assert explain("Mara") == ["Mara: seer"]
    assert explain("Cleo") == []
    assert [str(one) for one in pier.chat.explain_mode("Pier", leader="Ann")] == ["Bo: werewolf", "Mara: seer"]
    assert [str(one) for one in pier.chat.explain_mode("Pier", leader="Bo")] == ["Bo: werewolf"], "a leader who plays"


def test_the_first_message_of_the_whole_history_is_the_task_and_later_ones_follow_up(pier: ProjectHandle) -> None:
    collect(pier.chat.send("Pier", "TASK-WORD", model=ScriptedProvider()))
    for number in range(15):
        pier.conversations.record("Pier", f"filler {number}", speaker="Mara")
    pier.conversations.record("Pier", "FOLLOW-ONE", speaker="Ann")
    for number in range(25):
        pier.conversations.record("Pier", f"more {number}", speaker="Mara")
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    model = ScriptedProvider(lambda *_: "APPROVED")
    collect(pier.chat.send("Pier", "FOLLOW-TWO", model=model))
    prompt = model.prompts_of("Bo")[0]
    assert "[Task] TASK-WORD" in prompt
    assert "[Follow-up 1] FOLLOW-ONE" in prompt
    assert prompt.count("FOLLOW-TWO") == 1
    shown = prompt.partition("[Said earlier in this conversation")[0]
    assert "Mara: more 24" in shown
    assert "Mara: filler 3" not in shown, "the window of this mode has 20 messages"


def test_workflow_tells_nobody_a_follow_up_that_they_did_not_hear(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    pier.conversations.record("Pier", "TASK-WORD", speaker="Ann")
    pier.conversations.record("Pier", "SECRET-WORD", speaker="Ann", audience=("Bo",))
    model = ScriptedProvider(lambda *_: "APPROVED")
    collect(pier.chat.send("Pier", "Begin", model=model))
    assert all(("SECRET-WORD" in prompt) == (who == "Bo") for who, prompt in model.prompts)


def test_workflow_that_is_whispered_tells_its_end_to_those_who_heard_it(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "workflow", roles=dict.fromkeys(ROLES, "Bo"))
    model = ScriptedProvider(lambda *_: "PASSED, and APPROVED.")
    collect(pier.chat.send("Pier", "Write a parser", audience=("Bo",), model=model))
    told = pier.conversations.get_message("Pier", "last")
    assert "The work passed in 1 round" in told.content
    assert told.audience is not None


def test_workflow_resumes_where_it_was_killed(pier: ProjectHandle, store: Store) -> None:
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    collect(
        pier.chat.send("Pier", "Write", model=ScriptedProvider(lambda who, _: "FAIL" if who == "Mara" else "Done."))
    )
    assert pier.chat.get("Pier").state["current_node"] == "reviewer"
    reopened = reopen(pier)
    model = ScriptedProvider(lambda *_: "APPROVED")
    events = collect(reopened.chat.ask("Pier", model=model))
    assert [event.name for event in pick(events, ReplyStored)] == ["Mara", "Cleo"]
    said = ["Ann: Write", "Bo: Done.", "Mara: APPROVED", "Cleo: APPROVED", "[The work passed in 1 round.]"]
    assert read(pier) == said


def reopen(project: ProjectHandle) -> ProjectHandle:
    assert project.store is not None
    return Workspace(project.store).project("party")


def test_a_round_that_ended_before_the_mode_could_go_on_goes_on(
    pier: ProjectHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies after the coder's reply is stored and before the reviewer is asked."""
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)

    class Killed(BaseException): ...

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(type(pier.chat), "_proceed", die)
        with pytest.raises(Killed):
            collect(pier.chat.send("Pier", "Write", model=ScriptedProvider(lambda *_: "Done.")))
    assert read(pier) == ["Ann: Write", "Bo: Done."]
    events = collect(pier.chat.ask("Pier", model=ScriptedProvider(lambda *_: "APPROVED")))
    assert [event.name for event in pick(events, ReplyStored)] == ["Mara", "Cleo"]


def test_a_role_map_with_holes_is_refused_and_nothing_is_changed(pier: ProjectHandle) -> None:
    before = pier.chat.get("Pier")
    sentence = refuse(Code.MODE_ROLES_INVALID, lambda: pier.chat.set_mode("Pier", "workflow", roles={"coder": "Bo"}))
    assert "reviewer, tester" in sentence
    refuse(Code.MODE_ROLES_INVALID, lambda: pier.chat.set_mode("Pier", "workflow", roles={**ROLES, "tester": ""}))
    refuse(Code.STORE_NOT_FOUND, lambda: pier.chat.set_mode("Pier", "workflow", roles={**ROLES, "tester": "Nobody"}))
    after = pier.chat.get("Pier")
    assert (after.mode, after.state) == (before.mode, before.state)


def test_a_role_whose_participant_left_is_refused_and_the_work_stays(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    pier.conversations.leave("Pier", "Mara")
    with pytest.raises(FabulaError) as refused:
        collect(pier.chat.send("Pier", "Write", model=ScriptedProvider(lambda *_: "Done.")))
    assert refused.value.code is Code.MODE_ROLES_INVALID
    assert "Mara" in refused.value.sentence
    assert read(pier) == ["Ann: Write", "Bo: Done."]
    pier.conversations.join("Pier", "Mara")
    events = collect(pier.chat.ask("Pier", model=ScriptedProvider(lambda *_: "APPROVED")))
    assert list(replies(events)) == ["Mara", "Cleo"]


def test_workflow_and_mentions_in_chinese(store: Store) -> None:
    projects.create(store, "猫咖", project_id="cafe", language="zh")
    with Workspace(store) as workspace:
        cafe = workspace.project("cafe")
        cafe.participants.ensure_player("铲屎官")
        for name in ("牛奶", "可可", "布丁"):
            cafe.participants.add(name, persona="猫")
        cafe.chat.start(title="店里")
        model = ScriptedProvider(lambda who, _: f"{who}：喵。\n可可：不对。" if who == "牛奶" else "喵")
        assert replies(collect(cafe.chat.send("店里", "@牛奶帮我看下代码", model=model))) == {"牛奶": "喵。"}
        assert "铲屎官：牛奶帮我看下代码" in model.prompts[0][1]
        cafe.chat.set_mode("店里", "workflow", roles={"coder": "牛奶", "reviewer": "可可", "tester": "布丁"})
        verdicts = iter(["修改：太长。", "通过"])
        model = ScriptedProvider(lambda who, _: next(verdicts) if who == "可可" else "通过，可以。")
        events = collect(cafe.chat.send("店里", "写一个解析器", model=model))
        assert [event.name for event in pick(events, ReplyStored)] == ["牛奶", "可可", "牛奶", "可可", "布丁"]


# Quiz


def test_quiz_keeps_scores_and_tells_them(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "quiz")
    model = ScriptedProvider()
    events = collect(pier.chat.send("Pier", "Capital of France?", model=model))
    assert set(replies(events)) == {"Mara", "Bo", "Cleo"}
    events = collect(pier.chat.send("Pier", "@Bo +2, @Captain ＋1 @Cleo -1", model=model))
    assert replies(events) == {}
    scores = {"persona:Bo": 2, "persona:Mara": 1, "persona:Cleo": -1}
    assert pier.chat.get("Pier").state["scores"] == scores
    events = collect(pier.chat.send("Pier", "@Bo +1. @Mara, capital of Spain?", model=model))
    assert list(replies(events)) == ["Mara"]
    assert "[Scores: Bo 3, Mara 1, Cleo -1]" in model.prompts_of("Mara")[-1]
    events = collect(pier.chat.send("Pier", "@Bo +1. And of Italy?", model=model))
    assert set(replies(events)) == {"Mara", "Bo", "Cleo"}


def test_each_prompt_of_a_quiz_tells_the_scores_once(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "quiz")
    model = ScriptedProvider()
    for text in ("@Bo +1", "@Mara +2", "Capital of Spain?"):
        events = collect(pier.chat.send("Pier", text, model=model))
    assert set(replies(events)) == {"Mara", "Bo", "Cleo"}
    assert [prompt.count("[Scores:") for _, prompt in model.prompts] == [1] * 3
    assert all("[Scores: Mara 2, Bo 1]" in prompt for _, prompt in model.prompts)
    assert "[Scores: Bo 1]" in read(pier), "people still read what was told"


def test_points_are_given_aloud_within_a_bound_and_to_players_too(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "quiz")

    def send(text: str, speaker: str = "", audience: tuple[str, ...] | None = None) -> None:
        collect(pier.chat.send("Pier", text, speaker=speaker, audience=audience, model=ScriptedProvider()))

    assert "aloud" in refuse(Code.REQUEST_INVALID, lambda: send("@Bo +5", audience=("Bo",)))
    assert "9,999" in refuse(Code.REQUEST_INVALID, lambda: send("@bo +99999"))
    refuse(Code.REQUEST_INVALID, lambda: send("@bo +" + "9" * 5000))
    assert read(pier) == []
    send("@Ann +1", speaker="Bo")
    send("@bo +9999")
    (ann,) = (one.id for one in pier.chat.get("Pier").present if one.name == "Ann")
    assert pier.chat.get("Pier").state["scores"] == {ann: 1, "persona:Bo": 9999}
    assert [line for line in read(pier) if line.startswith("[")] == ["[Scores: Ann 1]", "[Scores: Bo 9999, Ann 1]"]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("@Bo +1 well done", set()),
        ("@Bo +1 well done! @Cleo -1, sadly.", set()),
        ("@Bo +1 and what is the capital of Spain?", {"Mara", "Bo", "Cleo"}),
        ("@Bo +1 well done. Name a river.", {"Mara", "Bo", "Cleo"}),
        ("@Bo +1, and @Mara names a river", {"Mara"}),
        ("@Bo +1 答得好！", set()),
        ("@Bo +1 那么西班牙呢？", {"Mara", "Bo", "Cleo"}),
        ("@Bo +1 @Mara", set()),
        ("@Bo +1 @Mara -1 @Cleo.", set()),
    ],
)
def test_a_remark_with_the_points_is_no_question(pier: ProjectHandle, text: str, asked: set[str]) -> None:
    pier.chat.set_mode("Pier", "quiz")
    assert set(replies(collect(pier.chat.send("Pier", text, model=ScriptedProvider())))) == asked
    assert pier.chat.get("Pier").state["scores"]["persona:Bo"] == 1


def test_points_are_given_by_any_name_that_a_mention_takes(pier: ProjectHandle) -> None:
    pier.participants.add("Old Pike")
    pier.conversations.join("Pier", "Old Pike")
    pier.chat.set_mode("Pier", "quiz")
    for text in ("@Pike +1", "@old pike ＋2", "@Old−1"):
        assert replies(collect(pier.chat.send("Pier", text, model=ScriptedProvider()))) == {}
    assert pier.chat.get("Pier").state["scores"] == {"persona:Old Pike": 2}


@pytest.mark.parametrize(
    ("mode", "roles", "why"),
    [
        ("quiz", {"coder": "Bo"}, "The mode 'quiz' has no roles to give."),
        ("workflow", {"codr": "Bo"}, "The mode 'workflow' has no role 'codr'. Its roles: coder, reviewer, tester."),
    ],
)
def test_roles_that_a_mode_does_not_have_are_refused(
    pier: ProjectHandle, mode: str, roles: dict[str, str], why: str
) -> None:
    with pytest.raises(FabulaError) as refused:
        pier.chat.set_mode("Pier", mode, roles=roles)
    assert refused.value.code is Code.MODE_ROLES_INVALID
    assert why in str(refused.value)
    assert pier.chat.get("Pier").mode == "free_chat"


# Werewolf


def test_a_turn_that_is_taken_back_takes_the_state_of_the_mode_back(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "quiz")
    states = []
    for text in ("First?", "@Mara +1", "@Bo +2"):
        states.append(dict(pier.chat.get("Pier").state))
        collect(pier.chat.send("Pier", text, model=ScriptedProvider()))
    assert states[1] != states[2]
    for state in reversed(states):
        pier.chat.take_back("Pier")
        chat = pier.chat.get("Pier")
        assert (chat.state, chat.round.waiting, chat.round.is_ended) == (state, (), True)
    pier.changes.undo()
    assert read(pier)[0] == "Ann: First?"


def test_werewolf_deals_hidden_roles_that_nobody_else_is_told(pier: ProjectHandle) -> None:
    for name in ("Dan", "Eve", "Fay", "Gus", "Hal"):
        pier.participants.add(name, persona="x")
        pier.conversations.join("Pier", name)
    pier.chat.set_mode("Pier", "werewolf")
    roles = pier.chat.get("Pier").state["roles"]
    assert sorted(roles.values()) == ["seer", *["villager"] * 5, *["werewolf"] * 2]
    model = ScriptedProvider()
    collect(pier.chat.send("Pier", "Good evening.", model=model))
    people = pier.chat.get("Pier").people
    wolves = [people.name_of(one) for one, role in roles.items() if role == "werewolf"]
    for ident, role in roles.items():
        (prompt,) = model.prompts_of(people.name_of(ident))
        assert ("You are a werewolf" in prompt) == (role == "werewolf")
        assert ("You are the seer" in prompt) == (role == "seer")
        assert ("You are a villager" in prompt) == (role == "villager")
    assert f"So is {wolves[1]}" in model.prompts_of(wolves[0])[0]
    collect(pier.chat.send("Pier", "And on.", model=model))
    assert [prompt.count("[You are") for _, prompt in model.prompts] == [1] * 16, "each is told the own role once"
    pier.participants.edit(wolves[1], new_name="Zed")
    collect(pier.chat.send("Pier", "And now?", model=model))
    assert [prompt.count("[You are") for _, prompt in model.prompts[16:]] == [1] * 8, "also after a rename"
    assert "[You are a werewolf. So is Zed.]" in model.prompts_of(wolves[0])[-1]


def test_whoever_joins_a_game_of_werewolf_is_a_villager(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "werewolf")
    pier.participants.add("Dan", persona="x")
    pier.conversations.join("Pier", "Dan")
    model = ScriptedProvider()
    events = collect(pier.chat.send("Pier", "@Dan, welcome", model=model))
    assert pier.chat.get("Pier").state["roles"]["persona:Dan"] == "villager"
    assert [event.message.audience for event in pick(events, Announced)] == [("persona:Dan",)]
    assert model.prompts_of("Dan")[0].count("You are a villager") == 1


def list_whispers(project: ProjectHandle) -> list[str]:
    return [one.content for one in project.conversations.read_page("Pier").messages if one.audience and one.final]


def test_the_roles_of_werewolf_are_told_once_and_dealt_anew_where_somebody_asks_for_it(pier: ProjectHandle) -> None:
    for name in ("Dan", "Eve", "Fay", "Gus", "Hal"):
        pier.participants.add(name, persona="x")
        pier.conversations.join("Pier", name)
    roles = pier.chat.set_mode("Pier", "werewolf").state["roles"]
    assert len(list_whispers(pier)) == 8
    assert pier.chat.set_mode("Pier", "werewolf").state["roles"] == roles
    assert len(list_whispers(pier)) == 8, "nobody is told the same again"
    pier.chat.set_mode("Pier", "free_chat")
    assert pier.chat.set_mode("Pier", "werewolf").state["roles"] == roles, "the game goes on"
    assert len(list_whispers(pier)) == 8, "what was taken out of the history is told again"
    dealt = [pier.chat.set_mode("Pier", "werewolf", restart=True).state["roles"] for _ in range(3)]
    assert any(one != roles for one in dealt)
    assert len(list_whispers(pier)) == 8, "the roles of before are gone"
    model = ScriptedProvider()
    collect(pier.chat.send("Pier", "Good evening.", model=model))
    assert [prompt.count("[You are") for _, prompt in model.prompts] == [1] * 8


def test_a_mode_that_begins_anew_keeps_its_roles_and_options_alone(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "quiz", state={"scores": {"persona:Bo": 3}})
    assert pier.chat.set_mode("Pier", "quiz").state["scores"] == {"persona:Bo": 3}
    assert pier.chat.set_mode("Pier", "quiz", restart=True).state["scores"] == {}
    pier.changes.undo()
    assert pier.chat.get("Pier").state["scores"] == {"persona:Bo": 3}
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    model = ScriptedProvider(lambda who, _: {"Mara": "APPROVED", "Cleo": "PASSED"}.get(who, "Done."))
    collect(pier.chat.send("Pier", "Write a parser", model=model))
    before = pier.chat.get("Pier").state
    after = pier.chat.set_mode("Pier", "workflow", restart=True).state
    assert (before["current_node"], after["current_node"]) == ("done", "coder")
    assert after["role_map"] == before["role_map"]
    assert "outcome" not in after


# Group


def talk(project: ProjectHandle, text: str, answer: str = "Hm.") -> list[str]:
    """Say something; who answered, in order."""
    model = ScriptedProvider(lambda who, _: answer)
    return [event.name for event in pick(collect(project.chat.send("Pier", text, model=model)), ReplyStored)]


def test_in_a_group_the_mentioned_answer_in_order_and_hear_each_other(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "group", state={"choice": "hand"})
    model = ScriptedProvider(lambda who, _: f"WORD-{who.upper()}")
    events = collect(pier.chat.send("Pier", "@Mara and @Bo?", model=model))
    assert [event.name for event in pick(events, ReplyStored)] == ["Mara", "Bo"]
    assert "WORD-MARA" in model.prompts_of("Bo")[0]


def test_a_group_speaks_by_turn(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "group", state={"choice": "turn"})
    assert [talk(pier, "Next.") for _ in range(4)] == [["Bo"], ["Cleo"], ["Mara"], ["Bo"]]
    pier.participants.add("Abe", persona="x")
    pier.conversations.join("Pier", "Abe")
    assert [talk(pier, "Next.") for _ in range(4)] == [["Cleo"], ["Mara"], ["Abe"], ["Bo"]], "whoever came last is last"


def test_a_group_by_hand_waits_until_somebody_is_asked(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "group", state={"choice": "hand"})
    assert talk(pier, "Anybody?") == []
    assert list(replies(collect(pier.chat.ask("Pier", ["Cleo"], model=ScriptedProvider())))) == ["Cleo"]


def test_a_group_by_mention_goes_on_with_whom_a_reply_calls_within_bounds(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "group", state={"choice": "mention"})
    calls = {"Bo": "Ask @Cleo or me, @Bo.", "Cleo": "No, @Bo!", "Mara": "Hm."}
    model = ScriptedProvider(lambda who, _: calls[who])
    events = collect(pier.chat.send("Pier", "@Bo?", model=model))
    assert [event.name for event in pick(events, ReplyStored)] == ["Bo", "Cleo", "Bo"]


def test_the_talkative_speak_and_the_silent_do_not(pier: ProjectHandle) -> None:
    numbers = {"persona:Bo": 1, "persona:Mara": 0, "persona:Cleo": 0.0}
    pier.chat.set_mode("Pier", "group", state={"choice": "talkativeness", "talkativeness": numbers})
    assert [talk(pier, "Hello?") for _ in range(3)] == [["Bo"]] * 3
    numbers = {"persona:Bo": 2}
    refuse(Code.REQUEST_INVALID, lambda: pier.chat.set_mode("Pier", "group", state={"talkativeness": numbers}))
    refuse(Code.REQUEST_INVALID, lambda: pier.chat.set_mode("Pier", "group", state={"choice": "loudness"}))


def test_a_group_takes_names_and_refuses_words_that_it_does_not_know(pier: ProjectHandle) -> None:
    quiet = {"Mara": 0, "Captain": 0, "Bo": 0, "persona:Cleo": 1}
    pier.chat.set_mode("Pier", "group", state={"talkativeness": quiet})
    assert talk(pier, "Hello?") == ["Cleo"]
    pier.chat.set_mode("Pier", "quiz")
    pier.chat.set_mode("Pier", "group")
    assert talk(pier, "Hello?") == ["Cleo"], "the state of the mode is there again"
    sentence = refuse(Code.REQUEST_INVALID, lambda: pier.chat.set_mode("Pier", "group", state={"choise": "turn"}))
    assert "'choise'" in sentence
    assert "choice" in sentence
    sentence = refuse(
        Code.REQUEST_INVALID, lambda: pier.chat.set_mode("Pier", "group", state={"talkativeness": {"Zed": 3}})
    )
    assert "Zed" in sentence


def test_a_card_says_how_talkative_its_character_is(pier: ProjectHandle) -> None:
    for name, number in (("Bo", 1.0), ("Mara", 0.0), ("Cleo", 0.0)):
        pier.participants.edit_card(name, talkativeness=number)
    pier.chat.set_mode("Pier", "group")
    assert [talk(pier, "Hello?") for _ in range(3)] == [["Bo"]] * 3
    assert talk(pier, "@Mara?") == ["Mara"], "whoever is mentioned answers"
    pier.participants.edit_card("Bo", talkativeness=0.0)
    assert talk(pier, "Hello?") == []
    pier.chat.set_mode("Pier", "group", state={"talkativeness": {"persona:Cleo": 1}})
    assert talk(pier, "Hello?") == ["Cleo"], "the state of the mode comes first"


# Own modes


class Bounded(Mode):
    policy = ContextPolicy(history_messages=2)

    def describe_state(self, turn: Turn, speaker: str) -> str:
        return f"NOTE-{turn.name_of(speaker).upper()}"


def test_a_mode_has_its_own_window_and_tells_each_speaker_something_else(pier: ProjectHandle) -> None:
    pier.chat.add_mode("bounded", Bounded())
    pier.chat.set_mode("Pier", "bounded")
    for number in range(6):
        pier.conversations.record("Pier", f"line {number}", speaker="Ann")
    model = ScriptedProvider()
    collect(pier.chat.send("Pier", "@Bo @Mara hello", model=model))
    for who, prompt in model.prompts:
        shown = prompt.partition("<user>")[2]
        assert "Ann: line 5" in shown
        assert "Ann: line 2" not in shown
        assert f"NOTE-{who.upper()}" in prompt
        assert prompt.count("NOTE-") == 1


class Endless(Mode):
    def proceed(self, turn: Turn) -> Step:
        return Step(speakers=turn.ids[:1])


def test_a_mode_without_end_is_stopped(pier: ProjectHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.workspace.chat.verbs.MAX_STEPS", 5)
    pier.chat.add_mode("endless", Endless())
    pier.chat.set_mode("Pier", "endless")
    with pytest.raises(FabulaError) as refused:
        collect(pier.chat.send("Pier", "@Bo", model=ScriptedProvider()))
    assert refused.value.code is Code.MODE_FAILED


def test_what_a_mode_told_some_alone_leaves_the_history_with_the_mode(pier: ProjectHandle) -> None:
    pier.chat.set_mode("Pier", "werewolf")
    model = ScriptedProvider(lambda *_: "APPROVED")
    collect(pier.chat.send("Pier", "Good evening.", model=model))
    assert all("[You are a" in prompt for _, prompt in model.prompts)
    pier.chat.start(["Mara", "Bo", "Cleo"], title="Quay")
    collect(pier.chat.send("Quay", "Good evening, villager.", model=(quay := ScriptedProvider())))
    assert not any("[You are a" in prompt for _, prompt in quay.prompts)
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    collect(pier.chat.send("Pier", "Begin.", model=(work := ScriptedProvider(lambda *_: "APPROVED"))))
    assert work.prompts
    assert not any("[You are a" in prompt for _, prompt in work.prompts)


def test_a_prompt_that_is_too_large_does_not_say_that_nothing_was_changed(pier: ProjectHandle) -> None:
    events = collect(pier.chat.send("Pier", "@Bo " + "7 x" * 60_000, model=ScriptedProvider()))
    (failed,) = pick(events, ReplyFailed)
    assert "Nothing was changed" not in failed.error.sentence


# Context policies


class Brief(Mode):
    """A mode of one project, with little history."""

    policy = ContextPolicy(history_messages=4, summary_messages=6, summary_tokens=500)


def test_the_policy_of_a_mode_of_one_project_counts_for_its_recaps_too(pier: ProjectHandle) -> None:
    assert pier.store is not None
    pier.chat.add_mode("brief", Brief())
    ident = pier.chat.start(["Bo", "Mara"], mode="brief", title="Deck").record.id
    with pier.store.read(project=pier.id) as reading:
        rules, _ = read_recap_rules(reading, "brief", ident)
    assert (rules.max_messages, rules.max_tokens) == (2, 500), "half of the window stays when it steps"
    elsewhere = Workspace(pier.store).project(pier.id)  # which does not have the mode
    for number in range(4):
        elsewhere.conversations.record("Deck", f"Line {number}.", speaker="Ann")
        elsewhere.conversations.record("Deck", "Yes.", speaker="Bo")
    with pier.store.read(project=pier.id) as reading:
        assert f"recap:{ident}" in {one.key for one in list_jobs(reading)}


class Windowless(Mode):
    policy = ContextPolicy(history_messages=0)


def test_a_policy_that_could_not_be_read_again_is_refused_and_costs_no_other_mode(pier: ProjectHandle) -> None:
    assert "history_messages" in refuse(Code.MODE_FAILED, lambda: pier.chat.add_mode("windowless", Windowless()))
    pier.chat.set_mode("Pier", "workflow", roles=ROLES)
    collect(pier.chat.send("Pier", "Begin.", model=ScriptedProvider(lambda *_: "APPROVED")))
    before = pier.chat.get("Pier")
    assert before.beginnings["workflow"].settings
    assert pier.store is not None
    with pier.store.write(project=pier.id) as tx:  # as older programs stored it
        stored = tx.require(conversations, id=before.record.id).mode_state
        begun = {**stored[BEGUN], "windowless": {"policy": {"history_messages": 0}}}
        tx.update_rows(conversations, {"mode_state": {**stored, BEGUN: begun}}, conversations.c.id == before.record.id)
    assert pier.chat.get("Pier").beginnings == before.beginnings


def test_the_window_that_a_project_sets_comes_before_that_of_a_mode(pier: ProjectHandle, store: Store) -> None:
    pier.chat.add_mode("brief", Brief())
    pier.chat.set_mode("Pier", "brief")
    for number in range(12):
        pier.conversations.record("Pier", f"LINE{number:02}.", speaker="Ann")

    def count() -> int:
        trace = pier.chat.inspect("Pier", "Bo").result.trace
        return sum(one.source.startswith("history:") and one.included and one.layer == "immediate" for one in trace)

    assert count() <= 4
    with store.write(project="party") as tx:
        set_value(tx, "maxHistoryTokens", 3000, scope="project")
    assert count() >= 11
    ident = pier.chat.get("Pier").record.id
    with store.read(project="party") as reading:
        assert read_recap_rules(reading, "brief", ident)[0].max_messages == 6
