"""The small house with agents whose skills can be called."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from skill_world import World

from planner.skills.attempt import SkillOptions
from planner.world.episode import Episode
from planner.world.house import House
from sim_bridge.embedded.options import EmbeddedOptions, Noise

MakeWorld = Callable[..., World]


@pytest.fixture
def make_world(small_house: House, small_episode: Episode) -> MakeWorld:
    def make(
        options: SkillOptions | None = None,
        episode: Episode | None = None,
        **noise: float,
    ) -> World:
        embedded = EmbeddedOptions(renderer="none", noise=Noise(**noise))
        return World(small_house, episode or small_episode, options, embedded)

    return make


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    return make_world()
