"""The commands of docs/setup.md by which machines get their keys."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from documented import ROOT, commands

from planner.network import requested_network
from planner.security.keystore import check_keystore, make_keystore
from planner.security.policy import (
    KEYSTORE,
    OPERATOR,
    OVERRIDE,
    enclave_of,
    is_enforced,
    shipped_policy,
)

pytest.importorskip("cryptography", reason="keys are made with the extra security")
SHOWN = commands(ROOT / "docs/setup.md")


def bash(script: str, folder: Path) -> str:
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_what_a_robot_gets_is_sound_and_commands_nobody(tmp_path: Path) -> None:
    keystore, robot = tmp_path / "keystore", tmp_path / "robot"
    make_keystore(keystore, shipped_policy(), domain=0, days=100)
    robot.mkdir()
    (pack,) = (command for command in SHOWN if command.startswith("tar "))
    bash(pack.replace("DIR", "keystore"), tmp_path)
    bash("tar -xf ../robot_keys.tar", robot)
    assert not (robot / "private").exists()
    found = check_keystore(robot, shipped_policy(), 0, datetime.now(UTC))
    assert (found.missing, found.problems) == ((OPERATOR,), ())


def test_what_is_exported_enforces_keys_and_makes_the_shell_the_operator_s(tmp_path: Path) -> None:
    exports = [command for command in SHOWN if command.startswith("export ")]
    printed = bash("\n".join([*exports, "env"]).replace("DIR", "keys"), tmp_path)
    environment = dict(line.split("=", 1) for line in printed.splitlines())
    assert is_enforced(environment)
    assert requested_network(environment) == "open"
    assert environment[KEYSTORE] == "keys"
    assert environment[OVERRIDE] == enclave_of(OPERATOR)
