"""The memory updaters of this project by name."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from planner.memory.part import (
    PERCEPTION_OPTIONS,
    TRUE_SEGMENTATION,
    MakeUpdater,
    UpdaterPart,
    UpdaterRequest,
)
from planner.parts.option import Option
from planner.world.errors import PlannerError


def _make_privileged(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.privileged import PrivilegedUpdater
    from planner.memory.sightings import GT_VISIBILITY

    truth, visibility = request.truth, request.visibility or GT_VISIBILITY
    return lambda _: PrivilegedUpdater(truth, visibility)


def _make_learned(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.learned.detector import Detector
    from planner.memory.learned.segments import shipped_model
    from planner.memory.perception import make_perceiving

    given = request.model.model
    # Command lines have made a name a path.
    named = shipped_model(Path(given).name)
    path = named if not Path(given).exists() and named.is_file() else Path(given)
    detector = Detector.load(path if given else None)
    return make_perceiving(request, detector, detector.off_m)


def _make_voxels(form: str, request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.voxel import VoxelForm, make_voxels

    return make_voxels(request, VoxelForm(form))


# What a folder meant before models had parts.
_OF_A_FOLDER = "local"


def _make_vlm(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.vlm import VlmUpdater
    from planner.models.caller import BlockingLoop
    from planner.models.model_choice import SERVER, ModelChoice, model_part, open_model

    asked = request.model
    if not asked.model:
        raise PlannerError("the memory vlm needs the server's name for its model")
    named = asked.model
    if not asked.url and model_part(named) == SERVER:
        named = f"{_OF_A_FOLDER}:{named}"
    part = ModelChoice(named, asked.url).part
    if not part.takes_pictures:
        raise PlannerError(f"the model {named} does not accept images")
    wanted = {"device": asked.device, "adapter": asked.second}
    options = {o.name: wanted[o.name] for o in part.options if o.name in wanted}
    model, loop = open_model(ModelChoice(named, asked.url, options)), BlockingLoop()
    return lambda _: VlmUpdater(
        model, asked.coordinates, deadline_s=asked.timeout_s, on_call=request.on_call, loop=loop
    )


_ROOM_MODEL, _ROOM_MODEL_URL = "room_model", "room_model_url"


def _make_object_graph(request: UpdaterRequest) -> MakeUpdater:
    from planner.memory.features import ObjectGraph, load_features
    from planner.memory.perception import RoomLabels
    from planner.models.caller import BlockingLoop, Caller
    from planner.models.chat import Role
    from planner.models.model_choice import ModelChoice, make_model
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


def _make_open_vocabulary(request: UpdaterRequest) -> MakeUpdater:
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


UPDATERS: Mapping[str, UpdaterPart] = {
    "privileged": UpdaterPart(
        summary="ground truth of what the camera sees, from the simulator",
        make=_make_privileged,
        needs_truth=True,
        true_names=True,
        needs_pictures=False,
        in_thread=False,
    ),
    "learned": UpdaterPart(
        summary="an RGB-D detector that runs on the CPU; its model is included",
        make=_make_learned,
        truth_option=TRUE_SEGMENTATION,
        options=PERCEPTION_OPTIONS,
    ),
    "voxels-plain": UpdaterPart(
        summary="baseline: a voxel map of image features",
        make=partial(_make_voxels, "plain"),
        truth_instead_of_model=True,
    ),
    "voxels-room": UpdaterPart(
        summary="baseline: voxels-plain with the room in the query",
        make=partial(_make_voxels, "room"),
        truth_instead_of_model=True,
    ),
    "voxels-room-time-only": UpdaterPart(
        summary="baseline: voxels-room, newest observation first",
        make=partial(_make_voxels, "room-time-only"),
        truth_instead_of_model=True,
    ),
    "vlm": UpdaterPart(
        summary="a vision-language model, on a server or in this process, writes the edits",
        make=_make_vlm,
        needs_model=True,
        takes_server=True,
    ),
    "object-graph": UpdaterPart(
        summary="baseline: a graph of objects with image features (ConceptGraphs' kind)",
        make=_make_object_graph,
        truth_instead_of_model=True,
        options=(
            Option(
                _ROOM_MODEL,
                "",
                "chat model that says in which rooms furniture is, as of planners; "
                "empty = the layout",
            ),
            Option(_ROOM_MODEL_URL, "", "address of the server of room_model, .../v1"),
        ),
    ),
    "open-vocabulary": UpdaterPart(
        summary="an open-vocabulary detector (OWLv2), with SigLIP beside it",
        make=_make_open_vocabulary,
        needs_model=True,
        truth_option=TRUE_SEGMENTATION,
        options=PERCEPTION_OPTIONS,
    ),
}
