"""The belief that planners and skills read: rooms, furniture, floors, agents and things.

Built from the layout and the entity list. A node that did not change is the same record as
before, so that a snapshot of a large house costs little more than a dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from planner.world.agents import body_of
from planner.world.belief import Belief, BeliefNode, Entity, Source, carriers
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Vec3, record
from planner.world.house import Furniture, House, Room
from planner.world.vocabulary import (
    EntityKind,
    Hand,
    Hands,
    Relation,
    floor_name,
    free_hand,
    with_thing,
)


@record
class AgentBelief:
    """Where an agent is and faces; `class_name` is its kind, "agent" where nobody told."""

    name: str
    class_name: str
    position_m: Vec3
    source: Source
    stamp_s: float
    heading_rad: float | None = None


class BeliefBuilder:
    """Makes beliefs of one house."""

    def __init__(self, layout: House) -> None:
        """Makes the nodes that never change."""
        self._layout = layout
        self._fixed: dict[str, BeliefNode] = {}
        for room in layout.rooms:
            self._fixed[room.name] = _room_node(room)
        for room in layout.rooms:
            floor = _floor_node(room)
            self._fixed[floor.name] = floor
        self._made: dict[str, tuple[Entity, BeliefNode]] = {}
        self._agents: dict[str, tuple[AgentBelief, BeliefNode]] = {}
        # Of the entities that were asked about last: all but agents and things, then things.
        self._entities: Iterable[Entity] = ()
        self._standing: dict[str, BeliefNode] = self._fixed
        self._things: list[tuple[Entity, BeliefNode]] = []
        self._held: dict[str, list[Entity]] = {}
        self._carriers: dict[str, str] = {}

    def belief(
        self,
        entities: Iterable[Entity],
        agents: Iterable[AgentBelief],
        sequence: int,
        stamp_s: float,
    ) -> Belief:
        """The belief at `stamp_s`: rooms, floors, furniture, agents, then things by number."""
        if entities is not self._entities or not isinstance(entities, tuple):
            self._take_up(entities)
        nodes = dict(self._standing)
        for agent in agents:
            node = self._agent(agent)
            held = self._held.get(agent.name)
            if held:
                node = replace(node, hands=_loaded(node.hands, held))
            nodes[agent.name] = node
        for entity, node in self._things:
            carrier = self._carriers.get(entity.name)
            holder = nodes.get(carrier or "")
            if holder is not None:
                # What is held is where its holder is, and so is what is in or on it.
                node = replace(node, position_m=holder.position_m, room=holder.room)
            nodes[entity.name] = node
        return Belief(stamp_s, sequence, nodes)

    def _take_up(self, entities: Iterable[Entity]) -> None:
        """Makes the nodes of entities that changed; nothing else tells one list from the next."""
        self._entities = entities
        self._standing = dict(self._fixed)
        self._held.clear()
        self._things.clear()
        made: dict[str, tuple[Entity, BeliefNode]] = {}
        for entity in entities:
            old = self._made.get(entity.name)
            node = old[1] if old is not None and old[0] is entity else self._entity_node(entity)
            made[entity.name] = (entity, node)
            if entity.is_furniture:
                self._standing[entity.name] = node
                continue
            self._things.append((entity, node))
            if entity.picked and entity.parent is not None:
                self._held.setdefault(entity.parent, []).append(entity)
        self._made = made
        self._carriers = carriers(self._entities)

    def _agent(self, agent: AgentBelief) -> BeliefNode:
        old = self._agents.get(agent.name)
        if old is None or old[0] is not agent:
            old = self._agents[agent.name] = (agent, self._agent_node(agent))
        return old[1]

    def _agent_node(self, agent: AgentBelief) -> BeliefNode:
        room = self._layout.room_at(agent.position_m[0], agent.position_m[1])
        body = body_of(agent.class_name)
        return BeliefNode(
            name=agent.name,
            kind=EntityKind.AGENT,
            class_name=agent.class_name,
            entity_id=None,
            position_m=agent.position_m,
            room=room,
            parent=room,
            hands=() if body is None else (None,) * body.hands,
            source=agent.source,
            stamp_s=agent.stamp_s,
            heading_rad=agent.heading_rad,
        )

    def _entity_node(self, entity: Entity) -> BeliefNode:
        piece = self._layout.furniture_by_name.get(entity.name) if entity.is_furniture else None
        return BeliefNode(
            name=entity.name,
            kind=EntityKind.OBJECT if piece is None else EntityKind.FURNITURE,
            class_name=entity.class_name,
            entity_id=entity.entity_id,
            position_m=entity.position_m,
            size_m=entity.size_m,
            room=entity.room,
            parent=entity.parent,
            relation=Relation.HELD if entity.picked else entity.relation,
            affordances=_affordances(entity, piece),
            states=entity.states,
            openness=entity.openness,
            source=entity.source,
            stamp_s=entity.stamp_s,
            description=entity.description,
            look=entity.look,
            maybe=entity.maybe,
            person=entity.person,
        )


def _loaded(hands: Hands, held: Iterable[Entity]) -> Hands:
    """What hands hold: each thing in its own where that is known, the others in those left."""
    for entity in sorted(held, key=lambda e: e.hand is None):
        hand = entity.hand or free_hand(hands)
        # What is believed to be in a full hand, the newest number is right about.
        hands = with_thing(hands, hand or Hand.RIGHT, entity.name)
    return hands


def _affordances(entity: Entity, piece: Furniture | None) -> tuple[str, ...]:
    """Of furniture as the layout says; of a thing as its class has them in the catalogue."""
    if piece is not None:
        return piece.affordances
    catalogue = default_catalogue()
    name = catalogue.object_name(entity.class_name)
    return catalogue.objects[name].affordances if name is not None else ()


def _room_node(room: Room) -> BeliefNode:
    middle = room.shape.representative_point()
    x0, y0, x1, y1 = room.shape.bounds
    return BeliefNode(
        name=room.name,
        kind=EntityKind.ROOM,
        class_name=room.class_name,
        entity_id=None,
        position_m=(float(middle.x), float(middle.y), 0.0),
        size_m=(x1 - x0, y1 - y0, room.height_m),
        room=room.name,
    )


def _floor_node(room: Room) -> BeliefNode:
    node = _room_node(room)
    return replace(
        node,
        name=floor_name(room.name),
        kind=EntityKind.FURNITURE,
        class_name="floor",
        size_m=(node.size_m[0], node.size_m[1], 0.0),
        parent=room.name,
    )
