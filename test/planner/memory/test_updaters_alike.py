"""One set of behaviour that every updater shows: the planner tells them apart by errors alone.

The learned one looks through an eye that knows the ids in the picture, the vision-language one
asks a model that knows the world and answers in EPM's words; what is tested is all the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from memory_samples import LENS, layout_of, piece_state, world_of

from planner.memory.camera import in_image, project
from planner.memory.features import GroundTruthFeatures, ObjectGraph
from planner.memory.learned.detector import Detection, FrameDetections, Rising
from planner.memory.learned.updater import LearnedUpdater
from planner.memory.memory import Memory
from planner.memory.operations import write
from planner.memory.privileged import PrivilegedUpdater
from planner.memory.updater import Counting, MemoryUpdater, Operation
from planner.memory.vlm import VlmUpdater
from planner.memory.voxel import VoxelForm, VoxelMap, VoxelUpdater
from planner.memory.wording import words_of
from planner.models.chat import Completion, Request
from planner.parts.calls import parse_call
from planner.world.belief import Entity, OperationKind, Source
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Pose, Vec3
from planner.world.observation import CameraFrame, Observation
from planner.world.skill import SkillResult
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation

HOUSE = layout_of(2)
# High enough for the voxels, which take a surface closer than 0.1 m behind them for their own.
CLASSES = ("ball", "gift_box")
SIZES = {name: default_catalogue().objects[name].size_m for name in CLASSES}
ABOVE_M = 1.2
NOTHING = (np.zeros((0, 3), np.float32), np.zeros(0, np.float32))
ENOUGH = 10


def top_of(piece: int) -> Vec3:
    surface = max(HOUSE.furniture[piece].surfaces, key=lambda s: s.center[2])
    return HOUSE.furniture[piece].pose.apply(surface.center)


@dataclass
class Stage:
    """Things on the first table, a camera straight above it, and a memory that looks."""

    make: Callable[[Stage], MemoryUpdater]
    things: dict[str, Vec3] = field(default_factory=dict)
    looks: int = 0
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        self.updater = self.make(self)
        self.memory = Memory(HOUSE, self.updater)

    def put(self, name: str, dx: float = 0.0, dy: float = 0.0) -> None:
        """Onto the table, that far beside its middle."""
        x, y, z = top_of(0)
        self.things[name] = (x + dx, y + dy, z)

    @property
    def numbers(self) -> dict[int, str]:
        """Instance ids of the things; the same for a thing wherever it is."""
        return {50 + int(n.rpartition("_")[2]) + 10 * len(n): n for n in self.things}

    @property
    def state(self) -> WorldState:
        """The truth."""
        made = [piece_state(HOUSE, index) for index in range(len(HOUSE.furniture))]
        for number, name in self.numbers.items():
            class_name = name.rpartition("_")[0]
            made.append(
                EntityState(
                    name=name,
                    kind=EntityKind.OBJECT,
                    class_name=class_name,
                    instance_id=number,
                    pose=Pose(self.things[name]),
                    size_m=SIZES[class_name],
                    parent="table_0",
                    relation=Relation.ON,
                    room="hall_0",
                )
            )
        return world_of(*made, stamp_s=float(self.looks))

    @property
    def frame(self) -> CameraFrame:
        """What the camera shows, from a place a little other than the last."""
        x, y, z = top_of(0)
        eye = np.array([x + 0.03 * (self.looks % 2), y, z + ABOVE_M])
        pose = Pose.from_matrix(eye, np.diag([1.0, -1.0, -1.0]))
        depth = np.full((384, 384), ABOVE_M, np.float32)
        instances = np.ones((384, 384), np.int32)
        rgb = np.full((384, 384, 3), self.looks % 251, np.uint8)
        for number, name in self.numbers.items():
            wide, _, high = SIZES[name.rpartition("_")[0]]
            x, y, z = self.things[name]
            at = np.array([(x, y, z + high)])
            u, v, away = (float(w) for w in project(LENS, pose, at)[0])
            half = max(8, round(LENS.fx_px * wide / away / 2))
            rows, columns = slice(int(v) - half, int(v) + half), slice(int(u) - half, int(u) + half)
            instances[rows, columns], depth[rows, columns] = number, away
        return CameraFrame(rgb, depth, instances, LENS, pose)

    def look(self, times: int = 1, **changed: object) -> None:
        """So many looks, one a second; parts of the picture may be spoilt."""
        for _ in range(times):
            self.looks += 1
            frame = replace(self.frame, **changed)  # type: ignore[arg-type]
            self.memory.observe(Observation.at_rest(float(self.looks), frame))

    def done(self, call: str) -> None:
        """An action of the agent that ended well, now."""
        self.looks += 1
        self.memory.note_result(
            "agent_0", parse_call(call), SkillResult.success(), float(self.looks)
        )

    @property
    def known(self) -> list[Entity]:
        """What is remembered besides furniture."""
        return [e for e in self.memory.snapshot().entities if not e.is_furniture]


class FrameDetector:
    """Tells the things of a picture by their ids."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def look(self, frame: CameraFrame, rising: Rising | None = None) -> FrameDetections:
        found = []
        for number, name in self._stage.numbers.items():
            assert frame.instances is not None
            shown = (frame.instances == number) & (np.nan_to_num(frame.depth_m) > 0)
            if shown.any():
                x, y, z = self._stage.things[name]
                class_name = name.rpartition("_")[0]
                center = (x, y, z + SIZES[class_name][2] / 2)
                found.append(Detection(class_name, 0.9, center, ABOVE_M, (0.0, 0.0), 40))
        return FrameDetections(tuple(found), *NOTHING)

    def knows(self, class_name: str) -> bool:
        return bool(class_name)


class Model:
    """Answers in EPM's words what the picture and the list of known things call for."""

    name = "knows the stage"

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def complete(self, request: Request) -> Completion:
        (message,) = request.messages
        assert message.pictures[0].image.shape == (384, 384, 3)
        return Completion(self._text())

    async def close(self) -> None:
        """Holds nothing."""

    def _text(self) -> str:
        frame, left = self._stage.frame, [e for e in self._stage.known if not e.picked]
        made: list[Operation] = []
        for name, place in self._stage.things.items():
            class_name, (x, y, z) = name.rpartition("_")[0], place
            at = np.array([(x, y, z + 0.01)])
            u, v, _ = (float(w) for w in project(frame.intrinsics, frame.pose, at)[0])
            near = [e for e in left if e.class_name == class_name]
            match = min(near, key=lambda e: math.dist(e.position_m, place), default=None)
            text = f"{words_of(class_name)} with the Object.100"
            if match is None:
                made.append(Operation(OperationKind.ADD, None, (round(u), round(v)), text))
            else:
                left.remove(match)
                number = match.entity_id
                made.append(Operation(OperationKind.UPDATE, number, (round(u), round(v)), text))
        for entity in left:
            seen = project(frame.intrinsics, frame.pose, np.array([entity.position_m]))
            if in_image(frame.intrinsics, seen, 0)[0]:
                made.append(Operation(OperationKind.REMOVE, entity.entity_id))
        return write(made)


def features(stage: Stage) -> GroundTruthFeatures:
    def class_of(number: int) -> str | None:
        name = stage.numbers.get(number)
        return None if name is None else name.rpartition("_")[0]

    return GroundTruthFeatures(CLASSES, class_of)


def voxels(form: VoxelForm) -> Callable[[Stage], MemoryUpdater]:
    return lambda stage: VoxelUpdater(VoxelMap(HOUSE, features(stage), form), CLASSES)


MAKERS: dict[str, Callable[[Stage], MemoryUpdater]] = {
    "privileged": lambda stage: PrivilegedUpdater(lambda: stage.state),
    "learned": lambda stage: LearnedUpdater(HOUSE, FrameDetector(stage)),
    "open-vocabulary": lambda stage: LearnedUpdater(
        HOUSE, FrameDetector(stage), name="open-vocabulary"
    ),
    "vlm": lambda stage: VlmUpdater(Model(stage)),
    **{f"voxels-{form.value}": voxels(form) for form in VoxelForm},
    "object-graph": lambda stage: ObjectGraph(features(stage), CLASSES),
}
# As its paper describes it, the object graph joins and never takes away.
KEEPS_EVERYTHING = ("object-graph",)


@pytest.fixture(params=list(MAKERS))
def stage(request: pytest.FixtureRequest) -> Stage:
    made = Stage(MAKERS[request.param])
    assert made.updater.name == request.param
    return made


def beside_m(entity: Entity, place: Vec3) -> float:
    """How far beside a place something is remembered, whatever its height."""
    return math.dist(entity.position_m[:2], place[:2])


CHANGES = pytest.mark.parametrize(
    "stage", [name for name in MAKERS if name not in KEEPS_EVERYTHING], indirect=True
)


def test_what_is_seen_is_remembered_where_it_is(stage: Stage) -> None:
    stage.put("gift_box_0", 0.1, -0.1)
    stage.look(ENOUGH)
    (box,) = stage.known
    assert (box.class_name, box.parent, box.room) == ("gift_box", "table_0", "hall_0")
    assert (box.relation, box.source) == (Relation.ON, Source.SEEN)
    assert box.entity_id == 100 + len(HOUSE.furniture)
    assert box.name.startswith("gift_box_")
    assert box.description.startswith("gift box")
    assert beside_m(box, stage.things["gift_box_0"]) < 0.05
    assert box.seen_distance_m == pytest.approx(ABOVE_M, abs=0.2)


def test_the_same_seen_again_is_no_news(stage: Stage) -> None:
    stage.put("gift_box_0")
    stage.look(ENOUGH)
    mark_reported, (box,) = stage.memory.sequence, stage.known
    stage.look(ENOUGH)
    assert stage.memory.sequence == mark_reported
    (again,) = stage.known
    assert again.position_m == box.position_m
    assert again.stamp_s > box.stamp_s


def test_two_of_a_class_and_one_of_another_are_three(stage: Stage) -> None:
    stage.put("gift_box_0", 0.0, -0.25)
    stage.put("gift_box_1", 0.0, 0.25)
    stage.put("ball_0")
    stage.look(ENOUGH)
    assert sorted(e.class_name for e in stage.known) == ["ball", "gift_box", "gift_box"]
    assert len({e.entity_id for e in stage.known}) == 3


def gone(stage: Stage) -> Entity:
    """A gift box that was seen, and then its place without it."""
    stage.put("gift_box_0")
    stage.look(ENOUGH)
    (box,) = stage.known
    del stage.things["gift_box_0"]
    stage.look(ENOUGH)
    return box


@CHANGES
def test_what_is_gone_goes_and_its_number_is_never_given_again(stage: Stage) -> None:
    box = gone(stage)
    assert stage.known == []
    stage.put("ball_0")
    stage.look(ENOUGH)
    (ball,) = stage.known
    assert ball.entity_id > box.entity_id


@CHANGES
def test_what_was_moved_is_at_its_new_place_alone(stage: Stage) -> None:
    stage.put("gift_box_0", 0.0, -0.25)
    stage.look(ENOUGH)
    stage.put("gift_box_0", 0.0, 0.25)
    stage.look(ENOUGH)
    (box,) = stage.known
    assert beside_m(box, stage.things["gift_box_0"]) < 0.05


@pytest.mark.parametrize("stage", KEEPS_EVERYTHING, indirect=True)
def test_a_baseline_that_never_removes_keeps_what_is_gone(stage: Stage) -> None:
    """As its paper describes it; every other updater does what the two tests above ask."""
    box = gone(stage)
    assert [entity.name for entity in stage.known] == [box.name]


def test_actions_tell_what_cameras_do_not_show(stage: Stage) -> None:
    stage.put("gift_box_0")
    stage.look(ENOUGH)
    (box,) = stage.known
    del stage.things["gift_box_0"]
    stage.done(f"Pick[{box.name}]")
    stage.look(3)
    (held,) = stage.known
    assert (held.entity_id, held.picked, held.parent) == (box.entity_id, True, "agent_0")
    stage.done(f"Place[{box.name}, on, table_1, None, None]")
    stage.look(3)
    (placed,) = stage.known
    assert (placed.entity_id, placed.picked) == (box.entity_id, False)
    assert (placed.parent, placed.relation) == ("table_1", Relation.ON)


def test_what_a_person_told_of_elsewhere_stays(stage: Stage) -> None:
    x, y, z = top_of(1)
    mark_reported = Operation(OperationKind.ADD, description="ball", position_m=(x + 0.3, y, z))
    stage.memory.edit([mark_reported], "a person", 0.5)
    stage.put("gift_box_0", 0.0, -0.25)
    stage.look(ENOUGH)
    ball, box = stage.known
    assert (ball.class_name, ball.source) == ("ball", Source.TOLD)
    assert box.class_name == "gift_box"


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf], ids=["zero", "nan", "infinite"])
def test_a_picture_without_depth_harms_nothing(stage: Stage, value: float) -> None:
    stage.put("gift_box_0")
    stage.look(ENOUGH)
    before = [(e.entity_id, e.position_m, e.description) for e in stage.known]
    stage.look(ENOUGH, depth_m=np.full((384, 384), value, np.float32))
    assert [(e.entity_id, e.position_m, e.description) for e in stage.known] == before


def test_a_look_without_a_camera_teaches_nothing(stage: Stage) -> None:
    stage.put("gift_box_0")
    assert (
        stage.updater.update(Observation.at_rest(1.0), stage.memory.snapshot().entities, "") == []
    )
    assert stage.known == []


def test_furniture_stays_whatever_is_seen(stage: Stage) -> None:
    stage.look(ENOUGH)
    names = [e.name for e in stage.memory.snapshot().entities]
    assert names == [piece.name for piece in HOUSE.furniture]
    if isinstance(stage.updater, Counting):
        assert not any(stage.updater.counts.values())
