"""Reaching for points on furniture as a gymnasium environment."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from planner.app import manipulation_env
from planner.app.manipulation_env import ManipulationEnv, handling_table, score_handling
from planner.skills.policy.handling import GRASP, MOVES
from planner.world.house import House


def test_gymnasium_accepts_it(small_house: House) -> None:
    check_env(ManipulationEnv((small_house,)), skip_render_check=True)


def test_the_guide_grasps_every_target(small_house: House) -> None:
    tries = score_handling(None, (small_house,), 20, seed=3)
    assert all(one.grasped for one in tries)
    assert sum(one.failed_grasps for one in tries) == 0
    assert handling_table(tries).splitlines()[-1].startswith("all: 20 of 20 grasped (1.00)")


def test_equal_seeds_and_acts_give_equal_episodes(small_house: House) -> None:
    def play() -> list[object]:
        environment = ManipulationEnv((small_house,))
        seen, _ = environment.reset(seed=5)
        found: list[object] = [seen["map"].tobytes()]
        for act in (0, 2, 4, 8, GRASP):
            seen, reward, *_ = environment.step(act)
            found += [seen["map"].tobytes(), seen["features"].tobytes(), reward]
        return found

    assert play() == play()


def test_a_grasp_from_afar_is_failed_grasps_and_one_that_is_close_ends_the_episode(
    small_house: House,
) -> None:
    environment = ManipulationEnv((small_house,))
    _, info = environment.reset(seed=1)
    while info["is_close"]:
        _, info = environment.reset()
    _, reward, ended, _, _ = environment.step(GRASP)
    assert not ended
    assert reward < 0
    while not info["is_close"]:
        _, _, _, truncated, info = environment.step(environment.guided())
        assert not truncated
    _, reward, ended, _, _ = environment.step(GRASP)
    assert ended
    assert reward > 2.0


def test_coming_closer_is_rewarded(small_house: House) -> None:
    environment = ManipulationEnv((small_house,))
    for seed in range(5):
        environment.reset(seed=seed)
        rewards, ended = [], False
        while not ended:
            _, reward, ended, *_ = environment.step(environment.guided())
            rewards.append(reward)
        away = [environment.step(MOVES.index((-0.6, 0.0, 0.0, 0.0)))[1] for _ in range(8)]
        assert sum(away) < 0 < np.mean(rewards)


def test_an_episode_without_a_grasp_is_truncated(
    small_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manipulation_env, "MAX_ACTS", 2)
    environment = ManipulationEnv((small_house,))
    environment.reset(seed=0)
    ends = [environment.step(2)[2:4] for _ in range(2)]
    assert ends == [(False, False), (False, True)]


def test_without_houses_there_is_no_environment() -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        ManipulationEnv(())
