"""The engine by itself: fragments in, one prompt under an exact budget out. No store, no server, no model."""

from fabula import Engine, Fragment, Layer, Part, Request

rule = Fragment(source="constraint:1", layer=Layer.RULES, part=Part.CONSTRAINT, text="No magic.", project_id="coast")
text = Fragment(source="editor", layer=Layer.IMMEDIATE, part=Part.WINDOW, text="The lamp was out.", project_id="coast")

result = Engine().assemble(Request(project_id="coast", model="gpt-4o"), fragments=[rule, text])

print(result.prompt)
print(f"{result.token_count} tokens of {result.budget.total}")
for verdict in result.trace:
    print(f"{verdict.source}: {'in' if verdict.included else 'out'}, because {verdict.sentence}")
