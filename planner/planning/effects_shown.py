"""Whether a belief already shows what a skill did.

A skill's end and the memory's news of it travel on different ways. Whoever decides in between
would decide on a world that is over.
"""

from __future__ import annotations

from planner.world.belief import Belief
from planner.world.skill import SkillCall, SkillName
from planner.world.vocabulary import Relation, State

_STATES: dict[str, tuple[State, bool]] = {
    SkillName.CLEAN: (State.CLEAN, True),
    SkillName.FILL: (State.FILLED, True),
    SkillName.POUR: (State.FILLED, True),
    SkillName.POWER_ON: (State.POWERED_ON, True),
    SkillName.POWER_OFF: (State.POWERED_ON, False),
}


def is_shown(belief: Belief, agent: str, call: SkillCall) -> bool:
    """Whether the belief agrees with a call that succeeded; True where a call shows nothing."""
    target = belief.find(call.arguments[0] or "") if call.arguments else None
    if target is None:
        # A name that the memory does not have shows nothing, however long one waits.
        return True
    if call.name == SkillName.PICK:
        return target.relation is Relation.HELD and target.parent == agent
    if call.name in (SkillName.PLACE, SkillName.REARRANGE):
        place = belief.find(call.arguments[2] or "")
        return place is None or (
            target.relation is not Relation.HELD and target.parent == place.name
        )
    if call.name in (SkillName.OPEN, SkillName.CLOSE):
        opened = target.openness
        return opened is None or (opened > 0.5) is (call.name == SkillName.OPEN)
    if call.name in _STATES:
        state, value = _STATES[call.name]
        return target.states.get(state, value) is value
    return True
