"""What has to hold before each method, and the statements that make it true (HELPER-2.7).

Nothing is done here: `missing_before` gives the statements to put before one whose conditions do
not hold, the first of them first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from papers.helper.programs.bindings import Bindings, Situation
from papers.helper.programs.program import Instance, Invocation, Method, Work
from planner.world.geometry import record
from planner.world.states import default_state_skills
from planner.world.vocabulary import Relation


@record
class Scene:
    """What a condition is judged by.

    Attributes:
        thing: what the method is called on.
        place: its argument; "" if it has none.
        at: what the agent stands at; "" if that is not known.
        full: where something could not be put down.
    """

    situation: Situation
    bindings: Bindings
    variable: str
    thing: str
    argument: str = ""
    place: str = ""
    at: str = ""
    full: frozenset[str] = frozenset()

    def calls(self, entity: str, *methods: Method) -> tuple[Invocation, ...]:
        """Statements about something known."""
        name = self.bindings.variable_of(entity) or self.bindings.preset(
            entity, self.bindings.label(entity, self.situation)
        )
        return tuple(Invocation(name, method) for method in methods)

    @property
    def holds_it(self) -> bool:
        """Whether the thing is in the agent's hand."""
        return self.thing in self.situation.held


Condition = Callable[[Scene], tuple[Work, ...]]


def missing_before(method: Method, scene: Scene) -> tuple[Work, ...]:
    """The statements for the first condition of a method that does not hold; () if all do."""
    return _first(_TABLE.get(method, ()), scene)


def missing_before_skill(scene: Scene) -> tuple[Work, ...]:
    """The same for a skill of ours."""
    return _first((_not_shut_in, _is_at_thing), scene)


def _first(conditions: tuple[Condition, ...], scene: Scene) -> tuple[Work, ...]:
    return next((extra for one in conditions if (extra := one(scene))), ())


# ---- conditions, each with what makes it true ---------------------------------------------


def _hand_is_empty(scene: Scene) -> tuple[Work, ...]:
    """One thing in hand at a time."""
    others = [one for one in scene.situation.held if one != scene.thing]
    return scene.calls(others[0], Method.PUT_DOWN) if others else ()


def _free_hand(scene: Scene) -> tuple[Work, ...]:
    """Doors are opened with a hand."""
    situation = scene.situation
    if situation.has_free_hand:
        return ()
    return scene.calls(situation.held[0], Method.PUT_DOWN)


def _holds(scene: Scene) -> tuple[Work, ...]:
    if scene.holds_it or not scene.situation.facts.is_thing(scene.thing):
        return ()
    return (Invocation(scene.variable, Method.GO_TO), Invocation(scene.variable, Method.PICKUP))


def _is_at_thing(scene: Scene) -> tuple[Work, ...]:
    if scene.holds_it or _stands_at(scene.thing, scene):
        return ()
    return (Invocation(scene.variable, Method.GO_TO),)


def _stands_at(entity: str, scene: Scene) -> bool:
    """Whether the agent stands where it can handle something.

    At a small holder, such as a toaster, it also reaches what is on it, and the other way round; in
    front of furniture what is inside of it.
    """
    situation, at = scene.situation, scene.at
    if at == entity:
        return True
    facts = situation.facts
    if not at or (facts.is_thing(at) and not situation.known(at)):
        return False
    inside = facts.base_spot(entity) if facts.is_thing(entity) else None
    if inside is not None and inside[0] is Relation.WITHIN and at == inside[1]:
        return True
    pair = [one for one in (at, entity) if facts.is_thing(one)]
    return len(pair) == 2 and (at in facts.holders(entity) or entity in facts.holders(at))


def _is_at_place(scene: Scene) -> tuple[Work, ...]:
    return () if scene.at == scene.place else (Invocation(scene.argument, Method.GO_TO),)


def _not_shut_in(scene: Scene) -> tuple[Work, ...]:
    """What the thing is inside of is open."""
    shut = None if scene.holds_it else scene.situation.shut_around(scene.thing)
    return scene.calls(shut, Method.GO_TO, Method.OPEN) if shut is not None else ()


def _place_is_open(scene: Scene) -> tuple[Work, ...]:
    situation = scene.situation
    name = scene.bindings.label(scene.place, situation)
    shut: str | None
    if situation.facts.is_thing(scene.place):
        shut = situation.shut_around(scene.place)
    else:
        within = situation.relation(scene.thing, scene.place, name) is Relation.WITHIN
        shut = scene.place if within and situation.is_open(scene.place) is False else None
    return scene.calls(shut, Method.GO_TO, Method.OPEN) if shut is not None else ()


def _is_off(scene: Scene) -> tuple[Work, ...]:
    """A device is off before it is opened."""
    if not scene.situation.state(scene.thing, "powered_on"):
        return ()
    return (Invocation(scene.variable, Method.TOGGLE_OFF),)


def _thing_is_down(scene: Scene) -> tuple[Work, ...]:
    return (Invocation(scene.variable, Method.PUT_DOWN),) if scene.holds_it else ()


def _holds_a_knife(scene: Scene) -> tuple[Work, ...]:
    """The label of what is held has to be that of the tool, such as Knife."""
    skill = next((s for s in default_state_skills().values() if s.divides), None)
    need = skill.needs.hand if skill is not None else None
    if need is None:
        return ()
    situation, bindings = scene.situation, scene.bindings
    names = [situation.vocabulary.name_of(word) or "" for word in need.classes]
    if any(bindings.held_label(held, situation) in names for held in situation.held):
        return ()
    variable = f"_{names[0].lower()}"
    return (
        *(work for held in situation.held for work in scene.calls(held, Method.PUT_DOWN)),
        Instance(variable, names[0]),
        Invocation(variable, Method.GO_TO),
        Invocation(variable, Method.PICKUP),
        Invocation(scene.variable, Method.GO_TO),
    )


def _is_filled(scene: Scene) -> tuple[Work, ...]:
    """What is poured from has something in it; water is what there is."""
    if scene.situation.state(scene.thing, "filled"):
        return ()
    return (Invocation(scene.variable, Method.FILL_UP),)


def _is_at_receptacle(scene: Scene) -> tuple[Work, ...]:
    """Things are put down where the agent stands, else it walks to the nearest place."""
    place = receptacle_for(scene)
    if not scene.holds_it or not place or scene.situation.piece(place) is None:
        return ()
    around = scene.situation.facts.base_spot(scene.at) if scene.at else None
    stands_there = place in (scene.at, around[1] if around is not None else "")
    return () if stands_there else scene.calls(place, Method.GO_TO)


def receptacle_for(scene: Scene) -> str:
    """Where the thing in the hand can be put down: what the agent stands at, else the nearest."""
    situation, at = scene.situation, scene.at
    if at and situation.piece(at) is None and situation.facts.node(at) is not None:
        spot = situation.facts.base_spot(at)
        at = spot[1] if spot is not None else ""
    piece = situation.piece(at) if at not in scene.full else None
    if piece is not None and piece.surfaces and situation.fits(scene.thing, Relation.ON, at):
        return at
    return situation.place_to_put_down(scene.thing, besides=scene.full)


_TABLE: Mapping[Method, tuple[Condition, ...]] = {
    Method.PICKUP: (_hand_is_empty, _not_shut_in, _is_at_thing),
    Method.PLACE: (_holds, _place_is_open, _is_at_place),
    Method.SLICE: (_thing_is_down, _holds_a_knife, _not_shut_in, _is_at_thing),
    Method.TOGGLE_ON: (_is_at_thing,),
    Method.TOGGLE_OFF: (_is_at_thing,),
    Method.OPEN: (_is_off, _free_hand, _is_at_thing),
    Method.CLOSE: (_is_at_thing,),
    Method.CLEAN: (_holds,),
    Method.COOK: (_holds,),
    Method.TOAST: (_holds,),
    Method.FILL_UP: (_holds,),
    Method.POUR: (_holds, _is_filled, _is_at_place),
    Method.PUT_DOWN: (_is_at_receptacle,),
    Method.EMPTY: (_hand_is_empty, _is_at_thing),
}
