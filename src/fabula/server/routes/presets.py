"""Routes of presets, of the identity, and of skills (inj-1)."""

from __future__ import annotations

from typing import Any

from fabula.access.model import Right
from fabula.server.routes.route import NOTHING, Answer, Route, make_list, make_optional, make_record, mount
from fabula.workspace.schemas.presets import (
    LayoutInfo,
    PresetInfo,
    PresetNodes,
    describe_layout,
    describe_nodes,
    describe_preset,
)
from fabula.workspace.schemas.skills import SkillList, describe_skills

_NODES = Answer(PresetNodes, describe_nodes)
_LAYOUT = Answer(LayoutInfo, describe_layout)
_IDENTITY = make_record("IdentityText", identity=Answer(str))
_EXAMPLE = {
    "data": {"nodes": [{"id": "tone", "content": "Write plainly."}]},
    "active": False,
}
_SKILL = 'works_on = ["selection"]\ntitle.en = "Shorten"\ntemplate.en = "Shorten the selected text."\n'

ROUTES = (
    mount(
        "presets",
        "/projects/{project}/presets",
        (
            Route("GET", "", "list_presets", Right.READ, make_list(Answer(PresetInfo, describe_preset), "preset.id")),
            Route("GET", "/active/layout", "lay_out", Right.READ, _LAYOUT, {"recipe": "novel"}),
            Route(
                "POST",
                "/layout",
                "preview",
                Right.READ,
                _LAYOUT,
                {"data": _EXAMPLE["data"]},
                types={"data": dict[str, Any]},
            ),
            Route(
                "PUT",
                "/active",
                "activate",
                Right.EDIT,
                make_record("ActivePreset", preset=make_optional(_NODES)),
                {"name": "calm"},
            ),
            Route("GET", "/{preset}", "find", Right.READ, _NODES),
            Route("PUT", "/{preset}", "write", Right.EDIT, _NODES, _EXAMPLE, types={"data": dict[str, Any]}),
            Route("DELETE", "/{preset}", "remove", Right.EDIT, _NODES),
            Route(
                "GET",
                "/{preset}/anchors",
                "list_anchors",
                Right.READ,
                make_record("PresetAnchors", anchors=Answer(list[str])),
            ),
        ),
    )
    + mount(
        "presets",
        "/projects/{project}/identity",
        (
            Route("GET", "", "read_identity", Right.READ, _IDENTITY),
            Route("PUT", "", "write_identity", Right.EDIT, _IDENTITY, {"text": "You write a novel of the sea."}),
        ),
    )
    + mount(
        "skills",
        "/projects/{project}/skills",
        (
            Route("GET", "", "list_skills", Right.READ, Answer(SkillList, describe_skills)),
            Route("PUT", "/{skill}", "add", Right.EDIT, NOTHING, {"text": _SKILL}),
            Route("DELETE", "/{skill}", "remove", Right.EDIT, NOTHING),
        ),
    )
)
