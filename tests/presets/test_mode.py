"""A message of a preset for one mode of conversation."""

from __future__ import annotations

from fabula.context.recipes import Condition, Node, Preset
from fabula.conversation import edits as talks
from fabula.manuscript import projects
from fabula.presets import edits as service
from fabula.store.store import Store
from fabula.workspace.project import Fabula
from fabula.workspace.views import Library

P = "coast"


def test_a_kept_conversation_brings_its_mode_along(store: Store) -> None:
    projects.create(store, "The Coast", project_id=P)
    node = Node(id="night", content="NIGHT FALLS", condition=Condition(modes=("werewolf",)))
    with store.write(project=P) as tx:
        service.put(tx, "Mine", Preset(nodes=(node,)), active=True)
        for mode in ("werewolf", "quiz"):
            talks.start(tx, mode, mode=mode)
    house = Fabula.open(P, library=Library(store))

    def there(conversation: str, **wishes: object) -> bool:
        request = house.request(conversation_id=conversation, recipe="chat", additional_input="Hello", **wishes)
        return "NIGHT FALLS" in house.assemble(request).prompt

    assert there("werewolf")
    assert not there("quiz")
    assert there("quiz", mode="werewolf")
    with store.write(project=P) as tx:
        talks.update(tx, "quiz", {"mode": "werewolf"})
    assert there("quiz")
