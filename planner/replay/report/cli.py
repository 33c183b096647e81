"""`planner report BAG [BAG...]`: one HTML page, report.json and tables about one or more bags.

Exit status: 0 if all bags were read, whatever their verdicts; 2 if one could not be read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from planner.command_line import ProgressBar
from planner.models.ledger import PriceTable, read_prices
from planner.replay.judging import recordings
from planner.replay.report.collect import Collected, collect
from planner.replay.report.comparison import compare
from planner.replay.report.document import BagReport, Level, Report
from planner.replay.report.page import page_html, report_json
from planner.replay.report.tables import has_parquet, tables_of, write_csv, write_parquet
from planner.replay.storage import printable
from planner.world.errors import FileError, PlannerError
from planner.world.files import replacing, writing
from planner.world.process_resources import keep_freed_memory

# What a run's model calls cost, by the prices that the user gives.


def priced(report: BagReport, prices: PriceTable | None) -> BagReport:
    """The report with the cost of each call; as it is without prices."""
    if prices is None:
        return report
    calls = tuple(
        replace(
            call,
            cost=prices.cost(call.model, call.prompt_tokens, call.cached_tokens, call.reply_tokens),
        )
        for call in report.model_calls
    )
    return replace(report, model_calls=calls, currency=prices.currency)


PAGE, DOCUMENT, TABLES = "report.html", "report.json", "tables"
# All pictures of a page together, before base64, which adds a third.
_PICTURE_BYTES = 9_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "bags", nargs="+", type=Path, metavar="BAG", help="a bag, or a folder of bags"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="folder of the report; default: report beside the first bag",
    )
    parser.add_argument(
        "--force", action="store_true", help="also write into a folder with other contents"
    )
    parser.add_argument(
        "--prices", default="", metavar="FILE", help="what models cost; default: no cost is shown"
    )


def run(args: argparse.Namespace) -> int:
    """Read the bags, write the report, print where it is."""
    keep_freed_memory()
    prices = read_prices(args.prices)
    folders = _bags(args.bags)
    output = args.output or folders[0].resolve().parent / "report"
    _check_output(output, folders, force=args.force)
    names = _names(folders)
    found: list[Collected] = []
    errors: list[PlannerError] = []
    for folder, name in zip(folders, names, strict=True):
        try:
            with ProgressBar(f"reading {printable(name)}") as bar:
                found.append(collect(folder, name, _PICTURE_BYTES // len(folders), bar.show))
        except PlannerError as error:
            errors.append(error)
    for problem in errors:
        print(f"error: {printable(str(problem))}", file=sys.stderr)
    if not found:
        return 2
    reports = tuple(priced(one.report, prices) for one in found)
    report = Report(reports, compare(reports, [one.trace for one in found]))
    _write(report, found, output)
    for one in reports:
        for notice in one.notices:
            if notice.level is not Level.INFO:
                print(printable(f"{one.name}: {notice.text}"))
        print(_line(one))
    if not has_parquet():
        print("Parquet tables left out: pip install 'planner[report]'", file=sys.stderr)
    print(f"report: {output / PAGE}")
    return 2 if errors else 0


def _bags(paths: Sequence[Path]) -> list[Path]:
    found = [path for given in paths for path in recordings(given) if path.is_dir()]
    if not found:
        raise PlannerError(f"{paths[0]}: holds no bag")
    return list(dict.fromkeys(found))


def _names(folders: Sequence[Path]) -> list[str]:
    """The folders' names, prefixed by parent folders as far as needed to tell them apart."""
    parts = [folder.resolve().parts for folder in folders]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]).lstrip("/") for part in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{'/'.join(part)} ({i})" for i, part in enumerate(parts)]


def _check_output(output: Path, bags: Sequence[Path], *, force: bool) -> None:
    """Refuses to overwrite a bag or anything that is not an earlier report."""
    place = output.resolve()
    known = {bag.resolve() for bag in bags}
    for folder in (place, *place.parents):
        if folder in known or (folder / "metadata.yaml").is_file():
            raise FileError(output, "", f"is in the bag {folder}, in which nothing is written")
    if output.exists() and not output.is_dir():
        raise FileError(output, "", "is not a folder")
    ours = (output / PAGE).is_file() and (output / DOCUMENT).is_file()
    if output.is_dir() and any(output.iterdir()) and not ours and not force:
        raise FileError(output, "", "holds something that is not a report; --force writes into it")


def _write(report: Report, found: Sequence[Collected], output: Path) -> None:
    tables = tables_of(report)
    folder = output / TABLES
    page = page_html(report, [one.jpegs for one in found])
    with writing(output):
        folder.mkdir(parents=True, exist_ok=True)
        # Including tables of an earlier report, which may have had others.
        for name in tables:
            for ending in ("csv", "parquet"):
                (folder / f"{name}.{ending}").unlink(missing_ok=True)
    for path, text in ((output / DOCUMENT, report_json(report)), (output / PAGE, page)):
        with replacing(path) as aside:
            aside.write_text(text, encoding="utf-8", newline="\n")
    write_csv(tables, folder)
    if has_parquet():
        write_parquet(tables, folder)


def _line(report: BagReport) -> str:
    """One bag on one line."""
    verdicts = report.verdicts
    best = verdicts.bag or verdicts.live
    if best is None:
        return f"{printable(report.name)}: no verdict: {printable(verdicts.reason)}"
    word = "success" if best.success else "failure"
    notes = [f"{best.percent_complete:.0%} of the task", f"{best.sim_steps} steps"]
    notes.append("judged from the bag" if best.source == "bag" else "as judged live")
    if verdicts.agree is False:
        notes.append("live: DIFFERENT")
    if not verdicts.final:
        notes.append(f"not final: {verdicts.reason}")
    return f"{printable(report.name)}: {word}, {printable(', '.join(notes))}"
