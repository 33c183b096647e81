"""Effects of one's own skills count before the memory has taken them up, and no longer."""

from __future__ import annotations

from dataclasses import replace

from skill_world import World

from planner.skills.results import CATCH_UP_S, Effect, Team
from planner.world.vocabulary import Relation


def test_a_reference_that_was_placed_a_moment_ago_counts(world: World) -> None:
    frozen = world.belief()
    world.belief = lambda: frozen  # type: ignore[method-assign]
    for executor in world.executors.values():
        executor._scene = replace(executor._scene, belief=lambda: frozen)
    assert world.run("Rearrange[apple_0, on, table_1, None, None]").succeeded
    assert world.run("Rearrange[cup_0, on, table_1, next_to, apple_0]").succeeded


def test_effects_yield_to_a_memory_that_caught_up_and_to_time(world: World) -> None:
    team, belief = Team(), world.belief()
    team.tick(5.0)
    team.placed("agent_0", (None,), Effect("cup_0", "couch_0", Relation.ON, (1.0, 1.0, 1.0), 5.0))
    assert team.on_top(belief).nodes["cup_0"].parent == "couch_0"
    newer = replace(belief.nodes["cup_0"], stamp_s=6.0)
    caught_up = replace(belief, nodes={**belief.nodes, "cup_0": newer})
    assert team.on_top(caught_up) is caught_up
    assert team.on_top(belief) is belief
    team.placed("agent_0", (None,), Effect("cup_0", "couch_0", Relation.ON, None, 5.0))
    team.tick(5.0 + CATCH_UP_S + 1)
    assert team.on_top(belief) is belief


def test_what_is_known_by_another_name_since_it_was_taken_is_held_by_that(world: World) -> None:
    team, belief = Team(), world.belief()
    team.picked("agent_0", ("bowl_7",), "bowl_7", 5.0)
    assert team.hands("agent_0", belief) == ("bowl_7",)
    robot = replace(belief.nodes["agent_0"], hands=("cup_0",))
    renamed = replace(belief, nodes={**belief.nodes, "agent_0": robot})
    assert team.hands("agent_0", renamed) == ("cup_0",)


def test_time_that_goes_back_is_another_episode(world: World) -> None:
    team = Team()
    team.tick(100.0)
    team.picked("agent_0", ("cup_0",), "cup_0", 100.0)
    assert team.hands("agent_0", world.belief()) == ("cup_0",)
    team.tick(0.0)
    assert team.hands("agent_0", world.belief()) == (None,)
