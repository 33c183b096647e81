"""Trains the first stage of the memory's model, its network, with PyTorch on a CPU or a GPU."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.memory.learned.network import (
    CELL_PIXEL,
    FEATURES,
    OFFSET_UNIT_M,
    STRIDE,
    Array,
    ConvSpec,
    cell_points,
    clean_depth,
    convolutions,
    network,
    network_input,
)
from planner.memory.learned.segments import read_model_file
from planner.training.frames import RecordedFrame
from planner.world.catalogue import Catalogue
from planner.world.errors import FileError, PlannerError
from planner.world.files import replacing
from planner.world.vocabulary import OPEN_FROM

# Turns recorded frames into samples for the network: square crops with a label per cell.

# Objects covering fewer pixels are neither required nor counted as mistakes.
MIN_PIXELS = 30
CLOSED_UP_TO = 0.1
IGNORED = -1
_DIM, _BRIGHT = 0.85, 1.12
_ASTRAY_PX = 44


@dataclass(frozen=True, slots=True)
class Labelled:
    """An image and the labels of its cells.

    Attributes:
        image: (5, h, w), see `network_input`.
        classes: (h / 4, w / 4): 0 nothing movable, 1 + index of the class, -1 ignored.
        offsets: (3, h / 4, w / 4): from the cell's point to the middle of the object's box.
        weights: (h / 4, w / 4): of objects' cells, so that small objects count like large ones.
        open: (h / 4, w / 4): 1 open furniture, 0 closed, -1 neither.
    """

    image: Array
    classes: NDArray[np.int64]
    offsets: Array
    weights: Array
    open: Array

    def crop(self, row: int, column: int, size: int, mirrored: bool) -> Labelled:
        """A square of `size` pixels starting at cell (row, column); mirrored left to right."""
        cells = size // STRIDE
        pixels = np.s_[
            ..., row * STRIDE : row * STRIDE + size, column * STRIDE : column * STRIDE + size
        ]
        part = np.s_[..., row : row + cells, column : column + cells]
        image, offsets = self.image[pixels], self.offsets[part]
        classes, weights, opened = self.classes[part], self.weights[part], self.open[part]
        if mirrored:
            image, classes, weights = image[..., ::-1], classes[..., ::-1], weights[..., ::-1]
            opened = opened[..., ::-1]
            offsets = offsets[..., ::-1] * np.array([-1, 1, 1], np.float32)[:, None, None]
        return Labelled(image, classes, offsets, weights, opened)


def labelled(frame: RecordedFrame, indices: Mapping[str, int]) -> Labelled:
    """The whole frame with its labels.

    Args:
        frame: as recorded.
        indices: of the classes, from 0.
    """
    camera = frame.camera()
    instances = camera.instances if camera.instances is not None else np.zeros((0, 0), np.int32)
    points, measured = cell_points(camera.intrinsics, clean_depth(camera.depth_m))
    cells = instances[CELL_PIXEL::STRIDE, CELL_PIXEL::STRIDE]
    classes = np.zeros(cells.shape, np.int64)
    weights = np.zeros(cells.shape, np.float32)
    offsets = np.zeros((*cells.shape, 3), np.float32)
    pixels = np.bincount(instances.ravel())
    rotation, origin = camera.pose.rotation(), np.asarray(camera.pose.position_m)
    for thing in frame.record.things:
        mask = cells == thing.instance
        count = int(np.count_nonzero(mask))
        if not count:
            continue
        index = indices.get(thing.class_name)
        if index is None or pixels[thing.instance] < MIN_PIXELS:
            classes[mask] = IGNORED
            continue
        center = (np.asarray(thing.center_m) - origin) @ rotation
        classes[mask] = index + 1
        weights[mask] = 1 / np.sqrt(count)
        offsets[mask] = (center - points[mask]) / OFFSET_UNIT_M
    opened = np.full(cells.shape, IGNORED, np.float32)
    for piece in frame.record.furniture:
        if piece.openness is None or CLOSED_UP_TO < piece.openness < OPEN_FROM:
            continue
        opened[cells == piece.instance] = float(piece.openness >= OPEN_FROM)
    weights[~measured] = 0
    opened[~measured] = IGNORED
    return Labelled(network_input(camera), classes, np.moveaxis(offsets, 2, 0), weights, opened)


def crops(whole: Labelled, size: int, count: int, rng: np.random.Generator) -> list[Labelled]:
    """Square crops of a frame, most of them around an object, all objects equally likely."""
    rows, columns = whole.classes.shape
    cells = size // STRIDE
    found = np.argwhere(whole.classes > 0)
    # A cell's weight is the root of its object's: squared, every object has the same sum.
    chances = whole.weights[found[:, 0], found[:, 1]] ** 2 if len(found) else np.zeros(0)
    made = []
    for _ in range(count):
        if len(found) and chances.sum() > 0 and rng.random() < 0.85:
            row, column = found[rng.choice(len(found), p=chances / chances.sum())]
            astray = _ASTRAY_PX // STRIDE
            row, column = (
                v - cells // 2 + rng.integers(-astray, astray + 1) for v in (row, column)
            )
        else:
            row, column = rng.integers(rows), rng.integers(columns)
        row = int(np.clip(row, 0, rows - cells))
        column = int(np.clip(column, 0, columns - cells))
        crop = whole.crop(row, column, size, bool(rng.integers(2)))
        image = crop.image.copy()
        light = rng.uniform(_DIM, _BRIGHT)
        image[:3] = np.clip((image[:3] + 0.5) * light - 0.5, -0.5, 0.5)
        made.append(Labelled(image, crop.classes, crop.offsets, crop.weights, crop.open))
    return made


def classes_in_pictures(catalogue: Catalogue) -> list[str]:
    """The classes that are learned from pictures, sorted: all but what things are sliced into.

    Slices are learned from actions (`planner/memory/effects.py`). In a picture a slice looks like a
    part of the whole thing, which is there far more often.
    """
    sliced = {c.slices.class_name for c in catalogue.objects.values() if c.slices is not None}
    return sorted(set(catalogue.objects) - sliced)


def class_indices(names: Sequence[str]) -> dict[str, int]:
    """Indices of the classes in the network's list."""
    return {name: index for index, name in enumerate(names)}


CHECKPOINT = "checkpoint.pt"
_CROPS_PER_FRAME = 4
_NORM_EPSILON = 1e-5
# Weights of the loss terms. Classes are predicted by the second stage; here they only make the
# features discriminative.
_CLASS, _THERE, _OFFSET, _OPEN = 0.25, 6.0, 1.0, 0.5


@dataclass(frozen=True, slots=True)
class DetectorRecipe:
    """How the network is trained.

    Attributes:
        steps: optimiser steps; the learning rate decays to zero over them.
        batch: crops per step.
        size_px: of the square crops; a multiple of 16.
        rate: maximum learning rate.
        seed: determines weights and samples.
        device: `cpu` or `cuda`.
        save_every: steps between checkpoints.
    """

    steps: int = 3000
    batch: int = 24
    size_px: int = 128
    rate: float = 4e-3
    seed: int = 1
    device: str = "cpu"
    save_every: int = 100


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of training: means over the steps since the last report."""

    step: int
    loss: float
    there_right: float
    class_right: float
    offset_m: float
    elapsed_s: float


def train_detector(
    frames: Sequence[RecordedFrame],
    classes: Sequence[str],
    folder: Path,
    recipe: DetectorRecipe,
    on_progress: Callable[[Progress], None],
    *,
    more: Sequence[RecordedFrame] = (),
    start: Path | None = None,
) -> dict[str, Array]:
    """Trains to the recipe's last step, resuming from the folder's checkpoint if there is one.

    Args:
        frames: the training set.
        classes: names of the object classes.
        folder: for the checkpoint.
        recipe: how to train.
        on_progress: called with the progress from time to time.
        more: further frames, sampled alternately with `frames` however few they are.
        start: for the initial weights, the folder of an earlier training with its checkpoint, or a
            model's file, such as the one that ships.

    Returns:
        The network's weights by the names of the model file.

    Raises:
        PlannerError: if PyTorch is not installed, or the checkpoint has another recipe.
        FileError: if frames or the initial weights cannot be read.
    """
    try:
        import torch
    except ImportError:
        raise PlannerError("training needs PyTorch: pip install -e '.[train]'") from None
    torch.manual_seed(recipe.seed)
    # Channels last is a quarter faster on CPUs and no slower on GPUs.
    net = torch_network(len(classes)).to(recipe.device, memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(net.parameters(), lr=recipe.rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: _rate(s, recipe.steps))
    begin = _resume(folder, recipe, net, optimiser, schedule)
    batches = _batches((frames, more), classes, recipe, begin)
    if start is not None and not begin:
        if start.is_dir():
            _load_weights(start / CHECKPOINT, net, recipe.device)
        else:
            unfold_weights(net, read_model_file(start).weights, next(batches).image)
    started, means = time.monotonic(), _Means()
    net.train()
    for step in range(begin, recipe.steps):
        batch = next(batches)
        loss, measures = _loss(net, batch, recipe.device)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimiser.step()
        schedule.step()
        means.add(measures)
        if (step + 1) % 20 == 0:
            on_progress(Progress(step + 1, *means.take(), time.monotonic() - started))
        if (step + 1) % recipe.save_every == 0 or step + 1 == recipe.steps:
            _save(folder, recipe, step + 1, net, optimiser, schedule)
    net.eval()
    return folded_weights(net)


def _rate(step: int, steps: int) -> float:
    """Warm-up over the first twentieth, then cosine decay."""
    warm = max(1, steps // 20)
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm))) + 0.005


class _Means:
    def __init__(self) -> None:
        self._rows: list[tuple[float, ...]] = []

    def add(self, row: tuple[float, ...]) -> None:
        self._rows.append(row)

    def take(self) -> tuple[float, float, float, float]:
        a, b, c, d = (float(np.mean(column)) for column in zip(*self._rows, strict=True))
        self._rows.clear()
        return a, b, c, d


# The network in PyTorch


def torch_network(classes: int) -> Any:
    """A module that returns (features, heads) and has the linear layer `classes`."""
    import torch
    from torch import nn

    class Net(nn.Module):  # type: ignore[misc,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.convs = nn.ModuleDict()
            self.norms = nn.ModuleDict()
            for spec in convolutions():
                key = spec.name.replace(".", "_")
                self.convs[key] = nn.Conv2d(
                    spec.inputs,
                    spec.outputs,
                    spec.kernel,
                    spec.stride,
                    spec.padding,
                    bias=not spec.scaled,
                )
                if spec.scaled:
                    self.norms[key] = nn.BatchNorm2d(spec.outputs, eps=_NORM_EPSILON)
            self.classes = nn.Linear(FEATURES, classes)

        def forward(self, image: Any) -> tuple[Any, Any]:
            return network(self, image)

        def conv(self, spec: ConvSpec, x: Any) -> Any:
            key = spec.name.replace(".", "_")
            made = self.convs[key](x)
            if spec.scaled:
                made = self.norms[key](made)
            return torch.relu(made) if spec.relu else made

        def add(self, x: Any, y: Any) -> Any:  # type: ignore[override,unused-ignore]
            return torch.relu(x + y)

        def double(self, x: Any) -> Any:  # type: ignore[override,unused-ignore]
            return nn.functional.interpolate(x, scale_factor=2, mode="nearest")

    return Net()


def folded_weights(net: Any) -> dict[str, Array]:
    """The module's weights with normalisations folded in, by the names of the model file."""
    weights: dict[str, Array] = {}
    for spec in convolutions():
        key = spec.name.replace(".", "_")
        conv = net.convs[key]
        weight = conv.weight.detach().cpu().double().numpy()
        if spec.scaled:
            norm = net.norms[key]
            mean, var = (
                v.detach().cpu().double().numpy() for v in (norm.running_mean, norm.running_var)
            )
            gain, shift = (v.detach().cpu().double().numpy() for v in (norm.weight, norm.bias))
            scale = gain / np.sqrt(var + _NORM_EPSILON)
            weight = weight * scale[:, None, None, None]
            bias = shift - mean * scale
        else:
            bias = conv.bias.detach().cpu().double().numpy()
        weights[f"{spec.name}.weight"] = weight.astype(np.float32)
        weights[f"{spec.name}.bias"] = bias.astype(np.float32)
    return weights


def unfold_weights(net: Any, weights: Mapping[str, Array], images: Array) -> None:
    """Gives a module the weights of a model's file; the opposite of `folded_weights`.

    Its normalisations get the means and variances of these images, (n, channels, height, width).
    """
    import torch

    seen: dict[str, tuple[Any, Any]] = {}
    hooks = []
    with torch.no_grad():
        for spec in convolutions():
            key = spec.name.replace(".", "_")
            weight, bias = (
                torch.from_numpy(weights[f"{spec.name}.{part}"].astype(np.float32))
                for part in ("weight", "bias")
            )
            net.convs[key].weight.copy_(weight)
            if not spec.scaled:
                net.convs[key].bias.copy_(bias)
                continue
            norm = net.norms[key]
            norm.weight.fill_(1.0)
            norm.bias.copy_(bias)
            norm.running_mean.fill_(0.0)
            norm.running_var.fill_(1.0 - _NORM_EPSILON)

            def measure(_: Any, given: Any, key: str = key) -> None:
                seen[key] = torch.var_mean(given[0], dim=(0, 2, 3), unbiased=False)

            hooks.append(norm.register_forward_pre_hook(measure))
        net.eval()
        net(torch.from_numpy(images).to(next(net.parameters()).device))
        for hook in hooks:
            hook.remove()
        for key, (var, mean) in seen.items():
            norm = net.norms[key]
            norm.bias.add_(mean)
            norm.weight.copy_(torch.sqrt(var + _NORM_EPSILON))
            norm.running_mean.copy_(mean)
            norm.running_var.copy_(var)


def _loss(net: Any, batch: Labelled, device: str) -> tuple[Any, tuple[float, float, float, float]]:
    import torch
    from torch.nn import functional

    image, classes, offsets, weights, opened = (
        torch.from_numpy(array).to(device)
        for array in (batch.image, batch.classes, batch.offsets, batch.weights, batch.open)
    )
    features, heads = net(image.contiguous(memory_format=torch.channels_last))
    there, asked = (classes > 0).float(), classes >= 0
    there_loss = functional.binary_cross_entropy_with_logits(heads[:, 0][asked], there[asked])
    things = (classes > 0) & (weights > 0)
    weight = weights[things]
    total = weight.sum().clamp(min=1e-3)
    logits = net.classes(features.permute(0, 2, 3, 1)[things])
    target = classes[things] - 1
    class_loss = (functional.cross_entropy(logits, target, reduction="none") * weight).sum() / total
    way = heads[:, 2:5].permute(0, 2, 3, 1)[things] - offsets.permute(0, 2, 3, 1)[things]
    offset_loss = (way.abs().sum(dim=1) * weight).sum() / total
    articulated = opened >= 0
    open_loss = heads.sum() * 0
    if bool(articulated.any()):
        open_loss = functional.binary_cross_entropy_with_logits(
            heads[:, 1][articulated], opened[articulated]
        )
    loss = _CLASS * class_loss + _THERE * there_loss + _OFFSET * offset_loss + _OPEN * open_loss
    with torch.no_grad():
        found = heads[:, 0] > 0
        both = (found & (classes > 0)).sum() / ((found | (classes > 0)) & asked).sum().clamp(min=1)
        right = ((logits.argmax(dim=1) == target).float() * weight).sum() / total
        off_m = 0.1 * (way.norm(dim=1) * weight).sum() / total
    return loss, (float(loss.detach()), float(both), float(right), float(off_m))


# Batches


def _batches(
    sets: Sequence[Sequence[RecordedFrame]],
    classes: Sequence[str],
    recipe: DetectorRecipe,
    begin: int,
) -> Iterator[Labelled]:
    """Endless batches: frames alternately from the sets, crops of several frames mixed."""
    indices = class_indices(classes)
    rng = np.random.default_rng([recipe.seed, 11, begin])
    pool: list[Labelled] = []
    orders = [_epochs(frames, rng) for frames in sets if frames]
    while True:
        for order in orders:
            whole = labelled(next(order), indices)
            pool += crops(whole, recipe.size_px, _CROPS_PER_FRAME, rng)
        if len(pool) >= 4 * recipe.batch:
            picked = rng.permutation(len(pool))
            chosen = [pool[i] for i in picked[: recipe.batch]]
            pool = [pool[i] for i in picked[recipe.batch :]]
            yield _stack(chosen)


def _epochs(frames: Sequence[RecordedFrame], rng: np.random.Generator) -> Iterator[RecordedFrame]:
    """The frames repeated endlessly, in a new order each epoch."""
    while True:
        for index in rng.permutation(len(frames)):
            yield frames[int(index)]


def _stack(parts: Sequence[Labelled]) -> Labelled:
    return Labelled(
        *(
            np.ascontiguousarray(np.stack([getattr(part, name) for part in parts]))
            for name in ("image", "classes", "offsets", "weights", "open")
        )
    )


# Checkpoints


def _save(
    folder: Path, recipe: DetectorRecipe, step: int, net: Any, optimiser: Any, schedule: Any
) -> None:
    import torch

    content = {
        "recipe": asdict(recipe),
        "step": step,
        "net": net.state_dict(),
        "optimiser": optimiser.state_dict(),
        "schedule": schedule.state_dict(),
    }
    with replacing(folder / CHECKPOINT, make_folder=True) as aside:
        torch.save(content, aside)


def _load_weights(path: Path, net: Any, device: str) -> None:
    """Loads the weights of another training's checkpoint into the network."""
    import torch

    if not path.is_file():
        raise FileError(path, "", "is not a checkpoint: train there first")
    net.load_state_dict(torch.load(path, map_location=device, weights_only=True)["net"])


def _resume(folder: Path, recipe: DetectorRecipe, net: Any, optimiser: Any, schedule: Any) -> int:
    """Loads a checkpoint; returns the step to continue from."""
    import torch

    path = folder / CHECKPOINT
    if not path.is_file():
        return 0
    content = torch.load(path, map_location=recipe.device, weights_only=True)
    kept = {**content["recipe"], "device": recipe.device, "save_every": recipe.save_every}
    if kept != asdict(recipe):
        raise PlannerError(f"{path}: is of another recipe {content['recipe']}")
    net.load_state_dict(content["net"])
    optimiser.load_state_dict(content["optimiser"])
    schedule.load_state_dict(content["schedule"])
    return int(content["step"])
