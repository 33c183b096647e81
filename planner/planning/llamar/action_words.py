"""The list of actions in prompts, with the values of their arguments."""

from __future__ import annotations

from planner.planning.llamar.actions import RESCUES, Action, Repertoire, Verb
from planner.planning.llamar.actor_role import ActionList
from planner.planning.llamar.team import ActionOptions

_STEPS = (Verb.MOVE, Verb.ROTATE, Verb.LOOK_UP, Verb.LOOK_DOWN)
_PLACEHOLDERS = {
    Verb.MOVE: "<direction>",
    Verb.ROTATE: "<direction>",
    Verb.LOOK_UP: "<angle>",
    Verb.LOOK_DOWN: "<angle>",
    Verb.PUT: "<receptacle>",
}
_NOTES = {
    Verb.NAVIGATE_TO: "something that was seen before",
    Verb.PUT: "puts down what is in the hand",
    Verb.USE_SAND: "puts out a chemical fire, in the 3 by 3 cells around the robot",
    Verb.USE_WATER: "puts out any other fire, in the 3 by 3 cells around the robot",
    Verb.GET_SAND: "a robot carries up to three units of sand and water",
    Verb.CLEAR_INVENTORY: "throws all sand and water away",
    Verb.CARRY: "the person moves when at least two robots carry; supplies are dropped",
    Verb.DROP_OFF: "all robots that carry the person have to be there and do it",
    Verb.EXPLORE: "looks around for what the open subtasks need, and goes there",
}


def action_list(options: ActionOptions) -> ActionList:
    """One action a line, in the order of the paper."""
    if options.repertoire is Repertoire.RESCUE:
        ends = (*((Verb.EXPLORE,) if options.exploration else ()), Verb.IDLE, Verb.DONE)
        verbs = [Verb.NAVIGATE_TO, *RESCUES, *ends]
        return ActionList("\n".join(f"- {_rescue_line(verb)}" for verb in verbs))
    verbs = [
        verb
        for verb in Verb
        if verb not in RESCUES
        and (options.small_steps or verb not in _STEPS)
        and (options.exploration or verb is not Verb.EXPLORE)
    ]
    return ActionList("\n".join(f"- {_line(verb)}" for verb in verbs))


def _rescue_line(verb: Verb) -> str:
    if verb is Verb.EXPLORE:
        return f"{Action(verb).words} (goes some way in a random direction, to find lost persons)"
    return _line(verb)


def _line(verb: Verb) -> str:
    takes_none = not (verb.takes_thing or verb.values)
    argument = "" if takes_none else _PLACEHOLDERS.get(verb, "<object>")
    words = Action(verb, argument).words
    if verb.values:
        return f"{words}; {argument} is one of {', '.join(verb.values)}"
    note = _NOTES.get(verb, "")
    return f"{words} ({note})" if note else words
