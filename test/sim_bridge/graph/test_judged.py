"""The judge in a world of edges: relations are the edges, whatever the boxes would say."""

from pathlib import Path
from typing import Any

import graph_kitchen as kitchen
import pytest
from graph_kitchen import APPLE_TO_FRIDGE, PUT_IN

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.predicates import Variant
from planner.evaluation.task import Evaluation
from planner.world.episode import ROBOT, Criteria
from planner.world.house_checks import load_house
from sim_bridge.graph.acting import act
from sim_bridge.graph.actions import script_action

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
