"""Depth and segments, each estimated or true, whatever the other is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from memory_samples import flat_frame, layout_of
from tiny_vision_model import make_tiny_zoedepth

from planner.memory.learned.detector import Detection, FrameDetections, Rising
from planner.memory.part import UpdaterModel, UpdaterRequest, load_updater
from planner.memory.perception import (
    DepthErrors,
    DepthModel,
    EstimatedDepth,
    TrueSegments,
    make_perceiving,
)
from planner.memory.updater import Operation
from planner.parts.option import OptionValue
from planner.world.belief import Entity
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.observation import CameraFrame, Observation

CLASSES = {7: "cup"}


class Eye:
    """Mistakes everything for a ball, and keeps the frame that it was shown."""

    frame: CameraFrame | None = None

    def look(self, frame: CameraFrame, rising: Rising | None = None) -> FrameDetections:
        del rising
        self.frame = frame
        points = np.zeros((1, 3), np.float32)
        ball = Detection("ball", 0.9, (0.0, 0.0, 2.0), 2.0, (192.0, 192.0), 40)
        return FrameDetections((ball,), points, np.ones(1, np.float32))

    def knows(self, class_name: str) -> bool:
        return class_name == "ball"


class Listening:
    """An updater that keeps what it was shown."""

    name = "listening"
    seen: Observation | None = None

    def update(
        self, observation: Observation, entities: Sequence[Entity], last_action: str
    ) -> list[Operation]:
        del entities, last_action
        self.seen = observation
        return []


def with_cup(depth_m: float = 2.0) -> CameraFrame:
    instances = np.zeros((384, 384), np.int32)
    instances[180:204, 180:204] = 7
    return replace(flat_frame(depth_m), instances=instances)


def observation_of(frame: CameraFrame) -> Observation:
    here = Pose((0.0, 0.0, 0.0))
    return Observation(
        1.0, "agent_0", here, here, 0.0, 0.0, here, {}, 1.0, holding=False, cameras={"hand": frame}
    )


def test_errors_of_depth_have_the_size_that_is_asked_and_come_again() -> None:
    frame = flat_frame(2.0)
    found = DepthErrors(0.1).depth_m(frame)
    shares = np.abs(found / frame.depth_m - 1)
    assert float(shares.mean()) == pytest.approx(0.1, abs=0.001)
    # Smooth: neighbours err alike.
    assert float(np.abs(np.diff(found, axis=0)).max()) < 0.05
    assert np.array_equal(found, DepthErrors(0.1).depth_m(frame))
    elsewhere = flat_frame(2.0, Pose((1.0, 0.0, 0.0)))
    assert not np.array_equal(found, DepthErrors(0.1).depth_m(elsewhere))
    unknown = replace(frame, depth_m=np.zeros_like(frame.depth_m))
    assert not DepthErrors(0.1).depth_m(unknown).any()


def test_an_updater_sees_the_estimate_and_nothing_else_changes() -> None:
    listening, frame = Listening(), with_cup()
    EstimatedDepth(listening, DepthErrors(0.1)).update(observation_of(frame), [], "")
    assert listening.seen is not None
    shown = listening.seen.cameras["hand"]
    assert np.array_equal(shown.depth_m, DepthErrors(0.1).depth_m(frame))
    assert shown.rgb is frame.rgb
    assert shown.instances is frame.instances


def test_true_segments_are_the_simulators_at_the_depth_that_is_shown() -> None:
    """HELPER-2.8.3: at the median depth inside the mask."""
    truth = TrueSegments(Eye(), CLASSES.get)
    for depth_m in (2.0, 3.0):
        (cup,) = truth.look(with_cup(depth_m)).detections
        assert (cup.class_name, cup.score) == ("cup", 1.0)
        assert cup.distance_m == pytest.approx(depth_m)
        assert depth_m < cup.center_m[2] < depth_m + 0.1
        # Of furniture the eye tells whether it is open.
        assert truth.look(with_cup(depth_m)).open_logits.tolist() == [1.0]
    assert truth.knows("cup")
    with pytest.raises(PlannerError, match="no instance ids"):
        truth.look(flat_frame())


@pytest.mark.parametrize("depth", ["", "errors:0.1"])
@pytest.mark.parametrize("segments", [False, True])
def test_each_is_switched_alone(depth: str, segments: bool) -> None:
    eye = Eye()
    options: dict[str, OptionValue] = {"depth_model": depth, "true_segmentation": segments}
    request = UpdaterRequest("learned", class_of=CLASSES.get, options=options)
    frame = with_cup()
    updater = make_perceiving(request, eye)(layout_of(1))
    found: list[Operation] = []
    for aside in range(12):
        moved = replace(frame, pose=Pose((0.05 * aside, 0.0, 0.0)))
        found += updater.update(replace(observation_of(moved), stamp_s=float(aside)), [], "")
    assert updater.name == "learned"
    assert eye.frame is not None
    assert np.array_equal(eye.frame.depth_m, frame.depth_m) is (depth == "")
    classes = {operation.facts.class_name for operation in found if operation.facts}
    assert classes == ({"cup"} if segments else {"ball"})


@pytest.mark.parametrize("named", ["errors:", "errors:much", "errors:0", "errors:-1", "errors:nan"])
def test_a_wrong_share_is_named(named: str) -> None:
    with pytest.raises(PlannerError, match=r"depth_model: .* expected a share of the depth"):
        load_updater(UpdaterRequest("learned", options={"depth_model": named}))


def test_true_segments_need_a_simulator() -> None:
    with pytest.raises(PlannerError, match="true_segmentation needs the ground truth"):
        load_updater(UpdaterRequest("learned", options={"true_segmentation": True}))


def test_a_folder_without_a_depth_model_is_one_clear_error(tmp_path: Path) -> None:
    request = UpdaterRequest(
        "learned", UpdaterModel(), options={"depth_model": str(tmp_path / "none")}
    )
    with pytest.raises(PlannerError, match=r"needs the extra `vlm`|is not a model folder"):
        load_updater(request)


def test_a_model_estimates_depth_from_colours_alone(tmp_path: Path) -> None:
    for name in ("torch", "transformers"):
        pytest.importorskip(name, reason=f"needs the extra vlm ({name})")
    model = DepthModel(make_tiny_zoedepth(tmp_path / "depth"))
    colours = np.random.default_rng(1).integers(0, 255, (384, 384, 3), np.uint8)
    near, far = (replace(flat_frame(depth_m), rgb=colours) for depth_m in (1.0, 4.0))
    found = model.depth_m(near)
    assert (found.shape, found.dtype) == (near.depth_m.shape, np.float32)
    assert (found >= 0).all()
    assert found.std() > 0
    assert np.array_equal(found, model.depth_m(far))
