from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from planner.security import dds_names

PATTERNS = st.text("ab*?", max_size=5)
TOPICS = ["".join(letters) for length in range(6) for letters in product("ab", repeat=length)]


def test_topics_services_and_actions_are_the_dds_topics_that_ros_makes_of_them() -> None:
    assert dds_names.publication("/tf").publish == {"rt/tf"}
    claim = dds_names.request("/agent_0/claim")
    assert claim.publish == {"rq/agent_0/claimRequest"}
    assert claim.subscribe == {"rr/agent_0/claimReply"}
    called = dds_names.call("/instruct")
    assert called.publish == {
        f"rq/instruct/_action/{name}Request" for name in ("send_goal", "cancel_goal", "get_result")
    }
    assert {"rt/instruct/_action/feedback", "rt/instruct/_action/status"} <= called.subscribe
    executed = dds_names.execute("/instruct")
    assert called.publish <= executed.subscribe
    assert called.subscribe <= executed.publish


@given(PATTERNS, PATTERNS)
def test_patterns_overlap_where_a_topic_matches_both(one: str, other: str) -> None:
    both = any(fnmatchcase(t, one) and fnmatchcase(t, other) for t in TOPICS)
    found = dds_names.overlap(one, other)
    # Two patterns of five letters may meet in a topic that is longer than those tried.
    assert found == both or (found and len((one + other).replace("*", "")) > 5)
