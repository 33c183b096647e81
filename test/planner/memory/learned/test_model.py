from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from planner.memory.learned.detector import Detector
from planner.memory.learned.network import (
    ConvSpec,
    cell_points,
    network,
    network_input,
    network_shapes,
)
from planner.memory.learned.segments import (
    DESCRIPTION,
    Model,
    cells_of,
    classifier_shapes,
    classify,
    colour_indices,
    describe_segment,
    read_model_file,
    segments,
    shipped_model,
    write_model,
)
from planner.world.catalogue import default_catalogue
from planner.world.errors import FileError, PlannerError
from planner.world.geometry import Pose
from planner.world.observation import CameraFrame, Intrinsics

CLASSES = ("book", "cup")
SIZE = 64


def model(seed: int = 0) -> Model:
    rng = np.random.default_rng(seed)
    shapes = {**network_shapes(), **classifier_shapes(len(CLASSES))}
    weights = {n: rng.normal(0, 0.08, s).astype(np.float16) for n, s in shapes.items()}
    return Model(CLASSES, {n: w.astype(np.float32) for n, w in weights.items()}, {"steps": "1"})


def frame(size: int = SIZE) -> CameraFrame:
    rng = np.random.default_rng(3)
    return CameraFrame(
        rgb=rng.integers(0, 255, (size, size, 3), np.uint8),
        depth_m=rng.uniform(0.5, 3, (size, size)).astype(np.float32),
        instances=None,
        intrinsics=Intrinsics(size, size, 200.0, 200.0, size / 2, size / 2),
        pose=Pose((0.0, 0.0, 1.2)),
    )


class Plain:
    """The network in NumPy and SciPy's words, slow and easy to see through."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        self.weights = weights

    def conv(self, spec: ConvSpec, x: np.ndarray) -> np.ndarray:
        weight, bias = self.weights[f"{spec.name}.weight"], self.weights[f"{spec.name}.bias"]
        pad = ((0, 0), (spec.padding,) * 2, (spec.padding,) * 2)
        windows = np.lib.stride_tricks.sliding_window_view(
            np.pad(x, pad), (spec.kernel, spec.kernel), axis=(1, 2)
        )[:, :: spec.stride, :: spec.stride]
        made = np.einsum("ihwkl,oikl->ohw", windows, weight) + bias[:, None, None]
        return np.maximum(made, 0) if spec.relu else made

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.maximum(x + y, 0)

    def double(self, x: np.ndarray) -> np.ndarray:
        return x.repeat(2, axis=1).repeat(2, axis=2)


def test_opencv_computes_what_the_network_says() -> None:
    made = model()
    image = network_input(frame())
    features, heads = network(Plain(dict(made.weights)), image)
    ours = Detector(made).outputs(image)
    assert ours[0].shape == (48, SIZE // 4, SIZE // 4)
    np.testing.assert_allclose(ours[0], features, atol=1e-4)
    np.testing.assert_allclose(ours[1], heads, atol=1e-4)


def test_the_model_file_comes_back_and_is_small(tmp_path: Path) -> None:
    path = tmp_path / "m" / "memory.safetensors"
    made = model()
    # As PyTorch leaves them with channels last: the file must not depend on the layout.
    turned = {n: np.asfortranarray(w) for n, w in made.weights.items()}
    write_model(path, Model(CLASSES, turned, made.notes, off_m=0.07))
    back = read_model_file(path)
    assert (back.classes, back.notes, back.off_m) == (CLASSES, {"steps": "1"}, 0.07)
    for name, weight in made.weights.items():
        np.testing.assert_array_equal(back.weights[name], weight)


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"", "cannot be read"), (b"\x00" * 64, "cannot be read"), (b"{}" * 40, "cannot be read")],
)
def test_a_file_that_is_none_is_one_clear_error(tmp_path: Path, body: bytes, reason: str) -> None:
    path = tmp_path / "memory.safetensors"
    path.write_bytes(body)
    with pytest.raises(FileError, match=reason):
        read_model_file(path)


def test_weights_that_do_not_fit_or_are_not_finite_are_named(tmp_path: Path) -> None:
    path = tmp_path / "memory.safetensors"
    made = model()
    broken = {**made.weights, "stem.bias": np.full(32, np.nan, np.float32)}
    write_model(path, Model(CLASSES, broken, {}))
    with pytest.raises(FileError, match=r"stem\.bias.*not finite"):
        read_model_file(path)
    write_model(path, Model(CLASSES, made.weights, {}, off_m=1.5))
    with pytest.raises(FileError, match=r"off_m.*'1\.500' is not a distance of a metre at most"):
        read_model_file(path)
    write_model(path, Model((*CLASSES, "fork"), made.weights, {}))
    with pytest.raises(FileError, match=r"look\.2\.weight.*shape"):
        read_model_file(path)


def test_a_model_of_other_classes_is_refused() -> None:
    made = model()
    with pytest.raises(PlannerError, match="unicorn"):
        Detector(Model(("unicorn", "cup"), made.weights, {}))


# Classes of PARTNR's tasks that no generated house has: there was nothing to learn them from.
UNSEEN = {"basketball", "battery_charger", "canister", "gaming_console", "monitor_stand"}
# Of words of people; they lie nowhere by chance.
SAID_ONLY = {
    "aluminum_foil",
    "baseball",
    "broom",
    "coffee_pot",
    "compact_disc",
    "dice",
    "garbage_bag",
    "jewelry",
    "ketchup_bottle",
    "makeup",
    "mustard_bottle",
    "paper_towel",
    "plunger",
    "printer",
    "pudding",
    "puzzle_cube",
    "safe",
    "sandwich",
    "scrub_brush",
    "soup_can",
    "steak",
    "strawberry",
    "sugar_box",
    "tennis_ball",
    "tuna_can",
}


def test_the_shipped_model_knows_what_lies_about_and_fits_its_limits() -> None:
    path = shipped_model()
    made = read_model_file(path)
    # Slices are learned from actions.
    everything = set(default_catalogue().objects) - UNSEEN - SAID_ONLY
    assert set(made.classes) == {name for name in everything if not name.endswith("_slice")}
    assert path.stat().st_size < 20e6
    assert sum(w.size for w in made.weights.values()) < 10e6


def test_depth_that_is_nan_or_zero_is_nowhere_and_harms_nothing() -> None:
    holed = frame()
    holed.depth_m[::2] = np.nan
    holed.depth_m[1::4] = 0
    image = network_input(holed)
    assert np.isfinite(image).all()
    assert (image[3:, ::2] == 0).all()
    look = Detector(model()).look(holed)
    assert np.isfinite(look.points_m).all()
    _, measured = cell_points(holed.intrinsics, holed.depth_m * 0)
    assert not measured.any()


@pytest.mark.parametrize("size", [60, 33])
def test_pictures_of_odd_sizes_are_refused(size: int) -> None:
    with pytest.raises(PlannerError, match="not multiples"):
        Detector(model()).look(frame(size))


def test_two_things_apart_are_two_segments_with_their_own_descriptions() -> None:
    flat = frame()
    flat.depth_m[:] = 1.0
    flat.rgb[:] = (200, 30, 30)
    flat.rgb[:, 32:] = (30, 30, 200)
    heads = np.full((5, 16, 16), -4, np.float32)
    heads[1:] = 0
    heads[0, 4:8, 2:6] = 4
    heads[0, 4:8, 10:14] = 4
    cells = cells_of(flat, np.zeros((48, 16, 16), np.float32), heads)
    parts = segments(cells, 0.5, 4)
    assert sorted(len(p) for p in parts) == [16, 16]
    made = np.stack([describe_segment(cells, p) for p in parts])
    assert made.shape == (2, DESCRIPTION)
    assert np.abs(made[0] - made[1]).max() > 0.5
    assert segments(cells, 0.5, 17) == []


def test_touching_things_are_told_apart_by_their_middles() -> None:
    flat = frame()
    flat.depth_m[:] = 1.0
    heads = np.zeros((5, 16, 16), np.float32)
    heads[0, 4:8, 2:10] = 4
    heads[0, heads[0] == 0] = -4
    heads[2, :, 2:6], heads[2, :, 6:10] = -3, 3
    cells = cells_of(flat, np.zeros((48, 16, 16), np.float32), heads)
    assert sorted(len(p) for p in segments(cells, 0.5, 4)) == [16, 16]


def test_colours_keep_their_name_in_the_shade() -> None:
    light = np.full((1, 1, 3), (220, 60, 40), np.uint8)
    shade = (light * 0.93).astype(np.uint8)
    assert colour_indices(light) == colour_indices(shade)
    assert colour_indices(light) != colour_indices(light[..., ::-1].copy())
    assert cv2.cvtColor(light, cv2.COLOR_RGB2HSV)[0, 0, 1] > 40


def test_chances_sum_to_one() -> None:
    rng = np.random.default_rng(1)
    made = classify(model().weights, rng.normal(size=(5, DESCRIPTION)).astype(np.float32))
    assert made.probabilities.shape == (5, 3)
    np.testing.assert_allclose(made.probabilities.sum(axis=1), 1, atol=1e-5)
    assert made.offsets_m.shape == (5, 3)
