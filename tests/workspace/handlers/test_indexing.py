"""The index made beforehand, and the vectors where a project is searched by meaning."""

from __future__ import annotations

import pytest

from fabula.jobs import queue as service
from fabula.jobs.model import State
from fabula.jobs.triggers.documents import INDEX
from fabula.manuscript import documents
from fabula.search.embeddings import dense
from fabula.search.embeddings.passage_vectors import folder_of
from fabula.settings import edits as settings
from fabula.store.store import Store
from fabula.workspace.views import Library
from tests.search.embeddings.test_embedder import Thesaurus
from tests.workspace.handlers.background import TEXT, jobs_of, run_due


@pytest.mark.parametrize("chosen", [None, "local"])
def test_vectors_are_made_beforehand_where_the_project_is_searched_by_meaning(
    chosen: str | None, store: Store, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "local", Thesaurus)
    with store.write(project="p") as tx:
        documents.add(tx, "One", document_id="one", text=TEXT * 3)
        service.queue(tx, INDEX, f"{INDEX}:search")
        if chosen is not None:
            settings.put(tx, "search.embedding", chosen)
    run_due(store, library)
    assert jobs_of(store)["index:search"].state is State.DONE
    there = folder_of("p")
    assert bool(there.exists() and any(path.is_file() for path in there.rglob("*"))) is (chosen is not None)
