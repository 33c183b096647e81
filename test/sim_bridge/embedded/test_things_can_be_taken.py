"""House checks and simulator agree: every thing of what is shipped can be walked to and taken."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.houses.generator import shipped_houses
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.house_checks import load_episode, load_house
from planner.world.share import config_dir
from planner.world.vocabulary import Relation
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.entities import Thing
from sim_bridge.embedded.manipulation import RefusalError, check_pick
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.embedded.walking import place_to_stand

pytestmark = pytest.mark.slow
EPISODES = sorted((config_dir() / "episodes").glob("*/*.json"))


@pytest.fixture(scope="module")
def backend() -> Iterator[EmbeddedBackend]:
    made = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    yield made
    made.close()


def _refusal(backend: EmbeddedBackend, thing: Thing, start_m: tuple[float, float]) -> str:
    """Why the robot cannot take a thing from where navigation would bring it; "" if it can."""
    world = backend._loaded()
    robot = world.agents["agent_0"]
    robot.x_m, robot.y_m = start_m
    stand = place_to_stand(world, backend._synced_scene(), robot, thing.center_m, math.nan)
    if stand.cell is None:
        return stand.reason
    robot.x_m, robot.y_m = world.ground.grid(robot.body.radius_m).point(stand.cell)
    try:
        check_pick(world, backend._synced_scene(), robot, thing.center_m)
    except RefusalError as refusal:
        return refusal.result.text
    return ""


def _refused(backend: EmbeddedBackend, house: House, episode: Episode) -> list[str]:
    """The things that cannot be taken, once what hides them has been opened or taken away."""
    backend.reset(house, episode, 0)
    world = backend._loaded()
    robot = world.agents["agent_0"]
    start_m = (robot.x_m, robot.y_m)
    refused = []
    for thing in world.things.values():
        outermost = thing
        while outermost.parent in world.things:
            outermost = world.things[outermost.parent]
        piece = world.pieces.get(outermost.parent)
        joint = None
        if piece is not None and outermost.relation is Relation.WITHIN:
            joint = next(i for i in piece.record.interiors if i.name == outermost.part).joint
        if piece is not None and joint is not None:
            world.set_opening(piece, joint, 1.0)
        reason = _refusal(backend, thing, start_m)
        if reason:
            others = [
                t for t in world.things.values() if t.parent == thing.parent and t is not thing
            ]
            for other in others:
                other.z_m += 100.0
                world.touch(other.name)
            reason = _refusal(backend, thing, start_m)
            for other in others:
                other.z_m -= 100.0
                world.touch(other.name)
        if piece is not None and joint is not None:
            world.set_opening(piece, joint, 0.0)
        if reason:
            refused.append(f"{thing.name} in {thing.parent} {thing.part}: {reason}")
    return refused


@pytest.mark.parametrize("path", shipped_houses(), ids=lambda path: path.stem)
def test_every_thing_of_a_shipped_house_can_be_taken(backend: EmbeddedBackend, path: Path) -> None:
    house = load_house(str(path))
    episode = Episode(
        version=1,
        episode_id="things",
        house=house.name,
        instruction="",
        agents=({"uid": "agent_0", "kind": "robot"},),
        objects=house.objects,
    )
    assert _refused(backend, house, episode) == []


def test_every_thing_of_every_shipped_episode_can_be_taken(backend: EmbeddedBackend) -> None:
    refused = {}
    for path in EPISODES:
        episode, house = load_episode(path)
        if found := _refused(backend, house, episode):
            refused[path.stem] = found
    assert len(EPISODES) > 50
    assert refused == {}
