"""docs/workspace.md on the wheels: the package built by colcon in a workspace of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Set-up builds the interfaces with the same commands, for Python only; `make nightly` builds them
# whole, which takes minutes.
WAY = """
set -e
cd ws
source {root}/scripts/env.sh
colcon build --symlink-install --base-paths src/planner --packages-select planner
source install/setup.bash
python - <<'END'
import planner, planner_msgs
from pathlib import Path
assert Path(planner.__file__).resolve().is_relative_to(Path.cwd() / "src"), planner.__file__
END
exec install/planner/lib/planner/planner up house:=train_0
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder ws/ with a copy of what git knows of this checkout in src/planner."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            target = tmp_path / "ws/src/planner" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
    return tmp_path


@pytest.mark.slow
def test_the_pages_way_on_the_wheels(workspace: Path) -> None:
    with subprocess.Popen(
        ["bash", "-c", WAY.format(root=ROOT)],
        cwd=workspace,
        env={**os.environ, "PYTHONPATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        seen = []
        for line in process.stdout:
            seen.append(line)
            if "time is paced" in line:
                process.send_signal(signal.SIGINT)
        assert process.wait() == 0, "".join(seen)
    executable = workspace / "ws/install/planner/lib/planner/bridge"
    assert executable.is_file()
    assert any("time is paced" in line for line in seen), "".join(seen)
