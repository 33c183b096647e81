"""Trains the memory's own model from recorded frames: the network, then the classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from planner.memory.learned.classifier import classifier_shapes
from planner.memory.learned.detector import Detector
from planner.memory.learned.network import Array
from planner.memory.learned.weights import Model, write_model
from planner.training.classifier import ClassifierRecipe, collect, train_classifier
from planner.training.detector import DetectorRecipe, Progress, train_detector
from planner.training.detector_samples import class_indices, classes_in_pictures
from planner.training.frames import RecordedFrame
from planner.world.catalogue import default_catalogue

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
        start: folder of an earlier training, for the network's initial weights.

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
    write_model(path, Model(classes, {**weights, **learned}, notes))
    return path
