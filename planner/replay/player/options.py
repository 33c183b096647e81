"""The options for publishing a bag."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fnmatch import fnmatchcase

from planner.replay.bag import Bag, TopicInfo
from planner.replay.player.cues import CLOCK, Span
from planner.replay.player.raw_pictures import raw_topics
from planner.replay.player.selection import Selection, TopicChoice, choose, remappings
from planner.replay.player.timeline import MAX_RATE, MIN_RATE
from planner.world.errors import FileError, PlannerError

UNLIMITED = "max"


class ClockMode(Enum):
    """Source of `/clock`."""

    NONE = "none"
    BAG = "bag"  # its own messages
    MADE = "made"  # made from the times of receipt


@dataclass(frozen=True, slots=True)
class PlayOptions:
    """How a bag is played.

    Attributes:
        selection: which topics.
        rate: seconds of the bag per second; None = as fast as possible.
        start_s: from the bag's beginning.
        duration_s: None = to its end.
        loop: whether to repeat it endlessly.
        paused: whether it starts paused.
        clock: None = the bag's own if it has one, else made.
        subscribers_s: how long to wait for subscribers.
        force: whether to publish on topics that others publish.
    """

    selection: Selection = field(default_factory=Selection)
    rate: float | None = 1.0
    start_s: float = 0.0
    duration_s: float | None = None
    loop: bool = False
    paused: bool = False
    clock: ClockMode | None = None
    subscribers_s: float = 2.0
    force: bool = False


def add_play_arguments(parser: argparse._ArgumentGroup) -> None:
    """Declares the arguments for publishing."""
    add = parser.add_argument
    add(
        "--rate",
        default="1",
        metavar="R",
        help=f"seconds of the bag per second, {MIN_RATE:g} to {MAX_RATE:g}, "
        f"or {UNLIMITED}: as fast as possible (default: 1)",
    )
    add("--loop", action="store_true", help="repeat until Ctrl-C")
    add("--pause", action="store_true", help="start paused; the space bar resumes")
    add("--topics", nargs="+", default=[], metavar="NAME", help="only these: names or '/shell/*'")
    add("--exclude", nargs="+", default=[], metavar="NAME", help="not these: names or '/shell/*'")
    add("--remap", nargs="+", default=[], metavar="FROM:=TO", help="publish under other names")
    add(
        "--clock",
        choices=[mode.value for mode in ClockMode],
        help="source of /clock (default: the bag's own, else made)",
    )
    add(
        "--all",
        action="store_true",
        help="also what makes robots and nodes act, such as velocities and approvals",
    )
    add("--force", action="store_true", help="also publish on topics that others publish")
    add(
        "--wait-for-subscribers",
        type=float,
        default=2.0,
        metavar="S",
        help="start when subscribers were found, or after this time (default: %(default)g)",
    )


def options_of(args: argparse.Namespace) -> PlayOptions:
    """Validates the arguments.

    Raises:
        PlannerError: if one is invalid.
    """
    _check_seconds("--wait-for-subscribers", args.wait_for_subscribers)
    return PlayOptions(
        selection=Selection(
            tuple(args.topics), tuple(args.exclude), remappings(args.remap), commands=args.all
        ),
        rate=_rate(args.rate),
        start_s=_check_seconds("--start", args.start),
        duration_s=None if args.duration is None else _check_seconds("--duration", args.duration),
        loop=args.loop,
        paused=args.pause,
        clock=None if args.clock is None else ClockMode(args.clock),
        subscribers_s=args.wait_for_subscribers,
        force=args.force,
    )


def span_of(bag: Bag, options: PlayOptions) -> Span:
    """The requested part of a bag.

    Raises:
        PlannerError: if that part is empty.
    """
    if not bag.message_count:
        raise FileError(bag.folder, "", "holds no messages")
    start_ns = bag.start_ns + round(options.start_s * 1e9)
    if start_ns > bag.end_ns:
        length_s = (bag.end_ns - bag.start_ns) / 1e9
        raise PlannerError(f"--start {options.start_s:g}: the bag is {length_s:.1f} s long")
    if options.duration_s is None:
        return Span(start_ns, bag.end_ns)
    return Span(start_ns, min(bag.end_ns, start_ns + round(options.duration_s * 1e9)))


def chosen_topics(
    topics: Mapping[str, TopicInfo], options: PlayOptions
) -> tuple[TopicChoice, ClockMode]:
    """The topics that are published, and the source of `/clock`, on which `--topics` has no effect.

    Raises:
        PlannerError: if a pattern or a new name matches nothing, or the bag lacks a `/clock`.
    """
    raw = {info.name: source for source, info in raw_topics(topics).items()}
    chosen = choose([*topics, *raw], options.selection)
    names = dict(chosen.names)
    names.pop(CLOCK, None)
    pictures = {raw[topic]: names.pop(topic) for topic in chosen.names if topic in raw}
    clock = _clock_mode(topics, options)
    if clock is ClockMode.BAG:
        names[CLOCK] = options.selection.remap.get(CLOCK, CLOCK)
    return replace(chosen, names=names, pictures=pictures), clock


def _clock_mode(topics: Mapping[str, TopicInfo], options: PlayOptions) -> ClockMode:
    in_bag = CLOCK in topics and topics[CLOCK].count > 0
    if options.clock is ClockMode.BAG and not in_bag:
        raise PlannerError(f"--clock bag: the bag has no {CLOCK}")
    if options.clock is not None:
        return options.clock
    if any(fnmatchcase(CLOCK, pattern) for pattern in options.selection.exclude):
        return ClockMode.NONE
    return ClockMode.BAG if in_bag else ClockMode.MADE


def _rate(text: str) -> float | None:
    if text == UNLIMITED:
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not MIN_RATE <= rate <= MAX_RATE:
        raise PlannerError(f"--rate {text}: expected {MIN_RATE:g} to {MAX_RATE:g}, or {UNLIMITED}")
    return rate


def _check_seconds(option: str, seconds: float) -> float:
    if not (math.isfinite(seconds) and seconds >= 0.0):
        raise PlannerError(f"{option} {seconds:g}: expected seconds, 0 or more")
    return seconds
