"""Waiting for a world in lockstep."""

from __future__ import annotations

import asyncio

import pytest

from planner.planning.lockstep_wait import is_soon


@pytest.mark.parametrize(("after", "joined"), [(0, True), (2, True), (1000, False)])
def test_it_waits_until_the_world_hears_the_planner_but_not_for_ever(
    after: int, joined: bool
) -> None:
    asked: list[int] = []

    def is_in_step() -> bool:
        asked.append(1)
        return len(asked) > after

    assert asyncio.run(is_soon(is_in_step, max_wait_s=0.1)) is joined
    assert len(asked) == min(after + 1, 6)
