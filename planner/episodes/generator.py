"""The record of a generator of episodes, what it may use, and the frame of those that build tasks.

Episodes import neither planners nor simulators: what a generator uses of them it is given.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from planner.episodes.arguments import Solve
from planner.episodes.episode_file import write_set
from planner.episodes.start_state import FindMiddle
from planner.parts.catalog import Catalog
from planner.parts.option import Option
from planner.world.episode import Episode
from planner.world.house import House

INTERFACE = 1
# A value of flags that choose among types of tasks.
ALL = "all"


@dataclass(frozen=True, slots=True)
class Played:
    """What became of a plan.

    Attributes:
        reason: why it does not count, in few words without names; "" if it met the criteria.
        walked_m: the distance that the robot walked.
    """

    reason: str = ""
    walked_m: float = 0.0


class TaskWorld(Protocol):
    """Carries plans out and has them judged."""

    @property
    def name(self) -> str:
        """What the command line calls it."""

    @property
    def lacks(self) -> dict[str, str]:
        """Why it has no tasks of a category or with a relation, by that word."""

    def play(self, episode: Episode, house: House, plan: Sequence[str]) -> Played:
        """Carries a plan out from the episode's start, and has it judged.

        Args:
            episode: with criteria; its own reference plan is ignored.
            house: the episode's.
            plan: calls of skills.

        Raises:
            PlannerError: if the episode does not fit the house.
        """

    def close(self) -> None:
        """Ends what it started."""


@dataclass(frozen=True, slots=True)
class GeneratorTools:
    """What a generator may use.

    Attributes:
        solve: runs the planner expert on an episode file; returns why it had no success, or "".
        find_middle: runs an episode by the planner expert and returns its middle.
        make_world: makes the world of a backend's name, in which plans are carried out.
    """

    solve: Solve
    find_middle: FindMiddle
    make_world: Callable[[str], TaskWorld]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorPart:
    """The record of a generator; its name is the format's on the command line.

    Attributes:
        summary: one line for the help.
        add_arguments: declares its arguments; see `add_output`.
        run: generates, writes and prints; 1 if it could not make all that were asked for.
        options: none yet; see `add_arguments`.
        interface: the version of this record that it was written for.
    """

    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, GeneratorTools], int]
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE


GENERATORS: Catalog[GeneratorPart] = Catalog(
    "generator", "", "", f"{__name__}:GeneratorPart", INTERFACE, group="planner.generators"
)


def add_generate_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares a subcommand for each generator."""
    formats = parser.add_subparsers(dest="format", metavar="FORMAT", required=True)
    for name, part in GENERATORS.usable().items():
        part.add_arguments(formats.add_parser(name, help=part.summary))


def add_output(parser: argparse.ArgumentParser) -> None:
    """Declares where the episodes go, as all generators do."""
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="DIR|FILE.json.gz",
        help="folder or pack",
    )


# Generators that build the tasks of a file.

MakeTasks = Callable[[Path | None, GeneratorTools], tuple[Iterable[Episode], Iterable[House]]]


def task_generator(summary: str, make: MakeTasks) -> GeneratorPart:
    """A generator that builds all tasks of a file before it writes: a bad one changes nothing.

    Args:
        summary: one line for the help.
        make: the episodes of the tasks in a file, or of ours where there is none, and houses that
            are not shipped, of which those are written that an episode is in; raises a
            `PlannerError` for the first task that cannot be built.
    """

    def run(args: argparse.Namespace, tools: GeneratorTools) -> int:
        episodes, houses = make(args.tasks, tools)
        ordered = sorted(episodes, key=lambda episode: episode.episode_id)
        used = {episode.house for episode in ordered}
        write_set(args.output, ordered, [house for house in houses if house.name in used])
        print(f"wrote {len(ordered)} episodes to {args.output}")
        return 0

    return GeneratorPart(summary=summary, add_arguments=_add_task_arguments, run=run)


def _add_task_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tasks", type=Path, metavar="FILE", help="tasks of your own in YAML (default: ours)"
    )
    add_output(parser)
