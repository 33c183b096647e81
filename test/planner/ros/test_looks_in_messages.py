"""Messages of the world and of beliefs carry what things look like and where agents face."""

from __future__ import annotations

import pytest

from planner.episodes.start_state import start_entities
from planner.planning.planner_inputs import full_belief
from planner.ros.memory_messages import GraphMessages
from planner.ros.sightings import entity_message
from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.shapes import Color, Look, Material
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind
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


def test_second_guesses_arrive_beside_the_states() -> None:
    kind, states = EntityKind.OBJECT, {"clean": True}
    maybe = (("pen", 0.6), ("toy_airplane", 0.35))
    node = BeliefNode("tablet_7", kind, "tablet", 7, (1, 2, 0), states=states, maybe=maybe)
    message = GraphMessages().message(Belief(0.0, 0, {node.name: node}))
    arrived = graph_record(message).nodes[node.name]
    assert (arrived.states, arrived.maybe, arrived.look) == (states, maybe, node.look)


def test_the_heading_of_an_agent_arrives() -> None:
    def agent(name: str, heading_rad: float | None) -> BeliefNode:
        kind = EntityKind.AGENT
        return BeliefNode(name, kind, "robot", None, (1.0, 2.0, 0.0), heading_rad=heading_rad)

    nodes = {"agent_0": agent("agent_0", -2.5), "agent_1": agent("agent_1", None)}
    arrived = graph_record(GraphMessages().message(Belief(0.0, 0, nodes))).nodes
    assert arrived["agent_0"].heading_rad == pytest.approx(-2.5)
    assert arrived["agent_1"].heading_rad is None
