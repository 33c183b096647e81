"""Worked examples PARTNR-E1 to PARTNR-E8, checks PARTNR-C8 to PARTNR-C23."""

from __future__ import annotations

import itertools

import pytest
from goal_documents import after, on_top, terminal

from planner.evaluation.language import group_edges
from planner.evaluation.progress import Reason
from planner.evaluation.scene import BrokenStateError


def inside(objects, receptacles):
    return {"function_name": "is_inside", "args": {"objects": objects, "receptacles": receptacles}}


def in_room(objects, rooms):
    return {"function_name": "is_in_room", "args": {"objects": objects, "rooms": rooms}}


def next_to(a, b, **more):
    args = {"entities_a": a, "entities_b": b, **more}
    return {"function_name": "is_next_to", "args": args}


def single(name, objects, **more):
    return {"function_name": name, "args": {"objects": objects, **more}}


def order(edges):
    return {"type": "TemporalConstraint", "edges": edges}


def groups(lists):
    return {"type": "TemporalConstraint", "groups": lists}


def same(indices, arguments):
    tie = {"proposition_indices": indices, "arg_indices": arguments}
    return {"type": "SameArgConstraint", **tie}


def different(indices, arguments):
    tie = {"proposition_indices": indices, "arg_indices": arguments}
    return {"type": "DifferentArgConstraint", **tie}


def task(propositions, dependencies=(), constraints=(), **more):
    return {
        "propositions": list(propositions),
        "dependencies": list(dependencies),
        "constraints": list(constraints),
        **more,
    }


def reasons(result) -> list[str | None]:
    return [p.reason for p in result.propositions]


# In PARTNR-E1 toys go into the toy box and after that plants on a shelf, next to each other.
TRUCK, FOOD = "toy_fire_truck_0", "toy_food_0"
E1 = task(
    [
        inside([TRUCK], ["toy_box_0"]),
        inside([FOOD], ["toy_box_0"]),
        on_top(["plant_0"], ["table_2", "table_3"]),
        on_top(["plant_1"], ["table_2", "table_3"]),
        next_to(["plant_0"], ["plant_1"]),
    ],
    [after([4], [2, 3], "while_satisfied")],
    [groups([[0, 1], [2, 3, 4]]), terminal([0, 1, 2, 3, 4])],
)


@pytest.fixture
def e1(make_lab, rollout):
    lab = make_lab([TRUCK, FOOD, "plant_0", "plant_1"])
    return lab, rollout(lab, E1)


def test_e1_solved_and_check_11(e1) -> None:
    lab, run = e1
    run.then(lab.inside(TRUCK, "toy_box_0"))
    run.then(lab.inside(FOOD, "toy_box_0"))
    run.then(lab.on("plant_0", "table_2"))
    run.then(lab.on("plant_1", "table_2", dx=0.3))
    verdict = run.end()
    assert (verdict.percent_complete, verdict.success) == (1.0, True)
    assert verdict.explanation == ""
    assert (verdict.mode, verdict.variant) == ("strict", "boxes")
    assert verdict.sim_steps == 4


def test_e1_plant_before_food_and_check_11(e1) -> None:
    lab, run = e1
    run.then(lab.inside(TRUCK, "toy_box_0"))
    run.then(lab.on("plant_0", "table_2"))
    run.then(lab.inside(FOOD, "toy_box_0"))
    run.then(lab.on("plant_1", "table_2", dx=0.3))
    verdict = run.end()
    assert verdict.percent_complete == pytest.approx(0.8)
    assert not verdict.success
    assert reasons(verdict) == [None, None, Reason.OUT_OF_ORDER, None, None]
    for word in ("plant_0", FOOD, "before"):
        assert word in verdict.explanation
    assert verdict.explanation.count(".") == 1


def test_e1_a_plant_that_was_early_cannot_be_repaired_check_17(e1) -> None:
    lab, run = e1
    run.then(lab.inside(TRUCK, "toy_box_0"))
    run.then(lab.on("plant_0", "table_2"))
    run.then(lab.away("plant_0", 5))
    run.then(lab.inside(FOOD, "toy_box_0"))
    run.then(lab.on("plant_0", "table_2"))
    run.then(lab.on("plant_1", "table_2", dx=0.3))
    assert run.end().percent_complete == pytest.approx(0.8)
    assert reasons(run.end())[2] is Reason.OUT_OF_ORDER


@pytest.mark.parametrize(("dx", "expected"), [(-0.5, 1.0), (0.4, 0.8)])
def test_e1_plants_on_two_shelves_check_12(e1, dx, expected) -> None:
    lab, run = e1
    run.then(lab.inside(TRUCK, "toy_box_0"))
    run.then(lab.inside(FOOD, "toy_box_0"))
    run.then(lab.on("plant_0", "table_2", dx=0.3))
    run.then(lab.on("plant_1", "table_3", dx=dx))
    assert run.end().percent_complete == pytest.approx(expected)
    if expected < 1:
        assert reasons(run.end())[4] is Reason.NEVER


def test_e1_food_taken_out_before_the_end(e1) -> None:
    lab, run = e1
    run.then(lab.inside(TRUCK, "toy_box_0"))
    run.then(lab.inside(FOOD, "toy_box_0"))
    run.then(lab.on("plant_0", "table_2"))
    assert run.then(lab.on("plant_1", "table_2", dx=0.3)).success
    now = run.then(lab.away(FOOD, 5))
    # PARTNR-D28: what was complete can be undone.
    assert now.percent_complete == pytest.approx(0.8)
    assert reasons(now)[1] is Reason.NOT_TERMINAL


# In PARTNR-E2 ball and bat go to the kitchen, next to each other, and then to the closet.
def e2(dependencies, constraints):
    return task(
        [
            in_room(["ball_0"], ["kitchen_0"]),
            in_room(["bat_0"], ["kitchen_0"]),
            next_to(["ball_0"], ["bat_0"]),
            in_room(["ball_0"], ["closet_0"]),
            in_room(["bat_0"], ["closet_0"]),
        ],
        dependencies,
        [*constraints, terminal([3, 4])],
    )


BESIDE = after([2], [0, 1], "while_satisfied")
E2 = e2([BESIDE, after([3, 4], [0, 1], "after_satisfied")], [])
E2_EDGES = e2([BESIDE], [order([[0, 3], [0, 4], [1, 3], [1, 4]])])


@pytest.fixture
def toys(make_lab):
    return make_lab(["ball_0", "bat_0"]).at("ball_0", 25, 5).at("bat_0", 25.3, 5)


def test_e2_nothing_happens_check_13(toys, rollout) -> None:
    run = rollout(toys, E2)
    run.then(steps=10)
    assert run.end().percent_complete == 0.0
    assert [p.holds for p in run.end().propositions] == [False, False, True, True, True]
    assert reasons(run.end())[2:] == [Reason.GATE_CLOSED] * 3


def test_e2_there_and_back(toys, rollout) -> None:
    run = rollout(toys, E2)
    run.then(toys.at("ball_0", 3, 5))
    run.then(toys.at("bat_0", 3.3, 5))
    run.then(toys.at("ball_0", 25, 5))
    run.then(toys.at("bat_0", 25.3, 5))
    assert run.end().success


def test_e2_apart_in_the_kitchen(toys, rollout) -> None:
    run = rollout(toys, E2)
    run.then(toys.at("ball_0", 3, 5))
    run.then(toys.at("bat_0", 5, 5))
    run.then(toys.at("ball_0", 25, 5))
    run.then(toys.at("bat_0", 25.3, 5))
    assert run.end().percent_complete == pytest.approx(0.8)
    assert reasons(run.end())[2] is Reason.GATE_CLOSED
    assert "but not while" in run.end().explanation


def test_e2_one_after_the_other(toys, rollout) -> None:
    run = rollout(toys, E2)
    run.then(toys.at("ball_0", 3, 5))
    run.then(toys.at("ball_0", 25, 5))
    run.then(toys.at("bat_0", 3, 5))
    run.then(toys.at("bat_0", 25.3, 5))
    assert run.end().percent_complete == pytest.approx(0.8)


def test_e2_with_edges_instead_of_gates_check_14(toys, rollout) -> None:
    run = rollout(toys, E2_EDGES)
    run.then(toys.at("ball_0", 3, 5))
    run.then(toys.at("bat_0", 3.3, 5))
    run.then(toys.at("ball_0", 25, 5))
    run.then(toys.at("bat_0", 25.3, 5))
    assert run.end().percent_complete == pytest.approx(0.6)
    assert not run.end().success


@pytest.mark.parametrize(
    ("tables", "options", "expected"),
    [
        ((0, 1, None), {}, True),
        ((0, 1, None), {"arg_match": True}, False),
        ((0, 1, None), {"is_same_receptacle": True}, False),
        ((1, None, 1), {"arg_match": True}, True),
        ((1, 1, 1), {}, True),
        ((1, 1, 1), {"is_same_b": True}, True),
        ((1, None, None), {}, False),
    ],
)
def test_e3_spoons_check_8(make_lab, rollout, tables, options, expected) -> None:
    spoons = ["spoon_1", "spoon_2", "spoon_3"]
    lab = make_lab(spoons)
    for i, (spoon, number) in enumerate(zip(spoons, tables, strict=True)):
        if number is not None:
            lab.on(spoon, f"table_{number}", dx=0.2 * i)
    document = task([on_top(spoons, ["table_0", "table_1"], number=2, **options)])
    assert rollout(lab, document).end().success is expected


def test_check_9_number_counts_the_first_list_once(make_lab, rollout) -> None:
    lab = make_lab(["apple_0", "apple_1", "book_0", "book_1"])
    lab.at("apple_0", 1, 5).at("book_0", 1.2, 5).at("book_1", 0.8, 5)
    # DEFECT-D4: next to two books it is still one apple.
    document = task([next_to(["apple_0", "apple_1"], ["book_0", "book_1"], number=2)])
    run = rollout(lab, document)
    assert not run.end().success
    run.then(lab.at("apple_1", 1, 5.2))
    assert run.end().success


CANDLES = ["candle_0", "candle_1", "candle_2"]
E4 = task(
    [on_top([candle], ["table_0", "table_1", "table_2"]) for candle in CANDLES],
    constraints=[different([0, 1, 2], [1, 1])],
)


@pytest.mark.parametrize(("tables", "expected"), [((0, 0, 2), 2 / 3), ((0, 1, 2), 1.0)])
def test_e4_candles_check_19(make_lab, rollout, tables, expected) -> None:
    lab = make_lab(CANDLES)
    run = rollout(lab, E4)
    for i, number in enumerate(tables):
        run.then(lab.on(CANDLES[i], f"table_{number}", dx=0.3 * i - 0.3))
    assert run.end().percent_complete == pytest.approx(expected)
    if expected < 1:
        assert reasons(run.end()) == [None, Reason.ARG_NOT_DIFFERENT, None]
        assert "different receptacles" in run.end().explanation


@pytest.mark.parametrize(("orange", "expected"), [("table_1", 0.5), ("table_0", 1.0)])
def test_e5_apple_and_orange(make_lab, rollout, orange, expected) -> None:
    lab = make_lab(["apple_0", "orange_0"])
    both = ["table_0", "table_1"]
    document = task(
        [on_top(["apple_0"], both), on_top(["orange_0"], both)], constraints=[same([0, 1], [1, 1])]
    )
    run = rollout(lab, document)
    run.then(lab.on("apple_0", "table_0"))
    run.then(lab.on("orange_0", orange, dx=0.2))
    assert run.end().percent_complete == pytest.approx(expected)
    if expected < 1:
        assert reasons(run.end())[1] is Reason.ARG_NOT_SAME
        assert "should use the same receptacle" in run.end().explanation


@pytest.mark.parametrize(("placed", "expected"), [("cup_1", 0.5), ("cup_0", 1.0)])
def test_e5_fill_a_cup_then_that_cup_check_20(make_lab, rollout, placed, expected) -> None:
    cups = ["cup_0", "cup_1"]
    lab = make_lab(cups, ("fillable",))
    document = task(
        [single("is_filled", cups), on_top(cups, ["table_0"])], constraints=[same([0, 1], [0, 0])]
    )
    run = rollout(lab, document)
    run.then(lab.set("cup_0", "filled"))
    run.then(lab.on(placed, "table_0"))
    assert run.end().percent_complete == pytest.approx(expected)


def test_check_10_a_tie_on_the_first_argument(make_lab, rollout) -> None:
    shirts = ["shirt_0", "shirt_1"]
    lab = make_lab([*shirts, "pants_0"])
    lab.at("shirt_0", 1, 8).on("shirt_1", "table_0").on("pants_0", "table_0", dx=0.3)
    loose = [single("is_on_floor", shirts), next_to(shirts, ["pants_0"])]
    assert rollout(lab, task(loose)).end().percent_complete == 1.0
    tied = rollout(lab, task(loose, constraints=[same([0, 1], [0, 0])])).end()
    assert tied.percent_complete == pytest.approx(0.5)
    assert not tied.success


@pytest.mark.parametrize(
    ("gated", "more_states", "expected"), [(False, 1, 0.5), (True, 1, 1.0), (True, 0, 0.5)]
)
def test_e6_a_lamp_that_is_on_already(make_lab, rollout, gated, more_states, expected) -> None:
    lab = make_lab(["apple_0", "lamp_0"], ("powerable",)).set("lamp_0", "powered_on")
    gates = [after([1], [0], "after_satisfied")] if gated else []
    document = task(
        [on_top(["apple_0"], ["table_0"]), single("is_powered_on", ["lamp_0"])],
        gates,
        [order([[0, 1]])],
    )
    run = rollout(lab, document)
    run.then(lab.on("apple_0", "table_0"))
    for _ in range(more_states):
        run.then()
    assert run.end().percent_complete == pytest.approx(expected)
    # Whoever says that the task is over says so a step later at least.
    assert run.evaluator.finish().percent_complete == pytest.approx(1.0 if gated else 0.5)
    assert run.evaluator.finish().sim_steps == 1 + more_states


@pytest.mark.parametrize(
    ("gated", "final", "expected"),
    [(True, [1, 2], 1.0), (True, [0, 1, 2], 2 / 3), (False, [1, 2], 2 / 3)],
)
def test_e7_wash_a_cup_and_put_it_back(make_lab, rollout, gated, final, expected) -> None:
    lab = make_lab(["cup_0"], ("cleanable",)).set("cup_0", "clean", False)
    lab.inside("cup_0", "cabinet_0")
    document = task(
        [
            on_top(["cup_0"], ["table_0"]),
            single("is_clean", ["cup_0"]),
            inside(["cup_0"], ["cabinet_0"]),
        ],
        [after([2], [0], "after_satisfied")] if gated else [],
        [order([[0, 1], [1, 2]]), terminal(final)],
    )
    run = rollout(lab, document)
    run.then(lab.on("cup_0", "table_0"))
    run.then(lab.set("cup_0", "clean"))
    run.then(lab.inside("cup_0", "cabinet_0"))
    assert run.end().percent_complete == pytest.approx(expected)


def test_e8_both_in_one_step_check_16(make_lab, rollout) -> None:
    lab = make_lab(["cup_0", "cup_1"])
    document = task(
        [on_top(["cup_0"], ["table_0"]), on_top(["cup_1"], ["table_0"])],
        constraints=[order([[0, 1]])],
    )
    run = rollout(lab, document)
    run.then(lab.on("cup_0", "table_0"), lab.on("cup_1", "table_0", dx=0.3))
    assert run.end().percent_complete == pytest.approx(0.5)
    assert not run.end().success
    assert "at the same time" in run.end().explanation


@pytest.mark.parametrize(("excluded", "satisfied"), [(None, False), ([0], True)])
def test_check_18_what_was_achieved_has_to_last(make_lab, rollout, excluded, satisfied) -> None:
    lab = make_lab(["cup_0"])
    more = {} if excluded is None else {"exclude_final_constraint": excluded}
    run = rollout(lab, task([on_top(["cup_0"], ["table_0"])], **more))
    run.then(lab.on("cup_0", "table_0"), steps=5)
    run.then(lab.away("cup_0"), steps=4)
    assert run.end().success is satisfied
    assert run.end().sim_steps == 9
    assert reasons(run.end()) == [None if satisfied else Reason.NOT_TERMINAL]


def test_check_21_after_unsatisfied(make_lab, rollout) -> None:
    lab = make_lab(["cup_0"]).on("cup_0", "table_0")
    document = task(
        [on_top(["cup_0"], ["table_1"]), on_top(["cup_0"], ["table_0"])],
        [after([1], [0], "after_unsatisfied")],
        [terminal([1])],
    )
    run = rollout(lab, document)
    run.then(lab.on("cup_0", "table_1"))
    run.then(lab.at("cup_0", 3.5, 4, 1.0))
    run.then(lab.on("cup_0", "table_0"))
    run.then()
    assert [p.first_step for p in run.end().propositions] == [1, 3]
    assert run.end().success


@pytest.mark.parametrize("mode", ["all", "any"])
def test_a_gate_may_need_all_its_heads_or_any(make_lab, rollout, mode) -> None:
    lab = make_lab(["cup_0", "cup_1", "cup_2"])
    document = task(
        [on_top([f"cup_{i}"], ["table_0"]) for i in range(3)],
        [after([2], [0, 1], "after_satisfied", dependency_mode=mode)],
    )
    run = rollout(lab, document)
    run.then(lab.on("cup_0", "table_0"))
    run.then(lab.on("cup_2", "table_0", dx=0.3))
    assert run.end().propositions[2].satisfied is (mode == "any")


def test_check_22_success_is_all_and_percent_is_a_share(e1) -> None:
    lab, run = e1
    moves = [
        lambda: lab.inside(TRUCK, "toy_box_0"),
        lambda: lab.on("plant_0", "table_2"),
        lambda: lab.inside(FOOD, "toy_box_0"),
        lambda: lab.on("plant_1", "table_3", dx=-0.4),
        lambda: lab.away("plant_0", 5),
        lambda: lab.on("plant_0", "table_2", dx=0.4),
    ]
    for move in moves:
        move()
        # Which agent is near, and where, is nothing to the judge.
        now = run.then(lab.at("agent_0", 12, 2))
        assert now.success is (now.percent_complete == 1.0)
        assert now.success is (now.explanation == "")
        assert now.percent_complete * 5 == pytest.approx(round(now.percent_complete * 5))


def test_check_23_groups_are_edges_between_neighbours() -> None:
    assert group_edges([[0, 1], [2, 3, 4]]) == set(itertools.product([0, 1], [2, 3, 4]))
    assert group_edges([[0], [1], [2]]) == {(0, 1), (1, 2)}


def test_clusters_choose_one_of_each_list(make_lab, rollout) -> None:
    lab = make_lab(["toy_0", "toy_1", "hat_0", "book_0"])
    lab.at("toy_1", 1, 5).at("hat_0", 1.2, 5)
    lists = {"entities": [["toy_0", "toy_1"], ["hat_0"], ["book_0", "hat_0"]]}
    run = rollout(lab, task([{"function_name": "is_clustered", "args": lists}]))
    # The hat cannot be two things at once (PARTNR-D15).
    assert not run.end().success
    run.then(lab.at("book_0", 1, 5.2))
    assert run.end().success


def test_d_24_a_tied_receptacle_is_one_receptacle(make_lab, rollout) -> None:
    lab = make_lab(["cup_0", "cup_1", "book_0"])
    both = ["table_0", "table_1"]
    document = task(
        [on_top(["cup_0", "cup_1"], both, number=2), on_top(["book_0"], both)],
        constraints=[same([0, 1], [1, 1])],
    )
    lab.on("cup_0", "table_0").on("cup_1", "table_1").on("book_0", "table_1", dx=0.3)
    run = rollout(lab, document)
    assert reasons(run.end()) == [Reason.NEVER, None]
    run.then(lab.on("cup_0", "table_1", dx=-0.3))
    assert run.end().success


def test_d_22_what_served_while_the_gate_was_shut_does_not_count(make_lab, rollout) -> None:
    lab = make_lab(["cup_0", "plate_0", "book_0"])
    both = ["table_0", "table_1"]
    document = task(
        [
            on_top(["cup_0"], both),
            on_top(["plate_0"], both),
            on_top(["book_0"], ["table_3"]),
        ],
        [after([0], [2], "after_satisfied")],
        [same([0, 1], [1, 1]), terminal([2])],
    )
    run = rollout(lab, document)
    run.then(lab.on("cup_0", "table_1"), lab.on("plate_0", "table_1", dx=0.3))
    run.then(lab.on("book_0", "table_3"), lab.on("cup_0", "table_0"))
    run.then()
    assert reasons(run.end()) == [None, Reason.ARG_NOT_SAME, None]
    # Passing by the plate's table, now that it counts, is enough where nothing has to last.
    run.then(lab.on("cup_0", "table_1"))
    run.then(lab.away("cup_0"))
    assert run.end().success


def test_what_is_taken_away_from_between_changes_what_a_thing_is_on(make_lab, rollout) -> None:
    lab = make_lab(["cup_0", "tray_0"]).size("tray_0", (0.4, 0.4, 0.02))
    lab.on("tray_0", "table_0").at("cup_0", 2, 2, 0.72)
    run = rollout(lab, task([on_top(["cup_0"], ["table_0"])]))
    assert not run.end().success
    # Nothing that the proposition names has moved.
    assert run.then(lab.on("tray_0", "table_1")).success
    assert not run.then(lab.on("tray_0", "table_0")).success
    del lab.entities["tray_0"]
    assert run.then().success


def test_only_agents_and_strangers_move(make_lab, rollout) -> None:
    lab = make_lab(["cup_0", "book_0"]).on("cup_0", "table_0")
    run = rollout(lab, task([on_top(["cup_0"], ["table_0"])]))
    before = run.then()
    now = run.then(lab.at("agent_0", 2, 2), lab.at("book_0", 5, 5))
    assert now.propositions is before.propositions
    assert (now.sim_steps, now.success) == (2, True)


def test_time_does_not_run_backwards(make_lab, rollout) -> None:
    lab = make_lab(["cup_0"])
    run = rollout(lab, task([on_top(["cup_0"], ["table_0"])]))
    run.then(steps=5)
    with pytest.raises(BrokenStateError, match="step 2 comes after step 5"):
        run.then(steps=-3)
    run.evaluator.finish()
    with pytest.raises(BrokenStateError, match="episode is finished"):
        run.then(steps=9)


def test_a_stream_of_changes_gives_what_every_step_gives(make_lab, rollout) -> None:
    document = task(
        [on_top(["cup_0"], ["table_0"]), on_top(["cup_0"], ["table_0", "table_1"])],
        [after([1], [0], "after_satisfied")],
    )
    labs = [make_lab(["cup_0"]) for _ in range(2)]
    each, changes = (rollout(lab, document) for lab in labs)
    each.then(labs[0].on("cup_0", "table_0"))
    for _ in range(9):
        each.then()
    changes.then(labs[1].on("cup_0", "table_0"))
    changes.then(steps=9)
    assert each.end() == changes.end()
    assert [p.first_step for p in each.end().propositions] == [1, 2]
