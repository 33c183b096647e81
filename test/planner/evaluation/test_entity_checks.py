"""Goals that are allowed and hardly meant (PARTNR-D30 v to vii)."""

from __future__ import annotations

import pytest
from goal_documents import after, on_top, task, terminal

from planner.evaluation.entity_checks import goal_warnings
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation

STORED = {
    "function_name": "is_inside",
    "args": {"objects": ["cup_0"], "receptacles": ["cabinet_0"]},
}
FIRST = {"type": "TemporalConstraint", "edges": [[0, 1]]}


@pytest.mark.parametrize(
    ("document", "field", "words"),
    [
        (
            task(
                [on_top(["cup_0"], ["table_0"]), on_top(["book_0"], ["table_1"])],
                [after([1], [0], "while_satisfied")],
                terminal([1]),
            ),
            "dependencies.0",
            "fails once that is undone",
        ),
        (
            task(
                [on_top(["cup_0"], ["table_0"]), STORED],
                [],
                FIRST,
                terminal([1]),
            ),
            "propositions.1",
            "is true at the start, before proposition 0",
        ),
        (task([STORED]), "propositions", "satisfied already"),
    ],
)
def test_d_30_what_is_hardly_meant(make_lab, document, field, words) -> None:
    lab = make_lab(["cup_0", "book_0"]).inside("cup_0", "cabinet_0")
    evaluation = read_evaluation(document, "test")
    start = Evaluator(evaluation, lab.house, lab.state()).progress
    ((where, reason),) = goal_warnings(evaluation, start)
    assert where == field
    assert words in reason


def test_d_30_a_gate_answers_the_warning(make_lab) -> None:
    lab = make_lab(["cup_0"]).inside("cup_0", "cabinet_0")
    document = task(
        [on_top(["cup_0"], ["table_0"]), STORED],
        [after([1], [0])],
        FIRST,
        terminal([1]),
    )
    evaluation = read_evaluation(document, "test")
    start = Evaluator(evaluation, lab.house, lab.state()).progress
    assert goal_warnings(evaluation, start) == []
