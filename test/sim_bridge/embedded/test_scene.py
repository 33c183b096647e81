"""The MJCF file of a house is the model that the embedded simulator shows."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from planner.world.catalogue import default_catalogue
from planner.world.errors import FileError
from planner.world.house import House
from sim_bridge.embedded.scene import export_mujoco, house_spec


def test_the_file_is_the_model(small_house: House, tmp_path: Path) -> None:
    model = mujoco.MjModel.from_xml_path(str(export_mujoco(small_house, tmp_path)))
    built = house_spec(small_house, default_catalogue()).compile()
    assert np.allclose(model.geom_size[: built.ngeom], built.geom_size, atol=1e-5)
    assert np.allclose(model.geom_rgba[: built.ngeom], built.geom_rgba, atol=1e-5)
    assert model.nmocap == len(small_house.objects)
    for item in small_house.objects:
        assert np.allclose(model.body(item.name).pos, item.pose[:3], atol=1e-5)
    for piece in small_house.furniture:
        for joint in piece.joints:
            ends = sorted((0.0, joint.travel))
            assert model.joint(f"{piece.name}/{joint.name}").range == pytest.approx(ends, abs=1e-5)


def test_what_cannot_be_written_is_reported(small_house: House, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(FileError, match="cannot be written"):
        export_mujoco(small_house, tmp_path / "file")
    strange = small_house.objects[0].model_copy(update={"class_name": "gryphon"})
    with pytest.raises(FileError, match="unknown class 'gryphon'"):
        export_mujoco(small_house.model_copy(update={"objects": (strange,)}), tmp_path)
