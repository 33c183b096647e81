"""Results of running a part over a bag: records for machines, lines for people."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from planner.world.errors import FileError

VERSION = 1
DIFFERENCES, SUMMARY = "differences.jsonl", "summary.json"
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Findings:
    """Everything that is printed and saved.

    Attributes:
        records: one for each step, for `differences.jsonl`.
        summary: for `summary.json`.
        lines: the steps that differ, then the summary, for the terminal.
    """

    records: Sequence[Mapping[str, JsonValue]]
    summary: Mapping[str, JsonValue]
    lines: Sequence[str]


def save(findings: Findings, folder: Path) -> None:
    """Writes both files into a new folder.

    Raises:
        FileError: if it exists already or cannot be written.
    """
    try:
        folder.mkdir(parents=True)
        with (folder / DIFFERENCES).open("w", encoding="utf-8") as stream:
            for record in findings.records:
                stream.write(_text(record) + "\n")
        text = json.dumps(_rounded(dict(findings.summary)), indent=2, ensure_ascii=False)
        (folder / SUMMARY).write_text(text + "\n", encoding="utf-8")
    except FileExistsError:
        raise FileError(folder, "", "exists already, nothing is overwritten") from None
    except OSError as error:
        raise FileError(folder, "", f"cannot be written: {error.strerror}") from None


def _text(record: Mapping[str, JsonValue]) -> str:
    return json.dumps(_rounded(dict(record)), ensure_ascii=False)


def _rounded(value: JsonValue) -> JsonValue:
    """Rounds floats to six decimals; NaN and infinities become null."""
    if isinstance(value, float):
        return round(value, _DIGITS) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value


def plain(text: str, limit: int = 160) -> str:
    """Text of a bag on one line, without control characters."""
    line = "".join(c if c.isprintable() else " " for c in text)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def share(value: float | None) -> str:
    """A rate as text."""
    return "-" if value is None else f"{value:.3f}"
