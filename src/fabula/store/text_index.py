"""The text index of messages on SQLite: which rows may contain some words (cnv-5).

Migration 0017 makes an FTS5 table of all groups of three characters, which triggers keep true. A row that contains some
words has all groups of these words. Shorter words are the beginning of a group, so two Chinese characters are found as
a name of ten letters is. The rows that are found are compared with the words afterwards. Where SQLite has no FTS5, and
on PostgreSQL, there is no such table, and all rows are compared.
"""

from __future__ import annotations

from sqlalchemy import Connection, TextClause, text
from sqlalchemy.exc import DBAPIError

MAX_CANDIDATES = 5_000  # of more, the newest are looked through in their order, and the first ones are soon found
_GROUP = 3  # characters
_MAX_GROUPS = 12  # of a long text, so many are looked for
_HAS_INDEX = text("SELECT 1 FROM sqlite_master WHERE name = 'message_terms'")
_MATCH = text("SELECT rowid FROM message_trigrams WHERE message_trigrams MATCH :words LIMIT :most")
_BEGIN = text("SELECT DISTINCT doc FROM message_terms WHERE term >= :first AND term < :last LIMIT :most")


def find_candidates(connection: Connection, words: str) -> list[int] | None:
    """Return the row numbers of the messages that may contain some words; None where all or too many may."""
    if connection.dialect.name != "sqlite" or not words or "\0" in words:
        return None
    if connection.execute(_HAS_INDEX).first() is None:
        return None
    try:
        query, values = _make_query(words)
        rows = connection.execute(query, values).scalars().all()
    except DBAPIError:  # characters that do not make a group as they should
        return None
    return None if len(rows) > MAX_CANDIDATES else [int(row) for row in rows]


def _make_query(words: str) -> tuple[TextClause, dict[str, object]]:
    most = MAX_CANDIDATES + 1
    if len(words) < _GROUP:
        first = words.lower()
        return _BEGIN, {"first": first, "last": first[:-1] + chr(min(ord(first[-1]) + 1, 0x10FFFF)), "most": most}
    groups = dict.fromkeys(words[start : start + _GROUP] for start in range(len(words) - _GROUP + 1))
    step = -(-len(groups) // _MAX_GROUPS)
    quoted = ['"{}"'.format(group.replace('"', '""')) for group in list(groups)[::step]]
    return _MATCH, {"words": " AND ".join(quoted), "most": most}
