"""The updaters that look at pictures, by the names that users give them; all in one seat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from planner.memory.features import FeatureExtractor, GroundTruthFeatures, SigLipFeatures
from planner.memory.learned.detector import Detector
from planner.memory.learned.updater import LearnedUpdater
from planner.memory.object_graph import ObjectGraph
from planner.memory.open_vocabulary import OpenVocabularyEye
from planner.memory.operations import CoordinateFrame
from planner.memory.updater import MemoryUpdater
from planner.memory.vlm import Seer, ServerSeer, VlmUpdater
from planner.memory.voxel import VoxelForm, VoxelMap, VoxelUpdater
from planner.world.catalogue import default_catalogue
from planner.world.errors import PlannerError
from planner.world.house import House

ClassOf = Callable[[int], str | None]
MakeSeeing = Callable[[House], MemoryUpdater]


class Seeing(StrEnum):
    """Updaters that look at pictures."""

    LEARNED = "learned"
    VLM = "vlm"
    OPEN_VOCABULARY = "open-vocabulary"
    VOXELS = "voxels-plain"
    VOXELS_ROOM = "voxels-room"
    VOXELS_TIME = "voxels-room-time-only"
    OBJECT_GRAPH = "object-graph"


_FORMS: Mapping[Seeing, VoxelForm] = {
    Seeing.VOXELS: VoxelForm.PLAIN,
    Seeing.VOXELS_ROOM: VoxelForm.ROOM,
    Seeing.VOXELS_TIME: VoxelForm.ROOM_TIME_ONLY,
}
BASELINES = (*_FORMS, Seeing.OBJECT_GRAPH)


@dataclass(frozen=True, slots=True)
class SeeingModel:
    """The model that an updater looks with.

    Attributes:
        model: a folder, or with `url` the server's name for it. Empty: the shipped model of
            `learned`; for the baselines ground-truth classes in place of a model.
        url: of an OpenAI-compatible server that takes pictures, `.../v1`; only of `vlm`.
        second: folder of `vlm`'s LoRA adapter, or of the SigLIP model beside OWLv2; may be empty.
        coordinates: what the numbers in `vlm`'s answers are.
        device: torch's name.
        timeout_s: of one answer of `vlm`.
    """

    model: str = ""
    url: str = ""
    second: str = ""
    coordinates: CoordinateFrame = CoordinateFrame.PIXEL_384
    device: str = "cpu"
    timeout_s: float = 30.0


def needs_truth(kind: Seeing, model: SeeingModel) -> bool:
    """Whether the updater looks at ground-truth ids, as the baselines do without a model."""
    return kind in BASELINES and not model.model


def load_seeing(
    kind: Seeing, model: SeeingModel | None = None, class_of: ClassOf | None = None
) -> MakeSeeing:
    """Loads the model, once; what is returned makes the updater of a house.

    Args:
        kind: which updater.
        model: what it looks with.
        class_of: the class of an instance id, for baselines without a model.

    Raises:
        PlannerError: where the model is missing or unfit, or an extra is not installed.
        FileError: likewise, for the shipped format.
    """
    model = model or SeeingModel()
    if model.url and kind is not Seeing.VLM:
        raise PlannerError(f"the memory {kind} takes no server; name a folder")
    if kind is Seeing.LEARNED:
        detector = Detector.load(Path(model.model) if model.model else None)
        return lambda layout: LearnedUpdater(layout, detector)
    if kind is Seeing.VLM:
        seer = _seer(model)
        return lambda _: VlmUpdater(seer, model.coordinates)
    classes = sorted(default_catalogue().objects)
    if kind is Seeing.OPEN_VOCABULARY:
        folder, second = _folder(kind, model), Path(model.second) if model.second else None
        eye = OpenVocabularyEye(folder, classes, second=second, device=model.device)
        return lambda layout: LearnedUpdater(layout, eye, name=kind.value)
    features = _features(model, classes, class_of)
    if kind is Seeing.OBJECT_GRAPH:
        return lambda _: ObjectGraph(features, classes)
    form = _FORMS[kind]
    return lambda layout: VoxelUpdater(VoxelMap(layout, features, form), classes)


def _seer(model: SeeingModel) -> Seer:
    if model.url:
        if not model.model:
            raise PlannerError("the memory vlm needs the server's name for its model")
        return ServerSeer(model.url, model.model, timeout_s=model.timeout_s)
    from planner.memory.in_process_seer import InProcessSeer

    return InProcessSeer(
        _folder(Seeing.VLM, model),
        device=model.device,
        adapter=Path(model.second) if model.second else None,
        timeout_s=model.timeout_s,
    )


def _folder(kind: Seeing, model: SeeingModel) -> Path:
    if not model.model:
        what = "a model: its folder" + (", or a server" if kind is Seeing.VLM else "")
        raise PlannerError(f"the memory {kind} needs {what}")
    return Path(model.model)


def _features(model: SeeingModel, classes: list[str], class_of: ClassOf | None) -> FeatureExtractor:
    if model.model:
        return SigLipFeatures(Path(model.model), device=model.device)
    if class_of is None:
        raise PlannerError("without a model the baselines need ground-truth classes")
    return GroundTruthFeatures(classes, class_of)
