"""Every route is tried by every role, in its own project, in a foreign one and in one that does not exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import httpx2
import pytest

from fabula.access.model import RIGHTS, Membership, Right, Role
from fabula.context.request import Grants, Principal
from fabula.core.story import Perspective
from fabula.server.access import Access
from fabula.server.routes import ROUTES, Route
from fabula.workspace.project import ProjectHandle
from fabula.workspace.workspace import Workspace
from tests.blank import lay
from tests.server.requests import send
from tests.server.running import RunningServer, run_server
from tests.server.stories import prepare

ROLES = list(Role)  # of one project; the owner of the store has all rights, and the examples use them
REFUSALS = {"ACCESS_REQUIRED", "CONTEXT_NOT_ALLOWED", "CONTEXT_INSPECT_FORBIDDEN", "PROJECT_NOT_FOUND"}
PLAYER_GRANTS = Grants(
    perspectives=frozenset({Perspective.CHARACTER}),
    characters=frozenset({"mara"}),
    documents=frozenset({"ch-01"}),
    conversations=frozenset(),
    entries=frozenset(),
)


OWNER = Membership(Role.OWNER)


class Matrix:
    """A server with one project of its people, and one of somebody else."""

    def __init__(self, server: RunningServer, workspace: Workspace, own: str, foreign: str) -> None:
        self.workspace, self.own, self.foreign = workspace, own, foreign
        self.clients = {role: server.client(f"token-{role.value}") for role in ROLES}
        self.nobody = server.client(None)

    def version(self, project: str) -> int:
        """The version of a project, which every change raises."""
        return self.workspace.store.versions(project=project)[0]


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    with Workspace.open(lay(tmp_path_factory.mktemp("matrix") / "data")) as workspace:
        own, foreign = prepare(workspace).id, workspace.create_project("Somebody else's").id
        series = next(one.id for one in workspace.projects() if one.kind == "series")
        for user in (*ROLES, "owner of one"):  # a model on this machine would be asked, and take its time
            workspace.settings(principal=Principal(user=user)).set("llm.provider", "clipboard", scope="person")
        people = {f"token-{role.value}": make_access(role, own) for role in ROLES}
        people["token-owner"] = Access(user="owner of one", memberships=dict.fromkeys((own, series), OWNER))
        with run_server(workspace, people) as server:
            made = Matrix(server, workspace, own, foreign)
            yield made
            for client in (*made.clients.values(), made.nobody):
                client.close()


def make_access(role: Role, project: str) -> Access:
    grants = PLAYER_GRANTS if role is Role.PLAYER else Grants()
    return Access(user=role.value, memberships={project: Membership(role, grants)})


def read_code(answer: httpx2.Response) -> str:
    if answer.status_code < 400:
        return ""
    problem: Mapping[str, str] = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    return problem["code"]


@pytest.mark.parametrize("route", ROUTES, ids=lambda one: f"{one.method}-{one.name}")
def test_a_route_is_open_to_the_roles_that_have_its_right_and_to_nobody_else(route: Route, matrix: Matrix) -> None:
    assert read_code(send(matrix.nobody, route, matrix.own)) == "ACCESS_REQUIRED"
    for role, client in matrix.clients.items():
        version = matrix.version(matrix.own), matrix.version(matrix.foreign)
        is_allowed = route.right is Right.SIGN_IN or (route.has_project and route.right in RIGHTS[role])
        if not is_allowed:
            refused = send(client, route, matrix.own)
            code = "CONTEXT_INSPECT_FORBIDDEN" if route.right is Right.INSPECT else "CONTEXT_NOT_ALLOWED"
            assert (refused.status_code, read_code(refused)) == (403, code), role
        if route.has_project:
            foreign, absent = send(client, route, matrix.foreign), send(client, route, "nowhere")
            assert (foreign.status_code, read_code(foreign)) == (404, "PROJECT_NOT_FOUND"), role
            assert foreign.content == absent.content
        assert (matrix.version(matrix.own), matrix.version(matrix.foreign)) == version
        if is_allowed:
            answer = send(client, route, matrix.own)
            assert answer.status_code < 500, answer.text
            if role is not Role.PLAYER:  # whose grants the workspace checks
                assert read_code(answer) not in REFUSALS, (role, answer.text)
        if not matrix.workspace.store.has_project(matrix.own):  # its owner has deleted it
            matrix.workspace.restore_project(matrix.own)


@pytest.mark.parametrize("role", ROLES)
def test_a_caller_sees_only_own_projects_in_the_list(role: Role, matrix: Matrix) -> None:
    listed = {one["id"]: one["kind"] for one in matrix.clients[role].get("/api/projects").json()["items"]}
    assert listed.pop(matrix.own) == "book"
    assert list(listed.values()) == ["series"] * (role is Role.OWNER)


def test_a_player_sees_through_its_own_character_only(workspace: Workspace, story: ProjectHandle) -> None:
    asked = {"projectId": story.id, "documentId": "ch-01", "cursorPosition": 40, "character": "mara"}
    url = f"/api/projects/{story.id}/assemble"
    people = {"player": make_access(Role.PLAYER, story.id)}
    with run_server(workspace, people) as server, server.client("player") as player:
        assert player.post(url, json={**asked, "eyes": "character"}).status_code == 200
        for other in ({"eyes": "author"}, {"character": "will"}, {"eyes": "reader"}, {"documentId": "ch-02"}):
            assert read_code(player.post(url, json={**asked, **other})) == "CONTEXT_NOT_ALLOWED"


def test_a_caller_sees_own_settings_and_no_others(workspace: Workspace, story: ProjectHandle) -> None:
    workspace.settings().set("runs.keepPrompts", True, scope="person")
    people = {"reader": make_access(Role.READER, story.id)}
    with run_server(workspace, people) as server, server.client("reader") as reader, server.client() as owner:
        for base in ("/api", f"/api/projects/{story.id}"):
            assert owner.get(f"{base}/settings/runs.keepPrompts").json()["value"] is True
            assert reader.get(f"{base}/settings/runs.keepPrompts").json()["value"] is False


def test_settings_of_the_machine_are_for_the_owner_alone(workspace: Workspace, story: ProjectHandle) -> None:
    people = {"editor": make_access(Role.EDITOR, story.id)}
    with run_server(workspace, people) as server, server.client("editor") as editor, server.client() as owner:
        for base in ("/api", f"/api/projects/{story.id}"):
            of_owner, of_editor = (
                {one["name"] for one in client.get(f"{base}/settings").json()["settings"]} for client in (owner, editor)
            )
            assert {"server.trustedProxies", "server.proxyHeader"} <= of_owner - of_editor
            assert "runs.keepPrompts" in of_editor
            assert owner.get(f"{base}/settings/server.proxyHeader").status_code == 200
            assert read_code(editor.get(f"{base}/settings/server.proxyHeader")) == "CONTEXT_NOT_ALLOWED"
