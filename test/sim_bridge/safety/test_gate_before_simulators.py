"""The gate before the embedded simulator: invisible, but for zones and receipts."""

from __future__ import annotations

import pytest

from planner.world.primitive import PrimitiveCode
from sim_bridge.conformance import check_backend
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.opening import default_house, open_world
from sim_bridge.runtime import Request, Runtime
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.options import Rule, SafetyOptions


@pytest.mark.slow
def test_the_gate_before_the_simulator_is_itself_a_conforming_backend() -> None:
    opened = open_world(default_house(), "", 7, 1)
    report = check_backend(
        lambda: SafetyGate(EmbeddedBackend()), house=opened.house, episode=opened.episode
    )
    assert report.conforms, report.table()


def test_every_command_has_a_receipt_and_a_zone_holds_in_simulation_too() -> None:
    opened = open_world(default_house(), "", 7, 1)
    runtime = Runtime(EmbeddedBackend())
    runtime.load(opened.house, opened.episode, 7)
    x, y, _ = runtime.sense("agent_0", ()).base.position_m
    runtime.begin("agent_0", Request("navigate", (x, y, 0.0), "map"))
    assert [(r.command, r.allowed) for r in runtime.gate.take_receipts()] == [("navigate", True)]
    runtime.close()

    corners = ((x - 1, y - 1), (x + 1, y - 1), (x + 1, y + 1), (x - 1, y + 1))
    zone = {"name": "here", "polygon_m": corners}
    runtime = Runtime(
        EmbeddedBackend(), SafetyOptions.model_validate({"keep_out": {"zones": [zone]}})
    )
    runtime.load(opened.house, opened.episode, 7)
    job = runtime.begin("agent_0", Request("navigate", (x, y, 0.0), "map"))
    assert job.status.result is not None
    assert job.status.result.code is PrimitiveCode.NOT_ALLOWED
    assert [r.rule for r in runtime.gate.take_receipts()] == [Rule.KEEP_OUT]
    runtime.close()
