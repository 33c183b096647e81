"""A build that cannot compile says so in one line; so does a run without the compiled part."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# As an environment in which a package is not installed.
HIDE = """
import runpy, sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {hidden} or name in {hidden}:
            raise ModuleNotFoundError(f'No module named {{name!r}}', name=name)
sys.meta_path.insert(0, Hidden())
import importlib.util
found = importlib.util.find_spec
def find_spec(name, package=None):
    return None if name in {hidden} else found(name, package)
importlib.util.find_spec = find_spec
"""


def ended(code: str, words: Sequence[str] = (), **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def built(hidden: set[str], folder: Path, **environment: str) -> tuple[int, str]:
    code = HIDE.format(hidden=hidden) + "sys.argv[0] = 'setup.py'\nrunpy.run_path('setup.py')"
    places = ("--build-temp", str(folder / "temp"), "--build-lib", str(folder / "lib"))
    status, _, said = ended(code, ("-q", "build_ext", "--force", *places), **environment)
    return status, said


@pytest.mark.slow
def test_a_build_without_a_compiler_says_what_to_install(tmp_path: Path) -> None:
    status, said = built(set(), tmp_path, CC="a-compiler-that-is-not-there -O2")
    assert status == 1
    assert said == (
        "error: sim_bridge/embedded/*.c cannot be compiled: install a C compiler (apt install "
        "gcc; looked for a-compiler-that-is-not-there), then build again\n"
    )


@pytest.mark.slow
def test_a_build_without_cffi_does_not_leave_the_compiled_part_out(tmp_path: Path) -> None:
    status, said = built({"cffi"}, tmp_path)
    assert status == 1
    assert said == (
        "error: sim_bridge/embedded/*.c cannot be compiled: install cffi (pip install cffi), "
        "then build again\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "cure"),
    [
        ("sim_bridge.embedded._compiled", "python setup.py build_ext --inplace"),
        ("_cffi_backend", "pip install cffi"),
    ],
)
def test_a_run_without_the_compiled_part_ends_with_one_line(missing: str, cure: str) -> None:
    code = HIDE.format(hidden={missing}) + (
        "from planner.cli import main\nsys.exit(main(['run', 'night_light_0', '--no-images']))"
    )
    status, shown, said = ended(code)
    assert (status, shown) == (2, "")
    assert said.startswith("error: the simulator's compiled part cannot be loaded")
    assert cure in said
    assert said.count("\n") == 1
