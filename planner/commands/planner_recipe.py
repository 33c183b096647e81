"""`planner train planner`: the network of `learned` from nothing, stage by stage, resumable.

Each stage is a command that can also be given by hand. `recipe.json` in the folder has what was
asked for and how long each finished stage took; a stage that was killed goes on where it stopped.
"""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from planner.commands.learned_training import add_learned, add_traces, run_learned, run_traces
from planner.commands.planner_training import NETWORK, NOTHING, add_ddaft, run_ddaft
from planner.episodes.episode_file import write_text
from planner.episodes.generation.arguments import add_generate_arguments
from planner.episodes.generation.cli import run_generate
from planner.planning.learned.tokens import check_classes
from planner.training.learned.chooser import ChooserRecipe
from planner.training.learned.reader import ReaderRecipe
from planner.training.learned.training import MODEL_FILE, check_torch
from planner.world.errors import FileError, PlannerError
from planner.world.files import FileModel, read_model

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

    def generate(words: argparse.Namespace) -> int:
        return run_generate(words, None)

    return (
        Stage(
            "tasks",
            ("episodes", "generate", "partnr", *houses, "--count", str(args.tasks), *seed,
             "--split", "train", "-o", tasks),
            add_generate_arguments,
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
    settings = {
        "house": args.house or list(HOUSES),
        **{name: getattr(args, name) for name in names},
    }
    if file.exists():
        found = read_model(file, RecipeManifest)
        for name, asked in settings.items():
            if found.settings.get(name) != asked:
                was = found.settings.get(name)
                raise FileError(
                    file, f"settings.{name}", f"is {was}, not {asked}: name a new folder"
                )
        return found
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise FileError(folder, "", f"cannot be written: {error.strerror}") from None
    if others:
        raise FileError(folder, "", f"has {others[0]} but no {RECIPE_FILE}: name an empty folder")
    manifest = RecipeManifest(settings=settings)
    _write(file, manifest)
    return manifest


def _write(file: Path, manifest: RecipeManifest) -> None:
    write_text(file, manifest.model_dump_json(indent=1) + "\n")
