"""The perception tools: queries of the belief, answered by rules or by a model (PARTNR-6.1).

PARTNR asks a language model to choose from lists of what is known (`planner/skills/tools.py`).
Without one the catalogue's words are matched (`planner/skills/finding.py`). The answers have the
published format.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from planner.memory.features import SigLipFeatures, ViewEncoder
from planner.memory.maps.frontiers import Frontier, FrontierSearch, Stance, best_way, straight_ways
from planner.skills.attempt import Attempt, FloorSource, Motion, Routine
from planner.skills.finding import (
    furniture_anywhere,
    matching_furniture,
    matching_objects,
    matching_rooms,
)
from planner.skills.moving import look
from planner.skills.preconditions import Arguments
from planner.skills.results import Action, RefusalError, failure
from planner.world.belief import Belief, BeliefNode
from planner.world.errors import PlannerError
from planner.world.floor_map import UNKNOWN, FloorMap
from planner.world.geometry import Vec3, wrap_angle_rad
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.skill import SkillCode, SkillResult
from planner.world.vocabulary import Affordance, EntityKind, Relation

MAX_LINES = 60
_MAX_ACTIONS = 10
_MAX_QUERY_CHARS = 200


@dataclass(frozen=True, slots=True)
class Finder:
    """One Find tool.

    Attributes:
        kind: of entities.
        known: a line for each known candidate; `base_m` is the agent's position.
        matching: the names that a text means, by the catalogue's words.
        nothing: the answer if no name is meant.
        context: what a model gets about each name in addition to its line.
    """

    kind: EntityKind
    known: Callable[[Belief, Vec3 | None], Mapping[str, str]]
    matching: Callable[[Belief, str], Iterable[str]]
    nothing: Callable[[Belief, str], str]
    context: Callable[[Belief, str], str] = lambda _belief, _name: ""

    def __call__(self, belief: Belief, text: str, base_m: Vec3 | None) -> str:
        """The answer by rules."""
        return self.answer(belief, text, base_m, self.matching(belief, text))

    def answer(self, belief: Belief, text: str, base_m: Vec3 | None, names: Iterable[str]) -> str:
        """The lines of these names, or that there are none."""
        known = self.known(belief, base_m)
        return _listed([known[name] for name in names]) or self.nothing(belief, text)

    def shown(self, belief: Belief, base_m: Vec3 | None) -> Mapping[str, str]:
        """The candidates shown to a model, by name."""
        known = self.known(belief, base_m)
        return {name: f"{line}{self.context(belief, name)}" for name, line in known.items()}


def _objects(belief: Belief, base_m: Vec3 | None) -> Mapping[str, str]:
    nodes = belief.of_kind(EntityKind.OBJECT)
    return {node.name: _object_line(node, belief, base_m) for node in nodes}


def _no_object(belief: Belief, text: str) -> str:
    if not belief.of_kind(EntityKind.OBJECT):
        return (
            "No objects are found yet, please explore the house by navigating to different rooms."
        )
    return f"Could not find any object in world for the query '{_shown(text)}'."


def _no_receptacle(belief: Belief, text: str) -> str:
    answer = f"Could not find any receptacles in world for the query '{_shown(text)}'."
    others = [_furniture_words(node) for node in furniture_anywhere(belief, text)][:MAX_LINES]
    if others:
        answer += f" I was able to find following furniture though:\n- {', '.join(others)}"
    return answer


def _contents(belief: Belief, room: str) -> str:
    names = [node.name for node in belief.nodes.values() if room in (node.room, node.parent)]
    return f" with {', '.join(names)}" if names else ""


# The objects that a text means: where each is, how far, in which states.
find_objects = Finder(
    EntityKind.OBJECT,
    known=_objects,
    matching=lambda belief, text: [node.name for node in matching_objects(belief, text)],
    nothing=_no_object,
)
# The furniture that a text means, with its room and components.
find_receptacles = Finder(
    EntityKind.FURNITURE,
    known=lambda belief, _: {
        node.name: f"- {_furniture_words(node)}" for node in belief.of_kind(EntityKind.FURNITURE)
    },
    matching=lambda belief, text: [node.name for node in matching_furniture(belief, text)],
    nothing=_no_receptacle,
)
# The rooms that a text means, or that contain or probably contain what it means.
find_rooms = Finder(
    EntityKind.ROOM,
    known=lambda belief, _: {
        node.name: f"- {node.name}" for node in belief.of_kind(EntityKind.ROOM)
    },
    matching=matching_rooms,
    nothing=lambda _belief, _text: "I could not find any room matching the query.",
    context=_contents,
)


def answers(finder: Finder) -> Callable[[Attempt, Arguments], Routine]:
    """A routine that answers from the belief; rules take no simulated time (PARTNR-D56).

    If there is a model, it chooses; its failure is the call's failure.
    """

    def routine(attempt: Attempt, arguments: Arguments) -> Routine:
        belief, base_m, text = attempt.belief, attempt.base, arguments.text
        model, shown = attempt.scene.find_model, finder.shown(belief, base_m)
        if model is None or not shown:
            names = finder.matching(belief, text)
        else:
            names = yield from _chosen(attempt, model.choose(finder.kind, _shown(text), shown))
        answer = finder.answer(belief, text, base_m, names)
        return SkillResult(SkillCode.SUCCESS, answer, attempt.evidence)

    return routine


def _chosen(
    attempt: Attempt, reply: Future[tuple[str, ...]]
) -> Generator[tuple[str, float], None, tuple[str, ...]]:
    """Waits for a model's reply."""
    try:
        while not reply.done():
            attempt.end_if_out_of_time()
            yield "asking the model", 0.0
        return reply.result()
    except PlannerError as error:
        sentence = f"The model of the Find tools gave no answer: {error}."
        raise RefusalError(SkillCode.BACKEND_FAULT, sentence) from None
    finally:
        reply.cancel()


def find_agent_actions(attempt: Attempt, arguments: Arguments) -> Routine:  # noqa: ARG001
    """Returns the current and last actions of the other agents."""
    yield from ()
    text = other_agents(attempt.scene.team.actions(besides=attempt.scene.agent))
    return SkillResult(SkillCode.SUCCESS, text, attempt.evidence)


def other_agents(actions: Iterable[Action]) -> str:
    """The current and last actions of the other agents, newest last."""
    lines = []
    for action in actions:
        if action.result is None:
            lines.append(f"{action.agent} is doing {action.call}")
        else:
            how = "done" if action.result.succeeded else f"failed: {action.result.text}"
            lines.append(f"{action.agent} did {action.call}: {how}")
    return "\n".join(lines[-_MAX_ACTIONS:]) or "No other agent has acted yet."


def _listed(lines: Sequence[str]) -> str:
    more = len(lines) - MAX_LINES
    return "\n".join([*lines[:MAX_LINES], *([f"and {more} more"] if more > 0 else [])])


def _shown(text: str) -> str:
    return text.strip()[:_MAX_QUERY_CHARS]


def _object_line(node: BeliefNode, belief: Belief, base_m: Vec3 | None) -> str:
    parent = belief.nodes.get(node.parent or "")
    room = node.room or (parent.room if parent is not None else None) or "an unknown room"
    words = {Relation.ON: "on", Relation.WITHIN: "in", Relation.HELD: "held by"}
    place = f"{words[node.relation or Relation.ON]} {node.parent} " if node.parent else ""
    far = f" {math.dist(node.position_m, base_m):.2f} meters away" if base_m is not None else ""
    states = ", ".join(f"is_{state}: {value}" for state, value in node.states.items())
    known = f". It has the following states, {states}." if states else ""
    return f"- {node.name} {place}in {room}{far}{known}"


def _furniture_words(node: BeliefNode) -> str:
    components = " with components: faucet" if Affordance.FAUCET in node.affordances else ""
    return f"{node.name} in {node.room or 'an unknown room'}{components}"


# Exploring an unknown house by the floor map (HELPER-2.8.6).


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
        left = survey.search.of(floor, attempt.known_pose().position_m)
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
    x, y, _ = attempt.known_pose().position_m
    towards_rad = math.atan2(frontier.middle_m[1] - y, frontier.middle_m[0] - x)
    pan_rad = wrap_angle_rad(towards_rad - attempt.known_pose().yaw_rad)
    views = tuple((wrap_angle_rad(pan_rad + pan), tilt) for pan, tilt in _FRONTIER_VIEWS_RAD)
    near = ((pan_rad, 0.5), (pan_rad, 1.05))
    return (yield from look(attempt, near + views, "looking at unexplored floor"))


def _leg(
    attempt: Attempt, survey: _Survey, floor: FloorMap, frontier: Frontier
) -> Generator[tuple[str, float], None, PrimitiveResult | None]:
    """One straight leg towards a frontier; None if none comes nearer."""
    base = attempt.known_pose()
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
    arrived = attempt.known_pose().position_m
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
