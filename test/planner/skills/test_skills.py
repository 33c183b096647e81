"""Each skill's success and what it leaves behind (PARTNR-6.1, EPM-3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
from skill_world import DT_S, World

from planner.app.in_process_world import BackendPort
from planner.evaluation.predicates import is_next_to
from planner.evaluation.scene import Scene
from planner.parts.calls import parse_call
from planner.skills.attempt import SkillOptions
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.primitive import Primitive
from planner.world.skill import SUCCESS_TEXT, SkillCode, SkillName

MakeWorld = Callable[..., World]


def gap(world: World, agent: str, name: str) -> float:
    here = world.state.entities[agent].pose.position_m
    return world.state.entities[name].box.distance_m((here[0], here[1], 0.5))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("Navigate[table_1]", "table_1"),
        ("Navigate[chest_of_drawers_0]", "chest_of_drawers_0"),
        ("Navigate[cup_0]", "table_0"),
        ("Navigate[Object.5]", "table_1"),
    ],
)
def test_navigate_ends_next_to_its_target(world: World, call: str, name: str) -> None:
    world.changes["table_1"] = {"entity_id": 5}
    for other in ("chest_of_drawers_0", "cabinet_0", "sink_0", "couch_0", "table_0"):
        world.changes[other] = {"entity_id": None}
    result = world.run(call)
    assert (result.code, result.text) == (SkillCode.SUCCESS, SUCCESS_TEXT)
    assert gap(world, "agent_0", name) < 1.0
    assert int(result.evidence["primitives"]) == 1


def test_et_check_16_looking_round_is_twelve_turns_of_30_degrees(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ETPLAN-C16: it ends with the heading that it began with, in the same place."""
    begun, asked = world.state.entities["agent_0"].pose, list[Primitive]()
    start = BackendPort.start

    def noted(port: BackendPort, primitive: Primitive) -> int:
        asked.append(primitive)
        return start(port, primitive)

    monkeypatch.setattr(BackendPort, "start", noted)
    assert world.run("LookRound[]").succeeded
    (look,) = asked
    headings = [0.0, *(pan_rad for pan_rad, _ in look.views_rad)]
    turns = [math.remainder(b - a, math.tau) for a, b in pairwise(headings)]
    assert turns == pytest.approx([math.radians(30)] * 12)
    assert headings[-1] == 0.0
    ended = world.state.entities["agent_0"].pose
    assert ended.position_m == begun.position_m
    assert math.remainder(ended.yaw_rad - begun.yaw_rad, math.tau) == pytest.approx(0.0, abs=1e-9)


def test_navigate_faces_furniture_from_its_front(world: World) -> None:
    assert world.run("Navigate[chest_of_drawers_0]").succeeded
    pose = world.state.entities["agent_0"].pose
    piece = world.house.furniture_by_name["chest_of_drawers_0"]
    local = piece.pose.inverse().apply(pose.position_m)
    assert local[0] > piece.size_m[0] / 2
    assert math.cos(pose.yaw_rad - piece.yaw_rad) < -0.9


@pytest.mark.parametrize("call", ["Navigate[living_room_0]", "Navigate[floor_living_room_0]"])
def test_navigate_goes_into_rooms(world: World, call: str) -> None:
    assert world.run(call).succeeded
    assert world.state.entities["agent_0"].room == "living_room_0"


def test_navigate_stands_beside_what_lies_on_the_floor(world: World) -> None:
    assert world.run("Rearrange[cup_0, on, floor_living_room_0, None, None]").succeeded
    world.run("Navigate[kitchen_0]")
    assert world.run("Navigate[cup_0]").succeeded
    cup, robot = world.state.entities["cup_0"], world.state.entities["agent_0"]
    apart = math.dist(cup.pose.position_m[:2], robot.pose.position_m[:2])
    assert 0.4 < apart < 1.0
    assert world.run("Pick[cup_0]").succeeded


def test_explore_visits_the_rooms_furniture_and_opens_nothing(world: World) -> None:
    result = world.run("Explore[living_room_0]")
    assert result.succeeded
    visited = result.evidence["visited"].split()
    assert sorted(visited) == ["chest_of_drawers_0", "couch_0", "table_1"]
    assert world.state.entities["chest_of_drawers_0"].openness == 0


def test_explore_opens_furniture_where_it_is_told_to(make_world: MakeWorld) -> None:
    world = make_world(SkillOptions(open_on_explore=True))
    assert world.run("Explore[kitchen_0]").succeeded
    assert world.state.entities["cabinet_0"].openness == 1


def test_explore_furniture_goes_there_looks_and_does_not_open(world: World) -> None:
    result = world.run("ExploreFurniture[cabinet_0]")
    assert result.succeeded
    assert gap(world, "agent_0", "cabinet_0") < 1.0
    assert world.state.entities["cabinet_0"].openness == 0


def test_open_and_close_move_every_joint(world: World) -> None:
    world.run("Navigate[chest_of_drawers_0]")
    assert world.run("Open[chest_of_drawers_0]").succeeded
    joints = world.backend._world.pieces["chest_of_drawers_0"].opening
    assert set(joints.values()) == {1.0}
    assert world.run("Close[chest_of_drawers_0]").succeeded
    assert set(joints.values()) == {0.0}


def test_open_on_open_furniture_is_a_success_without_effect(world: World) -> None:
    """PARTNR-D47."""
    world.run("Navigate[cabinet_0]")
    assert world.run("Open[cabinet_0]").succeeded
    revision = world.state.entities["cabinet_0"]
    assert world.run("Open[cabinet_0]").succeeded
    assert world.state.entities["cabinet_0"] == revision


def test_pick_and_place(world: World) -> None:
    world.run("Navigate[cup_0]")
    picked = world.run("Pick[cup_0]")
    assert picked.succeeded
    assert world.holding() == picked.holding == "cup_0"
    world.run("Navigate[table_1]")
    placed = world.run("Place[cup_0, on, table_1, None, None]")
    assert placed.succeeded
    assert world.parent("cup_0") == ("table_1", "on")
    told = placed.position_m
    assert told == pytest.approx(world.state.entities["cup_0"].box.center_m, abs=1e-3)
    assert placed.evidence["part"] == "top"


def test_place_next_to_its_reference(world: World) -> None:
    """PARTNR-C26."""
    world.run("Rearrange[apple_0, on, table_1, None, None]")
    world.run("Rearrange[cup_0, on, table_1, next_to, book_0]")
    cup, book = world.state.entities["cup_0"].box, world.state.entities["book_0"].box
    assert world.parent("cup_0") == ("table_1", "on")
    assert cup.horizontal_gap_m(book) <= 0.5


def test_place_next_to_furniture(small_house: House, small_episode: Episode) -> None:
    """On a neighbour where PARTNR's predicate can hold, and on the floor of the room."""
    pieces = small_house.furniture_by_name
    near = pieces["cabinet_0"].model_copy(update={"x_m": 2.0})
    house = small_house.model_copy(
        update={"furniture": tuple({**pieces, "cabinet_0": near}.values())}
    )
    world = World(house, small_episode)
    for target in ("cabinet_0", "floor_kitchen_0"):
        for call in ("Navigate[cup_0]", "Pick[cup_0]", "Navigate[sink_0]"):
            assert world.run(call).succeeded
        assert world.run(f"Place[cup_0, on, {target}, next_to, sink_0]").succeeded
        assert world.parent("cup_0") == (target, "on")
        assert is_next_to(Scene(house, world.state.entities), "cup_0", "sink_0")


def test_place_within_opened_furniture(world: World) -> None:
    world.run("Navigate[cabinet_0]")
    world.run("Open[cabinet_0]")
    world.run("Navigate[cup_0]")
    world.run("Pick[cup_0]")
    world.run("Navigate[cabinet_0]")
    assert world.run("Place[cup_0, within, cabinet_0, None, None]").succeeded
    assert world.parent("cup_0") == ("cabinet_0", "within")


def test_rearrange_opens_what_it_has_to(world: World) -> None:
    assert world.run("Rearrange[cup_0, within, chest_of_drawers_0, None, None]").succeeded
    assert world.parent("cup_0") == ("chest_of_drawers_0", "within")
    world.run("Close[chest_of_drawers_0]")
    assert world.run("Rearrange[cup_0, on, couch_0, None, None]").succeeded
    assert world.parent("cup_0") == ("couch_0", "on")


def test_check_27_rearrange_picks_first_what_place_cannot_put_down(world: World) -> None:
    """PARTNR-C27: neither is held."""
    world.run("Navigate[table_1]")
    refused = world.run("Place[cup_0, on, table_1, None, None]")
    assert refused.code is SkillCode.NOT_HOLDING
    assert world.parent("cup_0") == ("table_0", "on")
    assert world.run("Rearrange[cup_0, on, table_1, None, None]").succeeded
    assert world.parent("cup_0") == ("table_1", "on")


def test_rearrange_reports_its_parts(world: World) -> None:
    world.run("Rearrange[cup_0, within, cabinet_0, None, None]")
    told = [(str(call), result.part_of) for call, result in world.reports]
    whole = "Rearrange[cup_0, within, cabinet_0, None, None]"
    assert told == [("Open[cabinet_0]", whole), ("Pick[cup_0]", whole), (whole, "")]


def test_rearrange_of_what_is_in_the_hand_only_places_it(world: World) -> None:
    world.run("Navigate[cup_0]")
    world.run("Pick[cup_0]")
    assert world.run("Rearrange[cup_0, on, table_1, None, None]").succeeded
    assert world.parent("cup_0") == ("table_1", "on")


def test_a_thing_in_a_lower_drawer_is_reached_by_closing_the_upper_one(
    make_world: MakeWorld, small_episode: Episode
) -> None:
    house_piece = make_world().house.furniture_by_name["chest_of_drawers_0"]
    low = next(i for i in house_piece.interiors if i.name == "lower_drawer")
    x, y, z = house_piece.pose.apply((low.center[0], low.center[1], low.center[2]))
    cup = next(item for item in small_episode.objects if item.name == "cup_0")
    moved = cup.model_copy(
        update={
            "pose": (x, y, z - low.size[2] / 2, 0.0),
            "parent": "chest_of_drawers_0",
            "relation": "within",
            "part": "lower_drawer",
        }
    )
    others = tuple(item for item in small_episode.objects if item.name != "cup_0")
    episode = small_episode.model_copy(update={"objects": (*others, moved)})
    world = make_world(episode=episode)
    world.run("Navigate[chest_of_drawers_0]")
    assert world.run("Open[chest_of_drawers_0]").succeeded
    assert world.run("Pick[cup_0]").succeeded
    assert world.holding() == "cup_0"


def test_people_change_states(world: World) -> None:
    assert world.run("Navigate[cup_0]", "agent_1").succeeded
    assert world.run("Pick[cup_0]", "agent_1").succeeded
    assert world.run("Navigate[sink_0]", "agent_1").succeeded
    assert world.run("Fill[cup_0]", "agent_1").succeeded
    assert world.run("Clean[sink_0]", "agent_1").succeeded
    assert world.state.entities["cup_0"].states["filled"]


def test_wait_takes_its_time_and_done_none(world: World) -> None:
    began = world.backend.now_s()
    assert world.run("Wait[]").succeeded
    assert world.backend.now_s() - began == pytest.approx(5.0, abs=2 * DT_S)
    began = world.backend.now_s()
    assert world.run("Done[]").succeeded
    assert world.backend.now_s() == began


def test_furniture_grounds_by_the_surface_and_not_by_its_middle(world: World) -> None:
    """EPM-C30, for furniture: 0.99 m from the surface runs, 1.01 m does not."""
    box = world.house.furniture_by_name["cabinet_0"].box
    x, y = box.center_m[:2]
    for away, code in ((0.99, SkillCode.SUCCESS), (1.01, SkillCode.NOT_GROUNDED)):
        world.changes["cabinet_0"] = {"position_m": (x, y, box.maximum_m[2] + away)}
        result = world.run("Navigate[cabinet_0]")
        assert result.code is code
    numbers = f"{x!r}, {y!r}, {box.maximum_m[2] + 1.01!r}"
    expected = f"Unexpected failure! - No object found near the target position {numbers}"
    assert result.text == expected
    assert result.evidence["primitives"] == "0"


@pytest.mark.parametrize(("away", "code"), [(0.99, "SUCCESS"), (1.01, "NOT_GROUNDED")])
def test_things_ground_within_a_metre_of_their_surface(
    world: World, away: float, code: str
) -> None:
    """EPM-C30, for things."""
    world.run("Navigate[cup_0]")
    box = world.state.entities["cup_0"].box
    for other in ("apple_0",):
        world.backend._world.things[other].z_m += 50
    x, y, _ = box.center_m
    world.changes["cup_0"] = {"position_m": (x, y, box.maximum_m[2] + away)}
    assert world.run("Pick[cup_0]").code is SkillCode[code]


def test_a_wrong_thing_near_the_remembered_place_is_picked_with_success(world: World) -> None:
    """The paper's trap (PARTNR-6.2): only the graph shows it."""
    apple = world.state.entities["apple_0"].box.center_m
    world.run("Navigate[table_0]")
    world.changes["cup_0"] = {"position_m": apple}
    assert world.run("Pick[cup_0]").text == SUCCESS_TEXT
    assert world.holding() == "apple_0"


def test_a_free_word_of_a_learned_memory_grounds_as_furniture(world: World) -> None:
    node = world.belief().nodes["book_0"]
    middle = world.house.furniture_by_name["couch_0"].box.center_m
    world.changes["book_0"] = {"class_name": "brown sofa thing", "position_m": middle}
    assert node.name == "book_0"
    result = world.run("ExploreFurniture[book_0]")
    assert result.succeeded
    assert gap(world, "agent_0", "couch_0") < 1.0


def test_points_of_the_caller_stand_for_the_memory(world: World) -> None:
    where = world.state.entities["cup_0"].box.center_m
    world.changes["cup_0"] = None
    world.run("Navigate[table_0]")
    executor = world.executors["agent_0"]
    result = executor.start("Pick[mystery_7]", points=(where,))
    while result is None:
        world.backend.step(DT_S)
        result = executor.step()
    assert result.succeeded
    assert world.holding() == "cup_0"


def test_every_motor_skill_parses_from_its_own_text() -> None:
    for name in SkillName:
        if name == SkillName.PLACE:
            call = parse_call("Place[a_0,on, b_0 ,None, none]")
            assert str(call) == "Place[a_0, on, b_0, None, None]"
