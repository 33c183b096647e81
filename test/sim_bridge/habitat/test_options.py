"""Things and bodies drawn with another data set's meshes; the data are made here."""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hssd_layout import CUP_MODEL, write_hssd, write_json, write_movables

from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.house import House
from planner.world.vocabulary import AgentKind
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.geometry import DrawsModels
from sim_bridge.habitat.backend import HabitatBackend
from sim_bridge.habitat.dataset.meshes import Solid, box_triangles, write_glb
from sim_bridge.habitat.dataset.wrapped import body_mesh, thing_mesh, wrapped
from sim_bridge.habitat.hssd_export import index_models, write_index
from sim_bridge.habitat.options import BodyModel, HabitatOptions, Models, ThingModel, read_models

STAND_IN = Path(__file__).with_name("stand_in.py")
URDF = """<?xml version="1.0"?>
<robot name="toy">
 <link name="base"><visual><geometry><mesh filename="part.glb" scale="2 1 1"/></geometry></visual>
 </link>
 <link name="arm"><visual><origin xyz="0 0 0.5"/><geometry><mesh filename="part.glb"/></geometry>
 </visual></link>
 <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/>
  <origin xyz="0 0 1"/><axis xyz="0 1 0"/><limit lower="1.5707963267948966" upper="2"/></joint>
</robot>
"""


@pytest.fixture
def data(small_house: House, tmp_path: Path) -> tuple[Path, Path]:
    """HSSD's tables and OVMM's models: a cup of 0.1 x 0.1 x 0.12 m."""
    (tmp_path / "hssd").mkdir()
    (tmp_path / "ovmm").mkdir()
    return write_hssd(tmp_path / "hssd", small_house), write_movables(tmp_path / "ovmm")


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    """A URDF of two blocks of 0.2 x 0.2 x 0.2 m, in the URDF's own axes."""
    write_glb([Solid(box_triangles((0.1, 0.1, 0.1)), (1, 0, 0))], tmp_path / "part.glb")
    path = tmp_path / "toy.urdf"
    path.write_text(URDF, encoding="utf-8")
    return path


def bounds(content: bytes) -> np.ndarray:
    """(2, 3) lowest and highest corner of a GLB, in our axes."""
    low, high = trimesh.load(io.BytesIO(content), file_type="glb", force="scene").bounds
    return np.array([[low[0], -high[2], low[1]], [high[0], -low[2], high[1]]])


def test_an_index_names_the_models_of_the_wanted_classes(
    data: tuple[Path, Path], robot: Path, tmp_path: Path
) -> None:
    found = index_models({"cup", "book"}, data[0], [data[1]], {AgentKind.ROBOT: robot})
    assert found.left_out == ()
    (cup,) = found.models.things
    assert (cup.name, cup.class_name) == (CUP_MODEL, "cup")
    assert cup.size_m == pytest.approx((0.1, 0.1, 0.12))
    assert Path(cup.mesh).is_absolute()
    path = write_index(found.models, tmp_path)
    assert read_models(str(path)) == found.models
    assert index_models({"book"}, data[0], [data[1]], {}).models == Models(version=1)


def test_a_model_without_its_mesh_is_left_out_and_told(data: tuple[Path, Path]) -> None:
    (mesh,) = data[1].rglob("*.glb")
    mesh.write_text("version https://git-lfs.github.com/spec/v1\n", encoding="utf-8")
    found = index_models({"cup"}, data[0], [data[1]], {})
    assert found.models.things == ()
    (reason,) = found.left_out
    assert str(mesh) in reason


def test_a_mesh_gets_the_size_and_the_origin_of_the_thing(
    data: tuple[Path, Path], small_house: House
) -> None:
    (cup,) = index_models({"cup"}, data[0], [data[1]], {}).models.things
    item = next(o for o in small_house.objects if o.name == "cup_0")
    item = item.model_copy(update={"size_m": (0.12, 0.08, 0.18)})
    low, high = bounds(thing_mesh(cup, item))
    assert low == pytest.approx((-0.06, -0.04, 0.0), abs=1e-6)
    assert high == pytest.approx((0.06, 0.04, 0.18), abs=1e-6)


def test_the_model_of_the_nearest_size_is_taken_unless_all_are_unlike(small_house: House) -> None:
    item = next(o for o in small_house.objects if o.name == "cup_0")

    def model(name: str, factor: float, class_name: str = "cup") -> ThingModel:
        x, y, z = item.size_m
        axes = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        size = (x * factor, y * factor, z)
        return ThingModel(
            name=name, class_name=class_name, mesh="m", turn=axes, low_m=(0, 0, 0), size_m=size
        )

    known = Models(version=1, things=(model("wide", 1.5), model("near", 0.9)))
    assert known.of(item) == known.things[1]
    assert Models(version=1, things=(model("huge", 2.1),)).of(item) is None
    assert Models(version=1, things=(model("bowl", 1.0, "bowl"),)).of(item) is None


def test_a_file_that_is_no_glb_or_needs_others_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "m.glb"
    with pytest.raises(FileError, match=r"m\.glb: cannot be read"):
        wrapped(path, np.eye(4))
    for content in (b"", b"glTF", b"PK\x03\x04" + bytes(40), b"glTF" + bytes(60)):
        path.write_bytes(content)
        with pytest.raises(FileError, match=r"m\.glb: is no GLB file"):
            wrapped(path, np.eye(4))
    write_glb([Solid(box_triangles((1, 1, 1)), (1, 0, 0))], path)
    content = path.read_bytes()
    assert trimesh.load(io.BytesIO(wrapped(path, np.eye(4))), file_type="glb").bounds is not None
    length = int.from_bytes(content[12:16], "little")
    tree = json.loads(content[20 : 20 + length])
    tree["images"] = [{"uri": "wood.png"}]
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    path.write_bytes(
        content[:12] + len(text).to_bytes(4, "little") + b"JSON" + text + content[20 + length :]
    )
    with pytest.raises(FileError, match=r"images\.0\.uri: needs 'wood\.png' beside it"):
        wrapped(path, np.eye(4))


def test_a_urdf_stands_on_the_floor_with_its_joints_at_rest(robot: Path) -> None:
    low, high = bounds(body_mesh(BodyModel(urdf=str(robot), up="z")))
    # The base reaches from -0.2 to 0.2; the arm, turned by a right angle, from 0.4 to 0.6 ahead.
    assert low == pytest.approx((-0.2, -0.1, 0.0), abs=1e-6)
    assert high == pytest.approx((0.6, 0.1, 1.2), abs=1e-6)
    low, high = bounds(body_mesh(BodyModel(urdf=str(robot), up="y")))
    assert low[2] == pytest.approx(0.0, abs=1e-6)
    assert high[2] == pytest.approx(0.2, abs=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('<robot name="toy">', "<robot", "is not well formed"),
        ('xyz="0 0 1"', 'xyz="0 0"', "origin.xyz: expected 3 numbers"),
        (
            '<parent link="base"/>',
            '<parent link="arm"/>',
            "joint.shoulder.parent: leads to no root",
        ),
        ("part.glb", "gone.glb", "gone.glb: is not a mesh that can be read"),
        ("visual", "collision", "link.visual: no link shows a mesh"),
    ],
)
def test_a_urdf_that_cannot_be_drawn_is_one_error(
    robot: Path, old: str, new: str, reason: str
) -> None:
    robot.write_text(URDF.replace(old, new), encoding="utf-8")
    with pytest.raises(FileError, match=reason):
        body_mesh(BodyModel(urdf=str(robot)))


@pytest.fixture
def habitat(
    data: tuple[Path, Path], robot: Path, tmp_path: Path
) -> Iterator[tuple[HabitatBackend, Path]]:
    found = index_models({"cup"}, data[0], [data[1]], {AgentKind.ROBOT: robot})
    index, cache = write_index(found.models, tmp_path), tmp_path / "cache"
    options = HabitatOptions(
        python=sys.executable, cache=str(cache), models=str(index), answer_timeout_s=60.0
    )
    made = HabitatBackend(options, worker=STAND_IN)
    yield made, cache
    made.close()


@pytest.mark.slow
def test_what_has_a_model_is_drawn_with_it_and_said(
    habitat: tuple[HabitatBackend, Path], small_house: House, small_episode: Episode
) -> None:
    backend, cache = habitat
    cup = next(o for o in small_house.objects if o.name == "cup_0")
    cup = cup.model_copy(update={"size_m": (0.1, 0.1, 0.12)})
    others = tuple(o for o in small_house.objects if o.name != "cup_0")
    backend.reset(small_house, small_episode.model_copy(update={"objects": (cup, *others)}), 3)
    assert isinstance(backend, DrawsModels)
    assert backend.drawn_from() == (
        "house ours, things 1 of 3 of a data set, robot toy, human ours"
    )
    (config,) = cache.rglob("things/cup*.object_config.json")
    document = json.loads(config.read_text("utf-8"))
    drawn = (config.parent / document["render_asset"]).resolve()
    low, high = bounds(drawn.read_bytes())
    assert high - low == pytest.approx((0.1, 0.1, 0.12), abs=1e-6)
    touched = (config.parent / document["collision_asset"]).resolve()
    assert touched != drawn, "rays meet our own mesh"
    (body,) = cache.rglob("bodies/robot*.object_config.json")
    assert "robot--" in json.loads(body.read_text("utf-8"))["render_asset"]


@pytest.mark.slow
def test_without_models_everything_is_ours(
    small_house: House, small_episode: Episode, tmp_path: Path
) -> None:
    options = HabitatOptions(python=sys.executable, cache=str(tmp_path), answer_timeout_s=60.0)
    backend = HabitatBackend(options, worker=STAND_IN)
    try:
        backend.reset(small_house, small_episode, 3)
        assert backend.drawn_from() == (
            "house ours, things 0 of 3 of a data set, robot ours, human ours"
        )
    finally:
        backend.close()
    assert not isinstance(EmbeddedBackend(), DrawsModels)


def test_an_index_that_is_none_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    with pytest.raises(FileError, match=r"models\.json"):
        HabitatBackend(HabitatOptions(models=str(path)))
    write_json(path, {"version": 1, "things": [{"name": "cup", "size_m": [0, math.pi, 1]}]})
    with pytest.raises(FileError, match=r"models\.json: things\.0\."):
        HabitatBackend(HabitatOptions(models=str(path)))
