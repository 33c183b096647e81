"""Fine-tunes a vision-language model to EPM's updates with LoRA (EPM-2.4, EPM-T4).

Reads the conversations written by `planner train memory-data`. A killed run resumes from its last
checkpoint with the same batches and the same dropout; on a CPU the final weights equal those of an
uninterrupted run. Needs the extra `train`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from planner.models.vision_model import VisionModel, load_vision_model
from planner.training.conversations import TRAIN_FILE
from planner.training.tuning import (
    ADAPTER,
    IGNORED,
    TuningProgress,
    TuningRecipe,
    chosen,
    kept,
    learning_rate,
    resume_checkpoint,
    save_checkpoint,
    step_count,
)
from planner.world.errors import FileError, PlannerError
from planner.world.files import read_lines
from planner.world.observation import RgbImage


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
    found = []
    for number, line in enumerate(read_lines(path), 1):
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
        from peft import get_peft_model_state_dict, set_peft_model_state_dict
    except ImportError as error:
        raise PlannerError(f"fine-tuning needs the extra `train`: {error}") from None
    torch.manual_seed(recipe.seed)
    loaded = load_vision_model(model, device=recipe.device)
    net = _with_matrices(loaded, recipe)
    trained = [p for p in net.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=recipe.rate, weight_decay=0.0)
    steps = step_count(len(samples), recipe)
    identity = {"recipe": kept(recipe), "model": model.name, "samples": len(samples)}

    def load(matrices: Any) -> None:
        set_peft_model_state_dict(net, matrices)

    begin = resume_checkpoint(folder, identity, load, optimiser)
    started = time.monotonic()
    net.train()
    for step in range(begin, steps):
        rate = learning_rate(step, steps, recipe)
        for group in optimiser.param_groups:
            group["lr"] = rate
        batch = [samples[i] for i in chosen(step, len(samples), recipe)]
        loss = _gather(net, loaded, batch)
        torch.nn.utils.clip_grad_norm_(trained, recipe.clip)
        optimiser.step()
        optimiser.zero_grad()
        on_progress(TuningProgress(step + 1, steps, loss, rate, time.monotonic() - started))
        if (step + 1) % recipe.save_every == 0 or step + 1 == steps:
            matrices = {n: p.detach().cpu() for n, p in get_peft_model_state_dict(net).items()}
            save_checkpoint(folder, identity, step + 1, matrices, optimiser)
    adapter = folder / ADAPTER
    net.save_pretrained(str(adapter))
    return adapter


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


def _gather(net: Any, loaded: VisionModel, samples: Sequence[Conversation]) -> float:
    """Accumulates the gradient of a batch; returns the mean loss of its answer tokens.

    One sample at a time: prompts differ in length, and a batch of 64 exceeds memory.
    """
    import torch

    encoded = [_labelled(loaded, sample) for sample in samples]
    tokens = sum(int((labels != IGNORED).sum()) for _, labels in encoded)
    total = 0.0
    for inputs, labels in encoded:
        logits = net(**inputs).logits
        # A token is predicted from those before it.
        loss = torch.nn.functional.cross_entropy(
            logits[0, :-1].float(), labels[0, 1:], ignore_index=IGNORED, reduction="sum"
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
    labels[:, :asked] = IGNORED
    if not bool((labels != IGNORED).any()):
        raise PlannerError(f"{sample.picture}: its answer adds no token to the question")
    return inputs, labels
