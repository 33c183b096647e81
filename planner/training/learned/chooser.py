"""Trains the chooser to make the calls of traces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.planning.learned.chooser import chooser_shapes
from planner.planning.learned.matches import Array
from planner.training.learned.examples import Example


@dataclass(frozen=True, slots=True)
class ChooserRecipe:
    """How the chooser is trained."""

    steps: int = 6000
    batch: int = 32
    rate: float = 2e-3
    decay: float = 1e-4
    seed: int = 1
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class ChooserProgress:
    """The mean loss of the last steps, and the share of calls made as in the traces."""

    step: int
    loss: float
    right: float


def train_chooser(
    examples: Sequence[Example],
    recipe: ChooserRecipe,
    on_progress: Callable[[ChooserProgress], None],
    start: Mapping[str, Array] | None = None,
) -> dict[str, Array]:
    """Trains from random weights, or from `start`; returns the weights."""
    import torch

    rng = np.random.default_rng(recipe.seed)
    tensors = {}
    for name, shape in chooser_shapes().items():
        first = rng.normal(0, np.sqrt(2 / shape[0]), shape) if len(shape) > 1 else np.zeros(shape)
        given = start[name] if start is not None else first
        tensors[name] = torch.tensor(given, dtype=torch.float32, device=recipe.device)
        tensors[name].requires_grad_(True)
    layers = len(tensors) // 2
    optimiser = torch.optim.AdamW(list(tensors.values()), recipe.rate, weight_decay=recipe.decay)
    loss_sum = right_sum = 0.0
    for step in range(recipe.steps):
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate * (1 - step / recipe.steps)
        chosen = rng.integers(len(examples), size=recipe.batch)
        width = max(len(examples[i].features) for i in chosen)
        features = np.zeros((recipe.batch, width, examples[0].features.shape[1]), np.float32)
        there = np.zeros((recipe.batch, width), bool)
        for row, i in enumerate(chosen):
            count = len(examples[i].features)
            features[row, :count] = examples[i].features
            there[row, :count] = True
        x = torch.from_numpy(features).to(recipe.device)
        for i in range(layers):
            x = x @ tensors[f"choose{i}.weight"] + tensors[f"choose{i}.bias"]
            x = torch.relu(x) if i + 1 < layers else x
        scores = x[..., 0].masked_fill(~torch.from_numpy(there).to(recipe.device), -1e9)
        made = torch.tensor([examples[i].made for i in chosen], device=recipe.device)
        weight = torch.tensor([examples[i].weight for i in chosen], device=recipe.device)
        losses = torch.nn.functional.cross_entropy(scores, made, reduction="none")
        loss = (losses * weight).sum() / weight.sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        loss_sum += float(loss.detach()) / 200
        right_sum += float((scores.argmax(1) == made).float().mean()) / 200
        if (step + 1) % 200 == 0:
            on_progress(ChooserProgress(step + 1, loss_sum, right_sum))
            loss_sum = right_sum = 0.0
    return {n: w.detach().cpu().numpy().copy() for n, w in tensors.items()}
