"""The wheel, built from the source distribution alone, works in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import tarfile
import zipfile
from pathlib import Path

import core_copy
import pytest
import release

ROOT = Path(__file__).parents[1]
# Building, and installing what the package depends on, which set-up has left in uv's cache.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


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
    _, wheel = release.build(folder / "tree", folder)
    release.environment(folder / "env", wheel)
    return folder


def test_the_source_distribution_holds_what_the_wheel_is_made_of(folder: Path) -> None:
    (sdist,) = folder.glob("planner-*.tar.gz")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    tracked = {
        str(path.relative_to(folder / "tree"))
        for top in ("config", "launch", "nodes", "papers", "planner", "resource", "sim_bridge")
        for path in (folder / "tree" / top).rglob("*")
        if path.is_file() and "egg-info" not in str(path)
    }
    built = {name for name in tracked if "__pycache__" in name or name.endswith(".so")}
    assert sorted(tracked - built - packed) == []
    assert packed >= {"LICENSE", "README.md", "package.xml", "pyproject.toml", "setup.py"}


def test_one_wheel_serves_all_versions_of_python(folder: Path) -> None:
    (wheel,) = folder.glob("planner-*.whl")
    assert "-cp311-abi3-linux_" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        compiled = [name for name in archive.namelist() if name.endswith(".so")]
    assert compiled == ["sim_bridge/embedded/_compiled.abi3.so"]


def test_an_episode_runs_with_nothing_but_the_wheel(folder: Path) -> None:
    shown = release.ran([folder / "env/bin/planner", "run", "night_light_0", "--no-images"], folder)
    assert "verdict: success" in shown
    assert list(folder.glob("demo_output/*_night_light_0/run.png"))


def test_every_shipped_file_is_installed(folder: Path) -> None:
    episodes = release.ran([folder / "env/bin/planner", "episodes", "list"], folder)
    for path in (ROOT / "config" / "episodes").glob("*/*.json"):
        assert path.stem in episodes
    share = folder / "env" / "share" / "planner"
    for path in [*(ROOT / "config").rglob("*"), *(ROOT / "launch").glob("*.py")]:
        if path.is_file() and "__pycache__" not in path.parts:
            copy = share / path.relative_to(ROOT)
            assert copy.read_bytes() == path.read_bytes()


def test_the_doctor_says_that_only_ros_is_missing(folder: Path) -> None:
    doctor = folder / "env/bin/planner", "doctor"
    rows = json.loads(release.ran([*doctor, "--json"], folder, status=1))
    missing = {row["part"] for row in rows if row["status"] == "missing"}
    assert missing == {"ROS 2 (rclpy)", "planner_msgs", "tf2_msgs"}
    # There is no tree whose targets could be called.
    assert not [row["cure"] for row in rows if "make " in row["cure"]]
    shown = release.ran(doctor, folder, status=1)
    assert shown.endswith(
        "without ROS you can use planner run, bench, episodes, houses and evaluate\n"
    )


def test_the_nodes_are_installed_where_up_looks(folder: Path) -> None:
    code = "from planner.up import find_executable as f; print(*map(f, ('bridge', 'tour')))"
    found = release.ran([folder / "env/bin/python", "-c", code], folder).split()
    assert found == [str(folder / "env/lib/planner" / name) for name in ("bridge", "tour")]


@pytest.mark.needs(*core_copy.APART)
def test_the_core_alone_is_built_and_runs_an_episode(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    assert core_copy.main([str(tree)]) == 0
    assert not [folder for folder in core_copy.APART if (tree / folder).exists()]
    _, wheel = release.build(tree, tmp_path)
    release.environment(tmp_path / "env", wheel)
    planner = tmp_path / "env/bin/planner"
    shown = release.ran([planner, "run", "night_light_0", "--no-images"], tmp_path)
    assert "verdict: success" in shown
    judged = release.ran([planner, "bench", "show", "--help"], tmp_path)
    assert "usage: planner bench show" in judged
