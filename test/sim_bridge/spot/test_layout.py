"""Hand-annotated houses, sound and broken. Needs no SDK."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.world.errors import FileError
from planner.world.house_checks import load_house
from planner.world.share import config_dir
from sim_bridge.spot.layout import Fiducial, blind_poses, check_layout, parse_layout, read_annotated

SHIPPED = config_dir() / "spot_scenarios" / "train_0_layout.yaml"
ROOM = {"name": "hall_0", "class_name": "hallway", "polygon_m": [[0, 0], [6, 0], [6, 5], [0, 5]]}
TABLE = {
    "name": "table_0",
    "class_name": "coffee table",
    "room": "hall_0",
    "x_m": 3.0,
    "y_m": 4.0,
    "size_m": [0.7, 1.0, 0.5],
    "poses": [[2.0, 3.0, 0.8]],
}
MARKER = {"tag": 7, "position_m": [0.0, 2.0, 0.6]}


def layout(**changes: Any) -> dict[str, Any]:
    whole = {"version": 1, "name": "flat", "rooms": [ROOM], "furniture": [TABLE]}
    return whole | {"fiducials": [MARKER]} | changes


def written(folder: Path, document: object) -> Path:
    path = folder / "flat.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def test_the_shipped_layout_is_sound_and_as_the_house_is_to_some_centimetres() -> None:
    annotated, house = read_annotated(SHIPPED), load_house("train_0")
    assert [piece.name for piece in annotated.house.furniture] == [p.name for p in house.furniture]
    for measured, true in zip(annotated.house.furniture, house.furniture, strict=True):
        assert measured.class_name == true.class_name
        assert abs(measured.x_m - true.x_m) < 0.02
        assert abs(measured.y_m - true.y_m) < 0.02
        assert [s.name for s in measured.surfaces] == [s.name for s in true.surfaces]
    assert annotated.poses["table_0"]


def test_a_markers_yaw_is_where_the_page_faces() -> None:
    """Of any yaw: x up, z out of the page, y to the left of who looks at it."""
    for yaw_rad in (-2.5, 0.0, 0.7, 3.0):
        marker = Fiducial(tag=1, position_m=(1.0, 2.0, 0.5), yaw_rad=yaw_rad)
        up, left, out = marker.in_map.rotation().T
        assert up == pytest.approx((0.0, 0.0, 1.0))
        assert out == pytest.approx((math.cos(yaw_rad), math.sin(yaw_rad), 0.0))
        assert left == pytest.approx((math.sin(yaw_rad), -math.cos(yaw_rad), 0.0))
        assert marker.in_map.position_m == (1.0, 2.0, 0.5)


def test_the_shipped_markers_page_faces_into_the_house() -> None:
    annotated = read_annotated(SHIPPED)
    (marker,) = annotated.fiducials
    x, y, _ = marker.in_map.apply((0.0, 0.1, 0.3))
    assert annotated.house.room_at(x, abs(y)) is not None
    assert marker.yaw_rad == 0.0


def test_a_small_layout_is_sound(tmp_path: Path) -> None:
    annotated = parse_layout(written(tmp_path, layout()))
    assert check_layout(annotated) == []
    assert annotated.house.furniture[0].class_name == "table"
    assert blind_poses(annotated) == []


def with_table(**changes: Any) -> dict[str, Any]:
    return layout(furniture=[TABLE | changes])


@pytest.mark.parametrize(
    ("document", "field", "words"),
    [
        (with_table(class_name="cofee table"), "furniture.0.class_name", "no furniture 'cofee"),
        (with_table(room="cellar_0"), "", "unknown room 'cellar_0'"),
        (with_table(x_m=9.0), "furniture.0", "table_0"),
        (with_table(poses=[[9, 9, 0]]), "furniture.0.poses.0", "outside of the rooms"),
        (with_table(poses=[[3.0, 4.0, 0]]), "furniture.0.poses.0", "does not fit"),
        (with_table(poses=[[2, 3, 0], [0.6, 0.6, 0]]), "furniture.0.poses.1", "more than 2 m away"),
        (with_table(poses=[[2, 3]]), "furniture.0.poses.0", "required"),
        (with_table(size_m=[0.7, -1, 0.5]), "furniture.0.size_m", "0.0001"),
        (layout(rooms=[ROOM | {"class_name": "dungeon"}]), "rooms.0.class_name", "no room 'dung"),
        (
            layout(rooms=[ROOM | {"polygon_m": [[0, 0], [1, 1], [0, 1], [1, 0]]}]),
            "rooms.0",
            "polygon",
        ),
        (layout(fiducials=[]), "fiducials", "there is none"),
        (layout(fiducials=[MARKER, MARKER]), "", "a tag is used twice"),
        (layout(fiducials=[MARKER | {"position_m": [0, 2, 3]}]), "fiducials.0", "not a height"),
        (layout(fiducials=[MARKER | {"position_m": [30, 2, 1]}]), "fiducials.0", "no floor"),
        (layout(fiducials=[MARKER | {"yaw_rad": 3.14}]), "fiducials.0.yaw_rad", "faces out of the"),
        (layout(fiducials=[MARKER | {"yaw_rad": -2.0}]), "fiducials.0.yaw_rad", "faces out of the"),
        (layout(furniture=[TABLE, TABLE]), "", "'table_0' is used twice"),
        (layout(colour="red"), "colour", "Extra"),
        ([], "", "valid dictionary"),
    ],
)
def test_what_is_wrong_names_file_field_and_reason(
    tmp_path: Path, document: object, field: str, words: str
) -> None:
    path = written(tmp_path, document)
    with pytest.raises(FileError, match=words) as caught:
        read_annotated(path)
    assert caught.value.file == str(path)
    assert caught.value.field.startswith(field)


def test_a_pose_behind_furniture_that_no_way_leads_to_is_reported(tmp_path: Path) -> None:
    shelf = {
        "name": "shelves_0",
        "class_name": "shelves",
        "room": "hall_0",
        "x_m": 4.6,
        "y_m": 2.5,
        "size_m": [0.4, 4.9, 1.4],
        "poses": [[5.4, 2.5, 3.1]],
    }
    path = written(tmp_path, layout(furniture=[TABLE | {"x_m": 2.5}, shelf]))
    with pytest.raises(FileError, match="no way leads to"):
        read_annotated(path)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
        max_leaves=8,
    )
)
def test_any_document_is_a_layout_or_one_error(document: object) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), layout(furniture=document))
        with pytest.raises(FileError):
            parse_layout(path)
