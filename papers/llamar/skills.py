"""LLaMAR's actions: small steps, handling within range, exploring by pictures (LLAMAR-3.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from planner.memory.features import Features
from planner.skills.attempt import Attempt, Eye, Motion, Routine
from planner.skills.ground import gap_m
from planner.skills.handling import pick, place
from planner.skills.moving import close_furniture, go_to, look, open_furniture, openness_of
from planner.skills.part import SkillPart
from planner.skills.preconditions import Arguments, Target, hand_is_free, thing_is_in_hand
from planner.skills.results import RefusalError, failure
from planner.skills.skills import SKILLS as CHANGES
from planner.world.errors import PlannerError
from planner.world.geometry import Heading, Vec3, heading_of, wrap_angle_rad
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.skill import PLACE_ROLES, OpenedTo, PickedUp, PutDown, Role, SkillCode
from planner.world.vocabulary import is_open

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
    base = attempt.known_pose()
    result = yield from step(attempt, base.yaw_rad + side_rad, base.yaw_rad)
    if not result.succeeded:
        return failure(result, f"the way {arguments.text.lower()}", **attempt.evidence)
    return attempt.success()


def rotate(attempt: Attempt, arguments: Arguments) -> Routine:
    """Turns by a quarter on the spot."""
    turn_rad = _value(arguments.text, _TURNS_RAD)
    result = yield from face(attempt, attempt.known_pose().yaw_rad + turn_rad)
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
    start = attempt.known_pose().position_m
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
    return (yield from _go(attempt, attempt.known_pose().position_m, yaw_rad, "turning"))


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


# Exploring by pictures (LLAMAR-2.7): look to all sides, go where the subtasks seem to be.
#
# In each round the agent turns to the four headings of the compass, takes the one whose picture is
# most similar to the open subtasks, and steps that way.

# Between the subtasks in a call.
SUBTASK_SEPARATOR = "; "
# These end the whole routine, not only its round.
_ENDING = (PrimitiveCode.STOPPED, PrimitiveCode.NOT_ALLOWED, PrimitiveCode.CANCELED)

ResultT = TypeVar("ResultT")
_Views = Generator[tuple[str, float], None, PrimitiveResult | dict[Heading, Features]]


def explore_by_view(attempt: Attempt, arguments: Arguments) -> Routine:
    """Explores; succeeds if it could make at least one step (LLAMAR-D27)."""
    options, team, agent = attempt.scene.options, attempt.scene.team, attempt.scene.agent
    eye = attempt.scene.eye
    texts = _compared(lambda: _texts(eye, arguments.text))
    steps, taken, by_pictures = 0, [], 0
    blocked: set[Heading] = set()
    for number in range(options.explore_rounds):
        attempt.window = (number / options.explore_rounds, (number + 1) / options.explore_rounds)
        views = yield from _look_round(attempt, eye if texts else None)
        if isinstance(views, PrimitiveResult):
            return failure(views, "the room", **attempt.evidence)
        by_pictures += bool(views)
        # The same picture, of a wall or not, would win again for as long as nobody moves.
        views = {each: view for each, view in views.items() if each not in blocked} or views
        chosen = _best(views, texts) if views else None
        heading = chosen or least_recent(team.headings(agent))
        team.headed(agent, heading)
        taken.append(heading.name.lower())
        attempt.evidence["headings"] = " ".join(taken)
        attempt.evidence["by_pictures"] = str(by_pictures)
        result = yield from face(attempt, heading.yaw_rad)
        before = steps
        for _ in range(options.explore_steps):
            if result.succeeded:
                result = yield from step(attempt, heading.yaw_rad, heading.yaw_rad)
                steps += result.succeeded
        blocked = blocked | {heading} if steps == before else set()
        if result.code in _ENDING:
            return failure(result, "the room", **attempt.evidence)
    attempt.evidence["steps"] = str(steps)
    if not steps:
        return attempt.failure(SkillCode.BLOCKED, "All ways that were tried are blocked.")
    return attempt.success()


def _texts(eye: Eye | None, text: str) -> Sequence[Features]:
    """The open subtasks as vectors, once for each call; none without an encoder."""
    if eye is None:
        return ()
    subtasks = [part.strip() for part in text.split(SUBTASK_SEPARATOR.strip())]
    return tuple(eye.encoder.text(part) for part in subtasks if part)


def _look_round(attempt: Attempt, eye: Eye | None) -> _Views:
    """Turns right four times and takes a picture of each heading; or why it could not turn."""
    heading = heading_of(attempt.known_pose().yaw_rad)
    views: dict[Heading, Features] = {}
    ahead = ((0.0, attempt.camera.tilt_rad),)
    for _ in Heading:
        heading = heading.right
        turned = yield from face(attempt, heading.yaw_rad)
        if turned.succeeded:
            # The camera stands still for the picture, and for the memory.
            turned = yield from look(attempt, ahead, f"looking {heading.name.lower()}")
        if not turned.succeeded:
            return turned
        view = _view(eye, attempt.scene.agent) if eye is not None else None
        if view is not None:
            # LLAMAR-C32: the picture is of the heading after the turn.
            views[heading] = view
    return views


def _view(eye: Eye, agent: str) -> Features | None:
    """What an agent's camera shows now; None for a dropped picture."""

    def view() -> Features | None:
        image = eye.picture(agent)
        return None if image is None else eye.encoder.picture(image)

    return _compared(view)


def _best(views: Mapping[Heading, Features], texts: Sequence[Features]) -> Heading:
    return best_heading(_compared(lambda: heading_scores(views, texts)))


def _compared(ask: Callable[[], ResultT]) -> ResultT:
    """What the encoder says.

    Raises:
        RefusalError: if there can be no pictures, or they cannot be compared.
    """
    try:
        return ask()
    except PlannerError as error:
        sentence = f"The pictures cannot be compared with the subtasks: {error}."
        raise RefusalError(SkillCode.BACKEND_FAULT, sentence) from None


def heading_scores(
    views: Mapping[Heading, Features], texts: Sequence[Features]
) -> dict[Heading, float]:
    """The sum of each picture's cosines with all texts (LLAMAR-C30).

    Raises:
        PlannerError: where pictures and texts are no vectors of one space.
    """
    sizes = [{len(each) for each in found} for found in (views.values(), texts)]
    if len(sizes[0] | sizes[1]) > 1:
        pictures, words = (" or ".join(map(str, sorted(found))) for found in sizes)
        raise PlannerError(f"pictures have {pictures} numbers and texts {words}")
    return {heading: sum(float(view @ text) for text in texts) for heading, view in views.items()}


def best_heading(scores: Mapping[Heading, float]) -> Heading:
    """The one with the highest score; of equal ones the first of the compass's order."""
    return max((heading for heading in Heading if heading in scores), key=scores.__getitem__)


def least_recent(taken: Iterable[Heading]) -> Heading:
    """The heading that was taken longest ago, or never; `taken` has the newest last."""
    last = {heading: place for place, heading in enumerate(taken)}
    return min(Heading, key=lambda heading: last.get(heading, -1))


# The records; the names of the skills stand with the entry points.


def within_range(name: str, summary: str) -> SkillPart:
    """The record of the same skill for what is within LLaMAR's range, done without a step."""
    part = CHANGES[name]
    return replace(
        part,
        summary=summary,
        preconditions=(*part.preconditions, is_in_range),
        named_text="",
        numbered_text="",
        like=name,
        stands_still=True,
    )


NAVIGATE_TO = SkillPart(
    summary="walks to furniture or a thing until it is within 1.5 m (LLaMAR)",
    routine=navigate_to,
    roles=(Role.TARGET,),
    abilities=frozenset({PrimitiveName.NAVIGATE}),
    timeout_s=180.0,
    like="Navigate",
)
MOVE = SkillPart(
    summary="moves by 0.25 m: Ahead, Back, Left or Right (LLaMAR)",
    routine=move,
    roles=(Role.TEXT,),
    abilities=frozenset({PrimitiveName.NAVIGATE}),
    preconditions=(is_direction,),
    timeout_s=30.0,
)
ROTATE = SkillPart(
    summary="turns by 90 degrees: Left or Right (LLaMAR)",
    routine=rotate,
    roles=(Role.TEXT,),
    abilities=frozenset({PrimitiveName.NAVIGATE}),
    preconditions=(is_turn,),
    timeout_s=30.0,
)
LOOK_UP = SkillPart(
    summary="tilts the camera up by 30 to 180 degrees (LLaMAR)",
    routine=look_up,
    roles=(Role.TEXT,),
    abilities=frozenset({PrimitiveName.LOOK}),
    preconditions=(is_angle,),
    timeout_s=30.0,
)
LOOK_DOWN = SkillPart(
    summary="tilts the camera down by 30 to 180 degrees (LLaMAR)",
    routine=look_down,
    roles=(Role.TEXT,),
    abilities=frozenset({PrimitiveName.LOOK}),
    preconditions=(is_angle,),
    timeout_s=30.0,
)
PICKUP_OBJECT = SkillPart(
    summary="takes a visible thing within 1.5 m, without a step (LLaMAR)",
    routine=pick,
    roles=(Role.OBJECT,),
    abilities=frozenset({PrimitiveName.PICK}),
    preconditions=(hand_is_free, is_in_range),
    effects=(PickedUp(),),
    like="Pick",
    stands_still=True,
)
PUT_OBJECT = SkillPart(
    summary="puts the held thing on or into furniture within 1.5 m (LLaMAR)",
    routine=place,
    roles=PLACE_ROLES,
    abilities=frozenset({PrimitiveName.PLACE}),
    preconditions=(thing_is_in_hand, is_in_range),
    effects=(PutDown(),),
    timeout_s=180.0,
    like="Place",
)
OPEN_OBJECT = SkillPart(
    summary="opens furniture within 1.5 m that is closed (LLaMAR)",
    routine=open_furniture,
    roles=(Role.FURNITURE,),
    abilities=frozenset({PrimitiveName.OPEN}),
    preconditions=(is_in_range, is_closed),
    effects=(OpenedTo(1.0),),
    like="Open",
)
CLOSE_OBJECT = SkillPart(
    summary="closes furniture within 1.5 m that is open (LLaMAR)",
    routine=close_furniture,
    roles=(Role.FURNITURE,),
    abilities=frozenset({PrimitiveName.CLOSE}),
    preconditions=(is_in_range, is_opened),
    effects=(OpenedTo(0.0),),
    like="Close",
)
CLEAN_OBJECT = within_range("Clean", "cleans a thing or furniture within 1.5 m (LLaMAR)")
SLICE_OBJECT = within_range("Slice", "slices food within 1.5 m with the knife in the hand (LLaMAR)")
TOGGLE_OBJECT_ON = within_range("PowerOn", "switches on something within 1.5 m (LLaMAR)")
TOGGLE_OBJECT_OFF = within_range("PowerOff", "switches off something within 1.5 m (LLaMAR)")
EXPLORE_BY_VIEW = SkillPart(
    summary="looks to four sides and steps where open subtasks seem to be, in rounds (LLaMAR)",
    routine=explore_by_view,
    roles=(Role.TEXT,),
    abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK}),
    timeout_s=180.0,
)
