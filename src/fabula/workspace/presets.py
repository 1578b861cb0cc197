"""What a person can do with presets: list, store, activate, remove, and look at where messages land (inj-1 … inj-3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fabula.context.phrases import IDENTITY
from fabula.context.recipes import RECIPES, Preset, UserProfile, available_anchors, validate_preset
from fabula.conversation.modes.registry import list_modes
from fabula.core.errors import Code
from fabula.core.messages import message
from fabula.core.view import Language
from fabula.manuscript import projects
from fabula.presets import edits
from fabula.presets.edits import StoredPreset
from fabula.presets.layout import LayoutRow, make_layout
from fabula.skills.files import Skills, load_built_in
from fabula.store.transaction import ReadTransaction
from fabula.text.lookup import find_by_name
from fabula.workspace.verbs import ProjectVerbs, label_change, label_removal

NO_PRESET = Preset(nodes=())


class PresetLayout(Struct, frozen=True):
    """Where each message of a preset lands on the layout of a recipe; no preset if none is active."""

    preset: Preset | None
    recipe: str
    rows: list[LayoutRow]


class PresetVerbs(ProjectVerbs):
    """The presets of an open project; one is named by its id or title, and an empty name means the active one."""

    def list_presets(self) -> list[StoredPreset]:
        """List every preset by title."""
        with self._read() as reading:
            return edits.list_presets(reading)

    def find(self, name: str = "") -> Preset | None:
        """Return a preset; None if the active one is meant and none is active."""
        if not name:
            return self._view.snapshot(Preset)
        with self._read() as reading:
            return _find(reading, name)

    def lay_out(
        self, name: str = "", *, recipe: str = "novel", reader_language: Language | None = None
    ) -> PresetLayout:
        """Show where each message of a preset lands, from the top of the prompt to its end.

        Notes are in the reader's language, by default that of the project.
        """
        return self._lay_out(self.find(name), recipe, reader_language)

    def preview(
        self, data: Mapping[str, Any], *, recipe: str = "novel", reader_language: Language | None = None
    ) -> PresetLayout:
        """Show where each message of a preset would land that is being written and not stored yet."""
        return self._lay_out(validate_preset(data), recipe, reader_language)

    def list_anchors(self, name: str = "") -> list[str]:
        """List every anchor that a message may name: the built-in ones, then the preset's own."""
        return list(available_anchors(self.find(name) or NO_PRESET))

    def read_identity(self) -> str:
        """Return the text that every prompt begins with; empty for none."""
        project = self._view.project
        return IDENTITY.render(project.language) if project.identity is None else project.identity.strip()

    def write_identity(self, text: str | None) -> str:
        """Set the text that every prompt begins with: empty for none, None for the built-in one; return it."""
        with self._write(label_change(message("identity"), self._view.project.title)) as tx:
            projects.update(tx, {"identity": projects.store_identity(text if text is None else text.strip())})
        return self.read_identity()

    def write(self, name: str, data: bytes | str | Preset | Mapping[str, Any], *, active: bool = False) -> Preset:
        """Store a preset, as JSON or made in Python, in place of the one of that id or title; `active` activates it."""
        parsed = edits.parse_preset(data) if isinstance(data, bytes | str) else validate_preset(data)
        with self._write(label_change(message("preset"), name)) as tx:
            same = [one.preset for one in edits.list_presets(tx) if name in (one.preset.id, one.preset.title)]
            old = same[0] if len(same) == 1 else None
            title = old.title if old is not None and old.id == name else name
            preset_id = old.id if old is not None else parsed.id
            stored_id = edits.put(tx, title, replace(parsed, id=preset_id), active=active)
            return edits.get(tx, stored_id).preset

    def activate(self, name: str | None) -> Preset | None:
        """Make a preset the active one; with None, none is active."""
        with self._write(label_change(message("preset"), name or "")) as tx:
            preset = None if name is None else _find(tx, name)
            edits.activate(tx, None if preset is None else preset.id)
        return preset

    def remove(self, name: str) -> Preset:
        """Remove a preset; return what it was."""
        with self._write(label_removal(message("preset"), name)) as tx:
            preset = _find(tx, name)
            edits.remove(tx, preset.id)
        return preset

    def _lay_out(self, preset: Preset | None, recipe: str, reader_language: Language | None) -> PresetLayout:
        chosen = find_by_name(
            RECIPES.values(), recipe, what=message("recipe"), id_of=lambda one: one.name, code=Code.RECIPE_UNKNOWN
        )
        view = self._view
        profile, language = view.snapshot(UserProfile), reader_language or view.project.language
        shown = preset or NO_PRESET
        modes = self._list_mode_names() if any(one.condition and one.condition.modes for one in shown.nodes) else None
        rows = make_layout(shown, chosen.preset, profile, language=language, modes=modes)
        return PresetLayout(preset, chosen.name, rows)

    def _list_mode_names(self) -> set[str]:
        """List what a condition may name as a mode: recipes, skills, and modes of conversations."""
        skills = (self._view.snapshot(Skills) or load_built_in()).skills
        own = self._project.chat_modes.own if self._project.chat_modes is not None else ()
        return {*RECIPES, *skills, *list_modes(), *own}


def _find(reading: ReadTransaction, name: str) -> Preset:
    return find_by_name(
        [stored.preset for stored in edits.list_presets(reading)],
        name,
        what=message("preset"),
        names_of=lambda preset: (preset.title,),
    )
