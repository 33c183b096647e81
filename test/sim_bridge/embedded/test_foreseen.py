"""Where agents are said to be in the next moments is where they then are."""

from __future__ import annotations

import math

import pytest

from planner.world.episode import Episode
from planner.world.house import House
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.foreseen import Leg, first_within_s, legs, stances
from sim_bridge.embedded.options import EmbeddedOptions

STEP_S = 1 / 30


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


def test_who_waits_sets_out_later(small_house: House, small_episode: Episode) -> None:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(small_house, small_episode, 0)
    agent = backend._loaded().agents["agent_0"]
    agent.remaining_path = [(agent.x_m + 1.0, agent.y_m)]
    at_once = legs(agent, 9.0)[-1].ends_s
    agent.pause_s = 0.3
    assert legs(agent, 9.0)[-1].ends_s == pytest.approx(at_once + 0.3)


def test_stances_are_those_that_come(small_house: House, small_episode: Episode) -> None:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(small_house, small_episode, 0)
    state = backend.world_state()
    assert state is not None
    agent = backend._loaded().agents["agent_0"]
    compared = 0
    for name, target in (
        (PrimitiveName.NAVIGATE, "sink_0"),
        (PrimitiveName.LOOK, "cup_0"),
        (PrimitiveName.NAVIGATE, "cup_0"),
    ):
        handle = backend.start("agent_0", Primitive(name, state.entities[target].box.center_m))
        while not backend.poll(handle).done:
            steps = backend.steady_steps(STEP_S, ["agent_0"])
            # The last of the steps may end what it does before it is over.
            foreseen = stances(agent, [STEP_S * step for step in range(1, steps)])
            for stance in foreseen:
                backend.step(STEP_S)
                for told, true in zip(stance, agent.stance, strict=True):
                    assert math.remainder(told - true, math.tau) == pytest.approx(0.0, abs=1e-6)
                compared += 1
            backend.step(STEP_S)
    assert compared > 60
