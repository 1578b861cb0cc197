"""Skills from files: the built-in ones, those in a folder of one's own, those of a project.

A file is TOML. One that makes no sense is left out and reported with its name and line; the others work.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from fabula.context.recipes import RECIPES
from fabula.core.errors import Code, FabulaError
from fabula.core.story import Eyes
from fabula.core.view import Language
from fabula.skills.model import Answer, Skill, Target, Wishes
from fabula.skills.template import check
from fabula.text.toml import too_deep

LARGEST = 100_000  # bytes of a skill's file
MOST = 200  # files of one folder that are read
MOST_TOKENS = 32_000
_ID = re.compile(r"[a-z][a-z0-9-]{0,39}")
_LANGUAGES: tuple[Language, ...] = get_args(Language)
Origin = Literal["built in", "folder", "project"]


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A skill's file as it may stand there."""

    template: dict[Language, str]
    title: dict[Language, str] = {}
    recipe: str = "novel"
    works_on: tuple[Target, ...] = ("cursor",)
    answer: Answer = Answer.SHOW
    eyes: Eyes | None = None
    model: Wishes = Wishes()


class Skills(Struct, frozen=True):
    """All skills by id, and what was wrong with those that were left out."""

    skills: Mapping[str, Skill]
    problems: tuple[str, ...] = ()

    def about(self, skill_id: str) -> list[str]:
        """What was wrong with files of that name."""
        return [problem for problem in self.problems if problem.startswith(f"The skill {skill_id!r} ")]

    def with_files(self, texts: Iterable[tuple[str, str]], origin: Origin) -> Skills:
        """With more skills, each from a file's name and text; one of the same id takes the place of the older."""
        found, problems = dict(self.skills), list(self.problems)
        for name, text in texts:
            try:
                skill = read_skill(name.removesuffix(".toml"), text, origin=origin)
            except FabulaError as error:
                problems.append(error.sentence)
            else:
                found[skill.id] = skill
        return Skills(found, tuple(problems))


def read_skill(ident: str, text: str, *, origin: Origin = "folder") -> Skill:
    """One skill from its file; refused with the line that is wrong."""
    if not _ID.fullmatch(ident):
        raise _refused(ident, 1, "its name must be small letters, digits and hyphens, at most 40")
    if len(text.encode("utf-8", "replace")) > LARGEST:
        raise _refused(ident, 1, f"it is larger than {LARGEST // 1000} kB")
    if (deep := too_deep(text)) is not None:
        raise _refused(ident, deep, "a name has too many parts")
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found[1]) if found else len(text.rstrip().splitlines()) or 1  # it ends too early
        raise _refused(ident, line, f"it is not TOML: {error}") from error
    try:
        read = msgspec.convert(data, _File)
    except msgspec.ValidationError as error:
        raise _refused(ident, _line_of(text, str(error)), str(error)) from error
    _check(ident, text, read)
    template = dict(read.template)
    for language in _LANGUAGES:  # one language is enough: it serves the other, too
        template.setdefault(language, next(iter(read.template.values())))
    return Skill(
        id=ident,
        says={language: said.strip("\n") for language, said in template.items()},
        title=read.title,
        recipe=read.recipe,
        works_on=read.works_on,
        answer=read.answer,
        eyes=read.eyes,
        wishes=read.model,
        origin=origin,
    )


@lru_cache(maxsize=1)
def built_in() -> Skills:
    """The skills that come with the house."""
    folder = files("fabula") / "skills" / "builtin"
    texts = sorted((file.name, file.read_text("utf-8")) for file in folder.iterdir() if file.name.endswith(".toml"))
    shelf = Skills({}).with_files(texts, "built in")
    if shelf.problems:
        raise FabulaError(Code.SKILL_INVALID, " ".join(shelf.problems))
    return shelf


def in_folder(folder: Path) -> list[tuple[str, str]]:
    """The skill files of a folder, by name; what cannot be read is reported in its place."""
    texts: list[tuple[str, str]] = []
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix == ".toml" and path.is_file())
    except OSError:
        return []
    for path in found[:MOST]:
        try:
            texts.append((path.name, text_of(path)))
        except FabulaError:
            texts.append((path.name, "\x00"))  # not TOML, and reported as such
    return texts


def text_of(path: Path) -> str:
    """The text of a skill's file; one that is too large is read no further."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        return data.decode("utf-8-sig") if len(data) <= LARGEST else " " * len(data)
    except (OSError, UnicodeDecodeError) as error:
        raise FabulaError(Code.SKILL_INVALID, f"{path.name} cannot be read: {error}. Nothing was changed.") from error


def _check(ident: str, text: str, read: _File) -> None:
    if not read.template:
        raise _refused(ident, 1, "it has no [template]")
    if read.recipe not in RECIPES:
        raise _refused(ident, _line_of(text, "recipe"), f"there is no recipe {read.recipe!r}: {', '.join(RECIPES)}")
    wishes = read.model
    sound = {
        "temperature": wishes.temperature is None or 0 <= wishes.temperature <= 2,
        "top_p": wishes.top_p is None or 0 < wishes.top_p <= 1,
        "max_tokens": 1 <= wishes.max_tokens <= MOST_TOKENS,
        "stop": len(wishes.stop) <= 4,
    }
    for name in (name for name, well in sound.items() if not well):
        raise _refused(ident, _line_of(text, name), f"{name} is out of bounds")
    for said in read.template.values():
        try:
            check(said)
        except FabulaError as error:
            inside = error.details.get("line")
            line = _begins(text, said) + (inside if isinstance(inside, int) else 1) - 1
            raise _refused(ident, line, error.sentence) from error


def _begins(text: str, said: str) -> int:
    """The line of the file on which a template begins."""
    first = next((line for line in said.splitlines() if line.strip()), "")
    blank = len(said) - len(said.lstrip("\n"))
    lines = text.splitlines()
    return next((n - blank for n, line in enumerate(lines, 1) if first and first in line), 1)


def _line_of(text: str, message: str) -> int:
    """The line that a message about a field speaks of."""
    strange = re.search(r"field `([A-Za-z_]+)`", message)
    path = re.search(r"\$\.(?:[A-Za-z_]+\.)*([A-Za-z_]+)", message)
    named = strange[1] if strange else path[1] if path else message
    pattern = re.compile(rf"^\s*\[?{re.escape(named)}\b")
    return next((n for n, line in enumerate(text.splitlines(), 1) if pattern.match(line)), 1)


def _refused(ident: str, line: int, why: str) -> FabulaError:
    return FabulaError(
        Code.SKILL_INVALID, f"The skill {ident!r} is left out: line {line}: {why.rstrip('.')}.", skill=ident, line=line
    )
