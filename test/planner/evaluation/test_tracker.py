"""What an episode's latches keep, which propositions they let count, and what is said of the rest.

Watches are stood in for by their truth and values; test_worked_examples.py has real ones.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from planner.evaluation.constraints import (
    PropositionStatus,
    Rules,
    StrictJudge,
    Tracker,
    matching,
    phrase,
    sentence,
    with_ties,
)
from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import Reason
from planner.evaluation.task import Dependency, Evaluation

TABLES = ["table_0", "table_1"]
TERMINAL = "TerminalSatisfactionConstraint"


def on(objects, receptacles, **more):
    args = {"objects": objects, "receptacles": receptacles, **more}
    return {"function_name": "is_on_top", "args": args}


CUP, PLATE, BOOK = (on([name], TABLES) for name in ("cup_0", "plate_0", "book_0"))


def gate(gated, heads, relation, **more):
    return {"proposition_indices": gated, "depends_on": heads, "relation_type": relation, **more}


def tie(kind, arg=1, members=(0, 1)):
    found = {"proposition_indices": list(members), "arg_indices": [arg] * len(members)}
    return {"type": f"{kind}ArgConstraint", **found}


def evaluation(*propositions, terminal=(), **more) -> Evaluation:
    last = {"type": TERMINAL, "proposition_indices": list(terminal)}
    constraints = [*more.pop("constraints", ()), last]
    document = {"propositions": list(propositions), "constraints": constraints, **more}
    return read_evaluation(document, "test")


def watches(*truths):
    """Of each proposition: False, or the table that serves, or several."""
    found = []
    for truth in truths:
        names = frozenset([truth] if isinstance(truth, str) else truth or ())
        values = (frozenset({"thing"}) if names else frozenset(), names)
        found.append(SimpleNamespace(holds=bool(names), values=values))
    return found


T0, T1 = TABLES


def steps(tracker: Tracker, *states) -> None:
    for step, state in enumerate(states):
        tracker.advance(step, watches(*state))


def reasons(of: Evaluation, tracker: Tracker, state) -> list[Reason | None]:
    return [status.reason for status in Rules(of).statuses(tracker, watches(*state))]


# Gates


def test_a_gate_opens_in_the_step_after_its_head_counted() -> None:
    of = evaluation(CUP, PLATE, dependencies=[gate([1], [0], "after_satisfied")])
    tracker = Tracker(of)
    tracker.advance(3, watches(T0, T1))
    assert (tracker.effective, tracker.first_step) == ([True, False], [3, None])
    assert tracker.pending, "without any change the next step lets the plate count"
    tracker.advance(4, watches(T0, T1))
    assert (tracker.effective, tracker.first_step) == ([True, True], [3, 4])
    assert tracker.pending
    tracker.advance(5, watches(T0, T1))
    assert not tracker.pending
    tracker.advance(6, watches(False, T1))
    assert tracker.effective == [False, True], "what was once done has been done"
    assert tracker.first_step == [3, 4]


def test_a_gate_that_holds_while_its_head_does_is_open_in_the_same_step() -> None:
    tracker = Tracker(evaluation(CUP, PLATE, dependencies=[gate([1], [0], "while_satisfied")]))
    tracker.advance(0, watches(T0, T1))
    assert tracker.effective == [True, True]
    tracker.advance(1, watches(False, T1))
    assert tracker.effective == [False, False]


def test_a_gate_of_what_is_undone_opens_when_it_is() -> None:
    tracker = Tracker(evaluation(CUP, PLATE, dependencies=[gate([1], [0], "after_unsatisfied")]))
    for step, (state, effective) in enumerate(
        [
            ((False, T1), False),
            ((T0, T1), False),
            ((T0, T1), False),
            ((False, T1), True),
            ((T0, T1), False),
        ]
    ):
        tracker.advance(step, watches(*state))
        assert tracker.effective[1] is effective, step


def test_the_gate_that_was_shut_is_remembered_with_its_heads() -> None:
    heads = gate([2], [0, 1], "after_satisfied", dependency_mode="any")
    of = evaluation(CUP, PLATE, BOOK, dependencies=[gate([2], [0], "while_satisfied"), heads])
    tracker = Tracker(of)
    assert tracker.shut_gate(2) is None
    tracker.advance(0, watches(False, False, T0))
    assert tracker.shut_gate(2) == (of.dependencies[0], (0,))
    tracker.advance(1, watches(T0, False, T0))
    assert tracker.shut_gate(2) == (of.dependencies[1], (0, 1)), "of any, all are named"
    tracker.advance(2, watches(T0, False, T0))
    assert tracker.effective[2]
    assert tracker.shut_gate(2) == (of.dependencies[1], (0, 1)), "the last one to be shut"
    assert tracker.shut_gate(0) is None


# Latches


def _latched() -> tuple[Evaluation, Tracker]:
    gates = [gate([2], [0, 1], "after_satisfied")]
    of = evaluation(CUP, PLATE, BOOK, terminal=[2], dependencies=gates, constraints=[tie("Same")])
    tracker = Tracker(of)
    steps(tracker, (T0, False, T1), (T1, False, False))
    return of, tracker


def test_latches_are_what_json_can_hold_and_all_that_is_remembered() -> None:
    _, tracker = _latched()
    assert json.loads(json.dumps(tracker.latches())) == {
        "first_step": [0, None, None],
        "effective": [True, False, False],
        "ever_true": [True, False, True],
        "ever_false": [False, True, True],
        "shut": [None, None, [0, 0, 1]],
        "served": [[0, 1, T0, T1], [1, 1]],
    }


def test_a_restored_tracker_goes_on_as_if_it_had_seen_it_all() -> None:
    of, tracker = _latched()
    other = Tracker(of)
    other.restore(json.loads(json.dumps(tracker.latches())))
    assert other.latches() == tracker.latches()
    assert other.shut_gate(2) == tracker.shut_gate(2) == (of.dependencies[0], (0, 1))
    for one in (tracker, other):
        one.advance(2, watches(T1, T1, T0))
        one.advance(3, watches(T1, T1, T0))
    assert other.latches() == tracker.latches()
    assert other.first_step == [0, 2, 3]
    assert other.served(0, 1, watches(T1, T1, T0)) == {T0, T1}


def test_a_restored_tracker_knows_which_of_several_gates_was_shut() -> None:
    gates = [gate([2], [0], "while_satisfied"), gate([2], [0, 1], "while_satisfied")]
    of = evaluation(CUP, PLATE, BOOK, dependencies=gates)
    tracker, other = Tracker(of), Tracker(of)
    assert tracker.effective == [False] * 3
    tracker.advance(0, watches(T0, False, T0))
    other.restore(tracker.latches())
    assert other.shut_gate(2) == (of.dependencies[1], (1,))
    (shut,) = [s for s in tracker.latches()["shut"] if s]
    assert shut == [1, 1]
    tracker.advance(1, watches(False, T1, T0))
    other.restore(tracker.latches())
    assert other.shut_gate(2) == (of.dependencies[0], (0,))


def test_what_must_hold_at_the_end_is_served_by_what_serves_it_then() -> None:
    of = evaluation(CUP, PLATE, terminal=[0], constraints=[tie("Same")])
    tracker = Tracker(of)
    steps(tracker, (T0, T0), (T1, T1))
    now = watches(T1, False)
    assert tracker.served(0, 1, now) == {T1}
    assert tracker.served(1, 1, now) == {T0, T1}
    tracker.advance(2, watches(False, False))
    assert tracker.served(0, 1, watches(False, False)) == frozenset()


# Statuses


def test_order_wants_the_later_one_later() -> None:
    order = [{"type": "TemporalConstraint", "edges": [[0, 1]]}]
    of = evaluation(CUP, PLATE, constraints=order)
    for states, expected in (
        (((T0, False), (T0, T1)), None),
        (((T0, T1),), Reason.OUT_OF_ORDER),
        (((False, T1), (T0, T1)), Reason.OUT_OF_ORDER),
        (((False, T1),), Reason.OUT_OF_ORDER),
    ):
        tracker = Tracker(of)
        steps(tracker, *states)
        status = Rules(of).statuses(tracker, watches(*states[-1]))[1]
        assert status == (PropositionStatus(expected, (0,)) if expected else PropositionStatus())


def test_what_is_undone_counts_unless_it_must_hold_at_the_end() -> None:
    of = evaluation(CUP, PLATE, BOOK, terminal=[1])
    tracker = Tracker(of)
    steps(tracker, (T0, T0, False), (False, False, False))
    assert reasons(of, tracker, (0, 0, 0)) == [None, Reason.NOT_TERMINAL, Reason.NEVER]


def test_what_holds_at_the_end_behind_a_shut_gate_is_told_from_what_does_not_hold() -> None:
    of = evaluation(CUP, PLATE, terminal=[1], dependencies=[gate([1], [0], "while_satisfied")])
    tracker = Tracker(of)
    steps(tracker, (T0, T1), (False, T1))
    status = Rules(of).statuses(tracker, watches(False, T1))[1]
    assert status == PropositionStatus(Reason.NOT_TERMINAL, (0,), of.dependencies[0])
    tracker.advance(2, watches(False, False))
    status = Rules(of).statuses(tracker, watches(False, False))[1]
    assert status == PropositionStatus(Reason.NOT_TERMINAL)


def test_ties_of_what_does_not_count_break_nothing() -> None:
    of = evaluation(CUP, PLATE, constraints=[tie("Same")])
    tracker = Tracker(of)
    steps(tracker, (T0, False))
    assert reasons(of, tracker, (T0, False)) == [None, Reason.NEVER]


def test_of_the_same_the_most_common_value_stays_and_of_equals_the_first_name() -> None:
    same = evaluation(CUP, PLATE, BOOK, constraints=[tie("Same", members=(0, 1, 2))])
    tracker = Tracker(same)
    steps(tracker, (T0, T1, T1))
    status = Rules(same).statuses(tracker, watches(T0, T1, T1))
    assert [each.reason for each in status] == [Reason.ARG_NOT_SAME, None, None]
    assert (status[0].others, status[0].argument) == ((1,), 1)
    assert status[0].used == (frozenset({T0}), frozenset({T1}))
    two = evaluation(CUP, PLATE, constraints=[tie("Same")])
    tracker = Tracker(two)
    steps(tracker, (T1, T0))
    assert reasons(two, tracker, (T1, T0)) == [Reason.ARG_NOT_SAME, None]


def test_of_the_different_the_earlier_one_stays_and_the_one_that_shares_is_named() -> None:
    of = evaluation(CUP, PLATE, BOOK, constraints=[tie("Different", members=(0, 1, 2))])
    tracker = Tracker(of)
    steps(tracker, (T0, T1, T1))
    status = Rules(of).statuses(tracker, watches(T0, T1, T1))
    assert [each.reason for each in status] == [None, None, Reason.ARG_NOT_DIFFERENT]
    assert (status[2].others, status[2].used) == ((1,), (frozenset({T1}), frozenset({T1})))


def test_a_first_tie_is_not_overruled_by_a_second() -> None:
    of = evaluation(CUP, PLATE, constraints=[tie("Same"), tie("Different", arg=0)])
    tracker = Tracker(of)
    steps(tracker, (T0, T1))
    assert reasons(of, tracker, (T0, T1)) == [None, Reason.ARG_NOT_SAME]


@pytest.mark.parametrize(
    ("members", "kept"),
    [
        ({}, set()),
        ({0: "a", 1: "ab", 2: "b"}, {0, 1}),
        ({0: "ab", 1: "a"}, {0, 1}),
        ({0: "ab", 1: "bc", 2: "a"}, {0, 1, 2}),
        ({2: "a", 0: "a", 1: ""}, {0}),
        ({0: "ab", 1: "ab", 2: "ab", 3: "c"}, {0, 1, 3}),
    ],
)
def test_the_largest_set_with_different_values_is_kept(members, kept) -> None:
    assert matching({i: frozenset(values) for i, values in members.items()}) == kept


def test_a_tie_within_one_proposition_wants_one_second_argument() -> None:
    several = on(["cup_0", "cup_1"], TABLES, number=2)
    of = evaluation(several, PLATE, several, constraints=[tie("Same")])
    assert [p.is_same for p in with_ties(of)] == [True, False, False]
    first = evaluation(several, PLATE, constraints=[tie("Same", arg=0)])
    assert [p.is_same for p in with_ties(first)] == [False, False]


def test_a_judge_keeps_what_it_was_told() -> None:
    of = evaluation(CUP, PLATE, dependencies=[gate([1], [0], "after_satisfied")])
    judge, other = StrictJudge(of), StrictJudge(of)
    judge.advance(2, watches(T0, T1))
    assert (list(judge.first_steps), judge.pending) == ([2, None], True)
    assert judge.statuses(watches(T0, T1))[1].reason is Reason.GATE_CLOSED
    other.restore(judge.latches())
    assert other.statuses(watches(T0, T1)) == judge.statuses(watches(T0, T1))
    assert judge.propositions == of.propositions


# Words


def proposition(name, **args):
    return evaluation({"function_name": name, "args": args}).propositions[0]


CUPS = ["cup_0", "cup_1", "cup_2"]


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [
        ("is_on_top", {"objects": CUPS, "receptacles": ["table_0"]},
         "cup_0, cup_1 or cup_2 on top of table_0"),
        ("is_on_top", {"objects": CUPS, "receptacles": TABLES, "number": 2},
         "2 of cup_0, cup_1 and cup_2 on top of table_0 or table_1"),
        ("is_on_top", {"objects": CUPS, "receptacles": TABLES, "number": 2, "is_same_b": True},
         "2 of cup_0, cup_1 and cup_2 on top of the same one of table_0 or table_1"),
        ("is_on_top", {"objects": CUPS, "receptacles": ["table_0"], "number": 2, "is_same_b": True},
         "2 of cup_0, cup_1 and cup_2 on top of table_0"),
        ("is_on_top", {"objects": ["cup_0"], "receptacles": TABLES, "is_same_b": True},
         "cup_0 on top of table_0 or table_1"),
        ("is_inside", {"objects": ["cup_0"], "receptacles": ["box_0"]}, "cup_0 inside box_0"),
        ("is_in_room", {"objects": ["cup_0"], "rooms": ["den_0"]}, "cup_0 in den_0"),
        ("is_on_floor", {"objects": CUPS, "number": 2},
         "2 of cup_0, cup_1 and cup_2 on the floor"),
        ("is_clean", {"objects": ["cup_0"]}, "cup_0 clean"),
        ("is_open", {"objects": ["box_0"]}, "box_0 open"),
        ("is_next_to", {"entities_a": ["cup_0"], "entities_b": ["cup_1"]}, "cup_0 next to cup_1"),
        ("is_next_to", {"entities_a": ["cup_0"], "entities_b": ["cup_1"], "l2_threshold": 1.25},
         "cup_0 next to cup_1 (within 1.25 m)"),
        ("is_clustered", {"entities": [["cup_0", "cup_1"], ["pan_0"], ["fork_0"]]},
         "cup_0 or cup_1, pan_0 and fork_0 close together"),
    ],
)  # fmt: skip
def test_a_proposition_reads_as_a_phrase(name, args, text) -> None:
    assert phrase(proposition(name, **args)) == text


ALL = tuple(
    proposition("is_on_top", objects=[name], receptacles=["table_0"])
    for name in ("cup_0", "pan_0", "fork_0")
)
THIS, PAN, FORK = (f'"{name} on top of table_0"' for name in ("cup_0", "pan_0", "fork_0"))


def gated(relation: str, mode: str = "all") -> Dependency:
    gates = [gate([0], [1], relation, dependency_mode=mode)]
    return evaluation(CUP, PLATE, dependencies=gates).dependencies[0]


def used(own: str, other: str) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(own.split()), frozenset(other.split())


WHILE = gated("while_satisfied")
SAME, DIFFERENT = Reason.ARG_NOT_SAME, Reason.ARG_NOT_DIFFERENT
SAID = [
    (PropositionStatus(), ""),
    (PropositionStatus(Reason.NEVER), f"{THIS} was never achieved."),
    (PropositionStatus(Reason.GATE_CLOSED, (1, 2), WHILE),
     f"{THIS} was achieved, but not while {PAN} and {FORK}."),
    (PropositionStatus(Reason.GATE_CLOSED, (1, 2), gated("after_satisfied", "any")),
     f"{THIS} was achieved, but not after {PAN} or {FORK}."),
    (PropositionStatus(Reason.GATE_CLOSED, (1,), gated("after_unsatisfied")),
     f"{THIS} was achieved, but not after {PAN} was undone."),
    (PropositionStatus(Reason.OUT_OF_ORDER, (1,)),
     f"{THIS} was done at the same time as {PAN}, not after it."),
    (PropositionStatus(Reason.OUT_OF_ORDER, (2,)), f"{THIS} was done before {FORK}."),
    (PropositionStatus(Reason.NOT_TERMINAL, (1,), WHILE),
     f"{THIS} was achieved, but at the end not while {PAN}."),
    (PropositionStatus(Reason.NOT_TERMINAL, (1,), gated("after_satisfied")),
     f"{THIS} was achieved, but at the end not after {PAN}."),
    (PropositionStatus(Reason.NOT_TERMINAL),
     f"{THIS} was achieved but no longer held at the end."),
    (PropositionStatus(Reason.NOT_ALWAYS), f"{THIS} did not hold all the time."),
    (PropositionStatus(Reason.FORBIDDEN), f"{THIS} must never hold."),
    (PropositionStatus(SAME, (1,), argument=1, used=used("b a", "c")),
     f"{THIS} and {PAN} should use the same receptacle, not a or b and c."),
    (PropositionStatus(SAME, (1,), argument=0), f"{THIS} and {PAN} should use the same object."),
    (PropositionStatus(DIFFERENT, (1,), argument=1, used=used("a b", "b c")),
     f"{THIS} and {PAN} should use different receptacles, not both b."),
    (PropositionStatus(DIFFERENT, (1,), argument=0, used=used("a", "c")),
     f"{THIS} and {PAN} should use different objects."),
]  # fmt: skip


@pytest.mark.parametrize(("status", "text"), SAID)
def test_each_reason_is_one_sentence(status, text) -> None:
    assert sentence(0, status, ALL, [5, 5, 6], frozenset()) == text


def test_tied_entities_are_called_so() -> None:
    near = proposition("is_next_to", entities_a=["cup_0"], entities_b=["pan_0"])
    status = PropositionStatus(DIFFERENT, (1,), argument=1)
    told = sentence(0, status, (near, near), [0, 0], frozenset())
    assert told.endswith("should use different entities.")
    group = proposition("is_clustered", entities=[["cup_0"], ["pan_0"]])
    status = PropositionStatus(SAME, (1,), argument=1)
    told = sentence(0, status, (group, group), [0, 0], frozenset())
    assert told.endswith("should use the same entity.")


@pytest.mark.parametrize(
    ("serving", "text"),
    [
        ((), ": none is."),
        (("cup_1",), ": only cup_1 is."),
        (("cup_2", "cup_0"), ": only cup_0 and cup_2 are."),
    ],
)
def test_of_several_it_is_said_how_many_are_there(serving, text) -> None:
    three = proposition("is_on_top", objects=CUPS, receptacles=["table_0"], number=3)
    for reason, words in (
        (Reason.NEVER, "was never achieved"),
        (Reason.NOT_TERMINAL, "was achieved but no longer held at the end"),
    ):
        told = sentence(0, PropositionStatus(reason), (three,), [None], frozenset(serving))
        assert told.endswith(f'table_0" {words}{text}')
