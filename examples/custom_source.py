"""A source of your own beside those of a recipe: here, the weather of each chapter."""

from collections.abc import Iterable

from fabula import Engine, Fragment, FunctionSource, Layer, Request, SourceRequest, View
from fabula.context import RECIPES, Project, Recipe

WEATHER = {"ch-1": "Fog, no wind.", "ch-2": "A gale from the north-west."}


def offer_weather(request: SourceRequest, view: View) -> Iterable[Fragment]:
    """Offer the weather of the chapter that is being written."""
    document = request.request.document_id
    if document in WEATHER:
        yield Fragment(
            source=f"weather:{document}",
            layer=Layer.RETRIEVED,
            title="Weather",
            text=WEATHER[document],
            project_id=view.project.id,
            score=0.9,
        )


engine = Engine(
    [FunctionSource(name="weather", function=offer_weather)],
    recipes={"logbook": Recipe(name="logbook", preset=RECIPES["novel"].preset, sources=("weather",))},
)
request = Request(
    project_id="coast",
    recipe="logbook",
    document_id="ch-2",
    additional_input="Describe the evening.",
    model="gpt-4o",
)
print(engine.assemble(request, View(Project(id="coast"))).prompt)
