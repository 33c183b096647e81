"""Rerun recordings, read again by Rerun's own reader."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner.replay.export import rerun_stream
from planner.replay.export.source import Source
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.share import config_dir

rr = pytest.importorskip("rerun", reason="Rerun is not installed: the extra viewer")
pa = pytest.importorskip("pyarrow")

from planner.replay.export.rerun_file import write_rrd  # noqa: E402

# As text, and as a list of bytes.
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\[(\d+, ){15}\d+\]")


class Read:
    """A recording: rows of each entity, each with its times and components."""

    def __init__(self, path: Path) -> None:
        self.reader = rr.chunk.RrdReader(path)
        self.rows: dict[str, list[dict[str, object]]] = {}
        for chunk in self.reader.stream():
            self.rows.setdefault(chunk.entity_path, []).extend(_rows(chunk))

    def values(self, path: str, component: str) -> list[tuple[float, object]]:
        """What was logged of a component: seconds of the world (NaN = always) and the value."""
        found = [row for row in self.rows.get(path, []) if row.get(component) is not None]
        told = [(_seconds(row.get("sim_time")), row[component]) for row in found]
        return sorted(told, key=lambda pair: (not math.isnan(pair[0]), pair[0]))


def _rows(chunk) -> list[dict[str, object]]:
    batch = chunk.to_record_batch()
    columns = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_temporal(column.type):
            column = column.cast(pa.int64())
        columns[name] = column.to_pylist()
    return [{name: values[n] for name, values in columns.items()} for n in range(batch.num_rows)]


def _seconds(nanoseconds) -> float:
    return math.nan if nanoseconds is None else nanoseconds * 1e-9


@pytest.fixture
def tape(tapes, film, messages):
    """A run in a known house with everything that a bag can tell."""
    tape = tapes.tape("whole")
    info = {"house": film.house.name, "house_json": film.house.model_dump_json()}
    tape.put("/world/info", "planner_msgs/WorldInfo", 0.0, simulated=True, **info)
    cup = film.states[0].entities["cup_0"]
    moved = replace(cup, pose=Pose.planar(1.0, 2.0, 0.0, 0.8), size_m=(0.1, 0.2, 0.4))
    world, graph = "planner_msgs/msg/WorldState", "planner_msgs/msg/WorldGraph"
    first = replace(film.states[0], episode_id="")
    second = replace(
        first, stamp_s=1.0, step=30, revision=2, entities={**first.entities, "cup_0": moved}
    )
    third = replace(
        second,
        stamp_s=2.0,
        revision=3,
        entities={k: v for k, v in second.entities.items() if k != "apple_0"},
    )
    for state in (first, second, third):
        tape.put_made("/world/state", world, state.stamp_s, messages.world(state))
        tape.put_made("/world_graph", graph, state.stamp_s, messages.graph(state, state.stamp_s))
    for agent in ("agent_0", "agent_1"):
        lens = {"k": [50.0, 0, 32, 0, 50, 24, 0, 0, 1], "width": 64, "height": 48}
        frame = f"{agent}/hand_optical_frame"
        info_topic = f"/{agent}/camera/hand/camera_info"
        tape.put(info_topic, "sensor_msgs/CameraInfo", 0.0, frame_id=frame, **lens)
        for number in range(11):
            tapes.body(tape, number / 10, agent)
        tape.picture(agent, 0.5)
    depth = np.full((4, 6), 1.5, np.float32)
    depth[0, 0] = np.nan
    tape.put(
        "/agent_0/depth_registered/hand/image",
        "sensor_msgs/Image",
        0.5,
        frame_id="agent_0/hand_optical_frame",
        height=4,
        width=6,
        step=24,
        encoding="32FC1",
        data=depth.view(np.uint8).reshape(-1),
    )
    tapes.status(tape, 0.1)
    tapes.story(tape)
    operation = {"kind": 0, "entity": {"id": 101, "name": "cup_0", "description": "a cup"}}
    tape.put("/memory/updates", "planner_msgs/MemoryUpdate", 1.0, operations=[operation])
    log = {"level": 40, "name": "bridge", "msg": "[link](http://x) is down"}
    tape.put("/rosout", "rcl_interfaces/Log", 1.0, **log)
    return tape


@pytest.fixture
def source(tape) -> Source:
    return Source(tape.close())


@pytest.fixture
def recording(source, tmp_path) -> Read:
    write_rrd(source, tmp_path / "a.rrd")
    return Read(tmp_path / "a.rrd")


def test_both_times_are_those_of_the_bag(recording, tapes) -> None:
    (row,) = [r for r in recording.rows["/log/memory"] if r.get("TextLog:text")]
    assert row["sim_time"] == 10**9
    assert row["log_time"] == tapes.start_ns + 10**9 + 5_000_000
    others = {name for rows in recording.rows.values() for row in rows for name in row}
    assert not others & {"log_tick", "time"}


def test_transforms_are_those_of_tf(recording, tapes) -> None:
    found = recording.values("/tf/agent_0/base_link", "Transform3D:translation")
    assert len(found) == 11
    x, y, _ = tapes.base_pose(1.0)
    assert found[10][0] == pytest.approx(1.0)
    assert found[10][1][0] == pytest.approx([x, y, 0.0], abs=1e-6)
    (parent,) = {
        str(v) for _, v in recording.values("/tf/agent_0/base_link", "Transform3D:parent_frame")
    }
    assert parent == "['agent_0/odom']"


def test_the_house_is_there_from_the_beginning(recording, source) -> None:
    house = source.house
    for room in house.rooms:
        ((at_s, strips),) = recording.values(rerun_stream.room(room.name), "LineStrips3D:strips")
        assert math.isnan(at_s)
        corners = np.array(strips[0])[:-1, :2]
        assert corners == pytest.approx(np.array(room.polygon_m))
    for piece in house.furniture:
        ((_, centers),) = recording.values(rerun_stream.furniture(piece.name), "Boxes3D:centers")
        assert len(centers) == len(piece.parts)
    ((_, sizes),) = recording.values(rerun_stream.WALLS, "Boxes3D:half_sizes")
    # What is left of the walls' length without the doors'.
    length_m = sum(2 * size[0] for size in sizes)
    around_m = sum(room.shape.exterior.length for room in house.rooms)
    assert 0 < length_m < around_m


def test_true_things_are_boxes_whenever_they_change(recording, source) -> None:
    centers = recording.values(rerun_stream.truth("cup_0"), "Boxes3D:centers")
    assert [at_s for at_s, _ in centers] == pytest.approx([0.0, 1.0])
    assert centers[1][1][0] == pytest.approx([1.0, 2.0, 0.8 + 0.2])
    ((_, size), *_) = recording.values(rerun_stream.truth("cup_0"), "Boxes3D:half_sizes")[1:]
    assert size[0] == pytest.approx([0.05, 0.1, 0.2])
    cleared = recording.values(rerun_stream.truth("apple_0"), "Clear:is_recursive")
    assert [at_s for at_s, _ in cleared] == pytest.approx([2.0])


def test_beliefs_are_boxes_a_graph_and_text(recording) -> None:
    centers = recording.values(rerun_stream.belief("cup_0"), "Boxes3D:centers")
    assert [at_s for at_s, _ in centers] == pytest.approx([0.0, 1.0])
    texts = recording.values(rerun_stream.BELIEF_TEXT, "TextDocument:text")
    assert len(texts) == 2
    assert "object apple_0, on" in texts[0][1][0]
    assert "apple_0" not in texts[1][1][0]
    nodes = recording.values(rerun_stream.GRAPH, "GraphNodes:node_ids")
    assert "cup_0" in nodes[0][1]


def test_cameras_have_a_lens_pictures_and_depth(recording, tapes) -> None:
    import cv2

    lens = rerun_stream.camera("agent_0", "hand")
    ((_, matrix),) = recording.values(lens, "Pinhole:image_from_camera")
    assert matrix[0] == pytest.approx([50, 0, 0, 0, 50, 0, 32, 24, 1])
    ((_, frame),) = recording.values(lens, "Pinhole:parent_frame")
    assert frame == ["agent_0/hand_optical_frame"]
    ((at_s, blob),) = recording.values(rerun_stream.rgb("agent_0", "hand"), "EncodedImage:blob")
    assert at_s == pytest.approx(0.5)
    picture = cv2.imdecode(np.array(blob[0], np.uint8), cv2.IMREAD_COLOR)
    assert picture.shape[:2] == (48, 64)
    assert picture.mean() == pytest.approx(tapes.shade(0.5), abs=2)
    ((_, blob),) = recording.values(rerun_stream.depth("agent_0", "hand"), "EncodedDepthImage:blob")
    depth = cv2.imdecode(np.array(blob[0], np.uint8), cv2.IMREAD_UNCHANGED)
    assert (depth[0, 0], depth[1, 1]) == (0, 1500)


def test_calls_are_states_with_gaps_between_them(recording) -> None:
    states = recording.values(rerun_stream.call("agent_0"), "StateChange:state")
    assert [(round(at_s, 3), state[0] if state else "") for at_s, state in states] == [
        (0.5, "Navigate[table_1]"),
        (2.0, ""),
        (2.2, "Pick[cup_0]"),
        (3.0, ""),
        (3.2, "Navigate[cup_0]"),
    ]


def test_numbers_texts_and_logs(recording, tapes) -> None:
    progress = recording.values(rerun_stream.PROGRESS, "Scalars:scalars")
    assert progress == [(pytest.approx(2.5), [pytest.approx(0.25)])]
    tokens = recording.values(f"{rerun_stream.TOKENS}/prompt_tokens", "Scalars:scalars")
    assert [value[0] for _, value in tokens] == [70, 80, 80, 80]
    # Not measured is not a number, and so no point of a curve.
    first = recording.values(f"{rerun_stream.SECONDS}/first_token_s", "Scalars:scalars")
    assert len(first) == 3
    ((_, text),) = recording.values(rerun_stream.INSTRUCTION, "TextDocument:text")
    assert text == [tapes.instruction]
    ((_, level),) = recording.values(rerun_stream.NODE_LOG, "TextLog:level")
    ((_, line),) = recording.values(rerun_stream.NODE_LOG, "TextLog:text")
    assert (level, line) == (["ERROR"], ["bridge: [link](http://x) is down"])
    judge = recording.values(rerun_stream.JUDGE_TEXT, "TextDocument:text")[0][1][0]
    assert judge == "running\n[ ] cup_0 on table_1\n\nNot yet."


def test_texts_are_plain_and_no_markup(recording) -> None:
    kinds = {
        str(row["TextDocument:media_type"])
        for rows in recording.rows.values()
        for row in rows
        if row.get("TextDocument:text") is not None
    }
    assert kinds == {"['text/plain']"}


def test_hostile_names_are_parts_of_paths_and_no_paths(tapes, tmp_path) -> None:
    tape = tapes.tape()
    names = ["../../etc/passwd", "a/b", "__properties", "", "x\n y", "\u00e9:#!"]
    nodes = [{"kind": 2, "name": name, "size": {"x": 0.1}} for name in names]
    tape.put("/world_graph", "planner_msgs/WorldGraph", 0.5, nodes=nodes)
    link = {"child_frame_id": "/../a//b", "header": {"frame_id": "map", "stamp": tapes.stamp(0.5)}}
    tape.put("/tf", "tf2_msgs/TFMessage", 0.5, transforms=[link])
    write_rrd(Source(tape.close()), tmp_path / "a.rrd")
    paths = Read(tmp_path / "a.rrd").rows
    below = [path for path in paths if path.startswith("/world/belief/")]
    assert sorted(below) == sorted(rerun_stream.belief(name) for name in names)
    assert all(re.fullmatch(r"/world/belief/(?:\\.|[^/\\])+", path, re.DOTALL) for path in below)
    assert "/tf/\\.\\./a/b" in paths or "/tf/../a/b" in paths


def test_an_old_bag_without_house_pictures_and_status_is_a_recording(tapes, tmp_path) -> None:
    tape = tapes.tape()
    tapes.body(tape, 0.0)
    write_rrd(Source(tape.close()), tmp_path / "a.rrd")
    assert "/tf/agent_0/odom" in Read(tmp_path / "a.rrd").rows


def test_a_damaged_picture_ends_the_export_with_its_place(tapes, tmp_path) -> None:
    tape = tapes.tape()
    topic = "/agent_0/depth_registered/hand/image"
    tape.put(topic, "sensor_msgs/Image", 0.5, encoding="32FC1", height=10, width=10, step=40)
    with pytest.raises(PlannerError, match=f"{topic} at 0.500 s: "):
        write_rrd(Source(tape.close()), tmp_path / "a.rrd")


def _contents(path: Path) -> list[str]:
    """What a blueprint says, without its random identities."""
    reader = rr.chunk.RrdReader(path)
    (entry,) = reader.blueprints()
    found = []
    for chunk in reader.stream(store=entry):
        for row in _rows(chunk):
            told = {k: v for k, v in row.items() if ":" in k}
            found.append(_UUID.sub("*", f"{chunk.entity_path} {sorted(told.items())}"))
    return sorted(found)


def _origins(path: Path) -> set[str]:
    reader = rr.chunk.RrdReader(path)
    (entry,) = reader.blueprints()
    return {
        row["ViewBlueprint:space_origin"][0]
        for chunk in reader.stream(store=entry)
        for row in _rows(chunk)
        if row.get("ViewBlueprint:space_origin")
    }


def test_the_shipped_blueprint_is_what_the_function_makes(tmp_path) -> None:
    rerun_stream.write_shipped(tmp_path)
    shipped = config_dir() / "viewers" / rerun_stream.FILE_NAME
    assert _contents(shipped) == _contents(tmp_path / rerun_stream.FILE_NAME)


@pytest.mark.usefixtures("recording")
def test_every_view_of_the_blueprints_shows_what_an_export_has(recording, tmp_path) -> None:
    for path in (config_dir() / "viewers" / rerun_stream.FILE_NAME, tmp_path / "a.rrd"):
        origins = _origins(path)
        assert len(origins) == 15
        for origin in origins:
            assert any(p == origin or p.startswith(f"{origin}/") for p in recording.rows), origin
