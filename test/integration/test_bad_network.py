"""ROS over a network that delays, loses and reorders frames: real DDS between two namespaces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_harness import ROOT, write_world

from planner.bad_day.processes import End, PacketFaults, PacketLink
from planner.environment import ros_environment
from planner.network import RANGE, TOKEN
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House

CLIENT = Path(__file__).with_name("outside_client.py")
LOOK_S = 60.0


SETTINGS = {RANGE: "SUBNET", TOKEN: "a secret of the house"}


@pytest.fixture
def link() -> Iterator[PacketLink]:
    if os.geteuid() != 0:
        pytest.skip("a packet link needs root")
    try:
        made = PacketLink(seed=11)
    except PlannerError as error:
        pytest.skip(str(error))
    with made:
        yield made


def started(end: End, *words: str) -> subprocess.Popen[str]:
    environment = ros_environment({**os.environ, "PLANNER_NETWORK": "open", **SETTINGS})
    return subprocess.Popen(
        end.inside(sys.executable, *words),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if words[0] != str(CLIENT) else None,
        text=True,
    )


@pytest.mark.slow
def test_a_client_claims_over_a_slow_link_that_loses_and_reorders(
    link: PacketLink, tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    link.faults = PacketFaults(round_trip_s=0.2, jitter_s=0.02, loss=0.05, reordered=0.1)
    world = write_world(tmp_path, small_house, small_episode)
    words = (str(ROOT / "nodes/bridge"), "--ros-args", "-p", f"episode:={world}")
    bridge = started(link.near, *words)
    try:
        client = started(link.far, str(CLIENT), str(LOOK_S))
        said, _ = client.communicate(timeout=2 * LOOK_S)
    finally:
        bridge.terminate()
        log, _ = bridge.communicate(timeout=60.0)
    found = json.loads(said.splitlines()[-1])
    assert "bridge" in found["nodes"], log
    assert found["said"] == "claimed", log
    assert min(link.counts[what] for what in ("sent", "lost", "reordered")) > 0, link.counts
