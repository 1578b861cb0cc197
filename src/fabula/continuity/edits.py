"""Load, record and commit the stored continuity of a project (ctx-8, pre-1).

A continuity belongs to a document or to one branch of a conversation, and to a recipe, a model and a vantage. The
hash of the stable prefix is saved with every assembly, under a key that leaves out the document and adds the skill.
The rest is committed when the answer is recorded: until then an assembly waits in a table under its id, and whoever
asked a model commits it by that id.

Each table is bounded: the rows that were written longest ago go first. A row that cannot be decoded, or that another
version of this program wrote, counts as absent, because its loss costs only cached tokens.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256

import msgspec
from msgspec import Struct
from sqlalchemy import Column, Table, bindparam

from fabula.context.continuity import Continuity, is_selection_known
from fabula.continuity.tables import assemblies, continuity, prefixes
from fabula.core.errors import Code, FabulaError
from fabula.core.ids import current_timestamp
from fabula.core.messages import message
from fabula.store.queries import RowQuery, RowReader
from fabula.store.store import ExpectedVersions, Store
from fabula.store.transaction import WriteTransaction

log = logging.getLogger("fabula.continuity")

FORMAT = 6  # of the encoded value; raise it whenever the fields of `Continuity` change
MAX_CONTINUITIES = 200  # rows of one project
MAX_PREFIXES = 400
MAX_ASSEMBLIES = 100


_COLUMNS = ("key", "format", "value")
_KNOWN_KEYS = RowQuery(continuity, continuity.c.key.in_(bindparam("keys", expanding=True)), only=("key",))
_IN_FAMILIES = RowQuery(
    continuity,
    continuity.c.family.in_(bindparam("families", expanding=True)),
    continuity.c.format == bindparam("format"),
    order=(continuity.c.used_at.desc(), continuity.c.key),
    only=("key", "family"),
)
_BY_KEY = RowQuery(continuity, continuity.c.key == bindparam("key"), only=_COLUMNS)
_NEWEST_RELATIVE = RowQuery(
    continuity,
    continuity.c.family == bindparam("family"),
    continuity.c.key != bindparam("key"),
    continuity.c.format == bindparam("format"),
    order=(continuity.c.used_at.desc(), continuity.c.key),
    limit=1,
    only=_COLUMNS,
)
_OWN_VALUE = RowQuery(
    continuity, continuity.c.key == bindparam("key"), continuity.c.format == bindparam("format"), only=("value",)
)
_NEWEST_VALUE = RowQuery(
    continuity,
    continuity.c.family == bindparam("family"),
    continuity.c.format == bindparam("format"),
    order=(continuity.c.used_at.desc(), continuity.c.key),
    limit=1,
    only=("value",),
)
_ASSEMBLY = RowQuery(assemblies, assemblies.c.id == bindparam("id"), only=("id",))
_PREFIX = RowQuery(prefixes, prefixes.c.key == bindparam("key"), only=("prefix_hash",))


class ContinuityKey(Struct, frozen=True, kw_only=True):
    """What a continuity belongs to, within its project: a document or a conversation branch, seen in one way."""

    recipe: str
    model: str
    vantage: str
    document: str = ""
    branch: str = ""  # of a conversation: its id and that of the branch
    is_speaker: bool = False  # of a participant of the conversation

    @property
    def row_key(self) -> str:
        """The key of the continuity's row."""
        return _hash(self.document, self.branch, self.recipe, self.model, self.vantage)

    @property
    def family(self) -> str:
        """What all documents share, or all speakers of a branch; empty for a branch where nobody speaks.

        A branch never continues from another branch.
        """
        if self.branch:
            return _hash("speakers", self.branch, self.recipe, self.model) if self.is_speaker else ""
        return _hash(self.recipe, self.model, self.vantage)

    def prefix_key(self, skill: str) -> str:
        """The key of the prefix hash: the same for all documents and branches, but of one skill."""
        return _hash("prefix", skill, self.recipe, self.model, self.vantage)


AssemblyRecord = tuple[ContinuityKey, str, Continuity]  # where, by which skill, and what it hands on


def load(
    reading: RowReader, key: ContinuityKey, *ancestors: ContinuityKey, newest_relative: Continuity | None = None
) -> Continuity | None:
    """Load the continuity of a document or branch; None where there is none that can be read.

    A document that has none continues from the last one of its family, which is `newest_relative` where that is not
    stored yet; a branch continues from the nearest of its `ancestors`.
    """
    wanted = [one.row_key for one in (key, *ancestors)]
    known = {row[0] for row in reading.query(_KNOWN_KEYS, keys=wanted)} if ancestors else {*wanted}
    for row_key in wanted:
        value = _load_value(reading, row_key) if row_key in known else None
        if value is not None:
            return value
    if not key.branch and newest_relative is None:
        for row in reading.query(_NEWEST_RELATIVE, key=wanted[0], family=key.family, format=FORMAT):
            return _decode(*row)
    return newest_relative


def load_at(store: Store, expected: ExpectedVersions, key: ContinuityKey) -> tuple[bool, Continuity | None]:
    """Whether a project is at the expected versions, and the continuity of a document, as `load` finds it."""
    row_key, family = key.row_key, key.family
    is_current, value = store.find_value(
        (_OWN_VALUE, _NEWEST_VALUE), expected, key=row_key, family=family, format=FORMAT
    )
    if value is None or not is_current:
        return is_current, None
    found = _decode(row_key, FORMAT, value)
    return is_current, load(store.read_statements(project=expected.project), key) if found is None else found


def _load_value(reading: RowReader, row_key: str) -> Continuity | None:
    rows = reading.query(_BY_KEY, key=row_key)
    return _decode(*rows[0]) if rows else None


def load_shared(
    reading: RowReader,
    *keys: ContinuityKey,
    knowers: frozenset[str],
    unknown_documents: frozenset[str] = frozenset(),
) -> Continuity | None:
    """Load what the last speaker left, whoever it was, in the nearest of these branches.

    A selection that followed from what nobody of `knowers` knows, or from an unknown document, is passed over.
    """
    places = {family: place for place, key in enumerate(keys) if (family := key.family)}
    rows = reading.query(_IN_FAMILIES, families=[*places], format=FORMAT)
    for row_key, _ in sorted(rows, key=lambda row: places[row[1]]):
        value = _load_value(reading, row_key)
        if value is not None and is_selection_known(value, knowers, unknown_documents):
            return value
    return None


def load_prefix(reading: RowReader, key: ContinuityKey, skill: str) -> str:
    """The hash of the stable prefix that was assembled last for this skill; empty where there is none."""
    rows = reading.query(_PREFIX, key=key.prefix_key(skill))
    return str(rows[0][0]) if rows else ""


def save_prefixes(tx: WriteTransaction, made: Iterable[AssemblyRecord]) -> None:
    """Remember the hashes of the stable prefixes that were just assembled, the oldest first."""
    latest = {key.prefix_key(skill): value.prefix_hash for key, skill, value in made}
    for key, prefix_hash in latest.items():
        values = {"prefix_hash": prefix_hash, "used_at": current_timestamp()}
        _put(tx, prefixes, key, values, limit=MAX_PREFIXES)


def record_assemblies(tx: WriteTransaction, made: Mapping[str, AssemblyRecord]) -> None:
    """Keep the continuities of assemblies until their answers are reported.

    `made` has them by the id of the assembly, the oldest first. Of more than a project keeps, the newest are kept.
    """
    newest = list(made.items())[-MAX_ASSEMBLIES:]
    rows = [
        {"key": key.row_key, "family": key.family, "value": _encode(value), "format": FORMAT}
        | {"id": assembly_id, "made_at": current_timestamp()}
        for assembly_id, (key, _, value) in newest
    ]
    tx.insert(assemblies, *rows)
    if newest:
        _prune(tx, assemblies, assemblies.c.id, assemblies.c.made_at, newest=newest[-1][0], limit=MAX_ASSEMBLIES)


def has_assembly(reading: RowReader, assembly_id: str) -> bool:
    """Whether an assembly waits for its answer."""
    return bool(reading.query(_ASSEMBLY, id=assembly_id))


def commit_assembly(tx: WriteTransaction, assembly_id: str) -> None:
    """Make an assembly's continuity the current one, now that its answer is recorded or its prompt was sent."""
    row = tx.require(assemblies, id=assembly_id)
    tx.delete_rows(assemblies, assemblies.c.id == assembly_id)
    _put_value(tx, row.key, row.family, row.value, row.format)


def commit(tx: WriteTransaction, key: ContinuityKey, value: Continuity) -> None:
    """Make a continuity the current one, without an assembly that was recorded before."""
    _put_value(tx, key.row_key, key.family, _encode(value), FORMAT)


def clear(tx: WriteTransaction) -> None:
    """Forget all stored continuity of the project: the next assemblies start anew."""
    for table in (continuity, prefixes, assemblies):
        tx.delete_rows(table)


def _put_value(tx: WriteTransaction, key: str, family: str, value: str, version: int) -> None:
    values = {"family": family, "value": value, "format": version, "used_at": current_timestamp()}
    _put(tx, continuity, key, values, limit=MAX_CONTINUITIES)


def _put(tx: WriteTransaction, table: Table, key: str, values: Mapping[str, object], *, limit: int) -> None:
    """Update a row or insert it; the transaction holds the project's lock, so nobody inserts it in between."""
    if not tx.update_rows(table, values, table.c.key == key):
        tx.insert(table, {"key": key, **values})
        _prune(tx, table, table.c.key, table.c.used_at, newest=key, limit=limit)


def _prune(
    tx: WriteTransaction, table: Table, ident: Column[str], time: Column[str], *, newest: str, limit: int
) -> None:
    """Delete the oldest rows over the limit; never the newest, even where a clock was set back."""
    excess = tx.count(table) - limit
    if excess > 0:
        oldest = tx.rows(table, ident != newest, order=(time, ident), limit=excess, only=(ident.name,))
        tx.delete_rows(table, ident.in_([row[0] for row in oldest]))


def _encode(value: Continuity) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError as error:
        raise FabulaError(
            Code.TEXT_INVALID,
            message("The continuity holds a text that cannot be stored. Nothing was changed."),
        ) from error


def _decode(key: str, version: int, value: str) -> Continuity | None:
    if version != FORMAT:
        log.info("continuity %.12s has format %s, not %s: it is ignored", key, version, FORMAT)
        return None
    try:
        return msgspec.json.decode(value, type=Continuity)
    except (ValueError, RecursionError) as error:
        log.warning("continuity %.12s cannot be decoded (%s): it is ignored", key, type(error).__name__)
        return None


@lru_cache(maxsize=1 << 12)  # documents and models come again
def _hash(*parts: str) -> str:
    return sha256(msgspec.json.encode(parts)).hexdigest()
