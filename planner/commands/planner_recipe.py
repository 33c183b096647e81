"""`planner train traces`, `learned` and `planner`: the planner `learned` from nothing."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import Field

from planner.bench.trace_data import TraceRecipe, make_traces, practising
from planner.commands.episodes import generator_tools
from planner.commands.planner_training import NETWORK, NOTHING, add_ddaft, run_ddaft
from planner.episodes.episode_file import write_text
from planner.episodes.generator import GENERATORS
from planner.planning.learned.tokens import check_classes
from planner.training.learned.reader import ReaderRecipe
from planner.training.learned.training import (
    MODEL_FILE,
    ChooserRecipe,
    LearnedRecipe,
    check_torch,
    train_learned,
)
from planner.training.traces.bag_run import BagRecipe, Which, make_bag_traces
from planner.training.traces.demonstrator import ExplorationRule
from planner.training.traces.folder import TraceManifest
from planner.training.traces.record import BAG, consents_of
from planner.training.traces.rules import TraceRules
from planner.world.errors import FileError, PlannerError
from planner.world.files import FileModel, read_model, writing

# `planner train traces` and `planner train learned` (docs/learned_planner.md).


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


RECIPE_FILE = "recipe.json"
HOUSES = ("train", "new:16")
# Of DDAFT; EPM-T8 has 5.
ITERATIONS = 3


class RecipeManifest(FileModel):
    """What a folder's training is of, and which stages are finished.

    Attributes:
        settings: what was asked for; a folder is only continued with equal ones.
        seconds: wall clock of each finished stage, of its last run only.
    """

    version: Literal[1] = 1
    kind: Literal["planner_recipe"] = "planner_recipe"
    settings: dict[str, int | list[str]]
    seconds: dict[str, float] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stage:
    """A command, as words behind `planner`, and what reads and runs them."""

    name: str
    words: tuple[str, ...]
    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]

    def play(self) -> None:
        """Runs the command.

        Raises:
            PlannerError: if it did not do all.
        """
        print(f"$ planner {shlex.join(self.words)}", flush=True)
        parser = argparse.ArgumentParser(prog=self.name)
        self.add(parser)
        # What names the command itself is not for its parser.
        verbs = 3 if self.words[0] == "episodes" else 2
        if self.run(parser.parse_args(self.words[verbs:])):
            raise PlannerError(f"the stage {self.name} did not make all: the same command goes on")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner train planner`."""
    parser.add_argument("output", type=Path, help="folder of all stages; resumes where it stopped")
    parser.add_argument(
        "--house", action="append", default=[], help=f"default: {', '.join(HOUSES)}"
    )
    parser.add_argument("--tasks", type=int, default=8000, help="to make, for the reader")
    parser.add_argument("--shown", type=int, default=170, help="tasks that the expert shows")
    parser.add_argument("--practised", type=int, default=170, help="tasks to practise")
    parser.add_argument(
        "--improved",
        type=int,
        default=0,
        help="tasks of DDAFT, and its roll-outs in each iteration; 0 = without it",
    )
    parser.add_argument("--steps", type=int, default=ReaderRecipe().steps, help="of the reader")
    parser.add_argument("--chooser-steps", type=int, default=ChooserRecipe().steps)
    parser.add_argument("--seed", type=int, default=7001)
    parser.add_argument(
        "--without", action="append", default=[], metavar="CLASS", help="as of train learned"
    )


def run(args: argparse.Namespace) -> int:
    """Runs the stages that are not finished; prints where the weights are."""
    for name in ("tasks", "shown", "practised", "steps", "chooser_steps"):
        if getattr(args, name) < 1:
            raise PlannerError(f"--{name.replace('_', '-')} is {getattr(args, name)}, below 1")
    if args.improved < 0:
        raise PlannerError(f"--improved is {args.improved}, below 0")
    # Before hours of stages that do without them.
    check_torch()
    check_classes(args.without)
    manifest = _opened(args)
    for stage in stages(args):
        if stage.name in manifest.seconds:
            print(f"{stage.name}: done, {manifest.seconds[stage.name]:.0f} s", flush=True)
            continue
        began = time.monotonic()
        stage.play()
        took = {**manifest.seconds, stage.name: round(time.monotonic() - began, 1)}
        manifest = manifest.model_copy(update={"seconds": took})
        _write(args.output / RECIPE_FILE, manifest)
    hours = sum(manifest.seconds.values()) / 3600
    print(f"{_result(args.output, args.improved)}: {len(manifest.seconds)} stages, {hours:.2f} h")
    return 0


def _result(folder: Path, improved: int) -> Path:
    if not improved:
        return folder / "planner" / MODEL_FILE
    return folder / "ddaft" / f"iteration_{ITERATIONS + 1}" / "policy" / MODEL_FILE


def stages(args: argparse.Namespace) -> tuple[Stage, ...]:
    """Tasks, what the expert shows, a first network, what it practises, and the last one.

    With `--improved`, DDAFT goes on from that one.
    """
    folder: Path = args.output
    tasks, seed = str(folder / "tasks.json.gz"), ("--seed", str(args.seed))
    shown, first = str(folder / "traces"), str(folder / "first" / MODEL_FILE)
    practice = str(folder / "practice")
    houses = [word for house in args.house or HOUSES for word in ("--house", house)]
    without = [word for name in args.without for word in ("--without", name)]
    both = ("--agents", "1", "--agents", "2")
    # Other tasks than those that were shown.
    others = ("--seed", str(args.seed + 1))
    choosing = ("--chooser-steps", str(args.chooser_steps), *seed, *without)

    name = "partnr"
    generator = GENERATORS.get(name)

    def generate(words: argparse.Namespace) -> int:
        return generator.run(words, generator_tools())

    return (
        Stage(
            "tasks",
            ("episodes", "generate", name, *houses, "--count", str(args.tasks), *seed,
             "--split", "train", "-o", tasks),
            generator.add_arguments,
            generate,
        ),
        Stage(
            "traces",
            ("train", "traces", shown, "--episodes", tasks, *both, *seed, "--most",
             str(args.shown)),
            add_traces,
            run_traces,
        ),
        Stage(
            "first",
            ("train", "learned", str(folder / "first"), "--episodes", tasks, "--traces", shown,
             "--steps", str(args.steps), *choosing),
            add_learned,
            run_learned,
        ),
        Stage(
            "practice",
            ("train", "traces", practice, "--episodes", tasks, *both, *others, "--most",
             str(args.practised), "--practice", first),
            add_traces,
            run_traces,
        ),
        Stage(
            "planner",
            ("train", "learned", str(folder / "planner"), "--episodes", tasks, "--traces", shown,
             "--traces", practice, "--reader", first, *choosing),
            add_learned,
            run_learned,
        ),
        *([_improvement(args, tasks)] if args.improved else []),
    )  # fmt: skip


def _improvement(args: argparse.Namespace, tasks: str) -> Stage:
    """DDAFT from the last network; tasks of evaluation stay out of it."""
    count, folder = str(args.improved), args.output
    words = (
        "train", "ddaft", tasks, "--count", count, "--learner", NETWORK,
        "--start", str(folder / "planner" / MODEL_FILE), "--out", str(folder / "ddaft"),
        "--iterations", str(ITERATIONS), "--samples", count, "--steps", str(args.chooser_steps),
        "--seed", str(args.seed), "--evaluate", NOTHING,
        *(word for name in args.without for word in ("--without", name)),
    )  # fmt: skip
    return Stage("ddaft", words, add_ddaft, run_ddaft)


def _opened(args: argparse.Namespace) -> RecipeManifest:
    """The manifest of the folder; begun if it has none.

    Raises:
        FileError: if it is of other settings, cannot be read, or the folder has other files.
    """
    folder, file = args.output, args.output / RECIPE_FILE
    names = ("tasks", "shown", "practised", "improved", "steps", "chooser_steps", "seed", "without")
    settings = {"house": args.house or list(HOUSES), **{n: getattr(args, n) for n in names}}
    if file.exists():
        found = read_model(file, RecipeManifest)
        for name, asked in settings.items():
            if found.settings.get(name) != asked:
                was = found.settings.get(name)
                raise FileError(
                    file, f"settings.{name}", f"is {was}, not {asked}: name a new folder"
                )
        return found
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        others = sorted(path.name for path in folder.iterdir())
    if others:
        raise FileError(folder, "", f"has {others[0]} but no {RECIPE_FILE}: name an empty folder")
    manifest = RecipeManifest(settings=settings)
    _write(file, manifest)
    return manifest


def _write(file: Path, manifest: RecipeManifest) -> None:
    write_text(file, manifest.model_dump_json(indent=1) + "\n")
