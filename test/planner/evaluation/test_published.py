"""What the published code computes otherwise than the paper: DEFECT-D1, DEFECT-D2 and DEFECT-D4.

That mode partnr_v0 gives that code's answers in general is in test_against_reference.py.
"""

from __future__ import annotations

import pytest

from planner.evaluation.progress import Mode


def on_top(objects, receptacles, **more):
    args = {"objects": objects, "receptacles": receptacles, **more}
    return {"function_name": "is_on_top", "args": args}


def task(propositions, dependencies=(), *constraints):
    return {
        "propositions": propositions,
        "dependencies": list(dependencies),
        "constraints": list(constraints),
    }


def after(gated, heads, relation="after_satisfied"):
    return {"proposition_indices": gated, "depends_on": heads, "relation_type": relation}


def terminal(indices):
    return {"type": "TerminalSatisfactionConstraint", "proposition_indices": indices}


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
    assert verdicts[Mode.PARTNR_V0].percent_complete == pytest.approx(1 / 3)
    assert verdicts[Mode.PARTNR_V0].mode == "partnr_v0"


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
    assert counts[Mode.PARTNR_V0] == [False, False, False, True]


def test_d4_pairs_are_counted(make_lab, rollout) -> None:
    args = {"entities_a": ["apple_0", "apple_1"], "entities_b": ["book_0", "book_1"], "number": 2}
    document = task([{"function_name": "is_next_to", "args": args}])
    success = {}
    for mode in Mode:
        lab = make_lab(["apple_0", "apple_1", "book_0", "book_1"])
        lab.at("apple_0", 1, 5).at("book_0", 1.2, 5).at("book_1", 0.8, 5)
        success[mode] = rollout(lab, document, mode).end().success
    assert success == {Mode.STRICT: False, Mode.PARTNR_V0: True}
