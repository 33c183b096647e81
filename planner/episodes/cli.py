"""`planner episodes`: importing the tasks of others, and listing what there is."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from planner.episodes.episode_file import REPORT_NAME, episodes_in
from planner.episodes.partnr_import import Import, import_instructions, write_import
from planner.world.errors import FileError, PlannerError
from planner.world.share import config_dir

_WORDS_SHOWN = 72


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subcommands `import` and `list`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    importer = actions.add_parser("import", help="turn tasks of another format into episodes")
    formats = importer.add_subparsers(dest="format", metavar="FORMAT", required=True)
    partnr = formats.add_parser(
        "partnr-instructions", help="PARTNR's instruction files: lists of instructions in JSON"
    )
    partnr.add_argument("files", nargs="+", type=Path, metavar="FILE")
    partnr.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="where episodes go"
    )
    partnr.add_argument("--seed", type=int, default=0, help="fixes houses and places (default 0)")
    lister = actions.add_parser("list", help="one line an episode")
    lister.add_argument(
        "places",
        nargs="*",
        type=Path,
        metavar="FILE|DIR",
        help="episode files or folders of them (default: the shipped ones)",
    )


def run(args: argparse.Namespace) -> int:
    """Runs one action.

    Returns:
        0; 1 where nothing could be imported or a listed file is broken.
    """
    return _list(args.places) if args.action == "list" else _import(args)


def _import(args: argparse.Namespace) -> int:
    result = import_instructions(args.files, args.seed)
    write_import(result, args.output)
    print(summary(result))
    print(f"wrote {args.output} and {args.output / REPORT_NAME}")
    return 0 if result.episodes else 1


def summary(result: Import) -> str:
    """The account of an import for a person: the figures, then a line for each that is missing."""
    total = sum(result.read.values())
    placed = len(result.episodes)
    goals = sum(episode.evaluation is not None for episode in result.episodes)
    share = f" ({100 * placed / total:.1f} %)" if total else ""
    lines = [
        f"read {total} instructions from {len(result.read)} files",
        f"placed {placed}{share} in {len(result.houses)} houses; {goals} have a derived goal",
    ]
    if result.unplaced:
        lines.append(f"not placed: {len(result.unplaced)}")
        lines += [f"  {f.file}  {f.episode_id}  {f.reason}" for f in result.unplaced]
    return "\n".join(lines)


def _list(places: list[Path]) -> int:
    broken = 0
    for place in places:
        if not place.exists():
            raise PlannerError(f"{place}: there is no such file or folder")
    shipped = config_dir() / "episodes"
    folders = places or [p for p in (shipped, *sorted(shipped.glob("*"))) if p.is_dir()]
    for path, episode in episodes_in(folders):
        if isinstance(episode, FileError):
            broken += 1
            print(f"error: {episode}", file=sys.stderr)
            continue
        words = episode.instruction
        if len(words) > _WORDS_SHOWN:
            words = words[: _WORDS_SHOWN - 3] + "..."
        types = ",".join(episode.task_types) or "-"
        print(f"{path.stem}\t{episode.house}\t{types}\t{words}")
    return 1 if broken else 0
