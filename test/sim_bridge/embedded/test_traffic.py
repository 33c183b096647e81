"""Six agents that never rest, in a house with a narrow corridor."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from pydantic import ValidationError

from planner.world.episode import AgentPlacement, Episode
from planner.world.floor_grid import FloorGrid
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from planner.world.vocabulary import AgentKind
from sim_bridge.backend import Handle
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import Durations, EmbeddedOptions

DT_S = 1 / 30
RADIUS_M = 0.28
STEPS = 4500


def _traffic(house: House, seed: int) -> Counter[PrimitiveCode]:
    """How the walks of six agents end that set out for anywhere again and again."""
    agents = [AgentPlacement(uid=f"agent_{i}", kind=AgentKind.ROBOT) for i in range(6)]
    episode = Episode(
        version=1,
        episode_id="traffic",
        house=house.name,
        instruction="",
        agents=tuple(agents),
        objects=house.objects,
    )
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(house, episode, 0)
    grid = FloorGrid.of(house, RADIUS_M)
    main = Counter(grid.components.ravel()[grid.free.ravel()].tolist()).most_common(1)[0][0]
    cells = [int(c) for c in (grid.components.ravel() == main).nonzero()[0]]
    choose = random.Random(seed)
    walks: dict[str, tuple[Handle, float]] = {}
    codes: Counter[PrimitiveCode] = Counter()
    timeout_s = EmbeddedOptions().durations.default_timeout
    for _ in range(STEPS):
        for agent in backend.agents:
            if agent in walks:
                handle, began_s = walks[agent]
                result = backend.poll(handle).result
                assert result or backend.now_s() - began_s <= timeout_s + 1
                if result is None:
                    continue
                codes[result.code] += 1
            x, y = grid.point(choose.choice(cells))
            handle = backend.start(agent, Primitive(PrimitiveName.NAVIGATE, (x, y, 0.0)))
            walks[agent] = (handle, backend.now_s())
        backend.step(DT_S)
        state = backend.world_state()
        assert state is not None
        at = [state.entities[agent].pose.position_m for agent in backend.agents]
        assert all(math.dist(a, b) >= 2 * RADIUS_M for i, a in enumerate(at) for b in at[:i])
    return codes


@pytest.mark.slow
def test_every_walk_of_six_ends_and_most_arrive() -> None:
    # Six jam now and then, which one draw of places may show and the next not.
    house = load_house("train_5")
    codes = sum((_traffic(house, seed) for seed in range(3)), Counter[PrimitiveCode]())
    assert set(codes) <= {PrimitiveCode.SUCCESS, PrimitiveCode.BLOCKED, PrimitiveCode.TIMED_OUT}
    assert codes[PrimitiveCode.SUCCESS] >= 30
    assert codes[PrimitiveCode.SUCCESS] >= 0.75 * codes.total(), codes


def test_older_settings_name_the_time_limit_of_a_blocked_walk_differently() -> None:
    older = Durations.model_validate({"patience": 7.0})
    assert older == Durations.model_validate({"blocked_timeout": 7.0})
    with pytest.raises(ValidationError, match="patience"):
        Durations.model_validate({"patience": 0.0})
