"""`planner run EPISODE`: one episode in this process, told and drawn as by `planner demo`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from planner.api import MODEL_WAIT_S, Run, load, play, with_instruction
from planner.app.run_story import default_folder
from planner.bench.runs.settings import RunSettings, add_setting_flags, read_setting_flags
from planner.command_line import add_model_flags
from planner.evaluation.trace import write_traces
from planner.models.chat import ModelError
from planner.models.model_choice import ModelChoice
from planner.narrator import story
from planner.planning.session import Ask
from planner.replay.states import StateLogWriter
from planner.world.errors import PlannerError
from planner.world.files import writing
from sim_bridge.opening import open_world


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "episode", help="name or file of the episode; with --instruction also of a house"
    )
    parser.add_argument(
        "--instruction",
        default="",
        metavar="TEXT",
        help="plain English, instead of the episode's task",
    )
    parser.add_argument(
        "--answer",
        action="append",
        default=[],
        metavar="TEXT",
        help="answer to a question of the planner, repeatable; default: ask on the terminal",
    )
    add_model_flags(
        parser, "language model that answers the Find tools; default: none", "--find-model"
    )
    parser.add_argument(
        "--explore-encoder",
        default="",
        metavar="DIR",
        help="SigLIP or CLIP class folder, for ExploreByView",
    )
    parser.add_argument(
        "--map",
        choices=("given", "built"),
        default="given",
        help="given: the layout's floor is known; built: a robot explores it by its camera first",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="instead of the episode's")
    parser.add_argument(
        "--no-images",
        action="store_true",
        help="ray casting instead of rendered images feeds the memory",
    )
    parser.add_argument(
        "--no-ros", action="store_true", help="changes nothing: runs never use ROS here"
    )
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="write what was done to this file, JSON lines"
    )
    parser.add_argument(
        "--state-log",
        type=Path,
        metavar="FILE",
        help="write the true states to this file for planner evaluate",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help="folder for the picture; default demo_output/TIME_EPISODE",
    )
    add_setting_flags(parser, "what is run")


def run(args: argparse.Namespace) -> int:
    """Run the episode; 0 only when the verdict is success.

    Raises:
        PlannerError: for arguments that do not fit each other, or a model that does not answer.
    """
    if args.agents < 0:
        raise PlannerError(f"argument --agents: {args.agents} is below 0")
    settings = RunSettings(**read_setting_flags(args), model_wait_s=MODEL_WAIT_S)
    settings.check()
    opened = load(args.episode) if args.instruction else open_world("", args.episode, 0)
    episode = with_instruction(opened, args.instruction) if args.instruction else opened.episode
    with ExitStack() as files:
        on_state = None
        if args.state_log:
            on_state = StateLogWriter(files.enter_context(_opened(args.state_log))).write
        playing = play(
            settings,
            episode,
            opened.house,
            agents=args.agents,
            seed=args.seed,
            pictures=not args.no_images,
            on_state=on_state,
            ask=answers(args.answer) if args.instruction or settings.part.asks.person else None,
            find=ModelChoice(args.find_model, args.find_model_url),
            explore_encoder=args.explore_encoder,
            builds_map=args.map == "built",
        )
        try:
            done = asyncio.run(playing)
        except ModelError as error:
            raise PlannerError(f"the model gave no answer: {error}") from None
    status = _conclude(done, args.output or default_folder(episode))
    if args.trace:
        write_traces(args.trace, [done.trace])
    return status


def answers(given: Sequence[str]) -> Ask:
    """Answers questions by what was given, then by what is typed, if anybody can type."""
    left = list(given)

    async def ask(question: str) -> str | None:
        print(f"question: {question}", flush=True)
        if not left and sys.stdin is not None and sys.stdin.isatty():
            left.append(await asyncio.to_thread(input, "answer: "))
        answer = left.pop(0) if left else None
        print(f"answer: {answer or 'none'}", flush=True)
        return answer

    return ask


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
    print(
        story.verdict_line(
            verdict.success,
            verdict.percent_complete,
            result.sim_steps,
            places,
            understood=verdict.understood,
        )
    )
    return 0 if verdict.success else 1


def _opened(path: Path) -> BinaryIO:
    with writing(path):
        return path.open("wb")
