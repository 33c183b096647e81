"""What a stream of states makes of a task: times, errors, ends, and what is remembered."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.predicates import Variant
from planner.evaluation.progress import Mode, Reason
from planner.evaluation.scene import BrokenStateError, MissingEntityError
from planner.evaluation.task import Evaluation
from planner.world.episode import ROBOT, Criteria
from planner.world.errors import FileError
from planner.world.geometry import Box


def on(name, table):
    return {"function_name": "is_on_top", "args": {"objects": [name], "receptacles": [table]}}


CUP, PLATE = on("cup_0", "table_0"), on("plate_0", "table_1")
GATE = {"proposition_indices": [1], "depends_on": [0], "relation_type": "after_satisfied"}
FLOOR = {"function_name": "is_on_floor", "args": {"objects": ["cup_0"]}}
CLOSE = Criteria(variables={"A": ("plate_0",)}, success=(("CLOSE", ROBOT, "A"),))


def goal(*propositions, **more) -> Evaluation:
    return read_evaluation({"propositions": list(propositions), **more}, "test")


@pytest.fixture
def lab(make_lab):
    return make_lab(["cup_0", "plate_0", "book_0"])


def judge(lab, *propositions, gates=(), **more) -> Evaluator:
    return Evaluator(goal(*propositions, dependencies=list(gates)), lab.house, lab.state(), **more)


def both(lab):
    """Cup and plate where they belong."""
    return lab.on("cup_0", "table_0").on("plate_0", "table_1")


# Time


def test_a_state_lasts_until_the_next_one_and_gates_open_meanwhile(lab) -> None:
    it = judge(lab, CUP, PLATE, gates=[GATE])
    now = it.update(both(lab).state(4))
    start = lab.step
    assert [p.first_step for p in now.propositions] == [start, None]
    assert [p.holds for p in now.propositions] == [True, True]
    assert [p.satisfied for p in now.propositions] == [True, False]
    now = it.update(lab.state(9))
    assert [p.first_step for p in now.propositions] == [start, start + 1]
    assert (now.success, now.percent_complete, now.explanation) == (True, 1.0, "")
    assert now.sim_steps == lab.step


def test_a_gate_that_opens_in_a_step_without_a_state_opens_before_the_next_change(lab) -> None:
    it = judge(lab, CUP, PLATE, gates=[GATE])
    it.update(both(lab).state())
    at = lab.step
    now = it.update(lab.away("plate_0").state(5))
    assert [p.first_step for p in now.propositions] == [at, at + 1]
    assert now.propositions[1].reason is Reason.NOT_TERMINAL
    soon = judge(lab.away("cup_0"), CUP, PLATE, gates=[GATE])
    soon.update(both(lab).state())
    now = soon.update(lab.away("plate_0").state(1))
    assert now.propositions[1].first_step is None, "there was no step in between"


def test_a_state_without_a_change_moves_the_clock_alone(lab) -> None:
    it = judge(lab, CUP)
    before = it.update(lab.on("cup_0", "table_0").state())
    after = it.update(lab.state(7))
    assert after.sim_steps == before.sim_steps + 7 == lab.step
    assert after.propositions == before.propositions
    again = it.update(lab.state(0))
    assert again is after
    assert it.progress is again


def test_at_the_end_the_world_stands_still_until_gates_have_opened(lab) -> None:
    it = judge(lab, CUP, PLATE, gates=[GATE])
    it.update(both(lab).state(3))
    assert not it.result().success
    it.start_step = 2
    verdict = it.finish()
    assert (verdict.success, verdict.sim_steps) == (True, lab.step - 2)
    assert it.finish() is verdict
    early = judge(lab, CUP)
    early.start_step = lab.step + 5
    assert early.result().sim_steps == 0


def test_a_verdict_says_all_that_progress_does(lab) -> None:
    it = judge(lab, CUP, PLATE, criteria=CLOSE, unmet=["There is no piano."])
    now = it.update(lab.on("cup_0", "table_0").state())
    verdict = it.result()
    assert (verdict.episode_id, verdict.mode, verdict.variant) == (
        "episode",
        Mode.STRICT,
        Variant.BOXES,
    )
    for name in ("percent_complete", "success", "propositions", "explanation", "criteria"):
        assert getattr(verdict, name) == getattr(now, name)
    assert (verdict.understood, now.understood) == (True, True)
    # One proposition of two, no part that cannot be met, and no criterion.
    assert verdict.percent_complete == 0.25
    assert verdict.explanation == (
        '"plate_0 on top of table_1" was never achieved. There is no piano. '
        "At the end agent_0 is not close to plate_0."
    )
    assert [p.index for p in verdict.propositions] == [0, 1]
    assert [p.text for p in verdict.propositions] == [
        "cup_0 on top of table_0",
        "plate_0 on top of table_1",
    ]
    assert [p.reason for p in verdict.propositions] == [None, Reason.NEVER]
    assert [p.detail for p in verdict.propositions] == [
        "",
        '"plate_0 on top of table_1" was never achieved.',
    ]


def test_a_goal_all_of_whose_parts_are_met_is_done_without_criteria(lab) -> None:
    it = judge(lab, CUP, unmet=[])
    now = it.update(lab.on("cup_0", "table_0").state())
    assert (now.success, now.percent_complete, now.understood) == (True, 1.0, True)
    nothing = Evaluator(goal_of_nothing(), lab.house, lab.state(), unmet=[])
    assert (nothing.progress.success, nothing.progress.percent_complete) == (True, 1.0)
    assert not judge(lab, CUP).progress.understood


def goal_of_nothing() -> Evaluation:
    return Evaluation(())


# Errors


def test_a_goal_that_asks_for_nothing_is_an_error_of_its_episode(lab) -> None:
    with pytest.raises(FileError) as caught:
        Evaluator(goal_of_nothing(), lab.house, lab.state())
    assert (caught.value.file, caught.value.field) == ("episode", "evaluation")
    assert caught.value.reason == "asks for nothing"
    with pytest.raises(FileError) as caught:
        judge(lab, on("cup_9", "table_0"))
    assert caught.value.file == "episode"


def test_nothing_is_judged_after_the_end_or_before_the_last_state(lab) -> None:
    it = judge(lab, CUP)
    it.update(lab.state(5))
    old = lab.step
    lab.step -= 3
    told = f"^step {old - 2} comes after step {old}: a new episode needs a new evaluator$"
    with pytest.raises(BrokenStateError, match=told):
        it.update(lab.state())
    it.finish()
    with pytest.raises(BrokenStateError, match=r"^episode is finished; nothing more is judged$"):
        it.update(lab.state(9))


def test_what_the_goal_names_may_not_vanish_and_anything_else_may(lab) -> None:
    it = judge(lab, CUP, criteria=CLOSE)
    del lab.entities["book_0"]
    it.update(lab.state())
    for name in ("plate_0", "cup_0"):
        kept = lab.entities.pop(name)
        state = lab.state()
        told = (
            f"^{name}, which the goal names, is gone from the world's state at step {state.step}$"
        )
        with pytest.raises(MissingEntityError, match=told):
            it.update(state)
        lab.entities[name] = kept


def test_a_perceived_world_may_lack_and_lose_what_the_goal_names(lab) -> None:
    cup = lab.entities.pop("cup_0")
    it = judge(lab, CUP, variant=Variant.PERCEIVED)
    assert it.progress.variant is Variant.PERCEIVED
    lab.entities["cup_0"] = cup
    assert it.update(lab.on("cup_0", "table_0").state()).success
    del lab.entities["cup_0"]
    assert not it.update(lab.state()).success


# Changes


def test_changes_may_be_told_or_found(lab) -> None:
    told, found = judge(lab, CUP, PLATE), judge(lab, CUP, PLATE)
    state = both(lab).state()
    assert sorted(told.changes(state)) == ["cup_0", "plate_0"]
    names = ["cup_0", "plate_0"]
    assert told.update(state, names).success
    assert found.update(state).success
    assert list(told.changes(state)) == []
    del lab.entities["book_0"]
    lab.away("cup_0")
    state = lab.state()
    assert sorted(told.changes(state)) == ["book_0", "cup_0"]
    assert not told.update(state, ["book_0", "cup_0"]).success
    assert not found.update(state).success
    lab.entities["book_1"] = replace(lab.entities.pop("plate_0"), name="book_1")
    assert sorted(told.changes(lab.state())) == ["book_1", "plate_0"], "as many as before"


def test_what_is_not_told_as_changed_is_not_looked_at(lab) -> None:
    it = judge(lab, CUP)
    assert not it.update(lab.on("cup_0", "table_0").state(), []).success


# Latches


def test_latches_keep_propositions_and_criteria(lab) -> None:
    it = judge(lab, CUP, criteria=CLOSE)
    it.update(lab.on("cup_0", "table_0").state())
    at = lab.step
    box = lab.entities["plate_0"].box
    lab.at("agent_0", *box.center_m[:2])
    it.update(lab.state())
    kept = json.loads(json.dumps(it.latches()))
    assert kept["criteria"]["first_step"] == lab.step
    lab.away("cup_0").at("agent_0", 1, 1)
    other = judge(lab, CUP, criteria=CLOSE, latches=kept)
    now = other.progress
    assert now.propositions[0].first_step == at
    assert now.propositions[0].reason is Reason.NOT_TERMINAL
    assert now.criteria is not None
    assert now.criteria.first_step == kept["criteria"]["first_step"]
    assert "criteria" not in judge(lab, CUP).latches()
    told = r"^episode: latches do not fit: KeyError\('criteria'\)$"
    with pytest.raises(BrokenStateError, match=told):
        judge(lab, CUP, criteria=CLOSE, latches=judge(lab, CUP).latches())


# What stays while things are carried


def box_at(x: float, y: float, z: float = 0.9, half: float = 0.1) -> Box:
    return Box.around((x, y, z), (2 * half, 2 * half, 2 * half))


def test_far_from_all_that_counts_nothing_changes(lab) -> None:
    it = judge(lab.on("cup_0", "table_0"), CUP, FLOOR)
    assert it.keeps({"book_0": box_at(8, 3)})
    assert it.keeps({"agent_0": box_at(2, 2)}), "agents are passed through"
    assert not it.keeps({"cup_0": Box((1, 1, 0.5), (9, 4, 1))}), "it leaves the table"
    assert not it.keeps({"table_0": box_at(2, 2)})
    assert not it.keeps({"book_0": box_at(2, 2, 0.5)}), "it may get between cup and table"
    assert it.keeps({"nothing_0": box_at(2, 2)})


def test_criteria_have_to_stay_as_well(lab) -> None:
    it = judge(lab, CUP, criteria=CLOSE)
    assert it.keeps({"agent_0": box_at(2, 2)})
    plate = lab.entities["plate_0"].box.center_m
    assert not it.keeps({"agent_0": box_at(plate[0], plate[1])})
    assert judge(lab, CUP).keeps({"agent_0": box_at(plate[0], plate[1])})
