"""`planner train`: data sets and models of what cameras see, and of what planners do."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from planner.app.part_flags import add_drawing_flags, check_draws
from planner.app.views import ViewRecipe, make_views
from planner.bench.memory_data import DataRecipe, make_memory_data
from planner.command_line import add_sensors_flag
from planner.commands import planner_recipe, planner_training, skill_training
from planner.commands import planner_recipe as learned_training
from planner.parts.command import CommandPart, further_commands
from planner.training import sentences
from planner.training.detector import DetectorRecipe
from planner.training.frames import read_frames, read_manifest
from planner.training.memory_model import ClassifierRecipe, train_memory_model
from planner.training.tuning import TuningProgress, TuningRecipe
from planner.training.vision_tuning import TRAIN_FILE, LabelRules, read_conversations, tune
from planner.world.errors import PlannerError
from planner.world.share import config_dir

# Under whose name the recipes of papers and of other packages are parts.
_COMMAND = "train"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner train`."""
    actions = parser.add_subparsers(dest="action", metavar="WHAT", required=True)
    views = actions.add_parser("memory-views", help="pictures of random houses, with their truth")
    views.add_argument("output", type=Path, help="dataset folder; resumes where it stopped")
    default = ViewRecipe()
    views.add_argument("--seed", type=int, default=default.seed)
    views.add_argument("--houses", type=int, default=64, help="shards, each one house")
    views.add_argument("--strewings", type=int, default=default.strewings, help="of each house")
    views.add_argument("--views", type=int, default=default.views, help="of each strewing")
    into_open = "of the looks: at things in furniture that stands open"
    _add_share(views, "--into-open", default.into_open_share, into_open)
    views.add_argument(
        "--places", type=int, default=default.places, help="that each thing is looked at from"
    )
    recolored = "of the things: in another of the colours of their class"
    _add_share(views, "--recolored", default.recolored_share, recolored)
    add_sensors_flag(views)
    views.add_argument(
        "--even", action="store_true", help="all classes alike, anywhere; for the classifier"
    )

    data = actions.add_parser("memory-data", help="pictures and conversations, of rollouts")
    data.add_argument("output", type=Path, help="dataset folder; resumes where it stopped")
    data.add_argument("--episode", action="append", help="repeatable; default: all for training")
    data.add_argument("--seed", type=int, default=1)
    add_drawing_flags(data)
    data.add_argument(
        "--only-changes",
        action="store_true",
        help="no Update of known things to which nothing happened (not the paper's rule)",
    )

    model = actions.add_parser("memory-model", help="the model of memory:=learned, from views")
    model.add_argument("data", type=Path, help="folder made by memory-views")
    model.add_argument("output", type=Path, help="folder of checkpoint and memory.safetensors")
    steps = DetectorRecipe()
    model.add_argument("--steps", type=int, default=steps.steps)
    model.add_argument("--batch", type=int, default=steps.batch)
    model.add_argument("--seed", type=int, default=steps.seed)
    model.add_argument("--device", choices=["cpu", "cuda"], default=steps.device)
    model.add_argument(
        "--looked-at", type=int, default=2200, help="frames for the classifier; 0 = all"
    )
    model.add_argument(
        "--more", type=Path, help="folder of further views, which count as much as the first"
    )
    model.add_argument(
        "--start",
        type=Path,
        help="whose network is the first: folder of an earlier training, or a model's file",
    )
    model.add_argument("--rate", type=float, default=steps.rate, help="highest learning rate")
    model.add_argument(
        "--off",
        type=float,
        default=0.0,
        metavar="METRES",
        help="how far off their places the sensors that it is for show things; kept in the model",
    )

    tuned = actions.add_parser(
        "memory", help="a LoRA adapter of a vision-language model, from conversations"
    )
    tuned.add_argument("data", type=Path, help="folder made by memory-data")
    tuned.add_argument("model", type=Path, help="folder of a LLaVA-OneVision class model")
    tuned.add_argument("output", type=Path, help="folder of checkpoint and adapter; resumes there")
    paper = TuningRecipe()
    tuned.add_argument("--epochs", type=float, default=paper.epochs)
    tuned.add_argument("--batch", type=int, default=paper.batch)
    tuned.add_argument("--rate", type=float, default=paper.rate, help="highest learning rate")
    tuned.add_argument("--rank", type=int, default=paper.rank, help="of the LoRA matrices")
    tuned.add_argument("--alpha", type=int, default=paper.alpha)
    tuned.add_argument("--dropout", type=float, default=paper.dropout)
    tuned.add_argument("--seed", type=int, default=paper.seed)
    tuned.add_argument("--device", default=paper.device, help="torch device")
    tuned.add_argument("--save-every", type=int, default=paper.save_every, help="steps")

    planner_training.add_hd(
        actions.add_parser("hd", help="a language model, from dialogues of react's format")
    )
    planner_training.add_base(
        actions.add_parser("base", help="the weights of a GGUF file, to train from")
    )
    sentences.add_arguments(
        actions.add_parser("sentences", help="instructions with goals, to train a reader from")
    )
    planner_training.add_finetuned(
        actions.add_parser("finetuned", help="a language model of single calls")
    )
    planner_training.add_ddaft(
        actions.add_parser("ddaft", help="a language model, from its own roll-outs")
    )

    learned_training.add_traces(
        actions.add_parser("traces", help="dialogues of planners, to train others from")
    )
    learned_training.add_learned(
        actions.add_parser("learned", help="the network of planner:=learned")
    )
    planner_recipe.add_arguments(
        actions.add_parser("planner", help="the same from nothing, in one command")
    )
    skill_training.add_arguments(
        actions.add_parser("skill", help="the policy of a learned skill (skill_kind:=learned)")
    )
    for name, recipe in further_commands(_ACTIONS, _COMMAND).items():
        further = actions.add_parser(name, help=recipe.summary)
        recipe.add_arguments(further)
        further.set_defaults(further=recipe)


def run(args: argparse.Namespace) -> int:
    """Runs one action."""
    further: CommandPart | None = getattr(args, "further", None)
    return _ACTIONS[args.action](args) if further is None else further.run(args)


def _add_share(parser: argparse.ArgumentParser, option: str, default: float, of_what: str) -> None:
    parser.add_argument(option, type=float, default=default, metavar="SHARE", help=of_what)


def _share(value: float, option: str) -> float:
    if not 0.0 <= value <= 1.0:
        raise PlannerError(f"{option} is a share between 0 and 1, not {value:g}")
    return value


def _views(args: argparse.Namespace) -> int:
    recipe = ViewRecipe(
        args.seed,
        args.houses,
        args.strewings,
        args.views,
        into_open_share=_share(args.into_open, "--into-open"),
        places=max(1, args.places),
        even=args.even,
        recolored_share=_share(args.recolored, "--recolored"),
        sensors=args.sensors,
    )
    manifest = make_views(args.output, recipe)
    things = sum(manifest.counts.values())
    print(
        f"{args.output}: {manifest.frames} frames in {manifest.shards} shards, "
        f"{things} things of {len(manifest.counts)} classes"
    )
    return 0


def _data(args: argparse.Namespace) -> int:
    shipped = sorted((config_dir() / "episodes" / "train").glob("*.json"))
    names = tuple(args.episode or [path.stem for path in shipped])
    rules = LabelRules(update_known=not args.only_changes)
    check_draws(args.backend)
    recipe = DataRecipe(names, args.seed, rules, args.backend, args.backend_config)
    manifest = make_memory_data(args.output, recipe)
    counts = ", ".join(f"{name} {count}" for name, count in manifest.counts.items())
    print(f"{args.output / TRAIN_FILE}: {manifest.frames} samples ({counts})")
    return 0


def _model(args: argparse.Namespace) -> int:
    read_manifest(args.data)
    network = DetectorRecipe(
        steps=args.steps, batch=args.batch, rate=args.rate, seed=args.seed, device=args.device
    )
    path = train_memory_model(
        read_frames(args.data),
        args.output,
        network,
        ClassifierRecipe(seed=args.seed, device=args.device, off_m=_share(args.off, "--off")),
        _print_progress,
        looked_at=args.looked_at,
        more=read_frames(args.more) if args.more else (),
        start=args.start,
    )
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    return 0


def _memory(args: argparse.Namespace) -> int:
    if min(args.epochs, args.rate) <= 0 or min(args.batch, args.rank, args.save_every) < 1:
        raise PlannerError("epochs, rate, batch, rank and save-every must be above 0")
    recipe = TuningRecipe(
        rate=args.rate,
        alpha=args.alpha,
        rank=args.rank,
        dropout=args.dropout,
        batch=args.batch,
        epochs=args.epochs,
        seed=args.seed,
        device=args.device,
        save_every=args.save_every,
    )

    def told(at: TuningProgress) -> None:
        _print_progress(f"step {at.step} of {at.steps}: loss {at.loss:.4f}, {at.elapsed_s:.0f} s")

    adapter = tune(read_conversations(args.data), args.model, args.output, recipe, told)
    print(f"{adapter}: use it with memory:=vlm memory_model:={args.model} memory_second:={adapter}")
    return 0


def _print_progress(line: str) -> None:
    print(line, flush=True)


_ACTIONS: Mapping[str, Callable[[argparse.Namespace], int]] = {
    "memory-views": _views,
    "memory-data": _data,
    "memory-model": _model,
    "memory": _memory,
    "base": planner_training.run_base,
    "hd": planner_training.run_hd,
    "sentences": sentences.run,
    "finetuned": planner_training.run_finetuned,
    "ddaft": planner_training.run_ddaft,
    "traces": learned_training.run_traces,
    "learned": learned_training.run_learned,
    "planner": planner_recipe.run,
    "skill": skill_training.run,
}
