"""Whether an entry says that its character is dead, in both languages."""

from __future__ import annotations

import pytest

from fabula.core.view import Language
from fabula.skills.continuity import states_death

NAMES: dict[Language, tuple[str, ...]] = {"en": ("Ben Carrow", "Ben"), "zh": ("老本",)}


@pytest.mark.parametrize(
    ("language", "text"),
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
def test_a_plain_statement_of_death_counts(language: Language, text: str) -> None:
    assert states_death(text, NAMES[language], language, was_dead=False)


@pytest.mark.parametrize(
    ("language", "text"),
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
def test_the_death_of_others_or_a_doubtful_one_does_not_count(language: Language, text: str) -> None:
    assert not states_death(text, NAMES[language], language, was_dead=False)


def test_the_last_statement_wins() -> None:
    assert not states_death("Ben died at sea. He came back, alive.", NAMES["en"], "en", was_dead=False)
    assert states_death("He survived the storm. He died in his bed.", NAMES["en"], "en", was_dead=False)
    assert states_death("He left the village.", NAMES["en"], "en", was_dead=True)
    assert not states_death("他还活着。", NAMES["zh"], "zh", was_dead=True)


def test_the_present_tense_in_a_description_is_not_a_death() -> None:
    assert not states_death("He dies in the last chapter.", NAMES["en"], "en", was_dead=False, is_narration=False)
    assert states_death("He dies in the storm.", NAMES["en"], "en", was_dead=False)
