"""Statements that are several steps, and end states that an instance is wanted in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.planning.programs.bindings import is_own
from planner.planning.programs.macros import METHOD_OF, changing, emptying, pouring
from planner.planning.programs.preconditions import Scene
from planner.planning.programs.program import Instance, Invocation, Method, Statement
from planner.planning.programs.steps import Aftermath, Work

_LEAVES_AS_IT_IS = frozenset(
    {Method.GO_TO, Method.SLICE, Method.OPEN, Method.CLOSE, *METHOD_OF.values()}
)
_BY_MACRO = frozenset({Method.CLEAN, Method.COOK, Method.TOAST, Method.FILL_UP})


def steps_of(work: Invocation, scene: Scene) -> tuple[Work, ...] | None:
    """The steps of a method that is several; None for one that is a single call.

    Raises:
        NoWayError: if nothing known can do what it needs.
    """
    if work.method is Method.PICKUP_AND_PLACE:
        return (
            Invocation(work.variable, Method.GO_TO),
            Invocation(work.variable, Method.PICKUP),
            Invocation(work.argument, Method.GO_TO),
            Invocation(work.variable, Method.PLACE, work.argument),
        )
    if work.method in (Method.TOGGLE_ON, Method.TOGGLE_OFF):
        known = scene.situation.affordances(scene.thing)
        if "faucet" not in known or "powerable" in known:
            return None
        # Water is what it does; nothing is left on.
        turned_on = work.method is Method.TOGGLE_ON
        return (Aftermath(work.variable, runs=True),) if turned_on else ()
    if work.method is Method.POUR:
        return pouring(scene)
    if work.method is Method.EMPTY:
        return emptying(scene)
    return changing(work.method, scene) if work.method in _BY_MACRO else None


def wanted_states(work: Invocation, scene: Scene) -> tuple[Work, ...]:
    """The method for an end state that a used instance is wanted in, and neither has nor gets."""
    if work.method in _LEAVES_AS_IT_IS:
        return ()
    for variable, entity in ((work.argument, scene.place), (work.variable, scene.thing)):
        binding = scene.bindings.by_variable.get(variable)
        if binding is None:
            continue
        for word in binding.instance.attributes:
            is_planned = METHOD_OF[word] in binding.methods
            if not is_planned and not scene.situation.state(entity, word):
                return (Invocation(variable, METHOD_OF[word]),)
    return ()


def renamed(statements: Sequence[Statement], prefix: str) -> tuple[Statement, ...]:
    """The statements of a repair with variables of their own.

    So that a repair does not bind the variables of the program anew.
    """
    found: list[Statement] = []
    for one in statements:
        match one:
            case Instance():
                found.append(replace(one, variable=_own(prefix, one.variable)))
            case Invocation():
                argument = _own(prefix, one.argument) if one.argument else ""
                variable = _own(prefix, one.variable)
                found.append(replace(one, variable=variable, argument=argument))
            case _:
                found.append(one)
    return tuple(found)


def _own(prefix: str, variable: str) -> str:
    return variable if is_own(variable) else f"_{prefix}_{variable}"
