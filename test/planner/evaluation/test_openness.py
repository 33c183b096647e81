"""What opens is judged open or closed by its widest joint, in mode strict."""

import pytest

from planner.evaluation.language import read_evaluation
from planner.evaluation.predicates import Watch
from planner.evaluation.scene import Scene
from planner.evaluation.subtasks import needs, plan_length
from planner.world.errors import FileError

CHEST = "chest_of_drawers_0"


def goal(predicate: str, name: str = CHEST) -> dict:
    return {"propositions": [{"function_name": predicate, "args": {"objects": [name]}}]}


@pytest.fixture
def lab(make_lab, pieces):
    return make_lab(["cup_0"], extra=[pieces["drawers"](CHEST, "kitchen_0", 3, 8)])


@pytest.mark.parametrize(("openness", "opens"), [(0.0, False), (0.49, False), (0.5, True)])
def test_half_open_is_open(lab, rollout, openness, opens):
    for predicate, expected in (("is_open", opens), ("is_closed", not opens)):
        run = rollout(lab, goal(predicate))
        run.then(lab.open(CHEST, openness))
        assert run.end().success is expected
        lab.open(CHEST, 0.0)


def test_the_end_counts(lab, rollout):
    run = rollout(lab, goal("is_closed"))
    run.then(lab.open(CHEST, 1.0))
    verdict = run.end()
    assert not verdict.success
    assert verdict.explanation.startswith(f'"{CHEST} closed" was achieved but no longer held')


def test_a_table_cannot_be_opened(lab, rollout):
    with pytest.raises(FileError, match="table_0 cannot be opened"):
        rollout(lab, goal("is_open", "table_0"))


def test_a_plan_walks_there_and_opens(lab):
    (proposition,) = read_evaluation(goal("is_open"), "test").propositions
    state = lab.state()
    watch = Watch(proposition, Scene(lab.house, state.entities))
    assert plan_length(needs([watch]), state.entities) == 2
