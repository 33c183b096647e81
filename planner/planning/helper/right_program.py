"""The right program of a structured goal (HELPER-D48)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from planner.models.chat import ModelError
from planner.planning.goal import Goal
from planner.planning.helper.landmarks import landmark_of, way_to
from planner.planning.helper.right_wants import NAMED, Want, class_in_name, done_of, wants_of
from planner.planning.programs.program import Instance, Invocation, Method, Statement
from planner.planning.programs.vocabulary import default_vocabulary
from planner.world.belief import Belief
from planner.world.catalogue import default_catalogue
from planner.world.house import House
from planner.world.vocabulary import EntityKind

# Attributes of programs by state; other states have no attribute.
_ATTRIBUTES = {"clean": "clean", "toasted": "toasted", "cooked": "cooked"}
_ORDER = (
    "clean",
    "sliced",
    "filled",
    "filled_with_water",
    "filled_with_coffee",
    "toasted",
    "cooked",
    "boiled",
    "watered",
)
_METHODS = {"clean": Method.CLEAN, "toasted": Method.TOAST, "cooked": Method.COOK}


@dataclass
class _Writer:
    """The statements so far, and the variables of things and places."""

    layout: House
    statements: list[Statement] = field(default_factory=list)
    variables: dict[tuple[str, ...], str] = field(default_factory=dict)
    sliced: set[str] = field(default_factory=set)
    _counts: Counter[str] = field(default_factory=Counter)

    def instance(
        self, class_name: str, landmark: str = "", attributes: tuple[str, ...] = ()
    ) -> str:
        """A new thing of a class of the catalogue; returns its variable."""
        category = default_vocabulary().name_of(class_name)
        if category is None:
            raise ModelError(f"no program can name a {class_name}")
        return self.named(category, landmark, attributes)

    def named(self, category: str, landmark: str = "", attributes: tuple[str, ...] = ()) -> str:
        """A new thing of a category of programs; returns its variable."""
        word = "".join(f"_{c.lower()}" if c.isupper() else c for c in category).strip("_")
        self._counts[word] += 1
        count = self._counts[word]
        variable = f"{word}_{count}" if count > 1 else word
        self.statements.append(Instance(variable, category, landmark, attributes))
        return variable

    def tool(self, category: str) -> str:
        """What things are done with, always the same one."""
        if (category,) not in self.variables:
            self.variables[category,] = self.named(category)
        return self.variables[category,]

    def do(self, variable: str, *methods: Method) -> None:
        """Calls methods without an argument."""
        self.statements += [Invocation(variable, method) for method in methods]

    def take(self, variable: str) -> None:
        """Walks to a thing and picks it up."""
        self.do(variable, Method.GO_TO, Method.PICKUP)

    def put(self, variable: str, where: str) -> None:
        """Puts what is in the hand somewhere."""
        self.do(where, Method.GO_TO)
        self.statements.append(Invocation(variable, Method.PLACE, where))


def right_statements(goal: Goal, belief: Belief, layout: House) -> tuple[Statement, ...]:
    """The statements that achieve what is left of a goal.

    Raises:
        ModelError: for a goal that programs cannot express.
    """
    writer = _Writer(layout)
    wants = wants_of(goal, belief, layout)
    known = {node.class_name for node in belief.of_kind(EntityKind.OBJECT)}
    _slice_all(writer, [want for want in wants if want.class_name not in known])
    wanted = {want.class_name for want in wants}
    for done in done_of(goal, belief, layout):
        # What is done without a place is told from the others by its state.
        if done.places and done.class_name in wanted:
            _stay_away(writer, done, belief)
    for want in wants:
        _write(writer, want)
    return tuple(writer.statements)


def _stay_away(writer: _Writer, done: Want, belief: Belief) -> None:
    """Binds a variable to what is done, so that those of the others stand for others.

    Where it is, the place of the others is the nearest one.
    """
    node = belief.nodes.get(done.names[0])
    holder = belief.nodes.get((node.parent if node is not None else None) or "")
    word = holder.class_name if holder is not None else ""
    landmark = default_vocabulary().name_of(word) if word else None
    writer.do(writer.instance(done.class_name, landmark or ""), Method.GO_TO)
    for names in done.places[-1:]:
        writer.do(_variable_of(writer, names), Method.GO_TO)


def _slice_all(writer: _Writer, wants: list[Want]) -> None:
    """Slices all that is wanted in slices, with one knife."""
    wholes = [_whole_of(want.class_name) for want in wants]
    named = list(dict.fromkeys(one for one in wholes if one is not None))
    if not named:
        return
    knife = writer.tool("Knife")
    writer.take(knife)
    for class_name in named:
        whole = writer.instance(class_name)
        writer.do(whole, Method.GO_TO, Method.SLICE)
        writer.sliced.add(class_name)
    writer.do(knife, Method.PUT_DOWN)


def _whole_of(class_name: str) -> str | None:
    """What becomes slices of a class."""
    objects = default_catalogue().objects.values()
    found = (c.name for c in objects if c.slices is not None and c.slices.class_name == class_name)
    return next(found, None)


def _write(writer: _Writer, want: Want) -> None:
    attributes = [_ATTRIBUTES[state] for state, value in want.states if _marks(state, value)]
    unique = tuple(dict.fromkeys(attributes))
    # What another thing was put into or onto before is the same one still, if it has a name.
    known = writer.variables.get(want.names) if want.key[0] == NAMED else None
    variable = known or writer.instance(want.class_name, attributes=unique)
    writer.variables[want.names] = variable
    in_hand = False
    states = dict(want.states)
    for state in sorted(states, key=lambda one: _ORDER.index(one) if one in _ORDER else 99):
        in_hand = _bring_about(writer, variable, state, value=states[state], in_hand=in_hand)
    if want.opens is not None:
        writer.do(variable, Method.GO_TO, Method.OPEN if want.opens else Method.CLOSE)
    for names in want.places[-1:]:
        if not in_hand:
            writer.take(variable)
        where = _variable_of(writer, names)
        writer.put(variable, where)
        in_hand = False
    if in_hand:
        writer.do(variable, Method.PUT_DOWN)


def _marks(state: str, value: bool) -> bool:
    return value and state in _ATTRIBUTES


def _variable_of(writer: _Writer, names: tuple[str, ...]) -> str:
    """The variable of the first of some places that has one, or a new one."""
    for key in (names, *((name,) for name in names)):
        if key in writer.variables:
            return writer.variables[key]
    class_name, layout = class_in_name(names[0], writer.layout), writer.layout
    landmark = landmark_of(names, class_name, layout)
    alike = {piece.name for piece in layout.furniture if piece.class_name == class_name}
    way = way_to(names, class_name, layout) if not landmark and alike - set(names) else ""
    if way:
        # The variable stands for the nearest one when it is first used.
        writer.do(writer.named(way), Method.GO_TO)
    variable = writer.instance(class_name, landmark)
    writer.variables[names] = variable
    return variable


def _bring_about(writer: _Writer, variable: str, state: str, *, value: bool, in_hand: bool) -> bool:
    """Writes what brings a state about; returns whether the thing is in the hand then.

    Raises:
        ModelError: for a state that no method brings about.
    """
    match state, value:
        case "sliced", True:
            writer.do(variable, Method.GO_TO, Method.SLICE)
            return False
        case (("clean" | "toasted" | "cooked"), True):
            if not in_hand:
                writer.take(variable)
            writer.do(variable, _METHODS[state])
            return True
        case "boiled", True:
            return _boil(writer, variable, in_hand=in_hand)
        case (("filled" | "filled_with_water"), True):
            if not in_hand:
                writer.take(variable)
            writer.do(variable, Method.FILL_UP)
            return True
        case "filled_with_coffee", True:
            return _brew(writer, variable, in_hand=in_hand)
        case "watered", True:
            can = writer.tool("WateringCan")
            writer.take(can)
            writer.do(can, Method.FILL_UP)
            writer.do(variable, Method.GO_TO)
            writer.statements.append(Invocation(can, Method.POUR, variable))
            writer.do(can, Method.PUT_DOWN)
            return False
        case "powered_on", _:
            switch = Method.TOGGLE_ON if value else Method.TOGGLE_OFF
            writer.do(variable, Method.GO_TO, switch)
            return in_hand
        case _:
            raise ModelError(f"no program makes a thing {'' if value else 'not '}{state}")


def _boil(writer: _Writer, variable: str, *, in_hand: bool) -> bool:
    if in_hand:
        writer.do(variable, Method.PUT_DOWN)
    pot, stove = writer.tool("Pot"), writer.tool("StoveBurner")
    writer.take(pot)
    writer.do(pot, Method.FILL_UP)
    writer.put(pot, stove)
    writer.take(variable)
    writer.put(variable, pot)
    writer.do(stove, Method.TOGGLE_ON, Method.TOGGLE_OFF)
    # The next one needs the room.
    writer.take(variable)
    return True


def _brew(writer: _Writer, variable: str, *, in_hand: bool) -> bool:
    machine = writer.tool("CoffeeMachine")
    if not in_hand:
        writer.take(variable)
    writer.put(variable, machine)
    writer.do(machine, Method.TOGGLE_ON, Method.TOGGLE_OFF)
    return False
