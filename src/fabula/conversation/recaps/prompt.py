"""The text of recaps: the transcript that the model reads, and the check of its answer (cnv-6).

An answer that is empty or only repeats its input is refused: the messages are stored already, and a recap that
repeats them would fill prompts twice. An answer that is too long is cut at the end of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from fabula.conversation.model import get_prompt_text
from fabula.conversation.participants import base_id
from fabula.conversation.recaps.model import TranscriptLine
from fabula.conversation.recaps.rounds import Round
from fabula.conversation.tables import messages, participants
from fabula.core.errors import Code, FabulaError
from fabula.core.fragment import Role
from fabula.core.messages import ENGLISH, Sentence, message
from fabula.core.view import Language
from fabula.store.transaction import ReadTransaction
from fabula.text.offsets import normalise
from fabula.text.sentences import find_sentence_starts

MAX_INPUT_CHARS = 12_000  # that the model reads
_MIN_LINE_CHARS = 120  # of one message, when there are many
_QUERY_SIZE = 500  # messages read in one query
_TEXT_COLUMNS = ("id", "content", "content_hash", "before", "extra")
_BREAK = re.compile(r"[\s,;:，；：、—。！？…]")
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")
_ROLES: dict[Role, Sentence] = {"user": message("User"), "assistant": message("Assistant"), "system": message("System")}


def load_transcript(
    reading: ReadTransaction, rounds: Iterable[Round], language: Language
) -> tuple[TranscriptLine, ...] | None:
    """Load the public messages of these rounds with the names of the speakers; None if a message has changed."""
    public = [heard for one in rounds for heard in one.messages if heard.is_public]
    hashes = {heard.id: heard.content_hash for heard in public}
    texts: dict[str, str] = {}
    for start in range(0, len(public), _QUERY_SIZE):
        ids = [heard.id for heard in public[start : start + _QUERY_SIZE]]
        rows = reading.rows(messages, messages.c.id.in_(ids), only=_TEXT_COLUMNS)
        texts |= {
            row.id: get_prompt_text(row.content, row.before, row.extra).strip()
            for row in rows
            if row.content_hash == hashes[row.id]
        }
    if len(texts) < len(public):
        return None
    names = {row.id: row.name for row in reading.rows(participants, only=("id", "name"))}
    lines = []
    for heard in public:
        if text := texts[heard.id]:
            speaker = _find_name(heard.speaker, names) or _ROLES[heard.role].render(language)
            lines.append(TranscriptLine(speaker, text))
    return tuple(lines)


def _find_name(speaker: str, names: dict[str, str]) -> str:
    """Return the last known name of a speaker, or the key of the id."""
    try:
        ident = base_id(speaker)
    except FabulaError:
        return speaker.strip()
    return names.get(ident) or ident.partition(":")[2]


def shorten_transcript(lines: Sequence[TranscriptLine]) -> tuple[TranscriptLine, ...]:
    """Shorten a transcript: keep the first and last lines, and the beginning and end of long lines."""
    if sum(len(line.render(ENGLISH)) for line in lines) <= MAX_INPUT_CHARS:
        return tuple(lines)
    max_lines = MAX_INPUT_CHARS // _MIN_LINE_CHARS
    kept = lines if len(lines) <= max_lines else (*lines[: max_lines // 2], *lines[-(max_lines // 2) :])
    max_chars = MAX_INPUT_CHARS // len(kept)
    return tuple([TranscriptLine(line.speaker, _cut_middle(line.text, max_chars)) for line in kept])


def check_answer(answer: object, max_chars: int, *, sources: Sequence[str]) -> str:
    """Check an answer and return the text to store; raise an error if it only repeats the sources."""
    text = normalise(answer).strip() if isinstance(answer, str) else ""
    if not _keep_letters(text):
        raise FabulaError(Code.LLM_ANSWER_INVALID, message("The answer is empty."))
    if "\x00" in text:
        raise FabulaError(Code.LLM_ANSWER_INVALID, message("The answer is not a text."))
    known = _keep_letters("".join(sources))
    if all(_keep_letters(sentence) in known for sentence in _split_sentences(text)):
        raise FabulaError(Code.LLM_ANSWER_INVALID, message("The answer only repeats what was said."))
    return cut_at_sentence(text, max_chars)


def cut_at_sentence(text: str, max_chars: int) -> str:
    """Cut a text at the last end of a sentence within the limit, or else between words and with an ellipsis."""
    if len(text) <= max_chars:
        return text
    ends = [kept for start in find_sentence_starts(text) if 0 < len(kept := text[:start].rstrip()) <= max_chars]
    if ends:
        return ends[-1]
    limit = max_chars - 1
    gaps = [found.start() for found in _BREAK.finditer(text, 1, limit + 1)]
    return text[: gaps[-1] if gaps else limit].rstrip() + "…"


def _split_sentences(text: str) -> list[str]:
    starts = [*find_sentence_starts(text), len(text)]
    return [text[start:end] for start, end in pairwise(starts)]


def _keep_letters(text: str) -> str:
    """Return only the letters and digits of a text, for comparison."""
    return _NOT_ALPHANUMERIC.sub("", text).casefold()


def _cut_middle(text: str, max_chars: int) -> str:
    if len(text) <= max_chars:
        return text
    half = (max_chars - 3) // 2
    return f"{text[:half].rstrip()} … {text[-half:].lstrip()}"
