"""The wheel, built from the source distribution alone, works in an environment of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Building, and installing what the package depends on, which set-up has left in uv's cache.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

_SDIST = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"


def ran(words: Sequence[str | Path], folder: Path, status: int = 0) -> str:
    """What a command prints that knows nothing of this tree and of this environment."""
    environment = {"PATH": os.defpath, "HOME": os.environ.get("HOME", str(folder))}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=environment | {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "UV_"))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the source distribution, the wheel made of it, and an environment with the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    # A copy, because building leaves files in the tree.
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_file():
            copy = folder / "tree" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((ROOT / name).read_bytes())
            copy.chmod((ROOT / name).stat().st_mode)
    # As `python -m build --no-isolation` does: the wheel is made of the source distribution.
    ran([sys.executable, "-c", _SDIST, folder], folder / "tree")
    (sdist,) = folder.glob("planner-*.tar.gz")
    wheel = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, sdist]
    ran([sys.executable, "-m", "pip", *wheel], folder)
    ran([sys.executable, "-m", "venv", "--without-pip", folder / "env"], folder)
    (built,) = folder.glob("planner-*.whl")
    install(folder / "env" / "bin" / "python", built, folder)
    return folder


def install(python: Path, wheel: Path, folder: Path) -> None:
    """As scripts/setup.sh: by uv, but by pip where its settings name an index or a proxy."""
    pip = [sys.executable, "-m", "pip"]
    settings = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=True)
    what = ["install", "--quiet", "-c", str(ROOT / "constraints.txt"), str(wheel)]
    if re.search(r"\.(index-url|no-index|proxy)=", settings.stdout):
        ran([*pip, "--python", python, *what], folder)
        return
    uv = Path(sys.executable).with_name("uv")
    ran([uv, "pip", *what, "--system-certs", "--python", python], folder)


def test_the_source_distribution_holds_what_the_wheel_is_made_of(folder: Path) -> None:
    (sdist,) = folder.glob("planner-*.tar.gz")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    tracked = {
        str(path.relative_to(folder / "tree"))
        for top in ("config", "launch", "nodes", "planner", "resource", "sim_bridge")
        for path in (folder / "tree" / top).rglob("*")
        if path.is_file() and "egg-info" not in str(path)
    }
    built = {name for name in tracked if "__pycache__" in name or name.endswith(".so")}
    assert sorted(tracked - built - packed) == []
    assert packed >= {"LICENSE", "README.md", "package.xml", "pyproject.toml", "setup.py"}


def test_an_episode_runs_with_nothing_but_the_wheel(folder: Path) -> None:
    shown = ran([folder / "env/bin/planner", "run", "night_light_0", "--no-images"], folder)
    assert "verdict: success" in shown
    assert list(folder.glob("demo_output/*_night_light_0/run.png"))


def test_every_shipped_file_is_installed(folder: Path) -> None:
    episodes = ran([folder / "env/bin/planner", "episodes", "list"], folder)
    for path in (ROOT / "config" / "episodes").glob("*/*.json"):
        assert path.stem in episodes
    share = folder / "env" / "share" / "planner"
    for path in [*(ROOT / "config").rglob("*"), *(ROOT / "launch").glob("*.py")]:
        if path.is_file() and "__pycache__" not in path.parts:
            copy = share / path.relative_to(ROOT)
            assert copy.read_bytes() == path.read_bytes()


def test_the_doctor_says_that_only_ros_is_missing(folder: Path) -> None:
    doctor = folder / "env/bin/planner", "doctor"
    rows = json.loads(ran([*doctor, "--json"], folder, status=1))
    missing = {row["part"] for row in rows if row["status"] == "missing"}
    assert missing == {"ROS 2 (rclpy)", "planner_msgs", "tf2_msgs"}
    # There is no tree whose targets could be called.
    assert not [row["cure"] for row in rows if "make " in row["cure"]]
    shown = ran(doctor, folder, status=1)
    assert shown.endswith(
        "without ROS you can use planner run, bench, episodes, houses and evaluate\n"
    )


def test_the_nodes_are_installed_where_up_looks(folder: Path) -> None:
    code = "from planner.up import find_executable as f; print(*map(f, ('bridge', 'tour')))"
    found = ran([folder / "env/bin/python", "-c", code], folder).split()
    assert found == [str(folder / "env/lib/planner" / name) for name in ("bridge", "tour")]
