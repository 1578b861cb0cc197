"""Chat files in the shapes that several versions of SillyTavern, and programs before it, have written."""

from __future__ import annotations

import json
from typing import Any

Row = dict[str, Any]

EARLY: list[Row] = [  # numbers for times, `is_name`, no `extra`, no metadata
    {"user_name": "You", "character_name": "Mara", "create_date": 1679321415123},
    {"name": "Mara", "is_user": False, "is_name": True, "send_date": 1679321415123, "mes": "The lamp is out."},
    {"name": "You", "is_user": True, "is_name": True, "send_date": 1679321515000, "mes": "Who put it out?"},
    {
        "name": "Mara",
        "is_user": False,
        "is_name": True,
        "send_date": 1679321600000,
        "mes": "The wind.",
        "swipe_id": 1,
        "swipes": ["Nobody.", "The wind.", "I did.\r\n*She laughs.*"],
    },
    {"name": "You", "is_user": True, "is_name": True, "send_date": "2023-3-20 @14h 22m 33s 123ms", "mes": "I see."},
]

MIDDLE: list[Row] = [  # times in words, `extra`, `swipe_info`, greetings with alternates, a hidden message, a narrator
    {
        "user_name": "Ann",
        "character_name": "Mara Venn",
        "create_date": "2024-04-26@06h06m12s",
        "chat_metadata": {
            "note_prompt": "Keep it short.",
            "note_interval": 1,
            "note_depth": 4,
            "timedWorldInfo": {"sticky": {}, "cooldown": {}},
            "variables": {"trust": 3},
        },
    },
    {
        "name": "Mara Venn",
        "is_user": False,
        "is_system": False,
        "send_date": "April 26, 2024 6:06am",
        "mes": "Good evening.",
        "extra": {},
        "swipe_id": 1,
        "swipes": ["Good morning.", "Good evening."],
        "swipe_info": [
            {"send_date": "April 26, 2024 6:05am", "extra": {}},
            {"send_date": "April 26, 2024 6:06am", "extra": {}},
        ],
    },
    {
        "name": "Ann",
        "is_user": True,
        "is_system": False,
        "send_date": "April 26, 2024 12:07pm",
        "mes": "Evening.\nIs it *late*?",
        "extra": {"isSmallSys": False, "token_count": 7},
        "force_avatar": "User Avatars/ann.png",
    },
    {
        "name": "System",
        "is_user": False,
        "is_system": False,
        "send_date": "April 26, 2024 12:08pm",
        "mes": "A bell rings.",
        "extra": {"type": "narrator", "bias": None, "gen_id": 1714112880000},
    },
    {
        "name": "Mara Venn",
        "is_user": False,
        "is_system": True,
        "send_date": "April 26, 2024 12:09pm",
        "mes": "This one is hidden.",
        "extra": {},
    },
    {
        "extra": {
            "api": "textgenerationwebui",
            "model": "some-model",
            "token_count": 120,
            "image": "/user/images/Mara/1.png",
            "inline_image": True,
        },
        "name": "Mara Venn",
        "is_user": False,
        "send_date": "April 26, 2024 12:10pm",
        "mes": "",
        "title": "",
        "gen_started": "2024-04-26T12:09:55.000Z",
        "gen_finished": "2024-04-26T12:10:01.532Z",
        "swipe_id": 0,
        "swipes": [""],
        "swipe_info": [],
    },
]

LATE: list[Row] = [  # ISO times, reasoning, integrity, attachments, an odd list of swipes, what extensions add
    {
        "chat_metadata": {
            "integrity": "0b8cf1b6-61a5-4f37-a8f6-2a3a5a9f77d2",
            "tainted": True,
            "extensions": {"x": [1]},
        },
        "user_name": "Ann",
        "character_name": "玛拉",
    },
    {
        "name": "玛拉",
        "is_user": False,
        "is_system": False,
        "send_date": "2025-11-03T12:34:56.789Z",
        "mes": "灯灭了。\u2028谁干的？",
        "extra": {"reasoning": "想一想", "reasoning_duration": 1200, "reasoning_signature": None},
        "swipe_id": 2,
        "swipes": ["灯亮着。", "灯很暗。", "灯灭了。\u2028谁干的？"],
        "swipe_info": [
            {"send_date": "2025-11-03T12:30:00.000Z", "gen_started": "x", "gen_finished": "y", "extra": {"model": "a"}},
            {"send_date": "2025-11-03T12:32:00.000Z", "extra": {"model": "b"}},
            {"send_date": "2025-11-03T12:34:56.789Z", "extra": {"model": "c"}},
        ],
    },
    {
        "name": "Ann",
        "is_user": True,
        "is_system": False,
        "send_date": "some day in spring",
        "mes": "不是我。",
        "extra": {
            "files": [{"url": "/user/files/1.txt", "size": 12345678901234567890123}],
            "tracker": {"a": {"b": None}},
        },
        "swipes": ["one", None],
        "swipe_id": 0,
        "variables": [{"x": 1.5}],
    },
    {
        "name": "玛拉",
        "is_user": False,
        "is_system": False,
        "send_date": "2025-11-03T12:36:00.000Z",
        "mes": "mended by hand",
        "extra": {},
        "swipe_id": 0,
        "swipes": ["as the model wrote it", "another"],
        "swipe_info": [{"send_date": "2025-11-03T12:36:00.000Z", "extra": {}}],
    },
    {"name": "Note", "is_user": False, "is_system": True, "mes": "A comment.", "extra": {"type": "comment"}},
]

GROUP_EARLY: list[Row] = [  # no first line
    {
        "name": "Mara",
        "is_user": False,
        "is_name": True,
        "is_group": True,
        "send_date": "June 19, 2023 2:20pm",
        "chid": -1,
        "mes": "Who is there?",
        "original_avatar": "Mara.png",
        "force_avatar": "/thumbnail?type=avatar&file=Mara.png",
    },
    {
        "name": "Bo",
        "is_user": False,
        "is_group": True,
        "send_date": "June 19, 2023 2:21pm",
        "mes": "Only me.",
        "original_avatar": "Bo.png",
        "swipes": ["Only me.", "Nobody."],
        "swipe_id": 0,
        "extra": {"gen_id": 1687184460000},
    },
    {"name": "Ann", "is_user": True, "send_date": "June 19, 2023 2:22pm", "mes": "And I."},
]

GROUP_LATE: list[Row] = [
    {"chat_metadata": {"integrity": "a5c9", "variables": {}}, "user_name": "unused", "character_name": "unused"},
    *[{**row, "is_system": False, "send_date": f"2025-10-01T10:0{n}:00.000Z"} for n, row in enumerate(GROUP_EARLY)],
]

VERSIONS = {
    "early": EARLY,
    "middle": MIDDLE,
    "late": LATE,
    "early group": GROUP_EARLY,
    "late group": GROUP_LATE,
}


def encode(rows: list[Row], *, ending: str = "") -> bytes:
    """The bytes of a chat file; SillyTavern ends it without a line end."""
    return ("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + ending).encode()


def decode(data: bytes) -> list[Row]:
    """The lines of a chat file."""
    return [json.loads(line) for line in data.split(b"\n") if line.strip()]
