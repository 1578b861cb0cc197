"""The facts job: a model looks for facts in a document, and each must quote its sentence (cdx-10).

The model reads the names of the entries that the document mentions and its text, and nothing else. What it answers is
held against the text: a sentence that is not there, or that does not stand beside the name it is listed under, is
dropped. Without names there is nothing to ask for. In a text that was read before, the model is asked only about
entries that it was not asked about. A job for all documents asks nothing: it enqueues one job for each document that
mentions such entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from fabula.codex import Codex
from fabula.codex.entry import Entry
from fabula.codex.facts import Quotation
from fabula.codex.facts.find import make_fact_names
from fabula.codex.facts.quotations import MAX_QUOTATIONS, find_asked, find_quotations, store_quotations
from fabula.core.errors import Code, FabulaError
from fabula.core.messages import join_names, message
from fabula.core.view import View
from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import Job, JobOutcome
from fabula.jobs.triggers.facts import queue_facts
from fabula.manuscript.model import Manuscript, hash_text
from fabula.manuscript.synopses.plan import ChapterSynopses
from fabula.manuscript.tables import documents
from fabula.skills.structured_answer import parse_rows
from fabula.store.transaction import WriteTransaction
from fabula.text.names.disambiguation import resolve_mentions
from fabula.workspace.handlers.background_model import BackgroundModel, find_background_model
from fabula.workspace.views import ProjectViews

SKILL = "facts"
MAX_NAMES = 60  # of entries that the model is told, the most mentioned ones
MAX_CHUNKS = 8  # of one document that the model reads
MAX_ANSWERS = 30  # facts of one answer that are looked at


def collect_quotations(views: ProjectViews, job: Job, token: CancellationToken) -> JobOutcome:
    """Ask the background model for facts in a document, and store those whose sentences it has."""
    view, document_id = views.view(job.project_id), str(job.work.get("document", ""))
    manuscript, codex = view.snapshot(Manuscript), view.snapshot(Codex)
    if manuscript is None or codex is None:
        return JobOutcome()
    if not document_id:
        return _queue_documents(views, job.project_id, manuscript, codex, token)
    document = manuscript.by_id.get(document_id)
    if document is None:
        return JobOutcome()
    source_hash, named = hash_text(document.text), _find_named(codex, document.text)
    with views.store.read(project=job.project_id) as reading:
        known = find_asked(reading, document_id, source_hash, [one.id for one in named])
    entries = [one for one in named if one.id not in known.ids]
    model = find_background_model(views, job.project_id, token) if entries else None
    if model is None:
        return JobOutcome()
    by_name = _map_names(entries)
    found = dict.fromkeys(known.quotations)
    for chunk in model.split_text(document.text)[:MAX_CHUNKS]:
        rows = _ask_model(model, entries, chunk, document_id, view)
        offered = [one for row in rows[:MAX_ANSWERS] if (one := _read_quotation(row, by_name)) is not None]
        for quoted in find_quotations(document.text, offered, codex.name_matcher, make_fact_names(codex.entries)):
            found.setdefault(Quotation(quoted.entry_id, quoted.quote(document.text)))
        token.raise_if_cancelled()

    def store(tx: WriteTransaction) -> None:
        if tx.row(documents, id=document_id) is not None:
            asked = known.ids.union(one.id for one in entries)
            store_quotations(tx, document_id, list(found)[:MAX_QUOTATIONS], source_hash, asked)

    return JobOutcome(write=store)


def _queue_documents(
    views: ProjectViews, project_id: str, manuscript: Manuscript, codex: Codex, token: CancellationToken
) -> JobOutcome:
    """Enqueue a job for each document that mentions entries about which no model was asked.

    A chapter without a synopsis, or with an extracted one, waits until the model has summarised it.
    """
    found: list[str] = []
    with views.store.read(project=project_id) as reading:
        for chapter in ChapterSynopses.for_manuscript(manuscript).chapters:
            synopsis = chapter.stored_synopsis
            for document in chapter.documents if synopsis is not None and not synopsis.is_extract else ():
                named = [one.id for one in _find_named(codex, document.text)]
                if not find_asked(reading, document.id, hash_text(document.text), named).ids.issuperset(named):
                    found.append(document.id)
            token.raise_if_cancelled()
    return JobOutcome(write=partial(queue_facts, documents=found))


def _find_named(codex: Codex, text: str) -> list[Entry]:
    """The entries that a text surely names, the most mentioned ones first."""
    names, counts = make_fact_names(codex.entries), dict[str, int]()
    for mention in resolve_mentions(match for match in codex.name_matcher.find(text) if match.is_certain):
        if mention.is_certain and names.is_known(mention):
            counts[mention.owners[0]] = counts.get(mention.owners[0], 0) + 1
    return [codex.by_id[ident] for ident in sorted(counts, key=lambda ident: -counts[ident])[:MAX_NAMES]]


def _map_names(entries: Iterable[Entry]) -> Mapping[str, Entry]:
    """Entries by their names in lower case; a name of several means the first one."""
    found: dict[str, Entry] = {}
    for entry in entries:
        for name in (entry.name, *entry.aliases):
            found.setdefault(name.casefold(), entry)
    return found


def _ask_model(
    model: BackgroundModel, entries: Iterable[Entry], text: str, document_id: str, view: View
) -> Sequence[Mapping[str, object]]:
    names = message("Names: {names}", names=join_names(list(dict.fromkeys(one.name for one in entries))))
    asked = f"{names.render(view.project.language)}\n\n{text}"
    rows = parse_rows(model.run_skill(SKILL, asked, document_id=document_id), "facts")
    if rows is None:
        raise FabulaError(
            Code.LLM_ANSWER_INVALID,
            message("The model did not answer with a readable list of facts. Nothing was changed."),
        )
    return rows


def _read_quotation(row: Mapping[str, object], entries: Mapping[str, Entry]) -> Quotation | None:
    name, quote = row.get("name"), row.get("quote")
    if not isinstance(name, str) or not isinstance(quote, str):
        return None
    entry = entries.get(name.strip().casefold())
    return None if entry is None else Quotation(entry.id, quote)
