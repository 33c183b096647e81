from __future__ import annotations

import math
import pickle
import subprocess
import sys
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from planner.world.geometry import matrix_from_quaternion, quaternion_from_matrix, record


@record
class Place:
    x_m: float
    y_m: float
    names: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Frozen:
    x_m: float
    y_m: float
    names: tuple[str, ...] = field(default=())


def test_it_is_compared_hashed_shown_and_copied_by_its_values() -> None:
    place = Place(1.0, 2.0, ("a",))
    assert place == Place(1.0, 2.0, ("a",)) != Place(1.0, 2.0)
    assert hash(place) == hash(Frozen(1.0, 2.0, ("a",)))
    assert repr(place) == "Place(x_m=1.0, y_m=2.0, names=('a',))"
    assert replace(place, y_m=3.0) == Place(1.0, 3.0, ("a",))
    sent = pickle.loads(pickle.dumps(place))  # noqa: S301 - its own
    for same in (copy(place), deepcopy(place), sent):
        assert same == place


def test_it_has_no_other_fields() -> None:
    with pytest.raises(AttributeError):
        Place(1.0, 2.0).z_m = 3.0  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        Place(1.0)  # type: ignore[call-arg]


# It starts a type checker without a cache of its own.
@pytest.mark.slow
def test_type_checkers_let_nobody_write_to_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from planner.world.geometry import Pose\n"
        "pose = Pose.planar(0.0, 0.0, 0.0)\n"
        "pose.position_m = (1.0, 2.0, 3.0)\n"
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 1, checked.stderr
    assert 'program.py:3: error: Property "position_m"' in checked.stdout


HALF = math.sqrt(0.5)


@pytest.mark.parametrize(
    "quaternion",
    [
        (0.0, 0.0, 0.0, 1.0),
        # Half turns about each axis, where the trace says nothing of the axis.
        (1.0, 0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0, 0.0),
        (0.0, 0.0, 1.0, 0.0),
        # Of a camera: x to the right, y down, z ahead.
        (-0.5, 0.5, -0.5, 0.5),
        (HALF, 0.0, -HALF, 0.0),
        (0.1, -0.7, 0.1, 0.7),
    ],
)
def test_a_rotation_is_found_again_in_its_matrix(
    quaternion: tuple[float, float, float, float],
) -> None:
    found = quaternion_from_matrix(matrix_from_quaternion(quaternion))
    assert found[3] >= 0
    assert found == pytest.approx(quaternion, abs=1e-12)
