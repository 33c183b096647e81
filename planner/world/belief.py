"""The belief about the house: the memory's content as planners and skills read it.

A belief may be wrong. Rooms and furniture come from the house's layout; things and agents from what
was seen, told or inferred.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from planner.world.geometry import Vec3
from planner.world.hands import Hands, first_held
from planner.world.look import UNKNOWN_LOOK, Look
from planner.world.record import record
from planner.world.second_guess import Guesses
from planner.world.vocabulary import EntityKind, Relation

# Class of a thing in the memory that has no class yet.
UNNAMED_CLASS = "thing"
_OBJECT_ID = re.compile(r"Object[. ](\d+)")


class Source(StrEnum):
    """The source of a belief."""

    SEEN = "seen"
    TOLD = "told"
    INFERRED = "inferred"


@record
class BeliefNode:
    """One believed entity.

    Attributes:
        name: unique; furniture, rooms and agents as in the layout, things as named by the updater
            or `<class>_<id>`.
        kind: level of the scene graph; floors are furniture of class `floor`.
        class_name: semantic class of the catalogue, or a model's free text.
        entity_id: number in EPM's entity list (`Object.149`); None for rooms, floors, agents.
        position_m: centre of its box in the map frame, metres.
        size_m: extent along its own axes; zeros if unknown.
        room: room's name, or None if unknown.
        parent: what it is on, within or held by; a furniture's room; None if unknown.
        relation: of a thing to its parent.
        states: only known ones.
        openness: of furniture, 0 closed to 1 open; None if nothing opens.
        heading_rad: of an agent, from +x towards +y of the map; None if unknown.
        hands: of an agent, what each of its hands is believed to hold.
        source: of the belief.
        stamp_s: when its source last confirmed it, seconds of the world's clock.
        description: EPM's text of the entity.
        look: of furniture and things, as far as it is known.
        maybe: of a thing, what else it may be; see `planner.world.second_guess`.
    """

    name: str
    kind: EntityKind
    class_name: str
    entity_id: int | None
    position_m: Vec3
    size_m: Vec3 = (0.0, 0.0, 0.0)
    room: str | None = None
    parent: str | None = None
    relation: Relation | None = None
    affordances: tuple[str, ...] = ()
    states: Mapping[str, bool] = field(default_factory=dict)
    openness: float | None = None
    hands: Hands = ()
    source: Source = Source.TOLD
    stamp_s: float = 0.0
    description: str = ""
    look: Look = UNKNOWN_LOOK
    heading_rad: float | None = None
    maybe: Guesses = ()

    @property
    def holding(self) -> str | None:
        """What the first full hand of an agent is believed to hold."""
        return first_held(self.hands)


@dataclass(frozen=True)
class Belief:
    """A snapshot: nodes by name, as of the memory's update `sequence` at `stamp_s`."""

    stamp_s: float
    sequence: int
    nodes: Mapping[str, BeliefNode]

    @cached_property
    def _by_id(self) -> dict[int, BeliefNode]:
        return {n.entity_id: n for n in self.nodes.values() if n.entity_id is not None}

    @cached_property
    def _folded(self) -> dict[str, BeliefNode]:
        return {name.lower(): node for name, node in self.nodes.items()}

    def find(self, word: str) -> BeliefNode | None:
        """The node named by a call's argument.

        Accepts a name, `Object.149`, `Object 149`, and `149_cup` (PARTNR-D40).
        """
        node = self.nodes.get(word) or self._folded.get(word.lower())
        if node is not None:
            return node
        match = _OBJECT_ID.fullmatch(word)
        if match is not None:
            return self._by_id.get(int(match.group(1)))
        number, separator, class_name = word.partition("_")
        if separator and number.isascii() and number.isdigit():
            return self.nodes.get(f"{class_name}_{number}")
        return None

    def of_kind(self, kind: EntityKind) -> list[BeliefNode]:
        """All nodes of a kind, in the order in which they became known."""
        return [node for node in self.nodes.values() if node.kind is kind]

    def base_of(self, node: BeliefNode) -> BeliefNode:
        """The lowest of the things that a thing is on or in; itself if it is on or in none."""
        seen: set[str] = set()
        holder = self.nodes.get(node.parent or "")
        while holder is not None and holder.kind is EntityKind.OBJECT and holder.name not in seen:
            seen.add(holder.name)
            node, holder = holder, self.nodes.get(holder.parent or "")
        return node

    def inside(self, parent: str) -> list[BeliefNode]:
        """The things believed on, within or held by a node."""
        return [
            node
            for node in self.nodes.values()
            if node.parent == parent and node.kind is EntityKind.OBJECT
        ]
