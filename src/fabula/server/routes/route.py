"""A route as data: an address, the verb behind it, the right it needs, its request, its answer and an example.

The parameters of a path are the first arguments of the verb, in order; the project is the one whose verb it is. All
other arguments come from the query of a GET, or from the JSON of a body, by their names in camelCase. They are read
from the signature of the verb, so that a verb and its description cannot differ. A verb that streams the answers of a
model takes it from the server, or by the name of its provider in the body.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct
from msgspec.structs import replace

from fabula.access.model import Right
from fabula.core.messages import ENGLISH
from fabula.server.access import Access
from fabula.server.pages import DEFAULT_LIMIT, MAX_LIMIT
from fabula.workspace.account import AccountVerbs
from fabula.workspace.arguments import VerbArgument, list_arguments
from fabula.workspace.chat.replies import ChatModel
from fabula.workspace.people import PeopleVerbs
from fabula.workspace.project import ProjectHandle
from fabula.workspace.schemas.display_names import DisplayNames
from fabula.workspace.settings import SettingVerbs
from fabula.workspace.workspace import Workspace

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Function = TypeVar("Function", bound=Callable[..., Any])
PROJECT = "project"  # the parameter of a path that names the project
PROJECT_FIELD = "project_id"  # the field of a body that does
PROVIDER_FIELD = "provider"  # the field of a body that says who answers, in place of the settings
OWN_ARGUMENTS = frozenset(  # that the server gives, or that make no sense over HTTP
    {"principal", "progress", "model", "choice", "remarks", "folder", "working_memory", "now", "rebuild"}
    | {"make_vectors", "path", "overwrite", "append", "own_rights", "own_session"}
)
_PARAMETER = re.compile(r"{(\w+)}")


class Call(Struct, frozen=True, kw_only=True, dict=True):
    """One call of a route: who calls, in which language, with which project and arguments."""

    access: Access
    workspace: Workspace
    project: ProjectHandle | None = None
    path: tuple[str, ...] = ()  # the values of the path's parameters behind the project
    arguments: Mapping[str, Any] = {}
    language: str = ENGLISH
    model: ChatModel = None  # that answers; as the settings say by default
    file: Path | None = None  # that was uploaded, or that the verb writes
    session: str = ""  # the id of the browser's session that the request came with

    @property
    def handle(self) -> ProjectHandle:
        """The project of a route whose path names one."""
        assert self.project is not None
        return self.project

    @cached_property
    def names(self) -> DisplayNames:
        """What the entries and documents of the project are called, for answers that name them by id."""
        return DisplayNames(self.handle.view)

    @property
    def path_to_file(self) -> Path:
        """The file of a route that takes or returns one."""
        assert self.file is not None
        return self.file


class Answer(Struct, frozen=True):
    """The type of an answer, and what describes the verb's value by it.

    The function receives the value and, if it has parameters of these names, `call` and `language`.
    """

    kind: Any
    describe: Callable[..., Any] | None = None
    item_key: str | None = None  # of a list that is handed out in pages: the attribute that names an item
    encode: Callable[[Any], bytes] | None = None  # in place of `describe`, where the answer is large and frequent
    is_secret: bool = False  # what is shown once, and kept nowhere

    def make(self, value: Any, call: Call) -> Any:
        """Describe the value of a verb."""
        if self.describe is None:
            return value
        given = {"call": call, "language": call.language}
        names = _parameter_names(self.describe)
        return self.describe(value, **{name: one for name, one in given.items() if name in names})


NOTHING = Answer(None)


class Route(Struct, frozen=True, dict=True):
    """One address of the server. `verb` is `SUBJECT.NAME`, where the subject may be `workspace` or `project`."""

    method: Method
    path: str  # below /api
    verb: str
    right: Right
    answer: Answer
    example: Mapping[str, Any] = {}  # of the query or the body
    creates: bool = False
    request: type[Struct] | None = None  # in place of the arguments of the verb
    call: Callable[[Call], Any] | None = None  # in place of a plain call of the verb
    types: Mapping[str, Any] = {}  # of arguments whose type in the signature will not do; None leaves one out
    stream: bool = False  # the answer is a stream of events
    file: Literal["", "upload", "download"] = ""  # the body is a file, or the answer is one
    find_project: Callable[[Struct, Access, Workspace], str] | None = None  # by what a body says, not by the path
    queue_key: Callable[[Call], str] | None = None  # of calls that are bounded by it, where a verb assembles a prompt
    path_example: Mapping[str, str] = {}  # of the path's parameters, where the usual ones will not do
    is_for_people: bool = False  # everybody may do it, where the server lets people create projects

    @property
    def subject(self) -> str:
        """The subject of the verb."""
        return self.verb.partition(".")[0]

    @property
    def function(self) -> Callable[..., Any]:
        """The verb as a function of its class."""
        subject, _, name = self.verb.partition(".")
        return cast("Callable[..., Any]", getattr(find_class(subject), name))

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the path's parameters."""
        return tuple(_PARAMETER.findall(self.path))

    @property
    def changes_access(self) -> bool:
        """Whether the route may change who may do what."""
        subjects = ("people", "account", "members")
        return self.method != "GET" and (self.subject in subjects or self.is_for_people)

    @property
    def needs_whole_name(self) -> bool:
        """Whether a part of the project's name will not do, since it may mean another one when this is sent again."""
        is_member = self.subject == "members" and self.method != "GET"
        return is_member or self.verb == "workspace.delete_project"

    @property
    def hashes_password(self) -> bool:
        """Whether the verb hashes a password, which takes much memory."""
        return any(one.name == "password" for one in self._all_arguments)

    @property
    def has_secret(self) -> bool:
        """Whether a secret is in the request or in the answer, so that neither may be kept."""
        return self.answer.is_secret or self.hashes_password

    @property
    def has_project(self) -> bool:
        """Whether the path or the body names a project."""
        return PROJECT in self.parameters or self.find_project is not None

    @cached_property
    def arguments(self) -> tuple[VerbArgument, ...]:
        """The arguments of the verb that come with the request, without those of the path."""
        others = [one for one in self._all_arguments[self._first_own :] if one.name not in OWN_ARGUMENTS]
        if self.find_project is not None:
            others.insert(0, VerbArgument(PROJECT_FIELD, str, is_required=True))
        if self.takes_model:
            others.append(VerbArgument(PROVIDER_FIELD, str, default=""))
        typed = (replace(one, hint=self.types.get(one.name, one.hint)) for one in others)
        return tuple(one for one in typed if one.hint is not None)

    @cached_property
    def path_type(self) -> type[Struct]:
        """The path's parameters behind the project, with the types of the verb's first arguments."""
        names = [name for name in self.parameters if name != PROJECT]
        own = self._all_arguments[int(self.takes_project) : self._first_own]
        return defstruct("Path", [(name, one.hint) for name, one in zip(names, own, strict=True)])

    @cached_property
    def _all_arguments(self) -> tuple[VerbArgument, ...]:
        return tuple(one for one in list_arguments(self.function) if one.hint is not None)

    @property
    def _first_own(self) -> int:
        """How many arguments come with the path."""
        return len(self.parameters) - (PROJECT in self.parameters and not self.takes_project)

    @property
    def takes_project(self) -> bool:
        """Whether the verb is one of the workspace that takes the project as its first argument."""
        return PROJECT in self.parameters and self.subject == "workspace"

    @property
    def takes_model(self) -> bool:
        """Whether the verb streams the answers of a model that it is given."""
        has_model = any(one.name == "model" for one in self._all_arguments)
        return self.stream and self.request is None and has_model

    @cached_property
    def request_type(self) -> type[Struct]:
        """The type of the request: as the route says, or made of the verb's arguments."""
        if self.request is not None:
            return self.request
        return make_struct(make_name(self.name) + ("Query" if self.reads_query else "Body"), self.arguments)

    @cached_property
    def query_type(self) -> type[Struct]:
        """The type of what comes with the address: the request, and which page of a list is asked for."""
        if self.answer.item_key is None:
            return self.request_type
        page = (
            VerbArgument("cursor", str, ""),
            VerbArgument("page_size", Annotated[int, Meta(ge=1, le=MAX_LIMIT)], DEFAULT_LIMIT),
        )
        return make_struct(make_name(self.name) + "PageQuery", (*self.arguments, *page))

    @property
    def name(self) -> str:
        """The verb, and that it is for one project where there is another route without one."""
        if self.path.startswith("/channels/"):
            return f"{self.verb}_of_channel"
        is_shared = self.subject in ("workspace", "settings") and PROJECT in self.parameters
        return f"{self.verb}_of_project" if is_shared else self.verb

    @property
    def reads_query(self) -> bool:
        """Whether the arguments come from the address: of a GET, and where the body is a file."""
        return self.method == "GET" or self.file == "upload"

    @property
    def has_version(self) -> bool:
        """Whether the answer has an `ETag`, which a change at the same address can be sent with as `If-Match`."""
        return self.method == "GET" and self.answer.item_key is None and not self.file

    @property
    def status(self) -> int:
        """The status of a success."""
        if self.creates:
            return 201
        return 204 if self.answer is NOTHING else 200

    @property
    def summary(self) -> str:
        """What the route does, by the first line of the verb."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]


def mount(subject: str, base: str, routes: Iterable[Route]) -> tuple[Route, ...]:
    """Return routes with the address and the subject that they share in front of their own."""
    return tuple(replace(one, path=base + one.path, verb=f"{subject}.{one.verb}") for one in routes)


def find_class(subject: str) -> type:
    """Return the class whose methods are the verbs of a subject."""
    if subject == "workspace":
        return Workspace
    if subject == "project":
        return ProjectHandle
    if subject == "settings":
        return SettingVerbs
    if subject == "people":
        return PeopleVerbs
    if subject == "account":
        return AccountVerbs
    kind: type = getattr(ProjectHandle, subject)
    return kind


def make_struct(name: str, arguments: Iterable[VerbArgument]) -> type[Struct]:
    """Make the type of a request from arguments; unknown names are refused."""
    fields: list[Any] = []
    for one in arguments:
        if one.is_required:
            fields.append((one.name, one.hint))
        elif one.default is UNSET or isinstance(one.default, list | dict | set):
            fields.append((one.name, one.hint | UnsetType, UNSET))
        else:
            fields.append((one.name, one.hint, one.default))
    return defstruct(name, fields, rename="camel", kw_only=True, forbid_unknown_fields=True)


def make_record(name: str, /, **answers: Answer) -> Answer:
    """Return an answer with named parts, for a verb that returns several things or one plain value."""
    kind = defstruct(name, [(key, one.kind) for key, one in answers.items()], rename="camel", kw_only=True)

    def describe(value: Any, call: Call) -> Any:
        values = value if len(answers) > 1 else (value,)
        return kind(**{key: one.make(part, call) for (key, one), part in zip(answers.items(), values, strict=True)})

    return Answer(kind, describe)


def make_list(answer: Answer, key: str = "id") -> Answer:
    """Return an answer with a list in pages; `key` is the attribute, perhaps dotted, that names an item."""
    return Answer(_make_page_type(answer.kind), lambda values, call: [answer.make(one, call) for one in values], key)


@cache
def _make_page_type(kind: Any) -> type[Struct]:
    fields: list[Any] = [("items", tuple[kind, ...]), ("next", str | None, None)]
    return defstruct(f"{kind.__name__}Page", fields, rename="camel", kw_only=True)


def make_optional(answer: Answer) -> Answer:
    """Return an answer that may be null."""
    return Answer(answer.kind | None, lambda value, call: None if value is None else answer.make(value, call))


def make_name(verb: str) -> str:
    """Return the name of a type for a verb: `codex.find` becomes `CodexFind`."""
    return "".join(word.capitalize() for word in re.split(r"[._]", verb))


@cache
def _parameter_names(function: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)
