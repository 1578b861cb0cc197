"""The tools of the MCP server: each calls verbs of the workspace and answers with one of its schemas.

Names, types and defaults of arguments come from the signatures here, which repeat those of the verbs or take over
their `TypedDict`s. `ToolArguments` makes the JSON schema of them. Arguments are checked like those of any verb.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar, Unpack

from msgspec import Meta, Struct
from msgspec.structs import replace

from fabula.access.model import Right
from fabula.context.request import Request
from fabula.core.ids import current_timestamp
from fabula.core.messages import Sentence, message
from fabula.manuscript.projects import ProjectSummary, count_text
from fabula.mcp.access import McpAccess
from fabula.workspace.arguments import check_arguments
from fabula.workspace.codex import EntryFields
from fabula.workspace.grants import find_own_character, has_limits
from fabula.workspace.project import ProjectHandle
from fabula.workspace.request_names import RequestFields
from fabula.workspace.schemas.codex import EntryInfo, describe_entry
from fabula.workspace.schemas.constraints import ContinuityReport, describe_finding, describe_story_check
from fabula.workspace.schemas.context import AssembledPrompt, Explanation, describe_explanation, describe_prompt
from fabula.workspace.schemas.facts import FactList, UsedFactInfo, describe_facts, describe_used_fact
from fabula.workspace.schemas.memory import MemoryInfo, describe_memory
from fabula.workspace.schemas.needs import NeedList, describe_needs
from fabula.workspace.schemas.projects import ProjectInfo, ProjectList, describe_project, limit_project
from fabula.workspace.schemas.reading import (
    EntryContents,
    ReadableContents,
    ReadableList,
    ReadableTexts,
    describe_contents,
    describe_entry_contents,
    describe_readable_list,
    describe_readable_texts,
)
from fabula.workspace.schemas.runs import RunInfo, describe_run
from fabula.workspace.schemas.schema import Schema
from fabula.workspace.schemas.search import SearchReport, describe_search
from fabula.workspace.workspace import Workspace

MAX_TEXT = 20_000  # characters of a text in one answer
MAX_FINDINGS = 100  # in one report
_DEFAULT_WINDOW = 16_000  # tokens
_MAX_CLIENT_NAME = 60

Start = Annotated[int, Meta(ge=0)]
PageSize = Annotated[int, Meta(ge=1, le=200)]
TextSize = Annotated[int, Meta(ge=1, le=MAX_TEXT)]
HitCount = Annotated[int, Meta(ge=1, le=50)]
Tool = TypeVar("Tool", bound=Callable[..., Schema])

_ENTRY_ARGUMENTS = (
    "kind",
    "level",
    "aliases",
    "description",
    "details",
    "tags",
    "known_to",
    "since",
    "without",
    "case",
)  # without private notes, which are for no model
_REQUEST_ARGUMENTS = (
    "document_id",
    "place",
    "skill_id",
    "additional_input",
    "conversation_id",
    "model",
    "window",
    "perspective",
    "character",
    "include",
    "exclude",
)
_FOR_OWNERS = frozenset({"perspective", "character", "include", "exclude", "everything"})  # arguments


class ToolInfo(Struct, frozen=True, kw_only=True):
    """A tool as clients see it: what it is called and does, which arguments it has, and what it may change."""

    name: str
    verb: str  # of the workspace, as which it counts for a key that names verbs
    title: Sentence
    description: Sentence
    run: Callable[..., Schema]
    arguments: tuple[str, ...]  # empty for all of its signature
    reads_only: bool
    is_destructive: bool
    is_idempotent: bool
    is_inspection: bool  # whether it looks inside of a prompt
    is_for_limited: bool  # whether a client that may know less than everything can use it
    needs_project: bool

    @property
    def right(self) -> Right:
        """The right that a client needs for the tool."""
        if not self.reads_only:
            return Right.EDIT
        return Right.ASSEMBLE if self.is_for_limited else Right.INSPECT if self.is_inspection else Right.READ

    def is_allowed(self, access: McpAccess) -> bool:
        """Return whether a client may use the tool."""
        is_possible = (self.reads_only or not access.is_read_only) and (self.is_for_limited or not access.has_limits)
        is_listing = not self.needs_project and bool(access.verbs)  # which any key that names verbs may
        return is_possible and (is_listing or access.may_use(self.right, self.verb))

    def has_argument(self, name: str, access: McpAccess) -> bool:
        """Return whether a client may use an argument of the tool."""
        return (not self.arguments or name in self.arguments) and not (access.has_limits and name in _FOR_OWNERS)


TOOLS: dict[str, ToolInfo] = {}


def _tool(
    verb: str,
    title: Sentence,
    description: Sentence,
    *,
    arguments: tuple[str, ...] = (),
    reads_only: bool = False,
    is_destructive: bool = False,
    is_idempotent: bool = False,
    is_for_limited: bool = False,
    is_inspection: bool = False,
    needs_project: bool = True,
) -> Callable[[Tool], Tool]:
    """Make a method a tool."""

    def register(method: Tool) -> Tool:
        checked = check_arguments(method)
        TOOLS[method.__name__] = ToolInfo(
            name=method.__name__,
            verb=verb,
            title=title,
            description=description,
            run=checked,
            arguments=arguments,
            reads_only=reads_only,
            is_destructive=is_destructive,
            is_idempotent=is_idempotent or reads_only,
            is_for_limited=is_for_limited,
            is_inspection=is_inspection,
            needs_project=needs_project,
        )
        return checked

    return register


class StoryTools:
    """The tools of one call: for a client, and in the project that it names."""

    def __init__(
        self, workspace: Workspace, access: McpAccess, project: str | None, *, client: str = "", language: str = "en"
    ) -> None:
        self._workspace, self._access, self._name = workspace, access, project
        self._client, self._language = client, language
        self._opened: ProjectHandle | None = None

    @property
    def _project(self) -> ProjectHandle:  # no `cached_property`: on Python 3.11 all calls would share its lock
        if self._opened is None:
            self._opened = self._access.open_project(self._workspace, self._name)
        return self._opened

    @_tool(
        "workspace.describe_projects",
        message("List projects"),
        message("List the stories that are here, with their titles, numbers and lengths. Call this first."),
        reads_only=True,
        is_for_limited=True,
        needs_project=False,
    )
    def list_projects(self) -> ProjectList:
        """List the projects that the client may use."""
        allowed = self._access.list_projects(self._workspace)
        return ProjectList(projects=tuple(map(self._describe_known, allowed)))

    def _describe_known(self, summary: ProjectSummary) -> ProjectInfo:
        """Describe a project with the extent of what is known of it."""
        if not self._access.choose_project(self._workspace, summary.id).has_limits:
            return describe_project(summary, *count_text(self._workspace.store, summary.id))
        known = self._access.open_project(self._workspace, summary.id).reading.list_chapters()
        return limit_project(describe_project(summary, 0, 0), [one.length for one in known])

    @_tool(
        "project.search",
        message("Search the story"),
        message(
            "Find passages of the story that answer a few words or a question, best first. By default only what a "
            "reader may know at the end of the story, or of the chapter `until`, is found."
        ),
        reads_only=True,
        is_for_limited=True,
    )
    def search_story(
        self, words: str, *, until: str | None = None, everything: bool = False, limit: HitCount = 10
    ) -> SearchReport:
        """Find passages that answer a few words."""
        project, notes = self._project, list[str]()
        character = None
        if has_limits(project.principal):
            until, character = self._find_known_chapter(until), find_own_character(project)
        found = project.search(
            words, until=until or None, everything=everything, character=character, limit=limit, remarks=notes
        )
        return describe_search(project.view, words, found, notes, self._language)

    @_tool(
        "reading.list_chapters",
        message("List chapters"),
        message("List the chapters of a story in reading order, with their numbers, titles and lengths."),
        reads_only=True,
        is_for_limited=True,
    )
    def list_chapters(self, *, start: Start = 0, limit: PageSize = 100) -> ReadableList:
        """List the chapters in reading order."""
        return describe_readable_list(self._project.reading.list_chapters(), start, limit)

    @_tool(
        "reading.read_chapter",
        message("Read a chapter"),
        message("Read the text of a chapter. A long one comes in parts: go on with `start` from `next`."),
        reads_only=True,
        is_for_limited=True,
    )
    def read_chapter(self, chapter: str, *, start: Start = 0, limit: TextSize = MAX_TEXT) -> ReadableContents:
        """Read a chapter, or a part of it."""
        return describe_contents(self._project.reading.read_chapter(chapter), start, limit)

    @_tool(
        "reading.read_synopses",
        message("Read synopses"),
        message("Read what happens in some chapters, or in all of them, in a few sentences each."),
        reads_only=True,
        is_for_limited=True,
    )
    def read_synopses(self, *, chapters: Sequence[str] = (), start: Start = 0, limit: PageSize = 50) -> ReadableTexts:
        """Read the synopses of some chapters, or of all."""
        found = self._project.reading.read_synopses(chapters)
        return describe_readable_texts(found[start : start + limit], start, limit, MAX_TEXT, total=len(found))

    @_tool(
        "reading.read_recap",
        message("Read recaps"),
        message("Read what was said in a conversation so far, or in all of them, as its recaps tell it."),
        reads_only=True,
        is_for_limited=True,
    )
    def read_recaps(self, *, conversation: str | None = None, start: Start = 0, limit: PageSize = 20) -> ReadableTexts:
        """Read the recaps of a conversation, or of all."""
        reading = self._project.reading
        names = [one.id for one in reading.list_recaps()][start : start + limit] if conversation is None else []
        texts = (
            [reading.read_recap(one) for one in names] if conversation is None else [reading.read_recap(conversation)]
        )
        total = len(reading.list_recaps()) if conversation is None else 1
        return describe_readable_texts(texts, start, limit, MAX_TEXT, total=total)

    @_tool(
        "reading.list_entries",
        message("List codex entries"),
        message("List the people, places, things and facts that the codex of a story has."),
        reads_only=True,
        is_for_limited=True,
    )
    def list_entries(self, *, kind: str | None = None, start: Start = 0, limit: PageSize = 100) -> ReadableList:
        """List the entries of the codex."""
        found = self._project.reading.list_entries(kind=kind)
        return describe_readable_list(found, start, limit)

    @_tool(
        "reading.read_entry",
        message("Read a codex entry"),
        message(
            "Read what the codex says of a person, a place, a thing or a fact: `text` as a prompt has it, `entry` with "
            "its fields, what becomes true when, and who knows it."
        ),
        reads_only=True,
        is_for_limited=True,
    )
    def read_entry(self, entry: str) -> EntryContents:
        """Read an entry by any of its names."""
        found = self._project.reading.read_entry(entry)
        is_whole = not has_limits(self._project.principal) and self._access.may_use(Right.READ, "codex.find")
        fields = self._describe_entry(found.id) if is_whole else None
        return describe_entry_contents(found, fields, MAX_TEXT)

    def _describe_entry(self, ident: str) -> EntryInfo:
        """Describe an entry with those who know it, without private notes, which are for no model."""
        codex = self._project.codex
        return replace(describe_entry(codex.find(ident), codex.list_knowers(ident)), notes="")

    @_tool(
        "codex.add",
        message("Add a codex entry"),
        message("Add a person, a place, a thing or a fact to the codex. A name that another entry has is refused."),
        arguments=("name", *_ENTRY_ARGUMENTS),
    )
    def add_entry(self, name: str, **fields: Unpack[EntryFields]) -> EntryInfo:
        """Add an entry to the codex."""
        return self._describe_entry(self._project.codex.add(name, **fields).id)

    @_tool(
        "codex.edit",
        message("Edit a codex entry"),
        message(
            "Change what is given of a codex entry; the rest stays as it is. Lists are replaced, details are added to. "
            "What becomes true later in the story belongs into add_progression. A person can undo it."
        ),
        arguments=("entry", "name", *_ENTRY_ARGUMENTS),
        is_destructive=True,
        is_idempotent=True,
    )
    def edit_entry(self, entry: str, *, name: str | None = None, **fields: Unpack[EntryFields]) -> EntryInfo:
        """Change what is given of an entry."""
        ident = self._project.reading.read_entry(entry).id
        return self._describe_entry(self._project.codex.edit(ident, name=name, **fields).id)

    @_tool(
        "codex.add_progression",
        message("Add a progression"),
        message("Say what becomes true of a codex entry from a place in the story on, and who may know it."),
    )
    def add_progression(
        self,
        entry: str,
        text: str,
        *,
        since: str,
        aliases: Sequence[str] = (),
        known_to: Sequence[str] | None = None,
    ) -> EntryInfo:
        """Say what becomes true of an entry from a place in the story on."""
        ident = self._project.reading.read_entry(entry).id
        self._project.codex.add_progression(ident, text, since=since, aliases=aliases, known_to=known_to)
        return self._describe_entry(ident)

    @_tool(
        "codex.set_knowledge",
        message("Say who knows something"),
        message(
            "Say that somebody knows a codex entry, or one of its progressions by its number, and since which place in "
            "the story. With `undo` that is taken back."
        ),
        is_destructive=True,
        is_idempotent=True,
    )
    def set_knowledge(
        self,
        entry: str,
        knower: str,
        *,
        progression: int | None = None,
        since: str | None = None,
        undo: bool = False,
    ) -> EntryInfo:
        """Say who knows an entry or one of its progressions, and since when."""
        ident = self._project.reading.read_entry(entry).id
        self._project.codex.set_knowledge(ident, knower, progression=progression, since=since, undo=undo)
        return self._describe_entry(ident)

    @_tool(
        "facts.list_facts",
        message("List facts"),
        message(
            "List what the book itself says of a codex entry, sentence by sentence, with the chapter of each and its "
            "number, the most telling first."
        ),
        reads_only=True,
    )
    def list_facts(self, entry: str, *, dismissed: bool = False) -> FactList:
        """List what the book says of an entry."""
        return describe_facts(self._project.facts.list_facts(entry, dismissed=dismissed), self._project.view)

    @_tool(
        "facts.use",
        message("Use a fact"),
        message(
            "Make a description, a progression, knowledge or a constraint of what the book says of a codex entry; the "
            "fact is given by its number. Knowledge needs `knownTo`. A person can undo it."
        ),
    )
    def use_fact(self, entry: str, fact: str, use: str, *, known_to: Sequence[str] = ()) -> UsedFactInfo:
        """Make codex material or a constraint of a fact."""
        return describe_used_fact(self._project.facts.use(entry, fact, use, known_to=known_to), self._project.view)

    @_tool(
        "needs.list_needs",
        message("List needs"),
        message(
            "List which earlier details the background model asked for in the scenes of the story; search looks for "
            "them in prompts of these scenes."
        ),
        reads_only=True,
    )
    def list_needs(self) -> NeedList:
        """List what the model asked for in scenes."""
        return describe_needs(self._project.needs.list_needs(), self._project.view)

    @_tool(
        "constraints.check_story",
        message("Check continuity"),
        message(
            "Check the story, one chapter, or a text that is not in the story yet, by program: broken constraints, "
            "dead characters who speak, names that come too early or that nobody has. With `text`, `chapter` says "
            "where the text would end."
        ),
        reads_only=True,
    )
    def check_continuity(self, *, chapter: str = "", text: str = "") -> ContinuityReport:
        """Check the story, a chapter or a text by program."""
        rules, language = self._project.constraints, self._language
        unchecked = rules.count_unchecked(chapter=chapter)
        if text:
            findings = [describe_finding(one, language) for one in rules.judge_text(text, document_id=chapter)]
            return ContinuityReport(findings=tuple(findings[:MAX_FINDINGS]), total=len(findings), unchecked=unchecked)
        found = describe_story_check(rules.check_story(chapter), unchecked, language).violations
        return ContinuityReport(violations=found[:MAX_FINDINGS], total=len(found), unchecked=unchecked)

    @_tool(
        "project.assemble",
        message("Assemble a context"),
        message(
            "Assemble what a model should be told at a place in the story, within a number of tokens: rules, "
            "preferences, what matters here, and the text itself."
        ),
        arguments=_REQUEST_ARGUMENTS,
        reads_only=True,
        is_for_limited=True,
    )
    def assemble_context(
        self,
        *,
        document_id: str | None = None,
        place: str = "",
        perspective: str | None = None,
        **fields: Unpack[RequestFields],
    ) -> AssembledPrompt:
        """Assemble the prompt for a place in the story."""
        request = self.make_request(document_id, place, perspective, **fields)
        if has_limits(self._project.principal):
            return describe_prompt(self._project.assemble(request))
        recent = self._project.working_memory(current_timestamp())
        return describe_prompt(self._project.assemble(request, working_memory=recent))

    @_tool(
        "project.explain",
        message("Explain a context"),
        message(
            "Say why something is or is not in the context of a place in the story: an entry, a chapter or any other "
            "text by its name. Without a name, say it of everything."
        ),
        arguments=("name", *_REQUEST_ARGUMENTS),
        reads_only=True,
        is_inspection=True,
    )
    def explain_context(
        self,
        *,
        name: str = "",
        document_id: str | None = None,
        place: str = "",
        perspective: str | None = None,
        **fields: Unpack[RequestFields],
    ) -> Explanation:
        """Say why something is, or is not, in a prompt."""
        project = self._project
        request = self.make_request(document_id, place, perspective, **fields)
        result = project.inspect(request, working_memory=project.working_memory(current_timestamp()))
        if name:
            return describe_explanation(name, project.explain(result, name), self._language)
        everything = describe_explanation("", result.trace, self._language)
        return Explanation(name="", verdicts=tuple(replace(one, text="") for one in everything.verdicts))

    @_tool(
        "memory.remember",
        message("Remember something"),
        message(
            "Remember a preference of the writer, or what was worked on, for every later context of this story. A "
            "memory that says the same is joined."
        ),
        is_idempotent=True,
    )
    def remember(self, text: str, *, kind: str = "preference", since: str | None = None) -> MemoryInfo:
        """Remember a text for this project."""
        return describe_memory(self._project.memory.remember(text, kind=kind, since=since))

    @_tool(
        "runs.propose",
        message("Propose an edit"),
        message(
            "Propose a text for a chapter: in place of words that stand there once (`replaces`), at a place such as "
            "after 'words', or at the end. Nothing changes until a person accepts it. The answer "
            "says what a program finds wrong with it."
        ),
    )
    def propose_edit(
        self, chapter: str, text: str, *, replaces: str = "", place: str = "", reason: str = ""
    ) -> RunInfo:
        """Propose a text for a chapter, which a person accepts or rejects."""
        proposer = f"mcp:{' '.join(self._client.split())[:_MAX_CLIENT_NAME]}".rstrip(":")
        runs = self._project.runs
        return describe_run(
            runs.propose(chapter, text, replaces=replaces, place=place, reason=reason, proposer=proposer)
        )

    def make_request(
        self, document_id: str | None, place: str, perspective: str | None = None, **fields: Unpack[RequestFields]
    ) -> Request:
        """Make a request of this project; a client with limits asks as its own character, where that may be."""
        project = self._project
        fields.setdefault("window", _DEFAULT_WINDOW)
        if has_limits(project.principal):
            document_id, fields["character"] = self._find_known_chapter(document_id), find_own_character(project)
            perspective = "character" if fields["character"] else "reader"
        request = project.request(document_id=document_id, perspective=perspective, **fields)
        return project.place_cursor(request, place) if place else request

    def _find_known_chapter(self, name: str | None) -> str:
        """Return the id of a chapter that may be known; the last one where none is named."""
        reading = self._project.reading
        if name:
            return reading.read_chapter(name).id
        known = reading.list_chapters()
        return known[-1].id if known else ""
