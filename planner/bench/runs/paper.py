"""The record of a paper's tables, what all have in common, and `planner bench table`."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.bench.runs import all_cli
from planner.bench.runs.manifest import read_manifest
from planner.bench.runs.rows import ROWS_NAME, Row, newest_rows
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.success_curves import gain_lines, gains, read_improved
from planner.parts.catalog import Catalog
from planner.parts.option import Option, OptionValue
from planner.training.improvement.journal import CURVE, Curve, read_curve
from planner.world.errors import PlannerError

INTERFACE = 1
# By a row's key, the names of the runs that are beside it whatever their settings.
Named = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Run:
    """One of our runs; `rows` are the newest of each episode."""

    name: str
    suite: str
    settings: RunSettings
    rows: Sequence[Row]

    @classmethod
    def read(cls, folder: str) -> Run:
        """A run by its directory, which is also its name.

        Raises:
            FileError: if a file of it cannot be read.
        """
        manifest = read_manifest(Path(folder))
        rows = tuple(newest_rows(Path(folder) / ROWS_NAME).values())
        return cls(folder, manifest.suite, manifest.settings, rows)

    @property
    def judged(self) -> list[Row]:
        """The rows with a verdict."""
        return [row for row in self.rows if row.verdict is not None]

    @property
    def agents(self) -> int:
        """How many acted in most episodes; 0 if none was judged."""
        counts = Counter(len(row.agents) for row in self.judged)
        return counts.most_common(1)[0][0] if counts else 0

    @property
    def models(self) -> str:
        """The models behind the replies."""
        found = dict.fromkeys(row.model for row in self.judged if row.model)
        return ", ".join(found) or "no model"

    def option(self, name: str, default: OptionValue) -> OptionValue:
        """An option of its planner."""
        return self.settings.options.get(name, default)


@dataclass(frozen=True, slots=True)
class Lengths:
    """Where episodes begin to be medium, and until where they are, in skill calls."""

    medium: int = 13
    last_medium: int = 26

    def __post_init__(self) -> None:
        if not 0 < self.medium <= self.last_medium:
            raise PlannerError(f"lengths {self.medium} and {self.last_medium} are not in order")

    def place(self, calls: int) -> int:
        """0 = short, 1 = medium, 2 = long."""
        return 0 if calls < self.medium else 1 if calls <= self.last_medium else 2


@dataclass(frozen=True, slots=True)
class PaperTables:
    """The record of a paper's tables.

    Attributes:
        summary: one line for the help.
        row_keys: the names of its rows.
        table_lines: the tables with runs beside them, as text.
        lines_with_curves: likewise, with runs of policy improvement and the lengths of episodes;
            None = it has no curves.
        options: none yet.
        interface: the version of this record that it was written for.
    """

    summary: str
    row_keys: Callable[[], tuple[str, ...]]
    table_lines: Callable[[Sequence[Run], Named], list[str]]
    lines_with_curves: (
        Callable[[Sequence[Run], Named, Sequence[Curve], Lengths], list[str]] | None
    ) = None
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE


TABLES: Catalog[PaperTables] = Catalog(
    "table", "", "", f"{__name__}:PaperTables", INTERFACE, group="planner.tables"
)


def check_rows(named: Collection[str], keys: Sequence[str]) -> None:
    """Checks the rows that runs are named for.

    Raises:
        PlannerError: naming the first that there is not.
    """
    unknown = [key for key in named if key not in keys]
    if unknown:
        raise PlannerError(f"there is no row {unknown[0]!r}; known are {', '.join(keys)}")


def is_named(run: Run, named: Named) -> bool:
    """Whether a run is named for some row, so that its settings do not count."""
    return any(run.name in names for names in named.values())


def is_beside(run: Run, key: str, fits: Callable[[Run], bool], named: Named) -> bool:
    """Whether a run is beside the row `key`: named for it, or by its settings if for none."""
    return run.name in named.get(key, ()) if is_named(run, named) else fits(run)


def behind_lines(runs: Sequence[Run], words: Callable[[Run], str]) -> list[str]:
    """What stood behind the runs, a line for each; nothing without runs."""
    if not runs:
        return []
    return ["WHAT STOOD BEHIND THE RUNS", *(f"{run.name}: {words(run)}" for run in runs), ""]


def settings_words(run: Run, also: Sequence[str] = (), *, memory_options: bool = False) -> str:
    """The planner, suite and memory, the options that are not the defaults, and the models.

    `also` goes before the options, which are the memory's, too, with `memory_options`.
    """
    settings = run.settings
    words = [f"planner {settings.planner}", f"suite {run.suite}", f"memory {settings.memory}"]
    kinds = [settings.memory_options] if memory_options else []
    kinds += [settings.options, settings.model_options]
    options = [item for options in kinds for item in sorted(options.items())]
    words += [*also, *(f"{name} {value}" for name, value in options)]
    return f"{', '.join(words)}; model {run.models}"


# `planner bench table PAPER RUN...`: a paper's tables, row by row with our runs.
#
# `planner bench table all` is a table of all planners instead.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    usable = TABLES.usable()
    papers = [*usable, all_cli.ALL]
    curved = ", ".join(name for name, tables in usable.items() if tables.lines_with_curves)
    folders = f"runs' directories, for {curved} also those of planner train ddaft"
    parser.add_argument("paper", choices=papers, metavar="PAPER", help=", ".join(papers))
    parser.add_argument(
        "runs", nargs="*", type=Path, metavar="RUN", help=f"{folders}; none: the paper's"
    )
    parser.add_argument(
        "--as",
        action="append",
        default=[],
        dest="named",
        metavar="ROW=RUN",
        help=f"puts a run beside a row whatever its settings: {_rows()}",
    )
    parser.add_argument(
        "--lengths",
        nargs=2,
        type=int,
        default=None,
        metavar=("FROM", "TO"),
        help=f"of {curved}: skill calls of medium episodes; default 13 26",
    )
    all_cli.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the tables."""
    if args.paper == all_cli.ALL:
        if args.runs or args.named or args.lengths:
            raise PlannerError(f"{all_cli.ALL} makes its runs itself, in --out")
        return all_cli.run(args)
    if args.out is not None:
        raise PlannerError(f"--out is of {all_cli.ALL}, not of {args.paper}")
    named: dict[str, list[str]] = {}
    for words in args.named:
        row, sign, folder = words.partition("=")
        if not sign or not folder:
            raise PlannerError(f"--as {words}: expected ROW=RUN")
        named.setdefault(row, []).append(folder)
    others = [folder for folders in named.values() for folder in folders]
    folders = dict.fromkeys([*map(str, args.runs), *others])
    improved = [folder for folder in folders if (Path(folder) / CURVE).is_file()]
    curves = [read_curve(Path(folder)) for folder in improved]
    runs = [Run.read(folder) for folder in folders if folder not in improved]
    paper = TABLES.get(args.paper)
    if paper.lines_with_curves is not None:
        lengths = Lengths(*args.lengths) if args.lengths else Lengths()
        lines = paper.lines_with_curves(runs, named, curves, lengths)
        read = (read_improved(Path(folder)) for folder in improved)
        if gained := gains([run for run in read if run is not None]):
            lines += ["", *gain_lines(gained)]
    elif curves or args.lengths:
        raise PlannerError(f"{args.paper} has no curves of policy improvement, and no lengths")
    else:
        lines = paper.table_lines(runs, named)
    print("\n".join(lines))
    return 0


def _rows() -> str:
    papers = TABLES.usable().items()
    return "; ".join(f"of {name} {', '.join(tables.row_keys())}" for name, tables in papers)
