"""`planner bench table all`: every planner on the same held-out episodes."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from planner.app.drawing_backends import absolute_file
from planner.bench.runs.all_tables import Result, markdown_lines, text_lines
from planner.bench.runs.contestants import Asked, Contestant, Field, field_of
from planner.bench.runs.engine_choice import add_engine_flags, make_engine
from planner.bench.runs.manifest import new_manifest
from planner.bench.runs.rows import ROWS_NAME, Row, newest_rows
from planner.bench.runs.runner import run_jobs
from planner.bench.runs.suites import SuiteEpisode, drawn, find_suite, jobs_of
from planner.episodes.episode_file import write_text
from planner.parts.kinds import BACKENDS, PLANNERS
from planner.world.errors import PlannerError

ALL, SUITE = "all", "partnr_test"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `all` beside those of papers."""
    group = parser.add_argument_group(f"of {ALL}, which runs every planner before it prints")
    group.add_argument("--out", type=Path, metavar="DIR", help="a run for each; resumes there")
    group.add_argument(
        "--episodes-of", default=SUITE, metavar="SUITE", help=f"what they run; default {SUITE}"
    )
    group.add_argument(
        "--count", type=int, default=0, help="episodes, drawn at random; default: all"
    )
    group.add_argument("--seed", type=int, default=0, help="of this drawing")
    group.add_argument("--agents", type=int, default=1, help="acting agents; 0 = all")
    group.add_argument(
        "--backend", choices=BACKENDS.names(), default="", help="a simulator; default: by the house"
    )
    group.add_argument("--backend-config", default="", metavar="FILE", help="its settings")
    group.add_argument(
        "--planner", action="append", default=[], choices=PLANNERS.names(), help="default: all"
    )
    group.add_argument(
        "--fault-rate",
        action="append",
        type=float,
        default=[],
        help="of the privileged model that stands for real ones, repeatable; default: 0 and 0.1",
    )
    group.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="M",
        help="with each planner that uses models, repeatable",
    )
    group.add_argument("--model-url", default="", metavar="URL", help="of its server, .../v1")
    group.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="for all planners and models that have it, repeatable",
    )
    group.add_argument("--markdown", type=Path, metavar="FILE", help="the table for a page")
    group.add_argument(
        "--so-far",
        action="store_true",
        help="run nothing: the table of the episodes that all have done whose runs were begun",
    )
    group.add_argument("--quiet", action="store_true", help="do not print a line per episode")
    add_engine_flags(group)


def run(args: argparse.Namespace) -> int:
    """0 if every episode has a verdict, 1 if not, 130 after Ctrl-C."""
    if args.out is None:
        raise PlannerError(f"{ALL} needs --out, the folder of its runs")
    for name in ("count", "agents"):
        if getattr(args, name) < 0:
            raise PlannerError(f"--{name} is {getattr(args, name)}, below 0")
    field = field_of(
        Asked(
            args.planner,
            args.fault_rate or (0.0, 0.1),
            args.model,
            args.model_url,
            args.agents,
            args.backend,
            absolute_file(args.backend_config),
            _options(args.option),
        )
    )
    episodes = drawn(find_suite(args.episodes_of), args.count, args.seed)
    if args.so_far:
        found, left_out = _so_far(args.out, field)
        return _tell(args, found, left_out, len(found[0].rows), len(episodes))
    results = []
    for contestant in field.contestants:
        try:
            results.append(_result(args, contestant, episodes))
        except KeyboardInterrupt:
            print(f"\nstopped in {contestant.name}; the same command goes on", file=sys.stderr)
            return 130
    return _tell(args, results, field.left_out, len(episodes), len(episodes))


def _tell(
    args: argparse.Namespace,
    results: Sequence[Result],
    left_out: Sequence[str],
    count: int,
    asked: int,
) -> int:
    """Prints the table, and writes the page; the command's exit status."""
    head = _head(args, count, asked)
    print("\n".join([*head, *text_lines(results, left_out)]))
    if args.markdown is not None:
        page = [*head, "", *_said(args), *markdown_lines(results, left_out)]
        write_text(args.markdown, "\n".join(page) + "\n")
    return 1 if any(row.error is not None for result in results for row in result.rows) else 0


def _so_far(folder: Path, field: Field) -> tuple[list[Result], list[str]]:
    """The runs that were begun, with the episodes that each of them has done; and the others."""
    begun = {c.name: c for c in field.contestants if (folder / c.name / ROWS_NAME).is_file()}
    rows = {name: newest_rows(folder / name / ROWS_NAME) for name in begun}
    common = set.intersection(*(set(found) for found in rows.values())) if rows else set()
    if not common:
        raise PlannerError(f"{folder}: there is no episode that every begun run has done")
    missing = [c.name for c in field.contestants if c.name not in begun]
    left_out = [*field.left_out, *([f"{', '.join(missing)}: not begun"] if missing else [])]
    found = [
        Result(begun[name], tuple(row for key, row in of.items() if key in common))
        for name, of in rows.items()
    ]
    return found, left_out


def _options(words: Sequence[str]) -> dict[str, str]:
    found = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise PlannerError(f"--option {word}: expected NAME=VALUE")
        found[name.replace("-", "_")] = value
    return found


def _result(
    args: argparse.Namespace, contestant: Contestant, episodes: Sequence[SuiteEpisode]
) -> Result:
    """Runs what a contestant has not done yet."""
    settings, folder = contestant.settings, args.out / contestant.name
    jobs = jobs_of(episodes, 0, 0)

    def tell(row: Row, count: int, of: int) -> None:
        if not args.quiet:
            print(f"{contestant.name}  {count}/{of}  {row.episode_id}  {_came(row)}", flush=True)

    manifest = new_manifest(args.episodes_of, episodes, len(jobs), settings)
    run_jobs(folder, manifest, jobs, make_engine(args, settings), tell)
    return Result(contestant, tuple(newest_rows(folder / ROWS_NAME).values()))


def _came(row: Row) -> str:
    if row.error is not None:
        return f"{row.error.fault.value}: {row.error.text}"
    return "solved" if row.verdict is not None and row.verdict.success else "not solved"


def _head(args: argparse.Namespace, count: int, asked: int) -> list[str]:
    agents = f"{args.agents} acting" if args.agents else "all agents acting"
    of = "" if count == asked else f" so far, of {asked} to do, the first by house: no fair sample"
    where = f", {args.backend}" if args.backend else ""
    return [f"{count} episodes of {args.episodes_of}{of}, {agents}{where}; strict rules"]


def _said(args: argparse.Namespace) -> list[str]:
    """The command and the day, for a page."""
    words = [
        "planner bench table all",
        *(["--episodes-of", args.episodes_of] if args.episodes_of != SUITE else []),
        *(["--count", str(args.count), "--seed", str(args.seed)] if args.count else []),
        *(["--agents", str(args.agents)] if args.agents != 1 else []),
        *(["--backend", args.backend] if args.backend else []),
        *(["--backend-config", "FILE"] if args.backend_config else []),
        *(word for name in args.planner for word in ("--planner", name)),
        *(word for rate in args.fault_rate for word in ("--fault-rate", f"{rate:g}")),
        *(word for option in args.option for word in ("--option", shlex.quote(option))),
        *(word for model in args.model for word in ("--model", shlex.quote(model))),
        *(["--model-url", args.model_url] if args.model_url else []),
        "--out DIR",
        *(["--so-far"] if args.so_far else []),
    ]
    date = datetime.now(UTC).strftime("%-d %B %Y")
    return ["```console", f"$ {' '.join(words)}", "```", f"{date}:", ""]
