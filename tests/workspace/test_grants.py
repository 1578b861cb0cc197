"""A principal is told only what it was granted, and a refusal does not say whether a thing exists."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fabula.codex import Entry
from fabula.codex import edits as codex
from fabula.context.phrases import IDENTITY
from fabula.context.request import Grants, Principal
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Perspective
from fabula.llm.providers.attachments import IMAGE_TOKENS, PAGE_TOKENS
from fabula.manuscript import documents, projects
from fabula.store.store import Store
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace

P = "coast"
BO = Grants(
    perspectives=frozenset({Perspective.CHARACTER}),
    characters=frozenset({"bo"}),
    documents=frozenset({"ch-2", "gone"}),
    conversations=frozenset(),
    entries=frozenset({"lamp"}),
)


@pytest.fixture
def coast(store: Store) -> Workspace:
    projects.create(store, "The Coast", project_id=P)
    with store.write(project=P) as tx:
        for name in ("mara", "bo", "lamp"):
            codex.create(tx, Entry(id=name, type="character", name=name.title(), description=f"{name} is old."))
        documents.add(tx, "Alone", text="Mara was alone.", document_id="ch-1", known_to=["mara"])
        documents.add(tx, "Supper", text="They ate.", document_id="ch-2")
    return Workspace(store)


def as_bo(coast: Workspace) -> ProjectHandle:
    return coast.project(P, Principal("bo", grants=BO))


def ask(project: ProjectHandle, **fields: object) -> str:
    wire = {"projectId": P, "documentId": "ch-2", "character": "bo", **fields}
    return project.assemble(project.read_request(json.dumps(wire).encode())).prompt


def test_what_was_granted_is_assembled(coast: Workspace) -> None:
    assert "They ate." in ask(as_bo(coast))
    assert "lamp is old" in ask(as_bo(coast), include=["lamp"])


@pytest.mark.parametrize(
    "fields",
    [
        {"eyes": "author"},
        {"eyes": "reader"},
        {"character": "mara"},
        {"character": "nobody"},
        {"character": "Mara"},
        {"speakerId": "mara"},
        {"documentId": "ch-1"},
        {"documentId": "ch-1", "cursorPosition": 9999},
        {"documentId": "ch-9", "cursorPosition": 9999},
        {"documentId": "gone"},
        {"documentId": "ch-1", "unsavedText": "x"},
        {"conversationId": "talk"},
        {"include": ["mara"]},
        {"include": ["nothing"]},
        {"exclude": ["nothing"]},
    ],
)
def test_every_refusal_is_the_same_whether_the_thing_exists_or_not(coast: Workspace, fields: dict[str, object]) -> None:
    with pytest.raises(FabulaError) as refused:
        ask(as_bo(coast), **fields)
    assert refused.value.code is Code.NOT_ALLOWED
    assert str(refused.value.message) == (
        "You may not ask for this here. Ask the owner of the project. Nothing was changed."
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda project: project.search("alone", until="ch-2"),
        lambda project: project.search("alone", everything=True),
        lambda project: project.inspect(project.request(document_id="ch-2", character="bo")),
        lambda project: project.chapters,
        lambda project: project.codex,
        lambda project: project.save(),
        lambda project: project.working_memory(""),
    ],
)
def test_what_shows_the_whole_project_is_refused(coast: Workspace, call: Callable[[ProjectHandle], object]) -> None:
    with pytest.raises(FabulaError) as refused:
        call(as_bo(coast))
    assert refused.value.code is Code.NOT_ALLOWED


def test_a_reader_searches_up_to_a_chapter_that_was_granted(coast: Workspace) -> None:
    grants = Grants(perspectives=frozenset({Perspective.READER}), documents=frozenset({"ch-2"}))
    project = coast.project(P, Principal("guest", grants=grants))
    assert [found.document_id for found in project.search("ate", until="ch-2")] == ["ch-2"]
    assert project.search("alone", until="ch-2") == []


def test_a_request_object_cannot_bring_another_principal(coast: Workspace) -> None:
    request = coast.project(P).request(document_id="ch-2", perspective="author")
    with pytest.raises(FabulaError) as refused:
        as_bo(coast).assemble(request)
    assert refused.value.code is Code.NOT_ALLOWED


@pytest.mark.parametrize("reference", ["/etc/hostname", "file:///etc/hostname", "..", "C:\\key.png", "upload-2"])
def test_an_attachment_refers_to_an_upload_and_never_to_a_path(
    coast: Workspace, reference: str, tmp_path: Path
) -> None:
    project = coast.project(P)
    upload = tmp_path / "1.png"
    upload.write_bytes(PNG)
    attached = {"id": "a", "kind": "image", "reference": reference}
    data = json.dumps({"projectId": P, "documentId": "ch-2", "attachments": [attached]}).encode()
    with pytest.raises(FabulaError) as refused:
        project.read_request(data, {"upload-1": "/uploads/1.png"})
    assert refused.value.code is Code.NOT_ALLOWED
    read = project.read_request(data, {reference: str(upload)})
    assert read.attachments[0].reference == str(upload)


PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
PDF = b"%PDF-1.4\n" + b"<< /Type /Page >>\n" * 300


def read_tokens(coast: Workspace, content: bytes, tokens: int) -> int:
    reference = "data:application/octet-stream;base64," + base64.b64encode(content).decode()
    attached = {"id": "a", "kind": "file", "reference": reference, "tokens": tokens}
    data = json.dumps({"projectId": P, "documentId": "ch-2", "attachments": [attached]}).encode()
    return coast.project(P).read_request(data).attachments[0].tokens


def test_an_attachment_of_a_request_costs_no_less_than_its_content(coast: Workspace) -> None:
    assert read_tokens(coast, PNG, 0) == IMAGE_TOKENS
    assert read_tokens(coast, PNG, 9_000) == 9_000
    assert read_tokens(coast, PDF, 1) == 300 * PAGE_TOKENS
    assert read_tokens(coast, "字".encode() * 50, 0) == 150


def test_an_attachment_of_a_request_that_cannot_be_read_is_refused(coast: Workspace) -> None:
    attached = {"id": "a", "kind": "image", "reference": "data:image/png;base64,%%%", "tokens": 0}
    data = json.dumps({"projectId": P, "documentId": "ch-2", "attachments": [attached]}).encode()
    with pytest.raises(FabulaError) as refused:
        coast.project(P).read_request(data)
    assert refused.value.code is Code.LLM_ATTACHMENT_INVALID


HARBOUR = {  # the text of each chapter has a word of its own
    "ch-1": "Mara trimmed the quartzlamp at the harbour. Reed watched the gulls above the harbour wall.",
    "ch-2": "Mara hid the cobaltwell under the harbour stones. Mara had been a smuggler since the cobaltwell war.",
    "ch-3": "Tobin counted the umbracoin at the harbour and told nobody.",
    "ch-4": "Reed came back to the harbour. Mara met him at the velvetoar.",
}
REED = Grants(
    perspectives=frozenset({Perspective.CHARACTER}),
    characters=frozenset({"reed"}),
    documents=frozenset({"ch-1", "ch-3", "ch-4"}),
    conversations=frozenset(),
    entries=frozenset(),
)


@pytest.fixture
def harbour(store: Store) -> Workspace:
    projects.create(store, "The Harbour", project_id="harbour")
    with store.write(project="harbour") as tx:
        for name in ("mara", "reed", "tobin"):
            codex.create(tx, Entry(id=name, type="character", name=name.title(), description=f"{name} is old."))
        for number, (ident, text) in enumerate(HARBOUR.items(), start=1):
            pov = "tobin" if ident == "ch-3" else None
            documents.add(tx, f"Title {number}", text=text, document_id=ident, pov=pov)
    return Workspace(store)


def list_told(text: str) -> list[str]:
    """The chapters whose words a text has."""
    words = {"ch-1": "quartzlamp", "ch-2": "cobaltwell", "ch-3": "umbracoin", "ch-4": "velvetoar"}
    return [ident for ident, word in words.items() if word in text]


def test_chapters_that_were_not_granted_are_told_by_no_path(harbour: Workspace) -> None:
    reed = harbour.project("harbour", Principal("reed", grants=REED))
    assert [one.id for one in reed.reading.list_chapters()] == ["ch-1", "ch-4"]
    found = reed.search("harbour Mara hid cobaltwell umbracoin", until="ch-4", character="reed")
    assert {one.document_id for one in found} == {"ch-1", "ch-4"}
    request = {"documentId": "ch-4", "character": "reed", "eyes": "character", "projectId": "harbour"}
    asked = {**request, "additionalInput": "What did Mara hide under the stones, and who is a smuggler at the harbour?"}
    result = reed.assemble(reed.read_request(json.dumps(asked).encode()))
    assert list_told(result.prompt) == ["ch-1", "ch-4"]
    assert list_told(" ".join(one.text for one in reed.reading.read_synopses())) == ["ch-1", "ch-4"]
    owner = harbour.project("harbour")
    asked["character"] = "mara"
    whole = owner.assemble(owner.read_request(json.dumps(asked).encode()))
    kinds = {one.source.partition(":")[0] for one in whole.trace if one.included and "cobaltwell" in one.text}
    assert {"codex", "synopsis"} <= kinds  # a fact and a synopsis, which only the grants keep from Reed


def test_a_chapter_that_the_character_does_not_know_is_refused_where_it_was_granted_too(harbour: Workspace) -> None:
    reed = harbour.project("harbour", Principal("reed", grants=REED))
    for chapter in ("ch-3", "ch-2", "none", "Title 3"):
        wire = {"projectId": "harbour", "documentId": chapter, "character": "reed", "eyes": "character"}
        for more in ({}, {"cursorPosition": 9999}):
            with pytest.raises(FabulaError) as refused:
                reed.assemble(reed.read_request(json.dumps({**wire, **more}).encode()))
            assert refused.value.code is Code.NOT_ALLOWED
        with pytest.raises(FabulaError):
            reed.place_cursor(reed.request(document_id=chapter, character="reed"), "after 'umbracoin'")
        if chapter == "ch-3":  # a granted place, whose own text is not found there
            found = reed.search("harbour umbracoin", until=chapter, character="reed")
            assert {one.document_id for one in found} == {"ch-1"}
            continue
        with pytest.raises(FabulaError) as unfound:
            reed.search("harbour", until=chapter, character="reed")
        assert str(unfound.value.message) == str(refused.value.message)


def test_what_may_be_known_is_named_by_its_names_too(harbour: Workspace) -> None:
    reed = harbour.project("harbour", Principal("reed", grants=REED))
    wire = {"projectId": "harbour", "documentId": "Title 4", "character": "Reed", "eyes": "character"}
    assert list_told(reed.assemble(reed.read_request(json.dumps(wire).encode())).prompt) == ["ch-1", "ch-4"]
    assert reed.search("velvetoar", until="Title 4", character="Reed")


def test_a_prompt_with_limits_has_nothing_that_the_author_decided_about_prompts(harbour: Workspace) -> None:
    owner = harbour.project("harbour")
    owner.presets.write_identity("You keep the hollowfen.")
    owner.presets.write("mine", {"nodes": [{"content": "Never name the sablemoth."}]}, active=True)
    harbour.write_profile("I am peregrind.")
    owner.skills.add("ferncastle", 'template.en = "Write of the ferncastle."')
    owner.skills.add("chat", 'template.en = "Talk of the ferncastle."')
    reed = harbour.project("harbour", Principal("reed", grants=REED))
    place = {"projectId": "harbour", "documentId": "ch-4", "character": "reed", "eyes": "character"}

    def assemble(project: ProjectHandle, **fields: str) -> str:
        return project.assemble(project.read_request(json.dumps({**place, **fields}).encode())).prompt

    words = ("hollowfen", "sablemoth", "peregrind", "ferncastle")
    assert all(word in assemble(owner, skillId="ferncastle") for word in words)
    for skill in ("", "continue", "chat"):
        assert not [word for word in words if word in assemble(reed, skillId=skill)]
    direct = reed.assemble(reed.request(document_id="ch-4", character="reed", perspective="character")).prompt
    assert not [word for word in words if word in direct]
    refusals = []
    for name in ("ferncastle", "nope"):
        with pytest.raises(FabulaError) as refused:
            assemble(reed, skillId=name)
        refusals.append(str(refused.value.message).replace(name, "X", 1))
    assert refusals[0] == refusals[1]
    assert "ferncastle" not in refusals[1]
    assert IDENTITY.render("en") in direct


def test_chapters_have_their_numbers_in_the_book_wherever_they_are_named(harbour: Workspace) -> None:
    reed = harbour.project("harbour", Principal("reed", grants=REED))
    assert [one.number for one in reed.reading.list_chapters()] == [1, 4]
    assert [one.number for one in reed.reading.read_synopses()] == [1, 4]
    assert [one.id for one in reed.reading.read_synopses(["4"])] == ["ch-4"]
    for name in ("4", "chapter four"):
        assert (reed.reading.read_chapter(name).id, reed.reading.read_chapter(name).number) == ("ch-4", 4)
        assert reed.search("velvetoar", until=name, character="reed")[0].document_id == "ch-4"
        assert reed.request(document_id=name, character="reed").document_id == "ch-4"
    refusals = set()
    for name in ("2", "9"):  # hidden, and absent
        with pytest.raises(FabulaError) as unread:
            reed.reading.read_chapter(name)
        with pytest.raises(FabulaError) as unfound:
            reed.search("velvetoar", until=name, character="reed")
        refusals.add((str(unread.value.message).replace(name, "N"), str(unfound.value.message)))
    assert len(refusals) == 1


def test_what_a_principal_with_limits_sends_finds_no_entry_of_a_lorebook(harbour: Workspace) -> None:
    owner = harbour.project("harbour")
    owner.lorebooks.create("Sea")
    owner.lorebooks.add_entry("Sea", {"key": ["kraken"], "content": "The kraken is the hollowfen."})
    owner.lorebooks.add_entry("Sea", {"key": ["velvetoar"], "content": "An oar of the sablemoth."})
    reed = harbour.project("harbour", Principal("reed", grants=REED))
    place = {"projectId": "harbour", "documentId": "ch-4", "character": "reed", "eyes": "character"}
    for sent in ({"additionalInput": "A kraken?"}, {"unsavedText": "A kraken."}):
        told, hidden = (
            one.assemble(one.read_request(json.dumps({**place, **sent}).encode())).prompt for one in (owner, reed)
        )
        assert ("hollowfen" in told, "hollowfen" in hidden) == (True, False)
        assert ("sablemoth" in hidden) == ("additionalInput" in sent)  # a chapter that was granted names it


def test_what_a_player_leaves_open_is_its_own_character_at_the_last_chapter_that_it_may_read(
    harbour: Workspace,
) -> None:
    reed = harbour.project("harbour", Principal("reed", grants=REED))
    assert {one.document_id for one in reed.search("harbour Mara hid cobaltwell umbracoin")} == {"ch-1", "ch-4"}
    for fields in ({}, {"character": "Reed"}, {"documentId": "ch-4"}):
        request = reed.read_request(json.dumps({"projectId": "harbour", **fields}).encode())
        assert (request.document_id, request.character) == ("ch-4", "reed")
        assert list_told(reed.assemble(request).prompt) == ["ch-1", "ch-4"]
    assert list_told(reed.assemble(reed.request()).prompt) == ["ch-1", "ch-4"]
    with pytest.raises(FabulaError):
        reed.search("harbour", everything=True)
