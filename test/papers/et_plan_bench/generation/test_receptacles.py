"""What things are put into and onto in a generated home."""

from __future__ import annotations

from dataclasses import replace

import pytest

from papers.et_plan_bench.generation.categories import home_named
from papers.et_plan_bench.generation.house_facts import (
    HouseFacts,
    facts_of,
    fits_at,
    fits_in_thing,
)
from papers.et_plan_bench.generation.least_walk import Walking
from planner.app.bodily_task_world import call_action
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.receptacle import sides_along, spot_at_piece
from planner.world.vocabulary import Relation
from sim_bridge.graph.acting import act
from sim_bridge.graph.scene import start_of
from sim_bridge.graph.world import GraphWorld

SIZE_M = (0.24, 0.11, 0.05)


@pytest.fixture(scope="module")
def facts() -> HouseFacts:
    return facts_of(home_named("et_test_9").make())


def test_nothing_sticks_out_of_a_surface_on_which_it_fits(facts: HouseFacts) -> None:
    tried = 0
    for piece in facts.house.furniture:
        if not piece.surfaces:
            continue
        top, sides = piece.surfaces[0], sides_along(piece, SIZE_M)
        if any(side > size for side, size in zip(sides, top.size, strict=True)):
            continue
        tried += 1
        for number in range(1, 30):
            spot = spot_at_piece(number, piece, Relation.ON, SIZE_M)
            local = piece.pose_inverse.apply(spot)
            for at, middle, size, side in zip(local, top.center, top.size, sides, strict=False):
                assert abs(at - middle) + side / 2 <= size / 2 + 1e-9
    assert tried > 10


def test_what_fits_only_turned_does_not_go_there(facts: HouseFacts) -> None:
    """A board game of 0.30 by 0.41 m and boards 0.35 m deep, along the one axis or the other."""
    game = Walking(facts).sized("board_game_0")
    across, along = facts.entities["shelves_1"], facts.entities["shelves_0"]
    assert across.piece is not None
    deep_m, long_m = across.piece.surfaces[0].size
    assert game.size_m[0] < deep_m < game.size_m[1] < long_m
    assert not fits_at((game,), across, Relation.ON)
    assert fits_at((game,), along, Relation.ON)


def test_a_holder_smaller_than_usual_holds_less() -> None:
    """A plate of 0.238 m on a tray 0.258 m wide, whose bottom is narrower than a usual one's."""
    entities = facts_of(home_named("et_test_1").make()).entities
    plate, tray = entities["plate_0"], entities["tray_0"]
    top = tray.shape.top
    assert top is not None
    assert min(top.size) < min(plate.size_m[:2]) < min(tray.size_m[:2])
    assert not fits_in_thing(plate, tray)
    assert fits_in_thing(replace(plate, size_m=(*top.size, 0.015)), tray)


def test_the_world_puts_things_there(facts: HouseFacts) -> None:
    episode = Episode.model_validate(
        {
            "version": 1,
            "episode_id": "put",
            "house": facts.house.name,
            "instruction": "Put it there.",
            "agents": [{"uid": "agent_0", "kind": "human", "start": [6.75, 1.05, 0.0]}],
            "objects": [item.model_dump() for item in facts.house.objects],
        }
    )
    world = GraphWorld(start_of(facts.house, episode, default_catalogue()), episode)
    for call in (
        "Navigate[board_game_0]",
        "Pick[board_game_0]",
        "Navigate[shelves_0]",
        "Place[board_game_0, on, shelves_0, None, None]",
    ):
        assert act(world, "agent_0", call_action(call)) is None
    piece = facts.house.furniture_by_name["shelves_0"]
    size_m = world.nodes["board_game_0"].size_m
    assert world.position_m("board_game_0") == spot_at_piece(1, piece, Relation.ON, size_m)
