"""Memory updater `object-graph`: EPM's baseline that keeps objects with their features."""

from planner.memory.part import MakeUpdater, UpdaterPart, UpdaterRequest
from planner.parts.option import Option

_ROOM_MODEL, _ROOM_MODEL_URL = "room_model", "room_model_url"


def _make(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.features import load_features
    from planner.memory.object_graph import ObjectGraph
    from planner.memory.room_labels import RoomLabels
    from planner.models.blocking import BlockingLoop
    from planner.models.caller import Caller
    from planner.models.model_choice import ModelChoice, make_model
    from planner.models.role import Role
    from planner.world.catalogue import default_catalogue

    classes = sorted(default_catalogue().objects)
    features = load_features(request, classes)
    named, url = (str(request.options.get(name, "")) for name in (_ROOM_MODEL, _ROOM_MODEL_URL))
    model = make_model(ModelChoice(named, url))
    if model is None:
        return lambda _: ObjectGraph(features, classes)
    caller = Caller(
        request.name,
        model,
        Role.MEMORY,
        deadline_s=request.model.timeout_s,
        on_call=request.on_call,
    )
    loop = BlockingLoop()
    return lambda layout: ObjectGraph(
        features, classes, room_labels=RoomLabels(layout, caller, loop)
    )


UPDATER = UpdaterPart(
    summary="baseline: a graph of objects with image features (ConceptGraphs' kind)",
    make=_make,
    truth_instead_of_model=True,
    options=(
        Option(
            _ROOM_MODEL,
            "",
            "chat model that says in which rooms furniture is, as of planners; empty = the layout",
        ),
        Option(_ROOM_MODEL_URL, "", "address of the server of room_model, .../v1"),
    ),
)
