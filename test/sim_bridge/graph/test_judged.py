"""The judge in a world of edges: relations are the edges, whatever the boxes would say."""

from pathlib import Path
from typing import Any

import graph_kitchen as kitchen
import pytest
from graph_kitchen import APPLE_TO_FRIDGE, PUT_IN

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.predicates import Variant, holds
from planner.evaluation.scene import Scene
from planner.evaluation.task import Evaluation
from planner.world.catalogue import default_catalogue
from planner.world.episode import ROBOT, Criteria, Episode
from planner.world.geometry import Pose
from planner.world.house import House, ObjectPlacement
from planner.world.house_checks import load_house
from planner.world.receptacle import known_shape
from planner.world.vocabulary import Relation
from sim_bridge.graph.acting import Action, Verb, act, script_action
from sim_bridge.graph.scene import start_of
from sim_bridge.graph.world import GraphWorld

APPLE_IN_FRIDGE = Criteria(
    variables={"A": ("apple_13",), "C": ("fridge_10",), "D": ("kitchen_1",)},
    success=(("CLOSE", ROBOT, "C"), ("INSIDE", "A", "C"), ("INSIDE", "C", "D")),
)
# The apple into the bowl and that into the fridge, in this order.
NESTED = Criteria(
    variables={"A": ("pear_14",), "B": ("bowl_12",), "C": ("fridge_10",)},
    intermediate=(("INSIDE", "A", "B"),),
    success=(("INSIDE", "B", "C"), ("INSIDE", "A", "B")),
)
TO_BOWL = ("[walk] <bowl> (12)", "[putin] <pear> (14) <bowl> (12)")
TAKE_PEAR = ("[walk] <fridge> (10)", "[grab] <pear> (14)")
BOWL_TO_FRIDGE = (
    "[walk] <bowl> (12)",
    "[grab] <bowl> (12)",
    "[walk] <fridge> (10)",
    "[putin] <bowl> (12) <fridge> (10)",
)
OPEN = ("[walk] <fridge> (10)", "[open] <fridge> (10)")


def _judged(folder: Path, criteria: Criteria, lines: tuple[str, ...]) -> Evaluator:
    world = kitchen.world(folder)
    house = load_house(kitchen.written(folder))
    judge = Evaluator(Evaluation(()), house, world.snapshot(), criteria=criteria)
    for step, line in enumerate(lines, start=1):
        assert act(world, "agent_0", script_action(line)) is None, line
        world.steps = step
        judge.update(world.snapshot())
    return judge


def test_a_plan_that_ends_as_asked_satisfies_the_criteria(tmp_path: Path) -> None:
    short = _judged(tmp_path, APPLE_IN_FRIDGE, APPLE_TO_FRIDGE).finish()
    assert not short.success
    assert short.explanation == "At the end apple_13 is not inside fridge_10."
    done = _judged(tmp_path, APPLE_IN_FRIDGE, (*APPLE_TO_FRIDGE, PUT_IN)).finish()
    assert done.success
    assert done.variant is Variant.EDGES


def test_on_top_of_a_container_is_not_inside_it(tmp_path: Path) -> None:
    lines = (*APPLE_TO_FRIDGE, "[put] <apple> (13) <fridge> (10)")
    assert not _judged(tmp_path, APPLE_IN_FRIDGE, lines).finish().success


def test_things_are_judged_in_things_and_in_their_order(tmp_path: Path) -> None:
    right = (*OPEN, *TAKE_PEAR, *TO_BOWL, *BOWL_TO_FRIDGE)
    assert _judged(tmp_path, NESTED, right).finish().success
    wrong = (*OPEN, *BOWL_TO_FRIDGE, *TAKE_PEAR, *TO_BOWL)
    assert not _judged(tmp_path, NESTED, wrong).finish().success


def _holds(folder: Path, function: str, args: dict[str, Any], *lines: str) -> bool:
    world = kitchen.world(folder)
    house = load_house(kitchen.written(folder))
    asked = read_evaluation({"propositions": [{"function_name": function, "args": args}]}, "task")
    judge = Evaluator(asked, house, world.snapshot())
    for line in lines:
        assert act(world, "agent_0", script_action(line)) is None, line
    world.steps = 1
    judge.update(world.snapshot())
    return judge.finish().success


APPLE: dict[str, Any] = {"objects": ["apple_13"]}


@pytest.mark.parametrize(
    ("function", "args", "holds"),
    [
        ("is_inside", {**APPLE, "receptacles": ["bowl_12"]}, True),
        ("is_inside", {**APPLE, "receptacles": ["fridge_10"]}, False),
        ("is_on_top", {"objects": ["bowl_12"], "receptacles": ["kitchentable_11"]}, True),
        ("is_on_top", {**APPLE, "receptacles": ["kitchentable_11"]}, False),
        ("is_in_room", {**APPLE, "rooms": ["kitchen_1"]}, True),
        ("is_in_room", {**APPLE, "rooms": ["livingroom_2"]}, False),
        ("is_on_floor", APPLE, False),
        ("is_next_to", {"entities_a": ["apple_13"], "entities_b": ["bowl_12"]}, True),
        ("is_next_to", {"entities_a": ["apple_13"], "entities_b": ["tablelamp_15"]}, False),
        ("is_powered_off", {"objects": ["tablelamp_15"]}, True),
    ],
)
def test_partnrs_predicates_read_the_edges(
    function: str, args: dict[str, Any], holds: bool, tmp_path: Path
) -> None:
    assert _holds(tmp_path, function, args) is holds


def test_what_is_put_into_a_room_lies_on_its_floor(tmp_path: Path) -> None:
    lines = (*APPLE_TO_FRIDGE, "[walk] <livingroom> (2)", "[put] <apple> (13) <livingroom> (2)")
    assert _holds(tmp_path, "is_on_floor", APPLE, *lines)
    assert _holds(tmp_path, "is_in_room", {**APPLE, "rooms": ["livingroom_2"]}, *lines)


@pytest.mark.parametrize(("holder", "yaw_rad"), [("pan", 0.0), ("pan", -1.57), ("plate", 2.0)])
def test_in_a_house_things_are_in_the_hollow_or_on_the_top_of_others(
    small_house: House, small_episode: Episode, holder: str, yaw_rad: float
) -> None:
    size_m = default_catalogue().objects[holder].size_m
    frame = Pose.planar(2.6, 3.3, yaw_rad, 0.42)
    shape = known_shape(holder, size_m)
    part = shape.hollow or shape.top
    assert part is not None
    at = frame.apply((*part.center[:2], shape.rests_m[0]))
    relation = Relation.ON if shape.hollow is None else Relation.WITHIN
    big = ObjectPlacement(
        name=f"{holder}_0", class_name=holder, size_m=size_m, pose=(2.6, 3.3, 0.42, yaw_rad),
        parent="table_0", relation=Relation.ON, part="top",
    )  # fmt: skip
    egg = ObjectPlacement(
        name="egg_0", class_name="egg", size_m=(0.058, 0.044, 0.044), pose=(*at, 0.0),
        parent=big.name, relation=relation, part=part.name,
    )  # fmt: skip
    objects = (*small_episode.objects, big, egg)
    episode = small_episode.model_copy(update={"objects": objects})
    world = GraphWorld(start_of(small_house, episode, default_catalogue()), episode, 0)
    asked = "ON" if relation is Relation.ON else "INSIDE"
    for name in ("egg_0", "apple_0"):
        if name == "apple_0":
            for verb, target in ((Verb.WALK, name), (Verb.GRAB, name), (Verb.WALK, big.name)):
                assert act(world, "agent_0", Action(verb, target)) is None
            put = Verb.PUT if relation is Relation.ON else Verb.PUTIN
            assert act(world, "agent_0", Action(put, name, big.name)) is None
        state = world.snapshot()
        assert holds(Scene(small_house, state.entities), state, asked, name, big.name)


def test_relations_of_furniture_rooms_and_things_are_edges(tmp_path: Path) -> None:
    graph = kitchen.graph()
    graph["nodes"].append(kitchen.node(17, "microwave", properties=["CONTAINERS", "CAN_OPEN"]))
    graph["edges"] += [
        kitchen.edge(17, "ON", kitchen.TABLE),
        kitchen.edge(17, "INSIDE", kitchen.KITCHEN),
    ]
    state = kitchen.world(tmp_path, graph).snapshot()
    scene = Scene(load_house(kitchen.written(tmp_path, graph)), state.entities)
    for relation, one, other, expected in (
        ("ON", "microwave_17", "kitchentable_11", True),
        ("INSIDE", "microwave_17", "kitchentable_11", False),
        ("ON", "kitchentable_11", "microwave_17", False),
        ("ON", "kitchentable_11", "kitchen_1", True),
        ("ON", "microwave_17", "kitchen_1", False),
        ("INSIDE", "microwave_17", "kitchen_1", True),
        ("INSIDE", "microwave_17", "livingroom_2", False),
        ("INSIDE", "apple_13", "kitchen_1", True),
        ("INSIDE", "apple_13", "livingroom_2", False),
        ("INSIDE", "agent_0", "livingroom_2", True),
        ("INSIDE", "agent_0", "kitchen_1", False),
        ("INSIDE", "apple_13", "bowl_12", True),
        ("ON", "apple_13", "bowl_12", False),
        ("ON", "bowl_12", "kitchentable_11", True),
        ("INSIDE", "bowl_12", "kitchentable_11", True),
        ("INSIDE", "pear_14", "fridge_10", True),
        ("ON", "pear_14", "fridge_10", False),
        ("FACING", "kitchentable_11", "fridge_10", True),
        ("FACING", "tablelamp_15", "fridge_10", False),
    ):
        assert holds(scene, state, relation, one, other) is expected, (relation, one, other)
