"""Team-wide names of things: `Apple_2` is the second apple that anyone of the team has seen.

They are shared by all agents and stable for the task (LLAMAR-D4). The memory has other names
for the same entities (`apple_13`, `Object.149`), which models of this method never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from planner.world.belief import UNNAMED_CLASS, BeliefNode
from planner.world.vocabulary import EntityKind

_WORD = re.compile(r"[A-Za-z0-9]+")
_ENTITY = re.compile(r"\w+")
_FLOOR = "floor"
_KINDS = frozenset({EntityKind.FURNITURE, EntityKind.OBJECT})


def shown_class(class_name: str) -> str:
    """A class as names have it: `chest_of_drawers` becomes `ChestOfDrawers`."""
    words = _WORD.findall(class_name) or [UNNAMED_CLASS]
    return "".join(word[:1].upper() + word[1:] for word in words)


def is_nameable(node: BeliefNode) -> bool:
    """Whether the paper's actions can be about it: furniture and things, but no floor or agent."""
    return node.kind in _KINDS and node.class_name != _FLOOR


class InstanceNames:
    """The instances seen so far, in the order in which they were first seen."""

    def __init__(self) -> None:
        """Nothing has been seen yet."""
        self._names: dict[str, str] = {}
        self._entities: dict[str, str] = {}
        self._classes: dict[str, list[str]] = {}
        self._seen_by: dict[str, set[str]] = {}

    def see(self, nodes: Iterable[BeliefNode], agent: str | None = None) -> None:
        """Names what is new.

        Args:
            nodes: of the belief, in order; what cannot be named is passed over.
            agent: the memory's name of who sees them; None = somebody of the team.
        """
        for node in nodes:
            if not is_nameable(node):
                continue
            if node.name not in self._names:
                shown = shown_class(node.class_name)
                alike = self._classes.setdefault(shown, [])
                name = f"{shown}_{len(alike) + 1}"
                alike.append(name)
                self._names[node.name] = name
                self._entities[name] = node.name
            if agent is not None:
                self._seen_by.setdefault(node.name, set()).add(agent)

    def name_of(self, entity: str) -> str | None:
        """The instance name of an entity of the memory; None if nobody has seen it."""
        return self._names.get(entity)

    def entity_of(self, name: str) -> str | None:
        """The memory's name of an instance; None if there is no such instance."""
        return self._entities.get(name)

    def spoken(self, text: str) -> str:
        """A text with instance names in place of the memory's."""
        return _ENTITY.sub(lambda found: self._names.get(found[0], found[0]), text)

    def was_seen_by(self, name: str, agent: str) -> bool:
        """Whether this very agent has seen an instance, not only somebody of the team."""
        return agent in self._seen_by.get(self._entities.get(name, ""), ())

    @property
    def names(self) -> tuple[str, ...]:
        """All instance names, in the order in which they were first seen."""
        return tuple(self._entities)

    @property
    def classes(self) -> tuple[str, ...]:
        """All classes of which an instance was seen, as names have them."""
        return tuple(self._classes)

    def of_class(self, shown: str) -> tuple[str, ...]:
        """The instances of a class, `Drawer_1` first; empty if none was seen."""
        return tuple(self._classes.get(shown, ()))
