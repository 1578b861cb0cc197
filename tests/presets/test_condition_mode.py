"""A condition on the mode of the conversation (inj-6)."""

from __future__ import annotations

from typing import Any

from fabula.context.recipes import Condition, Node, Preset
from fabula.conversation import edits as conversations
from fabula.manuscript import projects
from fabula.presets import edits
from fabula.store.store import Store
from fabula.workspace.workspace import Workspace

P = "coast"


def test_a_stored_conversation_provides_its_mode(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)
    node = Node(id="night", content="NIGHT FALLS", condition=Condition(modes=("werewolf",)))
    with store.write(project=P) as tx:
        edits.put(tx, "Mine", Preset(nodes=(node,)), active=True)
        for mode in ("werewolf", "quiz"):
            conversations.start_conversation(tx, mode, mode=mode)
    with Workspace(store) as workspace:
        project = workspace.project(P)

        def is_included(conversation: str, **options: Any) -> bool:
            request = project.request(conversation_id=conversation, recipe="chat", additional_input="Hello", **options)
            return "NIGHT FALLS" in project.assemble(request).prompt

        assert is_included("werewolf")
        assert not is_included("quiz")
        assert is_included("quiz", mode="werewolf")
        with store.write(project=P) as tx:
            conversations.update_conversation(tx, "quiz", {"mode": "werewolf"})
        assert is_included("quiz")
