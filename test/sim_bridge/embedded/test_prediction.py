"""Where agents are said to be in the next moments is where they then are."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from planner.world.episode import Episode
from planner.world.house import House
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.backend import Handle
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.entities import Leg
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.embedded.prediction import (
    can_predict_stance,
    first_within_s,
    legs,
    predicted_stance,
)


def straight(x: float, y: float, vx: float, vy: float, ends_s: float = math.inf) -> list[Leg]:
    return [Leg(0.0, ends_s, (x, y), (vx, vy), 0.0, 0.0)]


def test_two_that_meet_are_near_in_time() -> None:
    one, other = straight(0, 0, 1, 0), straight(10, 0, -1, 0)
    assert first_within_s(one, other, 1.0, 20.0) == pytest.approx(4.5)
    assert first_within_s(one, other, 1.0, 3.0) == 3.0
    # One that stands where nobody comes by is never met.
    assert first_within_s(one, straight(5, 2, 0, 0), 1.0, 20.0) == 20.0
    # What is known ends with the shorter way.
    assert first_within_s(one, straight(5, 5, 0, 1, ends_s=2.0), 1.0, 20.0) == 2.0


def test_near_ones_are_met_unless_each_goes_away_from_the_other() -> None:
    assert first_within_s(straight(0, 0, -1, 0), straight(0.5, 0, 1, 0), 1.0, 9.0) == 9.0
    # It is left behind, but runs up to where the other still is.
    assert first_within_s(straight(0, 0, 1, 0), straight(0.5, 0, 2, 0), 1.0, 9.0) == 0.0


def test_where_a_walker_is_said_to_stand_it_then_stands(
    small_house: House, small_episode: Episode
) -> None:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(small_house, small_episode, 0)
    agent = backend._loaded().agents["agent_0"]
    state = backend.world_state()
    assert state is not None
    assert can_predict_stance(agent)
    target = state.entities["book_0"].box.center_m
    handle = backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, target))
    seen = _stands_as_said(backend, handle)
    assert seen["walking"] > 30
    assert seen["turning"] > 5
    # Then it looks to both sides, and turns to what it works on.
    views = ((0.5, 0.2), (-0.9, 0.4))
    look = Primitive(PrimitiveName.LOOK, target, views_rad=views)
    assert _stands_as_said(backend, backend.start("agent_0", look))["looking"] > 30
    assert agent.points_to_rad is None
    grasp = backend.start("agent_0", Primitive(PrimitiveName.PICK, target))
    assert _stands_as_said(backend, grasp)["reaching"] > 5


def _stands_as_said(backend: EmbeddedBackend, handle: Handle) -> Counter[str]:
    """Lets a primitive end; in how many steps of its phases agent_0 stood as was said before."""
    agent, seen = backend._loaded().agents["agent_0"], Counter[str]()
    while not backend.poll(handle).done:
        assert can_predict_stance(agent)
        phase, steps = backend.poll(handle).phase, backend.steady_steps(1 / 30, ["agent_0"])
        said = [predicted_stance(agent, step / 30) for step in range(1, min(20, steps))]
        for stance in said:
            backend.step(1 / 30)
            assert stance == pytest.approx(agent.stance, abs=1e-9)
            seen[phase] += 1
        backend.step(1 / 30)
    assert backend.poll(handle).result is not None
    return seen


def test_an_agent_that_waits_sets_out_later(small_house: House, small_episode: Episode) -> None:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(small_house, small_episode, 0)
    agent = backend._loaded().agents["agent_0"]
    agent.remaining_path = [(agent.x_m + 1.0, agent.y_m)]
    at_once = legs(agent, 9.0)[-1].ends_s
    agent.pause_s = 0.3
    assert legs(agent, 9.0)[-1].ends_s == pytest.approx(at_once + 0.3)
