"""Programs that take a key in a process of their own, to be killed: `python -m tests.responses.workers NAME STORE`."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

from fabula.manuscript import projects
from fabula.responses.keys import KeyLease, claim_key
from fabula.store.store import Store
from fabula.workspace.responses import ResponseLog

ROOT = Path(__file__).parents[2]
LEASE_SECONDS = 2.0


def start(name: str, address: str) -> subprocess.Popen[str]:
    """Run one of the programs below; a line says how far it is."""
    command = [sys.executable, "-m", "tests.responses.workers", name, address]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def take_key(store: Store) -> KeyLease:
    with store.write(user="ann") as tx:
        lease = claim_key(tx, "k", "f", lease_seconds=LEASE_SECONDS)
    assert isinstance(lease, KeyLease)
    return lease


def print_and_wait(word: str) -> None:
    os.write(1, f"{word}\n".encode())
    time.sleep(60)


async def change(store: Store) -> None:
    async with ResponseLog(store).hold("ann", take_key(store)):
        projects.create(store, "Made once")
        print_and_wait("changed")


def main() -> None:
    name, address = sys.argv[1:]
    store = Store.open(address)
    if name == "claim":
        take_key(store)
        print_and_wait("claimed")
    else:
        asyncio.run(change(store))


if __name__ == "__main__":
    main()
