"""How long it takes to start: importing the engine and the package, `fabula --help`, and the first small command.

Every figure is the best of several processes, since a busy machine only ever adds time. `python_s` is an empty
process. `projects_ratio` is the time of `fabula projects` over that of importing sqlalchemy, typer and rich, in turns
in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

ROUNDS = 7


def measure(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Return the seconds that one process takes."""
    begun = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=dict(environment))
    return time.perf_counter() - begun


def main() -> None:
    """Measure, and print a line a figure or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    python = sys.executable
    fabula = [python, "-m", "fabula.cli.main"]
    commands = {
        "python": [python, "-c", "pass"],
        "context": [python, "-c", "from fabula.context import Engine"],
        "fabula": [python, "-c", "import fabula"],
        "help": [*fabula, "--help"],
        "projects": [*fabula, "projects"],
        "libraries": [python, "-c", "import sqlalchemy, typer, rich"],
    }
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "FABULA_DATA": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
        for command in commands.values():  # the first time compiles the modules and makes the store
            measure(command, environment)
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                times[name].append(measure(command, environment))
    best = {name: min(found) for name, found in times.items()}
    figures = {
        "import_context_s": round(best["context"] - best["python"], 3),
        "import_fabula_s": round(best["fabula"] - best["python"], 3),
        "help_s": round(best["help"], 3),
        "projects_ratio": round(best["projects"] / best["libraries"], 3),
        "python_s": round(best["python"], 3),
    }
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:<18} {value}")


if __name__ == "__main__":
    main()
