"""`planner train traces` and `planner train learned` (docs/learned_planner.md)."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from planner.bench.trace_data import TraceRecipe, make_traces, practising
from planner.training.learned.chooser import ChooserRecipe
from planner.training.learned.reader import ReaderRecipe
from planner.training.learned.training import LearnedRecipe, train_learned
from planner.training.traces.bags import BagRecipe, make_bag_traces
from planner.training.traces.demonstrator import ExplorationRule
from planner.training.traces.folder import TraceManifest
from planner.training.traces.rules import TraceRules
from planner.training.traces.session import BAG, consents_of
from planner.training.traces.tries import Which
from planner.world.errors import PlannerError


def add_traces(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner train traces`."""
    rules, exploration, default = TraceRules(), ExplorationRule(), TraceRecipe("")
    parser.add_argument("output", type=Path, help="folder of traces; resumes where it stopped")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--episodes", help="a suite, pack or folder for training")
    what.add_argument(
        "--from-bag",
        nargs="+",
        type=Path,
        metavar="BAG",
        help="recorded runs instead: what persons or planners did in them",
    )
    what.add_argument(
        "--from-session",
        type=Path,
        metavar="FOLDER",
        help="a run with a console instead: what persons did in it who agreed to training",
    )
    parser.add_argument(
        "--agent", action="append", default=[], help="of bags: whose calls; default: all agents'"
    )
    parser.add_argument(
        "--tries",
        choices=[str(which) for which in Which],
        default=str(Which.ALL),
        help="of bags: all tries at a task, or the best one of each; default: all",
    )
    parser.add_argument("--planner", default=default.planner, help="expert demonstrates")
    parser.add_argument("--memory", default=default.memory, help="as of planner bench")
    parser.add_argument("--agents", type=int, action="append", help="repeatable; default: 1")
    parser.add_argument("--seed", type=int, default=default.seed)
    parser.add_argument("--shard", type=int, default=default.shard, help="runs of a shard")
    parser.add_argument(
        "--most", type=int, default=0, help="episodes in all, drawn by the seed; 0 = all"
    )
    parser.add_argument("--keep-failed", action="store_true", help="tasks not solved, too")
    parser.add_argument(
        "--invented", type=float, default=rules.invented, help="share of picks, 0 to 1"
    )
    parser.add_argument(
        "--explored", type=int, default=exploration.most, help="most searches that find nothing"
    )
    parser.add_argument(
        "--practice",
        type=Path,
        metavar="WEIGHTS",
        help="the planner learned acts with these weights, and the expert says what it would call",
    )
    parser.add_argument(
        "--uniform", action="store_true", help="as many that find nothing as that do"
    )
    parser.add_argument(
        "--as-recorded", action="store_true", help="drop no repeats, imitate what serves nothing"
    )


def add_learned(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner train learned`."""
    reader, chooser = ReaderRecipe(), ChooserRecipe()
    parser.add_argument("output", type=Path, help="folder of checkpoint and planner.safetensors")
    parser.add_argument(
        "--episodes", type=Path, action="append", required=True, help="pack; repeatable"
    )
    parser.add_argument(
        "--traces", type=Path, action="append", required=True, help="folder; repeatable"
    )
    parser.add_argument(
        "--reader",
        type=Path,
        metavar="WEIGHTS",
        help="take the reader of these weights as it is, and train only the chooser",
    )
    parser.add_argument("--steps", type=int, default=reader.steps, help="of the reader")
    parser.add_argument("--chooser-steps", type=int, default=chooser.steps)
    parser.add_argument("--batch", type=int, default=reader.batch)
    parser.add_argument("--rate", type=float, default=reader.rate, help="highest learning rate")
    parser.add_argument("--seed", type=int, default=reader.seed)
    parser.add_argument("--device", choices=["cpu", "cuda"], default=reader.device)
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="CLASS",
        help="no task or trace whose words may mean a thing of this class; repeatable",
    )


def run_traces(args: argparse.Namespace) -> int:
    """Makes traces."""
    agents = tuple(args.agents or [1])
    if min(agents) < 1 or args.shard < 1 or min(args.most, args.explored, args.seed) < 0:
        raise PlannerError("agents and shard must be above 0; most, explored and seed not below 0")
    if not 0 <= args.invented <= 1:
        raise PlannerError(f"--invented: expected a share of 0 to 1, got {args.invented}")
    rules = TraceRules(
        keep_failed=args.keep_failed,
        invented=args.invented,
        drop_repeats=not args.as_recorded,
        drop_idle=not args.as_recorded,
    )
    exploration = ExplorationRule(most=args.explored, uniform=args.uniform)

    def told(done: int, shards: int, traces: int) -> None:
        _print_progress(f"shard {done} of {shards}: {traces} traces")

    if args.from_bag:
        if args.practice is not None:
            raise PlannerError("--practice is of --episodes; bags hold runs that were made already")
        bags = BagRecipe(tuple(args.from_bag), tuple(args.agent), args.seed, rules, exploration)
        bags = replace(bags, tries=Which(args.tries))
        _print_manifest(args.output, make_bag_traces(args.output, bags, _print_progress))
        return 0
    if args.from_session is not None:
        if args.practice is not None or args.agent:
            raise PlannerError("--practice and --agent do not go with --from-session")
        consents = consents_of(args.from_session)
        for agent, who in consents.left_out.items():
            _print_progress(f"{agent} is left out: {', '.join(who)} did not agree to training")
        bag = BagRecipe(
            (args.from_session / BAG,),
            tuple(consents.agents),
            args.seed,
            rules,
            exploration,
            consents.in_words(),
            Which(args.tries),
        )
        _print_manifest(args.output, make_bag_traces(args.output, bag, _print_progress))
        print(f"agreed to training: {consents.in_words()}")
        return 0
    if args.agent:
        raise PlannerError("--agent is of --from-bag; --agents is how many act")
    if args.tries != Which.ALL:
        raise PlannerError("--tries is of --from-bag and --from-session")
    recipe = TraceRecipe(
        args.episodes,
        args.planner,
        args.memory,
        agents,
        args.seed,
        args.shard,
        args.most,
        rules,
        exploration,
    )
    if args.practice is not None:
        recipe = practising(recipe, args.practice)
    _print_manifest(args.output, make_traces(args.output, recipe, told))
    return 0


def _print_manifest(output: Path, manifest: TraceManifest) -> None:
    print(f"{output}: {manifest.traces} traces, {manifest.turns} turns")


def run_learned(args: argparse.Namespace) -> int:
    """Trains the network."""
    if min(args.steps, args.chooser_steps, args.batch) < 1 or args.rate <= 0:
        raise PlannerError("steps, batch and rate must be above 0")
    recipe = LearnedRecipe(
        ReaderRecipe(
            steps=args.steps, batch=args.batch, rate=args.rate, seed=args.seed, device=args.device
        ),
        ChooserRecipe(steps=args.chooser_steps, seed=args.seed, device=args.device),
        tuple(args.without),
        args.reader,
    )
    path = train_learned(args.episodes, args.traces, args.output, recipe, _print_progress)
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


def _print_progress(line: str) -> None:
    print(line, flush=True)
