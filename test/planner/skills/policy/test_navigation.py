"""Which free floor a policy drives to."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from skill_world import DT_S, World, belief_of

from planner.app.in_process_world import BackendPort
from planner.skills.attempt import Attempt
from planner.skills.executor import SkillExecutor
from planner.skills.ground import ground_of
from planner.skills.kind import LearnedSkills, SkillChoice, SkillKind
from planner.skills.policy.navigation import goal_of, open_doors
from planner.skills.policy.navigation_space import DepthMap, Goal, features_of, layers_of
from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.furnishing import build_furniture
from planner.world.geometry import Pose
from planner.world.house import Door, Furniture, House, Room
from planner.world.observation import Intrinsics
from planner.world.primitive import Capabilities
from planner.world.vocabulary import EntityKind
from sim_bridge.embedded.options import EmbeddedOptions

if TYPE_CHECKING:
    from planner.world.geometry import Vec3


ROBOT = Capabilities("robot", frozenset({"navigate"}), ("hand",), 1.5, 0.28, True)
# Of the small house: the middle of the kitchen and of the table in it.
FLOOR: Vec3 = (1.5, 1.95, 0.0)
TABLE: Vec3 = (2.2, 3.2, 0.45)


def attempt(house: House, base: Vec3, *persons: Vec3) -> Attempt:
    nodes = {
        f"agent_{number}": BeliefNode(
            f"agent_{number}", EntityKind.AGENT, kind, None, at, room="kitchen_0"
        )
        for number, (kind, at) in enumerate([("robot", base), *(("human", p) for p in persons)])
    }
    scene = SimpleNamespace(
        ground=ground_of(house, ROBOT.radius_m), capabilities=ROBOT, layout=house, agent="agent_0"
    )
    made = SimpleNamespace(scene=scene, base=base, belief=Belief(0.0, 1, nodes))
    return cast(Attempt, made)


def gap_m(goal: tuple[float, float] | None, at: Vec3) -> float:
    assert goal is not None
    return math.dist(goal, at[:2])


def test_free_floor_is_driven_to_itself_and_furniture_from_near(small_house: House) -> None:
    here = (3.0, 1.0, 0.0)
    assert goal_of(attempt(small_house, here), FLOOR) == FLOOR[:2]
    beside = goal_of(attempt(small_house, here), TABLE)
    assert gap_m(beside, TABLE) < 1.0
    assert ground_of(small_house, ROBOT.radius_m).grid.is_free(*(beside or (0.0, 0.0)))


@pytest.mark.parametrize("target", [FLOOR, TABLE])
def test_where_another_agent_stands_is_no_goal(small_house: House, target: Vec3) -> None:
    here = (3.0, 1.0, 0.0)
    goal = goal_of(attempt(small_house, here), target)
    assert goal is not None
    person = (goal[0], goal[1], 0.0)
    other = goal_of(attempt(small_house, here, person), target)
    assert gap_m(other, person) > 0.28 + 0.2 + 0.05
    assert gap_m(other, target) <= 0.85 * ROBOT.reach_m


def test_where_all_floor_is_taken_the_goal_stays_as_persons_make_way(small_house: House) -> None:
    crowd = [(0.4 * x, 0.4 * y, 0.0) for x in range(20) for y in range(11)]
    here = (3.0, 1.0, 0.0)
    assert goal_of(attempt(small_house, here, *crowd), FLOOR) == FLOOR[:2]
    assert gap_m(goal_of(attempt(small_house, here, *crowd), TABLE), TABLE) < 1.0


LENS = Intrinsics(64, 64, 32.0, 32.0, 31.5, 31.5)
# One metre high, level, looking along x from the map's origin.
CAMERA = Pose((0.0, 0.0, 1.0), (-0.5, 0.5, -0.5, 0.5))


def belief(house: House, openness: float | None) -> Belief:
    nodes = {
        piece.name: BeliefNode(
            piece.name,
            EntityKind.FURNITURE,
            piece.class_name,
            1,
            (piece.x_m, piece.y_m, 0.0),
            openness=openness if piece.joints else None,
        )
        for piece in house.furniture
    }
    return Belief(0.0, 1, nodes)


def test_doors_stick_out_and_drawers_slide_out_as_far_as_they_are_open(small_house: House) -> None:
    assert not list(open_doors(belief(small_house, 0.0), small_house))
    assert not list(open_doors(belief(small_house, None), small_house))
    cabinet, drawers = open_doors(belief(small_house, 1.0), small_house)
    piece = small_house.furniture_by_name["cabinet_0"]
    # It faces y: its doors are as long as half of it is wide, and turn by a right angle or more.
    front_m = piece.y_m + piece.size_m[0] / 2
    assert cabinet.closed_m[:, 1].max() == pytest.approx(front_m)
    out_m = max(leaf[:, 1].max() for leaf in cabinet.leaves_m) - front_m
    assert 0.8 * piece.size_m[1] / 2 < out_m < 1.1 * piece.size_m[1] / 2
    chest = small_house.furniture_by_name["chest_of_drawers_0"]
    travel_m = chest.joints[0].travel
    pulled = min(leaf[:, 0].min() for leaf in drawers.leaves_m)
    half = next(iter(open_doors(belief(small_house, 0.5), small_house)))
    assert pulled == pytest.approx(chest.x_m - chest.size_m[0] / 2 - travel_m, abs=0.05)
    assert len(half.leaves_m) == len(cabinet.leaves_m)


def wall_seen_at(x_m: float, made: DepthMap) -> np.ndarray:
    """Which of the cells ahead are occupied once a wall is seen so far away."""
    base = Pose.planar(0.0, 0.0, 0.0)
    made.add(np.full((64, 64), x_m, np.float32), LENS, CAMERA, base)
    features = features_of(Goal(1.0, 0.0), None, hindered=False)
    seen = layers_of(made.around(base, (1.0, 0.0))[None], features[None])[0, 0]
    return np.asarray(seen, bool)


def test_what_is_seen_of_an_open_door_is_not_marked_and_its_furniture_is() -> None:
    made = DepthMap(Pose.planar(0.0, 0.0, 0.0))
    before = wall_seen_at(1.55, DepthMap(Pose.planar(0.0, 0.0, 0.0)))
    leaf = np.array([(1.5, -0.3), (1.6, -0.3), (1.5, 0.3), (1.6, 0.3)])
    body = np.array([(1.5, 0.15), (2.0, 0.15), (2.0, 2.0), (1.5, 2.0)])
    made.pass_over([leaf], body)
    after = wall_seen_at(1.55, made)
    gone = np.nonzero(before & ~after)[1]
    # Columns count to the right, cells of 0.1 m: from 0.3 m to the right to where the body begins.
    assert {31, 32, 33, 34} <= set(gone.tolist())
    assert min(gone) >= 30
    assert max(gone) <= 36
    assert not (after & ~before).any()


def corridor() -> House:
    """A kitchen whose counter's doors close the way between it and a table when they are open."""
    catalogue = default_catalogue()

    def piece(
        name: str, x: float, y: float, yaw: float, size: tuple[float, float, float]
    ) -> Furniture:
        found = catalogue.furniture[name]
        return build_furniture(found, f"{name}_0", "kitchen_0", x, y, yaw, size)

    room = Room(
        name="kitchen_0", class_name="kitchen", polygon_m=((0, 0), (2.6, 0), (2.6, 7), (0, 7))
    )
    return House(
        version=1,
        name="corridor",
        rooms=(room,),
        doors=(
            Door(name="door_0", rooms=("kitchen_0",), center_m=(1.3, 0), yaw_rad=0.0, width_m=0.9),
        ),
        furniture=(
            piece("counter", 0.4, 3.5, 0.0, (0.64, 2.0, 0.9)),
            piece("table", 2.15, 3.5, 0.0, (0.85, 1.6, 0.75)),
            piece("stool", 1.3, 6.6, 0.0, (0.4, 0.4, 0.5)),
        ),
        objects=(),
    )


@pytest.mark.slow
@pytest.mark.parametrize("openness", [0.0, 1.0])
def test_a_walk_past_doors_that_stand_open_arrives(openness: float) -> None:
    house = corridor()
    episode = Episode(
        version=1,
        episode_id="past",
        house=house.name,
        instruction="Go to the other side.",
        agents=({"uid": "agent_0", "kind": "robot", "start": (1.3, 1.5, math.pi / 2)},),
        objects=(),
    )
    world = World(house, episode, None, EmbeddedOptions(renderer="rays"))
    try:
        loaded = world.backend._loaded()
        piece = loaded.pieces["counter_0"]
        for joint in piece.opening:
            loaded.set_opening(piece, joint, openness)
        executor = SkillExecutor(
            house,
            BackendPort(world.backend, "agent_0"),
            lambda: belief_of(house, world.state),
            choice=SkillChoice(SkillKind.LEARNED, learned=LearnedSkills.NAVIGATE),
        )
        result = executor.start("Navigate[stool_0]")
        while result is None:
            world.backend.step(DT_S)
            result = executor.step()
        assert result.succeeded, result
        at = world.backend.observe("agent_0", ()).base.position_m
        assert math.dist(at[:2], (1.3, 6.6)) < 1.5
        assert int(result.evidence["primitives"]) < 40
    finally:
        world.backend.close()
