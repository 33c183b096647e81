"""Whole shipped episodes with the expert, in process (benchmarks/bench_expert.py runs them all)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from planner.app.embedded_run import run_embedded
from planner.app.run_options import RunOptions
from planner.planning.expert.expert import Expert
from planner.world.house_checks import load_episode
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

# Some of each type.
ALONE = ("bath_shelf_0", "laundry_0", "party_glasses_0", "boots_pair_0", "throw_away_0")
# What nobody names lies in closed furniture of a room that it does not belong to.
SHUT_AWAY = ("overnight_guest_0", "trophy_show_0")
TOGETHER = ("laundry_0", "scrub_0", "dirty_dishes_0", "bedside_0", "cold_drinks_0")


@pytest.fixture(scope="module")
def backend() -> Iterator[EmbeddedBackend]:
    made = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "agents"),
    [*((name, 1) for name in (*ALONE, *SHUT_AWAY)), *((name, 2) for name in TOGETHER)],
)
def test_the_expert_succeeds(backend: EmbeddedBackend, name: str, agents: int) -> None:
    episode, house = load_episode(name)
    result = run_embedded(backend, house, episode, Expert, RunOptions(images=False), agents=agents)
    assert result.verdict.success, result.verdict.explanation
    assert result.reason == "done"
    assert {event.agent for event in result.events} <= set(backend.agents[:agents])
