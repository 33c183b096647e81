"""The JSON Schema of trace files' lines, published in docs/schema/.

`python -m planner.evaluation.published_schema docs/schema` regenerates it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from planner.evaluation.trace import LINES

FILE_NAME = "trace.schema.json"


def schema_text() -> str:
    """The text of the schema file."""
    schema = {"title": "One line of a trace", **LINES.json_schema()}
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


if __name__ == "__main__":
    (Path(sys.argv[1]) / FILE_NAME).write_text(schema_text(), encoding="utf-8")
