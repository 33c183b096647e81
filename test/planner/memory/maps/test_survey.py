from dataclasses import replace

import numpy as np

from planner.memory.maps.occupancy import FloorSurvey
from planner.world.floor_map import FREE, OCCUPIED, UNKNOWN
from planner.world.geometry import Pose
from planner.world.observation import CameraFrame, Intrinsics, Observation

CAMERA = Intrinsics(64, 64, 60.0, 60.0, 31.5, 31.5)
# Straight down.
DOWN = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])


def seen(x_m: float, stamp_s: float, *, picture: bool = True) -> Observation:
    pose = Pose.from_matrix(np.array([x_m, 0.0, 1.0]), DOWN)
    depth_m = np.full((64, 64), 1.0, np.float32)
    frame = CameraFrame(np.zeros((64, 64, 3), np.uint8), depth_m, None, CAMERA, pose)
    base = Pose.planar(x_m, 1.0)
    return Observation.at_rest(stamp_s, frame if picture else None, base=base)


def test_what_a_body_carries_is_no_obstacle_but_what_stands_there_is() -> None:
    pose = Pose.from_matrix(np.array([0.3, 0.0, 1.0]), DOWN)
    # Something 0.5 m high below the camera, as a bowl in the hand.
    frame = CameraFrame(
        np.zeros((64, 64, 3), np.uint8), np.full((64, 64), 0.5, np.float32), None, CAMERA, pose
    )
    for holding, expected in ((True, UNKNOWN), (False, OCCUPIED)):
        survey = FloorSurvey()
        survey.add(replace(Observation.at_rest(1.0, frame), holding=holding))
        floor = survey.newest()
        assert floor is not None
        assert floor.at((0.35, 0.05, 0.0)) == expected


def test_the_map_begins_with_the_first_picture_and_has_its_time() -> None:
    survey = FloorSurvey()
    survey.add(seen(0.0, 1.0, picture=False))
    assert survey.newest() is None
    survey.add(seen(0.0, 2.0))
    first = survey.newest()
    assert first is not None
    assert first.stamp_s == 2.0
    # Under the camera, and under the body, which no camera shows.
    assert first.at((0.1, 0.1, 0.0)) == first.at((0.1, 1.1, 0.0)) == FREE
    survey.add(seen(9.0, 3.0))
    second = survey.newest()
    assert second is not None
    assert second.at((9.1, 0.1, 0.0)) == second.at((0.1, 0.1, 0.0)) == FREE
    assert second.stamp_s == 3.0
