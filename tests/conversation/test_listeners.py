"""Every speaker's prompt holds what that speaker heard, and nothing else (cnv-8, ctx-12)."""

from __future__ import annotations

from random import Random

import pytest
from msgspec import Struct
from msgspec.structs import replace

from fabula.codex import Entry, Level
from fabula.codex import edits as codex
from fabula.context.recipes.conditions import Condition
from fabula.context.recipes.preset import Node, Preset
from fabula.context.request import Grants, Principal
from fabula.conversation import edits
from fabula.conversation.model import Message
from fabula.conversation.participants import Participant, save_participant
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Role
from fabula.core.story import Perspective
from fabula.manuscript import documents, projects
from fabula.presets import edits as presets
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

PLAYER = "player:one"


class GeneratedConversation(Struct):
    """A conversation, and who heard which word; kept apart from the store, by the plainest rule."""

    id: str
    heard: dict[str, set[str]]  # by participant
    words: set[str]


def generate(store: Store, project_id: str, name: str, random: Random) -> GeneratedConversation:
    """Write a conversation of one to seven characters with joins, leaves, whispers and branches."""
    people = [PLAYER, *(f"pawn:p{number}" for number in range(random.randint(1, 7)))]
    present = set(people[: random.randint(2, len(people))])
    heard: dict[str, set[str]] = {one: set() for one in people}
    words: set[str] = set()
    with store.write(project=project_id) as tx:
        for one in people:
            save_participant(tx, Participant(id=one, name=f"N{one.partition(':')[2]}"))
        edits.start_conversation(tx, name, participants=sorted(present))
    for number in range(random.randint(3, 14)):
        with store.write(project=project_id) as tx:
            roll = random.random()
            outside = sorted(set(people) - present)
            if roll < 0.15 and outside:
                joining = random.choice(outside)
                edits.join_conversation(tx, name, joining)
                present.add(joining)
            elif roll < 0.3 and len(present) > 2:
                leaving = random.choice(sorted(present))
                edits.leave_conversation(tx, name, leaving)
                present.discard(leaving)
            speaker = random.choice(sorted(present))
            audience = None
            if random.random() < 0.25:
                others = sorted(present - {speaker})
                audience = tuple(random.sample(others, random.randint(0, len(others))))
            word = f"w{name}x{number}q"
            role: Role = "user" if speaker == PLAYER else "assistant"
            edits.add_message(
                tx, name, Message(id=f"{name}-{number}", role=role, content=word, speaker=speaker, audience=audience)
            )
        words.add(word)
        for one in present if audience is None else {speaker, *audience}:
            heard[one].add(word)
    return GeneratedConversation(name, heard, words)


def assemble_for(project: ProjectHandle, conversation: str, speaker: str, **fields: str) -> str:
    """The prompt of the participant who speaks next."""
    request = project.request(
        conversation_id=conversation,
        speaker_id=speaker,
        recipe="chat",
        skill_id="chat",
        window=32_000,
        additional_input=fields.get("said", "What did you hear?"),
    )
    return "\n".join(message.content for message in project.assemble(request).messages)


def test_a_speaker_is_told_what_it_heard_and_nothing_else(store: Store) -> None:
    seed = 17
    print(f"seed {seed}")
    random = Random(seed)
    projects.create(store, "Party", project_id="party")
    with Workspace(store) as workspace:
        project = workspace.project("party")
        for number in range(12):
            conversation = generate(store, "party", f"c{number}", random)
            for speaker, heard in conversation.heard.items():
                prompt = assemble_for(project, conversation.id, speaker)
                told = {word for word in conversation.words if word in prompt}
                assert told == heard, f"{speaker} in {conversation.id}: {sorted(told ^ heard)}"


def start_party(store: Store) -> None:
    projects.create(store, "Party", project_id="party")
    with store.write(project="party") as tx:
        for ident, name in ((PLAYER, "Ann"), ("pawn:mara", "Mara"), ("pawn:bo", "Bo")):
            save_participant(tx, Participant(id=ident, name=name))
        edits.start_conversation(tx, "talk", participants=(PLAYER, "pawn:mara", "pawn:bo"))
        for number, (speaker, text) in enumerate(((PLAYER, "Hello."), ("pawn:mara", "Aye."), ("pawn:bo", "Hm."))):
            role: Role = "user" if speaker == PLAYER else "assistant"
            edits.add_message(tx, "talk", Message(id=f"m{number}", role=role, content=text, speaker=speaker))


def test_lines_carry_names_among_several_and_the_turn_is_said_at_the_end(store: Store) -> None:
    start_party(store)
    with Workspace(store) as workspace:
        prompt = assemble_for(workspace.project("party"), "talk", "Mara")
    assert "Ann: Hello." in prompt
    assert "Mara: Aye." in prompt
    assert "Bo: Hm." in prompt
    assert prompt.rstrip().endswith("[Mara speaks next. Write only what Mara says and does.]")


def test_common_history_is_the_same_for_all_speakers(store: Store) -> None:
    start_party(store)
    with Workspace(store) as workspace:
        project = workspace.project("party")
        prompts = [assemble_for(project, "talk", name) for name in ("Mara", "Bo")]
    common = prompts[0].partition("[Mara speaks next")[0]
    assert common
    assert prompts[1].startswith(common)


def test_a_changed_name_stands_before_earlier_lines_too(store: Store) -> None:
    start_party(store)
    with Workspace(store) as workspace:
        project = workspace.project("party")
        assemble_for(project, "talk", "Mara")
        with store.write(project="party") as tx:
            save_participant(tx, Participant(id="pawn:bo", name="Boris"))
        assert "Boris: Hm." in assemble_for(project, "talk", "Mara")


def test_recorded_input_stands_in_the_prompt_once(store: Store) -> None:
    start_party(store)
    with Workspace(store) as workspace:
        project = workspace.project("party")
        with store.write(project="party") as tx:
            edits.add_message(tx, "talk", Message(id="m9", role="user", content="Who took it?", speaker=PLAYER))
        assert assemble_for(project, "talk", "Mara", said="Who took it?").count("Who took it?") == 1


def test_an_unknown_speaker_is_refused_with_the_nearest_name(store: Store) -> None:
    start_party(store)
    with Workspace(store) as workspace, pytest.raises(FabulaError) as refused:
        assemble_for(workspace.project("party"), "talk", "Marra")
    assert refused.value.code is Code.STORE_NOT_FOUND
    assert "Mara" in refused.value.sentence


def test_in_a_conversation_of_two_the_persona_takes_the_place_of_the_identity(store: Store) -> None:
    start_party(store)
    with store.write(project="party") as tx:
        save_participant(
            tx, Participant(id="pawn:mara", name="Mara", persona="You are {{char}}, a friend of {{user}}.")
        )
        edits.start_conversation(tx, "two", participants=(PLAYER, "pawn:mara"))
        edits.add_message(tx, "two", Message(id="t1", role="user", content="Hello.", speaker=PLAYER))
    with Workspace(store) as workspace:
        prompt = assemble_for(workspace.project("party"), "two", "Mara")
    assert prompt.startswith("You are Mara, a friend of Ann.")
    assert "Ann: Hello." not in prompt, "two need no names"


def test_among_several_the_own_persona_stands_at_the_end_and_nobody_elses(store: Store) -> None:
    start_party(store)
    with store.write(project="party") as tx:
        save_participant(tx, Participant(id="pawn:mara", name="Mara", persona="Mara hides the key."))
        save_participant(tx, Participant(id="pawn:bo", name="Bo", persona="Bo is afraid."))
    with Workspace(store) as workspace:
        project = workspace.project("party")
        mara, bo = (assemble_for(project, "talk", name) for name in ("Mara", "Bo"))
    assert "Taking part in this conversation: Ann, Bo, Mara" in mara
    assert mara.index("Bo: Hm.") < mara.index("Mara hides the key.") < mara.index("[Mara speaks next")
    assert "Mara hides the key." not in bo
    common = mara.partition("Mara hides")[0]
    assert bo.startswith(common)


def test_who_leaves_is_said_to_be_away_behind_what_stays_the_same(store: Store) -> None:
    start_party(store)
    with Workspace(store) as workspace:
        project = workspace.project("party")
        before = assemble_for(project, "talk", "Mara")
        project.conversations.leave("talk", "Bo")
        away = assemble_for(project, "talk", "Mara")
        with store.write(project="party") as tx:
            save_participant(tx, Participant(id="pawn:new", name="Nell"))
        project.conversations.join("talk", "Nell")
        with_newcomer = assemble_for(project, "talk", "Mara")
    line = "Taking part in this conversation: Ann, Bo, Mara"
    assert line in before
    assert "Not here now" not in before
    until = away.index("[Not here now: Bo]")
    assert before.startswith(away[:until].rstrip())
    assert line in away[:until]
    assert "Ann, Mara and Nell" in with_newcomer or "Ann, Mara, Nell" in with_newcomer, "who came later never met Bo"
    assert "Not here now" not in with_newcomer


def test_a_whisper_says_whom_it_was_meant_for_and_the_input_who_says_it(store: Store) -> None:
    start_party(store)
    with store.write(project="party") as tx:
        edits.add_message(
            tx,
            "talk",
            Message(id="w1", role="assistant", content="Psst.", speaker="pawn:bo", audience=("pawn:mara",)),
        )
    with Workspace(store) as workspace:
        prompt = assemble_for(workspace.project("party"), "talk", "Mara")
    assert "Bo → Mara: Psst." in prompt
    assert "Ann: What did you hear?" in prompt


def test_a_condition_of_a_preset_reads_what_the_speaker_heard(store: Store) -> None:
    start_party(store)
    with store.write(project="party") as tx:
        edits.add_message(
            tx,
            "talk",
            Message(id="w1", role="assistant", content="The password.", speaker="pawn:bo", audience=("player:one",)),
        )
    node = Node(id="alert", content="ALERT", condition=Condition(keywords=("password",), scan_depth=50))
    with Workspace(store) as workspace:
        project = workspace.project("party")
        found = {}
        for name in ("Mara", "Bo"):
            request = project.request(
                conversation_id="talk", speaker_id=name, recipe="chat", skill_id="chat", preset=Preset(nodes=(node,))
            )
            found[name] = "ALERT" in project.assemble(request).prompt
    assert found == {"Mara": False, "Bo": True}


def add_secret(store: Store) -> None:
    with store.write(project="party") as tx:
        codex.create(tx, Entry(id="mara", name="Mara", type="character", description="The keeper's daughter."))
        secret = Entry(
            id="key",
            name="Key",
            type="item",
            description="SECRET-KEY",
            known_to=frozenset({"mara"}),
            level=Level.ALWAYS,
        )
        codex.create(tx, secret)


def test_a_participant_who_is_a_character_knows_what_it_knows_and_has_its_entry(store: Store) -> None:
    start_party(store)
    add_secret(store)
    with Workspace(store) as workspace:
        project = workspace.project("party")
        mara, bo = (assemble_for(project, "talk", name) for name in ("pawn:mara", "Bo"))
    assert "SECRET-KEY" in mara
    assert "The keeper's daughter." in mara
    assert "SECRET-KEY" not in bo


def test_a_person_who_plays_is_nobodys_character(store: Store) -> None:
    start_party(store)
    add_secret(store)
    with store.write(project="party") as tx:
        for ident in ("user:mara", "player:mara", "agent:mara"):
            save_participant(tx, Participant(id=ident, name="Mara"))
            edits.join_conversation(tx, "talk", ident)
    with Workspace(store) as workspace:
        project = workspace.project("party")
        for ident in ("user:mara", "player:mara", "agent:mara"):
            assert "SECRET-KEY" not in assemble_for(project, "talk", ident), ident


@pytest.mark.parametrize("wrong", [{"perspective": Perspective.AUTHOR}, {"character": "mara"}])
def test_a_speaker_with_other_eyes_is_refused(store: Store, wrong: dict[str, object]) -> None:
    start_party(store)
    add_secret(store)
    with Workspace(store) as workspace:
        project = workspace.project("party")
        request = replace(project.request(conversation_id="talk", speaker_id="Bo", recipe="chat"), **wrong)
        with pytest.raises(FabulaError) as refused:
            project.assemble(request)
    assert refused.value.code is Code.REQUEST_INVALID


def test_the_trace_of_a_principal_with_limits_has_only_what_is_in_the_prompt(store: Store) -> None:
    start_party(store)
    add_secret(store)
    grants = Grants(characters=frozenset({"pawn:bo"}), conversations=frozenset({"talk"}))
    with Workspace(store) as workspace:
        project = workspace.project("party", Principal("bob", may_inspect=False, grants=grants))
        request = project.request(document_id="", conversation_id="talk", speaker_id="pawn:bo", recipe="chat")
        result = project.assemble(request)
    assert all(verdict.included for verdict in result.trace)
    assert not [verdict for verdict in result.trace if "SECRET-KEY" in verdict.text]


def test_a_whisper_decides_no_preset_message_for_those_who_did_not_hear_it(store: Store) -> None:
    start_party(store)
    node = Node(id="hint", content="Mention the cellar.", condition=Condition(keywords=("astrolabe",), scan_depth=9))
    with store.write(project="party") as tx:
        whisper = Message(id="w", role="user", content="The astrolabe!", speaker=PLAYER, audience=("pawn:mara",))
        edits.add_message(tx, "talk", whisper)
        presets.put(tx, "Hints", Preset(nodes=(node,)), active=True)
    with Workspace(store) as workspace:
        project = workspace.project("party")
        hinted = {one: "cellar" in assemble_for(project, "talk", f"pawn:{one}") for one in ("mara", "bo")}
    assert hinted == {"mara": True, "bo": False}


def test_the_viewpoint_of_a_chapter_heard_what_its_participant_heard(store: Store) -> None:
    start_party(store)
    with store.write(project="party") as tx:
        codex.create(tx, Entry(id="mara", type="character", name="Mara"))
        documents.add(tx, "One", text="It rained.", document_id="ch-1", pov="mara")
    with Workspace(store) as workspace:
        project = workspace.project("party")
        request = project.request(document_id="ch-1", conversation_id="talk", skill_id="chat", recipe="chat")
        assert "Hm." in project.assemble(request).prompt
