"""Timing and printing, the same way in every benchmark."""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import quantiles

from rich.console import Console
from rich.table import Table


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all stay under."""
    if len(values) == 1:
        return values[0]
    return quantiles(values, n=1000, method="inclusive")[min(int(share * 1000), 999) - 1]


def milliseconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1000


def timed(calls: Sequence[Callable[[], object]]) -> list[float]:
    """Each call's time, with the garbage collector out of the way only before, not during."""
    gc.collect()
    return [milliseconds(call) for call in calls]


def loop_ms() -> float:
    """How long a plain loop of 300,000 additions takes now, at best: what this machine is worth at the moment."""

    def loop() -> None:
        total = 0
        for number in range(300_000):
            total += number

    return min(milliseconds(loop) for _ in range(5))


def arguments(about: str, *, data: bool = True) -> argparse.ArgumentParser:
    """The options every benchmark has."""
    parser = argparse.ArgumentParser(description=about)
    if data:
        parser.add_argument(
            "--data", type=Path, help="chapters.jsonl with real novels; without it, the samples repeated"
        )
    parser.add_argument("--json", action="store_true", help="last line: one JSON object with the figures")
    return parser


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on the terminal."""
    table = Table(*columns, title=title, title_justify="left")
    for row in rows:
        table.add_row(*(f"{cell:,.3f}" if isinstance(cell, float) else str(cell) for cell in row))
    Console().print(table)


def report(figures: Mapping[str, float], *, as_json: bool) -> None:
    """The figures by their names; with `--json` as the last line."""
    if as_json:
        print(json.dumps({key: round(value, 4) for key, value in figures.items()}))
    else:
        show("figures", ("name", "value"), [(key, float(value)) for key, value in figures.items()])
