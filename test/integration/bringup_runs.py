"""A whole bring-up as `planner up` starts it, from the instruction to the verdict."""

from __future__ import annotations

import os
import subprocess
import sys


def successful_run(**arguments: object) -> str:
    """All that a narrated bring-up says, which must end with full success."""
    words = {"narrate": "true", **arguments}
    done = subprocess.run(
        [sys.executable, "-m", "planner.cli", "up", *(f"{k}:={v}" for k, v in words.items())],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "verdict: success  percent_complete: 1.00" in said
    return said
