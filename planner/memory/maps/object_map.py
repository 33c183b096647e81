"""A semantic map: the objects that detections in depth images make (HELPER-2.8.3).

An object is at the median depth inside its mask. A detection of the same class near a known object
is the same object; of both the one with the higher score stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from planner.memory.camera import unproject
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.observation import CameraFrame, RgbImage

# The attributes of seen objects: by default, or by an image-text matcher (HELPER-2.8.4).

# What a picture can show of an object, and the word for it.
VISIBLE = {"sliced": "sliced", "toasted": "toasted", "clean": "clean", "cooked": "cooked"}
# As long as nothing else is known (HELPER-D62).
DEFAULTS: Mapping[str, bool] = dict.fromkeys(VISIBLE, False)
# Pixels of surroundings that the matcher is shown.
_MARGIN_PX = 4

Mask = NDArray[np.bool_]


class ImageTextMatcher(Protocol):
    """Says how well texts fit a picture."""

    def score(self, image: RgbImage, texts: Sequence[str]) -> Sequence[float]:
        """One number for each text, the higher the better; (h, w, 3) uint8."""


class AttributeSource(Protocol):
    """Says which attributes a newly seen object has."""

    def attributes(self, label: str, image: RgbImage, mask: Mask) -> Mapping[str, bool]:
        """Each of `VISIBLE` for the object of this class under a mask, (h, w)."""


class DefaultAttributes:
    """TEACh's configuration: no object has any attribute until something is done to it."""

    def attributes(self, label: str, image: RgbImage, mask: Mask) -> Mapping[str, bool]:  # noqa: ARG002 - asks nobody
        """The defaults."""
        return DEFAULTS


class MatchedAttributes:
    """What the matcher sees: of two sentences for each attribute the one that fits better."""

    def __init__(self, matcher: ImageTextMatcher) -> None:
        self._matcher = matcher

    def attributes(self, label: str, image: RgbImage, mask: Mask) -> Mapping[str, bool]:
        """Asks the matcher once for each attribute.

        Raises:
            PlannerError: if it does not return two numbers.
        """
        shown = crop(image, mask)
        return {name: self._has(shown, label, word) for name, word in VISIBLE.items()}

    def _has(self, image: RgbImage, label: str, word: str) -> bool:
        texts = sentences(label, word)
        scores = self._matcher.score(image, texts)
        if len(scores) != len(texts):
            raise PlannerError(f"the image-text matcher scored {len(scores)} of {len(texts)} texts")
        return bool(scores[0] > scores[1])


def sentences(label: str, word: str) -> tuple[str, str]:
    """The pair that is compared: with the attribute, and without it."""
    return (f"The {label} is {word}", f"The {label} is not {word}")


def crop(image: RgbImage, mask: Mask) -> RgbImage:
    """The part of a picture around a mask; the whole picture for an empty one."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return image
    top, left = max(0, int(rows[0]) - _MARGIN_PX), max(0, int(columns[0]) - _MARGIN_PX)
    return image[top : int(rows[-1]) + 1 + _MARGIN_PX, left : int(columns[-1]) + 1 + _MARGIN_PX]


# Detections of a class this near a known object of it are that object; detections with a lower
# score are not believed (HELPER-D63).
SAME_M = 0.5
LEAST_SCORE = 0.4
# Fewer pixels say nothing about where an object is.
_LEAST_PIXELS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """One object in a picture: its class, its mask (h, w) and the detector's score, 0 to 1."""

    label: str
    mask: NDArray[np.bool_]
    score: float


class Detector(Protocol):
    """Finds objects in pictures."""

    def detect(self, frame: CameraFrame) -> Sequence[Detection]:
        """The objects that a frame shows."""


@dataclass(frozen=True, slots=True)
class ObjectStates:
    """What actions change of an object.

    Attributes:
        holding: whether the agent holds it.
        can_use: whether it may still be used for the task.
    """

    holding: bool = False
    can_use: bool = True
    sliced: bool = False
    toasted: bool = False
    clean: bool = False
    cooked: bool = False


@dataclass(frozen=True, slots=True)
class ObjectRecord:
    """One object: its class, its place in `map`, the detection's score (0 to 1), its states."""

    label: str
    centroid_m: Vec3
    score: float = 1.0
    states: ObjectStates = ObjectStates()

    def state(self) -> dict[str, str | float | bool | Vec3]:
        """The published dictionary of an object's state."""
        states = self.states
        return {
            "category label": self.label,
            "centroid location": self.centroid_m,
            "holding": states.holding,
            "detection score": self.score,
            "can use": states.can_use,
            "sliced": states.sliced,
            "toasted": states.toasted,
            "clean": states.clean,
            "cooked": states.cooked,
        }


CHANGEABLE = tuple(field.name for field in fields(ObjectStates))


class ObjectMap:
    """The objects of one house as one agent has seen them."""

    def __init__(
        self,
        attributes: AttributeSource | None = None,
        *,
        same_m: float = SAME_M,
        least_score: float = LEAST_SCORE,
    ) -> None:
        """Begins empty; without a source, attributes have their defaults."""
        self._attributes = attributes or DefaultAttributes()
        self._same_m, self._least_score = same_m, least_score
        self._records: list[ObjectRecord] = []

    @property
    def records(self) -> tuple[ObjectRecord, ...]:
        """All objects, the first seen first."""
        return tuple(self._records)

    def of_class(self, label: str) -> tuple[ObjectRecord, ...]:
        """The objects of a class, the best detected first."""
        found = [each for each in self._records if each.label == label]
        return tuple(sorted(found, key=lambda each: -each.score))

    def update(self, frame: CameraFrame, detections: Sequence[Detection]) -> None:
        """Adds what was detected in a frame.

        Raises:
            PlannerError: for a mask of another size than the picture, or a score beyond 0 to 1.
        """
        for detection in detections:
            _check(frame, detection)
            if detection.score < self._least_score:
                continue
            centroid_m = centroid(frame, detection.mask)
            if centroid_m is not None:
                self._merge(frame, detection, centroid_m)

    def change(self, record: ObjectRecord, **states: bool) -> ObjectRecord:
        """Notes what an action has done to an object.

        Raises:
            PlannerError: for an object that is not in the map, or a state that it does not have.
        """
        unknown = sorted(set(states) - set(CHANGEABLE))
        if unknown:
            raise PlannerError(f"no state {unknown[0]!r}; there are {', '.join(CHANGEABLE)}")
        if record not in self._records:
            raise PlannerError(f"the {record.label} at {record.centroid_m} is not in the map")
        changed = replace(record, states=replace(record.states, **states))
        self._records[self._records.index(record)] = changed
        return changed

    def _merge(self, frame: CameraFrame, detection: Detection, centroid_m: Vec3) -> None:
        known = self._nearest(detection.label, centroid_m)
        if known is None:
            seen = self._attributes.attributes(detection.label, frame.rgb, detection.mask)
            states = replace(ObjectStates(), **seen)
            record = ObjectRecord(detection.label, centroid_m, detection.score, states)
            self._records.append(record)
        elif detection.score > self._records[known].score:
            # What was done to it stays true.
            self._records[known] = replace(
                self._records[known], centroid_m=centroid_m, score=detection.score
            )

    def _nearest(self, label: str, centroid_m: Vec3) -> int | None:
        gaps = [
            (math.dist(record.centroid_m, centroid_m), index)
            for index, record in enumerate(self._records)
            if record.label == label
        ]
        near = min(gaps, default=(math.inf, 0))
        return near[1] if near[0] <= self._same_m else None


def centroid(frame: CameraFrame, mask: NDArray[np.bool_]) -> Vec3 | None:
    """The point of `map` at the median depth inside a mask; None with hardly any depth there."""
    rows, columns = np.nonzero(mask)
    depths_m = frame.depth_m[rows, columns]
    measured = np.isfinite(depths_m) & (depths_m > 0)
    if int(measured.sum()) < _LEAST_PIXELS:
        return None
    pixel = (float(np.median(columns[measured])), float(np.median(rows[measured])))
    return unproject(frame.intrinsics, frame.pose, pixel, float(np.median(depths_m[measured])))


def true_detections(
    frame: CameraFrame, class_of: Callable[[int], str | None]
) -> tuple[Detection, ...]:
    """The detections of a flawless detector, from a simulator's instance ids.

    Raises:
        PlannerError: for a frame without instance ids.
    """
    if frame.instances is None:
        raise PlannerError("there are no instance ids in this picture")
    found = []
    for number in np.unique(frame.instances):
        label = class_of(int(number))
        if label is not None:
            found.append(Detection(label, frame.instances == number, 1.0))
    return tuple(found)


def states_after(method: str) -> Mapping[str, bool]:
    """The states that a successful call of a program's method gives its object; none: no change."""
    return _STATES_AFTER.get(method, {})


_STATES_AFTER: dict[str, dict[str, bool]] = {
    "pickup": {"holding": True},
    "place": {"holding": False},
    "put_down": {"holding": False},
    "slice": {"sliced": True},
    "clean": {"clean": True},
    "cook": {"cooked": True},
    "toast": {"toasted": True},
}


def _check(frame: CameraFrame, detection: Detection) -> None:
    if detection.mask.shape != frame.depth_m.shape:
        raise PlannerError(
            f"the mask of a {detection.label} has the shape {detection.mask.shape}, the picture "
            f"{frame.depth_m.shape}"
        )
    if not 0 <= detection.score <= 1:
        raise PlannerError(f"the score of a {detection.label} is {detection.score}, not 0 to 1")
