"""Pictures compared with words, for exploring (LLAMAR-2.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from planner.memory.features import Features, SigLipFeatures
from planner.world.compass import Heading
from planner.world.errors import PlannerError
from planner.world.observation import RgbImage


class ViewEncoder(Protocol):
    """An image-text encoder: pictures and words as vectors of one space, of length one."""

    @property
    def name(self) -> str:
        """Of the model."""

    def picture(self, image: RgbImage) -> Features:
        """(d,) of a whole picture, (h, w, 3) uint8."""

    def text(self, words: str) -> Features:
        """(d,) of words."""


@dataclass(frozen=True, slots=True)
class Eye:
    """What exploring looks with.

    Attributes:
        encoder: of pictures and words.
        picture: the newest picture of an agent's hand camera; None if there is none.
    """

    encoder: ViewEncoder
    picture: Callable[[str], RgbImage | None]


def load_view_encoder(folder: str) -> ViewEncoder | None:
    """The SigLIP or CLIP class model of a folder; None for no folder.

    Raises:
        PlannerError: for another folder, or without the extra `vlm`.
    """
    return SigLipFeatures(Path(folder)) if folder else None


def heading_scores(
    views: Mapping[Heading, Features], texts: Sequence[Features]
) -> dict[Heading, float]:
    """The sum of each picture's cosines with all texts (LLAMAR-C30).

    Raises:
        PlannerError: where pictures and texts are no vectors of one space.
    """
    sizes = [{len(each) for each in found} for found in (views.values(), texts)]
    if len(sizes[0] | sizes[1]) > 1:
        pictures, words = (" or ".join(map(str, sorted(found))) for found in sizes)
        raise PlannerError(f"pictures have {pictures} numbers and texts {words}")
    return {heading: sum(float(view @ text) for text in texts) for heading, view in views.items()}


def best_heading(scores: Mapping[Heading, float]) -> Heading:
    """The one with the highest score; of equal ones the first of the compass's order."""
    return max((heading for heading in Heading if heading in scores), key=scores.__getitem__)


def least_recent(taken: Iterable[Heading]) -> Heading:
    """The heading that was taken longest ago, or never; `taken` has the newest last."""
    last = {heading: place for place, heading in enumerate(taken)}
    return min(Heading, key=lambda heading: last.get(heading, -1))
