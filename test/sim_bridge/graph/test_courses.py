"""What is foreseen of agents' ways is what single steps lead to."""

from __future__ import annotations

import random

import pytest

from planner.evaluation.scene import world_box
from planner.world.house_checks import load_house
from planner.world.primitive import Primitive, PrimitiveName
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind
from sim_bridge.graph.backend import GraphBackend
from sim_bridge.opening import bare_episode

DT_S = 1 / 30


def state_of(backend: GraphBackend) -> WorldState:
    state = backend.world_state()
    assert state is not None
    return state


def next_primitive(backend: GraphBackend, agent: str, rng: random.Random) -> Primitive:
    """Picks up what is near, or walks to a thing."""
    state = state_of(backend)
    me = state.entities[agent]
    things = [e for e in state.entities.values() if e.kind is EntityKind.OBJECT]
    near = [e for e in things if e.room == me.room and e.box.distance_m(me.pose.position_m) < 1.4]
    if near and not me.holding:
        return Primitive(PrimitiveName.PICK, near[0].box.center_m)
    return Primitive(PrimitiveName.NAVIGATE, rng.choice(things).box.center_m)


@pytest.mark.slow
def test_predicted_positions_and_reach_are_those_of_single_steps() -> None:
    house = load_house("train_0")
    backend = GraphBackend()
    backend.reset(house, bare_episode(house, 2), 3)
    rng = random.Random(3)
    handles = dict.fromkeys(backend.agents, -1)
    foreseen, carried = 0, 0
    while backend.now_s() < 60.0:
        for agent, handle in handles.items():
            if handle < 0 or backend.poll(handle).done:
                handles[agent] = backend.start(agent, next_primitive(backend, agent, rng))
        count = backend.steady_steps(DT_S, list(handles))
        reach = backend.reach(DT_S, count)
        expected = [
            {name: backend.predicted_position(name, DT_S * step) for name in backend.agents}
            for step in range(1, count)
        ]
        for ahead in expected:
            backend.step(DT_S)
            entities = state_of(backend).entities
            for agent, (position_m, yaw_rad, _) in ahead.items():
                assert entities[agent].pose.position_m == pytest.approx(position_m, abs=1e-6)
                assert entities[agent].pose.yaw_rad == pytest.approx(yaw_rad, abs=1e-6)
                assert reach[agent].contains((*position_m[:2], 0.0), 1e-6)
            for name in reach.keys() - ahead.keys():
                box = world_box(entities[name])
                assert reach[name].contains(box.minimum_m, 1e-6)
                assert reach[name].contains(box.maximum_m, 1e-6)
                carried += 1
            foreseen += 1
        backend.step(DT_S)
    assert foreseen > 500
    assert carried > 100


def test_what_only_moves_with_an_agent_is_not_handled() -> None:
    house = load_house("train_0")
    backend = GraphBackend()
    backend.reset(house, bare_episode(house, 1), 3)
    state = state_of(backend)
    goal = next(e for e in state.entities.values() if e.kind is EntityKind.OBJECT)
    before = backend.handled_revision, backend.revision
    handle = backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, goal.box.center_m))
    while not backend.poll(handle).done:
        backend.step(DT_S)
    assert backend.handled_revision == before[0]
    assert backend.revision > before[1]
    picking = backend.start("agent_0", Primitive(PrimitiveName.PICK, goal.box.center_m))
    while not backend.poll(picking).done:
        backend.step(DT_S)
    result = backend.poll(picking).result
    assert result is not None
    assert result.succeeded, result.text
    assert backend.handled_revision > before[0]
