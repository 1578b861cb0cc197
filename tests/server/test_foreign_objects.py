"""What belongs to one project is not there in another one, for people of one of them and for people of both.

Names and ids of a project are put into every place of every route of another project: each parameter of a path, and
each field of a query or body that holds text. The answer must be the one that a name gets which nobody has. Each place
is tried with a few kinds of names, drawn by its own name; `FABULA_FOREIGN_KINDS` sets how many, and 0 tries all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import httpx2
import msgspec
import pytest
from msgspec.structs import replace

from fabula.access.model import RIGHTS, Membership, Role
from fabula.context.request import Principal
from fabula.core.errors import Code
from fabula.core.ids import new_id
from fabula.server.access import Access
from fabula.server.routes import ROUTES, Route
from fabula.server.routes.route import PROJECT
from fabula.workspace.workspace import Workspace
from tests.blank import lay
from tests.server.requests import send
from tests.server.running import RunningServer, run_server
from tests.server.stories import SECRET, list_foreign_names, prepare, prepare_foreign
from tests.server.test_matrix import PLAYER_GRANTS

Outcome = tuple[int, object]
_ABSENT = str.maketrans("0123456789abcdef", "5678901234bcdefa")  # a digit for a digit, and a letter for a letter
_NAMES = {"Jephthah": "Hezekiah", "Wexcombe": "Bexcombe", "Jubilee": "Wubilee", "Upgang": "Hogang", "upgang": "hogang"}


class ForeignObjects:
    """A server with a project of its callers, and one that has an object of every kind."""

    def __init__(self, server: RunningServer, workspace: Workspace, own: str, foreign: str) -> None:
        self.workspace, self.own, self.foreign = workspace, own, foreign
        self.names = list_foreign_names(workspace, workspace.project(foreign), own)
        self.clients = {name: server.client(name) for name in ("inside", "both", "player")}

    def version(self, project: str | None = None) -> int:
        """The version of a project, by default of the one whose objects are asked for."""
        return self.workspace.store.versions(project=project or self.foreign)[0]


@contextmanager
def serve_objects(folder: Path) -> Iterator[ForeignObjects]:
    with Workspace.open(lay(folder / "data")) as workspace:
        own, foreign = prepare(workspace).id, prepare_foreign(workspace).id
        for user in ("inside", "both", "player"):
            workspace.settings(principal=Principal(user=user)).set("llm.provider", "clipboard", scope="person")
        owner = Membership(Role.OWNER)
        people = {
            "inside": Access(user="inside", memberships={own: owner}),
            "both": Access(user="both", memberships={own: owner, foreign: owner}),
            "player": Access(user="player", memberships={own: Membership(Role.PLAYER, PLAYER_GRANTS)}),
        }
        with run_server(workspace, people) as server:
            made = ForeignObjects(server, workspace, own, foreign)
            yield made
            for client in made.clients.values():
                client.close()


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForeignObjects]:
    with serve_objects(tmp_path_factory.mktemp("foreign")) as served:
        yield served


@pytest.fixture(scope="module")
def changing_objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForeignObjects]:
    """For requests that change something."""
    with serve_objects(tmp_path_factory.mktemp("changing")) as served:
        yield served


def make_absent(value: str) -> str:
    """Return a name of the same shape that nobody has."""
    for name, other in _NAMES.items():
        if name in value:
            return value.replace(name, other)
    return re.sub(r"[0-9a-f]{12,}", lambda found: found[0].translate(_ABSENT), value)


def takes_text(info: msgspec.inspect.Type) -> bool:
    """Whether a field can hold a name."""
    if isinstance(info, msgspec.inspect.UnionType):
        return any(map(takes_text, info.types))
    if isinstance(info, msgspec.inspect.CollectionType | msgspec.inspect.VarTupleType):
        return takes_text(info.item_type)
    return isinstance(info, msgspec.inspect.StrType)


def takes_one(info: msgspec.inspect.Type) -> bool:
    """Whether a field holds a name, and no list of names."""
    if isinstance(info, msgspec.inspect.UnionType):
        return any(map(takes_one, info.types))
    return isinstance(info, msgspec.inspect.StrType)


def fill_path(route: Route, value: str) -> dict[str, Route]:
    """Return a route with a name as each parameter of its path behind the project, alone, and as all of them."""
    parameters = [name for name in route.parameters if name != PROJECT]
    made = {name: replace(route, path_example={**route.path_example, name: value}) for name in parameters}
    if len(parameters) > 1:
        made["all"] = replace(route, path_example=dict.fromkeys(parameters, value))
    return made


def fill_fields(route: Route, value: str) -> dict[str, Route]:
    """Return a route with a name in each field of its query or body that takes one; those of projects have a test."""
    info = msgspec.inspect.type_info(route.request_type)
    assert isinstance(info, msgspec.inspect.StructType)
    made: dict[str, Route] = {}
    for field in info.fields:
        is_project = route.find_project is not None and field.encode_name in ("projectId", "project_id", "thread_slug")
        if takes_text(field.type) and not is_project:
            filled = value if takes_one(field.type) else [value]
            made[field.encode_name] = replace(route, example={**route.example, field.encode_name: filled})
    return made


def read_outcome(answer: httpx2.Response, value: str) -> Outcome:
    """Return what an answer says, without the name that was asked for, and without what a success made."""
    assert SECRET not in answer.text
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        codes = re.findall(r'"code":"(\w+)"', answer.text)
        return answer.status_code, (*re.findall(r"^event: (\w+)", answer.text, re.MULTILINE), *codes)
    if not answer.is_error:
        return answer.status_code, ""
    return answer.status_code, re.sub("[0-9a-f]{12,}", "ID", answer.text.replace(value, "NAME"))


def list_differences(
    objects: ForeignObjects, caller: str, fill: Callable[[str], Route], kinds: Iterable[str]
) -> list[tuple[object, ...]]:
    """Return what is answered in another way for an object of another project than for one that nobody has."""

    def ask(value: str) -> Outcome:
        return read_outcome(send(objects.clients[caller], fill(value), objects.own), value)

    found, expected = list[tuple[object, ...]](), dict[str, Outcome]()  # by the shape of a name
    for kind in kinds:
        value = objects.names[kind]
        absent = make_absent(value)
        assert absent != value
        shape = f"id, {value[0].isdecimal()}" if re.fullmatch("[0-9a-f]{20}", value) else kind
        if expected.get(shape, (0,))[0] < 400:  # what succeeds may change something, and is done for each
            expected[shape] = ask(absent)
        if (outcome := ask(value)) != expected[shape]:
            expected[shape] = ask(absent)  # a sentence may tell of single letters
            if outcome != expected[shape]:
                found.append((caller, kind, outcome, expected[shape]))
    return found


def choose_kinds(objects: ForeignObjects, *place: str) -> list[str]:
    """Choose the kinds of names that a place is tried with, the same in every run."""
    known = sorted(objects.names)
    return known if not KINDS else Random("/".join(place)).sample(known, KINDS)


def can_ask(caller: str, route: Route) -> bool:
    return route.right in RIGHTS[Role.PLAYER if caller == "player" else Role.OWNER]


NO_LOOK_UP = (Code.REQUEST_INVALID.value, Code.CONSTRAINT_VALIDATION_ERROR.value)  # of no value, or no JSON
FEW = ("codex_entries", "documents", "conversations")
KINDS = int(os.environ.get("FABULA_FOREIGN_KINDS", "5"))
IN_A_PROJECT = [one for one in ROUTES if one.has_project]


@pytest.mark.parametrize(
    "route", [one for one in IN_A_PROJECT if fill_path(one, "")], ids=lambda one: f"{one.method}-{one.name}"
)
def test_objects_of_another_project_are_at_no_address(route: Route, objects: ForeignObjects) -> None:
    version = objects.version()
    for place in fill_path(route, ""):
        for caller in filter(lambda one: can_ask(one, route), objects.clients):
            kinds = choose_kinds(objects, route.method, route.name, place, caller)
            found = list_differences(objects, caller, lambda value: fill_path(route, value)[place], kinds)  # noqa: B023
            assert not found, place
    assert objects.version() == version


@pytest.mark.parametrize(
    "route", [one for one in IN_A_PROJECT if fill_fields(one, "")], ids=lambda one: f"{one.method}-{one.name}"
)
def test_no_field_takes_an_object_of_another_project(route: Route, changing_objects: ForeignObjects) -> None:
    """A field that refuses what is not there is tried with everything; one that is only read, with some."""
    objects, version = changing_objects, changing_objects.version()
    for place in fill_fields(route, ""):

        def fill(value: str, *, place: str = place) -> Route:
            return fill_fields(route, value)[place]

        before = objects.version(objects.own)
        answer = send(objects.clients["both"], fill(new_id()), objects.own)
        found = []
        if answer.is_error and answer.json()["code"] not in NO_LOOK_UP:
            found += list_differences(objects, "both", fill, choose_kinds(objects, route.method, route.name, place))
            found += list_differences(objects, "inside", fill, FEW)
        elif answer.is_success and objects.version(objects.own) == before and not route.stream:
            found += list_differences(objects, "both", fill, FEW)
        assert not found, place
    assert objects.version() == version
