"""Fine-tunes a sentence encoder for the translator (LLAMAR-2.6, LLAMAR-T4).

The loss ranks the action of each text above those of the other texts in its batch. Needs the extra
`local`.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from papers.llamar.actions import Action, Verb
from papers.llamar.translator import spoken_class, templates
from planner.parts.command import CommandPart
from planner.world.catalogue import default_catalogue
from planner.world.embedding import Embedder, TransformersEncoder
from planner.world.errors import FileError, PlannerError
from planner.world.files import read_document

if TYPE_CHECKING:
    import torch


# Pairs of free text and valid action, made from our own lists of actions (LLAMAR-2.6).
#
# Each template of the translator's static list is said in several ways, with the names that the
# catalogue has for a class. Ways that are set aside are never trained.

# The paper's number of pairs.
PAPER_PAIRS = 2800

# How models and people say each action; {} is the thing, the direction or the angle.
_TRAINED: Mapping[Verb, tuple[str, ...]] = {
    Verb.NAVIGATE_TO: ("go to the {}", "walk over to the {}", "move to the {}", "approach {}"),
    Verb.PICKUP: ("pick up the {}", "grab the {}", "take {}", "get the {} from there"),
    Verb.PUT: ("put it on the {}", "place the item on the {}", "put the object in the {}"),
    Verb.OPEN: ("open the {}", "open up {}", "pull the {} open"),
    Verb.CLOSE: ("close the {}", "shut the {}", "close {} again"),
    Verb.SLICE: ("slice the {}", "cut the {}", "cut up {}"),
    Verb.CLEAN: ("clean the {}", "wash the {}", "wipe {}"),
    Verb.TOGGLE_ON: ("turn on the {}", "switch the {} on", "turn {} on"),
    Verb.TOGGLE_OFF: ("turn off the {}", "switch the {} off", "turn {} off"),
    Verb.MOVE: ("move {}", "step {}", "go {} a little"),
    Verb.ROTATE: ("rotate {}", "turn {}", "turn to the {}"),
    Verb.LOOK_UP: ("look up {} degrees", "tilt the camera up by {}"),
    Verb.LOOK_DOWN: ("look down {} degrees", "tilt the camera down by {}"),
    Verb.EXPLORE: ("explore the room", "look around", "search for it"),
    Verb.IDLE: ("wait", "do nothing", "stay where you are"),
    Verb.DONE: ("the task is complete", "finished", "everything is done"),
}
_SET_ASIDE: Mapping[Verb, tuple[str, ...]] = {
    Verb.NAVIGATE_TO: ("head towards the {}", "get closer to the {}"),
    Verb.PICKUP: ("lift the {} off", "collect the {}"),
    Verb.PUT: ("drop what I hold at the {}", "set it down on the {}"),
    Verb.OPEN: ("get the {} opened",),
    Verb.CLOSE: ("make sure that the {} is closed",),
    Verb.SLICE: ("chop the {} into pieces",),
    Verb.CLEAN: ("rinse the {}",),
    Verb.TOGGLE_ON: ("power up the {}",),
    Verb.TOGGLE_OFF: ("power down the {}",),
    Verb.MOVE: ("walk one step {}",),
    Verb.ROTATE: ("make a quarter turn to the {}",),
    Verb.LOOK_UP: ("raise the view by {} degrees",),
    Verb.LOOK_DOWN: ("lower the view by {} degrees",),
    Verb.EXPLORE: ("find out what is here",),
    Verb.IDLE: ("hold still for now",),
    Verb.DONE: ("there is nothing left to do",),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """A text and the action that it means, as a template in the words of prompts."""

    text: str
    action: Action


@dataclass(frozen=True, slots=True)
class Pairs:
    """What is trained on, and what is set aside for measuring."""

    trained: tuple[Pair, ...]
    set_aside: tuple[Pair, ...]


def make_pairs(count: int = PAPER_PAIRS, set_aside: int = 400, seed: int = 1) -> Pairs:
    """Draws pairs evenly over the verbs, so that rare verbs are heard as often as common ones.

    Args:
        count: to train on.
        set_aside: to measure with, in other ways of saying.
        seed: of the draw.

    Raises:
        PlannerError: for counts below 1.
    """
    if min(count, set_aside) < 1:
        raise PlannerError(f"pairs: expected at least 1 of each, got {count} and {set_aside}")
    rng = random.Random(seed)
    return Pairs(_drawn(count, _TRAINED, rng), _drawn(set_aside, _SET_ASIDE, rng))


def _drawn(count: int, ways: Mapping[Verb, Sequence[str]], rng: random.Random) -> tuple[Pair, ...]:
    by_verb: dict[Verb, list[Action]] = {}
    for action in templates():
        by_verb.setdefault(action.verb, []).append(action)
    names = _names()
    pairs = []
    for number in range(count):
        verb = [*by_verb][number % len(by_verb)]
        action = rng.choice(by_verb[verb])
        thing = rng.choice(names.get(action.argument, (action.argument.lower(),)))
        pairs.append(Pair(rng.choice(ways[verb]).format(thing), action))
    rng.shuffle(pairs)
    return tuple(pairs)


def say(
    verb: Verb, argument: str, rng: random.Random, *, is_trained: bool, number: str = ""
) -> str:
    """An action in free text, for measuring.

    Args:
        verb: of the action.
        argument: the class in words ("floor lamp"), a direction or an angle; "" = none.
        rng: chooses the way, and any of the catalogue's words for the class.
        is_trained: in one of the ways that are trained, or else that are set aside.
        number: follows the thing, such as " 2".
    """
    thing = rng.choice(_names().get(argument, (argument,)))
    ways = _TRAINED if is_trained else _SET_ASIDE
    return rng.choice(ways[verb]).format(thing + number)


@lru_cache(maxsize=1)
def _names() -> dict[str, tuple[str, ...]]:
    """The catalogue's words for each class, itself among them."""
    catalogue = default_catalogue()
    named = {cls.name: cls.aliases for cls in catalogue.objects.values()}
    named |= {cls.name: cls.aliases for cls in catalogue.furniture.values()}
    return {
        spoken_class(name): tuple(spoken_class(word) for word in (name, *aliases))
        for name, aliases in named.items()
    }


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
    pairs: Pairs, encoder: Path, output: Path, recipe: TranslatorRecipe, told: Callable[[str], None]
) -> Gain:
    """Trains an encoder of `transformers` and writes it to a folder of its own.

    Args:
        pairs: of `papers.llamar.translator_tuning.make_pairs`.
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
    model: Any, tokenizer: Any, batch: Sequence[Pair], recipe: TranslatorRecipe
) -> torch.Tensor:
    """Multiple negatives ranking: cross entropy over the scaled cosines of all pairs of a batch."""
    import torch

    said = _pooled(model, tokenizer, [pair.text for pair in batch], recipe.device)
    meant = _pooled(model, tokenizer, [pair.action.words for pair in batch], recipe.device)
    cosines = said @ meant.T
    right = torch.arange(len(batch), device=cosines.device)
    return torch.nn.functional.cross_entropy(recipe.scale * cosines, right)


def _pooled(model: Any, tokenizer: Any, texts: list[str], device: str) -> torch.Tensor:
    """(n, d) means over the tokens, of length one."""
    import torch

    inputs = tokenizer(
        texts, padding=True, truncation=True, max_length=_MAX_TOKENS, return_tensors="pt"
    ).to(device)
    states = model(**inputs).last_hidden_state
    mask = inputs["attention_mask"].unsqueeze(-1)
    pooled = (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
    return torch.nn.functional.normalize(pooled, dim=-1)


# `planner train translator`.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("encoder", type=Path, help="folder of a sentence encoder of transformers")
    parser.add_argument("output", type=Path, help="folder of the trained one")
    table = TranslatorRecipe()
    parser.add_argument("--pairs", type=int, default=PAPER_PAIRS, help="of text and action")
    parser.add_argument("--set-aside", type=int, default=400, help="further pairs, to measure with")
    parser.add_argument("--epochs", type=int, default=table.epochs)
    parser.add_argument("--batch", type=int, default=table.batch)
    parser.add_argument("--rate", type=float, default=table.rate, help="highest learning rate")
    parser.add_argument("--warm-up", type=int, default=table.warm_up_steps, help="steps")
    parser.add_argument("--decay", type=float, default=table.decay, help="of the weights")
    parser.add_argument("--dimension", type=int, default=table.dimension, help="of the vectors")
    parser.add_argument("--seed", type=int, default=table.seed)
    parser.add_argument("--device", default=table.device, help="torch device")


def run(args: argparse.Namespace) -> int:
    """Trains it, and prints how many texts it translates right."""
    recipe = TranslatorRecipe(
        epochs=args.epochs,
        rate=args.rate,
        batch=args.batch,
        dimension=args.dimension,
        warm_up_steps=args.warm_up,
        decay=args.decay,
        seed=args.seed,
        device=args.device,
    )
    pairs = make_pairs(args.pairs, args.set_aside, args.seed)
    gain = tune_translator(pairs, args.encoder, args.output, recipe, partial(print, flush=True))
    print(
        f"{args.output}: {gain.before:.1%} of {gain.texts} texts set aside were translated right "
        f"before, {gain.after:.1%} after"
    )
    return 0


TRANSLATOR = CommandPart("LLaMAR's translator: a sentence encoder", add_arguments, run)
