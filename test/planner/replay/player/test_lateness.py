"""Counting lateness, against the list of all of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.replay.player.lateness import Lateness

STEP_S = 1e-4


@given(st.lists(st.floats(-0.01, 3.0), min_size=1, max_size=200), st.floats(0.01, 1.0))
def test_quantiles_are_those_of_the_list(late: list[float], share: float) -> None:
    lateness = Lateness()
    for value in late:
        lateness.add(value)
    ordered = sorted(max(value, 0.0) for value in late)
    exact = next(value for n, value in enumerate(ordered) if n + 1 >= share * len(ordered) - 1e-9)
    found = lateness.quantile_s(share)
    assert min(exact, 2.0) - 1e-9 <= found <= min(exact, 2.0) + STEP_S + 1e-9
    assert lateness.max_s == max(ordered)


def test_shares() -> None:
    lateness = Lateness()
    for value in (0.0, 0.004, 0.005, 0.0052, 7.0):
        lateness.add(value)
    assert lateness.quantile_s(0.6) == pytest.approx(0.005)
    assert lateness.quantile_s(1.0) == pytest.approx(2.0)
