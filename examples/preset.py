"""A preset: one message two messages deep in the conversation, one beside an anchor of its own."""

from fabula import Engine, Fragment, Layer, Part, Preset, Request
from fabula.context import InjectionStrategy, Node, available_anchors

preset = Preset(
    nodes=(
        Node(type="placeholder", id="mood"),
        Node(id="weather", content="[It rains.]", injection_strategy=InjectionStrategy(anchor_target="mood")),
        Node(type="chat_history", id="chat_history"),
        Node(id="reminder", content="[Keep it short.]", injection_strategy=InjectionStrategy(depth=2)),
    )
)
history = [
    Fragment(
        source=f"history:{number}",
        layer=Layer.IMMEDIATE,
        part=Part.HISTORY,
        role="user" if number % 2 == 0 else "assistant",
        text=f"Message {number}.",
        project_id="coast",
    )
    for number in range(4)
]
request = Request(project_id="coast", recipe="chat", model="gpt-4o", preset=preset, additional_input="And now?")
print(available_anchors(preset))
for message in Engine().assemble(request, fragments=history).messages:
    print(f"{message.role}: {message.content}")
