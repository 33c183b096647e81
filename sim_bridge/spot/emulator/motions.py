"""The robot's possible motions: walks, arm motions, grasps, pulls, docking."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from planner.world.geometry import Pose, Vec3
from sim_bridge.spot.emulator.house_world import Handle

MAX_WALK_SPEED_M_S = 1.6
MAX_TURN_RAD_S = 2.0


class GraspState(StrEnum):
    """The state of a pick; names as in the SDK's ManipulationFeedbackState."""

    WALKING = "MANIP_STATE_WALKING_TO_OBJECT"
    DONE = "MANIP_STATE_DONE"
    PLANNED = "MANIP_STATE_GRASP_PLANNING_SUCCEEDED"
    MOVING = "MANIP_STATE_MOVING_TO_GRASP"
    SUCCEEDED = "MANIP_STATE_GRASP_SUCCEEDED"
    FAILED = "MANIP_STATE_GRASP_FAILED"
    NO_SOLUTION = "MANIP_STATE_GRASP_PLANNING_NO_SOLUTION"
    NO_HIT = "MANIP_STATE_GRASP_FAILED_TO_RAYCAST_INTO_MAP"


@dataclass(slots=True)
class Walk:
    """Goals in the map, or a velocity of the body."""

    ends_s: float
    goal: Pose | None = None
    further: tuple[Pose, ...] = ()
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    speed_m_s: float = MAX_WALK_SPEED_M_S
    turn_rad_s: float = MAX_TURN_RAD_S
    arrived: bool = False
    ended: bool = False
    # An obstacle is in the way.
    blocked: bool = False


@dataclass(slots=True)
class ArmDrift:
    """A velocity of the hand around the body and upwards, until it ends."""

    around_rad_s: float
    up_m_s: float
    ends_s: float


@dataclass(slots=True)
class Reach:
    """A goal for the hand's camera: direction and height; `done` once it is reached.

    Attributes:
        not_before_s: end time of the requested trajectory.
        hand: the hand in `base_link` at the end; None: by pan and height.
        joints_rad: the arm's joints at the end, in the SDK's order; None: by pan and tilt.
        stalled: the goal is out of reach or not allowed.
        stows: whether the arm is folded at the end.
    """

    pan_rad: float
    tilt_rad: float
    lift_m: float = 0.0
    done: bool = False
    not_before_s: float = 0.0
    hand: Pose | None = None
    joints_rad: tuple[float, ...] | None = None
    stalled: bool = False
    stows: bool = False


@dataclass(slots=True)
class Grasp:
    """A pick, or a walk to a target, and its state.

    Attributes:
        ready_s: when the gripper closes, after the walk if there is one.
        walk: the walk to the target.
        takes: whether something is grasped at the end.
        target: the selected point, in the map.
    """

    instance: int
    handle: Handle | None
    ready_s: float
    state: GraspState = GraspState.MOVING
    walk: Walk | None = None
    takes: bool = True
    target: Vec3 | None = None


@dataclass(slots=True)
class Pull:
    """A joint that the held handle is moving, from one opening to another."""

    handle: Handle
    goal: float
    since_s: float
    start: float
    lost: bool = False


@dataclass(slots=True)
class Docking:
    """Docking at a dock by its number, or undocking (0); `since_s` is set at the start."""

    station: int
    ends_s: float
    since_s: float | None = None
    done: bool = False
