"""Backups, revisions, leases, recaps and budgets in a process whose clock is a year ahead, a year back, or jumps.

Each run is a child process. Its clock is always patched in Python; where Debian's libfaketime is there (`make test`
fetches it), every run is made a second time with it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FOUND = [
    *Path("/usr/lib").glob("*/faketime/libfaketime.so.1"),
    *(ROOT / ".venv" / "faketime").glob("usr/lib/*/faketime/libfaketime.so.1"),
]
CLOCKS = ["patched", *(["libfaketime"] if FOUND else [])]


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("scenario", ["backups", "revisions", "leases", "payments", "recaps", "budgets", "order"])
def test_a_wrong_clock_costs_nothing(scenario: str, clock: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TRUE_TIME": str(time.time())}
    if clock == "libfaketime":
        offset = tmp_path / "offset"
        offset.write_text("+0", encoding="ascii")
        environment |= {
            "LD_PRELOAD": str(FOUND[0]),
            "FAKETIME_TIMESTAMP_FILE": str(offset),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }
    command = [sys.executable, "-m", "tests.clock.scenarios", scenario, str(tmp_path)]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
