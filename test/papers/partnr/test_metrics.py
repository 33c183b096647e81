"""PARTNR's metrics: PARTNR-C40, PARTNR-D59 to PARTNR-D62."""

from __future__ import annotations

import pytest

from papers.partnr import metrics as partnr
from planner.evaluation.metrics import metric as outcome
from planner.evaluation.metrics.metric import COMPLETE_AT_START, NOT_SUCCESSFUL
from planner.evaluation.task import Predicate
from planner.evaluation.trace import DecisionLine, HoldLine, ProgressLine, TracedProposition
from planner.world.vocabulary import AgentKind


def place(name: str) -> str:
    return f"Place[{name}, on, table_0, None, None]"


@pytest.fixture
def check_40(make_trace, make_call):
    """Four things, two put there by each agent; of ten Rearranges two did not help."""
    calls = [make_call("Pick[cup_0]", 640, started=600)]
    progress, firsts = [ProgressLine(0, 0.0, (False,) * 8)], []
    for i in range(10):
        who, useful = f"agent_{i % 2}", i < 8
        thing = f"cup_{i}" if useful else "spoon_0"
        calls.append(
            make_call(
                f"Rearrange[{thing}, on, table_0, None, None]",
                1000 + 100 * i + 90,
                who,
                1000 + 100 * i + 1,
            )
        )
        if useful:
            firsts.append(1000 + 100 * i + 80)
            progress.append(
                ProgressLine(firsts[-1], (i + 1) / 8, (True,) * (i + 1) + (False,) * (7 - i))
            )
    return make_trace((True,) * 8, first_steps=tuple(firsts), calls=calls, progress=tuple(progress))


def test_check_40_extraneous_effort_and_exploration(check_40) -> None:
    assert partnr.extraneous_effort(check_40).value == pytest.approx(0.2)
    assert partnr.exploration_efficiency(check_40).value == 640


def test_check_40_offloading_of_four_of_which_the_robot_did_two(make_trace, make_call) -> None:
    calls = [
        make_call(place(f"cup_{i}"), 100 * i + 50, f"agent_{i % 2}", 100 * i) for i in range(4)
    ]
    done = make_trace((True,) * 4, first_steps=(20, 120, 220, 320), calls=calls)
    assert partnr.task_offloading(done).value == 0.5


def test_check_40_failed_episodes_do_not_enter(make_trace, make_call) -> None:
    failed = make_trace((True, False), calls=[make_call(place("cup_0"))])
    for metric in (
        partnr.task_offloading,
        partnr.extraneous_effort,
        partnr.exploration_efficiency,
    ):
        assert metric(failed).left_out == NOT_SUCCESSFUL
        assert metric(failed).value is None


def test_check_40_the_claims_of_table_2(make_trace) -> None:
    alone = outcome.sim_steps(make_trace(sim_steps=251902)).value
    two = outcome.sim_steps(make_trace(sim_steps=329520)).value
    assert two / alone == pytest.approx(1.31, abs=0.005)


def test_percent_complete_and_success(make_trace) -> None:
    three_of_four = make_trace((True, True, True, False))
    assert outcome.percent_complete(three_of_four).value == 0.75
    assert outcome.success(three_of_four).value == 0.0
    assert outcome.success(make_trace((True, True))).value == 1.0


def test_what_was_complete_at_the_start_is_not_scored(make_trace, make_call) -> None:
    done = (ProgressLine(0, 1.0, (True,)),)
    idle = make_trace((True,), progress=done, calls=[make_call(place("cup_0"))])
    for metric in (outcome.success, outcome.percent_complete, partnr.extraneous_effort):
        assert metric(idle).value is None
        assert metric(idle).left_out == COMPLETE_AT_START


@pytest.mark.parametrize(
    "agents",
    [
        (("agent_0", AgentKind.ROBOT),),
        (("agent_0", AgentKind.ROBOT), ("agent_1", AgentKind.ROBOT)),
        (("agent_0", AgentKind.HUMAN), ("agent_1", AgentKind.HUMAN)),
    ],
)
def test_d_61_without_a_robot_and_a_person_nothing_is_offloaded(make_trace, agents) -> None:
    measure = partnr.task_offloading(make_trace(agents=agents))
    assert measure.value is None
    assert "no person and robot" in measure.left_out


def test_d_60_what_nobody_did_is_not_counted(make_trace, make_call) -> None:
    calls = [make_call(place("cup_1"), 50, "agent_1")]
    found = make_trace((True, True), first_steps=(0, 20), calls=calls)
    assert outcome.doer_of(found, 0) == ""
    assert partnr.task_offloading(found).value == 0.0
    lucky = make_trace((True,), first_steps=(3,))
    assert partnr.task_offloading(lucky).left_out.startswith("vacuous")


def test_d_60_a_spatial_relation_is_the_last_placements(make_trace, make_call) -> None:
    near = TracedProposition("cup_0 next to cup_1", Predicate.IS_NEXT_TO, (("cup_0",), ("cup_1",)))
    calls = [
        make_call(place("cup_0"), 50, "agent_0", 10),
        make_call(place("cup_1"), 90, "agent_1", 60),
    ]
    found = make_trace((True,), propositions=(near,), first_steps=(80,), calls=calls)
    assert outcome.doer_of(found, 0) == "agent_1"
    # Where a gate opened later, too.
    late = make_trace((True,), propositions=(near,), first_steps=(200,), calls=calls)
    assert outcome.doer_of(late, 0) == "agent_1"


def test_d_60_a_thing_carried_over_its_table_is_its_carriers(make_trace, make_call) -> None:
    calls = [
        make_call("Pick[cup_0]", 30, "agent_0", 10),
        make_call(place("cup_0"), 90, "agent_0", 60),
        make_call(place("cup_0"), 190, "agent_1", 160),
    ]
    holds = (HoldLine(25, "agent_0", "cup_0"), HoldLine(85, "agent_0", ""))
    found = make_trace((True,), first_steps=(50,), calls=calls, holds=holds)
    assert outcome.doer_of(found, 0) == "agent_0"
    progress = (ProgressLine(0, 0.0, (False,)), ProgressLine(50, 1.0, (True,)))
    over = make_trace((True,), first_steps=(50,), calls=calls, holds=holds, progress=progress)
    # The second Place changed nothing.
    assert partnr.extraneous_effort(over).value == 0.5
    # What counted in the hand, and before it was put down no longer, is nobody's use.
    lost = (*progress, ProgressLine(60, 0.0, (False,)))
    undone = make_trace((True,), first_steps=(50,), calls=calls, holds=holds, progress=lost)
    assert partnr.extraneous_effort(undone).value == 1.0


def test_d_60_a_state_is_whose_action_changed_it(make_trace, make_call) -> None:
    clean = TracedProposition("cup_0 clean", "is_clean", (("cup_0",),))
    calls = [
        make_call(place("cup_0"), 60, "agent_0", 10),
        make_call("Clean[cup_0]", 60, "agent_1", 20),
    ]
    found = make_trace((True,), propositions=(clean,), first_steps=(50,), calls=calls)
    assert outcome.doer_of(found, 0) == "agent_1"


def test_d_62_cycles_are_the_robots_planners(make_trace) -> None:
    def said(who: tuple[str, ...], cycle: int, model: str = "m", error: str = "") -> DecisionLine:
        return DecisionLine(cycle, "react", who, cycle, model, error=error)

    one = [said(("agent_0",), 1, error="unreadable"), said(("agent_0",), 1), said(("agent_0",), 2)]
    partner = [said(("agent_1",), n) for n in range(1, 8)]
    assert outcome.planning_cycles(make_trace(decisions=(*one, *partner))).value == 2
    both = tuple(said(("agent_0", "agent_1"), n) for n in range(1, 5))
    assert outcome.planning_cycles(make_trace(decisions=both)).value == 4
    rules = (said(("agent_0",), 1, model=""),)
    assert outcome.planning_cycles(make_trace(decisions=rules)).left_out == "no model decided"


def test_a_rearrange_picks_when_its_object_is_in_the_hand(make_trace, make_call) -> None:
    calls = [make_call("Rearrange[cup_0, on, table_0, None, None]", 900, started=100)]
    holds = (HoldLine(400, "agent_0", "cup_0"),)
    assert partnr.exploration_efficiency(make_trace(calls=calls, holds=holds)).value == 400
    assert partnr.exploration_efficiency(make_trace(calls=calls)).value == 900
    assert partnr.exploration_efficiency(make_trace()).left_out.startswith("vacuous")
