"""The house around the robot: what its gripper catches, its camera sees, its arm touches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection
from dataclasses import dataclass

import cv2
import mujoco
import numpy as np
from numpy.typing import NDArray

from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.floor_grid import WALL_THICKNESS_M, FloorGrid
from planner.world.geometry import FloatArray, Pose, Vec3, wrap_angle_rad
from planner.world.house import House, Joint
from planner.world.observation import Intrinsics
from planner.world.vocabulary import Relation, floor_name
from sim_bridge.embedded.entities import Agent, Piece, Thing
from sim_bridge.embedded.house_ground import HouseGround
from sim_bridge.embedded.options import default_options
from sim_bridge.embedded.placing import (
    FLOOR_PART,
    Support,
    find_spot,
    floor_support,
    support_of_thing,
    supports_of,
)
from sim_bridge.embedded.renderer import Renderer, make_renderer
from sim_bridge.embedded.scene import GROUP_AGENT, Scene, house_spec
from sim_bridge.embedded.sensing import Images, View
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.ros.emulator.joint_control import CAMERA, Kinematics, RobotModel

MAP_CELL_M = 0.05
# What the finger pads cover around the grasping frame, along its x and z.
_PAD_X_M, _PAD_Z_M = (-0.03, -0.015, 0.0, 0.015, 0.03), (-0.01, 0.0, 0.01)
HANDLE_NEAR_M, HANDLE_GAP_M = 0.05, 0.02
# A gripper that is this far from the handle that it holds has lost it.
_HANDLE_LOST_M = 0.1
_SLACK_M = 0.004


@dataclass(frozen=True, slots=True)
class Caught:
    """What is between the fingers: its width along them and its middle off theirs."""

    thing: Thing
    width_m: float
    middle_m: float


class GripWorld(KinematicWorld):
    """The embedded world, in which what a robot holds is where its gripper is."""

    grip = Pose((0.0, 0.0, 0.0))
    # Of the held thing: its middle in the grasping frame, and its yaw against that frame's.
    _held_at: Vec3 = (0.0, 0.0, 0.0)
    _held_yaw_rad = 0.0

    def remember(self, caught: Caught) -> None:
        """Keeps how a thing lies between the fingers, which centre it."""
        x, y, z = self.grip.inverse().apply(caught.thing.center_m)
        self._held_at = (x, y - caught.middle_m, z)
        self._held_yaw_rad = caught.thing.yaw_rad - _finger_yaw_rad(self.grip)

    def carry(self, agent: Agent) -> None:
        """Moves what the agent holds with its gripper. Things stay upright."""
        self.touch(agent.name)
        for name in agent.held:
            thing = self.things[name]
            x, y, z = self.grip.apply(self._held_at)
            yaw = wrap_angle_rad(_finger_yaw_rad(self.grip) + self._held_yaw_rad)
            self.move(thing, (x, y, max(0.0, z - thing.size_m[2] / 2), yaw), agent.room)


def _finger_yaw_rad(grip: Pose) -> float:
    """The direction in the map in which the fingers close, or ahead where they close upwards."""
    turn = grip.rotation()
    axis = turn[:, 1] if math.hypot(turn[0, 1], turn[1, 1]) > 0.5 else turn[:, 0]
    return math.atan2(axis[1], axis[0])


class RobotHouse:
    """One episode's house with one robot in it."""

    def __init__(self, house: House, episode: Episode, seed: int, fail_grasps: float = 0.0) -> None:
        """Loads an episode with exactly one agent.

        Raises:
            PlannerError: if house and episode do not match, or there are more agents.
        """
        if len(episode.agents) != 1:
            raise PlannerError(
                f"{episode.title}: one robot is one agent, not {len(episode.agents)}"
            )
        self.ground = HouseGround(house)
        self.world = GripWorld(self.ground, episode, seed, default_catalogue(), default_options())
        self._shapes = Scene(
            self.world, house_spec(house, default_catalogue()), default_catalogue()
        )
        self.agent = next(iter(self.world.agents.values()))
        self._rng, self._fail_grasps = np.random.default_rng([seed, 8]), fail_grasps
        # What slipped stays where it is until the gripper opens again.
        self._slipped = False
        # What the closing fingers push between them, and where the gripper was then.
        self._between_now: tuple[Caught | None, Pose] | None = None
        self.handle: tuple[Piece, Joint] | None = None
        self._width_m = 0.0

    @property
    def start(self) -> Pose:
        """Where the base stands."""
        return Pose.planar(self.agent.x_m, self.agent.y_m, self.agent.yaw_rad)

    def follow(self, base: Pose, grip: Pose) -> None:
        """Takes the poses of base and grasping frame in the map, after either moved."""
        self.world.grip = grip
        x, y, _ = base.position_m
        self.world.move_agent(self.agent, x, y, base.yaw_rad)
        if self.handle is not None:
            self._pull(*self.handle)

    # The gripper

    def obstacle_m(self, gap_m: float) -> float:
        """The width down to which the fingers can close."""
        if self.agent.holding is not None:
            return self._width_m
        if self.handle is not None:
            return HANDLE_GAP_M
        caught = self._pushed(gap_m)
        if caught is not None:
            return caught.width_m
        return HANDLE_GAP_M if self._handle_near() is not None else 0.0

    def closed(self, gap_m: float) -> None:
        """The fingers stand on what is between them: now they hold it, unless it slips."""
        if self.agent.holding is not None or self.handle is not None or self._slipped:
            return
        caught = self._pushed(gap_m)
        if caught is None:
            self.handle = self._handle_near()
        elif self._fail_grasps > 0 and float(self._rng.random()) < self._fail_grasps:
            self._slipped = True
        else:
            self._width_m = caught.width_m
            self.world.remember(caught)
            self.world.take(self.agent, caught.thing)

    def opened(self, gap_m: float) -> None:
        """The fingers are this wide apart: what does not fill them falls."""
        if self.agent.holding is not None and gap_m > self._width_m + _SLACK_M:
            self._drop()
        if gap_m > HANDLE_GAP_M + _SLACK_M:
            self.handle = None
        self._slipped, self._between_now = False, None

    def _pushed(self, gap_m: float) -> Caught | None:
        """What is between the fingers, and stays so while they close, wherever it lies."""
        if self._slipped:
            return None
        grip, known = self.world.grip, self._between_now
        if (
            known is None
            or known[0] is None
            or math.dist(known[1].position_m, grip.position_m) > 0.005
        ):
            known = self._between_now = (self._between(gap_m), grip)
        return known[0]

    def _between(self, gap_m: float) -> Caught | None:
        """The thing that lies between the fingers and fits; the nearest of several."""
        grip, world = self.world.grip, self.world
        found: list[tuple[float, Caught]] = []
        for thing in world.things.values():
            away = math.dist(thing.center_m, grip.position_m)
            reach = math.hypot(*thing.size_m) / 2 + 0.1
            if away > reach or thing.relation is Relation.HELD or world.is_enclosed(thing):
                continue
            inner = [
                piece
                for x in _PAD_X_M
                for z in _PAD_Z_M
                if (piece := self._along(thing, gap_m, x, z)) is not None
            ]
            if inner:
                low, high = min(a for a, _ in inner), max(b for _, b in inner)
                found.append((away, Caught(thing, high - low, (low + high) / 2)))
        return min(found, key=lambda each: each[0])[1] if found else None

    def _along(
        self, thing: Thing, gap_m: float, x_m: float, z_m: float
    ) -> tuple[float, float] | None:
        """Where the fingers touch a thing on the line between them, metres on the grip's y.

        By the shapes that are drawn, so a round thing is as wide from each side.
        """
        ends = [self.world.grip.apply((x_m, side * gap_m / 2, z_m)) for side in (-1.0, 1.0)]
        (low, below_m), (high, above_m) = (
            self._shapes.first_hit(a, b) for a, b in (ends, reversed(ends))
        )
        if {low, high} != {thing.instance_id} or below_m + above_m > gap_m - 1e-4:
            return None
        return below_m - gap_m / 2, gap_m / 2 - above_m

    # Doors and drawers

    def _handle_near(self) -> tuple[Piece, Joint] | None:
        at = self.world.grip.position_m
        near = (
            (math.dist(piece.handle(joint), at), piece, joint)
            for piece in self.world.pieces.values()
            for joint in piece.record.joints
        )
        best = min(near, key=lambda each: each[0], default=None)
        return (best[1], best[2]) if best is not None and best[0] <= HANDLE_NEAR_M else None

    def _pull(self, piece: Piece, joint: Joint) -> None:
        """Moves the joint so that its handle is as near to the gripper as it can be."""
        at = np.array(self.world.grip.position_m)
        opening = piece.opening[joint.name]
        for _ in range(4):
            here = np.array(piece.to_map(joint.moved(joint.handle, opening)))
            ahead = np.array(piece.to_map(joint.moved(joint.handle, opening + 1e-3)))
            way = (ahead - here) / 1e-3
            opening += float(way @ (at - here) / max(way @ way, 1e-9))
            opening = min(max(opening, 0.0), 1.0)
        if abs(opening - piece.opening[joint.name]) > 1e-5:
            self.world.set_opening(piece, joint.name, opening)
        if math.dist(piece.handle(joint), self.world.grip.position_m) > _HANDLE_LOST_M:
            self.handle = None

    # Dropping

    def _drop(self) -> None:
        """Lets go: the thing comes to rest on or in the highest that is below it."""
        world, agent = self.world, self.agent
        name = agent.holding
        if name is None:
            return
        thing = world.things[name]
        center = thing.center_m
        for support in self._below(thing):
            spot = find_spot(world, agent, thing, support, center, None)
            if spot is not None:
                world.put(agent, support.parent, support.part, support.relation, spot.pose)
                return
        room = world.house.room_at(center[0], center[1], guess=agent.room) or agent.room
        pose = (center[0], center[1], 0.0, thing.yaw_rad)
        world.put(agent, floor_name(str(room)), FLOOR_PART, Relation.ON, pose)

    def _below(self, thing: Thing) -> list[Support]:
        world, center = self.world, thing.center_m
        carried = world.with_load(thing)
        supports: list[Support] = []
        for piece in world.pieces.values():
            supports += supports_of(piece, Relation.ON)
            hollows = supports_of(piece, Relation.WITHIN)
            is_open = [piece.is_open(hollow) for hollow in piece.record.interiors]
            supports += list(itertools.compress(hollows, is_open))
        for other in world.things.values():
            if all(other is not each for each in carried) and not world.is_enclosed(other):
                for relation in (Relation.ON, Relation.WITHIN):
                    part = support_of_thing(world, other, relation)
                    supports += [part] if part is not None else []
        under = [s for s in supports if s.owner is not None and _is_under(s, center, thing.z_m)]
        under.sort(key=lambda s: _height_m(s), reverse=True)
        floor = floor_support(world, (center[0], center[1], 0.0))
        return [*under, floor] if floor is not None else under


def _height_m(support: Support) -> float:
    owner = support.owner
    return owner.to_map(support.center)[2] if owner is not None else 0.0


def _is_under(support: Support, center: Vec3, bottom_m: float) -> bool:
    owner = support.owner
    if owner is None:
        return False
    x, y, z = owner.to_local((center[0], center[1], bottom_m))
    cx, cy, cz = support.center
    return (
        abs(x - cx) <= support.size[0] / 2
        and abs(y - cy) <= support.size[1] / 2
        and cz - 0.05 <= z <= cz + support.clearance_m
    )


def occupancy(house: House) -> tuple[NDArray[np.int8], tuple[float, float]]:
    """(rows, columns) of nav_msgs/OccupancyGrid: 0 free, 100 wall or furniture, -1 outside.

    Also where its lower left corner is in the map, metres.
    """
    grid = FloorGrid.of(house, 1e-3, MAP_CELL_M)
    inside = np.zeros((grid.rows, grid.columns), np.uint8)
    for room in house.rooms:
        corners = (np.array(room.polygon_m) - grid.origin_m) / MAP_CELL_M - 0.5
        outline = [np.rint(corners).astype(np.int32)]
        cv2.fillPoly(inside, outline, 1)
        cv2.polylines(inside, outline, True, 1, round(2 * WALL_THICKNESS_M / MAP_CELL_M))
    cells = np.full(inside.shape, -1, np.int8)
    cells[inside > 0] = 100
    cells[grid.free] = 0
    return cells, grid.origin_m


# Pictures of the head's camera, and what the arm would touch: both by MuJoCo's shapes.

WIDTH_PX, HEIGHT_PX, FOV_RAD = 640, 480, 1.2
# What such a depth camera measures.
MIN_DEPTH_M, MAX_DEPTH_M = 0.3, 8.0
_FOCAL_PX = WIDTH_PX / 2 / float(np.tan(FOV_RAD / 2))
INTRINSICS = Intrinsics(
    width_px=WIDTH_PX,
    height_px=HEIGHT_PX,
    fx_px=_FOCAL_PX,
    fy_px=_FOCAL_PX,
    cx_px=(WIDTH_PX - 1) / 2,
    cy_px=(HEIGHT_PX - 1) / 2,
)
# The shapes that the arm must not touch on the robot itself, and which of its own may.
_TRUNK = ("base_link", "torso_lift_link", "head_tilt_link")
_FORE = (
    "elbow_flex_link", "forearm_roll_link", "wrist_flex_link", "wrist_roll_link", "gripper_link",
)  # fmt: skip
_ARM = ("shoulder_lift_link", "upperarm_roll_link", *_FORE)


class StillScene(Scene):
    """The house with the robot's shapes in it, as at the last `take`.

    For one thread; the world is read only in `take`.
    """

    _is_open = True

    def __init__(self, house: RobotHouse, robot: RobotModel) -> None:
        """Compiles a scene; the robot is not placed yet."""
        catalogue = default_catalogue()
        spec = house_spec(house.world.house, catalogue)
        model = robot.model
        for i in range(model.ngeom):
            body = spec.worldbody.add_body(name=f"robot/{i}", mocap=True)
            body.add_geom(
                type=mujoco.mjtGeom(model.geom_type[i]),
                size=list(model.geom_size[i]),
                rgba=list(model.geom_rgba[i]),
                group=GROUP_AGENT,
                contype=0,
                conaffinity=0,
            )
        self.robot, self._kinematics = robot, Kinematics(robot)
        self.robot_geoms: dict[str, list[int]] = {}
        super().__init__(house.world, spec, catalogue)
        self._is_open, self._takes = False, 1
        self._mocaps, self._geoms = [], []
        for i in range(model.ngeom):
            body_id = self.model.body(f"robot/{i}").id
            self._mocaps.append(int(self.model.body_mocapid[body_id]))
            self._geoms.append(int(self.model.body_geomadr[body_id]))
            link = model.body(model.geom_bodyid[i]).name
            self.robot_geoms.setdefault(link, []).append(self._geoms[-1])

    def sync(self) -> None:
        """Nothing, outside `take`: the world moves on while a picture is drawn."""
        if self._is_open:
            super().sync()

    def take(self, base: Pose, q: FloatArray) -> Pose:
        """Takes the present: the world, and the robot there with these joints.

        Returns:
            The optical frame in the map.
        """
        self._kinematics.set(q)
        at, turn = self._kinematics.geoms()
        rotation = base.rotation()
        for i, mocap in enumerate(self._mocaps):
            self.data.mocap_pos[mocap] = base.apply(tuple(at[i]))
            mujoco.mju_mat2Quat(self.data.mocap_quat[mocap], (rotation @ turn[i]).ravel())
        self._is_open = True
        self._synced = -1
        super().sync()
        self._is_open = False
        # Renderers keep the pictures of a revision, and each moment is its own.
        self._takes += 1
        self._synced = -self._takes
        return base.compose(self._kinematics.pose(CAMERA))

    def imagine(self, base: Pose, q: FloatArray) -> None:
        """Moves the robot's shapes alone, until the next `take`."""
        self._kinematics.set(q)
        at, turn = self._kinematics.geoms()
        rotation = base.rotation()
        self.data.geom_xpos[self._geoms] = at @ rotation.T + np.array(base.position_m)
        self.data.geom_xmat[self._geoms] = (rotation @ turn).reshape(-1, 9)


class Camera:
    """Draws pictures, in the thread that first calls it."""

    def __init__(self, scene: StillScene, hidden: int) -> None:
        """`hidden` is the instance of the agent, whose own shapes stand for the robot's."""
        self._scene, self._hidden = scene, hidden
        self._renderer: Renderer | None = None

    def draw(self, optical: Pose) -> Images:
        """The picture from an optical frame in the map; depth is 0 where none is measured."""
        if self._renderer is None:
            self._renderer = make_renderer("auto", WIDTH_PX, HEIGHT_PX)
        view = View(optical, INTRINSICS, 0.05, 20.0, self._hidden, instances=False)
        assert self._renderer is not None  # noqa: S101 - only "none" makes none
        images = self._renderer.render(self._scene, view)
        depth = images.depth_m.copy()
        depth[(depth < MIN_DEPTH_M) | (depth > MAX_DEPTH_M)] = 0.0
        return Images(images.rgb, depth, images.instances)

    def close(self) -> None:
        """Frees the renderer, in its thread."""
        if self._renderer is not None:
            self._renderer.close()


class Touch:
    """Whether the arm would touch house or robot. Fingers and movable things do not count."""

    def __init__(self, scene: StillScene) -> None:
        self._scene = scene
        robot = {geom for geoms in scene.robot_geoms.values() for geom in geoms}
        things = {scene.model.body(name).id for name in scene.world.things}
        agents = {scene.model.body(name).id for name in scene.world.agents}
        bodies = scene.model.geom_bodyid
        self._solid = np.array(
            [g not in robot and bodies[g] not in things | agents for g in range(scene.model.ngeom)]
        )
        self._arm = [geom for link in _ARM for geom in scene.robot_geoms[link]]
        self._fore = {geom for link in _FORE for geom in scene.robot_geoms[link]}
        self._trunk = [geom for link in _TRUNK for geom in scene.robot_geoms[link]]

    def first(self, base: Pose, q: FloatArray, ignored: Collection[str] = ()) -> str | None:
        """What the arm touches with these joints: the name of a body, or None.

        Args:
            base: `base_footprint` in the map.
            q: all joints.
            ignored: furniture that may be touched, such as that whose handle is held.
        """
        scene = self._scene
        model, data = scene.model, scene.data
        scene.imagine(base, q)
        for geom in self._arm:
            away = np.linalg.norm(data.geom_xpos - data.geom_xpos[geom], axis=1)
            near = self._solid & (away < model.geom_rbound + model.geom_rbound[geom])
            mine = self._trunk if geom in self._fore else ()
            for other in (*np.flatnonzero(near), *mine):
                name = self._name(int(other))
                if name.partition("/")[0] in ignored:
                    continue
                if mujoco.mj_geomDistance(model, data, geom, int(other), 0.01, None) <= 0:
                    return name
        return None

    def _name(self, geom: int) -> str:
        name = str(self._scene.model.body(self._scene.model.geom_bodyid[geom]).name)
        return "the robot" if name.startswith("robot/") else name
