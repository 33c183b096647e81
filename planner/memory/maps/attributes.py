"""The attributes of seen objects: by default, or by an image-text matcher (HELPER-2.8.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from planner.world.errors import PlannerError
from planner.world.observation import RgbImage

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
