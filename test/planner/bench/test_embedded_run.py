"""Runs in process: what is left out where nothing happens changes nothing."""

from __future__ import annotations

import pytest

from planner.bench.embedded_run import run_embedded
from planner.bench.run import RunResult
from planner.planning.expert import Expert
from planner.world.house_checks import load_episode
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions


def _run(name: str, *, leaps: bool) -> RunResult:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    episode, house = load_episode(name)
    return run_embedded(backend, house, episode, Expert, images=False, leaps=leaps)


# The last two change states of things in hands, and look into drawers while they open.
@pytest.mark.parametrize("name", ["lights_out_0", "fruit_0", "pour_drink_0", "fresh_vase_0"])
def test_leaps_change_neither_events_nor_verdict(name: str) -> None:
    leaping, stepping = _run(name, leaps=True), _run(name, leaps=False)
    assert leaping.events == stepping.events
    assert leaping.verdict == stepping.verdict
    assert leaping.sim_steps == stepping.sim_steps
    assert leaping.verdict.success


def test_a_run_is_the_same_again() -> None:
    assert _run("lights_out_0", leaps=True) == _run("lights_out_0", leaps=True)
