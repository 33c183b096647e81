"""Files of policies: what is wrong with one is a single error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from planner.skills.policy.handling import MANIPULATION
from planner.skills.policy.navigation_space import ACTIONS, FEATURES, LAYERS, NAVIGATION
from planner.skills.policy.policy_file import (
    CELLS,
    PolicyFile,
    PolicySpace,
    network_shapes,
    read_policy,
    scores,
    shipped_policy,
    write_policy,
)
from planner.world.errors import FileError

Weights = dict[str, np.ndarray]
KIND = NAVIGATION.header_key


def random_weights(seed: int = 0, space: PolicySpace = NAVIGATION) -> Weights:
    rng = np.random.default_rng(seed)
    return {
        name: (rng.normal(size=shape) * 0.1).astype(np.float32)
        for name, shape in network_shapes(space).items()
    }


def test_a_policy_is_read_as_it_was_written(tmp_path: Path) -> None:
    path, weights = tmp_path / "policy.safetensors", random_weights()
    write_policy(path, PolicyFile(NAVIGATION, weights, {"by": "chance"}))
    read = read_policy(path, NAVIGATION)
    assert read.body == "robot"
    assert read.notes == {"by": "chance"}
    for name, weight in weights.items():
        assert np.allclose(read.weights[name], weight, atol=1e-3)
    assert path.stat().st_size < 5e6


def _header(**changes: object) -> Callable[[dict[str, str], Weights], None]:
    def change(header: dict[str, str], _weights: Weights) -> None:
        for name, value in changes.items():
            if value is None:
                del header[name]
            else:
                header[name] = str(value)

    return change


def _no_bias(_header: dict[str, str], weights: Weights) -> None:
    del weights["action.bias"]


def _odd_shape(_header: dict[str, str], weights: Weights) -> None:
    weights["action.bias"] = np.zeros(3, np.float32)


def _not_finite(_header: dict[str, str], weights: Weights) -> None:
    weights["action.bias"][0] = np.nan


@pytest.mark.parametrize(
    ("change", "field", "why"),
    [
        (_header(**{KIND: None}), KIND, "not a policy of navigate"),
        (_header(**{KIND: "1"}), KIND, "expected version 2, got 1"),
        (_header(body="submarine"), "body", "got 'submarine'"),
        (_header(space="{"), "space", "is not JSON"),
        (_header(space="[]"), "space.camera", "expected hand, got None"),
        (
            _header(space=json.dumps({**NAVIGATION.described, "act_s": 0.5})),
            "space.act_s",
            "expected 0.3, got 0.5",
        ),
        (_no_bias, "action.bias", "is missing"),
        (_odd_shape, "action.bias", r"expected the shape \(7,\), got \(3,\)"),
        (_not_finite, "action.bias", "not finite"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_error(
    tmp_path: Path, change: Callable[[dict[str, str], Weights], None], field: str, why: str
) -> None:
    path, weights = tmp_path / "policy.safetensors", random_weights()
    header = {KIND: "2", "body": "robot", "space": json.dumps(dict(NAVIGATION.described))}
    change(header, weights)
    save_file(weights, path, header)
    with pytest.raises(FileError, match=why) as refused:
        read_policy(path, NAVIGATION)
    assert field in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_missing_file_and_one_of_something_else_are_told(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.safetensors", tmp_path / "text.safetensors"):
        if path.name.startswith("text"):
            path.write_text("not weights", encoding="utf-8")
        with pytest.raises(FileError, match="cannot be read"):
            read_policy(path, NAVIGATION)


def test_a_policy_of_another_skill_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hand.safetensors"
    write_policy(path, PolicyFile(MANIPULATION, random_weights(space=MANIPULATION)))
    assert read_policy(path, MANIPULATION).space is MANIPULATION
    with pytest.raises(FileError, match="this is not a policy of navigate"):
        read_policy(path, NAVIGATION)


@pytest.mark.parametrize("space", [NAVIGATION, MANIPULATION], ids=lambda space: space.skill)
def test_a_policy_of_each_skill_ships_with_its_recipe(space: PolicySpace) -> None:
    shipped = read_policy(shipped_policy(space), space)
    assert shipped.body == "robot"
    assert {"by", "recipe", "rounds", "houses"} <= set(shipped.notes)
    assert shipped_policy(space).stat().st_size < 5e6


def test_the_network_is_three_convolutions_and_two_layers() -> None:
    weights, rng = random_weights(1), np.random.default_rng(2)
    layers = rng.normal(size=(2, len(LAYERS), CELLS, CELLS)).astype(np.float32)
    features = rng.normal(size=(2, FEATURES)).astype(np.float32)
    found = scores(weights, layers, features)
    assert found.shape == (2, len(ACTIONS))
    # One output of the first convolution by hand, through the whole of a network that passes it on.
    row, column = 5, 9
    kernel = weights["convolution.0.weight"][3]
    padded = np.pad(layers[0], ((0, 0), (2, 2), (2, 2)))
    patch = padded[:, 2 * row : 2 * row + 5, 2 * column : 2 * column + 5]
    by_hand = max(0.0, float((patch * kernel).sum() + weights["convolution.0.bias"][3]))
    from planner.skills.policy.policy_file import _convolved

    first = _convolved(layers, weights["convolution.0.weight"], 5, 2)
    first += weights["convolution.0.bias"][:, None, None]
    assert max(0.0, float(first[0, 3, row, column])) == pytest.approx(by_hand, abs=1e-4)
