"""Rule 1 seen from the other side: goals that end soon must not make a walk stutter."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from recorded_map import record
from spot_trial import ROBOT, emulator_of, opened_corner

from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.opening import default_house, open_world
from sim_bridge.pacing import TICK_S
from sim_bridge.spot.backend import SpotBackend
from sim_bridge.spot.options import emulated

LATE_S = 0.3
# So many rounds are in time between two that are late.
IN_TIME = 15


def holes(graph: str, late_s: float) -> tuple[list[str], set[str]]:
    """The phases of a walk in which the robot stood for want of a goal, and all its phases."""
    opened = open_world(default_house(), "", 7, 1)
    backend = SpotBackend(emulated().model_copy(update={"graph": graph}))
    backend.reset(opened.house, opened.episode, opened.seed)
    machine = emulator_of(backend).machine
    handle = backend.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, opened_corner(opened)))
    pass_time, found, phases = machine.on_step, list[str](), set[str]()

    def look(dt_s: float) -> None:
        assert pass_time is not None
        pass_time(dt_s)
        phase = backend.poll(handle).phase
        phases.add(phase)
        if phase.startswith("walking") and machine.walk is None:
            found.append(phase)

    machine.on_step = look
    rounds = 0
    while not backend.poll(handle).done:
        rounds += 1
        backend.step(TICK_S if rounds % IN_TIME else TICK_S + late_s)
    result = backend.poll(handle).result
    assert result is not None
    assert result.succeeded, result
    backend.close()
    return found, phases


@pytest.mark.parametrize("with_map", [False, True], ids=["layout", "recorded map"])
def test_rule_1_a_walk_continues_smoothly_though_a_round_is_late(
    tmp_path: Path, with_map: bool
) -> None:
    graph = ""
    if with_map:
        record(open_world(default_house(), "", 7, 1).house, tmp_path)
        graph = str(tmp_path)
    for late_s in (0.0, LATE_S):
        found, phases = holes(graph, late_s)
        assert found == []
        assert ("walking along the map" in phases) is with_map
        assert "walking" in phases


def test_rule_1_a_walk_that_is_not_prolonged_in_time_stands() -> None:
    """The limit of the test above: a hole that is longer than a goal's life is seen by it."""
    found, _ = holes("", 1.0)
    assert found
