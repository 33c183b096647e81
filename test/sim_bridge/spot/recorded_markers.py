"""What a real Spot saw of three markers on a walk of 40 m, as numbers.

Measured on the map that the SDK's repository has among its examples
(python/examples/graph_nav_anchoring_optimization/data/blueprint_example.walk, spot-sdk 5.1.4): the
anchored markers, and the 17 of its waypoints' snapshots in which markers were detected. Poses are
(x, y, z, qx, qy, qz, qw), in metres.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.world.geometry import Pose

OK, HIGH_ERROR = 1, 3
Numbers = tuple[float, float, float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class Seen:
    """A marker: how long before the snapshot it was detected, its filtered pose in odometry, and
    the status of the raw pose; that of the filtered one was always OK."""

    tag: int
    age_s: float
    in_odom: Numbers
    status: int = OK


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The body (x, y, yaw) in odometry, the height of the ground there, the body in the anchoring's
    frame by the anchored waypoint, and what was seen."""

    body_in_odom: tuple[float, float, float]
    ground_m: float
    body_in_seed: tuple[float, float, float]
    seen: tuple[Seen, ...]


def pose(numbers: Numbers) -> Pose:
    """Of numbers that were rounded."""
    x, y, z, *quaternion = numbers
    length = math.hypot(*quaternion)
    qx, qy, qz, qw = (q / length for q in quaternion)
    return Pose((x, y, z), (qx, qy, qz, qw))


# The anchored markers in the anchoring's frame, whose origin is marker 320.
ANCHORED: dict[int, Numbers] = {
    318: (0.545, 2.246, -0.064, -0.4547, 0.5595, -0.5366, -0.4385),
    319: (0.039, 12.292, -0.084, 0.6912, -0.0043, 0.7226, -0.0083),
    320: (0.0, 0.0, 0.0, -0.7057, -0.0058, -0.7085, -0.0058),
}

SNAPSHOTS = (
    Snapshot(
        (0.7, 0.352, -1.607),
        -0.007,
        (1.243, 0.599, 3.061),
        (
            Seen(320, 0.23, (1.353, -0.863, 0.404, -0.4837, -0.5138, -0.4941, 0.5079)),
            Seen(318, 0.36, (-0.916, -0.417, 0.339, -0.7186, 0.0584, -0.6878, 0.0845)),
        ),
    ),
    Snapshot(
        (0.479, -0.253, -2.128),
        -0.018,
        (0.648, 0.846, 2.541),
        (
            Seen(320, 1.0, (1.351, -0.864, 0.403, -0.4837, -0.516, -0.4928, 0.5069)),
            Seen(318, 0.6, (-0.913, -0.421, 0.34, -0.723, 0.0593, -0.6838, 0.0793)),
        ),
    ),
    Snapshot(
        (-0.13, -1.095, -2.065),
        -0.052,
        (-0.166, 1.491, 2.603),
        (
            Seen(320, 1.82, (1.341, -0.879, 0.399, 0.484, 0.5154, 0.4935, -0.5065)),
            Seen(318, 0.75, (-0.923, -0.437, 0.33, 0.7198, -0.0575, 0.6869, -0.0816)),
        ),
    ),
    Snapshot(
        (-0.642, -2.614, -2.146),
        -0.078,
        (-1.662, 2.07, 2.522),
        (Seen(318, 2.83, (-0.93, -0.447, 0.319, -0.7199, 0.0579, -0.6868, 0.0819)),),
    ),
    Snapshot(
        (-11.069, -0.836, -3.074),
        -0.221,
        (0.573, 12.409, 1.594),
        (Seen(319, 0.36, (-10.929, -1.364, 0.32, 0.481, 0.4964, 0.4936, -0.5278)),),
    ),
    Snapshot(
        (-12.287, -0.949, 3.131),
        -0.24,
        (0.513, 13.631, 1.516),
        (Seen(319, 0.48, (-10.948, -1.367, 0.3, 0.4856, 0.5018, 0.4877, -0.5241)),),
    ),
    Snapshot(
        (-11.664, -0.965, -2.628),
        -0.229,
        (0.47, 13.009, 2.04),
        (Seen(319, 0.57, (-10.94, -1.363, 0.305, 0.4859, 0.502, 0.4884, -0.5228), HIGH_ERROR),),
    ),
    Snapshot(
        (-11.782, -1.259, -1.803),
        -0.224,
        (0.181, 13.139, 2.865),
        (Seen(319, 0.84, (-10.927, -1.381, 0.315, -0.4856, -0.502, -0.4891, 0.5225)),),
    ),
    Snapshot(
        (-11.97, -3.257, -1.511),
        -0.27,
        (-1.806, 13.415, -3.125),
        (Seen(319, 4.78, (-10.925, -1.387, 0.316, -0.4855, -0.5021, -0.489, 0.5225)),),
    ),
    Snapshot(
        (-13.708, -4.527, 2.892),
        -0.281,
        (-2.999, 15.207, 1.277),
        (Seen(319, 9.62, (-10.925, -1.387, 0.316, -0.4855, -0.5021, -0.489, 0.5225)),),
    ),
    Snapshot(
        (-11.525, -0.896, 0.431),
        -0.341,
        (0.533, 12.867, -1.184),
        (Seen(319, 0.4, (-10.941, -1.342, 0.2, -0.4888, -0.5001, -0.492, 0.5184)),),
    ),
    Snapshot(
        (-9.503, -0.772, -0.01),
        -0.385,
        (0.568, 10.841, -1.625),
        (Seen(319, 1.33, (-10.892, -1.34, 0.181, -0.4886, -0.4909, -0.4991, 0.5208), HIGH_ERROR),),
    ),
    Snapshot(
        (-5.458, -2.06, -0.66),
        -0.441,
        (-0.897, 6.857, -2.275),
        (Seen(319, 7.92, (-10.881, -1.346, 0.175, -0.4869, -0.4932, -0.4974, 0.5218)),),
    ),
    Snapshot(
        (0.033, -0.261, 1.001),
        -0.515,
        (0.659, 1.292, -0.614),
        (Seen(318, 0.42, (-0.908, -0.341, -0.161, -0.7218, 0.0593, -0.6847, 0.0817)),),
    ),
    Snapshot(
        (0.22, -0.013, 0.396),
        -0.516,
        (0.899, 1.094, -1.219),
        (Seen(318, 0.7, (-0.906, -0.336, -0.166, -0.7219, 0.0599, -0.6846, 0.081)),),
    ),
    Snapshot(
        (0.06, 0.244, -1.613),
        -0.509,
        (1.163, 1.243, 3.055),
        (
            Seen(318, 0.96, (-0.875, -0.366, -0.171, -0.7205, 0.0607, -0.6859, 0.0819)),
            Seen(320, 2.43, (1.367, -0.804, -0.101, -0.483, -0.5189, -0.4929, 0.5044)),
        ),
    ),
    Snapshot(
        (0.048, 0.242, -1.6),
        -0.507,
        (1.161, 1.255, 3.069),
        (
            Seen(318, 0.41, (-0.882, -0.375, -0.172, -0.721, 0.0604, -0.6854, 0.0818)),
            Seen(320, 2.94, (1.367, -0.804, -0.101, -0.483, -0.5189, -0.4929, 0.5044)),
        ),
    ),
)
