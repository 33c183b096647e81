"""Trains the ranking model on houses, with NumPy alone."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from planner.planning.et_ranking.network import Array, shapes
from planner.training.ranking_gradient import (
    Dropout,
    Gradients,
    Nouns,
    initial_weights,
    loss_and_gradient,
    make_sample,
)
from planner.training.ranking_samples import HouseTruth
from planner.world.errors import PlannerError

_FIRST, _SECOND, _TINY = 0.9, 0.99, 1e-8


@dataclass(frozen=True, slots=True)
class RankingRecipe:
    """How the ranking model is trained.

    Attributes:
        epochs: passes over the houses.
        batch: houses a step.
        rate: highest learning rate of Adam; falls to zero along a cosine.
        decay: of all weights, per unit of the learning rate.
        average: decay of the running mean of the weights, which is what is kept.
        seed: of weights, order and dropout.
        dropout: what is left out at random.
    """

    epochs: int = 20
    batch: int = 8
    rate: float = 2e-2
    decay: float = 1e-2
    average: float = 0.995
    seed: int = 1
    dropout: Dropout = field(default_factory=Dropout)

    def check(self) -> None:
        """Checks the numbers.

        Raises:
            PlannerError: for one that is out of range.
        """
        for name in ("epochs", "batch"):
            if getattr(self, name) < 1:
                raise PlannerError(f"{name}: expected at least 1, got {getattr(self, name)}")
        if not (0 < self.rate < 1 and 0 <= self.decay < 1 and 0 <= self.average < 1):
            raise PlannerError("rate must be above 0, decay and average not below, all under 1")


def train_ranking(
    houses: Sequence[HouseTruth],
    recipe: RankingRecipe,
    told: Callable[[str], None],
    *,
    left_out: frozenset[str] = frozenset(),
) -> dict[str, Array]:
    """The trained weights; the same arguments give the same weights.

    Args:
        houses: of the training split.
        recipe: numbers of the training.
        told: called with a line now and then.
        left_out: classes that are never a target.

    Raises:
        PlannerError: for a recipe out of range, or without houses.
    """
    recipe.check()
    if not houses:
        raise PlannerError("there are no houses to train on")
    rng = np.random.default_rng([recipe.seed, 7])
    weights = initial_weights(shapes(), recipe.seed)
    means = {name: np.zeros_like(w) for name, w in weights.items()}
    first = {name: np.zeros_like(w) for name, w in weights.items()}
    second = {name: np.zeros_like(w) for name, w in weights.items()}
    steps = recipe.epochs * math.ceil(len(houses) / recipe.batch)
    step, began = 0, time.monotonic()
    for epoch in range(recipe.epochs):
        order, losses = rng.permutation(len(houses)), []
        for at in range(0, len(houses), recipe.batch):
            nouns = Nouns(recipe.dropout, rng)
            samples = [
                make_sample(houses[int(i)], nouns, recipe.dropout, rng, left_out)
                for i in order[at : at + recipe.batch]
            ]
            loss, grads = loss_and_gradient(weights, nouns, samples)
            losses.append(loss)
            rate = recipe.rate * 0.5 * (1 + math.cos(math.pi * step / steps))
            step += 1
            _adam(weights, grads, first, second, step, rate, recipe.decay)
            for name, mean in means.items():
                mean += (1 - recipe.average) * (weights[name] - mean)
        if epoch % 5 == 4 or epoch + 1 == recipe.epochs:
            spent = time.monotonic() - began
            told(f"epoch {epoch + 1} of {recipe.epochs}: loss {np.mean(losses):.3f}, {spent:.0f} s")
    left = 1 - recipe.average**step
    return {name: (mean / left).astype(np.float32) for name, mean in means.items()}


def _adam(
    weights: dict[str, Array],
    grads: Gradients,
    first: dict[str, Array],
    second: dict[str, Array],
    step: int,
    rate: float,
    decay: float,
) -> None:
    for name, weight in weights.items():
        grad = grads[name]
        first[name] *= _FIRST
        first[name] += (1 - _FIRST) * grad
        second[name] *= _SECOND
        second[name] += (1 - _SECOND) * grad * grad
        speed = np.sqrt(second[name] / (1 - _SECOND**step)) + _TINY
        weight *= 1 - rate * decay
        weight -= rate * (first[name] / (1 - _FIRST**step)) / speed
