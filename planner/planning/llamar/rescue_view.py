"""What agents observe in search and rescue, as the prompts have it (LLAMAR-A24).

Everything known is in sight from everywhere there. What no longer burns is left out, as in the
published world.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from planner.planning.llamar.names import InstanceNames, is_nameable
from planner.world.agents import body_of
from planner.world.belief import Belief, BeliefNode
from planner.world.vocabulary import EntityKind, Relation

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
