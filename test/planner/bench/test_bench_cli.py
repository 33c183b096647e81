"""No two lines of a plot have the same colour."""

from __future__ import annotations

import pytest

from planner.bench.bench_cli import line_colours
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
