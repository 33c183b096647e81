"""Exploring an unknown house by the floor map (HELPER-2.8.6)."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

from planner.memory.features import SigLipFeatures, ViewEncoder
from planner.memory.maps.frontiers import Frontier, FrontierSearch, Stance, best_way, straight_ways
from planner.skills.attempt import Attempt, FloorSource, Motion, Routine
from planner.skills.moving import look
from planner.skills.preconditions import Arguments
from planner.skills.results import RefusalError, failure
from planner.world.floor_map import UNKNOWN, FloorMap
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.skill import SkillCode


def load_view_encoder(folder: str) -> ViewEncoder | None:
    """The SigLIP or CLIP class model of a folder; None for no folder.

    Raises:
        PlannerError: for another folder, or without the extra `vlm`.
    """
    return SigLipFeatures(Path(folder)) if folder else None


# Exploring an unknown house (HELPER-2.8.6): to the nearest unexplored floor, until none is left.
#
# The map is the one that the memory builds from depth images. The body gets only straight legs over
# floor that this map shows as free.

# All around, far and near: the camera does not see the floor next to the body without looking down.
_SEED_VIEWS_RAD = tuple(
    (pan_rad, tilt_rad) for tilt_rad in (0.5, 1.05) for pan_rad in (-2.5, -1.25, 0.0, 1.25, 2.5)
)
_FRONTIER_VIEWS_RAD = ((-0.9, 0.5), (0.9, 0.5))
_LEGS_M = (0.1, 0.2, 0.4, 0.8, 1.2, 1.6, 2.4, 3.2)
_MAX_LEGS = 60
# A leg that ends further from where it should has met something.
_OFF_M = 0.25
# One that moved the body by less comes no nearer, how often it is repeated.
_STIRRED_M = 0.04
# How long the map may take to learn of what was just seen, seconds of the world; of a view that has
# not changed it may not. A map that is older than the second means that nobody builds it.
_MAP_WAIT_S, _OLD_S = 0.7, 8.0
# Between two pictures that the map learns from.
_PERIOD_S = 0.34
# These end the whole routine, not only its way.
_ENDING = (PrimitiveCode.STOPPED, PrimitiveCode.NOT_ALLOWED, PrimitiveCode.CANCELED)

_SEEN = PrimitiveResult(PrimitiveCode.SUCCESS, "explored")
_Reading = Generator[tuple[str, float], None, FloorMap]


@dataclass
class _Survey:
    """One call's search, and where it met what the map does not show."""

    source: FloorSource
    search: FrontierSearch
    met_m: list[Vec3] = field(default_factory=list)
    legs: int = 0


def explore_house(attempt: Attempt, _arguments: Arguments) -> Routine:
    """Explores all floor that can be walked to; succeeds when no frontier is left."""
    source = attempt.scene.floor
    if source is None:
        sentence = "The agent builds no map of its own; start it with map:=built."
        raise RefusalError(SkillCode.NOT_ABLE, sentence)
    survey = _Survey(source, FrontierSearch(attempt.scene.capabilities.radius_m))
    result = yield from look(attempt, _SEED_VIEWS_RAD, "looking around")
    visits = 0
    while result.code not in _ENDING:
        floor = yield from _map_now(attempt, survey)
        left = survey.search.of(floor, _base(attempt).position_m)
        attempt.evidence |= {
            "explored_m2": f"{floor.explored_m2:.1f}",
            "unexplored_cells": str(left.cells),
            "visits": str(visits),
            "legs": str(survey.legs),
        }
        if not left.frontiers:
            return attempt.success()
        frontier = left.frontiers[0]
        visits += 1
        # How much is left is not known before the end.
        attempt.window = (1.0 - 1.0 / (visits + 1), 1.0)
        result = yield from _visit(attempt, survey, frontier)
        if result.code not in _ENDING:
            floor = yield from _map_now(attempt, survey)
            if floor.at(frontier.middle_m) == UNKNOWN:
                survey.search.give_up(frontier)
    return failure(result, "the house", **attempt.evidence)


def _visit(attempt: Attempt, survey: _Survey, frontier: Frontier) -> Motion:
    """Walks towards a frontier until it is explored, and looks at it if it is not by then."""
    for _ in range(_MAX_LEGS):
        floor = yield from _map_now(attempt, survey)
        if floor.at(frontier.middle_m) != UNKNOWN:
            return _SEEN
        result = yield from _leg(attempt, survey, floor, frontier)
        if result is None:
            break
        if result.code in _ENDING:
            return result
    x, y, _ = _base(attempt).position_m
    towards_rad = math.atan2(frontier.middle_m[1] - y, frontier.middle_m[0] - x)
    pan_rad = wrap_angle_rad(towards_rad - _base(attempt).yaw_rad)
    views = tuple((wrap_angle_rad(pan_rad + pan), tilt) for pan, tilt in _FRONTIER_VIEWS_RAD)
    near = ((pan_rad, 0.5), (pan_rad, 1.05))
    return (yield from look(attempt, near + views, "looking at unexplored floor"))


def _leg(
    attempt: Attempt, survey: _Survey, floor: FloorMap, frontier: Frontier
) -> Generator[tuple[str, float], None, PrimitiveResult | None]:
    """One straight leg towards a frontier; None if none comes nearer."""
    base = _base(attempt)
    x, y, _ = base.position_m
    start = Stance(x, y, base.yaw_rad)
    walkable = floor.walkable(survey.search.radius_m)
    goal = walkable.nearest_free(frontier.stand_m[0], frontier.stand_m[1], within_m=0.5)
    if goal is None:
        return None
    way = best_way(walkable, walkable.field(goal), start, straight_ways(start, _LEGS_M))
    if not way:
        return None
    end = way[-1]
    primitive = Primitive(
        PrimitiveName.NAVIGATE, (end.x_m, end.y_m, 0.0), heading_rad=end.yaw_rad, standoff_m=0.0
    )
    survey.legs += 1
    result = yield from attempt.do(primitive, "exploring")
    arrived = _base(attempt).position_m
    if result.code in _ENDING:
        return result
    if math.dist(arrived[:2], (end.x_m, end.y_m)) > _OFF_M:
        survey.met_m.append((end.x_m, end.y_m, 0.0))
    elif math.dist(arrived[:2], (x, y)) < _STIRRED_M:
        # The floor that the bridge knows ends here, by less than the map can show.
        return None
    return result


def _map_now(attempt: Attempt, survey: _Survey) -> _Reading:
    """The map with what was seen until now.

    Raises:
        RefusalError: if there is none in time.
    """
    since_s = attempt.scene.port.now_s()
    while True:
        now_s, floor = attempt.scene.port.now_s(), survey.source()
        if floor is not None:
            is_old = now_s - floor.stamp_s > _OLD_S
            waited = now_s - since_s >= _MAP_WAIT_S and not is_old
            if floor.stamp_s >= since_s - _PERIOD_S or waited:
                return floor.occupied_at(survey.met_m)
        attempt.end_if_out_of_time()
        if now_s - since_s >= _OLD_S:
            sentence = "The map was not updated: no depth images reach the memory."
            raise RefusalError(SkillCode.BACKEND_FAULT, sentence)
        yield "waiting for the map", attempt.share(1.0)


def _base(attempt: Attempt) -> Pose:
    pose = attempt.base_pose()
    if pose is None:
        raise RefusalError(SkillCode.BACKEND_FAULT, "The agent's own position is unknown.")
    return pose
