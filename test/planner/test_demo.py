"""The demo's last line: the live verdict and that of the bag."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.demo import LastLine


def test_a_bag_that_contradicts_the_live_verdict_fails_the_demo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = LastLine()
    assert line.take("narrator", "verdict: success  percent_complete: 1.00  sim_steps: 10")
    assert not line.take("narrator", "00:01  agent_0  did     Pick[cup_0]")
    # There is no bag at all.
    assert line.finish(tmp_path, 0) == 1
    assert capsys.readouterr().out == (
        f"verdict: success  bag verdict: none: {tmp_path}: holds no bag and no state log  "
        "percent_complete: 1.00  sim_steps: 10\n"
    )
