"""`planner train skill`: the policies of learned skills (docs/learned_skills.md)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from planner.skills.policy.handling import MANIPULATION
from planner.skills.policy.navigation_space import NAVIGATION
from planner.skills.policy.policy_file import Floats, PolicySpace, read_policy
from planner.training.skill_imitation import (
    ImitationRecipe,
    held_back_houses,
    train_by_imitation,
    training_houses,
)
from planner.training.skill_reinforcement import ReinforcementRecipe, train_by_reinforcement
from planner.world.errors import PlannerError
from planner.world.house import House

if TYPE_CHECKING:
    from planner.app.manipulation_env import ManipulationEnv
    from planner.app.navigation_env import NavigationEnv

_SKILLS = ("navigate", "manipulate")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner train skill`."""
    imitation, reinforcement = ImitationRecipe(), ReinforcementRecipe()
    parser.add_argument("skill", choices=_SKILLS, help="whose policy")
    parser.add_argument("output", type=Path, help="folder of checkpoint and policy; resumes there")
    parser.add_argument(
        "--by",
        choices=("imitation", "ppo"),
        default="imitation",
        help="of a guide that knows the house, or by rewards (planner[skills])",
    )
    parser.add_argument("--start", type=Path, help="ppo: a policy's file to begin with")
    parser.add_argument("--houses", type=int, default=8, help="generated beside the shipped ones")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=imitation.rounds, help="imitation")
    parser.add_argument("--first", type=int, default=imitation.first, help="samples of round 1")
    parser.add_argument("--more", type=int, default=imitation.more, help="of each further round")
    parser.add_argument("--steps", type=int, default=imitation.steps, help="of each round")
    parser.add_argument("--acts", type=int, default=reinforcement.acts, help="ppo: in all")
    parser.add_argument(
        "--environments", type=int, default=reinforcement.environments, help="ppo: processes"
    )
    parser.add_argument("--rollout", type=int, default=reinforcement.rollout, help="ppo")
    parser.add_argument(
        "--walks", type=int, default=20, help="or grasps in each held-back house, to score"
    )


def run(args: argparse.Namespace) -> int:
    """Trains a policy and prints its scores in houses that it never saw.

    Raises:
        PlannerError: for invalid arguments, or where torch is missing.
    """
    positive = ("rounds", "first", "more", "steps", "acts", "environments", "rollout", "walks")
    for name in positive:
        if getattr(args, name) < 1:
            raise PlannerError(f"--{name}: expected above 0, got {getattr(args, name)}")
    if min(args.houses, args.seed) < 0:
        raise PlannerError("--houses and --seed: expected 0 or more")
    trained = _trained(args.skill)
    houses = training_houses(args.houses, args.seed)
    made = partial(trained.make, houses)
    notes = {"by": args.by, "houses": ", ".join(house.name for house in houses)}
    if args.by == "imitation":
        if args.start is not None:
            raise PlannerError("--start: only ppo begins with a policy")
        recipe = ImitationRecipe(
            rounds=args.rounds, first=args.first, more=args.more, steps=args.steps, seed=args.seed
        )
        path = train_by_imitation(trained.space, made, args.output, recipe, notes, _print)
    else:
        path = train_by_reinforcement(
            trained.space,
            made,
            args.output,
            ReinforcementRecipe(
                acts=args.acts, environments=args.environments, rollout=args.rollout, seed=args.seed
            ),
            notes,
            _print,
            args.start,
        )
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    weights = dict(read_policy(path, trained.space).weights)
    print(trained.scores(weights, held_back_houses(), args.walks, args.seed))
    return 0


@dataclass(frozen=True, slots=True)
class _Trained:
    """What is trained, in which environment, and how it is scored."""

    space: PolicySpace
    make: Callable[[Sequence[House]], NavigationEnv | ManipulationEnv]
    scores: Callable[[dict[str, Floats], Sequence[House], int, int], str]


def _trained(skill: str) -> _Trained:
    # Imported here: gymnasium is an extra.
    try:
        from planner.app.manipulation_env import ManipulationEnv, handling_table, score_handling
        from planner.app.navigation_env import NavigationEnv, score_policy, score_table
    except ImportError as error:
        raise PlannerError(f"training skills: pip install planner[skills] ({error})") from None
    if skill == MANIPULATION.skill:
        return _Trained(
            MANIPULATION, ManipulationEnv, lambda *given: handling_table(score_handling(*given))
        )
    return _Trained(
        NAVIGATION,
        partial(NavigationEnv, episodes_of_house=4),
        lambda *given: score_table(score_policy(*given)),
    )


def _print(line: str) -> None:
    print(line, flush=True)
