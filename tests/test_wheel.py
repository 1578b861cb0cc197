"""The wheel, installed into an empty environment, gives a `fabula` command that works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(*command: str | Path, folder: Path) -> str:
    environment = {**os.environ, "FABULA_DATA": str(folder / "data")}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_in_an_empty_environment_assembles_a_sample(tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "-q", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path / "dist", ROOT, folder=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "empty", folder=tmp_path)
    python = tmp_path / "empty" / "bin" / "python"
    run(*pip, "--python", python, "install", "--no-compile", wheel, folder=tmp_path)
    fabula = tmp_path / "empty" / "bin" / "fabula"
    assert "assemble" in run(fabula, "--help", folder=tmp_path)
    assert "[Writing constraints - do not break]" in run(
        fabula, "assemble", "sample:lantern_coast", "--document", "ch-03", "--quiet", folder=tmp_path
    )
    assert "No projects yet" in run(fabula, "projects", folder=tmp_path)
