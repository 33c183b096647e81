"""What one agent knows, and which instance of a class a variable stands for (HELPER-D4)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from papers.helper.programs.program import (
    FLOOR,
    WITH_ARGUMENT,
    Instance,
    Invocation,
    Method,
    ProgramVocabulary,
    Work,
)
from planner.planning.expert.facts import Facts, planar_m
from planner.planning.planner import Context
from planner.world.catalogue import default_catalogue, slice_names
from planner.world.house import Furniture
from planner.world.states import Condition, StateSkill, default_state_skills, default_states
from planner.world.vocabulary import EntityKind, Relation, floor_name

# What one agent knows when it decides on the next step of its program.

# A landmark is also what a thing is this near to.
NEAR_M = 1.5
# Putting something down on a stove or in a sink is worth this much of a walk to avoid.
_DEVICE_M = 3.0
_FLOOR_M = 30.0


class Situation:
    """Answers questions about one moment; names are those of the memory."""

    def __init__(self, context: Context, agent: str, vocabulary: ProgramVocabulary) -> None:
        """`agent` carries out the program."""
        able = context.capabilities.get(agent)
        self.agent, self.vocabulary = agent, vocabulary
        self.belief, self.layout = context.belief, context.layout
        self.hands = able.hands if able is not None else 1
        self.facts = Facts(context.belief, context.layout, {}, {}, {agent: self.hands})

    @property
    def held(self) -> tuple[str, ...]:
        """What the agent holds."""
        return self.facts.held_by(self.agent)

    @property
    def has_free_hand(self) -> bool:
        """Whether a hand of the agent is empty."""
        return len(self.held) < self.hands

    def known(self, entity: str) -> bool:
        """Whether something is still there, as far as the memory knows."""
        return self.facts.known(entity)

    def piece(self, entity: str) -> Furniture | None:
        """The furniture of this name; None for a thing."""
        return self.layout.furniture_by_name.get(entity)

    def class_of(self, entity: str) -> str:
        """The catalogue's class of something."""
        piece, node = self.piece(entity), self.facts.node(entity)
        word = piece.class_name if piece is not None else node.class_name if node else ""
        return default_catalogue().class_spelled(word or entity.rpartition("_")[0])

    def affordances(self, entity: str) -> frozenset[str]:
        """What may be done with something."""
        piece, node = self.piece(entity), self.facts.node(entity)
        if piece is not None:
            return frozenset(piece.affordances)
        if node is not None and node.affordances:
            return frozenset(node.affordances)
        cls = default_catalogue().objects.get(self.class_of(entity))
        return frozenset(cls.affordances) if cls is not None else frozenset()

    def state(self, entity: str, state: str) -> bool:
        """Whether something has a state, as far as known."""
        return bool(self.facts.state(entity, state))

    def distance_m(self, entity: str) -> float:
        """From the agent, as the crow flies."""
        node = self.facts.node(self.agent)
        if node is None:
            return 0.0
        return planar_m(node.position_m, self.facts.position_m(entity))

    def of_classes(self, classes: tuple[str, ...]) -> list[str]:
        """Known things and furniture of these classes, which no other agent holds."""
        pieces = [p.name for p in self.layout.furniture if self.class_of(p.name) in classes]
        things = [
            node.name
            for node in self.belief.of_kind(EntityKind.OBJECT)
            if self.class_of(node.name) in classes and self.known(node.name)
        ]
        others = [name for name in things if self.facts.holder(name) in (None, self.agent)]
        return pieces + others

    def is_near(self, entity: str, classes: tuple[str, ...]) -> bool:
        """Whether something is on, in or near anything of these classes."""
        holders = self.facts.holders(entity)
        if any(self.class_of(holder) in classes for holder in holders):
            return True
        if self.facts.holder(entity) is not None:
            return False
        at = self.facts.position_m(entity)
        return any(
            planar_m(at, self.facts.position_m(other)) <= NEAR_M
            for other in self.of_classes(classes)
            if other != entity and self.facts.holder(other) is None
        )

    def is_on_floor(self, thing: str) -> bool:
        """Whether a thing lies on a floor, on no furniture and nothing else."""
        return self.facts.holders(thing)[:1] in {(floor_name(r.name),) for r in self.layout.rooms}

    def floor(self) -> str:
        """The floor of the room in which the agent is; "" if that is not known."""
        room = self._room()
        return floor_name(room) if room else ""

    def is_open(self, entity: str) -> bool | None:
        """Whether furniture with doors or drawers is open; None if nothing of it opens."""
        piece = self.piece(entity)
        if piece is None or not piece.joints:
            return None
        return not self.facts.is_closed(entity)

    def shut_around(self, entity: str) -> str | None:
        """The closed furniture that a thing is inside of."""
        spot = self.facts.base_spot(entity)
        if spot is None or spot[0] is not Relation.WITHIN or not self.facts.is_closed(spot[1]):
            return None
        return spot[1]

    def relation(self, thing: str, holder: str, name: str) -> Relation:
        """How a thing is put there: as the vocabulary has it, or else how it fits."""
        if self.facts.is_thing(holder):
            first = self.facts.relation_on(holder)
        else:
            piece, item = self.piece(holder), self.vocabulary.by_name.get(name)
            onto = piece is None or bool(piece.surfaces) or not piece.interiors
            first = Relation.ON if onto else Relation.WITHIN
            if item is not None and item.puts is not None:
                first = item.puts
            elif self.is_open(holder):
                # Nobody opens what is only put things onto.
                first = Relation.WITHIN
        other = Relation.WITHIN if first is Relation.ON else Relation.ON
        return (
            first
            if self.fits(thing, first, holder) or not self.fits(thing, other, holder)
            else other
        )

    def fits(self, thing: str, relation: Relation, holder: str) -> bool:
        """Whether there is room for a thing; in a graph world there always is."""
        if self.layout.graph is not None:
            return True
        return self.facts.free_fraction(thing, relation, holder) > 0

    def is_at_place(self, thing: str, holder: str) -> bool:
        """Whether a thing lies on or in something."""
        return self.facts.holder(thing) is None and holder in self.facts.holders(thing)

    def contents(self, holder: str) -> list[str]:
        """Things on or in something, however deep."""
        return [
            node.name
            for node in self.belief.of_kind(EntityKind.OBJECT)
            if holder in self.facts.holders(node.name)
        ]

    def place_to_put_down(self, thing: str, besides: Collection[str] = ()) -> str:
        """The nearest furniture of the room with room on it; the floor if there is none.

        What is in `besides` is not considered.
        """
        room = self._room()
        pieces = [p for p in self.layout.furniture if p.surfaces or self.layout.graph is not None]
        ranked = sorted(
            (
                self.distance_m(piece.name)
                + (_DEVICE_M if {"powerable", "faucet"} & set(piece.affordances) else 0.0)
                + (0.0 if piece.room == room else _FLOOR_M / 2),
                piece.name,
            )
            for piece in pieces
            if piece.name not in besides and self.fits(thing, Relation.ON, piece.name)
        )
        if ranked and ranked[0][0] <= _FLOOR_M:
            return ranked[0][1]
        return floor_name(room) if room else ranked[0][1] if ranked else ""

    def _room(self) -> str | None:
        node = self.facts.node(self.agent)
        if node is not None and node.room:
            return node.room
        x, y, _ = self.facts.position_m(self.agent)
        return self.layout.room_at(x, y)

    def of_kind(self, need: Condition) -> list[str]:
        """Known things and furniture of a condition's classes and affordances, in any state."""
        pieces = [
            p.name for p in self.layout.furniture if need.is_kind(p.class_name, p.affordances)
        ]
        things = [
            node.name
            for node in self.belief.of_kind(EntityKind.OBJECT)
            if need.is_kind(node.class_name, self.affordances(node.name)) and self.known(node.name)
        ]
        return pieces + things

    def skill_at(self, thing: str) -> StateSkill | None:
        """The skill that what a thing is on or in does to it now, such as a toaster that is on.

        Of several the one with the most conditions: what is in water on a stove is boiled.
        """
        found = [
            skill
            for skill in default_state_skills().values()
            if skill.needs.at and not self.has_states(thing, skill) and self._is_at(thing, skill)
        ]
        able = [skill for skill in found if self.affords(thing, skill)]
        return max(able, key=lambda skill: len(skill.needs.at), default=None)

    def has_states(self, thing: str, skill: StateSkill) -> bool:
        """Whether a thing has all states that a skill gives."""
        return all(self.state(thing, state) is value for state, value in skill.sets.items())

    def affords(self, thing: str, skill: StateSkill) -> bool:
        """Whether a skill can be done to a thing, by its affordances."""
        known = self.affordances(thing)
        return all(default_states().affordance_of[state] in known for state in skill.sets)

    def _is_at(self, thing: str, skill: StateSkill) -> bool:
        holders = list(self.facts.holders(thing))
        for need in skill.needs.at:
            while holders and not self._is(holders[0], need):
                holders.pop(0)
            if not holders:
                return False
            holders.pop(0)
        return True

    def _is(self, entity: str, need: Condition) -> bool:
        if not need.is_kind(self.class_of(entity), self.affordances(entity)):
            return False
        return all(self.state(entity, state) is value for state, value in need.states.items())


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
