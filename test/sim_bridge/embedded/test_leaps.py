"""A long step comes to the same as the short ones, and things stay where they are said to."""

from __future__ import annotations

import random

import pytest

from planner.evaluation.scene import world_box
from planner.world.house_checks import load_house
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.opening import bare_episode

DT_S = 1 / 30
AGENTS = 2


def _random_primitive(backend: EmbeddedBackend, agent: str, rng: random.Random) -> Primitive:
    """Mostly walks to wherever things and furniture are, so that agents meet."""
    state = backend.world_state()
    assert state is not None
    me = state.entities[agent]
    pieces = [e for e in state.entities.values() if e.openness is not None]
    near = [e for e in pieces if e.room == me.room]
    if near and rng.random() < 0.5:
        name = rng.choice([PrimitiveName.OPEN, PrimitiveName.CLOSE])
        return Primitive(name, rng.choice(near).box.center_m)
    if rng.random() < 0.3:
        here = [e for e in state.entities.values() if e.room == me.room and e.openness is None]
        place = rng.choice(here).box.center_m
        act = PrimitiveName.PLACE if me.holding else PrimitiveName.PICK
        return Primitive(rng.choice([act, PrimitiveName.LOOK]), place)
    return Primitive(PrimitiveName.NAVIGATE, rng.choice(pieces).box.center_m)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_leaps_and_steps_lead_to_the_same_world(seed: int) -> None:
    house = load_house("train_0")
    episode = bare_episode(house, AGENTS)
    leaping, stepping = (EmbeddedBackend(EmbeddedOptions(renderer="none")) for _ in range(2))
    for backend in (leaping, stepping):
        backend.reset(house, episode, seed)
    rng = random.Random(seed)
    handles = dict.fromkeys(leaping.agents, -1)
    leaps, reached = 0, 0
    while leaping.now_s() < 80.0:
        for agent, handle in handles.items():
            if handle < 0 or leaping.poll(handle).done:
                primitive = _random_primitive(leaping, agent, rng)
                handles[agent] = leaping.start(agent, primitive)
                assert stepping.start(agent, primitive) == handles[agent]
        count = leaping.steady_steps(DT_S, list(handles))
        boxes = leaping.reach(DT_S, count) if count > 1 else {}
        before = stepping.handled_revision
        leaping.leap(DT_S, count)
        for step in range(1, count + 1):
            stepping.step(DT_S)
            state = stepping.world_state()
            assert state is not None
            for name, box in boxes.items():
                # What is put down in the last step is looked at by the judge anyway.
                if step < count or stepping.handled_revision == before:
                    inside = world_box(state.entities[name])
                    assert box.contains(inside.minimum_m, 1e-6)
                    assert box.contains(inside.maximum_m, 1e-6)
                    reached += 1
        for handle in handles.values():
            assert leaping.poll(handle).result == stepping.poll(handle).result
        one, other = leaping.world_state(), stepping.world_state()
        assert one is not None
        assert other is not None
        assert one.step == other.step
        for name, entity in one.entities.items():
            place, same = entity.pose.position_m, other.entities[name].pose.position_m
            assert place == pytest.approx(same, abs=1e-6)
            assert entity.openness == pytest.approx(other.entities[name].openness)
        leaps += count > 1
    assert leaps > 50
    assert reached > 100
