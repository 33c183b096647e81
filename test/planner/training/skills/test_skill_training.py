"""Training of policies, small: it runs to the end, goes on, and writes a policy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner.app.manipulation_env import ManipulationEnv
from planner.app.navigation_env import NavigationEnv
from planner.skills.policy.handling import MANIPULATION
from planner.skills.policy.navigation_space import ACTIONS, FEATURES, NAVIGATION
from planner.skills.policy.policy_file import CELLS, PolicySpace, read_policy, scores
from planner.training.skill_imitation import (
    ImitationRecipe,
    collect,
    held_back_houses,
    train_by_imitation,
    training_houses,
)
from planner.world.errors import FileError, PlannerError
from planner.world.house import House

TINY = ImitationRecipe(rounds=2, first=60, more=30, steps=3, batch=16)


def test_samples_are_what_the_guide_would_do(small_house: House) -> None:
    samples = collect(
        NAVIGATION, NavigationEnv((small_house,)), None, 40, replace(TINY, noise=0.0), 0
    )
    assert samples.maps.shape == (40, CELLS, CELLS)
    assert samples.maps.any()
    # The next sample says which act came before.
    acts = samples.acts[:-1]
    last = samples.features[1:, 5:]
    same = [row.argmax() == act for row, act in zip(last, acts, strict=True) if row.any()]
    assert all(same)
    assert len(same) > 20


def test_mirrored_is_left_for_right_and_twice_is_the_same() -> None:
    rng = np.random.default_rng(0)
    maps = rng.integers(0, 16, (3, CELLS, CELLS), dtype=np.uint8)
    features = rng.normal(size=(3, FEATURES)).astype(np.float32)
    acts = np.array([0, 1, 5])
    once = NAVIGATION.mirrored(maps, features, acts)
    assert [ACTIONS[act] for act in once[2]] == [(1.0, 0.0), (1.0, -0.3), (0.0, -1.0)]
    assert np.array_equal(once[1][:, 2], -features[:, 2])
    twice = NAVIGATION.mirrored(*once)
    for a, b in zip((maps, features, acts), twice, strict=True):
        assert np.array_equal(a, b)


@pytest.mark.slow
def test_no_house_for_training_is_held_back() -> None:
    made = training_houses(2, seed=3)
    assert [house.name for house in made[-2:]] == ["policy_3_0", "policy_3_1"]
    assert not {house.name for house in made} & {house.name for house in held_back_houses()}
    assert [house.rooms for house in made] == [house.rooms for house in training_houses(2, seed=3)]


Environment = type[NavigationEnv] | type[ManipulationEnv]
EACH = pytest.mark.parametrize(
    ("space", "environment"),
    [(NAVIGATION, NavigationEnv), (MANIPULATION, ManipulationEnv)],
    ids=["navigate", "manipulate"],
)


@EACH
def test_imitation_runs_to_the_end_and_goes_on(
    small_house: House, tmp_path: Path, space: PolicySpace, environment: Environment
) -> None:
    pytest.importorskip("torch", reason="needs the extra skills (torch)")

    def made() -> NavigationEnv | ManipulationEnv:
        return environment((small_house,))

    lines: list[str] = []
    whole = train_by_imitation(
        space, made, tmp_path / "whole", TINY, {"by": "imitation"}, lines.append
    )
    assert len(lines) == 2
    assert whole.name == f"{space.skill}.safetensors"

    class KilledError(Exception):
        pass

    def kill(_line: str) -> None:
        raise KilledError

    with pytest.raises(KilledError):
        train_by_imitation(space, made, tmp_path / "parts", TINY, {"by": "imitation"}, kill)
    rest: list[str] = []
    parts = train_by_imitation(
        space, made, tmp_path / "parts", TINY, {"by": "imitation"}, rest.append
    )
    assert rest == lines[1:]
    for name, weight in read_policy(whole, space).weights.items():
        assert np.array_equal(weight, read_policy(parts, space).weights[name]), name
    with pytest.raises(FileError, match="rounds: expected 3 as asked, got 2 of before"):
        train_by_imitation(
            space, made, tmp_path / "parts", replace(TINY, rounds=3), {}, rest.append
        )


def test_torch_and_numpy_agree() -> None:
    torch = pytest.importorskip("torch", reason="needs the extra skills (torch)")
    from planner.training.skill_imitation import make_policy, weights_of

    torch.manual_seed(0)
    policy, rng = make_policy(NAVIGATION), np.random.default_rng(1)
    codes = rng.integers(0, 16, (4, CELLS, CELLS), dtype=np.uint8)
    features = rng.uniform(-1, 1, (4, FEATURES)).astype(np.float32)
    layers = NAVIGATION.layers_of(codes, features)
    with torch.no_grad():
        theirs = policy(torch.from_numpy(layers), torch.from_numpy(features)).numpy()
    assert np.allclose(scores(weights_of(policy), layers, features), theirs, atol=1e-4)


@EACH
def test_reinforcement_runs_to_the_end_and_goes_on(
    small_house: House, tmp_path: Path, space: PolicySpace, environment: Environment
) -> None:
    pytest.importorskip("stable_baselines3", reason="needs the extra skills (stable-baselines3)")
    from planner.training.skill_reinforcement import ReinforcementRecipe, train_by_reinforcement

    recipe = ReinforcementRecipe(acts=64, environments=1, rollout=32, batch=16, epochs=1)

    def made() -> NavigationEnv | ManipulationEnv:
        return environment((small_house,))

    lines: list[str] = []
    path = train_by_reinforcement(space, made, tmp_path, recipe, {}, lines.append)
    assert [line.split(",")[0] for line in lines] == ["32 of 64 acts", "64 of 64 acts"]
    first = dict(read_policy(path, space).weights)
    train_by_reinforcement(space, made, tmp_path, recipe, {}, lines.append)
    assert len(lines) == 2, "it was at its end already"
    begun = train_by_reinforcement(
        space, made, tmp_path / "on", replace(recipe, acts=32, rate=1e-9), {}, lines.append, path
    )
    for name, weight in read_policy(begun, space).weights.items():
        assert np.allclose(weight, first[name], atol=2e-3), name


def test_without_the_library_one_line_says_what_to_install(
    small_house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    from planner.training.skill_reinforcement import ReinforcementRecipe, train_by_reinforcement

    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(PlannerError, match=r"pip install planner\[skills\]"):
        train_by_reinforcement(
            NAVIGATION,
            lambda: NavigationEnv((small_house,)),
            tmp_path,
            ReinforcementRecipe(),
            {},
            print,
        )
