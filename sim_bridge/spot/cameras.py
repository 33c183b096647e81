"""Pictures of the robot: taken while the caller waits, or the newest that a thread has taken."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from planner.world.errors import PlannerError
from sim_bridge.spot.advice import SDK_ERRORS, explain
from sim_bridge.spot.link import SpotLink
from sim_bridge.spot.options import SpotOptions
from sim_bridge.spot.picture import Picture, read_picture

# For how long a camera that was asked for goes on being looked through.
REQUEST_LIFETIME_S = 2.0
# Whoever is asked whether a hand may act sees a picture that is no older than about this.
HAND_PERIOD_S = 1.0
HAND = "hand"


class Cameras:
    """The robot's cameras; `report` hears why there are no pictures, and "" when there are."""

    def __init__(self, link: SpotLink, options: SpotOptions, report: Callable[[str], None]) -> None:
        self._link, self._options, self._report = link, options, report
        self._lock = threading.Lock()
        self._requested_s: dict[str, float] = {}
        self._newest: dict[str, Picture] = {}
        self._hand_taken_s = 0.0
        self._problem = ""

    def take(self, cameras: Sequence[str]) -> dict[str, Picture]:
        """New pictures, all of one moment; waits for them.

        Raises:
            PlannerError: where there are none, with the reason.
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
            camera: read_picture(answers[2 * index], answers[2 * index + 1])
            for index, camera in enumerate(cameras)
        }

    def newest(self, cameras: Sequence[str]) -> Mapping[str, Picture]:
        """The newest pictures; never waits. A camera has none until `look` has taken the first.

        Raises:
            PlannerError: where the last try to take any failed, with the reason.
        """
        now_s = time.monotonic()
        with self._lock:
            self._requested_s.update(dict.fromkeys(cameras, now_s))
            if cameras and self._problem:
                raise PlannerError(self._problem)
            return {name: self._newest[name] for name in cameras if name in self._newest}

    def look(self) -> None:
        """Takes the pictures that somebody wants."""
        now_s = time.monotonic()
        with self._lock:
            wanted = {
                name
                for name, at_s in self._requested_s.items()
                if now_s - at_s < REQUEST_LIFETIME_S
            }
        if HAND in self._options.cameras and now_s - self._hand_taken_s >= HAND_PERIOD_S:
            wanted.add(HAND)
        if not wanted:
            return
        if HAND in wanted:
            self._hand_taken_s = now_s
        try:
            taken, trouble = self.take(sorted(wanted)), ""
        except PlannerError as error:
            taken, trouble = {}, str(error)
        with self._lock:
            self._newest.update(taken)
            self._problem = trouble
