"""Maps a task's names to believed things, for memories that invent names of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from planner.world.belief import Belief
from planner.world.hands import held_things
from planner.world.vocabulary import EntityKind


class StandIns:
    """Assigns to every name of a task one believed thing of its class, permanently.

    A privileged memory knows the true names. A learned one names a thing by its class and its
    number in the entity list: `cup_149` with id 149.
    """

    def __init__(self, names: Iterable[str], *, follow_hands: bool = False) -> None:
        """Starts without any assignment.

        Args:
            names: of the task, true ones.
            follow_hands: whether a thing picked up by an agent takes the name from one of its
                class that was never picked up: if agents' intentions are unknown, the thing that
                was picked is assumed to be the one that was meant.
        """
        self._names = sorted(names)
        self._given: dict[str, str] = {}
        self._follow_hands = follow_hands
        self._handled: set[str] = set()

    @property
    def given(self) -> Mapping[str, str]:
        """The assigned thing of each name that has one."""
        return MappingProxyType(self._given)

    @property
    def names(self) -> Sequence[str]:
        """The names of the task."""
        return self._names

    def give(self, name: str, node: str) -> None:
        """Assigns a believed thing of another class to a name, as long as it is believed."""
        self._given[name] = node

    def update(self, belief: Belief) -> bool:
        """Processes a newer belief; True if an assignment has changed."""
        before = dict(self._given)
        self._given = {name: node for name, node in self._given.items() if node in belief.nodes}
        self._handled |= {
            thing for node in belief.nodes.values() for thing in held_things(node.hands)
        }
        free = [
            node
            for node in belief.of_kind(EntityKind.OBJECT)
            if node.name == f"{node.class_name}_{node.entity_id}"
            and node.name not in self._given.values()
        ]
        if self._follow_hands:
            free.sort(key=lambda node: node.name not in self._handled)
        for name in self._names:
            if name in belief.nodes or not self._may_change(name):
                continue
            class_name = name.rpartition("_")[0]
            match = next((node for node in free if node.class_name == class_name), None)
            if match is None or (name in self._given and match.name not in self._handled):
                continue
            free.remove(match)
            self._given[name] = match.name
        return self._given != before

    def _may_change(self, name: str) -> bool:
        given = self._given.get(name)
        return given is None or (self._follow_hands and given not in self._handled)
