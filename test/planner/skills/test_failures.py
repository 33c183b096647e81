"""Each way in which a call is refused or fails: code, literal text, nothing changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from skill_world import DT_S, World

from planner.skills.attempt import SkillOptions
from planner.world.episode import Episode
from planner.world.skill import FAILURE_PREFIX, SkillCall, SkillCode, SkillName

MakeWorld = Callable[..., World]


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        ("fly away", SkillCode.UNPARSABLE, "not of the form"),
        ("Pick[cup_0", SkillCode.UNPARSABLE, "not of the form"),
        ("Pick[" + "x" * 100_000 + "]", SkillCode.UNPARSABLE, "characters"),
        ("Fly[cup_0]", SkillCode.UNKNOWN_SKILL, "there is no skill 'Fly'"),
        ("Pick[cup_0, table_0]", SkillCode.WRONG_ARGUMENTS, "takes 1 arguments"),
        ("Wait[now]", SkillCode.WRONG_ARGUMENTS, "takes 0 arguments"),
        ("Pick[None]", SkillCode.WRONG_ARGUMENTS, "Expected object, got None."),
        ("Pick[unknown_name]", SkillCode.UNKNOWN_ENTITY, "unknown_name is not known."),
        ("Pick[чашка]", SkillCode.UNKNOWN_ENTITY, "чашка is not known."),
        ("Pick[$(reboot)]", SkillCode.UNKNOWN_ENTITY, "$(reboot) is not known."),
        ("Navigate[agent_1]", SkillCode.WRONG_ROLE, "agent_1 is an agent"),
        ("Pick[table_0]", SkillCode.WRONG_ROLE, "table_0 is a furniture"),
        ("Open[cup_0]", SkillCode.WRONG_ROLE, "cup_0 is an object"),
        ("Explore[table_0]", SkillCode.WRONG_ROLE, "where a room is needed"),
        ("Place[cup_0, under, table_0, None, None]", SkillCode.WRONG_ARGUMENTS, "not under"),
        ("Place[cup_0, on, table_0, next_to, None]", SkillCode.WRONG_ARGUMENTS, "come together"),
        ("Place[cup_0, on, table_0, near, book_0]", SkillCode.WRONG_ARGUMENTS, "not near"),
        ("Place[cup_0, on, table_0, None, None]", SkillCode.NOT_HOLDING, "not holding cup_0."),
        ("Open[table_0]", SkillCode.NOT_ARTICULATED, "table_0 is not articulated"),
        ("Close[floor_kitchen_0]", SkillCode.NOT_ARTICULATED, "is not articulated"),
        ("Pick[book_0]", SkillCode.TOO_FAR, "book_0 is too far."),
        ("Open[chest_of_drawers_0]", SkillCode.TOO_FAR, "chest_of_drawers_0 is too far."),
    ],
)
def test_a_robots_call_is_refused_in_no_time(
    world: World, call: str, code: SkillCode, words: str
) -> None:
    """PARTNR-C24, PARTNR-C27, PARTNR-C28 and PARTNR-D44, PARTNR-D47, PARTNR-D48; EPM-C28."""
    before = world.state
    result = world.run(call)
    assert result.code is code
    assert result.text.startswith(FAILURE_PREFIX)
    assert words in result.text
    assert world.state.entities == before.entities
    assert world.backend.now_s() == 0


@pytest.mark.parametrize("skill", ["Clean", "Fill", "Pour", "PowerOn", "PowerOff"])
def test_a_robot_does_not_do_what_only_people_can(world: World, skill: str) -> None:
    """PARTNR-C24."""
    before = world.state.entities
    result = world.run(f"{skill}[cup_0]")
    assert result.code is SkillCode.NOT_ABLE
    assert result.text == f"Unexpected failure! - A robot cannot do {skill}."
    assert world.state.entities == before


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        ("Clean[book_0]", SkillCode.NO_AFFORDANCE, "book_0 is not cleanable."),
        ("PowerOn[cup_0]", SkillCode.NO_AFFORDANCE, "cup_0 is not powerable."),
        ("PowerOff[floor_kitchen_0]", SkillCode.NO_AFFORDANCE, "is not powerable."),
        ("Pour[cup_0]", SkillCode.NOT_HOLDING, "not holding an object to pour from."),
        ("Clean[table_0]", SkillCode.TOO_FAR, "table_0 is too far."),
    ],
)
def test_a_persons_call_fails(world: World, call: str, code: SkillCode, words: str) -> None:
    result = world.run(call, "agent_1")
    assert result.code is code
    assert words in result.text


def test_fill_needs_a_faucet_and_pour_something_to_pour(world: World) -> None:
    """PARTNR-D46."""
    world.run("Navigate[cup_0]", "agent_1")
    world.run("Pick[cup_0]", "agent_1")
    assert world.run("Fill[cup_0]", "agent_1").code is SkillCode.NO_FAUCET
    result = world.run("Pour[cup_0]", "agent_1")
    assert result.code is SkillCode.WRONG_ARGUMENTS


def test_a_second_pick_is_refused_and_changes_nothing(world: World) -> None:
    """PARTNR-C25, PARTNR-D49."""
    world.run("Navigate[table_0]")
    world.run("Pick[cup_0]")
    before = world.state.entities
    for call in ("Pick[apple_0]", "Rearrange[apple_0, on, table_0, None, None]"):
        result = world.run(call)
        assert result.code is SkillCode.ALREADY_HOLDING
        assert result.text == "Unexpected failure! - The agent is already holding cup_0."
    assert world.state.entities == before


def test_a_hand_that_is_full_unknown_to_anybody_is_noticed(world: World) -> None:
    world.run("Navigate[table_0]")
    world.run("Pick[cup_0]")
    world.team.forget()
    world.changes["agent_0"] = {"hands": (None,)}
    result = world.run("Pick[apple_0]")
    assert result.code is SkillCode.ALREADY_HOLDING
    assert result.text == "Unexpected failure! - The agent is already holding an object."


@pytest.mark.parametrize("furniture", ["table_0", "floor_kitchen_0"])
def test_a_reference_elsewhere_is_reported(world: World, furniture: str) -> None:
    """PARTNR-C26, EPM-C29."""
    world.run("Navigate[table_0]")
    world.run("Pick[cup_0]")
    result = world.run(f"Place[cup_0, on, {furniture}, next_to, book_0]")
    assert result.code is SkillCode.REFERENCE_ELSEWHERE
    literal = f"Unexpected failure! - No valid placements found for entity {furniture}."
    assert result.text == f"{literal} book_0 is not on {furniture}."
    assert world.holding() == "cup_0"


@pytest.mark.parametrize(
    ("relation", "furniture"),
    [("on", "cabinet_0"), ("within", "cabinet_0"), ("on", "floor_living_room_0")],
)
def test_furniture_without_a_place_next_to_the_reference_is_reported(
    world: World, relation: str, furniture: str
) -> None:
    """The cabinet is 0.93 m from the sink."""
    world.run("Navigate[table_0]")
    world.run("Pick[cup_0]")
    result = world.run(f"Place[cup_0, {relation}, {furniture}, next_to, sink_0]")
    assert result.code is SkillCode.REFERENCE_ELSEWHERE
    literal = f"Unexpected failure! - No valid placements found for entity {furniture}."
    assert result.text == f"{literal} It has no place next to sink_0."
    assert world.holding() == "cup_0"


def test_a_reference_believed_there_but_not_is_reported_by_the_world(world: World) -> None:
    world.run("Navigate[table_0]")
    world.run("Pick[cup_0]")
    apple = world.backend._world.things["apple_0"]
    world.changes["apple_0"] = {"position_m": apple.center_m, "parent": "table_0"}
    apple.x_m += 3.0
    result = world.run("Place[cup_0, on, table_0, next_to, apple_0]")
    assert result.code is SkillCode.REFERENCE_ELSEWHERE
    assert result.text.startswith(
        "Unexpected failure! - No valid placements found for entity table_0."
    )


def test_furniture_without_room_has_no_valid_placement(world: World) -> None:
    world.run("Navigate[cup_0]")
    world.run("Pick[cup_0]")
    result = world.run("Place[cup_0, within, table_0, None, None]")
    assert result.code is SkillCode.NO_PLACEMENT
    assert result.text == "Unexpected failure! - No valid placements found for entity table_0."


def test_a_full_surface_has_no_valid_placement(
    make_world: MakeWorld, small_episode: Episode
) -> None:
    table = make_world().house.furniture_by_name["table_0"]
    top = table.surfaces[0]
    x, y, z = table.pose.apply(top.center)
    book = next(item for item in small_episode.objects if item.name == "book_0")
    slab = book.model_copy(
        update={
            "name": "book_1",
            "pose": (x, y, z, table.yaw_rad),
            "parent": "table_0",
            "part": top.name,
            "size_m": (top.size[0], top.size[1], 0.02),
        }
    )
    episode = small_episode.model_copy(update={"objects": (book, slab)})
    world = make_world(episode=episode)
    world.run("Navigate[book_0]")
    assert world.run("Pick[book_0]").succeeded
    world.run("Navigate[table_0]")
    result = world.run("Place[book_0, on, table_0, None, None]")
    assert result.code is SkillCode.NO_PLACEMENT
    assert result.text == "Unexpected failure! - No valid placements found for entity table_0."


def test_closed_furniture_hides_and_refuses(world: World) -> None:
    """PARTNR-D45; ETPLAN-C36: nothing is put into a closed container."""
    world.run("Rearrange[cup_0, within, cabinet_0, None, None]")
    world.run("Close[cabinet_0]")
    result = world.run("Pick[cup_0]")
    assert result.code is SkillCode.FURNITURE_CLOSED
    assert result.text == "Unexpected failure! - cup_0 is inside cabinet_0, which is closed."
    world.run("Navigate[apple_0]")
    world.run("Pick[apple_0]")
    world.run("Navigate[cabinet_0]")
    result = world.run("Place[apple_0, within, cabinet_0, None, None]")
    assert result.code is SkillCode.FURNITURE_CLOSED
    assert result.text == "Unexpected failure! - cabinet_0 is closed."
    assert world.holding() == "apple_0"


def test_what_another_holds_stays_with_it(world: World) -> None:
    world.run("Navigate[cup_0]", "agent_1")
    world.run("Pick[cup_0]", "agent_1")
    for call in ("Pick[cup_0]", "Rearrange[cup_0, on, table_1, None, None]"):
        result = world.run(call)
        assert result.code is SkillCode.HELD_BY_OTHER
        assert result.text == "Unexpected failure! - cup_0 is held by the other agent."


def test_a_hallucinated_thing_fails_with_its_position(world: World) -> None:
    """EPM-C31."""
    position = (-10.924965127447484, 0.5990211561596542, -9.398278611277211)
    world.changes["cup_0"] = {"position_m": position, "parent": None, "relation": None}
    result = world.run("Pick[cup_0]")
    assert result.code is SkillCode.NOT_GROUNDED
    assert result.text == (
        "Unexpected failure! - No object found near the target position "
        "-10.924965127447484, 0.5990211561596542, -9.398278611277211"
    )


def test_the_third_failed_grasp_is_reported(make_world: MakeWorld) -> None:
    """EPM-C42."""
    world = make_world(failed_grasps=1.0)
    world.run("Navigate[cup_0]")
    result = world.run("Pick[cup_0]")
    assert result.code is SkillCode.GRASP_FAILED
    assert result.text == "Unexpected failure! - The grasp of cup_0 failed."
    assert result.evidence["primitives"] == "3"
    assert world.holding() is None


def test_the_third_failed_release_is_reported(make_world: MakeWorld) -> None:
    """EPM-C42."""
    world = make_world(failed_places=1.0)
    world.run("Navigate[cup_0]")
    world.run("Pick[cup_0]")
    result = world.run("Place[cup_0, on, table_0, None, None]")
    assert result.code is SkillCode.GRASP_FAILED
    assert result.evidence["primitives"] == "3"
    assert world.holding() == "cup_0"


def test_a_grasp_that_fails_now_and_then_is_tried_again(make_world: MakeWorld) -> None:
    world = make_world(SkillOptions(pick_retries=10), failed_grasps=0.6)
    world.run("Navigate[cup_0]")
    assert world.run("Pick[cup_0]").succeeded


def test_timeouts_have_their_own_texts(make_world: MakeWorld) -> None:
    """PARTNR-6.2."""
    limits = {SkillName.NAVIGATE: 1.0, SkillName.EXPLORE: 1.0}
    world = make_world(SkillOptions(timeouts_s=limits))
    result = world.run("Navigate[table_1]")
    assert result.code is SkillCode.TIMED_OUT
    assert result.text == "Unsuccessful execution - skill timed out on the way to target"
    result = world.run("Explore[living_room_0]")
    assert result.code is SkillCode.TIMED_OUT
    assert result.text == "Unexpected failure! - Skill took too long to finish."


def test_lenient_open_takes_a_table(make_world: MakeWorld) -> None:
    """PARTNR-D47."""
    world = make_world(SkillOptions(lenient_open=True))
    assert world.run("Open[table_0]").succeeded


def test_without_stepping_closer_a_long_reach_is_too_far(make_world: MakeWorld) -> None:
    world = make_world(SkillOptions(adjust_m=0.0))
    world.run("Navigate[sink_0]")
    world.run("Navigate[kitchen_0]")
    assert world.run("Pick[book_0]").code is SkillCode.TOO_FAR


def test_another_call_is_refused_and_the_same_one_continues(world: World) -> None:
    """PARTNR-D55."""
    executor = world.executors["agent_0"]
    assert executor.start("Navigate[table_1]") is None
    world.backend.step(DT_S)
    executor.step()
    busy = executor.start("Pick[cup_0]")
    assert busy is not None
    assert busy.code is SkillCode.BUSY
    assert busy.text == "Unexpected failure! - The agent is busy with Navigate[table_1]."
    assert executor.start("Navigate[ table_1 ]") is None
    assert executor.result is None
    while (result := executor.step()) is None:
        world.backend.step(DT_S)
    assert result.succeeded
    assert result.evidence["primitives"] == "1"


def test_a_canceled_call_stops_the_agent(world: World) -> None:
    executor = world.executors["agent_0"]
    for call in ("Navigate[table_1]", "Explore[living_room_0]", "Wait[]"):
        assert executor.start(call) is None
        for _ in range(10):
            world.backend.step(DT_S)
            executor.step()
        executor.cancel()
        assert executor.result is not None
        assert executor.result.code is SkillCode.CANCELED
        assert executor.result.text == "Unexpected failure! - The skill was canceled."
        before = world.state.entities["agent_0"].pose
        for _ in range(30):
            world.backend.step(DT_S)
        assert world.state.entities["agent_0"].pose == before


def test_an_operators_stop_ends_the_call(world: World) -> None:
    executor = world.executors["agent_0"]
    executor.start("Navigate[table_1]")
    world.backend.step(DT_S)
    world.backend.stop("agent_0")
    result = executor.step()
    assert result is not None
    assert result.code is SkillCode.NOT_ALLOWED


def test_calls_that_were_not_parsed_are_checked_as_well(world: World) -> None:
    executor = world.executors["agent_0"]
    result = executor.start(SkillCall(SkillName.PICK, ("cup_0", "cup_0")))
    assert result is not None
    assert result.code is SkillCode.WRONG_ARGUMENTS


@pytest.mark.parametrize("timeout", [-1.0, float("nan"), float("inf")])
def test_a_timeout_must_be_a_time(world: World, timeout: float) -> None:
    result = world.executors["agent_0"].start("Wait[]", timeout)
    assert result is not None
    assert result.code is SkillCode.WRONG_ARGUMENTS


def test_points_must_be_one_for_each_entity(world: World) -> None:
    result = world.executors["agent_0"].start("Pick[cup_0]", points=())
    assert result is not None
    assert result.code is SkillCode.WRONG_ARGUMENTS
