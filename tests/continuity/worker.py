"""A process that records and commits assemblies: `python -m tests.continuity.worker ADDRESS PROJECT NAME`."""

from __future__ import annotations

import sys

from fabula.context.continuity import Continuity
from fabula.continuity import edits
from fabula.store.store import Store
from tests.continuity.test_edits import CHAPTER, record_assembly


def main(address: str, project: str, name: str) -> None:
    """Thirty assemblies, each recorded and then committed in a transaction of its own."""
    store = Store.open(address)
    for number in range(30):
        with store.write(project=project) as tx:
            assembly_id = record_assembly(tx, CHAPTER, name, Continuity(prefix_hash=f"{name}-{number}"))
        with store.write(project=project) as tx:
            edits.commit_assembly(tx, assembly_id)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
