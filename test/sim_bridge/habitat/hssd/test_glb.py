"""Frames and names as habitat-sim v0.3.4 was seen to make them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_bridge.habitat.hssd.glb import Oriented, Placed, matrix_of
from sim_bridge.habitat.hssd.rooms import handles_of

# Read from the scene nodes of bodies made with these, below their scaling node.
SEEN = {
    ((0, 1, 0), (0, 0, -1)): [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    ((0, 1, 0), (0, 0, 1)): [[1, 0, 0], [0, -1, 0], [0, 0, -1]],
    ((0, 1, 0), (1, 0, 0)): [[0, 0, 1], [0, 1, 0], [-1, 0, 0]],
    ((0, 0, 1), (0, 1, 0)): [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
}


@pytest.mark.parametrize(("axes", "matrix"), SEEN.items())
def test_a_mesh_is_turned_as_habitat_sim_turns_it(
    axes: tuple[tuple[float, float, float], tuple[float, float, float]], matrix: list[list[float]]
) -> None:
    up, front = axes
    turned = Oriented(up=up, front=front).turn_of_mesh()
    assert turned == pytest.approx(np.array(matrix), abs=1e-9)


@given(st.tuples(*[st.floats(-1, 1)] * 4))
def test_a_rotation_keeps_lengths_and_hands(rotation: tuple[float, float, float, float]) -> None:
    if np.linalg.norm(rotation) < 1e-3:
        return
    matrix = matrix_of(rotation)
    assert matrix @ matrix.T == pytest.approx(np.eye(3), abs=1e-9)
    assert np.linalg.det(matrix) == pytest.approx(1.0)


def test_instances_are_numbered_after_all_whose_names_contain_theirs() -> None:
    names = ("ab_part", "ab", "ab", "xab", "ab")
    handles = [handle for handle, _ in handles_of([Placed(template_name=name) for name in names])]
    assert handles == ["ab_part_:0000", "ab_:0001", "ab_:0002", "xab_:0000", "ab_:0003"]
