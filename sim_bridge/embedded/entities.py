"""The moving entities of the embedded world: agents, furniture with joints, things."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from planner.world.agents import Body
from planner.world.furnishing import look_of_piece
from planner.world.geometry import Pose, Vec3
from planner.world.house import Furniture, Interior, Joint
from planner.world.person import Person
from planner.world.receptacle import ThingShape
from planner.world.shapes import UNKNOWN_LOOK, Color, Look
from planner.world.state import EntityState
from planner.world.vocabulary import EntityKind, Hand, Hands, Relation, first_held, held_things

# [x, y, z, yaw] of a frame.
Place = tuple[float, float, float, float]

OPEN_ENOUGH = 0.5
# Arms and backs bend: the hand's camera is also lowered. Last it is raised as high as the hand
# reaches, or nothing flat on a high shelf could be picked.
_BENDS = (1.0, 0.75, 0.5)


@dataclass(slots=True)
class Piece:
    """A piece of furniture; `opening` gives each joint's position from 0 (closed) to 1."""

    record: Furniture
    instance_id: int
    states: dict[str, bool]
    opening: dict[str, float]
    cos: float = field(init=False)
    sin: float = field(init=False)
    look: Look = field(init=False)

    def __post_init__(self) -> None:
        self.cos = math.cos(self.record.yaw_rad)
        self.sin = math.sin(self.record.yaw_rad)
        self.look = look_of_piece(self.record)

    @property
    def name(self) -> str:
        """Its name in the house file."""
        return self.record.name

    @property
    def yaw_rad(self) -> float:
        """The direction of its front in the map."""
        return self.record.yaw_rad

    def to_map(self, point_m: Vec3) -> Vec3:
        """A point of the furniture's frame in the map."""
        x, y, z = point_m
        return (
            self.record.x_m + x * self.cos - y * self.sin,
            self.record.y_m + x * self.sin + y * self.cos,
            z,
        )

    def turned(self, vector_m: Vec3) -> Vec3:
        """A direction of the furniture's frame in the map."""
        x, y, z = vector_m
        return (x * self.cos - y * self.sin, x * self.sin + y * self.cos, z)

    def to_local(self, point_m: Vec3) -> Vec3:
        """A point of the map in the furniture's frame."""
        dx, dy = point_m[0] - self.record.x_m, point_m[1] - self.record.y_m
        return (dx * self.cos + dy * self.sin, -dx * self.sin + dy * self.cos, point_m[2])

    def slide_offset(self, joint: Joint) -> Vec3:
        """Displacement of a drawer's parts from their closed position, in the furniture's frame."""
        if joint.kind != "slide":
            return (0.0, 0.0, 0.0)
        travel = joint.travel * self.opening[joint.name]
        x, y, z = joint.axis
        return (x * travel, y * travel, z * travel)

    def interior_center(self, interior: Interior) -> Vec3:
        """The current position of a hollow, in the furniture's frame."""
        x, y, z = interior.center
        if interior.joint is None or not interior.moves:
            return (x, y, z)
        dx, dy, dz = self.slide_offset(self.record.joint(interior.joint))
        return (x + dx, y + dy, z + dz)

    def handle(self, joint: Joint) -> Vec3:
        """The current position of a joint's handle in the map."""
        return self.moved(joint.handle, joint)

    def moved(self, point_m: Vec3, joint: Joint) -> Vec3:
        """The current position of a point of a closed door or drawer, in the furniture's frame."""
        return self.to_map(joint.moved(point_m, self.opening[joint.name]))

    def is_open(self, interior: Interior) -> bool:
        """Whether a hand can reach into the hollow."""
        return interior.joint is None or self.opening[interior.joint] >= OPEN_ENOUGH

    def openness(self) -> float | None:
        """The widest open joint, 0 to 1; None without joints."""
        return max(self.opening.values()) if self.opening else None

    def state(self) -> EntityState:
        """Its current ground truth."""
        record = self.record
        return EntityState(
            name=record.name,
            kind=EntityKind.FURNITURE,
            class_name=record.class_name,
            instance_id=self.instance_id,
            pose=record.pose,
            size_m=record.size_m,
            parent=record.room,
            relation=None,
            room=record.room,
            affordances=record.affordances,
            states=dict(self.states),
            openness=self.openness(),
            look=self.look,
        )


@dataclass(slots=True)
class Thing:
    """A movable object or a person; its pose is that of the centre of its underside, upright.

    `color`: in which it is drawn; None: as its class is.
    """

    name: str
    class_name: str
    instance_id: int
    size_m: Vec3
    x_m: float
    y_m: float
    z_m: float
    yaw_rad: float
    parent: str
    relation: Relation
    part: str
    room: str | None
    affordances: tuple[str, ...]
    states: dict[str, bool]
    shape: ThingShape = field(default_factory=ThingShape)
    color: Color | None = None
    look: Look = UNKNOWN_LOOK
    person: Person | None = None

    @property
    def pose(self) -> Place:
        """[x, y, z, yaw] in the map."""
        return (self.x_m, self.y_m, self.z_m, self.yaw_rad)

    @property
    def cos(self) -> float:
        """Sine of its yaw."""
        return math.cos(self.yaw_rad)

    @property
    def sin(self) -> float:
        """Cosine of its yaw."""
        return math.sin(self.yaw_rad)

    def to_map(self, point_m: Vec3) -> Vec3:
        """A point of the thing's frame in the map."""
        c, s = self.cos, self.sin
        x, y, z = point_m
        return (self.x_m + x * c - y * s, self.y_m + x * s + y * c, self.z_m + z)

    def to_local(self, point_m: Vec3) -> Vec3:
        """A point of the map in the thing's frame."""
        c, s = self.cos, self.sin
        dx, dy = point_m[0] - self.x_m, point_m[1] - self.y_m
        return (dx * c + dy * s, dy * c - dx * s, point_m[2] - self.z_m)

    @property
    def center_m(self) -> Vec3:
        """The centre of its box in the map."""
        return (self.x_m, self.y_m, self.z_m + self.size_m[2] / 2)

    def state(self) -> EntityState:
        """Its current ground truth."""
        return EntityState(
            name=self.name,
            kind=EntityKind.OBJECT,
            class_name=self.class_name,
            instance_id=self.instance_id,
            pose=Pose.planar(self.x_m, self.y_m, self.yaw_rad, self.z_m),
            size_m=self.size_m,
            parent=self.parent,
            relation=self.relation,
            room=self.room,
            affordances=self.affordances,
            states=dict(self.states),
            look=self.look,
            person=self.person,
        )


class Stance(NamedTuple):
    """Everything that determines an agent's view."""

    x_m: float
    y_m: float
    yaw_rad: float
    pan_rad: float
    tilt_rad: float


class Localised(NamedTuple):
    """Where an agent takes itself to be in `map`, and whether it holds something."""

    position_m: Vec3
    heading_rad: float
    holds: bool


class Leg(NamedTuple):
    """A piece of an agent's path at constant speed, times in seconds from now.

    Attributes:
        at_m: x and y at its start, in the map.
        speed_m_s: along x and y.
        yaw_rad: at its start.
        turn_rad_s: rotation speed of the body.
    """

    begins_s: float
    ends_s: float
    at_m: tuple[float, float]
    speed_m_s: tuple[float, float]
    yaw_rad: float
    turn_rad_s: float


@dataclass(slots=True)
class Agent:
    """A body and its pose; `pan_rad` and `tilt_rad` turn the hands and their camera."""

    name: str
    body: Body
    instance_id: int
    x_m: float
    y_m: float
    yaw_rad: float
    room: str | None
    pan_rad: float = 0.0
    tilt_rad: float = 0.0
    hands: Hands = (None,)
    linear_m_s: float = 0.0
    angular_rad_s: float = 0.0
    odometry_drift: tuple[float, float, float] = (0.0, 0.0, 0.0)
    # Since the episode's start, for errors that grow with the way.
    walked_m: float = 0.0
    remaining_path: list[tuple[float, float]] = field(default_factory=list)
    # Who goes first when two meet: the lower name. An agent that makes way uses the other's name
    # meanwhile, so that a third one makes way for both.
    precedence: str = ""
    # Running a primitive: then it makes way only while it walks.
    busy: bool = False
    # Whether neither body nor hand moves for the announced duration of the step.
    is_still: bool = False
    # Goal of a turn on the spot, and goals of the hand's pan and tilt.
    turns_to_rad: float | None = None
    points_to_rad: tuple[float, float] | None = None
    # Time to wait before walking on, after another agent was in the way.
    pause_s: float = 0.0
    # Cache of `prediction.legs`: pose and path at that time, horizon, and the legs.
    known_legs: tuple[tuple[object, ...], float, list[Leg]] | None = None

    def __post_init__(self) -> None:
        self.hands = (None,) * self.body.hands
        self.tilt_rad = self.rest_tilt_rad
        self.precedence = self.name

    @property
    def rest_tilt_rad(self) -> float:
        """The hand camera's tilt while walking."""
        return self.body.cameras["hand"].tilt_rad

    @property
    def stance(self) -> Stance:
        """Its current pose and camera direction."""
        return Stance(self.x_m, self.y_m, self.yaw_rad, self.pan_rad, self.tilt_rad)

    def to_map(self, point_m: Vec3) -> Vec3:
        """A point of `base_link` in the map."""
        c, s = math.cos(self.yaw_rad), math.sin(self.yaw_rad)
        x, y, z = point_m
        return (self.x_m + x * c - y * s, self.y_m + x * s + y * c, z)

    @property
    def holding(self) -> str | None:
        """What its first full hand holds."""
        return first_held(self.hands)

    @property
    def held(self) -> tuple[str, ...]:
        """What its hands hold."""
        return held_things(self.hands)

    def hand_in_base(self, hand: Hand = Hand.RIGHT) -> Vec3:
        """A hand: swung around the body with the camera's pan."""
        x, y, z = self.body.hand_at_m(hand)
        c, s = math.cos(self.pan_rad), math.sin(self.pan_rad)
        return (x * c - y * s, x * s + y * c, z)

    def viewpoints_m(self, point_m: Vec3) -> list[Vec3]:
        """Camera positions from which the hand can look at a point, the usual height first.

        All are within the body's radius, so that none is behind a wall.
        """
        return viewpoints_m((self.x_m, self.y_m), self.body, point_m)

    def distance_m(self, point_m: Vec3) -> float:
        """Horizontal distance of the body's centre from a point of the map."""
        return math.hypot(point_m[0] - self.x_m, point_m[1] - self.y_m)

    def reaches(self, point_m: Vec3) -> bool:
        """Whether the hand can reach a point, ignoring walls and things."""
        low, high = self.body.reach_height_m
        return self.distance_m(point_m) <= self.body.reach_m and low <= point_m[2] <= high

    def state(self) -> EntityState:
        """Its current ground truth."""
        size = (2 * self.body.radius_m, 2 * self.body.radius_m, self.body.height_m)
        return EntityState(
            name=self.name,
            kind=EntityKind.AGENT,
            class_name=self.body.kind.value,
            instance_id=self.instance_id,
            pose=Pose.planar(self.x_m, self.y_m, self.yaw_rad),
            size_m=size,
            parent=self.room,
            relation=None,
            room=self.room,
            hands=self.hands,
        )


def viewpoints_m(at_m: tuple[float, float], body: Body, point_m: Vec3) -> list[Vec3]:
    """The viewpoints of a body at a position, facing a point of the map."""
    dx, dy = point_m[0] - at_m[0], point_m[1] - at_m[1]
    away = max(math.hypot(dx, dy), 1e-6)
    ahead = min(body.radius_m, away / 2)
    height = body.cameras["hand"].position_m[2]
    x, y = at_m[0] + dx / away * ahead, at_m[1] + dy / away * ahead
    heights = [*(height * share for share in _BENDS), max(height, body.reach_height_m[1])]
    return [(x, y, z) for z in heights]
