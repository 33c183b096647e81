"""Trains the memory's own model from recorded frames: the network, then the classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planner.memory.learned.detector import Detector
from planner.memory.learned.network import CELL_PIXEL, OFFSET_UNIT_M, STRIDE, Array, network_input
from planner.memory.learned.segments import (
    DESCRIPTION,
    HIDDEN,
    Cells,
    Model,
    cells_of,
    classifier_shapes,
    describe_segment,
    segments,
    write_model,
)
from planner.training.detector import (
    DetectorRecipe,
    Progress,
    class_indices,
    classes_in_pictures,
    train_detector,
)
from planner.training.frames import RecordedFrame
from planner.world.catalogue import default_catalogue
from planner.world.errors import PlannerError

# Trains the second stage of the memory's model, which classifies segments of an image.
#
# Segments come from two sources: those that the network finds in the training frames, with what
# they really show (often nothing), and the true outlines of objects, for those that it still
# misses.

NOTHING = 0
# A segment shows the object covering most of its cells, if at least this share.
_PURE = 0.55
_MIN_CELLS = 4


@dataclass(frozen=True, slots=True)
class Examples:
    """Segments as feature vectors.

    Attributes:
        descriptions: (n, DESCRIPTION).
        labels: (n,) 0 nothing, 1 + index of the class.
        ways: (n, 3) offset to the middle of the object's box in units of OFFSET_UNIT_M.
    """

    descriptions: Array
    labels: NDArray[np.int64]
    ways: Array


@dataclass(frozen=True, slots=True)
class ClassifierRecipe:
    """How the classifier is trained; `device` is `cpu` or `cuda`, `off_m` as in `Model`."""

    rounds: int = 40
    batch: int = 256
    rate: float = 3e-3
    drop: float = 0.1
    seed: int = 1
    device: str = "cpu"
    off_m: float = 0.0
    min_presence: tuple[float, ...] = (0.3, 0.5)


def collect(
    frames: Sequence[RecordedFrame],
    detector: Detector,
    indices: Mapping[str, int],
    recipe: ClassifierRecipe,
    on_progress: Callable[[int], None],
) -> Examples:
    """Segments of the frames; `on_progress` gets the number of each finished frame.

    Raises:
        FileError: for an image that cannot be read.
    """
    rows: list[Array] = []
    labels: list[int] = []
    ways: list[Array] = []
    for number, frame in enumerate(frames):
        camera = frame.camera()
        cells = cells_of(camera, *detector.outputs(network_input(camera)))
        ids = np.zeros(cells.presence.shape, np.int32)
        if camera.instances is not None:
            ids = camera.instances[CELL_PIXEL::STRIDE, CELL_PIXEL::STRIDE]
        rotation, origin = camera.pose.rotation(), np.asarray(camera.pose.position_m)
        centers = {
            t.instance: (np.asarray(t.center_m) - origin) @ rotation for t in frame.record.things
        }
        known = {
            t.instance: 1 + indices[t.class_name]
            for t in frame.record.things
            if t.class_name in indices
        }
        for part, instance in _parts(cells, ids.ravel(), centers, recipe):
            # A thing of a class that is not to be learned is no example of nothing either.
            if instance is not None and instance not in known:
                continue
            rows.append(describe_segment(cells, part))
            labels.append(NOTHING if instance is None else known[instance])
            middle = cells.points.reshape(-1, 3)[part].mean(axis=0)
            way = np.zeros(3) if instance is None else (centers[instance] - middle)
            ways.append((way / OFFSET_UNIT_M).astype(np.float32))
        on_progress(number)
    if not rows:
        raise PlannerError("the frames show no things at all")
    return Examples(np.stack(rows), np.array(labels, np.int64), np.stack(ways))


def _parts(
    cells: Cells,
    ids: NDArray[np.int32],
    centers: Mapping[int, object],
    recipe: ClassifierRecipe,
) -> list[tuple[NDArray[np.int64], int | None]]:
    """Segments with the instance that each shows; None for nothing. Mixed ones are left out."""
    found: list[tuple[NDArray[np.int64], int | None]] = []
    for min_count in recipe.min_presence:
        for part in segments(cells, min_count, _MIN_CELLS):
            instances, counts = np.unique(ids[part], return_counts=True)
            best = int(counts.argmax())
            share = counts[best] / len(part)
            things = sum(
                int(c) for i, c in zip(instances, counts, strict=True) if int(i) in centers
            )
            if int(instances[best]) in centers and share >= _PURE:
                found.append((part, int(instances[best])))
            elif things <= 0.2 * len(part):
                found.append((part, None))
    measured = cells.measured.ravel()
    for instance in centers:
        part = np.flatnonzero((ids == instance) & measured)
        if len(part) >= _MIN_CELLS:
            found.append((part, instance))
    return found


def train_classifier(
    examples: Examples, classes: int, recipe: ClassifierRecipe, on_progress: Callable[[str], None]
) -> dict[str, Array]:
    """Trains the classifier; returns its weights by the names of the model file.

    Raises:
        PlannerError: if PyTorch is not installed.
    """
    try:
        import torch
    except ImportError:
        raise PlannerError("training needs PyTorch: pip install -e '.[train]'") from None
    from torch.nn import functional

    torch.manual_seed(recipe.seed)
    net = torch.nn.Sequential(
        torch.nn.Linear(DESCRIPTION, HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Dropout(recipe.drop),
        torch.nn.Linear(HIDDEN, classes + 4),
    ).to(recipe.device)
    given = torch.from_numpy(examples.descriptions).to(recipe.device)
    labels = torch.from_numpy(examples.labels).to(recipe.device)
    ways = torch.from_numpy(examples.ways).to(recipe.device)
    # The features' scale depends on the network: normalised here, folded into the weights below.
    scale = given.std(dim=0).clamp(min=0.05)
    given = given / scale
    optimiser = torch.optim.AdamW(net.parameters(), lr=recipe.rate, weight_decay=1e-3)
    for turn in range(recipe.rounds):
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate * (1 - turn / recipe.rounds) + 1e-5
        for rows in torch.randperm(len(given), device=given.device).split(recipe.batch):
            made = net(given[rows])
            loss = functional.cross_entropy(made[:, :-3], labels[rows], label_smoothing=0.02)
            things = labels[rows] > NOTHING
            if bool(things.any()):
                loss = loss + (made[things][:, -3:] - ways[rows][things]).abs().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        if (turn + 1) % 10 == 0:
            on_progress(f"round {turn + 1}: loss {float(loss.detach()):.3f}")
    first, second = net[0], net[3]
    weights = {
        "look.1.weight": first.weight / scale,
        "look.1.bias": first.bias,
        "look.2.weight": second.weight,
        "look.2.bias": second.bias,
    }
    made = {name: w.detach().cpu().numpy().astype(np.float32) for name, w in weights.items()}
    assert {n: w.shape for n, w in made.items()} == classifier_shapes(classes)  # noqa: S101
    return made


MODEL_FILE = "memory.safetensors"


def train_memory_model(
    frames: Sequence[RecordedFrame],
    folder: Path,
    network: DetectorRecipe,
    classifier: ClassifierRecipe,
    on_progress: Callable[[str], None],
    *,
    looked_at: int = 0,
    more: Sequence[RecordedFrame] = (),
    start: Path | None = None,
) -> Path:
    """Trains both stages and writes the model; resumes from the folder's checkpoint.

    Args:
        frames: the training set.
        folder: for the checkpoint and `memory.safetensors`.
        network: how to train the network.
        classifier: how to train the classifier.
        on_progress: called with each line of progress.
        looked_at: number of frames for the classifier, spread evenly; 0 = all.
        more: further frames: sampled alternately for the network, and all of them used for the
            classifier.
        start: for the network's initial weights; as of `train_detector`.

    Raises:
        PlannerError: if PyTorch is missing, or the checkpoint has another recipe.
        FileError: if a frame cannot be read or the model cannot be written.
    """
    classes = classes_in_pictures(default_catalogue())

    def report(progress: Progress) -> None:
        on_progress(
            f"step {progress.step}: loss {progress.loss:.3f}, cells right "
            f"{progress.there_right:.2f}, classes {progress.class_right:.2f}, "
            f"middles {progress.offset_m * 100:.1f} cm, {progress.elapsed_s:.0f} s"
        )

    weights = train_detector(frames, classes, folder, network, report, more=more, start=start)
    notes = {
        "frames": str(len(frames)),
        "more_frames": str(len(more)),
        "steps": str(network.steps),
        "batch": str(network.batch),
        "seed": str(network.seed),
    }
    if start is not None:
        notes["start"] = start.name
    chosen = frames[:: max(1, len(frames) // looked_at)] if looked_at else frames
    return finish_model([*chosen, *more], folder, weights, classifier, notes, on_progress)


def finish_model(
    frames: Sequence[RecordedFrame],
    folder: Path,
    weights: Mapping[str, Array],
    recipe: ClassifierRecipe,
    notes: Mapping[str, str],
    on_progress: Callable[[str], None],
) -> Path:
    """Trains the classifier for a network's weights and writes the model of both."""
    classes = tuple(classes_in_pictures(default_catalogue()))
    empty = {n: np.zeros(s, np.float32) for n, s in classifier_shapes(len(classes)).items()}
    detector = Detector(Model(classes, {**weights, **empty}, {}))

    def looked(number: int) -> None:
        if (number + 1) % 200 == 0:
            on_progress(f"looked at {number + 1} of {len(frames)} frames")

    examples = collect(frames, detector, class_indices(classes), recipe, looked)
    nothing = int(np.count_nonzero(examples.labels == 0))
    on_progress(f"{len(examples.labels)} segments, {nothing} of them of nothing")
    learned = train_classifier(examples, len(classes), recipe, on_progress)
    path = folder / MODEL_FILE
    write_model(path, Model(classes, {**weights, **learned}, notes, recipe.off_m))
    return path
