"""Loading: the same arguments give the same world; a bad one does not affect the old world."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.world.errors import PlannerError
from planner.world.house import ObjectPlacement
from planner.world.observation import CameraFrame
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation
from sim_bridge.conformance_checks.trial import (
    Trial,
    UnsuitableError,
    expect,
    middle_m,
    raises_planner_error,
)

# Of a real robot's time, in which a refusal takes a moment.
MAX_REFUSAL_S = 10.0


def before_any_episode(trial: Trial) -> None:
    """A new backend has no agents and answers requests with NO_WORLD."""
    fresh = trial.setting.make_backend()
    try:
        expect(fresh.agents == (), f"it has agents before any episode: {fresh.agents}")
        primitive = Primitive(PrimitiveName.NAVIGATE, (0.0, 0.0, 0.0))
        result = fresh.poll(fresh.start("agent_0", primitive)).result
        code = None if result is None else result.code
        expect(code is PrimitiveCode.NO_WORLD, f"a primitive before any episode gives {code}")
    finally:
        fresh.close()
        fresh.close()


def agents_of_the_episode(trial: Trial) -> None:
    """The agents are those of the episode, in its order; unknown ones are refused."""
    expected = tuple(agent.uid for agent in trial.setting.episode.agents)
    expect(trial.backend.agents == expected, f"agents are {trial.backend.agents}, not {expected}")
    for agent in expected:
        can = trial.backend.capabilities(agent)
        expect(can.reach_m > 0 and can.radius_m > 0, f"{agent} has no reach or radius")
        known = trial.backend.world_state() is not None
        expect(can.ground_truth == known, f"{agent}: ground_truth is not what world_state shows")
    raises_planner_error(lambda: trial.backend.capabilities("agent_9"), "capabilities of agent_9")
    raises_planner_error(lambda: trial.backend.observe("agent_9", ()), "observing agent_9")


def same_call_same_world(trial: Trial) -> None:
    """Two backends with the same arguments give the same state and pixels."""
    _need_simulator(trial)
    twin = Trial(trial.setting.make_backend(), trial.setting)
    try:
        for moment in range(4):
            where = f"after {moment} primitives"
            expect(_same_state(trial, twin), f"two backends differ in their state {where}")
            _expect_same_pixels(trial, twin, where)
            target = middle_m(_something(trial, moment))
            for each in (trial, twin):
                each.do(PrimitiveName.NAVIGATE, target)
                each.do(PrimitiveName.LOOK, target)
    finally:
        twin.backend.close()


def reset_starts_anew(trial: Trial) -> None:
    """Whatever happened, loading again restores the first state."""
    _need_simulator(trial)
    before = trial.truth()
    expect(trial.backend.now_s() == 0.0, f"an episode begins at {trial.backend.now_s()} s, not 0")
    trial.do(PrimitiveName.NAVIGATE, middle_m(_something(trial, 0)))
    trial.reload()
    after = trial.truth()
    expect(after.entities == before.entities, "loading again does not bring back the first state")
    expect(after.stamp_s == 0.0, "loading again does not set the clock to 0")


def other_seed_same_things(trial: Trial) -> None:
    """A seed decides only what the episode leaves open, not where its things lie."""
    _need_simulator(trial)
    setting = trial.setting
    before = _placed(trial)
    trial.backend.reset(setting.house, setting.episode, setting.seed + 1)
    expect(_placed(trial) == before, "another seed moved things that the episode places")


def bad_episode_changes_nothing(trial: Trial) -> None:
    """An episode that does not match is refused, and the old world goes on."""
    setting = trial.setting
    lost = ObjectPlacement(
        name="cup_9999",
        class_name="cup",
        size_m=(0.08, 0.08, 0.1),
        pose=(0.0, 0.0, 0.0, 0.0),
        parent="nowhere_9999",
        relation=Relation.ON,
    )
    bad = setting.episode.model_copy(update={"objects": (*setting.episode.objects, lost)})
    handle = trial.start(PrimitiveName.NAVIGATE, middle_m(_something(trial, 0)))
    trial.step(0.2)
    before, now_s = trial.backend.world_state(), trial.backend.now_s()
    raises_planner_error(
        lambda: trial.backend.reset(setting.house, bad, setting.seed), "an episode that misfits"
    )
    expect(trial.backend.world_state() == before, "a refused episode changed the world")
    passed_s = trial.backend.now_s() - now_s
    same = passed_s == 0.0 or (not trial.backend.simulated and 0.0 < passed_s < MAX_REFUSAL_S)
    expect(same, f"a refused episode changed the time by {passed_s} s")
    result = trial.finish(handle)
    expect(result.code is not PrimitiveCode.CANCELED, "a refused episode canceled a primitive")


def handles_end_with_their_world(trial: Trial) -> None:
    """Results are kept until the next episode; unknown handles are refused."""
    target = middle_m(_something(trial, 0))
    first = trial.start(PrimitiveName.LOOK, target)
    result = trial.finish(first)
    for _ in range(3):
        trial.do(PrimitiveName.LOOK, target)
    expect(trial.backend.poll(first).result == result, "an earlier result was not kept")
    unknown = type(first)(int(first) + 1_000_000)
    raises_planner_error(lambda: trial.backend.poll(unknown), "polling a handle never given out")


def _need_simulator(trial: Trial) -> None:
    if not trial.backend.simulated:
        raise UnsuitableError("a real world cannot be repeated")


def _something(trial: Trial, number: int) -> EntityState:
    things = trial.lying_open()
    return things[number * 7 % len(things)]


def _same_state(one: Trial, other: Trial) -> bool:
    a, b = one.truth(), other.truth()
    return (a.stamp_s, a.step, a.revision, a.entities) == (
        b.stamp_s,
        b.step,
        b.revision,
        b.entities,
    )


def _expect_same_pixels(one: Trial, other: Trial, where: str) -> None:
    for camera, (a, b) in _frames(one, other).items():
        same = (
            np.array_equal(a.rgb, b.rgb)
            and np.array_equal(a.depth_m, b.depth_m)
            and np.array_equal(np.asarray(a.instances), np.asarray(b.instances))
        )
        expect(same, f"two backends differ in the pixels of camera {camera} {where}")


def _frames(one: Trial, other: Trial) -> Mapping[str, tuple[CameraFrame, CameraFrame]]:
    cameras = one.can().cameras
    try:
        a, b = (each.backend.observe(each.agent, cameras).cameras for each in (one, other))
    except PlannerError:
        # Without a renderer there are no pixels to compare; the sensing checks report that.
        return {}
    expect(set(a) == set(b), "two backends differ in the frames they dropped")
    return {camera: (a[camera], b[camera]) for camera in a}


def _things(state: WorldState) -> dict[str, object]:
    kinds = (EntityKind.OBJECT, EntityKind.FURNITURE)
    return {name: entity for name, entity in state.entities.items() if entity.kind in kinds}


def _placed(trial: Trial) -> dict[str, object]:
    """The furniture, and the things that house or episode place: a world may add others."""
    setting = trial.setting
    named = {item.name for item in (*setting.house.objects, *setting.episode.objects)}
    named |= setting.house.furniture_by_name.keys()
    return {name: thing for name, thing in _things(trial.truth()).items() if name in named}


CHECKS = (
    before_any_episode, agents_of_the_episode, same_call_same_world, reset_starts_anew,
    other_seed_same_things, bad_episode_changes_nothing, handles_end_with_their_world,
)  # fmt: skip
