"""A skill's policy by imitation: its network, its recipe, and the houses that it drives in."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from planner.houses.generator import generate_house, recipes
from planner.skills.policy.policy_file import (
    CELLS,
    CONVOLUTIONS,
    HIDDEN,
    Acts,
    Bytes,
    Floats,
    PolicyFile,
    PolicySpace,
    scores,
    write_policy,
)
from planner.world.errors import FileError
from planner.world.files import read_document, replacing
from planner.world.house import House
from planner.world.house_checks import load_house

if TYPE_CHECKING:
    import torch


# Seeds with this bit are of no other set of houses.
_SEEDS = 1 << 35


def training_houses(generated: int, seed: int = 0) -> tuple[House, ...]:
    """The shipped houses for training, and some more of 4 to 12 rooms without things.

    Args:
        generated: how many more.
        seed: equal seeds give the same houses.

    Raises:
        PlannerError: if a house cannot be generated.
    """
    shipped = [load_house(recipe.name) for recipe in recipes() if recipe.split == "train"]
    more = [
        generate_house(
            f"policy_{seed}_{number}",
            _SEEDS | seed << 16 | number,
            objects=0,
            split="train",
        )
        for number in range(generated)
    ]
    return (*shipped, *more)


def held_back_houses() -> tuple[House, ...]:
    """The shipped houses that nothing is trained in."""
    return tuple(load_house(recipe.name) for recipe in recipes() if recipe.split == "heldout")


# The recipe of a training run, kept in its folder so that no other one goes on there.


def check_recipe(path: Path, wanted: Mapping[str, object]) -> None:
    """Writes the recipe of a new folder, and refuses the folder of another one.

    Raises:
        FileError: naming the first value that differs.
    """
    if not path.exists():
        path.write_text(json.dumps(wanted, indent=1) + "\n", encoding="utf-8")
        return
    known = read_document(path)
    for name, value in wanted.items():
        got = known.get(name) if isinstance(known, dict) else None
        if got != value:
            raise FileError(path, name, f"expected {value} as asked, got {got} of before")


# The network of a policy in torch, with the weights' names of the NumPy one.


def make_body(space: PolicySpace) -> torch.nn.Module:
    """The convolutions and the hidden layer; takes layers and features, gives (n, HIDDEN)."""
    import torch

    class Body(torch.nn.Module):  # type: ignore[misc] # torch is not installed
        def __init__(self) -> None:
            super().__init__()
            channels, side = space.layers, CELLS
            made = []
            for out, kernel, stride in CONVOLUTIONS:
                made.append(torch.nn.Conv2d(channels, out, kernel, stride, kernel // 2))
                channels, side = out, side // stride
            self.convolution = torch.nn.ModuleList(made)
            self.hidden = torch.nn.Linear(channels * side * side + space.features, HIDDEN)

        def forward(self, layers: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
            x = layers
            for convolution in self.convolution:
                x = torch.relu(convolution(x))
            flat = torch.cat([x.flatten(1), features], dim=1)
            return torch.relu(self.hidden(flat))

    return Body()


def make_policy(space: PolicySpace) -> torch.nn.Module:
    """The whole network: takes layers and features, gives (n, actions) scores."""
    import torch

    class Policy(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.body = make_body(space)
            self.action = torch.nn.Linear(HIDDEN, space.actions)

        def forward(self, layers: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.action(self.body(layers, features))
            return scores

    return Policy()


def weights_of(policy: torch.nn.Module) -> dict[str, Floats]:
    """The weights by the names of `planner.skills.policy.policy_file.network_shapes`."""
    return {
        name.removeprefix("body."): np.ascontiguousarray(
            tensor.detach().cpu().numpy(), dtype=np.float32
        )
        for name, tensor in policy.state_dict().items()
    }


# A policy by imitation: it drives, and a guide that knows the house says what is best.
#
# DAgger: each round the policy of the last one drives, so that it meets its own mistakes; the
# guide's answers there are added to the data, and the network is trained on all of it. A run goes
# on where it was interrupted.

_RECIPE_FILE, _STATE_FILE = "recipe.json", "state.pt"


def policy_file(output: Path, space: PolicySpace) -> Path:
    """The file of the policy that is trained in a folder."""
    return output / f"{space.skill}.safetensors"


class GuidedEnvironment(Protocol):
    """An environment with a guide; observations have `map` and `features` of a `PolicySpace`."""

    def reset(self, *, seed: int | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """A new task."""

    def step(self, action: int) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """One act."""

    def guided(self) -> int:
        """What the guide would do."""


@dataclass(frozen=True, slots=True)
class ImitationRecipe:
    """How a policy is trained.

    Attributes:
        rounds: of driving and training; the first one is driven by the guide.
        first, more: samples of the first and of each further round.
        steps: of the optimiser in each round.
        batch: samples of a step.
        rate: highest learning rate; it falls to a twentieth.
        noise: share of acts that are random, so that what follows a mistake is seen.
        helped: share of episodes of later rounds in which the guide drives.
        seed: of everything.
    """

    rounds: int = 20
    first: int = 20_000
    more: int = 8_000
    steps: int = 400
    batch: int = 128
    rate: float = 1e-3
    noise: float = 0.1
    helped: float = 0.15
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Samples:
    """What the policy saw, and what the guide would have done.

    Attributes:
        maps: (n, CELLS, CELLS).
        features: (n, features).
        acts: (n,).
    """

    maps: Bytes
    features: Floats
    acts: Acts


def train_by_imitation(
    space: PolicySpace,
    make_environment: Callable[[], GuidedEnvironment],
    output: Path,
    recipe: ImitationRecipe,
    notes: dict[str, str],
    tell: Callable[[str], None],
) -> Path:
    """Trains a policy; returns its file.

    Args:
        space: of the policy.
        make_environment: a fresh one.
        output: folder of data, checkpoint and policy; resumes there.
        recipe: of this run.
        notes: kept in the policy's file.
        tell: gets a line for each round.

    Raises:
        FileError: for a folder of another recipe.
    """
    import torch

    output.mkdir(parents=True, exist_ok=True)
    check_recipe(output / _RECIPE_FILE, {"skill": space.skill, **asdict(recipe)})
    torch.manual_seed(recipe.seed)
    policy = make_policy(space)
    optimiser = torch.optim.AdamW(policy.parameters(), lr=recipe.rate, weight_decay=1e-4)
    begin = 0
    state = output / _STATE_FILE
    if state.exists():
        saved = torch.load(state, weights_only=True)
        policy.load_state_dict(saved["policy"])
        optimiser.load_state_dict(saved["optimiser"])
        begin = int(saved["round"])
    environment: GuidedEnvironment | None = None
    for number in range(begin, recipe.rounds):
        data = output / f"round_{number:03d}.npz"
        if not data.exists():
            environment = environment or make_environment()
            drives = None if number == 0 else weights_of(policy)
            count = recipe.first if number == 0 else recipe.more
            collected = collect(space, environment, drives, count, recipe, number)
            _write_samples(data, collected)
        samples = _all_samples(output, number)
        loss, right = _train_round(space, policy, optimiser, samples, recipe, number)
        _replace_torch(
            state,
            {
                "policy": policy.state_dict(),
                "optimiser": optimiser.state_dict(),
                "round": number + 1,
            },
        )
        trained = {**notes, "recipe": json.dumps(asdict(recipe)), "rounds": str(number + 1)}
        write_policy(policy_file(output, space), PolicyFile(space, weights_of(policy), trained))
        tell(
            f"round {number + 1} of {recipe.rounds}: {len(samples.acts)} samples, "
            f"loss {loss:.3f}, as the guide {right:.1%}"
        )
    return policy_file(output, space)


def collect(
    space: PolicySpace,
    environment: GuidedEnvironment,
    weights: dict[str, Floats] | None,
    count: int,
    recipe: ImitationRecipe,
    number: int,
) -> Samples:
    """Samples of episodes that a policy drives, or the guide if there is none."""
    rng = np.random.default_rng([recipe.seed, number])
    maps = np.empty((count, CELLS, CELLS), np.uint8)
    features = np.empty((count, space.features), np.float32)
    acts = np.empty(count, np.int64)
    seen, _ = environment.reset(seed=int(rng.integers(2**31)))
    helped = True
    for row in range(count):
        guided = environment.guided()
        maps[row], features[row], acts[row] = seen["map"], seen["features"], guided
        act = guided
        if weights is not None and not helped:
            layers = space.layers_of(seen["map"][None], seen["features"][None])
            act = int(np.argmax(scores(weights, layers, seen["features"][None])[0]))
        if rng.random() < recipe.noise:
            act = int(rng.integers(space.actions))
        seen, _, ended, truncated, _ = environment.step(act)
        if ended or truncated:
            seen, _ = environment.reset()
            helped = bool(rng.random() < recipe.helped)
    return Samples(maps, features, acts)


def _train_round(
    space: PolicySpace,
    policy: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    samples: Samples,
    recipe: ImitationRecipe,
    number: int,
) -> tuple[float, float]:
    """Mean loss and share of the guide's acts of one round."""
    import torch

    rng = np.random.default_rng([recipe.seed, number, 1])
    losses, rights = 0.0, 0.0
    policy.train()
    for step in range(recipe.steps):
        share = (number + step / recipe.steps) / recipe.rounds
        falling = 0.05 + 0.95 * (1 + math.cos(math.pi * share)) / 2
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate * falling
        rows = np.sort(rng.integers(len(samples.acts), size=recipe.batch))
        maps, features, acts = samples.maps[rows], samples.features[rows], samples.acts[rows]
        if rng.random() < 0.5:
            maps, features, acts = space.mirrored(maps, features, acts)
        layers = torch.from_numpy(space.layers_of(maps, features))
        guessed = policy(layers, torch.from_numpy(features))
        truth = torch.from_numpy(acts)
        loss = torch.nn.functional.cross_entropy(guessed, truth)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimiser.step()
        losses += float(loss.detach())
        rights += float((guessed.argmax(1) == truth).float().mean())
    return losses / recipe.steps, rights / recipe.steps


def _write_samples(path: Path, samples: Samples) -> None:
    with replacing(path) as aside, aside.open("wb") as file:
        np.savez(file, maps=samples.maps, features=samples.features, acts=samples.acts)


def _all_samples(folder: Path, last: int) -> Samples:
    parts = []
    for number in range(last + 1):
        with np.load(folder / f"round_{number:03d}.npz") as file:
            parts.append(Samples(file["maps"], file["features"], file["acts"]))
    return Samples(
        np.concatenate([part.maps for part in parts]),
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.acts for part in parts]),
    )


def _replace_torch(path: Path, state: dict[str, object]) -> None:
    import torch

    with replacing(path) as aside:
        torch.save(state, aside)
