"""The scene graph of the small house, derived from boxes alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.world.episode import Episode
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.scene_graph import Edge, EdgeKind, scene_graph
from planner.world.state import WorldState
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions


@pytest.fixture
def state(small_house: House, small_episode: Episode) -> WorldState:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(small_house, small_episode, 0)
    found = backend.world_state()
    assert found is not None
    return found


def test_the_levels_hang_together(small_house: House, state: WorldState) -> None:
    graph = scene_graph(small_house, state)
    assert graph.edges["table_0"] == Edge("table_0", EdgeKind.IN, "kitchen_0")
    assert graph.edges["floor_kitchen_0"] == Edge("floor_kitchen_0", EdgeKind.IN, "kitchen_0")
    assert graph.edges["agent_1"] == Edge("agent_1", EdgeKind.IN, "living_room_0")
    assert graph.edges["cup_0"].kind is EdgeKind.ON
    assert graph.edges["cup_0"].parent == "table_0"
    assert graph.room_of("cup_0") == "kitchen_0"
    assert graph.children("table_0") == ["apple_0", "cup_0"]
    assert "kitchen_0" not in graph.edges


def test_parents_follow_from_boxes_not_from_notes(small_house: House, state: WorldState) -> None:
    entities = dict(state.entities)
    lost = {"parent": "couch_0", "relation": None}
    entities["cup_0"] = replace(entities["cup_0"], pose=Pose.planar(1.5, 1.5), **lost)
    entities["apple_0"] = replace(entities["apple_0"], pose=Pose.planar(1.5, 1.5, 0.0, 1.2), **lost)
    cabinet = small_house.furniture_by_name["cabinet_0"]
    hollow = cabinet.interiors[0]
    x, y, z = cabinet.pose.apply(hollow.center)
    entities["book_0"] = replace(
        entities["book_0"], pose=Pose.planar(x, y, 0.0, z - 0.02), size_m=(0.1, 0.1, 0.04), **lost
    )
    graph = scene_graph(small_house, replace(state, entities=entities))
    assert graph.edges["cup_0"] == Edge("cup_0", EdgeKind.ON, "floor_kitchen_0", "floor")
    assert graph.edges["book_0"] == Edge("book_0", EdgeKind.WITHIN, "cabinet_0", hollow.name)
    # Nothing holds the apple up in mid-air.
    assert "apple_0" not in graph.edges
    assert graph.room_of("apple_0") is None


def test_a_held_thing_belongs_to_its_holder(small_house: House, state: WorldState) -> None:
    entities = dict(state.entities)
    entities["agent_0"] = replace(entities["agent_0"], holding="cup_0")
    graph = scene_graph(small_house, replace(state, entities=entities))
    assert graph.edges["cup_0"] == Edge("cup_0", EdgeKind.HELD_BY, "agent_0")
    assert graph.room_of("cup_0") == "kitchen_0"
