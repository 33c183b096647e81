"""The environment beside gymnasium's own wrappers and vector environments, to its end."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

import av
import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordVideo

from planner.household_env import HouseholdEnv

TASK = "night_light_0"
LOOK = "Explore[bedroom_0]"


@pytest.fixture
def env():
    made = HouseholdEnv(TASK)
    yield made
    made.close()


@pytest.mark.parametrize("action", [3, None, b"Done[]", ["Done[]"], {"call": 1}, np.zeros(2)])
def test_an_action_of_another_type_fails_and_takes_no_time(env: HouseholdEnv, action) -> None:
    before, _ = env.reset(seed=1)
    seen, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated, info["code"]) == (0.0, False, False, "UNPARSABLE")
    kind = type(action).__name__
    assert f"an action is a text such as Pick[cup_0], not {kind}." in seen["result"]
    assert seen["memory"] == before["memory"]
    # As vector environments give it.
    _, _, terminated, _, info = env.step(np.str_("Done[]"))
    assert (terminated, info["code"]) == (True, "SUCCESS")


def test_what_is_done_after_the_end_is_refused_by_name(env: HouseholdEnv) -> None:
    env.reset(seed=1)
    env.close()
    env.close()
    for used in (env.reset, env.render, partial(env.step, "Done[]")):
        with pytest.raises(RuntimeError, match="the environment is closed"):
            used()


def test_another_render_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="render_mode: expected rgb_array or None, got 'human'"):
        HouseholdEnv(TASK, render_mode="human")


_LEFT_OPEN = f"""
import warnings
from planner.household_env import HouseholdEnv
warnings.simplefilter("error")
for _ in range(2):
    env = HouseholdEnv({TASK!r})
    env.reset(seed=1)
    env.step({LOOK!r})
    env.reset(seed=2)
"""


@pytest.mark.parametrize("end", ["", pytest.param("env.close()", marks=pytest.mark.slow)])
def test_it_ends_without_a_word_also_where_nobody_closes_it(end: str) -> None:
    """In the middle of an episode, forgotten, or open when the program ends."""
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", _LEFT_OPEN + end],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])  # noqa: S301
def test_a_pickled_environment_is_a_new_one_with_the_same_arguments(again) -> None:
    with HouseholdEnv("desk_tidy_0", agent="agent_1") as env:
        first, _ = env.reset(seed=3)
        env.step("Explore[office_0]")
        with again(env) as other:
            assert other.render_mode is None
            assert other.reset(seed=3)[0] == first
        # The other one's end is not this one's.
        assert env.step("Wait[]")[4]["code"] == "SUCCESS"


def test_memory_that_would_never_change_is_refused() -> None:
    """Gymnasium reads shared texts only once; without a word, observations would be garbage."""
    with pytest.raises(ValueError, match="shared_memory=False"):
        gymnasium.vector.AsyncVectorEnv([partial(HouseholdEnv, TASK)])


@pytest.mark.slow
def test_environments_run_in_processes_of_their_own() -> None:
    make = partial(HouseholdEnv, TASK)
    asynchronous = partial(gymnasium.vector.AsyncVectorEnv, [make, make], context="spawn")
    envs = asynchronous(shared_memory=False)
    try:
        seen, _ = envs.reset(seed=[1, 2])
        assert all(text.startswith("Switch off") for text in seen["instruction"])
        assert all("bedroom_0" in text for text in seen["memory"])
        seen, _, ended, _, info = envs.step((LOOK, "Done[]"))
        assert ended.tolist() == [False, True]
        assert info["code"].tolist() == ["SUCCESS", "SUCCESS"]
        assert seen["result"][0] == "Successful execution!"
    finally:
        envs.close()


def test_gymnasium_records_a_video_with_a_picture_for_each_skill(tmp_path: Path) -> None:
    made = HouseholdEnv(TASK, render_mode="rgb_array")
    check_env(made)
    env = RecordVideo(made, str(tmp_path / "videos"), episode_trigger=lambda _: True)
    env.reset(seed=1)
    env.step(LOOK)
    env.step("Done[]")
    frame = made.render()
    env.close()
    (path,) = (tmp_path / "videos").iterdir()
    with av.open(str(path)) as video:
        pictures = [picture.to_ndarray(format="rgb24") for picture in video.decode(video=0)]
        assert float(video.streams.video[0].average_rate) == 1.0
    assert len(pictures) == 3
    assert pictures[0].shape == frame.shape
    assert np.abs(pictures[1].astype(int) - pictures[0]).mean() > 5, "the robot has moved"
    assert np.abs(pictures[2].astype(int) - frame).mean() < 20, "the last picture is the last state"
