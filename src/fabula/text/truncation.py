"""Cut a text to a size: to one line, to a number of tokens, or into chunks."""

from __future__ import annotations

from itertools import pairwise

from fabula.text.sentences import find_sentence_starts
from fabula.text.tokens.paragraphs import Paragraphs
from fabula.text.tokens.tokenizer import Tokenizer
from fabula.text.windows import BLOCK_SEPARATOR


def shorten_to_line(text: str, max_characters: int) -> str:
    """A text as one line without line breaks; an ellipsis shows where it was cut."""
    line = " ".join(text.split())
    return line if len(line) <= max_characters else line[: max_characters - 1].rstrip() + "…"


def truncate_to_tokens(text: str, tokenizer: Tokenizer, max_tokens: int) -> str:
    """The longest beginning of a text that fits, by paragraphs, then by sentences; "" if none does."""
    if tokenizer.count(text + BLOCK_SEPARATOR) <= max_tokens:
        return text
    for ends in (list(Paragraphs(text).starts[1:]), find_sentence_starts(text)[1:]):
        fitting = [end for end in ends if tokenizer.count(text[:end].rstrip() + BLOCK_SEPARATOR) <= max_tokens]
        if fitting:
            return text[: fitting[-1]].rstrip()
    return ""


def split_into_chunks(text: str, tokenizer: Tokenizer, max_tokens: int) -> list[str]:
    """A text cut between paragraphs so that each chunk fits; a paragraph too long is cut anywhere."""
    paragraphs = Paragraphs(text)
    edges = [*paragraphs.starts, len(text)]
    chunks: list[str] = []
    first, used = edges[0], 0
    for number, (start, end) in enumerate(pairwise(edges)):
        tokens = paragraphs.count_tokens(tokenizer, number, number + 1)
        if used and used + tokens > max_tokens:
            chunks.append(text[first:start])
            first, used = start, 0
        if tokens > max_tokens:
            step = max(max_tokens // 2, 1)  # characters: hardly any costs more than two tokens
            chunks += [text[at : min(at + step, end)] for at in range(start, end, step)]
            first = end
        else:
            used += tokens
    chunks.append(text[first:])
    return [chunk for chunk in chunks if chunk.strip()]
