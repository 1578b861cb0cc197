"""Count tokens with the vocabulary inside a GGUF file, and with its chat template (bud-2).

A GGUF file begins with its metadata, among them the vocabulary and the chat template of the model. Only that part is
read, and never the weights. A byte-level vocabulary is handed to `splintr` in the form of a Hugging Face tokenizer. Of
a vocabulary of another kind every byte counts as a token, which is never too low.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from fabula.core.regular_files import open_regular_file
from fabula.text.bounded_cache import BoundedTextCache
from fabula.text.tokens.tokenizer import CACHED_CHARACTERS, ByteTokenizer, Tokenizer

_MAGIC = b"GGUF"
_NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_TEXT, _LIST, _CONTROL_TOKEN = 8, 9, 3
_MAX_TEXT_BYTES, _MAX_ITEMS, _MAX_FIELDS = 4_000_000, 2_000_000, 10_000
_WANTED = ("tokenizer.ggml.", "tokenizer.chat_template")
_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CASELESS_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{%s}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)
_PATTERNS = {  # how a text is cut before its pieces are merged, by `tokenizer.ggml.pre`
    "gpt-2": [_WORDS],
    "smollm": [r"\p{N}", _WORDS],
    "llama-bpe": [_CASELESS_WORDS % "1,3"],
    "qwen2": [_CASELESS_WORDS % "1"],
}
_CAUTIOUS_OVERHEAD = 32  # tokens a message, where the template cannot be measured
_PROBE = "x"


class GgufError(Exception):
    """The metadata of a GGUF file could not be read."""


class ChatOverhead(Struct, frozen=True):
    """The tokens that a chat template adds to each message and to the whole prompt."""

    per_message: int
    per_reply: int


class GgufTokenizer:
    """The byte-level vocabulary of a GGUF file."""

    def __init__(self, name: str, metadata: dict[str, Any]) -> None:
        from splintr import from_json_bytes

        self.name, self.exact = name, True
        self.additive = False  # line breaks at the end of a text may be cut in another way than inside of one
        self._vocabulary = from_json_bytes(msgspec.json.encode(_make_tokenizer_json(metadata)))
        self._counts = BoundedTextCache[int](CACHED_CHARACTERS)

    def count(self, text: str) -> int:
        """The number of tokens of a text; line breaks at its end count as before a word, where they may be more."""
        return self._counts.get_or_compute(text, self._count)

    def _count(self, text: str) -> int:
        if text.endswith("\n"):
            return len(self._vocabulary.encode_ordinary(f"{text}a")) - 1
        return len(self._vocabulary.encode_ordinary(text))


class GgufVocabulary:
    """The vocabulary and the chat template of a GGUF file."""

    def __init__(self, file: Path) -> None:
        self._metadata = read_metadata(file)
        name = f"gguf:{file.name}"
        is_known = self._metadata.get("tokenizer.ggml.model") == "gpt2"
        has_pattern = self._metadata.get("tokenizer.ggml.pre") in _PATTERNS
        self.tokenizer: Tokenizer = GgufTokenizer(name, self._metadata) if is_known and has_pattern else ByteTokenizer()

    def measure_overhead(self) -> ChatOverhead:
        """Measure what the chat template adds; where it cannot be rendered, a cautious guess."""
        roles = ("system", "user", "assistant")
        try:
            pairs = [
                (self._count_rendered([*before, role]), self._count_rendered(before))
                for role in roles
                for before in (["system"], ["user"], ["system", "user"])
            ]
            text = self.tokenizer.count(_PROBE)
            per_message = max(after - before - text for after, before in pairs) + 1  # a line break may be cut apart
            starts = [["user"], ["system", "user"], ["user", "assistant", "user"]]
            rest = [self._count_rendered(start) - len(start) * (per_message + text) for start in starts]
        except Exception:  # a template of strangers may do anything
            return ChatOverhead(_CAUTIOUS_OVERHEAD, _CAUTIOUS_OVERHEAD)
        return ChatOverhead(max(per_message, 1), max(*rest, 0) + 1)  # one for a mark of the beginning

    def _count_rendered(self, roles: Sequence[str]) -> int:
        """Count a prompt of messages with these roles; a control token is one token."""
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        template = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(
            self._metadata["tokenizer.chat_template"]
        )
        messages = [{"role": role, "content": _PROBE} for role in roles]
        text = template.render(messages=messages, add_generation_prompt=True, bos_token="", eos_token="")
        control = [re.escape(token) for token in _list_control_tokens(self._metadata) if token]
        pieces = re.split("|".join(control), text) if control else [text]
        return sum(map(self.tokenizer.count, filter(None, pieces))) + len(pieces) - 1


def read_metadata(file: Path) -> dict[str, Any]:
    """Read what a GGUF file says of its vocabulary and its chat template."""
    try:
        with open_regular_file(file) as stream:
            if stream.read(4) != _MAGIC:
                raise GgufError("no GGUF file")
            stream.read(4 + 8)  # version, number of tensors
            fields = _check(_read_number(stream, "<Q"), _MAX_FIELDS)
            read = ((_read_text(stream), _read_value(stream, _read_number(stream, "<I"))) for _ in range(fields))
            return {name: value for name, value in read if name.startswith(_WANTED)}
    except (OSError, struct.error, UnicodeDecodeError, KeyError) as error:
        raise GgufError(str(error)) from error


def _read_number(stream: BinaryIO, kind: str) -> Any:
    return struct.unpack(kind, stream.read(struct.calcsize(kind)))[0]


def _read_text(stream: BinaryIO) -> str:
    return stream.read(_check(_read_number(stream, "<Q"), _MAX_TEXT_BYTES)).decode("utf-8", "replace")


def _read_value(stream: BinaryIO, kind: int) -> Any:
    if kind == _TEXT:
        return _read_text(stream)
    if kind == _LIST:
        inner, count = _read_number(stream, "<I"), _check(_read_number(stream, "<Q"), _MAX_ITEMS)
        if inner == _LIST:
            raise GgufError("a list of lists")
        return [_read_value(stream, inner) for _ in range(count)]
    return _read_number(stream, _NUMBERS[kind])


def _check(count: int, most: int) -> int:
    if count > most:
        raise GgufError(f"{count} is more than {most}")
    return count


def _list_control_tokens(metadata: dict[str, Any]) -> list[str]:
    kinds = metadata.get("tokenizer.ggml.token_type") or ()
    return [
        token for token, kind in zip(metadata["tokenizer.ggml.tokens"], kinds, strict=False) if kind == _CONTROL_TOKEN
    ]


def _make_tokenizer_json(metadata: dict[str, Any]) -> dict[str, Any]:
    """Write a byte-level vocabulary as a tokenizer of Hugging Face."""
    cuts: list[dict[str, Any]] = [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        for pattern in _PATTERNS[metadata["tokenizer.ggml.pre"]]
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    tokens = metadata["tokenizer.ggml.tokens"]
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*cuts, byte_level]},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": metadata["tokenizer.ggml.merges"],
        },
    }
