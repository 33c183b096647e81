"""Messages of the world and of beliefs carry what things look like."""

from __future__ import annotations

from planner.episodes.start_state import start_entities
from planner.planning.full_view import full_belief
from planner.ros.memory_messages import GraphMessages
from planner.ros.world_messages import entity_message
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.look import Color, Look, Material
from planner.world.state import WorldState
from planner.world.wire import entity_record, graph_record


def test_a_look_arrives_beside_the_states(small_house: House, small_episode: Episode) -> None:
    entities = start_entities(small_episode, small_house, default_catalogue())
    assert entities["cup_0"].look == Look(Color.RED, Material.CERAMIC)
    for entity in entities.values():
        arrived = entity_record(entity_message(entity))
        assert (arrived.look, arrived.states or {}) == (entity.look, entity.states or {})
    belief = full_belief(WorldState(0.0, 0, 0, "small", "small", entities))
    nodes = graph_record(GraphMessages().message(belief)).nodes
    for name, node in belief.nodes.items():
        assert (nodes[name].look, nodes[name].states) == (node.look, node.states)
