"""Changing states: Clean, Fill, Pour, PowerOn, PowerOff. Only people can (PARTNR-1.2)."""

from __future__ import annotations

from collections.abc import Callable

from planner.skills.attempt import Attempt, Motion, Routine
from planner.skills.grounding import Target
from planner.skills.moving import look, piece_around
from planner.skills.preconditions import Arguments
from planner.skills.results import failure, not_grounded
from planner.world.agents import default_bodies
from planner.world.geometry import Vec3
from planner.world.house import Furniture
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from planner.world.vocabulary import AgentKind, State


def changes(
    name: PrimitiveName, state: State, *, value: bool = True
) -> Callable[[Attempt, Arguments], Routine]:
    """A routine that sets one state of a thing or a piece of furniture within reach."""

    def routine(attempt: Attempt, arguments: Arguments) -> Routine:
        target = arguments.entities[0]
        words = {"entity": target.name, "state": str(state), "value": str(value).lower()}
        attempt.evidence.update(words)
        return (yield from _change(attempt, target, name))

    return routine


def _change(attempt: Attempt, target: Target, name: PrimitiveName) -> Routine:
    if name is PrimitiveName.POUR and attempt.holding is not None:
        attempt.evidence["poured_from"] = attempt.holding
    phase = f"{_DOING[name]} {target.name}"
    if target.is_thing and attempt.holding == target.name:
        result = yield from _in_hand(attempt, name, phase)
    elif target.piece is not None:
        primitive = Primitive(name, _near_side(target.piece, attempt.base))
        result = yield from attempt.handle_at(primitive, phase, target.piece)
    else:
        gate_m = attempt.scene.options.grounding_gate_m
        primitive = Primitive(name, target.point_m, tolerance_m=gate_m)
        result = yield from attempt.handle_at(primitive, phase, piece_around(attempt, target))
    if result.succeeded:
        return attempt.success()
    if result.code is PrimitiveCode.NOTHING_THERE:
        return not_grounded(target.point_m, **attempt.evidence)
    return failure(result, target.name, **attempt.evidence)


_DOING = {
    PrimitiveName.CLEAN: "cleaning",
    PrimitiveName.FILL: "filling",
    PrimitiveName.POUR: "pouring into",
    PrimitiveName.POWER_ON: "switching on",
    PrimitiveName.POWER_OFF: "switching off",
}


def _in_hand(attempt: Attempt, name: PrimitiveName, phase: str) -> Motion:
    """Does it to what the agent holds, whose place is known in the agent's own frame."""
    # The hand swings with the camera: bring it to the front first.
    looked = yield from look(attempt, ((0.0, attempt.camera.tilt_rad),), phase)
    if not looked.succeeded:
        return looked
    kinds = {kind.value: kind for kind in AgentKind}
    kind = kinds.get(attempt.scene.capabilities.kind, AgentKind.HUMAN)
    frame = f"{attempt.scene.agent}/base_link"
    primitive = Primitive(name, default_bodies()[kind].hand_m, frame=frame)
    return (yield from attempt.do(primitive, phase))


def _near_side(piece: Furniture, base: Vec3 | None) -> Vec3:
    """The point of the furniture that is nearest to the agent, low, where no thing lies."""
    low, high = piece.box.minimum_m, piece.box.maximum_m
    middle = piece.box.center_m
    start = base or middle
    x = min(max(start[0], low[0]), high[0])
    y = min(max(start[1], low[1]), high[1])
    return (x, y, 0.3 * high[2])
