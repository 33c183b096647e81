"""Whether a belief already shows the effects of a skill.

A skill's result and the memory's update arrive separately; a decision made in between would be
based on an outdated belief.
"""

from __future__ import annotations

from planner.parts.kinds import SKILLS
from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import has_slices
from planner.world.openness import is_open
from planner.world.skill import SkillCall
from planner.world.skill_effect import Divided, OpenedTo, PickedUp, PutDown, SkillEffect, StateSet
from planner.world.vocabulary import Relation


def is_shown(belief: Belief, agent: str, call: SkillCall) -> bool:
    """Whether the belief agrees with a call that succeeded; True for calls without an effect."""
    part = SKILLS.find(call.name)
    return part is None or all(_is_shown(belief, agent, call, e) for e in part.effects)


def _is_shown(belief: Belief, agent: str, call: SkillCall, effect: SkillEffect) -> bool:
    def named(index: int) -> BeliefNode | None:
        return belief.find(call.arguments[index] or "")

    # For a name that the memory does not have, waiting is pointless.
    match effect:
        case PickedUp(index):
            thing = named(index)
            return thing is None or (thing.relation is Relation.HELD and thing.parent == agent)
        case PutDown(index, furniture):
            thing, place = named(index), named(furniture)
            if thing is None or place is None:
                return True
            return thing.relation is not Relation.HELD and thing.parent == place.name
        case OpenedTo(openness, index):
            piece = named(index)
            shown = is_open(piece.openness) if piece is not None else None
            return shown is None or shown is is_open(openness)
        case StateSet(state, value, index):
            entity = named(index)
            return entity is None or entity.states.get(state, value) is value
        case Divided(index):
            entity = named(index)
            return entity is None or not has_slices(entity.class_name)
    return True
