"""Partial files: those of killed programs are deleted, those of living ones stay."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fabula.core.errors import Code, FabulaError
from fabula.core.new_files import create_temporary
from fabula.core.partial_files import MIN_AGE, hold_partial, sweep_partials
from fabula.formats.safe.files import write_file

_CHILD = """
import sys, time
from fabula.core.errors import Code, FabulaError
from fabula.core.new_files import create_temporary
from fabula.core.partial_files import hold_partial
file = open(sys.argv[1], "wb"); hold_partial(file); print("held", flush=True); time.sleep(600)
"""


def _make_old(path: Path) -> None:
    long_ago = time.time() - 2 * MIN_AGE
    os.utime(path, (long_ago, long_ago))


def test_the_partial_file_of_a_killed_run_is_swept_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / ".save-1.part"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", _CHILD, str(path)], stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == b"held"
        _make_old(path)
        assert sweep_partials(tmp_path, ".save-*.part") == 0
        child.kill()
    assert path.exists()
    assert sweep_partials(tmp_path, ".save-*.part") == 1
    assert not path.exists()


def test_a_young_file_and_other_names_stay(tmp_path: Path) -> None:
    young, other = tmp_path / ".save-2.part", tmp_path / "chapter.part"
    for path in (young, other):
        path.write_bytes(b"")
    _make_old(other)
    assert sweep_partials(tmp_path, ".save-*.part") == 0
    with young.open("wb") as held:
        hold_partial(held)
        _make_old(young)
        assert sweep_partials(tmp_path, "*.part") == 1, "only the other, which nobody holds"
    assert young.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes of this kind")
def test_a_pipe_with_the_name_of_a_partial_file_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / ".save-3.part"
    os.mkfifo(pipe)
    _make_old(pipe)
    assert sweep_partials(tmp_path, ".save-*.part") == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes of this kind")
def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "book.md"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="pipe"):
        create_temporary(pipe, prefix=".book.")
    with pytest.raises(FabulaError) as refused:
        write_file(b"words", pipe, overwrite=True)
    assert refused.value.code is Code.EXPORT_REFUSED
    assert [*tmp_path.iterdir()] == [pipe]
    assert pipe.is_fifo()
