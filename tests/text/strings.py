"""Strings that are hard on tokenizers, made from a seed: the same ones in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator

SPECIAL = (
    "<|endoftext|>",
    "<|endofprompt|>",
    "<|fim_prefix|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|begin_of_text|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|think|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<｜begin▁of▁sentence｜>",
)
_WORDS = "the of and Mara lamp harbour Keeper's don't I'LL we've it's naïve café fiancée Straße 3.14 12345 1,000"
_MARKS = ". , ; : ! ? … — – “ ” ‘ ’ ( )"
_SIGNS = "{ } => != === // /* */ 0x1F a_b camelCase HTTPServer </div> &nbsp; $x %s #!/bin/sh \\n -> ::"
ENGLISH = (*_WORDS.split(), *_MARKS.split())
CHINESE = tuple("林远走过树林远处的雾港灯塔一二三她他说好听船声灭亮，。！？；：「」『』《》“”…—　的了着")
EMOJI = ("😀", "👩‍👩‍👧‍👦", "🇫🇷", "🏴‍☠️", "❤️", "🧑🏽‍🚀", "☠", "🀄", "👍🏿")
CODE = (
    "def f(x):\n    return x ** 2\n",
    *_SIGNS.split(),
    "\t",
    "        ",
)
WHITE = (" ", "  ", "\t", "\n", "\r\n", "\r", "\u00a0", "\u3000", "\u2028", "\u200b", "\x85", "\x0b", "\x0c", "   \n  ")
SCRIPTS = tuple("日本語のテストひらがなカタカナ한국어문장русскийтекстالعربيةहिन्दीไทย")


def _anything(rng: random.Random) -> str:
    """Any character that can be sent at all, rare ones as likely as common ones."""
    low, high = rng.choice(((0x20, 0x7E), (0xA0, 0x2FFF), (0x3000, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x1FFFF)))
    return chr(rng.randint(low, high))


def hard_strings(seed: int, how_many: int) -> Iterator[str]:
    """Each is a mixture of one to three kinds of writing, with and without spaces between."""
    rng = random.Random(seed)
    kinds = (ENGLISH, CHINESE, EMOJI, CODE, SPECIAL, WHITE, SCRIPTS, ())
    for _ in range(how_many):
        chosen = rng.sample(kinds, rng.randint(1, 3))
        pieces = []
        for _ in range(rng.randint(1, 60)):
            kind = rng.choice(chosen)
            pieces.append(rng.choice(kind) if kind else _anything(rng))
            pieces.append(rng.choice(("", "", " ")))
        yield "".join(pieces)


def prose(seed: int, paragraphs: int) -> str:
    """Paragraphs of English and Chinese, some indented, some with odd line ends between."""
    rng = random.Random(seed)
    gaps = ("\n", "\n\n", "\n \n", "\n\n\n", "\n　　", "\n\t", "\n    ", "\n\u00a0", "\n/", "\n//")
    pieces = []
    for _ in range(paragraphs):
        kind = rng.choice((ENGLISH, CHINESE, CHINESE + EMOJI, CODE[1:]))
        joint = " " if kind is not CHINESE else ""
        pieces.append(joint.join(rng.choice(kind) for _ in range(rng.randint(1, 40))))
        pieces.append(rng.choice(gaps))
    return "".join(pieces)
