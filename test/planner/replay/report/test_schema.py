"""The published schema of report.json, and that a report keeps to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from planner.cli import main
from planner.replay.report.document import Report
from planner.replay.report.schema import SCHEMA_NAME, schema_text

SCHEMAS = Path(__file__).resolve().parents[4] / "docs" / "schema"


def test_the_published_schema_is_current() -> None:
    published = (SCHEMAS / SCHEMA_NAME).read_text("utf-8")
    assert published == schema_text(), "run: python -m planner.replay.report.schema docs/schema"


@pytest.mark.slow
def test_a_report_reads_back_as_it_was(film, tmp_path) -> None:
    film.solved()
    main(["report", str(film.everything("bag").close()), "-o", str(tmp_path / "out")])
    text = (tmp_path / "out" / "report.json").read_text("utf-8")
    read = TypeAdapter(Report).validate_json(text)
    assert json.loads(text) == TypeAdapter(Report).dump_python(read, mode="json")
    assert read.bags[0].verdicts.agree is True
