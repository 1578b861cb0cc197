"""Who is dead by what an entry says, in both languages."""

from __future__ import annotations

import pytest

from fabula.core.view import Language
from fabula.skills.deaths import says_dead

NAMES: dict[Language, tuple[str, ...]] = {"en": ("Ben Carrow", "Ben"), "zh": ("老本",)}


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "Ben died in the storm."),
        ("en", "Old Ben has long been dead."),
        ("en", "A fisherman. He was killed at sea."),
        ("en", "He later drowned off the reef."),
        ("en", "Drowned in the bay; nobody looked for him."),
        ("en", "A fisherman who died in the storm."),
        ("en", "dead"),
        ("en", "Ben Carrow was found dead on the stairs."),
        ("zh", "老本在夜里死了。"),
        ("zh", "渔夫，后来在风暴中遇害。"),
        ("zh", "那一夜，他淹死在礁石边。"),
        ("zh", "已死"),
    ],
)
def test_whoever_is_plainly_said_to_be_dead_is_dead(language: Language, said: str) -> None:
    assert says_dead(said, NAMES[language], language, before=False)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "His mother died when he was nine."),
        ("en", "Ben's brother was killed at sea."),
        ("en", "Ben killed a man once, and was never caught."),
        ("en", "Ben drowned the kittens."),
        ("en", "He nearly died of the fever."),
        ("en", "Everybody believes that he is dead."),
        ("en", "He was dead tired."),
        ("en", "He will be killed if he stays."),
        ("en", "Widower: his wife is dead."),
        ("zh", "他的母亲在他九岁时死了。"),
        ("zh", "她九岁时母亲去世。"),
        ("zh", "父亲去世后，他独自打鱼。"),
        ("zh", "老本的狗死了。"),
        ("zh", "他差点死了。"),
        ("zh", "众人以为他已死。"),
        ("zh", "他被杀手追了三天。"),
    ],
)
def test_whoever_others_died_around_lives(language: Language, said: str) -> None:
    assert not says_dead(said, NAMES[language], language, before=False)


def test_what_is_said_last_counts() -> None:
    assert not says_dead("Ben died at sea. He came back, alive.", NAMES["en"], "en", before=False)
    assert says_dead("He survived the storm. He died in his bed.", NAMES["en"], "en", before=False)
    assert says_dead("He left the village.", NAMES["en"], "en", before=True)
    assert not says_dead("他还活着。", NAMES["zh"], "zh", before=True)


def test_a_death_that_a_description_foretells_has_not_happened() -> None:
    assert not says_dead("He dies in the last chapter.", NAMES["en"], "en", before=False, tells=False)
    assert says_dead("He dies in the storm.", NAMES["en"], "en", before=False)
