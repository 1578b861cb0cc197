"""Kin: words near in meaning, by everyday knowledge.

Whoever asks about a pet may be answered with a dog, and what one calls a trip another calls a journey. The list
is short and general; it widens a question, and counts less than the words of the question itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from fabula.text.stemmer import root

KINDS = 0.7  # how near a kind is to what it is a kind of; words of one ring are as near as can be


@cache
def kin() -> Mapping[str, Mapping[str, float]]:
    """For each root, the roots that may stand for it, and how nearly."""
    related: dict[str, dict[str, float]] = {}
    for line in files("fabula.text").joinpath("synonyms.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            ring, _, kinds = line.partition(":")
            heads = [root(word) for word in ring.split()]
            for head in heads:
                near = related.setdefault(head, {})
                near.update((other, 1.0) for other in heads if other != head)
                for kind in map(root, kinds.split()):
                    if kind != head:
                        near.setdefault(kind, KINDS)
    return related
