"""What a memory sees with: depth and segments, each estimated or true (HELPER-T2).

A camera's own depth and a simulator's instance ids are the truth. Depth is estimated from colours
by a model, or by a stand-in: the camera's depth with smooth errors. Segments are a detector's.
"""

from __future__ import annotations

import asyncio
import json
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Protocol

import cv2
import numpy as np
import shapely
from numpy.typing import NDArray

from planner.memory.learned.detector import Detection, FrameDetections, Rising
from planner.memory.learned.updater import FrameDetector, LearnedUpdater, UpdaterOptions
from planner.memory.maps.object_map import centroid, true_detections
from planner.memory.part import (
    DEPTH_MODEL,
    OF_ERRORS,
    PERCEPTION_OPTIONS,
    TRUE_SEGMENTATION,
    MakeUpdater,
    UpdaterRequest,
)
from planner.memory.updater import MemoryUpdater, Operation
from planner.memory.wording import words_of
from planner.models.caller import BlockingLoop, Caller
from planner.models.chat import Fault, Message, Reader, Reference, ReferenceReply, Speaker
from planner.models.replies.dictionary import DictionaryReply, TextKey
from planner.parts.option import read_options
from planner.world.belief import Entity
from planner.world.catalogue import default_catalogue
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House
from planner.world.observation import CameraFrame, DepthImage, Observation

# Errors of neighbouring pixels are alike: so many of them are drawn along each side of a picture.
_ERRORS_DRAWN = 6
_CELL_PX = 4


class DepthEstimator(Protocol):
    """Says how far away is what a picture shows."""

    def depth_m(self, frame: CameraFrame) -> DepthImage:
        """(h, w) metres along the optical axis; 0 = unknown."""


class DepthModel:
    """A ZoeDepth model of `transformers`, which the paper fine-tuned."""

    def __init__(self, folder: Path, device: str = "cpu") -> None:
        """Loads a model's folder, as `save_pretrained` of model and processor writes it.

        Raises:
            PlannerError: without torch and transformers, or for another kind of model.
        """
        try:
            import torch
            from transformers import ZoeDepthForDepthEstimation
            from transformers.models.zoedepth.image_processing_pil_zoedepth import (
                ZoeDepthImageProcessorPil,
            )
        except ImportError as error:
            raise PlannerError(
                f"a depth model needs the extra `vlm`: pip install -e '.[vlm]' ({error})"
            ) from None
        if not (folder / "config.json").is_file():
            raise PlannerError(f"{folder}: is not a model folder: no config.json")
        try:
            model: Any = ZoeDepthForDepthEstimation.from_pretrained(folder, local_files_only=True)
            self._processor: Any = ZoeDepthImageProcessorPil.from_pretrained(
                folder, local_files_only=True
            )
        except (OSError, ValueError) as error:
            raise PlannerError(f"{folder}: cannot be loaded: {error}") from None
        self._torch, self._device = torch, device
        self._model = model.to(device).eval()

    def depth_m(self, frame: CameraFrame) -> DepthImage:
        """See `DepthEstimator`."""
        # Padded pictures would need torchvision to be cut again.
        inputs = self._processor(images=frame.rgb, do_pad=False, return_tensors="pt")
        with self._torch.inference_mode():
            found = self._model(**inputs.to(self._device)).predicted_depth[0]
        height, width = frame.depth_m.shape
        depth: DepthImage = cv2.resize(
            found.float().cpu().numpy(), (width, height), interpolation=cv2.INTER_CUBIC
        ).astype(np.float32)
        return np.maximum(depth, np.float32(0))


class DepthErrors:
    """A stand-in for a model: the camera's depth with errors, the same from the same place."""

    def __init__(self, share: float) -> None:
        """`share` is the mean error's size as a share of the depth."""
        self._share = share

    def depth_m(self, frame: CameraFrame) -> DepthImage:
        """See `DepthEstimator`."""
        place = np.array([*frame.pose.position_m, *frame.pose.orientation], np.float64)
        rng = np.random.default_rng(zlib.crc32(place.tobytes()))
        drawn = rng.normal(size=(_ERRORS_DRAWN, _ERRORS_DRAWN)).astype(np.float32)
        height, width = frame.depth_m.shape
        errors = cv2.resize(drawn, (width, height), interpolation=cv2.INTER_CUBIC)
        scaled = errors * (self._share / float(np.abs(errors).mean()))
        found: DepthImage = (frame.depth_m * np.maximum(1 + scaled, 0.1)).astype(np.float32)
        return found


class EstimatedDepth:
    """An updater that is shown estimated depth in place of the camera's."""

    def __init__(self, updater: MemoryUpdater, estimator: DepthEstimator) -> None:
        self._updater, self._estimator = updater, estimator

    @property
    def name(self) -> str:
        """The updater's."""
        return self._updater.name

    def update(
        self, observation: Observation, entities: Sequence[Entity], last_action: str
    ) -> list[Operation]:
        """The edits by estimated depth; see `MemoryUpdater`."""
        cameras = {
            name: replace(frame, depth_m=self._estimator.depth_m(frame))
            for name, frame in observation.cameras.items()
        }
        return self._updater.update(replace(observation, cameras=cameras), entities, last_action)


class TrueSegments:
    """A detector whose things are a simulator's; of furniture it says what its eye sees."""

    def __init__(self, eye: FrameDetector, class_of: Callable[[int], str | None]) -> None:
        """Takes the detector, and the class of an instance id; None = it is not movable."""
        self._eye, self._class_of = eye, class_of

    def look(self, frame: CameraFrame, rising: Rising | None = None) -> FrameDetections:
        """What the frame shows; see `FrameDetector`.

        Raises:
            PlannerError: for a frame without instance ids.
        """
        found = []
        for thing in true_detections(frame, self._class_of):
            front_m = centroid(frame, thing.mask)
            if front_m is not None:
                found.append(_behind(front_m, thing.label, thing.mask, frame))
        return replace(self._eye.look(frame, rising), detections=tuple(found))

    def knows(self, class_name: str) -> bool:
        """Whether it can tell things of a class: all that can be carried."""
        return class_name in default_catalogue().objects


def _behind(
    front_m: Vec3, class_name: str, mask: NDArray[np.bool_], frame: CameraFrame
) -> Detection:
    """A thing whose front is at a point: its middle lies behind that, as seen from the camera."""
    front, eye = np.array(front_m), np.array(frame.pose.position_m)
    ahead = frame.pose.rotation()[:, 2]
    depth_m = float((front - eye) @ ahead)
    half_m = min(default_catalogue().objects[class_name].size_m) / 2
    x, y, z = (front + (front - eye) * (half_m / max(depth_m, half_m))).tolist()
    rows, columns = np.nonzero(mask)
    pixel = (float(np.median(columns)), float(np.median(rows)))
    cells = max(1, len(rows) // _CELL_PX**2)
    return Detection(class_name, 1.0, (x, y, z), depth_m, pixel, cells)


def make_perceiving(request: UpdaterRequest, eye: FrameDetector, off_m: float = 0) -> MakeUpdater:
    """What makes a house's updater with a detector that sees things up to `off_m` off their places.

    Raises:
        PlannerError: for a depth model that cannot be used, or true segments without a simulator.
    """
    options = read_options(PERCEPTION_OPTIONS, request.options)
    if options[TRUE_SEGMENTATION]:
        if request.class_of is None:
            raise PlannerError(f"{TRUE_SEGMENTATION} needs the ground truth of a simulator")
        eye = TrueSegments(eye, request.class_of)
    estimator = _estimator(str(options[DEPTH_MODEL]), request.model.device)

    def make(layout: House) -> MemoryUpdater:
        updater = LearnedUpdater(layout, eye, UpdaterOptions(off_m=off_m), name=request.name)
        return updater if estimator is None else EstimatedDepth(updater, estimator)

    return make


def _estimator(named: str, device: str) -> DepthEstimator | None:
    if not named:
        return None
    if not named.startswith(OF_ERRORS):
        return DepthModel(Path(named), device)
    try:
        share = float(named.removeprefix(OF_ERRORS))
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise PlannerError(f"{DEPTH_MODEL}: {named!r}: expected a share of the depth, 0 to 1")
    return DepthErrors(share)


# In which room furniture is, said by a language model from what stands near it (PARTNR-5.4).
#
# As in the paper's form of ConceptGraphs: the model gets a piece's name and those of the ten pieces
# nearest to it, and answers with a kind of room from a closed list (PARTNR-D67).

UNKNOWN = "unknown"
LABELS = ("bedroom", "living room", "kitchen", "dining room", "hallway", "bathroom", UNKNOWN)
NEAREST = 10
KEY = "ROOM_LABEL"
# Requests that are under way at a time.
_AT_ONCE = 8
_FORM = DictionaryReply((TextKey(KEY, words=LABELS, max_characters=40),), max_tokens=32)
_SYSTEM = (
    "You know how homes are furnished. You are told of a piece of furniture in a house, by a JSON "
    "object: QUERY_OBJECT_NAME is what it is, CLOSEST_OBJECTS are the pieces that stand nearest to "
    f"it, at most {NEAREST}, the nearest first. Say in which kind of room it stands. Answer with a "
    f"JSON object that has the one key {KEY} and nothing beside it. Its value is one of: "
    f"{', '.join(LABELS)}. Say {UNKNOWN} only where none of the others fits."
)


class RoomLabels:
    """Asks once for each piece of a house; what failed for lack of an answer is asked again.

    Attributes:
        counts: of replies that are no label, and of labels of a kind of room that the house has
            none of. Both leave the room unknown.
    """

    def __init__(self, layout: House, caller: Caller, loop: BlockingLoop) -> None:
        """Nothing has been asked yet; `loop` is that in which the model is asked."""
        self._layout, self._caller, self._loop = layout, caller, loop
        self._rooms: dict[str, str | None] = {}
        self.counts = {"room labels unreadable": 0, "room labels without a room": 0}

    @property
    def rooms(self) -> Mapping[str, str | None]:
        """The room of each piece of furniture, None = unknown; asks for what is missing.

        Raises:
            ModelError: if the model does not answer; what it has answered is kept.
        """
        missing = [one for one in self._layout.furniture if one.name not in self._rooms]
        if missing:
            self._loop.run(self._ask_all(missing))
        return self._rooms

    async def _ask_all(self, pieces: Sequence[Furniture]) -> None:
        free = asyncio.Semaphore(_AT_ONCE)

        async def ask(piece: Furniture) -> None:
            async with free:
                label = await self._ask(piece)
            self._rooms[piece.name] = self._room(piece, label)

        # A server that is away, or whose way with grammars has to be found out, is asked once.
        await ask(pieces[0])
        for ended in await asyncio.gather(*map(ask, pieces[1:]), return_exceptions=True):
            if isinstance(ended, BaseException):
                raise ended

    async def _ask(self, piece: Furniture) -> str:
        """The label that the model says; unknown for a reply that is none."""
        number = self._layout.furniture.index(piece) + 1
        answer = await self._caller.ask(
            (Message(Speaker.SYSTEM, _SYSTEM), Message(Speaker.USER, self._question(piece))),
            _FORM,
            cycle=number,
            reference=self._right(piece),
        )
        said = None if answer.value is None else answer.value.text(KEY).casefold().strip()
        if said in LABELS:
            return said
        self.counts["room labels unreadable"] += 1
        return UNKNOWN

    def _question(self, piece: Furniture) -> str:
        others = sorted(
            (one for one in self._layout.furniture if one is not piece),
            key=lambda one: (math.dist(one.box.center_m, piece.box.center_m), one.name),
        )
        return json.dumps(
            {
                "QUERY_OBJECT_NAME": words_of(piece.class_name),
                "CLOSEST_OBJECTS": [words_of(one.class_name) for one in others[:NEAREST]],
            }
        )

    def _room(self, piece: Furniture, label: str) -> str | None:
        """The nearest room of the labelled kind."""
        if label == UNKNOWN:
            return None
        alike = [room for room in self._layout.rooms if words_of(room.class_name) == label]
        if not alike:
            self.counts["room labels without a room"] += 1
            return None
        at = shapely.Point(piece.x_m, piece.y_m)
        return min(alike, key=lambda room: (room.shape.distance(at), room.name)).name

    def _right(self, piece: Furniture) -> Reference:
        """What a flawless model would say: the kind of room that the layout has."""
        words = words_of(self._layout.rooms_by_name[piece.room].class_name)
        right = words if words in LABELS else UNKNOWN

        async def reply(random: Random, reader: Reader) -> ReferenceReply:
            del reader
            wrong = random.choice([label for label in LABELS if label != right])
            return ReferenceReply(_said(right), {Fault.WRONG_ENTITY: _said(wrong)})

        return Reference(f"{self._layout.name} {piece.name}", reply)


def _said(label: str) -> str:
    return json.dumps({KEY: label})
