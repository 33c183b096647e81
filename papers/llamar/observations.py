"""What an agent sees now, in team-wide names, in a household or in search and rescue."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from planner.planning.sight import Sightline, is_nameable, no_sightline, visible
from planner.world.agents import body_of
from planner.world.belief import UNNAMED_CLASS, Belief, BeliefNode, Source
from planner.world.vocabulary import EntityKind, Relation

# Team-wide names of things: `Apple_2` is the second apple that anyone of the team has seen.
#
# They are shared by all agents and stable for the task (LLAMAR-D4). The memory has other names
# for the same entities (`apple_13`, `Object.149`), which models of this method never read.

_WORD = re.compile(r"[A-Za-z0-9]+")
_ENTITY = re.compile(r"\w+")
_COMPASS = ("east", "north", "west", "south")


def shown_class(class_name: str) -> str:
    """A class as names have it: `chest_of_drawers` becomes `ChestOfDrawers`."""
    words = _WORD.findall(class_name) or [UNNAMED_CLASS]
    return "".join(word[:1].upper() + word[1:] for word in words)


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


# What is in view, by instance names.


def note_seen(
    names: InstanceNames,
    belief: Belief,
    agent: str,
    sightline: Sightline = no_sightline,
    among: Sequence[BeliefNode] | None = None,
) -> tuple[str, ...]:
    """Names what an agent sees now; returns the instance names of these."""
    nodes = visible(belief, agent, sightline, among)
    names.see(nodes, agent)
    return tuple(name for node in nodes if (name := names.name_of(node.name)) is not None)


def note_met(names: InstanceNames, belief: Belief) -> None:
    """Names what the team's cameras have seen in passing."""
    names.see(node for node in belief.nodes.values() if node.source is Source.SEEN)


def state_words(belief: Belief, agent: str, names: InstanceNames) -> str:
    """Where an agent is in the map (metres), where it faces, and what it holds."""
    node = belief.nodes.get(agent)
    if node is None:
        return "unknown"
    x, y, _ = node.position_m
    held = [names.name_of(thing) or thing for thing in node.hands if thing is not None]
    facing = f", facing {compass(node.heading_rad)}" if node.heading_rad is not None else ""
    # Adding 0.0 turns a negative zero into zero.
    return (
        f"({round(x, 2) + 0.0:.2f}, {round(y, 2) + 0.0:.2f}){facing}, "
        f"holding {' and '.join(held) or 'nothing'}"
    )


def compass(heading_rad: float) -> str:
    """The nearest of four directions: +x of the map is east, +y north."""
    return _COMPASS[round(heading_rad / (math.pi / 2)) % 4]


# What agents observe in search and rescue, as the prompts have it (LLAMAR-A24).
#
# Everything known is in sight from everywhere there. What no longer burns is left out, as in the
# published world.

# The keys of a result's evidence that say what a rescuer carries.
SUPPLIES = frozenset({"sand", "water"})
_HEATS = ("low", "medium", "high")


def rescue_observation(names: InstanceNames, belief: Belief, agent: str) -> tuple[str, ...]:
    """Each thing with its instance name and what is known of it."""
    nodes = [node for node in belief.nodes.values() if is_nameable(node)]
    shown = [node for node in nodes if node.states.get("burning", True)]
    names.see(shown, agent)
    viewer = belief.nodes.get(agent)
    found = []
    for node in shown:
        facts = ", ".join((*_facts(node, names), *_nearness(viewer, node)))
        name = names.name_of(node.name) or node.name
        found.append(f"{name} ({facts})" if facts else name)
    return tuple(found)


def _facts(node: BeliefNode, names: InstanceNames) -> Iterator[str]:
    if "burning" in node.states:
        kind = "chemical fire" if node.states.get("chemical") else "fire"
        yield kind if node.kind is EntityKind.FURNITURE else f"part of a {kind}"
        yield from (f"{heat} heat" for heat in _HEATS if node.states.get(f"heat_{heat}"))
    yield from (
        f"gives {supply}" for supply in sorted(SUPPLIES) if node.states.get(f"gives_{supply}")
    )
    if node.relation is Relation.HELD:
        yield "carried"
    elif node.relation is Relation.WITHIN and node.parent is not None:
        yield f"in {names.name_of(node.parent) or node.parent}"


def _nearness(viewer: BeliefNode | None, node: BeliefNode) -> Iterator[str]:
    body = None if viewer is None else body_of(viewer.class_name)
    if viewer is None or body is None:
        return
    if math.dist(viewer.position_m[:2], node.position_m[:2]) <= body.reach_m:
        yield "near"


def carrying_words(state: str, carried: Mapping[str, str] | None) -> str:
    """An agent's state with what it carries, as its last result said; nothing before the first."""
    held = carried or {}
    units = ", ".join(f"{held.get(supply) or 0} {supply}" for supply in sorted(SUPPLIES))
    person = held.get("person")
    return f"{state}, supplies: {units}" + (f", with a hold on {person}" if person else "")
