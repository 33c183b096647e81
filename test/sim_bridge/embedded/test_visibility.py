"""What rays tell of a view agrees with what a picture of it shows."""

from __future__ import annotations

import numpy as np
import pytest

from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.house_ground import HouseGround
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.embedded.scene import Scene, house_spec
from sim_bridge.embedded.screens import Screens
from sim_bridge.embedded.visibility import Visibility
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.opening import bare_episode
from sim_bridge.structure import wall_segments


@pytest.mark.parametrize("target", ["cup_0", "book_0", "sink_0", "chest_of_drawers_0"])
def test_sightings_are_what_the_picture_shows(
    small_house: House, small_episode: Episode, target: str
) -> None:
    backend = EmbeddedBackend()
    backend.reset(small_house, small_episode, 0)
    state = backend.world_state()
    assert state is not None
    center = state.entities[target].box.center_m
    for name in (PrimitiveName.NAVIGATE, PrimitiveName.LOOK):
        handle = backend.start("agent_0", Primitive(name, center))
        while not backend.poll(handle).done:
            backend.step(1 / 30)
    frame = backend.observe("agent_0").cameras["hand"]
    state = backend.world_state()
    assert state is not None
    assert frame.instances is not None
    total = frame.instances.size
    told = {s.name: s for s in backend.sightings("agent_0")}
    drawn = {
        e.name: float((frame.instances == e.instance_id).sum()) / total
        for e in state.entities.values()
        if e.instance_id > 0
    }
    assert target in told
    for name, share in drawn.items():
        if share > 0.01:
            assert name in told
            assert 0.2 < told[name].fraction / share < 5
    for sighting in told.values():
        if sighting.fraction > 0.01:
            assert drawn[sighting.name] > 0.001
    rows, columns = np.nonzero(frame.instances == state.entities[target].instance_id)
    u, v = told[target].pixel
    assert columns.min() - 1 <= u <= columns.max() + 1
    assert rows.min() - 1 <= v <= rows.max() + 1
    for name in (e.name for e in state.entities.values() if e.instance_id > 0):
        shown = name in told and told[name].fraction >= 0.001
        assert name == "agent_0" or backend.sees_any("agent_0", [name], 6.0, 0.001) == shown
    assert not backend.sees_any("agent_0", [], 6.0, 0.001)
    backend.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["train_3", "heldout_2"])
def test_what_walls_are_said_to_hide_no_ray_meets(name: str) -> None:
    house = load_house(name)
    options = EmbeddedOptions(renderer="none")
    ground = HouseGround(house)
    world = KinematicWorld(ground, bare_episode(house, agents=2), 0, default_catalogue(), options)
    for piece in world.pieces.values():
        for joint in piece.opening:
            world.set_opening(piece, joint, 0.8)
    scene = Scene(world, house_spec(house, default_catalogue()), default_catalogue())
    screens = Screens(house, wall_segments(house))
    behind, open_plan = Visibility(world, scene, screens), Visibility(world, scene)
    agent = world.agents["agent_0"]
    rng = np.random.default_rng(0)
    cells = ground.grid(agent.body.radius_m).free_points_m
    left_out = 0
    for x, y in cells[rng.permutation(len(cells))[:60]].tolist():
        world.move_agent(agent, x, y, float(rng.uniform(-3.1, 3.1)))
        seen = open_plan.sightings(agent, 6.0, 0.0)
        assert behind.sightings(agent, 6.0, 0.0) == seen
        names = [thing for thing in world.things if rng.random() < 0.5]
        large = {s for s in seen if s.name in names and s.fraction >= 0.001}
        glimpsed = {
            s for s in behind.sightings_among(agent, names, 6.0, 0.001) if s.fraction >= 0.001
        }
        assert {s for s in glimpsed if s.name in names} == large
        # Besides these only what they are on or in.
        parents = {world.things[name].parent for name in names}
        assert {s.name for s in glimpsed} <= {*names, *parents}
        left_out += int(screens.hidden_from(x, y).sum())
    assert left_out > 60


def test_what_is_said_not_to_show_does_not_show_then(
    small_house: House, small_episode: Episode
) -> None:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(small_house, small_episode, 0)
    state = backend.world_state()
    assert state is not None
    names = [e.name for e in state.entities.values() if e.instance_id > 0]
    names = [name for name in names if name not in backend.agents]
    counts = {True: 0, False: 0}
    for target in names[::2]:
        center = state.entities[target].box.center_m
        handle = backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, center))
        while not backend.poll(handle).done:
            steps = backend.steady_steps(1 / 30, ["agent_0"])
            ahead = {
                (name, step): backend.looks_seeing_none([name], [step / 30], 6.0, 0.001) == 0
                for name in names
                for step in range(3, min(steps, 30), 9)
            }
            looks = [step / 30 for step in range(3, min(steps, 30), 9)]
            for name in names:
                each = [ahead[name, round(look * 30)] for look in looks]
                first = each.index(True) if True in each else len(each)
                assert backend.looks_seeing_none([name], looks, 6.0, 0.001) == first
            for step in range(1, min(steps, 30) + 1):
                backend.step(1 / 30)
                for name in names:
                    expected = ahead.get((name, step))
                    if expected is None:
                        continue
                    shown = any(
                        backend.sees_any(agent, [name], 6.0, 0.001) for agent in backend.agents
                    )
                    assert expected or not shown, (name, step)
                    counts[expected] += 1
    # It is no excuse to say of all that it may show.
    assert counts[False] > counts[True] > 20
