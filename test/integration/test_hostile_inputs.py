"""Inputs that no sane program sends, to everything that listens: no process ends by them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planner.bad_day.hostile_trial import attack
from planner.environment import ros_environment

# `planner bad-day --hostile 20000` sends more.
INPUTS = 2000


@pytest.mark.slow
def test_every_node_lives_on_and_the_task_succeeds_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ros_environment(os.environ).items():
        monkeypatch.setenv(name, value)
    found = attack(INPUTS, 1, tmp_path)
    assert found.violations == [], found.log[-20_000:]
    sent = {name.partition(" ")[0] for name in found.counts}
    assert sent == {"message", "bytes", "request", "goal", "cancel"}
    assert {"bridge", "memory", "skill_executor", "task_planner"} <= set(found.nodes)
    assert len(found.counts) > 200
