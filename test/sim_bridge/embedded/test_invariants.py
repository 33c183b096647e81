"""Whatever agents are asked to do, the world stays one that could exist."""

from __future__ import annotations

import itertools
import math

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.world.episode import Episode
from planner.world.house import House
from planner.world.primitive import Primitive, PrimitiveName
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind, Relation
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

AGENTS = ("agent_0", "agent_1")
OVERLAP_M = 1e-4

command = st.tuples(
    st.sampled_from(AGENTS),
    st.sampled_from(list(PrimitiveName)),
    st.integers(0, 40),
    st.sampled_from([None, Relation.ON, Relation.WITHIN]),
    st.booleans(),
    st.integers(1, 150),
)


def check(state: WorldState) -> None:
    holders = [e.name for e in state.entities.values() if e.holding is not None]
    held = [e.holding for e in state.entities.values() if e.holding is not None]
    assert len(held) == len(set(held))
    things = [e for e in state.entities.values() if e.kind is EntityKind.OBJECT]
    for thing in things:
        assert thing.parent is not None
        assert all(map(math.isfinite, thing.pose.position_m))
        if thing.relation is Relation.HELD:
            assert thing.parent in holders
            assert state.entities[thing.parent].holding == thing.name
        else:
            assert thing.name not in held
            assert thing.parent in state.entities or thing.parent.startswith("floor_")
    resting = [t for t in things if t.relation is not Relation.HELD]
    for a, b in itertools.combinations(resting, 2):
        assert not a.box.overlaps(b.box, -OVERLAP_M), (a, b)
    a, b = (state.entities[name].pose.position_m for name in AGENTS)
    assert math.dist(a, b) >= 2 * 0.28 - 1e-6


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(commands=st.lists(command, min_size=3, max_size=14))
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
