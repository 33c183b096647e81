"""Memory updater `learned`: the detector that ships, which reads colour and depth."""

from pathlib import Path

from planner.memory.part import MakeUpdater, UpdaterPart, UpdaterRequest


def _make(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.learned.detector import Detector
    from planner.memory.learned.updater import LearnedUpdater

    model = request.model.model
    detector = Detector.load(Path(model) if model else None)
    return lambda layout: LearnedUpdater(layout, detector)


UPDATER = UpdaterPart(
    summary="an RGB-D detector that runs on the CPU; its model is included", make=_make
)
