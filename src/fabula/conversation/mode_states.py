"""The state of a mode on each branch: scores, the node of a workflow, who spoke last (cht-4).

A state is kept with the message behind which it holds, and only where it changed. So a branch has the state of the
nearest message on its path that keeps one, and before those the state with which the mode began. The conversation holds
the state of the active path, so a turn reads no messages for it; who chooses another path looks for its state.

The mode itself, its options and roles, and the author's note are those of the conversation, whatever its branch.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Row, bindparam, desc

from fabula.conversation.model import BEGUN, EARLIER, OTHERS, RESERVED_KEYS, ROUND
from fabula.conversation.modes.model import ContextPolicy
from fabula.conversation.modes.registry import DEFAULT_MODE, find_policy
from fabula.conversation.tables import conversations, messages
from fabula.store.queries import RowQuery
from fabula.store.transaction import ReadTransaction, WriteTransaction

_BATCH = 256  # rows of a path that are read at a time
_IN_CONVERSATION = messages.c.conversation_id == bindparam("conversation")
_FIRST_STATE = RowQuery(
    messages,
    _IN_CONVERSATION,
    messages.c.mode_state.is_not(None),
    order=(messages.c.number,),
    limit=1,
    only=("number",),
)
_PATH = RowQuery(
    messages,
    _IN_CONVERSATION,
    messages.c.number <= bindparam("newest"),
    order=(desc(messages.c.number),),
    limit=_BATCH,
    only=("id", "parent_id", "number", "mode_state"),
)

State = Mapping[str, Any]


class ModeBeginning(Struct, frozen=True, kw_only=True):
    """How a mode began in a conversation: its state where no message keeps another one, and the names of settings.

    Settings are parts of the state that a person gave, such as options and roles. They hold on every branch. The policy
    is that of a mode which no package offers: a process that does not have the mode reads it here.
    """

    state: State = {}
    settings: tuple[str, ...] = ()
    policy: ContextPolicy | None = None


def get_own_state(stored: State) -> dict[str, Any]:
    """Return the state of the mode among what a conversation stores with it."""
    return {name: value for name, value in stored.items() if name not in RESERVED_KEYS}


def read_beginnings(stored: State) -> dict[str, ModeBeginning]:
    """Return how each mode of a conversation began; without those of which that is not stored, or makes no sense."""
    found: dict[str, ModeBeginning] = {}
    for name, beginning in _get_states(stored, BEGUN).items():
        with suppress(msgspec.ValidationError):
            found[name] = msgspec.convert(beginning, ModeBeginning)
    return found


def read_policy(reading: ReadTransaction, mode: str, conversation_id: str) -> ContextPolicy:
    """Read the context policy of the mode of a conversation; the default one where nobody knows the mode."""
    name = mode or DEFAULT_MODE
    found = find_policy(name)
    if found is None and conversation_id:
        row = reading.row(conversations, id=conversation_id)
        found = read_beginnings(row.mode_state).get(name, ModeBeginning()).policy if row is not None else None
    return found or ContextPolicy()


def keep_state(tx: WriteTransaction, message_id: str, mode: str, state: State) -> None:
    """Keep the state of a mode with the message behind which it holds; one that is gone keeps nothing."""
    row = tx.row(messages, id=message_id)
    if row is not None:
        tx.update_rows(messages, {"mode_state": {**(row.mode_state or {}), mode: dict(state)}}, messages.c.id == row.id)


def begin_keeping(tx: WriteTransaction, leaf_id: str | None, mode: str, stored: State) -> dict[str, ModeBeginning]:
    """Return how each mode began, also of a conversation of before states were kept with messages.

    Of such a one the state of now is where everything begins. Older ones, from before the last turns, are kept with the
    messages behind which they held.
    """
    known = read_beginnings(stored)
    if known or ROUND not in stored:
        return known
    own, earlier, others = get_own_state(stored), _get_states(stored, EARLIER), _get_states(stored, OTHERS)
    beginnings = {name: ModeBeginning(state=state) for name, state in {**others, mode: own}.items()}
    placed = [(tx.row(messages, id=ident), state) for ident, state in earlier.items()]
    before = [(row.parent_id, state) for row, state in placed if row is not None]
    for place, state in before:
        if place is not None:
            keep_state(tx, place, mode, state)
    if before:
        beginnings[mode] = ModeBeginning(state=before[0][1])
        if leaf_id is not None:
            keep_state(tx, leaf_id, mode, own)
    return beginnings


def choose_states(tx: WriteTransaction, conversation: Row[Any], leaf_id: str | None) -> dict[str, Any]:
    """Return what a conversation stores with its mode where the path to another message becomes the active one."""
    stored, mode = dict(conversation.mode_state), conversation.mode or DEFAULT_MODE
    if ROUND not in stored:
        return stored  # no mode has begun
    beginnings = begin_keeping(tx, conversation.leaf_id, mode, stored)
    stored.pop(EARLIER, None)
    own = get_own_state(stored)
    now = {**_get_states(stored, OTHERS), mode: own}
    found = find_states(tx, conversation.id, leaf_id, now)
    states = {name: found.get(name, beginnings.get(name, ModeBeginning(state=now[name])).state) for name in now}
    settings = beginnings.get(mode, ModeBeginning()).settings
    given = {name: own[name] for name in settings if name in own}
    chosen = {**states.pop(mode), **given, **{name: stored[name] for name in RESERVED_KEYS if name in stored}}
    return {**chosen, BEGUN: msgspec.to_builtins(beginnings), **({OTHERS: states} if states else {})}


def find_states(
    reading: ReadTransaction, conversation_id: str, leaf_id: str | None, modes: Collection[str]
) -> dict[str, State]:
    """Find the states of these modes behind a message: of each, the nearest on the path to it that a message keeps."""
    first = reading.query(_FIRST_STATE, conversation=conversation_id)
    newest = reading.row(messages, id=leaf_id) if first and leaf_id is not None else None
    found: dict[str, State] = {}
    next_id, number = leaf_id, -1 if newest is None else int(newest.number)
    while next_id is not None and first and number >= first[0].number and found.keys() != set(modes):
        rows = reading.query(_PATH, conversation=conversation_id, newest=number)
        for row in rows:
            if row.id == next_id:
                kept = (row.mode_state or {}).items()
                found = {**{name: state for name, state in kept if name in modes and isinstance(state, dict)}, **found}
                next_id = row.parent_id
        if not rows:
            break
        number = rows[-1].number - 1
    return found


def pass_on_state(tx: WriteTransaction, deleted: Row[Any], children: Collection[Row[Any]]) -> None:
    """Let those that follow on a message that is deleted keep the state that holds behind it, unless they have one."""
    for child in children if deleted.mode_state else ():
        states = {**deleted.mode_state, **(child.mode_state or {})}
        if states != child.mode_state:
            tx.update_rows(messages, {"mode_state": states}, messages.c.id == child.id)


def describe_beginning(
    beginnings: Mapping[str, ModeBeginning], mode: str, state: State, settings: tuple[str, ...], *, is_first: bool
) -> dict[str, ModeBeginning]:
    """Return the beginnings with that of a mode that begins, or begins again.

    Its first state holds where no message keeps one; `is_first`: nothing was said before it.
    """
    known = beginnings.get(mode)
    first = ModeBeginning(state=dict(state)) if known is None or is_first else known
    return {**beginnings, mode: replace(first, settings=settings)}


def _get_states(stored: State, name: str) -> dict[str, State]:
    found = stored.get(name)
    return {key: value for key, value in found.items() if isinstance(value, dict)} if isinstance(found, dict) else {}
