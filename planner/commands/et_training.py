"""`planner train et-ranking` and `et-sft`: ET-Plan-Bench's small models (docs/et_plan.md)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from planner.commands.et_tuning import add_et_sft, run_et_sft
from planner.training.ranking_model import RankingData, make_ranking
from planner.training.ranking_training import RankingRecipe


class Parsers(Protocol):
    """Where subcommands are added."""

    def add_parser(self, name: str, *, help: str) -> argparse.ArgumentParser:  # noqa: A002
        """A new one."""


def add_arguments(actions: Parsers) -> None:
    """Declares the arguments of both."""
    recipe, data = RankingRecipe(), RankingData()
    ranking = actions.add_parser("et-ranking", help="ET-Plan-Bench's model of where things are")
    ranking.add_argument("--out", type=Path, required=True, help="folder of model and scores")
    ranking.add_argument(
        "--more", type=int, default=data.more, help="generated houses besides the 34 of training"
    )
    ranking.add_argument(
        "--house", action="append", default=[], help="a further house, name or file (repeatable)"
    )
    ranking.add_argument("--epochs", type=int, default=recipe.epochs)
    ranking.add_argument("--rate", type=float, default=recipe.rate, help="highest learning rate")
    ranking.add_argument("--seed", type=int, default=recipe.seed)
    ranking.add_argument(
        "--no-test", action="store_true", help="scores in the validation houses only"
    )
    add_et_sft(
        actions.add_parser("et-sft", help="a language model that answers et_agent's questions")
    )


def _ranking(args: argparse.Namespace) -> int:
    recipe = RankingRecipe(epochs=args.epochs, rate=args.rate, seed=args.seed)
    data = RankingData(args.more, tuple(args.house), test=not args.no_test)
    path = make_ranking(args.out, data, recipe, _print)
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


def _print(line: str) -> None:
    print(line, flush=True)


ACTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "et-ranking": _ranking,
    "et-sft": run_et_sft,
}
