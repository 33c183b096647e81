"""No two lines of a plot have the same colour, and a mean has its interval."""

from __future__ import annotations

import pytest

from planner.bench.bench_cli import line_colours
from planner.bench.memory_bench import interval
from planner.memory.part import UPDATERS


@pytest.mark.parametrize("count", [0, 1, 2, 6, 7, 12, 30])
def test_as_many_colours_as_lines(count: int) -> None:
    found = line_colours(count)
    assert len(set(found)) == len(found) == count


def test_every_updater_can_have_a_line_in_one_plot() -> None:
    """Colours used to repeat from the sixth on, and there are more updaters than that."""
    colours = line_colours(len(UPDATERS.names()))
    apart = [
        sum(abs(a - b) for a, b in zip(one, other, strict=True))
        for place, one in enumerate(colours)
        for other in colours[:place]
    ]
    assert len(colours) > 5
    assert min(apart) > 60


def test_an_interval_holds_its_mean_and_skips_what_is_not_there() -> None:
    made = interval([0.2, None, 0.8])
    assert made is not None
    assert made.mean == pytest.approx(0.5)
    assert made.low <= made.mean <= made.high
    assert made.count == 2
    assert interval([None]) is None
