"""Runs in process: what is left out where nothing happens changes nothing."""

from __future__ import annotations

import pytest

from planner.app.embedded_run import run_embedded
from planner.app.run import RunResult
from planner.app.run_options import RunOptions
from planner.planning.expert.expert import Expert
from planner.world.house_checks import load_episode
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions


def _run(name: str, *, leaps: bool, agents: int = 0) -> RunResult:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    episode, house = load_episode(name)
    return run_embedded(
        backend, house, episode, Expert, RunOptions(images=False, leaps=leaps), agents=agents
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "agents"),
    [
        ("lights_out_0", 0),
        pytest.param("fruit_0", 0, marks=pytest.mark.slow),
        # These change states of things in hands, and look into drawers while they open.
        pytest.param("pour_drink_0", 0, marks=pytest.mark.slow),
        pytest.param("fresh_vase_0", 0, marks=pytest.mark.slow),
        # A bowl is carried with what is in it.
        ("egg_bowl_0", 0),
        # The other agent stands about and makes way.
        ("globe_tour_0", 1),
    ],
)
def test_leaps_change_neither_events_nor_verdict(name: str, agents: int) -> None:
    leaping, stepping = (_run(name, leaps=leaps, agents=agents) for leaps in (True, False))
    assert leaping.events == stepping.events
    assert leaping.verdict == stepping.verdict
    assert leaping.sim_steps == stepping.sim_steps
    assert leaping.verdict.success


def test_a_run_is_the_same_again() -> None:
    assert _run("lights_out_0", leaps=True) == _run("lights_out_0", leaps=True)
