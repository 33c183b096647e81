"""Install `planner` as a Python package and as a ROS 2 package.

Names of dependencies and all metadata stand in pyproject.toml. Here stands what a ROS
workspace needs besides: the resource index, package.xml, launch files, configuration, and
the executables of nodes/, which setup.cfg sends to lib/planner where `ros2 run` looks.
"""

import sys
from pathlib import Path

from setuptools import find_packages, setup

NAME = "planner"
ROOT = Path(__file__).parent

# An editable installation runs everything from this tree: copies of the configuration and
# of the executables in the environment would only grow stale.
EDITABLE = "editable_wheel" in sys.argv


def data_files() -> list[tuple[str, list[str]]]:
    """Return (destination folder, files) pairs, the folders of config/ kept as they are."""
    share = f"share/{NAME}"
    pairs = [
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (share, ["package.xml", "LICENSE"]),
    ]
    for top in ("launch", "config"):
        for folder in sorted({path.parent for path in Path(top).rglob("*") if path.is_file()}):
            if folder.name == "__pycache__":
                continue
            files = sorted(str(path) for path in folder.iterdir() if path.is_file())
            pairs.append((f"{share}/{folder.as_posix()}", files))
    return pairs


def executables() -> list[str]:
    """Return the node executables: every file of nodes/."""
    return sorted(str(path) for path in Path("nodes").iterdir() if path.is_file())


setup(
    packages=find_packages(include=[NAME, f"{NAME}.*", "sim_bridge", "sim_bridge.*"]),
    package_data={"": ["py.typed"]},
    data_files=[] if EDITABLE else data_files(),
    scripts=[] if EDITABLE else executables(),
    entry_points={"console_scripts": ["planner = planner.cli:main"]},
    zip_safe=False,
)
