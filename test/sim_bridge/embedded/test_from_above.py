"""What is open at the top is filled from above: its bottom need not be in view."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest

from planner.houses.clutter import ObjectRequest, place_objects
from planner.world.geometry import Vec3
from planner.world.house import ObjectPlacement
from planner.world.house_checks import load_house
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from planner.world.vocabulary import Relation
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.manipulation import RefusalError, check_place
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.embedded.placing import supports_of
from sim_bridge.embedded.sensing import Rays
from sim_bridge.embedded.walking import place_to_stand
from sim_bridge.opening import bare_episode


class OverTheRim:
    """The eyes see only what is higher than a rim; straight down the view is the true one."""

    def __init__(self, rays: Rays, rim_m: float) -> None:
        self._rays, self._rim_m = rays, rim_m

    def sees(self, origin_m: Vec3, points_m: Iterable[Vec3], instances: frozenset[int]) -> bool:
        points = list(points_m)
        if all(math.dist(origin_m[:2], point[:2]) < 0.01 for point in points):
            return self._rays.sees(origin_m, points, instances)
        return any(point[2] > self._rim_m for point in points)


@pytest.mark.parametrize(
    ("class_name", "part", "refused"),
    [("hamper", "inside", None), ("tv_stand", "middle", PrimitiveCode.NO_LINE_OF_SIGHT)],
)
def test_only_what_nothing_covers_is_filled_unseen(
    class_name: str, part: str, refused: PrimitiveCode | None
) -> None:
    house = load_house("train_4")
    sock = place_objects(house, [ObjectRequest(("sock",))], np.random.default_rng(0))[0]
    assert isinstance(sock, ObjectPlacement)
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    house = house.model_copy(update={"objects": (sock,)})
    backend.reset(house, bare_episode(house, 2), 0)
    world, rays = backend._loaded(), backend._synced_scene()
    piece = next(p for p in world.pieces.values() if p.record.class_name == class_name)
    support = next(s for s in supports_of(piece, Relation.WITHIN) if s.part == part)
    bottom_m = piece.to_map(support.center)
    agent = world.agents["agent_0"]
    stand = place_to_stand(world, rays, agent, bottom_m, math.nan)
    assert stand.cell is not None, stand.reason
    agent.x_m, agent.y_m = world.ground.grid(agent.body.radius_m).point(stand.cell)
    agent.hands = (sock.name,)
    place = Primitive(PrimitiveName.PLACE, bottom_m, relation=Relation.WITHIN)
    found: PrimitiveCode | None = None
    try:
        spot, _ = check_place(
            world, OverTheRim(rays, bottom_m[2] + support.clearance_m), agent, place, bottom_m, None
        )
        assert spot.support.part == part
    except RefusalError as refusal:
        found = refusal.result.code
    backend.close()
    assert found is refused
