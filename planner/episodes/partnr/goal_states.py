"""What PARTNR's instructions mean by states.

PARTNR has three: clean, filled, powered on. A thing that shall come in a state that nothing has
("a filled glass") is to be given it; dusting is cleaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.grounding.fitting import Fitting
from planner.grounding.scene import Scene, Thing
from planner.language.description import Anchor, Description, Mention, NounPhrase, Place
from planner.language.goal_form import Goal, Make, Move, Request
from planner.language.words import Relation
from planner.world.vocabulary import EntityKind

_DUSTED = "dusted"
_CLEAN = "clean"
_DIRTY = "dirty"


def with_states_to_reach(goal: Goal, scene: Scene) -> Goal:
    """The goal with a request for each state that a thing is brought in, but does not have."""
    fitting = Fitting(scene, {})
    origins = [place.anchor for request in goal.requests for place in _origins(request)]
    steps = tuple(
        tuple(
            found
            for k, request in enumerate(step)
            for found in _reached(request, goal, fitting, origins, f"{number}_{k}")
        )
        for number, step in enumerate(goal.steps)
    )
    # Checked before; a copy keeps labels that a validation would see twice.
    return goal.model_copy(update={"steps": steps})


def _reached(
    request: Request, goal: Goal, fitting: Fitting, origins: list[Anchor], name: str
) -> Iterator[Request]:
    if isinstance(request, Make):
        things = tuple(
            _left_by(thing, goal.requests, fitting) if thing in origins else thing
            for thing in request.things
        )
        states = tuple(
            _CLEAN if state == _DUSTED and not _can_be_dusted(things, fitting) else state
            for state in request.states
        )
        yield request.model_copy(update={"things": things, "states": states})
        return
    if not isinstance(request, Move):
        yield request
        return
    things_moved: list[NounPhrase] = []
    made: list[Request] = []
    for k, thing in enumerate(request.things):
        wanted = _wanted(thing, fitting)
        if wanted is None:
            things_moved.append(thing)
            continue
        bare, states = wanted
        if states:
            label = bare.label or f"filled_{name}_{k}"
            bare = bare.model_copy(update={"label": label})
            made.append(Make(things=(Mention(label=label),), states=states))
        things_moved.append(bare)
    to = tuple(_left_before(place, request, goal, fitting) for place in request.to)
    yield request.model_copy(update={"things": tuple(things_moved), "to": to})
    yield from made


def _wanted(thing: NounPhrase, fitting: Fitting) -> tuple[Description, tuple[str, ...]] | None:
    """A thing without the state that none has, and the state that it is to be given."""
    if not isinstance(thing, Description) or not thing.states or fitting.names(thing):
        return None
    bare = thing.model_copy(update={"states": ()})
    if not fitting.names(bare):
        return None
    if thing.states == (_DIRTY,):
        # Nothing is dirty unless an initial state says so (PARTNR-D6); the dishes are these.
        return bare, ()
    if all(state.startswith("filled") for state in thing.states):
        return bare, thing.states
    return None


def _can_be_dusted(things: tuple[NounPhrase, ...], fitting: Fitting) -> bool:
    found = [
        one for thing in things if isinstance(thing, Description) for one in _of(thing, fitting)
    ]
    return any("dustable" in thing.affordances for thing in found) and not all(
        "cleanable" in thing.affordances for thing in found
    )


def _of(thing: Description, fitting: Fitting) -> list[Thing]:
    return fitting.things(thing.model_copy(update={"other_than": ()}))


def _origins(request: Request) -> Iterator[Place]:
    """Where the things of a request come from."""
    for thing in request.things if isinstance(request, Move) else ():
        if isinstance(thing, Description):
            yield from (place for place in thing.where if place.relation is Relation.AT)


def _left_before(place: Place, request: Request, goal: Goal, fitting: Fitting) -> Place:
    """For "the table" to which something comes: the one that was taken from before."""
    anchor = place.anchor
    if not isinstance(anchor, Description) or not anchor.definite:
        return place
    at = next(k for k, other in enumerate(goal.requests) if other is request)
    return place.model_copy(update={"anchor": _left_by(anchor, goal.requests[:at], fitting)})


def _left_by(thing: NounPhrase, requests: Sequence[Request], fitting: Fitting) -> NounPhrase:
    """For "the table" from which requests take things: the one that they are on."""
    if not isinstance(thing, Description) or thing.holding:
        return thing
    taken = tuple(
        moved
        for request in requests
        if isinstance(request, Move)
        for moved in request.things
        if isinstance(moved, Description) and any(p.anchor == thing for p in moved.where)
    )
    if any(one.kind is not EntityKind.FURNITURE for one in fitting.things(thing)):
        return thing
    return thing.model_copy(update={"holding": taken})
