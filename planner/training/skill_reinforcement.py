"""A policy by reinforcement: PPO of stable-baselines3, from nothing or from a policy.

DD-PPO on one machine is PPO over several environments. A run goes on where it was interrupted.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.skills.policy.policy_file import (
    HIDDEN,
    Floats,
    PolicyFile,
    PolicySpace,
    read_policy,
    write_policy,
)
from planner.training.skill_imitation import check_recipe, make_body, policy_file
from planner.world.errors import PlannerError

if TYPE_CHECKING:
    import gymnasium


_RECIPE_FILE, _MODEL_FILE = "recipe.json", "ppo.zip"


@dataclass(frozen=True, slots=True)
class ReinforcementRecipe:
    """How a policy is trained.

    Attributes:
        acts: of all environments together.
        environments: processes beside this one; 1 = this one alone.
        rollout: acts of each environment between updates.
        batch: of the optimiser.
        epochs: over each roll-out.
        rate: learning rate.
        discount: of later rewards.
        entropy: weight of keeping acts open.
        seed: of everything.
    """

    acts: int = 500_000
    environments: int = 2
    rollout: int = 256
    batch: int = 128
    epochs: int = 4
    rate: float = 2.5e-4
    discount: float = 0.99
    entropy: float = 0.01
    seed: int = 0


def train_by_reinforcement(
    space: PolicySpace,
    make_environment: Callable[[], gymnasium.Env[Any, Any]],
    output: Path,
    recipe: ReinforcementRecipe,
    notes: dict[str, str],
    tell: Callable[[str], None],
    start: Path | None = None,
) -> Path:
    """Trains a policy; returns its file.

    Args:
        space: of the policy.
        make_environment: a fresh one; called in each process.
        output: folder of checkpoint and policy; resumes there.
        recipe: of this run.
        notes: kept in the policy's file.
        tell: gets a line for each update.
        start: a policy to begin with.

    Raises:
        FileError: for a folder of another recipe, or a policy that cannot be used.
        PlannerError: where stable-baselines3 or torch is missing.
    """
    try:
        from stable_baselines3 import PPO
        from stable_baselines3.common.monitor import Monitor
        from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv
    except ImportError as error:
        raise PlannerError(
            f"training by reinforcement: pip install planner[skills] ({error})"
        ) from None

    output.mkdir(parents=True, exist_ok=True)
    check_recipe(output / _RECIPE_FILE, {"skill": space.skill, **asdict(recipe)})

    def monitored() -> Any:
        return Monitor(make_environment())

    made: list[Callable[[], Any]] = [monitored] * recipe.environments
    environments = DummyVecEnv(made) if recipe.environments == 1 else SubprocVecEnv(made)
    try:
        model_file = output / _MODEL_FILE
        if model_file.exists():
            model = PPO.load(model_file, env=environments, device="cpu")
        else:
            model = PPO(
                "MultiInputPolicy",
                environments,
                learning_rate=recipe.rate,
                n_steps=recipe.rollout,
                batch_size=recipe.batch,
                n_epochs=recipe.epochs,
                gamma=recipe.discount,
                ent_coef=recipe.entropy,
                seed=recipe.seed,
                device="cpu",
                policy_kwargs={
                    "features_extractor_class": _extractor(space),
                    "net_arch": [],
                    "normalize_images": False,
                },
            )
            if start is not None:
                _begin_with(model.policy, dict(read_policy(start, space).weights))
        update = recipe.rollout * recipe.environments
        while model.num_timesteps < recipe.acts:
            model.learn(update, reset_num_timesteps=False, log_interval=None)
            aside = output / f"{_MODEL_FILE}.part.zip"
            model.save(aside)
            aside.replace(model_file)
            trained = {
                **notes,
                "recipe": json.dumps(asdict(recipe)),
                "acts": str(model.num_timesteps),
            }
            weights = _weights_of(model.policy)
            write_policy(policy_file(output, space), PolicyFile(space, weights, trained))
            tell(_progress(model, recipe))
    finally:
        environments.close()
    return policy_file(output, space)


def _extractor(space: PolicySpace) -> type:
    import torch
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

    class Layers(BaseFeaturesExtractor):  # type: ignore[misc]
        """The body of the network, behind the layers that the map's codes give."""

        def __init__(self, observation_space: Any) -> None:
            super().__init__(observation_space, features_dim=HIDDEN)
            self.body = make_body(space)

        def forward(self, observations: dict[str, Any]) -> Any:
            codes = observations["map"].cpu().numpy().astype(np.uint8)
            features = observations["features"]
            layers = space.layers_of(codes, features.cpu().numpy())
            return self.body(torch.from_numpy(layers), features)

    return Layers


def _begin_with(policy: Any, weights: dict[str, Floats]) -> None:
    import torch

    state = policy.state_dict()
    for name in state:
        ours = _our_name(name)
        if ours is not None:
            state[name] = torch.from_numpy(weights[ours].copy())
    policy.load_state_dict(state)


def _weights_of(policy: Any) -> dict[str, Floats]:
    found: dict[str, Floats] = {}
    for name, tensor in policy.state_dict().items():
        ours = _our_name(name)
        if ours is not None:
            found[ours] = np.ascontiguousarray(tensor.cpu().numpy(), np.float32)
    return found


def _our_name(name: str) -> str | None:
    """The name in our network of one of PPO's policy; None for what only PPO needs."""
    if name.startswith("features_extractor.body."):
        return name.removeprefix("features_extractor.body.")
    if name.startswith("action_net."):
        return name.replace("action_net.", "action.")
    return None


def _progress(model: Any, recipe: ReinforcementRecipe) -> str:
    ended = list(model.ep_info_buffer or ())
    mean = f"{np.mean([e['r'] for e in ended]):.2f}" if ended else "none ended"
    return f"{model.num_timesteps} of {recipe.acts} acts, reward of recent episodes {mean}"
