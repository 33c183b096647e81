"""Walking: where to stand, which path to take, and how agents pass one another."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from planner.world.floor_grid import FloorGrid
from planner.world.geometry import Vec3, wrap_angle_rad
from planner.world.primitive import PrimitiveCode, PrimitiveResult
from sim_bridge.embedded.entities import Agent, viewpoints_m
from sim_bridge.embedded.house_ground import Way, standing_cell
from sim_bridge.embedded.prediction import (
    CLOSE_M,
    STEP_S,
    TIME_TOLERANCE_S,
    clear_m,
    gap_to_way_m,
    legs,
    predicted_heading,
)
from sim_bridge.embedded.sensing import Rays
from sim_bridge.embedded.world import AGENT_GAP_M, KinematicWorld
from sim_bridge.stepped import Stage

Motion = Generator[Stage, float, None]
Walking = Generator[Stage, float, PrimitiveResult | None]
# Yields for how many seconds one long step equals short ones.
Courtesy = Generator[float, float, None]

NEAR_FRACTION = 0.6
MAX_VIEW_CHECKS = 60
REPLAN_S = 1.0
# Period at which a blocked agent tries again, and one that stepped aside checks whether it may go
# on.
PAUSE_S = 1 / 3
LET_PASS_S = 3.0
# An agent that stepped aside waits while the other walks within this distance, but not forever.
PASSING_M = 2.0
MAX_PASSING_S = 10.0
# A walk ends as blocked once it was blocked for this many times `blocked_timeout` in total.
MAX_BLOCKED_TIMEOUTS = 5.0
# After this time the agent with precedence steps back if the other could not.
YIELD_S = 5.0
FLOOR_HEIGHT_M = 0.1
# Required clearance of the view to a target; if no position offers that, the distance of a board's
# or handle's centre from its surface.
CLEAR_VIEW_M = 0.02
VIEW_TOLERANCE_M = 0.12
# Smaller fractions of a step, cut off by the floor's edge, are not taken.
_MIN_GAIN = 0.05


@dataclass(frozen=True, slots=True)
class Stand:
    """A cell to stand in, or why there is none if `cell` is None.

    `end_m` is the point of the cell to stand on; None = its middle.
    """

    cell: int | None
    reason: str = ""
    end_m: tuple[float, float] | None = None


def place_to_stand(
    world: KinematicWorld, rays: Rays, agent: Agent, target_m: Vec3, standoff_m: float
) -> Stand:
    """A free cell with the target in reach and, if possible, in view.

    A target on free floor is walked onto unless a standoff is given; with one of 0 m exactly.
    """
    grid = world.ground.grid(agent.body.radius_m)
    here = reachable_from(grid, agent)
    on_floor = target_m[2] <= FLOOR_HEIGHT_M and grid.is_free(target_m[0], target_m[1])
    cell = grid.cell(target_m[0], target_m[1])
    same_floor = cell is not None and int(grid.components.flat[cell]) == here
    if standoff_m == 0 and on_floor and same_floor:
        if _taken(world, agent, grid, cell):
            return Stand(None, "another agent stands there")
        return Stand(cell, end_m=target_m[:2])
    if math.isnan(standoff_m):
        if on_floor and same_floor and not _taken(world, agent, grid, cell):
            return Stand(cell)
        limit = agent.body.reach_m * NEAR_FRACTION
    else:
        limit = max(standoff_m, grid.cell_m)
    for distance in (limit, (limit + agent.body.reach_m) / 2, agent.body.reach_m - 0.05):
        if distance < limit:
            continue
        cells = grid.free_within(target_m[0], target_m[1], distance)
        cells = cells[grid.components.flat[cells] == here]
        free = [int(c) for c in cells if not _taken(world, agent, grid, int(c))]
        if not free:
            continue
        best = _best_view(world, rays, agent, grid, target_m, free)
        if best is not None:
            return Stand(best)
    return Stand(None, "no free floor within reach of the target can be walked to")


def reachable_from(grid: FloorGrid, agent: Agent) -> int:
    """The label of the connected floor that the agent is on or nearest to."""
    label = grid.component(agent.x_m, agent.y_m)
    if label:
        return label
    cell = grid.nearest_free(agent.x_m, agent.y_m)
    return 0 if cell is None else int(grid.components.flat[cell])


def _taken(world: KinematicWorld, agent: Agent, grid: FloorGrid, cell: int | None) -> bool:
    if cell is None:
        return False
    x, y = grid.point(cell)
    if world.crowded_by_person(x, y, agent.body.radius_m):
        return True
    if len(world.agents) == 1:
        return False
    walking = [other.name for other in world.agents.values() if other.remaining_path]
    return world.crowded(x, y, agent.body.radius_m, (agent.name, *walking))


def _best_view(
    world: KinematicWorld,
    rays: Rays,
    agent: Agent,
    grid: FloorGrid,
    target_m: Vec3,
    cells: list[int],
) -> int | None:
    """The nearest cell that sees the target, else the nearest that almost does, else None."""
    points = np.array([grid.point(c) for c in cells])
    gaps = np.hypot(points[:, 0] - target_m[0], points[:, 1] - target_m[1])
    order = np.lexsort((np.array(cells), np.round(gaps, 3)))
    stride = max(1, len(order) // MAX_VIEW_CHECKS)
    second_best: int | None = None
    # Of a target inside something, such as a bucket, the near side is visible rather than the
    # centre.
    around = {
        thing.instance_id
        for thing in world.things.values()
        if thing.state().box.distance_m(target_m) == 0.0
    }
    for index in order[::stride]:
        at = (float(points[index, 0]), float(points[index, 1]))
        for eye in viewpoints_m(at, agent.body, target_m):
            instance, distance = rays.first_hit(eye, target_m)
            hidden_m = math.dist(eye, target_m) - distance
            if instance in around or hidden_m <= CLEAR_VIEW_M:
                return cells[int(index)]
            if second_best is None and hidden_m <= VIEW_TOLERANCE_M:
                second_best = cells[int(index)]
    return second_best


class _Walk:
    """The state of one walk: the remaining corners and how long it has been blocked."""

    def __init__(self, world: KinematicWorld, agent: Agent, goal: int, way: Way) -> None:
        """Plans the shortest path to a cell."""
        self.world, self.agent, self.goal = world, agent, goal
        self.grid = world.ground.grid(agent.body.radius_m)
        self.waited_s = self.blocked_s = 0.0
        self.aside = False
        self.passing: Agent | None = None
        self.hold_s = self.aside_s = self.blocked_in_total_s = 0.0
        self.go(way.corners)

    def follow(self, cells: list[int]) -> None:
        """Follows cells, starting with the current one."""
        self.go([self.grid.point(cell) for cell in cells[1:] or cells])

    def go(self, corners: list[tuple[float, float]]) -> None:
        """Walks through points in order."""
        self.corners = self.agent.remaining_path = corners
        self.agent.pause_s = 0.0

    def step(self, dt_s: float) -> None:
        """Advances by `dt_s`; notes whether another agent is in the way."""
        if self.aside or self.blocked_s > 0:
            self.blocked_in_total_s += dt_s
        if not self.corners:
            self.hold_s -= dt_s
            self.aside_s += dt_s
            self._give_way_again(dt_s)
            return
        if self._gets_on(dt_s):
            self.waited_s = self.blocked_s = 0.0
            return
        self.waited_s += dt_s
        self.blocked_s += dt_s
        if self.waited_s >= REPLAN_S - TIME_TOLERANCE_S:
            self.waited_s = 0.0
            self._get_past()

    def _gets_on(self, dt_s: float) -> bool:
        """Walks on, unless another agent is in the way or the walk waits because of one."""
        agent = self.agent
        if agent.pause_s > TIME_TOLERANCE_S:
            agent.pause_s -= dt_s
            return False
        budget = dt_s
        while budget > 0 and self.corners:
            budget = _advance(self.world, agent, self.corners[0], budget)
            if _at(agent, self.corners[0]):
                self.corners.pop(0)
        if budget < 0:
            agent.pause_s = PAUSE_S - dt_s
        return budget >= 0

    def _get_past(self) -> None:
        near = _close_by(self.world, self.agent)
        walking = [other for other in near if other.remaining_path]
        waits = self.blocked_s < YIELD_S - TIME_TOLERANCE_S
        if waits and walking and all(_rank(self.agent) < _rank(other) for other in walking):
            # If both went around, they would meet again on the other side.
            return
        around = way_around(self.world, self.agent, self.goal)
        if around is not None:
            self.follow(around)
            return
        for other in walking:
            # Two agents that meet in a doorway: the one with the later name goes back.
            if (not waits or _rank(other) < _rank(self.agent)) and self._step_aside(other):
                return

    def _give_way_again(self, dt_s: float) -> None:
        """An agent that stands aside for one may be in the way of the next."""
        self.waited_s += dt_s
        if self.waited_s < REPLAN_S - TIME_TOLERANCE_S:
            return
        self.waited_s = 0.0
        for other in _close_by(self.world, self.agent):
            if other.remaining_path and self._step_aside(other):
                return

    def _step_aside(self, other: Agent) -> bool:
        aside = _aside(self.world, self.agent, other)
        if aside is None:
            return False
        self.agent.precedence = min(self.agent.precedence, other.precedence)
        if len(aside) > 1:
            if not self.aside:
                self.aside_s = 0.0
            self.aside, self.passing = True, other
            self.hold_s = LET_PASS_S
            self.follow(aside)
        return len(aside) > 1

    def _lets_pass(self) -> bool:
        other = self.passing
        if not self.aside or other is None or not other.remaining_path:
            return False
        apart = math.dist((self.agent.x_m, self.agent.y_m), (other.x_m, other.y_m))
        return apart < PASSING_M and self.aside_s < MAX_PASSING_S - TIME_TOLERANCE_S

    def steady_s(self) -> float:
        """For how long the walk goes on along its corners, or waits, if nobody interferes."""
        agent, lasts_s = self.agent, self._lasts_s()
        if not self.corners or agent.pause_s > TIME_TOLERANCE_S:
            # At the step in which it checks where the others are, they must be there.
            looks_s = REPLAN_S - self.waited_s - STEP_S
            waits_s = agent.pause_s if self.corners else self.hold_s - STEP_S
            return max(0.0, min(waits_s, looks_s, lasts_s))
        way = legs(agent, self.world.foresight_s)
        return max(0.0, min(way[-1].ends_s if way else 0.0, lasts_s))

    def remaining_s(self) -> float:
        """The time until it ends as blocked, if it stays so; negative = it has."""
        timeout_s = self.world.options.durations.blocked_timeout
        now_s = timeout_s - self.blocked_s if self.blocked_s > 0 else math.inf
        return min(now_s, MAX_BLOCKED_TIMEOUTS * timeout_s - self.blocked_in_total_s)

    def _lasts_s(self) -> float:
        """The remaining time while it is blocked or has stepped aside."""
        return self.remaining_s() if self.blocked_s > 0 or self.aside else math.inf

    def arrived(self) -> bool:
        """Whether the goal is reached; an agent that stepped aside sets out again."""
        if self.corners:
            return False
        if self.hold_s > TIME_TOLERANCE_S:
            return False
        if self._lets_pass():
            self.hold_s = PAUSE_S
            return False
        if self.aside:
            self.aside = False
            self.waited_s = 0.0
            self.agent.precedence = self.agent.name
            self.go(_way(self.world, self.agent, self.goal).corners)
            return False
        return True


def walk(
    world: KinematicWorld, agent: Agent, goal: int, end_m: tuple[float, float] | None = None
) -> Walking:
    """Walks to a cell, or a point of it; returns None on arrival, or why it could not."""
    grid = world.ground.grid(agent.body.radius_m)
    way = _way(world, agent, goal)
    if not way.corners:
        return PrimitiveResult(PrimitiveCode.UNREACHABLE, "there is no way to the target")
    if end_m is not None:
        way = Way([*way.corners[:-1], end_m], way.length_m)
    going = _Walk(world, agent, goal, way)
    walked = 0.0
    try:
        while not going.arrived():
            progress = min(1.0, walked / max(way.length_m, grid.cell_m))
            agent.is_still = not going.corners
            dt = yield "walking", progress, going.steady_s()
            before = (agent.x_m, agent.y_m)
            going.step(dt)
            walked += math.dist(before, (agent.x_m, agent.y_m))
            if going.remaining_s() < -TIME_TOLERANCE_S:
                return PrimitiveResult(PrimitiveCode.BLOCKED, "another agent stands in the way")
        return None
    finally:
        agent.is_still = False
        agent.remaining_path = []
        agent.pause_s = 0.0
        agent.precedence = agent.name
        agent.linear_m_s = 0.0
        agent.angular_rad_s = 0.0


def _way(world: KinematicWorld, agent: Agent, goal: int) -> Way:
    radius_m = agent.body.radius_m
    discs = world.discs_of_persons(radius_m)
    if discs:
        # Around persons, if there is a way.
        grid, ways = world.ground.grid(radius_m), world.ground.ways(radius_m)
        cells, length_m = ways.between(standing_cell(grid, agent.x_m, agent.y_m), goal, discs)
        if cells:
            return Way([grid.point(cell) for cell in cells[1:] or cells], length_m)
    return world.ground.way(radius_m, (agent.x_m, agent.y_m), goal)


def _rank(agent: Agent) -> tuple[str, str]:
    return agent.precedence, agent.name


def way_around(world: KinematicWorld, agent: Agent, goal: int) -> list[int] | None:
    """A path that avoids the current positions of the other agents."""
    grid, ways = world.ground.grid(agent.body.radius_m), world.ground.ways(agent.body.radius_m)
    discs = tuple(_keep_off(agent, o, grid) for o in world.agents.values() if o is not agent)
    here = standing_cell(grid, agent.x_m, agent.y_m)
    # Straightening could cut through the discs, so every cell is kept.
    return ways.between(here, goal, discs).cells or None


def _at(agent: Agent, point: tuple[float, float]) -> bool:
    return abs(agent.x_m - point[0]) < 1e-9 and abs(agent.y_m - point[1]) < 1e-9


def _advance(world: KinematicWorld, agent: Agent, point: tuple[float, float], dt_s: float) -> float:
    """Turns to a point, then walks to it; the seconds left, or -1 behind another agent."""
    dx, dy = point[0] - agent.x_m, point[1] - agent.y_m
    gap = math.hypot(dx, dy)
    if gap < 1e-9:
        return dt_s
    heading = math.atan2(dy, dx)
    off = wrap_angle_rad(heading - agent.yaw_rad)
    body = agent.body
    if abs(off) > 1e-6:
        turn_s = abs(off) / body.turn_speed_rad_s
        if turn_s >= dt_s:
            yaw = wrap_angle_rad(agent.yaw_rad + math.copysign(body.turn_speed_rad_s * dt_s, off))
            agent.linear_m_s = 0.0
            agent.angular_rad_s = math.copysign(body.turn_speed_rad_s, off)
            world.move_agent(agent, agent.x_m, agent.y_m, yaw)
            return 0.0
        dt_s -= turn_s
    step = min(gap, body.speed_m_s * dt_s)
    x, y = agent.x_m + dx / gap * step, agent.y_m + dy / gap * step
    agent.angular_rad_s = 0.0
    # In a combined step the other agents' positions are of another moment.
    alone = world.is_leaping or len(world.agents) == 1
    if not alone and nearer_to_another(world, agent, x, y):
        agent.linear_m_s = 0.0
        return -1.0
    end = world.ground.stepped(body.radius_m, (agent.x_m, agent.y_m), (x, y))
    if end != (x, y) and math.dist(end, (agent.x_m, agent.y_m)) < step * _MIN_GAIN:
        agent.linear_m_s = 0.0
        return -1.0
    agent.linear_m_s = body.speed_m_s
    world.move_agent(agent, *end, heading)
    return dt_s - step / body.speed_m_s if step == gap and end == (x, y) else 0.0


def nearer_to_another(world: KinematicWorld, agent: Agent, x: float, y: float) -> bool:
    """Whether the step would touch another agent; moving apart is always allowed."""
    for other in world.agents.values():
        if other is agent:
            continue
        apart = math.hypot(other.x_m - x, other.y_m - y)
        if apart >= agent.body.radius_m + other.body.radius_m + AGENT_GAP_M:
            continue
        if apart < math.hypot(other.x_m - agent.x_m, other.y_m - agent.y_m):
            return True
    return False


def turn_to(world: KinematicWorld, agent: Agent, yaw_rad: float) -> Motion:
    """Turns on the spot."""
    agent.turns_to_rad = yaw_rad
    try:
        while abs(off := wrap_angle_rad(yaw_rad - agent.yaw_rad)) >= 1e-6:
            dt = yield "turning", 1.0, abs(off) / agent.body.turn_speed_rad_s
            most = agent.body.turn_speed_rad_s * dt
            agent.angular_rad_s = max(-most, min(most, off)) / dt
            world.move_agent(agent, agent.x_m, agent.y_m, predicted_heading(agent, dt))
        agent.angular_rad_s = 0.0
    finally:
        agent.turns_to_rad = None


def make_way(world: KinematicWorld, agent: Agent) -> Courtesy:
    """An idle agent steps aside if it blocks another's path; ends at once otherwise."""
    for other in _close_by(world, agent):
        if not other.remaining_path:
            continue
        aside = _aside(world, agent, other)
        if aside is None or len(aside) == 1:
            continue
        agent.precedence = min(agent.precedence, other.precedence)
        motion = walk(world, agent, aside[-1])
        try:
            steady_s = next(motion)[2]
            while True:
                dt = yield steady_s
                steady_s = motion.send(dt)[2]
        except StopIteration:
            return


def _close_by(world: KinematicWorld, agent: Agent) -> list[Agent]:
    """The other agents within an arm's length, nearest first."""
    here = (agent.x_m, agent.y_m)
    near = [
        (math.dist(here, (other.x_m, other.y_m)), other.name)
        for other in world.agents.values()
        if other is not agent
    ]
    return [
        world.agents[name]
        for apart, name in sorted(near)
        if apart <= clear_m(agent, world.agents[name]) + CLOSE_M
    ]


def _keep_off(agent: Agent, other: Agent, grid: FloorGrid) -> tuple[float, float, float]:
    """The disc around another agent to avoid: no larger than the current distance."""
    apart = math.dist((agent.x_m, agent.y_m), (other.x_m, other.y_m))
    radius = min(clear_m(agent, other) + grid.cell_m / 2, apart)
    return other.x_m, other.y_m, radius


def _aside(world: KinematicWorld, agent: Agent, other: Agent) -> list[int] | None:
    """The path to the nearest cell that leaves the other's path free."""
    clear = clear_m(agent, other)
    grid = world.ground.grid(agent.body.radius_m)
    here = standing_cell(grid, agent.x_m, agent.y_m)
    if gap_to_way_m(other, grid.point(here)) > clear + grid.cell_m:
        return [here]
    ways = world.ground.ways(agent.body.radius_m)
    other_way = np.array([(other.x_m, other.y_m), *_sampled(other)])
    off_m = clear + grid.cell_m
    return ways.off(here, other_way, off_m, (_keep_off(agent, other, grid),)) or None


def _sampled(other: Agent) -> list[tuple[float, float]]:
    points, at = [], (other.x_m, other.y_m)
    for corner in other.remaining_path:
        count = max(1, math.ceil(math.dist(at, corner) / 0.1))
        points += [
            (at[0] + (corner[0] - at[0]) * i / count, at[1] + (corner[1] - at[1]) * i / count)
            for i in range(1, count + 1)
        ]
        at = corner
    return points
