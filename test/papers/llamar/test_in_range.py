"""LLaMAR's actions: nothing is handled from further away than 1.5 m, and no agent steps closer."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from skill_world import DT_S, World

from planner.parts.calls import SKILLS
from planner.world.episode import Episode
from planner.world.skill import SkillCode

MakeWorld = Callable[..., World]
PUT = "PutObject[cup_0, within, cabinet_0, None, None]"


def at(episode: Episode, x: float, y: float, yaw: float) -> Episode:
    first = episode.agents[0].model_copy(update={"start": (x, y, yaw)})
    return episode.model_copy(update={"agents": (first, *episode.agents[1:])})


def gap_m(world: World, thing: str) -> float:
    base = world.backend.observe("agent_0", ()).base.position_m
    return math.dist(base[:2], world.state.entities[thing].box.center_m[:2])


def test_llamar_check_23_a_thing_is_picked_up_within_range_and_with_an_empty_hand(
    make_world: MakeWorld, small_house: object, small_episode: Episode
) -> None:
    """LLAMAR-C23: 1.6 m is too far, 1.4 m is not."""
    world = make_world()
    cup = world.state.entities["cup_0"].box.center_m
    for away_m, code in ((1.6, SkillCode.TOO_FAR), (1.4, SkillCode.SUCCESS)):
        start = (cup[0], cup[1] - away_m, math.pi / 2)
        world = make_world(episode=at(small_episode, *start))
        assert gap_m(world, "cup_0") == pytest.approx(away_m, abs=1e-6)
        result = world.run("PickupObject[cup_0]")
        assert result.code is code
        assert gap_m(world, "apple_0") == pytest.approx(
            math.dist(start[:2], world.state.entities["apple_0"].box.center_m[:2]), abs=1e-6
        )
    assert world.holding() == "cup_0"
    again = world.run("PickupObject[apple_0]")
    assert again.code is SkillCode.ALREADY_HOLDING
    assert world.holding() == "cup_0"


def test_what_pick_steps_to_is_too_far_for_pickup(
    make_world: MakeWorld, small_episode: Episode
) -> None:
    """LLAMAR-D21."""
    start = (3.7, 2.3, math.pi / 2)
    paper = make_world(episode=at(small_episode, *start))
    result = paper.run("PickupObject[apple_0]")
    assert result.code is SkillCode.TOO_FAR
    walking = make_world(episode=at(small_episode, *start))
    assert walking.run("Pick[apple_0]").succeeded


def test_llamar_check_24_nothing_is_put_into_what_is_closed(world: World) -> None:
    """LLAMAR-C24, with a cabinet."""
    assert world.run("NavigateTo[cup_0]").succeeded
    assert world.run("PickupObject[cup_0]").succeeded
    assert world.run(PUT).code is SkillCode.TOO_FAR
    assert world.run("NavigateTo[cabinet_0]").succeeded
    assert world.run(PUT).code is SkillCode.FURNITURE_CLOSED
    assert world.holding() == "cup_0"


def test_llamar_check_24_what_is_open_takes_it(
    make_world: MakeWorld, small_episode: Episode
) -> None:
    """LLAMAR-C24; a robot's only hand is free before it opens."""
    world = make_world()
    assert world.run("NavigateTo[cabinet_0]").succeeded
    assert world.run("OpenObject[cabinet_0]").succeeded
    assert world.run("NavigateTo[cup_0]").succeeded
    assert world.run("PickupObject[cup_0]").succeeded
    assert world.run("NavigateTo[cabinet_0]").succeeded
    assert world.run(PUT).succeeded
    assert world.holding() is None
    assert world.parent("cup_0") == ("cabinet_0", "within")


def test_navigating_to_what_is_unknown_moves_nobody(world: World) -> None:
    result = world.run("NavigateTo[apple_9]")
    assert result.code is SkillCode.UNKNOWN_ENTITY
    assert world.backend.now_s() == 0


def test_what_is_reached_but_out_of_range_is_a_failure(world: World) -> None:
    # The memory believes the book to be on top of a tall column outside of everything.
    world.changes["book_0"] = {"position_m": (-3.0, 2.0, 1.0), "parent": None, "relation": None}
    result = world.run("NavigateTo[book_0]")
    assert result.code in (SkillCode.UNREACHABLE, SkillCode.TOO_FAR)


def test_a_door_is_opened_and_closed_once(world: World) -> None:
    assert world.run("OpenObject[cabinet_0]").code is SkillCode.TOO_FAR
    assert world.run("NavigateTo[cabinet_0]").succeeded
    assert world.run("CloseObject[cabinet_0]").code is SkillCode.NEED_UNMET
    assert world.run("OpenObject[cabinet_0]").succeeded
    again = world.run("OpenObject[cabinet_0]")
    assert again.code is SkillCode.NEED_UNMET
    assert again.text.endswith("cabinet_0 is already open.")
    assert world.run("CloseObject[cabinet_0]").succeeded
    assert world.run("OpenObject[table_0]").code is not SkillCode.SUCCESS


def test_llamar_check_39_two_agents_open_the_same_door(
    make_world: MakeWorld, small_episode: Episode
) -> None:
    """LLAMAR-C39: the second fails, and nobody waits for the other."""
    second = small_episode.agents[1].model_copy(update={"start": (3.3, 1.2, -math.pi / 2)})
    episode = at(small_episode, 2.3, 1.2, -math.pi / 2)
    world = make_world(episode=episode.model_copy(update={"agents": (episode.agents[0], second)}))
    first, other = world.executors["agent_0"], world.executors["agent_1"]
    results = [one.start("OpenObject[cabinet_0]") for one in (first, other)]
    assert results[0] is None
    assert results[1] is not None
    assert results[1].code is SkillCode.NEED_UNMET
    assert "already being opened by agent_0" in results[1].text
    while first.result is None:
        assert world.backend.now_s() < 60
        world.backend.step(DT_S)
        first.step()
    assert first.result.succeeded
    assert world.run("OpenObject[cabinet_0]", "agent_1").code is SkillCode.NEED_UNMET


@pytest.mark.parametrize(("skill", "like"), [("CleanObject", "Clean"), ("SliceObject", "Slice")])
def test_states_are_changed_within_range_only(world: World, skill: str, like: str) -> None:
    assert SKILLS.get(skill).like == like
    thing = "apple_0" if like == "Slice" else "cup_0"
    before = world.state.entities["agent_1"].box.center_m
    if like == "Clean":
        result = world.run(f"{skill}[{thing}]", "agent_1")
        assert result.code is SkillCode.TOO_FAR
        assert world.state.entities["agent_1"].box.center_m == before
        assert world.run(f"NavigateTo[{thing}]", "agent_1").succeeded
        assert world.run(f"{skill}[{thing}]", "agent_1").succeeded
    else:
        # In our world slicing takes a knife.
        assert world.run(f"{skill}[{thing}]", "agent_1").code is SkillCode.NOT_HOLDING
