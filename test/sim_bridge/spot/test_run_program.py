"""`planner spot-run`: a program that names neither port nor certificate reaches the emulator."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from emulated_robot import emulated

PROGRAM = """
import sys
import bosdyn.client
import bosdyn.client.util
import beside

sdk = bosdyn.client.create_standard_sdk("somebody")
robot = sdk.create_robot(sys.argv[1])
bosdyn.client.util.authenticate(robot)
print(beside.WORD, __name__, sys.argv[2:], robot.get_id().nickname)
sys.exit(3)
"""
WINDOW = """
import cv2
import numpy as np

clicked = []
cv2.namedWindow("here")
cv2.setMouseCallback("here", lambda event, x, y, flags, param: clicked.append((event, x, y)))
cv2.imshow("here", np.zeros((100, 200), np.uint8))
while not any(event == cv2.EVENT_LBUTTONUP for event, _, _ in clicked):
    cv2.waitKey(1)
print(clicked[-1][1:])
"""


def run(words: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "planner.cli", "spot-run", *words],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_gives_the_sdk_another_port_and_authority_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "program.py").write_text(PROGRAM)
    (tmp_path / "mine" / "beside.py").write_text("WORD = 'found'")
    with emulated() as emulator:
        done = run(
            ["mine/program.py", emulator.address, "--verbose"],
            tmp_path,
            SPOT_PORT=str(emulator.port),
            SPOT_CERTIFICATE=str(emulator.authority),
            BOSDYN_CLIENT_USERNAME=emulator.user,
            BOSDYN_CLIENT_PASSWORD=emulator.password,
        )
    assert done.stdout == "found __main__ ['--verbose'] emulated\n", done.stderr
    assert done.returncode == 3


def test_it_clicks_where_it_is_told_in_windows_that_nobody_sees(tmp_path: Path) -> None:
    (tmp_path / "window.py").write_text(WINDOW)
    done = run(["--click", "0.25", "0.5", "window.py"], tmp_path)
    assert done.stdout == "(50, 50)\n", done.stderr
