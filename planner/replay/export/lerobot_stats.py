"""Statistics with which LeRobot normalises: of each episode, and of the whole data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from planner.world.observation import RgbImage

Stats: TypeAlias = Mapping[str, NDArray[np.float64]]
_QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
# As in LeRobot: a sample of an episode's pictures, each downsampled.
MAX_PICTURES, _MAX_PX = 100, 150


def vector_stats(values: NDArray[np.generic]) -> Stats:
    """Statistics of (n,) or (n, k) numbers, per column."""
    columns = np.asarray(values, np.float64).reshape(len(values), -1)
    return _stats(columns, len(values))


def picture_stats(samples: Sequence[RgbImage], frames: int) -> Stats:
    """Statistics of sampled pictures by channel (3, 1, 1), 0 to 1; `frames` is the count."""
    pixels = np.concatenate([sample.reshape(-1, 3) for sample in samples]).astype(np.float64) / 255
    made = _stats(pixels, frames)
    return {
        name: value if name == "count" else value.reshape(3, 1, 1) for name, value in made.items()
    }


def thinned(picture: RgbImage) -> RgbImage:
    """A downsampled picture."""
    step = max(max(picture.shape[:2]) // _MAX_PX, 1)
    return picture[::step, ::step].copy()


def sampled(count: int) -> frozenset[int]:
    """Evenly spaced indices of the sampled frames."""
    return frozenset(
        np.linspace(0, count - 1, min(count, MAX_PICTURES)).round().astype(int).tolist()
    )


def combined(parts: Sequence[Stats]) -> Stats:
    """Statistics of all episodes together; quantiles are means weighted by frames, as LeRobot's."""
    weights = np.array([float(part["count"][0]) for part in parts])
    total = weights.sum()

    def mean(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.tensordot(weights, np.stack(values), axes=1) / total
        return found

    mean_of_all = mean([part["mean"] for part in parts])
    variance = mean([part["std"] ** 2 + (part["mean"] - mean_of_all) ** 2 for part in parts])
    return {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": mean_of_all,
        "std": np.sqrt(variance),
        "count": np.array([total]),
        **{name: mean([part[name] for part in parts]) for name in _QUANTILES},
    }


def _stats(columns: NDArray[np.float64], count: int) -> Stats:
    found = np.quantile(columns, list(_QUANTILES.values()), axis=0)
    return {
        "min": columns.min(axis=0),
        "max": columns.max(axis=0),
        "mean": columns.mean(axis=0),
        "std": columns.std(axis=0),
        "count": np.array([float(count)]),
        **dict(zip(_QUANTILES, found, strict=True)),
    }
