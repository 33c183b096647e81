"""Things named in words and found in pictures by OWLv2, checked by SigLIP where there is one.

Two uses: a `FrameDetector` of the learned updater, which looks for a vocabulary of classes; and the
paper's on the real robot (EPM-2.10), which looks for the one thing to pick and hands a
pixel on it to the grasp. Needs the extra `vlm` and a model's folder on disk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.memory.features import SigLipFeatures
from planner.memory.learned.detector import Detection, FrameDetections, Rising
from planner.memory.wording import words_of
from planner.world.catalogue import default_catalogue
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.observation import CameraFrame, RgbImage

NEEDS_EXTRA = "open vocabulary needs the extra `vlm`: pip install -e '.[vlm]'"
_NO_POINTS = (np.zeros((0, 3), np.float32), np.zeros(0, np.float32))
_CELL_PX = 4


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """When something counts as found. Ours; the paper gives no values.

    Attributes:
        min_score: of OWLv2.
        max_overlap: boxes that share more of their union are one thing.
        min_similarity: cosine of a box's picture and its words by SigLIP, where there is one.
        core: the middle share of a box of which the depth is taken.
    """

    min_score: float = 0.2
    max_overlap: float = 0.5
    min_similarity: float = 0.0
    core: float = 0.5


@dataclass(frozen=True, slots=True)
class Box:
    """A thing found in a picture.

    Attributes:
        words: that were looked for.
        score: 0 to 1.
        corners: (u0, v0, u1, v1) in pixels, inside the picture.
    """

    words: str
    score: float
    corners: tuple[float, float, float, float]

    @property
    def pixel(self) -> tuple[float, float]:
        """(u, v) of its middle."""
        u0, v0, u1, v1 = self.corners
        return ((u0 + u1) / 2, (v0 + v1) / 2)


class OpenVocabularyDetector:
    """Looks for a vocabulary; one thread at a time."""

    def __init__(
        self,
        folder: Path,
        classes: Sequence[str],
        *,
        second: Path | None = None,
        device: str = "cpu",
        options: OpenOptions | None = None,
    ) -> None:
        """Loads the models.

        Args:
            folder: of an OWLv2 model with its processor, as `save_pretrained` writes them.
            classes: of the catalogue.
            second: of a SigLIP class model that has a say about each box.
            device: torch device.
            options: thresholds.

        Raises:
            PlannerError: without the extra, for a folder without such a model, or a class that
                the catalogue does not have.
        """
        self._objects = default_catalogue().objects
        unknown = [name for name in classes if name not in self._objects]
        if unknown or not classes:
            raise PlannerError(f"the catalogue has no class {unknown[0] if unknown else '(none)'}")
        self._classes = {words_of(name): name for name in classes}
        self._device, self._options = device, options or OpenOptions()
        self._model, self._processor = _load(folder, device)
        self._second = SigLipFeatures(second, device=device) if second is not None else None

    def look(
        self,
        frame: CameraFrame,
        rising: Rising | None = None,  # noqa: ARG002 - boxes are of the picture alone
    ) -> FrameDetections:
        """What the frame shows of the vocabulary, with its middle in space; see `FrameDetector`."""
        found = []
        for box in self.boxes(frame.rgb, [*self._classes]):
            detection = self._placed(frame, box)
            if detection is not None:
                found.append(detection)
        return FrameDetections(tuple(found), *_NO_POINTS)

    def knows(self, class_name: str) -> bool:
        """Whether a class is of the vocabulary."""
        return class_name in self._classes.values()

    def find(self, image: RgbImage, words: str) -> Box | None:
        """The likeliest place of what the words name; its pixel is where to grasp."""
        boxes = self.boxes(image, [words])
        return boxes[0] if boxes else None

    def boxes(self, image: RgbImage, words: Sequence[str]) -> list[Box]:
        """Boxes of what the words name, best first, one for each thing."""
        import torch

        asked = [f"a photo of a {each}" for each in words]
        inputs = self._processor(text=[asked], images=image, return_tensors="pt")
        with torch.inference_mode():
            made = self._model(**inputs.to(self._device))
        height, width = image.shape[:2]
        # OWLv2 sees the picture padded to a square, at its bottom and right.
        side = max(height, width)
        chances = torch.sigmoid(made.logits[0].float()).cpu().numpy()
        middles = made.pred_boxes[0].float().cpu().numpy() * side
        found = []
        for row in np.flatnonzero(chances.max(axis=1) >= self._options.min_score).tolist():
            word = int(chances[row].argmax())
            corners = _inside(middles[row], width, height)
            if corners is not None:
                found.append(Box(words[word], float(chances[row, word]), corners))
        found.sort(key=lambda box: -box.score)
        return [box for box in self._apart(found) if self._agrees(image, box)]

    def _apart(self, found: Sequence[Box]) -> list[Box]:
        kept: list[Box] = []
        for box in found:
            if all(_shared(box.corners, k.corners) <= self._options.max_overlap for k in kept):
                kept.append(box)
        return kept

    def _agrees(self, image: RgbImage, box: Box) -> bool:
        if self._second is None:
            return True
        u0, v0, u1, v1 = (round(value) for value in box.corners)
        crop = image[v0 : max(v1, v0 + 1), u0 : max(u1, u0 + 1)]
        alike = float(self._second.picture(crop) @ self._second.text(box.words))
        return alike >= self._options.min_similarity

    def _placed(self, frame: CameraFrame, box: Box) -> Detection | None:
        """The detection in space; None where the box's middle has no depth."""
        u0, v0, u1, v1 = box.corners
        (u, v), core = box.pixel, self._options.core / 2
        rows = slice(int(v - core * (v1 - v0)), int(v + core * (v1 - v0)) + 1)
        columns = slice(int(u - core * (u1 - u0)), int(u + core * (u1 - u0)) + 1)
        depths: NDArray[np.float32] = frame.depth_m[rows, columns]
        with np.errstate(invalid="ignore"):
            depths = depths[np.isfinite(depths) & (depths > 0)]
        if not depths.size:
            return None
        front_m = float(np.median(depths))
        class_name = self._classes[box.words]
        # What is seen is the front; the middle lies behind it.
        depth_m = front_m + min(self._objects[class_name].size_m) / 2
        intrinsics = frame.intrinsics
        optical = np.array(
            [
                (u - intrinsics.cx_px) / intrinsics.fx_px * depth_m,
                (v - intrinsics.cy_px) / intrinsics.fy_px * depth_m,
                depth_m,
            ]
        )
        x, y, z = (frame.pose.rotation() @ optical + np.asarray(frame.pose.position_m)).tolist()
        center: Vec3 = (x, y, z)
        cells = max(1, int((u1 - u0) * (v1 - v0) / _CELL_PX**2))
        return Detection(class_name, box.score, center, front_m, (u, v), cells)


def _load(folder: Path, device: str) -> tuple[Any, Any]:
    try:
        import torch  # noqa: F401
        from transformers import AutoTokenizer, Owlv2ForObjectDetection, Owlv2Processor
        from transformers.models.owlv2.image_processing_pil_owlv2 import Owlv2ImageProcessorPil
    except ImportError as error:
        raise PlannerError(f"{NEEDS_EXTRA} ({error})") from None
    if not (folder / "config.json").is_file():
        raise PlannerError(f"{folder}: is not a model folder: no config.json")
    try:
        model: Any = Owlv2ForObjectDetection.from_pretrained(folder, local_files_only=True)
        # From its parts: the one that a folder names may be the one that needs torchvision.
        processor: Any = Owlv2Processor(
            Owlv2ImageProcessorPil.from_pretrained(folder, local_files_only=True),
            AutoTokenizer.from_pretrained(folder, local_files_only=True),
        )
    except (OSError, ValueError) as error:
        raise PlannerError(f"{folder}: cannot be loaded: {error}") from None
    return model.to(device).eval(), processor


def _inside(
    box: NDArray[np.float32], width_px: int, height_px: int
) -> tuple[float, float, float, float] | None:
    """Corners of (middle u, middle v, width, height), cut at the picture's borders."""
    u, v, wide, high = (float(value) for value in box)
    if not all(map(math.isfinite, (u, v, wide, high))):
        return None
    u0, u1 = max(0.0, u - wide / 2), min(width_px - 1.0, u + wide / 2)
    v0, v1 = max(0.0, v - high / 2), min(height_px - 1.0, v + high / 2)
    return (u0, v0, u1, v1) if u1 > u0 and v1 > v0 else None


def _shared(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> float:
    """What two boxes share, of all that they cover."""
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    both = max(0.0, wide) * max(0.0, high)
    return both / (_area(a) + _area(b) - both)


def _area(box: tuple[float, float, float, float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
