"""Each primitive on the small house: what it changes, and each way in which it is refused."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from planner.world.episode import Episode
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.primitive import (
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    primitive_named,
)
from planner.world.vocabulary import Hand, Relation
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions, Noise

DT_S = 1 / 30
Do = Callable[..., PrimitiveResult]


@pytest.fixture
def backend(small_house: House, small_episode: Episode) -> EmbeddedBackend:
    made = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    made.reset(small_house, small_episode, 0)
    return made


@pytest.fixture
def do(backend: EmbeddedBackend) -> Do:
    return runner(backend)


def runner(backend: EmbeddedBackend) -> Do:
    def run(name: str, target: Vec3, agent: str = "agent_0", **more: object) -> PrimitiveResult:
        handle = backend.start(agent, Primitive(primitive_named(name), target, **more))
        for _ in range(10_000):
            status = backend.poll(handle)
            if status.result is not None:
                return status.result
            backend.step(DT_S)
        raise AssertionError(f"{name} never ended")

    return run


def middle(backend: EmbeddedBackend, name: str) -> Vec3:
    state = backend.world_state()
    assert state is not None
    return state.entities[name].box.center_m


def handle_of(house: House, furniture: str, joint: int = 0) -> Vec3:
    piece = house.furniture_by_name[furniture]
    return piece.pose.apply(piece.joints[joint].handle)


def parent(backend: EmbeddedBackend, name: str) -> tuple[str | None, Relation | None]:
    state = backend.world_state()
    assert state is not None
    return state.entities[name].parent, state.entities[name].relation


def fetch(backend: EmbeddedBackend, do: Do, name: str, agent: str = "agent_0") -> None:
    assert do("navigate", middle(backend, name), agent).succeeded
    assert do("pick", middle(backend, name), agent).succeeded


def test_pick_moves_the_thing_into_the_hand_and_along(backend: EmbeddedBackend, do: Do) -> None:
    fetch(backend, do, "cup_0")
    assert parent(backend, "cup_0") == ("agent_0", Relation.HELD)
    before = middle(backend, "cup_0")
    assert do("navigate", (1.0, 2.0, 0.0)).succeeded
    assert math.dist(before, middle(backend, "cup_0")) > 0.5
    state = backend.world_state()
    assert state is not None
    assert state.entities["agent_0"].holding == "cup_0"


def test_place_on_a_surface(backend: EmbeddedBackend, do: Do) -> None:
    fetch(backend, do, "cup_0")
    target = middle(backend, "book_0")
    assert do("navigate", target).succeeded
    result = do("place", target, relation=Relation.ON)
    assert result.succeeded, result
    assert parent(backend, "cup_0") == ("table_1", Relation.ON)
    state = backend.world_state()
    assert state is not None
    assert not state.entities["cup_0"].box.overlaps(state.entities["book_0"].box)
    assert state.entities["cup_0"].room == "living_room_0"


def test_place_next_to_a_reference(backend: EmbeddedBackend, do: Do) -> None:
    fetch(backend, do, "cup_0")
    book = middle(backend, "book_0")
    do("navigate", book)
    assert do("place", book, relation=Relation.ON, reference_m=book).succeeded
    state = backend.world_state()
    assert state is not None
    gap = state.entities["cup_0"].box.horizontal_gap_m(state.entities["book_0"].box)
    assert gap <= 0.3


def test_a_reference_elsewhere_is_refused(backend: EmbeddedBackend, do: Do) -> None:
    fetch(backend, do, "cup_0")
    apple, book = middle(backend, "apple_0"), middle(backend, "book_0")
    result = do("place", book, relation=Relation.ON, reference_m=apple)
    assert result.code is PrimitiveCode.NOTHING_THERE


def test_place_on_the_floor(backend: EmbeddedBackend, do: Do) -> None:
    fetch(backend, do, "cup_0")
    assert do("place", (2.2, 2.0, 0.0)).succeeded
    assert parent(backend, "cup_0") == ("floor_kitchen_0", Relation.ON)
    state = backend.world_state()
    assert state is not None
    assert state.entities["cup_0"].box.minimum_m[2] == 0.0


def test_a_drawer_takes_what_is_in_it_along_and_hides_it(
    backend: EmbeddedBackend, do: Do, small_house: House
) -> None:
    chest = small_house.furniture_by_name["chest_of_drawers_0"]
    interior = next(i for i in chest.interiors if i.moves)
    joint = chest.joint(interior.joint or "")
    handle = chest.pose.apply(joint.handle)
    inside = chest.pose.apply(interior.center)
    fetch(backend, do, "apple_0")
    assert do("navigate", handle).succeeded
    assert do("place", inside, relation=Relation.WITHIN).code is PrimitiveCode.CLOSED
    # The robot's only hand is full.
    assert do("open", handle).code is PrimitiveCode.HAND_FULL
    top = chest.pose.apply((0.0, 0.0, chest.size_m[2]))
    assert do("place", top, relation=Relation.ON).succeeded
    assert do("open", handle).succeeded
    assert do("pick", middle(backend, "apple_0")).succeeded
    drawn = [p + joint.travel * a for p, a in zip(interior.center, joint.axis, strict=True)]
    out = chest.pose.apply((drawn[0], drawn[1], drawn[2]))
    result = do("place", out, relation=Relation.WITHIN)
    assert result.succeeded, result
    opened = middle(backend, "apple_0")
    assert do("close", handle).succeeded
    closed = middle(backend, "apple_0")
    assert math.dist(opened, closed) == pytest.approx(abs(joint.travel), abs=1e-6)
    assert do("pick", closed).code is PrimitiveCode.CLOSED
    assert parent(backend, "apple_0") == ("chest_of_drawers_0", Relation.WITHIN)


def test_what_the_hand_holds_is_filled_although_something_else_lies_there(
    backend: EmbeddedBackend, do: Do, small_house: House
) -> None:
    # The hand would reach into the cabinet and is drawn in; what lies there is nearer to where it
    # would be. A bottle was filled twice so, and the one in the hand never.
    fetch(backend, do, "cup_0", "agent_1")
    sink = small_house.furniture_by_name["sink_0"]
    assert sink.faucet is not None
    assert do("navigate", sink.pose.apply(sink.faucet), "agent_1").succeeded
    world = backend._loaded()
    agent = world.agents["agent_1"]
    hand_m = agent.body.hand_at_m(Hand.RIGHT)
    x, y, z = agent.to_map(hand_m)
    assert math.dist(world.things["cup_0"].center_m, (x, y, z)) > 0.15
    apple = world.things["apple_0"]
    apple.x_m, apple.y_m, apple.z_m = x, y, z
    result = do("fill", hand_m, "agent_1", frame="agent_1/base_link")
    assert (result.code, result.evidence.get("entity")) == (PrimitiveCode.SUCCESS, "cup_0")
    assert world.things["cup_0"].states["filled"] is True


def test_open_twice_changes_nothing(backend: EmbeddedBackend, do: Do, small_house: House) -> None:
    handle = handle_of(small_house, "cabinet_0")
    assert do("navigate", handle).succeeded
    assert do("open", handle).succeeded
    assert do("open", handle).text == "already open"
    state = backend.world_state()
    assert state is not None
    assert state.entities["cabinet_0"].openness == 1.0


def test_the_person_fills_pours_and_cleans(
    backend: EmbeddedBackend, do: Do, small_house: House
) -> None:
    fetch(backend, do, "cup_0", "agent_1")
    cup = middle(backend, "cup_0")
    sink = small_house.furniture_by_name["sink_0"]
    assert sink.faucet is not None
    assert do("navigate", (3.2, 1.8, 0.0), "agent_1").succeeded
    assert do("fill", middle(backend, "cup_0"), "agent_1").code is PrimitiveCode.NO_FAUCET
    assert do("navigate", sink.pose.apply(sink.faucet), "agent_1").succeeded
    cup = middle(backend, "cup_0")
    assert do("fill", cup, "agent_1").succeeded
    assert do("clean", cup, "agent_1").succeeded
    state = backend.world_state()
    assert state is not None
    assert state.entities["cup_0"].states == {
        "clean": True,
        "filled": True,
        "filled_with_water": True,
    }
    assert do("fill", middle(backend, "apple_0"), "agent_1").code in (
        PrimitiveCode.NO_AFFORDANCE,
        PrimitiveCode.TOO_FAR,
    )


def test_refusals_change_nothing(backend: EmbeddedBackend, do: Do) -> None:
    before = backend.world_state()
    nothing = (1.0, 1.8, 1.5)
    assert do("pick", middle(backend, "book_0")).code is PrimitiveCode.TOO_FAR
    assert do("pick", nothing).code is PrimitiveCode.NOTHING_THERE
    assert do("place", (1.6, 2.2, 0.0)).code is PrimitiveCode.HAND_EMPTY
    assert do("open", middle(backend, "table_0")).code is PrimitiveCode.NOT_ARTICULATED
    assert do("clean", middle(backend, "cup_0")).code is PrimitiveCode.NOT_ABLE
    assert do("navigate", (math.nan, 0.0, 0.0)).code is PrimitiveCode.BAD_TARGET
    assert do("navigate", (1.0, 1.0, 0.0), frame="odom").code is PrimitiveCode.BAD_FRAME
    assert do("navigate", (50.0, 50.0, 0.0)).code is PrimitiveCode.UNREACHABLE
    assert do("navigate", (1.0, 1.0, 0.0), "agent_7").code is PrimitiveCode.UNKNOWN_AGENT
    after = backend.world_state()
    assert before is not None
    assert after is not None
    assert after.entities == before.entities


def test_a_full_hand_picks_nothing(backend: EmbeddedBackend, do: Do) -> None:
    fetch(backend, do, "cup_0")
    assert do("pick", middle(backend, "apple_0")).code is PrimitiveCode.HAND_FULL


def test_nobody_takes_out_of_anothers_hand(backend: EmbeddedBackend, do: Do) -> None:
    fetch(backend, do, "cup_0")
    do("navigate", (3.0, 2.0, 0.0))
    do("navigate", middle(backend, "cup_0"), "agent_1")
    result = do("pick", middle(backend, "cup_0"), "agent_1")
    assert result.code is PrimitiveCode.HELD_BY_OTHER


def test_a_second_primitive_is_busy_and_leaves_the_first_alone(backend: EmbeddedBackend) -> None:
    first = backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, (7.0, 2.0, 0.0)))
    second = backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, (1.0, 2.0, 0.0)))
    result = backend.poll(second).result
    assert result is not None
    assert result.code is PrimitiveCode.BUSY
    assert not backend.poll(first).done


@pytest.mark.parametrize("way", ["cancel", "stop"])
def test_cancel_and_stop_end_the_motion(backend: EmbeddedBackend, way: str) -> None:
    handle = backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, (7.0, 2.0, 0.0)))
    for _ in range(60):
        backend.step(DT_S)
    if way == "cancel":
        backend.cancel(handle)
    else:
        backend.stop("agent_0")
    result = backend.poll(handle).result
    assert result is not None
    expected = PrimitiveCode.CANCELED if way == "cancel" else PrimitiveCode.STOPPED
    assert result.code is expected
    before = middle(backend, "agent_0")
    for _ in range(30):
        backend.step(DT_S)
    assert middle(backend, "agent_0") == before
    assert backend.observe("agent_0", ()).linear_m_s == 0.0


def test_a_primitive_times_out(do: Do) -> None:
    result = do("navigate", (7.0, 2.0, 0.0), timeout_s=1.0)
    assert result.code is PrimitiveCode.TIMED_OUT


def test_targets_in_the_body_frame(backend: EmbeddedBackend, do: Do) -> None:
    assert do("navigate", (1.0, 0.0, 0.0), frame="agent_0/base_link").succeeded
    x, y, _ = middle(backend, "agent_0")
    assert (x, y) == pytest.approx((2.5, 2.0), abs=0.1)


def test_look_visits_its_views(backend: EmbeddedBackend, do: Do) -> None:
    result = do("look", (math.nan,) * 3, views_rad=((1.0, 0.3), (-1.0, 0.2)))
    assert result.evidence["views"] == "2"
    joints = backend.observe("agent_0", ()).joints
    assert (joints["hand_pan"], joints["hand_tilt"]) == pytest.approx((-1.0, 0.2), abs=1e-5)


def test_grasps_fail_as_often_as_asked(small_house: House, small_episode: Episode) -> None:
    options = EmbeddedOptions(renderer="none", noise=Noise(failed_grasps=1.0))
    backend = EmbeddedBackend(options)
    backend.reset(small_house, small_episode, 0)
    do = runner(backend)
    do("navigate", middle(backend, "cup_0"))
    assert do("pick", middle(backend, "cup_0")).code is PrimitiveCode.GRASP_FAILED
    assert parent(backend, "cup_0") == ("table_0", Relation.ON)


def test_two_that_meet_in_the_doorway_both_arrive(backend: EmbeddedBackend) -> None:
    robot = backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, (7.0, 2.2, 0.0)))
    person = backend.start("agent_1", Primitive(PrimitiveName.NAVIGATE, (1.0, 1.9, 0.0)))
    for _ in range(3000):
        backend.step(DT_S)
        state = backend.world_state()
        assert state is not None
        a, b = (state.entities[n].pose.position_m for n in ("agent_0", "agent_1"))
        assert math.dist(a, b) >= 2 * 0.28
        if backend.poll(robot).done and backend.poll(person).done:
            break
    for handle in (robot, person):
        result = backend.poll(handle).result
        assert result is not None
        assert result.succeeded, result


def test_of_two_that_meet_where_both_could_go_around_only_one_does(
    small_house: House, small_episode: Episode
) -> None:
    # Two corridors past one block, each too narrow for two.
    block = small_house.furniture_by_name["chest_of_drawers_0"].model_copy(
        update={"room": "kitchen_0", "x_m": 2.0, "y_m": 2.0, "size_m": (2.2, 2.2, 0.8)}
    )
    room = small_house.rooms[0]
    house = small_house.model_copy(
        update={"rooms": (room,), "doors": (), "furniture": (block,), "objects": ()}
    )
    agents = [
        a.model_copy(update={"start": start})
        for a, start in zip(
            small_episode.agents, ((0.4, 1.5, 0.0), (3.6, 1.5, math.pi)), strict=True
        )
    ]
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(house, small_episode.model_copy(update={"agents": agents, "objects": ()}), 0)
    walks = [
        backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, (3.6, 1.5, 0.0))),
        backend.start("agent_1", Primitive(PrimitiveName.NAVIGATE, (0.4, 1.5, 0.0))),
    ]
    while not all(backend.poll(walk).done for walk in walks):
        backend.step(DT_S)
    results = [backend.poll(walk).result for walk in walks]
    assert all(result is not None and result.succeeded for result in results), results
    assert backend.now_s() < 30


def test_an_idle_agent_makes_way(backend: EmbeddedBackend, do: Do) -> None:
    assert do("navigate", (4.0, 2.0, 0.0), "agent_1").succeeded
    assert do("navigate", (7.0, 2.2, 0.0)).succeeded


def test_what_a_hand_holds_hides_nothing(backend: EmbeddedBackend, do: Do) -> None:
    fetch(backend, do, "cup_0")
    world, scene = backend._loaded(), backend._synced_scene()
    x, y, z = world.things["cup_0"].center_m
    cup = world.things["cup_0"].instance_id
    instance, distance = scene.first_hit((x, y, z + 0.3), (x, y, 0.0))
    assert instance != cup
    assert distance > 0.35
