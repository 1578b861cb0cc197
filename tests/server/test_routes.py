"""The table of routes is complete: every verb has a route or a reason, every route a rule, a schema and an example."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterator

import msgspec
import pytest
from litestar import Litestar

from fabula.access.model import Right
from fabula.server.accounts import Accounts
from fabula.server.api_page import make_page
from fabula.server.app import make_app
from fabula.server.head_requests import HeadRequests
from fabula.server.openapi import choose_path_example, make_document
from fabula.server.requests import find_list_fields
from fabula.server.routes import ROUTES, Route
from fabula.server.routes.route import find_class
from fabula.server.security import SecurityMiddleware
from fabula.workspace.project import ProjectHandle
from fabula.workspace.verbs import LazyVerbs
from fabula.workspace.workspace import Workspace

SUBJECTS = [name for name, value in vars(ProjectHandle).items() if isinstance(value, LazyVerbs)]
_PROCESS = "belongs to the process, not to a caller"
_PARSING = "is what a route does while it reads a request"
_OTHER = "another route does the same: "
WITHOUT_ROUTE = {
    "account.count_creatable_projects": "is part of `account.describe`",
    "account.create_project": _OTHER + "workspace.create_project, which calls it for people",
    "changes.list_changes": _OTHER + "workspace.list_changes",
    "changes.redo": _OTHER + "workspace.redo",
    "changes.undo": _OTHER + "workspace.undo",
    "chat.add_mode": "takes a Python object",
    "chat.find_player": "is what a chat does to know who speaks",
    "conversations.subscribe": "takes a Python function; windows follow a stream of events",
    "lorebooks.name_limits": "takes what `lorebooks.read` returns, for tables of the command line",
    "playing.send": _OTHER + "chat.send, which calls it for players",
    "project.choose_model": _PARSING,
    "project.close": _PROCESS,
    "project.embed": "OpenAI's API has embeddings",
    "project.place_cursor": _PARSING,
    "project.read_request": _PARSING,
    "project.request": _PARSING,
    "project.view_with": "returns a view, which no caller may see as a whole",
    "project.with_principal": "takes rights, which only the caller's role gives",
    "project.with_view": "takes a view",
    "project.working_memory": _PARSING,
    "runs.check_acceptable": "is checked by `write` before it begins",
    "runs.request_again": "returns a request; the stream of `write` takes the run in its place",
    "settings.set_text": "parses what a person types at a prompt; JSON has types",
    "workspace.account": _PARSING,
    "workspace.add_samples": "is an option of `fabula serve`",
    "workspace.call": _PROCESS,
    "workspace.close": _PROCESS,
    "workspace.collect_steps": "answers to changes name their step in a header",
    "workspace.copy_project": "takes a view of a folder on this machine",
    "workspace.find_warm_project": _PROCESS,
    "workspace.flush": _PROCESS,
    "workspace.project": _PARSING,
    "workspace.projects": _OTHER + "workspace.describe_projects",
    "workspace.collect_versions": _PARSING,
    "workspace.require_before_change": _PARSING,
    "workspace.run_jobs": _PROCESS,
    "workspace.run_short_jobs": _PROCESS,
    "workspace.settings": _PARSING,
    "workspace.start_worker": _PROCESS,
    "workspace.sum_activity": "is part of /metrics",
}


def list_verbs() -> Iterator[str]:
    for subject in ("workspace", "project", "settings", "people", "account", *SUBJECTS):
        for name, _ in inspect.getmembers(find_class(subject), inspect.isfunction):
            if not name.startswith("_"):
                yield f"{subject}.{name}"


def test_every_verb_has_a_route_or_a_reason_for_having_none() -> None:
    routed = {route.verb for route in ROUTES}
    verbs = set(list_verbs())
    assert len(verbs) > 150
    assert verbs - routed - set(WITHOUT_ROUTE) == set()
    assert set(WITHOUT_ROUTE) & routed == set()
    assert set(WITHOUT_ROUTE) - verbs == set()


def test_no_two_routes_have_one_address_or_one_name() -> None:
    assert [pair for pair, count in Counter((one.method, one.path) for one in ROUTES).items() if count > 1] == []
    assert [name for name, count in Counter(one.name for one in ROUTES).items() if count > 1] == []


@pytest.mark.parametrize("route", ROUTES, ids=lambda one: one.name)
def test_a_route_has_a_summary_and_an_example_that_its_request_accepts(route: Route) -> None:
    assert route.summary.endswith((".", "?"))
    if route.method == "GET":
        lists = find_list_fields(route.request_type)
        values = {name: value if name in lists else str(value) for name, value in route.example.items()}
        msgspec.convert(values, route.request_type, strict=False)
    else:
        msgspec.json.decode(msgspec.json.encode(route.example), type=route.request_type)
    path = {name: choose_path_example(route, name) for name in route.path_type.__struct_fields__}
    msgspec.convert(path, route.path_type, strict=False)


def test_a_request_without_fields_of_its_own_names_its_required_ones_in_the_example() -> None:
    bare = [
        route.name
        for route in ROUTES
        for field in msgspec.structs.fields(route.request_type)
        if field.required and field.encode_name not in route.example
    ]
    assert bare == []


def test_the_description_names_rights_as_keys_do(workspace: Workspace) -> None:
    described = make_document(ROUTES)["paths"]["/api/projects"]["get"]["description"]
    (right,) = re.findall("`(.+)`", described)
    made = workspace.people.create_key("script", rights=[right])
    assert made.key.rights == (Right.SIGN_IN,)


def test_the_description_refers_to_nothing_that_it_does_not_define() -> None:
    document = msgspec.json.encode(make_document(ROUTES)).decode()
    components = msgspec.json.decode(document)["components"]
    for group, name in set(re.findall(r'"#/components/(\w+)/([^"]+)"', document)):
        assert name in components[group], name
    operations = [one for path in msgspec.json.decode(document)["paths"].values() for one in path.values()]
    assert len(operations) == len(ROUTES) + 3 + 2 + 2 + 4  # streams and events, sessions, health, OpenAI's API
    assert all(one["summary"] for one in operations)


def list_descriptions(document: object) -> Iterator[str]:
    """Return every summary and description of an OpenAPI document."""
    if isinstance(document, dict):
        yield from (document[name] for name in ("summary", "description") if isinstance(document.get(name), str))
        for one in document.values():
            yield from list_descriptions(one)
    elif isinstance(document, list):
        for one in document:
            yield from list_descriptions(one)


def test_descriptions_have_the_words_of_json_and_refer_to_no_requirement() -> None:
    document = msgspec.json.decode(msgspec.json.encode(make_document(ROUTES)))
    fields = {name for one in document["components"]["schemas"].values() for name in one.get("properties", ())}
    described = list(list_descriptions(document))
    assert len(described) > 500
    of_python = re.compile(r"\b(?:None|True|False|UNSET|str|int|bool|dict|tuple)\b|\([a-z]{3}-\d+|\n ")
    assert [one for one in described if of_python.search(one)] == []
    named = {name for one in described for name in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", one)}
    assert named - fields - set(Right) == set()


def test_the_page_of_routes_names_types_of_json() -> None:
    page = re.sub("<p>The answer:</p><pre>.*?</pre>", "", make_page(ROUTES), flags=re.DOTALL)  # real ones
    assert "<dd>list of string or null, optional</dd>" in page
    assert "<dd>boolean, optional</dd>" in page
    assert re.findall(r"\b(?:None|True|False|tuple|bool|UnsetType|typing)\b|\([a-z]{3}-\d+", page) == []


def test_the_server_has_no_address_beside_the_table_but_those_that_need_no_rule(workspace: Workspace) -> None:
    app = make_app(workspace, Accounts(workspace.store, {}))
    assert isinstance(app, SecurityMiddleware)
    assert isinstance(app.app, HeadRequests)
    assert isinstance(app.app.app, Litestar)
    served = {(method, route.path) for route in app.app.app.routes for method in getattr(route, "methods", ())}
    listed = {(one.method, f"/api{one.path}".replace("}", ":str}")) for one in ROUTES}
    own_streams = "/api/projects/{project:str}/streams/{stream:str}"  # of the caller alone, in a project of theirs
    others = {("GET", path) for path in ("/healthz", "/readyz", "/open/{code:str}", "/api", "/api/openapi.json")}
    others |= {("GET", "/metrics")}  # see `test_metrics.py`
    others |= {("POST", "/v1/chat/completions"), ("POST", "/v1/embeddings")}  # see `test_completions.py`
    others |= {("GET", "/v1/models"), ("GET", "/v1/models/{name:path}")}
    others |= {("POST", "/api/session"), ("DELETE", "/api/session")}  # see `test_access.py`
    others |= {("GET", "/api/projects/{project:str}/events")}  # see `test_events.py`
    others |= {("GET", "/"), ("GET", "/assets/{name:str}")}  # see `test_page.py`
    others |= {("GET", "/api/style.css"), ("GET", own_streams), ("DELETE", own_streams)}
    assert {pair for pair in served if pair[0] != "OPTIONS"} - listed == others
    assert listed <= served
