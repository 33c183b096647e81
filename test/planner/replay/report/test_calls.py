"""Calls, decisions, and who did the work."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from planner.replay.report.calls import calls_of, decisions_of, model_calls_of, work_of
from planner.replay.report.document import ModelCall, Path, Proposition
from planner.replay.report.messages import Event, SkillEnd
from planner.replay.report.messages import answer as read_answer
from planner.replay.report.tracks import WorldClock

CLOCK = WorldClock(0)
S = 1_000_000_000


def end(agent, call, t_s, code=0, took_s=None):
    return Event(round(t_s * S), None, SkillEnd(agent, call, code, "", took_s))


def answer(t_s, agents, calls, error="", **more):
    fields = {"model": "m", "prompt": "p", "reply": "r", "cycle": 1} | more
    told = ModelCall(
        t_s=math.nan,
        planner="react",
        agents=tuple(agents),
        calls=tuple(calls),
        error=error,
        prompt_tokens=5,
        cached_tokens=2,
        reply_tokens=1,
        first_token_s=None,
        latency_s=0.5,
        **fields,
    )
    return Event(round(t_s * S), None, told)


def test_a_call_began_as_long_before_its_end_as_its_report_says() -> None:
    (call,) = calls_of([end("a", "Pick[cup_0]", 10.0, took_s=4.0)], [], CLOCK)
    assert (call.start_s, call.end_s, call.start_known, call.skill) == (6.0, 10.0, True, "Pick")


def test_else_when_the_answer_with_it_came_or_the_agent_was_free() -> None:
    ends = [end("a", "Pick[cup_0]", 4.0), end("a", "Open[x_0]", 9.0), end("b", "Wait[]", 5.0)]
    calls = calls_of(ends, [answer(6.0, ["a"], ["Open[x_0]"])], CLOCK)
    begun = {(c.agent, c.call): (c.start_s, c.start_known) for c in calls}
    assert begun == {
        ("a", "Pick[cup_0]"): (0.0, False),
        ("a", "Open[x_0]"): (6.0, False),
        ("b", "Wait[]"): (0.0, False),
    }


def test_codes_and_skills_have_names_and_unknown_ones_too() -> None:
    calls = calls_of([end("a", "Pick[cup_0]", 1.0, 21), end("a", "Sing loud", 2.0, 99)], [], CLOCK)
    assert [(c.code_name, c.skill) for c in calls] == [
        ("grasp_failed", "Pick"),
        ("code 99", "Sing loud"),
    ]


def test_a_decision_after_a_failure_is_a_new_one() -> None:
    answers = [answer(0.0, ["a"], ["Pick[cup_0]"]), answer(5.0, ["a"], ["Pick[cup_1]"])]
    answers.append(answer(7.0, ["a"], ["Wait[]"], error="no such call"))
    calls = calls_of([end("a", "Pick[cup_0]", 4.0, 21, 3.0)], answers, CLOCK)
    found = decisions_of(answers, calls, CLOCK)
    assert [(d.replan, d.error) for d in found] == [
        (False, ""),
        (True, ""),
        (False, "no such call"),
    ]


def test_the_replies_of_roles_in_one_cycle_are_one_decision() -> None:
    """As LLaMAR's: a plan, the actions, and what is judged after them."""
    both = ["a", "b"]
    roles = ([], ["Pick[cup_0]", "Wait[]"], [], [])
    answers = [
        answer(10.0 * cycle + n, both, calls, cycle=cycle, error="dropped one" if n == 3 else "")
        for cycle in (1, 2)
        for n, calls in enumerate(roles)
    ]
    failed = calls_of([end("a", "Pick[cup_0]", 11.5, 21, 0.4)], answers, CLOCK)
    found = decisions_of(answers, failed, CLOCK)
    assert [(d.t_s, d.calls, d.error) for d in found] == [
        (11.0, ("Pick[cup_0]", "Wait[]"), "dropped one"),
        (21.0, ("Pick[cup_0]", "Wait[]"), "dropped one"),
    ]
    # The step that failed is judged in its own cycle, and decided anew in the next one.
    assert [d.replan for d in found] == [False, True]


def test_only_what_a_model_said_is_a_model_s_call() -> None:
    answers = [answer(0.0, ["a"], [], model="", prompt=""), answer(1.0, ["a"], ["Wait[]"])]
    (call,) = model_calls_of(answers, CLOCK)
    assert (call.t_s, call.prompt, call.prompt_tokens, call.latency_s) == (1.0, "p", 5, 0.5)


def test_work_is_shared_out() -> None:
    ends = [
        end("a", "Navigate[x_0]", 4.0, took_s=4.0),
        # Beside the call before: an agent is not twice at work.
        end("a", "Navigate[y_0]", 6.0, took_s=4.0, code=19),
        end("b", "Clean[cup_0]", 10.0, took_s=3.0),
        end("b", "Wait[]", 10.0, took_s=10.0),
    ]
    calls = calls_of(ends, [], CLOCK)
    parts = [Proposition("p", True, 1, 1.0, "", "b"), Proposition("q", False, None, None, "", "")]
    way = Path("a", "tf", ((0.0, 0.0, 0.0, 0.0), (1.0, 3.0, 4.0, 0.0)))
    one, other = work_of(["a", "b"], calls, parts, [way]).agents
    assert (one.calls, one.failed, one.busy_s, one.idle_s, one.distance_m) == (2, 1, 6.0, 4.0, 5.0)
    assert (other.calls, other.busy_s, other.propositions) == (1, 3.0, 1)
    assert (one.share_of_calls, one.share_of_time) == pytest.approx((0.6667, 0.6667))
    assert (one.share_of_propositions, other.share_of_propositions) == (0.0, 1.0)


def test_without_calls_there_is_nothing_to_share() -> None:
    (one,) = work_of(["a"], [], [], []).agents
    assert (one.share_of_calls, one.share_of_time, one.idle_s) == (None, None, 0.0)


def test_a_thing_that_another_agent_takes_up_was_handed_over() -> None:
    ends = [
        end("a", "Pick[cup_0]", 1.0),
        end("a", "Place[cup_0, on, table_0, None, None]", 2.0),
        end("b", "Pick[cup_0]", 3.0, code=21),
        end("b", "Pick[cup_0]", 4.0),
        end("b", "Place[cup_0, on, table_1, None, None]", 5.0),
        end("b", "Pick[cup_0]", 6.0),
    ]
    (given,) = work_of(["a", "b"], calls_of(ends, [], CLOCK), [], []).handovers
    assert (given.thing, given.giver, given.taker, given.put_s, given.taken_s) == (
        "cup_0",
        "a",
        "b",
        2.0,
        4.0,
    )


def test_a_call_of_a_bag_without_roles_was_the_planners() -> None:
    words = ("planner", "model", "prompt", "reply", "error")
    numbers = ("cycle", "prompt_tokens", "cached_tokens", "reply_tokens")
    content = SimpleNamespace(agents=["agent_0"], calls=[""], first_token_s=0.1, latency_s=0.2)
    for name in words:
        setattr(content, name, "x")
    for name in numbers:
        setattr(content, name, 1)
    assert read_answer(content).role == "planner"
    content.role = "memory"
    assert read_answer(content).role == "memory"
