"""Fine-tunes a vision-language model to EPM's updates with LoRA (EPM-2.4, EPM-T4).

Reads the conversations written by `planner train memory-data`. A killed run resumes from its last
checkpoint with the same batches and the same dropout; on a CPU the final weights equal those of an
uninterrupted run. Needs the extra `train`.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from planner.models.vision_model import VisionModel, load_vision_model
from planner.training.conversations import TRAIN_FILE
from planner.world.errors import FileError, PlannerError
from planner.world.observation import RgbImage

ADAPTER, CHECKPOINT = "adapter", "tuning.pt"
_IGNORED = -100


@dataclass(frozen=True, slots=True)
class TuningRecipe:
    """EPM-T4; values that it does not give are marked ours.

    Attributes:
        rate: maximum learning rate; rises during warm-up, then decays linearly to zero.
        warm_up: share of the steps. Ours.
        alpha, rank, dropout: of the LoRA matrices.
        batch: samples per step.
        epochs: passes over the samples.
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


@dataclass(frozen=True, slots=True)
class TuningProgress:
    """The progress after a step: the mean loss of the answer tokens in its batch."""

    step: int
    steps: int
    loss: float
    rate: float
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Conversation:
    """One training sample.

    Attributes:
        picture: the image file.
        prompt: the model's input.
        answer: the expected output.
    """

    picture: Path
    prompt: str
    answer: str

    def image(self) -> RgbImage:
        """(h, w, 3) uint8, red first.

        Raises:
            FileError: if the image cannot be read.
        """
        body = cv2.imread(str(self.picture), cv2.IMREAD_COLOR)
        if body is None:
            raise FileError(self.picture, "", "cannot be read as a picture")
        return np.asarray(np.ascontiguousarray(body[..., ::-1]), np.uint8)


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")
    type: str
    text: str = ""


class _Turn(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: str
    content: list[_Part]


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore")
    messages: list[_Turn]
    images: list[str]


def read_conversations(root: Path) -> list[Conversation]:
    """The samples listed in `train.jsonl`.

    Raises:
        FileError: if it is missing or empty, or a line has the wrong format.
    """
    path = root / TRAIN_FILE
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise FileError(path, "", f"cannot be read: {error.strerror}") from None
    found = []
    for number, line in enumerate(lines, 1):
        try:
            read = _Line.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise FileError(path, f"line {number} {where}".strip(), first["msg"]) from None
        roles = [turn.role for turn in read.messages]
        if roles != ["user", "assistant"] or len(read.images) != 1:
            raise FileError(path, f"line {number}", "is not one picture, question and answer")
        prompt, answer = (
            "".join(part.text for part in turn.content if part.type == "text")
            for turn in read.messages
        )
        found.append(Conversation(root / read.images[0], prompt, answer))
    if not found:
        raise FileError(path, "", "holds no samples")
    return found


def tune(
    samples: Sequence[Conversation],
    model: Path,
    folder: Path,
    recipe: TuningRecipe,
    on_progress: Callable[[TuningProgress], None],
) -> Path:
    """Fine-tunes to the end of the recipe, resuming from the folder's checkpoint if there is one.

    Args:
        samples: the training set.
        model: folder of the base model; see `load_vision_model`.
        folder: for the checkpoint and the adapter.
        recipe: how to train.
        on_progress: called after each step.

    Returns:
        The adapter's folder, which `InProcessVision` and peft can load.

    Raises:
        PlannerError: without the extra `train`, for an invalid model, or a checkpoint with
            another recipe, model or data set.
        FileError: if an image cannot be read.
    """
    try:
        import torch
        from peft import get_peft_model_state_dict
    except ImportError as error:
        raise PlannerError(f"fine-tuning needs the extra `train`: {error}") from None
    torch.manual_seed(recipe.seed)
    loaded = load_vision_model(model, device=recipe.device)
    net = _with_matrices(loaded, recipe)
    trained = [p for p in net.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=recipe.rate, weight_decay=0.0)
    steps = max(1, math.ceil(len(samples) * recipe.epochs / recipe.batch))
    identity = {"recipe": _kept(recipe), "model": model.name, "samples": len(samples)}
    begin = _resume(folder, identity, net, optimiser)
    started = time.monotonic()
    net.train()
    for step in range(begin, steps):
        rate = _rate(step, steps, recipe)
        for group in optimiser.param_groups:
            group["lr"] = rate
        chosen = [samples[i] for i in _chosen(step, len(samples), recipe)]
        loss = _gather(net, loaded, chosen)
        torch.nn.utils.clip_grad_norm_(trained, recipe.clip)
        optimiser.step()
        optimiser.zero_grad()
        on_progress(TuningProgress(step + 1, steps, loss, rate, time.monotonic() - started))
        if (step + 1) % recipe.save_every == 0 or step + 1 == steps:
            matrices = {n: p.detach().cpu() for n, p in get_peft_model_state_dict(net).items()}
            _save(folder, identity, step + 1, matrices, optimiser)
    adapter = folder / ADAPTER
    net.save_pretrained(str(adapter))
    return adapter


def _kept(recipe: TuningRecipe) -> dict[str, object]:
    """What a checkpoint must agree in: everything except where and how it is computed."""
    return {k: v for k, v in asdict(recipe).items() if k not in ("device", "save_every")}


def _with_matrices(loaded: VisionModel, recipe: TuningRecipe) -> Any:
    """The model with LoRA matrices at all linear projections of its two backbones."""
    import torch
    from peft import LoraConfig, get_peft_model

    names = [
        name
        for name, module in loaded.model.named_modules()
        if isinstance(module, torch.nn.Linear)
        and ("vision_tower" in name or "language_model" in name)
        and "lm_head" not in name
    ]
    if not names:
        raise PlannerError(f"{loaded.name}: has no linear projections to tune")
    config = LoraConfig(
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        target_modules=names,
        bias="none",
    )
    return get_peft_model(loaded.model, config)


def _rate(step: int, steps: int, recipe: TuningRecipe) -> float:
    warm = max(1, round(recipe.warm_up * steps))
    if step < warm:
        return recipe.rate * (step + 1) / warm
    return recipe.rate * max(0.0, (steps - step) / max(1, steps - warm))


def _chosen(step: int, samples: int, recipe: TuningRecipe) -> list[int]:
    """A step's samples: each epoch in a new order, batches crossing epochs."""
    chosen = []
    for place in range(step * recipe.batch, (step + 1) * recipe.batch):
        epoch, number = divmod(place, samples)
        chosen.append((epoch, number))
    orders = {
        epoch: np.random.default_rng([recipe.seed, 3, epoch]).permutation(samples)
        for epoch in {epoch for epoch, _ in chosen}
    }
    return [int(orders[epoch][number]) for epoch, number in chosen]


def _gather(net: Any, loaded: VisionModel, samples: Sequence[Conversation]) -> float:
    """Accumulates the gradient of a batch; returns the mean loss of its answer tokens.

    One sample at a time: prompts differ in length, and a batch of 64 exceeds memory.
    """
    import torch

    encoded = [_labelled(loaded, sample) for sample in samples]
    tokens = sum(int((labels != _IGNORED).sum()) for _, labels in encoded)
    total = 0.0
    for inputs, labels in encoded:
        logits = net(**inputs).logits
        # A token is predicted from those before it.
        loss = torch.nn.functional.cross_entropy(
            logits[0, :-1].float(), labels[0, 1:], ignore_index=_IGNORED, reduction="sum"
        )
        (loss / tokens).backward()
        total += float(loss.detach()) / tokens
    return total


def _labelled(loaded: VisionModel, sample: Conversation) -> tuple[Mapping[str, Any], Any]:
    """A conversation's tensors, and its tokens with all but the answer's ignored."""
    image = sample.image()
    inputs = loaded.encoded(image, sample.prompt, sample.answer)
    asked = loaded.encoded(image, sample.prompt)["input_ids"].shape[1]
    labels = inputs["input_ids"].clone()
    labels[:, :asked] = _IGNORED
    if not bool((labels != _IGNORED).any()):
        raise PlannerError(f"{sample.picture}: its answer adds no token to the question")
    return inputs, labels


def _save(
    folder: Path, identity: Mapping[str, object], step: int, matrices: Any, optimiser: Any
) -> None:
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


def _resume(folder: Path, identity: Mapping[str, object], net: Any, optimiser: Any) -> int:
    """Loads a checkpoint; returns the step to continue from."""
    import torch
    from peft import set_peft_model_state_dict

    path = folder / CHECKPOINT
    if not path.is_file():
        return 0
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        kept = json.loads(content["identity"])
    except (OSError, RuntimeError, KeyError, ValueError, EOFError) as error:
        raise FileError(path, "", f"is no checkpoint: {error}") from None
    if kept != json.loads(json.dumps(identity)):
        raise FileError(path, "", f"is of another recipe, model or data set: {kept}")
    set_peft_model_state_dict(net, content["matrices"])
    optimiser.load_state_dict(content["optimiser"])
    torch.set_rng_state(content["random"])
    return int(content["step"])
