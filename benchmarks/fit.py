"""Choosing among many fragments under a budget, beside the peers that do the same.

N = 1,000 and 5,000 texts at a 30 % budget, and the lumpy case: one text of 2,500 tokens in the middle
of many small ones, budget 2,600. Everybody counts with o200k_base. Cold means nothing was counted
before and includes building the peer's own objects; loading a vocabulary is left out for all.

    make bench, or: python -m benchmarks.fit [--slow] [--json]
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from statistics import median

from benchmarks.figures import arguments, milliseconds, report, show, timed
from fabula.context import Engine, EngineSettings, Fragment, Layer, Limits, Project, Request, Result, View
from fabula.text.tokens.tokenizer import load_encoding

PROJECT = "bench"
LUMPY_BUDGET, LUMP = 2600, 2500
_SAID = (
    "the harbour lamp was lit at dusk and a boat came in slowly with its sail down while the keeper wrote "
    "figures into the log by the window where his daughter used to sit and count the waves until she slept"
)
_WORDS = _SAID.split()
_PEERS = Path(__file__).parent / "peers"
Items = list[tuple[str, float]]


def items(number: int, seed: int = 7) -> Items:
    """Texts of 30 to 120 words, each with a priority of its own."""
    random = Random(seed)
    ranks = list(range(number))
    random.shuffle(ranks)
    return [
        (" ".join(random.choices(_WORDS, k=random.randint(30, 120))) + f" {n}", 0.1 + 0.6 * rank / number)
        for n, rank in enumerate(ranks)
    ]


def lumpy(small: int = 80, seed: int = 3) -> Items:
    """One text of 2,500 tokens with as many small ones above it as below it."""
    random = Random(seed)
    count = load_encoding("o200k_base").count
    pieces: Items = []
    for n in range(small):
        text = " ".join(random.choices(_WORDS, k=36)) + f" {n}"
        pieces.append((text, 0.7 * (n + 1) / (small + 1)))
    lump = " ".join(random.choices(_WORDS, k=LUMP))
    while count(lump) > LUMP:
        lump = lump.rsplit(" ", 1)[0]
    # About 840 tokens of small ones rank above the large one, as in the known case.
    return [*pieces, (lump, 0.7 * (small - 20) / (small + 1) + 1e-6)]


class Fitter:
    """Fabula on the task: fragments in, a prompt out, all steps included."""

    def __init__(self) -> None:
        limits = Limits(input_tokens=10_000_000, retrieved_chunks=1_000_000)
        self.engine = Engine(settings=EngineSettings(limits=limits))
        self.view = View(Project(id=PROJECT, identity="Fit."))

    def run(self, fragments: Sequence[Fragment], budget: int) -> Result:
        """One whole assembly."""
        request = Request(project_id=PROJECT, recipe="plain", model="gpt-4o", window=budget, reply_tokens=0)
        return self.engine.assemble(request, self.view, fragments=fragments)


def fragments(texts: Items) -> list[Fragment]:
    """The texts as fragments of the retrieved layer."""
    return [
        Fragment(source=f"search:{n}", layer=Layer.RETRIEVED, text=text, project_id=PROJECT, score=priority)
        for n, (text, priority) in enumerate(texts)
    ]


def cold(texts: Items, budget: int) -> tuple[float, Result]:
    """Fresh fragments, a fresh engine, no count remembered."""
    load_encoding("o200k_base").clear_cache()
    fitter = Fitter()
    found: list[Result] = []
    ms = milliseconds(lambda: found.append(fitter.run(fragments(texts), budget)))
    return ms, found[0]


def warm(texts: Items, budget: int) -> float:
    """The same fragments again."""
    fitter, pieces = Fitter(), fragments(texts)
    fitter.run(pieces, budget)
    return median(timed([partial(fitter.run, pieces, budget)] * 9))


def prompt_tsx(texts: Items, budget: int, shape: str, repeat: int = 1) -> tuple[float, int] | None:
    """`@vscode/prompt-tsx` in Node: time and tokens used; None when Node's packages are not installed."""
    if not (_PEERS / "node_modules").is_dir():
        return None
    task = {
        "items": [{"text": text, "priority": round(priority * 1e6)} for text, priority in texts],
        "budget": budget,
        "repeat": repeat,
        "shape": shape,
    }
    done = subprocess.run(
        ["node", "prompt_tsx.mjs"], cwd=_PEERS, input=json.dumps(task), capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    return median(answer["ms"]), answer["used"]


def python_peers(texts: Items, budget: int, *, slow: bool) -> list[tuple[str, float, int]]:
    """langchain-core and llama-index-core, where installed. The latter is quadratic: minutes at 5,000."""
    if find_spec("langchain_core") is None or find_spec("llama_index") is None:
        return []
    from benchmarks.peers.python_peers import PeerRun, chat_memory_buffer, trim_messages

    peers: list[Callable[[Items, int], PeerRun]] = [trim_messages]
    if slow or len(texts) <= 1000:
        peers.append(chat_memory_buffer)
    return [(run.name, run.ms, run.used) for run in (peer(texts, budget) for peer in peers)]


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--slow", action="store_true", help="also the peer that takes minutes at 5,000")
    options = parser.parse_args()
    count = load_encoding("o200k_base").count
    figures: dict[str, float] = {}
    for number in (1000, 5000):
        texts = items(number)
        budget = sum(count(text) for text, _ in texts) * 3 // 10
        hot = warm(texts, budget)
        times, result = zip(*(cold(texts, budget) for _ in range(5)), strict=True)
        first = median(times)
        used = result[0].layers[Layer.RETRIEVED].tokens
        rows: list[tuple[str, float, int]] = [("Fabula, warm", hot, used), ("Fabula, cold", first, used)]
        for shape in ("chunks", "messages"):
            peer = prompt_tsx(texts, budget, shape)
            if peer is not None:
                rows.append((f"prompt-tsx, {shape}", *peer))
                figures[f"ratio_prompt_tsx_{number}" + ("" if shape == "chunks" else "_messages")] = peer[0] / first
        rows += python_peers(texts, budget, slow=options.slow)
        _table(f"{number:,} fragments, budget {budget:,}", rows, budget, first)
        figures |= {f"fit_{number}_ms": hot, f"fit_{number}_cold_ms": first, f"fill_{number}": used / budget}
    texts = lumpy()
    hot, (first, told) = warm(texts, LUMPY_BUDGET), cold(texts, LUMPY_BUDGET)
    used = told.layers[Layer.RETRIEVED].tokens
    rows = [("Fabula, warm", hot, used), ("Fabula, cold", first, used)]
    for shape in ("chunks", "messages"):
        peer = prompt_tsx(texts, LUMPY_BUDGET, shape, repeat=5)
        if peer is not None:
            rows.append((f"prompt-tsx, {shape}", *peer))
    rows += python_peers(texts, LUMPY_BUDGET, slow=True)
    _table(f"one text of {LUMP:,} tokens among small ones, budget {LUMPY_BUDGET:,}", rows, LUMPY_BUDGET, first)
    figures["lumpy_used"] = used
    if "ratio_prompt_tsx_5000" not in figures:
        print("prompt-tsx is not installed, so there is no ratio to it; `make bench` installs the peers.")
    report(figures, as_json=options.json)


def _table(title: str, rows: list[tuple[str, float, int]], budget: int, ours: float) -> None:
    show(
        title,
        ("who", "ms", "times Fabula cold", "tokens used", "of budget"),
        [(name, ms, ms / ours, used, f"{100 * used / budget:.1f} %") for name, ms, used in rows],
    )


if __name__ == "__main__":
    main()
