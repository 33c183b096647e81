"""`planner attend`: what it refuses; test/integration/test_heartbeat.py runs it."""

from __future__ import annotations

import pytest

from planner.cli import main


@pytest.mark.parametrize("name", ["", "agent 0", "/agent_0", "0", "agent_0/skill"])
def test_what_is_no_agents_name_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attend", name]) == 2
    assert "expected an agent's name such as agent_0" in capsys.readouterr().err


def test_somebody_has_to_be_attended(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["attend"])
    assert "AGENT" in capsys.readouterr().err
