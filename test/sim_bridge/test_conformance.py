"""The embedded backend conforms, and each promise that is broken is found by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

from planner.cli import main
from planner.parts.catalog import Report, Verdict
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.observation import Observation
from planner.world.primitive import (
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    PrimitiveStatus,
)
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind
from sim_bridge.backend import Backend, Handle
from sim_bridge.conformance import CHECKS, check_backend
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.opening import default_house, open_world

OPENED = open_world(default_house(), "", 7, agents=2)


def report_on(factory: Callable[[], Backend], *only: str) -> Report:
    return check_backend(factory, house=OPENED.house, episode=OPENED.episode, only=only)


def test_the_embedded_backend_conforms_and_nothing_was_skipped() -> None:
    report = report_on(EmbeddedBackend)
    assert report.failed == {}
    assert [f.check for f in report.findings if f.verdict is Verdict.SKIPPED] == []
    assert len(report.findings) == len(CHECKS)


class Wrapped(EmbeddedBackend):
    """Passes observations through `alter`, for the broken ones below."""

    def alter(self, seen: Observation) -> Observation:
        return seen

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        return self.alter(super().observe(agent, cameras))

    def each_frame(self, seen: Observation, **change: Any) -> Observation:
        frames = {
            name: replace(frame, **{key: make(frame) for key, make in change.items()})
            for name, frame in seen.cameras.items()
        }
        return replace(seen, cameras=frames)


class TimePassesWhileLooking(Wrapped):
    def alter(self, seen: Observation) -> Observation:
        self.step(0.01)
        return seen


class Millimetres(Wrapped):
    def alter(self, seen: Observation) -> Observation:
        return self.each_frame(seen, depth_m=lambda f: f.depth_m * np.float32(1000))


class DepthAlongTheRay(Wrapped):
    def alter(self, seen: Observation) -> Observation:
        def along_ray(frame: Any) -> Any:
            lens = frame.intrinsics
            v, u = np.mgrid[: lens.height_px, : lens.width_px]
            x, y = (u - lens.cx_px) / lens.fx_px, (v - lens.cy_px) / lens.fy_px
            return (frame.depth_m * np.sqrt(1 + x * x + y * y)).astype(np.float32)

        return self.each_frame(seen, depth_m=along_ray)


class MirroredPicture(Wrapped):
    def alter(self, seen: Observation) -> Observation:
        return self.each_frame(
            seen,
            depth_m=lambda f: f.depth_m[:, ::-1].copy(),
            instances=lambda f: f.instances[:, ::-1].copy(),
        )


class BodyFrameForOptical(Wrapped):
    """z up instead of z forward."""

    def alter(self, seen: Observation) -> Observation:
        return self.each_frame(seen, pose=lambda f: Pose(f.pose.position_m))


class NoOpticalFrames(Wrapped):
    def alter(self, seen: Observation) -> Observation:
        return replace(seen, optical={})


class SharedPixels(Wrapped):
    """Every picture is drawn into the same memory."""

    kept: Any = None

    def alter(self, seen: Observation) -> Observation:
        def drawn(frame: Any) -> Any:
            if self.kept is None:
                self.kept = frame.rgb.copy()
            self.kept[:] = frame.rgb
            return self.kept

        return self.each_frame(seen, rgb=drawn)


class LateStamp(Wrapped):
    def alter(self, seen: Observation) -> Observation:
        return replace(seen, stamp_s=seen.stamp_s + 0.1)


class DegreesForRadians(Wrapped):
    def alter(self, seen: Observation) -> Observation:
        x, y, z = seen.base.position_m
        return replace(seen, base=Pose.planar(x, y, np.rad2deg(seen.base.yaw_rad), z))


class OdometryOfTheOtherHand(Wrapped):
    def alter(self, seen: Observation) -> Observation:
        x, y, z = seen.odometry.position_m
        return replace(seen, odometry=Pose.planar(x, -y, seen.odometry.yaw_rad, z))


class AnyCamera(Wrapped):
    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        known = self.capabilities(agent).cameras
        return super().observe(agent, [name for name in cameras if name in known])


class CancelIgnored(EmbeddedBackend):
    def cancel(self, handle: Handle) -> None:
        pass


class StopSaysCanceled(EmbeddedBackend):
    def stop(self, agent: str) -> None:
        if agent in self._current:
            self.cancel(self._current[agent])


class RollsOn(EmbeddedBackend):
    """The status says CANCELED, the wheels do not hear of it."""

    def cancel(self, handle: Handle) -> None:
        if self.poll(handle).done:
            return
        super().cancel(handle)
        run = self._primitives[handle]
        self.start(run.agent, run.primitive)


class SecondReplacesFirst(EmbeddedBackend):
    def start(self, agent: str, primitive: Primitive) -> Handle:
        if agent in self._current:
            super().cancel(self._current[agent])
        return super().start(agent, primitive)


class RaisesOnNonsense(EmbeddedBackend):
    def start(self, agent: str, primitive: Primitive) -> Handle:
        if agent not in self.agents:
            raise KeyError(agent)
        return super().start(agent, primitive)


class TooMuchTime(EmbeddedBackend):
    def step(self, dt_s: float) -> None:
        super().step(dt_s * 1.01)


class ForgetsResults(EmbeddedBackend):
    def poll(self, handle: Handle) -> PrimitiveStatus:
        if handle < len(self._primitives) - 2:
            return PrimitiveStatus("done", 1.0, PrimitiveResult(PrimitiveCode.SUCCESS, "done"))
        return super().poll(handle)


class NeverInTime(EmbeddedBackend):
    def start(self, agent: str, primitive: Primitive) -> Handle:
        return super().start(agent, replace(primitive, timeout_s=0.0))


class MapForAllFrames(EmbeddedBackend):
    def start(self, agent: str, primitive: Primitive) -> Handle:
        known = primitive.frame in ("map", f"{agent}/odom", f"{agent}/base_link")
        return super().start(agent, replace(primitive, frame="map") if known else primitive)


class Unrepeatable(EmbeddedBackend):
    """A global random stream behind the start."""

    number = 0

    def reset(self, house: Any, episode: Any, seed: int) -> None:
        type(self).number += 1
        super().reset(house, episode, seed + self.number)


class HalfReset(EmbeddedBackend):
    """A refused episode takes the old one with it."""

    def reset(self, house: Any, episode: Any, seed: int) -> None:
        if self._world is not None:
            self._end_all(PrimitiveCode.CANCELED, "a new episode comes")
        super().reset(house, episode, seed)


class RaisesAnything(EmbeddedBackend):
    def reset(self, house: Any, episode: Any, seed: int) -> None:
        try:
            super().reset(house, episode, seed)
        except PlannerError as error:
            raise ValueError(str(error)) from error


class Altered(EmbeddedBackend):
    """Passes ground truth through `alter_entity`."""

    def alter_entity(self, entity: Any) -> Any:
        return entity

    def world_state(self) -> WorldState | None:
        state = super().world_state()
        if state is None:
            return None
        entities = {name: self.alter_entity(entity) for name, entity in state.entities.items()}
        return replace(state, entities=entities)


class StaleRevision(EmbeddedBackend):
    def world_state(self) -> WorldState | None:
        state = super().world_state()
        return None if state is None else replace(state, revision=1)


class EmptyHandsInTruth(Altered):
    def alter_entity(self, entity: Any) -> Any:
        return replace(entity, hands=(None,) * len(entity.hands))


class NeverOpen(Altered):
    def alter_entity(self, entity: Any) -> Any:
        return entity if entity.openness is None else replace(entity, openness=0.0)


class Overlooks(EmbeddedBackend):
    """Does what it should refuse for one reason."""

    overlooked: ClassVar[PrimitiveCode]

    def start(self, agent: str, primitive: Primitive) -> Handle:
        handle = super().start(agent, primitive)
        result = self.poll(handle).result
        if result is not None and result.code is self.overlooked:
            self._primitives[handle].status = PrimitiveStatus(
                "done", 1.0, PrimitiveResult(PrimitiveCode.SUCCESS, "done")
            )
        return handle


class XRay(Overlooks):
    """Takes things through closed doors."""

    overlooked = PrimitiveCode.CLOSED


class LongArm(Overlooks):
    overlooked = PrimitiveCode.TOO_FAR


class OpensWithFullHands(Overlooks):
    overlooked = PrimitiveCode.HAND_FULL


class MixesHandsUp(Altered):
    def alter_entity(self, entity: Any) -> Any:
        return replace(entity, hands=entity.hands[::-1])


class TakesTwo(Altered):
    """Picking one thing knocks every other one a centimetre up."""

    def alter_entity(self, entity: Any) -> Any:
        taken = any(agent.holding for agent in self._loaded().agents.values())
        if entity.kind is not EntityKind.OBJECT or not taken or entity.relation == "held":
            return entity
        x, y, z = entity.pose.position_m
        return replace(entity, pose=replace(entity.pose, position_m=(x, y, z + 0.01)))


class AgentsFromNowhere(EmbeddedBackend):
    @property
    def agents(self) -> tuple[str, ...]:
        return super().agents or ("agent_0",)


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (AgentsFromNowhere, "before_any_episode"),
        (Unrepeatable, "same_call_same_world"),
        (Unrepeatable, "reset_starts_anew"),
        (HalfReset, "bad_episode_changes_nothing"),
        (RaisesAnything, "bad_episode_changes_nothing"),
        (ForgetsResults, "handles_end_with_their_world"),
        (NoOpticalFrames, "observation_is_complete"),
        (AnyCamera, "cameras_give_frames"),
        (LateStamp, "cameras_give_frames"),
        (BodyFrameForOptical, "pixels_lie_where_things_are"),
        (DegreesForRadians, "camera_hangs_on_the_body"),
        (DegreesForRadians, "truth_and_senses_agree"),
        (OdometryOfTheOtherHand, "odometry_follows_the_base"),
        (Millimetres, "pixels_lie_where_things_are"),
        (DepthAlongTheRay, "pixels_lie_where_things_are"),
        (MirroredPicture, "pixels_lie_where_things_are"),
        (TimePassesWhileLooking, "observing_changes_nothing"),
        (TimePassesWhileLooking, "time_moves_only_in_step"),
        (SharedPixels, "observing_changes_nothing"),
        (TooMuchTime, "time_moves_only_in_step"),
        (StaleRevision, "stamps_and_revisions_grow"),
        (CancelIgnored, "cancel_stops"),
        (RollsOn, "cancel_stops"),
        (StopSaysCanceled, "stop_stops"),
        (SecondReplacesFirst, "one_thing_at_a_time"),
        (NeverInTime, "timeout_ends"),
        (RaisesOnNonsense, "wrong_requests_are_refused"),
        (MapForAllFrames, "frames_mean_the_same_place"),
        (EmptyHandsInTruth, "pick_takes_and_place_puts"),
        (TakesTwo, "handling_touches_nothing_else"),
        (OpensWithFullHands, "opening_needs_a_free_hand"),
        (MixesHandsUp, "two_hands_hold_two_things"),
        (NeverOpen, "open_opens_and_close_closes"),
        (XRay, "closed_hides_and_open_gives"),
        (LongArm, "reach_has_limits"),
    ],
)
def test_a_broken_promise_is_found_by_name(broken: type[EmbeddedBackend], check: str) -> None:
    report = report_on(broken, check)
    assert list(report.failed) == [check], report.table()
    assert report.failed[check]


class Truthless(EmbeddedBackend):
    """As a real robot: nobody knows the truth, and time cannot be repeated."""

    simulated = False  # type: ignore[assignment]

    def capabilities(self, agent: str) -> Any:
        return replace(super().capabilities(agent), ground_truth=False)

    def world_state(self) -> None:
        return None

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        seen = super().observe(agent, cameras)
        frames = {k: replace(frame, instances=None) for k, frame in seen.cameras.items()}
        return replace(seen, cameras=frames)


def test_what_cannot_be_judged_is_skipped_with_its_reason_not_failed() -> None:
    report = report_on(Truthless)
    assert report.failed == {}
    skipped = {f.check: f.text for f in report.findings if f.verdict is Verdict.SKIPPED}
    assert "nobody knows the true state" in skipped["pixels_lie_where_things_are"]
    passed = {f.check for f in report.findings if f.verdict is Verdict.PASSED}
    assert {"cancel_stops", "cameras_give_frames", "wrong_requests_are_refused"} <= passed


class Handless(EmbeddedBackend):
    """Agents that only go and look."""

    def capabilities(self, agent: str) -> Any:
        can = super().capabilities(agent)
        return replace(can, primitives=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK}))


def test_what_a_body_cannot_do_is_skipped_and_not_failed() -> None:
    report = report_on(Handless, "hands_have_limits", "reach_has_limits", "only_doors_open")
    assert report.failed == {}
    assert {f.text for f in report.findings} == {"agent_0 cannot pick", "agent_0 cannot open"}


class Wanders(EmbeddedBackend):
    """Another seed, another house."""

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        moved = [
            item.model_copy(update={"pose": (x + 0.001 * seed, y, z, yaw)})
            for item in episode.objects
            for x, y, z, yaw in [item.pose]
        ]
        super().reset(house, episode.model_copy(update={"objects": tuple(moved)}), seed)


def test_a_seed_that_moves_what_the_episode_places_is_found() -> None:
    assert list(report_on(Wanders, "other_seed_same_things").failed) == ["other_seed_same_things"]


def test_a_crash_is_a_finding_that_says_where() -> None:
    class Crashes(EmbeddedBackend):
        def stop(self, agent: str) -> None:
            raise ZeroDivisionError

    assert "ZeroDivisionError" in report_on(Crashes, "stop_stops").failed["stop_stops"]


def test_an_unknown_check_is_named() -> None:
    with pytest.raises(PlannerError, match="no check 'flies'"):
        report_on(EmbeddedBackend, "flies")


def test_the_command_prints_a_table_and_its_verdict(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["check", "backend", "embedded", "--only", "stop_stops", "timeout_ends"]) == 0
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines()] == [
        ["passed", "stop_stops"],
        ["passed", "timeout_ends"],
    ]
    monkeypatch.setattr("sim_bridge.conformance.make_backend", lambda *_: NeverInTime())
    assert main(["check", "backend", "embedded", "--only", "timeout_ends"]) == 1
    assert "FAILED" in capsys.readouterr().out
    assert main(["check", "backend", "embedded", "--house", "atlantis"]) == 2
    assert "atlantis" in capsys.readouterr().err
