"""What must hold in every state, and what in none."""

import pytest

from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import Reason
from planner.planning.expert.facts import goal_of


def _on(thing: str, table: str) -> dict:
    return {
        "function_name": "is_on_top",
        "args": {"objects": [thing], "receptacles": [table]},
    }


def _throughout(kind: str, *indices: int) -> dict:
    return {"type": f"{kind}Constraint", "proposition_indices": list(indices)}


GOAL = {
    "propositions": [
        _on("cup_0", "table_0"),
        _on("vase_0", "table_1"),
        _on("cup_0", "table_2"),
    ],
    "constraints": [_throughout("Always", 1), _throughout("Never", 2)],
}


@pytest.fixture
def run(make_lab, rollout):
    lab = make_lab(["cup_0", "vase_0"]).on("vase_0", "table_1")
    return rollout(lab, GOAL)


def test_success_if_both_are_kept(run):
    run.then(run.lab.on("cup_0", "table_0"))
    assert run.end().success


def test_what_was_to_stay_may_not_be_moved_even_if_it_is_put_back(run):
    run.then(run.lab.on("vase_0", "table_3"))
    run.then(run.lab.on("vase_0", "table_1"), run.lab.on("cup_0", "table_0"))
    verdict = run.end()
    assert [p.reason for p in verdict.propositions] == [None, Reason.NOT_ALWAYS, None]
    assert verdict.explanation == '"vase_0 on top of table_1" did not hold all the time.'


def test_what_may_never_hold_counts_against_the_task_even_if_it_is_undone(run):
    run.then(run.lab.on("cup_0", "table_2"))
    run.then(run.lab.on("cup_0", "table_0"))
    verdict = run.end()
    assert [p.reason for p in verdict.propositions] == [None, None, Reason.FORBIDDEN]
    assert verdict.explanation == '"cup_0 on top of table_2" must never hold.'


def test_latches_keep_both(run):
    run.then(run.lab.on("vase_0", "table_3"), run.lab.on("cup_0", "table_2"))
    state = run.lab.on("vase_0", "table_1").on("cup_0", "table_0").state()
    again = type(run.evaluator)(
        read_evaluation(GOAL, "test"), run.lab.house, state, latches=run.evaluator.latches()
    )
    assert [p.reason for p in again.progress.propositions] == [
        None,
        Reason.NOT_ALWAYS,
        Reason.FORBIDDEN,
    ]


def test_planners_do_not_pursue_what_may_never_hold():
    goal = goal_of(read_evaluation(GOAL, "test"))
    assert [s.index for s in goal.subgoals if s.index not in goal.watched] == [0]
