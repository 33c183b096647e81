"""Point-goal navigation as a gymnasium environment."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv

from planner.app import navigation_env
from planner.app.navigation_env import NavigationEnv, score_policy, score_table
from planner.skills.policy.navigation_space import ACTIONS
from planner.world.house import House


def test_gymnasium_accepts_it(small_house: House) -> None:
    check_env(NavigationEnv((small_house,)), skip_render_check=True)
    vector = SyncVectorEnv([lambda: NavigationEnv((small_house,))] * 2)
    seen, _ = vector.reset(seed=1)
    assert seen["map"].shape == (2, 64, 64)
    assert not np.array_equal(seen["features"][0], seen["features"][1])
    assert vector.step(np.array([0, 5]))[1].shape == (2,)


def test_the_guide_arrives_by_about_the_shortest_way(small_house: House) -> None:
    walks = score_policy(None, (small_house,), 6, seed=3)
    assert all(walk.arrived for walk in walks)
    assert np.mean([walk.walked_m / walk.shortest_m for walk in walks]) < 1.1
    assert score_table(walks).splitlines()[-1].startswith("all: 6 of 6 arrived (1.00)")


def test_equal_seeds_and_acts_give_equal_episodes(small_house: House) -> None:
    def play() -> list[object]:
        environment = NavigationEnv((small_house,))
        seen, info = environment.reset(seed=5)
        found: list[object] = [seen["map"].tobytes(), info["shortest_m"]]
        for act in (0, 5, 1, 6, 0):
            seen, reward, *_ = environment.step(act)
            found += [seen["map"].tobytes(), seen["features"].tobytes(), reward]
        return found

    assert play() == play()


def test_progress_is_rewarded_and_arrival_most(small_house: House) -> None:
    environment = NavigationEnv((small_house,))
    _, info = environment.reset(seed=8)
    shortest_m, rewards, ended, hindered = info["shortest_m"], [], False, 0
    while not ended:
        seen, reward, ended, truncated, info = environment.step(environment.guided())
        hindered += int(seen["features"][4])
        rewards.append(reward)
        assert not truncated
    slack = len(rewards) * navigation_env.SLACK_PENALTY
    hits = hindered * navigation_env.COLLISION_PENALTY
    # What is left at the end, within 0.3 m, is no progress; cells are 0.1 m.
    total = shortest_m + navigation_env.SUCCESS_REWARD - slack - hits
    assert total - 0.5 < sum(rewards) <= total + 0.1
    assert info["distance_m"] <= 0.3


def test_an_episode_without_arrival_is_truncated(
    small_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(navigation_env, "MAX_ACTS", 3)
    environment = NavigationEnv((small_house,))
    environment.reset(seed=0)
    ends = [environment.step(ACTIONS.index((0.0, 1.0)))[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_without_houses_there_is_no_environment() -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        NavigationEnv(())
