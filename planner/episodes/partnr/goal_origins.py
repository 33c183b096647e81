"""Where PARTNR's instructions say that things are, although they are not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planner.grounding.fitting import Fitting
from planner.grounding.scene import Scene, Thing
from planner.language.description import Anchor, Description, NounPhrase, OneOf, Place, PlaceOf
from planner.language.goal_form import Goal, Make, Move, Request
from planner.language.words import Relation
from planner.world.vocabulary import EntityKind

Change = Callable[[Description], Description]


def as_things_are(goal: Goal, scene: Scene) -> Goal:
    """The goal without the places that definite descriptions are wrong about.

    "The kettle and the candle from the kitchen", where the only candle is elsewhere, are these
    two, and "them" is said of them later. The same holds of what came to a place only because
    something was to be put next to it there.
    """
    fitting = Fitting(scene, {})
    mistaken: list[Description] = []
    for request in goal.requests:
        mistaken += _mistaken(request, fitting)

    def corrected(described: Description) -> Description:
        return _without_origin(described) if described in mistaken else described

    steps = [[_changed(request, corrected) for request in step] for step in goal.steps]
    brought: list[Description] = []

    def arrived(described: Description) -> Description:
        return _bare(described) if described in brought else described

    for step in steps:
        for k, request in enumerate(step):
            if isinstance(request, Move | Make):
                things = tuple(changed(thing, arrived) for thing in request.things)
                step[k] = request.model_copy(update={"things": things})
        brought += [anchor for request in step for anchor in brought_along(request, scene)]
    any_time = tuple(_changed(request, corrected) for request in goal.any_time)
    # Checked before; a copy keeps labels that a validation would see twice.
    return goal.model_copy(update={"steps": tuple(map(tuple, steps)), "any_time": any_time})


def _mistaken(request: Request, fitting: Fitting) -> Iterator[Description]:
    """Definite things with a wrong origin, of which there is only one.

    That includes what an earlier request brought there.
    """
    if not isinstance(request, Move):
        return
    told = [
        thing
        for thing in request.things
        if isinstance(thing, Description) and _without_origin(thing) != thing
    ]
    for thing in told:
        bare = _without_origin(thing)
        if not (thing.definite and thing.count == 1) or _objects(thing, fitting):
            continue
        found = _objects(bare, fitting)
        if len(found) == 1 and not _is_there(found[0], request, fitting):
            yield thing


def _is_there(thing: Thing, request: Move, fitting: Fitting) -> bool:
    """Whether it is where it shall go, so that it cannot be what is moved there."""
    anchors = [place.anchor for place in request.to if isinstance(place.anchor, Description)]
    return any({thing.parent, thing.room} & set(fitting.names(anchor)) for anchor in anchors)


def _objects(described: Description, fitting: Fitting) -> list[Thing]:
    """The things that fit and can be carried."""
    return [thing for thing in fitting.things(described) if thing.kind is EntityKind.OBJECT]


def brought_along(request: Request, scene: Scene) -> Iterator[Description]:
    """What is not on the furniture where something shall be put next to it: the only such thing."""
    fitting = Fitting(scene, {})
    for place in request.to if isinstance(request, Move) else ():
        anchor = place.anchor
        if place.relation is not Relation.NEXT_TO or not isinstance(anchor, Description):
            continue
        bare = _bare(anchor)
        if bare != anchor and not fitting.names(anchor) and fitting.names(bare):
            yield anchor


def _without_origin(described: Description) -> Description:
    left = tuple(place for place in described.where if place.relation is not Relation.AT)
    return described.model_copy(update={"where": left})


def _bare(described: Description) -> Description:
    """Without the furniture that it is said to be on or in."""
    resting = (Relation.ON_TOP, Relation.IN)
    left = tuple(place for place in described.where if place.relation not in resting)
    return described.model_copy(update={"where": left})


def _changed(request: Request, change: Change) -> Request:
    update: dict[str, object] = {}
    if isinstance(request, Move | Make):
        update["things"] = tuple(changed(thing, change) for thing in request.things)
    if isinstance(request, Move):
        update["to"] = tuple(_place(place, change) for place in request.to)
    return request.model_copy(update=update)


def changed(phrase: NounPhrase, change: Change) -> NounPhrase:
    """A phrase with each description in it changed."""
    if isinstance(phrase, Description):
        return change(phrase).model_copy(
            update={"where": tuple(_place(place, change) for place in change(phrase).where)}
        )
    if isinstance(phrase, OneOf):
        return OneOf(one_of=tuple(changed(inner, change) for inner in phrase.one_of))
    return phrase


def _place(place: Place, change: Change) -> Place:
    anchor: Anchor = place.anchor
    if isinstance(anchor, PlaceOf):
        anchor = PlaceOf(place_of=changed(anchor.place_of, change))
    elif isinstance(anchor, Description | OneOf):
        anchor = changed(anchor, change)
    return place.model_copy(update={"anchor": anchor})
