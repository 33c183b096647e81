"""What a topic's publishers offered, from what bags keep of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.replay.player.recorded_qos import RecordedQos, recorded_qos


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "qos"),
    [
        ("- {reliability: reliable, durability: volatile}", RecordedQos()),
        ("- {reliability: best_effort, durability: volatile}", RecordedQos(reliable=False)),
        ("- {reliability: reliable, durability: transient_local}", RecordedQos(latched=True)),
        # As older recorders write it.
        ("- {reliability: 1, durability: 1}", RecordedQos(latched=True)),
        ("- {reliability: 2, durability: 2}", RecordedQos(reliable=False)),
        # Of two publishers the stronger offer.
        (
            "- {reliability: best_effort}\n- {reliability: reliable, durability: transient_local}",
            RecordedQos(latched=True),
        ),
        ("", RecordedQos()),
        ("[]", RecordedQos()),
        ("a: [", RecordedQos()),
        ("- 7", RecordedQos()),
        ("- {reliability: [best_effort], durability: {}}", RecordedQos()),
        ("[" * 5000, RecordedQos()),
        ("- {reliability: best_effort}" + " " * 70_000, RecordedQos()),
    ],
)
def test_profiles(text: str, qos: RecordedQos) -> None:
    assert recorded_qos("/x", text) == qos


def test_static_transforms_are_latched_unless_the_bag_says_otherwise() -> None:
    assert recorded_qos("/tf_static", "").latched
    assert not recorded_qos("/tf_static", "- {durability: volatile}").latched


@given(st.text())
def test_any_text_gives_some(text: str) -> None:
    assert isinstance(recorded_qos("/x", text), RecordedQos)
