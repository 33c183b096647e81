"""Teams of equals of any size (LLAMAR-D47)."""

from __future__ import annotations

import pytest

from planner.episodes.episode_file import read_pack
from planner.world.episode import Episode, read_episode, with_team
from planner.world.errors import PlannerError
from planner.world.share import config_dir
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions


@pytest.fixture(scope="module")
def episode() -> Episode:
    return read_pack(config_dir() / "suites" / "llamar.json.gz").episodes[0]


@pytest.mark.parametrize("size", range(1, 7))
def test_a_team_has_as_many_of_one_kind_as_are_asked_for(episode, size) -> None:
    team = with_team(episode, size).agents
    assert [agent.uid for agent in team] == [f"agent_{i}" for i in range(size)]
    assert {agent.kind for agent in team} == {episode.agents[0].kind}


def test_nothing_changes_without_a_size_or_a_checklist(episode) -> None:
    assert with_team(episode, 0) is episode
    assert with_team(episode, 2) is episode
    partnr = read_episode(config_dir() / "episodes" / "train" / "fruit_0.json")
    assert with_team(partnr, 1) is partnr


@pytest.mark.parametrize("size", [-1, 7])
def test_a_size_that_no_world_has_is_refused(episode, size) -> None:
    with pytest.raises(PlannerError, match=f"expected 0 to 6, got {size}"):
        with_team(episode, size)


def test_six_fit_into_each_single_room() -> None:
    pack = read_pack(config_dir() / "suites" / "llamar.json.gz")
    for house in pack.houses:
        task = next(e for e in pack.episodes if e.house == house.name)
        backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
        try:
            backend.reset(house, with_team(task, 6), 1)
            assert len(backend.agents) == 6, house.name
        finally:
            backend.close()
