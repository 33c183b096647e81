"""Who is waited for between two moments, for how long, and who is not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_bridge.pacing import REPEAT_S, TIMEOUT_S, Lockstep

NOBODY: frozenset[str] = frozenset()
ROBOT = frozenset({"agent_0"})


def remembering() -> Lockstep:
    """A world whose memory has seen its beginning through one agent's camera."""
    lockstep = Lockstep(wait_for_agents=True)
    lockstep.shown("agent_0", 0.0)
    lockstep.memory_looks("agent_0", 0.001)
    return lockstep


def test_a_node_that_never_reported_is_not_waited_for() -> None:
    lockstep = Lockstep(wait_for_agents=True)
    lockstep.shown("agent_0", 0.1)
    assert not lockstep.holds(0.1, 0.0, ROBOT)
    assert not lockstep.unseen_pictures()


def test_a_picture_is_waited_for_until_the_memory_has_seen_it() -> None:
    lockstep = remembering()
    lockstep.shown("agent_0", 0.1)
    assert lockstep.holds(0.1, 0.0, ROBOT)
    lockstep.memory_looks("agent_0", 0.1)
    assert lockstep.holds(0.1, 0.0, ROBOT)
    lockstep.memory_looks("agent_0", 1 / 3)
    assert not lockstep.holds(0.1, 0.0, ROBOT)


def test_a_picture_that_the_memory_would_not_look_at_is_not_waited_for() -> None:
    lockstep = remembering()
    lockstep.memory_looks("agent_0", 1 / 3)
    lockstep.shown("agent_0", 0.3)
    assert not lockstep.holds(0.3, 0.0, ROBOT)
    needed = [lockstep.needs_picture("agent_0", tick / 30) for tick in (9, 10, 12)]
    assert needed == [False, True, True]
    assert lockstep.needs_picture("agent_1", 0.3)


def test_a_picture_that_may_be_lost_is_sent_again_now_and_then() -> None:
    lockstep = remembering()
    lockstep.shown("agent_0", 0.1)
    assert lockstep.holds(0.1, 7.0, ROBOT)
    told = [lockstep.repeats(7.0 + after) for after in (0.0, REPEAT_S, REPEAT_S + 0.1)]
    assert told == [False, True, False]
    lockstep.memory_looks("agent_0", 1 / 3)
    assert not lockstep.repeats(100.0)


def test_a_memory_that_is_silent_is_given_up_once_and_waited_for_when_it_speaks() -> None:
    lockstep = remembering()
    lockstep.shown("agent_0", 0.1)
    assert lockstep.holds(0.1, 0.0, ROBOT)
    assert lockstep.holds(0.1, TIMEOUT_S - 0.1, ROBOT)
    assert not lockstep.holds(0.1, TIMEOUT_S, ROBOT)
    assert "agent_0" in lockstep.warning
    assert "memory" in lockstep.warning
    lockstep.warning = ""
    lockstep.shown("agent_0", 0.2)
    assert not lockstep.holds(0.2, TIMEOUT_S + 1, ROBOT)
    assert not lockstep.warning
    lockstep.memory_looks("agent_0", 0.3)
    lockstep.shown("agent_0", 0.3)
    assert lockstep.holds(0.3, TIMEOUT_S + 2, ROBOT)


def test_a_memory_that_left_is_not_waited_for() -> None:
    lockstep = remembering()
    lockstep.shown("agent_0", 0.1)
    lockstep.drop(memory=True)
    assert not lockstep.holds(0.1, 0.0, ROBOT)
    assert not lockstep.warning


def test_the_others_stand_while_somebody_thinks_for_one() -> None:
    lockstep = Lockstep(wait_for_agents=True)
    lockstep.planner_acts("agent_1", 0.0)
    assert lockstep.holds(3.0, 0.0, ROBOT)
    assert not lockstep.holds(3.0, 0.0, ROBOT | {"agent_1"})
    lockstep.planner_acts("agent_1", math.inf)
    assert not lockstep.holds(3.0, 0.0, ROBOT)


def test_a_skill_s_word_counts_while_it_is_under_way() -> None:
    lockstep = Lockstep(wait_for_agents=True)
    lockstep.planner_acts("agent_1", 0.0)
    lockstep.skills_act("agent_1", 5.0)
    assert lockstep.wakes(4.9)
    assert not lockstep.holds(4.9, 0.0, NOBODY)
    assert lockstep.holds(5.0, 0.0, ROBOT)
    lockstep.skills_act("agent_1", math.inf)
    assert lockstep.holds(6.0, 0.0, ROBOT)


def test_time_that_stands_for_nobody_is_no_waiting() -> None:
    lockstep = Lockstep(wait_for_agents=True)
    lockstep.planner_acts("agent_0", 0.0)
    # A planner may think for hours about the only agent: nobody is held up.
    assert not any(lockstep.holds(1.0, wall_s, NOBODY) for wall_s in (0.0, 1e4))
    assert not lockstep.warning


def test_a_silent_executive_is_given_up_by_name() -> None:
    lockstep = Lockstep(wait_for_agents=True)
    lockstep.planner_acts("agent_1", 0.0)
    assert lockstep.holds(1.0, 0.0, ROBOT)
    assert not lockstep.holds(1.0, TIMEOUT_S, ROBOT)
    assert "agent_1" in lockstep.warning
    assert not lockstep.holds(1.0, TIMEOUT_S + 1, ROBOT)


@pytest.mark.parametrize("who", ["skills", "planner"])
def test_skills_or_planner_that_left_are_not_waited_for(who: str) -> None:
    lockstep = Lockstep(wait_for_agents=True)
    act = lockstep.skills_act if who == "skills" else lockstep.planner_acts
    act("agent_1", 0.0)
    assert lockstep.holds(1.0, 0.0, ROBOT)
    lockstep.drop(**{who: True})
    assert not lockstep.holds(1.0, 0.0, ROBOT)


def test_without_turns_only_the_memory_is_waited_for() -> None:
    lockstep = Lockstep(wait_for_agents=False)
    lockstep.planner_acts("agent_1", 0.0)
    assert not lockstep.holds(1.0, 0.0, ROBOT)
    assert not lockstep.wakes(0.0)


def test_another_world_begins_with_nobody_waited_for() -> None:
    lockstep = remembering()
    lockstep.shown("agent_0", 0.1)
    lockstep.skills_act("agent_1", 0.0)
    lockstep.restart()
    assert not lockstep.holds(0.1, 0.0, ROBOT)


WORDS = st.lists(
    st.tuples(
        st.sampled_from(["shown", "looks", "skills", "planner"]),
        st.sampled_from(["agent_0", "agent_1"]),
        st.sampled_from([0.0, 0.1, 0.2, 5.0, math.inf]),
    ),
    max_size=20,
)


@given(words=WORDS, busy=st.sets(st.sampled_from(["agent_0", "agent_1"])))
def test_whatever_is_said_the_world_never_stands_for_longer_than_the_patience(
    words: list[tuple[str, str, float]], busy: set[str]
) -> None:
    lockstep = Lockstep(wait_for_agents=True)
    say = {
        "shown": lockstep.shown,
        "looks": lockstep.memory_looks,
        "skills": lockstep.skills_act,
        "planner": lockstep.planner_acts,
    }
    for what, agent, stamp_s in words:
        say[what](agent, stamp_s)
    lockstep.holds(1.0, 0.0, frozenset(busy))
    assert not lockstep.holds(1.0, TIMEOUT_S, frozenset(busy))


def test_a_planner_that_speaks_does_not_speak_for_skills_or_a_memory_that_hang() -> None:
    lockstep = remembering()
    lockstep.shown("agent_0", 0.1)
    lockstep.skills_act("agent_1", 0.0)
    assert lockstep.holds(0.1, 0.0, ROBOT)
    lockstep.planner_acts("agent_1", 0.0)
    lockstep.holds(0.1, TIMEOUT_S, ROBOT)
    assert not lockstep.holds(0.1, TIMEOUT_S, ROBOT)


def test_a_planner_that_thinks_for_long_is_waited_for_as_long_as_it_speaks() -> None:
    lockstep = Lockstep(wait_for_agents=True)
    for wall_s in range(0, 100, 2):
        lockstep.planner_acts("agent_1", 0.0)
        assert lockstep.holds(1.0, float(wall_s), ROBOT)


def test_a_planner_learns_once_who_has_no_result_to_come() -> None:
    lockstep = Lockstep(wait_for_agents=True)
    for agent in ("agent_0", "agent_1", "agent_2"):
        lockstep.planner_acts(agent, 0.0)
        lockstep.skills_act(agent, 0.0)
    lockstep.skills_act("agent_2", 5.0)
    both = frozenset({"agent_0", "agent_1"})
    assert lockstep.newly_settled(1.0, both) == []
    # agent_0 has a result; agent_1 may have one at the same time until its skill goes on.
    lockstep.skills_act("agent_0", math.inf)
    assert lockstep.newly_settled(1.0, NOBODY) == ["agent_2"]
    assert lockstep.newly_settled(1.0, frozenset({"agent_1"})) == ["agent_1"]
    assert lockstep.newly_settled(1.0, frozenset({"agent_1"})) == []
    # Another planner, or one that subscribed late, repeats itself.
    lockstep.planner_acts("agent_0", 0.0)
    assert lockstep.newly_settled(1.0, frozenset({"agent_1"})) == ["agent_1", "agent_2"]
    assert lockstep.newly_settled(5.0, frozenset({"agent_1"})) == ["agent_1"]


def test_an_agent_that_was_given_up_is_not_waited_for_by_a_planner() -> None:
    lockstep = Lockstep(wait_for_agents=True)
    lockstep.planner_acts("agent_0", 0.0)
    lockstep.planner_acts("agent_1", 0.0)
    lockstep.skills_act("agent_1", 0.0)
    assert lockstep.holds(1.0, 0.0, frozenset({"agent_2"}))
    lockstep.planner_acts("agent_0", 0.0)
    assert lockstep.newly_settled(1.0, NOBODY) == []
    assert lockstep.holds(1.0, TIMEOUT_S + 1.0, frozenset({"agent_2"}))
    assert lockstep.newly_settled(1.0, NOBODY) == ["agent_1"]
