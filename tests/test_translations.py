"""Every sentence that people see has a translation into every language, with the same values in it."""

from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fabula.core.messages import ENGLISH, list_languages, load_translations

SOURCE = Path(__file__).parent.parent / "src" / "fabula"
TRANSLATED = [language for language in list_languages() if language != ENGLISH]
COMMAND_LINE = SOURCE / "cli"
# Which argument of a call is the template that translations go by. `say` and `warn` take a message as well.
COMMAND = re.compile(r"\bfabula (?!rules\b)[a-z]|(?<![\w-])--[a-z]")  # a command, or an option of one
INSTALLER = "pip install"  # what is installed is so at every interface
MAKERS = {"message": 0, "plural": 2, "translate": 0, "say": 0, "warn": 0, "invalid_request": 0}


def find_templates() -> dict[str, str]:
    """Return every template in the code, and where it stands."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            place = f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
                found |= dict.fromkeys(read_literals(node.args[MAKERS[node.func.id]], place), place)
            if path.is_relative_to(COMMAND_LINE):
                found |= dict.fromkeys(find_help(node), place)
    return found


def read_literals(argument: ast.expr, place: str) -> Iterator[str]:
    """Return the template, or both templates where a condition chooses between two."""
    match argument:
        case ast.Constant(value=str(template)):
            yield template
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*read_literals(body, place), *read_literals(orelse, place))
        case _:
            assert not isinstance(argument, ast.JoinedStr | ast.BinOp), f"{place}: a template must be a literal"


def find_help(node: ast.AST) -> Iterator[str]:
    """Return the paragraphs of a command's help, or the help of an argument, an option or a group."""
    if isinstance(node, ast.FunctionDef) and any(is_command(decorator) for decorator in node.decorator_list):
        paragraphs = (ast.get_docstring(node) or "").split("\n\n")
        yield from (" ".join(text.split()) for text in paragraphs if not text.startswith("Example: "))
    elif isinstance(node, ast.keyword) and node.arg == "help" and isinstance(node.value, ast.Constant):
        yield str(node.value.value)


def is_command(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith(".command")


def find_commands() -> dict[str, str]:
    """Return the templates beside the command line that name a command for everybody, and where they stand."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if path.is_relative_to(COMMAND_LINE):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
        advised = {id(node.args[0]) for node in calls if ast.unparse(node.func) == "advise"}
        for node in calls:
            if ast.unparse(node.func) in MAKERS and id(node) not in advised:
                texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                place = f"{path.relative_to(SOURCE)}:{node.lineno}"
                found |= {one: place for one in texts if COMMAND.search(one) and INSTALLER not in one}
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


def test_sentences_for_every_reader_name_no_command_and_no_option() -> None:
    """Over HTTP nobody can type one: beside the command line they stand in the first half of an `advise`."""
    assert find_commands() == {}


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


def test_that_nothing_was_changed_is_said_in_the_same_words_everywhere() -> None:
    different = {
        template: form
        for template, translation in load_translations("zh").items()
        for form in forms(translation)
        if "Nothing was changed" in template and "未作任何更改" not in form
    }
    assert not different


def test_chinese_has_quotation_marks_of_its_own() -> None:
    quoted = [form for one in load_translations("zh").values() for form in forms(one) if "!r}" in form]
    assert quoted == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_are_kept_in_order_one_a_line(language: str) -> None:
    path = SOURCE / "core" / "translations" / f"{language}.json"
    text = path.read_text("utf-8")
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=0, sort_keys=True) + "\n"
