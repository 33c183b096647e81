from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

from planner.narrator.picture import AgentPaths, save
from planner.world.errors import PlannerError
from planner.world.memory_wire import FrameLinks

PICTURE = Image.new("RGB", (8, 8))


def test_a_picture_is_kept_in_a_folder_of_its_own(tmp_path: Path) -> None:
    save(PICTURE, tmp_path / "out" / "run.png")
    assert Image.open(tmp_path / "out" / "run.png").size == (8, 8)


def test_a_picture_that_cannot_be_kept_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlannerError, match=r"run\.png: cannot be written"):
        save(PICTURE, tmp_path / "file" / "run.png")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_leaves_no_piece_of_a_picture(tmp_path: Path) -> None:
    (tmp_path / "run.png").symlink_to("/dev/full")
    with pytest.raises(PlannerError, match="No space left"):
        save(PICTURE, tmp_path / "run.png")
    assert list(tmp_path.iterdir()) == []


def link(parent: str, child: str, stamp_s: float, x: float, y: float, yaw_rad: float = 0.0):
    stamp = SimpleNamespace(sec=int(stamp_s), nanosec=round((stamp_s % 1) * 1e9))
    turn = SimpleNamespace(x=0.0, y=0.0, z=math.sin(yaw_rad / 2), w=math.cos(yaw_rad / 2))
    return SimpleNamespace(
        header=SimpleNamespace(stamp=stamp, frame_id=parent),
        child_frame_id=child,
        transform=SimpleNamespace(translation=SimpleNamespace(x=x, y=y, z=0.0), rotation=turn),
    )


def followed(*rounds: tuple[float, list]) -> AgentPaths:
    told = dict(enumerate(links for _, links in rounds))
    frames = FrameLinks(lambda data: told[data[0]])
    paths = AgentPaths(frames)
    paths.follow("agent_0")
    for number, (stamp_s, _) in enumerate(rounds):
        frames.add(stamp_s, bytes([number]))
        paths.sample()
    return paths


def test_a_way_is_drawn_where_the_robot_is_on_the_map() -> None:
    quarter = math.pi / 2
    paths = followed(
        *(
            (
                1.0 + k,
                [
                    link("map", "agent_0/odom", 1.0 + k, 10.0, 5.0, quarter),
                    link("agent_0/odom", "agent_0/base_link", 1.0 + k, 1.0 * k, 0.0),
                ],
            )
            for k in range(3)
        )
    )
    expected = [(10.0, 5.0), (10.0, 6.0), (10.0, 7.0)]
    for got, wanted in zip(paths.points["agent_0"], expected, strict=True):
        assert got == pytest.approx(wanted)


def test_a_robot_whose_place_on_the_map_is_unknown_is_not_drawn() -> None:
    paths = followed((1.0, [link("agent_0/odom", "agent_0/base_link", 1.0, 3.0, 4.0)]))
    assert paths.points == {"agent_0": []}


def test_a_standing_agent_adds_no_points() -> None:
    paths = followed(
        *((1.0 + k, [link("map", "agent_0/base_link", 1.0 + k, 0.01 * k, 0.0)]) for k in range(5))
    )
    assert paths.points["agent_0"] == [(0.0, 0.0)]
