"""The bridge outlives habitat-sim: it says so, and loads another world. Against a stand-in."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from bridge_harness import Client, bridge, write_world
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from planner_msgs.srv import LoadEpisode
from sensor_msgs.msg import CameraInfo

from planner.world.episode import Episode
from planner.world.house import House
from planner.world.primitive import PrimitiveCode

STAND_IN = Path(__file__).parents[3] / "sim_bridge" / "habitat" / "stand_in.py"


@pytest.fixture
def world(tmp_path: Path, small_house: House, small_episode: Episode) -> Path:
    return write_world(tmp_path, small_house, small_episode)


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "orders.json"
    path.write_text("{}", encoding="utf-8")
    monkeypatch.setenv("STAND_IN_ORDERS", str(path))
    return path


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """Of a backend whose interpreter runs the stand-in, whatever it is told to run."""
    program = tmp_path / "python"
    program.write_text(
        f'#!/bin/sh\necho $$ > {tmp_path}/pid\nexec {sys.executable} {STAND_IN} "$2" "$3"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    path = tmp_path / "habitat.yaml"
    path.write_text(
        f"version: 1\npython: {program}\ncache: {tmp_path / 'cache'}\nanswer_timeout_s: 10.0\n",
        encoding="utf-8",
    )
    return path


def _warning(diagnostics: Sequence[DiagnosticArray]) -> str:
    statuses = {s.name: s for m in diagnostics[-1:] for s in m.status}
    found = statuses.get("bridge: world")
    warns = found is not None and found.level == DiagnosticStatus.WARN
    return str(found.message) if warns else ""


@pytest.mark.slow
def test_a_simulator_that_hangs_while_idle_is_told_and_replaced(
    world: Path, settings: Path, orders: Path
) -> None:
    with bridge(backend="habitat", episode=world, backend_config=settings) as running:
        client = Client()
        diagnostics = client.listen(DiagnosticArray, "/diagnostics")
        client.wait(lambda: diagnostics, "diagnostics")
        assert not _warning(diagnostics)
        stopped = int(orders.with_name("pid").read_text("utf-8"))
        os.kill(stopped, signal.SIGSTOP)
        client.wait(lambda: _warning(diagnostics), "the warning")
        assert "did not answer within 9 s when asked for alive" in _warning(diagnostics)
        loaded = client.call(LoadEpisode, "/world/load", episode=str(world))
        assert loaded.success, loaded.message
        client.wait(lambda: not _warning(diagnostics), "the end of the warning")
        assert int(orders.with_name("pid").read_text("utf-8")) != stopped
        assert "Traceback" not in running.log
        client.close()


@pytest.mark.slow
def test_the_bridge_outlives_its_simulator(world: Path, settings: Path, orders: Path) -> None:
    with bridge(backend="habitat", episode=world, backend_config=settings) as running:
        client = Client()
        pictures = client.listen(CameraInfo, "/agent_0/camera/hand/camera_info")
        diagnostics = client.listen(DiagnosticArray, "/diagnostics")
        client.wait(lambda: pictures, "pictures")

        def lost() -> str:
            return _warning(diagnostics)

        assert not lost()
        orders.write_text(json.dumps({"view": "abort"}), encoding="utf-8")
        client.wait(lost, "the warning")
        assert "SIGABRT" in lost()
        result = client.do("navigate", (1.0, 1.4, 0.0))
        assert result.code == PrimitiveCode.BACKEND_FAULT
        orders.write_text("{}", encoding="utf-8")
        loaded = client.call(LoadEpisode, "/world/load", episode=str(world))
        assert loaded.success, loaded.message
        client.wait(lambda: not lost(), "the end of the warning")
        count = len(pictures)
        client.wait(lambda: len(pictures) > count, "pictures again")
        assert client.do("navigate", (1.0, 1.4, 0.0)).code == PrimitiveCode.SUCCESS
        assert "Traceback" not in running.log
        client.close()


@pytest.mark.slow
def test_the_demo_runs_on_it(settings: Path, tmp_path: Path) -> None:
    # What the stand-in draws shows no task's things: the robot walks only.
    program = settings.with_name("python")
    folder = tmp_path / "demo"
    command = [str(Path(sys.executable).with_name("planner")), "demo", "--backend", "habitat"]
    run = subprocess.run(
        [*command, "--planner", "tour", "--fast", "--no-pictures", "-o", str(folder)],
        env={**os.environ, "PLANNER_HABITAT_PYTHON": str(program)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert settings.with_name("pid").is_file()
    assert "tour" in run.stdout
