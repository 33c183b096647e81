"""The backend `ros` as a part, where the messages that it needs are not installed."""

from __future__ import annotations

import sys

import pytest

from planner.world.errors import PlannerError
from sim_bridge.backend import make_backend


def test_missing_messages_are_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name == "sim_bridge.ros.node" or name.startswith("moveit_msgs"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "moveit_msgs", None)
    with pytest.raises(PlannerError, match=r"(control|moveit)_msgs.*make robot-interfaces"):
        make_backend("ros", "")
