"""Reading the records of all parts loads none of what the parts themselves need."""

from __future__ import annotations

import subprocess
import sys

# Every node is a fork of the process that has read them, and has their memory.
HEAVY = ("cv2", "mujoco", "openai", "planner.language", "rclpy", "scipy", "shapely", "torch")


KINDS = {
    "planner.planning.part": "PLANNERS",
    "planner.memory.part": "UPDATERS",
    "sim_bridge.backend": "BACKENDS",
    "planner.models.chat": "MODELS",
}
# One program for all kinds.
CODE = f"""
import importlib, sys
for module, kind in {KINDS}.items():
    assert getattr(importlib.import_module(module), kind).usable()
    heavy = set({HEAVY}) & set(sys.modules)
    assert not heavy, f"{{kind}} imported {{heavy}}"
"""


def test_records_are_read_without_what_their_parts_load() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
