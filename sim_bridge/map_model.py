"""The robot's model of the house: its layout without movable things."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import shapely

from planner.world.agents import Body
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.floor_grid import FloorGrid
from planner.world.geometry import Pose, Vec3
from planner.world.house import House, Joint
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveResult
from planner.world.vocabulary import Relation
from sim_bridge.embedded.entities import Agent, Piece, Thing
from sim_bridge.embedded.house_ground import HouseGround
from sim_bridge.embedded.manipulation import SUPPORT_TOLERANCE_M, RefusalError, check_joint
from sim_bridge.embedded.options import default_options
from sim_bridge.embedded.placing import Spot, Support, find_spot, floor_support, nearest_support
from sim_bridge.embedded.scene import Scene, house_spec
from sim_bridge.embedded.walking import FLOOR_HEIGHT_M, Stand, place_to_stand, reachable_from
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.safety.options import SafetyOptions

# Assumed size of the held object, which is unknown; most things for one hand are smaller.
HELD_SIZE_M = (0.1, 0.1, 0.12)
NEXT_TO_M = 0.2
AT_FURNITURE_M = 0.15
# Annotated poses are measured by hand, and robots stop near them, not exactly on them.
REACH_TO_SPARE_M = 0.1
# A place to stand this near to one that the robot cannot get to is not tried.
APART_M = 0.35
# How much farther from the best distance a place may be that faces a handle straight.
ASKEW_M = 0.3


class _GuardedGround(HouseGround):
    """The floor without keep-out zones and their stopping margin (rule 11)."""

    def __init__(self, house: House, safety: SafetyOptions) -> None:
        super().__init__(house)
        self._safety = safety
        self._kept: dict[float, FloorGrid] = {}
        # Where the robot is not to stand: x, y, and how near to that.
        self.avoided: tuple[tuple[float, float, float], ...] = ()

    def grid(self, radius_m: float) -> FloorGrid:
        """The free floor for agents of this radius, where the robot may stand."""
        grid = self._outside_zones(radius_m)
        if not self.avoided:
            return grid
        free = grid.free.copy()
        for x, y, near_m in self.avoided:
            free.flat[grid.free_within(x, y, near_m)] = False
        return FloorGrid(free, grid.origin_m, grid.cell_m)

    def _outside_zones(self, radius_m: float) -> FloorGrid:
        """The free floor, made once."""
        grid = super().grid(radius_m)
        zones, motion = self._safety.keep_out.zones, self._safety.motion
        if not zones or radius_m in self._kept:
            return self._kept.get(radius_m, grid)
        keep_m = self._safety.keep_out.margin_m + radius_m + motion.stopping_m(motion.speed_m_s)
        free = grid.free.copy()
        cells = np.flatnonzero(free)
        points = shapely.points([grid.point(int(cell)) for cell in cells])
        for zone in zones:
            free.flat[cells[shapely.distance(points, zone.shape) < keep_m]] = False
        self._kept[radius_m] = FloorGrid(free, grid.origin_m, grid.cell_m)
        return self._kept[radius_m]


class MapModel:
    """A layout for planning walks, reaches and placements; joints as we last moved them."""

    def __init__(
        self,
        house: House,
        episode: Episode,
        seed: int,
        safety: SafetyOptions,
        poses: Mapping[str, Sequence[Pose]] | None = None,
        body: Body | None = None,
    ) -> None:
        """Takes the house, and annotated poses for standing at its furniture.

        `body`: of the robot; None = of its kind in config/agents.yaml.

        Raises:
            PlannerError: if the episode does not match it.
        """
        bare = episode.model_copy(update={"objects": (), "people": ()})
        self._ground = _GuardedGround(house, safety)
        self._poses = poses or {}
        self._world = KinematicWorld(
            self._ground, bare, seed, default_catalogue(), default_options()
        )
        if body is not None:
            next(iter(self._world.agents.values())).body = body
        spec = house_spec(house, default_catalogue())
        self._scene = Scene(self._world, spec, default_catalogue())

    def agent_at(self, base: Pose) -> Agent:
        """The robot's body, standing where it is localised."""
        agent = next(iter(self._world.agents.values()))
        agent.x_m, agent.y_m, _ = base.position_m
        agent.yaw_rad = base.yaw_rad
        return agent

    def way(
        self, base: Pose, target_m: Vec3, standoff_m: float
    ) -> list[tuple[float, float]] | PrimitiveResult:
        """The corners of a walk to within reach of a target, or why there is none."""
        agent = self.agent_at(base)
        stand = self._stand(agent, target_m, standoff_m)
        if stand.cell is None:
            return PrimitiveResult(PrimitiveCode.UNREACHABLE, stand.reason)
        way = self._ground.way(agent.body.radius_m, (agent.x_m, agent.y_m), stand.cell)
        if not way.corners:
            return PrimitiveResult(PrimitiveCode.UNREACHABLE, "there is no way to the target")
        return way.corners

    def stand(
        self,
        base: Pose,
        target_m: Vec3,
        standoff_m: float,
        avoided: Sequence[tuple[float, float]] = (),
        apart_m: float = 0.0,
    ) -> tuple[float, float] | PrimitiveResult:
        """Where to stand within reach of a target, or why nowhere.

        Args:
            base: where the robot is.
            target_m: in `map`.
            standoff_m: as of `Primitive`.
            avoided: places that it cannot get to; none near them is returned.
            apart_m: from the target at least.
        """
        agent = self.agent_at(base)
        self._ground.avoided = tuple((x, y, APART_M) for x, y in avoided)
        if apart_m > 0:
            self._ground.avoided += ((*target_m[:2], apart_m),)
        try:
            stand = self._stand(agent, target_m, standoff_m)
            if stand.cell is None:
                return PrimitiveResult(PrimitiveCode.UNREACHABLE, stand.reason)
            return stand.end_m or self._ground.grid(agent.body.radius_m).point(stand.cell)
        finally:
            self._ground.avoided = ()

    def stand_along(
        self, base: Pose, way: Sequence[Vec3], inwards: Vec3, best_m: float
    ) -> tuple[float, float] | None:
        """Where to stand to take a handle along its way; None where no floor is near enough.

        Args:
            base: where the robot is.
            way: the handle's positions in the map, the first one where it is now.
            inwards: the direction in which the gripper comes to it, length 1.
            best_m: the distance at which the arm works best, from each of them.
        """
        agent = self.agent_at(base)
        grid = self._ground.grid(agent.body.radius_m)
        x, y, _ = way[0]
        cells = grid.free_within(x, y, agent.body.reach_m)
        cells = cells[grid.components.flat[cells] == reachable_from(grid, agent)]
        if not len(cells):
            return None
        points = np.array([grid.point(int(cell)) for cell in cells])
        gaps = np.array([np.hypot(*(points - np.array(spot[:2])).T) for spot in way])
        to_handle = (np.array(way[0][:2]) - points) / np.maximum(gaps[0], 1e-6)[:, None]
        straight = to_handle @ np.array(inwards[:2])
        cost = np.abs(gaps - best_m).max(axis=0) + ASKEW_M * (1 - straight)
        best = int(np.argmin(cost))
        return (float(points[best, 0]), float(points[best, 1]))

    def _stand(self, agent: Agent, target_m: Vec3, standoff_m: float) -> Stand:
        """The cell of the floor to stand on."""
        grid = self._ground.grid(agent.body.radius_m)
        goal = self._annotated(target_m, agent, grid) if math.isnan(standoff_m) else None
        if goal is not None:
            return Stand(goal)
        return place_to_stand(self._world, self._scene, agent, target_m, standoff_m)

    def _annotated(self, target_m: Vec3, agent: Agent, grid: FloorGrid) -> int | None:
        """The first annotated pose from which a target at a piece of furniture is in reach."""
        for piece in self._world.pieces.values():
            near = piece.record.box.distance_m(target_m) <= AT_FURNITURE_M
            for pose in self._poses.get(piece.name, ()) if near else ():
                x, y, _ = pose.position_m
                cell = grid.cell(x, y)
                in_reach = math.dist((x, y), target_m[:2]) <= agent.body.reach_m - REACH_TO_SPARE_M
                if cell is not None and in_reach and grid.free.flat[cell]:
                    return cell
        return None

    def shut_at(self, point_m: Vec3) -> str:
        """The furniture in which a point is behind a closed door or drawer; "" for none."""
        inside = nearest_support(self._world, Relation.WITHIN, point_m, 0.0)
        if inside is None or inside.piece is None:
            return ""
        hollow = next(i for i in inside.piece.record.interiors if i.name == inside.part)
        return "" if inside.piece.is_open(hollow) else inside.piece.name

    def covered_at(self, point_m: Vec3) -> bool:
        """Whether a point is inside furniture that does not slide out: no hand comes from above."""
        inside = nearest_support(self._world, Relation.WITHIN, point_m, 0.0)
        if inside is None or inside.piece is None:
            return False
        hollow = next(i for i in inside.piece.record.interiors if i.name == inside.part)
        return not hollow.moves

    def spot(
        self, base: Pose, primitive: Primitive, point_m: Vec3, reference_m: Vec3 | None
    ) -> Spot:
        """Where to put the held object.

        Raises:
            RefusalError: if there is no surface, it is closed, out of reach or too small, or the
                target is a thing.
        """
        agent, relation = self.agent_at(base), primitive.relation or Relation.ON
        if reference_m is None and primitive.tolerance_m > 0:
            text = "the arm puts things on and into furniture only, not other things"
            raise RefusalError(PrimitiveCode.NOT_ABLE, text)
        support = self._support(relation, point_m)
        if support.piece is not None and relation is Relation.WITHIN:
            hollow = next(i for i in support.piece.record.interiors if i.name == support.part)
            if not support.piece.is_open(hollow):
                raise RefusalError(
                    PrimitiveCode.CLOSED, "the furniture is closed", furniture=support.parent
                )
        near_m = point_m if reference_m is None else _beside(reference_m, base)
        spot = find_spot(self._world, agent, _held(agent), support, near_m, None)
        if spot is not None:
            return spot
        if agent.distance_m(point_m) > agent.body.reach_m:
            raise RefusalError(PrimitiveCode.TOO_FAR, "the target is out of reach")
        raise RefusalError(PrimitiveCode.NO_SPACE, "no free spot within reach")

    def _support(self, relation: Relation, point_m: Vec3) -> Support:
        support = nearest_support(self._world, relation, point_m, SUPPORT_TOLERANCE_M)
        low = support is None or support.center[2] > FLOOR_HEIGHT_M
        if relation is Relation.ON and point_m[2] <= FLOOR_HEIGHT_M and low:
            support = floor_support(self._world, point_m)
        if support is None:
            what = "surface" if relation is Relation.ON else "interior"
            raise RefusalError(PrimitiveCode.NOTHING_THERE, f"no {what} is at the target")
        return support

    def joint(
        self, base: Pose, name: str, point_m: Vec3, walks_m: float = 0.0
    ) -> tuple[Piece, Joint]:
        """The door or drawer at a point.

        `walks_m`: how far the robot may still go to reach it.

        Raises:
            RefusalError: if there is none, or it is out of reach or out of sight.
        """
        agent = self.agent_at(base)
        body = agent.body
        agent.body = body.model_copy(update={"reach_m": body.reach_m + walks_m})
        try:
            return check_joint(self._world, self._scene, agent, name, point_m)
        finally:
            agent.body = body

    def moved(self, piece: Piece, joint: Joint, opening: float) -> None:
        """Records that a joint was moved."""
        self._world.set_opening(piece, joint.name, opening)

    @staticmethod
    def handle_way(piece: Piece, joint: Joint, goal: float, points: int) -> list[Vec3]:
        """The handle's positions in the map on its way to an opening of 0 to 1, the last one there.

        `points`: how many; the first one is not where the handle is now.
        """
        was = piece.opening[joint.name]
        way = []
        for number in range(1, points + 1):
            piece.opening[joint.name] = was + (goal - was) * number / points
            way.append(piece.handle(joint))
        piece.opening[joint.name] = was
        return way

    @staticmethod
    def pulling(piece: Piece, joint: Joint, *, opens: bool) -> Vec3:
        """The initial direction of the handle's motion in the map, length 1."""
        was, sign = piece.opening[joint.name], 1.0 if opens else -1.0
        here = piece.handle(joint)
        piece.opening[joint.name] = was + sign * 0.05
        there = piece.handle(joint)
        piece.opening[joint.name] = was
        way = [b - a for a, b in zip(here, there, strict=True)]
        length = math.sqrt(sum(v * v for v in way)) or 1.0
        return (way[0] / length, way[1] / length, way[2] / length)


def _beside(reference_m: Vec3, base: Pose) -> Vec3:
    x, y, z = reference_m
    dx, dy = base.position_m[0] - x, base.position_m[1] - y
    away = math.hypot(dx, dy) or 1.0
    # Across the robot's line of sight, so that neither hides the other.
    return (x - dy / away * NEXT_TO_M, y + dx / away * NEXT_TO_M, z)


def _held(agent: Agent) -> Thing:
    x, y, z = agent.to_map(agent.hand_in_base())
    return Thing(
        name="held_0",
        class_name="",
        instance_id=0,
        size_m=HELD_SIZE_M,
        x_m=x,
        y_m=y,
        z_m=z,
        yaw_rad=0.0,
        parent=agent.name,
        relation=Relation.HELD,
        part="hand",
        room=None,
        affordances=(),
        states={},
    )
