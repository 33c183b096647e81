"""What the published code computes otherwise than the paper: the defects one by one.

That mode partnr_v0 gives that code's answers in general is in test_published_table.py.
"""

from __future__ import annotations

import pytest
from goal_documents import after, on_top, task, terminal

from papers.partnr.published_judge import PublishedError
from planner.evaluation.progress import Mode
from planner.world.errors import PlannerError


def test_d1_names_that_share_a_letter_are_the_same(make_lab, rollout) -> None:
    candles = ["candle_0", "candle_1", "candle_2"]
    tie = {"proposition_indices": [0, 1, 2], "arg_indices": [1, 1]}
    document = task(
        [on_top([candle], ["table_0", "table_1", "table_2"]) for candle in candles],
        [],
        {"type": "DifferentArgConstraint", **tie},
    )
    verdicts = {}
    for mode in Mode:
        lab = make_lab(candles)
        run = rollout(lab, document, mode)
        for i, number in enumerate((0, 1, 2)):
            run.then(lab.on(candles[i], f"table_{number}"))
        verdicts[mode] = run.end()
    assert verdicts[Mode.STRICT].success
    assert verdicts[Mode.PUBLISHED].percent_complete == pytest.approx(1 / 3)
    assert verdicts[Mode.PUBLISHED].mode == "partnr_v0"


def test_d2_the_gate_of_a_copy_is_put_on_another_proposition(make_lab, rollout) -> None:
    # Unrolled: 0, 1 and 2 (= 0 with number 1). The gate of 0 should be on 2, and is on 1.
    document = task(
        [
            on_top(["cup_0", "cup_1"], ["table_0"], number=2),
            on_top(["book_0"], ["table_1"]),
            on_top(["plate_0"], ["table_2"]),
        ],
        [after([0], [2])],
        terminal([]),
    )
    counts = {}
    for mode in Mode:
        lab = make_lab(["cup_0", "cup_1", "book_0", "plate_0"])
        run = rollout(lab, document, mode)
        run.then(lab.on("cup_0", "table_0"), lab.on("book_0", "table_1"))
        counts[mode] = [p.satisfied for p in run.end().propositions]
    assert counts[Mode.STRICT] == [False, True, False]
    assert counts[Mode.PUBLISHED] == [False, False, False, True]


def test_d4_pairs_are_counted(make_lab, rollout) -> None:
    args = {"entities_a": ["apple_0", "apple_1"], "entities_b": ["book_0", "book_1"], "number": 2}
    document = task([{"function_name": "is_next_to", "args": args}])
    success = {}
    for mode in Mode:
        lab = make_lab(["apple_0", "apple_1", "book_0", "book_1"])
        lab.at("apple_0", 1, 5).at("book_0", 1.2, 5).at("book_1", 0.8, 5)
        success[mode] = rollout(lab, document, mode).end().success
    assert success == {Mode.STRICT: False, Mode.PUBLISHED: True}


def test_d10_where_too_few_are_there_the_last_pair_decides(make_lab, rollout) -> None:
    document = task([on_top(["cup_0", "cup_1"], ["table_0"], number=2)])
    shares = {}
    for mode in Mode:
        for present in ("cup_0", "cup_1"):
            lab = make_lab(["cup_0", "cup_1"])
            run = rollout(lab, document, mode)
            run.then(lab.on(present, "table_0"))
            shares[mode, present] = run.end().percent_complete
    assert shares == {
        (Mode.STRICT, "cup_0"): 0.0,
        (Mode.STRICT, "cup_1"): 0.0,
        # The copy with number 1 counts in both, the proposition itself only with the last cup.
        (Mode.PUBLISHED, "cup_0"): 0.5,
        (Mode.PUBLISHED, "cup_1"): 1.0,
    }


@pytest.mark.parametrize(
    ("lists", "places", "strict", "compat"),
    [
        # Two pairs far from each other.
        ([["a"], ["b"], ["c"], ["d"]], {"a": 1, "b": 1.3, "c": 5, "d": 5.3}, True, False),
        # A chain.
        ([["a"], ["b"], ["c"]], {"a": 1, "b": 1.5, "c": 2, "d": 8}, True, True),
        # One thing stands for both lists.
        ([["a"], ["a", "b"]], {"a": 1, "b": 5, "c": 7, "d": 9}, False, True),
    ],
)
def test_d11_a_cluster_is_one_group(make_lab, rollout, lists, places, strict, compat) -> None:
    document = task([{"function_name": "is_clustered", "args": {"entities": lists}}])
    success = {}
    for mode in Mode:
        lab = make_lab(list("abcd"))
        for name, x in places.items():
            lab.at(name, x, 5)
        success[mode] = rollout(lab, document, mode).end().success
    assert success == {Mode.STRICT: strict, Mode.PUBLISHED: compat}


def test_d12_a_tie_on_a_cluster_is_an_error_once_two_are_satisfied(make_lab, rollout) -> None:
    tie = {"proposition_indices": [0, 1], "arg_indices": [0, 0]}
    document = task(
        [
            {"function_name": "is_clustered", "args": {"entities": [["a"], ["b"]]}},
            on_top(["a"], ["table_0"]),
        ],
        [],
        {"type": "SameArgConstraint", **tie},
    )
    lab = make_lab(["a", "b"])
    run = rollout(lab, document, Mode.PUBLISHED)
    run.then(lab.on("a", "table_0"))
    assert run.end().percent_complete == 0.5
    lab.on("b", "table_0", dx=0.3)
    with pytest.raises(PublishedError, match="cluster in proposition 0"):
        run.then()
    for ending in (run.end, run.evaluator.finish, run.then):
        with pytest.raises(PublishedError):
            ending()
    assert rollout(lab, document).end().success


def test_several_orders_are_judged_each_by_itself(make_lab, rollout) -> None:
    edges = [[0, 1]], [[1, 2]]
    document = task(
        [on_top([name], ["table_0"]) for name in ("a", "b", "c")],
        [],
        *({"type": "TemporalConstraint", "edges": e} for e in edges),
    )
    lab = make_lab(["a", "b", "c"])
    run = rollout(lab, document, Mode.PUBLISHED)
    run.then(lab.on("b", "table_0"))
    run.then(lab.on("c", "table_0", dx=0.3))
    # In one order 2 would come too early as well, because 0 never came.
    assert [p.satisfied for p in run.end().propositions] == [False, False, True]


def test_it_does_not_know_whether_something_is_open(make_lab, rollout, pieces) -> None:
    chest = "chest_of_drawers_0"
    lab = make_lab(["cup_0"], extra=[pieces["drawers"](chest, "kitchen_0", 3, 8)])
    with pytest.raises(PlannerError, match="partnr_v0 does not know whether something is open"):
        rollout(
            lab,
            task([{"function_name": "is_open", "args": {"objects": [chest]}}]),
            Mode.PUBLISHED,
        )


@pytest.mark.parametrize("kind", ["AlwaysConstraint", "NeverConstraint"])
def test_it_has_no_constraints_on_every_state(make_lab, rollout, kind: str) -> None:
    throughout = {"type": kind, "proposition_indices": [0]}
    goal = task([on_top(["cup_0"], ["table_0"])], [], throughout)
    with pytest.raises(PlannerError, match="no constraints on every state"):
        rollout(make_lab(["cup_0"]), goal, Mode.PUBLISHED)
