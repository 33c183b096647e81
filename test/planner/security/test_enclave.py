"""Under which identity processes of ours join ROS."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from planner import up
from planner.bringup import NodeSpec, node_list
from planner.bringup_arguments import Arguments
from planner.security import policy
from planner.supervisor import Command
from planner.world.errors import PlannerError

SECURED = {
    "ROS_SECURITY_ENABLE": "true",
    "ROS_SECURITY_STRATEGY": "Enforce",
    "ROS_SECURITY_KEYSTORE": "/keys",
}
SPECS = node_list(Arguments(planner="expert", episode="e", narrate=True, record="bag"))


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[Command]:
    """What `planner up` would start."""
    started: list[Command] = []

    class Nothing:
        def __init__(self, commands: Sequence[Command], *_: object, **__: object) -> None:
            started.extend(commands)

        def run(self) -> int:
            return 0

    monkeypatch.setattr(up, "Supervisor", Nothing)
    monkeypatch.setattr(up, "can_fork", lambda _: False)
    monkeypatch.setenv("ROS_DOMAIN_ID", "232")
    for name in (*SECURED, policy.OVERRIDE):
        monkeypatch.delenv(name, raising=False)
    return started


def enclaves(commands: Sequence[Command]) -> dict[str, str | None]:
    found = {}
    for command in commands:
        words = command.words[command.words.index("--ros-args") :]
        found[command.name] = words[words.index("--enclave") + 1] if "--enclave" in words else None
    return found


def test_up_gives_each_node_its_identity_where_keys_are_used(
    commands: list[Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECURED.items():
        monkeypatch.setenv(name, value)
    assert up.run_nodes(SPECS) == 0
    assert enclaves(commands) == {spec.name: f"/planner/{spec.executable}" for spec in SPECS}


def test_a_namespace_is_refused_where_keys_are_used(
    commands: list[Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = node_list(Arguments(planner="expert", episode="e", namespace="/left"))
    assert up.run_nodes(specs) == 0
    assert {command.name for command in commands} == {spec.name for spec in specs}
    commands.clear()
    for name, value in SECURED.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(PlannerError, match="namespace /left: the permissions"):
        up.run_nodes(specs)
    with pytest.raises(PlannerError, match="namespace /left: the permissions"):
        policy.join_as(dict(SECURED), "operator", "/left")
    assert commands == []


@pytest.mark.parametrize("value", ["", "false", "True", "1"])
def test_up_gives_none_where_ros_uses_no_keys(
    value: str, commands: list[Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROS_SECURITY_ENABLE", value)
    up.run_nodes(SPECS)
    assert set(enclaves(commands).values()) == {None}


def test_the_operator_s_identity_in_a_shell_is_not_that_of_the_nodes(
    commands: list[Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**SECURED, policy.OVERRIDE: "/planner/operator"}.items():
        monkeypatch.setenv(name, value)
    up.run_nodes([NodeSpec(name="bridge", executable="bridge")])
    (command,) = commands
    assert policy.OVERRIDE not in command.environment
    assert command.environment["ROS_SECURITY_ENABLE"] == "true"


def test_a_command_of_ours_is_the_operator_s_unless_another_identity_is_named() -> None:
    bare: dict[str, str] = {}
    policy.join_as(bare, "operator")
    assert bare == {}
    is_secured = dict(SECURED)
    policy.join_as(is_secured, "operator")
    assert is_secured[policy.OVERRIDE] == "/planner/operator"
    policy.join_as(is_secured, "viewer")
    assert is_secured[policy.OVERRIDE] == "/planner/operator"


def test_only_the_very_words_of_ros_turn_it_on_and_enforce_it() -> None:
    assert policy.is_enforced(SECURED)
    for name, value in (
        ("ROS_SECURITY_ENABLE", "TRUE"),
        ("ROS_SECURITY_STRATEGY", "enforce"),
        ("ROS_SECURITY_STRATEGY", ""),
    ):
        assert not policy.is_enforced({**SECURED, name: value})
