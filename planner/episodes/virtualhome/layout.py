"""Where everything is in a VirtualHome graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.episodes.virtualhome.words import VirtualHomeWord, VirtualHomeWords, WordKind
from planner.world.graph_file import Graph
from planner.world.receptacle import holds_things, part_by_word
from planner.world.states import default_states
from planner.world.vocabulary import Relation


@dataclass(frozen=True, slots=True)
class NodePlace:
    """What an object is on or in: a node and the relation; None for somewhere in the room."""

    node: int
    relation: Relation | None


class GraphLayout:
    """A graph's entities by their kind in our houses."""

    def __init__(self, graph: Graph, words: VirtualHomeWords) -> None:
        self.nodes = {node.id: node for node in graph.nodes}
        self.known: dict[int, VirtualHomeWord] = {}
        self.strange: list[str] = []
        for node in graph.nodes:
            found = words.find(node.class_name)
            if found is not None:
                self.known[node.id] = found
            elif "GRABBABLE" in node.properties:
                self.strange.append(f"{node.class_name}_{node.id} has no class of the catalogue")
        self._on: dict[int, list[tuple[str, int]]] = {}
        for edge in graph.edges:
            self._on.setdefault(edge.from_id, []).append((edge.relation_type, edge.to_id))

    def of_kind(self, kind: WordKind) -> Iterator[int]:
        """The nodes of a kind, in the graph's order."""
        return (number for number, word in self.known.items() if word.kind is kind)

    def room_of(self, number: int) -> int | None:
        """The room that contains a node, directly or through what it is in."""
        waiting, seen = [number], {number}
        while waiting:
            node = waiting.pop(0)
            for relation, other in self._on.get(node, ()):
                if relation not in ("INSIDE", "ON") or other in seen:
                    continue
                if other in self.known and self.known[other].kind is WordKind.ROOM:
                    return other
                seen.add(other)
                waiting.append(other)
        return None

    def place_of(self, number: int) -> NodePlace | None:
        """What an object is in or on: a thing before furniture, inside before on top."""
        holder = self._holder(number)
        if holder is not None and not self._is_held_by(holder.node, number):
            return holder
        for place in self._places(number, WordKind.FURNITURE):
            return place
        room = self.room_of(number)
        return NodePlace(room, None) if room is not None else None

    def _places(self, number: int, place_kind: WordKind) -> Iterator[NodePlace]:
        for name, relation in (("INSIDE", Relation.WITHIN), ("ON", Relation.ON)):
            for kind, other in self._on.get(number, ()):
                word = self.known.get(other)
                if kind == name and word is not None and word.kind is place_kind:
                    yield NodePlace(other, relation)

    def _holder(self, number: int) -> NodePlace | None:
        """The thing that an object is in or on, if things of that class hold others here."""
        for place in self._places(number, WordKind.OBJECT):
            name = self.known[place.node].class_name
            if place.node != number and holds_things(name):
                relation = place.relation
                if relation is not None and part_by_word(name, relation) is None:
                    relation = Relation.ON if relation is Relation.WITHIN else Relation.WITHIN
                return NodePlace(place.node, relation)
        return None

    def _is_held_by(self, number: int, other: int) -> bool:
        """Whether a thing is in or on another one, however deep; also where the graph circles."""
        seen = {number}
        while (place := self._holder(number)) is not None:
            number = place.node
            if number == other or number in seen:
                return True
            seen.add(number)
        return False

    def states_of(self, number: int) -> dict[str, bool]:
        """Those of a node's states that we have."""
        words = self.nodes[number].states
        known = default_states().graph_words
        return dict(known[word.upper()] for word in words if word.upper() in known)
