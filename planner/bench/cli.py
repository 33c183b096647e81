"""`planner run EPISODE`: one episode in this process, told as it happens."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import BinaryIO

from planner.bench.embedded_run import run_embedded
from planner.bench.run import Event
from planner.bench.trace import LoggedTrace, traced
from planner.evaluation.trace import write_traces
from planner.evaluation.trace_builder import TraceBuilder
from planner.memory.learned.detector import Detector
from planner.memory.learned.updater import LearnedUpdater
from planner.memory.updater import MemoryUpdater
from planner.narrator import story
from planner.planning.expert import Expert
from planner.replay.state_log import StateLogWriter
from planner.world.errors import FileError
from planner.world.house import House
from planner.world.house_checks import load_episode
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import default_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("episode", help="name or file of the episode")
    parser.add_argument(
        "--no-ros", action="store_true", help="changes nothing: runs never use ROS here"
    )
    parser.add_argument("--agents", type=int, default=0, help="how many agents act; 0 = all")
    parser.add_argument("--seed", type=int, default=None, help="instead of the episode's")
    parser.add_argument(
        "--no-images", action="store_true", help="rays instead of pictures feed the memory"
    )
    parser.add_argument(
        "--memory",
        choices=["privileged", "learned"],
        default="privileged",
        help="who tells the memory what pictures show",
    )
    parser.add_argument("--trace", type=Path, help="write what was done to this file, JSON lines")
    parser.add_argument(
        "--state-log", type=Path, help="write the true states to this file for planner evaluate"
    )


def run(args: argparse.Namespace) -> int:
    """Run the episode; 0 only when the verdict is success."""
    episode, house = load_episode(args.episode)
    print(f'task: "{episode.instruction}"')
    # Only the privileged memory wants to know whose each pixel is.
    instances = args.memory == "privileged"
    backend = EmbeddedBackend(default_options().model_copy(update={"instances": instances}))
    log = _opened(args.state_log) if args.state_log else None
    builder = LoggedTrace(StateLogWriter(log)) if log else TraceBuilder()
    try:
        result = run_embedded(
            backend,
            house,
            episode,
            Expert,
            agents=args.agents,
            seed=args.seed,
            images=not args.no_images,
            tell=_tell,
            trace=builder,
            updater=_updater(args.memory, house),
        )
        acting = backend.agents[: args.agents or None]
    finally:
        backend.close()
        if log:
            log.close()
    if args.trace:
        made = traced(builder, episode, result, planner="expert", seed=args.seed, acting=acting)
        write_traces(args.trace, [made])
    verdict = result.verdict
    if verdict.explanation:
        print(f"why: {verdict.explanation}")
    print(f"planner: {result.reason} after {result.decisions} decisions")
    print(story.verdict_line(verdict.success, verdict.percent_complete, result.sim_steps, {}))
    return 0 if verdict.success else 1


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("wb")
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error}") from None


def _updater(memory: str, house: House) -> MemoryUpdater | None:
    return LearnedUpdater(house, Detector.load()) if memory == "learned" else None


def _tell(event: Event) -> None:
    call, result = str(event.call), event.result
    if result is None:
        print(story.decided_line(event.stamp_s, event.agent, call))
    else:
        print(story.ended_line(event.stamp_s, event.agent, call, result.code, result.text))
