"""Whatever agents are asked to do, the world stays one that could exist."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_cases import random_cases

from planner.world.episode import Episode
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.primitive import Primitive, PrimitiveName, all_primitives
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind, Relation, held_things
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.opening import bare_episode

AGENTS = ("agent_0", "agent_1")
OVERLAP_M = 1e-4

command = st.tuples(
    st.sampled_from(AGENTS),
    st.sampled_from(all_primitives()),
    st.integers(0, 40),
    st.sampled_from([None, Relation.ON, Relation.WITHIN]),
    st.booleans(),
    st.integers(1, 150),
)


def check(state: WorldState) -> None:
    held = [name for e in state.entities.values() for name in held_things(e.hands)]
    assert len(held) == len(set(held))
    things = [e for e in state.entities.values() if e.kind is EntityKind.OBJECT]
    for thing in things:
        assert thing.parent is not None
        assert all(map(math.isfinite, thing.pose.position_m))
        if thing.relation is Relation.HELD:
            assert thing.name in state.entities[thing.parent].hands
        else:
            assert thing.name not in held
            assert thing.parent in state.entities or thing.parent.startswith("floor_")
    resting = [t for t in things if t.relation is not Relation.HELD]
    for a, b in itertools.combinations(resting, 2):
        assert not a.box.overlaps(b.box, -OVERLAP_M), (a, b)
    a, b = (state.entities[name].pose.position_m for name in AGENTS)
    assert math.dist(a, b) >= 2 * 0.28 - 1e-6


@pytest.mark.slow
@random_cases(15, 40, st.lists(command, min_size=3, max_size=14))
def test_one_place_one_holder_no_overlap(
    small_house: House, small_episode: Episode, commands: list[tuple[object, ...]]
) -> None:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(small_house, small_episode, 0)
    for agent, name, which, relation, approach, steps in commands:
        state = backend.world_state()
        assert state is not None
        names = sorted(state.entities)
        target = state.entities[names[which % len(names)]].box.center_m
        if approach:
            backend.start(agent, Primitive(PrimitiveName.NAVIGATE, target))
            for _ in range(400):
                backend.step(1 / 30)
        backend.start(agent, Primitive(name, target, relation=relation))
        for _ in range(steps):
            backend.step(1 / 30)
        after = backend.world_state()
        assert after is not None
        check(after)


@pytest.mark.slow
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(commands=st.lists(command, min_size=2, max_size=6), seed=st.integers(0, 99))
def test_the_same_calls_give_the_same_world(
    small_house: House,
    small_episode: Episode,
    commands: list[tuple[object, ...]],
    seed: int,
) -> None:
    def play() -> WorldState | None:
        backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
        backend.reset(small_house, small_episode, seed)
        for agent, name, which, relation, _, steps in commands:
            state = backend.world_state()
            assert state is not None
            names = sorted(state.entities)
            target = state.entities[names[which % len(names)]].box.center_m
            backend.start(agent, Primitive(name, target, relation=relation))
            for _ in range(steps):
                backend.step(1 / 30)
        return backend.world_state()

    assert play() == play()


def test_what_is_carried_past_furniture_is_not_inside_of_it() -> None:
    house = load_house("train_0")
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(house, bare_episode(house, 1), 0)
    world = backend._loaded()
    agent, thing = world.agents["agent_0"], next(iter(world.things.values()))
    world.take(agent, thing)
    rng = random.Random(0)
    grid = world.ground.grid(agent.body.radius_m)
    drawn_in = 0
    for x, y in rng.sample(grid.free_points_m.tolist(), 400):
        world.move_agent(agent, x, y, rng.uniform(-math.pi, math.pi))
        away_m = math.dist((thing.x_m, thing.y_m), (x, y))
        drawn_in += away_m < math.hypot(*agent.body.hand_m[:2]) - 1e-6
        for piece in world.pieces.values():
            along, across, _ = map(abs, piece.to_local((thing.x_m, thing.y_m, 0.0)))
            width, depth, height = piece.record.size_m
            over = thing.z_m >= height or along > width / 2 - 0.01 or across > depth / 2 - 0.01
            assert over, (piece.name, x, y)
    assert 0 < drawn_in < 400
