"""Chat requests from outside: threads, slugs, roles, and the codes of refusals (cht-1)."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from fabula.core.errors import FabulaError
from fabula.core.messages import message
from fabula.server.problems import STATUSES
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.chat import ChatAnswer, ChatRequest
from fabula.workspace.schemas.schema import decode, encode
from fabula.workspace.workspace import Workspace
from tests.workspace.chat.scripted import ScriptedProvider, read


def answer(project: ProjectHandle, request: ChatRequest, model: ScriptedProvider | None = None) -> ChatAnswer:
    assert project.store is not None
    return asyncio.run(Workspace(project.store).answer_chat(request, model=model or ScriptedProvider()))


def refuse(project: ProjectHandle, request: ChatRequest) -> int:
    """Check that a request is refused and changes nothing; return the HTTP status."""
    before = [one.record for one in project.conversations.list_all()]
    with pytest.raises(FabulaError) as refused:
        answer(project, request)
    assert [one.record for one in project.conversations.list_all()] == before
    return STATUSES[refused.value.code]


def test_a_thread_is_started_where_none_is_named_and_goes_on_by_its_id(pier: ProjectHandle) -> None:
    first = answer(pier, ChatRequest(message="@Bo, hello", project_id="party"))
    assert [(one.participant_id, one.display_name, one.content) for one in first.responses] == [
        ("persona:Bo", "Bo", "I am Bo.")
    ]
    assert first.user_message.name == "Ann"
    second = answer(pier, ChatRequest(message="Hello all", thread_slug="party", thread_id=first.thread_id))
    assert second.thread_id == first.thread_id
    assert {one.display_name for one in second.responses} == {"Mara", "Bo", "Cleo"}
    assert len(read(pier, first.thread_id)) == 6


def test_the_answer_has_the_names_of_the_specification(pier: ProjectHandle) -> None:
    model = ScriptedProvider(lambda who, _: "FAIL" if who == "Bo" else "Hm.")
    given = answer(pier, ChatRequest(message="@Bo @Mara?", project_id="party"), model)
    plain = msgspec.json.decode(encode(given))
    assert set(plain) == {"thread_id", "user_message", "responses", "notes"}
    by_name = {one["display_name"]: one for one in plain["responses"]}
    assert set(by_name["Mara"]) == {"message_id", "participant_id", "display_name", "content", "usage"}
    assert by_name["Bo"]["error"]["code"] == "LLM_REFUSED"
    request = decode(b'{"message": "x", "role_config": {"coder": "Bo"}}', ChatRequest, what=message("request"))
    assert request.role_config == {"coder": "Bo"}


def test_a_new_thread_has_the_participants_of_the_roles(pier: ProjectHandle) -> None:
    roles = {"coder": "Bo", "reviewer": "Mara", "tester": "Bo"}
    model = ScriptedProvider(lambda *_: "APPROVED")
    given = answer(pier, ChatRequest(message="Write", project_id="party", mode="workflow", role_config=roles), model)
    assert [one.display_name for one in given.responses] == ["Bo", "Mara", "Bo"]
    present = {one.name for one in pier.chat.get(given.thread_id).present}
    assert present == {"Ann", "Bo", "Mara"}


def test_refusals_have_the_codes_of_the_specification(pier: ProjectHandle) -> None:
    assert pier.store is not None
    other = Workspace(pier.store).create_project("Other Book")
    other.participants.add("Zoe", persona="x")
    elsewhere = other.chat.start().record.id
    assert refuse(pier, ChatRequest(message="  ", project_id="party")) == 400
    assert refuse(pier, ChatRequest(message="x" * 1_000_000, project_id="party")) == 400
    assert refuse(pier, ChatRequest(message="Hi", project_id="party", thread_id="nowhere")) == 404
    assert refuse(pier, ChatRequest(message="Hi", project_id="nothing")) == 404
    assert refuse(pier, ChatRequest(message="Hi", thread_slug="nothing")) == 404
    assert refuse(pier, ChatRequest(message="Hi", project_id="party", thread_id=elsewhere)) == 409
    assert refuse(pier, ChatRequest(message="Hi", project_id="party", thread_slug="other-book")) == 404
    assert refuse(pier, ChatRequest(message="Hi")) == 422
    assert refuse(pier, ChatRequest(message="Hi", project_id="party", mode="quizz")) == 422
    roles = {"coder": "Bo"}
    assert refuse(pier, ChatRequest(message="Hi", project_id="party", mode="workflow", role_config=roles)) == 422
    thread = pier.chat.get("Pier").record.id
    assert refuse(pier, ChatRequest(message="Hi", project_id="party", thread_id=thread, mode="quiz")) == 409
    for name in ("Mara", "Bo", "Cleo"):
        pier.participants.edit(name, persona="")
    assert refuse(pier, ChatRequest(message="Hi", project_id="party")) == 422


def test_a_slug_names_one_project_also_where_two_have_a_title_and_after_it_changed(pier: ProjectHandle) -> None:
    assert pier.store is not None
    workspace = Workspace(pier.store)
    other = workspace.create_project("Party")
    other.participants.add("Zoe", persona="x")
    workspace.rename_project("party", "The Feast")
    for slug, name in (("party", "Bo"), ("party-2", "Zoe")):
        given = answer(pier, ChatRequest(message="Hi", thread_slug=slug))
        assert name in {one.display_name for one in given.responses}
    assert refuse(pier, ChatRequest(message="Hi", thread_slug="the-feast")) == 404
