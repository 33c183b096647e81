"""Memory updater `open-vocabulary`: OWLv2 finds things by their names, SigLIP tells them apart."""

from planner.memory.part import MakeUpdater, UpdaterPart, UpdaterRequest
from planner.memory.perception_options import PERCEPTION_OPTIONS, TRUE_SEGMENTATION


def _make(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.open_vocabulary import OpenVocabularyDetector
    from planner.memory.perception import make_perceiving
    from planner.world.catalogue import default_catalogue

    eye = OpenVocabularyDetector(
        request.folder,
        sorted(default_catalogue().objects),
        second=request.second_folder,
        device=request.model.device,
    )
    return make_perceiving(request, eye)


UPDATER = UpdaterPart(
    summary="an open-vocabulary detector (OWLv2), with SigLIP beside it",
    make=_make,
    needs_model=True,
    truth_option=TRUE_SEGMENTATION,
    options=PERCEPTION_OPTIONS,
)
