"""What the narrator says at the end of a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from planner_msgs.msg import Evaluation
from rclpy.node import Node

from planner.narrator.node import NarratorNode
from planner.ros import qos


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[tuple[NarratorNode, Node]]:
    words = ["episode:=demo_dinner", f"bag:={tmp_path / 'bag'}", f"record:={tmp_path}"]
    rclpy.init(args=["--ros-args", *(word for text in words for word in ("-p", text))])
    narrator, recorder = NarratorNode(), Node("recorder")
    yield narrator, recorder
    narrator.destroy_node()
    recorder.destroy_node()
    rclpy.try_shutdown()


@pytest.mark.parametrize("lacks", ["", "0 messages never arrived, 7 were not written"])
def test_what_the_bag_lacks_is_said_before_the_verdict(
    nodes: tuple[NarratorNode, Node], capsys: pytest.CaptureFixture[str], lacks: str
) -> None:
    narrator, recorder = nodes
    outlet = recorder.create_publisher(DiagnosticArray, "diagnostics", qos.DIAGNOSTICS)
    result = recorder.create_publisher(Evaluation, "evaluation/result", qos.LATCHED)
    level = DiagnosticStatus.WARN if lacks else DiagnosticStatus.OK
    status = DiagnosticStatus(name="recorder: bag", level=level, message=lacks or "recording")
    deadline = time.monotonic() + 60
    while outlet.get_subscription_count() == 0:
        assert time.monotonic() < deadline
        rclpy.spin_once(narrator, timeout_sec=0.1)
    outlet.publish(DiagnosticArray(status=[status]))
    assert outlet.wait_for_all_acked()
    for _ in range(20):
        rclpy.spin_once(narrator, timeout_sec=0.05)
    result.publish(Evaluation(status=Evaluation.SUCCEEDED, percent_complete=1.0))
    assert result.wait_for_all_acked()
    while narrator._result is None:
        assert time.monotonic() < deadline
        rclpy.spin_once(narrator, timeout_sec=0.1)
    narrator._finish()
    said = capsys.readouterr().out
    before, _, _ = said.partition("verdict: success")
    assert before != said
    assert (f"the bag is not complete: {lacks}" in before) == bool(lacks)
