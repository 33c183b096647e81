"""Skills, memory and judge in the graph world: a foreign graph, without pictures."""

from pathlib import Path

import graph_kitchen as kitchen

from planner.app.graph_run import prepare_graph
from planner.evaluation.predicates import Variant
from planner.planning.expert.expert import Expert
from planner.world.house_checks import load_house
from sim_bridge.graph.backend import GraphBackend


def test_the_expert_finds_and_fetches_what_its_memory_sees(tmp_path: Path) -> None:
    house = load_house(kitchen.written(tmp_path))
    asked = {
        "function_name": "is_inside",
        "args": {"objects": ["apple_13"], "receptacles": ["fridge_10"]},
    }
    episode = kitchen.task(house).model_copy(update={"evaluation": {"propositions": [asked]}})
    run = prepare_graph(GraphBackend(), house, episode, Expert)
    result = run.run()
    assert result.verdict.success, [str(event) for event in result.events]
    assert result.verdict.variant is Variant.EDGES
    apple = next(e for e in run.memory.entities if e.name == "apple_13")
    assert (apple.parent, apple.room) == ("fridge_10", "kitchen_1")


def test_the_expert_puts_a_thing_into_another(tmp_path: Path) -> None:
    house = load_house(kitchen.written(tmp_path))
    asked = {
        "function_name": "is_inside",
        "args": {"objects": ["pear_14"], "receptacles": ["bowl_12"]},
    }
    episode = kitchen.task(house).model_copy(update={"evaluation": {"propositions": [asked]}})
    result = prepare_graph(GraphBackend(), house, episode, Expert).run()
    assert result.verdict.success, [str(event) for event in result.events]
