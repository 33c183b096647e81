"""ET-Plan-Bench's criteria as an evaluation, as far as PARTNR's language can express them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from planner.episodes.et_plan.file import EtTriple
from planner.world.episode import ROBOT
from planner.world.house import House
from planner.world.vocabulary import floor_name

# VirtualHome's CLOSE is less than this from a centre to a box (ETPLAN-3.1).
CLOSE_M = 1.5


@dataclass(frozen=True)
class JudgedGoal:
    """An evaluation, or the reason why there is none; `notes` names what it leaves out."""

    evaluation: dict[str, JsonValue] | None
    reason: str = ""
    notes: tuple[str, ...] = ()


def evaluation_of_criteria(
    goals: Sequence[EtTriple],
    intermediate: Sequence[EtTriple],
    variables: Mapping[str, tuple[str, ...]],
    house: House,
) -> JudgedGoal:
    """The evaluation of the goals; `variables` are names of the house."""
    return _Writer(variables, house).goal(goals, intermediate)


@dataclass
class _Writer:
    variables: Mapping[str, tuple[str, ...]]
    house: House
    notes: list[str] = field(default_factory=list)

    def goal(self, goals: Sequence[EtTriple], intermediate: Sequence[EtTriple]) -> JudgedGoal:
        if any(self._nests(triple) for triple in (*intermediate, *goals)):
            reason = "a thing within a thing, and the order of the two, is not in the language"
            return JudgedGoal(None, reason)
        propositions: list[JsonValue] = []
        used: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for triple in goals:
            said = self._proposition(triple)
            if said is None:
                self.notes.append(f"({', '.join(triple)}) is kept in criteria only")
                continue
            for argument, word in enumerate(triple[1:]):
                if len(self.variables.get(word, ())) > 1:
                    used[word].append((len(propositions), argument))
            propositions.append(said)
        if not propositions:
            return JudgedGoal(None, "the evaluation language has no word for being near the robot")
        ties: list[JsonValue] = [
            {
                "type": "SameArgConstraint",
                "proposition_indices": [i for i, _ in members],
                "arg_indices": [argument for _, argument in members],
            }
            for members in used.values()
            if len(members) > 1
        ]
        document: dict[str, JsonValue] = {"propositions": propositions}
        return JudgedGoal(
            document | ({"constraints": ties} if ties else {}), notes=tuple(self.notes)
        )

    def _nests(self, triple: EtTriple) -> bool:
        """Whether one thing goes into or onto another one."""
        relation, one, other = triple
        return relation in ("INSIDE", "ON") and self._is_thing(one) and self._is_thing(other)

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
        pieces = [self.house.furniture_by_name.get(n) for n in self.variables[other]]
        if name == "is_inside" and any(
            p is None or (not p.interiors and p.surfaces) for p in pieces
        ):
            name = "is_on_top"
            self.notes.append(f"inside a {other} is on it here")
        elif name == "is_on_top" and any(p and p.interiors and not p.surfaces for p in pieces):
            name = "is_inside"
            self.notes.append(f"on a {other} is inside it here")
        return {"function_name": name, "args": {"objects": first, "receptacles": second}}
