"""The skill call of a step, and whether it is needed at all."""

from __future__ import annotations

from collections.abc import Mapping

from planner.planning.programs.macros import is_true_already
from planner.planning.programs.preconditions import Scene, receptacle_for
from planner.planning.programs.program import Invocation, Method
from planner.planning.programs.steps import SkillStep
from planner.world.skill import SkillCall, SkillName
from planner.world.state_skills import default_state_skills, state_skill
from planner.world.vocabulary import Relation

_SKILLS: Mapping[Method, str] = {
    Method.GO_TO: SkillName.NAVIGATE,
    Method.PICKUP: SkillName.PICK,
    Method.TOGGLE_ON: SkillName.POWER_ON,
    Method.TOGGLE_OFF: SkillName.POWER_OFF,
    Method.OPEN: SkillName.OPEN,
    Method.CLOSE: SkillName.CLOSE,
}


def call_of(work: Invocation | SkillStep, scene: Scene) -> SkillCall | None:
    """The call of a step that is a single one; None if a thing can be put down nowhere."""
    if isinstance(work, SkillStep):
        return SkillCall(work.skill, (scene.thing,))
    if work.method is Method.SLICE:
        name = next(s.name for s in default_state_skills().values() if s.divides)
        return SkillCall(name, (scene.thing,))
    if work.method is Method.PUT_DOWN:
        place = receptacle_for(scene)
        return _place(scene.thing, Relation.ON, place) if place else None
    if work.method is Method.PLACE:
        return _place(scene.thing, _relation(scene), scene.place)
    return SkillCall(_SKILLS[work.method], (scene.thing,))


def is_done_already(work: Invocation | SkillStep, scene: Scene) -> bool:
    """Whether what a step is for holds, so that nothing has to be done (HELPER-D7)."""
    situation, thing = scene.situation, scene.thing
    if isinstance(work, SkillStep):
        skill = state_skill(work.skill)
        return skill is not None and situation.has_states(thing, skill)
    match work.method:
        case Method.GO_TO:
            return scene.holds_it or scene.at == thing
        case Method.PICKUP:
            return scene.holds_it
        case Method.PUT_DOWN:
            return not scene.holds_it
        case Method.PLACE | Method.PICKUP_AND_PLACE:
            return situation.facts.spot(thing) == (_relation(scene), scene.place)
        case Method.TOGGLE_ON:
            return situation.state(thing, "powered_on")
        case Method.TOGGLE_OFF:
            known = situation.affordances(thing)
            return bool(known & {"powerable", "faucet"}) and not situation.state(
                thing, "powered_on"
            )
        case Method.OPEN:
            return situation.is_open(thing) is True
        case Method.CLOSE:
            return situation.is_open(thing) is False
        case Method.POUR:
            return situation.state(scene.place, "watered")
        case Method.EMPTY:
            return not situation.contents(thing)
        case Method.SLICE:
            return situation.state(thing, "sliced")
        case _:
            return is_true_already(work.method, thing, situation)


def _relation(scene: Scene) -> Relation:
    label = scene.bindings.label(scene.place, scene.situation)
    return scene.situation.relation(scene.thing, scene.place, label)


def _place(thing: str, relation: Relation, holder: str) -> SkillCall:
    return SkillCall(SkillName.PLACE, (thing, relation.value, holder, None, None))
