"""The index job: build the search index of a project, and its vectors where it is searched by meaning.

Both go to the cache of this machine.
"""

from __future__ import annotations

from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import Job, JobOutcome
from fabula.search.corpus import Corpus
from fabula.search.embeddings.choice import EmbeddingChoice
from fabula.workspace.views import ProjectViews


def build_search_index(views: ProjectViews, job: Job, token: CancellationToken) -> JobOutcome:
    """Build the search index and, where embeddings are used, the vectors of all passages."""
    view = views.view(job.project_id)
    corpus = view.snapshot(Corpus)
    if corpus is None:
        return JobOutcome()
    index = corpus.build_index(lambda _done, _total: token.raise_if_cancelled())
    choice = EmbeddingChoice()
    try:
        search = choice.resolve(view).search
        if search is not None:
            search.fill(job.project_id, index, lambda _done, _total: token.raise_if_cancelled())
    finally:
        choice.close()
    return JobOutcome()
