"""Answers that a person reads have names and titles beside ids, so that nobody has to ask again for them."""

from __future__ import annotations

import httpx2
import pytest

from fabula.workspace.project import ProjectHandle


@pytest.fixture
def base(story: ProjectHandle) -> str:
    return f"/api/projects/{story.id}"


def test_an_entry_names_whom_it_stands_to_and_who_may_know_it(client: httpx2.Client, base: str) -> None:
    entries = {one["id"]: one for one in client.get(f"{base}/codex").json()["items"]}
    names = {ident: one["name"] for ident, one in entries.items()} | {"reader": "reader"}
    relations = [relation for one in entries.values() for relation in one["relations"]]
    assert relations
    assert [one["toName"] for one in relations] == [names[one["to"]] for one in relations]
    limited = [one for one in entries.values() if one["knownTo"] is not None]
    limited += [step for one in entries.values() for step in one["progressions"] if step["knownTo"] is not None]
    assert limited
    assert [one["knownToNames"] for one in limited] == [[names[ident] for ident in one["knownTo"]] for one in limited]
    alone = client.get(f"{base}/codex/{next(iter(entries))}").json()
    assert alone["knownToNames"] is None


def test_chapters_beats_and_runs_are_named(client: httpx2.Client, base: str) -> None:
    chapters = client.get(f"{base}/chapters").json()["items"]
    told = [one for one in chapters if one["pov"]]
    assert told
    assert all(one["povName"] and one["povName"] != one["pov"] for one in told)
    first = chapters[0]
    beat = client.post(f"{base}/beats", json={"document": first["id"], "text": "The lamp goes out."}).json()
    assert (beat["documentId"], beat["title"]) == (first["id"], first["title"])
    new = {"chapter": first["id"], "text": "The lamp went out.", "reason": "It ends too early."}
    run = client.post(f"{base}/runs", json=new).json()
    assert (run["documentId"], run["title"]) == (first["id"], first["title"])
    assert client.get(f"{base}/runs").json()["items"][0]["title"] == first["title"]


def test_messages_and_participants_are_named(client: httpx2.Client, base: str, story: ProjectHandle) -> None:
    story.participants.ensure_player("Ann")
    mara = client.post(f"{base}/participants", json={"name": "Mara Venn", "namespace": "pawn", "key": "mara"}).json()
    assert (mara["entry"], mara["entryName"]) == ("mara", "Mara Venn")
    story.conversations.start(("Ann", "Mara Venn"), title="On the quay")
    story.conversations.record("On the quay", "Nobody must hear the lantern.", speaker="Ann", audience=("Mara Venn",))
    found = client.get(f"{base}/conversations/search", params={"text": "Nobody must hear"}).json()["items"][0]
    assert found["title"] == "On the quay"
    assert found["message"]["audienceNames"] == ["Mara Venn"]


def test_projects_that_came_from_files_and_those_of_keys_have_their_titles(
    client: httpx2.Client, story: ProjectHandle
) -> None:
    made = client.post(
        "/api/imports", params={"fileName": "lamp.md", "title": "The Lamp"}, content=b"# One\n\nShe lit it."
    )
    assert made.json()["title"] == "The Lamp"
    saved = client.get(f"/api/projects/{story.id}/save").content
    loaded = client.post("/api/saves", params={"fileName": "a.fabula", "beside": True}, content=saved)
    assert loaded.json()["title"] == "The Lantern Coast"
    client.post("/api/accounts", json={"account": "ann", "name": "Ann"})
    client.put(f"/api/accounts/ann/roles/{story.id}", json={"role": "editor"})
    key = client.post("/api/keys", json={"label": "script", "person": "ann", "projects": [story.id]})
    assert key.status_code == 201, key.text
    listed = client.get("/api/keys").json()["items"]
    assert [one["projectTitles"] for one in listed] == [["The Lantern Coast"]]
    assert {one["title"] for one in client.get("/api/jobs").json()["projects"]} >= {"The Lamp"}


def test_the_role_of_a_player_names_its_character_and_its_chapters(client: httpx2.Client, story: ProjectHandle) -> None:
    client.post("/api/accounts", json={"account": "bob", "name": "Bob"})
    first = client.get(f"/api/projects/{story.id}/chapters").json()["items"][0]
    role = {"role": "player", "character": "Mara Venn", "documents": [first["id"]]}
    given = client.put(f"/api/accounts/bob/roles/{story.id}", json=role)
    assert given.status_code == 200, given.text
    (shown,) = client.get("/api/accounts/bob").json()["roles"]
    assert (shown["characterNames"], shown["documentTitles"]) == (["Mara Venn"], [first["title"]])
