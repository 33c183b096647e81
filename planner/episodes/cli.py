"""`planner episodes`: importing the tasks of others, making our own, linting and listing them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from planner.episodes import imported
from planner.episodes.episode_file import REPORT_NAME, episodes_in, write_episode
from planner.episodes.et_plan_import import import_et_plan
from planner.episodes.imported import Imported, write_imported
from planner.episodes.lint_cli import Solve, add_lint_arguments, run_lint
from planner.episodes.partnr_episodes import import_partnr_episodes
from planner.episodes.partnr_import import Import, import_instructions, write_import
from planner.episodes.recipes import build, shipped_recipes
from planner.episodes.virtualhome_import import import_graphs
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.share import config_dir

_WORDS_SHOWN = 72
_COLUMNS = ("NAME", "HOUSE", "TYPES", "GOALS", "INSTRUCTION")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subcommands `import`, `build`, `lint` and `list`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    importer = actions.add_parser("import", help="turn tasks of another format into episodes")
    formats = importer.add_subparsers(dest="format", metavar="FORMAT", required=True)
    instructions = formats.add_parser(
        "partnr-instructions", help="PARTNR's instruction files: lists of instructions in JSON"
    )
    episodes = formats.add_parser(
        "partnr-episodes", help="PARTNR's episode files (*.json.gz), in their scene or with --fit"
    )
    episodes.add_argument(
        "--fit", action="store_true", help="make houses to fit instead of asking for the scene"
    )
    episodes.add_argument(
        "--metadata", type=Path, metavar="DIR", help="PARTNR's metadata: what handles stand for"
    )
    episodes.add_argument(
        "--corrections", type=Path, metavar="DIR", help="annotators' texts, episode_ID.py"
    )
    episodes.add_argument(
        "--scenes", type=Path, metavar="DIR", help="a downloaded HSSD: the scenes themselves"
    )
    episodes.add_argument(
        "--objects",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="movable models' configurations, for their sizes (repeatable)",
    )
    tasks = formats.add_parser("et-plan-bench", help="ET-Plan-Bench's tasks in JSON lines")
    graphs = formats.add_parser("virtualhome-graph", help="VirtualHome-style graphs in JSON")
    for parsed in (instructions, episodes, tasks, graphs):
        parsed.add_argument("files", nargs="+", type=Path, metavar="FILE")
        parsed.add_argument(
            "-o", "--output", type=Path, required=True, metavar="DIR", help="where episodes go"
        )
        parsed.add_argument(
            "--seed", type=int, default=0, help="fixes houses and places (default 0)"
        )
    builder = actions.add_parser("build", help="make our own episodes anew from their recipes")
    builder.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="default: config/episodes of the planner"
    )
    add_lint_arguments(
        actions.add_parser("lint", help="what is wrong with episodes: rules with an id each")
    )
    lister = actions.add_parser("list", help="one line an episode")
    lister.add_argument(
        "places",
        nargs="*",
        type=Path,
        metavar="FILE|DIR",
        help="episode files or folders of them (default: the shipped ones)",
    )


def run(args: argparse.Namespace, solve: Solve | None = None) -> int:
    """Runs one action.

    Args:
        args: of the command line.
        solve: what `lint --solve` runs.

    Returns:
        0; 1 where nothing could be imported, a listed file is broken or a rule found an error.
    """
    if args.action == "lint":
        return run_lint(args, solve)
    if args.action == "list":
        return _list(args.places)
    return _build(args.output) if args.action == "build" else _import(args)


def _import(args: argparse.Namespace) -> int:
    if args.format == "partnr-instructions":
        result = import_instructions(args.files, args.seed)
        write_import(result, args.output)
        taken, told = len(result.episodes), summary(result)
    else:
        found = _imported(args)
        write_imported(found, args.output)
        taken, told = len(found.episodes), imported.summary(found)
    print(told)
    print(f"wrote {args.output} and {args.output / REPORT_NAME}")
    return 0 if taken else 1


def _imported(args: argparse.Namespace) -> Imported:
    if args.format == "et-plan-bench":
        return import_et_plan(args.files, args.seed)
    if args.format == "virtualhome-graph":
        return import_graphs(args.files, args.seed)
    return import_partnr_episodes(
        args.files,
        args.seed,
        fit=args.fit,
        metadata=args.metadata,
        corrections=args.corrections,
        scenes=args.scenes,
        objects=args.objects,
    )


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


def _build(output: Path | None) -> int:
    """Makes all episodes before the first is written, so that a bad recipe changes nothing."""
    top = output or config_dir() / "episodes"
    made = [build(recipe) for recipe in shipped_recipes()]
    current = {top / item.folder / f"{item.episode.episode_id}.json" for item in made}
    for folder in sorted({path.parent for path in current}):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(folder, "", f"cannot be made: {error.strerror}") from None
    for item in made:
        write_episode(item.episode, top / item.folder)
    print(f"wrote {len(made)} episodes to {top}")
    for path in sorted(set(top.glob("*/*.json")) - current):
        print(f"no recipe makes {path}; delete it if it is not wanted")
    return 0


def _list(places: list[Path]) -> int:
    broken = 0
    for place in places:
        if not place.exists():
            raise PlannerError(f"{place}: there is no such file or folder")
    shipped = config_dir() / "episodes"
    folders = places or [p for p in (shipped, *sorted(shipped.glob("*"))) if p.is_dir()]
    rows: list[tuple[str, ...]] = []
    for path, episode in episodes_in(folders):
        if isinstance(episode, FileError):
            broken += 1
            print(f"error: {episode}", file=sys.stderr)
        else:
            rows.append(_row(path.stem, episode))
    rows.sort()
    if rows:
        print("\n".join(_table([_COLUMNS, *rows])))
    return 1 if broken else 0


def _row(name: str, episode: Episode) -> tuple[str, ...]:
    """What a person chooses by; NAME is what `make demo TASK=NAME` takes."""
    propositions = (episode.evaluation or {}).get("propositions")
    count = str(len(propositions)) if isinstance(propositions, list) else "-"
    words = " ".join(episode.instruction.split())
    if len(words) > _WORDS_SHOWN:
        words = words[: _WORDS_SHOWN - 3] + "..."
    return (name, episode.house, ",".join(episode.task_types) or "-", count, words)


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    ]
