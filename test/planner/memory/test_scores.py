from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.memory.scores import Placed, score, variants

CUP = Placed("cup_0", "cup", (0.0, 0.0, 1.0))
BOOK = Placed("book_0", "book", (2.0, 0.0, 1.0))


def seen(class_name: str, x: float) -> Placed:
    return Placed(f"{class_name}_{x}", class_name, (x, 0.0, 1.0))


def test_a_pair_at_exactly_the_distance_counts() -> None:
    assert score([seen("cup", 0.5)], [CUP], 0.5).recall == 1.0
    assert score([seen("cup", 0.501)], [CUP], 0.5).recall == 0.0


def test_a_true_thing_is_matched_once() -> None:
    made = score([seen("cup", 0.1), seen("cup", 0.2)], [CUP], 0.5)
    assert (made.precision, made.recall, made.hallucinations) == (0.5, 1.0, 1)
    assert made.error_m == pytest.approx(0.1)


def test_most_pairs_come_before_the_least_distance() -> None:
    # The nearest pair first would leave the second cup without a partner.
    true = [seen("cup", 0.0), seen("cup", 0.5)]
    made = score([seen("cup", 0.4), seen("cup", 0.9)], true, 0.5)
    assert len(made.matches) == 2


def test_the_three_variants_of_the_paper() -> None:
    made = variants([seen("book", 0.1), seen("book", 9.0)], [CUP, BOOK], 0.5)
    assert made.full.recall == 0.0
    assert made.any_class.recall == 0.5
    assert made.any_place.recall == 0.5
    assert made.hallucinations == 1


def test_nothing_to_divide_by_is_no_rate() -> None:
    assert score([], [CUP], 0.5).precision is None
    assert score([CUP], [], 0.5).recall is None
    assert score([], [], 0.5).error_m is None


PLACED = st.builds(
    Placed,
    st.text(max_size=3),
    st.sampled_from(["cup", "book"]),
    st.tuples(*[st.floats(-5, 5)] * 3),
)


@given(st.lists(PLACED, max_size=6), st.lists(PLACED, max_size=6))
def test_forgiving_more_never_loses_pairs(ours: list[Placed], true: list[Placed]) -> None:
    made = variants(ours, true, 0.5)
    assert len(made.any_class.matches) >= len(made.full.matches)
    assert len(made.any_place.matches) >= len(made.full.matches)
    assert all(math.isfinite(m.distance_m) for m in made.any_place.matches)
