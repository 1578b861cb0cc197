"""Skill files: parses and validates the TOML files of skills.

Skills come with Fabula, from the user's folder and from projects. An invalid file is left out and reported with its
name and line; the others work.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import get_args

import msgspec
from msgspec import Struct

from fabula.context.recipes import RECIPES
from fabula.core.decoding import explain_decode_error, explain_syntax_error
from fabula.core.errors import Code, FabulaError
from fabula.core.file_errors import describe_os_error, missing_file
from fabula.core.messages import Sentence, join_names, message
from fabula.core.regular_files import open_regular_file
from fabula.core.story import Perspective
from fabula.core.view import Language
from fabula.settings.registry import MAX_RESERVED
from fabula.skills.model import AnswerAction, GenerationSettings, Skill, SkillOrigin, SkillTarget
from fabula.skills.template import validate_template
from fabula.text.toml import find_deep_key

MAX_FILE_BYTES = 100_000
MAX_FILES = MAX_RESERVED  # of one folder or project
_ID = re.compile(r"[a-z][a-z0-9-]{0,39}")
_LANGUAGES: tuple[Language, ...] = get_args(Language)


class _SkillFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a skill file; field names are the keys of the file."""

    template: dict[Language, str]
    title: dict[Language, str] = {}
    recipe: str = "novel"
    works_on: tuple[SkillTarget, ...] = ("cursor",)
    answer: AnswerAction = AnswerAction.SHOW
    eyes: Perspective | None = None
    model: GenerationSettings = GenerationSettings()


class Skills(Struct, frozen=True):
    """All available skills by id, and the problems of invalid files."""

    skills: Mapping[str, Skill]
    problems: tuple[FabulaError, ...] = ()

    def problems_of(self, skill_id: str) -> list[FabulaError]:
        """The problems of the files of this skill."""
        return [problem for problem in self.problems if problem.details["skill"] == skill_id]

    def with_files(self, texts: Iterable[tuple[str, str]], origin: SkillOrigin) -> Skills:
        """Add skills from pairs of file name and text; a skill replaces an older one of the same id."""
        skills, problems = dict(self.skills), list(self.problems)
        for name, text in texts:
            try:
                skill = parse_skill(name.removesuffix(".toml"), text, origin=origin)
            except FabulaError as error:
                problems.append(error)
            else:
                skills[skill.id] = skill
        return Skills(skills, tuple(problems))


def parse_skill(skill_id: str, text: str, *, origin: SkillOrigin = "folder") -> Skill:
    """Parse the file of a skill; the error for an invalid one names its line."""
    if not _ID.fullmatch(skill_id):
        raise _invalid_skill(skill_id, 1, message("its name must be small letters, digits and hyphens, at most 40"))
    if len(text.encode("utf-8", "replace")) > MAX_FILE_BYTES:
        raise _invalid_skill(skill_id, 1, message("it is larger than {limit} kB", limit=MAX_FILE_BYTES // 1000))
    if (line := find_deep_key(text)) is not None:
        raise _invalid_skill(skill_id, line, message("a name has too many parts"))
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        number = re.search(r"line (\d+)", str(error))
        line = int(number[1]) if number else len(text.rstrip().splitlines()) or 1  # the file ends too early
        raise _invalid_skill(
            skill_id, line, message("it is not TOML: {error}", error=explain_syntax_error(error))
        ) from error
    try:
        content = msgspec.convert(data, _SkillFile)
    except msgspec.ValidationError as error:
        raise _invalid_skill(skill_id, _find_line(text, str(error)), explain_decode_error(error, _SkillFile)) from error
    _validate(skill_id, text, content)
    templates = dict(content.template)
    for language in _LANGUAGES:  # a template in one language serves for the other too
        templates.setdefault(language, next(iter(content.template.values())))
    return Skill(
        id=skill_id,
        templates={language: template.strip("\n") for language, template in templates.items()},
        titles=content.title,
        recipe=content.recipe,
        works_on=content.works_on,
        answer_action=content.answer,
        perspective=content.eyes,
        generation=content.model,
        origin=origin,
    )


@lru_cache(maxsize=1)
def load_built_in() -> Skills:
    """Load the skills that come with Fabula."""
    folder = files("fabula") / "skills" / "builtin"
    texts = sorted((file.name, file.read_text("utf-8")) for file in folder.iterdir() if file.name.endswith(".toml"))
    skills = Skills({}).with_files(texts, "built in")
    for problem in skills.problems:
        raise problem
    return skills


def read_folder(folder: Path) -> list[tuple[str, str]]:
    """Read the skill files of a folder as pairs of name and text; an unreadable one gets an invalid text."""
    texts: list[tuple[str, str]] = []
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".toml" and path.is_file())
    except OSError:
        return []
    for path in paths[:MAX_FILES]:
        try:
            texts.append((path.name, read_skill_file(path)))
        except FabulaError:
            texts.append((path.name, "\x00"))  # not TOML, and reported as such
    return texts


def read_skill_file(path: Path) -> str:
    """Read the text of a skill file, no further than its size limit."""
    try:
        with open_regular_file(path) as file:
            data = file.read(MAX_FILE_BYTES + 1)
        return data.decode("utf-8-sig") if len(data) <= MAX_FILE_BYTES else " " * len(data)
    except FileNotFoundError:
        raise missing_file(path) from None
    except (OSError, UnicodeDecodeError) as error:
        why = describe_os_error(error) if isinstance(error, OSError) else message("it is not UTF-8 text")
        sentence = message("{file} cannot be read: {error}. Nothing was changed.", file=path.name, error=why)
        raise FabulaError(Code.SKILL_INVALID, sentence) from error


def _validate(skill_id: str, text: str, content: _SkillFile) -> None:
    if not content.template:
        raise _invalid_skill(skill_id, 1, message("it has no [template]"))
    if content.recipe not in RECIPES:
        problem = message(
            "there is no recipe {recipe!r}. There are: {names}", recipe=content.recipe, names=join_names(list(RECIPES))
        )
        raise _invalid_skill(skill_id, _find_line(text, "recipe"), problem)
    for template in content.template.values():
        try:
            validate_template(template)
        except FabulaError as error:
            inner_line = error.details.get("line")
            line = _find_template_line(text, template) + (inner_line if isinstance(inner_line, int) else 1) - 1
            problem = message("its template cannot be used: {why}", why=error.details["why"])
            raise _invalid_skill(skill_id, line, problem) from error


def _find_template_line(text: str, template: str) -> int:
    """The line of the file on which a template begins."""
    first = next((line for line in template.splitlines() if line.strip()), "")
    blank_lines = len(template) - len(template.lstrip("\n"))
    lines = text.splitlines()
    return next((n - blank_lines for n, line in enumerate(lines, 1) if first and first in line), 1)


def _find_line(text: str, message: str) -> int:
    """The line of the file that a message about a field refers to."""
    unknown = re.search(r"field `([A-Za-z_]+)`", message)
    path = re.search(r"\$\.(?:[A-Za-z_]+\.)*([A-Za-z_]+)", message)
    name = unknown[1] if unknown else path[1] if path else message
    pattern = re.compile(rf"^\s*\[?{re.escape(name)}\b")
    return next((n for n, line in enumerate(text.splitlines(), 1) if pattern.match(line)), 1)


def _invalid_skill(skill_id: str, line: int, why: str | Sentence) -> FabulaError:
    sentence = message(
        "The skill {skill!r} is left out because of line {line}: {why}.", skill=skill_id, line=line, why=why
    )
    return FabulaError(Code.SKILL_INVALID, sentence, skill=skill_id, line=line)
