"""Tasks of the shipped suite that the agent once failed, each for a reason of its own."""

from __future__ import annotations

from functools import cache

import pytest

from planner.app.embedded_run import prepare_graph
from planner.episodes.episode_file import Pack, read_pack
from planner.planning.part import PlannerChoice, make_planner
from planner.world.share import config_dir
from sim_bridge.graph.backend import GraphBackend


@cache
def suite() -> Pack:
    return read_pack(config_dir() / "suites" / "et_plan.json.gz")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        # "With what is on it", "with what is in it".
        "et_test_7-temporal-0001",
        "et_test_5-temporal-0005",
        # What was found, or the other thing, is beside a gap between furniture.
        "et_test_0-manipulation-0022",
        "et_test_7-two_objects-0016",
        "et_test_8-manipulation-0003",
        "et_test_8-manipulation_relation-0004",
        # Things on a large table or bed, out of a hand's reach from where the agent stands.
        "et_test_5-manipulation-0010",
        "et_test_2-two_objects-0000",
        # A book on the corner of a nightstand that a magazine lies on.
        "et_test_1-manipulation_relation-0018",
    ],
)
def test_a_task_that_failed_is_done(name: str) -> None:
    [episode] = [one for one in suite().episodes if one.episode_id == name]
    [house] = [one for one in suite().houses if one.name == episode.house]
    run = prepare_graph(
        GraphBackend(),
        house,
        episode,
        lambda task: make_planner(PlannerChoice("et_agent"), task, None),
    )
    result = run.run()
    criteria = result.verdict.criteria
    assert criteria is not None
    assert criteria.success, (result.outcome.text, criteria.explanation)
