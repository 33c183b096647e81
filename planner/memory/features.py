"""What a picture's regions look like and what words mean, as vectors of one space.

`GroundTruthFeatures` stands in for a vision-language encoder: one axis a class, from instance
ids. `SigLipFeatures` runs a SigLIP or CLIP class model of `transformers`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.memory.part import UpdaterRequest
from planner.world.errors import PlannerError
from planner.world.observation import CameraFrame, RgbImage

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
