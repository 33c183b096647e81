"""Trains the ranking model on houses, with NumPy alone: its loss, gradient and steps."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from papers.et_plan_bench.ranking_model import (
    BUCKETS,
    HIDDEN,
    WIDTH,
    Array,
    Noun,
    Weights,
    features,
    log_softmax,
    meet,
    one_hot,
    shapes,
    tower,
)
from papers.et_plan_bench.ranking_scores import HouseTruth
from planner.world.catalogue import default_catalogue
from planner.world.errors import PlannerError

# The ranking model's loss on houses and its gradient, by hand: the network has few layers.
#
# For each target the rooms' loss is the cross-entropy of where its instances are, and each room's
# that of the place there, or of "not in this room".

# The weight of a room that does not hold the target, against one that does.
ABSENT_WEIGHT = 0.3
Gradients = dict[str, Array]


@dataclass(frozen=True, slots=True)
class Dropout:
    """What is left out at random, so that the rest has to do.

    Attributes:
        own_name: share of nouns said by an alias instead of their class's name.
        unknown: share of nouns read by their letters, as if the catalogue did not know them.
        kind: share of those without what their groups tell.
        identity: share of the others without their class, which leaves their groups.
        feature: share of each noun's single features.
        furniture: share of rooms whose furniture is not known.
    """

    own_name: float = 0.4
    unknown: float = 0.2
    kind: float = 0.6
    identity: float = 0.5
    feature: float = 0.1
    furniture: float = 0.5


NOTHING_LEFT_OUT = Dropout(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


class Nouns:
    """The nouns of a batch, each with its row of a sparse matrix over the table."""

    def __init__(self, dropout: Dropout, rng: np.random.Generator) -> None:
        self._dropout, self._rng = dropout, rng
        self._numbers: dict[tuple[str, Noun], int] = {}
        self._columns: list[int] = []
        self._values: list[float] = []
        self._ends: list[int] = [0]

    def number(self, class_name: str, noun: Noun) -> int:
        """The row of a class."""
        key = (class_name, noun)
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers)
            self._add(class_name, noun)
        return self._numbers[key]

    def matrix(self) -> csr_matrix:
        """(nouns, BUCKETS) whose product with the table are the nouns' vectors."""
        shape = (len(self._numbers), BUCKETS)
        values = np.asarray(self._values, np.float32)
        return csr_matrix((values, self._columns, self._ends), shape=shape)

    def _add(self, class_name: str, noun: Noun) -> None:
        said, rng, drop = class_name, self._rng, self._dropout
        if rng.random() < drop.own_name:
            others = _aliases(class_name, noun)
            said = others[int(rng.integers(len(others)))] if others else said
        found = features(said, noun)
        unknown = not found.identity or rng.random() < drop.unknown
        nameless = not unknown and bool(found.kind) and rng.random() < drop.identity
        kindless = unknown and rng.random() < drop.kind
        for rows in (
            found.spelling if unknown else (),
            () if kindless else found.kind,
            () if unknown or nameless else found.identity,
        ):
            kept = [row for row in rows if rng.random() >= drop.feature] or list(rows)
            self._columns += kept
            self._values += [1.0 / max(1, len(kept))] * len(kept)
        self._ends.append(len(self._columns))


def _aliases(class_name: str, noun: Noun) -> tuple[str, ...]:
    catalogue = default_catalogue()
    if noun is Noun.ROOM and class_name in catalogue.rooms:
        return catalogue.rooms[class_name].aliases
    if noun is Noun.TARGET and class_name in catalogue.objects:
        return catalogue.objects[class_name].aliases
    if noun is not Noun.ROOM and class_name in catalogue.furniture:
        return catalogue.furniture[class_name].aliases
    return ()


@dataclass(frozen=True)
class Sample:
    """A house as indices of a batch's nouns, with labels.

    Attributes:
        targets: (t,) nouns, objects first.
        objects: how many of them are objects.
        rooms: (r,) nouns.
        furniture: (r, nouns) mean of each room's furniture, as far as it is known.
        seen: likewise, of who stands in the room.
        places, place_rooms: (p,) nouns of pieces and of their rooms, room by room.
        holds: (p, 3).
        segments: (r,) first column of each room among places and, after them, its absence.
        columns: (p,) the columns of places; absences: (r,) those of absences.
        room_labels: (t, r) shares of instances.
        place_labels: (objects, p + r) shares of instances in each room.
        place_weights: (objects, r).
    """

    targets: NDArray[np.int64]
    objects: int
    rooms: NDArray[np.int64]
    furniture: list[list[int]]
    seen: list[list[int]]
    places: NDArray[np.int64]
    place_rooms: NDArray[np.int64]
    holds: Array
    segments: NDArray[np.int64]
    columns: NDArray[np.int64]
    absences: NDArray[np.int64]
    room_labels: Array
    place_labels: Array
    place_weights: Array


def make_sample(
    house: HouseTruth,
    nouns: Nouns,
    dropout: Dropout,
    rng: np.random.Generator,
    left_out: frozenset[str] = frozenset(),
) -> Sample:
    """A house as one training sample; targets of the classes in `left_out` are not trained."""
    whereabouts = _with_groups(house, left_out)
    things = sorted(whereabouts)
    pieces = [name for name in sorted(house.furniture) if name not in left_out]
    furniture: list[list[int]] = []
    seen: list[list[int]] = []
    places: list[int] = []
    place_rooms: list[int] = []
    holds = []
    columns: list[int] = []
    segments: list[int] = []
    absences: list[int] = []
    column = 0
    for room in house.rooms:
        number = nouns.number(room.class_name, Noun.ROOM)
        stand = [nouns.number(piece, Noun.FURNITURE) for piece in room.furniture]
        seen.append(stand)
        kept = [piece for piece in stand if rng.random() >= dropout.furniture / 2]
        furniture.append([] if rng.random() < dropout.furniture else kept)
        segments.append(column)
        for spot in room.spots:
            places.append(stand[spot.piece])
            place_rooms.append(number)
            holds.append(spot.hold)
            columns.append(column)
            column += 1
        absences.append(column)
        column += 1
    count = len(house.rooms)
    room_labels = np.zeros((len(things) + len(pieces), count), np.float32)
    place_labels = np.zeros((len(things), column), np.float32)
    weights = np.full((len(things), count), ABSENT_WEIGHT, np.float32)
    for row, name in enumerate(things):
        place_labels[row, absences] = 1.0
        for (at, where), instances in whereabouts[name].items():
            room_labels[row, at] += instances
            weights[row, at] = 1.0
            place_labels[row, absences[at]] = 0.0
            if where >= 0:
                place_labels[row, segments[at] + where] += instances
    for row, name in enumerate(pieces, len(things)):
        for at, instances in house.furniture[name].items():
            room_labels[row, at] += instances
    room_labels /= room_labels.sum(axis=1, keepdims=True)
    held = np.add.reduceat(place_labels, segments, axis=1)
    weights[held == 0] = 0.0  # On the floor only.
    place_labels /= np.repeat(np.where(held > 0, held, 1.0), _lengths(segments, column), axis=1)
    targets = [nouns.number(name, Noun.TARGET) for name in (*things, *pieces)]
    return Sample(
        targets=np.array(targets, np.int64),
        objects=len(things),
        rooms=np.array([nouns.number(r.class_name, Noun.ROOM) for r in house.rooms], np.int64),
        furniture=furniture,
        seen=seen,
        places=np.array(places, np.int64),
        place_rooms=np.array(place_rooms, np.int64),
        holds=one_hot(holds),
        segments=np.array(segments, np.int64),
        columns=np.array(columns, np.int64),
        absences=np.array(absences, np.int64),
        room_labels=room_labels,
        place_labels=place_labels,
        place_weights=weights,
    )


def _with_groups(
    house: HouseTruth, left_out: frozenset[str]
) -> dict[str, Counter[tuple[int, int]]]:
    """Where things of each class are, and those of each group of classes, as "fruit"."""
    found: dict[str, Counter[tuple[int, int]]] = {}
    for name, where in house.things.items():
        if name in left_out:
            continue
        cls = default_catalogue().objects.get(name)
        for key in (name, *(cls.groups if cls is not None else ())):
            found.setdefault(key, Counter()).update(where)
    return found


def _lengths(segments: Sequence[int] | NDArray[np.int64], end: int) -> NDArray[np.int64]:
    return np.diff(np.append(np.asarray(segments, np.int64), end))


def loss_and_gradient(
    weights: Weights, nouns: Nouns, samples: Sequence[Sample]
) -> tuple[float, Gradients]:
    """The mean loss of a batch and its gradient by the names of the weights."""
    matrix = nouns.matrix()
    vectors: Array = np.asarray(matrix @ weights["table"], np.float32)
    d_vectors = np.zeros_like(vectors)
    grads: Gradients = {n: np.zeros_like(w) for n, w in weights.items() if n != "table"}
    total = 0.0
    for sample in samples:
        total += _one(weights, vectors, sample, d_vectors, grads, 1.0 / len(samples))
    grads["table"] = np.asarray(matrix.T @ d_vectors, np.float32)
    return total / len(samples), grads


class _Tower:
    """One tower's pass forward, kept for the pass back."""

    def __init__(self, weights: Weights, name: str, inputs: Mapping[str, Array]) -> None:
        self._weights, self._name, self._inputs = weights, name, inputs
        self.out = tower(weights, name, inputs)
        self.d_out = np.zeros_like(self.out)

    def back(self, grads: Gradients) -> dict[str, Array]:
        """Adds to the gradients; returns those of the inputs."""
        d_total: Array = self.d_out if self._name == "target" else self.d_out * (self.out > 0)
        grads[f"{self._name}.bias"] += d_total.sum(axis=0)
        found = {}
        for given, values in self._inputs.items():
            key = f"{self._name}.{given}"
            grads[key] += values.T @ d_total
            found[given] = d_total @ self._weights[key].T
        return found


def _one(
    weights: Weights,
    vectors: Array,
    sample: Sample,
    d_vectors: Array,
    grads: Gradients,
    share: float,
) -> float:
    known, seen = _means(vectors, sample.furniture), _means(vectors, sample.seen)
    target = _Tower(weights, "target", {"noun": vectors[sample.targets]})
    room = _Tower(weights, "room", {"noun": vectors[sample.rooms], "furniture": known})
    place = _Tower(
        weights,
        "place",
        {"noun": vectors[sample.places], "room": vectors[sample.place_rooms], "hold": sample.holds},
    )
    absent = _Tower(weights, "absent", {"room": vectors[sample.rooms], "furniture": seen})
    things = target.out[: sample.objects]

    logs = log_softmax(meet(weights, "room", target.out, room.out))
    loss = -float((sample.room_labels * logs).sum()) / len(sample.targets)
    d_rooms = (np.exp(logs) - sample.room_labels) * (share / len(sample.targets))
    _meet_back(weights, "room", (target, slice(None)), room, d_rooms, grads)

    logits = np.empty(sample.place_labels.shape, np.float32)
    logits[:, sample.columns] = meet(weights, "place", things, place.out)
    logits[:, sample.absences] = (
        meet(weights, "absent", things, absent.out) + weights["absent.level"]
    )
    logs = _log_softmax_of_segments(logits, sample.segments)
    lengths = _lengths(sample.segments, sample.place_labels.shape[1])
    each = np.repeat(sample.place_weights, lengths, axis=1)
    norm = max(float(sample.place_weights.sum()), 1e-6)
    loss -= float((each * sample.place_labels * logs).sum()) / norm
    d_all = (np.exp(logs) - sample.place_labels) * each * (share / norm)
    first = (target, slice(0, sample.objects))
    _meet_back(weights, "place", first, place, d_all[:, sample.columns], grads)
    _meet_back(weights, "absent", first, absent, d_all[:, sample.absences], grads)
    grads["absent.level"] += d_all[:, sample.absences].sum()

    np.add.at(d_vectors, sample.targets, target.back(grads)["noun"])
    back = room.back(grads)
    np.add.at(d_vectors, sample.rooms, back["noun"])
    _means_back(d_vectors, sample.furniture, back["furniture"])
    back = place.back(grads)
    np.add.at(d_vectors, sample.places, back["noun"])
    np.add.at(d_vectors, sample.place_rooms, back["room"])
    back = absent.back(grads)
    np.add.at(d_vectors, sample.rooms, back["room"])
    _means_back(d_vectors, sample.seen, back["furniture"])
    return loss


def _meet_back(
    weights: Weights,
    name: str,
    left: tuple[_Tower, slice],
    right: _Tower,
    d_logits: Array,
    grads: Gradients,
) -> None:
    target, rows = left
    product, own = weights[f"{name}.product"], weights[f"{name}.own"]
    given = target.out[rows]
    towards = d_logits @ right.out
    grads[f"{name}.product"] += given.T @ towards
    grads[f"{name}.own"] += d_logits.sum(axis=0) @ right.out
    target.d_out[rows] += towards @ product.T
    right.d_out += d_logits.T @ (given @ product) + np.outer(d_logits.sum(axis=0), own)


def _log_softmax_of_segments(logits: Array, segments: NDArray[np.int64]) -> Array:
    lengths = _lengths(segments, int(np.shape(logits)[1]))
    shifted = logits - np.repeat(np.maximum.reduceat(logits, segments, axis=1), lengths, axis=1)
    sums = np.add.reduceat(np.exp(shifted), segments, axis=1)
    made: Array = shifted - np.repeat(np.log(sums), lengths, axis=1)
    return made


def _means(vectors: Array, groups: Sequence[Sequence[int]]) -> Array:
    """(groups, WIDTH) means; zeros for an empty group."""
    made = np.zeros((len(groups), WIDTH), np.float32)
    for row, group in zip(made, groups, strict=True):
        if group:
            row += vectors[list(group)].mean(axis=0)
    return made


def _means_back(d_vectors: Array, groups: Sequence[Sequence[int]], d_means: Array) -> None:
    for group, d_mean in zip(groups, d_means, strict=True):
        if group:
            np.add.at(d_vectors, list(group), d_mean / len(group))


def initial_weights(shapes: Mapping[str, tuple[int, ...]], seed: int) -> dict[str, Array]:
    """Zero for the table, so that what was never trained adds nothing; noise for matrices."""
    rng = np.random.default_rng([seed, 11])
    found: dict[str, Array] = {}
    for name, shape in shapes.items():
        if len(shape) == 2 and name != "table":
            scale = np.sqrt(2.0 / shape[0]) if shape[0] != HIDDEN else 1.0 / np.sqrt(HIDDEN)
            found[name] = (rng.standard_normal(shape) * scale).astype(np.float32)
        else:
            found[name] = np.zeros(shape, np.float32)
    return found


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
