"""Kinds of skills: by oracle, with noise, or by a policy that drives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_policy import blank_policy, homing_policy
from skill_world import DT_S, World

from planner.app.in_process_world import BackendPort
from planner.parts.option import OptionError
from planner.skills.attempt import Attempt
from planner.skills.executor import SkillExecutor
from planner.skills.kind import LearnedSkills, SkillChoice, SkillKind, make_mover
from planner.skills.policy import navigation as navigation
from planner.skills.policy.navigation import goal_of
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.geometry import Pose, Vec3
from planner.world.house import House
from planner.world.observation import CameraFrame, Intrinsics, Observation
from planner.world.primitive import Capabilities, DriveLimits
from planner.world.skill import SkillCode, SkillResult
from sim_bridge.embedded.options import EmbeddedOptions

MakeWorld = Callable[..., World]


class SeeingPort(BackendPort):
    """A body whose camera measures nothing, so that no renderer is needed."""

    def observe(self, cameras: Sequence[str] = ("hand",)) -> Observation | None:
        seen = self._backend.observe(self.agent, ())
        frame = CameraFrame(
            rgb=np.zeros((8, 8, 3), np.uint8),
            depth_m=np.zeros((8, 8), np.float32),
            instances=None,
            intrinsics=Intrinsics(8, 8, 4.0, 4.0, 3.5, 3.5),
            pose=seen.base.compose(Pose((0.0, 0.0, 1.0), (-0.5, 0.5, -0.5, 0.5))),
        )
        return replace(seen, cameras=dict.fromkeys(cameras, frame))


def called(world: World, choice: SkillChoice, call: str) -> SkillResult:
    """The result of a call of the robot with this kind of skills."""
    executor = SkillExecutor(
        world.house,
        SeeingPort(world.backend, "agent_0"),
        world.belief,
        team=world.team,
        choice=choice,
    )
    result = executor.start(call)
    for _ in range(20_000):
        if result is not None:
            return result
        world.backend.step(DT_S)
        result = executor.step()
    raise AssertionError(f"{call} did not end")


def test_options_make_a_choice() -> None:
    assert SkillChoice.of({}) == SkillChoice(SkillKind.ORACLE, noise=1.0, seed=0)
    given = SkillChoice.of({"skill_kind": "learned", "skill_policy": "p.safetensors"})
    assert given == SkillChoice(SkillKind.LEARNED, Path("p.safetensors"))
    assert given.learned is LearnedSkills.BOTH
    with pytest.raises(OptionError, match="expected one of oracle, noisy, learned, got perfect"):
        SkillChoice.of({"skill_kind": "perfect"})
    with pytest.raises(OptionError, match=r"skill_noise: -1.0 is less than 0"):
        SkillChoice.of({"skill_noise": -1.0})
    for name in ("skill_policy", "skill_hand_policy"):
        with pytest.raises(OptionError, match=f"{name}: is of skill_kind learned, not of noisy"):
            SkillChoice.of({"skill_kind": "noisy", name: "p.safetensors"})
    with pytest.raises(OptionError, match="skill_hand_policy: is not used with skill_learned nav"):
        SkillChoice.of(
            {"skill_kind": "learned", "skill_learned": "navigate", "skill_hand_policy": "p"}
        )


def test_a_policy_is_read_before_anything_runs(tmp_path: Path) -> None:
    SkillChoice().check()
    SkillChoice(SkillKind.LEARNED).check()
    SkillChoice(SkillKind.LEARNED, blank_policy(tmp_path / "p.safetensors")).check()
    with pytest.raises(FileError, match=r"none\.safetensors: cannot be read"):
        SkillChoice(SkillKind.LEARNED, tmp_path / "none.safetensors").check()
    with pytest.raises(FileError, match="this is not a policy of manipulate"):
        SkillChoice(SkillKind.LEARNED, hand_policy=tmp_path / "p.safetensors").check()


def test_a_policy_drives_the_body_and_faces_the_target(world: World, tmp_path: Path) -> None:
    choice = SkillChoice(SkillKind.LEARNED, homing_policy(tmp_path / "p.safetensors"))
    before = world.backend.observe("agent_0", ()).base
    body = world.backend._loaded().agents["agent_0"]
    room = world.house.room_at(body.x_m, body.y_m)
    piece = next(
        p
        for p in world.house.furniture
        if p.room == room and math.dist((p.x_m, p.y_m), (body.x_m, body.y_m)) > 1.2
    )
    result = called(world, choice, f"Navigate[{piece.name}]")
    assert result.succeeded, result
    assert int(result.evidence["primitives"]) > 2, "it was many drives"
    after = world.backend.observe("agent_0", ()).base
    assert math.dist(before.position_m, after.position_m) > 0.2
    bearing = after.inverse().apply((piece.x_m, piece.y_m, 0.0))
    assert abs(math.atan2(bearing[1], bearing[0])) < 1.0


def test_a_policy_that_never_arrives_ends_and_says_so(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(navigation, "MAX_ACTS", 20)
    choice = SkillChoice(SkillKind.LEARNED, blank_policy(tmp_path / "p.safetensors"))
    body = world.backend._loaded().agents["agent_0"]
    away = max(world.house.furniture, key=lambda p: math.dist((p.x_m, p.y_m), (body.x_m, body.y_m)))
    result = called(world, choice, f"Navigate[{away.name}]")
    assert result.code is SkillCode.BLOCKED
    assert "the policy did not arrive in 20 acts" in result.text


@pytest.mark.slow
@pytest.mark.parametrize(("near_m", "last"), [(math.inf, 0), (0.0, 1)])
def test_who_does_not_make_way_is_an_obstacle_after_a_while(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, near_m: float, last: int
) -> None:
    told: list[int] = []
    add = navigation.DepthMap.add

    def noted(
        self: navigation.DepthMap, *args: Any, persons_m: Sequence[Vec3], **more: Any
    ) -> None:
        told.append(len(persons_m))
        add(self, *args, persons_m=persons_m, **more)

    asked: list[Vec3] = []

    def chosen(attempt: Attempt, target_m: Vec3) -> tuple[float, float] | None:
        asked.append(target_m)
        return goal_of(attempt, target_m)

    monkeypatch.setattr(navigation, "goal_of", chosen)
    monkeypatch.setattr(navigation.DepthMap, "add", noted)
    monkeypatch.setattr(navigation, "_NEAR_ONE_M", near_m)
    monkeypatch.setattr(navigation, "MAX_ACTS", 60)
    # It drives against a wall, and the other one is, or is not, near enough to be what hinders.
    choice = SkillChoice(SkillKind.LEARNED, blank_policy(tmp_path / "p.safetensors"))
    called(world, choice, f"Navigate[{world.house.furniture[-1].name}]")
    assert told[0] == 1
    assert told[-1] == last
    assert told == sorted(told, reverse=True), "nobody makes way later in the same walk"
    assert sum(told) >= navigation.PATIENCE_ACTS
    assert len(asked) == 2 - last, "who stands on the goal by then is not waited for"
    assert len(set(asked)) == 1


@pytest.mark.slow
def test_a_policy_reaches_for_what_it_takes(small_house: House, small_episode: Episode) -> None:
    world = World(small_house, small_episode, None, EmbeddedOptions(renderer="rays"))
    choice = SkillChoice(SkillKind.LEARNED, learned=LearnedSkills.MANIPULATE)
    executor = SkillExecutor(
        world.house,
        BackendPort(world.backend, "agent_0"),
        world.belief,
        team=world.team,
        choice=choice,
    )

    def done(call: str) -> SkillResult:
        result = executor.start(call)
        for _ in range(20_000):
            if result is not None:
                return result
            world.backend.step(DT_S)
            result = executor.step()
        raise AssertionError(f"{call} did not end")

    assert done("Navigate[cup_0]").evidence["primitives"] == "1", "walking is by oracle"
    picked = done("Pick[cup_0]")
    assert picked.succeeded, picked
    assert int(picked.evidence["primitives"]) > 2, "the hand was driven to it"
    body = world.backend._loaded().agents["agent_0"]
    assert body.held == ("cup_0",)


def test_noise_makes_skills_fail_and_repeats(make_world: MakeWorld) -> None:
    def outcomes(noise: float, seed: int) -> list[bool]:
        world = make_world()
        found = []
        executor = SkillExecutor(
            world.house,
            SeeingPort(world.backend, "agent_0"),
            world.belief,
            choice=SkillChoice(SkillKind.NOISY, noise=noise, seed=seed),
        )
        for piece in (*world.house.furniture[:3], *world.house.furniture[:3]):
            result = executor.start(f"Navigate[{piece.name}]")
            while result is None:
                world.backend.step(DT_S)
                result = executor.step()
            found.append(result.succeeded)
        return found

    assert outcomes(0.0, 1) == [True] * 6
    noisy = outcomes(8.0, 1)
    assert not all(noisy)
    assert outcomes(8.0, 1) == noisy
    assert outcomes(10.0, 2) != [True] * 6


def test_a_policy_for_another_body_is_one_error(tmp_path: Path) -> None:
    path = blank_policy(tmp_path / "p.safetensors", body="human")
    robot = Capabilities("robot", frozenset({"navigate"}), ("hand",), 1.5, 0.28, True)
    choice = SkillChoice(SkillKind.LEARNED, path, learned=LearnedSkills.NAVIGATE)
    with pytest.raises(
        FileError, match=r"p.safetensors: body: is of a human, and agent_0 is a robot"
    ):
        make_mover(choice, "agent_0", robot)
    person = replace(robot, kind="human")
    assert make_mover(choice, "agent_1", person) is None, "people move by oracle"
    everybody = replace(choice, body="", learned=LearnedSkills.NAVIGATE)
    with pytest.raises(PlannerError, match="agent_1 has no camera 'hand'"):
        make_mover(everybody, "agent_1", replace(person, cameras=()))
    assert make_mover(everybody, "agent_1", person) is not None
    with pytest.raises(PlannerError, match="does not walk"):
        make_mover(choice, "agent_0", replace(robot, primitives=frozenset()))
    shipped = SkillChoice(SkillKind.LEARNED)
    assert make_mover(shipped, "agent_0", robot) is not None
    stiff = replace(robot, drive=DriveLimits(0.8, 1.2, hand_rad_s=0.0))
    with pytest.raises(PlannerError, match="the hand of agent_0 cannot be driven"):
        make_mover(shipped, "agent_0", stiff)
    with pytest.raises(FileError, match="cannot be read"):
        make_mover(replace(choice, policy=tmp_path / "none.safetensors"), "agent_0", robot)
