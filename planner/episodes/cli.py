"""`planner episodes`: imports, builds, lints, draws, reviews and corrects episodes.

Each action's module is imported on demand, so that listing does not load what imports need.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from planner.episodes.arguments import (
    Solve,
    add_et_plan_arguments,
    add_generate_arguments,
    add_lint_arguments,
    add_task_arguments,
)
from planner.episodes.episode_file import FindSuite, opened

if TYPE_CHECKING:
    from planner.episodes.et_generation.plans import MakeWorld
    from planner.episodes.start_state import FindMiddle
    from planner.language.goal_form import Goal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares one subcommand for each action."""
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
    tasks.add_argument(
        "--graph",
        action="store_true",
        help="into the graph world, unfitted, in graphs made of what the tasks say",
    )
    tasks.add_argument(
        "--scenes",
        type=Path,
        metavar="DIR",
        help="as --graph, in the environments' own graphs: ENV_ID.json",
    )
    graphs = formats.add_parser("virtualhome-graph", help="VirtualHome-style graphs in JSON")
    teams = formats.add_parser("llamar", help="LLaMAR's public task list, in rooms of ours")
    teams.add_argument(
        "--checkers",
        type=Path,
        metavar="DIR",
        help="the tasks' folders, TASK/checker.py, for tasks without a checklist of their own",
    )
    games = formats.add_parser("teach", help="games of the published TEACh data set, in kitchens")
    for parsed in (instructions, episodes, tasks, graphs, teams, games):
        parsed.add_argument("files", nargs="+", type=Path, metavar="FILE")
        parsed.add_argument(
            "-o", "--output", type=Path, required=True, metavar="DIR", help="where episodes go"
        )
        parsed.add_argument(
            "--seed", type=int, default=0, help="random seed of houses and places (default 0)"
        )
    builder = actions.add_parser("build", help="rebuild our own episodes from their recipes")
    builder.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="default: config/episodes of the planner"
    )
    generator = actions.add_parser("generate", help="make new tasks for houses")
    recipes = generator.add_subparsers(dest="format", metavar="FORMAT", required=True)
    add_generate_arguments(
        recipes.add_parser("partnr", help="PARTNR's four types, by a grammar or a chat model")
    )
    add_task_arguments(
        recipes.add_parser("llamar", help="our tasks of LLaMAR's four types, each in its houses")
    )
    add_task_arguments(
        recipes.add_parser("teach", help="our tasks of TEACh's twelve types, with dialogues")
    )
    add_task_arguments(
        recipes.add_parser("routines", help="ten personal routines, each taught and asked for")
    )
    add_et_plan_arguments(
        recipes.add_parser(
            "et-plan", help="ET-Plan-Bench's tasks, with plans that were carried out"
        )
    )
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
    counter = actions.add_parser("statistics", help="the figures of PARTNR's paper beside ours")
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


def run(
    args: argparse.Namespace,
    solve: Solve | None = None,
    play: Solve | None = None,
    find: FindSuite | None = None,
    understand: Callable[[str], Goal] | None = None,
    find_middle: FindMiddle | None = None,
    make_world: MakeWorld | None = None,
) -> int:
    """Runs one action.

    Args:
        args: of the command line.
        solve: used by `lint --solve` and `generate --solve`.
        play: used by `lint` for reference plans.
        find: the files of a suite; without it, only paths are taken.
        understand: reads an instruction for `draw`.
        find_middle: finds the middle of an episode for `generate teach`.
        make_world: makes the world in which `generate et-plan` carries plans out.

    Returns:
        0; 1 if nothing could be imported, a listed file is invalid, or a rule found an error.
    """
    if args.action == "list":
        from planner.episodes.episode_file import list_episodes

        return list_episodes(args.places)
    search = find or (lambda word: [opened(Path(word))])
    if args.action == "correct":
        from planner.episodes.corrections import correct

        places = [path for word in args.places for path in search(word)]
        return correct(places, args.corrections, args.output)
    if args.action == "draw":
        from planner.episodes.drawing.cli import draw

        return draw(args.episode, args.output, args.house, understand)
    if args.action == "review":
        from planner.episodes.review.review import review

        places = [path for word in args.places for path in search(word)]
        return review(places, args.output, args.port)
    if args.action == "lint":
        from planner.episodes.lint.linting import run_lint

        return run_lint(args, solve, play)
    if args.action == "statistics":
        from planner.episodes.statistics import print_statistics

        return print_statistics(args, search)
    if args.action == "generate" and args.format == "llamar":
        from planner.episodes.llamar.tasks import run_generate_tasks

        return run_generate_tasks(args)
    if args.action == "generate" and args.format == "routines":
        from planner.episodes.teach.tasks import run_generate_routines

        return run_generate_routines(args)
    if args.action == "generate" and args.format == "teach" and find_middle is not None:
        from planner.episodes.teach.tasks import run_generate_dialogues

        return run_generate_dialogues(args, find_middle)
    if args.action == "generate" and args.format == "et-plan" and make_world is not None:
        from planner.episodes.et_generation.cli import run_generate_et_plan

        return run_generate_et_plan(args, make_world)
    if args.action == "generate":
        from planner.episodes.generation.generating import run_generate

        return run_generate(args, solve)
    from planner.episodes.creation_cli import build_shipped, import_tasks

    return build_shipped(args.output) if args.action == "build" else import_tasks(args)
