"""Routes of memory: memories, outcomes of suggestions, and the person's profile (mem-1 … mem-5)."""

from __future__ import annotations

from fabula.access.model import Right
from fabula.server.routes.context import EXAMPLE, read_context_request
from fabula.server.routes.route import Answer, Route, make_list, mount
from fabula.workspace.schemas.context import AssembleRequest
from fabula.workspace.schemas.memory import (
    LearningInfo,
    MemoryInfo,
    MemoryPreviewInfo,
    OutcomeInfo,
    ProfileInfo,
    describe_learning,
    describe_memory,
    describe_memory_preview,
    describe_outcome,
    describe_profile,
)

_MEMORY = Answer(MemoryInfo, describe_memory)
_PROFILE = Answer(ProfileInfo, describe_profile)

ROUTES = mount(
    "memory",
    "/projects/{project}/memories",
    (
        Route("GET", "", "list_memories", Right.READ, make_list(_MEMORY, "item.id"), {"kind": "preference"}),
        Route("POST", "", "remember", Right.EDIT, _MEMORY, {"text": "Keep sentences short in storms."}, creates=True),
        Route("PATCH", "/{memory}", "edit", Right.EDIT, _MEMORY, {"confidence": 0.9}),
        Route("DELETE", "/{memory}", "forget", Right.EDIT, _MEMORY),
        Route("POST", "/{memory}/confirm", "confirm", Right.EDIT, _MEMORY, {"everywhere": False}),
        Route("POST", "/{memory}/dismiss", "dismiss", Right.EDIT, _MEMORY),
        Route("POST", "/learn", "learn", Right.EDIT, Answer(LearningInfo, describe_learning)),
        Route(
            "POST",
            "/samples",
            "add_sample",
            Right.EDIT,
            _MEMORY,
            {"document": "1", "first": "The lamp at Harrow Light", "last": "a minute sooner"},
            creates=True,
        ),
        Route(
            "POST",
            "/outcomes",
            "record_outcome",
            Right.EDIT,
            Answer(OutcomeInfo, describe_outcome),
            {"suggestion": "The sea was loud.", "rejected": True},
            creates=True,
        ),
        Route(
            "POST",
            "/preview",
            "preview",
            Right.INSPECT,
            Answer(MemoryPreviewInfo, describe_memory_preview),
            EXAMPLE,
            request=AssembleRequest,
            call=lambda call: call.handle.memory.preview(read_context_request(call)),
        ),
    ),
) + mount(
    "workspace",
    "/profile",
    (
        Route("GET", "", "read_profile", Right.SIGN_IN, _PROFILE),
        Route("PUT", "", "write_profile", Right.SIGN_IN, _PROFILE, {"text": "I write slow books about the sea."}),
    ),
)
