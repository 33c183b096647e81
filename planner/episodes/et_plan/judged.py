"""ET-Plan-Bench's criteria as an evaluation, as far as PARTNR's language can express them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from planner.episodes.et_plan.file import EtTask, EtTriple
from planner.episodes.et_plan.task_scene import is_brought_about
from planner.world.episode import ROBOT
from planner.world.house import House
from planner.world.receptacle import part_by_word
from planner.world.vocabulary import Relation, floor_name

# VirtualHome's CLOSE is less than this from a centre to a box (ETPLAN-3.1).
CLOSE_M = 1.5


@dataclass(frozen=True)
class JudgedGoal:
    """An evaluation, or the reason why there is none; `notes` names what it leaves out."""

    evaluation: dict[str, JsonValue] | None
    reason: str = ""
    notes: tuple[str, ...] = ()


def evaluation_of_criteria(
    task: EtTask,
    goals: Sequence[EtTriple],
    variables: Mapping[str, tuple[str, ...]],
    house: House,
) -> JudgedGoal:
    """The evaluation of a task's goals; `variables` are names of the house."""
    # What the plan puts somewhere before: a thing on a plate that is then put on the table.
    before = [
        triple
        for triple in task.intermediate
        if triple[0] in ("ON", "INSIDE") and ROBOT not in triple and is_brought_about(task, triple)
    ]
    return evaluation_of_triples(before, goals, variables, house)


def evaluation_of_triples(
    before: Sequence[EtTriple],
    goals: Sequence[EtTriple],
    variables: Mapping[str, tuple[str, ...]],
    house: House,
) -> JudgedGoal:
    """The same for criteria by themselves: what has to hold before, and what at the end."""
    return _Writer(variables, house).goal(before, goals)


@dataclass
class _Writer:
    variables: Mapping[str, tuple[str, ...]]
    house: House
    notes: list[str] = field(default_factory=list)

    def goal(self, before: Sequence[EtTriple], goals: Sequence[EtTriple]) -> JudgedGoal:
        propositions: list[JsonValue] = []
        used: dict[str, list[tuple[int, int]]] = defaultdict(list)
        first = 0
        for i, triple in enumerate((*before, *goals)):
            said = self._proposition(triple)
            if said is None:
                self.notes.append(f"({', '.join(triple)}) is kept in criteria only")
                continue
            for argument, word in enumerate(triple[1:]):
                if len(self.variables.get(word, ())) > 1:
                    used[word].append((len(propositions), argument))
            propositions.append(said)
            first += i < len(before)
        if not propositions:
            return JudgedGoal(None, "the evaluation language has no word for being near the robot")
        edges: list[JsonValue] = [
            [i, j] for i in range(first) for j in range(first, len(propositions))
        ]
        constraints: list[JsonValue] = [
            {
                "type": "SameArgConstraint",
                "proposition_indices": [i for i, _ in members],
                "arg_indices": [argument for _, argument in members],
            }
            for members in used.values()
            if len(members) > 1
        ]
        if edges:
            constraints.append({"type": "TemporalConstraint", "edges": edges})
        document: dict[str, JsonValue] = {"propositions": propositions}
        if constraints:
            document["constraints"] = constraints
        return JudgedGoal(document, notes=tuple(self.notes))

    def _is_thing(self, word: str) -> bool:
        name = next(iter(self.variables.get(word, ())), floor_name(""))
        known = name in self.house.rooms_by_name or name in self.house.furniture_by_name
        return not known and not name.startswith(floor_name(""))

    def _proposition(self, triple: EtTriple) -> JsonValue | None:
        relation, one, other = triple
        if ROBOT in (one, other) or relation == "FACING":
            return None
        first, second = list[JsonValue](self.variables[one]), list[JsonValue](self.variables[other])
        if relation == "CLOSE":
            args: dict[str, JsonValue] = {"entities_a": first, "entities_b": second}
            return {"function_name": "is_next_to", "args": {**args, "l2_threshold": CLOSE_M}}
        if not self._is_thing(one):
            return None
        if set(self.variables[other]) <= self.house.rooms_by_name.keys():
            return {"function_name": "is_in_room", "args": {"objects": first, "rooms": second}}
        name = "is_inside" if relation == "INSIDE" else "is_on_top"
        places = self.variables[other]
        if name == "is_inside" and not all(self._has(n, Relation.WITHIN) for n in places):
            name = "is_on_top"
            self.notes.append(f"inside a {other} is on it here")
        elif name == "is_on_top" and all(
            self._has(n, Relation.WITHIN) and not self._has(n, Relation.ON) for n in places
        ):
            name = "is_inside"
            self.notes.append(f"on a {other} is inside it here")
        return {"function_name": name, "args": {"objects": first, "receptacles": second}}

    def _has(self, name: str, relation: Relation) -> bool:
        """Whether something can be on, or within, furniture, a floor or a thing."""
        piece = self.house.furniture_by_name.get(name)
        if piece is not None:
            return bool(piece.surfaces if relation is Relation.ON else piece.interiors)
        if name.startswith(floor_name("")):
            return relation is Relation.ON
        # Anything can be in or on anything in a graph, and what is in a thing is on it, too.
        if self.house.graph is not None or relation is Relation.ON:
            return True
        return part_by_word(name.rpartition("_")[0], relation) is not None
