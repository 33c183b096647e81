"""Where the report says that objects were, from the world's states."""

from __future__ import annotations

import pytest

from planner.replay.report.things import TrueWorld
from planner.world.geometry import Pose
from planner.world.hands import Hands
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation

AT = Pose((1.0, 2.0, 0.0))


@pytest.mark.parametrize(
    ("hands", "hand"), [((None, "cup_0"), "the left hand"), (("cup_0",), ""), ((), "")]
)
def test_the_hand_is_named_where_there_are_two(hands: Hands, hand: str) -> None:
    cup = EntityState(
        "cup_0", EntityKind.OBJECT, "cup", 1, AT, (0.1, 0.1, 0.1), "agent_1", Relation.HELD, None
    )
    person = EntityState(
        "agent_1", EntityKind.AGENT, "human", 2, AT, (0.5, 0.5, 1.7), None, None, None, hands=hands
    )
    world = TrueWorld()
    world.take(0, WorldState(0.0, 0, 0, "small", "e", {"cup_0": cup, "agent_1": person}), None)
    (spot,) = world.spots["cup_0"]
    assert (spot.holder, spot.hand) == ("agent_1", hand)
