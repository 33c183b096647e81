"""Memory updater `object-graph`: EPM's baseline that keeps objects with their features."""

from planner.memory.part import MakeUpdater, UpdaterPart, UpdaterRequest


def _make(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.features import load_features
    from planner.memory.object_graph import ObjectGraph
    from planner.world.catalogue import default_catalogue

    classes = sorted(default_catalogue().objects)
    features = load_features(request, classes)
    return lambda _: ObjectGraph(features, classes)


UPDATER = UpdaterPart(
    summary="baseline: a graph of objects with image features (ConceptGraphs' kind)",
    make=_make,
    truth_instead_of_model=True,
)
