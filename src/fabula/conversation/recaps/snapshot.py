"""Load what chats are told of earlier messages: recaps, summaries, pinned words, other conversations (cnv-8, cht-6).

Each text is a fragment that is known to those who heard everything it was made from. Texts of rounds that are not on
the active path are left out. As long as messages are only added, nothing older is read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from fabula.conversation.cards import Cards
from fabula.conversation.history import find_conversation_ids, load_records
from fabula.conversation.light_summaries import RecentConversation, summarise_lightly
from fabula.conversation.model import Conversations, ConversationState, Message, is_of_game
from fabula.conversation.participants import Participants
from fabula.conversation.presence import Attendance, load_attendance, name_present
from fabula.conversation.recaps.model import StoredRecap
from fabula.conversation.recaps.rounds import number_rounds
from fabula.conversation.recaps.schedule import find_recap_audience, load_stored_recaps
from fabula.conversation.snapshot import follow_path, load_newest_messages
from fabula.conversation.tables import messages
from fabula.core.fragment import EarlierMessage, Fragment, Layer
from fabula.core.messages import message
from fabula.core.relevance import RECAP
from fabula.core.story import READER_ONLY
from fabula.core.view import Project
from fabula.store.rows import read_struct
from fabula.store.transaction import ReadTransaction
from fabula.text.quotes import head_conversation, render_line

MAX_RELATED = 500  # other conversations of the same participants, the latest
MAX_TOGETHER = 64  # who are present; of more, no other conversations are looked for
MAX_QUOTED = 8  # of these, whose latest messages are read
QUOTED_MESSAGES = 20  # of each
MAX_OFFERED = 2_000  # fragments of messages that are kept for the next request
MAX_REPLACED = 16  # summaries in a recap that can stay in a prompt
PINNED_SCORE = RECAP + 0.03
_PATH_COLUMNS = ("id", "parent_id", "number", "kind", "round")


class RecapFragment(Struct, frozen=True):
    """A recap, or a summary that is in no recap yet, as a fragment, and the messages that it was made from."""

    fragment: Fragment
    is_summary: bool
    heard: frozenset[int]
    first_message: int  # -1 where it is not known


class RelatedConversations(Struct, frozen=True):
    """The latest other conversations that all who are present took part in."""

    ids: frozenset[str] = frozenset()  # MAX_RELATED at most
    has_more: bool = False
    quoted: tuple[Fragment, ...] = ()  # the latest messages of the latest of them, oldest first
    summaries: tuple[RecentConversation, ...] = ()  # of those among the latest whose snippets all of them heard


class PinnedWords(Struct, frozen=True):
    """The fragment of pinned words, and the text of the message where all of it is pinned."""

    fragment: Fragment
    whole_text: str = ""


class ConversationRecaps(Struct, frozen=True, kw_only=True):
    """What a chat in one conversation can be told of earlier messages."""

    state: ConversationState
    stored: tuple[Sequence[StoredRecap], Sequence[StoredRecap]]  # summaries and recaps
    attendance: Attendance
    rounds: frozenset[int] | None  # that are on the active path; None where no text needs them
    rounds_until: int  # the number of the newest message among those whose rounds these are
    recaps: tuple[RecapFragment, ...]  # by their rounds
    replaced: tuple[RecapFragment, ...]  # the latest summaries that are in a recap; a prompt may hold them still
    pinned: Mapping[int, PinnedWords]  # by the number of the message
    related: RelatedConversations
    # messages as they were offered, by number, age and range of scores; filled by the source
    offered: dict[tuple[int, int, tuple[float, float]], Fragment]


class RecapSnapshot(Struct, frozen=True):
    """What chats can be told of earlier messages, by conversation."""

    by_conversation: Mapping[str, ConversationRecaps] = {}


def load_recap_snapshot(
    reading: ReadTransaction,
    project: Project,
    conversations: Conversations,
    participants: Participants,
    before: RecapSnapshot | None = None,
    changed_recaps: Set[str] | None = None,
    changed_conversations: Set[str] | None = None,
    cards: Cards | None = None,
) -> RecapSnapshot:
    """Load the texts of the conversations of a snapshot; `before` is shared as far as nothing changed."""
    old = before.by_conversation if before is not None else {}
    loader = _Loader(reading, project, participants, cards or Cards())
    found: dict[str, ConversationRecaps] = {}
    for name, state in conversations.states.items():
        known, attendance = old.get(name), conversations.attendances[name]
        same_rows = known is not None and changed_recaps is not None and name not in changed_recaps
        stored = known.stored if known is not None and same_rows else load_stored_recaps(reading, name)
        others_changed = changed_conversations is None or bool(changed_conversations - {name})
        is_same = known is not None and same_rows and known.state == state and known.attendance is attendance
        if known is not None and is_same and not others_changed:
            found[name] = known
            continue
        path = conversations.messages[name]
        earlier = known if known is not None and _continues(known.state, state, path) else None
        if earlier is not None and same_rows and earlier.attendance is attendance:
            rounds, rounds_until = earlier.rounds, earlier.rounds_until
            recaps, replaced, offered = earlier.recaps, earlier.replaced, earlier.offered
        else:  # a new message begins a round that no text is made of yet
            rounds = loader.find_rounds(name, path, earlier) if any(stored) else None
            rounds_until = path[-1].number or 0 if path else -1
            recaps, replaced = loader.make_recaps(stored, attendance, rounds or frozenset())
            offered = {}
        related = RelatedConversations() if known is None else known.related
        if known is None or others_changed or known.attendance.present != attendance.present:
            related = loader.load_related(name, attendance)
        found[name] = ConversationRecaps(
            state=state,
            stored=stored,
            attendance=attendance,
            rounds=rounds,
            rounds_until=rounds_until,
            recaps=recaps,
            replaced=replaced,
            pinned=loader.find_pinned(name, path, attendance, earlier),
            related=related,
            offered=offered if len(offered) < MAX_OFFERED else {},
        )
    return RecapSnapshot(found)


def relate_to(
    reading: ReadTransaction,
    project: Project,
    snapshot: RecapSnapshot,
    name: str,
    attendance: Attendance,
    participants: Participants,
    cards: Cards,
) -> RecapSnapshot:
    """Return a snapshot with the other conversations of those who are present at another place of a conversation."""
    known = snapshot.by_conversation.get(name)
    if known is None or known.attendance.present == attendance.present:
        return snapshot
    related = _Loader(reading, project, participants, cards).load_related(name, attendance)
    moved = replace(known, attendance=attendance, related=related)
    return RecapSnapshot({**snapshot.by_conversation, name: moved})


def _continues(old: ConversationState, new: ConversationState, path: Sequence[Message]) -> bool:
    """Return whether messages were only added to the path."""
    is_same = (old.created_at, old.version) == (new.created_at, new.version)
    return is_same and (old.leaf_id is None or any(one.id == old.leaf_id for one in reversed(path)))


class _Loader(Struct, frozen=True):
    """Reads and makes the texts of one project."""

    reading: ReadTransaction
    project: Project
    participants: Participants
    cards: Cards

    def find_rounds(self, name: str, path: Sequence[Message], earlier: ConversationRecaps | None) -> frozenset[int]:
        """Return the numbers of the rounds on the active path."""
        own = frozenset(one.round for one in path if one.round)
        if (
            earlier is not None
            and earlier.rounds is not None
            and path
            and (path[0].number or 0) <= earlier.rounds_until
        ):
            return earlier.rounds | own
        if path and path[0].parent_id is None and own:
            return own
        in_conversation = messages.c.conversation_id == name
        rows = self.reading.rows(messages, in_conversation, order=(messages.c.number,), only=_PATH_COLUMNS)
        numbers = number_rounds(rows)
        on_path = follow_path(rows, path[-1].id) if path else []
        return frozenset(numbers[row.id] for row in on_path if row.id in numbers)

    def make_recaps(
        self,
        stored: tuple[Sequence[StoredRecap], Sequence[StoredRecap]],
        attendance: Attendance,
        rounds: frozenset[int],
    ) -> tuple[tuple[RecapFragment, ...], tuple[RecapFragment, ...]]:
        """Make the fragments of recaps and of summaries that are in none, and of the latest summaries that are in one.

        Texts without a round on the path are left out.
        """
        summaries, recaps = stored
        told = [(one, True) for one in summaries if one.text and not one.in_recap]
        told += [(one, False) for one in recaps]
        replaced = [(one, True) for one in summaries if one.text and one.in_recap]
        made: list[tuple[RecapFragment, ...]] = []
        for texts in (told, replaced):
            texts.sort(key=lambda pair: (pair[0].last_round, pair[0].place))
            del texts[: -MAX_REPLACED if texts is replaced else 0]
            made.append(
                tuple(
                    RecapFragment(
                        self._make_recap(one, attendance, age),
                        is_summary,
                        frozenset(one.heard),
                        min(one.heard, default=-1),
                    )
                    for age, (one, is_summary) in zip(range(len(texts) - 1, -1, -1), texts, strict=True)
                    if not rounds.isdisjoint(one.rounds)
                )
            )
        return made[0], made[1]

    def _make_recap(self, one: StoredRecap, attendance: Attendance, age: int) -> Fragment:
        audience = find_recap_audience(one, attendance)
        return Fragment(
            source=f"recap:{one.id}",
            layer=Layer.RETRIEVED,
            text=message("[Earlier in this conversation] {text}", text=one.text).render(self.project.language),
            project_id=self.project.id,
            score=RECAP - 0.001 * min(age, 100),
            known_to=None if audience is None else audience | READER_ONLY,
        )

    def find_pinned(
        self, name: str, path: Sequence[Message], attendance: Attendance, earlier: ConversationRecaps | None
    ) -> dict[int, PinnedWords]:
        """Make the fragments of the pinned words on the active path."""
        pinned = {one.number or 0: one for one in path if one.final and one.pinned is not None}
        made = {number: self._make_pinned(one, attendance) for number, one in pinned.items()}
        if not path or path[0].parent_id is None:
            return made
        if earlier is not None:
            return {**earlier.pinned, **made}
        older = (
            messages.c.conversation_id == name,
            messages.c.pinned.is_not(None),
            messages.c.number < (path[0].number or 0),
        )
        rows = self.reading.rows(messages, *older, order=(messages.c.number,))
        if rows:
            in_conversation = messages.c.conversation_id == name
            on_path = follow_path(self.reading.rows(messages, in_conversation, only=_PATH_COLUMNS), path[-1].id)
            ids = {row.id for row in on_path}
            found = [read_struct(Message, row) for row in rows if row.id in ids and row.final]
            made = {one.number or 0: self._make_pinned(one, attendance) for one in found} | made
        return made

    def _make_pinned(self, said: Message, attendance: Attendance) -> PinnedWords:
        words = said.pinned if said.pinned and said.pinned in said.content else said.prompt_text
        name = self.participants.name_speaker(said, self.project.language)
        text = message("[Kept word for word, {name}] {words}", name=name, words=words)
        fragment = Fragment(
            source=f"pinned:{said.id}",
            layer=Layer.RETRIEVED,
            text=text.render(self.project.language),
            project_id=self.project.id,
            title=name,
            score=PINNED_SCORE,
            known_to=attendance.find_knowers(said),
        )
        return PinnedWords(fragment, said.prompt_text if words in (said.prompt_text, said.content) else "")

    def load_related(self, name: str, attendance: Attendance) -> RelatedConversations:
        """Load the other conversations of all who are present, and the latest messages of the latest of them."""
        if not 0 < len(attendance.present) <= MAX_TOGETHER:
            return RelatedConversations()
        ids = find_conversation_ids(self.reading, attendance.present, limit=MAX_RELATED + 2)
        others = [one for one in ids if one != name]
        quoted: list[tuple[str, Fragment]] = []
        summaries: list[RecentConversation] = []
        for record in load_records(self.reading, others[:MAX_QUOTED]):
            own = load_attendance(self.reading, record.id)
            newest = load_newest_messages(self.reading, record.id, record.leaf_id, QUOTED_MESSAGES)
            summary = summarise_lightly(record, newest, own, self.cards)
            if summary.known_to is not None and attendance.present <= summary.known_to:
                summaries.append(summary)
            final = [said for said in newest if said.final]
            for follows, said in zip((None, *final), final, strict=False):
                if is_of_game(said) or self.cards.is_greeting(said):
                    continue
                names = () if record.title else name_present(said, own, self.participants)
                earlier = EarlierMessage(
                    head_conversation(self.project.language, said.timestamp, record.title, names),
                    said.timestamp,
                    said.number or 0,
                    -1 if follows is None else follows.number or 0,
                )
                fragment = make_earlier_fragment(
                    self.project, record.id, said, self.participants, own.find_listeners(said), earlier
                )
                quoted.append((said.timestamp, fragment))
        quoted.sort(key=lambda pair: pair[0])
        return RelatedConversations(
            frozenset(others[:MAX_RELATED]),
            len(others) > MAX_RELATED,
            tuple([fragment for _, fragment in quoted]),
            tuple(summaries),
        )


def make_earlier_fragment(
    project: Project,
    conversation_id: str,
    said: Message,
    participants: Participants,
    known_to: frozenset[str] | None,
    earlier: EarlierMessage,
) -> Fragment:
    """Make the fragment of a message that the history window does not show."""
    name = participants.name_speaker(said, project.language)
    return Fragment(
        source=f"history:{said.id}",
        layer=Layer.RETRIEVED,
        text=render_line(name, said.prompt_text, project.language),
        project_id=project.id,
        title=name,
        known_to=known_to,
        is_single_use=True,
        conversation_id=conversation_id,
        earlier=earlier,
    )
