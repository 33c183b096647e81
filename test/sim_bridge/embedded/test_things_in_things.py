"""Things in and on things: put there, carried along, taken out, hidden with what they are in."""

from __future__ import annotations

import math

import pytest
from hypothesis import strategies as st
from random_cases import random_cases

from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.geometry import Vec3
from planner.world.house import House, ObjectPlacement
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.state import EntityState
from planner.world.vocabulary import EntityKind, Relation
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

DT_S = 1 / 30
GATE_M = 0.5


def laid(episode: Episode, *things: ObjectPlacement) -> Episode:
    return episode.model_copy(update={"objects": (*episode.objects, *things)})


def on_table(name: str, x: float, y: float, size: Vec3) -> ObjectPlacement:
    return ObjectPlacement(
        name=f"{name}_0",
        class_name=name,
        size_m=size,
        pose=(x, y, 0.42, 0.4),
        parent="table_0",
        relation=Relation.ON,
        part="top",
    )


BOWL = on_table("mixing_bowl", 2.6, 3.3, (0.25, 0.25, 0.101))
PLATE = on_table("plate", 2.2, 3.45, (0.256, 0.256, 0.016))


class World:
    def __init__(self, house: House, episode: Episode) -> None:
        self.backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
        self.backend.reset(house, episode, 0)

    def entity(self, name: str) -> EntityState:
        state = self.backend.world_state()
        assert state is not None
        return state.entities[name]

    def middle(self, name: str) -> Vec3:
        return self.entity(name).box.center_m

    def do(self, name: PrimitiveName, target: Vec3, **more: object) -> PrimitiveResult:
        handle = self.backend.start("agent_0", Primitive(name, target, **more))
        for _ in range(10_000):
            status = self.backend.poll(handle)
            if status.result is not None:
                return status.result
            self.backend.step(DT_S)
        raise AssertionError(f"{name} never ended")

    def fetch(self, name: str) -> PrimitiveResult:
        assert self.do(PrimitiveName.NAVIGATE, self.middle(name)).succeeded
        return self.do(PrimitiveName.PICK, self.middle(name))

    def put(self, relation: Relation, holder: str) -> PrimitiveResult:
        self.do(PrimitiveName.NAVIGATE, self.middle(holder))
        return self.do(
            PrimitiveName.PLACE, self.middle(holder), relation=relation, tolerance_m=GATE_M
        )

    def sees(self, name: str) -> bool:
        self.do(PrimitiveName.LOOK, self.middle(name))
        return any(s.name == name for s in self.backend.sightings("agent_0", 10.0))


@pytest.fixture
def world(small_house: House, small_episode: Episode) -> World:
    return World(small_house, laid(small_episode, BOWL, PLATE))


def test_a_thing_goes_into_a_bowl_and_comes_out_again(world: World) -> None:
    assert world.fetch("apple_0").succeeded
    result = world.put(Relation.WITHIN, "mixing_bowl_0")
    assert result.succeeded, result
    apple, bowl = world.entity("apple_0"), world.entity("mixing_bowl_0")
    assert (apple.parent, apple.relation) == ("mixing_bowl_0", Relation.WITHIN)
    assert apple.room == "kitchen_0"
    assert apple.pose.position_m[2] == pytest.approx(bowl.pose.position_m[2] + 0.023)
    assert world.sees("apple_0")
    assert world.do(PrimitiveName.PICK, world.middle("apple_0")).succeeded
    assert world.entity("apple_0").parent == "agent_0"


def test_what_is_on_a_plate_goes_along_with_it(world: World) -> None:
    assert world.fetch("apple_0").succeeded
    assert world.put(Relation.ON, "plate_0").succeeded
    before = world.entity("plate_0").pose.inverse().apply(world.entity("apple_0").pose.position_m)
    assert world.fetch("plate_0").succeeded
    apple = world.entity("apple_0")
    assert (apple.parent, apple.relation) == ("plate_0", Relation.ON)
    assert world.do(PrimitiveName.NAVIGATE, world.middle("book_0")).succeeded
    assert world.entity("apple_0").room == "living_room_0"
    assert world.do(PrimitiveName.PLACE, world.middle("book_0"), relation=Relation.ON).succeeded
    plate, apple = world.entity("plate_0"), world.entity("apple_0")
    assert (plate.parent, apple.parent) == ("table_1", "plate_0")
    assert plate.pose.inverse().apply(apple.pose.position_m) == pytest.approx(before)


def test_a_bowl_on_a_plate_with_an_apple_in_it(world: World) -> None:
    assert world.fetch("apple_0").succeeded
    assert world.put(Relation.WITHIN, "mixing_bowl_0").succeeded
    assert world.fetch("mixing_bowl_0").succeeded
    # Its foot is wider than the plate's top.
    result = world.put(Relation.ON, "plate_0")
    assert result.code is PrimitiveCode.NO_SPACE
    assert world.entity("mixing_bowl_0").parent == "agent_0"


def test_what_has_no_hollow_takes_nothing(world: World) -> None:
    assert world.fetch("apple_0").succeeded
    world.do(PrimitiveName.NAVIGATE, world.middle("cup_0"))
    point = world.middle("cup_0")
    result = world.do(PrimitiveName.PLACE, point, relation=Relation.WITHIN, tolerance_m=0.02)
    assert result.code is PrimitiveCode.NOTHING_THERE


def test_closed_furniture_hides_what_is_in_a_bowl_in_it(
    small_house: House, small_episode: Episode
) -> None:
    drawer = next(p for p in small_house.furniture if p.interiors and p.joints)
    hollow = drawer.interiors[0]
    x, y, z = drawer.pose.apply(hollow.center)
    low = z - hollow.size[2] / 2
    pan = ObjectPlacement(
        name="ramekin_dish_0",
        class_name="bowl",
        size_m=(0.16, 0.16, 0.064),
        pose=(x, y, low, 0.0),
        parent=drawer.name,
        relation=Relation.WITHIN,
        part=hollow.name,
    )
    egg = ObjectPlacement(
        name="egg_0",
        class_name="egg",
        size_m=(0.058, 0.044, 0.044),
        pose=(x, y, low + 0.015, 0.0),
        parent="ramekin_dish_0",
        relation=Relation.WITHIN,
        part="hollow",
    )
    world = World(small_house, laid(small_episode, egg, pan))
    assert world.entity("egg_0").room == drawer.room
    handle = drawer.pose.apply(drawer.joint(hollow.joint or "").handle)
    assert world.do(PrimitiveName.NAVIGATE, handle).succeeded
    assert not world.sees("egg_0")
    shut = (PrimitiveCode.CLOSED, PrimitiveCode.NO_LINE_OF_SIGHT)
    assert world.do(PrimitiveName.PICK, world.middle("egg_0")).code in shut
    before = world.middle("egg_0")
    assert world.do(PrimitiveName.OPEN, handle).succeeded
    offset = math.dist(world.middle("egg_0"), world.middle("ramekin_dish_0"))
    assert offset < 0.05
    assert hollow.moves is (math.dist(before, world.middle("egg_0")) > 0.05)
    assert world.fetch("egg_0").succeeded


@pytest.mark.parametrize(
    ("parents", "reason"),
    [
        (("mixing_bowl_1", "mixing_bowl_0"), "a cycle of containment"),
        (("mixing_bowl_0", "table_0"), "a cycle of containment"),
        (("cup_0", "table_0"), "cup_0 has no part 'hollow' to be within"),
        (("spoon_9", "table_0"), "has no 'spoon_9'"),
    ],
)
def test_impossible_holders_are_refused(
    small_house: House, small_episode: Episode, parents: tuple[str, str], reason: str
) -> None:
    first = BOWL.model_copy(
        update={"parent": parents[0], "relation": Relation.WITHIN, "part": "hollow"}
    )
    second = BOWL.model_copy(update={"name": "mixing_bowl_1", "parent": parents[1]})
    if parents[1] != "table_0":
        second = second.model_copy(update={"relation": Relation.WITHIN, "part": "hollow"})
    with pytest.raises(FileError, match=reason) as caught:
        World(small_house, laid(small_episode, first, second))
    assert "objects.mixing_bowl_" in str(caught.value)


def tree(world: World) -> dict[str, tuple[str, ...]]:
    """What each thing is in or on or held by, up to furniture, a floor or an agent."""
    state = world.backend.world_state()
    assert state is not None
    found: dict[str, tuple[str, ...]] = {}
    for name, entity in state.entities.items():
        if entity.kind is not EntityKind.OBJECT:
            continue
        way = [name]
        while (holder := state.entities.get(way[-1])) is not None and holder.parent is not None:
            assert holder.parent not in way, f"{holder.parent} is in or on itself"
            way.append(holder.parent)
        found[name] = tuple(way[1:])
    return found


def within(world: World, name: str, holder: str) -> Vec3:
    """Where a thing is in the frame of another one."""
    frame = world.entity(holder).pose.inverse()
    return frame.apply(world.entity(name).pose.position_m)


step = st.tuples(st.integers(0, 3), st.integers(0, 4), st.sampled_from(["ON", "WITHIN"]))


@random_cases(3, 60, st.lists(step, min_size=1, max_size=5))
def test_whatever_is_moved_nothing_is_lost_and_loads_come_along(
    small_house: House, small_episode: Episode, steps: list[tuple[int, int, str]]
) -> None:
    world = World(small_house, laid(small_episode, BOWL, PLATE))
    things = ("apple_0", "cup_0", "mixing_bowl_0", "plate_0")
    places = (*things, "table_1")
    everything = set(tree(world))
    for which, where, relation in steps:
        thing, place = things[which], places[where]
        before = tree(world)
        loads = {name: within(world, name, thing) for name in before if thing in before[name]}
        taken = world.fetch(thing).succeeded
        if taken:
            assert tree(world)[thing][0] == "agent_0"
            done = world.put(Relation[relation], place)
            if not done.succeeded:
                assert tree(world)[thing][0] == "agent_0"
                world.do(PrimitiveName.NAVIGATE, world.middle("table_0"))
                back = world.do(PrimitiveName.PLACE, world.middle("table_0"), relation=Relation.ON)
                assert back.succeeded or tree(world)[thing][0] == "agent_0"
        after = tree(world)
        assert set(after) == everything
        for name, at in loads.items():
            assert after[name][0] == before[name][0]
            assert thing in after[name]
            assert within(world, name, thing) == pytest.approx(at, abs=1e-6)
