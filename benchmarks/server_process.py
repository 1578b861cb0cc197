"""The server process that `benchmarks.server_kills` kills: `fabula serve` with jobs whose effect can be counted.

python -m benchmarks.server_process ADDRESS PORT
"""

from __future__ import annotations

import sys
import time
from random import uniform

from fabula.jobs.cancellation import CancellationToken
from fabula.jobs.model import Job, JobKind, JobOutcome
from fabula.jobs.worker import Worker
from fabula.manuscript import documents
from fabula.server.serving import serve
from fabula.workspace.workspace import Workspace

KIND = "note"
LEASE_SECONDS = 3.0


def add_document(job: Job, token: CancellationToken) -> JobOutcome:
    """Work for a moment, and add a document that is called like the job."""
    time.sleep(uniform(0.02, 0.3))
    token.raise_if_cancelled()
    return JobOutcome(write=lambda tx: documents.add(tx, job.key))


def main() -> None:
    """Serve until the process is stopped or killed."""
    address, port = sys.argv[1:]
    kind = JobKind(handler=add_document, max_tries=1_000, first_delay=0.1, breaker_threshold=1_000)
    with (
        Workspace.open(address) as workspace,
        Worker(workspace.store, {KIND: kind}, lease_seconds=LEASE_SECONDS, poll_seconds=0.2),
    ):
        serve(workspace, port=int(port), on_ready=lambda _: print("ready", flush=True))


if __name__ == "__main__":
    main()
