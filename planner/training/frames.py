"""Recorded camera frames with ground truth, for training detectors and memory models.

A data set is a folder of shards and a `manifest.json`. A shard is a folder that is written under a
temporary name and renamed when complete, so a killed run resumes at the next missing shard:
    shard-00000/frames.jsonl          one `FrameRecord` a line
    shard-00000/000000.rgb.png        8-bit colours
    shard-00000/000000.depth.png      16-bit millimetres, 0: nothing was measured
    shard-00000/000000.instances.png  16-bit instance ids, 0: structure and nothing
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import cv2
import numpy as np
from pydantic import ValidationError

from planner.world.errors import FileError, from_validation
from planner.world.files import FileModel, read_lines, read_model, replacing, writing
from planner.world.geometry import Pose, Quaternion, Vec3
from planner.world.observation import CameraFrame, Intrinsics

FRAMES_FILE = "frames.jsonl"
MANIFEST_FILE = "manifest.json"
_MAX_MM = 65_535
# Lowest compression: images are read far more often than transferred.
_PNG = (cv2.IMWRITE_PNG_COMPRESSION, 1)


class ThingTruth(FileModel):
    """A movable thing in the image: its instance id, class and the middle of its box in map."""

    instance: int
    name: str
    class_name: str
    center_m: Vec3
    parent: str | None = None


class FurnitureTruth(FileModel):
    """A piece of furniture in the image; `openness` 0 to 1, None if nothing opens."""

    instance: int
    name: str
    class_name: str
    openness: float | None = None


class FrameRecord(FileModel):
    """The ground truth of one image; the pose is the optical frame in `map`."""

    number: int
    house: str
    agent_kind: str
    position_m: Vec3
    quaternion: Quaternion
    lens: Intrinsics
    things: tuple[ThingTruth, ...] = ()
    furniture: tuple[FurnitureTruth, ...] = ()


class Manifest(FileModel):
    """What a data set contains and how it was made; counts are over all shards."""

    version: Literal[1] = 1
    kind: str
    seed: int
    recipe: dict[str, str | int | float]
    shards: int
    frames: int
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class RecordedFrame:
    """A record with its images, which are read on demand."""

    record: FrameRecord
    folder: Path

    def camera(self) -> CameraFrame:
        """The frame as an updater receives it.

        Raises:
            FileError: for an image that is missing or of the wrong type.
        """
        lens = self.record.lens
        size = (lens.height_px, lens.width_px)
        rgb = self._picture("rgb", cv2.IMREAD_COLOR, (*size, 3))[..., ::-1]
        depth = self._picture("depth", cv2.IMREAD_UNCHANGED, size)
        instances = self._picture("instances", cv2.IMREAD_UNCHANGED, size)
        return CameraFrame(
            rgb=np.ascontiguousarray(rgb.astype(np.uint8)),
            depth_m=depth.astype(np.float32) / np.float32(1000),
            instances=instances.astype(np.int32),
            intrinsics=lens,
            pose=Pose(self.record.position_m, self.record.quaternion),
        )

    def _picture(self, kind: str, flag: int, shape: tuple[int, ...]) -> np.ndarray:
        path = self.folder / f"{self.record.number:06d}.{kind}.png"
        image = cv2.imread(str(path), flag)
        if image is None or image.shape != shape:
            got = "nothing" if image is None else f"{image.shape}"
            raise FileError(path, "", f"is not a picture of {shape}: {got}")
        return np.asarray(image)


def write_shard(
    root: Path, index: int, frames: Iterable[tuple[FrameRecord, CameraFrame]]
) -> tuple[FrameRecord, ...]:
    """Writes a shard atomically; returns its records.

    Raises:
        FileError: if it cannot be written.
    """
    folder = shard_path(root, index)
    aside = folder.with_name(folder.name + ".part")
    records = []
    with writing(folder):
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        with (aside / FRAMES_FILE).open("w", encoding="utf-8") as lines:
            for record, frame in frames:
                _write_pictures(aside, record.number, frame)
                lines.write(record.model_dump_json() + "\n")
                records.append(record)
        aside.rename(folder)
    return tuple(records)


def _write_pictures(folder: Path, number: int, frame: CameraFrame) -> None:
    instances = frame.instances if frame.instances is not None else np.zeros(frame.depth_m.shape)
    depth_mm = np.clip(np.rint(np.nan_to_num(frame.depth_m) * 1000), 0, _MAX_MM)
    for kind, image in (
        ("rgb", np.ascontiguousarray(frame.rgb[..., ::-1])),
        ("depth", depth_mm.astype(np.uint16)),
        ("instances", instances.astype(np.uint16)),
    ):
        path = folder / f"{number:06d}.{kind}.png"
        done, buffer = cv2.imencode(".png", image, _PNG)
        if not done:
            raise FileError(path, "", "cannot be encoded")
        path.write_bytes(buffer.tobytes())


def shard_path(root: Path, index: int) -> Path:
    """The folder of a shard."""
    return root / f"shard-{index:05d}"


def read_shard(folder: Path) -> list[RecordedFrame]:
    """The frames of a shard in order.

    Raises:
        FileError: with file, line and reason.
    """
    path = folder / FRAMES_FILE
    found = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            record = FrameRecord.model_validate_json(line)
        except ValidationError as error:
            raise from_validation(f"{path}:{number}", error) from None
        found.append(RecordedFrame(record, folder))
    return found


def read_frames(root: Path) -> list[RecordedFrame]:
    """The frames of all complete shards.

    Raises:
        FileError: if there are none, or one is invalid.
    """
    frames = [frame for folder in sorted(root.glob("shard-?????")) for frame in read_shard(folder)]
    if not frames:
        raise FileError(root, "", "holds no frames: make some with planner train memory-views")
    return frames


def write_manifest(root: Path, manifest: Manifest) -> None:
    """Writes the manifest, which marks the data set as complete."""
    text = json.dumps(manifest.model_dump(mode="json"), indent=1)
    with replacing(root / MANIFEST_FILE) as aside:
        aside.write_text(text + "\n", encoding="utf-8")


def read_manifest(root: Path) -> Manifest:
    """Reads the manifest of a data set.

    Raises:
        FileError: if there is none, so that the data set is incomplete.
    """
    return read_model(root / MANIFEST_FILE, Manifest)


def missing_shards(root: Path, count: int) -> Iterator[int]:
    """The indices of missing shards."""
    return (index for index in range(count) if not shard_path(root, index).is_dir())
