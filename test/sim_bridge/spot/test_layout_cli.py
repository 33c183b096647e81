"""`planner layout`: layouts of real houses, checked, drawn and written as houses."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from PIL import Image

from planner.cli import main
from planner.world.house_checks import load_house
from planner.world.share import config_dir

SHIPPED = config_dir() / "spot_scenarios" / "train_0_layout.yaml"


TABLE = {
    "name": "table_0",
    "class_name": "coffee table",
    "room": "living_room_0",
    "x_m": 3.0,
    "y_m": 6.0,
    "size_m": [0.7, 1.0, 0.5],
    "poses": [[19.0, 9.0, 0.0]],
}


def changed(folder: Path, **fields: object) -> Path:
    document = yaml.safe_load(SHIPPED.read_text(encoding="utf-8")) | fields
    path = folder / "flat.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def test_the_command_checks_and_writes_a_house_that_the_nodes_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["layout", "check", str(SHIPPED)]) == 0
    said = capsys.readouterr().out
    assert "sound, 4 rooms, 30 pieces of furniture, 7 poses" in said
    assert "no marker near, so odometry alone is trusted there" in said
    house = tmp_path / "house.json"
    assert main(["layout", "house", str(SHIPPED), "-o", str(house)]) == 0
    assert load_house(house).name == "train_0"
    broken = changed(tmp_path, fiducials=[], furniture=[TABLE])
    capsys.readouterr()
    assert main(["layout", "check", str(SHIPPED), str(broken)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert f"{broken}: fiducials: there is none" in " ".join(lines)
    assert f"{broken}: furniture.0.poses.0: (19.0, 9.0) lies outside" in " ".join(lines)
    assert main(["layout", "house", str(SHIPPED), "-o", str(tmp_path / "no" / "x.json")]) == 2
    assert f"{tmp_path / 'no' / 'x.json'}: cannot be written: No such" in capsys.readouterr().err


def test_the_floor_plan_is_drawn_with_the_markers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, drawn = tmp_path / "plain.png", tmp_path / "drawn.png"
    assert main(["layout", "draw", str(changed(tmp_path, fiducials=[])), "-o", str(plain)]) == 0
    assert main(["layout", "draw", str(SHIPPED), "-o", str(drawn)]) == 0
    assert str(drawn) in capsys.readouterr().out
    with Image.open(plain) as without, Image.open(drawn) as with_marker:
        assert without.size == with_marker.size
        assert without.tobytes() != with_marker.tobytes()
    assert main(["layout", "draw", str(SHIPPED), "--scale", "1", "-o", str(drawn)]) == 2
    assert "--scale 1.0" in capsys.readouterr().err


def test_a_recorded_map_is_drawn_over_it_or_refused_as_the_bridge_would(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
    from bosdyn.api.graph_nav import map_pb2

    graph = map_pb2.Graph()
    page = graph.anchoring.objects.add(id="500").seed_tform_object
    # Faces +x, z out of the page.
    page.position.z = 1.0
    page.rotation.x = page.rotation.z = 0.5**0.5
    graph.waypoints.add(id="one")
    graph.anchoring.anchors.add(id="one").seed_tform_waypoint.position.x = 3.0
    (tmp_path / "graph").write_bytes(graph.SerializeToString())
    drawn, plain = tmp_path / "drawn.png", tmp_path / "plain.png"
    words = ["layout", "draw", str(SHIPPED)]
    assert main([*words, "-o", str(plain)]) == 0
    assert main([*words, "--graph", str(tmp_path), "-o", str(drawn)]) == 0
    with Image.open(plain) as without, Image.open(drawn) as with_map:
        assert without.tobytes() != with_map.tobytes()
    capsys.readouterr()
    graph.anchoring.objects[0].id = "7"
    (tmp_path / "graph").write_bytes(graph.SerializeToString())
    assert main([*words, "--graph", str(tmp_path), "-o", str(drawn)]) == 2
    assert "the map's markers (7) are none of the layout's (500)" in capsys.readouterr().err
