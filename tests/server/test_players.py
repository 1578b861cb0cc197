"""Players in conversations: each takes part as its own character, and learns nothing that the character does not hear.

Every secret is a word of its own, and every answer that a player gets is looked through for the words it must not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec
import pytest
from msgspec.structs import replace

from fabula.access.model import Membership, Role
from fabula.context.request import Grants
from fabula.conversation.modes import Step
from fabula.core.story import Perspective
from fabula.llm.providers.clipboard import ClipboardProvider
from fabula.server.access import Access
from fabula.server.openapi import choose_path_example
from fabula.server.routes import ROUTES, Route
from fabula.store.transaction import WriteTransaction
from fabula.workspace.chat import ChatState
from fabula.workspace.chat.rounds import begin_step
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.server.requests import make_url
from tests.server.running import RunningServer, run_server
from tests.server.test_events import follow, list_changes
from tests.workspace.chat.scripted import ScriptedProvider

PUBLIC, TO_MARA = "quartzlamp", "velvetoar"
HIDDEN = {  # what the player of Mara must never learn, by where it stands
    "whisper": "zephyrknot",
    "before": "ambergate",
    "elsewhere": "cobaltwell",
    "title elsewhere": "Thistlewharf",
    "persona": "umbrafact",
    "state": "ravenstate",
    "codex": "siltcrown",
    "participant": "Nyxandra",
    "draft": "murkdraft",
    "earlier wording": "ochrefirst",
    "reply to the whisper": "opalanswer",
}


class Group:
    """A project with a group of Mara, Bo and Cleo, a conversation without Mara, and a server."""

    def __init__(self, server: RunningServer, project: ProjectHandle, mara: str, talk: str, other: str) -> None:
        self.server, self.project, self.mara, self.talk, self.other = server, project, mara, talk, other
        self.base = f"/api/projects/{project.id}"


def make_player(project: ProjectHandle, character: str) -> Access:
    grants = Grants(
        perspectives=frozenset({Perspective.CHARACTER}),
        characters=frozenset({character}),
        documents=frozenset(),
        conversations=frozenset(),
        entries=frozenset(),
    )
    return Access(user="player", memberships={project.id: Membership(Role.PLAYER, grants)})


@pytest.fixture
def model() -> ScriptedProvider:
    return ScriptedProvider(
        lambda who, prompt: f"{who} says {HIDDEN['reply to the whisper']}." if who == "Cleo" else "Aye."
    )


@pytest.fixture
def group(workspace: Workspace, model: ScriptedProvider) -> Iterator[Group]:
    project = workspace.create_project("Harbour")
    mara = project.codex.add("Mara", kind="character", description="A pilot.").id
    project.participants.add("Bo", persona=f"A smuggler: {HIDDEN['persona']}.")
    project.codex.add("Crown", description=HIDDEN["codex"], known_to=["Bo"])
    for name in ("Cleo", HIDDEN["participant"]):
        project.participants.add(name, persona="A diver.")
    talk = project.chat.start(["Bo", "Cleo"], title="Pier").record.id
    say = project.conversations.record
    say(talk, f"Nobody may hear {HIDDEN['before']}.", speaker="Bo")
    project.conversations.join(talk, "Mara")
    corrected = say(talk, f"The {HIDDEN['earlier wording']} is lit.", speaker="Bo").id
    project.conversations.correct(talk, corrected, f"The {PUBLIC} is lit.")
    say(talk, f"Listen: {HIDDEN['whisper']}.", speaker="Bo", audience=["Cleo"])
    say(talk, f"Take the {TO_MARA}.", speaker="Cleo", audience=["Mara"])
    say(talk, f"I think of {HIDDEN['draft']}.", speaker="Bo", final=False)
    project.chat.set_mode(talk, "group", state={"last": HIDDEN["state"]})
    other = project.chat.start(["Bo", "Cleo"], title=HIDDEN["title elsewhere"]).record.id
    say(other, f"Meet me at the {HIDDEN['elsewhere']}.", speaker="Bo")
    with run_server(workspace, {"player": make_player(project, mara)}, model=model) as server:
        yield Group(server, project, mara, talk, other)


@contextmanager
def play(group: Group) -> Iterator[httpx2.Client]:
    """A client of the player, which looks through every answer for what the player must not know."""

    def look(answer: httpx2.Response) -> None:
        text = answer.read().decode()
        assert [name for name, word in HIDDEN.items() if word.lower() in text.lower()] == [], text

    with group.server.client("player") as client:
        client.event_hooks["response"].append(look)
        yield client


def read_kinds(answer: httpx2.Response) -> list[tuple[str, dict[str, Any]]]:
    blocks = [dict(line.split(": ", 1) for line in block.split("\n")) for block in answer.text.strip().split("\n\n")]
    return [(one["event"], msgspec.json.decode(one["data"])) for one in blocks if "event" in one]


def test_a_player_lists_and_reads_what_its_character_heard_and_nothing_else(group: Group) -> None:
    with play(group) as player:
        (chat,) = player.get(f"{group.base}/chats").json()["items"]
        assert (chat["id"], chat["title"], chat["mode"]) == (group.talk, "Pier", "group")
        assert {one["name"] for one in chat["present"]} >= {"Bo", "Cleo", "Mara"}
        page = player.get(f"{group.base}/chats/Pier/messages").json()
        assert [one["content"] for one in page["messages"]] == [f"The {PUBLIC} is lit.", f"Take the {TO_MARA}."]
        assert {one["number"] for one in page["messages"]} == {one["parentId"] for one in page["messages"]} == {None}
        newest = player.get(f"{group.base}/chats/{group.talk}/messages", params={"limit": 1}).json()
        assert newest["messages"] == page["messages"][1:]
        older = player.get(f"{group.base}/chats/{group.talk}/messages", params={"before": newest["before"]}).json()
        assert (older["messages"], older["before"]) == (page["messages"][:1], None)


def test_a_player_speaks_as_its_character_and_hears_the_answers(group: Group, model: ScriptedProvider) -> None:
    model.script = lambda who, _: f"{who} nods."
    with play(group) as player:
        events = read_kinds(player.post(f"{group.base}/chats/Pier/send", json={"text": "Good evening, @Bo. @Nix?"}))
    kinds = [kind for kind, _ in events]
    assert kinds[:2] == ["stream", "message"]
    assert kinds[-2:] == ["end", "done"]
    said = events[1][1]["message"]
    assert (said["name"], said["content"]) == ("Mara", "Good evening, @Bo. @Nix?")
    assert events[1][1]["notes"] == ["Nobody here is called Nix."]
    (reply,) = [data for kind, data in events if kind == "reply"]
    assert (reply["name"], reply["message"]["content"], reply["usage"]["inputTokens"]) == ("Bo", "Bo nods.", 0)
    assert "".join(data["text"] for kind, data in events if kind == "delta") == "Bo nods."
    assert dict(events)["end"]["modeState"] == {}
    assert HIDDEN["persona"] in model.prompts_of("Bo")[0]  # which was made with the rights of the project
    assert group.project.conversations.get_message(group.talk, said["id"]).speaker.startswith(
        ("persona:", "character:")
    )


def test_a_player_whispers_and_only_those_hear_it_who_are_meant(group: Group, model: ScriptedProvider) -> None:
    model.script = lambda who, _: f"{who} whispers back."
    with play(group) as player:
        sent = {"text": "Come closer.", "audience": ["Bo"]}
        events = read_kinds(player.post(f"{group.base}/chats/Pier/send", json=sent))
    assert [data["name"] for kind, data in events if kind == "reply"] == ["Bo"]
    assert not model.prompts_of("Cleo")
    assert group.project.conversations.get_message(group.talk, "last").audience is not None


def test_a_player_does_not_hear_a_reply_that_is_meant_for_others(
    group: Group, model: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin_aside(
        tx: WriteTransaction, chat: ChatState, step: Step, message_id: str, *, behind: str | None = None
    ) -> ChatState:
        ids = {one.name: one.id for one in chat.present}
        aside = replace(step, speakers=(ids["Cleo"],), audience=(ids["Bo"],)) if step.speakers else step
        return begin_step(tx, chat, aside, message_id, behind=behind)

    monkeypatch.setattr("fabula.workspace.chat.verbs.begin_step", begin_aside)  # as a mode might decide
    with play(group) as player:
        events = read_kinds(player.post(f"{group.base}/chats/Pier/send", json={"text": "Good evening."}))
    assert [kind for kind, _ in events] == ["stream", "message", "end", "done"]
    assert dict(events)["end"]["waiting"] == []
    assert model.prompts_of("Cleo")
    stored = group.project.conversations.get_message(group.talk, "last")
    assert HIDDEN["reply to the whisper"] in stored.content


def test_a_prompt_is_never_handed_to_a_player(workspace: Workspace, group: Group) -> None:
    people = {"player": make_player(group.project, group.mara)}
    with run_server(workspace, people, model=ClipboardProvider()) as server:
        group.server = server
        with play(group) as player:
            events = read_kinds(player.post(f"{group.base}/chats/Pier/send", json={"text": "Good evening."}))
    (failed,) = [data for kind, data in events if kind == "failure"]
    assert failed["error"]["code"] == "LLM_NO_KEY"


def test_a_failure_tells_a_player_its_code_and_no_more(group: Group, model: ScriptedProvider) -> None:
    model.script = lambda who, _: "Half a senFAIL"
    with play(group) as player:
        events = read_kinds(player.post(f"{group.base}/chats/Pier/send", json={"text": "@Bo?"}))
    (failed,) = [data for kind, data in events if kind == "failure"]
    assert (failed["error"]["code"], failed["text"]) == ("LLM_REFUSED", "Half a sen")
    assert failed["error"]["message"] == "Bo cannot answer now. Ask the owner of the project."


@pytest.mark.parametrize(
    "sent",
    [
        {"speaker": "Bo"},
        {"speaker": "Nobody"},
        {"mode": "workflow"},
        {"roles": {"host": "Bo"}},
        {"documentId": "ch-01"},
        {"provider": "demo"},
    ],
    ids=lambda one: str(next(iter(one.items()))),
)
def test_a_player_speaks_for_nobody_else_and_chooses_neither_mode_nor_place_nor_model(
    group: Group, sent: dict[str, Any]
) -> None:
    before = group.project.conversations.get(group.talk).record.message_count
    with play(group) as player:
        refused = player.post(f"{group.base}/chats/Pier/send", json={"text": "I am Bo.", **sent})
    assert (refused.status_code, refused.json()["code"]) == (403, "CONTEXT_NOT_ALLOWED")
    assert group.project.conversations.get(group.talk).record.message_count == before


def test_whispering_to_somebody_elsewhere_is_refused_as_to_nobody(group: Group) -> None:
    with play(group) as player:
        answers = [
            player.post(f"{group.base}/chats/Pier/send", json={"text": "Psst.", "audience": [name]})
            for name in (HIDDEN["participant"][::-1], "Zzyzx")
        ]
    with group.server.client("player") as client:
        real = client.post(f"{group.base}/chats/Pier/send", json={"text": "Psst.", "audience": [HIDDEN["participant"]]})
    names = (HIDDEN["participant"][::-1], "Zzyzx", HIDDEN["participant"])
    texts = {one.text.replace(name, "…") for one, name in zip((*answers, real), names, strict=True)}
    assert [one.status_code for one in (*answers, real)] == [404, 404, 404]
    assert len(texts) == 1


def test_a_character_that_left_hears_no_more_and_says_no_more(group: Group) -> None:
    group.project.conversations.leave(group.talk, "Mara")
    group.project.conversations.record(group.talk, f"Now: {HIDDEN['whisper']}.", speaker="Bo")
    with play(group) as player:
        (chat,) = player.get(f"{group.base}/chats").json()["items"]
        assert (chat["speaker"], chat["present"]) == ("", [])
        page = player.get(f"{group.base}/chats/Pier/messages").json()
        assert [one["content"] for one in page["messages"]] == [f"The {PUBLIC} is lit.", f"Take the {TO_MARA}."]
        refused = player.post(f"{group.base}/chats/Pier/send", json={"text": "Wait!"})
        assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")


def test_every_route_refuses_a_conversation_without_ones_character_as_one_that_does_not_exist(group: Group) -> None:
    routes = [one for one in ROUTES if "conversation" in one.parameters]
    assert len(routes) > 20
    before = group.project.conversations.get(group.other).record
    with play(group) as player:
        for route in routes:
            refused = [try_conversation(player, route, group, name) for name in (group.other, "nowhere")]
            assert refused[0] == refused[1], route.name
            assert refused[0][0] in (403, 404), route.name
    assert group.project.conversations.get(group.other).record == before


def try_conversation(player: httpx2.Client, route: Route, group: Group, name: str) -> tuple[int, str]:
    url = make_url(route, group.project.id).replace(quote(choose_path_example(route, "conversation")), name)
    assert name in url
    sent: dict[str, Any] = {"params": dict(route.example)} if route.reads_query else {"json": dict(route.example)}
    answer = player.request(route.method, url, **sent)
    return answer.status_code, answer.text.replace(name, "…")


def test_a_chat_request_of_a_player_goes_to_its_own_thread_alone(group: Group, model: ScriptedProvider) -> None:
    model.script = lambda who, _: f"{who} nods."
    asked = {"message": "Good evening, @Bo.", "project_id": group.project.id}
    with play(group) as player:
        answer = player.post("/api/chat", json={**asked, "thread_id": group.talk})
        assert answer.status_code == 200, answer.text
        assert answer.json()["user_message"]["name"] == "Mara"
        assert [one["content"] for one in answer.json()["responses"]] == ["Bo nods."]
        for path in ("/api/chat", "/api/chat/stream"):
            answers = [player.post(path, json={**asked, "thread_id": one}) for one in (group.other, "nowhere")]
            texts = {one.text.replace(group.other, "…").replace("nowhere", "…") for one in answers}
            if path == "/api/chat":
                assert {one.status_code for one in answers} == {404}
                assert len(texts) == 1
            else:
                assert [read_kinds(one)[-1][1]["code"] for one in answers] == ["STORE_NOT_FOUND"] * 2
            for more in (
                {},
                {"thread_id": group.talk, "mode": "group"},
                {"thread_id": group.talk, "role_config": {"host": "Bo"}},
                {"thread_id": group.talk, "provider": "demo"},
            ):
                refused = player.post(path, json={**asked, **more})
                code = read_kinds(refused)[-1][1]["code"] if path.endswith("stream") else refused.json()["code"]
                assert code == "CONTEXT_NOT_ALLOWED"


def test_what_a_player_sends_finds_no_entry_of_a_lorebook_over_any_address(workspace: Workspace, group: Group) -> None:
    secret = HIDDEN["codex"]
    group.project.lorebooks.create("Sea")
    group.project.lorebooks.add_entry("Sea", {"key": ["kraken"], "content": f"The kraken wears the {secret}."})
    group.project.lorebooks.add_entry("Sea", {"key": ["gull"], "content": f"The gull wears the {secret}."})
    group.project.lorebooks.limit_entry("Sea", 1, known_to=["Bo"])
    asked = {"additionalInput": "A kraken and a gull?"}
    with group.server.client() as owner:
        assert secret in owner.post(f"{group.base}/assemble", json=asked).text
    with play(group) as player:
        assert player.post(f"{group.base}/assemble", json=asked).status_code == 200
        assert (
            player.post("/api/channels/context:assemble", json={**asked, "projectId": group.project.id}).status_code
            == 200
        )
        for path in ("/v1/chat/completions", "/v1/embeddings"):
            body = {"model": f"fabula/{group.project.id}", "messages": [{"role": "user", "content": "A kraken?"}]}
            body |= {"input": "A kraken?"} if path.endswith("embeddings") else {}
            assert player.post(path, json=body).status_code == 403
        said = player.post(f"{group.base}/chats/{group.talk}/send", json={"text": "@Bo, a kraken and a gull?"})
        assert said.status_code == 200


def test_a_player_is_told_what_players_can_do(group: Group) -> None:
    with play(group) as player:
        for refused in (player.get(f"{group.base}/chapters"), player.post(f"{group.base}/codex", json={"name": "x"})):
            assert (refused.status_code, refused.json()["code"]) == (403, "CONTEXT_NOT_ALLOWED")
            assert "`chats`" in refused.json()["detail"]
            assert "right" not in refused.json()["detail"]
        refused = player.post(f"{group.base}/inspect", json={})
        assert (refused.status_code, refused.json()["code"]) == (403, "CONTEXT_INSPECT_FORBIDDEN")


def test_a_window_of_a_player_is_told_of_what_its_character_hears(group: Group) -> None:
    record = group.project.conversations.record
    with group.server.client("player") as player, follow(player, group.project.id) as told:
        next(told)
        record(group.talk, "Another whisper.", speaker="Bo", audience=["Cleo"])
        record(group.other, "Elsewhere.", speaker="Bo")
        record(group.talk, "Aloud.", speaker="Bo")
        first = next(told)
        assert list_changes(first) == {("conversations", group.talk)}
        seen = player.get(f"{group.base}/chats/Pier/messages").json()["messages"][-1]["content"]
        assert seen == "Aloud."
        group.project.conversations.join(group.other, "Mara")
        assert list_changes(next(told)) == {("conversations", group.other)}


def test_a_window_of_a_player_is_not_told_that_something_hidden_changed(group: Group) -> None:
    codex = group.project.codex
    with group.server.client("player") as player, follow(player, group.project.id) as told:
        assert next(told) == ("0", "ready", {"version": 0, "changes": []})
        codex.edit("Mara", notes=HIDDEN["state"])
        group.project.constraints.add(f"Never mention {HIDDEN['codex']}.")
        codex.edit("Crown", description="Heavier.")
        for number, description in enumerate(("An old pilot.", "A very old pilot."), start=1):
            codex.edit("Mara", description=description)
            ident, kind, data = next(told)
            assert (ident, kind, data["version"]) == (str(number), "change", number)
            assert data["changes"] == [{"kind": "codex", "id": group.mara}]


def test_a_player_is_told_no_size_and_no_version_of_the_whole_project(group: Group) -> None:
    group.project.chapters.add("Alone", "Nobody knows this.")
    with group.server.client("player") as player, group.server.client() as owner:
        (whole,), (seen,) = (one.get("/api/projects").json()["items"] for one in (owner, player))
    assert whole["characters"] > 0
    hidden = {"documents": 0, "characters": 0, "version": 0, "changed": whole["made"]}
    assert seen == {**whole, **hidden}


def test_a_stream_of_somebody_else_is_refused_as_one_that_does_not_exist(group: Group) -> None:
    with group.server.client() as owner, group.server.client("player") as player:
        events = read_kinds(owner.post(f"{group.base}/chats/Pier/send", json={"text": "@Bo?", "speaker": "Mara"}))
        stream = events[0][1]["stream"]
        for method in ("GET", "DELETE"):
            foreign, absent = (player.request(method, f"{group.base}/streams/{one}") for one in (stream, "nowhere"))
            assert (foreign.status_code, foreign.content) == (absent.status_code, absent.content)
            assert foreign.status_code == 404


def test_nobody_reports_an_answer_to_the_prompt_of_somebody_else(group: Group) -> None:
    group.project.chapters.add("Arrival", "They came.")
    with group.server.client() as owner, group.server.client("player") as player:
        made = owner.post(f"{group.base}/assemble", json={"documentId": "1"}).json()["assemblyId"]
        reports = [
            one.post(f"{group.base}/assemblies/{made}/answered", json={}).status_code for one in (player, owner, owner)
        ]
    assert reports == [404, 204, 404]
