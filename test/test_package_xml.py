"""package.xml, which rosdep reads, names what pyproject.toml and the imports need."""

from __future__ import annotations

import ast
import re
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "package.xml").read_text()
# rosdep's keys, as its python.yaml and base.yaml have them, by the names on PyPI.
KEYS = {
    "cffi": "python3-cffi",
    "numpy": "python3-numpy",
    "opencv-python-headless": "python3-opencv",
    "pillow": "python3-pil",
    "pydantic": "python3-pydantic",
    "pyyaml": "python3-yaml",
    "scipy": "python3-scipy",
    "setuptools": "python3-setuptools",
    "shapely": "python3-shapely",
}
# What only building takes, besides Python packages.
SYSTEM = {"build-essential", "python3-dev"}
ROS_PACKAGE = re.compile(r".*_(msgs|srvs|interfaces)|rclpy|launch|launch_ros|ament_index_python")
ROS_WORD = re.compile(r"_(msgs|srvs|interfaces)\b|rclpy|launch|ament_index_python")


def named(*kinds: str) -> set[str]:
    root = ET.fromstring(TEXT)  # noqa: S314 - our own file
    return {str(entry.text) for kind in kinds for entry in root.findall(kind)}


def project() -> dict[str, list[str]]:
    """The names that pyproject.toml lists, without their versions."""
    read = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lists = {"run": read["project"]["dependencies"], "build": read["build-system"]["requires"]}
    return {
        kind: [re.split(r"[<>=\[]", line)[0] for line in lines] for kind, lines in lists.items()
    }


def imported() -> Iterator[str]:
    for top in ("papers", "planner", "sim_bridge", "nodes", "launch"):
        for path in (ROOT / top).rglob("*"):
            if path.suffix == ".py" or (top == "nodes" and path.is_file() and not path.suffix):
                text = path.read_text()
                # Parsing all of the code takes seconds, and few files import ROS.
                if not ROS_WORD.search(text):
                    continue
                for node in ast.walk(ast.parse(text)):
                    if isinstance(node, ast.Import):
                        yield from (alias.name.partition(".")[0] for alias in node.names)
                    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                        yield node.module.partition(".")[0]


def test_what_runs_is_named_by_its_key_or_as_installed_by_pip() -> None:
    (listed,) = re.findall(r"install them by pip[^:]*: ([\w, ]+)\. -->", TEXT)
    by_pip = listed.split(", ")
    run = project()["run"]
    assert sorted(by_pip) == sorted(name for name in run if name not in KEYS)
    python = {key for key in named("exec_depend", "depend") if key.startswith("python3-")}
    assert python == {KEYS[name] for name in run if name in KEYS}


def test_what_builds_is_named() -> None:
    keys = {KEYS[name] for name in project()["build"]}
    assert named("build_depend", "depend") == keys | SYSTEM


def test_every_ros_package_that_is_imported_is_named() -> None:
    ros = {name for name in imported() if ROS_PACKAGE.fullmatch(name)}
    assert "rclpy" in ros
    assert ros <= named("exec_depend")


def test_the_versions_are_one() -> None:
    read = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert named("version") == {read["project"]["version"]}
