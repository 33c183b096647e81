"""What `expert` takes for a fact."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from planning_toys import ToyWorld

from planner.planning.expert.facts import Facts
from planner.world.vocabulary import Relation

Make = Callable[..., ToyWorld]


@pytest.mark.parametrize(
    ("known", "sliced"), [("tomato_slice_5", True), ("tomato_slice_0", None), ("tomato_1", None)]
)
def test_one_slice_shows_that_the_whole_thing_is_sliced(
    toy_world: Make, known: str, sliced: bool | None
) -> None:
    """Slices 4 to 7 are those of tomato_1."""
    world = toy_world(things={known: (Relation.ON, "table_0")})
    facts = Facts(world.belief(), world.house, {}, {}, {})
    assert facts.state("tomato_slice_4", "sliced") is sliced
    assert facts.state("tomato_slice_4", "clean") is None
