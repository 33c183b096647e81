"""The record of an importer, what an import gives, and the frame that all importers are run in."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from planner.episodes.episode_file import REPORT_NAME, write_episode, write_text
from planner.parts.catalog import Catalog
from planner.parts.option import Option
from planner.world.episode import AgentPlacement, Episode, Split
from planner.world.files import writing
from planner.world.house import House, write_house
from planner.world.vocabulary import AgentKind

INTERFACE = 1
REPORT_VERSION = 1

AGENTS = (
    AgentPlacement(uid="agent_0", kind=AgentKind.ROBOT),
    AgentPlacement(uid="agent_1", kind=AgentKind.HUMAN),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """A task that cannot be used, by its file, and its id or index there."""

    file: str
    episode_id: str
    reason: str


class UnplaceableError(Exception):
    """A task that does not fit its scene's house; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Underived:
    """An episode without a structured goal, and why none could be derived."""

    episode_id: str
    reason: str


@dataclass(frozen=True)
class Imported:
    """An import: every task that was read is an episode or left out, with the reason.

    Attributes:
        dataset: the format's name on the command line.
        read: the number of tasks by file name; the sum equals episodes and tasks left out.
        houses: generated houses, by name.
        without_goal: episodes that cannot be evaluated, and why.
    """

    dataset: str
    read: Mapping[str, int]
    episodes: tuple[Episode, ...]
    left_out: tuple[Fault, ...]
    houses: Mapping[str, House] = field(default_factory=dict)
    without_goal: tuple[Underived, ...] = ()

    @property
    def report(self) -> dict[str, object]:
        """The report, as in `import_report.json`."""
        waiting = [e for e in self.episodes if e.source is not None and e.source.needs_scene]
        return {
            "version": REPORT_VERSION,
            "dataset": self.dataset,
            "files": dict(self.read),
            "episodes": len(self.episodes),
            "with_goal": sum(episode.evaluation is not None for episode in self.episodes),
            "left_out": [asdict(fault) for fault in self.left_out],
            "without_goal": [asdict(item) for item in self.without_goal],
            "needs_scene": _by_scene(waiting),
            "not_taken": {
                episode.episode_id: list(episode.source.not_taken)
                for episode in self.episodes
                if episode.source is not None and episode.source.not_taken
            },
        }

    @property
    def summary(self) -> str:
        """The report as text: the figures, then a line for each task left out."""
        total, taken = sum(self.read.values()), len(self.episodes)
        goals = sum(e.evaluation is not None or e.criteria is not None for e in self.episodes)
        lines = [
            f"read {total} tasks from {len(self.read)} files",
            f"imported {taken}, of which {goals} can be judged; {len(self.houses)} houses made",
        ]
        waiting = sum(e.source is not None and e.source.needs_scene for e in self.episodes)
        if waiting:
            lines.append(f"{waiting} need a scene that is not here (--fit makes a house instead)")
        if self.left_out:
            lines += [f"left out: {len(self.left_out)}", *self.faults]
        return "\n".join(lines)

    @property
    def faults(self) -> list[str]:
        """A line for each task left out."""
        return [f"  {f.file}  {f.episode_id}  {f.reason}" for f in self.left_out]

    def write(self, folder: Path) -> None:
        """Writes episodes, houses and the report under a folder.

        Raises:
            FileError: if something cannot be written.
        """
        houses = folder / "houses"
        with writing(folder):
            (houses if self.houses else folder).mkdir(parents=True, exist_ok=True)
            for house in self.houses.values():
                write_house(house, houses / f"{house.name}.json")
        for episode in self.episodes:
            write_episode(episode, folder)
        write_text(folder / REPORT_NAME, json.dumps(self.report, indent=1) + "\n")


def _by_scene(episodes: Sequence[Episode]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for episode in episodes:
        if episode.source is not None:
            found.setdefault(episode.source.scene_id, []).append(episode.episode_id)
    return dict(sorted(found.items()))


def split_of(stem: str) -> Split:
    """The split according to a file's name."""
    words = stem.lower().split("_")
    splits: tuple[Split, ...] = ("train", "val", "test")
    return next((split for split in splits if split in words), "none")


def _no_arguments(_parser: argparse.ArgumentParser) -> None:
    """Declares nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImporterPart:
    """The record of an importer; its name is the format's on the command line.

    Attributes:
        summary: one line for the help.
        read: makes episodes of the arguments `files`, `seed` and its own; raises a `PlannerError`
            for what is no such file, and leaves single tasks out, each with a `Fault`.
        add_arguments: declares its own arguments.
        options: none yet; see `add_arguments`.
        interface: the version of this record that it was written for.
    """

    summary: str
    read: Callable[[argparse.Namespace], Imported]
    add_arguments: Callable[[argparse.ArgumentParser], None] = _no_arguments
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE


IMPORTERS: Catalog[ImporterPart] = Catalog(
    "importer", "", "", f"{__name__}:ImporterPart", INTERFACE, group="planner.importers"
)


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares a subcommand for each format, with its own arguments and those of all."""
    formats = parser.add_subparsers(dest="format", metavar="FORMAT", required=True)
    for name, part in IMPORTERS.usable().items():
        parsed = formats.add_parser(name, help=part.summary)
        part.add_arguments(parsed)
        parsed.add_argument("files", nargs="+", type=Path, metavar="FILE")
        parsed.add_argument(
            "-o", "--output", type=Path, required=True, metavar="DIR", help="where episodes go"
        )
        parsed.add_argument(
            "--seed", type=int, default=0, help="random seed of houses and places (default 0)"
        )


def run_import(args: argparse.Namespace) -> int:
    """Imports the given files; 1 if nothing could be imported.

    Raises:
        PlannerError: for a file of another format, or one that cannot be written.
    """
    imported = IMPORTERS.get(args.format).read(args)
    imported.write(args.output)
    print(imported.summary)
    print(f"wrote {args.output} and {args.output / REPORT_NAME}")
    return 0 if imported.episodes else 1
