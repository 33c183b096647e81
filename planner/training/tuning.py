"""What all fine-tuning shares: the recipe, its steps, and a checkpoint to continue from."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planner.world.errors import FileError

ADAPTER, CHECKPOINT = "adapter", "tuning.pt"
# The label of a token without loss.
IGNORED = -100


@dataclass(frozen=True, slots=True)
class TuningRecipe:
    """EPM-T4; values that it does not give are marked ours.

    Attributes:
        rate: maximum learning rate; rises during warm-up, then decays linearly to zero.
        warm_up: share of the steps. Ours.
        alpha, rank, dropout: of the LoRA matrices.
        batch: samples per step.
        epochs: passes over the samples.
        steps: of the optimiser, whatever the number of samples; 0 = those of the epochs.
        clip: maximum norm of the gradient. Ours.
        seed: determines the matrices, the order and the dropout. Ours.
        device: torch device.
        save_every: steps between checkpoints.
    """

    rate: float = 2e-5
    warm_up: float = 0.03
    alpha: int = 128
    rank: int = 64
    dropout: float = 0.01
    batch: int = 64
    epochs: float = 4.0
    clip: float = 1.0
    seed: int = 1
    device: str = "cpu"
    save_every: int = 50
    steps: int = 0


@dataclass(frozen=True, slots=True)
class TuningProgress:
    """The progress after a step: the mean loss of the answer tokens in its batch."""

    step: int
    steps: int
    loss: float
    rate: float
    elapsed_s: float


def kept(recipe: TuningRecipe) -> dict[str, object]:
    """What a checkpoint must agree in: everything except where and how it is computed."""
    found = {k: v for k, v in asdict(recipe).items() if k not in ("device", "save_every")}
    if not recipe.steps:
        # As checkpoints were written before there was such a number.
        del found["steps"]
    return found


def step_count(samples: int, recipe: TuningRecipe) -> int:
    """The steps of a recipe over so many samples."""
    return recipe.steps or max(1, math.ceil(samples * recipe.epochs / recipe.batch))


def learning_rate(step: int, steps: int, recipe: TuningRecipe) -> float:
    """The rate of a step: a linear rise, then a linear decay to zero."""
    warm = max(1, round(recipe.warm_up * steps))
    if step < warm:
        return recipe.rate * (step + 1) / warm
    return recipe.rate * max(0.0, (steps - step) / max(1, steps - warm))


def chosen(step: int, samples: int, recipe: TuningRecipe) -> list[int]:
    """A step's samples: each epoch in a new order, batches crossing epochs."""
    places = []
    for place in range(step * recipe.batch, (step + 1) * recipe.batch):
        epoch, number = divmod(place, samples)
        places.append((epoch, number))
    orders = {
        epoch: np.random.default_rng([recipe.seed, 3, epoch]).permutation(samples)
        for epoch in {epoch for epoch, _ in places}
    }
    return [int(orders[epoch][number]) for epoch, number in places]


def save_checkpoint(
    folder: Path, identity: Mapping[str, object], step: int, matrices: Any, optimiser: Any
) -> None:
    """Writes the state after `step` steps: the trained weights, the optimiser, the random state.

    Raises:
        FileError: if it cannot be written.
    """
    import torch

    content = {
        "identity": json.dumps(identity, sort_keys=True),
        "step": step,
        "matrices": matrices,
        "optimiser": optimiser.state_dict(),
        "random": torch.get_rng_state(),
    }
    aside = folder / (CHECKPOINT + ".part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        torch.save(content, aside)
        aside.replace(folder / CHECKPOINT)
    except OSError as error:
        raise FileError(folder / CHECKPOINT, "", f"cannot be written: {error.strerror}") from None


def resume_checkpoint(
    folder: Path,
    identity: Mapping[str, object],
    load: Callable[[Any], None],
    optimiser: Any,
) -> int:
    """Loads a checkpoint if there is one; returns the step to continue from.

    Args:
        folder: of the training.
        identity: what it must agree in.
        load: takes the trained weights.
        optimiser: takes its state.

    Raises:
        FileError: if it is none, or of another training.
    """
    import torch

    path = folder / CHECKPOINT
    if not path.is_file():
        return 0
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        kept = json.loads(content["identity"])
    except (OSError, RuntimeError, KeyError, ValueError, EOFError) as error:
        raise FileError(path, "", f"is not a checkpoint: {error}") from None
    if kept != json.loads(json.dumps(identity)):
        raise FileError(path, "", f"is of another recipe, model or data set: {kept}")
    load(content["matrices"])
    optimiser.load_state_dict(content["optimiser"])
    torch.set_rng_state(content["random"])
    return int(content["step"])
