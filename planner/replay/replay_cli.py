"""`planner replay BAG`: publishes a bag, or runs parts of the stack over it without ROS."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from planner.command_line import ProgressBar
from planner.replay.bag import Bag
from planner.replay.player.options import add_play_arguments, options_of
from planner.replay.storage import printable
from planner.replay.through.evaluator import evaluator_findings, replay_evaluator
from planner.replay.through.memory import replay_memory
from planner.replay.through.memory_findings import exposure_lines, memory_findings
from planner.replay.through.planner_findings import planner_findings
from planner.replay.through.planning import replay_planner
from planner.replay.through.recorded import Recorded
from planner.replay.through.request import (
    DIFFERENCES,
    SUMMARY,
    VERSION,
    EvaluatorRequest,
    Findings,
    MemoryRequest,
    Request,
    read_request,
    save,
)
from planner.world.errors import FileError, PlannerError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bag", type=Path, metavar="BAG", help="folder of the bag")
    parser.add_argument(
        "--start", type=float, default=0.0, metavar="S", help="seconds from the beginning"
    )
    parser.add_argument(
        "--duration", type=float, default=None, metavar="S", help="seconds of the bag to play"
    )
    add_play_arguments(parser.add_argument_group("publishing over ROS"))
    offline = parser.add_argument_group("without ROS")
    offline.add_argument(
        "--through",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME:=VALUE",
        help="run this part over the bag instead of publishing it: memory:=learned, evaluator",
    )
    offline.add_argument(
        "-o", "--output", type=Path, default=None, help="folder for the results of --through"
    )


def run(args: argparse.Namespace) -> int:
    """Publish the bag, or run what `--through` names over it."""
    if args.through:
        return run_through(args)
    options = options_of(args)
    bag = Bag(args.bag)
    try:
        from planner.replay.player.node import play
    except ImportError as error:
        raise PlannerError(
            f"publishing needs ROS 2, which is not installed here ({error}); see docs/setup.md"
        ) from None
    for line in bag.lacks():
        print(printable(f"missing in {bag.folder}: {line}"), file=sys.stderr)
    return play(bag, options)


# `planner replay BAG --through ...`: runs another memory, planner or evaluator over a bag.


def run_through(args: argparse.Namespace) -> int:
    """Runs what `args.through` names over `args.bag`; 0 if it ran, whatever it found.

    Raises:
        PlannerError: for invalid arguments, a bag that cannot be read or lacks data, or an output
            that cannot be written.
    """
    request, words = read_request(args.through)
    bag = Bag(args.bag)
    folder = output_folder(args.bag, args.output)
    recorded = Recorded(bag, *_part(bag, args.start, args.duration))
    if isinstance(request, MemoryRequest):
        # Before the run, which may take long.
        for line in exposure_lines(recorded.exposures(), recorded.pictured()):
            print(line, flush=True)
    length_ns = max(recorded.end_ns - recorded.start_ns, 1)
    with ProgressBar("replaying") as bar:
        findings = _findings(
            recorded,
            request,
            words,
            lambda at_ns: bar.show((at_ns - recorded.start_ns) / length_ns),
        )
    save(findings, folder)
    for line in bag.lacks():
        print(printable(f"missing in {bag.folder}: {line}"))
    for line in findings.lines:
        print(line)
    print(f"saved: {folder / DIFFERENCES} {folder / SUMMARY}")
    return 0


def _part(bag: Bag, start_s: float | None, duration_s: float | None) -> tuple[float, float | None]:
    """The part of a bag to use.

    Raises:
        PlannerError: if there is none.
    """
    start_s = start_s or 0.0
    whole_s = (bag.end_ns - bag.start_ns) / 1e9
    if not bag.message_count:
        raise FileError(bag.folder, "", "has no messages")
    if not 0.0 <= start_s <= whole_s:
        raise PlannerError(f"--start {start_s:g}: the bag has {whole_s:.1f} s")
    if duration_s is not None and not 0.0 < duration_s < math.inf:
        raise PlannerError(f"--duration {duration_s:g}: expected seconds greater than 0")
    return start_s, duration_s


def output_folder(bag: Path, output: Path | None) -> Path:
    """Where findings are written: never into the bag.

    Raises:
        PlannerError: for a folder inside the bag, or one that exists.
    """
    home = bag.resolve() if bag.is_dir() else bag.resolve().parent
    folder = output
    if folder is None:
        folder = home.with_name(f"{home.name}_through_{time.strftime('%Y%m%d_%H%M%S')}")
    if folder.resolve().is_relative_to(home):
        raise PlannerError(f"{folder}: is inside the bag, which is only read")
    if folder.exists():
        raise PlannerError(f"{folder}: exists already, nothing is overwritten")
    return folder


def _findings(
    recorded: Recorded, request: Request, words: Mapping[str, str], on_event: Callable[[int], None]
) -> Findings:
    if isinstance(request, MemoryRequest):
        worlds = replay_memory(recorded, request, on_event)
        found = memory_findings(worlds, recorded.exposures())
    elif isinstance(request, EvaluatorRequest):
        found = evaluator_findings(replay_evaluator(recorded, request, on_event))
    else:
        found = planner_findings(replay_planner(recorded, request, on_event))
    bag = recorded.bag
    about: dict[str, JsonValue] = {
        "version": VERSION,
        "through": dict(words),
        "bag": {"name": bag.folder.resolve().name, "cut_short": bag.cut_short},
    }
    return replace(found, summary=about | dict(found.summary))
