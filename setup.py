"""Install `planner` as a Python package and as a ROS 2 package.

Names of dependencies and all metadata stand in pyproject.toml. Here stands what a ROS
workspace needs besides: the resource index, package.xml, launch files, configuration, and
the executables of nodes/, which go to lib/planner where `ros2 run` looks.
"""

import os
import shlex
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

NAME = "planner"
PACKAGES = ("papers", NAME, "sim_bridge")
ROOT = Path(__file__).parent

# An editable installation runs everything from this tree: copies of the configuration and
# of the executables in the environment would only grow stale.
EDITABLE = "editable_wheel" in sys.argv


def data_files() -> list[tuple[str, list[str]]]:
    """Return (destination folder, files) pairs, the folders of config/ kept as they are."""
    share = f"share/{NAME}"
    pairs = [
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        # The last two make no sense there but must be listed: `colcon build --symlink-install`
        # runs this script in a folder that holds the listed files alone, and without
        # pyproject.toml the package would have neither name nor commands.
        (share, ["package.xml", "LICENSE", "pyproject.toml", "README.md"]),
        # As data, not as `scripts`: those, built with --symlink-install, demand at each start
        # that every dependency is installed under its name on PyPI, which a distribution's
        # packages (python3-opencv, ...) are not.
        (f"lib/{NAME}", sorted(str(path) for path in Path("nodes").iterdir() if path.is_file())),
    ]
    for top in ("launch", "config"):
        for folder in sorted({path.parent for path in Path(top).rglob("*") if path.is_file()}):
            if folder.name == "__pycache__":
                continue
            files = sorted(str(path) for path in folder.iterdir() if path.is_file())
            pairs.append((f"{share}/{folder.as_posix()}", files))
    return pairs


class BuildCompiledPart(build_ext):
    """Stops with one line where the compiled part cannot be built, instead of leaving it out."""

    def run(self) -> None:
        """As `build_ext`."""
        lacking = lacking_to_compile()
        if lacking:
            raise SystemExit(
                f"error: sim_bridge/embedded/*.c cannot be compiled: install {lacking}, then "
                "build again"
            )
        super().run()


def lacking_to_compile() -> str:
    """What is missing to build the compiled part, and how to get it; "" where nothing is."""
    if find_spec("cffi") is None:
        return "cffi (pip install cffi)"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(compiler) is None:
        return f"a C compiler (apt install gcc; looked for {compiler})"
    include = sysconfig.get_path("include")
    if not (Path(include) / "Python.h").is_file():
        version = ".".join(map(str, sys.version_info[:2]))
        return f"Python's headers (apt install python{version}-dev; looked in {include})"
    return ""


def compiled_part() -> dict[str, object]:
    """The arguments of `setup` for it: what looks and ways cost, a run without pictures costs."""
    if find_spec("cffi") is None:
        # Setuptools would only warn of a keyword that it does not know, and install the rest.
        return {"ext_modules": [Extension("sim_bridge.embedded._compiled", [])]}
    return {"cffi_modules": ["sim_bridge/embedded/compiled_build.py:ffibuilder"]}


setup(
    # Here, because old and new setuptools disagree on how pyproject.toml spells it, ...
    license="Apache-2.0",
    # ... and because colcon evaluates setup.py and knows texts only, not parsed versions.
    python_requires=">=3.11,<3.14",
    packages=find_packages(include=[f"{top}{inner}" for top in PACKAGES for inner in ("", ".*")]),
    package_data={
        "": ["py.typed", "*.pyi"],
        "planner.console.static": ["*.html", "*.js", "*.css", "*.svg"],
        "planner.episodes.review.assets": ["*.html", "*.js", "*.css"],
        "planner.replay.report.assets": ["*.js", "*.css"],
    },
    exclude_package_data={"planner.console": ["web/*", "web/src/*"]},
    cmdclass={"build_ext": BuildCompiledPart},
    **compiled_part(),
    data_files=[] if EDITABLE else data_files(),
    zip_safe=False,
)
