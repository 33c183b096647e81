"""Localisation by markers: on what a real Spot recorded, and where they contradict each other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from bosdyn.api import world_object_pb2
from recorded_markers import ANCHORED, SNAPSHOTS, Numbers, Seen, Snapshot, pose
from spot_trial import ROBOT, emulator_of

from planner.world.errors import PlannerError
from planner.world.geometry import Pose, matrix_from_quaternion, wrap_angle_rad
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.opening import Opened
from sim_bridge.spot.backend import SpotBackend
from sim_bridge.spot.convert import fill_tree
from sim_bridge.spot.emulator.recorded_graph import Marker, on_wall
from sim_bridge.spot.layout import Fiducial
from sim_bridge.spot.localisation import LOCALISE_S, MAX_AGE_S, Localisation
from sim_bridge.spot.options import emulated

HIGH_ERROR = world_object_pb2.AprilTagProperties.STATUS_HIGH_ERROR
AMBIGUOUS = world_object_pb2.AprilTagProperties.STATUS_AMBIGUOUS
UNKNOWN = world_object_pb2.AprilTagProperties.STATUS_UNKNOWN


def measured(numbers: Numbers) -> tuple[float, float, float, float]:
    """What a person would measure of a marker: its centre, and which way the page faces."""
    x, y, z, *_ = numbers
    out = matrix_from_quaternion(pose(numbers).orientation)[:, 2]
    return x, y, z, math.atan2(out[1], out[0])


def layout(**moved_m: float) -> list[Fiducial]:
    """The anchored markers as a layout; `tag_318=3.0` moves one along x."""
    found = []
    for tag, numbers in ANCHORED.items():
        x, y, z, yaw = measured(numbers)
        x += moved_m.get(f"tag_{tag}", 0.0)
        found.append(Fiducial(tag=tag, position_m=(x, y, z), yaw_rad=yaw))
    return found


def world_object(seen: Seen, body: Pose, **changed: int) -> Any:
    """A detection as the robot reports it; `raw`, `filtered`: its statuses."""
    found, name = world_object_pb2.WorldObject(), f"fiducial_{seen.tag}"
    page = pose(seen.in_odom)
    tree = {
        "body": ("", Pose((0.0, 0.0, 0.0))),
        "odom": ("body", body.inverse()),
        name: ("odom", page),
        f"filtered_{name}": ("odom", page),
    }
    fill_tree(found.transforms_snapshot, tree)
    tag = found.apriltag_properties
    tag.tag_id, tag.frame_name_fiducial = seen.tag, name
    tag.frame_name_fiducial_filtered = f"filtered_{name}"
    tag.fiducial_pose_status = changed.get("raw", seen.status)
    tag.fiducial_filtered_pose_status = changed.get("filtered", 1)
    return found


class Link:
    """Stands for the link: only the list of markers, which is the recorded one."""

    def __init__(self, found: Iterable[tuple[Any, float]] = ()) -> None:
        self.found = list(found)

    def markers(self) -> list[tuple[Any, float]]:
        return self.found


def odometry(shot: Snapshot) -> Pose:
    x, y, yaw = shot.body_in_odom
    return Pose.planar(x, y, yaw, shot.ground_m)


def detections(shot: Snapshot, **changed: int) -> list[tuple[Any, float]]:
    return [(world_object(seen, odometry(shot), **changed), seen.age_s) for seen in shot.seen]


def localised(shot: Snapshot, fiducials: list[Fiducial], **changed: int) -> Localisation:
    found = Localisation(Link(detections(shot, **changed)), fiducials, lambda: 0.0)  # type: ignore[arg-type]
    found.update(odometry(shot))
    return found


def errors(fiducials: list[Fiducial], **changed: int) -> tuple[list[float], list[float]]:
    """Metres and degrees between the body as localised and as anchored, per snapshot."""
    metres, degrees = [], []
    for shot in SNAPSHOTS:
        body = localised(shot, fiducials, **changed).odom_in_map.compose(odometry(shot))
        x, y, yaw = shot.body_in_seed
        metres.append(math.dist(body.position_m[:2], (x, y)))
        degrees.append(math.degrees(abs(wrap_angle_rad(body.yaw_rad - yaw))))
        assert body.position_m[2] == pytest.approx(0.0, abs=1e-9)
    return metres, degrees


def test_a_real_robot_is_found_where_its_own_map_has_it() -> None:
    assert len(SNAPSHOTS) == 17
    metres, degrees = errors(layout())
    assert statistics.median(metres) < 0.05
    assert max(metres) < 0.15
    assert max(degrees) < 3.0


def test_a_layout_whose_yaws_are_read_as_anything_but_the_pages_direction_is_far_off() -> None:
    """What this guards against: upright frames, of which no yaw fits, and other directions."""
    for turned_rad in (math.pi / 2, math.pi, -math.pi / 2):
        wrong = [f.model_copy(update={"yaw_rad": f.yaw_rad + turned_rad}) for f in layout()]
        with pytest.raises(PlannerError, match="contradict"):
            errors(wrong)


def test_directions_measured_two_degrees_off_turn_it_by_two_degrees_about_the_marker() -> None:
    """The robot is up to 7 m away from a marker that it saw 10 s before."""
    off = [f.model_copy(update={"yaw_rad": f.yaw_rad + math.radians(2.0)}) for f in layout()]
    metres, degrees = errors(off)
    assert max(metres) < 0.3
    assert max(degrees) < 5.0


TWO = next(shot for shot in SNAPSHOTS if len(shot.seen) == 2)
ONE = next(shot for shot in SNAPSHOTS if len(shot.seen) == 1)


@pytest.mark.parametrize(
    ("raw", "filtered"), [(HIGH_ERROR, 1), (1, HIGH_ERROR), (1, AMBIGUOUS), (UNKNOWN, UNKNOWN)]
)
def test_the_better_of_the_two_poses_is_used(raw: int, filtered: int) -> None:
    metres, degrees = errors(layout(), raw=raw, filtered=filtered)
    assert max(metres) < 0.15
    assert max(degrees) < 3.0


def test_a_pose_of_high_error_is_not_used() -> None:
    with pytest.raises(PlannerError, match=r"none of the markers of the layout \(318, 319, 320\)"):
        localised(ONE, layout(), raw=HIGH_ERROR, filtered=HIGH_ERROR)


def test_of_an_ambiguous_orientation_only_the_position_is_used() -> None:
    """One alone gives no heading; two do, by the direction from one to the other."""
    with pytest.raises(PlannerError, match="none of the markers"):
        localised(ONE, layout(), raw=AMBIGUOUS, filtered=AMBIGUOUS)
    body = localised(TWO, layout(), raw=AMBIGUOUS, filtered=AMBIGUOUS).odom_in_map.compose(
        odometry(TWO)
    )
    assert math.dist(body.position_m[:2], TWO.body_in_seed[:2]) < 0.15


def test_an_old_detection_counts_less_and_one_that_is_too_old_not_at_all() -> None:
    """The second marker's place is 0.25 m off: the older it is, the less that matters."""
    shot, off = TWO, layout(tag_318=0.25)
    gaps = []
    for age_s in (0.0, 5.0, 15.0, MAX_AGE_S + 1.0):
        (one, _), (other, _) = detections(shot)
        assert other.apriltag_properties.tag_id == 318
        found = Localisation(Link([(one, 0.0), (other, age_s)]), off, lambda: 0.0)  # type: ignore[arg-type]
        found.update(odometry(shot))
        body = found.odom_in_map.compose(odometry(shot))
        gaps.append(math.dist(body.position_m[:2], shot.body_in_seed[:2]))
    assert gaps[0] > gaps[1] > gaps[2] > gaps[3]
    assert gaps[3] < 0.1


def test_two_markers_that_contradict_each_other_are_refused_with_both_and_the_metres() -> None:
    text = r"spot: the layout's markers 318 and 320 contradict each other by 3\.\d\d m"
    with pytest.raises(PlannerError, match=text) as caught:
        localised(TWO, layout(tag_318=3.0))
    assert "measure position_m and yaw_rad again (fiducials)" in str(caught.value)
    assert str(caught.value).count(". ") == 0


def test_markers_that_are_seen_one_after_the_other_contradict_each_other_too() -> None:
    """11 m of real odometry lie between markers 318 and 319; 3 m more are refused, then cleared."""
    walk = (3, 4)
    for fiducials, good in ((layout(), True), (layout(tag_319=3.0), False)):
        link = Link()
        found = Localisation(link, fiducials, lambda: 0.0)  # type: ignore[arg-type]
        shots = [SNAPSHOTS[index] for index in walk]
        assert {seen.tag for seen in shots[0].seen}.isdisjoint(seen.tag for seen in shots[1].seen)
        link.found = detections(shots[0])
        found.update(odometry(shots[0]))
        before = found.odom_in_map
        link.found = detections(shots[1])
        if good:
            found.update(odometry(shots[1]))
            continue
        text = r"marker 319 and, \d+\.\d m before, marker 318 contradict each other by \d\.\d\d m"
        with pytest.raises(PlannerError, match=text):
            found.update(odometry(shots[1]))
        assert found.trouble
        assert found.odom_in_map == before
        # A person carried it, or has seen why: the claim begins anew.
        found.forget_the_way()
        found.update(odometry(shots[1]))
        assert not found.trouble


def test_it_is_due_again_after_a_time_whether_or_not_it_found_anything() -> None:
    now = [0.0]
    found = Localisation(Link(), layout(), lambda: now[0])  # type: ignore[arg-type]
    assert found.due
    with pytest.raises(PlannerError):
        found.update(odometry(ONE))
    assert not found.due
    now[0] = LOCALISE_S
    assert found.due


# On the emulator, whose markers are written by the SDK's documents.


FIRST = Fiducial(tag=500, position_m=(0.0, 0.0, 1.0), yaw_rad=0.0)
SECOND = Fiducial(tag=501, position_m=(0.0, 3.0, 0.6), yaw_rad=math.pi / 2)


@pytest.fixture
def spot(opened: Opened) -> Iterator[SpotBackend]:
    options = emulated().model_copy(update={"fiducials": (FIRST, SECOND)})
    backend = SpotBackend(options)
    backend.reset(opened.house, opened.episode, opened.seed)
    yield backend
    backend.close()


def test_the_emulated_robot_is_found_by_markers_on_different_walls(spot: SpotBackend) -> None:
    emulator = emulator_of(spot)
    emulator.machine.markers.append(Marker(501, on_wall((0.0, 3.0, 0.6), math.pi / 2), age_s=3.0))
    spot.watch.localisation.update(spot.state.odometry)
    truth = emulator.world.base
    assert math.dist(spot.base.position_m, truth.position_m) < 1e-6
    assert abs(wrap_angle_rad(spot.base.yaw_rad - truth.yaw_rad)) < 1e-6


def test_a_layout_that_contradicts_itself_blocks_motion_and_says_why(spot: SpotBackend) -> None:
    """The second marker hangs 3 m from where the layout has it."""
    emulator = emulator_of(spot)
    emulator.machine.markers.append(Marker(501, on_wall((3.0, 3.0, 0.6), math.pi / 2)))
    for _ in range(60):
        spot.step(0.05)
    (fault,) = [f for f in spot.health(ROBOT).faults if f.cause == "LOCALISATION"]
    assert fault.blocks
    assert "markers 500 and 501 contradict each other by 3.00 m" in fault.name
    # Back where the layout has it, the robot may go on.
    emulator.machine.markers[-1] = Marker(501, on_wall((0.0, 3.0, 0.6), math.pi / 2))
    for _ in range(60):
        spot.step(0.05)
    assert not spot.health(ROBOT).faults


def test_a_contradiction_at_the_start_is_an_error_before_anything_moves(opened: Opened) -> None:
    backend = SpotBackend(emulated().model_copy(update={"fiducials": (FIRST, SECOND)}))
    emulator = emulator_of(backend)
    emulator.machine.markers.append(Marker(501, on_wall((3.0, 3.0, 0.6), math.pi / 2)))
    with pytest.raises(PlannerError, match=r"markers 500 and 501 contradict each other by 3\.00 m"):
        backend.reset(opened.house, opened.episode, opened.seed)
    assert emulator.machine.motors.value == "off"
    backend.close()


def test_heights_do_not_depend_on_where_odometry_begins(spot: SpotBackend) -> None:
    """Odometry begins at the body, 0.2 m above the floor, as geometry_and_frames.md says."""
    state = spot.state
    assert state.odometry.position_m[2] == pytest.approx(-0.2)
    assert state.body_height_m == pytest.approx(0.52)
    truth = emulator_of(spot).world.hand()
    assert state.hand.position_m == pytest.approx(truth.position_m)
    floor = spot.to_odom(Pose((0.0, 0.0, 0.0)))
    assert floor.position_m[2] == pytest.approx(-0.2)
    done = spot.start(ROBOT, Primitive(PrimitiveName.LOOK, (1.0, 1.0, 0.5)))
    assert spot.poll(done) is not None
