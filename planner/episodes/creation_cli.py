"""`planner episodes import` and `build`: episodes from other data sets and from our recipes."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.episodes.episode_file import REPORT_NAME, write_episode
from planner.episodes.et_plan.importing import import_et_plan
from planner.episodes.et_plan.task_graphs import import_into_graphs
from planner.episodes.llamar.public_import import import_public
from planner.episodes.partnr import importing
from planner.episodes.partnr.episodes import import_partnr_episodes
from planner.episodes.partnr.importing import (
    Import,
    Imported,
    import_instructions,
    write_import,
    write_imported,
)
from planner.episodes.recipes.build import build, shipped_recipes
from planner.episodes.teach.game_import import import_games
from planner.episodes.virtualhome.importing import import_graphs
from planner.world.errors import FileError
from planner.world.share import config_dir


def import_tasks(args: argparse.Namespace) -> int:
    """Imports the given files; 1 if nothing could be imported."""
    if args.format == "partnr-instructions":
        result = import_instructions(args.files, args.seed)
        write_import(result, args.output)
        taken, report = len(result.episodes), summary(result)
    else:
        found = _imported(args)
        write_imported(found, args.output)
        taken, report = len(found.episodes), importing.summary(found)
    print(report)
    print(f"wrote {args.output} and {args.output / REPORT_NAME}")
    return 0 if taken else 1


def _imported(args: argparse.Namespace) -> Imported:
    if args.format == "et-plan-bench":
        if args.graph or args.scenes is not None:
            return import_into_graphs(args.files, args.scenes)
        return import_et_plan(args.files, args.seed)
    if args.format == "llamar":
        return import_public(args.files, args.seed, args.checkers)
    if args.format == "teach":
        return import_games(args.files, args.seed)
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
    """The report of an import as text: the figures, then a line for each task left out."""
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


def build_shipped(output: Path | None) -> int:
    """Builds all episodes before writing the first, so that a bad recipe changes nothing.

    Args:
        output: the folder to write to; None = that of the shipped episodes.
    """
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
