"""The options for publishing a bag: which topics, under which names, with which QoS."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

from rosbags.interfaces import Nodetype
from rosbags.typesys import get_types_from_msg

from planner.replay.bag import Bag
from planner.replay.player.cues import CLOCK, Span, raw_topics
from planner.replay.player.player import MAX_RATE, MIN_RATE
from planner.replay.storage import TopicInfo
from planner.world.errors import FileError, PlannerError
from planner.world.files import parse_yaml

# Which topics of a bag are published, and under which names.

# Messages that make a robot or a node act, possibly a live one. Nobody who develops a node wants to
# send them by accident; --all sends them.
COMMANDS = (
    "/lockstep/*",
    "/instruct/answer",
    # In older bags, answers named their question.
    "*/safety/approve_at",
    "*/cmd_vel",
    "*/cmd_vel_*",
    "*/cmd_vel/*",
    "*/ackermann_cmd",
    "*/joint_trajectory",
    "*/joint_command",
    "*/joint_commands",
    "*/body_pose",
    "*/goal_pose",
    "*/move_base_simple/goal",
    "/initialpose",
    # Nodes react to parameter events that carry their own name.
    "/parameter_events",
)
_NAME = re.compile(r"/[A-Za-z_][A-Za-z0-9_]*(?:/[A-Za-z_][A-Za-z0-9_]*)*")
_MAX_NAME_CHARS = 255


@dataclass(frozen=True, slots=True)
class Selection:
    """The requested topics.

    Attributes:
        topics: names or shell patterns; empty = all.
        exclude: names or shell patterns.
        remap: the new names of some topics.
        commands: whether messages that make nodes and robots act are published too.
    """

    topics: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    remap: Mapping[str, str] = field(default_factory=dict)
    commands: bool = False


@dataclass(frozen=True, slots=True)
class TopicChoice:
    """The topics to publish.

    Attributes:
        names: the name to publish under, by the topic's name in the bag.
        withheld: requested topics left out because they make nodes act.
        nameless: topics left out because ROS allows no such name.
        pictures: the name to publish raw pictures under, by their compressed topic in the bag.
    """

    names: Mapping[str, str]
    withheld: tuple[str, ...]
    invalid_names: tuple[str, ...]
    pictures: Mapping[str, str] = field(default_factory=dict)


def choose(topics: Collection[str], selection: Selection) -> TopicChoice:
    """Applies a selection to the topics of a bag.

    Raises:
        PlannerError: if a pattern or a new name matches no topic, or two topics would get one name.
    """
    remap = selection.remap
    asked = [topic for topic in sorted(topics) if _asked_for(topic, selection)]
    _check_patterns("--topics", selection.topics, topics)
    _check_patterns("--exclude", selection.exclude, topics)
    for old, new in remap.items():
        if old not in topics:
            raise PlannerError(f"--remap {old}:={new}: the bag has no topic {old}")
        if not is_topic_name(new):
            raise PlannerError(f"--remap {old}:={new}: {new!r} is not an absolute name of a topic")
    withheld, invalid_names = [], []
    names: dict[str, str] = {}
    for topic in asked:
        if not selection.commands and is_command(topic):
            withheld.append(topic)
            continue
        name = remap.get(topic, topic)
        if not is_topic_name(name):
            invalid_names.append(topic)
            continue
        twin = next((old for old, new in names.items() if new == name), None)
        if twin is not None:
            raise PlannerError(f"--remap: {twin} and {topic} would both be {name}")
        names[topic] = name
    return TopicChoice(names, tuple(withheld), tuple(invalid_names))


def is_command(topic: str) -> bool:
    """Whether messages of a topic make a robot or a node act."""
    return any(fnmatchcase(topic, pattern) for pattern in COMMANDS)


def is_topic_name(name: str) -> bool:
    """Whether this is a valid absolute name of a ROS topic."""
    return len(name) <= _MAX_NAME_CHARS and "__" not in name and bool(_NAME.fullmatch(name))


def remappings(words: Sequence[str]) -> dict[str, str]:
    """The new names by the old ones, from arguments FROM:=TO.

    Raises:
        PlannerError: if an argument is invalid, or a topic is renamed twice.
    """
    found: dict[str, str] = {}
    for word in words:
        old, separator, new = word.partition(":=")
        if not (separator and old and new):
            raise PlannerError(f"--remap {word!r}: expected FROM:=TO")
        if old in found:
            raise PlannerError(f"--remap: {old} is given twice")
        found[old] = new
    return found


def _asked_for(topic: str, selection: Selection) -> bool:
    if selection.topics and not any(fnmatchcase(topic, p) for p in selection.topics):
        return False
    return not any(fnmatchcase(topic, pattern) for pattern in selection.exclude)


def _check_patterns(option: str, patterns: Sequence[str], topics: Collection[str]) -> None:
    for pattern in patterns:
        if not any(fnmatchcase(topic, pattern) for topic in topics):
            raise PlannerError(f"{option} {pattern!r}: fits no topic of the bag")


# The quality of service of a topic as recorded in a bag.

_MAX_CHARS = 1 << 16
_TF_STATIC = "/tf_static"
# rosbag2 up to Iron wrote the numbers of rmw's enumerations.
_BEST_EFFORT: set[object] = {"best_effort", 2}
_LATCHED: set[object] = {"transient_local", 1}


@dataclass(frozen=True, slots=True)
class RecordedQos:
    """What a topic's publishers offered.

    Attributes:
        reliable: whether lost messages were sent again.
        latched: whether late joiners got earlier messages (transient local).
    """

    reliable: bool = True
    latched: bool = False


def recorded_qos(topic: str, profiles: str) -> RecordedQos:
    """The quality of service on a topic, all of its publishers taken together.

    The strongest offer counts, because every reader of a weaker one matches it too.

    Args:
        topic: its name.
        profiles: rosbag2's YAML list of the offered profiles; "" if not recorded. An invalid list
            counts as none: reliable, and latched only for `/tf_static`.
    """
    offered = _profiles(profiles)
    if not offered:
        return RecordedQos(latched=topic == _TF_STATIC)
    return RecordedQos(
        reliable=not all(_is_one_of(p.get("reliability"), _BEST_EFFORT) for p in offered),
        latched=any(_is_one_of(profile.get("durability"), _LATCHED) for profile in offered),
    )


def _is_one_of(value: object, known: set[object]) -> bool:
    return isinstance(value, str | int) and value in known


def _profiles(text: str) -> list[dict[object, object]]:
    if not text or len(text) > _MAX_CHARS:
        return []
    try:
        found = parse_yaml(text, "")
    except FileError:
        return []
    if not isinstance(found, list):
        return []
    return [profile for profile in found if isinstance(profile, dict)]


# Whether the messages of a bag have the layout of the installed type.

_TYPE_NAME = re.compile(r"[a-z][a-z0-9_]*/msg/[A-Z][A-Za-z0-9]*")
_MAX_DEFINITION_CHARS = 400_000


def is_type_name(name: str) -> bool:
    """Whether this is the name of a message type, such as `sensor_msgs/msg/Image`."""
    return bool(_TYPE_NAME.fullmatch(name))


def same_layout(type_name: str, recorded: str, installed: str) -> bool:
    """Whether two definitions of a type have the same fields in the same order, recursively.

    Comments and constants may differ. Nothing of the definitions is executed.

    Args:
        type_name: of the message.
        recorded: the definition in the bag; an unreadable one differs.
        installed: the definition that nodes have.
    """
    if recorded == installed:
        return True
    if len(recorded) > _MAX_DEFINITION_CHARS:
        return False
    # Outside of `try`: an unreadable installed definition would be a defect of ours.
    expected = _fields(type_name, installed)
    try:
        return _fields(type_name, recorded) == expected
    # The parser fails with any exception on untrusted text.
    except Exception:
        return False


def _fields(type_name: str, text: str) -> dict[str, Any]:
    """The fields of a type and of all its nested types."""
    types: Any = get_types_from_msg(text, type_name)
    found: dict[str, Any] = {}
    missing = [type_name]
    while missing:
        name = missing.pop()
        if name in found:
            continue
        fields = found[name] = types[name][1]
        for _, (node, content) in fields:
            inner = content[0] if node in (Nodetype.ARRAY, Nodetype.SEQUENCE) else (node, content)
            kind, inner_name = inner
            if kind == Nodetype.NAME:
                missing.append(inner_name)
    return found


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
