"""Place, Pick and Rearrange with things as what others are put into or onto."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from skill_world import World

from planner.world.episode import Episode
from planner.world.geometry import Vec3
from planner.world.house import House, ObjectPlacement
from planner.world.skill import SkillCode

MakeWorld = Callable[..., World]


def laid(name: str, pose: tuple[float, float, float, float], size: Vec3, **where: str):
    return ObjectPlacement(
        name=f"{name}_0", class_name=name, size_m=size, pose=pose, **{"relation": "on", **where}
    )


@pytest.fixture
def world(make_world: MakeWorld, small_house: House, small_episode: Episode) -> World:
    cabinet = small_house.furniture_by_name["cabinet_0"]
    hollow = next(h for h in cabinet.interiors if h.joint)
    x, y, z = cabinet.pose.apply(hollow.center)
    low = z - hollow.size[2] / 2
    objects = (
        laid(
            "mixing_bowl", (2.6, 3.3, 0.42, 0.4), (0.25, 0.25, 0.101), parent="table_0", part="top"
        ),
        laid(
            "pot",
            (x, y, low, cabinet.yaw_rad),
            (0.21, 0.28, 0.162),
            parent="cabinet_0",
            relation="within",
            part=hollow.name,
        ),
        laid(
            "egg",
            (x, y, low + 0.01, 0.0),
            (0.058, 0.044, 0.044),
            parent="pot_0",
            relation="within",
            part="hollow",
        ),
    )
    episode = small_episode.model_copy(update={"objects": (*small_episode.objects, *objects)})
    return make_world(episode=episode)


def test_rearrange_puts_a_thing_into_a_bowl_and_the_bowl_elsewhere(world: World) -> None:
    result = world.run("Rearrange[apple_0, within, mixing_bowl_0, None, None]")
    assert result.succeeded, result
    assert world.parent("apple_0") == ("mixing_bowl_0", "within")
    assert world.run("Rearrange[mixing_bowl_0, on, table_1, None, None]").succeeded
    assert world.parent("apple_0") == ("mixing_bowl_0", "within")
    assert world.state.entities["apple_0"].room == "living_room_0"


def test_something_is_taken_out_of_a_pot_in_a_closed_cabinet(world: World) -> None:
    assert world.run("Navigate[egg_0]").succeeded
    result = world.run("Pick[egg_0]")
    assert result.code in (SkillCode.FURNITURE_CLOSED, SkillCode.NOT_VISIBLE)
    result = world.run("Rearrange[egg_0, within, mixing_bowl_0, None, None]")
    assert result.succeeded, result
    assert world.parent("egg_0") == ("mixing_bowl_0", "within")


def test_a_pot_takes_nothing_behind_a_closed_door_or_where_it_is_full(world: World) -> None:
    assert world.run("Navigate[apple_0]").succeeded
    assert world.run("Pick[apple_0]").succeeded
    assert world.run("Navigate[pot_0]").succeeded
    result = world.run("Place[apple_0, within, pot_0, None, None]")
    assert result.code is SkillCode.FURNITURE_CLOSED, result
    assert world.run("Place[apple_0, on, cabinet_0, None, None]").succeeded
    assert world.run("Open[cabinet_0]").succeeded
    assert world.run("Pick[apple_0]").succeeded
    assert world.run("Navigate[pot_0]").succeeded
    # The egg lies in the middle.
    assert world.run("Place[apple_0, within, pot_0, None, None]").code is SkillCode.NO_PLACEMENT


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        ("Place[cup_0, within, apple_0, None, None]", SkillCode.WRONG_ROLE, "is an object"),
        ("Place[cup_0, on, mixing_bowl_0, None, None]", SkillCode.NO_PLACEMENT, "has no top"),
        ("Place[cup_0, on, cup_0, None, None]", SkillCode.WRONG_ROLE, "is an object"),
    ],
)
def test_what_has_no_room_for_things_is_refused(
    world: World, call: str, code: SkillCode, words: str
) -> None:
    assert world.run("Navigate[cup_0]").succeeded
    assert world.run("Pick[cup_0]").succeeded
    result = world.run(call)
    assert (result.code, words in result.text) == (code, True), result.text
    assert world.holding() == "cup_0"


def test_a_bowl_is_not_put_into_itself_nor_into_what_is_in_it(world: World) -> None:
    assert world.run("Navigate[mixing_bowl_0]").succeeded
    assert world.run("Pick[mixing_bowl_0]").succeeded
    result = world.run("Place[mixing_bowl_0, within, mixing_bowl_0, None, None]")
    assert result.code is SkillCode.NO_PLACEMENT
    assert "own hand" in result.text


def test_next_to_what_is_in_a_bowl_is_in_the_bowl(world: World) -> None:
    assert world.run("Rearrange[egg_0, within, mixing_bowl_0, None, None]").succeeded
    assert world.run("Navigate[apple_0]").succeeded
    assert world.run("Pick[apple_0]").succeeded
    assert world.run("Navigate[egg_0]").succeeded
    result = world.run("Place[apple_0, within, mixing_bowl_0, next_to, egg_0]")
    assert result.succeeded, result
    assert world.parent("apple_0") == ("mixing_bowl_0", "within")
