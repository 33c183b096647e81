from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from planner.memory.learned.detector import Detection, FrameDetections, Rising
from planner.memory.learned.updater import LearnedUpdater, UpdaterOptions
from planner.memory.memory import Memory
from planner.world.belief import Entity
from planner.world.geometry import Pose, Vec3
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.observation import CameraFrame, Intrinsics, Observation
from planner.world.shapes import Color, Look
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult
from planner.world.vocabulary import Hand
from sim_bridge.embedded.sensing import optical_rotation

LENS = Intrinsics(64, 64, 60.0, 60.0, 31.5, 31.5)
NOTHING = (np.zeros((0, 3), np.float32), np.zeros(0, np.float32))


class Script:
    """Sees what it is told to see."""

    def __init__(self) -> None:
        self.detections: Sequence[Detection] = ()
        self.looks = 0
        self.unknown = ""

    def knows(self, class_name: str) -> bool:
        return class_name != self.unknown

    def look(self, frame: CameraFrame, rising: Rising | None = None) -> FrameDetections:
        self.looks += 1
        return FrameDetections(tuple(self.detections), *NOTHING)


@pytest.fixture(scope="module")
def house() -> House:
    return load_house("train_0")


class Robot:
    """A memory that sees by a script, with a camera that may be put anywhere."""

    def __init__(self, house: House, off_m: float = 0.0) -> None:
        self.eye = Script()
        options = UpdaterOptions(looks=3, off_m=off_m)
        self.memory = Memory(house, LearnedUpdater(house, self.eye, options))
        self.table = next(p for p in house.furniture if p.class_name == "table")
        self.stamp_s = 0.0

    def top(self, dx: float = 0.0) -> Vec3:
        surface = max(self.table.surfaces, key=lambda s: s.center[2])
        x, y, z = self.table.pose.apply(surface.center)
        return (x + dx, y, z + 0.05)

    def see(self, *things: tuple[str, Vec3], depth_m: float = 1.5, score: float = 0.7) -> None:
        """One more look from another place at what lies 1.5 m straight ahead of the camera."""
        self.look([Detection(c, score, p, 1.5, (31.5, 31.5), 30) for c, p in things], depth_m)

    def guess(self, candidates: tuple[tuple[str, float], ...], at_m: Vec3) -> None:
        """As `see`, of one thing that may be several things."""
        name, score = candidates[0]
        self.look([Detection(name, score, at_m, 1.5, (31.5, 31.5), 30, candidates)], 1.5)

    def look(self, detections: Sequence[Detection], depth_m: float) -> None:
        """One more look, from another place."""
        self.stamp_s += 0.5
        self.eye.detections = detections
        x, y, z = self.top()
        pose = Pose.from_matrix(
            np.array([x - 1.5, y + 0.05 * (-1) ** int(self.stamp_s * 2), z]),
            optical_rotation(0.0, 0.0),
        )
        depth = np.full((64, 64), depth_m, np.float32)
        rgb = np.full((64, 64, 3), int(self.stamp_s * 2) % 255, np.uint8)
        frame = CameraFrame(rgb, depth, None, LENS, pose)
        base = Pose.planar(x - 1.5, y)
        hand = Pose((0.3, 0.0, 0.7))
        self.memory.observe(Observation.at_rest(self.stamp_s, frame, base=base, hand=hand))

    @property
    def things(self) -> list[Entity]:
        return [e for e in self.memory.snapshot().entities if not e.is_furniture]


def test_a_thing_is_believed_when_it_was_seen_from_several_places(house: House) -> None:
    robot = Robot(house)
    robot.see(("cup", robot.top()))
    robot.see(("cup", robot.top(0.02)))
    assert robot.things == []
    robot.see(("cup", robot.top()))
    (cup,) = robot.things
    number = next(
        e.entity_id for e in robot.memory.snapshot().entities if e.name == robot.table.name
    )
    assert cup.parent == robot.table.name
    assert cup.description == f"cup with the Object.{number}"
    assert cup.position_m == pytest.approx(robot.top(), abs=0.03)
    assert any(cup.size_m)


def test_the_colour_of_a_thing_is_learned_without_news(house: House) -> None:
    robot = Robot(house)
    red = Detection("cup", 0.7, robot.top(), 1.5, (31.5, 31.5), 30, colors={Color.RED: 20})
    blue = dataclasses.replace(red, colors={Color.BLUE: 90})
    for _ in range(3):
        robot.look([red], 1.5)
    assert robot.things[0].look == Look(Color.RED)
    sequence = robot.memory.snapshot().sequence
    for _ in range(3):
        robot.look([blue], 1.5)
    assert robot.things[0].look == Look(Color.BLUE)
    assert robot.memory.snapshot().sequence == sequence


def test_a_certain_look_counts_twice(house: House) -> None:
    robot = Robot(house)
    robot.see(("cup", robot.top()), score=0.95)
    robot.see(("cup", robot.top()), score=0.95)
    assert len(robot.things) == 1


def test_the_same_thing_seen_again_is_no_news(house: House) -> None:
    robot = Robot(house)
    for _ in range(4):
        robot.see(("cup", robot.top()))
    mark_reported = robot.memory.sequence
    for dx in (0.03, -0.02, 0.05):
        robot.see(("cup", robot.top(dx)))
    assert len(robot.things) == 1
    assert robot.memory.sequence == mark_reported


def test_two_things_of_a_class_are_two(house: House) -> None:
    robot = Robot(house)
    for _ in range(4):
        robot.see(("cup", robot.top()), ("cup", robot.top(0.5)))
    assert len(robot.things) == 2


def test_two_parts_of_a_thing_are_one_thing(house: House) -> None:
    robot = Robot(house)
    # A laptop is 0.33 m long: its screen and its keyboard were each taken for one.
    for _ in range(12):
        robot.see(("laptop", robot.top()), ("laptop", robot.top(0.15)))
    assert [e.class_name for e in robot.things] == ["laptop"]
    for _ in range(12):
        robot.see(("laptop", robot.top()), ("laptop", robot.top(0.34)))
    assert [e.class_name for e in robot.things] == ["laptop", "laptop"]


@pytest.mark.parametrize(("off_m", "things"), [(0.0, ["cup", "kettle"]), (0.07, ["cup"])])
def test_where_poses_err_what_looks_like_another_thing_beside_one_is_that_one(
    house: House, off_m: float, things: list[str]
) -> None:
    robot = Robot(house, off_m)
    for _ in range(3):
        robot.see(("cup", robot.top()))
    for _ in range(3):
        robot.see(("kettle", robot.top(0.16)))
    assert [e.class_name for e in robot.things] == things


def test_what_turns_out_to_be_a_thing_that_is_remembered_is_not_added(house: House) -> None:
    robot = Robot(house)
    for _ in range(12):
        robot.see(("laptop", robot.top()), ("speaker", robot.top(0.13)))
    laptop, _ = robot.things
    for _ in range(30):
        robot.see(("laptop", robot.top()), ("laptop", robot.top(0.13)), score=0.9)
    assert [(e.class_name, e.entity_id) for e in robot.things] == [("laptop", laptop.entity_id)]


def test_one_of_two_in_the_same_place_is_forgotten(
    house: House,
) -> None:
    def cups(count: int, away_m: float) -> list[Entity]:
        robot = Robot(house)
        for _ in range(6):
            robot.see(("cup", robot.top()), ("cup", robot.top(0.3)))
        assert len(robot.things) == 2
        # The second is followed to where the first is, as one that moved.
        for _ in range(3):
            robot.see(("cup", robot.top()), ("cup", robot.top(away_m)))
        for _ in range(count):
            robot.see(("cup", robot.top()))
        return robot.things

    assert len(cups(0, 0.06)) == 2
    assert len(cups(1, 0.06)) == 1
    assert len(cups(1, 0.12)) == 2


def test_what_is_gone_is_removed_and_what_is_hidden_stays(house: House) -> None:
    robot = Robot(house)
    for _ in range(4):
        robot.see(("plate", robot.top()))
    for _ in range(8):
        robot.see(depth_m=0.7)
    assert len(robot.things) == 1
    for _ in range(8):
        robot.see(depth_m=3.0)
    assert robot.things == []


def test_the_same_picture_again_misses_nothing_again(house: House) -> None:
    robot = Robot(house)
    for _ in range(4):
        robot.see(("plate", robot.top()))
    for _ in range(20):
        robot.see(depth_m=3.0)
        robot.stamp_s -= 0.5
    assert len(robot.things) == 1


def test_what_an_action_put_somewhere_is_missed_later_than_what_was_seen_there(
    house: House,
) -> None:
    robot = Robot(house)
    for _ in range(4):
        robot.see(("plate", robot.top()))
    (plate,) = robot.things
    done = SkillResult(SkillCode.SUCCESS, "Successful execution!")
    for call in (
        SkillCall(SkillName.PICK, (plate.name,)),
        SkillCall(SkillName.PLACE, (plate.name, "on", robot.table.name, None, None)),
    ):
        robot.memory.note_result("agent_0", call, done, robot.stamp_s)
    looks = 0
    while robot.things and looks < 40:
        robot.see(depth_m=3.0)
        looks += 1
    assert robot.things == []
    assert looks == 10


def test_a_thing_that_always_looks_like_another_is_that_other(house: House) -> None:
    robot = Robot(house)
    for _ in range(3):
        robot.see(("plate", robot.top()))
    for _ in range(12):
        robot.see(("bowl", robot.top()))
    assert [e.class_name for e in robot.things] == ["bowl"]


def test_a_thing_that_looks_different_each_time_is_what_all_looks_together_say(
    house: House,
) -> None:
    robot = Robot(house)
    for other in ("kettle", "toaster", "helmet", "kettle", "stapler"):
        robot.guess(((other, 0.5), ("toy_fire_truck", 0.4)), robot.top())
    assert [e.class_name for e in robot.things] == ["toy_fire_truck"]


def test_a_thing_is_not_believed_while_two_classes_are_as_likely_but_is_in_the_end(
    house: House,
) -> None:
    robot = Robot(house)
    for _ in range(5):
        robot.guess((("fork", 0.45), ("spoon", 0.4)), robot.top())
    assert robot.things == []
    robot.guess((("fork", 0.45), ("spoon", 0.4)), robot.top())
    assert [e.class_name for e in robot.things] == ["fork"]


def test_what_was_taken_for_another_is_replaced_in_one_change_by_a_nearer_look(
    house: House,
) -> None:
    robot = Robot(house)
    for _ in range(3):
        robot.see(("plate", robot.top()), score=0.6)
    mark_reported = robot.memory.sequence
    for _ in range(6):
        robot.guess((("bowl", 0.98),), robot.top(0.01))
    assert [e.class_name for e in robot.things] == ["bowl"]
    assert robot.memory.sequence == mark_reported + 1


def test_what_a_hand_took_by_a_former_name_is_held_by_its_new_one(house: House) -> None:
    robot = Robot(house)
    for _ in range(3):
        robot.see(("plate", robot.top()))
    (plate,) = robot.things
    for _ in range(12):
        robot.see(("bowl", robot.top()))
    (bowl,) = robot.things
    assert bowl.name != plate.name
    done = dataclasses.replace(SkillResult.success(), hands=(None, plate.name))
    for call in (SkillCall(SkillName.PICK, (plate.name,)), SkillCall(SkillName.WAIT)):
        robot.memory.note_result("agent_0", call, done, robot.stamp_s)
        (held,) = robot.things
        assert (held.name, held.picked, held.hand) == (bowl.name, True, Hand.LEFT)
    free = dataclasses.replace(SkillResult.success(), hands=(None, None))
    robot.memory.note_result("agent_0", SkillCall(SkillName.WAIT), free, robot.stamp_s)
    assert not robot.things[0].picked


def test_what_was_put_down_keeps_its_name_whatever_it_looks_like(house: House) -> None:
    robot = Robot(house)
    for _ in range(3):
        robot.see(("plate", robot.top()))
    (plate,) = robot.things
    place = SkillCall(SkillName.PLACE, (plate.name, "on", robot.table.name, None, None))
    done = dataclasses.replace(SkillResult.success(), position_m=robot.top())
    robot.memory.note_result("agent_0", place, done, robot.stamp_s)
    for _ in range(12):
        robot.see(("bowl", robot.top()))
    assert [e.name for e in robot.things] == [plate.name]
    assert robot.things[0].maybe[0][0] == "bowl"


def test_what_a_hand_holds_is_not_seen_as_another_thing(house: House) -> None:
    robot = Robot(house)
    for _ in range(4):
        robot.see(("cup", robot.top()))
    (cup,) = robot.things
    call = SkillCall(SkillName.PICK, (cup.name,))
    done = SkillResult(SkillCode.SUCCESS, "Successful execution!")
    robot.memory.note_result("agent_0", call, done, robot.stamp_s)
    x, y, _ = robot.top()
    for _ in range(5):
        robot.see(("cup", (x - 1.2, y, 0.7)), depth_m=3.0)
    (held,) = robot.things
    assert held.picked


def test_a_picture_that_did_not_change_is_looked_at_once(house: House) -> None:
    robot = Robot(house)
    robot.see(("cup", robot.top()))
    updater = robot.memory._updater
    assert isinstance(updater, LearnedUpdater)
    frame = updater._looks["agent_0"][0]
    for stamp_s in (7.0, 8.0, 9.0):
        robot.memory.observe(Observation.at_rest(stamp_s, dataclasses.replace(frame)))
    assert robot.eye.looks == 1
    assert robot.things == []


def test_what_a_thing_may_be_besides_is_kept_without_news(house: House) -> None:
    robot = Robot(house)
    for _ in range(3):
        robot.guess((("tablet", 0.8), ("pen", 0.2), ("cup", 0.021)), robot.top())
    (tablet,) = robot.things
    assert [name for name, _ in tablet.maybe] == ["pen"]
    assert 0.3 < tablet.maybe[0][1] < 0.8
    sequence = robot.memory.sequence
    for _ in range(3):
        robot.guess((("tablet", 0.6), ("book", 0.3)), robot.top())
    (tablet,) = robot.things
    assert {name for name, _ in tablet.maybe} == {"pen", "book"}
    assert robot.memory.sequence == sequence
    node = robot.memory.belief(robot.stamp_s).nodes[tablet.name]
    assert node.maybe == tablet.maybe


def test_what_a_thing_may_be_is_still_known_while_it_is_carried(house: House) -> None:
    robot = Robot(house)
    for _ in range(3):
        robot.guess((("tablet", 0.8), ("pen", 0.15)), robot.top())
    (before,) = robot.things
    done = SkillResult(SkillCode.SUCCESS, "Successful execution!")
    pick = SkillCall(SkillName.PICK, (before.name,))
    robot.memory.note_result("agent_0", pick, done, robot.stamp_s)
    (held,) = robot.things
    assert held.picked
    assert held.maybe == before.maybe


def test_what_was_sliced_has_become_its_slices_whatever_they_look_like(house: House) -> None:
    robot = Robot(house)
    robot.eye.unknown = "tomato_slice"
    for _ in range(3):
        robot.see(("tomato", robot.top()))
    (tomato,) = robot.things
    call = SkillCall("Slice", (tomato.name,))
    robot.memory.note_result("agent_0", call, SkillResult.success(), robot.stamp_s)
    for _ in range(12):
        robot.see(("carrot", robot.top()))
    for _ in range(12):
        robot.see()
    assert [thing.class_name for thing in robot.things] == ["tomato_slice"] * 4
    for piece in robot.things:
        assert piece.is_named_by_memory
        assert (piece.parent, piece.relation) == (tomato.parent, tomato.relation)
        assert piece.position_m == tomato.position_m
        assert piece.size_m[0] == pytest.approx(tomato.size_m[0] / 4)
        assert piece.states["sliced"]


def test_only_slices_that_can_be_told_are_missed(house: House) -> None:
    robot = Robot(house)
    for _ in range(3):
        robot.see(("tomato", robot.top()))
    call = SkillCall("Slice", (robot.things[0].name,))
    robot.memory.note_result("agent_0", call, SkillResult.success(), robot.stamp_s)
    assert len(robot.things) == 4
    for _ in range(15):
        robot.see(depth_m=3.0)
    assert robot.things == []


def test_where_something_rises_what_was_put_there_is_not_missed(house: House) -> None:
    robot = Robot(house)
    for _ in range(3):
        robot.see(("toothpaste", robot.top()))
    for _ in range(12):
        robot.see(depth_m=1.49)
    assert robot.things == []
    for _ in range(3):
        robot.see(("toothpaste", robot.top()))
    (tube,) = robot.things
    place = SkillCall(SkillName.PLACE, (tube.name, "on", robot.table.name, None, None))
    done = dataclasses.replace(SkillResult.success(), position_m=robot.top())
    robot.memory.note_result("agent_0", place, done, robot.stamp_s)
    robot.see(("toothpaste", robot.top()))
    for _ in range(30):
        robot.see(depth_m=1.49)
    assert robot.things
    for _ in range(12):
        robot.see(depth_m=3.0)
    assert robot.things == []
