"""A goal as errands of one robot each, before anything was done: what a plan made once can know."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from papers.llamar.actions import EXPLORE, Action, KnownThing, Verb, known_thing
from papers.llamar.prompt import InstanceNames, shown_class
from papers.llamar.right_actions import NO_GOAL
from planner.evaluation.task import Predicate
from planner.models.chat import ModelError
from planner.planning.errands import is_meant, only_sought
from planner.planning.expert.facts import Facts, Goal, Subgoal, in_memory_names
from planner.planning.planner import Context
from planner.world.belief import StandIns
from planner.world.catalogue import default_catalogue
from planner.world.geometry import record
from planner.world.states import Condition, skills_that_make
from planner.world.vocabulary import Relation, is_open

_RELATIONS = {Predicate.IS_INSIDE.value: Relation.WITHIN, Predicate.IS_ON_TOP.value: Relation.ON}
_VERBS = {
    ("clean", True): Verb.CLEAN,
    ("sliced", True): Verb.SLICE,
    ("powered_on", True): Verb.TOGGLE_ON,
    ("powered_on", False): Verb.TOGGLE_OFF,
}
_LETTERS = re.compile(r"[^a-z0-9]+")


@record
class Errand:
    """What one robot does without a pause.

    Attributes:
        name: of a function.
        stage: it begins when all of earlier stages have ended, from 0.
        actions: one after the other.
    """

    name: str
    stage: int
    actions: tuple[Action, ...]


def errands(
    goal: Goal, context: Context, instances: InstanceNames, seen: frozenset[str]
) -> tuple[Errand, ...]:
    """The errands of a goal; none if it holds.

    Furniture that has to be open comes first, then what belongs to each proposition by their order.
    What needs the same tool is one errand.

    Args:
        goal: of the task.
        context: before the first step, with what is known.
        instances: the team's names.
        seen: those of what was seen.

    Raises:
        ModelError: for a proposition that the paper's actions cannot make true.
    """
    stand_ins = StandIns(goal.names)
    stand_ins.update(context.belief)
    return _Errands(in_memory_names(goal, stand_ins.given), context, instances, seen).all()


def errands_of_words(
    text: str, context: Context, instances: InstanceNames, seen: frozenset[str]
) -> tuple[Errand, ...]:
    """The errand of a task that only its words describe; arguments as of `errands`.

    Raises:
        ModelError: if they are not understood, or ask for more than to find one thing.
    """
    sought = only_sought(text)
    if sought is None:
        raise ModelError(f"{NO_GOAL}; its words do not only ask to find one thing: {text!r}")
    nothing = Goal((), {}, (), (), frozenset())
    writer = _Errands(nothing, context, instances, seen)
    return (writer.finding(sought.word),)


class _Errands:
    """Names what is unknown as it will probably be called: the next instance of its class."""

    def __init__(
        self, goal: Goal, context: Context, instances: InstanceNames, seen: frozenset[str]
    ) -> None:
        self._goal, self._context = goal, context
        self._instances, self._seen = instances, seen
        self._expected: dict[str, str] = {}
        self._facts = Facts(context.belief, context.layout, {}, {}, {})
        self._found: list[Errand] = []
        self._opened: dict[str, tuple[Action, ...]] = {}
        self._with_tool: dict[tuple[int, Verb], list[str]] = {}
        self._names: Counter[str] = Counter()

    def all(self) -> tuple[Errand, ...]:
        for subgoal in self._goal.subgoals:
            if subgoal.index not in self._goal.watched and not self._facts.holds(subgoal):
                self._add(subgoal)
        for (stage, verb), things in self._with_tool.items():
            self._add_with_tool(stage, verb, things)
        opening = [Errand(self._named("open", name), 0, way) for name, way in self._opened.items()]
        return (*opening, *self._found)

    def finding(self, word: str) -> Errand:
        """Walks to what a word means, as far as something of that kind is known."""
        nodes = self._context.belief.nodes.values()
        known = [node.name for node in nodes if is_meant(node.class_name, word)]
        unknown = f"{default_catalogue().class_spelled(word)}_0"
        entity = self._known_first(known or [unknown])[0]
        return Errand(self._named("find", entity), 0, self._to(entity))

    def _add(self, subgoal: Subgoal) -> None:
        stage = 1 + self._depth(subgoal.index)
        things = self._known_first(subgoal.first)[: subgoal.number]
        relation = _RELATIONS.get(subgoal.predicate)
        if relation is not None:
            place = self._known_first(subgoal.second)[0]
            self._open_first(place)
            for thing in things:
                way = (*self._pickup(thing), *self._to(place), self._put(place, relation))
                self._found.append(Errand(self._named("put", thing), stage, way))
            return
        if subgoal.opens is not None:
            verb = Verb.OPEN if subgoal.opens else Verb.CLOSE
        else:
            found = _VERBS.get(subgoal.state) if subgoal.state is not None else None
            if found is None:
                raise ModelError(f"the paper's actions cannot make {subgoal} true")
            verb = found
        if verb is Verb.SLICE:
            self._with_tool.setdefault((stage, verb), []).extend(things)
            return
        for thing in things:
            way = (*self._to(thing), Action(verb, self._name(thing)))
            self._found.append(Errand(self._named(verb, thing), stage, way))

    def _add_with_tool(self, stage: int, verb: Verb, things: Sequence[str]) -> None:
        needed = next(
            (s.needs.hand for s in skills_that_make("sliced", value=True) if s.needs.hand), None
        )
        way: list[Action] = list(self._pickup(self._tool(needed))) if needed is not None else []
        for thing in things:
            way += [*self._to(thing), Action(verb, self._name(thing))]
        self._found.append(Errand(self._named(verb, things[0]), stage, tuple(way)))

    def _tool(self, needed: Condition) -> str:
        """A known thing of the kind, or the first class of it that there is."""
        for name in sorted(self._seen):
            entity = self._instances.entity_of(name)
            node = self._context.belief.nodes.get(entity or "")
            if node is not None and needed.is_kind(node.class_name, node.affordances):
                return node.name
        classes = default_catalogue().objects
        return next(
            f"{name}_0" for name, kind in classes.items() if needed.is_kind(name, kind.affordances)
        )

    # Ways

    def _pickup(self, thing: str) -> tuple[Action, ...]:
        node = self._context.belief.nodes.get(thing)
        if node is not None and node.relation is Relation.WITHIN and node.parent is not None:
            self._open_first(node.parent)
        return (*self._to(thing), Action(Verb.PICKUP, self._name(thing)))

    def _put(self, place: str, relation: Relation) -> Action:
        known = self._known(place)
        usual = known.puts if known is not None else None
        return Action(Verb.PUT, self._name(place), None if usual is relation else relation)

    def _to(self, name: str) -> tuple[Action, ...]:
        """The way to something; what nobody has seen is looked for once."""
        walk = Action(Verb.NAVIGATE_TO, self._name(name))
        return (walk,) if self._seen_name(name) is not None else (EXPLORE, walk)

    def _open_first(self, place: str) -> None:
        """Furniture that is shut is opened by somebody before anything is put there."""
        node, known = self._context.belief.nodes.get(place), self._known(place)
        if node is None or known is None or not known.opens or is_open(node.openness):
            return
        if place not in self._opened:
            self._opened[place] = (*self._to(place), Action(Verb.OPEN, self._name(place)))

    # Names

    def _known(self, name: str) -> KnownThing | None:
        node = self._context.belief.nodes.get(name)
        return None if node is None else known_thing(name, node, self._context.layout)

    def _known_first(self, names: Iterable[str]) -> list[str]:
        return sorted(names, key=lambda name: self._seen_name(name) is None)

    def _seen_name(self, entity: str) -> str | None:
        name = self._instances.name_of(entity)
        return name if name in self._seen else None

    def _name(self, entity: str) -> str:
        """The instance name, or the one that the thing will probably have once it is seen."""
        name = self._seen_name(entity) or self._expected.get(entity)
        if name is None:
            shown = self._class(entity)
            expected = sum(1 for other in self._expected if self._class(other) == shown)
            seen = sum(1 for other in self._instances.of_class(shown) if other in self._seen)
            name = f"{shown}_{seen + expected + 1}"
            self._expected[entity] = name
        return name

    def _class(self, entity: str) -> str:
        node = self._context.belief.nodes.get(entity)
        return shown_class(node.class_name if node is not None else entity.rpartition("_")[0])

    def _named(self, verb: str, entity: str) -> str:
        """A name of a function that there is not yet."""
        name = _LETTERS.sub("_", f"{verb}_{entity}".lower()).strip("_")[:36]
        self._names[name] += 1
        return name if self._names[name] == 1 else f"{name}_{self._names[name]}"

    def _depth(self, index: int) -> int:
        """How many propositions have to come one after the other before this one."""
        before: Mapping[int, frozenset[int]] = self._goal.before
        return max((1 + self._depth(earlier) for earlier in before[index]), default=0)
