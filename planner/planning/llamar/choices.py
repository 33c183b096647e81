"""What a robot is offered regardless of whether it would work: every action on everything."""

from __future__ import annotations

from collections.abc import Sequence

from planner.planning.llamar.actions import (
    INTERACTIONS,
    RESCUES,
    Action,
    Repertoire,
    Verb,
    fixed_actions,
)
from planner.planning.llamar.team import ActionOptions
from planner.world.vocabulary import Relation

_OF_THINGS = {
    Repertoire.HOUSEHOLD: (Verb.NAVIGATE_TO, *INTERACTIONS),
    Repertoire.RESCUE: (Verb.NAVIGATE_TO, *(verb for verb in RESCUES if verb.takes_thing)),
}


def every_action(names: Sequence[str], options: ActionOptions) -> tuple[Action, ...]:
    """All combinations of actions and things, then the actions on nothing (LLAMAR-2.9).

    Where Put puts things is said, since nothing else can be chosen.

    Args:
        names: of the things.
        options: what agents are offered.
    """
    on_things = [
        Action(verb, name, relation)
        for verb in _OF_THINGS[options.repertoire]
        for name in names
        for relation in ((Relation.ON, Relation.WITHIN) if verb is Verb.PUT else (None,))
    ]
    return (*on_things, *_fixed(options))


def verbs_of(options: ActionOptions) -> tuple[Verb, ...]:
    """What a robot can be told to do in a program: all but the claim that the task is complete."""
    others = dict.fromkeys(action.verb for action in _fixed(options))
    return (*_OF_THINGS[options.repertoire], *(verb for verb in others if verb is not Verb.DONE))


def _fixed(options: ActionOptions) -> tuple[Action, ...]:
    return fixed_actions(
        small_steps=options.small_steps,
        explores=options.exploration,
        repertoire=options.repertoire,
    )
