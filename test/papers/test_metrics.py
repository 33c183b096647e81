"""The metrics of EPM, LLaMAR, ET-Plan-Bench and TEACh: checks by their numbers.

EPM-C41, LLAMAR-C33 to LLAMAR-C38, ETPLAN-C16 to ETPLAN-C22, HELPER-C40 to HELPER-C42.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from papers.et_plan_bench import metrics as et_plan_bench
from papers.helper import metrics as teach
from papers.llamar import metrics as llamar
from papers.partnr import metrics as epm
from papers.partnr import metrics as partnr
from planner.cli import main
from planner.evaluation.metrics.table import compare, metrics, summarise
from planner.evaluation.statistics import rate
from planner.evaluation.task import Predicate
from planner.evaluation.trace import (
    DecisionLine,
    MoveLine,
    ProgressLine,
    Reference,
    SubtaskLine,
    TracedProposition,
    read_traces,
)
from planner.world.errors import PlannerError
from planner.world.skill import SkillCode
from planner.world.vocabulary import AgentKind


def place(name: str, on: str = "table_0") -> str:
    return f"Place[{name}, on, {on}, None, None]"


# EPM-C41


def test_epm_check_41_success_after_failure(make_trace, make_call) -> None:
    failed = make_call("Pick[cup_0]", code=SkillCode.GRASP_FAILED)
    traces = [
        make_trace((True, True), calls=[failed, make_call("Pick[cup_0]")]),
        make_trace((True, True, True, False), calls=[failed]),
        make_trace((True,), calls=[make_call("Pick[cup_0]")]),
    ]
    of_tasks = [
        replace(trace, episode=replace(trace.episode, episode_id=name))
        for name, trace in zip("abc", traces, strict=True)
    ]
    rows = {row.metric.name: row for row in summarise(of_tasks)}
    assert rows["success_after_failure"].estimate.value == 0.5
    assert rows["success_after_failure"].estimate.n == 2
    assert rows["success_after_failure"].left_out == {"no skill call failed": 1}
    assert rows["no_skill_failure"].estimate.value == pytest.approx(1 / 3)
    assert rows["skill_success"].estimate.value == pytest.approx((0.5 + 0 + 1) / 3)
    assert rows["percent_complete"].estimate.value == pytest.approx((1 + 0.75 + 1) / 3)
    assert rows["success"].estimate.value == pytest.approx(2 / 3)


def test_epm_check_41_rates_of_the_real_robot() -> None:
    assert rate(14, 20).value == 0.7
    assert rate(11, 20).value == 0.55


def test_epm_check_41_planning_success_forgives_what_failed_in_the_world(
    make_trace, make_call
) -> None:
    dropped = make_call(place("cup_1"), code=SkillCode.GRASP_FAILED)
    slipped = make_call("Pick[cup_1]", code=SkillCode.GRASP_FAILED)
    for call in (dropped, slipped):
        found = make_trace((True, False), calls=[call])
        assert epm.planning_success(found).value == 1.0
        assert epm.execution_success(found).value == 0.0
    done = make_trace((True, True), calls=[dropped])
    assert (epm.planning_success(done).value, epm.execution_success(done).value) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        # The wrong thing, the wrong table, a mistake of the planner, one that it gave up, none.
        (place("cup_7"), SkillCode.GRASP_FAILED),
        (place("cup_1", "table_9"), SkillCode.GRASP_FAILED),
        (place("cup_1"), SkillCode.UNKNOWN_ENTITY),
        (place("cup_1"), SkillCode.CANCELED),
        (place("cup_1"), SkillCode.SUCCESS),
        ("Clean[cup_1]", SkillCode.TIMED_OUT),
    ],
)
def test_epm_check_41_planning_success_forgives_nothing_else(
    make_trace, make_call, text, code
) -> None:
    found = make_trace((True, False), calls=[make_call("Pick[cup_0]"), make_call(text, code=code)])
    assert epm.planning_success(found).value == 0.0


def test_epm_planning_success_is_vacuous_where_nothing_was_to_do(make_trace, make_call) -> None:
    done = (ProgressLine(0, 1.0, (True,)),)
    idle = make_trace(progress=done, calls=[make_call("Pick[cup_0]")])
    assert epm.planning_success(idle).left_out == "vacuous: complete at the start"
    assert epm.execution_success(idle).left_out == "vacuous: complete at the start"
    assert epm.planning_success(make_trace()).left_out == "vacuous: no skill was called"


def test_epm_what_cannot_fail_and_what_was_given_up_does_not_count(make_trace, make_call) -> None:
    calls = [
        make_call("Wait[]"),
        make_call("Done[]"),
        make_call("FindObjectTool[toys]"),
        make_call("Navigate[table_0]", code=SkillCode.CANCELED),
    ]
    assert epm.skill_success(make_trace(calls=calls)).value is None
    assert epm.no_skill_failure(make_trace(calls=calls)).left_out.startswith("vacuous")
    calls.append(make_call("rubbish", code=SkillCode.UNPARSABLE))
    assert epm.skill_success(make_trace(calls=calls)).value == 0.0


# LLAMAR-8


def ticks(*counts: int) -> tuple[Reference, tuple[SubtaskLine, ...]]:
    lines = [
        SubtaskLine(n, f"agent_{i}", sum(counts[:i]) + n)
        for i, count in enumerate(counts)
        for n in range(count)
    ]
    return Reference(subtasks=tuple(map(str, range(max(sum(counts), 14))))), tuple(lines)


@pytest.mark.parametrize(
    ("counts", "value"), [((3, 4), 0.74998), ((0, 5), 0), ((0, 0), 0), ((4, 4), 0.99998)]
)
def test_llamar_check_33_balance(make_trace, counts, value) -> None:
    reference, lines = ticks(*counts)
    found = make_trace(reference=reference, subtasks=lines)
    assert llamar.balance(found).value == pytest.approx(value, abs=5e-6)


def test_llamar_check_34_balance_ignores_what_brings_nothing_on(make_trace, make_call) -> None:
    calls = [
        make_call("Pick[cup_0]"),
        make_call(place("cup_0")),
        make_call("Open[cabinet_9]", agent="agent_1"),
    ]
    found = make_trace(calls=calls)
    assert llamar.balance(found).value == 0.0
    assert llamar.balance_all(found).value == 0.5
    alone = make_trace(agents=(("agent_0", AgentKind.ROBOT),), calls=calls[:2])
    assert llamar.balance(alone).left_out == "one agent alone"


def test_llamar_check_35_coverage(make_trace, make_call) -> None:
    asked = tuple(
        TracedProposition(name, Predicate.IS_INSIDE, ((name,), ("fridge_0",)))
        for name in ("bread_0", "tomato_0", "lettuce_0")
    )
    calls = [
        make_call("Pick[bread_0]"),
        make_call("Open[fridge_0]"),
        make_call("Pick[tomato_0]", code=SkillCode.TOO_FAR),
    ]
    found = make_trace((False,) * 3, propositions=asked, calls=calls)
    assert llamar.coverage(found).value == 0.5
    assert llamar.coverage_attempted(found).value == 0.75


def test_llamar_coverage_attempted_takes_any_action_on_a_target(make_trace, make_call) -> None:
    calls = [make_call("Navigate[cup_0]", code=SkillCode.TOO_FAR), make_call("Wait[]")]
    found = make_trace(calls=calls)
    assert llamar.coverage(found).value == 0.0
    assert llamar.coverage_attempted(found).value == 0.5


def test_llamar_of_alternatives_as_many_are_targets_as_are_needed(make_trace, make_call) -> None:
    cups = ("cup_0", "cup_1", "cup_2")
    two = TracedProposition("two cups", Predicate.IS_IN_ROOM, (cups, ("kitchen_0",)), 2)
    calls = [make_call("Pick[cup_1]")]
    found = make_trace(propositions=(two,), calls=calls)
    assert llamar.coverage(found).value == 0.5
    floor = TracedProposition(
        "on the floor", Predicate.IS_ON_TOP, (("cup_0",), ("floor_kitchen_0",))
    )
    assert llamar.coverage(make_trace(propositions=(floor,), calls=calls)).value == 0.0


def test_llamar_check_36_interval_of_a_rate() -> None:
    found = rate(23, 45)
    assert (round(found.low, 3), round(found.high, 3)) == (0.358, 0.663)
    none = rate(0, 45)
    assert (none.low, round(none.high, 3)) == (0, 0.079)
    # LLAMAR-5.3
    assert [round(x, 3) for x in (rate(15, 45).low, rate(15, 45).high)] == [0.2, 0.49]


def test_llamar_checks_15_and_37_transport_rate(make_trace) -> None:
    reference, lines = ticks(7)
    half = make_trace(reference=reference, subtasks=lines)
    assert llamar.transport_rate(half).value == 0.5
    assert llamar.success(half).value == 0.0
    three_of_four = make_trace((True, True, True, False))
    assert llamar.transport_rate(three_of_four).value == 0.75
    assert llamar.success(three_of_four).value == 0.0


def test_llamar_check_38_two_of_three_apples(make_trace) -> None:
    found = make_trace((True, True, False))
    assert llamar.success(found).value == 0.0
    assert llamar.transport_rate(found).value < 1


def test_llamar_steps_are_joint_decisions(make_trace) -> None:
    both = ("agent_0", "agent_1")
    decisions = tuple(DecisionLine(n, "llamar", both, n // 2, "m") for n in range(2, 62))
    assert llamar.joint_steps(make_trace(decisions=decisions)).value == 30
    assert llamar.joint_steps(make_trace()).left_out == "nothing was decided"


def test_llamar_steps_of_a_plan_made_once_are_the_calls_of_the_busiest_agent(
    make_trace, make_call
) -> None:
    both = ("agent_0", "agent_1")
    planned = (DecisionLine(1, "llamar_smart_llm", both, 1, "m"),)
    calls = [make_call("Pick[cup_0]"), *[make_call("Open[cabinet_9]", agent="agent_1")] * 3]
    assert llamar.joint_steps(make_trace(calls=calls, decisions=planned)).value == 3


def test_llamar_steps_without_a_model_are_the_calls_of_the_busiest_agent(
    make_trace, make_call
) -> None:
    # LLAMAR-D44
    calls = [make_call("Pick[cup_0]"), make_call("Navigate[table_0]", agent="agent_1")]
    calls += [make_call("Open[cabinet_9]", agent="agent_1"), make_call("Wait[]")]
    moments = tuple(DecisionLine(n, "expert", ("agent_0", "agent_1"), n) for n in range(1, 5))
    found = make_trace(calls=calls, decisions=moments)
    assert llamar.joint_steps(found).value == 2


# ETPLAN-8


def et(make_trace, make_call, did, truth, *, success=True, most=20, moves=()):
    return make_trace(
        (success,),
        calls=[make_call(text, i) for i, text in enumerate(did)],
        reference=Reference(actions=tuple(truth), most_actions=most),
        moves=tuple(moves),
    )


@pytest.mark.parametrize(
    ("did", "truth", "lcs", "ratio"),
    [
        (["WALK kitchen", "WALK apple"], ["WALK kitchen", "WALK apple"], 2, 1.0),
        (
            ["walk bathroom", "walk stall", "walk toilet"],
            ["walk bathroom", "walk toilet"],
            2,
            1.0,
        ),
        (list("axbyc"), list("abc"), 3, 1.0),
        (list("cba"), list("abc"), 1, 1 / 3),
        (["Navigate[table_0]"], ["navigate table_0", "pick cup_0"], 1, 0.5),
    ],
)
def test_et_checks_17_to_19_lcs(make_trace, make_call, did, truth, lcs, ratio) -> None:
    """ETPLAN-C17, ETPLAN-C18 and ETPLAN-C19."""
    found = et(make_trace, make_call, did, truth)
    assert et_plan_bench.sequence_length(found).value == len(did)
    assert et_plan_bench.lcs_length(found).value == lcs
    assert et_plan_bench.lcs_ratio(found).value == pytest.approx(ratio)


def test_et_check_16_looking_round_is_no_action(make_trace, make_call) -> None:
    """ETPLAN-C16."""
    found = et(
        make_trace,
        make_call,
        ["FindObjectTool[apples]", "Wait[]", *["LookRound[]"] * 3, "a"],
        ["a"],
    )
    assert et_plan_bench.sequence_length(found).value == 1
    assert et_plan_bench.lcs_ratio(found).value == 1.0


def test_et_of_what_only_its_class_is_named_any_entity_will_do(make_trace, make_call) -> None:
    """The action equality of ETPLAN-5."""
    calls = ("Navigate[apple_1]", "Pick[apple_1]", "Navigate[table_0]")
    truth = ("Navigate[apple_0]", "Pick[apple_0]", "Navigate[table_1]")
    found = et(make_trace, make_call, calls, truth)
    assert et_plan_bench.lcs_length(found).value == 0
    alike = replace(found.episode.reference, alike=(("apple_0", "apple_1"),))
    found = replace(found, episode=replace(found.episode, reference=alike))
    assert et_plan_bench.lcs_length(found).value == 2


def test_et_check_20_a_failed_episode(make_trace, make_call) -> None:
    """ETPLAN-C20."""
    truth = ["Navigate[room_0]", "Navigate[cup_0]"]
    did = ["Navigate[room_0]", *["Navigate[room_1]"] * 6]
    moves = [MoveLine(0, "agent_0", 0, 0), MoveLine(1, "agent_0", 3, 4)]
    found = et(make_trace, make_call, did, truth, success=False, moves=moves)
    assert len(did) == 7
    assert et_plan_bench.sequence_length(found).value == 20
    assert et_plan_bench.moving_distance(found).value is None
    assert et_plan_bench.lcs_length(found).value == 1
    unlimited = et(make_trace, make_call, did, truth, success=False, most=None)
    assert et_plan_bench.sequence_length(unlimited).left_out == "no limit M was given"


def test_et_check_21_moving_distance(make_trace, make_call) -> None:
    """ETPLAN-C21."""
    places = [(0, 0), (3, 4), (3, 4), (3, 8)]
    moves = [MoveLine(i, "agent_0", x, y) for i, (x, y) in enumerate(places)]
    moves.append(MoveLine(5, "agent_1", 9, 9))
    found = et(make_trace, make_call, [], ["a"], moves=moves)
    assert et_plan_bench.moving_distance(found).value == 9.0


def test_et_check_22_without_a_success_no_distance(make_trace) -> None:
    """ETPLAN-C22."""
    (row,) = summarise([make_trace((False,))], [metrics()["moving_distance"]])
    assert (row.estimate.value, row.estimate.n) == (None, 0)


@pytest.mark.parametrize(("met", "step", "value"), [(True, 7, 1.0), (False, None, 0.0)])
def test_et_success_is_by_the_criteria(make_trace, make_call, met, step, value) -> None:
    moves = (MoveLine(0, "agent_0", 0, 0), MoveLine(1, "agent_0", 3, 4))
    found = et(make_trace, make_call, ["a"], ["a"], success=not met, moves=moves)
    found = replace(found, end=replace(found.end, criteria=met, criteria_step=step))
    assert et_plan_bench.criteria_success(found).value == value
    assert et_plan_bench.sequence_length(found).value == (1 if met else 20)
    assert et_plan_bench.moving_distance(found).value == (5.0 if met else None)
    assert et_plan_bench.lcs_ratio(found).value == 1.0


def test_et_success_says_nothing_where_nothing_was_asked_or_to_do(make_trace) -> None:
    found = make_trace()
    assert et_plan_bench.criteria_success(found).left_out == "no criteria were given"
    idle = replace(found, end=replace(found.end, criteria=True, criteria_step=0))
    assert et_plan_bench.criteria_success(idle).left_out == "vacuous: complete at the start"


def test_et_what_a_thing_is_put_next_to_is_no_other_action(make_trace, make_call) -> None:
    did = ["Place[cup_0, on, table_0, next_to, cup_1]"]
    found = et(make_trace, make_call, did, ["Place[cup_0, on, table_0, None, None]"])
    assert et_plan_bench.lcs_length(found).value == 1
    other = et(make_trace, make_call, did, ["Place[cup_0, within, table_0, None, None]"])
    assert et_plan_bench.lcs_length(other).value == 0


def test_et_check_42_a_rate_in_percent() -> None:
    """ETPLAN-C42."""
    assert f"{100 * rate(661, 834).value:.2f}" == "79.26"


def test_d6_giving_up_early_scores_only_by_the_published_code(make_trace, make_call) -> None:
    found = et(make_trace, make_call, [], ["a", "b"], success=False)
    assert et_plan_bench.lcs_ratio(found).value == 0.0
    assert et_plan_bench.lcs_ratio_published(found).value == 1.0
    assert et_plan_bench.lcs_ratio(make_trace()).left_out == "no ground truth was given"


def test_the_published_ratio_compares_classes(make_trace, make_call) -> None:
    did = ["Navigate[fridge_103]", "Pick[apple_7]", "Place[apple_7, within, fridge_9, None, None]"]
    truth = ["Navigate[fridge_9]", "Pick[apple_2]", "Place[apple_2, within, fridge_9, None, None]"]
    found = et(make_trace, make_call, did, truth)
    assert et_plan_bench.lcs_ratio(found).value == 0.0
    assert et_plan_bench.lcs_ratio_published(found).value == 1.0
    other = et(make_trace, make_call, did, [*truth[:2], truth[2].replace("within", "on")])
    assert et_plan_bench.lcs_ratio_published(other).value == pytest.approx(2 / 3)


def test_et_an_attempt_that_failed_is_no_action(make_trace, make_call) -> None:
    found = et(make_trace, make_call, ["Navigate[room_0]", "Pick[cup_0]"], ["Pick[cup_0]"])
    failed = replace(found.calls[1], code=int(SkillCode.TOO_FAR))
    found = replace(found, calls=(found.calls[0], failed))
    assert et_plan_bench.sequence_length(found).value == 1
    assert et_plan_bench.lcs_length(found).value == 0


# HELPER-8


def teach_trace(make_trace, make_call, achieved, required, person, actions):
    return make_trace(
        (True,) * achieved + (False,) * (required - achieved),
        calls=[make_call("Pick[cup_0]")] * actions,
        reference=Reference(length=person),
    )


def pooled(name: str, runs) -> float | None:
    (row,) = summarise(runs, [metrics()[name]])
    return row.estimate.value


def test_helper_check_40(make_trace, make_call) -> None:
    runs = [
        teach_trace(make_trace, make_call, 2, 2, 10, 20),
        teach_trace(make_trace, make_call, 1, 4, 30, 30),
    ]
    assert pooled("goal_condition_success", runs) == 0.5
    assert pooled("weighted_success", runs) == 0.125
    assert pooled("weighted_goal_conditions", runs) == 0.3125
    assert pooled("success", runs) == 0.5
    for name in ("goal_condition_success", "weighted_success", "weighted_goal_conditions"):
        assert pooled(f"{name}_published", runs) == pooled(name, runs)


def test_helper_check_41_weighted_may_exceed_plain(make_trace, make_call) -> None:
    runs = [
        teach_trace(make_trace, make_call, 1, 1, 90, 90),
        teach_trace(make_trace, make_call, 0, 3, 10, 10),
    ]
    assert pooled("goal_condition_success", runs) == 0.25
    assert pooled("weighted_goal_conditions", runs) == 0.9


def test_helper_check_42_percent_and_relative_drop() -> None:
    full, ablated = rate(84, 612).value, rate(69, 612).value
    assert f"{100 * full:.2f}" == "13.73"
    assert round(100 * (1 - ablated / full)) == 18


def test_d9_where_nothing_was_to_do_nothing_is_scored(make_trace, make_call) -> None:
    done = (ProgressLine(0, 1.0, (True, True)),)
    idle = make_trace((True, True), progress=done, reference=Reference(length=5))
    half = make_trace(
        (True, False),
        progress=(ProgressLine(0, 0.5, (True, False)),),
        reference=Reference(length=5),
    )
    assert teach.goal_conditions(half) == (0, 1)
    rows = {row.metric.name: row for row in summarise([idle, half])}
    gc = rows["goal_condition_success"]
    assert (gc.estimate.value, gc.estimate.n) == (0.0, 1)
    assert gc.left_out == {"vacuous: nothing was to do": 1}
    assert rows["weighted_success"].left_out == {"vacuous: nothing was to do": 1}
    assert pooled("goal_condition_success", [idle]) is None
    # The public code: the idle one counts as a success, with all of its nothing achieved.
    assert pooled("goal_condition_success_published", [idle, half]) == 0.0
    assert pooled("weighted_success_published", [idle, half]) == 0.5
    assert pooled("weighted_goal_conditions_published", [idle, half]) == 0.5
    assert pooled("goal_condition_success_published", [idle]) is None


def test_d13_what_was_broken_is_subtracted_by_the_public_code_only(make_trace, make_call) -> None:
    start = (ProgressLine(0, 0.5, (True, False, True, False)),)
    calls = [make_call("Pick[cup_0]")] * 20
    runs = [
        make_trace(satisfied, progress=start, calls=calls, reference=Reference(length=10))
        for satisfied in [(False, True, True, True), (False, False, False, True)]
    ]
    assert [teach.goal_conditions(run) for run in runs] == [(2, 2), (1, 2)]
    assert [teach.published_goal_conditions(run) for run in runs] == [(1, 2), (-1, 2)]
    assert pooled("goal_condition_success", runs) == 0.75
    assert pooled("goal_condition_success_published", runs) == 0.0
    assert pooled("weighted_goal_conditions", runs) == pytest.approx((0.5 + 0.25) / 2)
    assert pooled("weighted_goal_conditions_published", runs) == pytest.approx((0.25 - 0.25) / 2)


def test_a_metric_of_many_episodes_is_not_compared_episode_by_episode(make_trace) -> None:
    with pytest.raises(PlannerError, match="not a metric of single episodes"):
        compare([make_trace()], [make_trace()], "weighted_success")


def test_a_run_gives_the_papers_metrics(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert main(["run", "fruit_0", "--no-images", "-o", str(tmp_path), "--trace", str(path)]) == 0
    (trace,) = read_traces(path)
    placed = [c for c in trace.calls if c.call.startswith("Place")]
    assert placed
    assert all(partnr.is_useful(trace, call) for call in placed)
    assert partnr.exploration_efficiency(trace).value < placed[0].ended_step
    assert llamar.coverage(trace).value == 1.0
    rows = {row.metric.name: row.estimate.value for row in summarise([trace])}
    assert rows["moving_distance"] > 1.0
    assert rows["extraneous_effort"] == 0.0
    assert (rows["transport_rate"], rows["llamar_success"]) == (1.0, 1.0)
    assert 0.0 < rows["weighted_success"] <= 1.0
    assert rows["weighted_goal_conditions"] == rows["weighted_success"]
