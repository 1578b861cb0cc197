"""The limit of open files of a server."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import resource
from fabula.server.open_files import raise_file_limit
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
most = min(most, 500)
resource.setrlimit(resource.RLIMIT_NOFILE, (most // 2, most))
raise_file_limit()
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_server_may_open_as_many_files_as_the_system_lets_it() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)
