"""Reading the records of all parts loads none of what the parts themselves need."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Every node is a fork of the process that has read them, and has their memory.
HEAVY = ("cv2", "mujoco", "openai", "planner.language", "rclpy", "scipy", "shapely", "torch")


@pytest.mark.parametrize(
    ("module", "kind"),
    [
        ("planner.planning.part", "PLANNERS"),
        ("planner.memory.part", "UPDATERS"),
        ("sim_bridge.backend", "BACKENDS"),
        ("planner.models.chat", "MODELS"),
    ],
)
def test_records_are_read_without_what_their_parts_load(module: str, kind: str) -> None:
    code = (
        f"import sys; from {module} import {kind}\n"
        f"assert {kind}.usable()\n"
        f"heavy = set({HEAVY}) & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
