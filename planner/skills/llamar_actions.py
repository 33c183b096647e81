"""LLaMAR's actions: small steps, handling within range, and changes of state (LLAMAR-3.1)."""

from __future__ import annotations

import math
from dataclasses import replace

from planner.skills.attempt import Attempt, Motion, Routine
from planner.skills.ground import gap_m
from planner.skills.moving import go_to, look, openness_of, piece_around
from planner.skills.part import SkillPart
from planner.skills.preconditions import Arguments, Target
from planner.skills.results import RefusalError, failure, not_grounded
from planner.world.agents import default_bodies
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Pose, Vec3, wrap_angle_rad
from planner.world.house import Furniture
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.skill import (
    Divided,
    HeldStateSet,
    Role,
    SkillCode,
    SkillEffect,
    StateSet,
    StatesPoured,
)
from planner.world.states import Condition, StateSkill, default_state_skills, default_states
from planner.world.vocabulary import AgentKind, Hand, is_open

# The paper's interaction range, horizontally: to the outline of furniture, the middle of a thing.
RANGE_M = 1.5


def distance_m(attempt: Attempt, target: Target) -> float:
    """How far the agent is from an entity, by its remembered position; 0 for what it holds."""
    base = attempt.base
    if base is None:
        return math.inf
    if target.name in attempt.held:
        return 0.0
    if target.piece is not None:
        return gap_m(target.piece, base)
    if target.room is not None and not target.is_thing:
        at_home = attempt.scene.layout.room_at(base[0], base[1]) == target.room
        return 0.0 if at_home else math.inf
    return math.dist(base[:2], target.point_m[:2])


def is_in_range(attempt: Attempt, arguments: Arguments) -> None:
    """What is handled is within range.

    Raises:
        RefusalError: otherwise.
    """
    target = arguments.target
    if target is not None and distance_m(attempt, target) > RANGE_M:
        raise RefusalError(SkillCode.TOO_FAR, f"{target.name} is too far.")


def is_closed(attempt: Attempt, arguments: Arguments) -> None:
    """What is opened is not known to be open, and nobody else is opening it (LLAMAR-D25).

    Raises:
        RefusalError: otherwise.
    """
    _check_openness(attempt, arguments, wanted=False, words="open", doing="being opened")


def is_opened(attempt: Attempt, arguments: Arguments) -> None:
    """What is closed is known to be open, and nobody else is closing it.

    Raises:
        RefusalError: otherwise.
    """
    _check_openness(attempt, arguments, wanted=True, words="closed", doing="being closed")


def _check_openness(
    attempt: Attempt, arguments: Arguments, *, wanted: bool, words: str, doing: str
) -> None:
    target = arguments.target
    if target is None or target.piece is None or not target.piece.joints:
        # The routine says that nothing opens.
        return
    if bool(is_open(openness_of(attempt, target.piece))) is not wanted:
        raise RefusalError(SkillCode.NEED_UNMET, f"{target.name} is already {words}.")
    same = (
        action.agent
        for action in attempt.scene.team.actions(attempt.scene.agent)
        if action.result is None and action.call == attempt.call
    )
    other = next(same, None)
    if other is not None:
        sentence = f"{target.name} is already {doing} by {other}."
        raise RefusalError(SkillCode.NEED_UNMET, sentence)


def navigate_to(attempt: Attempt, arguments: Arguments) -> Routine:
    """Walks to something, and fails if it is out of range where the walk ends."""
    target = arguments.entities[0]
    attempt.evidence["target"] = target.name
    result = yield from go_to(attempt, target)
    if not result.succeeded:
        return failure(result, target.name, **attempt.evidence)
    if distance_m(attempt, target) > RANGE_M:
        sentence = f"{target.name} was reached, but is out of range."
        return attempt.failure(SkillCode.TOO_FAR, sentence)
    return attempt.success()


# The body moved step by step (LLAMAR-3.1): 0.25 m, turns of 90 degrees, the camera's tilt.

STEP_M = 0.25
QUARTER_RAD = math.pi / 2
ANGLES_DEG = (30, 60, 90, 120, 150, 180)
# A step that ends further from where it should, as before another agent, is a collision
# (LLAMAR-D26).
_OFF_M = 0.1
_POSE_PERIODS = 20
# The camera looks straight up, or straight down, at most.
_MAX_TILT_RAD = math.pi / 2
# Towards where a step goes, seen from the heading.
_SIDES_RAD = {"ahead": 0.0, "left": QUARTER_RAD, "back": math.pi, "right": -QUARTER_RAD}
_TURNS_RAD = {"left": QUARTER_RAD, "right": -QUARTER_RAD}
_BLOCKED = PrimitiveResult(PrimitiveCode.BLOCKED, "there is no free floor that way")


def move(attempt: Attempt, arguments: Arguments) -> Routine:
    """Moves by one step; the heading stays."""
    side_rad = _value(arguments.text, _SIDES_RAD)
    base = _base(attempt)
    result = yield from step(attempt, base.yaw_rad + side_rad, base.yaw_rad)
    if not result.succeeded:
        return failure(result, f"the way {arguments.text.lower()}", **attempt.evidence)
    return attempt.success()


def rotate(attempt: Attempt, arguments: Arguments) -> Routine:
    """Turns by a quarter on the spot."""
    turn_rad = _value(arguments.text, _TURNS_RAD)
    result = yield from face(attempt, _base(attempt).yaw_rad + turn_rad)
    if not result.succeeded:
        return failure(result, "the new heading", **attempt.evidence)
    return attempt.success()


def look_up(attempt: Attempt, arguments: Arguments) -> Routine:
    """Tilts the camera up."""
    return (yield from _tilt(attempt, arguments.text, -1))


def look_down(attempt: Attempt, arguments: Arguments) -> Routine:
    """Tilts the camera down."""
    return (yield from _tilt(attempt, arguments.text, 1))


def is_direction(_attempt: Attempt, arguments: Arguments) -> None:
    """The argument is a direction to step in.

    Raises:
        RefusalError: otherwise.
    """
    _value(arguments.text, _SIDES_RAD)


def is_turn(_attempt: Attempt, arguments: Arguments) -> None:
    """The argument is a direction to turn to.

    Raises:
        RefusalError: otherwise.
    """
    _value(arguments.text, _TURNS_RAD)


def is_angle(_attempt: Attempt, arguments: Arguments) -> None:
    """The argument is one of the paper's angles, in degrees.

    Raises:
        RefusalError: otherwise.
    """
    _value(arguments.text, {str(angle): float(angle) for angle in ANGLES_DEG})


def step(attempt: Attempt, towards_rad: float, yaw_rad: float) -> Motion:
    """One step in a direction of the map, ending with a heading.

    Ends as BLOCKED where there is no free floor, or another agent in the way.
    """
    start = _base(attempt).position_m
    end = _ahead(start, towards_rad, STEP_M)
    grid = attempt.scene.ground.grid
    if not all(grid.is_free(*_ahead(start, towards_rad, STEP_M * k / 2)[:2]) for k in (1, 2)):
        return _BLOCKED
    result = yield from _go(attempt, end, yaw_rad, "stepping")
    if result.code is PrimitiveCode.UNREACHABLE:
        return _BLOCKED
    for _ in range(_POSE_PERIODS):
        arrived = attempt.base
        near = arrived is not None and math.dist(arrived[:2], end[:2]) <= _OFF_M
        if not result.succeeded or near:
            return result
        # Over ROS the position comes later than the result.
        yield "stepping", attempt.share(1.0)
    return PrimitiveResult(PrimitiveCode.BLOCKED, "something stands in the way")


def face(attempt: Attempt, yaw_rad: float) -> Motion:
    """Turns to a heading of the map on the spot."""
    return (yield from _go(attempt, _base(attempt).position_m, yaw_rad, "turning"))


def _go(attempt: Attempt, point_m: Vec3, yaw_rad: float, phase: str) -> Motion:
    primitive = Primitive(
        PrimitiveName.NAVIGATE,
        (point_m[0], point_m[1], 0.0),
        heading_rad=wrap_angle_rad(yaw_rad),
        standoff_m=0.0,
    )
    return (yield from attempt.do(primitive, phase))


def _tilt(attempt: Attempt, text: str, sign: int) -> Routine:
    team, agent = attempt.scene.team, attempt.scene.agent
    before_rad = team.tilt_rad(agent)
    before_rad = attempt.camera.tilt_rad if before_rad is None else before_rad
    wanted_rad = before_rad + sign * math.radians(int(text))
    tilt_rad = max(-_MAX_TILT_RAD, min(_MAX_TILT_RAD, wanted_rad))
    if abs(tilt_rad - before_rad) < 1e-6:
        end = "up" if sign < 0 else "down"
        return attempt.failure(SkillCode.BLOCKED, f"The camera looks straight {end} already.")
    result = yield from look(attempt, ((0.0, tilt_rad),), "tilting the camera")
    if not result.succeeded:
        return failure(result, "the view", **attempt.evidence)
    return attempt.success()


def _value(text: str, values: dict[str, float]) -> float:
    found = values.get(text.strip().lower())
    if found is None:
        sentence = f"Expected one of {', '.join(values)}, got {text!r}."
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, sentence)
    return found


def _ahead(start: Vec3, towards_rad: float, length_m: float) -> Vec3:
    x, y, _ = start
    return (x + length_m * math.cos(towards_rad), y + length_m * math.sin(towards_rad), 0.0)


def _base(attempt: Attempt) -> Pose:
    pose = attempt.base_pose()
    if pose is None:
        raise RefusalError(SkillCode.BACKEND_FAULT, "The agent's own position is unknown.")
    return pose


# The skills that change states: one routine for all, as declared in the catalogue.


def state_skills() -> dict[str, SkillPart]:
    """The records of the catalogue's skills by their names."""
    return {skill.name: _part(skill) for skill in default_state_skills().values()}


def within_range(name: str, summary: str) -> SkillPart:
    """The record of the same skill for what is within LLaMAR's range, done without a step."""
    part = state_skills()[name]
    return replace(
        part,
        summary=summary,
        preconditions=(*part.preconditions, is_in_range),
        partnr_text="",
        epm_text="",
        like=name,
        stands_still=True,
    )


def _part(skill: StateSkill) -> SkillPart:
    effects: list[SkillEffect] = [StateSet(state, value) for state, value in skill.sets.items()]
    values = default_states().values
    flags = tuple(flag for name in skill.copies for flag in values[name].values())
    effects += [StatesPoured(flags)] if flags else []
    effects += [Divided()] if skill.divides else []
    effects += [HeldStateSet(state, value) for state, value in skill.hand_sets.items()]
    return SkillPart(
        summary=skill.summary,
        routine=lambda attempt, arguments: _routine(attempt, arguments, skill),
        roles=(Role.OBJECT_OR_FURNITURE if skill.furniture else Role.OBJECT,),
        abilities=frozenset({skill.primitive}),
        affordance=default_states().affordance_of[next(iter(skill.sets))],
        preconditions=(lambda attempt, arguments: _check_hand(attempt, arguments, skill),),
        effects=tuple(effects),
        partnr_text=skill.partnr_text,
        epm_text=skill.epm_text,
    )


def _check_hand(attempt: Attempt, arguments: Arguments, skill: StateSkill) -> None:
    """Checks that the agent holds what the skill needs, as far as known."""
    needed = skill.needs.hand
    if needed is None:
        return
    name = arguments.entities[0].name
    if attempt.held == (name,):
        how = "poured into itself" if skill.hand_sets else "done with itself"
        sentence = f"{name} is what the agent holds: it cannot be {how}."
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, sentence)
    if _tool(attempt, needed, name) is None:
        raise RefusalError(SkillCode.NOT_HOLDING, f"The agent is not holding {needed.what}.")


def _tool(attempt: Attempt, needed: Condition, target: str) -> str | None:
    """The held thing that a skill is done with, such as what is poured from."""

    def rank(thing: str) -> int:
        node = attempt.belief.find(thing)
        cls = default_catalogue().objects.get(node.class_name) if node is not None else None
        if node is None or cls is None:
            return 1
        if not needed.is_kind(cls.name, cls.affordances):
            return 2
        return 0 if needed.has_states(node.states) else 1

    ranks = [(rank(thing), i, thing) for i, thing in enumerate(attempt.held) if thing != target]
    return next((thing for number, _, thing in sorted(ranks) if number < 2), None)


def _routine(attempt: Attempt, arguments: Arguments, skill: StateSkill) -> Routine:
    target = arguments.entities[0]
    state, value = next(iter(skill.sets.items()))
    words = {"entity": target.name, "state": state, "value": str(value).lower()}
    attempt.evidence.update(words)
    tool = _tool(attempt, skill.needs.hand, target.name) if skill.needs.hand else None
    hand = attempt.hand_for(tool) if tool is not None else None
    if skill.hand_sets and tool is not None:
        attempt.evidence["poured_from"] = tool
    name, phase = skill.primitive, f"{skill.doing} {target.name}"
    if target.is_thing and target.name in attempt.held:
        result = yield from _in_hand(attempt, target.name, name, phase, hand)
    elif target.piece is not None:
        primitive = Primitive(name, _near_side(target.piece, attempt.base))
        result = yield from attempt.handle_at(primitive, phase, target.piece)
    else:
        gate_m = attempt.scene.options.grounding_gate_m
        primitive = Primitive(name, target.point_m, tolerance_m=gate_m, hand=hand)
        result = yield from attempt.handle_at(primitive, phase, piece_around(attempt, target))
    if result.succeeded:
        return attempt.success()
    if result.code is PrimitiveCode.NOTHING_THERE:
        return not_grounded(target.point_m, **attempt.evidence)
    return failure(result, target.name, **attempt.evidence)


def _in_hand(attempt: Attempt, thing: str, name: str, phase: str, hand: Hand | None) -> Motion:
    """Applies it to a held object, whose position is known in the agent's own frame."""
    # The hand moves with the camera: bring it to the front first.
    looked = yield from look(attempt, ((0.0, attempt.camera.tilt_rad),), phase)
    if not looked.succeeded:
        return looked
    kinds = {kind.value: kind for kind in AgentKind}
    kind = kinds.get(attempt.scene.capabilities.kind, AgentKind.HUMAN)
    frame = f"{attempt.scene.agent}/base_link"
    holder = attempt.hand_for(thing) or Hand.RIGHT
    primitive = Primitive(name, default_bodies()[kind].hand_at_m(holder), frame=frame, hand=hand)
    return (yield from attempt.do(primitive, phase))


def _near_side(piece: Furniture, base: Vec3 | None) -> Vec3:
    """The low point of the furniture nearest to the agent, where nothing lies."""
    low, high = piece.box.minimum_m, piece.box.maximum_m
    middle = piece.box.center_m
    start = base or middle
    x = min(max(start[0], low[0]), high[0])
    y = min(max(start[1], low[1]), high[1])
    return (x, y, 0.3 * high[2])
