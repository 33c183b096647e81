"""Which topics of a bag are published, and under which names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from planner.world.errors import PlannerError

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
