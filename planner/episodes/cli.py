"""`planner episodes`: imports, builds, lints, draws, reviews and corrects episodes.

Each action's module is imported on demand, so that listing does not load what imports need.
Importers and generators are parts (docs/parts.md).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from planner.episodes.arguments import Solve, add_lint_arguments

if TYPE_CHECKING:
    from planner.episodes.episode_file import FindSuite
    from planner.episodes.generator import GeneratorTools
    from planner.language.goal_form import Goal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares one subcommand for each action."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser(
        "import", help="turn tasks of another format into episodes", declare=_declare_importers
    )
    builder = actions.add_parser("build", help="rebuild our own episodes from their recipes")
    builder.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="default: config/episodes of the planner"
    )
    actions.add_parser("generate", help="make new tasks for houses", declare=_declare_generators)
    add_lint_arguments(
        actions.add_parser("lint", help="check episodes against rules, each with an id")
    )
    lister = actions.add_parser("list", help="one line an episode")
    lister.add_argument(
        "places",
        nargs="*",
        type=Path,
        metavar="FILE|DIR",
        help="episode files or folders of them (default: the shipped ones)",
    )
    counter = actions.add_parser("statistics", help="the figures of the paper beside ours")
    counter.add_argument("suites", nargs="+", metavar="SUITE", help="a suite, folder or pack")
    drawer = actions.add_parser(
        "draw", help="draw a task and its evaluation, or what is understood of a text"
    )
    drawer.add_argument(
        "episode",
        metavar="EPISODE|TEXT",
        help="a shipped episode's name, a file, or an instruction in words",
    )
    drawer.add_argument("--house", default="train_0", help="for an instruction (default train_0)")
    drawer.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="a .png or .svg; default: NAME.png"
    )
    corrector = actions.add_parser("correct", help="apply correction files to episodes")
    corrector.add_argument("places", nargs="+", metavar="FILE|DIR|SUITE", help="the episodes")
    corrector.add_argument(
        "--corrections", type=Path, required=True, metavar="DIR", help="with episode_ID.py"
    )
    corrector.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="DIR|FILE.json.gz",
        help="where all of them go, as corrected and without those to skip",
    )
    reviewer = actions.add_parser("review", help="a web page to verify episodes on")
    reviewer.add_argument(
        "places",
        nargs="+",
        metavar="FILE|DIR|SUITE",
        help="episode files, folders of them, names of suites or of shipped episodes",
    )
    reviewer.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("review"),
        metavar="DIR",
        help="verdicts and correction files; an earlier review is continued (default: review)",
    )
    reviewer.add_argument(
        "--port", type=int, default=8470, help="of the page, 0 for any free one (default 8470)"
    )


def _declare_importers(parser: argparse.ArgumentParser) -> None:
    from planner.episodes.importing.importer import add_import_arguments

    add_import_arguments(parser)


def _declare_generators(parser: argparse.ArgumentParser) -> None:
    from planner.episodes.generator import add_generate_arguments

    add_generate_arguments(parser)


def run(
    args: argparse.Namespace,
    tools: GeneratorTools,
    play: Solve,
    find: FindSuite,
    understand: Callable[[str], Goal],
) -> int:
    """Runs one action.

    Args:
        args: of the command line.
        tools: what generators use, and `lint --solve`.
        play: used by `lint` for reference plans.
        find: the files of a suite.
        understand: reads an instruction for `draw`.

    Returns:
        0; 1 if nothing could be imported, a listed file is invalid, or a rule found an error.
    """
    if args.action == "list":
        from planner.episodes.episode_file import list_episodes

        return list_episodes(args.places)
    if args.action == "correct":
        from planner.episodes.corrections import correct

        places = [path for word in args.places for path in find(word)]
        return correct(places, args.corrections, args.output)
    if args.action == "draw":
        from planner.episodes.drawing.cli import draw

        return draw(args.episode, args.output, args.house, understand)
    if args.action == "review":
        from planner.episodes.review.review import review

        places = [path for word in args.places for path in find(word)]
        return review(places, args.output, args.port)
    if args.action == "lint":
        from planner.episodes.lint.linting import run_lint

        return run_lint(args, tools.solve, play)
    if args.action == "statistics":
        from planner.episodes.statistics import print_statistics

        return print_statistics(args, find)
    if args.action == "generate":
        from planner.episodes.generator import GENERATORS

        return GENERATORS.get(args.format).run(args, tools)
    if args.action == "build":
        from planner.episodes.recipes.build import build_shipped

        return build_shipped(args.output)
    from planner.episodes.importing.importer import run_import

    return run_import(args)
