"""From variables to things: which instance of a class a variable stands for (HELPER-D4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.planning.programs.program import WITH_ARGUMENT, Instance, Invocation, Method
from planner.planning.programs.situation import Situation
from planner.planning.programs.steps import Work
from planner.planning.programs.vocabulary import FLOOR
from planner.world.catalogue import default_catalogue, slice_names

# The states that a method makes true: an instance that lacks them is bound rather than another.
_MAKES = {
    Method.CLEAN: ("clean", True),
    Method.COOK: ("cooked", True),
    Method.TOAST: ("toasted", True),
    Method.TOGGLE_ON: ("powered_on", True),
    Method.TOGGLE_OFF: ("powered_on", False),
    Method.FILL_UP: ("filled", True),
}
_OPENS = {Method.OPEN: True, Method.CLOSE: False}


@dataclass
class Binding:
    """A variable, and what it stands for once that is known.

    Attributes:
        entity: by the memory's name; "" as long as it is not known.
        methods: what the program does with it until the variable is bound again.
        is_place: whether things are put there.
        reuses: whether it may be what another variable stands for, or a thing of a class that
            stands in for its own, as nothing else was found.
    """

    instance: Instance
    methods: tuple[Method, ...] = ()
    is_place: bool = False
    entity: str = ""
    reuses: bool = False


@dataclass
class Bindings:
    """All variables of one program and its repairs.

    Attributes:
        by_variable: the newest binding of each.
        taken: of each class of the program, the entities that variables stood for, newest last.
        put: entities that the program has put somewhere.
        picked_as: the variable with which each thing was picked up last.
    """

    by_variable: dict[str, Binding] = field(default_factory=dict)
    taken: dict[str, list[str]] = field(default_factory=dict)
    put: set[str] = field(default_factory=set)
    picked_as: dict[str, str] = field(default_factory=dict)

    def declare(self, instance: Instance, following: Sequence[Work]) -> None:
        """A variable is bound anew; `following` are the statements after it."""
        methods, is_place = _uses(instance.variable, following)
        self.by_variable[instance.variable] = Binding(instance, methods, is_place)

    def preset(self, entity: str, class_name: str) -> str:
        """A variable of the interpreter's own for something known; returns its name."""
        variable = f"_{entity}"
        if self.by_variable.get(variable) is None:
            instance = Instance(variable, class_name)
            self.by_variable[variable] = Binding(instance, entity=entity)
        return variable

    def entity(self, variable: str, situation: Situation, preferred: Sequence[str] = ()) -> str:
        """What a variable stands for; "" if nothing known fits.

        Args:
            variable: that was declared.
            situation: of the moment.
            preferred: entities that a repair is about.
        """
        binding = self.by_variable[variable]
        if binding.entity and not situation.known(binding.entity):
            binding.entity = self._slice_of(binding.entity, situation)
        if not binding.entity:
            self._bind(binding, situation, preferred)
        if not binding.entity and Method.SLICE in binding.methods:
            binding.entity = self._sliced_before(binding.instance, situation)
        return binding.entity

    def variable_of(self, entity: str) -> str | None:
        """The newest variable of the program that stands for something."""
        names = [v for v, b in self.by_variable.items() if b.entity == entity]
        own = [name for name in names if not is_own(name)]
        return own[-1] if own else names[-1] if names else None

    def label(self, entity: str, situation: Situation) -> str:
        """The class of something as the program calls it."""
        variable = self.variable_of(entity)
        if variable is not None:
            return self.by_variable[variable].instance.class_name
        return situation.vocabulary.name_of(situation.class_of(entity)) or ""

    def held_label(self, entity: str, situation: Situation) -> str:
        """The class of something in the hand, as it was called when it was picked up."""
        picked = self.by_variable.get(self.picked_as.get(entity, ""))
        if picked is not None and picked.entity == entity:
            return picked.instance.class_name
        return self.label(entity, situation)

    def _slice_of(self, entity: str, situation: Situation) -> str:
        """The first known slice of a thing that was divided; "" if there is none."""
        cls = default_catalogue().objects.get(situation.class_of(entity))
        if cls is None or cls.slices is None:
            return ""
        names = slice_names(entity, cls.slices)
        return next((name for name in names if situation.known(name)), "")

    def _sliced_before(self, instance: Instance, situation: Situation) -> str:
        """A slice of what the program wants to slice, where only slices are left; "" if none is.

        Whoever began the task may have sliced it: then there is nothing whole to look for.
        """
        objects, vocabulary = default_catalogue().objects, situation.vocabulary
        wholes = [objects[one] for one in vocabulary.classes_of(instance.class_name)]
        classes = tuple(one.slices.class_name for one in wholes if one.slices is not None)
        return min(
            situation.of_classes(classes),
            key=lambda name: (round(situation.distance_m(name), 2), name),
            default="",
        )

    def _bind(self, binding: Binding, situation: Situation, preferred: Sequence[str]) -> None:
        instance = binding.instance
        if instance.class_name == FLOOR:
            binding.entity = situation.floor()
            return
        candidates = situation.of_classes(situation.vocabulary.classes_of(instance.class_name))
        own = is_own(instance.variable)
        live = {
            other.entity
            for variable, other in self.by_variable.items()
            if other is not binding
            and other.instance.class_name == instance.class_name
            and not (own or is_own(variable))
        }
        taken = self.taken.setdefault(instance.class_name, [])
        allowed = [
            name
            for name in candidates
            if name in preferred
            or binding.reuses
            or situation.piece(name) is not None
            or (name not in live and not self._stands_in(instance, name, situation))
            or self._stayed(binding, name, situation)
        ]
        if not allowed:
            return
        binding.entity = min(
            allowed, key=lambda name: self._rank(binding, name, situation, preferred, taken)
        )
        if own:
            return
        if binding.entity in taken:
            taken.remove(binding.entity)
        taken.append(binding.entity)

    def _stands_in(self, instance: Instance, name: str, situation: Situation) -> bool:
        return situation.vocabulary.is_stand_in(situation.class_of(name), instance.class_name)

    def _stayed(self, binding: Binding, name: str, situation: Situation) -> bool:
        """Whether the program itself put something where the new variable's landmark says."""
        landmark = binding.instance.landmark
        if not landmark or name not in self.put:
            return False
        classes = situation.vocabulary.classes_of(landmark)
        return any(situation.class_of(one) in classes for one in situation.facts.holders(name))

    def _rank(
        self,
        binding: Binding,
        name: str,
        situation: Situation,
        preferred: Sequence[str],
        taken: Sequence[str],
    ) -> tuple[object, ...]:
        """What speaks against a candidate, most important first."""
        instance, vocabulary = binding.instance, situation.vocabulary
        classes = vocabulary.classes_of(instance.class_name)
        landmarks = vocabulary.classes_of(instance.landmark)
        elsewhere = bool(landmarks) and not situation.is_near(name, landmarks)
        if instance.landmark == FLOOR:
            elsewhere = not situation.is_on_floor(name)
        lacking = sum(not situation.state(name, word) for word in instance.attributes)
        return (
            name not in preferred,
            elsewhere,
            _nothing_to_do(binding.methods, name, situation),
            self._used(binding, name, situation, taken),
            lacking,
            classes.index(situation.class_of(name)),
            situation.facts.holder(name) is None,
            round(situation.distance_m(name), 2),
            name,
        )

    def _used(
        self, binding: Binding, name: str, situation: Situation, taken: Sequence[str]
    ) -> bool:
        """Whether another instance is rather meant, as the program has dealt with this one."""
        if situation.piece(name) is None:
            return name in taken and name in self.put
        # What belongs together goes to one table, however often the program names it.
        return bool(taken) and name not in taken if binding.is_place else name in taken


def is_own(variable: str) -> bool:
    """Whether a variable is the interpreter's own, which no program can name."""
    return variable.startswith("_")


def _nothing_to_do(methods: Sequence[Method], name: str, situation: Situation) -> bool:
    """Whether the first change of state that the program makes is true already."""
    for method in methods:
        if method in _MAKES:
            state, value = _MAKES[method]
            return situation.state(name, state) is value
        if method in _OPENS:
            return situation.is_open(name) is _OPENS[method]
    return False


def _uses(variable: str, following: Sequence[Work]) -> tuple[tuple[Method, ...], bool]:
    """The methods of a variable until it is bound again, and whether things are put there."""
    methods: list[Method] = []
    is_place = False
    for statement in following:
        if isinstance(statement, Instance) and statement.variable == variable:
            break
        if isinstance(statement, Invocation):
            methods += [statement.method] if statement.variable == variable else []
            takes = statement.method in WITH_ARGUMENT and statement.argument == variable
            is_place = is_place or takes
    return tuple(methods), is_place
