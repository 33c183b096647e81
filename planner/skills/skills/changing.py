"""Skills that change states: one routine for all, as declared in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping

from planner.skills.attempt import Attempt, Motion, Routine
from planner.skills.moving import look, piece_around
from planner.skills.part import SkillPart
from planner.skills.preconditions import Arguments
from planner.skills.results import RefusalError, failure, not_grounded
from planner.world.agents import default_bodies
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Vec3
from planner.world.house import Furniture
from planner.world.primitive import Primitive, PrimitiveCode
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
from planner.world.vocabulary import AgentKind, Hand


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
        named_text=skill.named_text,
        numbered_text=skill.numbered_text,
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


SKILLS: Mapping[str, SkillPart] = {
    skill.name: _part(skill) for skill in default_state_skills().values()
}
