import json
import os
import subprocess
import sys

import pytest

from planner import network_probe
from planner.network_probe import judge

REACHABLE = json.dumps(["udp 0.0.0.0:7410", "udp 0.0.0.0:7411"])
SECURED = {"ROS_SECURITY_ENABLE": "true", "ROS_SECURITY_KEYSTORE": "/keys"}


def test_no_reachable_socket_is_loopback_only() -> None:
    exposure = judge({}, "[]")
    assert exposure.is_protected
    assert exposure.detail.startswith("loopback only")
    assert not exposure.cure


def test_a_range_that_has_no_effect_is_reported() -> None:
    asked = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    assert "no effect without PLANNER_NETWORK=open" in judge(asked, "[]").detail
    assert "no effect" not in judge({}, "[]").detail


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({"PLANNER_NETWORK": "open"}, "by PLANNER_NETWORK=open"),
        ({"FASTDDS_DEFAULT_PROFILES_FILE": "/a.xml"}, "by FASTDDS_DEFAULT_PROFILES_FILE=/a.xml"),
        ({"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"}, "does not cover rmw_cyclonedds_cpp"),
        ({}, "though nothing requests it"),
    ],
)
def test_open_without_security_is_a_warning_that_says_why(
    environment: dict[str, str], why: str
) -> None:
    exposure = judge(environment, REACHABLE)
    assert not exposure.is_protected
    assert exposure.detail.startswith("open without security")
    assert "2 sockets" in exposure.detail
    assert why in exposure.detail
    assert exposure.cure


def test_only_enforced_security_guards() -> None:
    opened = {"PLANNER_NETWORK": "open", **SECURED}
    is_enforced = judge({**opened, "ROS_SECURITY_STRATEGY": "Enforce"}, REACHABLE)
    assert is_enforced.is_protected
    assert is_enforced.detail.startswith("SROS 2, enforced (/keys)")
    for strategy in ("", "Permissive"):
        exposure = judge({**opened, "ROS_SECURITY_STRATEGY": strategy}, REACHABLE)
        assert not exposure.is_protected
        assert exposure.cure == "export ROS_SECURITY_STRATEGY=Enforce"


def test_keys_on_the_loopback_are_reported_too() -> None:
    is_enforced = judge({**SECURED, "ROS_SECURITY_STRATEGY": "Enforce"}, "[]")
    assert is_enforced.detail.endswith("SROS 2 is on, enforced (/keys)")
    assert judge(SECURED, "[]").detail.endswith("SROS 2 is on, not enforced (/keys)")
    assert "SROS" not in judge({}, "[]").detail


def test_an_open_network_is_reported_with_its_token() -> None:
    opened = {"PLANNER_NETWORK": "open"}
    assert "anyone who reaches this machine can move the robot" in judge(opened, REACHABLE).detail
    assert "programs do not start: " in judge(opened, REACHABLE).detail
    told = judge({**opened, "PLANNER_NETWORK_TOKEN": "a secret of ours"}, REACHABLE)
    assert "who has PLANNER_NETWORK_TOKEN can move the robot" in told.detail
    assert not told.is_protected


def test_a_word_that_ros_does_not_know_guards_nobody() -> None:
    environment = {**SECURED, "ROS_SECURITY_ENABLE": "True", "ROS_SECURITY_STRATEGY": "Enforce"}
    exposure = judge({**environment, "PLANNER_NETWORK": "open"}, REACHABLE)
    assert not exposure.is_protected
    assert "ROS_SECURITY_ENABLE=True has no effect" in exposure.detail


@pytest.mark.slow
def test_the_program_tells_of_a_node_that_nothing_confines() -> None:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FASTDDS_", "ROS_SECURITY_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", network_probe.SOCKETS],
        env={**environment, "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"},
        capture_output=True,
        text=True,
        check=True,
    )
    sockets = json.loads(done.stdout)
    assert any(each.startswith("udp 0.0.0.0:") for each in sockets), sockets
