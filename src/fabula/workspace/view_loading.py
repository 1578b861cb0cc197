"""Load the view of a project from its store: the snapshots that changed are read, and all others are shared.

The change feed says which items changed since a view was built. The messages and recaps of one conversation are a part
of their own, beside the view.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getsizeof

from msgspec import Struct

from fabula.codex import Codex
from fabula.codex import snapshot as codex_rows
from fabula.codex.facts import Quotations
from fabula.codex.facts.quotations import load_quotations
from fabula.constraints import Constraints
from fabula.constraints import snapshot as constraint_rows
from fabula.context.budget import BudgetProfile
from fabula.context.options import AssemblyOptions
from fabula.context.recipes.preset import Preset, UserProfile
from fabula.conversation import recent as recent_conversations
from fabula.conversation import snapshot as conversation_rows
from fabula.conversation.cards import Cards
from fabula.conversation.documents import DocumentConversations, load_document_conversations
from fabula.conversation.model import Conversations
from fabula.conversation.participant_texts import ParticipantTexts, load_participant_texts
from fabula.conversation.participants import Participants, load_participants
from fabula.conversation.recaps.snapshot import RecapSnapshot, load_recap_snapshot
from fabula.conversation.recaps.source import RecapOptions
from fabula.core.view import Project, View
from fabula.formats.lore.editing import parse_lorebook
from fabula.lorebook import snapshot as lorebook_rows
from fabula.lorebook.snapshot import Lorebooks
from fabula.manuscript import projects
from fabula.manuscript import snapshot as manuscript_rows
from fabula.manuscript.model import Direction, Manuscript
from fabula.manuscript.series import SeriesMembership
from fabula.memory import snapshot as memory_rows
from fabula.memory.model import Memory
from fabula.presets import edits as preset_service
from fabula.search.corpus import Corpus
from fabula.search.embeddings.choice import EMBEDDING_SETTING as EMBEDDING
from fabula.search.embeddings.choice import EmbeddingSetting
from fabula.search.need_edits import load_places
from fabula.search.needs import Needs
from fabula.settings import snapshot as setting_rows
from fabula.settings.tables import settings
from fabula.settings.values import read_values
from fabula.skills.files import Skills
from fabula.skills.project_skills import load_project_skills
from fabula.store.store import Store
from fabula.store.transaction import ReadTransaction
from fabula.workspace.cards import load_cards
from fabula.workspace.facts import FactSettings, load_fact_settings
from fabula.workspace.needs import is_asking_allowed
from fabula.workspace.search_corpus import SEARCHED_AREAS, StoredConversations, make_corpus

TEXT_FACTOR = 2.5  # bytes for each byte of text, with paragraphs and token counts
MESSAGE_BYTES = 1_500  # of a message with its fragment, beside its text


class ConversationPart(Struct):
    """The newest messages and the recaps of one conversation, and the versions of project and user they are of."""

    versions: tuple[int, ...]
    project: Project
    conversations: Conversations
    recaps: RecapSnapshot
    size: int  # in bytes
    used: int = 0  # when it was last used


class ChangedItems:
    """The items that changed since a view was built, by area; `area in changes` if any of an area did."""

    def __init__(self, reading: ReadTransaction, versions: tuple[int, ...] | None) -> None:
        """`versions` of project and user at which it was built; None if it was not."""
        self.since = versions
        self._everything = versions is None
        self._items: dict[str, set[str]] = {}
        if versions is not None:
            project_changes = reading.changes("project", versions[0])
            user_changes = reading.changes("user", versions[1])
            if project_changes is None or user_changes is None:  # the feed does not reach back that far
                self._everything = True
            else:
                for change in (*project_changes, *user_changes):
                    self._items.setdefault(change.area, set()).add(change.item)

    def __contains__(self, area: str) -> bool:
        return self._everything or area in self._items

    def items(self, area: str) -> frozenset[str] | None:
        """Return the changed items of an area; None for all of them."""
        return None if self._everything else frozenset(self._items.get(area, ()))


def load_part(
    reading: ReadTransaction,
    known: ChangedItems,
    versions: tuple[int, ...],
    conversation: str,
    old: ConversationPart | None,
    project: Project,
    people: Participants | None,
    cards: Cards | None,
) -> ConversationPart | None:
    """Load the messages and recaps of a conversation; None where none is named. `known` are changes that were read."""
    if not conversation:
        return None
    since = None if old is None else old.versions
    changes = known if known.since == since else ChangedItems(reading, since)
    conversations, recaps = (old.conversations, old.recaps) if old is not None else (None, None)
    if old is not None and old.project.language != project.language:  # in which lines carry names
        conversations = None
    if conversations is None or "conversation" in changes or "people" in changes:
        conversations = conversation_rows.load_conversations(
            reading,
            project.id,
            frozenset({conversation}),
            conversations,
            changes.items("conversation"),
            people,
            project.language,
        )
    # The cards say which message is a greeting.
    is_same = old is not None and "people" not in changes and "lorebook" not in changes and project == old.project
    if recaps is None or not is_same or "conversation" in changes or "recaps" in changes:
        recaps = load_recap_snapshot(
            reading,
            project,
            conversations,
            people or Participants(),
            recaps if is_same else None,
            changes.items("recaps"),
            changes.items("conversation"),
            cards,
        )
    messages = conversations.messages.get(conversation, ())
    text_size = sum(map(getsizeof, [one.content for one in messages]))
    size = MESSAGE_BYTES * (len(messages) + 1) + int(TEXT_FACTOR * text_size)
    return ConversationPart(versions, project, conversations, recaps, size)


def load_view(
    reading: ReadTransaction,
    changes: ChangedItems,
    old_view: View | None,
    load_part: Callable[[Project, Participants | None, Cards | None], ConversationPart | None],
) -> tuple[View, ConversationPart | None]:
    """Load a view at one version, and a conversation; the view shares every unchanged snapshot with the old one.

    The snapshot of something that a project does not have is None.
    """
    old = old_view or View(Project(id=""))
    snapshots = dict(old.snapshots)
    project, timeline = old.project, old.timeline
    if "project" in changes:
        project, snapshots[Direction], series = projects.load_project(reading)
        snapshots[SeriesMembership] = None if series is None else SeriesMembership(series)
    if "manuscript" in changes:
        old_manuscript = old.snapshot(Manuscript)
        manuscript = manuscript_rows.load_manuscript(reading, old_manuscript, changes.items("manuscript"))
        snapshots[Manuscript] = manuscript
        if old_manuscript is None or not manuscript.has_places_of(old_manuscript):
            timeline = manuscript.timeline()  # else what was computed from the old one stays valid
    # Codex entries depend on the timeline (progressions hold from a chapter on) and on the project's language.
    old_codex = old.snapshot(Codex)
    depth = old_codex.relation_depth if old_codex is not None else None
    asks_for_needs = old.snapshot(Needs) is not None
    if "settings" in changes:
        values = read_values(reading)
        depth = values.get_override("codex.relationDepth")
        embedding = values.get_override(EMBEDDING)
        snapshots[EmbeddingSetting] = None if embedding is None else EmbeddingSetting(embedding)
        snapshots[AssemblyOptions] = setting_rows.make_options(values, old.snapshot(AssemblyOptions))
        snapshots[BudgetProfile] = setting_rows.load_profile(reading, old.snapshot(BudgetProfile))
        snapshots[RecapOptions] = RecapOptions(
            tells_recaps=values["History.Recaps"],
            latest_recaps=values["History.LatestRecaps"],
            relevant_history=values["History.RelevantHistory"],
        )
        snapshots[FactSettings] = load_fact_settings(reading, values["codex.factsPerEntry"])
        asks_for_needs = is_asking_allowed(values)
        snapshots[Skills] = load_project_skills({row.name: row.value for row in reading.rows(settings)})
    if (
        "codex" in changes
        or timeline is not old.timeline
        or project != old.project
        or old_codex is None
        or depth != old_codex.relation_depth
    ):
        snapshots[Codex] = codex_rows.load(
            reading,
            project.id,
            project.language,
            timeline,
            old_codex,
            changes.items("codex"),
            relation_depth=depth,
        )
    if "facts" in changes:
        snapshots[Quotations] = load_quotations(reading)
    if not asks_for_needs:
        snapshots[Needs] = None
    elif "needs" in changes or old.snapshot(Needs) is None:
        snapshots[Needs] = Needs(load_places(reading))
    if "constraints" in changes:
        snapshots[Constraints] = constraint_rows.load(
            reading, project.id, old.snapshot(Constraints), changes.items("constraints")
        )
    if "memory" in changes or project != old.project:
        snapshots[Memory] = memory_rows.load_memory(reading, project, old.snapshot(Memory))
    if "profile" in changes:
        snapshots[UserProfile] = memory_rows.load_profile(reading)
    if "presets" in changes:
        snapshots[Preset] = preset_service.load_active(reading, old.snapshot(Preset))
    if "lorebook" in changes:
        snapshots[Lorebooks] = lorebook_rows.load_lorebooks(
            reading, project.id, parse_lorebook, old.snapshot(Lorebooks), changes.items("lorebook")
        )
    if "conversation" in changes:
        snapshots[DocumentConversations] = load_document_conversations(
            reading, old.snapshot(DocumentConversations), changes.items("conversation")
        )
    if "people" in changes:
        snapshots[Participants] = load_participants(reading)
        snapshots[ParticipantTexts] = load_participant_texts(reading)
    if "people" in changes or "lorebook" in changes:
        snapshots[Cards] = load_cards(reading, snapshots.get(Participants), old.snapshot(Cards))
    part = load_part(project, snapshots.get(Participants), snapshots.get(Cards))
    cards_changed = snapshots.get(Cards) is not old.snapshot(Cards)
    if "conversation" in changes or project != old.project or cards_changed:
        snapshots[recent_conversations.RecentConversations] = recent_conversations.load_recent_conversations(
            reading,
            project,
            None if cards_changed else old.snapshot(recent_conversations.RecentConversations),
            part.conversations if part is not None else None,
            snapshots.get(Cards),
        )
    if old_view is None:
        snapshots[Conversations] = Conversations(project.id, {})
        snapshots[RecapSnapshot] = RecapSnapshot()
    return View(project, timeline, snapshots), part


def add_corpus(
    store: Store,
    reading: ReadTransaction,
    changes: ChangedItems,
    view: View,
    old_view: View | None,
    part: ConversationPart | None,
) -> View:
    """Add the search corpus to a view; the view shares the old corpus if none of its texts changed."""
    loaded = part.conversations if part is not None else None
    old_corpus = old_view.snapshot(Corpus) if old_view is not None else None
    stored = old_view.snapshot(StoredConversations) if old_view is not None else None
    if stored is None or old_corpus is None:
        stored = StoredConversations(store, view.project.id)
        texts = stored.size(reading, loaded)
    elif any(area in changes for area in SEARCHED_AREAS):
        stored = stored.after_changes(changes.items("conversation"))
        texts = stored.size(reading, loaded)
    elif "manuscript" in changes:
        texts = old_corpus.conversations
    else:
        return view
    corpus = make_corpus(view.project.id, view.snapshot(Manuscript) or Manuscript(), texts, old_corpus)
    return View(view.project, view.timeline, {**view.snapshots, Corpus: corpus, StoredConversations: stored})
