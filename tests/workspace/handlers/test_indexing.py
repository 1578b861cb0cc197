"""The index made beforehand, and the vectors where a project is searched by meaning."""

from __future__ import annotations

import pytest

from fabula.jobs import queue as service
from fabula.jobs.model import JobState
from fabula.jobs.triggers.documents import INDEX_JOB
from fabula.manuscript import documents
from fabula.search.embeddings import embedder as dense
from fabula.search.embeddings.passage_vectors import vector_folder
from fabula.settings import edits as settings
from fabula.store.store import Store
from fabula.workspace.views import ProjectViews
from tests.search.embeddings.test_semantic_search import Thesaurus
from tests.workspace.handlers.background import TEXT, list_jobs, run_due


@pytest.mark.parametrize("chosen", [None, "local"])
def test_vectors_are_made_beforehand_where_the_project_is_searched_by_meaning(
    chosen: str | None, store: Store, library: ProjectViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "load_local_model", Thesaurus)
    with store.write(project="p") as tx:
        documents.add(tx, "One", document_id="one", text=TEXT * 3)
        service.enqueue(tx, INDEX_JOB, f"{INDEX_JOB}:search")
        if chosen is not None:
            settings.set_value(tx, "search.embedding", chosen)
    run_due(store, library)
    assert list_jobs(store)["index:search"].state is JobState.DONE
    there = vector_folder("p")
    assert bool(there.exists() and any(path.is_file() for path in there.rglob("*"))) is (chosen is not None)
