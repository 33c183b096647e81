"""The list of actions in prompts, with the values of their arguments."""

from __future__ import annotations

from planner.planning.llamar.actions import Action, Verb
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
    Verb.EXPLORE: "looks around for what the open subtasks need, and goes there",
}


def action_list(options: ActionOptions) -> ActionList:
    """One action a line, in the order of the paper."""
    verbs = [
        verb
        for verb in Verb
        if (options.small_steps or verb not in _STEPS)
        and (options.exploration or verb is not Verb.EXPLORE)
    ]
    return ActionList("\n".join(f"- {_line(verb)}" for verb in verbs))


def _line(verb: Verb) -> str:
    takes_none = not (verb.takes_thing or verb.values)
    argument = "" if takes_none else _PLACEHOLDERS.get(verb, "<object>")
    words = Action(verb, argument).words
    if verb.values:
        return f"{words}; {argument} is one of {', '.join(verb.values)}"
    note = _NOTES.get(verb, "")
    return f"{words} ({note})" if note else words
