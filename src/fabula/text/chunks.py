"""A long text in pieces, each of which fits: for whoever can look at only so much of it at a time."""

from __future__ import annotations

from itertools import pairwise

from fabula.text.tokens.paragraphs import Paragraphs
from fabula.text.tokens.tokenizer import Tokenizer


def pieces(text: str, tokenizer: Tokenizer, room: int) -> list[str]:
    """A text cut between paragraphs, so that each piece fits; a paragraph too long is cut wherever it must be."""
    paragraphs = Paragraphs(text)
    edges = [*paragraphs.starts, len(text)]
    found: list[str] = []
    first, spent = edges[0], 0
    for number, (start, end) in enumerate(pairwise(edges)):
        cost = paragraphs.tokens(tokenizer, number, number + 1)
        if spent and spent + cost > room:
            found.append(text[first:start])
            first, spent = start, 0
        if cost > room:
            step = max(room // 2, 1)  # characters: hardly any costs more than two tokens
            found += [text[at : min(at + step, end)] for at in range(start, end, step)]
            first = end
        else:
            spent += cost
    found.append(text[first:])
    return [piece for piece in found if piece.strip()]
