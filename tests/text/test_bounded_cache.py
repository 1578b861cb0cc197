"""What was worked out for a text is remembered within bounds."""

from __future__ import annotations

from fabula.text.bounded_cache import BoundedTextCache


class _Asked:
    """Measures, and remembers what it was asked."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, text: str) -> int:
        self.texts.append(text)
        return len(text)


def test_memory_has_a_bound() -> None:
    kept, asked = BoundedTextCache[int](1000), _Asked()
    texts = [f"{n:05}" * 4 for n in range(2000)]
    for text in texts:
        assert kept.get_or_compute(text, asked) == 20
        assert sum(map(len, kept.recent)) <= 1000
    assert len(asked.texts) == 2000
    for text in (texts[0], texts[-1]):
        kept.get_or_compute(text, asked)
    assert asked.texts[2000:] == [texts[0]]  # the first was forgotten, the last was not


def test_what_is_asked_for_again_outlives_a_generation() -> None:
    kept, asked = BoundedTextCache[int](1000), _Asked()
    for n in range(2000):
        for text in ("a heading that stands in every prompt", f"{n:05}" * 4):
            if text not in kept.recent:
                kept.get_or_compute(text, asked)
    assert asked.texts.count("a heading that stands in every prompt") == 1
