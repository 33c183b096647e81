"""What a rescue task asks for, and what the belief says about it."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from planner.planning.planner import Task
from planner.world.belief import Belief, BeliefNode
from planner.world.errors import PlannerError
from planner.world.vocabulary import Relation

_HEAT = {"heat_low": 1, "heat_medium": 2, "heat_high": 3}


@dataclass(frozen=True, slots=True)
class RescueGoal:
    """The fires to put out, the persons to bring in, and the deposits where they may go."""

    fires: tuple[str, ...]
    persons: tuple[str, ...]
    deposits: tuple[str, ...]

    def without(self, names: Set[str]) -> RescueGoal:
        """Less some fires and persons."""
        return RescueGoal(
            tuple(name for name in self.fires if name not in names),
            tuple(name for name in self.persons if name not in names),
            self.deposits,
        )


def rescue_goal(task: Task) -> RescueGoal:
    """Reads the episode's goal.

    Raises:
        PlannerError: if it asks for anything but fires that are out and persons in deposits.
    """
    propositions = (task.goal or {}).get("propositions")
    fires: list[str] = []
    persons: list[str] = []
    deposits: dict[str, None] = {}
    for index, item in enumerate(propositions if isinstance(propositions, list) else []):
        name = item.get("function_name") if isinstance(item, dict) else None
        arguments = item.get("args") if isinstance(item, dict) else None
        if not isinstance(arguments, dict) or name not in ("is_extinguished", "is_inside"):
            where = f"evaluation.propositions.{index}"
            raise PlannerError(f"{where}: the rules know is_extinguished and is_inside, not {name}")
        objects = [str(each) for each in _listed(arguments.get("objects"))]
        if name == "is_extinguished":
            fires += objects
        else:
            persons += objects
            deposits |= dict.fromkeys(str(each) for each in _listed(arguments.get("receptacles")))
    if not fires and not persons:
        raise PlannerError("the task has no fires to put out and no persons to bring in")
    return RescueGoal(tuple(fires), tuple(persons), tuple(deposits))


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


class Situation:
    """The belief about the things of a rescue task."""

    def __init__(self, goal: RescueGoal, belief: Belief) -> None:
        """Looks at one belief."""
        self._goal, self._belief = goal, belief

    @property
    def fires(self) -> tuple[str, ...]:
        """The fires of the goal that are not known to be out."""
        return tuple(name for name in self._goal.fires if self._burns(name))

    @property
    def persons(self) -> tuple[str, ...]:
        """The persons of the goal who were seen and are in no deposit yet."""
        nodes = self._belief.nodes
        return tuple(name for name in self._missing() if name in nodes)

    @property
    def unseen(self) -> tuple[str, ...]:
        """The persons of the goal whom nobody has seen."""
        return tuple(name for name in self._missing() if name not in self._belief.nodes)

    def is_carried(self, person: str) -> bool:
        """Whether enough agents hold a person."""
        node = self._belief.nodes.get(person)
        return node is not None and node.relation is Relation.HELD

    def regions(self, fire: str) -> list[tuple[str, int]]:
        """The regions of a fire that burn, with their heat, the hottest first."""
        found = [
            (node.name, heat_of(node))
            for node in self._belief.nodes.values()
            if node.parent == fire and heat_of(node)
        ]
        return sorted(found, key=lambda region: (-region[1], region[0]))

    def supply_of(self, fire: str) -> str:
        """What puts a fire out, `sand` or `water`."""
        node = self._belief.nodes.get(fire)
        return "sand" if node is not None and node.states.get("chemical") else "water"

    def source_of(self, supply: str) -> str | None:
        """A reservoir of a supply."""
        return next(
            (n.name for n in self._belief.nodes.values() if n.states.get(f"gives_{supply}")), None
        )

    def _burns(self, name: str) -> bool:
        node = self._belief.nodes.get(name)
        return node is None or node.states.get("burning", True)

    def _missing(self) -> Iterator[str]:
        for name in self._goal.persons:
            node = self._belief.nodes.get(name)
            if node is None or node.parent not in self._goal.deposits:
                yield name


def heat_of(node: BeliefNode) -> int:
    """1 to 3 for what burns, 0 for what does not."""
    return max((heat for state, heat in _HEAT.items() if node.states.get(state)), default=0)
