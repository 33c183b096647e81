"""The paper's actions (LLAMAR-3.1): how they are written, which are admissible, which call each is.

Two spellings exist: `NavigateTo(Apple_1)` and "navigate to object Apple_1". Arguments are the
team's names of things (`planner/planning/llamar/names.py`), not the memory's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from planner.planning.llamar.known import KnownThing
from planner.world.errors import PlannerError
from planner.world.record import record
from planner.world.vocabulary import Relation

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
    Verb.PICKUP,
    Verb.PUT,
    Verb.OPEN,
    Verb.CLOSE,
    Verb.SLICE,
    Verb.CLEAN,
    Verb.TOGGLE_ON,
    Verb.TOGGLE_OFF,
)
RESCUES = (
    Verb.GET_SAND,
    Verb.GET_WATER,
    Verb.USE_SAND,
    Verb.USE_WATER,
    Verb.STORE_SUPPLY,
    Verb.CLEAR_INVENTORY,
    Verb.CARRY,
    Verb.DROP_OFF,
)
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
    "pickupobject": Verb.PICKUP,
    "putobject": Verb.PUT,
    "openobject": Verb.OPEN,
    "closeobject": Verb.CLOSE,
    "sliceobject": Verb.SLICE,
    "cleanobject": Verb.CLEAN,
    "toggleobjecton": Verb.TOGGLE_ON,
    "toggleobjectoff": Verb.TOGGLE_OFF,
    "stayidle": Verb.IDLE,
}
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
