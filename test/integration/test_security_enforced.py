"""Real nodes with keys, where the middleware was built with security: who may claim a robot.

The ROS wheels were built without; test/planner/security/test_fast_dds.py tries the same keys
before a Fast DDS that was built with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bridge_harness import bridge, write_world

from planner import network_probe
from planner.environment import ros_environment
from planner.security.keystore import make_keystore
from planner.security.policy import (
    ENABLE,
    KEYSTORE,
    OPERATOR,
    OVERRIDE,
    STRATEGY,
    enclave_of,
    shipped_policy,
)
from planner.world.episode import Episode
from planner.world.house import House

CLIENT = Path(__file__).with_name("outside_client.py")
LOOK_S = 15.0


@pytest.fixture(scope="module")
def middleware() -> None:
    """Skips where the middleware says that it knows no security."""
    done = subprocess.run(
        [sys.executable, "-c", network_probe.SECURITY],
        env=ros_environment(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"this Fast DDS was built without security: {done.stderr.splitlines()[-1]}")


@pytest.fixture
def keys(middleware: None, tmp_path: Path) -> dict[str, str]:
    pytest.importorskip("cryptography", reason="keys are made with the extra security")
    domain = int(os.environ["ROS_DOMAIN_ID"])
    make_keystore(tmp_path / "keys", shipped_policy(), domain=domain, days=10)
    return {ENABLE: "true", STRATEGY: "Enforce", KEYSTORE: str(tmp_path / "keys")}


def claim(environment: dict[str, str]) -> tuple[bool, str]:
    """Whether a client was answered, and what it said."""
    # Under the name of a node of the command `ros2`, which the operator's identity may use.
    words = (str(CLIENT), str(LOOK_S), "--ros-args", "-r", "__node:=_ros2cli_test")
    done = subprocess.run(
        [sys.executable, *words],
        env={**ros_environment(os.environ), **environment},
        capture_output=True,
        text=True,
        timeout=120.0,
        check=False,
    )
    if done.returncode != 0:
        return False, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return bool(found["answered"]), str(found["said"])


def test_the_operator_may_claim_and_nobody_else(
    keys: dict[str, str], tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    world = write_world(tmp_path, small_house, small_episode)
    with bridge({**keys, OVERRIDE: enclave_of("bridge")}, episode=world):
        answered, said = claim({**keys, OVERRIDE: enclave_of(OPERATOR)})
        assert answered, said
        for others in (
            {},
            {**keys, OVERRIDE: enclave_of("viewer")},
            {**keys, OVERRIDE: enclave_of("task_planner")},
        ):
            answered, said = claim(others)
            assert not answered, (others, said)
