"""Every sentence that people see has a translation into every language, with the same values in it."""

from __future__ import annotations

import ast
import json
import string
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fabula.core.messages import ENGLISH, list_languages, load_translations

SOURCE = Path(__file__).parent.parent / "src" / "fabula"
TRANSLATED = [language for language in list_languages() if language != ENGLISH]
MAKERS = {"message": (0,), "plural": (2,)}  # which argument of a call is the template that translations go by


def find_templates() -> dict[str, str]:
    """Return every template in the code, and where it stands."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
                for index in MAKERS[node.func.id]:
                    template, place = node.args[index], f"{path.relative_to(SOURCE)}:{node.lineno}"
                    assert isinstance(template, ast.Constant), f"{place}: a template must be a literal"
                    found[str(template.value)] = place
    return found


def field_names(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def forms(translation: str | Mapping[str, str]) -> Iterator[str]:
    yield from [translation] if isinstance(translation, str) else translation.values()


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_sentence_is_translated(language: str) -> None:
    translations = load_translations(language)
    missing = {template: place for template, place in find_templates().items() if template not in translations}
    assert not missing


@pytest.mark.parametrize("language", TRANSLATED)
def test_no_translation_is_left_over(language: str) -> None:
    assert not load_translations(language).keys() - find_templates().keys()


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_translation_names_the_same_values(language: str) -> None:
    different = {
        template: translation
        for template, translation in load_translations(language).items()
        for form in forms(translation)
        if field_names(form) - {"count"} != field_names(template) - {"count"}
    }
    assert not different


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_are_kept_in_order_one_a_line(language: str) -> None:
    path = SOURCE / "core" / "translations" / f"{language}.json"
    text = path.read_text("utf-8")
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=0, sort_keys=True) + "\n"
