"""Whether an action failed, by comparing pictures (HELPER-2.8.5).

A shortcut for simulators: a picture that an action did not change. A robot's picture always
changes a little; there the skill's own result tells.
"""

from __future__ import annotations

from planner.world.errors import PlannerError
from planner.world.observation import RgbImage


def has_changed(before: RgbImage, after: RgbImage, least_pixels: int = 1) -> bool:
    """Whether at least so many pixels differ between two pictures, (h, w, 3) uint8.

    Raises:
        PlannerError: for pictures of different sizes.
    """
    if before.shape != after.shape:
        raise PlannerError(f"pictures of {before.shape} and {after.shape} cannot be compared")
    return int((before != after).any(axis=2).sum()) >= least_pixels
