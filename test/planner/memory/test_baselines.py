"""The voxel memory and the object graph, with ground-truth classes in place of a model."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from memory_samples import LENS, layout_of

from planner.memory.features import GroundTruthFeatures, ObjectGraph
from planner.memory.memory import Memory
from planner.memory.query import ask
from planner.memory.updater import MemoryUpdater
from planner.memory.voxel import VoxelForm, VoxelMap, VoxelUpdater
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.observation import CameraFrame, Observation

CLASSES = ("cup", "book")
NAMES = {1: "cup", 2: "book", 3: "cup"}
HOUSE = layout_of(2)
# Looks straight down from 2 m above (5, 5): x of the map is right, y of the map is up.
DOWN = Pose.from_matrix(np.array([5.0, 5.0, 2.0]), np.diag([1.0, -1.0, -1.0]))


def features() -> GroundTruthFeatures:
    return GroundTruthFeatures(CLASSES, NAMES.get)


def frame_of(*things: tuple[int, int, int], away_m: float = 2.0) -> CameraFrame:
    """Squares of 20 pixels with an instance at (u, v), 0.1 m above what lies beneath."""
    instances = np.zeros((384, 384), np.int32)
    depth = np.full((384, 384), away_m, np.float32)
    for number, u, v in things:
        instances[v - 10 : v + 10, u - 10 : u + 10] = number
        depth[v - 10 : v + 10, u - 10 : u + 10] = away_m - 0.1
    return CameraFrame(np.zeros((384, 384, 3), np.uint8), depth, instances, LENS, DOWN)


def updaters() -> list[MemoryUpdater]:
    maps = [VoxelMap(HOUSE, features(), form) for form in VoxelForm]
    return [*(VoxelUpdater(map_, CLASSES) for map_ in maps), ObjectGraph(features(), CLASSES)]


@pytest.mark.parametrize("updater", updaters(), ids=lambda u: u.name)
def test_baselines_fill_the_memory_and_answer_questions(updater: MemoryUpdater) -> None:
    memory = Memory(HOUSE, updater)
    for step in range(3):
        frame = frame_of((1, 100, 100), (2, 300, 300))
        memory.observe(Observation.at_rest(float(step), frame))
    things = {e.class_name: e for e in memory.snapshot().entities if not e.is_furniture}
    assert sorted(things) == ["book", "cup"]
    assert things["cup"].position_m == pytest.approx((4.09, 5.91, 0.1), abs=0.08)
    answer = ask(memory, "where is the cup?")
    assert answer.entities == (things["cup"],)
    assert "on floor_hall_0 in hall_0, seen at" in answer.text


def test_a_thing_has_one_class_though_another_s_words_are_alike() -> None:
    classes = ("cup", "measuring_cup")
    extractor = GroundTruthFeatures(classes, {1: "cup", 2: "measuring_cup"}.get)
    memory = Memory(HOUSE, VoxelUpdater(VoxelMap(HOUSE, extractor), classes))
    memory.observe(Observation.at_rest(1.0, frame_of((1, 100, 100), (2, 300, 300))))
    things = [e for e in memory.snapshot().entities if not e.is_furniture]
    assert sorted(e.class_name for e in things) == ["cup", "measuring_cup"]
    assert math.dist(things[0].position_m, things[1].position_m) > 2.0


@pytest.mark.parametrize("updater", updaters(), ids=lambda u: u.name)
def test_bad_depth_teaches_nothing(updater: MemoryUpdater) -> None:
    frame = frame_of((1, 100, 100))
    for value in (0.0, np.nan, np.inf):
        bad = replace(frame, depth_m=np.full((384, 384), value, np.float32))
        assert updater.update(Observation.at_rest(1.0, bad), (), "") == []
    assert updater.update(Observation.at_rest(1.0), (), "") == []


def test_a_voxel_that_is_looked_through_goes() -> None:
    map_ = VoxelMap(HOUSE, features())
    memory = Memory(HOUSE, VoxelUpdater(map_, CLASSES))
    memory.observe(Observation.at_rest(1.0, frame_of((1, 100, 100))))
    assert len(map_) > 0
    memory.observe(Observation.at_rest(2.0, frame_of((1, 300, 300))))
    (cup,) = [e for e in memory.snapshot().entities if not e.is_furniture]
    assert cup.position_m == pytest.approx((6.07, 3.93, 0.1), abs=0.08)
    memory.observe(Observation.at_rest(3.0, frame_of()))
    assert len(map_) == 0
    assert [e for e in memory.snapshot().entities if not e.is_furniture] == []


def test_words_are_compared_and_the_newest_comes_first() -> None:
    map_ = VoxelMap(HOUSE, features())
    map_.look(frame_of((1, 100, 100), (2, 300, 300)), 1.0)
    map_.look(frame_of((3, 200, 100), (1, 100, 100)), 2.0)
    found = map_.find("the cup")
    assert [f.seen_s for f in found] == [2.0, 2.0]
    assert found[0].score == pytest.approx(1.0)
    assert map_.find("a hippopotamus") == []
    assert [f.room for f in map_.find("book")] == []


def two_rooms() -> House:
    """The plain hall cut at x = 5."""
    hall = HOUSE.rooms[0]
    west = hall.model_copy(update={"polygon_m": ((0, 0), (5, 0), (5, 20), (0, 20))})
    east = hall.model_copy(
        update={
            "name": "kitchen_0",
            "class_name": "kitchen",
            "polygon_m": ((5, 0), (20, 0), (20, 20), (5, 20)),
        }
    )
    return HOUSE.model_copy(update={"rooms": (west, east)})


@pytest.mark.parametrize(("form", "count"), [(VoxelForm.PLAIN, 2), (VoxelForm.ROOM, 1)])
def test_only_the_forms_with_rooms_tell_things_apart_by_room(form: VoxelForm, count: int) -> None:
    map_ = VoxelMap(two_rooms(), features(), form)
    map_.look(frame_of((1, 100, 100), (3, 300, 300)), 1.0)
    found = map_.find("cup in the kitchen")
    assert len(found) == count
    assert "kitchen_0" in [f.room for f in found]


@pytest.mark.parametrize(
    ("form", "room"), [(VoxelForm.ROOM, "kitchen_0"), (VoxelForm.ROOM_TIME_ONLY, "hall_0")]
)
def test_exploration_by_time_alone_ignores_likeness(form: VoxelForm, room: str) -> None:
    """The hall was seen less; the kitchen is where something alike was seen."""
    map_ = VoxelMap(two_rooms(), features(), form)
    kitchen = replace(frame_of((1, 192, 192)), pose=replace(DOWN, position_m=(9.0, 5.0, 2.0)))
    map_.look(kitchen, 1.0)
    map_.look(replace(kitchen, pose=replace(DOWN, position_m=(9.0, 9.0, 2.0))), 2.0)
    map_.look(replace(kitchen, pose=replace(DOWN, position_m=(14.0, 9.0, 2.0))), 2.5)
    assert map_.explore("cup", 3.0) == room


def test_detections_of_one_object_are_joined_by_place_and_likeness() -> None:
    graph = ObjectGraph(features(), CLASSES)
    for _ in range(3):
        graph.update(Observation.at_rest(1.0, frame_of((1, 100, 100), (2, 300, 300))), (), "")
    assert [(graph.class_of(thing), thing.looks) for thing in graph.objects] == [
        ("cup", 3),
        ("book", 3),
    ]
    # Alike but elsewhere is another object, and so is what is there but unlike.
    graph.update(Observation.at_rest(1.0, frame_of((3, 200, 300), (2, 100, 100))), (), "")
    assert len(graph.objects) == 4
    assert [score for _, score in graph.find("book")] == pytest.approx([1.0, 1.0])


def test_features_need_instance_ids() -> None:
    blind = replace(frame_of(), instances=None)
    with pytest.raises(Exception, match="gives no instance ids"):
        features().regions(blind)
