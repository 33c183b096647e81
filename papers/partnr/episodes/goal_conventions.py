"""What PARTNR's instructions mean by words that everyday instructions leave open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from papers.partnr.episodes.goal_propositions import UnclearError, is_ordered
from planner.episodes.wording import MASS_NOUNS
from planner.grounding.drafts import Fitting
from planner.grounding.scene import Scene, Thing, classes_of, is_room_kind, usual_rooms
from planner.language.goal_form import (
    Anchor,
    Description,
    Goal,
    Leave,
    Make,
    Mention,
    Move,
    NounPhrase,
    OneOf,
    Place,
    PlaceOf,
    Prepare,
    Request,
)
from planner.language.lexicon import Amount, Relation, Spot
from planner.world.catalogue import default_word_meanings
from planner.world.vocabulary import EntityKind

# Where PARTNR's instructions say that things are, although they are not there.

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


# What PARTNR's instructions mean by states.
#
# PARTNR has three: clean, filled, powered on. A thing that shall come in a state that nothing has
# ("a filled glass") is to be given it; dusting is cleaning.

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


# Furniture for which "to the ..." means inside, not on top; of a chest of drawers "in" says so.
_CONTAINERS = frozenset({
    "cabinet", "wardrobe", "fridge", "washer_dryer", "dishwasher", "microwave", "oven",
    "trash_can", "toy_box", "hamper", "filing_cabinet",
})  # fmt: skip


def as_partnr_means(goal: Goal, scene: Scene, words: list[str]) -> Goal:
    """The goal that counts for an evaluation; `words` are the instruction's.

    Two agents share the task, so nobody's part is left out; a room that is tidied by what the
    other requests say is not a request of its own.

    Raises:
        UnclearError: if a word is more than PARTNR's evaluations can say.
    """
    goal = with_states_to_reach(as_things_are(goal, scene), scene)
    _refuse_unusual_rooms(goal, " ".join(words))
    goal = goal if is_ordered(words) else _in_any_order(goal)
    concrete = [item for item in goal.requests if not isinstance(item, Prepare)]
    said: list[Request] = []

    def settled(requests: tuple[Request, ...]) -> tuple[Request, ...]:
        said.extend(requests)
        kept = [item for item in requests if not (concrete and isinstance(item, Prepare))]
        kept = [item for item in kept if not any(_says_which(other, item) for other in concrete)]
        placed = {
            thing.kind
            for other in said
            if isinstance(other, Move) and any(map(_on_furniture, other.to))
            for thing in other.things
            if isinstance(thing, Description)
        }
        return tuple(found for item in kept for found in _settled(item, scene, placed))

    steps = tuple(step for step in map(settled, goal.steps) if step)
    # Checked before; a copy keeps labels that a validation would see twice.
    return goal.model_copy(update={"steps": steps, "any_time": settled(goal.any_time)})


def _refuse_unusual_rooms(goal: Goal, words: str) -> None:
    """Refuses "the coffee table" where the room that was named before is not a living room."""
    described = [phrase for phrase in goal.phrases() if isinstance(phrase, Description)]
    for phrase in described:
        rooms = usual_rooms(phrase.kind)
        for place in phrase.where if rooms else ():
            room = place.anchor.kind if isinstance(place.anchor, Description) else ""
            other = is_room_kind(room) and room.replace(" ", "_") not in rooms
            if other and f"{phrase.kind} in" not in words:
                raise UnclearError(f'the room of "{phrase.kind}" is not clear')


def _in_any_order(goal: Goal) -> Goal:
    """The goal with one step where no step is about things of an earlier one.

    "Put the basket next to the washing machine. I will turn on the machine" has no order.
    """
    steps: list[tuple[Request, ...]] = []
    for step in goal.steps:
        before = [thing for request in steps[-1] for thing in _things(request)] if steps else []
        if steps and not any(thing in before for request in step for thing in _things(request)):
            steps[-1] += step
        else:
            steps.append(step)
    return goal.model_copy(update={"steps": tuple(steps)})


def _things(request: Request) -> tuple[NounPhrase, ...]:
    return request.things if isinstance(request, Move | Make) else ()


def _says_which(request: Request, before: Request) -> bool:
    """Whether "put the ball on the table" says what "put some toys on the table" is about."""
    if not isinstance(request, Move) or not isinstance(before, Move) or len(before.things) > 1:
        return False
    some, *_ = before.things
    if not isinstance(some, Description) or some.count not in (Amount.SOME, Amount.FEW):
        return False
    kinds = [thing.kind for thing in request.things if isinstance(thing, Description)]
    wide = set(classes_of(some.kind))
    return (
        len(kinds) == len(request.things) > 1
        and all(kind != some.kind and set(classes_of(kind)) <= wide for kind in kinds)
        and list(map(_place_kind, request.to)) == list(map(_place_kind, before.to))
    )


def _place_kind(place: Place) -> str:
    return place.anchor.kind if isinstance(place.anchor, Description) else ""


def _settled(request: Request, scene: Scene, placed: set[str]) -> Iterator[Request]:
    """A request as it is meant; `placed` are kinds of things that some request puts somewhere."""
    if request.only_if or request.unless:
        raise UnclearError("it depends on a condition")
    if isinstance(request, Leave):
        yield from (_stays(thing, scene) for thing in request.things)
        return
    if not isinstance(request, Move | Make):
        raise UnclearError(f"an evaluation has no {type(request).__name__.lower()}")
    things = _determined(request.things, scene)
    if isinstance(request, Make):
        for thing in things:
            _refuse_several(thing, scene)
        yield request.model_copy(update={"who": None, "things": things})
        return
    for place in request.to:
        if isinstance(place.anchor, Description) and place.anchor.holding:
            _refuse_several(place.anchor, scene)
    to = tuple(settled for place in request.to for settled in _placed(place))
    yield request.model_copy(update={"who": None, "things": things, "to": to})
    for place in request.to:
        if isinstance(place.anchor, Description) and place.anchor.kind not in placed:
            yield from _brought_along(place, scene)


def _refuse_several(phrase: NounPhrase, scene: Scene) -> None:
    """Refuses "the lamp" where there are two; of furniture in one room any will do."""
    if isinstance(phrase, Description) and phrase.definite and isinstance(phrase.count, int):
        fitting = Fitting(scene, {}).things(phrase.model_copy(update={"other_than": ()}))
        alike = _is_fixed(phrase) and len({thing.room for thing in fitting}) == 1
        if len(fitting) > phrase.count and not alike:
            raise UnclearError(f'"{phrase.kind}" may be any of {len(fitting)}')


def _stays(thing: NounPhrase, scene: Scene) -> Request:
    """A thing that is left shall be at the end where it was."""
    if not isinstance(thing, Description) or thing.count != 1:
        raise UnclearError("several things are to be left")
    _determined((thing,), scene)
    return Move(things=(thing,), to=(Place(relation=Relation.AT, anchor=PlaceOf(place_of=thing)),))


def _placed(place: Place) -> Iterator[Place]:
    """A place with the preposition that its furniture is used with."""
    anchor = place.anchor
    if isinstance(anchor, Spot):
        raise UnclearError(f"no evaluation says {anchor}")
    if isinstance(anchor, OneOf) and place.relation is Relation.NEXT_TO:
        # "The spoons close by" are each next to one of the plates.
        options = tuple(_any_one(option) for option in anchor.one_of)
        yield place.model_copy(update={"anchor": OneOf(one_of=options)})
    elif not isinstance(anchor, Description):
        yield place
    elif anchor.count is Amount.ALL and not anchor.each:
        # "On the tables": each thing on any of them.
        one = anchor.model_copy(update={"count": 1})
        yield from (
            settled.model_copy(update={"anchor": OneOf(one_of=(settled.anchor, settled.anchor))})
            for settled in _placed(place.model_copy(update={"anchor": one}))
            if isinstance(settled.anchor, Description)
        )
    elif place.relation is Relation.NEXT_TO and not _is_fixed(anchor):
        # "Next to the cup on the table" is on that table, too.
        left = tuple(inner for inner in anchor.where if not _is_rest(inner))
        for inner in anchor.where:
            if inner not in left:
                yield from _placed(inner)
        yield place.model_copy(update={"anchor": anchor.model_copy(update={"where": left})})
    elif place.relation is Relation.AT:
        classes = set(classes_of(anchor.kind))
        inside = bool(classes) and classes <= _CONTAINERS
        yield place.model_copy(update={"relation": Relation.IN}) if inside else place
    else:
        yield place


def _any_one(phrase: NounPhrase) -> NounPhrase:
    every = isinstance(phrase, Description) and phrase.count is Amount.ALL
    return phrase.model_copy(update={"count": 1}) if every else phrase


def _is_rest(place: Place) -> bool:
    """Whether it is where a thing rests, as also what is put next to it does; not its origin."""
    resting = place.relation in (Relation.ON_TOP, Relation.IN)
    return resting and (_on_furniture(place) or isinstance(place.anchor, Mention))


def _brought_along(place: Place, scene: Scene) -> Iterator[Request]:
    """For "next to the cup on the table", where no cup is on a table: the cup comes there, too."""
    anchor = place.anchor
    if place.relation is not Relation.NEXT_TO or not isinstance(anchor, Description):
        return
    inner = tuple(one for one in anchor.where if _is_rest(one) and _on_furniture(one))
    bare = anchor.model_copy(update={"where": tuple(w for w in anchor.where if w not in inner)})
    if inner and not _is_fixed(anchor) and not _fitting(anchor, scene) and _fitting(bare, scene):
        to = tuple(settled for one in inner for settled in _placed(one))
        yield Move(things=_determined((bare,), scene), to=to)


def _on_furniture(place: Place) -> bool:
    return isinstance(place.anchor, Description) and _is_fixed(place.anchor)


def _is_fixed(described: Description) -> bool:
    """Whether it names furniture."""
    meaning = default_word_meanings().find(described.kind)
    return meaning is not None and bool(meaning.furniture) and not meaning.objects


def _determined(phrases: tuple[NounPhrase, ...], scene: Scene) -> tuple[NounPhrase, ...]:
    """Refuses "the lamp" where there are two, and "some lamps"."""
    found = [phrase for phrase in phrases if isinstance(phrase, Description)]
    settled: list[NounPhrase] = []
    taken: list[Description] = []
    for phrase in phrases:
        if not isinstance(phrase, Description):
            settled.append(phrase)
        elif not any(phrase is other for other in taken):
            alike = [other for other in found if _alike(phrase, other, scene)]
            if len(alike) > 1:
                # "The plant and the plant container", where these are two of one class.
                taken += alike
                settled.append(phrase.model_copy(update={"count": len(alike)}))
            else:
                settled.append(_one(_apart(phrase, found, scene), scene))
    return tuple(settled)


def _apart(phrase: Description, listed: list[Description], scene: Scene) -> Description:
    """Of "the plant, the plant saucer": the plant is not what the other noun alone means."""
    fitting = _fitting(phrase, scene) if phrase.definite and phrase.count == 1 else frozenset()
    for other in listed if len(fitting) > 1 else ():
        theirs = _fitting(other, scene)
        if other.count == len(theirs) and theirs < fitting:
            phrase = phrase.model_copy(update={"but": (*phrase.but, other)})
    return phrase


def _alike(one: Description, other: Description, scene: Scene) -> bool:
    """Whether two singular phrases fit the same things, and these are not one."""
    definite = one.definite and other.definite and one.count == other.count == 1
    fitting = _fitting(one, scene) if definite else frozenset()
    if len(fitting) < 2:
        return False
    theirs = _fitting(other, scene)
    # "The plant and its container", where both are plant containers.
    classes = {scene.things[name].class_name for name in fitting}
    head = f"_{other.kind.replace(' ', '_')}"
    return fitting == theirs or (not theirs and all(name.endswith(head) for name in classes))


def _one(described: Description, scene: Scene) -> Description:
    count = described.count
    if isinstance(count, Amount):
        if count is not Amount.ALL:
            raise UnclearError(f'"{count} {described.kind}" does not say how many')
        return described
    fitting = _fitting(described, scene)
    if not described.definite or len(fitting) <= count:
        return described
    if described.kind in MASS_NOUNS and count == 1:
        # "The bread" is all of it.
        return described.model_copy(update={"count": Amount.ALL, "definite": False})
    raise UnclearError(f'"{described.kind}" may be any of {len(fitting)}')


def _fitting(described: Description, scene: Scene) -> frozenset[str]:
    things = Fitting(scene, {}).things(described.model_copy(update={"other_than": ()}))
    return frozenset(thing.name for thing in things if thing.kind is EntityKind.OBJECT)
