"""The paper's actions (LLAMAR-3.1) and the things that they may name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Protocol

from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import default_catalogue
from planner.world.errors import PlannerError
from planner.world.geometry import record
from planner.world.house import Furniture, House
from planner.world.receptacle import usual_part
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind, Relation

# What the team has met: the things that actions may name, with what can be done to each.


class Instances(Protocol):
    """The team's names of things."""

    @property
    def names(self) -> tuple[str, ...]:
        """All instance names, in the order in which they were first seen."""

    def entity_of(self, name: str) -> str | None:
        """The memory's name of an instance; None if there is no such instance."""


@record
class KnownThing:
    """Something that an action may name.

    Attributes:
        name: of the instance, such as `Apple_1`.
        entity: the memory's name.
        class_name: as in the memory.
        is_movable: whether it can be picked up.
        opens: whether it opens and closes.
        puts: where Put puts things; None if it holds none.
        affordances: as in the catalogue, and those that its states need.
        states: those that it is known to have.
    """

    name: str
    entity: str
    class_name: str
    is_movable: bool
    opens: bool = False
    puts: Relation | None = None
    affordances: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()


def known_things(
    names: Iterable[str], instances: Instances, belief: Belief, layout: House
) -> dict[str, KnownThing]:
    """What is known, by instance name, in the order of `names`.

    Args:
        names: the instances that may be named: the team's, or those that one robot has seen.
        instances: the team's names.
        belief: of now; what is no longer in it is left out.
        layout: for the shape of furniture.
    """
    found: dict[str, KnownThing] = {}
    for name in names:
        node = belief.nodes.get(instances.entity_of(name) or "")
        if node is not None:
            found[name] = known_thing(name, node, layout)
    return found


def known_thing(name: str, node: BeliefNode, layout: House) -> KnownThing:
    """One entity of the memory under the team's name."""
    piece = layout.furniture_by_name.get(node.name)
    is_movable = node.kind is EntityKind.OBJECT
    return KnownThing(
        name=name,
        entity=node.name,
        class_name=node.class_name,
        is_movable=is_movable,
        opens=bool(piece.joints) if piece is not None else node.openness is not None,
        puts=usual_part(node.class_name) if is_movable else _furniture_puts(node, piece),
        affordances=_affordances(node),
        states=frozenset(state for state, has_it in node.states.items() if has_it),
    )


def _furniture_puts(node: BeliefNode, piece: Furniture | None) -> Relation | None:
    """Into what is open or has no top, else as things of its class are kept (LLAMAR-D22)."""
    if piece is None:
        return usual_relation().get(node.class_name, Relation.ON)
    if not piece.interiors:
        return Relation.ON if piece.surfaces else None
    if not piece.surfaces or (node.openness or 0.0) > 0:
        return Relation.WITHIN
    return usual_relation().get(node.class_name, Relation.WITHIN)


@cache
def usual_relation() -> Mapping[str, Relation]:
    """How most classes of things are kept at each class of furniture, by the catalogue."""
    weights: dict[str, Counter[Relation]] = {}
    for item in default_catalogue().objects.values():
        for place in item.places:
            weights.setdefault(place.furniture, Counter())[place.relation] += 1
    return {name: counted.most_common(1)[0][0] for name, counted in weights.items()}


def _affordances(node: BeliefNode) -> frozenset[str]:
    """Its own or its class's, and what only some states need, such as burning."""
    own = frozenset(node.affordances) or _class_affordances(node.class_name)
    if not node.states:
        return own
    affordance_of = default_states().affordance_of
    return own.union(affordance_of[state] for state in node.states if state in affordance_of)


@cache
def _class_affordances(class_name: str) -> frozenset[str]:
    catalogue = default_catalogue()
    cls = catalogue.objects.get(class_name) or catalogue.furniture.get(class_name)
    return frozenset(cls.affordances) if cls is not None else frozenset()


DIRECTIONS = ("Ahead", "Back", "Right", "Left")
TURNS = ("Right", "Left")
ANGLES_DEG = (30, 60, 90, 120, 150, 180)


class Category(StrEnum):
    """Every action belongs to one; `NONE` for waiting and for the claim to be done."""

    NAVIGATION = "navigation"
    INTERACTION = "interaction"
    EXPLORATION = "exploration"
    NONE = "none"


class Verb(StrEnum):
    """The actions, by their names in the paper; Idle, Explore and Done by those of its code."""

    MOVE = "Move"
    ROTATE = "Rotate"
    LOOK_UP = "LookUp"
    LOOK_DOWN = "LookDown"
    NAVIGATE_TO = "NavigateTo"
    PICKUP = "Pickup"
    PUT = "Put"
    OPEN = "Open"
    CLOSE = "Close"
    SLICE = "Slice"
    CLEAN = "Clean"
    TOGGLE_ON = "ToggleOn"
    TOGGLE_OFF = "ToggleOff"
    EXPLORE = "Explore"
    IDLE = "Idle"
    DONE = "Done"
    # Of search and rescue (LLAMAR-A24).
    GET_SAND = "GetSand"
    GET_WATER = "GetWater"
    USE_SAND = "UseSand"
    USE_WATER = "UseWater"
    STORE_SUPPLY = "StoreSupply"
    CLEAR_INVENTORY = "ClearInventory"
    CARRY = "Carry"
    DROP_OFF = "DropOff"

    @property
    def category(self) -> Category:
        """The kind of action."""
        if self in INTERACTIONS or self in RESCUES:
            return Category.INTERACTION
        if self is Verb.EXPLORE:
            return Category.EXPLORATION
        return Category.NONE if self in (Verb.IDLE, Verb.DONE) else Category.NAVIGATION

    @property
    def values(self) -> tuple[str, ...]:
        """The values of its argument where these are fixed, such as directions; else none."""
        return _VALUES.get(self, ())

    @property
    def takes_thing(self) -> bool:
        """Whether its argument is a thing or furniture."""
        rescues = self in RESCUES and self is not Verb.CLEAR_INVENTORY
        return self is Verb.NAVIGATE_TO or self in INTERACTIONS or rescues


INTERACTIONS = (
    Verb.PICKUP, Verb.PUT, Verb.OPEN, Verb.CLOSE, Verb.SLICE, Verb.CLEAN, Verb.TOGGLE_ON,
    Verb.TOGGLE_OFF,
)  # fmt: skip
RESCUES = (
    Verb.GET_SAND, Verb.GET_WATER, Verb.USE_SAND, Verb.USE_WATER, Verb.STORE_SUPPLY,
    Verb.CLEAR_INVENTORY, Verb.CARRY, Verb.DROP_OFF,
)  # fmt: skip
_ANGLES = tuple(str(angle) for angle in ANGLES_DEG)
_VALUES = {
    Verb.MOVE: DIRECTIONS,
    Verb.ROTATE: TURNS,
    Verb.LOOK_UP: _ANGLES,
    Verb.LOOK_DOWN: _ANGLES,
}


class Repertoire(StrEnum):
    """What the agents of a team can do: the paper's actions in homes, or search and rescue."""

    HOUSEHOLD = "household"
    RESCUE = "rescue"


class ActionError(PlannerError):
    """A text that is not an action, or an argument out of its values; the message says which."""


@record
class Action:
    """One action of one agent.

    Attributes:
        verb: what to do.
        argument: an instance name, a direction or degrees; "" where the verb takes none.
        relation: of Put, where the text says it; None = as the receptacle is used.
    """

    verb: Verb
    argument: str = ""
    relation: Relation | None = None

    def __str__(self) -> str:
        """The paper's API form."""
        if not self.argument:
            return str(self.verb)
        relation = f", {self.relation}" if self.relation is not None else ""
        return f"{self.verb}({self.argument}{relation})"

    @property
    def words(self) -> str:
        """The form of the paper's prompts."""
        words = _PROMPT_FORMS[self.verb].format(self.argument)
        if self.verb is Verb.PUT and self.relation is Relation.WITHIN:
            return words.replace(" on ", " in ", 1)
        if self.verb is Verb.PUT and self.relation is Relation.ON:
            return words.replace(" on ", " on top of ", 1)
        return words.replace("Ahead", "ahead") if self.verb is Verb.MOVE else words


IDLE = Action(Verb.IDLE)
DONE = Action(Verb.DONE)
EXPLORE = Action(Verb.EXPLORE)

_PROMPT_FORMS = {
    Verb.MOVE: "move in {} direction",
    Verb.ROTATE: "rotate in {} direction",
    Verb.LOOK_UP: "look up by angle {}",
    Verb.LOOK_DOWN: "look down by angle {}",
    Verb.NAVIGATE_TO: "navigate to object {}",
    Verb.PICKUP: "pick up object {}",
    Verb.PUT: "put object on {}",
    Verb.OPEN: "open object {}",
    Verb.CLOSE: "close object {}",
    Verb.SLICE: "slice object {}",
    Verb.CLEAN: "clean object {}",
    Verb.TOGGLE_ON: "toggle object {} on",
    Verb.TOGGLE_OFF: "toggle object {} off",
    Verb.EXPLORE: "explore",
    Verb.IDLE: "stay idle",
    Verb.DONE: "Done",
    Verb.GET_SAND: "get sand from {}",
    Verb.GET_WATER: "get water from {}",
    Verb.USE_SAND: "use sand on {}",
    Verb.USE_WATER: "use water on {}",
    Verb.STORE_SUPPLY: "store supplies in {}",
    Verb.CLEAR_INVENTORY: "clear inventory",
    Verb.CARRY: "carry {}",
    Verb.DROP_OFF: "drop off the person at {}",
}
# Names of the published code beside the paper's, in lower case.
_OTHER_NAMES = {
    "pickupobject": Verb.PICKUP, "putobject": Verb.PUT, "openobject": Verb.OPEN,
    "closeobject": Verb.CLOSE, "sliceobject": Verb.SLICE, "cleanobject": Verb.CLEAN,
    "toggleobjecton": Verb.TOGGLE_ON, "toggleobjectoff": Verb.TOGGLE_OFF, "stayidle": Verb.IDLE,
}  # fmt: skip
# As the published code writes them: a verb, then the place and the supply.
_SUPPLIES = {
    ("getsupply", "sand"): Verb.GET_SAND,
    ("getsupply", "water"): Verb.GET_WATER,
    ("usesupply", "sand"): Verb.USE_SAND,
    ("usesupply", "water"): Verb.USE_WATER,
}
_VERBS = {verb.lower(): verb for verb in Verb} | _OTHER_NAMES
_API = re.compile(r"\s*([A-Za-z]+)\s*(?:\(([^()]*)\)|\[([^\[\]]*)\]|<([^<>]*)>)?\s*\.?\s*")
_PUT_WHERE = re.compile(r"put object (on top of|into|inside|in|on) (\S+)", re.IGNORECASE)
_RELATIONS = {
    "on top of": Relation.ON,
    "into": Relation.WITHIN,
    "inside": Relation.WITHIN,
    "in": Relation.WITHIN,
    "on": None,
}
_QUOTES = "'\"`<> "


def parse_action(text: str) -> Action:
    """Reads either spelling, in any case; the argument is not checked against what is known.

    Raises:
        ActionError: for a text that is neither, or a value that the action does not have.
    """
    text = text.strip(_QUOTES)
    match = _API.fullmatch(text)
    if match is not None and match[1].lower() in ("getsupply", "usesupply"):
        return _supplying(match[1], next((part for part in match.groups()[1:] if part), ""))
    if match is not None and match[1].lower() in _VERBS:
        verb = _VERBS[match[1].lower()]
        return _checked(verb, next((part for part in match.groups()[1:] if part), ""))
    found = _read_words(" ".join(text.rstrip(".").split()))
    if found is None:
        raise ActionError(f"{text[:80]!r} is not an action")
    return found


def _supplying(name: str, given: str) -> Action:
    place, _, supply = (word.strip(_QUOTES) for word in given.partition(","))
    verb = _SUPPLIES.get((name.lower(), supply.lower()))
    if verb is None or not place:
        raise ActionError(f"{name} takes a place and Sand or Water, not {given!r}")
    return Action(verb, place)


def _read_words(text: str) -> Action | None:
    """The form of the prompts; None if it is not that."""
    put = _PUT_WHERE.fullmatch(text)
    if put is not None:
        return Action(Verb.PUT, put[2].strip(_QUOTES), _RELATIONS[put[1].lower()])
    for verb, form in _PROMPT_FORMS.items():
        pattern = re.escape(form).replace(r"\{\}", r"([^\s()]+)")
        match = re.fullmatch(pattern, text, re.IGNORECASE)
        if match is not None:
            return _checked(verb, match[1] if "{}" in form else "")
    return None


def _checked(verb: Verb, given: str) -> Action:
    words = [word.strip(_QUOTES) for word in given.split(",")] if given.strip(_QUOTES) else []
    relation = None
    if verb is Verb.PUT and len(words) == 2 and words[1].lower() in (Relation.ON, Relation.WITHIN):
        relation = Relation(words.pop().lower())
    if verb is Verb.DROP_OFF and len(words) == 2:
        # The published code names the person, too; an agent holds at most one.
        del words[1]
    needed = int(verb.takes_thing or bool(verb.values))
    if len(words) != needed:
        raise ActionError(f"{verb} takes {needed} argument{'s' * (needed != 1)}, not {len(words)}")
    argument = words[0] if words else ""
    if verb.values:
        fitting = {value.lower(): value for value in verb.values}
        if argument.lower() not in fitting:
            values = ", ".join(verb.values)
            raise ActionError(f"{verb} takes one of {values}, not {argument!r}")
        argument = fitting[argument.lower()]
    return Action(verb, argument, relation)


def fixed_actions(
    *,
    small_steps: bool = True,
    explores: bool = True,
    repertoire: Repertoire = Repertoire.HOUSEHOLD,
) -> tuple[Action, ...]:
    """The actions on no thing, in the order of the paper's list.

    Args:
        small_steps: whether the body is also moved step by step.
        explores: whether the exploration routine is offered, which the printed list lacks.
        repertoire: of the team; rescuers have no small steps.
    """
    if repertoire is Repertoire.RESCUE:
        discard = Action(Verb.CLEAR_INVENTORY)
        return (discard, *((EXPLORE,) if explores else ()), IDLE, DONE)
    steps = [Action(verb, value) for verb in _VALUES for value in verb.values]
    return (*(steps if small_steps else ()), *((EXPLORE,) if explores else ()), IDLE, DONE)


def admissible(
    known: Sequence[KnownThing],
    *,
    small_steps: bool = True,
    explores: bool = True,
    repertoire: Repertoire = Repertoire.HOUSEHOLD,
) -> tuple[Action, ...]:
    """All actions on what is known, and those on nothing; whether they would work is left open.

    Only what can never work is left out, such as picking up a wall cabinet.
    """
    on_things = [
        Action(verb, thing.name)
        for verb in (Verb.NAVIGATE_TO, *_HANDLING[repertoire])
        for thing in filter(_FITS[verb], known)
    ]
    fixed = fixed_actions(small_steps=small_steps, explores=explores, repertoire=repertoire)
    return (*on_things, *fixed)


_HANDLING = {
    Repertoire.HOUSEHOLD: INTERACTIONS,
    Repertoire.RESCUE: tuple(verb for verb in RESCUES if verb.takes_thing),
}


def fits(verb: Verb, thing: KnownThing) -> bool:
    """Whether something is of a kind to which this can be done."""
    return _FITS[verb](thing)


def _affords(affordance: str) -> Callable[[KnownThing], bool]:
    return lambda thing: affordance in thing.affordances


def _is_burning(thing: KnownThing) -> bool:
    return "flammable" in thing.affordances and "burning" in thing.states


def _is_deposit(thing: KnownThing) -> bool:
    return not thing.is_movable and thing.puts is Relation.WITHIN


# Fires are put out while they burn, persons carried, supplies kept in deposits. Each is asked for
# all that is known in every joint step.
_FITS: Mapping[Verb, Callable[[KnownThing], bool]] = {
    **dict.fromkeys(Verb, lambda _: True),
    Verb.PICKUP: lambda thing: thing.is_movable,
    Verb.PUT: lambda thing: thing.puts is not None,
    **dict.fromkeys((Verb.OPEN, Verb.CLOSE), lambda thing: thing.opens),
    Verb.SLICE: _affords("sliceable"),
    Verb.CLEAN: _affords("cleanable"),
    **dict.fromkeys((Verb.TOGGLE_ON, Verb.TOGGLE_OFF), _affords("powerable")),
    **dict.fromkeys((Verb.USE_SAND, Verb.USE_WATER), _is_burning),
    Verb.GET_SAND: lambda thing: _is_deposit(thing) or "gives_sand" in thing.states,
    Verb.GET_WATER: lambda thing: _is_deposit(thing) or "gives_water" in thing.states,
    Verb.CARRY: lambda thing: thing.is_movable and "flammable" not in thing.affordances,
    **dict.fromkeys((Verb.STORE_SUPPLY, Verb.CLEAR_INVENTORY, Verb.DROP_OFF), _is_deposit),
}
