"""A belief as text: rooms with furniture, and known objects with their places (PARTNR-5.5)."""

from __future__ import annotations

from planner.models.replies.turn import is_speakable
from planner.world.belief import Belief, BeliefNode
from planner.world.states import default_states
from planner.world.vocabulary import Affordance, EntityKind, Relation, holding_hand_words

NO_OBJECTS = "No objects found yet"
OBJECTS = "Objects:"
_UNKNOWN_PLACE = "unknown in an unknown room"
# Limits copies of one object in a text, so that they do not crowd out others (PARTNR-11.2).
MAX_OF_CLASS = 12


def world_description(belief: Belief, *, objects: bool = True, states: bool = False) -> str:
    """Rooms with their furniture, faucets, and the known objects (PARTNR-5.5)."""
    lines = ["Furniture:"]
    furniture = belief.of_kind(EntityKind.FURNITURE)
    by_room: dict[str, list[BeliefNode]] = {}
    for node in furniture:
        by_room.setdefault(node.room or "unknown", []).append(node)
    for room in sorted(by_room):
        names = [node.name for node in sorted(by_room[room], key=_floor_first)]
        lines.append(f"{room}: {', '.join(names)}")
    wet = [
        n.name for n in sorted(furniture, key=_floor_first) if Affordance.FAUCET in n.affordances
    ]
    if wet:
        lines.append(f"The following furnitures have a faucet: {', '.join(wet)}")
    if objects:
        lines.append(summary(belief, "", states=states))
    return "\n".join(lines)


def _floor_first(node: BeliefNode) -> tuple[bool, int, str]:
    number = node.name.rpartition("_")[2]
    return node.class_name != "floor", int(number) if number.isdecimal() else -1, node.name


def summary(belief: Belief, agent: str, *, states: bool = False) -> str:
    """All known objects and their locations; `agent` is the reader.

    With `states`, also the furniture that is not in its initial state, such as an oven that is on.
    """
    # Skip names that no call can contain; their text might pass for something else.
    known = [node for node in belief.of_kind(EntityKind.OBJECT) if is_speakable(node.name)]
    nodes = sorted(known, key=_by_class)
    lines, counts = [OBJECTS] if nodes else [OBJECTS, NO_OBJECTS], dict[str, int]()
    for node in nodes:
        count = counts[node.class_name] = counts.get(node.class_name, 0) + 1
        if count <= MAX_OF_CLASS:
            lines.append(f"{node.name}: {_where(node, belief, agent)}{_states(node, states)}")
    lines += [
        f"{' '.join(name.split())}: {count - MAX_OF_CLASS} more"
        for name, count in counts.items()
        if count > MAX_OF_CLASS
    ]
    return "\n".join(lines + _changed_furniture(belief) if states else lines)


def _changed_furniture(belief: Belief) -> list[str]:
    """Furniture with a state that differs from the initial one: objects have theirs always."""
    usual = default_states().usual
    return [
        f"{node.name}: {node.room or 'unknown'}{words}"
        for node in sorted(belief.of_kind(EntityKind.FURNITURE), key=_by_class)
        if any(value is not usual(state) for state, value in node.states.items())
        and (words := _states(node, shown=True))
    ]


def _by_class(node: BeliefNode) -> tuple[str, int, str]:
    number = node.name.rpartition("_")[2]
    return node.class_name, int(number) if number.isdecimal() else -1, node.name


def _in_hand(node: BeliefNode, belief: Belief) -> str:
    """In which hand a held thing is, where its holder has more than one."""
    holder = belief.nodes.get(node.parent or "")
    words = holding_hand_words(holder.hands, node.name) if holder is not None else ""
    return f" in {words}" if words else ""


def _where(node: BeliefNode, belief: Belief, agent: str) -> str:
    if node.relation is Relation.HELD:
        if not agent:
            return f"held by {node.parent}{_in_hand(node, belief)}"
        whose = "the agent" if node.parent == agent else "the other agent"
        return f"held by {whose}{_in_hand(node, belief)}"
    if node.parent is None:
        return _UNKNOWN_PLACE if node.room is None else f"unknown in {node.room}"
    place = belief.nodes.get(node.parent)
    room = node.room or (place.room if place is not None else None) or "unknown"
    return f"{node.parent} in {room}"


def _states(node: BeliefNode, shown: bool) -> str:
    if not shown:
        return ""
    table = default_states()
    words = [
        word
        for state, value in node.states.items()
        if table.affordance_of.get(state) in node.affordances
        and (word := table.word(state, value=value))
    ]
    return f" ({', '.join(words)})" if words else ""
