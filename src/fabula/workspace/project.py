"""One project opened for one principal: assemble, inspect, search, and what follows from an answer.

Every interface works through this object. It reads the project as an immutable view, hands each request the
continuity of the last one of its kind, and records what must be remembered.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.engine import Engine
from fabula.context.recipes import NOVEL
from fabula.context.request import Principal, Request, validate_request
from fabula.context.result import Result
from fabula.context.trace import Verdict
from fabula.context.vantage import resolve_vantage
from fabula.conversation.personas import make_macro_values
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import Sentence, advise, message
from fabula.core.tracing import record_span
from fabula.core.view import View
from fabula.manuscript.model import Manuscript
from fabula.memory.working_memory import EMPTY_WORKING_MEMORY, WorkingMemory
from fabula.search.embeddings.choice import EmbeddingChoice
from fabula.search.embeddings.embedder import unavailable
from fabula.search.find import FoundPassage
from fabula.search.needs import Needs
from fabula.skills.files import Skills, load_built_in
from fabula.skills.source import find_skill
from fabula.workspace.arguments import PositiveInt, check_verbs
from fabula.workspace.continuity import ContinuityKeys, ContinuityStore, continuity_keys
from fabula.workspace.grants import (
    check_request,
    check_unlimited,
    check_vantage,
    complete_granted,
    find_granted_character,
    find_granted_document,
    has_limits,
    hide_author_choices,
)
from fabula.workspace.names import (
    find_excluded,
    find_knower,
    find_sources,
)
from fabula.workspace.request_names import RequestFields, make_request, read_named_request, resolve_names
from fabula.workspace.requests import (
    complete_request,
    find_document_conversation,
    has_known_ids,
    list_branch,
    warn_of_absent_speaker,
)
from fabula.workspace.schemas.context import AssembleRequest
from fabula.workspace.search import SearchOptions, search_project
from fabula.workspace.verbs import LazyVerbs, require_store
from fabula.workspace.working_memory import load_working_memory

if TYPE_CHECKING:
    from fabula.store.store import ExpectedVersions, Store
    from fabula.workspace.changes import ChangeVerbs
    from fabula.workspace.chapters import ChapterVerbs
    from fabula.workspace.chat import ChatVerbs
    from fabula.workspace.chat.modes import ChatModes
    from fabula.workspace.chat_files import ChatFileVerbs
    from fabula.workspace.codex import CodexVerbs
    from fabula.workspace.constraints import ConstraintVerbs
    from fabula.workspace.conversations import ConversationVerbs
    from fabula.workspace.extraction import ExtractionVerbs
    from fabula.workspace.facts import FactVerbs
    from fabula.workspace.jobs import JobVerbs
    from fabula.workspace.lorebooks import LorebookVerbs
    from fabula.workspace.members import MemberVerbs
    from fabula.workspace.memory import MemoryVerbs
    from fabula.workspace.mentions import MentionVerbs
    from fabula.workspace.needs import NeedVerbs
    from fabula.workspace.outline import OutlineVerbs
    from fabula.workspace.participant_texts import ParticipantTextVerbs
    from fabula.workspace.participants import ParticipantVerbs
    from fabula.workspace.playing import PlayingVerbs
    from fabula.workspace.presets import PresetVerbs
    from fabula.workspace.reading import ReadingVerbs
    from fabula.workspace.recaps import RecapVerbs
    from fabula.workspace.revisions import RevisionVerbs
    from fabula.workspace.runs import RunVerbs
    from fabula.workspace.saves import SaveResult
    from fabula.workspace.skills import SkillVerbs
    from fabula.workspace.synopses import SynopsisVerbs
    from fabula.workspace.timeline import TimelineVerbs
    from fabula.workspace.writing import WritingEvent
    from fabula.workspace.writing_options import ModelChoice, ModelWish

OWNER_PRINCIPAL = Principal()


class EmbeddedTexts(Struct, frozen=True):
    """The vectors of texts, and the name of the model that made them."""

    model: str
    vectors: list[list[float]]


@check_verbs
class ProjectHandle:
    """An open project. Threads may share it.

    What a person can do is grouped by subject in its attributes: `help(ProjectHandle.codex)` lists the verbs of the
    codex, and `docs/verbs.md` all of them.
    """

    changes: LazyVerbs[ChangeVerbs] = LazyVerbs("ChangeVerbs")
    chapters: LazyVerbs[ChapterVerbs] = LazyVerbs("ChapterVerbs")
    chat: LazyVerbs[ChatVerbs] = LazyVerbs("ChatVerbs")
    codex: LazyVerbs[CodexVerbs] = LazyVerbs("CodexVerbs")
    constraints: LazyVerbs[ConstraintVerbs] = LazyVerbs("ConstraintVerbs")
    extraction: LazyVerbs[ExtractionVerbs] = LazyVerbs("ExtractionVerbs")
    facts: LazyVerbs[FactVerbs] = LazyVerbs("FactVerbs")
    outline: LazyVerbs[OutlineVerbs] = LazyVerbs("OutlineVerbs")
    jobs: LazyVerbs[JobVerbs] = LazyVerbs("JobVerbs")
    synopses: LazyVerbs[SynopsisVerbs] = LazyVerbs("SynopsisVerbs")
    timeline: LazyVerbs[TimelineVerbs] = LazyVerbs("TimelineVerbs")
    runs: LazyVerbs[RunVerbs] = LazyVerbs("RunVerbs")
    presets: LazyVerbs[PresetVerbs] = LazyVerbs("PresetVerbs")
    skills: LazyVerbs[SkillVerbs] = LazyVerbs("SkillVerbs")
    lorebooks: LazyVerbs[LorebookVerbs] = LazyVerbs("LorebookVerbs")
    members: LazyVerbs[MemberVerbs] = LazyVerbs("MemberVerbs")
    memory: LazyVerbs[MemoryVerbs] = LazyVerbs("MemoryVerbs")
    needs: LazyVerbs[NeedVerbs] = LazyVerbs("NeedVerbs")
    mentions: LazyVerbs[MentionVerbs] = LazyVerbs("MentionVerbs")
    participants: LazyVerbs[ParticipantVerbs] = LazyVerbs("ParticipantVerbs")
    participant_texts: LazyVerbs[ParticipantTextVerbs] = LazyVerbs("ParticipantTextVerbs")
    conversations: LazyVerbs[ConversationVerbs] = LazyVerbs("ConversationVerbs")
    chat_files: LazyVerbs[ChatFileVerbs] = LazyVerbs("ChatFileVerbs")
    playing: LazyVerbs[PlayingVerbs] = LazyVerbs("PlayingVerbs")
    reading: LazyVerbs[ReadingVerbs] = LazyVerbs("ReadingVerbs")
    recaps: LazyVerbs[RecapVerbs] = LazyVerbs("RecapVerbs")
    revisions: LazyVerbs[RevisionVerbs] = LazyVerbs("RevisionVerbs")

    def __init__(
        self,
        load_view: Callable[[str], View],
        engine: Engine,
        *,
        embedding: EmbeddingChoice,
        continuity: ContinuityStore,
        principal: Principal = OWNER_PRINCIPAL,
        store: Store | None = None,
        owns_embedding: bool = False,
        project_id: str = "",
        expected: ExpectedVersions | None = None,
    ) -> None:
        """`load_view` returns the project as it stands, with the conversation of the given id.

        Without `project_id` the id is that of the view. `expected` are the versions of a view that was not compared
        with the store.
        """
        self._load_complete_view = load_view
        self._project_id = project_id
        self._embedding = embedding
        self._owns_embedding = owns_embedding
        self._continuity = continuity
        self._expected = expected
        self.engine = engine
        self.principal = principal
        self.store = store  # None for a folder, a file or a sample
        self.chat_modes: ChatModes | None = None  # once somebody talks

    @property
    def id(self) -> str:
        """The project's id."""
        self._project_id = self._project_id or self.view.project.id
        return self._project_id

    @property
    def is_current(self) -> bool:
        """Whether the view is that of the store now."""
        return self._expected is None or self.store is None or self.store.has_versions(self._expected.by_owner)

    @property
    def view(self) -> View:
        """The project as it stands now."""
        return self._load_view("")

    def view_with(self, conversation_id: str) -> View:
        """Return the project as it stands now, with the newest messages of a conversation."""
        return self._load_view(conversation_id)

    def _load_view(self, conversation_id: str) -> View:
        """Return the project as it stands now and as this principal may know it."""
        view = self._load_complete_view(conversation_id)
        return hide_author_choices(view) if has_limits(self.principal) else view

    def with_view(self, view: View, principal: Principal | None = None) -> ProjectHandle:
        """Return this project as a view has it, whatever is stored meanwhile; perhaps for another principal."""
        return ProjectHandle(
            lambda _: view,
            self.engine,
            embedding=self._embedding,
            continuity=self._continuity,
            principal=principal or self.principal,
            store=self.store,
        )

    def with_principal(self, principal: Principal) -> ProjectHandle:
        """Return this project for another principal; what is stored meanwhile is in its views."""
        return ProjectHandle(
            self._load_complete_view,
            self.engine,
            embedding=self._embedding,
            continuity=self._continuity,
            principal=principal,
            store=self.store,
            project_id=self.id,
        )

    def request(
        self, *, document_id: str | None = None, perspective: str | None = None, **fields: Unpack[RequestFields]
    ) -> Request:
        """Make a request of this project; by default at the end of its last document, with its own preset.

        A chat that names no document and no place in it knows the story so far, and does not show its text.
        """
        return make_request(self, document_id, perspective, fields)

    def place_cursor(self, request: Request, place: str) -> Request:
        """Return a request with the cursor where a person says: an offset, or after or before words of its document."""
        from fabula.workspace.cursor import read_cursor

        document = (self.view.snapshot(Manuscript) or Manuscript()).by_id.get(request.document_id)
        cursor = read_cursor(place, document.text if document is not None else "")
        return replace(request, cursor=cursor, with_text=True)

    def read_request(self, data: bytes | AssembleRequest, uploads: Mapping[str, str] | None = None) -> Request:
        """Read a request from JSON, where cursors count UTF-16 units; the principal is this handle's.

        `uploads` has the files that were uploaded, by id: an attachment refers to one of them, never to a path.
        """
        return read_named_request(self, data, uploads or {})

    def assemble(self, request: Request, *, working_memory: WorkingMemory = EMPTY_WORKING_MEMORY) -> Result:
        """Assemble the prompt for a request, following on from the last one of its kind (ctx-2).

        The result's `assembly_id` is what `report_answer` takes when the answer was recorded, or the prompt sent.
        """
        view, keys, result = self._assemble(self.engine.assemble, request, working_memory)
        if has_limits(self.principal):
            result = replace(result, trace=result.trace.without_omitted())
        needs = view.snapshot(Needs)
        asks = needs is not None and not has_limits(self.principal) and self._asks_for_needs(needs, view, keys, result)
        assembly_id = self._continuity.record(
            view.project.id, keys, result, user=self.principal.user, asks_for_needs=asks
        )
        return replace(result, assembly_id=assembly_id)

    @staticmethod
    def _asks_for_needs(needs: Needs, view: View, keys: ContinuityKeys, result: Result) -> bool:
        """Return whether a prompt is for a new scene of the story, about which a model should be asked."""
        here = result.vantage.position
        is_writing = keys.place.recipe == NOVEL.name and bool(keys.place.document)
        document = (view.snapshot(Manuscript) or Manuscript()).by_id.get(here.document) if here is not None else None
        if not is_writing or here is None or document is None or here.document not in view.timeline:
            return False
        return here.offset <= len(document.text) and needs.is_due(result.vantage, document.text, here.offset)

    def inspect(self, request: Request, *, working_memory: WorkingMemory = EMPTY_WORKING_MEMORY) -> Result:
        """Assemble without consequences, with a reason for everything that stayed out (ctx-9)."""
        check_unlimited(self.principal)
        return self._assemble(self.engine.inspect, request, working_memory)[2]

    def explain(self, result: Result, name: str) -> list[Verdict]:
        """Return why what a person calls so is in a prompt or not: an entry by any of its names comes first.

        A name that nothing has and no text contains is refused with the nearest ones.
        """
        check_unlimited(self.principal)
        view = self.view
        sources = find_sources(view, name)
        found = result.trace.find(name, sources)
        if not found and not sources:
            find_excluded(view, name)
        return found

    def _assemble(
        self, assemble: Callable[..., Result], request: Request, working_memory: WorkingMemory
    ) -> tuple[View, ContinuityKeys, Result]:
        request = validate_request(request)
        check_request(self.principal, request)
        view = self._load_view(request.conversation_id)
        if self.store is not None and not has_known_ids(request, view):
            request = resolve_names(self, request, view)
            view = self._load_view(request.conversation_id)
        request = complete_request(request, view, self.principal)
        own_conversation = find_document_conversation(request, view)
        if own_conversation:
            view = self._load_view(own_conversation)
        vantage = resolve_vantage(request, view)
        check_vantage(self.principal, vantage, view.timeline)
        request = replace(request, macros=make_macro_values(request, view, vantage))
        keys = continuity_keys(request, vantage, list_branch(request, view))
        if own_conversation:  # its place is the document
            request = replace(request, conversation_id=own_conversation)
        fragments = working_memory.fragments(view.project.id, view.project.language)
        continuity = self._continuity.load(view.project.id, keys, self._expected)
        with record_span("assembly") as notes:
            result = assemble(request, view, fragments=fragments, continuity=continuity, vantage=vantage)
            notes.add("fabula.prompt_tokens", result.token_count)
        if absent := warn_of_absent_speaker(request, view):
            result = replace(result, warnings=(*result.warnings, *absent))
        return view, keys, result

    def report_answer(self, assembly_id: str) -> None:
        """Report that an assembled prompt was sent or answered: the next request follows on from it (ctx-8).

        The prompt of another user is refused as one that does not exist.
        """
        self._continuity.commit(self.id, assembly_id, user=self.principal.user)

    def choose_model(self, **wish: Unpack[ModelWish]) -> ModelChoice:
        """Choose who writes: what is named, else what the settings say, else what this machine has."""
        from fabula.workspace.writing_options import choose_model

        return choose_model(self.store, self.id, user=self.principal.user, **wish)

    def write(
        self, request: Request, choice: ModelChoice | None = None, *, variants: PositiveInt = 1
    ) -> AsyncGenerator[WritingEvent, None]:
        """Let a model write and yield its answers as they come; close the generator to stop it."""
        from fabula.workspace.writing import MAX_VARIANTS, write_answers

        if variants > MAX_VARIANTS:
            raise FabulaError(
                Code.REQUEST_INVALID,
                message(
                    "At most {most} answers are written side by side, not {count}. Nothing was asked.",
                    most=MAX_VARIANTS,
                    count=variants,
                ),
            )
        return write_answers(self, request, choice or self.choose_model(), variants=variants)

    def describe_skill_problems(self, skill_id: str) -> list[Sentence]:
        """Say where a skill may not be the one that is meant: the project replaced it, or a file of it is wrong."""
        view = self.view
        skill, skills = find_skill(view, skill_id), view.snapshot(Skills) or load_built_in()
        problems: list[Sentence] = [problem.message for problem in skills.problems_of(skill.id)]
        if skill.origin == "project" and skill.id in load_built_in().skills:
            own = message("The skill {name!r} is this project's own, not the built-in one.", name=skill.id)
            problems.insert(0, own)
        return problems

    def search(self, words: str, **options: Unpack[SearchOptions]) -> list[FoundPassage]:
        """Find passages that answer a few words: of what lies before a chapter, or of all there is.

        `search_project` explains the options.
        """
        view, character, until = self.view, options.get("character"), options.get("until")
        if has_limits(self.principal):
            if not character and not until and not options.get("everything"):
                place = complete_granted(self, view, Request(project_id=self.id))
                character, until = place.character, place.document_id
                options["until"] = until
            options["character"] = character and find_granted_character(self, view, character)
            if until and until not in (self.principal.grants.documents or ()):
                options["until"] = find_granted_document(self, view, until)
        elif character:
            options["character"] = find_knower(view, None, character)
        return search_project(view, words, self._embedding, self.principal, **options)

    def embed(self, texts: Sequence[str]) -> EmbeddedTexts:
        """Turn texts into vectors with the embedder that the settings choose; refused where they choose none."""
        status = self._embedding.resolve(self.view)
        if status.search is None:
            raise status.error or unavailable(
                message(
                    "This project is searched by words alone, so nothing makes vectors. {advice}",
                    advice=advise(
                        message("Choose what does: fabula setting set PROJECT search.embedding auto."),
                        message("Choose what does: the setting `search.embedding`."),
                    ),
                )
            )
        embedder = status.search.embedder
        return EmbeddedTexts(embedder.name, [[float(one) for one in vector] for vector in embedder.embed(texts)])

    def working_memory(self, now: str) -> WorkingMemory:
        """Return what the person did lately, from the store's records; nothing where there is no store."""
        check_unlimited(self.principal)
        project_id = self.id
        if self.store is None:
            return EMPTY_WORKING_MEMORY
        with self.store.read(project=project_id) as reading:
            return load_working_memory(reading, now)

    def export(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the manuscript as Markdown, text, EPUB or DOCX, by the ending of the path."""
        check_unlimited(self.principal)
        from fabula.formats.manuscripts.files import write_manuscript
        from fabula.manuscript.documents import make_draft

        project = self.view.project
        with require_store(self).read(project=project.id) as reading:
            book = make_draft(reading, title=project.title, language=project.language)
        write_manuscript(book, Path(path), overwrite=overwrite)

    def save(
        self,
        path: str | Path | None = None,
        *,
        with_person: bool = True,
        overwrite: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> SaveResult:
        """Save the project as one file, by default named by its title (sav-2).

        With `with_person`, the file also has the person's profile, memories and settings.
        """
        check_unlimited(self.principal)
        from fabula.workspace.saves import save_project

        target = Path(path) if path else None
        return save_project(self, target, with_person=with_person, overwrite=overwrite, progress=progress)

    def close(self) -> None:
        """End background work that belongs to this handle alone; what was made is kept, and every verb is refused."""
        self._load_complete_view, self._project_id = _refuse_closed, ""
        if self._owns_embedding:
            self._embedding.close()


def _refuse_closed(_: str) -> View:
    raise FabulaError(Code.STORE_CLOSED, message("The project was closed. Open it again. Nothing was changed."))
