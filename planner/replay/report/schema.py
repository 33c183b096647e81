"""The JSON Schema of report.json, published in docs/schema/.

`python -m planner.replay.report.schema docs/schema` rewrites it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from planner.replay.report.page import report_schema

SCHEMA_NAME = "report.schema.json"


def schema_text() -> str:
    """The file's text."""
    schema = {"title": "A report of one or more bags", **report_schema()}
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    (Path(sys.argv[1]) / SCHEMA_NAME).write_text(schema_text(), encoding="utf-8")
