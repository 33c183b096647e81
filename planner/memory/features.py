"""Features of regions and words, and a kind of ConceptGraphs that joins detections by them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.memory.part import UpdaterRequest
from planner.memory.perception import RoomLabels
from planner.memory.updater import Facts, Operation
from planner.memory.wording import words_of
from planner.world.belief import Entity, OperationKind
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.observation import CameraFrame, Observation, RgbImage

if TYPE_CHECKING:
    import torch


Features = NDArray[np.float32]
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Region:
    """A piece of a picture that may be one thing.

    Attributes:
        mask: (h, w) bool.
        feature: (d,) of length one.
    """

    mask: NDArray[np.bool_]
    feature: Features


class FeatureExtractor(Protocol):
    """Finds regions and puts them, and words, into one space; vectors have length one."""

    @property
    def name(self) -> str:
        """Of the model, or of what stands in for it."""

    def regions(self, frame: CameraFrame) -> list[Region]:
        """The regions of a picture."""

    def text(self, words: str) -> Features:
        """(d,) of words; zeros for words without meaning."""


class ViewEncoder(Protocol):
    """An image-text encoder: pictures and words as vectors of one space, of length one."""

    @property
    def name(self) -> str:
        """Of the model."""

    def picture(self, image: RgbImage) -> Features:
        """(d,) of a whole picture, (h, w, 3) uint8."""

    def text(self, words: str) -> Features:
        """(d,) of words."""


class GroundTruthFeatures:
    """A stand-in for tests and for DynaMem-GT: regions by instance ids, one axis a word."""

    name = "ground truth"

    def __init__(self, classes: Sequence[str], class_of: Callable[[int], str | None]) -> None:
        """Takes the vocabulary and the class of an instance; None = it is not movable."""
        words = sorted({word for name in classes for word in _WORD.findall(name.lower())})
        self._axes: Mapping[str, int] = {word: axis for axis, word in enumerate(words)}
        self._class_of = class_of

    def regions(self, frame: CameraFrame) -> list[Region]:
        """One a movable instance.

        Raises:
            PlannerError: for a frame without instance ids.
        """
        if frame.instances is None:
            raise PlannerError("the camera gives no instance ids, which these features need")
        found = []
        for number in np.unique(frame.instances).tolist():
            name = self._class_of(number)
            if name is not None:
                found.append(Region(frame.instances == number, self.text(name)))
        return found

    def text(self, words: str) -> Features:
        """Equal weights for the words of the vocabulary."""
        vector = np.zeros(len(self._axes), np.float32)
        for word in _WORD.findall(words.lower()):
            if word in self._axes:
                vector[self._axes[word]] = 1.0
        return unit(vector)


class SigLipFeatures:
    """A SigLIP or CLIP class model over square tiles of a picture."""

    def __init__(self, folder: Path, tiles: int = 6, device: str = "cpu") -> None:
        """Loads a model's folder.

        Args:
            folder: as `save_pretrained` of model and processor writes it.
            tiles: a side; each tile is a region.
            device: torch device.

        Raises:
            PlannerError: without torch and transformers, or for another kind of model.
        """
        try:
            import torch
            from transformers import AutoModel, AutoProcessor
        except ImportError:
            raise PlannerError(
                "these features need the extra `vlm`: pip install -e '.[vlm]'"
            ) from None
        try:
            model = AutoModel.from_pretrained(folder, local_files_only=True)
            self._processor = AutoProcessor.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError) as error:
            raise PlannerError(f"{folder}: cannot be loaded: {error}") from None
        if not hasattr(model, "get_image_features"):
            raise PlannerError(f"{folder}: is not an image-text model")
        self._torch, self._device, self._tiles = torch, device, tiles
        self._model = model.to(device).eval()
        self.name = folder.name

    def regions(self, frame: CameraFrame) -> list[Region]:
        """The tiles, row by row from the top left."""
        height, width = frame.rgb.shape[:2]
        rows = np.linspace(0, height, self._tiles + 1).astype(int)
        columns = np.linspace(0, width, self._tiles + 1).astype(int)
        masks, crops = [], []
        for top, bottom in pairwise(rows.tolist()):
            for left, right in pairwise(columns.tolist()):
                mask = np.zeros((height, width), bool)
                mask[top:bottom, left:right] = True
                masks.append(mask)
                crops.append(frame.rgb[top:bottom, left:right])
        return [Region(m, v) for m, v in zip(masks, self._pictures(crops), strict=True)]

    def picture(self, image: RgbImage) -> Features:
        """(d,) of a whole picture."""
        return self._pictures([image])[0]

    def _pictures(self, images: Sequence[RgbImage]) -> list[Features]:
        inputs = self._processor(images=list(images), return_tensors="pt").to(self._device)
        with self._torch.inference_mode():
            return [unit(v) for v in _rows(self._model.get_image_features(**inputs))]

    def text(self, words: str) -> Features:
        """See `FeatureExtractor`."""
        inputs = self._processor(
            text=[words], padding="max_length", truncation=True, return_tensors="pt"
        )
        with self._torch.inference_mode():
            return unit(_rows(self._model.get_text_features(**inputs.to(self._device)))[0])


def load_features(request: UpdaterRequest, classes: list[str]) -> FeatureExtractor:
    """The model that is named, or ground truth in its place.

    Raises:
        PlannerError: where the model is unfit, or neither it nor the truth is there.
    """
    if request.model.model:
        return SigLipFeatures(request.folder, device=request.model.device)
    if request.class_of is None:
        raise PlannerError("without a model the baselines need ground-truth classes")
    return GroundTruthFeatures(classes, request.class_of)


def _rows(output: torch.Tensor) -> Features:
    # Newer versions of transformers hand back a record with the vectors in it.
    vectors = getattr(output, "pooler_output", output)
    rows: Features = vectors.float().cpu().numpy().astype(np.float32)
    return rows


def unit(vector: Features) -> Features:
    """Of length one; zeros stay zeros."""
    length = float(np.linalg.norm(vector))
    scaled: Features = vector if length == 0 else (vector / np.float32(length)).astype(np.float32)
    return scaled


def region_points(
    frame: CameraFrame, mask: NDArray[np.bool_], stride_px: int, max_distance_m: float
) -> NDArray[np.float64]:
    """(n, 3) points of `map` that a region shows, every `stride_px` pixels; without bad depth."""
    grid = np.zeros_like(mask)
    grid[::stride_px, ::stride_px] = True
    depth = frame.depth_m
    with np.errstate(invalid="ignore"):
        good = np.isfinite(depth) & (depth > 0) & (depth <= max_distance_m)
    chosen = mask & good & grid
    if not chosen.any():
        chosen = mask & good
    rows, columns = np.nonzero(chosen)
    z = depth[rows, columns].astype(np.float64)
    intrinsics = frame.intrinsics
    optical = np.stack(
        [
            (columns + 0.5 - intrinsics.cx_px) / intrinsics.fx_px * z,
            (rows + 0.5 - intrinsics.cy_px) / intrinsics.fy_px * z,
            z,
        ],
        axis=1,
    )
    points: NDArray[np.float64] = optical @ frame.pose.rotation().T + np.asarray(
        frame.pose.position_m
    )
    return points


# A baseline in the manner of ConceptGraphs: detections joined to objects (PARTNR-5.4).
#
# A detection is a region's points and feature. It joins the object that overlaps most in space and
# is alike (sum of both likenesses); else it is a new object. An object's name is the class of the
# closed vocabulary that its mean feature is most alike to. Re-detection follows PARTNR-D38: the
# same class within 0.5 m is the same entity; with a held one only within 0.3 m of the hand.

CAMERA = "hand"
Points = NDArray[np.float64]


# When a detection is an object that is known: one of its class so near, and a held thing only so
# near the hand (PARTNR-D38). The others are ours: least overlap of geometry and features together;
# points so near lie on each other; least cosine of an object and its class's words; points kept.
_SAME_M, _HAND_M = 0.5, 0.3
_MIN_OVERLAP, _NEAR_M, _MIN_SIMILARITY = 1.1, 0.05, 0.5
_STRIDE_PX, _MAX_DISTANCE_M, _MAX_POINTS = 3, 6.0, 400


@dataclass(slots=True)
class GraphObject:
    """One object: its points, the sum of its detections' features, how many and when last."""

    points: Points
    feature: Features
    looks: int
    seen_s: float
    entity_id: int | None = None
    center_m: Vec3 = field(default=(0.0, 0.0, 0.0))


class ObjectGraph:
    """Objects by association; an updater that never removes, as the paper describes none."""

    name = "object-graph"

    def __init__(
        self,
        extractor: FeatureExtractor,
        classes: Sequence[str],
        room_labels: RoomLabels | None = None,
    ) -> None:
        """Takes the features and the closed vocabulary.

        Args:
            extractor: of regions and words.
            classes: of the vocabulary, as the catalogue writes them.
            room_labels: in which rooms furniture is; None = as the layout says.
        """
        self._extractor = extractor
        self._classes = tuple(classes)
        self._words = np.stack([extractor.text(words_of(name)) for name in self._classes])
        self.objects: list[GraphObject] = []
        self._room_labels = room_labels

    @property
    def counts(self) -> Mapping[str, int]:
        """What became of the labels of rooms, if a model gives them."""
        return {} if self._room_labels is None else self._room_labels.counts

    def update(
        self,
        observation: Observation,
        entities: Sequence[Entity],
        last_action: str,  # noqa: ARG002 - effects come from the memory itself
    ) -> list[Operation]:
        """The edits that an observation calls for; see `MemoryUpdater`.

        Raises:
            ModelError: if rooms are labelled by a model that does not answer.
        """
        frame = observation.cameras.get(CAMERA)
        if frame is None:
            return []
        made = self._labelled(entities)
        touched: list[GraphObject] = []
        for region in self._extractor.regions(frame):
            points = region_points(frame, region.mask, _STRIDE_PX, _MAX_DISTANCE_M)
            if len(points):
                touched.append(self._associate(points, region.feature, observation.stamp_s))
        hand = observation.base.compose(observation.hand).position_m
        known = {e.entity_id: e for e in entities if not e.is_furniture}
        taken: set[int] = set()
        for thing in {id(t): t for t in touched}.values():
            class_name = self.class_of(thing)
            if class_name is None:
                continue
            entity = self._entity(thing, class_name, known, hand, taken)
            if entity is not None:
                taken.add(entity.entity_id)
                thing.entity_id = entity.entity_id
                if entity.picked:
                    continue
            away_m = math.dist(frame.pose.position_m, thing.center_m)
            made.append(
                Operation(
                    OperationKind.ADD if entity is None else OperationKind.UPDATE,
                    None if entity is None else entity.entity_id,
                    description=words_of(class_name),
                    position_m=thing.center_m,
                    distance_m=away_m,
                )
            )
        return made

    def _labelled(self, entities: Sequence[Entity]) -> list[Operation]:
        """The edits of furniture that is not yet in the room of its label; things follow it."""
        if self._room_labels is None:
            return []
        rooms = self._room_labels.rooms
        return [
            Operation(
                OperationKind.UPDATE,
                piece.entity_id,
                description=piece.description,
                position_m=piece.position_m,
                facts=Facts(piece.class_name, parent=rooms[piece.name], room=rooms[piece.name]),
            )
            for piece in entities
            if piece.is_furniture and piece.name in rooms and piece.room != rooms[piece.name]
        ]

    def class_of(self, thing: GraphObject) -> str | None:
        """The class of the vocabulary that it is most alike to; None where nothing is."""
        cosines = self._words @ unit(thing.feature)
        best = int(np.argmax(cosines))
        return self._classes[best] if cosines[best] >= _MIN_SIMILARITY else None

    def find(self, words: str) -> list[tuple[GraphObject, float]]:
        """Objects by likeness to words, best first; those below `min_similarity` are left out."""
        wanted = self._extractor.text(words)
        scored = [(thing, float(unit(thing.feature) @ wanted)) for thing in self.objects]
        near = [(t, s) for t, s in scored if s >= _MIN_SIMILARITY]
        return sorted(near, key=lambda item: -item[1])

    def _associate(self, points: Points, feature: Features, stamp_s: float) -> GraphObject:
        best: tuple[float, GraphObject] | None = None
        for thing in self.objects:
            alike = float(unit(thing.feature) @ feature)
            value = alike + _overlap(points, thing.points, _NEAR_M)
            if best is None or value > best[0]:
                best = (value, thing)
        if best is None or best[0] < _MIN_OVERLAP:
            thing = GraphObject(points, feature.copy(), 1, stamp_s)
            self.objects.append(thing)
        else:
            thing = best[1]
            thing.points = np.concatenate([thing.points, points])
            thing.feature = thing.feature + feature
            thing.looks += 1
            thing.seen_s = stamp_s
        if len(thing.points) > _MAX_POINTS:
            step = np.linspace(0, len(thing.points) - 1, _MAX_POINTS)
            thing.points = thing.points[step.astype(int)]
        x, y, z = ((thing.points.min(axis=0) + thing.points.max(axis=0)) / 2).tolist()
        thing.center_m = (x, y, z)
        return thing

    def _entity(
        self,
        thing: GraphObject,
        class_name: str,
        known: Mapping[int, Entity],
        hand: Vec3,
        taken: set[int],
    ) -> Entity | None:
        """The entity that an object is, by PARTNR-D38."""
        best: tuple[float, Entity] | None = None
        for entity in known.values():
            if entity.entity_id in taken or entity.class_name != class_name:
                continue
            away = math.dist(entity.position_m, thing.center_m)
            within = _SAME_M
            if entity.picked:
                away, within = math.dist(hand, thing.center_m), _HAND_M
            if away <= within and (best is None or away < best[0]):
                best = (away, entity)
        return best[1] if best is not None else None


def _overlap(points: Points, others: Points, near_m: float) -> float:
    """The share of points that lie on the others."""
    # Here and not above: a memory that looks otherwise need not wait for SciPy.
    from scipy.spatial import cKDTree

    low, high = others.min(axis=0) - near_m, others.max(axis=0) + near_m
    close = np.all((points >= low) & (points <= high), axis=1)
    if not close.any():
        return 0.0
    away, _ = cKDTree(others).query(points[close], distance_upper_bound=near_m)
    return float(np.isfinite(away).sum()) / len(points)
