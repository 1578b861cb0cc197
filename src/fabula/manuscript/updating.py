"""Update a manuscript from a newer file of it: match its documents, and change only what differs (man-6).

Documents are matched by their text first, because a chapter that is put in renumbers all later ones, and then by their
titles. A document keeps its id, with everything that refers to it. What the file does not have stays where it is,
unless its removal is asked for.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from sqlalchemy import Row

from fabula.manuscript import documents, outline
from fabula.manuscript.drafts import DocumentDraft, ManuscriptDraft
from fabula.manuscript.snapshot import sort_in_reading_order
from fabula.manuscript.synopses import editing as synopses
from fabula.manuscript.synopses.chapters import Synopsis
from fabula.manuscript.tables import documents as document_rows
from fabula.store.transaction import ReadTransaction, WriteTransaction
from fabula.text.offsets import normalise

MIN_SIMILARITY = 0.5  # of the characters of two texts that are one chapter
_PIECE = re.compile(r"[^\n.!?。！？]+[.!?。！？]*")


class UpdateKind(StrEnum):
    """What an update does with a document."""

    NEW = "new"
    CHANGED = "changed"
    MOVED = "moved"
    MISSING = "missing"  # in the project, and not in the file


class DocumentUpdate(Struct, frozen=True, kw_only=True):
    """One document that an update concerns; a document may be both changed and moved."""

    kind: UpdateKind
    title: str
    old_title: str = ""  # where the title changes
    old_length: int = 0  # in characters
    new_length: int = 0


class ManuscriptUpdate(Struct, frozen=True, kw_only=True):
    """What an update does, in the order of the file, with what the file lacks at the end."""

    updates: tuple[DocumentUpdate, ...]
    unchanged: int
    matched: int


class _Node(Struct):
    """A document of the file, the number of its parent in the file, and the titles above it."""

    draft: DocumentDraft
    parent: int | None
    path: tuple[str, ...]
    text: str
    row: Row[Any] | None = None
    is_moved: bool = False

    @property
    def title(self) -> str:
        return self.draft.title.strip()

    @property
    def is_changed(self) -> bool:
        return self.row is not None and (
            self.text != self.row.text or bool(self.title and self.title != self.row.title)
        )


class _Plan(Struct):
    nodes: list[_Node]
    missing: list[Row[Any]]


def preview_update(reading: ReadTransaction, book: ManuscriptDraft) -> ManuscriptUpdate:
    """Say what an update would do; nothing is changed."""
    return _describe(_make_plan(reading, book))


def apply_update(tx: WriteTransaction, book: ManuscriptDraft, *, remove_missing: bool = False) -> ManuscriptUpdate:
    """Change the manuscript to that of the file; documents that it lacks are removed only if that is asked for."""
    plan = _make_plan(tx, book)
    ids: list[str] = []
    for node in plan.nodes:
        parent = None if node.parent is None else ids[node.parent]
        if node.row is None:
            ids.append(_add(tx, node, parent))
            continue
        ids.append(node.row.id)
        documents.write(tx, node.row.id, node.text, cause="imported")
        if node.title and node.title != node.row.title:
            documents.update(tx, node.row.id, {"title": node.title})
    kept = [] if remove_missing else plan.missing
    for parent, children in _arrange(plan.nodes, ids, kept).items():
        for place, child in enumerate(children):
            tx.update_rows(document_rows, {"parent_id": parent, "place": place}, document_rows.c.id == child)
    if remove_missing:
        for row in reversed(plan.missing):
            tx.delete_rows(document_rows, document_rows.c.id == row.id)
    return _describe(plan)


def _make_plan(reading: ReadTransaction, book: ManuscriptDraft) -> _Plan:
    rows = sort_in_reading_order(reading.rows(document_rows))
    nodes = list(_list_nodes(book))
    _match(nodes, rows)
    matched = {node.row.id for node in nodes if node.row is not None}
    _find_moved(nodes, rows)
    return _Plan(nodes, [row for row in rows if row.id not in matched])


def _list_nodes(book: ManuscriptDraft) -> Iterator[_Node]:
    """List the documents of the file in reading order."""
    count = 0

    def walk(draft: DocumentDraft, parent: int | None, path: tuple[str, ...]) -> Iterator[_Node]:
        nonlocal count
        number, count = count, count + 1
        yield _Node(draft, parent, path, normalise(draft.text))
        for child in draft.children:
            yield from walk(child, number, (*path, draft.title.strip()))

    for draft in book.drafts:
        yield from walk(draft, None, ())


def _match(nodes: Sequence[_Node], rows: Sequence[Row[Any]]) -> None:
    """Find the stored document of each document of the file: by equal text, by similar text, by title."""
    titles = {row.id: row.title for row in rows}
    parents = {row.id: row.parent_id for row in rows}

    def path(row: Row[Any]) -> tuple[str, ...]:
        above, found = parents[row.id], []
        while above is not None:
            found.append(titles[above])
            above = parents[above]
        return tuple(reversed(found))

    paths = {row.id: path(row) for row in rows}
    free = {row.id: row for row in rows}

    def pair(
        node_keys: Iterable[tuple[_Node, Hashable]], row_keys: Iterable[tuple[Row[Any], Hashable]], unique: bool
    ) -> None:
        open_rows: dict[Hashable, list[Row[Any]]] = {}
        for row, key in row_keys:
            if row.id in free:
                open_rows.setdefault(key, []).append(row)
        waiting: dict[Hashable, list[_Node]] = {}
        for node, key in node_keys:
            if node.row is None:
                waiting.setdefault(key, []).append(node)
        for key, found in waiting.items():
            candidates = open_rows.get(key, [])
            if unique and (len(found) != 1 or len(candidates) != 1):
                continue
            for node, row in zip(found, candidates, strict=False):
                node.row = free.pop(row.id)

    with_text = [node for node in nodes if node.text.strip()]
    pair(((n, (n.path, n.title, n.text)) for n in nodes), ((r, (paths[r.id], r.title, r.text)) for r in rows), False)
    pair(((n, (n.title, n.text)) for n in with_text), ((r, (r.title, r.text)) for r in rows), False)
    pair(((n, n.text) for n in with_text), ((r, r.text) for r in rows), False)
    for node, row in _rank_similar([n for n in with_text if n.row is None], list(free.values())):
        if node.row is None and row.id in free:
            node.row = free.pop(row.id)
    titled = [node for node in nodes if node.title]
    pair(((n, (n.path, n.title)) for n in titled), ((r, (paths[r.id], r.title)) for r in rows), True)
    pair(((n, n.title) for n in titled), ((r, r.title) for r in rows), True)


def _rank_similar(nodes: Sequence[_Node], rows: Sequence[Row[Any]]) -> list[tuple[_Node, Row[Any]]]:
    """Pairs of similar texts, the most similar first; of equally similar ones, those with the same title."""
    pieces = [Counter(map(str.strip, _PIECE.findall(row.text))) for row in rows]
    where: dict[str, list[int]] = {}
    for number, found in enumerate(pieces):
        for piece in found:
            where.setdefault(piece, []).append(number)
    ranked: list[tuple[float, bool, int, int]] = []
    for at, node in enumerate(nodes):
        shared: Counter[int] = Counter()
        for piece, count in Counter(map(str.strip, _PIECE.findall(node.text))).items():
            for number in where.get(piece, ()):
                shared[number] += len(piece) * min(count, pieces[number][piece])
        for number, characters in shared.items():
            row = rows[number]
            similarity = 2 * characters / (len(node.text) + len(row.text))
            if similarity >= MIN_SIMILARITY:
                ranked.append((similarity, row.title == node.title, -at, -number))
    return [(nodes[-at], rows[-number]) for _, _, at, number in sorted(ranked, reverse=True)]


def _find_moved(nodes: Sequence[_Node], rows: Sequence[Row[Any]]) -> None:
    """Mark what stands below another document, or is outside the longest run that keeps its order."""
    ranks = {row.id: rank for rank, row in enumerate(rows)}
    matched = [node for node in nodes if node.row is not None]
    in_order = _find_longest_run([ranks[node.row.id] for node in matched if node.row is not None])
    for at, node in enumerate(matched):
        above = None if node.parent is None else nodes[node.parent]
        parent = None if above is None or above.row is None else above.row.id
        has_new_parent = above is not None and above.row is None
        assert node.row is not None
        node.is_moved = at not in in_order or has_new_parent or parent != node.row.parent_id


def _find_longest_run(ranks: Sequence[int]) -> set[int]:
    """The indices of a longest increasing subsequence."""
    tails: list[int] = []  # the smallest last rank of a run of each length
    last: list[int] = []  # its index
    before: list[int] = []
    for at, rank in enumerate(ranks):
        length = bisect_left(tails, rank)
        tails[length : length + 1] = [rank]
        last[length : length + 1] = [at]
        before.append(last[length - 1] if length else -1)
    run: set[int] = set()
    at = last[-1] if last else -1
    while at >= 0:
        run.add(at)
        at = before[at]
    return run


def _arrange(nodes: Sequence[_Node], ids: Sequence[str], kept: Sequence[Row[Any]]) -> dict[str | None, list[str]]:
    """The children of each document in their new order; a kept one follows what it followed before."""
    children: dict[str | None, list[str]] = {}
    for node, ident in zip(nodes, ids, strict=True):
        children.setdefault(None if node.parent is None else ids[node.parent], []).append(ident)
    stored = [node.row for node in nodes if node.row is not None]
    before = sorted([*stored, *kept], key=lambda row: (row.place, row.id))
    for row in sorted(kept, key=lambda row: (row.place, row.id)):
        siblings = children.setdefault(row.parent_id, [])
        earlier = [
            one.id for one in before if one.parent_id == row.parent_id and (one.place, one.id) < (row.place, row.id)
        ]
        follows = next((one for one in reversed(earlier) if one in siblings), None)
        siblings.insert(0 if follows is None else siblings.index(follows) + 1, row.id)
    return children


def _add(tx: WriteTransaction, node: _Node, parent: str | None) -> str:
    draft = node.draft
    ident = documents.add(tx, node.title, kind=draft.kind, text=node.text, parent=parent, notes=draft.notes)
    for beat in draft.beats:
        outline.add_beat(tx, ident, beat)
    synopses.insert_synopses(tx, {ident: Synopsis(draft.synopsis, "hand")})
    return ident


def _describe(plan: _Plan) -> ManuscriptUpdate:
    updates: list[DocumentUpdate] = []
    unchanged = 0
    for node in plan.nodes:
        row = node.row
        if row is None:
            updates.append(DocumentUpdate(kind=UpdateKind.NEW, title=node.title, new_length=len(node.text)))
            continue
        kinds = [UpdateKind.CHANGED] if node.is_changed else []
        kinds += [UpdateKind.MOVED] if node.is_moved else []
        unchanged += not kinds
        title = node.title or row.title
        old_title = row.title if row.title != title else ""
        lengths = {"old_length": len(row.text), "new_length": len(node.text)}
        updates += [DocumentUpdate(kind=kind, title=title, old_title=old_title, **lengths) for kind in kinds]
    missing = (
        DocumentUpdate(kind=UpdateKind.MISSING, title=row.title, old_length=len(row.text)) for row in plan.missing
    )
    matched = sum(node.row is not None for node in plan.nodes)
    return ManuscriptUpdate(updates=(*updates, *missing), unchanged=unchanged, matched=matched)
