"""Who gets in: tokens, links that work once, hosts, origins, and the headers of every answer."""

from __future__ import annotations

import sys
from urllib.parse import quote

import httpx2
import pytest

from fabula.access.model import Membership, Right, Role
from fabula.core.errors import FabulaError
from fabula.server.access import OWNER_ACCESS, Access
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.server.running import OWNER_TOKEN, RunningServer, run_process_server, run_server


def read_code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_health_needs_no_token_and_everything_else_does(server: RunningServer) -> None:
    with server.client(None) as nobody:
        assert nobody.get("/healthz").json()["status"] == "ok"
        assert nobody.get("/readyz").json() == {"status": "ready"}
        for path in ("/api", "/api/openapi.json", "/api/projects", "/api/nothing", "/nothing"):
            assert read_code(nobody.get(path)) == (401, "ACCESS_REQUIRED")


@pytest.mark.parametrize(
    "path",
    [
        "//api/projects",
        "/api//projects",
        "/api/projects//",
        "/api/projects/%2F/codex",
        "//healthz",
        "/api/projects/1//codex",
        "//",
        "/v1//models",
    ],
)
def test_an_address_with_an_empty_part_has_nothing_and_opens_nothing(server: RunningServer, path: str) -> None:
    address = server.base_url + path  # as it is: a base URL would be joined with one slash
    with server.client(None) as nobody:
        assert nobody.get(address).status_code == 401
    with server.client() as client:
        refused = client.get(address)
        problem = refused.json()
        assert refused.status_code == 404
        assert problem.get("error", problem)["code"] == "HTTP_NOT_FOUND"


def test_an_address_with_an_empty_part_deletes_nothing(server: RunningServer, story: ProjectHandle) -> None:
    with server.client() as client:
        assert read_code(client.delete(f"/api/projects/{story.id}//")) == (404, "HTTP_NOT_FOUND")
        assert read_code(client.delete(f"/api/projects//{story.id}")) == (404, "HTTP_NOT_FOUND")
        assert client.get(f"/api/projects/{story.id}").status_code == 200


@pytest.mark.parametrize("header", ["Bearer wrong", "Bearer", "Basic abc", "owner-token", "Bearer \u00fc"])
def test_a_wrong_token_is_refused(server: RunningServer, header: str) -> None:
    with server.client(None) as nobody:
        sent = {b"Authorization": header.encode("latin-1")}
        assert read_code(nobody.get("/api/projects", headers=sent)) == (401, "ACCESS_REQUIRED")


def test_a_token_in_the_address_is_not_read(server: RunningServer) -> None:
    with server.client(None) as nobody:
        for name in ("token", "access_token", "authorization"):
            assert nobody.get("/api/projects", params={name: OWNER_TOKEN}).status_code == 401


def test_a_link_begins_one_session_with_a_cookie_that_scripts_and_other_sites_do_not_get(server: RunningServer) -> None:
    code = server.accounts.make_code()
    with server.client(None) as browser:
        first = browser.get(f"/open/{code}")
        assert (first.status_code, first.headers["location"]) == (303, "/")
        cookie = first.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert code not in cookie
        assert browser.get("/api/projects").status_code == 200
    with server.client(None) as other:
        assert read_code(other.get(f"/open/{code}")) == (401, "ACCESS_LINK_INVALID")


def test_the_code_of_a_link_is_no_session(server: RunningServer) -> None:
    code = server.accounts.make_code()
    for secret in (code, f"link:{code}"):
        with server.client(None, Cookie=f"{server.cookie}={secret}") as browser:
            assert read_code(browser.get("/api/projects")) == (401, "ACCESS_REQUIRED")
    assert server.accounts.begin_session(code) is not None


def test_a_change_with_a_cookie_needs_the_origin_of_the_server(server: RunningServer) -> None:
    session = server.accounts.begin_session(server.accounts.make_code())
    with server.client(None, Cookie=f"{server.cookie}={session}") as browser:
        new = {"title": "Another"}
        assert read_code(browser.post("/api/projects", json=new)) == (403, "ACCESS_ORIGIN_REFUSED")
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "http://["):
            sent = browser.post("/api/projects", json=new, headers={"Origin": origin})
            assert read_code(sent) == (403, "ACCESS_ORIGIN_REFUSED")
        assert browser.post("/api/projects", json=new, headers={"Origin": server.base_url}).status_code == 201


def test_a_page_of_another_site_is_refused_even_with_a_token(server: RunningServer) -> None:
    with server.client() as client:
        refused = client.get("/api/projects", headers={"Origin": "http://evil.example"})
        assert read_code(refused) == (403, "ACCESS_ORIGIN_REFUSED")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[", "localhost@evil.example:80"])
def test_a_host_of_another_name_is_refused(server: RunningServer, host: str) -> None:
    with server.client() as client:
        assert read_code(client.get("/api/projects", headers={"Host": host})) == (421, "ACCESS_HOST_REFUSED")


def test_health_is_told_under_any_name(server: RunningServer) -> None:
    with server.client(None) as probe:
        for path in ("/healthz", "/readyz"):
            assert probe.get(path, headers={"Host": "10.0.0.7:8600"}).status_code == 200
        assert read_code(probe.get("/metrics", headers={"Host": "10.0.0.7:8600"})) == (421, "ACCESS_HOST_REFUSED")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the loopback has one address")
def test_a_server_at_all_addresses_answers_at_each_of_them(workspace: Workspace) -> None:
    with run_process_server(workspace, "0.0.0.0") as server:
        port = server.base_url.rpartition(":")[2]
        headers = {"Authorization": f"Bearer {OWNER_TOKEN}"}
        with httpx2.Client(base_url=f"http://127.0.0.2:{port}", headers=headers, trust_env=False) as client:
            assert client.get("/api/projects").status_code == 200
            for other in ("127.0.0.3", "127.0.0.2.evil.example"):
                refused = client.get("/api/projects", headers={"Host": other})
                assert read_code(refused) == (421, "ACCESS_HOST_REFUSED")


def test_every_answer_has_the_security_headers(server: RunningServer) -> None:
    with server.client() as client, server.client(None) as nobody:
        for answer in (client.get("/api"), client.get("/nothing"), nobody.get("/api"), nobody.get("/healthz")):
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] in ("no-store", "private, no-cache")


def test_a_role_has_the_rights_of_its_row() -> None:
    access = Access(user="ann", memberships={"one": Membership(Role.READER)})
    assert access.has_right(Right.READ, "one")
    assert not access.has_right(Right.EDIT, "one")
    assert not access.has_right(Right.READ, "two")
    assert not access.has_right(Right.STORE)
    assert not access.make_principal("one").may_inspect
    assert OWNER_ACCESS.make_principal("any").may_inspect


def test_somebody_signs_in_with_a_password_and_out_again(server: RunningServer, workspace: Workspace) -> None:
    workspace.people.add("ann", password="correct horse")
    with server.client(None, Origin=server.base_url) as browser:
        for body in ({"account": "ann", "password": "wrong horse"}, {"account": "zed", "password": "correct horse"}):
            assert read_code(browser.post("/api/session", json=body)) == (401, "ACCESS_REQUIRED")
        assert browser.post("/api/session", json={"account": "ann"}).status_code == 400
        answer = browser.post("/api/session", json={"account": "ann", "password": "correct horse"})
        assert answer.status_code == 204
        assert "httponly" in answer.headers["set-cookie"].lower()
        assert browser.get("/api/projects").status_code == 200
        session = browser.cookies[server.cookie]
        assert browser.delete("/api/session").status_code == 204
        assert server.cookie not in browser.cookies
    with server.client(None, Cookie=f"{server.cookie}={session}") as late:
        assert read_code(late.get("/api/projects")) == (401, "ACCESS_REQUIRED")


def test_two_servers_on_one_machine_do_not_sign_each_other_out(server: RunningServer, workspace: Workspace) -> None:
    body = {"account": "ann", "password": "correct horse"}
    workspace.people.add("ann", password=body["password"])

    with run_server(workspace) as other, httpx2.Client(trust_env=False) as browser:  # which sends cookies to all ports

        def send(method: str, to: RunningServer, path: str, **sent: object) -> int:
            url, origin = f"{to.base_url}/api/{path}", {"Origin": to.base_url}
            return browser.request(method, url, headers=origin, **sent).status_code  # type: ignore[arg-type]

        for one in (server, other):
            assert send("POST", one, "session", json=body) == 204
        assert [send("GET", one, "projects") for one in (server, other)] == [200, 200]
        assert browser.cookies[server.cookie] != browser.cookies[other.cookie]
        assert send("DELETE", other, "session") == 204
        assert [send("GET", one, "projects") for one in (server, other)] == [200, 401]


def test_after_five_wrong_passwords_the_right_one_waits_too(server: RunningServer, workspace: Workspace) -> None:
    workspace.people.add("ann", password="correct horse")
    with server.client(None) as browser:
        for _ in range(5):
            browser.post("/api/session", json={"account": "ann", "password": "wrong horse"})
        answer = browser.post("/api/session", json={"account": "Ann", "password": "correct horse"})
    assert read_code(answer) == (429, "ACCESS_TOO_MANY_TRIES")


def test_undo_reaches_ones_own_changes_and_needs_the_right_that_the_change_needed(
    workspace: Workspace, story: ProjectHandle
) -> None:
    editor = Access(user="ed", memberships={story.id: Membership(Role.EDITOR)})
    owner_key = OWNER_ACCESS.limit(rights=frozenset({Right.SIGN_IN, Right.READ, Right.EDIT}), projects=None)
    base = f"/api/projects/{story.id}"
    with (
        run_server(workspace, {"editor": editor, "key": owner_key}) as server,
        server.client("editor") as ed,
        server.client("key") as key,
        server.client() as owner,
    ):
        assert ed.get(f"{base}/changes").json()["items"] == []
        for path in ("undo", "redo"):
            assert read_code(ed.post(f"{base}/{path}")) == (404, "STORE_NOT_FOUND")
        assert read_code(key.post(f"{base}/undo")) == (403, "CONTEXT_NOT_ALLOWED")  # it would delete the project
        own = ed.post(f"{base}/constraints", json={"text": "No cats."})
        assert own.status_code == 201, own.text
        assert owner.put(f"{base}/settings/judge.tries", json={"value": 3}).status_code == 204
        assert owner.put(f"{base}/title", json={"title": "Harrow Light"}).status_code == 200
        for _ in range(2):  # the title, then the setting
            assert read_code(key.post(f"{base}/undo")) == (403, "CONTEXT_NOT_ALLOWED")
            assert owner.post(f"{base}/undo").status_code == 200
            assert read_code(key.post(f"{base}/redo")) == (403, "CONTEXT_NOT_ALLOWED")
        assert owner.post(f"{base}/redo").status_code == 200
        taken_back = ed.post(f"{base}/undo").json()
        assert "No cats." in taken_back["label"]
        assert workspace.settings(story.id).get("judge.tries").value == 3
        assert ed.post(f"{base}/redo").json()["label"] == taken_back["label"]
        assert owner.get(base).status_code == 200


def test_a_kept_answer_is_given_to_nobody_who_may_not_ask_for_it(workspace: Workspace, story: ProjectHandle) -> None:
    whole = Access(user="ed", memberships={story.id: Membership(Role.EDITOR)})
    reading = whole.limit(rights=frozenset({Right.SIGN_IN, Right.READ}), projects=None)
    elsewhere = whole.limit(rights=None, projects=frozenset({"another"}))
    url, body, headers = f"/api/projects/{story.id}/constraints", {"text": "No cats."}, {"Idempotency-Key": "once"}
    with run_server(workspace, {"whole": whole, "reading": reading, "elsewhere": elsewhere}) as server:
        answers = []
        for token in ("whole", "reading", "elsewhere", "whole"):
            with server.client(token) as client:
                answers.append(client.post(url, json=body, headers=headers))
    assert [one.status_code for one in answers] == [201, 403, 404, 201]
    assert answers[3].headers["idempotency-replayed"] == "true"
    assert answers[3].json() == answers[0].json()


def test_somebody_names_their_own_projects_by_title_and_number_and_no_others(
    workspace: Workspace, story: ProjectHandle, caplog: pytest.LogCaptureFixture
) -> None:
    users = {"ann": "ann", "key": OWNER_ACCESS.user}
    foreign = workspace.create_project("Somebody Else's")
    ann = Access(user="ann", memberships={story.id: Membership(Role.READER), "gone": Membership(Role.READER)})
    key = OWNER_ACCESS.limit(rights=None, projects=frozenset({story.id}))
    title = story.view.project.title
    with run_server(workspace, {"ann": ann, "key": key}) as server:
        for token in ("ann", "key"):
            with server.client(token) as client:
                (own,) = client.get("/api/projects").json()["items"]
                for name in (story.id, title, title.upper(), str(own["number"])):
                    assert client.get(f"/api/projects/{quote(name)}/chapters").status_code == 200, name
                number = next(one.number for one in workspace.projects() if one.id == foreign.id)
                names = (foreign.id, "Somebody Else's", str(number), "nowhere", "99", "gone")
                refused = [client.get(f"/api/projects/{quote(name)}/chapters") for name in names]
                assert {read_code(one) for one in refused} == {(404, "PROJECT_NOT_FOUND")}
                assert len({one.content for one in refused}) == 1
                lines = [one for one in caplog.messages if f"code=PROJECT_NOT_FOUND user={users[token]} " in one]
                assert len(lines) == len(names)
                assert not any(foreign.id in one or "Somebody" in one for one in lines)
        with server.client() as owner:
            caplog.clear()
            assert owner.get("/api/projects/nowhere").status_code == 404
            assert "PROJECT_NOT_FOUND" not in caplog.text  # to whom nothing is foreign
        with server.client("key") as client:
            assert [one["id"] for one in client.get("/v1/models").json()["data"]] == [f"fabula/{title}"]


def test_the_number_of_a_project_tells_nothing_of_projects_of_others(
    workspace: Workspace, story: ProjectHandle
) -> None:
    for title in ("One", "Two"):
        workspace.create_project(title)
    last = workspace.create_project("Last")
    ann = Access(user="ann", memberships={one.id: Membership(Role.READER) for one in (last, story)})
    with run_server(workspace, {"ann": ann}) as server:
        with server.client("ann") as client:
            listed = {one["id"]: one["number"] for one in client.get("/api/projects").json()["items"]}
            assert listed == {story.id: 1, last.id: 2}
            assert client.get("/api/projects/2").json()["id"] == last.id
            assert client.get("/api/projects/2").json()["number"] == 2
            assert read_code(client.get("/api/projects/4")) == (404, "PROJECT_NOT_FOUND")
        with server.client() as owner:
            assert owner.get(f"/api/projects/{last.id}").json()["number"] == 4


def test_the_owner_of_one_project_learns_nothing_of_projects_and_series_of_others(
    workspace: Workspace, story: ProjectHandle
) -> None:
    foreign = workspace.create_series("Secret Series")
    workspace.project(foreign).codex.add("Hollowfen")
    own = workspace.create_series("Own Series")
    workspace.create_project("Secret Book")
    ann = Access(user="ann", memberships={one: Membership(Role.OWNER) for one in (story.id, own)})
    base = f"/api/projects/{story.id}"
    with run_server(workspace, {"ann": ann}) as server, server.client("ann") as client:
        refused = [
            client.put(f"{base}/series", json={"name": name})
            for name in (foreign, "Secret Series", "secret", "7", "Secret Serees", "nowhere")
        ]
        assert {read_code(one) for one in refused} == {(404, "PROJECT_NOT_FOUND")}
        assert len({one.content for one in refused}) == 1
        assert client.get(base).json()["series"] == ""
        assert client.put(f"{base}/title", json={"title": "Secret Book"}).status_code == 200
        assert read_code(client.put(f"{base}/title", json={"title": "Own Series"})) == (409, "STORE_DUPLICATE")
        assert client.put(f"{base}/series", json={"name": "own series"}).status_code == 200


def test_a_project_has_the_same_time_of_change_in_the_list_and_alone(
    client: httpx2.Client, story: ProjectHandle
) -> None:
    story.codex.add("Oar")
    (listed,) = client.get("/api/projects").json()["items"]
    assert client.get(f"/api/projects/{story.id}").json()["changed"] == listed["changed"] > listed["made"]


def test_a_key_has_no_right_that_its_account_lacks(
    workspace: Workspace, story: ProjectHandle, client: httpx2.Client
) -> None:
    other = workspace.create_project("Other")
    workspace.people.add("ann")
    workspace.people.set_role("ann", story.id, "reader")
    workspace.people.set_role("ann", other.id, "editor")
    for projects, rights, missing in (
        ([story.id], ["read", "edit"], "`edit`"),
        ([], ["manage", "store"], "`manage`, `store`"),
    ):
        body = {"label": "laptop", "person": "ann", "projects": projects, "rights": rights}
        refused = client.post("/api/keys", json=body)
        assert read_code(refused) == (400, "CONTEXT_REQUEST_INVALID")
        assert missing in refused.json()["detail"]
        assert "`read`" not in refused.json()["detail"]
    assert client.get("/api/keys").json()["items"] == []
    for projects in ([other.id], []):
        body = {"label": "laptop", "person": "ann", "projects": projects, "rights": ["edit", "sign_in"]}
        assert client.post("/api/keys", json=body).status_code == 201


def test_a_refusal_says_which_right_is_missing_and_who_can_give_it(workspace: Workspace, story: ProjectHandle) -> None:
    workspace.people.add("ann")
    workspace.people.set_role("ann", story.id, "reader")
    workspace.people.add("bo")
    workspace.people.set_role("bo", story.id, "owner")
    reader = workspace.people.create_key("a", person="ann")
    limited = workspace.people.create_key("b", person="bo", rights=["read"])
    owner = workspace.people.create_key("c", person="bo")
    chapters = f"/api/projects/{story.id}/chapters"
    with run_server(workspace) as server:

        def ask(key: str, path: str, **headers: str) -> str:
            with server.client(key) as client:
                refused = client.post(path, json={"title": "x"}, headers=headers)
            assert read_code(refused) == (403, "CONTEXT_NOT_ALLOWED")
            return str(refused.json()["detail"])

        assert ask(reader.secret, chapters) == (
            "This needs the right `edit`, which the role reader does not have. An owner of the project can give you "
            "one that has it: owner or editor. Nothing was changed."
        )
        assert "`edit`" in (chinese := ask(reader.secret, chapters, **{"Accept-Language": "zh"}))
        assert "owner" in chinese
        assert "your key leaves out" in ask(limited.secret, chapters)
        for key in (reader.secret, owner.secret):  # for whom the owner of the project is no help
            assert ask(key, "/api/backups").startswith("Only the owner of the server")


def test_a_player_plays_a_character_and_no_place(
    workspace: Workspace, story: ProjectHandle, client: httpx2.Client
) -> None:
    workspace.people.add("ann")
    address = f"/api/accounts/ann/roles/{story.id}"
    refused = client.put(address, json={"role": "player", "character": "Harrow Light"})
    assert read_code(refused) == (400, "CONTEXT_REQUEST_INVALID")
    assert "Harrow Light is no character (location)" in refused.json()["detail"]
    assert "Mara Venn" in refused.json()["detail"]
    missing = client.put(address, json={"role": "player", "character": "Marra"})
    assert "Did you mean Mara Venn?" in missing.json()["detail"]
    made = client.put(address, json={"role": "player", "character": "mara venn"}).json()
    assert made["roles"][0]["characterNames"] == ["Mara Venn"]


@pytest.mark.parametrize(
    ("path", "name", "sentence"),
    [
        ("PROJECT", "runs.keepPrompts", '`"scope": "person"`'),
        ("", "runs.keepPrompts", '`"scope": "person"`'),
        ("", "llm.model", '`"scope": "person"`'),
        ("", "History.SummaryEveryNRounds", "Name a project."),
        ("", "server.hosts", "FABULA_HOSTS"),
    ],
)
def test_a_setting_that_is_refused_says_where_it_can_be_set(
    client: httpx2.Client, story: ProjectHandle, path: str, name: str, sentence: str
) -> None:
    address = f"/api/projects/{story.id}/settings/{name}" if path else f"/api/settings/{name}"
    value = {"runs.keepPrompts": True, "History.SummaryEveryNRounds": 12}.get(name, "x")
    for refused in (client.put(address, json={"value": value}), client.request("DELETE", address, json={})):
        assert read_code(refused) == (400, "SETTING_INVALID"), refused.text
        assert sentence in refused.json()["detail"]


def test_a_key_with_few_rights_lists_its_projects_and_changes_no_profile(
    workspace: Workspace, story: ProjectHandle
) -> None:
    workspace.create_project("Another")
    workspace.people.add("ann")
    with pytest.raises(FabulaError, match="no role"):
        workspace.people.create_key("laptop", person="ann", projects=[story.id])
    workspace.people.set_role("ann", story.id, "reader")
    key = workspace.people.create_key("laptop", person="ann", projects=[story.id], rights=["read"])
    with run_server(workspace) as server, server.client(key.secret) as client:
        assert [one["id"] for one in client.get("/api/projects").json()["items"]] == [story.id]
        assert client.get(f"/api/projects/{story.id}/chapters").status_code == 200
        refused = client.put("/api/profile", json={"text": "x"})
        assert (refused.status_code, refused.json()["code"]) == (403, "CONTEXT_NOT_ALLOWED")
        assert "`sign_in`" in refused.json()["detail"]
        assert "`edit`" in client.post(f"/api/projects/{story.id}/chapters", json={"title": "x"}).json()["detail"]
        assert "`" not in client.get("/api/projects/another/chapters").json()["detail"]  # that there is one is a secret


def test_an_answer_names_the_step_that_takes_just_this_change_back(server: RunningServer, story: ProjectHandle) -> None:
    base = f"/api/projects/{story.id}"
    with server.client() as client:
        project, _, number = (
            client.post(f"{base}/constraints", json={"text": "No cats."}).headers["undo-step"].partition("/")
        )
        assert project == story.id
        chapter = client.get(f"{base}/chapters").json()["items"][0]
        address = f"{base}/chapters/{chapter['id']}"
        text = client.get(address).json()["text"]
        assert client.put(address, json={"text": text}).headers["undo-step"] == "none"  # it is the same
        assert client.put(address, json={"text": f"{text} More."}).headers["undo-step"] != "none"
        assert "undo-step" not in client.get(address).headers
        taken_back = client.post(f"{base}/undo", json={"step": int(number)})
        assert "No cats." in taken_back.json()["label"]
        assert client.get(address).json()["text"] == f"{text} More."


def test_the_answer_to_an_upload_names_its_step_too(server: RunningServer, story: ProjectHandle) -> None:
    base = f"/api/projects/{story.id}"
    with server.client() as client:
        given = {"fileName": "More.md", "into": story.id}
        imported = client.post("/api/imports", params=given, content=b"# More\n\n## Rain\n\nIt rained.\n")
        project, _, number = imported.headers["undo-step"].partition("/")
        assert project == story.id
        client.post(f"{base}/constraints", json={"text": "No cats."})
        taken_back = client.post(f"{base}/undo", json={"step": int(number)})
        assert "More.md" in taken_back.json()["label"]
        assert "Rain" not in [one["title"] for one in client.get(f"{base}/chapters").json()["items"]]
        assert "No cats." in client.get(f"{base}/constraints").text
