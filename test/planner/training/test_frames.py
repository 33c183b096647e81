from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from planner.memory.learned.detector import Detector
from planner.training.detector import (
    class_indices,
    classes_in_pictures,
    crops,
    labelled,
)
from planner.training.frames import (
    FrameRecord,
    FurnitureTruth,
    Manifest,
    ThingTruth,
    missing_shards,
    read_frames,
    read_manifest,
    read_shard,
    shard_path,
    write_manifest,
    write_shard,
)
from planner.training.memory_model import ClassifierRecipe, collect
from planner.world.catalogue import default_catalogue
from planner.world.errors import FileError, PlannerError
from planner.world.geometry import IDENTITY, Pose
from planner.world.observation import CameraFrame, Intrinsics

SIZE = 64
LENS = Intrinsics(SIZE, SIZE, 60.0, 60.0, 31.5, 31.5)


def frame() -> CameraFrame:
    instances = np.zeros((SIZE, SIZE), np.int32)
    instances[8:24, 8:24] = 300
    instances[40:44, 40:44] = 5
    instances[30:, :20] = 7
    rgb = np.random.default_rng(0).integers(0, 255, (SIZE, SIZE, 3), np.uint8)
    depth_m = np.full((SIZE, SIZE), 1.5, np.float32)
    return CameraFrame(rgb, depth_m, instances, LENS, Pose((0.0, 0.0, 0.0)))


def record(number: int = 0) -> FrameRecord:
    return FrameRecord(
        number=number,
        house="h",
        agent_kind="robot",
        position_m=(0.0, 0.0, 0.0),
        quaternion=IDENTITY,
        lens=LENS,
        things=(
            ThingTruth(instance=300, name="cup_0", class_name="cup", center_m=(0.0, 0.0, 1.6)),
            ThingTruth(instance=5, name="pin_0", class_name="pin", center_m=(0.2, 0.2, 1.5)),
        ),
        furniture=(FurnitureTruth(instance=7, name="fridge_0", class_name="fridge", openness=1.0),),
    )


def test_a_frame_comes_back_as_it_was(tmp_path: Path) -> None:
    write_shard(tmp_path, 3, [(record(), frame())])
    (back,) = read_frames(tmp_path)
    camera = back.camera()
    np.testing.assert_array_equal(camera.rgb, frame().rgb)
    np.testing.assert_array_equal(camera.instances, frame().instances)
    np.testing.assert_allclose(camera.depth_m, frame().depth_m, atol=6e-4)
    assert (back.record, camera.pose) == (record(), frame().pose)


def test_a_shard_that_was_cut_short_is_made_again(tmp_path: Path) -> None:
    def dies() -> object:
        yield record(), frame()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_shard(tmp_path, 0, dies())  # type: ignore[arg-type]
    assert list(missing_shards(tmp_path, 2)) == [0, 1]
    write_shard(tmp_path, 0, [(record(), frame())])
    assert list(missing_shards(tmp_path, 2)) == [1]


def test_wrong_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no frames"):
        read_frames(tmp_path)
    with pytest.raises(FileError, match=r"manifest\.json"):
        read_manifest(tmp_path)
    write_shard(tmp_path, 0, [(record(), frame())])
    picture = shard_path(tmp_path, 0) / "000000.depth.png"
    picture.write_bytes(b"not a picture")
    (broken,) = read_frames(tmp_path)
    with pytest.raises(FileError, match=r"000000\.depth\.png"):
        broken.camera()
    lines = shard_path(tmp_path, 0) / "frames.jsonl"
    lines.write_text('{"number": 1}\n')
    with pytest.raises(FileError, match=r"frames\.jsonl:1"):
        read_shard(shard_path(tmp_path, 0))


def test_the_manifest_comes_back(tmp_path: Path) -> None:
    made = Manifest(
        kind="views", seed=1, recipe={"houses": 2}, shards=2, frames=9, counts={"cup": 3}
    )
    write_manifest(tmp_path, made)
    assert read_manifest(tmp_path) == made


def test_cells_know_what_they_show_and_where_its_middle_is(tmp_path: Path) -> None:
    write_shard(tmp_path, 0, [(record(), frame())])
    (back,) = read_frames(tmp_path)
    made = labelled(back, class_indices(["book", "cup"]))
    assert set(made.classes[2:6, 2:6].ravel()) == {2}
    # Cell (3, 3) shows pixel (14, 14), 1.5 m away.
    x = (14 - 31.5) / 60 * 1.5
    np.testing.assert_allclose(made.offsets[:, 3, 3], [-x * 10, -x * 10, 1.0], atol=1e-3)
    assert float((made.weights**2).sum()) == pytest.approx(1.0)
    # What is of no known class, or too small, is neither asked for nor wrong.
    assert made.classes[10, 10] == -1
    assert made.open[10, 1] == 1
    assert made.open[0, 0] == -1


def test_a_mirrored_cut_points_to_the_other_side(tmp_path: Path) -> None:
    write_shard(tmp_path, 0, [(record(), frame())])
    (back,) = read_frames(tmp_path)
    made = labelled(back, class_indices(["cup"]))
    plain, mirrored = made.crop(0, 0, 64, False), made.crop(0, 0, 64, True)
    np.testing.assert_array_equal(mirrored.classes, plain.classes[:, ::-1])
    assert mirrored.offsets[0, 3, 12] == pytest.approx(-plain.offsets[0, 3, 3])
    assert mirrored.offsets[2, 3, 12] == pytest.approx(plain.offsets[2, 3, 3])


def test_cuts_have_the_size_asked_for(tmp_path: Path) -> None:
    write_shard(tmp_path, 0, [(record(), frame())])
    (back,) = read_frames(tmp_path)
    made = labelled(back, class_indices(["cup"]))
    for part in crops(made, 32, 6, np.random.default_rng(2)):
        assert part.image.shape == (5, 32, 32)
        assert part.classes.shape == (8, 8)
        assert np.isfinite(part.image).all()


def test_slices_are_not_learned_from_pictures() -> None:
    catalogue = default_catalogue()
    left_out = set(catalogue.objects) - set(classes_in_pictures(catalogue))
    assert left_out == {c for c in catalogue.objects if c.endswith("_slice")}
    assert "tomato_slice" in left_out


def test_things_that_are_not_learned_are_no_examples_of_nothing_either(tmp_path: Path) -> None:
    write_shard(tmp_path, 0, [(record(), frame())])
    frames, detector = read_frames(tmp_path), Detector.load()

    def labels(names: list[str]) -> list[int]:
        made = collect(frames, detector, class_indices(names), ClassifierRecipe(), lambda _: None)
        return made.labels.tolist()

    assert labels(["cup", "other"]) == [1]
    with pytest.raises(PlannerError, match="the frames show no things at all"):
        labels(["other"])
