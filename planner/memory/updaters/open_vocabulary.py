"""Memory updater `open-vocabulary`: OWLv2 finds things by their names, SigLIP tells them apart."""

from planner.memory.part import MakeUpdater, UpdaterPart, UpdaterRequest


def _make(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.learned.updater import LearnedUpdater
    from planner.memory.open_vocabulary import OpenVocabularyDetector
    from planner.world.catalogue import default_catalogue

    eye = OpenVocabularyDetector(
        request.folder,
        sorted(default_catalogue().objects),
        second=request.second_folder,
        device=request.model.device,
    )
    return lambda layout: LearnedUpdater(layout, eye, name=request.name)


UPDATER = UpdaterPart(
    summary="an open-vocabulary detector (OWLv2), with SigLIP beside it",
    make=_make,
    needs_model=True,
)
