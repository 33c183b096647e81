"""The right program of a structured goal, or of words, for privileged models (HELPER-D48)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from papers.helper.programs.bindings import NEAR_M
from papers.helper.programs.program import (
    Instance,
    Invocation,
    Method,
    Statement,
    default_vocabulary,
)
from planner.evaluation.task import Predicate, TieKind
from planner.models.chat import ModelError
from planner.planning.errands import Sought, Where, only_sought
from planner.planning.expert.facts import PLACING, Facts, Goal, Subgoal
from planner.world.belief import Belief
from planner.world.catalogue import default_catalogue
from planner.world.house import Furniture, House
from planner.world.vocabulary import EntityKind

# How a program says which piece of furniture of a category it means (HELPER-D48).


def landmark_of(names: Collection[str], class_name: str, layout: House) -> str:
    """The category that some pieces of these names are near, and no others of their kind.

    "" if all pieces of their kind are meant, or there is no such category.

    Args:
        names: of the furniture that is meant.
        class_name: of the catalogue.
        layout: with all furniture.
    """
    vocabulary = default_vocabulary()
    category = vocabulary.name_of(class_name) or ""
    alike = [p for p in layout.furniture if p.class_name in vocabulary.classes_of(category)]
    meant = [piece for piece in alike if piece.name in names]
    others = [piece for piece in alike if piece.name not in names]
    if not meant or not others:
        return ""
    ranked: list[tuple[int, str]] = []
    for landmark in sorted(_categories(layout)):
        classes = vocabulary.classes_of(landmark)
        near = [p for p in layout.furniture if p.class_name in classes]
        right = sum(_is_near(piece, near) for piece in meant)
        if right and not any(_is_near(piece, near) for piece in others):
            ranked.append((-right, landmark))
    return min(ranked)[1] if ranked else ""


def way_to(names: Collection[str], class_name: str, layout: House) -> str:
    """The category from all of whose pieces the nearest piece of a class is a meant one.

    "" if there is none. Arguments are as of `landmark_of`.
    """
    vocabulary = default_vocabulary()
    classes = vocabulary.classes_of(vocabulary.name_of(class_name) or "")
    alike = [p for p in layout.furniture if p.class_name in classes]
    if not alike:
        return ""
    ranked: list[tuple[int, str]] = []
    for category in sorted(_categories(layout)):
        own = vocabulary.classes_of(category)
        pieces = [p for p in layout.furniture if p.class_name in own and p not in alike]
        nearest = {_nearest(alike, at).name for at in pieces}
        if nearest and nearest <= set(names):
            ranked.append((len(pieces), category))
    return min(ranked)[1] if ranked else ""


def _categories(layout: House) -> set[str]:
    named = (default_vocabulary().name_of(piece.class_name) for piece in layout.furniture)
    return {name for name in named if name is not None}


def _is_near(piece: Furniture, others: Iterable[Furniture]) -> bool:
    return any(_gap_m(piece, other) <= NEAR_M for other in others if other is not piece)


def _gap_m(piece: Furniture, other: Furniture) -> float:
    """Between the middles of two pieces."""
    return math.hypot(piece.x_m - other.x_m, piece.y_m - other.y_m)


def _nearest(pieces: Iterable[Furniture], at: Furniture) -> Furniture:
    return min(pieces, key=lambda one: _gap_m(one, at))


# What a structured goal asks of each thing, for right replies (HELPER-D48).

Key = tuple[str, ...]
NAMED = "name"


@dataclass
class Want:
    """One thing of the goal.

    Attributes:
        key: of the thing: its name where the goal names one, else which of the tied ones it is.
        class_name: of the catalogue.
        names: that it may have.
        states: to bring about, in order.
        places: what it has to be on or in, as names that will do.
        opens: whether it has to be open, or closed; None if neither is asked.
    """

    key: Key
    class_name: str
    names: tuple[str, ...]
    states: list[tuple[str, bool]] = field(default_factory=list)
    places: list[tuple[str, ...]] = field(default_factory=list)
    opens: bool | None = None


def wants_of(goal: Goal, belief: Belief, layout: House) -> list[Want]:
    """What is left to do with each thing, in the order that the goal demands.

    Where it demands none, things that others are put onto or into come first.

    Raises:
        ModelError: for a goal that programs cannot express.
    """
    facts = Facts(belief, layout, {}, {}, {})
    found: list[Want] = []
    stages, stage_of = _stages(goal), dict[Key, int]()
    for key, subgoals in _asked(goal).items():
        left = [one for one in subgoals if not facts.holds(one)]
        if not left:
            continue
        names = subgoals[0].first
        want = Want(key, class_in_name(names[0], layout), names)
        # Of several candidates it is not known which one a state holds for.
        for one in left if key[0] == NAMED else subgoals:
            _add(want, one, layout)
        stage_of[key] = min(stages[one.index] for one in left)
        found.append(want)
    targets = {name for want in found for place in want.places for name in place}
    return sorted(
        found, key=lambda want: (stage_of[want.key], not targets.intersection(want.names))
    )


def done_of(goal: Goal, belief: Belief, layout: House) -> list[Want]:
    """The things that the goal names and of which nothing is left to do, with their places.

    Raises:
        ModelError: for a goal that programs cannot express.
    """
    facts = Facts(belief, layout, {}, {}, {})
    found: list[Want] = []
    for key, subgoals in _asked(goal).items():
        if key[0] != NAMED or not all(facts.holds(one) for one in subgoals):
            continue
        want = Want(key, class_in_name(key[1], layout), (key[1],))
        for one in subgoals:
            _add(want, one, layout)
        found.append(want)
    return found


def _asked(goal: Goal) -> Mapping[Key, Sequence[Subgoal]]:
    """What the goal asks of each thing, earlier stages first."""
    asked: dict[Key, list[Subgoal]] = {}
    for subgoal in _in_order(goal):
        for key in _keys(subgoal, goal):
            one = replace(subgoal, first=(key[1],), number=1) if key[0] == NAMED else subgoal
            asked.setdefault(key, []).append(one)
    return asked


def class_in_name(name: str, layout: House) -> str:
    """The class of an entity, which its name begins with where the layout does not have it."""
    piece = layout.furniture_by_name.get(name)
    return piece.class_name if piece is not None else name.rpartition("_")[0]


def _in_order(goal: Goal) -> list[Subgoal]:
    """Those to achieve, earlier stages first."""
    stages = _stages(goal)
    wanted = [one for one in goal.subgoals if one.index not in goal.watched]
    return sorted(wanted, key=lambda one: stages[one.index])


def _stages(goal: Goal) -> Mapping[int, int]:
    """By index, how many propositions have to come one after the other before each."""
    stages: dict[int, int] = {}

    def stage(index: int) -> int:
        if index not in stages:
            stages[index] = max((stage(one) + 1 for one in goal.before[index]), default=0)
        return stages[index]

    return {one.index: stage(one.index) for one in goal.subgoals}


def _keys(subgoal: Subgoal, goal: Goal) -> Iterable[Key]:
    if subgoal.number >= len(subgoal.first):
        return [(NAMED, name) for name in subgoal.first]
    group = _tied(subgoal.index, goal)
    word = f"tie {group}" if group is not None else f"subgoal {subgoal.index}"
    return [(word, str(number)) for number in range(subgoal.number)]


def _tied(index: int, goal: Goal) -> int | None:
    """The first proposition whose things have to be those of another one."""
    for tie in goal.ties:
        members = [proposition for proposition, argument in tie.members if argument == 0]
        if tie.kind is TieKind.SAME and index in members:
            return min(members)
    return None


def _add(want: Want, subgoal: Subgoal, layout: House) -> None:
    state = subgoal.state
    if state is not None:
        want.states.append(state)
    elif subgoal.opens is not None:
        want.opens = subgoal.opens
    elif subgoal.predicate in (Predicate.IS_ON_TOP, Predicate.IS_INSIDE):
        want.places.append(subgoal.second)
    elif subgoal.predicate == Predicate.IS_IN_ROOM:
        places = _tops(subgoal.second, layout)
        if not places:
            raise ModelError(f"no program says {subgoal}: nothing in the room has a top")
        want.places.append(places)
    else:
        kind = "place" if subgoal.predicate in PLACING else "relation"
        raise ModelError(f"no program says {subgoal}: it has no word for this {kind}")


def _tops(rooms: Sequence[str], layout: House) -> tuple[str, ...]:
    """The furniture of rooms with a top to put things on."""
    return tuple(one.name for one in layout.furniture if one.room in rooms and one.surfaces)


# Attributes of programs by state; other states have no attribute.
_ATTRIBUTES = {"clean": "clean", "toasted": "toasted", "cooked": "cooked"}
_ORDER = (
    "clean", "sliced", "filled", "filled_with_water", "filled_with_coffee", "toasted", "cooked",
    "boiled", "watered",
)  # fmt: skip
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


# The right program of a task that only its words describe: to find something (HELPER-D48).

# A thing's landmark is what it is near, in or on.
_LANDMARKS = (Where.INSIDE, Where.ON, Where.CLOSE)


def statements_of_words(text: str) -> tuple[Statement, ...]:
    """The statements that walk to what the words name, if that is all that they ask for.

    Raises:
        ModelError: if the words are not understood, ask for more, or name what no program can.
    """
    sought = only_sought(text)
    if sought is None:
        raise ModelError(
            f"the right replies follow from an episode's goal, and this task has none: {text!r} "
            "does not only ask to find one thing"
        )
    category = _category(sought)
    variable = "".join(f"_{c.lower()}" if c.isupper() else c for c in category).strip("_")
    return (Instance(variable, category, _landmark(sought), ()), Invocation(variable, Method.GO_TO))


def _landmark(sought: Sought) -> str:
    if sought.anchor is None:
        return ""
    if sought.where not in _LANDMARKS:
        raise ModelError(f"no program says {sought}: it has no word for this relation")
    return _category(sought.anchor)


def _category(sought: Sought) -> str:
    found = default_vocabulary().nearest(sought.word)
    if found is None:
        raise ModelError(f"no program can name a {sought.word}")
    return found
