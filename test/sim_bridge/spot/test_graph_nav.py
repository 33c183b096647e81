"""A recorded map: uploaded, found again by a marker, walked along, and refused where it is bad."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from bosdyn.api.graph_nav import map_pb2
from recorded_map import SEED_IN_MAP, record, write
from recorded_markers import ANCHORED, SNAPSHOTS, pose
from spot_trial import ROBOT, emulator_of, finish, opened_corner, trouble

from planner.world.errors import FileError, PlannerError
from planner.world.geometry import Pose
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.backend import Handle
from sim_bridge.one_robot import Command
from sim_bridge.opening import Opened
from sim_bridge.pacing import TICK_S
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.options import SafetyOptions, default_safety
from sim_bridge.spot.backend import SpotBackend
from sim_bridge.spot.convert import pose_message, seconds_of
from sim_bridge.spot.emulator.faults import TroubleKind
from sim_bridge.spot.layout import Fiducial
from sim_bridge.spot.localisation import read_graph
from sim_bridge.spot.options import SpotOptions, emulated

FIDUCIAL = Fiducial(tag=500, position_m=(0.0, 0.0, 1.0))


@pytest.fixture(scope="module")
def folder(opened: Opened, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("graph")
    record(opened.house, made)
    return made


def with_graph(folder: Path) -> SpotOptions:
    return emulated().model_copy(update={"graph": str(folder)})


@pytest.fixture
def spot(opened: Opened, folder: Path) -> Iterator[SpotBackend]:
    backend = SpotBackend(with_graph(folder))
    emulator_of(backend).calls.keep_requests = True
    backend.reset(opened.house, opened.episode, opened.seed)
    yield backend
    backend.close()


def test_it_walks_along_the_map_and_arrives_where_it_would_without(
    spot: SpotBackend, opened: Opened
) -> None:
    """Rule 1 for GraphNav: `cmd_duration` as of all goals, sent again under the same number."""
    target = opened_corner(opened)
    seen = finish(spot, spot.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, target)))
    assert seen.succeeded, seen
    truth = emulator_of(spot).world.base
    assert math.dist(truth.position_m[:2], spot.base.position_m[:2]) < 0.01
    assert math.dist(truth.position_m[:2], target[:2]) < spot.physique.reach_m
    walks = [r for r in emulator_of(spot).requests if r.method == "NavigateTo"]
    assert len(walks) > 5
    first = next(r for r in emulator_of(spot).requests if r.method == "NavigateTo")
    assert not first.request.command_id
    numbers = {r.request.command_id for r in walks[1:]}
    assert len(numbers) == 1
    motion = default_safety().motion
    for walk in walks:
        ends_s = seconds_of(walk.request.end_time)
        assert 0 < ends_s - walk.at_s <= motion.command_ttl_s + 1e-6
        limit = walk.request.travel_params.velocity_limit.max_vel
        assert 0 < limit.linear.x <= motion.speed_m_s
        assert 0 < limit.angular <= motion.turn_speed_rad_s


def test_the_map_is_uploaded_once_and_its_frame_is_found_by_the_marker(spot: SpotBackend) -> None:
    methods = [r.method for r in emulator_of(spot).requests]
    assert sum(method.startswith("UploadGraph") for method in methods) == 1
    assert methods.count("UploadWaypointSnapshot") > 5
    assert "SetLocalization" in methods
    assert spot.graph is not None
    assert math.dist(spot.graph.map.seed_in_map.position_m, SEED_IN_MAP.position_m) < 1e-6
    spot.operate(ROBOT, Command.RELEASE)
    assert spot.operate(ROBOT, Command.CLAIM).success
    methods = [r.method for r in emulator_of(spot).requests]
    assert sum(method.startswith("UploadGraph") for method in methods) == 1


def test_a_bridge_that_falls_silent_on_the_map_stops_within_its_ttl(
    spot: SpotBackend, opened: Opened
) -> None:
    """SPOT-F6.4: SIGKILL and frozen link, GraphNav."""
    spot.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, opened_corner(opened)))
    emulator = emulator_of(spot)
    for _ in range(80):
        spot.step(TICK_S)
    assert emulator.world.agent.linear_m_s > 0
    for _ in range(round(0.7 / TICK_S)):
        spot._clock.advance(TICK_S)
        emulator.advance()
    assert emulator.world.agent.linear_m_s == 0.0


@dataclass
class Walk:
    """A walk along the map, behind the gate, with the goal of it."""

    backend: SpotBackend
    gate: SafetyGate
    goal: Primitive
    handle: Handle


@pytest.fixture
def walk(opened: Opened, folder: Path) -> Iterator[Walk]:
    backend = SpotBackend(with_graph(folder))
    gate = SafetyGate(backend)
    gate.reset(opened.house, opened.episode, opened.seed)
    goal = Primitive(PrimitiveName.NAVIGATE, opened_corner(opened))
    handle = gate.start(ROBOT, goal)
    for _ in range(60):
        gate.step(TICK_S)
    assert gate.poll(handle).phase == "walking along the map"
    yield Walk(backend, gate, goal, handle)
    gate.close()


def test_a_tablet_that_takes_the_lease_on_the_map_ends_the_walk(walk: Walk) -> None:
    """SPOT-F6.4: LEASE_LOST within 0.6 s, no command after it."""
    gate, emulator = walk.gate, emulator_of(walk.backend)
    trouble(walk.backend, TroubleKind.TAKE_LEASE, name="tablet")
    taken_s = emulator.clock.now_s()
    emulator.calls.keep_requests = True
    assert finish(gate, walk.handle).evidence["reason"] == "LEASE_LOST"
    assert emulator.clock.now_s() - taken_s < 0.6
    for _ in range(10):
        gate.step(TICK_S)
    told = len(emulator.requests)
    for _ in range(40):
        gate.step(TICK_S)
    after = {record.method for record in emulator.requests[told:]}
    assert not after & {"NavigateTo", "RobotCommand", "AcquireLease", "TakeLease"}


def test_a_link_that_freezes_on_the_map_ends_the_walk_and_comes_back(walk: Walk) -> None:
    """SPOT-F6.4: COMMS_LOST within 1.5 s, GraphNav; on again without a restart (rule 7)."""
    gate, emulator = walk.gate, emulator_of(walk.backend)
    emulator.calls.silent, since_s = True, emulator.clock.now_s()
    assert finish(gate, walk.handle).evidence["reason"] == "COMMS_LOST"
    assert emulator.clock.now_s() - since_s < 1.5
    emulator.calls.silent = False
    for _ in range(round(1.5 / TICK_S)):
        gate.step(TICK_S)
    assert gate.obstacles(ROBOT) == ()
    assert gate.poll(gate.start(ROBOT, walk.goal)).result is None


def test_a_robot_that_sees_no_marker_of_the_map_is_not_claimed(
    opened: Opened, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sim_bridge.spot.emulator.recorded_graph.FIDUCIAL", 7)
    backend = SpotBackend(with_graph(folder))
    with pytest.raises(PlannerError, match="does not find itself in the map") as caught:
        backend.reset(opened.house, opened.episode, opened.seed)
    assert "where it sees a marker" in str(caught.value)
    emulator = emulator_of(backend)
    assert emulator.machine.lease.owner == ""
    assert emulator.machine.motors.value == "off"
    backend.close()


@pytest.mark.parametrize(
    ("spoil", "field", "words"),
    [
        ("nothing there", "", "cannot be read"),
        ("no map", "", "is no Graph"),
        ("empty", "waypoints", "has none"),
        ("other marker", "anchoring.objects", "none of the layout's"),
        ("no anchor", "waypoints.0", "has no anchor"),
        ("stairs", "edges.0", "stairs.*rule 10"),
        ("zone", "edges.", "keep-out zone 'stove'.*rule 11"),
    ],
)
def test_a_map_that_cannot_be_used_names_file_field_and_reason(
    opened: Opened, tmp_path: Path, spoil: str, field: str, words: str
) -> None:
    graph = record(opened.house, tmp_path, marker=7 if spoil == "other marker" else 500)
    zones = ()
    if spoil == "nothing there":
        (tmp_path / "graph").unlink()
    elif spoil == "no map":
        (tmp_path / "graph").write_bytes(b"\xff\xff\xff")
    elif spoil == "empty":
        write(map_pb2.Graph(), tmp_path)
    elif spoil == "no anchor":
        del graph.anchoring.anchors[0]
        write(graph, tmp_path)
    elif spoil == "stairs":
        graph.edges[0].annotations.stairs.state = 1
        write(graph, tmp_path)
    elif spoil == "zone":
        x, y = opened.house.rooms[0].polygon_m[0]
        box = [[x, y], [x + 3, y], [x + 3, y + 3], [x, y + 3]]
        zone = {"name": "stove", "polygon_m": box}
        zones = SafetyOptions.model_validate({"keep_out": {"zones": [zone]}}).keep_out.zones
    with pytest.raises(FileError, match=words) as caught:
        read_graph(tmp_path, (FIDUCIAL,), zones, 0.3)
    assert caught.value.field.startswith(field)


REAL = {tag: pose(numbers) for tag, numbers in ANCHORED.items()}


def real_map(folder: Path) -> map_pb2.Graph:
    """The recorded map's markers, and a waypoint where each of its snapshots was taken."""
    graph = map_pb2.Graph()
    for tag, page in REAL.items():
        graph.anchoring.objects.add(id=str(tag)).seed_tform_object.CopyFrom(pose_message(page))
    for index, shot in enumerate(SNAPSHOTS):
        x, y, yaw = shot.body_in_seed
        waypoint = graph.waypoints.add(id=f"w{index}", snapshot_id=f"s{index}")
        anchor = graph.anchoring.anchors.add(id=waypoint.id)
        anchor.seed_tform_waypoint.CopyFrom(pose_message(Pose.planar(x, y, yaw, -0.4)))
    write(graph, folder)
    return graph


def measured_layout(seed_in_map: Pose, **moved_m: float) -> list[Fiducial]:
    """The markers as a person finds them in a house whose frame is another than the map's."""
    found = []
    for tag, page in REAL.items():
        in_map = seed_in_map.compose(page)
        x, y, z = in_map.position_m
        out = in_map.rotation()[:, 2]
        yaw = math.atan2(out[1], out[0])
        x += moved_m.get(f"tag_{tag}", 0.0)
        found.append(Fiducial(tag=tag, position_m=(x, y, z), yaw_rad=yaw))
    return found


SEED = Pose.planar(4.0, -2.0, 1.1, 0.9)


@pytest.mark.parametrize("only", [(318, 319, 320), (318,), (319,), (320,), (318, 319)])
def test_a_real_robots_map_lands_where_the_layouts_markers_are(
    tmp_path: Path, only: tuple[int, ...]
) -> None:
    """Any of the markers of the recorded map will do; they hang up to 12 degrees askew."""
    real_map(tmp_path)
    fiducials = [fiducial for fiducial in measured_layout(SEED) if fiducial.tag in only]
    found = read_graph(tmp_path, fiducials, (), 0.3)
    gaps_m = []
    for index, shot in enumerate(SNAPSHOTS):
        x, y, _ = shot.body_in_seed
        place = found.waypoints[f"w{index}"].position_m
        gaps_m.append(math.dist(place[:2], SEED.apply((x, y, 0.0))[:2]))
        assert place[2] == pytest.approx(0.5, abs=0.01)
    assert max(gaps_m) < 0.1


@pytest.mark.parametrize(
    ("only", "words"),
    [
        (
            (318, 319, 320),
            r"marker 318 is 3\.00 m and 0 degrees away from where markers 319 and 320 put it",
        ),
        ((318, 320), r"the layout's markers 318 and 320 contradict each other by \d\.\d\d m and "),
    ],
)
def test_a_layout_that_contradicts_the_map_is_refused_with_the_markers_and_the_metres(
    tmp_path: Path, only: tuple[int, ...], words: str
) -> None:
    real_map(tmp_path)
    fiducials = [f for f in measured_layout(SEED, tag_318=3.0) if f.tag in only]
    with pytest.raises(FileError, match=words) as caught:
        read_graph(tmp_path, fiducials, (), 0.3)
    assert caught.value.field == "anchoring.objects"
    assert caught.value.file == str(tmp_path / "graph")


def test_markers_that_lie_on_the_floor_give_no_direction(tmp_path: Path) -> None:
    graph = real_map(tmp_path)
    del graph.anchoring.objects[:]
    flat = graph.anchoring.objects.add(id="318")
    flat.seed_tform_object.CopyFrom(pose_message(Pose((1.0, 0.0, 0.0))))
    write(graph, tmp_path)
    with pytest.raises(FileError, match="marker 318 of the map lies flat"):
        read_graph(tmp_path, measured_layout(SEED), (), 0.3)


def test_a_wrong_map_is_reported_before_the_robot_is_touched(
    opened: Opened, tmp_path: Path
) -> None:
    backend = SpotBackend(with_graph(tmp_path / "nowhere"))
    emulator_of(backend).calls.keep_requests = True
    with pytest.raises(FileError, match="cannot be read"):
        backend.reset(opened.house, opened.episode, opened.seed)
    assert backend.agents == ()
    assert emulator_of(backend).requests == []
    backend.close()
