"""Versions, keys and pages: nothing is overwritten unseen, nothing is done twice, and no list is cut in silence."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from fabula.core.errors import FabulaError
from fabula.responses.keys import KeyLease
from fabula.server.handlers import is_coroutine
from fabula.server.pages import cut_page
from fabula.server.routes import ROUTES, Route
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.server.requests import send
from tests.server.running import RunningServer


class Item(Struct):
    """A thing in a list."""

    id: str


@pytest.fixture
def base(story: ProjectHandle) -> str:
    return f"/api/projects/{story.id}"


@pytest.mark.parametrize(
    ("path", "method", "change"),
    [
        ("/codex/mara", "PATCH", {"description": "Changed."}),
        ("/chapters/1", "PUT", {"text": "Changed."}),
        ("/constraints/1", "PATCH", {"priority": 9}),
        ("/identity", "PUT", {"text": "Changed."}),
        ("/budget", "PUT", {"profile": {"rules": {"ratio": 0.1, "minimum": 1}}}),
    ],
)
def test_a_stale_change_is_refused_with_the_present_version(
    client: httpx2.Client, base: str, path: str, method: str, change: dict[str, object]
) -> None:
    before = client.get(base + path)
    old = {"If-Match": before.headers["etag"]}
    assert client.request(method, base + path, json=change, headers=old).status_code == 200
    after = client.get(base + path)
    assert after.headers["etag"] != before.headers["etag"]
    stale = client.request(method, base + path, json=change, headers=old)
    assert (stale.status_code, stale.json()["code"]) == (412, "HTTP_VERSION_CONFLICT")
    assert stale.json()["current"] == stale.headers["etag"] == after.headers["etag"]
    assert client.get(base + path).content == after.content
    fresh = {"If-Match": f'"other", {after.headers["etag"]}'}
    assert client.request(method, base + path, json=change, headers=fresh).status_code == 200


@pytest.mark.parametrize(
    ("path", "part", "change", "other"),
    [
        ("/chapters/PART", "/title", {"title": "Part Two"}, {"title": "Part Three"}),
        ("/chapters/1", "/title", {"title": "Dawn"}, {"title": "Dusk"}),
        ("/chapters/1", "/viewpoint", {"character": "will"}, {"character": None}),
        ("", "/title", {"title": "Harrow"}, {"title": "Light"}),
    ],
)
def test_a_part_of_something_is_changed_by_the_version_of_the_whole(
    client: httpx2.Client, base: str, path: str, part: str, change: dict[str, object], other: dict[str, object]
) -> None:
    made = client.post(f"{base}/chapters", json={"title": "Part One", "kind": "part"}).json()
    whole = base + path.replace("PART", made["id"])
    old = {"If-Match": client.get(whole).headers["etag"]}
    changed = client.put(whole + part, json=change, headers=old)
    assert changed.status_code == 200, changed.text
    after = client.get(whole)
    assert after.headers["etag"] != old["If-Match"]
    stale = client.put(whole + part, json=other, headers=old)
    assert (stale.status_code, stale.json()["code"]) == (412, "HTTP_VERSION_CONFLICT")
    assert client.get(whole).content == after.content


@pytest.mark.parametrize(
    ("path", "given"), [("/codex", {"name": "Odile"}), ("/chapters", {"title": "Dusk"}), ("/memories", {"text": "x"})]
)
def test_a_list_has_no_version_to_match(client: httpx2.Client, base: str, path: str, given: dict[str, str]) -> None:
    refused = client.post(base + path, json=given, headers={"If-Match": '"anything"'})
    assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")
    assert "If-Match" in refused.json()["detail"]


def test_of_two_who_change_the_same_version_one_is_refused(server: RunningServer, base: str) -> None:
    with server.client() as client:
        old = {"If-Match": client.get(f"{base}/codex/mara").headers["etag"]}
    barrier = threading.Barrier(4)

    def change(number: int) -> int:
        with server.client() as client:
            barrier.wait()
            sent = client.patch(f"{base}/codex/mara", json={"description": f"By {number}."}, headers=old)
            return sent.status_code

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(change, range(4))) == [200, 412, 412, 412]


def test_a_version_is_the_same_in_every_language(client: httpx2.Client, base: str) -> None:
    tags = {
        client.get(f"{base}/constraints/1", headers={"Accept-Language": one}).headers["etag"] for one in ("en", "zh")
    }
    assert len(tags) == 1


def test_what_is_unchanged_is_not_sent_again(client: httpx2.Client, base: str) -> None:
    first = client.get(f"{base}/codex/mara")
    second = client.get(f"{base}/codex/mara", headers={"If-None-Match": first.headers["etag"]})
    assert (second.status_code, second.content) == (304, b"")


@pytest.mark.parametrize(
    ("form", "is_same"),
    [
        *((one, True) for one in ("{tag}", "W/{tag}", '"x", W/{tag}', 'W/"a,b",{tag}', "*")),
        *((one, False) for one in ('"x"', 'W/"x", "y"', "", "W/")),
    ],
)
def test_a_version_may_be_weak_or_one_of_a_list(client: httpx2.Client, base: str, form: str, is_same: bool) -> None:
    header = form.format(tag=client.get(f"{base}/codex/mara").headers["etag"])
    read = client.get(f"{base}/codex/mara", headers={"If-None-Match": header})
    assert read.status_code == (304 if is_same else 200)
    changed = client.patch(f"{base}/codex/mara", json={"description": "Dry."}, headers={"If-Match": header})
    assert changed.status_code == (200 if is_same else 412)


def test_a_version_is_refused_where_there_is_none(client: httpx2.Client, base: str) -> None:
    refused = client.post(f"{base}/undo", json={}, headers={"If-Match": '"x"'})
    assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")


@pytest.mark.parametrize(
    "route",
    [one for one in ROUTES if one.stream or one.file == "upload" or one.queue_key is not None or is_coroutine(one)],
    ids=lambda one: one.name,
)
def test_a_verb_that_is_no_single_transaction_refuses_a_version(
    route: Route, server: RunningServer, story: ProjectHandle, workspace: Workspace
) -> None:
    before = workspace.store.versions(project=story.id)
    with server.client(**{"If-Match": '"x"'}) as client:
        refused = send(client, route, story.id)
    assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")
    assert "If-Match" in refused.json()["detail"]
    assert workspace.store.versions(project=story.id) == before


def test_a_request_with_a_key_is_done_once(client: httpx2.Client, base: str) -> None:
    key, new = {"Idempotency-Key": "k-1"}, {"name": "Odile", "kind": "character"}
    first = client.post(f"{base}/codex", json=new, headers=key)
    again = client.post(f"{base}/codex", json=new, headers=key)
    assert first.status_code == again.status_code == 201
    assert first.content == again.content
    assert again.headers["idempotency-replayed"] == "true"
    names = [one["name"] for one in client.get(f"{base}/codex").json()["items"]]
    assert names.count("Odile") == 1


def test_an_upload_with_a_key_is_done_once(client: httpx2.Client) -> None:
    def upload(name: str) -> httpx2.Response:
        key, content = {"Idempotency-Key": "up-1"}, b"# One\n\nShe lit the lamp.\n"
        return client.post("/api/imports", params={"fileName": name}, headers=key, content=content)

    first, again, other = upload("a.md"), upload("a.md"), upload("b.md")
    assert first.status_code == 201
    assert (again.status_code, again.content) == (201, first.content)
    assert (other.status_code, other.json()["code"]) == (422, "HTTP_KEY_REUSED")
    assert len(client.get("/api/projects").json()["items"]) == 2


def test_a_key_with_another_body_or_address_is_refused(client: httpx2.Client, base: str) -> None:
    key = {"Idempotency-Key": "k-2"}
    client.post(f"{base}/codex", json={"name": "Odile"}, headers=key)
    for path, body in (("/codex", {"name": "Other"}), ("/chapters", {"title": "Odile"})):
        refused = client.post(base + path, json=body, headers=key)
        assert (refused.status_code, refused.json()["code"]) == (422, "HTTP_KEY_REUSED")


def test_a_refused_request_gives_its_key_back(client: httpx2.Client, base: str) -> None:
    key = {"Idempotency-Key": "k-3"}
    assert client.post(f"{base}/codex", json={"name": ""}, headers=key).status_code == 400
    assert client.post(f"{base}/codex", json={"name": "Odile"}, headers=key).status_code == 201


def test_of_requests_that_are_sent_at_once_with_one_key_one_is_done(server: RunningServer, base: str) -> None:
    barrier = threading.Barrier(4)

    def create(_: int) -> int:
        with server.client() as client:
            barrier.wait()
            new = {"title": "Twice"}
            return client.post(f"{base}/chapters", json=new, headers={"Idempotency-Key": "k-4"}).status_code

    with ThreadPoolExecutor(4) as threads:
        statuses = list(threads.map(create, range(4)))
    assert set(statuses) <= {201, 409}
    with server.client() as client:
        titles = [one["title"] for one in client.get(f"{base}/chapters").json()["items"]]
    assert titles.count("Twice") == 1


def test_the_key_of_one_person_is_not_that_of_another(workspace: Workspace) -> None:
    responses = workspace.responses
    first, second = responses.claim("ann", "k", "one"), responses.claim("bea", "k", "two")
    assert isinstance(first, KeyLease)
    assert isinstance(second, KeyLease)


def test_the_pages_of_a_list_are_the_list(client: httpx2.Client, base: str) -> None:
    everything = client.get(f"{base}/codex").json()
    assert everything["next"] is None
    pages: list[str] = []
    cursor = None
    while cursor is not None or not pages:
        page = client.get(f"{base}/codex", params={"pageSize": 7, **({"cursor": cursor} if cursor else {})}).json()
        pages += [one["id"] for one in page["items"]]
        cursor = page["next"]
    assert pages == [one["id"] for one in everything["items"]]


@pytest.mark.parametrize(
    ("query", "named"),
    [("pageSize=0", "pageSize"), ("pageSize=-1", "pageSize"), ("pageSize=1001", "1000"), ("pagesize=3", "'pageSize'")],
)
def test_a_page_of_an_impossible_size_is_refused(client: httpx2.Client, base: str, query: str, named: str) -> None:
    refused = client.get(f"{base}/chapters?{query}")
    assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")
    assert named in refused.json()["detail"]


def test_a_cursor_that_no_server_gave_is_refused(client: httpx2.Client, base: str) -> None:
    for cursor in ("x", "e30", "W10", "////"):
        refused = client.get(f"{base}/codex", params={"cursor": cursor})
        assert (refused.status_code, refused.json()["code"]) == (400, "CONTEXT_REQUEST_INVALID")


@given(st.lists(st.integers(0, 99), unique=True, max_size=40), st.integers(1, 9), st.data())
def test_what_is_added_or_removed_meanwhile_neither_repeats_nor_skips_what_stays(
    numbers: list[int], size: int, data: st.DataObject
) -> None:
    items = [Item(str(one)) for one in sorted(numbers)]
    stays, seen, cursor = {one.id for one in items}, list[str](), None
    while True:
        page, cursor = cut_page(items, "id", cursor, size)
        seen += [one.id for one in page]
        if cursor is None:
            break
        added = Item(f"new-{len(items)}-{len(seen)}")
        items.insert(data.draw(st.integers(0, len(items))), added)
    assert [one for one in seen if one in stays] == [str(one) for one in sorted(numbers)]
    assert len(seen) == len(set(seen))


def test_nothing_is_skipped_where_the_last_item_of_a_page_was_removed() -> None:
    items = [Item(one) for one in "bcdefg"]
    _, cursor = cut_page(items, "id", None, 2)
    page, cursor = cut_page(items, "id", cursor, 2)
    items.remove(page[-1])
    assert [one.id for one in cut_page(items, "id", cursor, 2)[0]] == ["f", "g"]


@given(st.lists(st.integers(0, 99), unique=True, max_size=40), st.integers(1, 9), st.data())
def test_nothing_that_stays_is_skipped_or_repeated_where_several_were_removed(
    numbers: list[int], size: int, data: st.DataObject
) -> None:
    items = [Item(str(one)) for one in sorted(numbers)]
    seen, gone, cursor = list[str](), set[str](), None
    while True:
        page, cursor = cut_page(items, "id", cursor, size)
        seen += [one.id for one in page]
        if cursor is None:
            break
        near = [one for one in items if abs(items.index(one) - len(seen)) < 6]
        removed = data.draw(st.sets(st.sampled_from([one.id for one in near]), max_size=9)) if near else set()
        gone |= removed
        items = [one for one in items if one.id not in removed]
    assert len(seen) == len(set(seen))
    assert [one for one in seen if one not in gone] == [one.id for one in items]


def test_a_client_that_removes_each_page_before_it_asks_for_the_next_gets_everything_once() -> None:
    items, seen, cursor = [Item(str(one)) for one in range(95)], list[str](), ""
    while True:
        page, following = cut_page(items, "id", cursor, 10)
        seen += [one.id for one in page]
        items = [one for one in items if one not in page]
        if following is None:
            break
        cursor = following
    assert seen == [str(one) for one in range(95)]


def test_pages_of_entries_neither_skip_nor_repeat_where_two_were_deleted(client: httpx2.Client, base: str) -> None:
    everything = [one["id"] for one in client.get(f"{base}/codex").json()["items"]]
    first = client.get(f"{base}/codex", params={"pageSize": 6}).json()
    for one in everything[4:8]:  # on both sides of the end of the page
        assert client.delete(f"{base}/codex/{one}").status_code == 200
    second = client.get(f"{base}/codex", params={"pageSize": 100, "cursor": first["next"]}).json()
    assert [one["id"] for one in second["items"]] == everything[8:]


@given(st.lists(st.sampled_from("abc"), max_size=40), st.integers(1, 9))
def test_items_with_the_same_name_are_handed_out_once(names: list[str], size: int) -> None:
    items, seen, cursor = [Item(one) for one in names], list[Item](), None
    while True:
        page, cursor = cut_page(items, "id", cursor, size)
        seen += page
        if cursor is None:
            break
        assert len(seen) <= len(items)
    assert seen == items


@given(st.text())
def test_any_text_is_a_cursor_or_a_coded_refusal(text: str) -> None:
    with suppress(FabulaError):
        assert cut_page([Item("a")], "id", text, 1)[1] is None


def test_private_notes_of_an_entry_can_be_written(client: httpx2.Client, base: str) -> None:
    changed = client.patch(f"{base}/codex/mara", json={"notes": "She did it."})
    assert (changed.status_code, changed.json()["notes"]) == (200, "She did it.")
    assert client.post(f"{base}/codex", json={"name": "Odile", "notes": "A liar."}).json()["notes"] == "A liar."
