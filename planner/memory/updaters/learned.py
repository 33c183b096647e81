"""Memory updater `learned`: the detector that ships, which reads colour and depth."""

from pathlib import Path

from planner.memory.part import MakeUpdater, UpdaterPart, UpdaterRequest
from planner.memory.perception_options import PERCEPTION_OPTIONS, TRUE_SEGMENTATION


def _make(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.learned.detector import Detector
    from planner.memory.perception import make_perceiving

    model = request.model.model
    return make_perceiving(request, Detector.load(Path(model) if model else None))


UPDATER = UpdaterPart(
    summary="an RGB-D detector that runs on the CPU; its model is included",
    make=_make,
    truth_option=TRUE_SEGMENTATION,
    options=PERCEPTION_OPTIONS,
)
