"""The updater that knows the truth of what it sees (EPM-1.2, PARTNR-5.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from memory_samples import (
    agent_state,
    flat_frame,
    layout_of,
    piece_state,
    thing,
    world_of,
)

from planner.memory.memory import Memory
from planner.memory.privileged import CONFIRM_S, PrivilegedUpdater
from planner.memory.sightings import (
    FULL_VISIBILITY,
    GT_VISIBILITY,
    Visibility,
    sightings_of_images,
)
from planner.parts.calls import parse_call
from planner.world.belief import Source
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.observation import CameraFrame, Observation, Sighting
from planner.world.person import Gesture, Person, Posture
from planner.world.skill import SkillResult
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation

CUP, TABLE_0 = 50, 1


def picture(patches: dict[int, tuple[int, int]], depth_m: float = 2.0) -> CameraFrame:
    """Instances as patches of 20 by 20 pixels with their top left corner at (u, v)."""
    frame = flat_frame(depth_m)
    instances = np.zeros((384, 384), np.int32)
    for number, (u, v) in patches.items():
        instances[v : v + 20, u : u + 20] = number
    return replace(frame, instances=instances)


@dataclass
class Stage:
    """A memory in front of a world that the test changes."""

    pieces: int = 2
    visibility: Visibility = GT_VISIBILITY
    state: WorldState | None = None
    shown: list[Sighting] | None = None
    stamp_s: float = 0.0
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        self.layout = layout_of(self.pieces)
        provider = None if self.shown is None else self.sightings
        updater = PrivilegedUpdater(lambda: self.state, self.visibility, provider)
        self.memory = Memory(self.layout, updater)

    def sightings(self, agent: str) -> Sequence[Sighting]:
        return self.shown or []

    def look_again(self, after_s: float) -> None:
        """Looks at the same world later."""
        self.stamp_s += after_s
        self.memory.observe(Observation.at_rest(self.stamp_s))

    def look(self, *entities: EntityState, frame: CameraFrame | None = None) -> list[str]:
        """The lines that a look at a world of these entities yields."""
        self.stamp_s += 1.0
        tables = [piece_state(self.layout, i) for i in range(self.pieces)]
        states = {e.name: e for e in (*tables, *entities)}
        self.state = world_of(*states.values(), stamp_s=self.stamp_s)
        before = self.memory.sequence
        self.memory.observe(Observation.at_rest(self.stamp_s, frame))
        return self.memory.deltas_since(before).lines


def cup_at(x: float, y: float, parent: str = "table_0", z: float = 1.95) -> EntityState:
    return thing("cup_0", CUP, (x, y, z), parent)


def test_a_thing_is_added_when_first_seen_with_the_furniture_in_view() -> None:
    stage = Stage()
    both = picture({CUP: (180, 180), TABLE_0: (220, 180)})
    assert stage.look(cup_at(0, 0), frame=both) == ["Add Object.102: cup with the Object.100"]
    assert stage.look(cup_at(0, 0), frame=both) == []
    # The furniture just out of the picture changes no text.
    assert stage.look(cup_at(0, 0), frame=picture({CUP: (180, 180)})) == []
    cup = stage.memory.belief(9.0).nodes["cup_0"]
    assert (cup.parent, cup.relation, cup.source) == ("table_0", Relation.ON, Source.SEEN)
    assert (cup.stamp_s, cup.entity_id) == (3.0, 102)


def test_without_its_furniture_in_view_the_text_is_the_class_alone() -> None:
    stage = Stage()
    lamp = replace(cup_at(0, 0), name="plant_container_1", class_name="plant_container")
    assert stage.look(lamp, frame=picture({CUP: (180, 180)})) == ["Add Object.102: plant container"]


def test_without_pictures_a_thing_is_gone_when_its_place_is_seen_without_it() -> None:
    stage = Stage()
    x, y, _ = stage.layout.furniture[0].pose.position_m

    def sees(*names: str, cup: EntityState, turned_rad: float = 0.0) -> list[str]:
        stage.stamp_s += 1.0
        robot = replace(
            agent_state("agent_0", (x - 2, y, 0)), pose=Pose.planar(x - 2, y, turned_rad)
        )
        table = piece_state(stage.layout, 0)
        stage.state = world_of(table, robot, cup, stamp_s=stage.stamp_s)
        shown = [Sighting(name, 1.0, 2.0, (0, 0), (x, y, 1)) for name in names]
        before = stage.memory.sequence
        stage.memory.observe(replace(Observation.at_rest(stage.stamp_s), sightings=shown))
        return stage.memory.deltas_since(before).lines

    here, away = cup_at(x, y), replace(cup_at(9, 9, "table_1"), room="attic_0")
    assert sees("table_0", "cup_0", cup=here) == ["Add Object.102: cup with the Object.100"]
    # Not while it only was not looked at: neither from behind nor where its table is not seen.
    for _ in range(3):
        assert sees(cup=away, turned_rad=math.pi) == []
        assert sees("table_1", cup=away) == []
    assert sees("table_0", cup=away) == []
    assert sees("table_0", cup=away) == ["Remove Object.102"]


@pytest.mark.parametrize(
    ("fraction", "distance_m", "seen"),
    [(0.001, 5.0, True), (0.0009, 5.0, False), (0.001, 6.1, False), (0.001, 0.1, False)],
)
def test_32_what_counts_as_seen(fraction: float, distance_m: float, seen: bool) -> None:
    sighting = Sighting("cup_0", fraction, distance_m, (9, 9), (0, 0, 0))
    assert GT_VISIBILITY.shows(sighting) is seen
    assert FULL_VISIBILITY.shows(replace(sighting, fraction=1 / 384**2))
    stage = Stage(shown=[sighting])
    assert (stage.look(cup_at(0, 0)) != []) is seen


def test_32_pixels_are_counted_in_pictures() -> None:
    frame = picture({})
    assert frame.instances is not None
    for pixels, seen in ((147, False), (148, True)):
        frame.instances.ravel()[:pixels] = CUP
        (sighting,) = sightings_of_images(frame, {CUP: "cup_0"})
        assert GT_VISIBILITY.shows(sighting) is seen
    frame.instances[:] = 0
    frame.instances[7, 9] = CUP
    (sighting,) = sightings_of_images(frame, {CUP: "cup_0"})
    assert FULL_VISIBILITY.shows(sighting)
    assert sighting.distance_m == 2.0


def test_a_camera_without_instances_is_reported() -> None:
    with pytest.raises(PlannerError, match="no instance ids"):
        Stage().look(cup_at(0, 0), frame=flat_frame())


def test_moving_state_and_holder_are_updates() -> None:
    stage = Stage()
    frame = picture({CUP: (180, 180), TABLE_0: (220, 180), 2: (260, 180)})
    stage.look(cup_at(0, 0), frame=frame)
    assert stage.look(cup_at(0.05, 0), frame=frame) == []
    assert stage.look(cup_at(0.3, 0), frame=frame) == ["Update Object.102: cup with the Object.100"]
    moved = cup_at(0.3, 0.5, "table_1")
    assert stage.look(moved, frame=frame) == ["Update Object.102: cup with the Object.101"]
    dirty = replace(moved, states={"clean": False})
    assert stage.look(dirty, frame=frame) == ["Update Object.102: cup dirty with the Object.101"]
    held = thing("cup_0", CUP, (0, 0, 1), "agent_1", Relation.HELD, None)
    partner = agent_state("agent_1", (3, 3, 0), "cup_0")
    assert stage.look(held, partner, frame=frame) == ["Update Object.102 (picked): cup"]
    belief = stage.memory.belief(9.0)
    assert belief.nodes["cup_0"].parent == "agent_1"
    assert stage.look(cup_at(0, 0), partner, frame=frame) == [
        "Update Object.102: cup with the Object.100"
    ]


def test_a_held_thing_that_is_new_is_known_to_be_held() -> None:
    stage = Stage()
    held = thing("cup_0", CUP, (0, 0, 1), "agent_1", Relation.HELD, None)
    frame = picture({CUP: (180, 180), 901: (100, 100)})
    lines = stage.look(held, agent_state("agent_1", (3, 3, 0), "cup_0"), frame=frame)
    assert lines == ["Add Object.102 (picked): cup"]
    partner = stage.memory.belief(9.0).nodes["agent_1"]
    assert (partner.holding, partner.source, partner.kind) == (
        "cup_0",
        Source.SEEN,
        EntityKind.AGENT,
    )
    assert partner.position_m == (3, 3, 0)


def test_what_is_gone_is_removed_after_two_frames() -> None:
    stage = Stage()
    stage.look(cup_at(0, 0), frame=picture({CUP: (180, 180)}))
    far = cup_at(5, 5, "table_1")
    assert stage.look(far, frame=picture({}, 2.0)) == []
    # Between the two frames something nearer hides the place: counting starts anew.
    assert stage.look(far, frame=picture({}, 1.0)) == []
    assert stage.look(far, frame=picture({}, 2.1)) == []
    assert stage.look(far, frame=picture({}, 2.1)) == ["Remove Object.102"]
    assert stage.look(cup_at(0, 0), frame=picture({CUP: (180, 180)})) == ["Add Object.103: cup"]


def test_what_is_hidden_but_there_is_not_removed() -> None:
    stage = Stage()
    stage.look(cup_at(0, 0), frame=picture({CUP: (180, 180)}))
    for _ in range(4):
        assert stage.look(cup_at(0.1, 0), frame=picture({}, 2.1)) == []


def test_furniture_is_updated_when_it_opens_and_closes() -> None:
    stage = Stage()
    frame = picture({TABLE_0: (180, 180)})
    lines = [
        stage.look(piece_state(stage.layout, 0, openness), frame=frame)
        for openness in (0.0, 1.0, 1.0, 0.0, 0.0)
    ]
    opened, closed = ["Update Object.100: table open"], ["Update Object.100: table closed"]
    assert lines == [[], opened, [], closed, []]
    assert stage.memory.belief(9.0).nodes["table_0"].openness == 0.0


def test_actions_win_over_pictures_of_the_same_time() -> None:
    stage = Stage()
    frame = picture({CUP: (180, 180), TABLE_0: (220, 180)})
    stage.look(cup_at(0, 0), frame=frame)
    stage.memory.note_result("agent_0", parse_call("Pick[cup_0]"), SkillResult.success(), 2.0)
    assert stage.look(cup_at(0, 0), frame=frame) == []
    cup = stage.memory.belief(9.0).nodes["cup_0"]
    assert (cup.parent, cup.source) == ("agent_0", Source.INFERRED)
    # A later picture shows what is true.
    assert stage.look(cup_at(0, 0), frame=frame) == ["Update Object.102: cup with the Object.100"]


def test_without_truth_or_picture_nothing_is_learned() -> None:
    stage = Stage()
    stage.memory.observe(Observation.at_rest(1.0, picture({CUP: (9, 9)})))
    assert stage.look(cup_at(0, 0), frame=None) == []
    assert stage.memory.sequence == 0


def test_a_look_at_nothing_new_is_left_out_for_a_while() -> None:
    stage = Stage(shown=[Sighting(n, 0.01, 2.0, (9, 9), (0, 0, 0)) for n in ("table_0", "cup_0")])
    asked: list[list[str]] = []
    in_view = True

    def shows_any(agent: str, names: Sequence[str]) -> bool:
        asked.append(sorted(names))
        return in_view

    updater = PrivilegedUpdater(lambda: stage.state, sightings=stage.sightings, in_view=shows_any)
    stage.memory = Memory(stage.layout, updater)
    cup = cup_at(1.0, 0.0)
    assert len(stage.look(cup)) == 1
    cup_id = next(e.entity_id for e in stage.memory.snapshot().entities if e.name == "cup_0")
    first_s = stage.stamp_s
    in_view = False
    # Only what was never seen may be news, and it does not show.
    stage.look_again(0.4)
    assert asked == [["table_1"]]
    assert seen_s(stage, cup_id) == first_s
    # In time, what is in view is confirmed.
    stage.look_again(CONFIRM_S)
    assert seen_s(stage, cup_id) == stage.stamp_s
    # What changed is news at once.
    in_view = True
    stage.state = replace_entity(stage.state, replace(cup, states={"clean": False}))
    stage.look_again(0.4)
    assert asked[-1] == ["cup_0", "table_1"]
    assert seen_s(stage, cup_id) == stage.stamp_s


def test_a_look_at_something_new_tells_of_that_only_until_the_rest_is_due() -> None:
    shown = {n: Sighting(n, 0.01, 2.0, (9, 9), (0, 0, 0)) for n in ("table_0", "cup_0", "plate_0")}
    stage = Stage(shown=list(shown.values()))
    updater = PrivilegedUpdater(
        lambda: stage.state,
        sightings=stage.sightings,
        in_view=lambda _, names: bool(shown.keys() & set(names)),
        glimpse=lambda _, names: [shown[name] for name in names if name in shown],
    )
    stage.memory = Memory(stage.layout, updater)
    cup, plate = cup_at(1.0, 0.0), replace(cup_at(1.2, 0.0), name="plate_0", class_name="plate")
    stage.look(cup)
    now_s = stage.stamp_s
    stage.state = replace_entity(stage.state, plate)
    cup_id = next(e.entity_id for e in stage.memory.entities if e.name == "cup_0")
    stage.look_again(0.4)
    assert "plate_0" in stage.memory.belief(stage.stamp_s).nodes
    assert seen_s(stage, cup_id) == now_s
    stage.look_again(CONFIRM_S)
    assert seen_s(stage, cup_id) == stage.stamp_s


def seen_s(stage: Stage, entity_id: int) -> float | None:
    entity = stage.memory.entity(entity_id)
    assert entity is not None
    return entity.seen_s


def replace_entity(state: WorldState | None, entity: EntityState) -> WorldState:
    assert state is not None
    return replace(state, entities={**state.entities, entity.name: entity})


def test_of_a_person_everything_is_seen_but_the_name_and_what_was_done() -> None:
    truth = Person("Ann", ("red shirt",), Posture.SITTING, Gesture.WAVING, ("met",))
    stage = Stage(shown=[Sighting("person_0", 0.1, 2.0, (0.0, 0.0), (1.0, 1.0, 0.5))])
    person = replace(
        thing("person_0", 60, (1.0, 1.0, 0.0), "table_0"), class_name="person", person=truth
    )
    stage.look(person)
    entity = stage.memory.belief(1.0).nodes["person_0"]
    assert entity.person == replace(truth, name="", done=())
    assert "person sitting red shirt waving" in entity.description
    stage.look(replace(person, person=replace(truth, posture=Posture.STANDING, gesture=None)))
    entity = stage.memory.belief(2.0).nodes["person_0"]
    assert entity.person == Person("", ("red shirt",))
