"""Observations of recorded agents: pictures of one exposure with the poses at that time.

The rules are those of the memory node: a picture that is not due is not read, pictures of one
exposure make one observation, and an observation waits until its frames are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.memory.hand_view import hand_observation
from planner.replay.through.recorded import (
    COLOUR,
    DEPTH,
    INSTANCES,
    SIGHTINGS,
    PictureReceived,
)
from planner.world.errors import PlannerError
from planner.world.frame_links import FrameLinks
from planner.world.geometry import Pose
from planner.world.memory_wire import sightings_record
from planner.world.observation import CameraFrame, Grip, Intrinsics, Observation
from planner.world.picture_codec import decode_colour, decode_depth, decode_instances

# Exposures that wait for their missing pictures; older ones are dropped.
_MAX_PENDING = 4


@dataclass(frozen=True, slots=True)
class Exposure:
    """The pictures of one instant by their kind, not deserialised yet."""

    agent: str
    stamp_s: float
    pictures: Mapping[str, PictureReceived]


class Exposures:
    """Groups one agent's pictures by stamp."""

    def __init__(self, kinds: Sequence[str], is_due: Callable[[float], bool]) -> None:
        """Takes the kinds of a complete exposure, and whether the exposure at a stamp is needed."""
        self._kinds, self._is_due = tuple(kinds), is_due
        self._waiting: dict[float, dict[str, PictureReceived]] = {}
        self.stamps: set[float] = set()
        self.incomplete = 0

    def take(self, picture: PictureReceived) -> Exposure | None:
        """Takes a picture; returns the exposure that it completes."""
        self.stamps.add(picture.stamp_s)
        if not self._is_due(picture.stamp_s):
            return None
        taken = self._waiting.setdefault(picture.stamp_s, {})
        taken[picture.kind] = picture
        if len(taken) == len(self._kinds):
            self._waiting.clear()
            return Exposure(picture.agent, picture.stamp_s, taken)
        if len(self._waiting) > _MAX_PENDING:
            self._waiting.pop(next(iter(self._waiting)))
            self.incomplete += 1
        return None


class Observer:
    """Makes observations of exposures."""

    def __init__(self, frames: FrameLinks, intrinsics: Mapping[str, Intrinsics]) -> None:
        """Takes the frames, and the intrinsics of each agent's camera."""
        self._frames, self._lenses = frames, intrinsics
        self.grips: dict[str, Grip] = {}
        self.unreadable: Counter[str] = Counter()

    def observation(self, exposure: Exposure) -> Observation | None:
        """What the agent observed; None while its frames are not known.

        Raises:
            PlannerError: for pictures that cannot be read.
        """
        agent, stamp_s = exposure.agent, exposure.stamp_s
        content = {kind: taken.raw.content() for kind, taken in exposure.pictures.items()}
        # Look up frames before decoding pictures, which takes longer.
        base, odom, hand = (
            self._frames.pose(f"{agent}/{frame}", stamp_s)
            for frame in ("base_link", "odom", "hand")
        )
        if base is None or odom is None or hand is None:
            return None
        optical = frame = sightings = None
        if SIGHTINGS in content:
            sightings = sightings_record(content[SIGHTINGS])
        else:
            first = next(iter(content.values()))
            optical = self._frames.pose(first.header.frame_id, stamp_s)
            if optical is None:
                return None
            frame = _frame(content, self._lenses[agent], optical)
        return hand_observation(
            agent,
            stamp_s,
            frame,
            base=base,
            odom=odom,
            hand=hand,
            optical=optical,
            grip=self.grips.get(agent, Grip()),
            sightings=sightings,
        )


def _frame(content: Mapping[str, Any], intrinsics: Intrinsics, optical: Pose) -> CameraFrame:
    depth_m = decode_depth(content[DEPTH])
    instances = decode_instances(content[INSTANCES]) if INSTANCES in content else None
    if COLOUR in content:
        rgb = decode_colour(content[COLOUR])
    else:
        # The privileged updater does not use colours: a black picture takes their place.
        rgb = np.broadcast_to(np.zeros(1, np.uint8), (*depth_m.shape, 3))
    for name, picture in (("colours", rgb), ("ids", instances)):
        if picture is not None and picture.shape[:2] != depth_m.shape:
            raise PlannerError(f"depth is {depth_m.shape} and {name} are {picture.shape[:2]}")
    return CameraFrame(rgb, depth_m, instances, intrinsics, optical)
