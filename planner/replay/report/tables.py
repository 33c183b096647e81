"""The report's tables as CSV and Parquet, one file for each table with all bags in it.

In CSV, cells that a spreadsheet would evaluate get a leading apostrophe, and control characters
become visible (`planner.replay.report.tables`). Parquet has the text unchanged.
"""

from __future__ import annotations

import csv
import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from io import StringIO
from pathlib import Path

from planner.replay.report import document as d
from planner.world.files import writing

# Text from a bag as safe cells of a CSV file, for spreadsheets and terminals.

# Characters at which spreadsheets start a formula (OWASP: CSV injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Control characters except line ends and tabs, direction overrides, lone surrogates.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def cell(text: str) -> str:
    """A text as a cell: one that a spreadsheet would evaluate gets a leading apostrophe.

    Control characters become visible symbols, such as U+241B for an escape; direction overrides and
    lone surrogates become U+FFFD.
    """
    shown = _UNSEEN.sub(_shown, text.replace("\r\n", "\n"))
    return f"'{shown}" if text.startswith(_FORMULA) else shown


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


Value = str | int | float | bool | None
Row = Mapping[str, Value]

# Separates entries of a list in a cell.
_AND = "; "


def tables_of(report: d.Report) -> dict[str, list[Row]]:
    """All tables by name; tables without rows are empty."""
    found: dict[str, list[Row]] = {
        "bags": [_bag_row(bag) for bag in report.bags],
        "propositions": [],
        "progress": [],
        "subtasks": [],
        "calls": [],
        "decisions": [],
        "work": [],
        "handovers": [],
        "paths": [],
        "memory": [],
        "model_calls": [],
        "topics": [],
        "gaps": [],
        "faults": [],
    }
    for bag in report.bags:
        for name, rows in _rows_of(bag):
            found[name] += [{"bag": bag.name, **row} for row in rows]
    if report.comparison is not None:
        found |= _comparison_tables(report.comparison)
    return found


def columns_of(rows: Sequence[Row]) -> list[str]:
    """The columns of a table in the order of their first occurrence."""
    return list(dict.fromkeys(name for row in rows for name in row))


def csv_text(rows: Sequence[Row]) -> str:
    """A table as CSV (RFC 4180) with a header line."""
    out = StringIO()
    columns = columns_of(rows)
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_csv_value(row.get(name)) for name in columns])
    return out.getvalue()


def write_csv(tables: Mapping[str, Sequence[Row]], folder: Path) -> None:
    """Writes each table that has rows.

    Raises:
        FileError: if it cannot be written.
    """
    for name, rows in tables.items():
        if rows:
            path = folder / f"{name}.csv"
            with writing(path):
                path.write_text(csv_text(rows), encoding="utf-8", errors="replace", newline="")


def has_parquet() -> bool:
    """Whether the library for Parquet is installed."""
    return importlib.util.find_spec("pyarrow") is not None


def write_parquet(tables: Mapping[str, Sequence[Row]], folder: Path) -> None:
    """Writes each table that has rows; needs pyarrow.

    Raises:
        FileError: if it cannot be written.
    """
    import pyarrow as pa
    from pyarrow import parquet

    for name, rows in tables.items():
        if not rows:
            continue
        path = folder / f"{name}.parquet"
        columns = {
            column: pa.array([_parquet_value(row.get(column)) for row in rows])
            for column in columns_of(rows)
        }
        with writing(path):
            parquet.write_table(pa.table(columns), path, compression="zstd")


def _csv_value(value: Value) -> Value:
    if isinstance(value, str):
        return cell(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value


def _parquet_value(value: Value) -> Value:
    # A lone surrogate cannot be encoded in UTF-8.
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    return value


def _rows_of(bag: d.BagReport) -> Iterator[tuple[str, list[Row]]]:
    for verdict in (bag.verdicts.bag, bag.verdicts.live):
        if verdict is not None:
            yield (
                "propositions",
                [
                    {"verdict": verdict.source, "index": i, **_flat(p)}
                    for i, p in enumerate(verdict.propositions)
                ],
            )
    yield "progress", [{"t_s": p.t_s, "percent_complete": p.percent_complete} for p in bag.progress]
    yield "subtasks", _flat_all(bag.subtasks)
    yield "calls", _flat_all(bag.calls)
    yield "decisions", _flat_all(bag.decisions)
    yield "work", _flat_all(bag.work.agents)
    yield "handovers", _flat_all(bag.work.handovers)
    for path in bag.paths:
        yield (
            "paths",
            [
                {
                    "agent": path.agent,
                    "source": path.source,
                    "t_s": t,
                    "x_m": x,
                    "y_m": y,
                    "yaw_rad": a,
                }
                for t, x, y, a in path.points
            ],
        )
    yield "memory", _flat_all(bag.memory.points) if bag.memory else []
    yield "model_calls", _flat_all(bag.model_calls)
    yield "topics", [_flat(topic, "counts", "gaps") for topic in bag.topics]
    yield "gaps", [{"topic": t.name, **_flat(gap)} for t in bag.topics for gap in t.gaps]
    yield "faults", _flat_all(bag.faults)


def _bag_row(bag: d.BagReport) -> Row:
    best = bag.verdicts.bag or bag.verdicts.live
    return {
        "bag": bag.name,
        "success": best.success if best else None,
        "percent_complete": best.percent_complete if best else None,
        "sim_steps": best.sim_steps if best else None,
        "verdict": best.source if best else None,
        "agree": bag.verdicts.agree,
        "final": bag.verdicts.final,
        "why_not_final": bag.verdicts.reason,
        **_flat(bag.about, "settings"),
    }


def _comparison_tables(comparison: d.Comparison) -> dict[str, list[Row]]:
    return {
        "metrics": [
            {"arm": arm.name, "metric": m.metric, "paper": m.paper, **_flat(m.estimate)}
            for arm in comparison.arms
            for m in arm.metrics
        ],
        "paired_tests": [
            {**_flat(test, "difference"), **_flat(test.difference)} for test in comparison.tests
        ],
    }


def _flat_all(records: Sequence[object]) -> list[Row]:
    return [_flat(record) for record in records]


def _flat(record: object, *left_out: str) -> dict[str, Value]:
    """A record's fields as cells; lists of texts are joined."""
    found: dict[str, Value] = {}
    for field in fields(record):  # type: ignore[arg-type]
        if field.name in left_out:
            continue
        value = getattr(record, field.name)
        if isinstance(value, tuple):
            found[field.name] = _AND.join(map(str, value))
        elif isinstance(value, StrEnum):
            found[field.name] = str(value)
        else:
            found[field.name] = value
    return found
