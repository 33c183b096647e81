"""Explanations say in plain words what is wrong, one sentence a cause (PARTNR-D29)."""

from __future__ import annotations

import pytest
from goal_documents import after, terminal
from judge_lab import MODES

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.scene import BrokenStateError

TABLES = ["table_0", "table_1"]


def on(objects, receptacles, **more):
    args = {"objects": objects, "receptacles": receptacles, **more}
    return {"function_name": "is_on_top", "args": args}


def tie(kind):
    return {"type": kind, "proposition_indices": [0, 1], "arg_indices": [1, 1]}


CUP, PLATE, BOOK = (
    on([name], [f"table_{i}"]) for i, name in enumerate(("cup_0", "plate_0", "book_0"))
)


@pytest.fixture
def lab(make_lab):
    return make_lab(["cup_0", "cup_1", "plate_0", "book_0"])


def test_of_several_those_that_are_there_are_named(lab, rollout) -> None:
    run = rollout(lab, {"propositions": [on(["cup_0", "cup_1"], TABLES, number=2)]})
    what = '"2 of cup_0 and cup_1 on top of table_0 or table_1" was'
    assert run.end().explanation == f"{what} never achieved: none is."
    run.then(lab.on("cup_1", "table_1"))
    assert run.end().explanation == f"{what} never achieved: only cup_1 is."
    run.then(lab.on("cup_0", "table_0"))
    assert run.end().explanation == ""
    run.then(lab.away("cup_1"))
    assert run.end().explanation == f"{what} achieved but no longer held at the end: only cup_0 is."


def test_the_gate_that_was_shut_is_named_with_the_heads_that_kept_it_so(lab, rollout) -> None:
    gates = [after([2], [0], "after_satisfied"), after([2], [0, 1], "while_satisfied")]
    run = rollout(lab, {"propositions": [CUP, PLATE, BOOK], "dependencies": gates})
    run.then(lab.on("cup_0", "table_0"))
    run.then(lab.on("book_0", "table_2"))
    assert run.end().propositions[2].detail == (
        '"book_0 on top of table_2" was achieved, but not while "plate_0 on top of table_1".'
    )
    run.then(lab.on("plate_0", "table_1"))
    assert run.end().success
    run.then(lab.away("cup_0"))
    assert run.end().propositions[2].detail == (
        '"book_0 on top of table_2" was achieved, but at the end not while '
        '"cup_0 on top of table_0".'
    )


def test_of_heads_of_which_one_is_enough_all_are_named_with_or(lab, rollout) -> None:
    gates = [after([2], [0, 1], "after_satisfied", dependency_mode="any")]
    run = rollout(lab, {"propositions": [CUP, PLATE, BOOK], "dependencies": gates})
    run.then(lab.on("book_0", "table_2"))
    assert run.end().propositions[2].detail == (
        '"book_0 on top of table_2" was achieved, but not after '
        '"cup_0 on top of table_0" or "plate_0 on top of table_1".'
    )


def test_a_gate_that_opens_when_something_is_undone(lab, rollout) -> None:
    gates = [after([1], [0], "after_unsatisfied")]
    document = {
        "propositions": [CUP, PLATE],
        "dependencies": gates,
        "constraints": [terminal([1])],
    }
    run = rollout(lab, document)
    run.then(lab.on("cup_0", "table_0"))
    run.then(lab.on("plate_0", "table_1"))
    assert run.end().explanation == (
        '"plate_0 on top of table_1" was achieved, but not after '
        '"cup_0 on top of table_0" was undone.'
    )


def test_what_was_used_and_should_be_one_or_should_not(lab, rollout) -> None:
    both = [on(["cup_0"], TABLES), on(["plate_0"], TABLES)]
    same = {"propositions": both, "constraints": [tie("SameArgConstraint")]}
    run = rollout(lab, same)
    run.then(lab.on("cup_0", "table_0"), lab.on("plate_0", "table_1"))
    assert run.end().explanation == (
        '"plate_0 on top of table_0 or table_1" and "cup_0 on top of table_0 or table_1" '
        "should use the same receptacle, not table_1 and table_0."
    )
    lab.on("plate_0", "table_0", dx=0.3)
    different = rollout(lab, {"propositions": both, "constraints": [tie("DifferentArgConstraint")]})
    assert different.end().explanation == (
        '"plate_0 on top of table_0 or table_1" and "cup_0 on top of table_0 or table_1" '
        "should use different receptacles, not both table_0."
    )


def test_an_unusual_distance_is_said(lab, rollout) -> None:
    args = {"entities_a": ["cup_0"], "entities_b": ["cup_1"], "l2_threshold": 0.2}
    run = rollout(lab, {"propositions": [{"function_name": "is_next_to", "args": args}]})
    assert run.end().propositions[0].text == "cup_0 next to cup_1 (within 0.2 m)"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("latches", [{}, {"first_step": 3}, {"first_step": [None], "now": []}])
def test_latches_that_do_not_fit_are_one_error(lab, mode, latches) -> None:
    evaluation = read_evaluation({"propositions": [CUP]}, "e")
    with pytest.raises(BrokenStateError, match="latches do not fit"):
        Evaluator(evaluation, lab.house, lab.state(), mode, latches)
