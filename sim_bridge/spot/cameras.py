"""Pictures of the robot: taken synchronously, or the newest one of a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from planner.world.errors import PlannerError
from sim_bridge.spot.advice import SDK_ERRORS, explain
from sim_bridge.spot.link import SpotLink
from sim_bridge.spot.options import SpotOptions
from sim_bridge.spot.picture import Picture, read_picture

# How long a requested camera keeps being polled.
REQUEST_LIFETIME_S = 2.0
# Maximum age of the hand picture shown with an approval question.
HAND_PERIOD_S = 1.0
HAND = "hand"


class Cameras:
    """The robot's cameras; `report` gets the reason for missing pictures, or ""."""

    def __init__(self, link: SpotLink, options: SpotOptions, report: Callable[[str], None]) -> None:
        self._link, self._options, self._report = link, options, report
        self._lock = threading.Lock()
        self._requested_s: dict[str, float] = {}
        self._newest: dict[str, Picture] = {}
        self._hand_taken_s = 0.0
        self._problem = ""

    def take(self, cameras: Sequence[str]) -> dict[str, Picture]:
        """Takes pictures of one moment; blocks.

        Raises:
            PlannerError: with the reason, if there are none.
        """
        if not cameras:
            return {}
        names = [name for camera in cameras for name in self._options.cameras[camera]]
        try:
            answers = self._link.images(names, self._options.jpeg_quality)
        except SDK_ERRORS as error:
            self._report(explain(error))
            raise PlannerError(f"spot: no pictures: {explain(error)}") from error
        self._report("")
        return {
            # The hand's stays as it is: grasps are requested at its pixels, and its wrist turns.
            camera: read_picture(answers[2 * index], answers[2 * index + 1], upright=camera != HAND)
            for index, camera in enumerate(cameras)
        }

    def newest(self, cameras: Sequence[str]) -> Mapping[str, Picture]:
        """The newest pictures, without waiting; a camera has none before the first `look`.

        Raises:
            PlannerError: with the reason, if the last attempt failed.
        """
        now_s = time.monotonic()
        with self._lock:
            self._requested_s.update(dict.fromkeys(cameras, now_s))
            if cameras and self._problem:
                raise PlannerError(self._problem)
            return {name: self._newest[name] for name in cameras if name in self._newest}

    def look(self) -> None:
        """Takes the requested pictures."""
        now_s = time.monotonic()
        with self._lock:
            due = {
                name
                for name, at_s in self._requested_s.items()
                if now_s - at_s < REQUEST_LIFETIME_S
            }
        if HAND in self._options.cameras and now_s - self._hand_taken_s >= HAND_PERIOD_S:
            due.add(HAND)
        if not due:
            return
        if HAND in due:
            self._hand_taken_s = now_s
        try:
            taken, trouble = self.take(sorted(due)), ""
        except PlannerError as error:
            taken, trouble = {}, str(error)
        with self._lock:
            self._newest.update(taken)
            self._problem = trouble
