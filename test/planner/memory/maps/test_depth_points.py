import math

import numpy as np

from planner.memory.camera import unproject
from planner.memory.maps.occupancy import points_in_map, points_in_reference
from planner.world.geometry import Pose, quaternion_from_yaw
from planner.world.observation import CameraFrame, Intrinsics

TEACH = Intrinsics(481, 481, 240.0, 240.0, 240.0, 240.0)


def depth(values: dict[tuple[int, int], float]) -> np.ndarray:
    found = np.zeros((481, 481), np.float32)
    for (u, v), metres in values.items():
        found[v, u] = metres
    return found


def at(points: np.ndarray, u: int, v: int) -> list[float]:
    return points[:, v * 481 + u].tolist()


def test_check_28_unprojection_with_the_identity() -> None:
    """HELPER-C28."""
    points = points_in_reference(
        depth({(240, 240): 2.0, (480, 240): 2.0}), TEACH, Pose((0.0, 0.0, 0.0))
    )
    assert at(points, 240, 240) == [0.0, 0.0, 2.0]
    assert at(points, 480, 240) == [2.0, 0.0, 2.0]


def test_check_29_the_inverse_of_the_pose_is_applied() -> None:
    """HELPER-C29."""
    points = points_in_reference(depth({(240, 240): 2.0}), TEACH, Pose((0.0, 0.0, -1.0)))
    assert at(points, 240, 240) == [0.0, 0.0, 3.0]


def test_many_points_are_where_single_ones_are() -> None:
    camera = Pose((1.0, -2.0, 1.15), quaternion_from_yaw(0.7))
    camera = camera.compose(Pose((0.0, 0.0, 0.0), (math.sin(0.3), 0.0, 0.0, math.cos(0.3))))
    image = depth({(10, 470): 1.5, (400, 33): 3.25})
    frame = CameraFrame(np.zeros((481, 481, 3), np.uint8), image, None, TEACH, camera)
    points = points_in_map(frame)
    for u, v in ((10, 470), (400, 33)):
        expected = unproject(TEACH, camera, (u, v), float(image[v, u]))
        assert np.allclose(at(points, u, v), expected, atol=1e-5)
