from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.memory.entity_list import EntityList
from planner.memory.learned.detector import FrameDetections
from planner.memory.learned.openings import Openings
from planner.world.entity import Entity
from planner.world.house import Furniture, House
from planner.world.house_checks import load_house


@pytest.fixture(scope="module")
def house() -> House:
    return load_house("train_0")


@pytest.fixture
def piece(house: House) -> Furniture:
    return next(p for p in house.furniture if p.joints)


def look(piece: Furniture, logit: float, count: int = 100) -> FrameDetections:
    """Points all over a piece, and as many far away that say the opposite."""
    rng = np.random.default_rng(1)
    box = piece.box
    points = rng.uniform(box.minimum_m, box.maximum_m, (count, 3))
    logits = np.repeat([logit, -logit], count).astype(np.float32)
    return FrameDetections((), np.vstack([points, points + 50]).astype(np.float32), logits)


def entity(house: House, piece: Furniture, openness: float) -> Entity:
    return replace(next(e for e in EntityList(house).entities if e.name == piece.name),
                   openness=openness)  # fmt: skip


def test_furniture_is_open_after_a_few_looks_and_one_odd_picture_opens_nothing(
    house: House, piece: Furniture
) -> None:
    openings, known = Openings(house), [entity(house, piece, 0.0)]
    assert openings.update(look(piece, 4.0), known) == []
    made = [openings.update(look(piece, 4.0), known) for _ in range(3)]
    (operation,) = made[0]
    assert operation.entity_id == known[0].entity_id
    assert operation.facts is not None
    assert operation.facts.openness == 1.0
    assert openings.seen[piece.name] > 0


def test_furniture_that_looks_as_it_is_known_is_no_news(house: House, piece: Furniture) -> None:
    openings, known = Openings(house), [entity(house, piece, 1.0)]
    assert [openings.update(look(piece, 4.0), known) for _ in range(6)] == [[]] * 6


def test_a_few_points_say_nothing(house: House, piece: Furniture) -> None:
    openings, known = Openings(house), [entity(house, piece, 0.0)]
    for _ in range(6):
        assert openings.update(look(piece, 4.0, count=20), known) == []
    assert openings.seen == {}
