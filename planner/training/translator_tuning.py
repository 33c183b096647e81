"""Fine-tunes a sentence encoder for the translator (LLAMAR-2.6, LLAMAR-T4).

The loss ranks the action of each text above those of the other texts in its batch. Needs the extra
`local`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.planning.llamar.encoder_translator import templates
from planner.training.translator_pairs import Pair, Pairs
from planner.world.embedding import Embedder, TransformersEncoder
from planner.world.errors import FileError, PlannerError
from planner.world.files import read_document

if TYPE_CHECKING:
    import torch

RECORD = "translator.json"
_MAX_TOKENS = 64


@dataclass(frozen=True, slots=True)
class TranslatorRecipe:
    """LLAMAR-T4; what it does not give is marked ours.

    Attributes:
        epochs: passes over the pairs.
        clip: maximum norm of the gradient.
        rate: maximum learning rate of AdamW; rises linearly, then falls linearly to zero.
        batch: pairs a step.
        dimension: of the encoder's vectors.
        warm_up_steps: of the learning rate.
        decay: of the weights.
        scale: of the cosines in the loss.
        seed: of order and dropout. Ours.
        device: torch device. Ours.
    """

    epochs: int = 10
    clip: float = 1.0
    rate: float = 2e-5
    batch: int = 64
    dimension: int = 384
    warm_up_steps: int = 45
    decay: float = 0.01
    scale: float = 20.0
    seed: int = 1
    device: str = "cpu"

    def check(self) -> None:
        """Checks the numbers.

        Raises:
            PlannerError: for one that is out of range.
        """
        low = {"epochs": 1, "batch": 2, "dimension": 1, "warm_up_steps": 0}
        for name, least in low.items():
            if getattr(self, name) < least:
                raise PlannerError(f"{name}: expected at least {least}, got {getattr(self, name)}")
        if min(self.rate, self.clip, self.scale) <= 0 or self.decay < 0:
            raise PlannerError("rate, clip and scale must be above 0, decay not below")


@dataclass(frozen=True, slots=True)
class Gain:
    """The share of texts set aside whose action is the nearest template, of all templates."""

    before: float
    after: float
    texts: int


def tune_translator(
    pairs: Pairs,
    encoder: Path,
    output: Path,
    recipe: TranslatorRecipe,
    told: Callable[[str], None],
) -> Gain:
    """Trains an encoder of `transformers` and writes it to a folder of its own.

    Args:
        pairs: of `planner.training.translator_pairs.make_pairs`.
        encoder: folder of the encoder to start from, which is not changed.
        output: folder of the trained one; must not exist, or be empty.
        recipe: numbers of the training.
        told: called with a line for each epoch.

    Raises:
        PlannerError: without torch and transformers, or for a recipe or an encoder of another
            dimension.
        FileError: for a folder without an encoder, or that cannot be written.
    """
    recipe.check()
    if output.exists() and any(output.iterdir()):
        raise FileError(output, "", "is not empty")
    _check_dimension(encoder, recipe)
    before = accuracy(TransformersEncoder(encoder), pairs.set_aside)
    _train(pairs.trained, encoder, output, recipe, told)
    gain = Gain(
        before, accuracy(TransformersEncoder(output), pairs.set_aside), len(pairs.set_aside)
    )
    record = {"recipe": asdict(recipe), "pairs": len(pairs.trained), "gain": asdict(gain)}
    (output / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return gain


def _check_dimension(encoder: Path, recipe: TranslatorRecipe) -> None:
    path = encoder / "config.json"
    if not path.is_file():
        raise FileError(encoder, "", "is not an encoder of transformers: no config.json")
    document = read_document(path)
    size = document.get("hidden_size") if isinstance(document, dict) else None
    if size != recipe.dimension:
        reason = f"the encoder has {size} dimensions, expected {recipe.dimension}"
        raise FileError(path, "hidden_size", reason)


def accuracy(encoder: Embedder, pairs: Sequence[Pair]) -> float:
    """The share of texts whose action is the nearest of all templates."""
    listed = templates()
    known = encoder.embed([action.words for action in listed])
    nearest = (encoder.embed([pair.text for pair in pairs]) @ known.T).argmax(axis=1)
    right = [listed[at] == pair.action for at, pair in zip(nearest.tolist(), pairs, strict=True)]
    return float(np.mean(right))


def _train(
    pairs: Sequence[Pair],
    encoder: Path,
    output: Path,
    recipe: TranslatorRecipe,
    told: Callable[[str], None],
) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer, get_linear_schedule_with_warmup

    torch.manual_seed(recipe.seed)
    try:
        model = AutoModel.from_pretrained(encoder, local_files_only=True).to(recipe.device)
        tokenizer = AutoTokenizer.from_pretrained(encoder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise FileError(encoder, "", f"cannot be loaded: {error}") from None
    optimiser = torch.optim.AdamW(model.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
    rng = np.random.default_rng(recipe.seed)
    plan = [list(_batches(pairs, recipe.batch, rng)) for _ in range(recipe.epochs)]
    schedule = get_linear_schedule_with_warmup(
        optimiser, recipe.warm_up_steps, sum(len(epoch) for epoch in plan)
    )
    model.train()
    start = time.monotonic()
    for number, epoch in enumerate(plan, 1):
        total = 0.0
        for batch in epoch:
            loss = _loss(model, tokenizer, batch, recipe)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        elapsed_s = time.monotonic() - start
        told(f"epoch {number} of {recipe.epochs}: loss {total / len(epoch):.4f}, {elapsed_s:.0f} s")
    output.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(output)
    tokenizer.save_pretrained(output)


def _batches(pairs: Sequence[Pair], size: int, rng: np.random.Generator) -> Iterator[list[Pair]]:
    """Batches in random order in which no action occurs twice: it would be its own negative."""
    waiting = [pairs[at] for at in rng.permutation(len(pairs)).tolist()]
    while waiting:
        batch: list[Pair] = []
        later: list[Pair] = []
        seen: set[object] = set()
        for pair in waiting:
            if len(batch) < size and pair.action not in seen:
                batch.append(pair)
                seen.add(pair.action)
            else:
                later.append(pair)
        waiting = later
        # With a single pair there is nothing to rank.
        if len(batch) > 1:
            yield batch


def _loss(
    model: Any,
    tokenizer: Any,
    batch: Sequence[Pair],
    recipe: TranslatorRecipe,
) -> torch.Tensor:
    """Multiple negatives ranking: cross entropy over the scaled cosines of all pairs of a batch."""
    import torch

    said = _pooled(model, tokenizer, [pair.text for pair in batch], recipe.device)
    meant = _pooled(model, tokenizer, [pair.action.words for pair in batch], recipe.device)
    cosines = said @ meant.T
    right = torch.arange(len(batch), device=cosines.device)
    return torch.nn.functional.cross_entropy(recipe.scale * cosines, right)


def _pooled(
    model: Any,
    tokenizer: Any,
    texts: list[str],
    device: str,
) -> torch.Tensor:
    """(n, d) means over the tokens, of length one."""
    import torch

    inputs = tokenizer(
        texts, padding=True, truncation=True, max_length=_MAX_TOKENS, return_tensors="pt"
    ).to(device)
    states = model(**inputs).last_hidden_state
    mask = inputs["attention_mask"].unsqueeze(-1)
    pooled = (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
    return torch.nn.functional.normalize(pooled, dim=-1)
