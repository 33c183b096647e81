"""Trains the reader with the goals of training episodes; the planner itself never sees one.

The loss compares what a reading says of the house's entities, by the formulas of
`planner.planning.learned.network`, with the goal: which thing goes where, next to what, into
which state, how many, in which order. So no word has to be labelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planner.planning.learned.network import (
    AT,
    BEFORE,
    FAR,
    HEADS,
    KEY,
    KINDS,
    LAYERS,
    MARKS,
    NEXT,
    NUMBERS,
    ON,
    OPEN_KIND,
    ROOM,
    SAME,
    THEN_ON,
    THEN_ROOM,
    WIDTH,
    Array,
    kinds_of,
    reader_shapes,
    word_ids,
)
from planner.planning.learned.tokens import NOUN, UNKNOWN, Token
from planner.training.learned.tasks import ReaderTask

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class ReaderRecipe:
    """How the reader is trained.

    Attributes:
        word_drop: share of words that are read as unknown, so that unknown ones do no harm.
        invented: share of tasks in which half of the nouns are read as words that nobody knows.
    """

    steps: int = 4000
    batch: int = 32
    rate: float = 3e-3
    warm_up: int = 60
    decay: float = 0.01
    word_drop: float = 0.02
    invented: float = 0.15
    seed: int = 1
    device: str = "cpu"

    def as_notes(self) -> dict[str, str]:
        """The recipe for a file's header."""
        return {f"reader_{name}": str(value) for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class ReaderProgress:
    """The mean loss of the last steps, by part."""

    step: int
    losses: Mapping[str, float]


def first_weights(words: int, seed: int) -> dict[str, Array]:
    """Weights before training."""
    rng = np.random.default_rng(seed)
    weights: dict[str, Array] = {}
    for name, shape in reader_shapes(words).items():
        kind = name.rpartition(".")[2]
        if "scale" in kind:
            weights[name] = np.ones(shape, np.float32)
        elif "bias" in kind or "shift" in kind or "near" in kind:
            weights[name] = np.zeros(shape, np.float32)
        elif kind in ("word", "kind"):
            weights[name] = rng.normal(0, 0.5, shape).astype(np.float32)
        else:
            spread = 1 / np.sqrt(shape[-2])
            spread *= 1 / np.sqrt(2 * LAYERS) if kind in ("out", "down") else 1
            weights[name] = rng.normal(0, spread, shape).astype(np.float32)
    weights["bias_relation"][[SAME, BEFORE]] = -2
    weights["mark_bias"][:] = -3
    return weights


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded tasks as tensors; B tasks, T tokens, F pieces, O things, E = O + F."""

    words: Tensor
    kinds: Tensor
    valid: Tensor
    furniture: Tensor
    in_room: Tensor
    things: Tensor
    thing_in_room: Tensor
    supports: Tensor
    goes: Tensor
    then: Tensor
    next: Tensor
    marks: Tensor
    numbers: Tensor
    same: Tensor
    before: Tensor


def make_batch(tasks: Sequence[ReaderTask], vocabulary: Mapping[str, int], device: str) -> Batch:
    """Pads and stacks tasks."""
    import torch

    count = len(tasks)
    t = max(len(task.tokens) for task in tasks)
    f = max(len(task.found.furniture) for task in tasks)
    o = max(len(task.found.things) for task in tasks)
    arrays: dict[str, NDArray[np.int64] | Array] = {
        "words": np.zeros((count, t), np.int64),
        "kinds": np.zeros((count, t, KINDS), np.float32),
        "valid": np.zeros((count, t), np.float32),
        "furniture": np.zeros((count, f, t), np.float32),
        "in_room": np.zeros((count, f, t), np.float32),
        "things": np.zeros((count, o, t), np.float32),
        "thing_in_room": np.zeros((count, o, t), np.float32),
        "supports": np.full((count, o), -1, np.int64),
        "goes": np.zeros((count, 3, o, f), np.float32),
        "then": np.zeros((count, 3, o, f), np.float32),
        "next": np.zeros((count, o, o + f), np.float32),
        "marks": np.zeros((count, o + f, len(MARKS)), np.float32),
        "numbers": np.zeros((count, o, len(NUMBERS)), np.float32),
        "same": np.full((count, o + f, o + f), np.nan, np.float32),
        "before": np.full((count, o + f, o + f), np.nan, np.float32),
    }
    for i, task in enumerate(tasks):
        tokens, found, labels = task.tokens, task.found, task.labels
        n, nf, no = len(tokens), len(found.furniture), len(found.things)
        arrays["words"][i, :n] = word_ids(tokens, vocabulary)
        arrays["kinds"][i, :n] = kinds_of(tokens)
        arrays["valid"][i, :n] = 1
        arrays["furniture"][i, :nf, :n] = found.furniture
        arrays["in_room"][i, :nf, :n] = found.in_room
        arrays["things"][i, :no, :n] = found.things
        arrays["thing_in_room"][i, :no, :n] = found.thing_in_room
        arrays["supports"][i, :no] = found.supports
        arrays["goes"][i, :, :no, :nf] = labels.goes
        arrays["then"][i, :, :no, :nf] = labels.then
        arrays["numbers"][i, :no] = labels.numbers
        # Things come first, then padding, then furniture.
        places = np.array([*range(no), *range(o, o + nf)])
        arrays["next"][i][np.ix_(np.arange(no), places)] = labels.next
        arrays["marks"][i, places] = labels.marks
        arrays["same"][i][np.ix_(places, places)] = labels.same
        arrays["before"][i][np.ix_(places, places)] = labels.before
    return Batch(**{name: torch.from_numpy(a).to(device) for name, a in arrays.items()})


def losses_of(weights: Mapping[str, Tensor], batch: Batch) -> dict[str, Tensor]:
    """The parts of the loss, each a mean."""
    import torch

    x = _encoded(weights, batch)
    count = x.shape[1]
    steps = _steps(count, x)
    asked = torch.einsum("btd,rdk->brtk", x, weights["ask"])
    keys = torch.einsum("btd,rdk->brtk", x, weights["key"])
    scores = asked @ keys.transpose(2, 3) / KEY**0.5
    scores = scores + weights["near_relation"][:, steps]
    scores = scores + weights["bias_relation"][None, :, None, None]
    none = x @ weights["none"]
    thing, furniture, room, free = (batch.kinds[..., k] for k in range(4))
    place = (furniture + room + free).clamp(max=1) * batch.valid
    at, at_none = _choice(scores[:, AT : AT + 1], none[..., 0], place[:, None, None, :])
    pieces = (furniture + free).clamp(max=1) * batch.valid
    rooms = (room + free).clamp(max=1) * batch.valid
    allowed = torch.stack([pieces, pieces, rooms], 1)[:, :, None, :]
    goes, _ = _choice(scores[:, ON : ROOM + 1], none[..., 1], allowed)
    then, _ = _choice(scores[:, THEN_ON : THEN_ROOM + 1], none[..., 3], allowed)
    beside = (thing + furniture + free).clamp(max=1) * batch.valid
    next_to, _ = _choice(scores[:, NEXT : NEXT + 1], none[..., 2], beside[:, None, None, :])

    at_t = at[:, 0].transpose(1, 2)
    found_f = batch.furniture * (at_none[:, None] + batch.in_room @ at_t)
    index = batch.supports.clamp(min=0)[..., None].expand(-1, -1, count)
    on = torch.gather(found_f, 1, index) * (batch.supports >= 0)[..., None]
    where = torch.maximum(batch.thing_in_room, on)
    found_o = batch.things * (at_none[:, None] + where @ at_t)
    both = torch.cat([found_o, found_f], 1)

    targets = torch.stack([found_f, found_f, batch.in_room], 1).transpose(2, 3)
    said_goes = found_o[:, None] @ goes @ targets
    said_then = found_o[:, None] @ then @ targets
    said_next = found_o @ next_to[:, 0] @ both.transpose(1, 2)
    shares = both / both.sum(-1, keepdim=True).clamp(min=1e-3)
    said_marks = shares @ torch.sigmoid(x @ weights["mark"] + weights["mark_bias"])
    numbers = torch.softmax(x @ weights["number"] + weights["number_bias"], -1)
    said_numbers = (shares[:, : found_o.shape[1]] @ numbers * batch.numbers).sum(-1)
    said_same = shares @ torch.sigmoid(scores[:, SAME]) @ shares.transpose(1, 2)
    said_before = shares @ torch.sigmoid(scores[:, BEFORE]) @ shares.transpose(1, 2)
    matched_o = batch.things.any(-1)
    matched = torch.cat([matched_o, batch.furniture.any(-1)], 1)
    pair = (
        matched_o[:, None, :, None]
        & torch.cat(
            [batch.furniture.any(-1)[:, None].expand(-1, 2, -1), batch.in_room.any(-1)[:, None]], 1
        )[:, :, None, :]
    )
    # Nothing is put next to itself, also where a noun means several things.
    itself = torch.eye(*said_next.shape[1:], dtype=torch.bool, device=x.device)
    return {
        "goes": _wrong(said_goes, batch.goes, pair) * 3,
        "then": _wrong(said_then, batch.then, pair) * 3,
        "next": _wrong(said_next, batch.next, matched_o[..., None] & matched[:, None] & ~itself),
        "marks": _wrong(said_marks, batch.marks, matched[..., None].expand_as(said_marks)),
        "numbers": -(said_numbers.clamp(min=1e-4).log() * (batch.numbers.sum(-1) > 0)).sum()
        / len(x),
        "same": _wrong(said_same, batch.same, ~batch.same.isnan()),
        "before": _wrong(said_before, batch.before, ~batch.before.isnan()),
    }


def _wrong(said: Tensor, truth: Tensor, counts: Tensor) -> Tensor:
    """Cross entropy of likelihoods, summed within a task and averaged over tasks."""
    import torch

    said, truth = said.clamp(1e-4, 1 - 1e-4), torch.nan_to_num(truth)
    loss = -(truth * said.log() + (1 - truth) * (1 - said).log())
    # Many pairs in one task say the same; a few must not drown in them.
    per_task = (loss * counts).flatten(1).sum(1)
    size = (truth * counts).flatten(1).sum(1).clamp(min=1) ** 0.5
    return (per_task / size).mean()


def _steps(count: int, like: Tensor) -> Tensor:
    import torch

    numbers = torch.arange(count, device=like.device)
    return (numbers[None, :] - numbers[:, None]).clamp(-FAR, FAR) + FAR


def _encoded(weights: Mapping[str, Tensor], batch: Batch) -> Tensor:
    import torch
    from torch.nn import functional

    x = weights["word"][batch.words] + batch.kinds @ weights["kind"]
    count = x.shape[1]
    steps = _steps(count, x)
    hidden = (batch.valid - 1)[:, None, None, :] * 1e9
    for layer in range(LAYERS):
        name = f"layer{layer}."
        inside = functional.layer_norm(
            x, (WIDTH,), weights[name + "scale_1"], weights[name + "shift_1"], 1e-5
        )
        split = (inside @ weights[name + "qkv"]).reshape(len(x), count, 3, HEADS, WIDTH // HEADS)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(2, 3) / (WIDTH // HEADS) ** 0.5
        scores = scores + weights["near"][layer][:, steps] + hidden
        mixed = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(len(x), count, WIDTH)
        x = x + mixed @ weights[name + "out"]
        inside = functional.layer_norm(
            x, (WIDTH,), weights[name + "scale_2"], weights[name + "shift_2"], 1e-5
        )
        inner = torch.relu(inside @ weights[name + "up"] + weights[name + "up_bias"])
        x = x + inner @ weights[name + "down"] + weights[name + "down_bias"]
    return functional.layer_norm(x, (WIDTH,), weights["last_scale"], weights["last_shift"], 1e-5)


def _choice(scores: Tensor, none: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    import torch

    size, relations, count, _ = scores.shape
    masked = scores.masked_fill(allowed <= 0, -1e9)
    flat = masked.transpose(1, 2).reshape(size, count, relations * count)
    shares = torch.softmax(torch.cat([flat, none[..., None]], -1), -1)
    found = shares[..., :-1].reshape(size, count, relations, count).transpose(1, 2)
    return found, shares[..., -1]


def train_reader(
    tasks: Sequence[ReaderTask],
    vocabulary: Mapping[str, int],
    weights: Mapping[str, Array],
    recipe: ReaderRecipe,
    on_progress: Callable[[ReaderProgress], None],
    on_checkpoint: Callable[[int, Mapping[str, Array], Mapping[str, Array]], None],
    start: int = 0,
    moments: Mapping[str, Array] | None = None,
) -> dict[str, Array]:
    """Trains from `start` on; returns the weights.

    Args:
        tasks: drawn at random, by seed and step only, so that a resumed training repeats.
        vocabulary: numbers of the words.
        weights: at the step `start`.
        recipe: how.
        on_progress: called each 100 steps.
        on_checkpoint: called each 500 steps with step, weights, and the optimiser's moments.
        start: steps done before.
        moments: the optimiser's at that step.
    """
    import torch

    tensors = {n: torch.tensor(w, device=recipe.device) for n, w in weights.items()}
    for tensor in tensors.values():
        tensor.requires_grad_(True)
    first = {n: torch.zeros_like(w) for n, w in tensors.items()}
    second = {n: torch.zeros_like(w) for n, w in tensors.items()}
    for n, array in (moments or {}).items():
        which, _, name = n.partition(":")
        (first if which == "first" else second)[name].copy_(torch.tensor(array))
    sums: dict[str, float] = {}
    # Of one length each, so that little is padding.
    order = sorted(range(len(tasks)), key=lambda i: len(tasks[i].tokens))
    for step in range(start, recipe.steps):
        rng = np.random.default_rng([recipe.seed, step])
        middle = int(rng.integers(len(order)))
        near = order[max(0, middle - 4 * recipe.batch) : middle + 4 * recipe.batch]
        chosen = rng.choice(near, min(recipe.batch, len(near)), replace=False)
        batch = make_batch([tasks[i] for i in chosen], vocabulary, recipe.device)
        drop = torch.from_numpy(rng.random(batch.words.shape) < recipe.word_drop)
        batch.words[drop.to(recipe.device)] = vocabulary[UNKNOWN]
        for row, i in enumerate(chosen):
            if rng.random() < recipe.invented:
                _invent(batch, row, tasks[i].tokens, vocabulary[UNKNOWN], rng)
        losses = losses_of(tensors, batch)
        total = torch.stack(list(losses.values())).sum()
        grads = torch.autograd.grad(total, list(tensors.values()))
        norm = float(torch.sqrt(torch.stack([(g**2).sum() for g in grads]).sum()))
        scale = min(1.0, 5.0 / (norm + 1e-6))
        done = step / recipe.steps
        rate = recipe.rate * min(1, (step + 1) / recipe.warm_up) * (0.02 + 0.98 * (1 - done))
        with torch.no_grad():
            for (name, tensor), grad in zip(tensors.items(), grads, strict=True):
                first[name].mul_(0.9).add_(grad * scale, alpha=0.1)
                second[name].mul_(0.98).add_((grad * scale) ** 2, alpha=0.02)
                mean = first[name] / (1 - 0.9 ** (step + 1))
                spread = (second[name] / (1 - 0.98 ** (step + 1))).sqrt() + 1e-8
                tensor.mul_(1 - rate * recipe.decay).sub_(rate * mean / spread)
        for name, loss in losses.items():
            sums[name] = sums.get(name, 0.0) + float(loss.detach()) / 100
        if (step + 1) % 100 == 0:
            on_progress(ReaderProgress(step + 1, sums))
            sums = {}
        if (step + 1) % 500 == 0 or step + 1 == recipe.steps:
            kept = {f"first:{n}": w.cpu().numpy() for n, w in first.items()}
            kept |= {f"second:{n}": w.cpu().numpy() for n, w in second.items()}
            on_checkpoint(step + 1, _arrays(tensors), kept)
    return _arrays(tensors)


def _invent(
    batch: Batch, row: int, tokens: Sequence[Token], unknown: int, rng: np.random.Generator
) -> None:
    """Makes words of nouns unknown in one task, each noun everywhere; what they mean stays."""
    nouns = sorted({token.text for token in tokens if token.word == NOUN})
    chosen = {noun for noun in nouns if rng.random() < 0.5}
    for t, token in enumerate(tokens):
        if token.word == NOUN and token.text in chosen:
            batch.words[row, t] = unknown
            batch.kinds[row, t, : OPEN_KIND + 1] = 0
            batch.kinds[row, t, OPEN_KIND] = 1


def _arrays(tensors: Mapping[str, Tensor]) -> dict[str, Array]:
    return {n: w.detach().cpu().numpy().copy() for n, w in tensors.items()}
