"""Which of the ranked calls is made."""

from __future__ import annotations

import numpy as np

from planner.planning.learned.chooser import best


def test_looks_count_as_one_and_the_best_of_them_is_taken() -> None:
    verbs = ["ExploreFurniture", "ExploreFurniture", "ExploreFurniture", "PowerOn"]
    assert best(verbs, np.array([1.0, 1.2, 1.1, 1.5], np.float32)) == 1
    assert best(verbs, np.array([1.0, 1.2, 1.1, 3.0], np.float32)) == 3


def test_many_walks_do_not_lead_away_from_where_a_thing_is_put_down() -> None:
    # In a room of which any piece will do, it came to one of them.
    verbs = ["Place", *["Navigate"] * 6]
    ranks = np.array([3.9, 2.9, 2.7, 2.6, 2.6, 2.5, 2.5], np.float32)
    assert best(verbs, ranks) == 0


def test_without_looks_the_highest_rank_is_made() -> None:
    assert best(["Pick", "Navigate"], np.array([0.1, 0.2], np.float32)) == 1
    assert best(["ExploreFurniture"], np.array([0.1], np.float32)) == 0
