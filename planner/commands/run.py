"""`planner run EPISODE`: one episode in this process, told and drawn as by `planner demo`."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from planner.api import MODEL_WAIT_S, Run, play
from planner.app.run_story import default_folder
from planner.bench.runs.memory_flags import add_memory_flags, read_memory_flags
from planner.bench.runs.settings import MemoryKind, RunSettings, memory_names
from planner.evaluation.trace import write_traces
from planner.models.chat import ModelError
from planner.models.model_choice import ModelChoice, model_forms, part_and_source
from planner.narrator import story
from planner.parts.flags import add_option_flags, read_option_flags
from planner.parts.kinds import MODELS, PLANNERS
from planner.replay.state_log import StateLogWriter
from planner.world.errors import FileError, PlannerError
from planner.world.house_checks import load_episode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("episode", help="name or file of the episode")
    parser.add_argument(
        "--planner", choices=PLANNERS.names(), default="expert", help="planner to use"
    )
    parser.add_argument(
        "--backend",
        choices=["embedded", "graph"],
        default="",
        help="default: graph if the house is a scene graph, else embedded",
    )
    parser.add_argument(
        "--model",
        default="",
        help=f"language model, for the planners with one: {model_forms()}",
    )
    parser.add_argument("--model-url", default="", help="address of the model's server, .../v1")
    parser.add_argument(
        "--find-model", default="", help="language model that answers the Find tools; default: none"
    )
    parser.add_argument("--find-model-url", default="", help="address of its server, .../v1")
    parser.add_argument(
        "--memory",
        choices=memory_names(),
        default=MemoryKind.RAYS.value,
        help="memory updater; full = planners get the ground truth",
    )
    add_memory_flags(parser)
    parser.add_argument("--seed", type=int, default=None, help="instead of the episode's")
    parser.add_argument("--agents", type=int, default=0, help="how many agents act; 0 = all")
    parser.add_argument(
        "--no-images",
        action="store_true",
        help="ray casting instead of rendered images feeds the memory",
    )
    parser.add_argument(
        "--no-ros", action="store_true", help="changes nothing: runs never use ROS here"
    )
    parser.add_argument("--trace", type=Path, help="write what was done to this file, JSON lines")
    parser.add_argument(
        "--state-log", type=Path, help="write the true states to this file for planner evaluate"
    )
    parser.add_argument(
        "-o", "--output", type=Path, help="folder for the picture; default demo_output/TIME_EPISODE"
    )
    add_option_flags(parser.add_argument_group("options of planners"), PLANNERS.usable())
    add_option_flags(parser.add_argument_group("options of models"), MODELS.usable())


def run(args: argparse.Namespace) -> int:
    """Run the episode; 0 only when the verdict is success.

    Raises:
        PlannerError: for arguments that do not fit each other, or a model that does not answer.
    """
    if args.agents < 0:
        raise PlannerError(f"argument --agents: {args.agents} is below 0")
    settings = _settings(args)
    settings.check()
    episode, house = load_episode(args.episode)
    with ExitStack() as opened:
        on_state = None
        if args.state_log:
            on_state = StateLogWriter(opened.enter_context(_opened(args.state_log))).write
        playing = play(
            settings,
            episode,
            house,
            agents=args.agents,
            seed=args.seed,
            pictures=not args.no_images,
            on_state=on_state,
            find=ModelChoice(args.find_model, args.find_model_url),
        )
        try:
            done = asyncio.run(playing)
        except ModelError as error:
            raise PlannerError(f"the model gave no answer: {error}") from None
    status = _conclude(done, args.output or default_folder(episode))
    if args.trace:
        write_traces(args.trace, [done.trace])
    return status


def _settings(args: argparse.Namespace) -> RunSettings:
    model, _ = part_and_source(args.model)
    own = MODELS.get(model).options if model else ()
    return RunSettings(
        planner=args.planner,
        backend=args.backend,
        model=args.model,
        model_url=args.model_url,
        model_options=read_option_flags(args, own, MODELS.usable()),
        memory=args.memory,
        **read_memory_flags(args),
        options=read_option_flags(args, PLANNERS.get(args.planner).options, PLANNERS.usable()),
        model_wait_s=MODEL_WAIT_S,
    )


def _conclude(done: Run, folder: Path) -> int:
    """Prints the last lines of the story; 0 only when the verdict is success."""
    result, verdict = done.result, done.verdict
    print(f"planner: {result.reason} after {result.decisions} decisions")
    if verdict.explanation:
        print(f"why: {verdict.explanation}")
    places = {}
    try:
        places["picture"] = str(done.draw(folder))
    except PlannerError as error:
        # Which changes no verdict.
        print(f"no picture: {error}")
    print(story.verdict_line(verdict.success, verdict.percent_complete, result.sim_steps, places))
    return 0 if verdict.success else 1


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error}") from None
