"""The house around the emulated robot, and the robot's possible motions in it."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum

import mujoco
import numpy as np
from shapely.geometry import Point, Polygon

from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.house import House, Joint
from planner.world.observation import Intrinsics
from planner.world.vocabulary import Relation
from sim_bridge.embedded.entities import OPEN_ENOUGH, Agent, Piece
from sim_bridge.embedded.house_ground import HouseGround
from sim_bridge.embedded.options import EmbeddedOptions, default_options
from sim_bridge.embedded.placing import Support, find_spot, floor_support, nearest_support
from sim_bridge.embedded.renderer import Renderer, make_renderer
from sim_bridge.embedded.scene import Scene, house_spec
from sim_bridge.embedded.sensing import Images, View, intrinsics_of
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.spot.emulator import body_geometry

# Height of the body's frame above the floor, standing and lying.
BODY_HEIGHT_M, LYING_HEIGHT_M = 0.52, 0.2
# Smaller than the planner's radius: the legs may come closer than planned paths do.
_SOLID_RADIUS_M = 0.15
HANDLE_NEAR_M = 0.3
# A falling thing does not land on a surface farther away than this.
_DROP_TOLERANCE_M = 0.5


@dataclass(frozen=True, slots=True)
class Shot:
    """One exposure: its pictures, its intrinsics, and the optical frame in `base_link`."""

    images: Images
    intrinsics: Intrinsics
    on_base: Pose


@dataclass(frozen=True, slots=True)
class Handle:
    """The handle that the gripper holds."""

    piece: Piece
    joint: Joint


class HouseWorld:
    """One episode's house with one robot in it."""

    def __init__(self, options: EmbeddedOptions | None = None) -> None:
        self.options = options or default_options()
        self._known: tuple[House, HouseGround, mujoco.MjSpec] | None = None
        self._renderer: Renderer | None = None
        self._world: KinematicWorld | None = None
        # A renderer is bound to the thread that made it; calls come from many.
        self._artist = ThreadPoolExecutor(1, thread_name_prefix="emulator-camera")
        self.lift_m = 0.0
        # Regions of the map that clients declared as no-go.
        self.no_go: list[Polygon] = []

    def load(self, house: House, episode: Episode, seed: int) -> None:
        """Loads an episode with exactly one agent.

        Raises:
            PlannerError: if house and episode do not match, or there are more agents.
        """
        if len(episode.agents) != 1:
            raise PlannerError(f"{episode.title}: one Spot is one agent, not {len(episode.agents)}")
        known = self._known
        if known is None or known[0] is not house:
            known = (house, HouseGround(house), house_spec(house, default_catalogue()))
        _, ground, spec = known
        world = KinematicWorld(ground, episode, seed, default_catalogue(), self.options)
        self._known, self._world = known, world
        self._scene = Scene(world, spec, default_catalogue())
        self._rng = np.random.default_rng([seed, 5])
        self.lift_m, self.no_go = 0.0, []
        self.boot_here()

    @property
    def world(self) -> KinematicWorld:
        """The state of everything.

        Raises:
            PlannerError: before the first episode.
        """
        if self._world is None:
            raise PlannerError("the emulator has no episode loaded")
        return self._world

    @property
    def agent(self) -> Agent:
        """The robot."""
        return next(iter(self.world.agents.values()))

    @property
    def base(self) -> Pose:
        """The robot's `base_link` in the map."""
        return Pose.planar(self.agent.x_m, self.agent.y_m, self.agent.yaw_rad)

    def boot_here(self) -> None:
        """Switches the robot on where it lies; `boot` is its body in the map then."""
        self.boot = self.base.compose(Pose((0.0, 0.0, LYING_HEIGHT_M)))

    @property
    def scene(self) -> Scene:
        """The current geometry of the house."""
        self._scene.sync()
        return self._scene

    def close(self) -> None:
        """Frees the renderer."""
        renderer, self._renderer = self._renderer, None
        if renderer is not None:
            self._artist.submit(renderer.close).result()
        self._artist.shutdown()

    def pass_time(self, dt_s: float) -> None:
        """Advances the world's clock."""
        self.world.time_s += dt_s
        self.world.steps += 1

    # Cameras

    def camera(self, name: str) -> Pose:
        """A camera's optical frame in `base_link`."""
        pose = body_geometry.on_base(self.agent, name)
        if name != "hand":
            return pose
        x, y, z = pose.position_m
        return Pose((x, y, z + self.lift_m), pose.orientation)

    def hand(self) -> Pose:
        """The hand's frame in `base_link`."""
        x, y, z = self.agent.hand_in_base()
        return Pose.planar(x, y, self.agent.pan_rad, z + self.lift_m)

    def shoot(self, name: str) -> Shot:
        """Takes a picture.

        Raises:
            PlannerError: if rendering fails.
        """
        view, on_base = self._view(name)
        drawn = self._artist.submit(self._draw, view).result()
        return Shot(drawn, view.intrinsics, on_base)

    def warm_up(self) -> None:
        """Creates the renderer before the first picture is requested; does not wait."""
        view, _ = self._view("hand")
        # If that fails, the first picture reports it.
        self._artist.submit(self._draw, view)

    def _view(self, name: str) -> tuple[View, Pose]:
        mount = body_geometry.mount_of(self.agent, name)
        on_base = self.camera(name)
        view = View(
            pose=self.base.compose(on_base),
            intrinsics=intrinsics_of(mount),
            near_m=mount.near_m,
            far_m=mount.far_m,
            hidden=self.agent.instance_id,
        )
        return view, on_base

    def _draw(self, view: View) -> Images:
        if self._renderer is None:
            mounts = self.agent.body.cameras.values()
            self._renderer = make_renderer(
                self.options.renderer,
                max(m.width_px for m in mounts),
                max(m.height_px for m in mounts),
            )
        if self._renderer is None:
            raise PlannerError("the emulator's renderer is off")
        return self._renderer.render(self.scene, view)

    # Walking

    def walk(self, goal: Pose, speed_m_s: float, turn_rad_s: float, dt_s: float) -> bool:
        """Walks towards a pose in the map for `dt_s`, up to obstacles; whether it is reached."""
        agent = self.agent
        dx, dy = goal.position_m[0] - agent.x_m, goal.position_m[1] - agent.y_m
        gap = math.hypot(dx, dy)
        step = min(gap, speed_m_s * dt_s)
        off = wrap_angle_rad(goal.yaw_rad - agent.yaw_rad)
        turn = max(-turn_rad_s * dt_s, min(turn_rad_s * dt_s, off))
        x, y = (
            (agent.x_m + dx / gap * step, agent.y_m + dy / gap * step)
            if gap > 0
            else (agent.x_m, agent.y_m)
        )
        moved = self._go(x, y, wrap_angle_rad(agent.yaw_rad + turn), dt_s)
        return gap - step < 1e-6 and abs(off - turn) < 1e-6 and moved

    def drift(self, vx: float, vy: float, turn_rad_s: float, dt_s: float) -> None:
        """Moves with a velocity in `base_link` for `dt_s`."""
        agent = self.agent
        c, s = math.cos(agent.yaw_rad), math.sin(agent.yaw_rad)
        x = agent.x_m + (vx * c - vy * s) * dt_s
        y = agent.y_m + (vx * s + vy * c) * dt_s
        self._go(x, y, wrap_angle_rad(agent.yaw_rad + turn_rad_s * dt_s), dt_s)

    def _go(self, x: float, y: float, yaw: float, dt_s: float) -> bool:
        agent, grid = self.agent, self.world.ground.grid(_SOLID_RADIUS_M)
        free = grid.is_free(x, y) or not grid.is_free(agent.x_m, agent.y_m)
        free = free and not any(region.covers(Point(x, y)) for region in self.no_go)
        if not free:
            x, y = agent.x_m, agent.y_m
        agent.linear_m_s = math.hypot(x - agent.x_m, y - agent.y_m) / dt_s
        agent.angular_rad_s = wrap_angle_rad(yaw - agent.yaw_rad) / dt_s
        if (x, y, yaw) != (agent.x_m, agent.y_m, agent.yaw_rad):
            self.world.move_agent(agent, x, y, yaw)
        return free

    def halt(self) -> None:
        """Stops."""
        self.agent.linear_m_s = self.agent.angular_rad_s = 0.0

    # The arm

    def swing(self, pan_rad: float, tilt_rad: float, lift_m: float, dt_s: float) -> bool:
        """Moves the hand's camera towards a direction and height; returns whether it is reached."""
        agent = self.agent
        most, rise = agent.body.look_speed_rad_s * dt_s, dt_s
        pan = wrap_angle_rad(pan_rad - agent.pan_rad)
        tilt, lift = tilt_rad - agent.tilt_rad, lift_m - self.lift_m
        if pan == 0.0 and tilt == 0.0 and lift == 0.0:
            return True
        there = abs(pan) <= most and abs(tilt) <= most and abs(lift) <= rise
        agent.pan_rad = (
            wrap_angle_rad(pan_rad)
            if abs(pan) <= most
            else wrap_angle_rad(agent.pan_rad + math.copysign(most, pan))
        )
        agent.tilt_rad = (
            tilt_rad if abs(tilt) <= most else agent.tilt_rad + math.copysign(most, tilt)
        )
        self.lift_m = lift_m if abs(lift) <= rise else self.lift_m + math.copysign(rise, lift)
        self.world.carry(agent)
        return there

    def gaze(self, point_m: Vec3) -> tuple[float, float]:
        """Pan and tilt (down positive) that centre a point of the map in the picture."""
        agent = self.agent
        x, y, z = self.base.inverse().apply(point_m)
        pan = math.atan2(y, x)
        mount = agent.body.cameras["hand"].position_m
        ahead = max(math.hypot(x, y) - math.hypot(mount[0], mount[1]), 0.05)
        return pan, math.atan2(mount[2] + self.lift_m - z, ahead)

    # Manipulation

    def hit(self, camera: Pose, ray: Vec3) -> tuple[int, Vec3 | None]:
        """The first hit of a ray from a camera's pose in the map: its instance and the point."""
        far = 20.0
        end = camera.apply((ray[0] * far, ray[1] * far, ray[2] * far))
        return self.between(camera.position_m, end)

    def between(self, start: Vec3, end: Vec3) -> tuple[int, Vec3 | None]:
        """The first hit between two points of the map, or beyond the second: instance and point."""
        instance, distance = self.scene.first_hit(start, end)
        if not math.isfinite(distance):
            return 0, None
        share = distance / math.dist(start, end)
        return instance, (
            start[0] + (end[0] - start[0]) * share,
            start[1] + (end[1] - start[1]) * share,
            start[2] + (end[2] - start[2]) * share,
        )

    def instance_near(self, point_m: Vec3, within_m: float) -> int:
        """The thing whose box is nearest to a point of the map, or the furniture there; else 0."""

        def gap_m(middle: Vec3, size: Vec3) -> float:
            # Rotated boxes are approximated by upright cylinders around them.
            across = max(0.0, math.dist(middle[:2], point_m[:2]) - math.hypot(*size[:2]) / 2)
            return math.hypot(across, max(0.0, abs(middle[2] - point_m[2]) - size[2] / 2))

        things = self.world.things.values()
        near = min(things, key=lambda t: gap_m(t.center_m, t.size_m), default=None)
        if near is not None and gap_m(near.center_m, near.size_m) <= within_m:
            return near.instance_id
        for piece in self.world.pieces.values():
            joints = piece.record.joints
            if any(math.dist(piece.handle(j), point_m) <= HANDLE_NEAR_M for j in joints):
                return piece.instance_id
        return 0

    def can_take(self, instance: int) -> bool:
        """Whether an instance is a thing within the arm's reach."""
        thing = next((t for t in self.world.things.values() if t.instance_id == instance), None)
        return thing is not None and self.agent.reaches(thing.center_m)

    def take(self, instance: int, *, slips: bool = False) -> str:
        """Closes the gripper around an instance; returns why it holds nothing, or ""."""
        thing = next((t for t in self.world.things.values() if t.instance_id == instance), None)
        if thing is None:
            return "nothing that can be grasped is at the pixel"
        if thing.relation is Relation.HELD or self.agent.holding is not None:
            return "the gripper is not free"
        if not self.agent.reaches(thing.center_m):
            return "out of reach"
        failed = self.options.noise.failed_grasps
        if slips or (failed > 0 and float(self._rng.random()) < failed):
            return "the grasp slipped"
        self.world.take(self.agent, thing)
        return ""

    def sticks(self) -> bool:
        """Whether a held thing sticks to the opening gripper, by the configured noise."""
        failed = self.options.noise.failed_places
        return failed > 0 and float(self._rng.random()) < failed

    def handle_at(self, instance: int, point_m: Vec3) -> Handle | None:
        """The handle near a point on a piece of furniture."""
        piece = next((p for p in self.world.pieces.values() if p.instance_id == instance), None)
        if piece is None or not piece.record.joints:
            return None
        joint = min(piece.record.joints, key=lambda j: math.dist(piece.handle(j), point_m))
        near = math.dist(piece.handle(joint), point_m) <= HANDLE_NEAR_M
        return Handle(piece, joint) if near else None

    def opens(self, handle: Handle, direction: Vec3) -> bool:
        """Whether pulling a handle in this direction (in the map) opens its joint."""
        piece, joint = handle.piece, handle.joint
        here = piece.handle(joint)
        was = piece.opening[joint.name]
        piece.opening[joint.name] = was + (0.05 if was < OPEN_ENOUGH else -0.05)
        there = piece.handle(joint)
        piece.opening[joint.name] = was
        way = sum((b - a) * d for a, b, d in zip(here, there, direction, strict=True))
        return way > 0 if was < OPEN_ENOUGH else way < 0

    def move_joint(self, handle: Handle, opening: float) -> None:
        """Sets the opening of a joint, 0 to 1."""
        self.world.set_opening(handle.piece, handle.joint.name, max(0.0, min(1.0, opening)))

    def release(self, point_m: Vec3) -> None:
        """Opens the gripper at a point: what it held is placed on or in what is below."""
        agent, world = self.agent, self.world
        if agent.holding is None:
            return
        thing = world.things[agent.holding]
        for support in self._below(point_m):
            spot = find_spot(world, agent, thing, support, point_m, None)
            if spot is not None:
                world.put(agent, support.parent, support.part, support.relation, spot.pose)
                return
        # Without a support it stays in the hand, as with a robot that feels for the surface.

    def _below(self, point_m: Vec3) -> list[Support]:
        inside = nearest_support(self.world, Relation.WITHIN, point_m, 0.0)
        if inside is not None and inside.piece is not None:
            hollow = next(i for i in inside.piece.record.interiors if i.name == inside.part)
            if inside.piece.is_open(hollow):
                return [inside]
        on = nearest_support(self.world, Relation.ON, point_m, _DROP_TOLERANCE_M)
        if on is not None and on.center[2] <= point_m[2] + 0.05:
            return [on]
        floor = floor_support(self.world, (point_m[0], point_m[1], 0.0))
        return [floor] if floor is not None else []


# The robot's possible motions: walks, arm motions, grasps, pulls, docking.

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
